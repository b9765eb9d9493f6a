// RankBasedSelector: rank-based prioritization (Schaul, Quan, Antonoglou and Silver, "Prioritized experience replay", 2016, section
// 3.3): P(i) = rank(i)^-alpha / sum of all, rank(i) = 1 for the largest priority. Of equal priorities, the older pick is first.
//
// Ranks are exact at every draw. A RankTree has the picks in order; a SumTree has the weights of the ranks 1..N, which depend only on N.
// A draw finds a rank in the SumTree and its pick in the RankTree. Priorities are kept as float32.
// A new pick gets the largest priority set so far: a running maximum that begins at initialPriority and only rises.
// Draws of ranks are those of _proportional_draw.hpp.
//
// A pick's key is its priority's bits, inverted, above its birth in 32 bits. When births run out, they are numbered again.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. The RankTree's own, as 10 + its number; the SumTree's, as 20 + its number.
//   2. Every pick's key is in the RankTree once, with it as the value.
//   3. Priorities are 0 or normal, and at most the running maximum; births are below the next one.
//   4. The weights of the ranks that are weighed are rank^-alpha; of others 0.
// Cost: O(log N) a draw and a change; 256 draws and as many changes at 2^20 picks take about twice as long as PrioritizedSelector's
// (bench/probe/selectors.cpp). Memory: about 37 bytes a pick, 8 more once births were loaded or numbered anew.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernel/base/portable_math.hpp"
#include "kernel/base/priority.hpp"
#include "kernel/rules/saved_selector.hpp"
#include "selectors/_proportional_draw.hpp"
#include "selectors/_rank_tree.hpp"
#include "selectors/sum_tree.hpp"

namespace exrp {

struct RankBasedOptions {
  double alpha = 0.7;            // 0..2^40
  double initialPriority = 1.0;  // >= 0, finite
  bool normalizeTable = false;   // importance weights are scaled by the view's largest, not the batch's
  bool independent = false;      // else stratified
};

/// What a RankBasedSelector keeps, beside the key of each pick, which is its Item.
struct RankBasedState {
  Random random;
  uint32_t birthNext;
  float priorityMax;
};

class RankBasedSelector final : public SavedSelector<RankBasedSelector, RankBasedState, uint64_t> {
 public:
  RankBasedSelector(const RankBasedOptions& options, Random random, uint32_t countMax)
      : SavedSelector({random, 0, portableWeight(options.initialPriority)}), options_(options), countMax_(countMax) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() {
    if (!(options_.alpha >= 0.0 && options_.alpha <= 0x1p40)) return Status::argument;
    if (!isPriority(options_.initialPriority)) return Status::argument;
    if (!keys_.create(countMax_) || !scratch_.create(countMax_)) return Status::memory;
    if (!weights_.create(countMax_, options_.normalizeTable)) return Status::memory;
    return tree_.create(countMax_) ? Status::ok : Status::memory;
  }

  bool prepare(uint32_t count) override {
    return keys_.commit(count) && scratch_.commit(count) && weights_.commit(count) && tree_.prepare(count);
  }

  void pushed(uint32_t index) override {
    if (state_.birthNext == birthLimit) renumber();
    keys_[index] = keyOf(state_.priorityMax, state_.birthNext++);
    const RankTree::Change comes = {keys_[index], RankTree::none, index};
    tree_.change(&comes, 1);
    count_ = index + 1;
  }
  void moved(uint32_t from, uint32_t to) override {
    const RankTree::Change changes[] = {{keys_[to], to, RankTree::none}, {keys_[from], from, to}};
    keys_[to] = keys_[from];
    tree_.change(changes, 2);
    movedFrom_ = from;
  }
  void popped(uint32_t index) override {
    const RankTree::Change goes = {keys_[index], index, RankTree::none};
    if (index != movedFrom_) tree_.change(&goes, 1);
    movedFrom_ = none;
    count_ = index;
  }

  void setPriority(const uint32_t* index, const double* priority, uint32_t count) override {
    constexpr uint32_t piece = 128;
    RankTree::Change changes[2 * piece];
    for (uint32_t first = 0; first < count; first += piece) {
      const uint32_t n = count - first < piece ? count - first : piece;
      for (uint32_t k = 0; k < n; ++k) prefetchLineFar(&keys_[index[first + k]]);
      uint32_t changeCount = 0;
      for (uint32_t k = 0; k < n; ++k) {
        const uint32_t each = index[first + k];
        const float value = portableWeight(priority[first + k]);
        if (value > state_.priorityMax) state_.priorityMax = value;
        const uint64_t before = keys_[each];
        const uint64_t after = keyOf(value, birthOf(before));
        if (after == before) continue;
        keys_[each] = after;
        changes[changeCount++] = {before, each, RankTree::none};
        changes[changeCount++] = {after, RankTree::none, each};
      }
      tree_.change(changes, changeCount);
    }
  }

  bool getPriority(const uint32_t* index, uint32_t count, double* priority) const override {
    for (uint32_t k = 0; k < count; ++k) priority[k] = static_cast<double>(priorityOf(keys_[index[k]]));
    return true;
  }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    weigh();
    drawProportional(weights_, count_, options_.independent, state_.random, count, index, probability);
    tree_.nthMany(index, count);
    return Status::ok;
  }

  double probabilityMin() override {
    if (!options_.normalizeTable || count_ == 0) return 0.0;
    weigh();
    return proportionalMin(weights_, count_);
  }

