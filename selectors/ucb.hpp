// UcbSelector: upper-confidence-bound experience sampling. score_i = q_i + c sqrt(ln T / n_i): q_i is the pick's priority divided
// by the largest set so far (0 while that is 0), and n_i how often it was drawn. T counts all draws of this selector so far, those of
// evicted picks included. Each draw of a batch sees the counts that the ones before it left.
//
// Picks that were never drawn come first, oldest first. Then:
// - greedy draws the pick with the largest score; of equal scores the smaller n, then the larger priority, then the older pick;
// - proportional draws with P(i) = score_i / sum of scores, as a mixture. The share of q is drawn by a SumTree over the priorities, the
//   share of the bonus by another over 1 / sqrt(n). If all scores are 0, draws are uniform.
// The result is exact at every draw, and no draw looks at all picks: a ScoreTournament knows the best, or the oldest that is new.
//
// A new pick gets the largest priority set so far, a running maximum that begins at initialPriority and only rises; priorities are
// kept as float32. Probability reported: greedy 1 (importance weights are all 1); proportional P(i), and 1 / N for a draw that was
// forced because the pick was never drawn, or uniform: so it has the importance weight of a uniform draw.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. 0 <= priority <= the running maximum; births are below the next one.
//   2. Proportional: the trees' weights are the priorities, and 1 / sqrt(n), or 0 for a pick that was never drawn.
//   Those of the parts: 10 + the tournament's, 20 and 30 + the trees'.
// Cost: see bench/probe/selectors.cpp. O(log N) for a draw, amortised, and for a change.
// Memory: 28 bytes a pick, 14 more if proportional.
#pragma once

#include <cmath>

#include "kernel/base/portable_math.hpp"
#include "kernel/base/priority.hpp"
#include "kernel/rules/saved_selector.hpp"
#include "selectors/_score_tournament.hpp"
#include "selectors/sum_tree.hpp"

namespace exrp {

struct UcbOptions {
  double c = 1.0;                // 0..10^100
  bool proportional = false;     // else greedy
  double initialPriority = 1.0;  // >= 0, finite
};

/// What a UcbSelector keeps, beside its picks, which are their own Items.
struct UcbState {
  Random random;
  uint64_t drawCount;  // T
  uint64_t birthNext;
  double priorityMax;  // a float32
};

class UcbSelector final : public SavedSelector<UcbSelector, UcbState, UcbPick> {
 public:
  UcbSelector(const UcbOptions& options, Random random, uint32_t countMax)
      : SavedSelector({random, 0, 0, static_cast<double>(portableWeight(options.initialPriority))}),
        options_(options),
        countMax_(countMax),
        tournament_(picks_, options.c, options.proportional) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() {
    if (!(options_.c >= 0.0 && options_.c <= 1e100)) return Status::argument;
    if (!isPriority(options_.initialPriority)) return Status::argument;
    if (!picks_.create(countMax_) || !tournament_.create(countMax_)) return Status::memory;
    if (options_.proportional && (!priorities_.create(countMax_) || !bonuses_.create(countMax_))) return Status::memory;
    return Status::ok;
  }

  bool prepare(uint32_t count) override {
    if (!picks_.commit(count) || !tournament_.prepare(count)) return false;
    return !options_.proportional || (priorities_.commit(count) && bonuses_.commit(count));
  }

  void pushed(uint32_t index) override {
    count_ = index + 1;
    tournament_.resize(count_);
    setItem(index, {state_.birthNext++, 0, static_cast<float>(state_.priorityMax)});
  }
  void moved(uint32_t from, uint32_t to) override { setItem(to, picks_[from]); }
  void popped(uint32_t index) override {
    if (options_.proportional) {
      priorities_.set(index, 0.0f);
      bonuses_.set(index, 0.0);
    }
    tournament_.change(index);
    count_ = index;
    tournament_.resize(count_);
  }

  bool getPriority(const uint32_t* index, uint32_t count, double* priority) const override {
    for (uint32_t k = 0; k < count; ++k) priority[k] = static_cast<double>(picks_[index[k]].priority);
    return true;
  }
  void setPriority(const uint32_t* index, const double* priority, uint32_t count) override {
    auto largest = static_cast<float>(state_.priorityMax);
    for (uint32_t k = 0; k < count; ++k) {
      const float kept = portableWeight(priority[k]);
      picks_[index[k]].priority = kept;
      if (kept > largest) largest = kept;
      if (options_.proportional) priorities_.set(index[k], kept);
      else tournament_.change(index[k]);
    }
    state_.priorityMax = largest;
  }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    if (options_.proportional) priorities_.sumUp();
    for (uint32_t k = 0; k < count; ++k) {
      const UcbScale scale = {state_.drawCount > 0 ? portableLog(static_cast<double>(state_.drawCount)) : 0.0, state_.priorityMax};
      index[k] = tournament_.best(scale);
      probability[k] = options_.proportional ? 1.0 / count_ : 1.0;
      if (index[k] == ScoreTournament::none) drawProportional(scale, index + k, probability + k);
      countDraw(index[k]);
    }
    return Status::ok;
  }

