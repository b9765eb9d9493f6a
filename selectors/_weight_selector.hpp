// WeightSelector: what the rules have in common that keep one weight for each pick, in a SumTree of float or double, and draw by it.
//
// A rule that derives from it says which weight a priority has, and which weights there may be. A new pick gets the weight of the largest
// priority set so far. This running maximum begins at initialPriority and only rises.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Those of the SumTree, as 10 + its number.
//   2. Every weight is one that isWeight() allows; beyond the count all are 0.
//   3. The running maximum is finite and >= initialPriority.
#pragma once

#include <cmath>

#include "kernel/base/priority.hpp"
#include "kernel/sockets/saved_selector.hpp"
#include "selectors/_proportional_draw.hpp"
#include "selectors/sum_tree.hpp"

namespace exrp {

/// What a WeightSelector saves: the weight of each pick is its Item.
struct WeightHeader {
  Random random;
  double priorityMax;
};

template <typename Weight>
class WeightSelector : public SavedSelector<WeightSelector<Weight>, WeightHeader, Weight> {
 public:
  WeightSelector(double initialPriority, Random random, uint32_t countMax)
      : random_(random), countMax_(countMax), initialPriority_(initialPriority), priorityMax_(initialPriority) {}

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

  bool weighted() const override { return true; }
  bool drawsByWeights() const override { return true; }
  void weights(uint32_t first, uint32_t count, double* weight) override {
    for (uint32_t k = 0; k < count; ++k) weight[k] = tree_.get(first + k);
  }

  uint32_t count() const { return count_; }
  WeightHeader header() const { return {random_, priorityMax_}; }
  Status restore(const WeightHeader& header) {
    if (!(header.priorityMax >= initialPriority_ && std::isfinite(header.priorityMax))) return Status::dataCorrupt;
    if (!header.random.isPossible()) return Status::dataCorrupt;
    random_ = header.random;
    raise(header.priorityMax);
    return Status::ok;
  }
  Weight item(uint32_t index) const { return tree_.get(index); }
  Status restoreItem(uint32_t index, Weight weight) {
    if (!isWeight(weight)) return Status::dataCorrupt;
    tree_.set(index, weight);
    return Status::ok;
  }
  Status loadEnd() override {
    tree_.settle();
    return Status::ok;
  }

  int32_t check() const override {
    if (const int32_t broken = tree_.check(); broken != 0) return 10 + broken;
    for (uint32_t index = 0; index < count_; ++index)
      if (!isWeight(tree_.get(index))) return 2;
    for (uint32_t index = count_; index < countMax_ && index < tree_.settableCount() && index < count_ + 64; ++index)
      if (tree_.get(index) != Weight{0}) return 2;
    return priorityMax_ >= initialPriority_ && std::isfinite(priorityMax_) ? 0 : 3;
  }

 protected:
  /// The weight of a priority.
  virtual Weight weightOf(double priority) const = 0;
  /// Whether a pick may have this weight.
  virtual bool isWeight(Weight weight) const = 0;

  /// Takes the memory. Called once, when the options are known to be right.
  Status createTree(bool trackMin = false) {
    if (!tree_.create(countMax_, trackMin)) return Status::memory;
    weightOfNew_ = weightOf(priorityMax_);
    return Status::ok;
  }
  /// The running maximum hears of a larger priority.
  void raise(double priority) {
    priorityMax_ = priority;
    weightOfNew_ = weightOf(priority);
  }
  double priorityMax() const { return priorityMax_; }
  SumTree<Weight>& tree() { return tree_; }
  const SumTree<Weight>& tree() const { return tree_; }
  Random& random() { return random_; }
  uint32_t countMax() const { return countMax_; }

 private:
  Random random_;
  const uint32_t countMax_;
  uint32_t count_ = 0;
  const double initialPriority_;
  double priorityMax_;
  Weight weightOfNew_ = 0;
  SumTree<Weight> tree_;
};

}  // namespace exrp
