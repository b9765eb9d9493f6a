// RecentSelector: uniform over the newest picks, with replacement; emphasizing recent experience (Wang and Ross, "Boosting soft
// actor-critic: emphasizing recent experience without forgetting the past", 2019) where the window shrinks from batch to batch.
//
// Batch k of K draws from the newest c_k = max(fraction N eta^(1000 k / K), newest) of N picks, rounded down, at most N and at
// least 1; k goes from 1 to K and begins again. With fraction = 1 that is the paper's rule, where K is the number of updates of a phase. With
// eta = 1 the window is a fixed share, and with fraction = 0 a fixed number.
// Age is the order in which picks came into the view, as this selector saw it. Priorities are ignored.
// P(i) = 1 / c_k for the newest c_k, and the paper has no importance weights: weighted() is false.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Those of the AgeOrder, as 10 + its number.
//   2. Batches drawn since k was last 1 are below K.
// Cost: push O(1) amortised; a draw O(log N). Memory: 10.2 bytes a pick.
#pragma once

#include "kernel/base/portable_math.hpp"
#include "kernel/rules/saved_selector.hpp"
#include "selectors/_age_order.hpp"

namespace exrp {

struct RecentOptions {
  double newest = 1.0;    // the window's least size: 1..2^53
  double fraction = 1.0;  // of all picks: 0..1
  double eta = 1.0;       // 0..1
  double updates = 1.0;   // K: an integer, 1..2^32 - 1
};

/// What a RecentSelector keeps, beside the age of its picks. How many picks are older than each is its Item.
struct RecentState {
  Random random;
  uint32_t drawn;  // batches since k was last 1
  uint32_t unused;
};

class RecentSelector final : public SavedSelector<RecentSelector, RecentState, uint32_t> {
 public:
  RecentSelector(const RecentOptions& options, Random random, uint32_t countMax)
      : SavedSelector({random, 0, 0}), options_(options), countMax_(countMax) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() {
    if (!(options_.newest >= 1.0 && options_.newest <= 0x1p53)) return Status::argument;
    if (!(options_.fraction >= 0.0 && options_.fraction <= 1.0)) return Status::argument;
    if (!(options_.eta >= 0.0 && options_.eta <= 1.0)) return Status::argument;
    if (!(options_.updates >= 1.0 && options_.updates < 0x1p32)) return Status::argument;
    updates_ = static_cast<uint32_t>(options_.updates);
    if (static_cast<double>(updates_) != options_.updates) return Status::argument;
    return order_.create(countMax_) ? Status::ok : Status::memory;
  }

  bool prepare(uint32_t count) override { return order_.prepare(count); }

  void pushed(uint32_t index) override {
    order_.push(index);
    count_ = index + 1;
  }
  void moved(uint32_t from, uint32_t to) override {
    order_.erase(to);
    order_.relocate(from, to);
    movedFrom_ = from;
  }
  void popped(uint32_t index) override {
    if (index != movedFrom_) order_.erase(index);
    movedFrom_ = none;
    count_ = index;
  }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    const uint32_t window = windowNext();
    const double each = 1.0 / window;
    for (uint32_t k = 0; k < count; ++k) index[k] = order_.nth(count_ - 1 - state_.random.below(window));
    for (uint32_t k = 0; k < count; ++k) index[k] = order_.at(index[k]);
    for (uint32_t k = 0; k < count; ++k) probability[k] = each;
    state_.drawn = state_.drawn + 1 == updates_ ? 0 : state_.drawn + 1;
    return Status::ok;
  }

  bool weighted() const override { return false; }
  double memoryBytes(uint32_t countHighWater) const override { return sizeof(*this) + order_.memoryBytes(countHighWater); }

  bool restored() {
    order_.loadBegin(count_);
    return state_.drawn < updates_;
  }
  uint32_t item(uint32_t index) const { return order_.rankOf(index); }
  bool isPossible(uint32_t rank) const { return rank < count_; }
  void setItem(uint32_t index, uint32_t rank) { order_.loadRank(index, rank); }
  Status loadEnd() override { return order_.loadEnd() ? Status::ok : Status::dataCorrupt; }

  int32_t check() const override {
    if (const int32_t broken = order_.check(); broken != 0) return 10 + broken;
    return state_.drawn < updates_ ? 0 : 2;
  }

 private:
  static constexpr uint32_t none = 0xffffffffu;

  /// c_k of the next batch.
  uint32_t windowNext() const {
    const double k = static_cast<double>(state_.drawn) + 1.0;
    const double count = count_;
    double window = options_.fraction * count * portablePow(options_.eta, 1000.0 * k / options_.updates);
    if (window < options_.newest) window = options_.newest;
    return window < count ? static_cast<uint32_t>(window) : count_;
  }

  RecentOptions options_;
  uint32_t countMax_;
  uint32_t updates_ = 1;
  uint32_t movedFrom_ = none;  // between moved() and popped()
  AgeOrder order_;
};

}  // namespace exrp
