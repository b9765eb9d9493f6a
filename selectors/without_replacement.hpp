// WithoutReplacementSelector: uniform, no pick twice in a batch. EpochSelector: the same where draws come in a stream, so that the rule
// can't know where a batch ends. They are the two modes of one rule.
//
// Thread safety: none of its own.
#pragma once

#include <utility>

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/base/prefetch.hpp"
#include "kernel/rules/saved_selector.hpp"

namespace exrp {

// Draws in batches.
//
// Floyd's algorithm (Bentley and Floyd, "Programming pearls: a sample of brilliance", 1987): for j = N - n .. N - 1, it takes one of
// 0..j, or j itself if that one is taken. A bit a pick says which are taken, and is cleared after the batch. Then the n picks are
// shuffled (Fisher and Yates). So draw k alone is uniform too, and a batch can be cut into smaller ones.
// Each draw on its own has probability 1 / N, so importance weights are 1: weighted() is false. Priorities are ignored.
// A batch larger than the view is Status::batchSize, with no random number used.
//
// Invariants (check() returns the number of the one that broke):
//   1. Between calls no bit is set.
// Cost: O(batch), whatever N. Memory: a bit a pick.
class WithoutReplacementSelector final : public CountingSelector {
 public:
  WithoutReplacementSelector(Random random, uint32_t countMax) : CountingSelector(random), words_(countMax / 64 + 1) {}
  Status create() { return taken_.create(words_) ? Status::ok : Status::memory; }

  bool prepare(uint32_t count) override { return taken_.commit(count / 64 + 1); }

  Status checkCount(uint32_t count) const override { return count > count_ ? fail(Status::batchSize, count, count_) : Status::ok; }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    if (const Status status = checkCount(count); status != Status::ok) return status;
    isDrawn_ = true;
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t last = count_ - count + k;
      const uint32_t one = state_.random.below(last + 1);
      index[k] = take(one) ? one : last;
      if (index[k] == last) take(last);
    }
    for (uint32_t k = 0; k < count; ++k) taken_[index[k] / 64] = 0;
    for (uint32_t k = count; k > 1; --k) std::swap(index[k - 1], index[state_.random.below(k)]);
    const double each = 1.0 / count_;
    for (uint32_t k = 0; k < count; ++k) probability[k] = each;
    return Status::ok;
  }

  bool drawsTogether() const override { return true; }
  bool weighted() const override { return false; }
  bool drawsByWeights() const override { return true; }
  double memoryBytes(uint32_t countHighWater) const override {
    return sizeof(*this) + (isDrawn_ ? taken_.takenBytes(countHighWater / 64 + 1) : 0.0);
  }

  int32_t check() const override {
    for (size_t word = 0; word < taken_.committed(); ++word)
      if (taken_[word] != 0) return 1;
    return 0;
  }

 private:
  /// Sets the pick's bit; true if it was not set.
  bool take(uint32_t index) {
    const uint64_t bit = uint64_t{1} << (index % 64);
    if ((taken_[index / 64] & bit) != 0) return false;
    taken_[index / 64] |= bit;
    return true;
  }

  size_t words_;
  bool isDrawn_ = false;  // before that, the bits were not touched
  ReservedArray<uint64_t> taken_;
};

/// What an EpochSelector keeps, beside the order in which its picks stand.
struct EpochState {
  Random random;
  uint32_t left;  // where what is still to draw ends
  uint32_t unused;
};

// Draws in a stream: in epochs, each pick once, in random order, before any again.
//
// As it can't know where a batch ends, a drawn pick does not come back when a call ends. It comes back when none is left to draw: then the
// next epoch begins. A pick that is added can still be drawn in the epoch, and one that is removed leaves it.
// Each draw takes one of the picks that it may take, all with equal probability.
//
// A batch may go on in the next epoch. The picks that it has are put aside then, until it has ended: others are drawn before them. So n <= N
// draws of a batch are different picks, unless other batches draw between them.
//
// The picks stand in one order, which three borders divide:
//
//     0 ........ aside_ ........ left ........ before_ ........ count_
//       put aside      to draw     drawn by this     drawn before
//                                  batch             it began
//
// The probability that it reports is 1 / N, not 1 / (left - aside_): in an epoch, each pick is drawn as often as each other, so importance
// weights must be equal. weighted() is false, and priorities are ignored.
//
// Invariants (check() returns the number of the one that broke):
//   1. Each pick stands in the order once, at its place.
//   2. 0 <= aside_ <= left <= before_ <= count_.
// Cost: O(1) for a draw and for a change. Memory: 8 bytes a pick.
// It does not save which draws were this batch's: streams, whose batches they are, are not saved either.
class EpochSelector final : public SavedSelector<EpochSelector, EpochState, uint32_t> {
 public:
  EpochSelector(Random random, uint32_t countMax) : SavedSelector({random, 0, 0}), countMax_(countMax) {}
  Status create() { return order_.create(countMax_) && placeOf_.create(countMax_) ? Status::ok : Status::memory; }

