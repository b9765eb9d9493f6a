// DrawGroups: the picks that were drawn before, in groups of equal draw count n.
//
// A group lives in a slot. A new group takes the lowest free slot and keeps it as long as it has members. Groups are linked in order of
// n. An ordered group is a binary heap: first the member with the largest priority, and of equal priorities the oldest. An unordered
// group takes a new member at its end, and its last member takes the position of a removed one.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. n rises along the list, which has every used slot once, and starts at 1 or more.
//   2. No group in the list is empty; member k of the group in slot s is a pick with group s and position k, and its priority.
//   3. In an ordered group no member comes before its parent: 0 is the parent of 1 and 2, k of 2k + 1 and 2k + 2.
//   4. A bit in the map of slots is set if the slot is used, and no word below the hint has a free one.
// Cost: unordered O(1); ordered O(log members). Memory: 8 bytes a member, at most 4 times that after many have left.
// Only prepare() and loading take memory. A prepare() that fails changes nothing that shows. Only trim() and clear() give memory back:
// until then a slot keeps its members' array, even while it is free. So undoMove() has room for whatever it puts back, and can't fail.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <utility>

#include "kernel/base/memory.hpp"
#include "kernel/base/status.hpp"
#include "selectors/_ucb_pick.hpp"

namespace exrp {

class DrawGroups {
 public:
  static constexpr uint32_t none = 0xffffffffu;

  struct Member {
    float priority;
    uint32_t index;
  };
  struct Group {
    uint64_t n;  // how often each member was drawn
    Member* members;
    uint32_t count;
    uint32_t capacity;
    uint32_t previous;  // the slot of the group with the next smaller n
    uint32_t next;      // and of the one with the next larger
  };
  /// Where a pick was before remove(), for undoMove().
  struct Removal {
    uint32_t slot;      // UcbPick::waiting for a pick that was in no group
    uint32_t position;  // in the group
    uint32_t last;      // the pick that was the group's last member, and filled the position
  };

  explicit DrawGroups(ReservedArray<UcbPick>& picks) : picks_(picks) {}
  DrawGroups(const DrawGroups&) = delete;
  DrawGroups& operator=(const DrawGroups&) = delete;
  ~DrawGroups() {
    for (uint32_t slot = 0; slot < slotEnd_; ++slot) std::free(groups_[slot].members);
  }

  bool create(uint32_t countMax, bool ordered) {
    ordered_ = ordered;
    // One more than there can be: a pick that is alone in its group and moves on needs the new one before the old one goes.
    const size_t slots = size_t{countMax} + 1;
    return groups_.create(slots) && used_.create((slots + 63) / 64);
  }

  const Group& at(uint32_t slot) const { return groups_[slot]; }
  /// The slot of the group with the smallest n, or none.
  uint32_t first() const { return first_; }
  /// No slot at or above it was ever used.
  uint32_t slotEnd() const { return slotEnd_; }
  bool used(uint32_t slot) const { return slot < slotEnd_ && (used_[slot / 64] >> (slot % 64) & 1) != 0; }

  /// Finds or makes the group of picks drawn once more than those in `slot` (none: drawn once), with room for one more member.
  /// False for want of memory. A group made here is empty until add(), which must follow.
  bool prepare(uint32_t slot, uint32_t* to) {
    const uint64_t n = slot == none ? 1 : groups_[slot].n + 1;
    const uint32_t after = slot == none ? first_ : groups_[slot].next;
    if (after != none && groups_[after].n == n) {
      *to = after;
      return makeRoom(groups_[after]);
    }
    const uint32_t made = lowestFree();
    if (!useSlot(made)) return false;
    Group& group = groups_[made];
    group.n = n;
    group.count = 0;
    if (!makeRoom(group)) {
      freeSlot(made);
      return false;
    }
    freeHint_ = made / 64;
    link(made, slot, after);
    *to = made;
    return true;
  }