  bool weighted() const override { return true; }
  bool drawsByWeights() const override { return true; }
  void weights(uint32_t first, uint32_t count, double* weight) override {
    weigh();
    for (uint32_t k = 0; k < count; ++k) weight[k] = weights_.get(first + k);
  }
  double weightSum(uint32_t count) override {
    weigh();
    return count == 0 ? 0.0 : weights_.total();
  }
  double memoryBytes(uint32_t countHighWater) const override {
    return sizeof(*this) + keys_.takenBytes(countHighWater) + scratch_.takenBytes(sortedHighWater_) + weights_.memoryBytes() +
           tree_.memoryBytes();
  }

  bool restored() const {
    const bool isMaximum = state_.priorityMax >= portableWeight(options_.initialPriority) && std::isfinite(state_.priorityMax);
    return isMaximum && state_.birthNext >= count_;
  }
  uint64_t item(uint32_t index) const { return keys_[index]; }
  bool isPossible(uint64_t key) const {
    const float priority = priorityOf(key);
    const bool normal = priority >= 0x1p-126f || (priority == 0.0f && !std::signbit(priority));
    return normal && priority <= state_.priorityMax && birthOf(key) < state_.birthNext;
  }
  void setItem(uint32_t index, uint64_t key) { keys_[index] = key; }
  Status loadEnd() override {
    sortBirths();
    for (uint32_t k = 1; k < count_; ++k)
      if (scratch_[k] >> 32 == scratch_[k - 1] >> 32) return Status::dataCorrupt;
    plant();
    return Status::ok;
  }

  int32_t check() const override {
    if (const int32_t broken = tree_.check(); broken != 0) return 10 + broken;
    if (const int32_t broken = weights_.check(); broken != 0) return 20 + broken;
    if (tree_.count() != count_) return 2;
    for (uint32_t index = 0; index < count_; ++index) {
      if (!tree_.has(keys_[index], index)) return 2;
      if (!isPossible(keys_[index])) return 3;
    }
    for (uint32_t rank = 0; rank < keys_.committed() && rank < weighed_ + 64; ++rank)
      if (weights_.get(rank) != (rank < weighed_ ? portablePow32(rank + 1.0, -options_.alpha) : 0.0)) return 4;
    return 0;
  }

 private:
  static constexpr uint32_t none = 0xffffffffu;
  static constexpr uint32_t birthLimit = 0xffffffffu;

  static uint64_t keyOf(float priority, uint32_t birth) {
    return uint64_t{~std::bit_cast<uint32_t>(priority)} << 32 | birth;
  }
  static float priorityOf(uint64_t key) { return std::bit_cast<float>(~static_cast<uint32_t>(key >> 32)); }
  static uint32_t birthOf(uint64_t key) { return static_cast<uint32_t>(key); }

  /// Gives the ranks up to the count their weights, and those above none.
  void weigh() {
    constexpr uint32_t piece = 64;
    double power[piece];
    while (weighed_ < count_) {
      const uint32_t n = count_ - weighed_ < piece ? count_ - weighed_ : piece;
      for (uint32_t k = 0; k < n; ++k) power[k] = static_cast<double>(weighed_ + k) + 1.0;
      portablePow32Many(power, -options_.alpha, power, n, avx2_);
      for (uint32_t k = 0; k < n; ++k) weights_.set(weighed_++, power[k]);
    }
    while (weighed_ > count_) weights_.set(--weighed_, 0.0);
    weights_.sumUp();
  }

  /// Into scratch_: each pick's birth above its index, in order.
  void sortBirths() {
    if (count_ > sortedHighWater_) sortedHighWater_ = count_;
    for (uint32_t index = 0; index < count_; ++index) scratch_[index] = uint64_t{birthOf(keys_[index])} << 32 | index;
    // By a comparator of our own: the one of std::sort itself lies in the C++ library, which the kernel is not linked with.
    std::sort(scratch_.data(), scratch_.data() + count_, [](uint64_t a, uint64_t b) { return a < b; });
  }
  /// Makes the tree anew from the keys.
  void plant() {
    tree_.clear();
    constexpr uint32_t piece = 128;
    RankTree::Change changes[piece];
    for (uint32_t index = 0; index < count_;) {
      uint32_t n = 0;
      for (; n < piece && index < count_; ++index) changes[n++] = {keys_[index], RankTree::none, index};
      tree_.change(changes, n);
    }
  }
  /// Numbers the births anew from 0, in their order.
  void renumber() {
    sortBirths();
    for (uint32_t k = 0; k < count_; ++k) {
      uint64_t& key = keys_[static_cast<uint32_t>(scratch_[k])];
      key = keyOf(priorityOf(key), k);
    }
    state_.birthNext = count_;
    plant();
  }

  RankBasedOptions options_;
  bool avx2_ = hasAvx2();
  uint32_t countMax_;
  uint32_t sortedHighWater_ = 0;  // of scratch_
  uint32_t weighed_ = 0;       // ranks that have their weight
  uint32_t movedFrom_ = none;  // between moved() and popped()
  ReservedArray<uint64_t> keys_;     // of each pick
  ReservedArray<uint64_t> scratch_;  // for births: used when they are numbered anew or loaded
  RankTree tree_;
  SumTree<double> weights_;  // of ranks, from 0
};

}  // namespace exrp
