// PriorityPower: (priority + epsilon)^alpha as float32, for the rules whose weights are made of it.
//
// What is positive stays positive: at least 2^-126, the smallest normal float32, and at most the largest. With alpha 0 all are 1.
//
// Thread safety: none of its own. Invariants: none beyond the options'.
// Cost: many() about 3 to 6 ns each.
// It doesn't check priorities: they are finite and >= 0. A power is read back as a priority: exact to one part in 2^24 alpha, as long as it is
// within the limits of float32.
#pragma once

#include <cmath>
#include <limits>

#include "kernel/base/portable_math.hpp"
#include "kernel/base/priority.hpp"

namespace exrp {

class PriorityPower {
 public:
  /// How many powers are reckoned at once.
  static constexpr uint32_t pieceMax = 64;

  PriorityPower(double alpha, double epsilon) : alpha_(alpha), epsilon_(epsilon) {}

  double alpha() const { return alpha_; }
  /// Whether alpha is within 0..2^40 and epsilon is one that can be.
  bool valid() const { return alpha_ >= 0.0 && alpha_ <= 0x1p40 && isPriority(epsilon_); }

  float of(double priority) const {
    const double value = smaller(priority + epsilon_, largestDouble);
    return kept(value, portablePow32(value, alpha_));
  }
  /// Those of `n` <= pieceMax priorities.
  void many(const double* priority, uint32_t n, float* power) const {
    double value[pieceMax] = {};
    double exact[pieceMax];
    // Loops that have nothing to decide, so that compilers make vectors of them.
    const double epsilon = epsilon_;
    for (uint32_t k = 0; k < n; ++k) value[k] = smaller(priority[k] + epsilon, largestDouble);
    portablePow32Many(value, alpha_, exact, n, avx2_);
    for (uint32_t k = 0; k < n; ++k) power[k] = kept(value[k], exact[k]);
  }

  /// Whether a priority can have this power.
  bool isPossible(float power) const {
    if (alpha_ == 0.0) return power == 1.0f;
    if (power == 0.0f) return !std::signbit(power) && epsilon_ == 0.0;
    return power >= 0x1p-126f && power <= 0x1.fffffep127f;
  }
  /// The priority of this power; NaN with alpha 0, which tells nothing.
  double priorityOf(float power) const {
    if (alpha_ == 0.0) return std::numeric_limits<double>::quiet_NaN();
    const double sum = power > 0.0f ? portablePow(static_cast<double>(power), 1.0 / alpha_) : 0.0;
    return sum > epsilon_ ? sum - epsilon_ : 0.0;
  }

 private:
  static constexpr double largestDouble = 0x1.fffffffffffffp1023;
  static double smaller(double a, double b) { return a < b ? a : b; }
  /// value^alpha as it is kept, where the exact power may have been too small for a double.
  static float kept(double value, double power) {
    const double least = value > 0.0 ? 0x1p-126 : 0.0;
    return static_cast<float>(smaller(power > least ? power : least, 0x1.fffffep127));
  }

  double alpha_;
  double epsilon_;
  bool avx2_ = hasAvx2();
};

}  // namespace exrp