  bool weighted() const override { return options_.proportional; }
  double memoryBytes(uint32_t countHighWater) const override {
    const double trees = options_.proportional ? priorities_.memoryBytes() + bonuses_.memoryBytes() : 0.0;
    return sizeof(*this) + picks_.takenBytes(countHighWater) + tournament_.memoryBytes() + trees;
  }

  bool restored() const {
    constexpr uint64_t countLimit = uint64_t{1} << 53;  // draws and births: exact in a double, and never reached
    const bool isMaximum = state_.priorityMax >= portableWeight(options_.initialPriority) && isWeight(state_.priorityMax);
    return isMaximum && state_.drawCount <= countLimit && state_.birthNext <= countLimit && state_.birthNext >= count_;
  }
  UcbPick item(uint32_t index) const { return picks_[index]; }
  bool isPossible(const UcbPick& pick) const {
    return pick.birth < state_.birthNext && pick.priority <= state_.priorityMax && isWeight(static_cast<double>(pick.priority));
  }
  void setItem(uint32_t index, const UcbPick& pick) {
    picks_[index] = pick;
    tournament_.change(index);
    if (!options_.proportional) return;
    priorities_.set(index, pick.priority);
    bonuses_.set(index, bonusOf(pick));
  }
  Status loadEnd() override {
    uint64_t draws = 0;
    for (uint32_t index = 0; index < count_; ++index) draws += picks_[index].n;
    tournament_.playAllAgain();
    return draws <= state_.drawCount ? Status::ok : Status::dataCorrupt;
  }

  int32_t check() const override {
    for (uint32_t index = 0; index < count_; ++index) {
      const UcbPick& pick = picks_[index];
      if (!isPossible(pick)) return 1;
      if (options_.proportional && (priorities_.get(index) != pick.priority || bonuses_.get(index) != bonusOf(pick))) return 2;
    }
    if (const int32_t broken = tournament_.check(); broken != 0) return 10 + broken;
    if (!options_.proportional) return 0;
    if (const int32_t broken = priorities_.check(); broken != 0) return 20 + broken;
    if (const int32_t broken = bonuses_.check(); broken != 0) return 30 + broken;
    return 0;
  }

 private:
  /// Whether this is a priority as it is kept.
  static bool isWeight(double priority) { return static_cast<double>(portableWeight(priority)) == priority; }
  static double bonusOf(const UcbPick& pick) { return pick.n > 0 ? 1.0 / __builtin_sqrt(pick.n) : 0.0; }

  void drawProportional(const UcbScale& scale, uint32_t* index, double* probability) {
    bonuses_.sumUp();
    const double qualityShare = scale.priorityMax > 0.0 ? priorities_.total() / scale.priorityMax : 0.0;
    const double bonusShare = options_.c * __builtin_sqrt(scale.lnT) * bonuses_.total();
    const double sum = qualityShare + bonusShare;
    if (!(sum > 0.0)) {
      *index = state_.random.below(count_);
      *probability = 1.0 / count_;
      return;
    }
    const double x = state_.random.uniform() * sum;
    const double y = state_.random.uniform();
    *index = bonusShare <= 0.0 || x < qualityShare ? priorities_.find(y * priorities_.total()) : bonuses_.find(y * bonuses_.total());
    *probability = tournament_.score(picks_[*index], scale) / sum;
  }

  void countDraw(uint32_t index) {
    UcbPick& pick = picks_[index];
    if (!options_.proportional || pick.n == 0) tournament_.change(index);
    if (pick.n != UINT32_MAX) ++pick.n;
    if (options_.proportional) bonuses_.set(index, bonusOf(pick));
    ++state_.drawCount;
  }

  UcbOptions options_;
  uint32_t countMax_;
  ReservedArray<UcbPick> picks_;
  ScoreTournament tournament_;  // greedy: of all picks; proportional: of those that were never drawn
  SumTree<float> priorities_;   // proportional: of all picks
  SumTree<double> bonuses_;     // proportional: 1 / sqrt(n)
};

}  // namespace exrp
