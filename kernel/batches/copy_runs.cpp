#include "kernel/batches/copy_runs.hpp"

#include "kernel/base/cpu.hpp"

// What has to be part of a function marked EXRP_AVX2 to be compiled as such.
#define EXRP_INLINE [[gnu::always_inline]] inline

namespace exrp {
namespace {

/// What one instruction moves: unaligned, and laid over whatever a column holds. A type of its own each, as a template's argument would
/// lose the attributes.
struct Unit1 {
  typedef uint8_t Bits __attribute__((may_alias));
};
struct Unit2 {
  typedef uint16_t Bits __attribute__((may_alias, aligned(1)));
};
struct Unit4 {
  typedef uint32_t Bits __attribute__((may_alias, aligned(1)));
};
struct Unit8 {
  typedef uint64_t Bits __attribute__((may_alias, aligned(1)));
};
struct Unit16 {
  typedef uint64_t Bits __attribute__((vector_size(16), may_alias, aligned(1)));
};
struct Unit32 {
  typedef uint64_t Bits __attribute__((vector_size(32), may_alias, aligned(1)));
};

/// One row's column between reading and writing. The last unit ends where the column does.
template <typename Unit, uint32_t units>
struct Value {
  using Bits = typename Unit::Bits;
  static constexpr size_t unitBytes = sizeof(Bits);
  Bits parts[units];

  EXRP_INLINE void read(const uint8_t* from, size_t last) {
    for (uint32_t unit = 0; unit + 1 < units; ++unit) parts[unit] = *reinterpret_cast<const Bits*>(from + unit * unitBytes);
    parts[units - 1] = *reinterpret_cast<const Bits*>(from + last);
  }
  EXRP_INLINE void write(uint8_t* to, size_t last) const {
    for (uint32_t unit = 0; unit + 1 < units; ++unit) *reinterpret_cast<Bits*>(to + unit * unitBytes) = parts[unit];
    *reinterpret_cast<Bits*>(to + last) = parts[units - 1];
  }
};

template <typename Unit, uint32_t units, bool single>
EXRP_INLINE void copyRunsBody(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to) {
  constexpr size_t unitBytes = Value<Unit, units>::unitBytes;
  const size_t last = units == 1 ? 0 : bytes - unitBytes;
  const size_t width = units == 1 ? unitBytes : bytes;
  const uint8_t* const* const rows = runs.rows;
  const uint32_t count = runs.count;
  const uint32_t length = single ? 1 : runs.length;
  const size_t stride = runs.stride;
  Value<Unit, units> value;
  for (uint32_t pick = 0; pick < count; ++pick) {
    const uint8_t* from = rows[pick] + offset;
    for (uint32_t row = 0; row < length; ++row, from += stride, to += width) {
      value.read(from, last);
      value.write(to, last);
    }
  }
}

template <typename Unit, uint32_t units, bool single>
EXRP_INLINE void copyBothBody(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to, uint8_t* next) {
  constexpr size_t unitBytes = Value<Unit, units>::unitBytes;
  const size_t last = units == 1 ? 0 : bytes - unitBytes;
  const size_t width = units == 1 ? unitBytes : bytes;
  const uint8_t* const* const rows = runs.rows;
  const uint32_t count = runs.count;
  const uint32_t length = single ? 1 : runs.length;
  const size_t stride = runs.stride;
  Value<Unit, units> value;
  for (uint32_t pick = 0; pick < count; ++pick) {
    const uint8_t* from = rows[pick] + offset;
    value.read(from, last);
    value.write(to, last);
    to += width;
    // A row within the run is read once for both.
    for (uint32_t row = 1; row < length; ++row, to += width, next += width) {
      from += stride;
      value.read(from, last);
      value.write(to, last);
      value.write(next, last);
    }
    value.read(from + stride, last);
    value.write(next, last);
    next += width;
  }
}

template <typename Unit, uint32_t units, bool single>
struct Plain {
  static void runs(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to) {
    copyRunsBody<Unit, units, single>(runs, offset, bytes, to);
  }
  static void both(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to, uint8_t* next) {
    copyBothBody<Unit, units, single>(runs, offset, bytes, to, next);
  }
};

template <typename Unit, uint32_t units, bool single>
struct Wide {
  EXRP_AVX2 static void runs(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to) {
    copyRunsBody<Unit, units, single>(runs, offset, bytes, to);
  }
  EXRP_AVX2 static void both(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to, uint8_t* next) {
    copyBothBody<Unit, units, single>(runs, offset, bytes, to, next);
  }
};

/// Both ways to copy a column of some width.
struct Ways {
  CopyRuns runs = nullptr;
  CopyBoth both = nullptr;
};

template <template <typename, uint32_t, bool> class Of, typename Unit, uint32_t units>
Ways waysOf(bool single) {
  if (single) return {Of<Unit, units, true>::runs, Of<Unit, units, true>::both};
  return {Of<Unit, units, false>::runs, Of<Unit, units, false>::both};
}

Ways wideWaysOf(uint32_t bytes, bool single) {
  switch ((bytes + 31) / 32) {
    case 1: return waysOf<Wide, Unit32, 1>(single);
    case 2: return waysOf<Wide, Unit32, 2>(single);
    case 3: return waysOf<Wide, Unit32, 3>(single);
    case 4: return waysOf<Wide, Unit32, 4>(single);
    default: return {};
  }
}

Ways waysFor(uint32_t bytes, bool single, bool wide) {
  if (bytes >= 32 && wide) return wideWaysOf(bytes, single);
  if (bytes > 16) {
    switch ((bytes + 15) / 16) {
      case 2: return waysOf<Plain, Unit16, 2>(single);
      case 3: return waysOf<Plain, Unit16, 3>(single);
      case 4: return waysOf<Plain, Unit16, 4>(single);
      case 5: return waysOf<Plain, Unit16, 5>(single);
      case 6: return waysOf<Plain, Unit16, 6>(single);
      case 7: return waysOf<Plain, Unit16, 7>(single);
      case 8: return waysOf<Plain, Unit16, 8>(single);
      default: return {};
    }
  }
  if (bytes == 16) return waysOf<Plain, Unit16, 1>(single);
  if (bytes > 8) return waysOf<Plain, Unit8, 2>(single);
  if (bytes == 8) return waysOf<Plain, Unit8, 1>(single);
  if (bytes > 4) return waysOf<Plain, Unit4, 2>(single);
  if (bytes == 4) return waysOf<Plain, Unit4, 1>(single);
  if (bytes > 2) return waysOf<Plain, Unit2, 2>(single);
  if (bytes == 2) return waysOf<Plain, Unit2, 1>(single);
  return bytes == 1 ? waysOf<Plain, Unit1, 1>(single) : Ways{};
}

}  // namespace

CopyRuns copyRunsOf(uint32_t bytes, bool single, bool wide) { return waysFor(bytes, single, wide).runs; }
CopyBoth copyBothOf(uint32_t bytes, bool single, bool wide) { return waysFor(bytes, single, wide).both; }

}  // namespace exrp
