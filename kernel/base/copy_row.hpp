// copyRow, copyRows: copy small rows without calling memcpy.
//
// Units of one size cover a row: 1, 2, 4, 8 or 16 bytes each. The last unit ends where the row ends, so it may overlap the unit before it.
// So a few unit sizes fit every row, and there is no loop over single bytes. kernel/batches/copy_runs.hpp builds on the same units.
//
// Thread safety: pure functions.
// Invariants:
//   1. They read and write the bytes of the row only.
//   2. A row of up to 16 bytes is read whole before it is written. So source and destination may be the same row.
// Cost: one load and one store per unit. copyRows() looks at the row size once, copyRow() each time.
// Not for rows of more than smallRowBytesMax bytes: use memcpy or kernel/batches/large_copy.hpp for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// A function marked EXRP_AVX2 can only inline functions marked always_inline.
#define EXRP_INLINE [[gnu::always_inline]] inline

namespace exrp {

/// The integers or vectors that one instruction moves, at any address and over any type. Each stands in a struct, because a template
/// argument loses the attributes.
struct RowUnit1 {
  typedef uint8_t Bits __attribute__((may_alias));
};
struct RowUnit2 {
  typedef uint16_t Bits __attribute__((may_alias, aligned(1)));
};
struct RowUnit4 {
  typedef uint32_t Bits __attribute__((may_alias, aligned(1)));
};
struct RowUnit8 {
  typedef uint64_t Bits __attribute__((may_alias, aligned(1)));
};
struct RowUnit16 {
  typedef uint64_t Bits __attribute__((vector_size(16), may_alias, aligned(1)));
};
struct RowUnit32 {
  typedef uint64_t Bits __attribute__((vector_size(32), may_alias, aligned(1)));
};

/// A row between reading and writing: `units` units. The last unit begins at byte `last`.
template <typename Unit, uint32_t units>
struct RowValue {
  using Bits = typename Unit::Bits;
  static constexpr size_t unitBytes = sizeof(Bits);
  Bits parts[units];

  /// The first byte of the last unit of a row of `bytes`.
  static constexpr size_t lastOf(size_t bytes) { return units == 1 ? 0 : bytes - unitBytes; }

  EXRP_INLINE void read(const uint8_t* from, size_t last) {
    for (uint32_t unit = 0; unit + 1 < units; ++unit) parts[unit] = *reinterpret_cast<const Bits*>(from + unit * unitBytes);
    parts[units - 1] = *reinterpret_cast<const Bits*>(from + last);
  }
  EXRP_INLINE void write(uint8_t* to, size_t last) const {
    for (uint32_t unit = 0; unit + 1 < units; ++unit) *reinterpret_cast<Bits*>(to + unit * unitBytes) = parts[unit];
    *reinterpret_cast<Bits*>(to + last) = parts[units - 1];
  }
  EXRP_INLINE static void copy(uint8_t* to, const uint8_t* from, size_t bytes) {
    RowValue value;
    value.read(from, lastOf(bytes));
    value.write(to, lastOf(bytes));
  }
};

/// Copies rows of 17 bytes and more in units of 16 bytes.
struct RowPieces {
  EXRP_INLINE static void copy(uint8_t* to, const uint8_t* from, size_t bytes) {
    const size_t last = bytes - 16;
    for (size_t at = 0; at < last; at += 16) RowValue<RowUnit16, 1>::copy(to + at, from + at, 16);
    RowValue<RowUnit16, 1>::copy(to + last, from + last, 16);
  }
};

/// Copies rows of any size.
struct RowMemory {
  EXRP_INLINE static void copy(uint8_t* to, const uint8_t* from, size_t bytes) { memcpy(to, from, bytes); }
};

/// Calls `visit` with the RowValue that covers a row of 1 to 16 bytes.
template <typename Visit>
EXRP_INLINE auto visitRowValue(size_t bytes, Visit visit) {
  switch (bytes) {
    case 1: return visit(RowValue<RowUnit1, 1>());
    case 2: return visit(RowValue<RowUnit2, 1>());
    case 3: return visit(RowValue<RowUnit2, 2>());
    case 4: return visit(RowValue<RowUnit4, 1>());
    case 8: return visit(RowValue<RowUnit8, 1>());
    case 16: return visit(RowValue<RowUnit16, 1>());
    default: break;
  }
  return bytes < 8 ? visit(RowValue<RowUnit4, 2>()) : visit(RowValue<RowUnit8, 2>());
}

constexpr size_t smallRowBytesMax = 128;

/// Calls `visit` with the copier for a row of `bytes`, at least 1.
template <typename Visit>
EXRP_INLINE void visitRowCopier(size_t bytes, Visit visit) {
  if (bytes <= 16) visitRowValue(bytes, visit);
  else if (bytes <= smallRowBytesMax) visit(RowPieces());
  else visit(RowMemory());
}

/// Copies one row of `bytes`, at least 1.
inline void copyRow(uint8_t* to, const uint8_t* from, size_t bytes) {
  visitRowCopier(bytes, [&](auto copier) { copier.copy(to, from, bytes); });
}

/// Copies `count` rows of `bytes`, at least 1. Source rows are `fromStride` bytes apart, destination rows `toStride`.
inline void copyRows(uint8_t* to, size_t toStride, const uint8_t* from, size_t fromStride, size_t bytes, uint32_t count) {
  visitRowCopier(bytes, [&](auto copier) {
    for (uint32_t row = 0; row < count; ++row, to += toStride, from += fromStride) copier.copy(to, from, bytes);
  });
}

}  // namespace exrp