  bool prepare(uint32_t count) override { return order_.commit(count) && placeOf_.commit(count); }

  void pushed(uint32_t index) override {
    uint32_t hole = count_++;
    hole = openBefore(before_, hole);
    hole = openBefore(state_.left, hole);
    put(hole, index);
  }
  void moved(uint32_t from, uint32_t to) override {
    const uint32_t kept = placeOf_[from];
    put(placeOf_[to], from);  // what is gone, until popped(from)
    put(kept, to);
  }
  void popped(uint32_t index) override {
    uint32_t hole = placeOf_[index];
    for (uint32_t* const border : {&aside_, &state_.left, &before_, &count_}) hole = closeBefore(*border, hole);
  }

  void beginBatch() override {
    aside_ = 0;
    before_ = state_.left;
  }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    for (uint32_t done = 0; done < count;) {
      if (aside_ == state_.left) goOn();
      const uint32_t open = state_.left - aside_;
      const uint32_t now = count - done < open ? count - done : open;
      for (uint32_t k = 0; k < now; ++k) {
        index[done + k] = aside_ + state_.random.below(open - k);
        prefetchLine(&order_[index[done + k]]);
      }
      for (uint32_t k = 0; k < now; ++k) index[done + k] = take(index[done + k]);
      done += now;
    }
    const double each = 1.0 / count_;
    for (uint32_t k = 0; k < count; ++k) probability[k] = each;
    return Status::ok;
  }

  bool weighted() const override { return false; }
  bool drawsByWeights() const override { return true; }
  double memoryBytes(uint32_t countHighWater) const override {
    return sizeof(*this) + order_.takenBytes(countHighWater) + placeOf_.takenBytes(countHighWater);
  }

  bool restored() {
    beginBatch();
    return state_.left <= count_;
  }
  uint32_t item(uint32_t index) const { return placeOf_[index]; }
  bool isPossible(uint32_t place) const { return place < count_; }
  void setItem(uint32_t index, uint32_t place) { placeOf_[index] = place; }
  Status loadEnd() override {
    for (uint32_t index = 0; index < count_; ++index) order_[placeOf_[index]] = index;
    return check() == 0 ? Status::ok : Status::dataCorrupt;
  }

  int32_t check() const override {
    for (uint32_t index = 0; index < count_; ++index) {
      if (placeOf_[index] >= count_ || order_[placeOf_[index]] != index) return 1;
    }
    return aside_ <= state_.left && state_.left <= before_ && before_ <= count_ ? 0 : 2;
  }

 private:
  void put(uint32_t place, uint32_t index) {
    order_[place] = index;
    placeOf_[index] = place;
  }
  /// The part behind this border moves its first pick to the hole behind its last one. Returns the new hole, at the end of the part before.
  uint32_t openBefore(uint32_t& border, uint32_t hole) {
    if (border != hole) put(hole, order_[border]);
    return border++;
  }
  /// The part before this border fills a hole in it with its last pick. Returns the new hole, at the begin of the part behind.
  uint32_t closeBefore(uint32_t& border, uint32_t hole) {
    if (hole >= border) return hole;
    if (--border != hole) put(hole, order_[border]);
    return border;
  }
  /// Draws the pick at this place.
  uint32_t take(uint32_t place) {
    const uint32_t index = order_[place];
    if (--state_.left != place) {
      put(place, order_[state_.left]);
      put(state_.left, index);
    }
    return index;
  }
  /// There is nothing to draw: the next epoch begins, or the batch, which has all picks, takes what was put aside.
  void goOn() {
    if (state_.left > 0) return beginBatch();
    aside_ = before_ < count_ ? before_ : 0;
    state_.left = before_ = count_;
  }

  const uint32_t countMax_;
  uint32_t aside_ = 0;
  uint32_t before_ = 0;
  ReservedArray<uint32_t> order_;    // by place
  ReservedArray<uint32_t> placeOf_;  // by pick
};

}  // namespace exrp
