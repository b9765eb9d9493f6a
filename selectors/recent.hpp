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
//   1. Those of the AgeRing, as 10 + its number.
//   2. Batches drawn since k was last 1 are below K.
// Cost: push O(1) amortised; a draw O(log N). Memory: 10.2 bytes a pick.
#pragma once

#include "kernel/base/portable_math.hpp"
#include "kernel/sockets/saved_selector.hpp"
#include "selectors/_age_ring.hpp"

namespace exrp {

struct RecentOptions {
  double newest = 1.0;    // the window's least size: 1..2^53
  double fraction = 1.0;  // of all picks: 0..1
  double eta = 1.0;       // 0..1
  double updates = 1.0;   // K: an integer, 1..2^32 - 1
};

/// What a RecentSelector saves: how many picks are older than each is its Item.
struct RecentHeader {
  Random random;
  uint32_t drawn;  // batches since k was last 1
  uint32_t unused;
};

class RecentSelector final : public SavedSelector<RecentSelector, RecentHeader, uint32_t> {
 public:
  RecentSelector(const RecentOptions& options, Random random, uint32_t countMax)
      : options_(options), random_(random), countMax_(countMax) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() {
    if (!(options_.newest >= 1.0 && options_.newest <= 0x1p53)) return Status::argument;
    if (!(options_.fraction >= 0.0 && options_.fraction <= 1.0)) return Status::argument;
    if (!(options_.eta >= 0.0 && options_.eta <= 1.0)) return Status::argument;
    if (!(options_.updates >= 1.0 && options_.updates < 0x1p32)) return Status::argument;
    updates_ = static_cast<uint32_t>(options_.updates);
    if (static_cast<double>(updates_) != options_.updates) return Status::argument;
    return ring_.create(countMax_) ? Status::ok : Status::memory;
  }

  bool prepare(uint32_t count) override { return ring_.prepare(count); }

  void pushed(uint32_t index) override { ring_.push(index); }
  void moved(uint32_t from, uint32_t to) override {
    ring_.erase(to);
    ring_.relocate(from, to);
    movedFrom_ = from;
  }
  void popped(uint32_t index) override {
    if (index != movedFrom_) ring_.erase(index);
    movedFrom_ = AgeRing::none;
  }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    const uint32_t window = windowNext();
    const uint32_t wrapped = ring_.wrapped();
    const double each = 1.0 / window;
    for (uint32_t k = 0; k < count; ++k) index[k] = ring_.nth(ring_.count() - 1 - random_.below(window), wrapped);
    for (uint32_t k = 0; k < count; ++k) index[k] = ring_.at(index[k]);
    for (uint32_t k = 0; k < count; ++k) probability[k] = each;
    drawn_ = drawn_ + 1 == updates_ ? 0 : drawn_ + 1;
    return Status::ok;
  }

  bool weighted() const override { return false; }
  double memoryBytes(uint32_t countHighWater) const override { return sizeof(*this) + ring_.memoryBytes(countHighWater); }

  uint32_t count() const { return ring_.count(); }
  RecentHeader header() const { return {random_, drawn_, 0}; }
  Status restore(const RecentHeader& header) {
    if (header.drawn >= updates_ || !header.random.isPossible()) return Status::dataCorrupt;
    random_ = header.random;
    drawn_ = header.drawn;
    ring_.loadBegin(ring_.count());
    return Status::ok;
  }
  uint32_t item(uint32_t index) const { return ring_.rankOf(index, ring_.wrapped()); }
  Status restoreItem(uint32_t index, uint32_t rank) { return ring_.loadRank(index, rank) ? Status::ok : Status::dataCorrupt; }
  Status loadEnd() override { return ring_.loadEnd() ? Status::ok : Status::dataCorrupt; }

  int32_t check() const override {
    if (const int32_t broken = ring_.check(); broken != 0) return 10 + broken;
    return drawn_ < updates_ ? 0 : 2;
  }

 private:
  /// c_k of the next batch.
  uint32_t windowNext() const {
    const double k = static_cast<double>(drawn_) + 1.0;
    const double count = ring_.count();
    double window = options_.fraction * count * portablePow(options_.eta, 1000.0 * k / options_.updates);
    if (window < options_.newest) window = options_.newest;
    return window < count ? static_cast<uint32_t>(window) : ring_.count();
  }

  RecentOptions options_;
  Random random_;
  uint32_t countMax_;
  uint32_t updates_ = 1;
  uint32_t drawn_ = 0;
  uint32_t movedFrom_ = AgeRing::none;  // between moved() and popped()
  AgeRing ring_;
};

}  // namespace exrp