  /// Puts the pick into the group, for which prepare() made room.
  void add(uint32_t slot, uint32_t index) {
    Group& group = groups_[slot];
    picks_[index].group = slot;
    put(group, group.count++, {picks_[index].priority, index});
    if (ordered_) up(group, group.count - 1);
  }

  /// Takes the pick out of its group; a group that becomes empty goes.
  Removal remove(uint32_t index) {
    const uint32_t slot = picks_[index].group;
    const uint32_t position = picks_[index].position;
    Group& group = groups_[slot];
    const Member last = group.members[--group.count];
    if (position != group.count) {
      put(group, position, last);
      if (ordered_) restore(group, position);
    }
    if (group.count == 0) {
      unlink(slot);
      freeSlot(slot);
    }
    return {slot, position, last.index};
  }

  /// Undoes the pick's last move, which was prepare(), remove() and add(). All members stand where they stood. Moves are undone in
  /// reverse order, with no other change in between. From an ordered group only its first member may have moved. A pick that was in no
  /// group is in none afterwards.
  void undoMove(uint32_t index, const Removal& from) {
    const uint32_t to = picks_[index].group;
    if (from.slot != UcbPick::waiting && !used(from.slot)) {
      takeSlot(from.slot);
      groups_[from.slot].n = groups_[to].n - 1;
      link(from.slot, groups_[to].previous, to);
    }
    undoAdd(groups_[to], index);
    if (groups_[to].count == 0) {
      unlink(to);
      freeSlot(to);
    }
    if (from.slot == UcbPick::waiting) return;
    picks_[index].group = from.slot;
    undoRemove(groups_[from.slot], index, from);
  }

  /// Gives back memory that members who left the slot's group don't need any more.
  void trim(uint32_t slot) {
    Group& group = groups_[slot];
    if (group.count == 0) {
      std::free(group.members);
      group.members = nullptr;
      group.capacity = 0;
      return;
    }
    uint32_t capacity = group.capacity;
    while (capacity >= 64 && group.count < capacity / 4) capacity /= 2;
    if (capacity != group.capacity) resize(group, capacity);  // if that fails, the array stays as it is
  }
  void trimAll() {
    for (uint32_t slot = 0; slot < slotEnd_; ++slot) trim(slot);
  }

  /// The pick whose data were copied to `to` keeps its position.
  void relocated(uint32_t to) { groups_[picks_[to].group].members[picks_[to].position].index = to; }

  /// The pick's priority has changed.
  void reprioritized(uint32_t index) {
    Group& group = groups_[picks_[index].group];
    group.members[picks_[index].position].priority = picks_[index].priority;
    if (ordered_) restore(group, picks_[index].position);
  }

  // Loading: clear(); then loadMember() for each drawn pick, its group and position set; then loadEnd().

  void clear() {
    for (uint32_t slot = 0; slot < slotEnd_; ++slot)
      if (used(slot)) freeSlot(slot);
    trimAll();
    first_ = none;
  }

  /// Counts a member of the group with draw count n. False if the slot has another n, or for want of memory (*memory).
  bool loadMember(uint32_t slot, uint64_t n, bool* memory) {
    if (!used(slot)) {
      if (!useSlot(slot)) {
        *memory = true;
        return false;
      }
      groups_[slot].n = n;
      groups_[slot].count = 0;
    }
    ++groups_[slot].count;
    return groups_[slot].n == n;
  }

  /// Status::dataCorrupt unless the positions are 0..count-1 in each group, n differs, and ordered groups are heaps.
  Status loadEnd(uint32_t pickCount);

  int32_t check() const;

  double memoryBytes() const {
    double bytes = groups_.takenBytes(slotEnd_) + used_.takenBytes((size_t{slotEnd_} + 63) / 64);
    for (uint32_t slot = first_; slot != none; slot = groups_[slot].next) bytes += double{sizeof(Member)} * groups_[slot].capacity;
    return bytes;
  }

 private:
  /// True if a comes before b: larger priority, then older.
  bool before(const Member& a, const Member& b) const {
    if (a.priority != b.priority) return a.priority > b.priority;
    return picks_[a.index].birth < picks_[b.index].birth;
  }

