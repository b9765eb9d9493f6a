// PowerSelector: P(i) = w_i / sum of w, w_i = p_i^exponent, in double precision: the selector Prioritized of Reverb.
//
// It differs from prioritized.hpp where a client of Reverb would see it. A priority of 0 has the weight 0, even if the exponent is 0; and while all
// weights are 0, draws are uniform with P(i) = 1 / N. Weights are not rounded to float32, so neither are probabilities. Each draw is independent.
// A new pick gets the largest priority set so far: a running maximum that begins at initialPriority and only rises.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Those of the SumTree, as 10 + its number.
//   2. Every weight is 0 or within weightMin..weightMax, so that no sum is infinite. Beyond the count all are 0.
//   3. The running maximum is finite and >= initialPriority.
// Cost: as prioritized.hpp, but for an exponent of 0 or 1, which needs no power. Memory: 8.8 bytes a pick.
// It keeps weights, not priorities. So a priority is read back as w^(1/exponent), exact to some parts in 2^50; with exponent 0 only zeros are known.
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

class PowerSelector final : public PickSelector {
 public:
  PowerSelector(double exponent, double initialPriority, Random random, uint32_t countMax)
      : exponent_(exponent), initialPriority_(initialPriority), random_(random), countMax_(countMax), priorityMax_(initialPriority) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() {
    if (!(exponent_ >= 0.0 && exponent_ <= 0x1p40) || !isPriority(initialPriority_)) return Status::argument;
    return tree_.create(countMax_) ? Status::ok : Status::memory;
  }

  bool prepare(uint32_t count) override { return tree_.commit(count); }

  void pushed(uint32_t index) override {
    tree_.set(index, weightOf(priorityMax_));
    count_ = index + 1;
  }
  void moved(uint32_t from, uint32_t to) override { tree_.set(to, tree_.get(from)); }
  void popped(uint32_t index) override {
    tree_.set(index, 0.0);
    count_ = index;
  }

  void setPriority(const uint32_t* index, const double* priority, uint32_t count) override {
    for (uint32_t k = 0; k < count; ++k) {
      tree_.set(index[k], weightOf(priority[k]));
      if (priority[k] > priorityMax_) priorityMax_ = priority[k];
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

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    tree_.settle();
    drawProportional(tree_, count_, true, random_, count, index, probability);
    return Status::ok;
  }

  bool weighted() const override { return true; }
  bool drawsByWeights() const override { return true; }
  void weights(uint32_t first, uint32_t count, double* weight) override {
    for (uint32_t k = 0; k < count; ++k) weight[k] = tree_.get(first + k);
  }
  double memoryBytes(uint32_t) const override { return sizeof(*this) + tree_.memoryBytes(); }

  // Saved: the random state and the running maximum; then the weight of each pick.
  uint32_t headerBytes() const override { return Random::stateBytes + 8; }
  uint32_t itemBytes() const override { return 8; }
  void saveHeader(uint8_t* bytes) const override {
    random_.save(bytes);
    std::memcpy(bytes + Random::stateBytes, &priorityMax_, 8);
  }
  void saveItems(uint32_t first, uint32_t count, uint8_t* bytes) const override {
    for (uint32_t k = 0; k < count; ++k) {
      const double weight = tree_.get(first + k);
      std::memcpy(bytes + size_t{8} * k, &weight, 8);
    }
  }
  Status loadHeader(const uint8_t* bytes) override {
    double priorityMax = 0.0;
    std::memcpy(&priorityMax, bytes + Random::stateBytes, 8);
    if (!(priorityMax >= initialPriority_ && std::isfinite(priorityMax))) return Status::dataCorrupt;
    if (!random_.load(bytes)) return Status::dataCorrupt;
    priorityMax_ = priorityMax;
    return Status::ok;
  }
  Status loadItems(uint32_t first, uint32_t count, const uint8_t* bytes) override {
    if (first > count_ || count > count_ - first) return Status::dataCorrupt;
    for (uint32_t k = 0; k < count; ++k) {
      double weight = 0.0;
      std::memcpy(&weight, bytes + size_t{8} * k, 8);
      if (!isWeight(weight)) return Status::dataCorrupt;
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
      if (!isWeight(tree_.get(index))) return 2;
    for (uint32_t index = count_; index < countMax_ && index < tree_.settableCount() && index < count_ + 64; ++index)
      if (tree_.get(index) > 0.0) return 2;
    return priorityMax_ >= initialPriority_ && std::isfinite(priorityMax_) ? 0 : 3;
  }

 private:
  // 2^28 of the largest weights add up to a finite sum, and a point within the smallest is no subnormal number.
  static constexpr double weightMin = 0x1p-960;
  static constexpr double weightMax = 0x1p960;

  double weightOf(double priority) const {
    if (!(priority > 0.0)) return 0.0;
    const double power = exponent_ == 1.0 ? priority : exponent_ == 0.0 ? 1.0 : portablePow(priority, exponent_);
    return power < weightMin ? weightMin : power < weightMax ? power : weightMax;
  }
  bool isWeight(double weight) const {
    if (weight == 0.0) return !std::signbit(weight);
    return exponent_ == 0.0 ? weight == 1.0 : weight >= weightMin && weight <= weightMax;
  }

  const double exponent_;
  const double initialPriority_;
  Random random_;
  const uint32_t countMax_;
  uint32_t count_ = 0;
  double priorityMax_;
  SumTree<double> tree_;
};

}  // namespace exrp
