// PickIndex: the dense array of all picks that are valid now, for one pick policy.
//
// A pick is known by the slot of its first record. It is checked once, when the record that completes it arrives: everything in the
// view may be drawn. On removal the last pick takes the index of the removed one. So forgetting n records costs O(n),
// whatever the view holds (Chen and Wang, section 3.2, the nine steps).
//
// Thread safety: none of its own.
// Invariants:
//   1. indexOf(slot(i)) is i for every i below count(); every other slot has no index.
//   2. Every pick satisfies the policy: it starts in a live episode, and its records (and, unless openEnd is allowed, its next
//      states) are all there.
//   3. Every pick that satisfies the policy is in the view.
//   4. Every selector has heard of exactly the picks 0..count()-1.
// Cost: push and removal O(1), and what the selectors take. 4 bytes a pick and 4 a slot.
#pragma once

#include "kernel/base/memory.hpp"
#include "kernel/base/prefetch.hpp"
#include "kernel/rules/pick_selector.hpp"
#include "kernel/store/initial_priorities.hpp"
#include "kernel/store/journal.hpp"
#include "kernel/store/pick_policy.hpp"
#include "kernel/store/store.hpp"

namespace exrp {

constexpr uint32_t pickNone = EXRP_INDEX_NONE;

class PickIndex {
 public:
  Status create(const PickPolicy& policy, uint32_t countMax, uint32_t slotCountMax);
  /// Takes the memory that the next `count` push() calls on slots below `slotCount` need, whatever is removed between them.
  Status prepare(uint64_t count, uint32_t slotCount);

  /// Whether one push() needs no prepare(), on a slot that was prepared before.
  bool hasRoomForOne() const { return !journal_.isOpen() && count_ < preparedCount_; }
  /// How many picks there is memory for.
  uint32_t preparedCount() const { return preparedCount_; }

  void push(uint32_t slot) {
    const uint32_t index = count_;
    slots_[index] = slot;
    indices_[slot] = index + 1;
    for (uint32_t selector = 0; selector < selectorCount_; ++selector) selectors_[selector]->pushed(index);
    if (journal_.isOpen()) journal_.add(pickNone, index);
    if (++count_ > countHighWater_) countHighWater_ = count_;
  }
  /// The same for each of `count` slots from `slot` on.
  void pushRun(uint32_t slot, uint32_t count);
  /// Gives the last pick its first priority, with every selector.
  void setFirstPriority(double priority);
  /// The same for the last `count` picks, which begin in the slots from `slot` on and all have a priority. The journal is not open.
  void setFirstPriorities(const InitialPriorities& priorities, uint32_t slot, uint32_t count);
  /// Removes the picks of an episode at positions below `end`, of which there is one. They are from `begin` on, whose block is `firstBlock`.
  /// The newest goes first, so that what moves into the gap keeps its order. Else the picks of an episode that is trimmed again and again would
  /// stand in ever shorter runs.
  void removeBefore(const Store& store, uint32_t firstBlock, uint32_t begin, uint32_t end);
  /// Removes the pick that begins in a slot, if there is one.
  void remove(uint32_t slot);

  /// From now on this selector, which knows every pick there is, hears of every change.
  void attach(PickSelector* selector);
  Status openJournal();

  const PickPolicy& policy() const { return policy_; }
  uint32_t count() const { return count_; }
  uint32_t slot(uint32_t index) const { return slots_[index]; }
  /// The slots of all picks, by index.
  const uint32_t* slots() const { return slots_.data(); }
  /// The index of the pick that starts at `slot`, or pickNone.
  uint32_t indexOf(uint32_t slot) const { return indices_[slot] - 1; }
  void prefetchSlot(uint32_t index) const { prefetchLine(&slots_[index]); }
  /// Asks for the entries of the first of `count` picks, which are looked up next.
  void prefetchFirst(const uint32_t* indices, uint32_t count) const {
    for (uint32_t k = 0; k < count && k < askedFirst; ++k) prefetchLineFar(&slots_[indices[k]]);
  }
  static constexpr uint32_t askedFirst = canPrefetch ? 64 : 0;
  void prefetchIndexOf(uint32_t slot) const { prefetchLineFar(&indices_[slot]); }
  Journal& journal() { return journal_; }
  const Journal& journal() const { return journal_; }
  /// The most picks that there ever were.
  uint32_t countHighWater() const { return countHighWater_; }
  double memoryBytes() const { return slots_.takenBytes(countHighWater_) + indices_.takenBytes(slotHighWater_) + journal_.memoryBytes(); }

  int32_t check(const Store& store) const;

 private:
  bool prepareSelectors(uint32_t count);
  void prefetchRemoval(const Store& store, uint32_t block) const;
  void popLast();
  void moveLastTo(uint32_t index, uint32_t removed, uint32_t count);
  /// The picks of an episode that go: those before a position. They begin at `slotCount` slots from `firstSlot` on, where all lie in one block;
  /// else slotCount is 0.
  struct Range {
    uint32_t episode;
    uint32_t end;
    uint32_t firstSlot;
    uint32_t slotCount;
  };

  bool goes(const Store& store, const Range& range, uint32_t index) const {
    const uint32_t slot = slots_[index];
    if (range.slotCount > 0) return slot - range.firstSlot < range.slotCount;
    return store.head(store.blockOf(slot)).episode == range.episode && store.positionOf(slot) < range.end;
  }

  PickPolicy policy_;
  ReservedArray<uint32_t> slots_;    // by index
  ReservedArray<uint32_t> indices_;  // by slot: index + 1, 0 for none
  uint32_t countMax_ = 0;
  uint32_t count_ = 0;
  uint32_t preparedCount_ = 0;  // of picks that slots_ and all selectors have memory for
  uint32_t countHighWater_ = 0;
  uint32_t slotHighWater_ = 0;
  PickSelector* selectors_[EXRP_LIMIT_SELECTORS] = {};
  uint32_t selectorCount_ = 0;
  Journal journal_;
};

}  // namespace exrp
