// Delta encoding of a chunk's tensor, as Reverb has it: each row but the first becomes its difference to the row before, element by element.
//
// Differences wrap around, as unsigned numbers do. Only integers have it, and only tensors of rank 2 or more; bool has not.
//
// Thread safety: pure functions. Cost: one pass; the compiler makes vectors of it.
#pragma once

#include <cstdint>
#include <cstring>

namespace exrp {

namespace delta_parts {

template <typename T>
void encode(const uint8_t* in, uint64_t rowBytes, uint64_t rows, uint8_t* out) {
  const uint64_t count = rowBytes / sizeof(T);
  memcpy(out, in, static_cast<size_t>(rowBytes));
  for (uint64_t row = 1; row < rows; ++row) {
    const uint8_t* const before = in + (row - 1) * rowBytes;
    for (uint64_t k = 0; k < count; ++k) {
      T a;
      T b;
      memcpy(&a, before + k * sizeof(T), sizeof(T));
      memcpy(&b, before + rowBytes + k * sizeof(T), sizeof(T));
      const T difference = static_cast<T>(b - a);
      memcpy(out + row * rowBytes + k * sizeof(T), &difference, sizeof(T));
    }
  }
}

template <typename T>
void decode(uint8_t* data, uint64_t rowBytes, uint64_t rows) {
  const uint64_t count = rowBytes / sizeof(T);
  for (uint64_t row = 1; row < rows; ++row) {
    uint8_t* const before = data + (row - 1) * rowBytes;
    for (uint64_t k = 0; k < count; ++k) {
      T a;
      T b;
      memcpy(&a, before + k * sizeof(T), sizeof(T));
      memcpy(&b, before + rowBytes + k * sizeof(T), sizeof(T));
      const T sum = static_cast<T>(b + a);
      memcpy(before + rowBytes + k * sizeof(T), &sum, sizeof(T));
    }
  }
}

}  // namespace delta_parts

/// Writes the differences of `rows` rows, at least one, of elements of 1, 2, 4 or 8 bytes. `in` and `out` do not overlap.
inline void deltaEncode(const uint8_t* in, uint32_t elementBytes, uint64_t rowBytes, uint64_t rows, uint8_t* out) {
  switch (elementBytes) {
    case 1: return delta_parts::encode<uint8_t>(in, rowBytes, rows, out);
    case 2: return delta_parts::encode<uint16_t>(in, rowBytes, rows, out);
    case 4: return delta_parts::encode<uint32_t>(in, rowBytes, rows, out);
    default: return delta_parts::encode<uint64_t>(in, rowBytes, rows, out);
  }
}

/// Undoes deltaEncode() in place.
inline void deltaDecode(uint8_t* data, uint32_t elementBytes, uint64_t rowBytes, uint64_t rows) {
  switch (elementBytes) {
    case 1: return delta_parts::decode<uint8_t>(data, rowBytes, rows);
    case 2: return delta_parts::decode<uint16_t>(data, rowBytes, rows);
    case 4: return delta_parts::decode<uint32_t>(data, rowBytes, rows);
    default: return delta_parts::decode<uint64_t>(data, rowBytes, rows);
  }
}

}  // namespace exrp
