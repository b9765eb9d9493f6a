// typedNumber: a number of any type that a column of rewards may have, as a double, exactly.
//
// Thread safety: it only reads. Invariants: none. Cost: a branch that is always the same for one column.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernel/exrp.h"

namespace exrp {

template <typename T>
double numberAt(const uint8_t* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

/// The number that 16 bits of IEEE 754 binary16 stand for, exactly.
inline double halfAt(const uint8_t* from) {
  uint16_t bits = 0;
  memcpy(&bits, from, sizeof bits);
  const uint32_t exponent = (bits >> 10) & 31;
  const uint32_t fraction = bits & 1023;
  double value = 0;
  if (exponent == 31) value = fraction != 0 ? __builtin_nan("") : __builtin_inf();
  else if (exponent == 0) value = fraction * 0x1p-24;
  else value = static_cast<double>(1024 + fraction) * static_cast<double>(uint32_t{1} << exponent) * 0x1p-25;
  return (bits & 0x8000) != 0 ? -value : value;
}

/// What `use` returns for the function that reads numbers of one of EXRP_TYPE_*. So a loop asks for the type once.
template <typename Use>
auto withNumbers(uint32_t type, Use use) {
  switch (type) {
    case EXRP_TYPE_FLOAT32: return use([](const uint8_t* from) { return numberAt<float>(from); });
    case EXRP_TYPE_FLOAT64: return use([](const uint8_t* from) { return numberAt<double>(from); });
    case EXRP_TYPE_FLOAT16: return use([](const uint8_t* from) { return halfAt(from); });
    case EXRP_TYPE_UINT8: return use([](const uint8_t* from) { return numberAt<uint8_t>(from); });
    case EXRP_TYPE_INT8: return use([](const uint8_t* from) { return numberAt<int8_t>(from); });
    case EXRP_TYPE_INT16: return use([](const uint8_t* from) { return numberAt<int16_t>(from); });
    default: return use([](const uint8_t* from) { return numberAt<int32_t>(from); });
  }
}

/// The number at `from`, of one of EXRP_TYPE_*.
inline double typedNumber(const uint8_t* from, uint32_t type) {
  return withNumbers(type, [from](auto read) { return read(from); });
}

/// Whether a number of this type has so many bytes.
inline bool isTypeOf(uint32_t type, uint32_t bytes) {
  switch (type) {
    case EXRP_TYPE_FLOAT64: return bytes == 8;
    case EXRP_TYPE_FLOAT32:
    case EXRP_TYPE_INT32: return bytes == 4;
    case EXRP_TYPE_FLOAT16:
    case EXRP_TYPE_INT16: return bytes == 2;
    default: return bytes == 1;
  }
}

}  // namespace exrp
