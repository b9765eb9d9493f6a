// Numbers: the numbers of a call, taken one after another, and the bounds of one.
//
// Thread safety: none of its own. Invariants: it never points beyond the numbers. Cost: a comparison.
#pragma once

#include <cstdint>

namespace exrp {

struct Numbers {
  const double* at;
  uint32_t left;

  bool has(double count) const { return count >= 0 && count <= left; }
  /// The next `count` numbers, which has() said are there.
  const double* take(uint32_t count) {
    const double* const taken = at;
    at += count;
    left -= count;
    return taken;
  }
};

/// A key of 64 bits, of its low and its high half, which are whole numbers below 2^32.
inline uint64_t keyOfHalves(const double* halves) { return static_cast<uint64_t>(halves[1]) << 32 | static_cast<uint64_t>(halves[0]); }

}  // namespace exrp
