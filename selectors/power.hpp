// PowerSelector: P(i) = w_i / sum of w, w_i = p_i^exponent, in double precision: the selector Prioritized of Reverb.
//
// It differs from prioritized.hpp where a client of Reverb would see it. A priority of 0 has the weight 0, even if the exponent is 0; and while all
// weights are 0, draws are uniform with P(i) = 1 / N. Weights are not rounded to float32, so neither are probabilities. Each draw is independent.
//
// Thread safety: none of its own.
// Invariants: those of WeightSelector. Every weight is 0 or within weightMin..weightMax, so that no sum is infinite.
// Cost: as prioritized.hpp, but for an exponent of 0 or 1, which needs no power. Memory: 8.8 bytes a pick.
// It keeps weights, not priorities. So a priority is read back as w^(1/exponent), exact to some parts in 2^50; with exponent 0 only zeros are known.
#pragma once

#include <cmath>
#include <limits>

#include "kernel/base/portable_math.hpp"
#include "selectors/_weight_selector.hpp"

namespace exrp {

class PowerSelector final : public WeightSelector<PowerSelector, double> {
 public:
  PowerSelector(double exponent, double initialPriority, Random random, uint32_t countMax)
      : WeightSelector(initialPriority, {.independent = true}, random, countMax), exponent_(exponent) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() {
    if (!(exponent_ >= 0.0 && exponent_ <= 0x1p40) || !isPriority(state_.priorityMax)) return Status::argument;
    return createTree();
  }

  void setPriority(const uint32_t* index, const double* priority, uint32_t count) override {
    for (uint32_t k = 0; k < count; ++k) {
      tree_.set(index[k], weightOf(priority[k]));
      if (priority[k] > state_.priorityMax) raise(priority[k]);
    }
  }
  bool getPriority(const uint32_t* index, uint32_t count, double* priority) const override {
    for (uint32_t k = 0; k < count; ++k) {
      const double weight = tree_.get(index[k]);
      priority[k] = weight > 0.0 ? portablePow(weight, 1.0 / exponent_) : 0.0;
      if (exponent_ == 1.0) priority[k] = weight;
      if (exponent_ == 0.0 && weight > 0.0) priority[k] = std::numeric_limits<double>::quiet_NaN();
    }
    return true;
  }

  double weightOf(double priority) const {
    if (!(priority > 0.0)) return 0.0;
    const double power = exponent_ == 1.0 ? priority : exponent_ == 0.0 ? 1.0 : portablePow(priority, exponent_);
    return power < weightMin ? weightMin : power < weightMax ? power : weightMax;
  }
  bool isPossible(double weight) const {
    if (weight == 0.0) return !std::signbit(weight);
    return exponent_ == 0.0 ? weight == 1.0 : weight >= weightMin && weight <= weightMax;
  }

 private:
  // 2^28 of the largest weights add up to a finite sum, and a point within the smallest is no subnormal number.
  static constexpr double weightMin = 0x1p-960;
  static constexpr double weightMax = 0x1p960;

  const double exponent_;
};

}  // namespace exrp
