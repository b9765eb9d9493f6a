// ProportionalSelector: proportional prioritization (Schaul, Quan, Antonoglou and Silver, "Prioritized experience replay", 2016,
// section 3.3): P(i) = w_i / sum of w, w_i = (p_i + epsilon)^alpha, over a SumTree of w as float32. It is the rule of
// prioritized.hpp. Rules that draw in the same way and set other weights derive from it.
//
// The running maximum counts every priority that was ever given to setPriority, also one that a later one of the same call replaces.
//
// Thread safety: none of its own.
// Invariants: those of WeightSelector. Every weight is 0 or a normal float32, not 0 if epsilon isn't, and 1 if alpha is 0.
// Cost: pushed, moved, popped a few ns; O(log N) a draw and a priority (sums are added up when the next batch is drawn).
// Memory: 5.1 bytes a pick, 5.4 with normalizeTable.
// It keeps weights, not priorities. So a priority is read back as w^(1/alpha) - epsilon. As w is a float32, p + epsilon is then exact to
// one part in 2^24 alpha, as long as w lies within the limits of float32. With alpha 0 all weights are 1, and nothing is known.
#pragma once

#include <cmath>
#include <limits>

#include "kernel/base/portable_math.hpp"
#include "selectors/_weight_selector.hpp"

namespace exrp {

struct ProportionalOptions {
  double alpha = 0.6;            // 0..2^40
  double epsilon = 0.0;          // >= 0, finite
  double initialPriority = 1.0;  // >= 0, finite
  bool normalizeTable = false;   // importance weights are scaled by the view's largest, not the batch's
  bool independent = false;      // else stratified
};

class ProportionalSelector : public WeightSelector<ProportionalSelector, float> {
 public:
  ProportionalSelector(const ProportionalOptions& options, Random random, uint32_t countMax)
      : WeightSelector(options.initialPriority, {options.normalizeTable, options.independent}, random, countMax), options_(options) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() {
    if (!(options_.alpha >= 0.0 && options_.alpha <= 0x1p40)) return Status::argument;
    if (!isPriority(options_.epsilon)) return Status::argument;
    if (!isPriority(options_.initialPriority)) return Status::argument;
    return createTree();
  }

  void setPriority(const uint32_t* index, const double* priority, uint32_t count) override {
    float weight[pieceMax];
    for (uint32_t first = 0; first < count; first += pieceMax) {
      const uint32_t n = count - first < pieceMax ? count - first : pieceMax;
      for (uint32_t k = 0; k < n; ++k) tree_.prefetch(index[first + k]);
      weigh(priority + first, n, weight);
      for (uint32_t k = 0; k < n; ++k) tree_.set(index[first + k], weight[k]);
    }
  }

  bool getPriority(const uint32_t* index, uint32_t count, double* priority) const override {
    for (uint32_t k = 0; k < count; ++k) {
      const float weight = tree_.get(index[k]);
      const double sum = weight > 0.0f ? portablePow(static_cast<double>(weight), 1.0 / options_.alpha) : 0.0;
      priority[k] = sum > options_.epsilon ? sum - options_.epsilon : 0.0;
      if (options_.alpha == 0.0) priority[k] = std::numeric_limits<double>::quiet_NaN();
    }
    return true;
  }

  float weightOf(double priority) const {
    const double value = smaller(priority + options_.epsilon, largestDouble);
    return drawable(value, portablePow32(value, options_.alpha), options_.alpha);
  }
  bool isPossible(float weight) const {
    if (options_.alpha == 0.0) return weight == 1.0f;
    if (weight == 0.0f) return !std::signbit(weight) && options_.epsilon == 0.0;
    return weight >= 0x1p-126f && weight <= 0x1.fffffep127f;
  }

 protected:
  /// How many weights are reckoned at once.
  static constexpr uint32_t pieceMax = 64;

  /// The weights for `n` <= pieceMax priorities; the running maximum hears of them.
  void weigh(const double* priority, uint32_t n, float* weight) {
    double value[pieceMax] = {};
    double power[pieceMax];
    // Loops that have nothing to decide, so that compilers make vectors of them.
    const double epsilon = options_.epsilon;
    const double alpha = options_.alpha;
    bool isLarger = false;
    const double before = state_.priorityMax;
    for (uint32_t k = 0; k < n; ++k) isLarger |= priority[k] > before;
    for (uint32_t k = 0; k < n; ++k) value[k] = smaller(priority[k] + epsilon, largestDouble);
    portablePow32Many(value, alpha, power, n, avx2_);
    for (uint32_t k = 0; k < n; ++k) weight[k] = drawable(value[k], power[k], alpha);
    if (!isLarger) return;
    double largest = before;
    for (uint32_t k = 0; k < n; ++k) largest = priority[k] > largest ? priority[k] : largest;
    raise(largest);
  }
  double alpha() const { return options_.alpha; }

 private:
  static constexpr double largestDouble = 0x1.fffffffffffffp1023;
  static double smaller(double a, double b) { return a < b ? a : b; }
  /// The weight for value^alpha; what is positive stays so, though the power may have been too small for a double.
  static float drawable(double value, double power, double alpha) {
    const double atLeast = power > 0x1p-126 ? power : 0x1p-126;
    const double weight = value > 0.0 ? smaller(atLeast, 0x1.fffffep127) : 0.0;
    return static_cast<float>(alpha == 0.0 ? 1.0 : weight);
  }

  ProportionalOptions options_;
  bool avx2_ = hasAvx2();
};

}  // namespace exrp
