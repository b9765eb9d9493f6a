// ProportionalSelector: proportional prioritization (Schaul, Quan, Antonoglou and Silver, "Prioritized experience replay", 2016,
// section 3.3): P(i) = w_i / sum of w, w_i = (p_i + epsilon)^alpha, over a SumTree of w as float32. It is the rule of
// prioritized.hpp. Rules that draw in the same way and set other weights derive from it.
//
// A new pick gets the largest priority set so far. This running maximum begins at initialPriority and only rises. It counts every priority
// that was ever given to setPriority, also one that a later one of the same call replaces.
// Draws are those of _proportional_draw.hpp.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Those of the SumTree, as 10 + its number.
//   2. Every weight is 0 or a normal float32, not 0 if epsilon isn't, and 1 if alpha is 0; beyond the count all are 0.
//   3. The running maximum is finite and >= initialPriority.
// Cost: pushed, moved, popped a few ns; O(log N) a draw and a priority (sums are added up when the next batch is drawn).
// Memory: 5.1 bytes a pick, 5.4 with normalizeTable.
// It keeps weights, not priorities. So a priority is read back as w^(1/alpha) - epsilon. As w is a float32, p + epsilon is then exact to
// one part in 2^24 alpha, as long as w lies within the limits of float32. With alpha 0 all weights are 1, and nothing is known.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "kernel/base/portable_math.hpp"
#include "kernel/base/priority.hpp"
#include "kernel/sockets/pick_selector.hpp"
#include "selectors/_proportional_draw.hpp"
#include "selectors/sum_tree.hpp"

namespace exrp {

struct ProportionalOptions {
  double alpha = 0.6;            // 0..2^40
  double epsilon = 0.0;          // >= 0, finite
  double initialPriority = 1.0;  // >= 0, finite
  bool normalizeTable = false;   // importance weights are scaled by the table's largest, not the batch's
  bool independent = false;      // else stratified
};

class ProportionalSelector : public PickSelector {
 public:
  ProportionalSelector(const ProportionalOptions& options, Random random, uint32_t countMax)
      : options_(options), random_(random), countMax_(countMax), priorityMax_(options.initialPriority) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() {
    if (!(options_.alpha >= 0.0 && options_.alpha <= 0x1p40)) return Status::argument;
    if (!isPriority(options_.epsilon)) return Status::argument;
    if (!isPriority(options_.initialPriority)) return Status::argument;
    if (!tree_.create(countMax_, options_.normalizeTable)) return Status::memory;
    weightOfNew_ = weightOf(priorityMax_);
    return Status::ok;
  }

  bool prepare(uint32_t count) override { return tree_.commit(count); }

  void pushed(uint32_t index) override {
    tree_.set(index, weightOfNew_);
    count_ = index + 1;
  }
  void moved(uint32_t from, uint32_t to) override { tree_.set(to, tree_.get(from)); }
  void popped(uint32_t index) override {
    tree_.set(index, 0.0f);
    count_ = index;
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

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    tree_.settle();
    drawProportional(tree_, count_, options_.independent, random_, count, index, probability);
    return Status::ok;
  }

  double probabilityMin() override {
    if (!options_.normalizeTable || count_ == 0) return 0.0;
    tree_.settle();
    return proportionalMin(tree_, count_);
  }

  bool weighted() const override { return true; }
  bool drawsByWeights() const override { return true; }
  void weights(uint32_t first, uint32_t count, double* weight) override {
    for (uint32_t k = 0; k < count; ++k) weight[k] = tree_.get(first + k);
  }
  double memoryBytes(uint32_t) const override { return sizeof(*this) + tree_.memoryBytes(); }

  uint32_t headerBytes() const override { return Random::stateBytes + 8; }
  uint32_t itemBytes() const override { return 4; }
  void saveHeader(uint8_t* bytes) const override {
    random_.save(bytes);
    std::memcpy(bytes + Random::stateBytes, &priorityMax_, 8);
  }
  void saveItems(uint32_t first, uint32_t count, uint8_t* bytes) const override {
    for (uint32_t k = 0; k < count; ++k) {
      const float weight = tree_.get(first + k);
      std::memcpy(bytes + size_t{4} * k, &weight, 4);
    }
  }

  Status loadHeader(const uint8_t* bytes) override {
    double priorityMax = 0.0;
    std::memcpy(&priorityMax, bytes + Random::stateBytes, 8);
    if (!(priorityMax >= options_.initialPriority && std::isfinite(priorityMax))) return Status::dataCorrupt;
    if (!random_.load(bytes)) return Status::dataCorrupt;
    priorityMax_ = priorityMax;
    weightOfNew_ = weightOf(priorityMax_);
    return Status::ok;
  }
  Status loadItems(uint32_t first, uint32_t count, const uint8_t* bytes) override {
    if (first > count_ || count > count_ - first) return Status::dataCorrupt;
    for (uint32_t k = 0; k < count; ++k) {
      float weight = 0.0f;
      std::memcpy(&weight, bytes + size_t{4} * k, 4);
      if (!weightPossible(weight)) return Status::dataCorrupt;
      tree_.set(first + k, weight);
    }
    return Status::ok;
  }
  Status loadEnd() override {
    tree_.settle();
    return Status::ok;
  }

  int32_t check() const override {
    if (const int32_t broken = tree_.check(); broken != 0) return 10 + broken;
    for (uint32_t index = 0; index < count_; ++index)
      if (!weightPossible(tree_.get(index))) return 2;
    for (uint32_t index = count_; index < countMax_ && index < tree_.settableCount() && index < count_ + 64; ++index)
      if (tree_.get(index) != 0.0f) return 2;
    return priorityMax_ >= options_.initialPriority && std::isfinite(priorityMax_) ? 0 : 3;
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
    for (uint32_t k = 0; k < n; ++k) isLarger |= priority[k] > priorityMax_;
    for (uint32_t k = 0; k < n; ++k) value[k] = smaller(priority[k] + epsilon, largestDouble);
    portablePow32Many(value, alpha, power, n, avx2_);
    for (uint32_t k = 0; k < n; ++k) weight[k] = drawable(value[k], power[k], alpha);
    if (!isLarger) return;
    for (uint32_t k = 0; k < n; ++k) priorityMax_ = priority[k] > priorityMax_ ? priority[k] : priorityMax_;
    weightOfNew_ = weightOf(priorityMax_);
  }
  SumTree<float>& tree() { return tree_; }
  uint32_t count() const { return count_; }
  uint32_t countMax() const { return countMax_; }
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
  float weightOf(double priority) const {
    const double value = smaller(priority + options_.epsilon, largestDouble);
    return drawable(value, portablePow32(value, options_.alpha), options_.alpha);
  }
  bool weightPossible(float weight) const {
    if (options_.alpha == 0.0) return weight == 1.0f;
    if (weight == 0.0f) return !std::signbit(weight) && options_.epsilon == 0.0;
    return weight >= 0x1p-126f && weight <= 0x1.fffffep127f;
  }

  ProportionalOptions options_;
  Random random_;
  bool avx2_ = hasAvx2();
  uint32_t countMax_;
  uint32_t count_ = 0;
  double priorityMax_;
  float weightOfNew_ = 0.0f;
  SumTree<float> tree_;
};

}  // namespace exrp
