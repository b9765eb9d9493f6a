// WeightSelector: what the rules have in common that keep one weight for each pick, in a SumTree of float or double, and draw by it.
//
// A Rule that derives from it is a SavedSelector, and has these functions beside:
//
//   Weight weightOf(double priority) const;    the weight of a new pick of this priority
//   bool isPossible(const Item&) const;        where an Item is a Weight, whether a pick may have it
//
// A new pick gets the weight of the largest priority set so far. This running maximum begins at initialPriority and only rises.
// Draws are those of _proportional_draw.hpp.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Those of the SumTree, as 10 + its number.
//   2. Every pick's Item is one that isPossible() allows; the weights beyond the count are all 0.
//   3. The running maximum is finite and >= initialPriority.
#pragma once

#include <cmath>

#include "kernel/base/priority.hpp"
#include "kernel/rules/saved_selector.hpp"
#include "selectors/_proportional_draw.hpp"
#include "selectors/sum_tree.hpp"

namespace exrp {

struct WeightState {
  Random random;
  double priorityMax;
};

/// How weights are drawn by.
struct WeightDraw {
  bool normalizeTable = false;  // importance weights are scaled by the view's largest, not the batch's
  bool independent = false;     // else stratified
};

template <typename Rule, typename Weight, typename Item = Weight>
class WeightSelector : public SavedSelector<Rule, WeightState, Item> {
  using Saved = SavedSelector<Rule, WeightState, Item>;

 public:
  WeightSelector(double initialPriority, WeightDraw draw, Random random, uint32_t countMax)
      : Saved({random, initialPriority}), countMax_(countMax), initialPriority_(initialPriority), draw_(draw) {}

  bool prepare(uint32_t count) override { return tree_.commit(count); }

  void pushed(uint32_t index) override {
    tree_.set(index, weightOfNew_);
    count_ = index + 1;
  }
  void moved(uint32_t from, uint32_t to) override { tree_.set(to, tree_.get(from)); }
  void popped(uint32_t index) override {
    tree_.set(index, Weight{0});
    count_ = index;
  }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    tree_.sumUp();
    drawProportional(tree_, count_, draw_.independent, state_.random, count, index, probability);
    return Status::ok;
  }
  double probabilityMin() override {
    if (!draw_.normalizeTable || count_ == 0) return 0.0;
    tree_.sumUp();
    return proportionalMin(tree_, count_);
  }

  bool weighted() const override { return true; }
  bool drawsByWeights() const override { return true; }
  void weights(uint32_t first, uint32_t count, double* weight) override {
    for (uint32_t k = 0; k < count; ++k) weight[k] = tree_.get(first + k);
  }
  double weightSum(uint32_t count) override {
    tree_.sumUp();
    return count == 0 ? 0.0 : tree_.total();
  }
  double memoryBytes(uint32_t) const override { return sizeof(Rule) + tree_.memoryBytes(); }

  bool restored() {
    raise(state_.priorityMax);
    return state_.priorityMax >= initialPriority_ && std::isfinite(state_.priorityMax);
  }
  Weight item(uint32_t index) const { return tree_.get(index); }
  void setItem(uint32_t index, Weight weight) { tree_.set(index, weight); }
  Status loadEnd() override {
    tree_.sumUp();
    return Status::ok;
  }

  int32_t check() const override {
    if (const int32_t broken = tree_.check(); broken != 0) return 10 + broken;
    for (uint32_t index = 0; index < count_; ++index)
      if (!rule().isPossible(rule().item(index))) return 2;
    for (uint32_t index = count_; index < countMax_ && index < tree_.settableCount() && index < count_ + 64; ++index)
      if (tree_.get(index) != Weight{0}) return 2;
    return state_.priorityMax >= initialPriority_ && std::isfinite(state_.priorityMax) ? 0 : 3;
  }

 protected:
  using Saved::count_;
  using Saved::state_;

  /// Takes the memory. Called once, when the options are known to be right.
  Status createTree() {
    if (!tree_.create(countMax_, draw_.normalizeTable)) return Status::memory;
    raise(state_.priorityMax);
    return Status::ok;
  }
  /// The running maximum hears of a larger priority.
  void raise(double priority) {
    state_.priorityMax = priority;
    weightOfNew_ = rule().weightOf(priority);
  }

  const uint32_t countMax_;
  Weight weightOfNew_ = 0;
  SumTree<Weight> tree_;

 private:
  const Rule& rule() const { return static_cast<const Rule&>(*this); }

  const double initialPriority_;
  const WeightDraw draw_;
};

}  // namespace exrp
