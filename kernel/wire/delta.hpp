// Delta encoding of a chunk's tensor, as Reverb has it: each row but the first becomes its difference to the row before, element by element.
//
// Differences wrap around, as unsigned numbers do. Only integers have it, and only tensors of rank 2 or more; bool has not.
//
// Thread safety: pure functions. Cost: one pass; the compiler makes vectors of it.
#pragma once

#include <cstdint>
#include <cstring>

namespace exrp {

/// Writes the differences of `rows` rows of elements, at least one, in place; or adds them up again.
template <typename T>
void deltaCode(uint8_t* data, uint64_t rowBytes, uint64_t rows, bool isEncoding) {
  const uint64_t count = rowBytes / sizeof(T);
  for (uint64_t done = 1; done < rows; ++done) {
    // Each row needs the one before as it was without differences.
    uint8_t* const before = data + (isEncoding ? rows - 1 - done : done - 1) * rowBytes;
    for (uint64_t k = 0; k < count; ++k) {
      T a;
      T b;
      memcpy(&a, before + k * sizeof(T), sizeof(T));
      memcpy(&b, before + rowBytes + k * sizeof(T), sizeof(T));
      const T coded = static_cast<T>(isEncoding ? b - a : b + a);
      memcpy(before + rowBytes + k * sizeof(T), &coded, sizeof(T));
    }
  }
}

/// The same of elements of 1, 2, 4 or 8 bytes.
inline void deltaCode(uint8_t* data, uint32_t elementBytes, uint64_t rowBytes, uint64_t rows, bool isEncoding) {
  switch (elementBytes) {
    case 1: return deltaCode<uint8_t>(data, rowBytes, rows, isEncoding);
    case 2: return deltaCode<uint16_t>(data, rowBytes, rows, isEncoding);
    case 4: return deltaCode<uint32_t>(data, rowBytes, rows, isEncoding);
    default: return deltaCode<uint64_t>(data, rowBytes, rows, isEncoding);
  }
}

}  // namespace exrp