  void put(Group& group, uint32_t position, Member member) {
    group.members[position] = member;
    picks_[member.index].position = position;
  }

  void up(Group& group, uint32_t position) {
    const Member member = group.members[position];
    while (position > 0) {
      const uint32_t parent = (position - 1) / 2;
      if (!before(member, group.members[parent])) break;
      put(group, position, group.members[parent]);
      position = parent;
    }
    put(group, position, member);
  }

  void down(Group& group, uint32_t position) {
    const Member member = group.members[position];
    for (uint64_t child = 2 * uint64_t{position} + 1; child < group.count; child = 2 * uint64_t{position} + 1) {
      if (child + 1 < group.count && before(group.members[child + 1], group.members[child])) ++child;
      if (!before(group.members[child], member)) break;
      put(group, position, group.members[child]);
      position = static_cast<uint32_t>(child);
    }
    put(group, position, member);
  }

  void restore(Group& group, uint32_t position) {
    if (position > 0 && before(group.members[position], group.members[(position - 1) / 2]))
      up(group, position);
    else
      down(group, position);
  }

  /// Undoes add(): those that up() moved down go back up.
  void undoAdd(Group& group, uint32_t index) {
    sink(group, picks_[index].position, group.count - 1);
    --group.count;
  }
  /// Undoes remove(): the last member filled the position, and went down from there if the group is ordered. It goes back both ways.
  void undoRemove(Group& group, uint32_t index, const Removal& from) {
    assert(!ordered_ || from.position == 0);
    const uint32_t end = group.count++;
    if (from.position != end) {
      rise(group, picks_[from.last].position, from.position);
      put(group, end, group.members[from.position]);
    }
    put(group, from.position, {picks_[index].priority, index});
  }
  /// Moves a member up to an ancestor's position. Those on the way go down by one.
  void rise(Group& group, uint32_t position, uint32_t ancestor) {
    const Member member = group.members[position];
    for (; position != ancestor; position = (position - 1) / 2) put(group, position, group.members[(position - 1) / 2]);
    put(group, ancestor, member);
  }
  /// Moves a member down to a descendant's position. Those on the way go up by one.
  void sink(Group& group, uint32_t position, uint32_t descendant) {
    Member member = group.members[position];
    while (true) {
      std::swap(member, group.members[descendant]);
      put(group, descendant, group.members[descendant]);
      if (descendant == position) break;
      descendant = (descendant - 1) / 2;
    }
  }

  bool resize(Group& group, uint32_t capacity) {
    void* members = resizeMemory(group.members, size_t{capacity} * sizeof(Member));
    if (members == nullptr) return false;
    group.members = static_cast<Member*>(members);
    group.capacity = capacity;
    return true;
  }
  bool makeRoom(Group& group) {
    if (group.count < group.capacity) return true;
    return resize(group, group.capacity == 0 ? 4 : group.capacity * 2);
  }

  uint32_t lowestFree() const {
    uint32_t word = freeHint_;
    while (word * 64 < slotEnd_ && used_[word] == ~uint64_t{0}) ++word;
    const uint32_t end = (slotEnd_ + 63) / 64;
    return word < end ? word * 64 + static_cast<uint32_t>(std::countr_one(used_[word])) : slotEnd_;
  }
  bool useSlot(uint32_t slot) {
    if (!groups_.commit(size_t{slot} + 1) || !used_.commit(size_t{slot} / 64 + 1)) return false;
    if (slot >= slotEnd_) slotEnd_ = slot + 1;
    takeSlot(slot);
    return true;
  }
  void takeSlot(uint32_t slot) { used_[slot / 64] |= uint64_t{1} << (slot % 64); }
  void freeSlot(uint32_t slot) {
    groups_[slot].count = 0;
    used_[slot / 64] &= ~(uint64_t{1} << (slot % 64));
    if (slot / 64 < freeHint_) freeHint_ = slot / 64;
  }

