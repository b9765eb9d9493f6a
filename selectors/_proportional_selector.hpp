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

#include "selectors/_priority_power.hpp"
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
      : WeightSelector(options.initialPriority, {options.normalizeTable, options.independent}, random, countMax),
        power_(options.alpha, options.epsilon) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() { return power_.valid() && isPriority(state_.priorityMax) ? createTree() : Status::argument; }

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
    for (uint32_t k = 0; k < count; ++k) priority[k] = power_.priorityOf(tree_.get(index[k]));
    return true;
  }

  float weightOf(double priority) const { return power_.of(priority); }
  bool isPossible(float weight) const { return power_.isPossible(weight); }

 protected:
  static constexpr uint32_t pieceMax = PriorityPower::pieceMax;

  /// The weights for `n` <= pieceMax priorities; the running maximum hears of them.
  void weigh(const double* priority, uint32_t n, float* weight) {
    power_.many(priority, n, weight);
    bool isLarger = false;
    const double before = state_.priorityMax;
    for (uint32_t k = 0; k < n; ++k) isLarger |= priority[k] > before;
    if (!isLarger) return;
    double largest = before;
    for (uint32_t k = 0; k < n; ++k) largest = priority[k] > largest ? priority[k] : largest;
    raise(largest);
  }
  double alpha() const { return power_.alpha(); }

 private:
  PriorityPower power_;
};

}  // namespace exrp
