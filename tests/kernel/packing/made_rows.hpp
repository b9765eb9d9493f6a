// Rows that tests pack: noise, pictures with things that move, and shapes that are hard for patches.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/packing/packed_rows.hpp"

namespace exrp::test {

using Bytes = std::vector<uint8_t>;

enum class RowKind : uint32_t { constant, noise, fewChanges, moving, bands, cut, edges, floats, densePatches };
constexpr uint32_t rowKinds = 9;

inline void noise(Random& random, uint8_t* to, size_t bytes) {
  for (size_t at = 0; at < bytes; ++at) to[at] = static_cast<uint8_t>(random.next());
}

/// Puts a run of bytes at a random place, or as much of it as fits.
inline void putRun(Random& random, uint8_t* row, size_t rowBytes, size_t run, bool constant) {
  const size_t at = random.below(static_cast<uint32_t>(rowBytes));
  const auto value = static_cast<uint8_t>(random.next());
  for (size_t k = at; k < at + run && k < rowBytes; ++k) row[k] = constant ? value : static_cast<uint8_t>(random.next());
}

inline Bytes makeRows(Random& random, RowKind kind, size_t rowBytes, uint32_t count) {
  Bytes rows(rowBytes * count);
  Bytes ground(rowBytes);
  for (size_t at = 0; at < rowBytes; ++at) ground[at] = static_cast<uint8_t>(at / 300 * 7);
  if (random.below(2) == 0) noise(random, ground.data(), rowBytes);
  // Lengths and gaps at which the form changes.
  constexpr size_t runs[] = {1, 2, 3, 15, 16, 17, 31, 79, 80, 95, 190, 191, 192, 254, 255, 256, 257, 400};
  for (uint32_t row = 0; row < count; ++row) {
    uint8_t* const to = rows.data() + row * rowBytes;
    memcpy(to, ground.data(), rowBytes);
    switch (kind) {
      case RowKind::constant: break;
      case RowKind::noise: noise(random, to, rowBytes); break;
      case RowKind::fewChanges:
        for (uint32_t k = random.below(4); k > 0; --k) putRun(random, to, rowBytes, 1, true);
        break;
      case RowKind::moving:
        for (size_t line = 0; line < 12; ++line) {
          const size_t at = line * 84 + 3 * row + 200;
          for (size_t k = at; k < at + 8 && k < rowBytes; ++k) to[k] = static_cast<uint8_t>(40 + line * k);
        }
        break;
      case RowKind::bands:
        for (uint32_t k = 0; k < 6; ++k) putRun(random, to, rowBytes, runs[random.below(18)] * 2, true);
        break;
      case RowKind::cut:
        if (row * 2 >= count) noise(random, ground.data(), row * 2 < count + 2 ? rowBytes : 1);
        memcpy(to, ground.data(), rowBytes);
        break;
      case RowKind::edges:
        for (size_t at = runs[random.below(18)]; at < rowBytes; at += runs[random.below(18)]) {
          const size_t end = at + runs[random.below(18)];
          for (; at < end && at < rowBytes; ++at) to[at] = static_cast<uint8_t>(to[at] + 1 + random.below(2));
        }
        break;
      case RowKind::floats:
        for (size_t at = 0; at + 4 <= rowBytes; at += 4) {
          const float value = static_cast<float>(at) + static_cast<float>(row) * (at % 64 == 0 ? 0.37f : 0.0f);
          memcpy(to + at, &value, sizeof value);
        }
        break;
      case RowKind::densePatches:
        for (size_t at = row % 4; at < rowBytes; at += 4) to[at] = static_cast<uint8_t>(to[at] + 1 + row);
        break;
    }
  }
  return rows;
}

/// In memory of exactly its size, so that a sanitizer finds a byte too many. Plain rows where packing gains little.
inline Bytes packed(const Bytes& rows, size_t rowBytes, uint32_t count, PackedKey key) {
  Bytes out(packedBytesMax(rowBytes, count));
  const size_t bytes = packRows(rows.data(), rowBytes, count, key, out.data());
  return bytes == 0 ? rows : Bytes(out.begin(), out.begin() + static_cast<ptrdiff_t>(bytes));
}

}  // namespace exrp::test
