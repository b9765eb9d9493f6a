// PackedForm: the parts of packed rows, as docs/internals/packing_format.md has them. What packs them and what unpacks them share it.
//
// Thread safety: no state. Cost: one load for each place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace exrp {

/// The head: the form of the key, the bytes of a place, and two zeros. Behind it, for each row the place where it ends.
constexpr size_t packedHeadBytes = 4;
constexpr uint8_t packedKeyPlain = 1;
constexpr uint8_t packedKeyLz4 = 2;

/// The first number of a row: its patches. With the highest bit, the row's base is another row, whose number follows as one byte.
/// 0 patches: the row is there as it is.
constexpr uint32_t packedOnRow(uint32_t placeBytes) { return placeBytes == 2 ? 0x8000u : 0x80000000u; }

/// A patch is two bytes: how many bytes are those of the base, and what follows them. Up to freshBytesMax: so many new bytes. Above: a fill,
/// one new byte that stands fillBytesMin times, and once more for each further step.
constexpr size_t skippedBytesMax = 255;
constexpr size_t freshBytesMax = 191;
constexpr size_t fillBytesMin = 16;
constexpr size_t fillBytesMax = fillBytesMin + 255 - (freshBytesMax + 1);

constexpr bool isFill(size_t code) { return code > freshBytesMax; }
constexpr size_t fillBytesOf(size_t code) { return code - (freshBytesMax + 1) + fillBytesMin; }
constexpr size_t fillCodeOf(size_t bytes) { return bytes - fillBytesMin + freshBytesMax + 1; }

inline uint32_t loadPlace(const uint8_t* at, uint32_t placeBytes) {
  uint16_t narrow = 0;
  uint32_t wide = 0;
  if (placeBytes == 2) memcpy(&narrow, at, sizeof narrow);
  else memcpy(&wide, at, sizeof wide);
  return narrow | wide;
}

inline void storePlace(uint8_t* at, uint32_t placeBytes, uint32_t value) {
  const auto narrow = static_cast<uint16_t>(value);
  if (placeBytes == 2) memcpy(at, &narrow, sizeof narrow);
  else memcpy(at, &value, sizeof value);
}

}  // namespace exrp