  void link(uint32_t slot, uint32_t previous, uint32_t next) {
    groups_[slot].previous = previous;
    groups_[slot].next = next;
    (previous == none ? first_ : groups_[previous].next) = slot;
    if (next != none) groups_[next].previous = slot;
  }
  void unlink(uint32_t slot) {
    const Group& group = groups_[slot];
    (group.previous == none ? first_ : groups_[group.previous].next) = group.next;
    if (group.next != none) groups_[group.next].previous = group.previous;
  }

  Status linkLoaded();
  bool heapBroken(const Group& group) const {
    for (uint32_t k = 1; ordered_ && k < group.count; ++k)
      if (before(group.members[k], group.members[(k - 1) / 2])) return true;
    return false;
  }

  ReservedArray<UcbPick>& picks_;
  ReservedArray<Group> groups_;    // by slot
  ReservedArray<uint64_t> used_;   // a bit a slot
  uint32_t first_ = none;
  uint32_t slotEnd_ = 0;
  uint32_t freeHint_ = 0;  // all words of used_ below it are full
  bool ordered_ = false;
};

inline Status DrawGroups::loadEnd(uint32_t pickCount) {
  for (uint32_t slot = 0; slot < slotEnd_; ++slot) {
    if (!used(slot)) continue;
    Group& group = groups_[slot];
    if (!resize(group, group.count)) return Status::memory;
    for (uint32_t k = 0; k < group.count; ++k) group.members[k].index = none;
  }
  for (uint32_t index = 0; index < pickCount; ++index) {
    const UcbPick& pick = picks_[index];
    if (pick.group == UcbPick::waiting) continue;
    Group& group = groups_[pick.group];
    if (pick.position >= group.count || group.members[pick.position].index != none) return Status::dataCorrupt;
    group.members[pick.position] = {pick.priority, index};
  }
  for (uint32_t slot = 0; slot < slotEnd_; ++slot)
    if (used(slot) && heapBroken(groups_[slot])) return Status::dataCorrupt;
  return linkLoaded();
}

/// Links the used slots in order of n.
inline Status DrawGroups::linkLoaded() {
  auto* order = static_cast<uint32_t*>(resizeMemory(nullptr, (size_t{slotEnd_} + 1) * sizeof(uint32_t)));
  if (order == nullptr) return Status::memory;
  uint32_t count = 0;
  for (uint32_t slot = 0; slot < slotEnd_; ++slot)
    if (used(slot)) order[count++] = slot;
  std::sort(order, order + count, [this](uint32_t a, uint32_t b) { return groups_[a].n < groups_[b].n; });
  Status status = Status::ok;
  for (uint32_t k = 0; k < count; ++k) {
    if (k > 0 && groups_[order[k]].n == groups_[order[k - 1]].n) status = Status::dataCorrupt;
    link(order[k], k == 0 ? none : order[k - 1], none);
  }
  std::free(order);
  return status;
}

inline int32_t DrawGroups::check() const {
  uint32_t listed = 0;
  uint32_t previous = none;
  for (uint32_t slot = first_; slot != none; previous = slot, slot = groups_[slot].next) {
    if (!used(slot) || ++listed > slotEnd_) return 1;
    const Group& group = groups_[slot];
    if (group.previous != previous || group.n == 0) return 1;
    if (previous != none && groups_[previous].n >= group.n) return 1;
    if (group.count == 0 || group.count > group.capacity) return 2;
    for (uint32_t k = 0; k < group.count; ++k) {
      const UcbPick& pick = picks_[group.members[k].index];
      if (pick.group != slot || pick.position != k || pick.priority != group.members[k].priority) return 2;
    }
    if (heapBroken(group)) return 3;
  }
  uint32_t usedCount = 0;
  for (uint32_t slot = 0; slot < slotEnd_; ++slot) {
    usedCount += used(slot);
    if (!used(slot) && slot / 64 < freeHint_) return 4;
  }
  return usedCount == listed ? 0 : 1;
}

}  // namespace exrp
