// Repeated bytes, as LZ4 (kernel/packing/lz4_block.hpp) and Snappy (kernel/wire/snappy.hpp) find and copy them.
//
// Thread safety: pure functions. Invariants: none. Cost: finding takes about 1 ns for 8 bytes, copying about 1 ns for 16 or more.
#pragma once

#include <bit>
#include <cstring>

#include "kernel/base/copy_row.hpp"

namespace exrp {

inline uint32_t load32(const uint8_t* at) {
  uint32_t value = 0;
  memcpy(&value, at, sizeof value);
  return value;
}

inline uint64_t load64(const uint8_t* at) {
  uint64_t value = 0;
  memcpy(&value, at, sizeof value);
  return value;
}

inline void copy8(uint8_t* to, const uint8_t* from) { RowValue<RowUnit8, 1>::copy(to, from, 8); }
inline void copy16(uint8_t* to, const uint8_t* from) { RowValue<RowUnit16, 1>::copy(to, from, 16); }

/// The place of four bytes in a table of 2^bits entries, which says where they stood last.
inline uint32_t placeOf(uint32_t fourBytes, int bits) { return fourBytes * 0x9E3779B1u >> (32 - bits); }

/// How many bytes from `a` and from `b` on are equal; `b` is the later one, and `end` ends both.
inline size_t countEqual(const uint8_t* a, const uint8_t* b, const uint8_t* end) {
  const uint8_t* const begin = b;
  for (; end - b >= 8; a += 8, b += 8) {
    const uint64_t difference = load64(a) ^ load64(b);
    if (difference != 0) return static_cast<size_t>(b - begin) + static_cast<size_t>(std::countr_zero(difference)) / 8;
  }
  while (b < end && *a == *b) ++a, ++b;
  return static_cast<size_t>(b - begin);
}

typedef uint8_t RepeatedByte __attribute__((vector_size(32), may_alias, aligned(1)));

/// Room after a copy that copyRepeated() may write to.
constexpr size_t copyMargin = 32;

/// Copies earlier output to `out`, which has room for copyMargin more. The distance may be less than the length: the bytes between then repeat.
EXRP_INLINE void copyRepeated(uint8_t* out, size_t distance, size_t bytes) {
  const uint8_t* from = out - distance;
  if (distance >= 16) {
    copy16(out, from);
    copy16(out + 16, from + 16);
    for (size_t done = 32; done < bytes; done += 16) copy16(out + done, from + done);
    return;
  }
  if (distance == 1) {
    const RepeatedByte line = RepeatedByte{} + *from;
    for (size_t done = 0; done < bytes; done += sizeof line) *reinterpret_cast<RepeatedByte*>(out + done) = line;
    return;
  }
  if (distance >= 8) {
    for (size_t done = 0; done < bytes; done += 8) copy8(out + done, from + done);
    return;
  }
  // What is repeated, as often as it fits whole into the 8 bytes of one copy. No instruction waits for a store of single bytes.
  uint64_t pattern = load64(from) & ((uint64_t{1} << (8 * distance)) - 1);
  for (size_t width = distance; width < 8; width *= 2) pattern |= pattern << (8 * width);
  const size_t step = distance < 5 ? 8 / distance * distance : distance;
  for (size_t done = 0; done < bytes; done += step) memcpy(out + done, &pattern, sizeof pattern);
}

}  // namespace exrp
