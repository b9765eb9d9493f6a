// EpochSelector: the sampler without replacement of a table of items. It draws in epochs: each pick once, in random order, before any again.
//
// A table can't know where a client's batch begins, so a drawn pick does not come back when a call ends. It comes back when none is left to
// draw: then the next epoch begins. A pick that is added can still be drawn in the epoch, and one that is removed leaves it.
// Each draw takes one of the picks that it may take, all with equal probability.
//
// A batch may go on in the next epoch. The picks that it has are put aside then, until it has ended: others are drawn before them. So n <= N
// draws of a batch are different picks, unless other batches draw between them.
//
// The picks stand in one order, which three borders divide:
//
//     0 ........ aside_ ........ left_ ........ before_ ........ count_
//       put aside      to draw     drawn by this     drawn before
//                                  batch             it began
//
// The probability that it reports is 1 / N, not 1 / (left_ - aside_): in an epoch, each pick is drawn as often as each other, so importance
// weights must be equal. weighted() is false, and priorities are ignored.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Each pick stands in the order once, at its place.
//   2. 0 <= aside_ <= left_ <= before_ <= count_.
// Cost: O(1) for a draw and for a change. Memory: 8 bytes a pick.
// It does not save which draws were this batch's: streams, whose batches they are, are not saved either.
#pragma once

#include <cstring>
#include <memory>
#include <new>

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/base/prefetch.hpp"
#include "kernel/sockets/pick_selector.hpp"

namespace exrp {

class EpochSelector final : public PickSelector {
 public:
  static Status make(Random random, uint32_t countMax, std::unique_ptr<PickSelector>* made) {
    std::unique_ptr<EpochSelector> selector(new (std::nothrow) EpochSelector(random));
    const bool isMade = selector != nullptr && selector->order_.create(countMax) && selector->placeOf_.create(countMax);
    if (!isMade) return fail(Status::memory, 8.0 * countMax);
    *made = std::move(selector);
    return Status::ok;
  }

  bool prepare(uint32_t count) override { return order_.commit(count) && placeOf_.commit(count); }

  void pushed(uint32_t index) override {
    uint32_t hole = count_++;
    hole = openBefore(before_, hole);
    hole = openBefore(left_, hole);
    put(hole, index);
  }
  void moved(uint32_t from, uint32_t to) override {
    const uint32_t kept = placeOf_[from];
    put(placeOf_[to], from);  // what is gone, until popped(from)
    put(kept, to);
  }
  void popped(uint32_t index) override {
    uint32_t hole = placeOf_[index];
    for (uint32_t* const border : {&aside_, &left_, &before_, &count_}) hole = closeBefore(*border, hole);
  }

  void setPriority(const uint32_t*, const double*, uint32_t) override {}

  void beginBatch() override {
    aside_ = 0;
    before_ = left_;
  }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    for (uint32_t done = 0; done < count;) {
      if (aside_ == left_) goOn();
      const uint32_t open = left_ - aside_;
      const uint32_t now = count - done < open ? count - done : open;
      for (uint32_t k = 0; k < now; ++k) {
        index[done + k] = aside_ + random_.below(open - k);
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

  // Saved: the random state and how many picks are left to draw; then the place of each pick in the order.
  uint32_t headerBytes() const override { return Random::stateBytes + 4; }
  uint32_t itemBytes() const override { return 4; }
  void saveHeader(uint8_t* bytes) const override {
    random_.save(bytes);
    std::memcpy(bytes + Random::stateBytes, &left_, 4);
  }
  void saveItems(uint32_t first, uint32_t count, uint8_t* bytes) const override {
    if (count > 0) std::memcpy(bytes, &placeOf_[first], size_t{4} * count);
  }
  Status loadHeader(const uint8_t* bytes) override {
    uint32_t left = 0;
    std::memcpy(&left, bytes + Random::stateBytes, 4);
    if (left > count_ || !random_.load(bytes)) return Status::dataCorrupt;
    left_ = left;
    beginBatch();
    return Status::ok;
  }
  /// Tables without epochs saved the random state alone: a new epoch begins.
  Status loadEarlierHeader(const uint8_t* bytes, size_t size) override {
    if (size != Random::stateBytes || !random_.load(bytes)) return Status::dataCorrupt;
    left_ = count_;
    beginBatch();
    return Status::ok;
  }
  Status loadItems(uint32_t first, uint32_t count, const uint8_t* bytes) override {
    if (first > count_ || count > count_ - first) return Status::dataCorrupt;
    if (count > 0) std::memcpy(&placeOf_[first], bytes, size_t{4} * count);
    for (uint32_t index = first; index < first + count; ++index) {
      if (placeOf_[index] >= count_) return Status::dataCorrupt;
    }
    return Status::ok;
  }
  Status loadEnd() override {
    for (uint32_t index = 0; index < count_; ++index) order_[placeOf_[index]] = index;
    return check() == 0 ? Status::ok : Status::dataCorrupt;
  }

  int32_t check() const override {
    for (uint32_t index = 0; index < count_; ++index) {
      if (placeOf_[index] >= count_ || order_[placeOf_[index]] != index) return 1;
    }
    return aside_ <= left_ && left_ <= before_ && before_ <= count_ ? 0 : 2;
  }

 private:
  explicit EpochSelector(Random random) : random_(random) {}

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
    if (--left_ != place) {
      put(place, order_[left_]);
      put(left_, index);
    }
    return index;
  }
  /// There is nothing to draw: the next epoch begins, or the batch, which has all picks, takes what was put aside.
  void goOn() {
    if (left_ > 0) return beginBatch();
    aside_ = before_ < count_ ? before_ : 0;
    left_ = before_ = count_;
  }

  Random random_;
  uint32_t aside_ = 0;
  uint32_t left_ = 0;
  uint32_t before_ = 0;
  uint32_t count_ = 0;
  ReservedArray<uint32_t> order_;    // by place
  ReservedArray<uint32_t> placeOf_;  // by pick
};

}  // namespace exrp
