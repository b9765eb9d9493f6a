// Whether a double is a whole number: handles and counts come as doubles.
#pragma once

#include <cstdint>

namespace exrp {

/// Whether a number is an integer within these bounds, which lie within +-2^53: there every integer is exact.
inline bool isWhole(double value, double smallest, double largest) {
  return value >= smallest && value <= largest && value == static_cast<double>(static_cast<int64_t>(value));
}

}  // namespace exrp
