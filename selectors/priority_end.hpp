// PriorityEndSelector: always the pick of the highest priority, or always that of the lowest: the samplers MaxHeap and MinHeap of
// Reverb. Of equal priorities, the pick whose priority was given or set least recently.
//
// A draw takes nothing out of the view and changes no priority, so all draws of a batch are the same pick. A new pick gets the
// largest priority set so far: a running maximum that begins at initialPriority and only rises.
// Draws are certain: probability 1, importance weights 1; no random numbers.
//
// It keeps a binary heap of picks, and where each pick stands in it: entry 0 is the parent of 1 and 2, k of 2k + 1 and 2k + 2. Every
// priority that is given or set gets the next number as its stamp. So no two picks are equal, and the heap's inner order shows nowhere.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Every pick below the count is in the heap once, at its position.
//   2. No entry comes before its parent.
//   3. Priorities are >= 0 and at most the running maximum; stamps are below the next one.
// Cost: a draw O(1); a change O(log N), a push mostly O(1). Memory: 28 bytes a pick.
#pragma once

#include <cmath>

#include "kernel/base/memory.hpp"
#include "kernel/base/priority.hpp"
#include "kernel/rules/saved_selector.hpp"

namespace exrp {

/// What a PriorityEndSelector saves of a pick, and of all: the running maximum and the next stamp.
struct StampedPriority {
  double priority;
  uint64_t stamp;  // the how many-th priority ever given or set
};

class PriorityEndSelector final : public SavedSelector<PriorityEndSelector, StampedPriority, StampedPriority> {
 public:
  PriorityEndSelector(bool lowest, double initialPriority, uint32_t countMax)
      : SavedSelector({initialPriority, 0}), lowest_(lowest), initialPriority_(initialPriority), countMax_(countMax) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() {
    if (!isPriority(initialPriority_)) return Status::argument;
    return heap_.create(countMax_) && positions_.create(countMax_) ? Status::ok : Status::memory;
  }

  bool prepare(uint32_t count) override { return heap_.commit(count) && positions_.commit(count); }

  void pushed(uint32_t index) override {
    ++count_;
    file(count_ - 1, {{state_.priority, state_.stamp++}, index});
  }
  void moved(uint32_t from, uint32_t to) override {
    takeOut(to);
    positions_[to] = positions_[from];
    heap_[positions_[to]].index = to;
    positions_[from] = gone;
  }
  void popped(uint32_t index) override {
    if (positions_[index] != gone) takeOut(index);
  }

  void setPriority(const uint32_t* index, const double* priority, uint32_t count) override {
    for (uint32_t k = 0; k < count; ++k) {
      if (priority[k] > state_.priority) state_.priority = priority[k];
      file(positions_[index[k]], {{priority[k] + 0.0, state_.stamp++}, index[k]});  // a negative zero becomes 0
    }
  }

  bool getPriority(const uint32_t* index, uint32_t count, double* priority) const override {
    for (uint32_t k = 0; k < count; ++k) priority[k] = heap_[positions_[index[k]]].key.priority;
    return true;
  }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    for (uint32_t k = 0; k < count; ++k) index[k] = heap_[0].index;
    for (uint32_t k = 0; k < count; ++k) probability[k] = 1.0;
    return Status::ok;
  }

  bool weighted() const override { return false; }
  double memoryBytes(uint32_t countHighWater) const override {
    return sizeof(*this) + heap_.takenBytes(countHighWater) + positions_.takenBytes(countHighWater);
  }

  bool restored() const {
    return state_.priority >= initialPriority_ && std::isfinite(state_.priority) && state_.stamp >= count_ && state_.stamp <= stampLimit;
  }
  StampedPriority item(uint32_t index) const { return heap_[positions_[index]].key; }
  bool isPossible(const StampedPriority& key) const {
    return key.priority >= 0.0 && key.priority <= state_.priority && !std::signbit(key.priority) && key.stamp < state_.stamp;
  }
  void setItem(uint32_t index, const StampedPriority& key) { put(index, {key, index}); }
  Status loadEnd() override {
    const uint32_t count = count_;
    for (count_ = 1; count_ <= count; ++count_) file(count_ - 1, heap_[count_ - 1]);
    count_ = count;
    return Status::ok;
  }

  int32_t check() const override {
    for (uint32_t at = 0; at < count_; ++at) {
      const auto& [key, index] = heap_[at];
      if (index >= count_ || positions_[index] != at) return 1;
      if (at > 0 && before(heap_[at], heap_[(at - 1) / 2])) return 2;
      if (!isPossible(key)) return 3;
    }
    return 0;
  }

 private:
  static constexpr uint32_t gone = 0xffffffffu;
  static constexpr uint64_t stampLimit = uint64_t{1} << 62;  // never reached

  struct Entry {
    StampedPriority key;
    uint32_t index;
  };

  bool before(const Entry& a, const Entry& b) const {
    if (a.key.priority != b.key.priority) return lowest_ ? a.key.priority < b.key.priority : a.key.priority > b.key.priority;
    return a.key.stamp < b.key.stamp;
  }

  void put(uint32_t at, const Entry& entry) {
    heap_[at] = entry;
    positions_[entry.index] = at;
  }
  /// Puts `entry` at `at`, which is free, or where its order wants it above or below.
  void file(uint32_t at, const Entry entry) {
    for (; at > 0 && before(entry, heap_[(at - 1) / 2]); at = (at - 1) / 2) put(at, heap_[(at - 1) / 2]);
    for (uint32_t child = 2 * at + 1; child < count_; child = 2 * at + 1) {  // the limit of records keeps 2 at + 2 below 2^32
      if (child + 1 < count_ && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], entry)) break;
      put(at, heap_[child]);
      at = child;
    }
    put(at, entry);
  }
  /// Takes the pick out of the heap, whose last entry takes its position.
  void takeOut(uint32_t index) {
    const uint32_t at = positions_[index];
    if (at < --count_) file(at, heap_[count_]);
  }

  bool lowest_;
  double initialPriority_;
  uint32_t countMax_;
  ReservedArray<Entry> heap_;
  ReservedArray<uint32_t> positions_;
};

}  // namespace exrp
