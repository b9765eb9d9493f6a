// EvictionList: a doubly linked list over episode indices. ListPolicy: what native eviction policies have in common that keep one.
//
// A list position is called a node: the node of episode e is e + 1. Node 0 is the end, which stands before the first member and after
// the last. The list is a ring through it, so linking has no special cases. Links are indices: with a byte of notes, a member takes 9 bytes.
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants:
//   1. Following next from the end reaches every member once and comes back to the end after count() of them.
//   2. previous undoes next, at every node of the ring.
//   3. Every member is below indexCount(), which is at most countMax.
//   4. A node that is no member has no note. (Zero bytes, as memory comes, are nodes that are no members.)
//   5. endedCount() counts the members that have ended.
// Cost: O(1), or O(1) an item given or written; firstEnded() takes a step for each open member before it; check() O(indexCount). No allocation after creation: on POSIX the constructor takes
// address space and pages come as indices are first used; on Windows all of it is committed at once. So nothing can fail later.
// It does not know what the order means, and asserts rather than checks what its policy passes.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "kernel/base/memory.hpp"
#include "kernel/rules/eviction_policy.hpp"

namespace exrp {

class EvictionList {
 public:
  /// The node that is no episode.
  static constexpr uint32_t end = 0;

  explicit EvictionList(uint32_t countMax) : countMax_(countMax) {
    const size_t nodeCount = size_t{countMax} + 1;
    const bool isMade = countMax < UINT32_MAX && links_.create(nodeCount, Pages::huge, 0) && notes_.create(nodeCount, Pages::huge, 0) && prepare(0);
    if (!isMade) links_.destroy();
  }

  static uint32_t nodeOf(uint32_t episode) { return episode + 1; }
  static uint32_t episodeOf(uint32_t node) { return node - 1; }

  /// False when there was no memory at creation; nothing else may be called then.
  bool valid() const { return links_.data() != nullptr; }
  /// Takes the memory for episodes below `count`. False for want of it.
  bool prepare(uint32_t count) { return links_.commit(size_t{count} + 1) && notes_.commit(size_t{count} + 1); }
  uint32_t count() const { return count_; }
  uint32_t endedCount() const { return endedCount_; }
  /// One more than the largest episode index that was ever a member.
  uint32_t indexCount() const { return indexCount_; }
  double memoryBytes() const {
    const size_t nodeCount = size_t{indexCount_} + 1;
    return links_.takenBytes(nodeCount) + notes_.takenBytes(nodeCount);
  }

  uint32_t first() const { return links_[end].next; }
  /// The first episode that has ended, or EvictionPolicy::none.
  uint32_t firstEnded() const {
    if (endedCount_ == 0) return EvictionPolicy::none;
    uint32_t node = first();
    while (!hasEnded(node)) node = links_[node].next;
    return episodeOf(node);
  }
  /// The node after `node`, going round from the last to the first. The end only when the list is empty.
  uint32_t nextAround(uint32_t node) const {
    const uint32_t following = links_[node].next;
    return following != end ? following : first();
  }

  bool contains(uint32_t node) const { return node <= indexCount_ && notes_[node] != 0; }
  bool hasEnded(uint32_t node) const { return (notes_[node] & ended) != 0; }
  /// Notes that the episode of `node`, a member, has ended.
  void noteEnded(uint32_t node) {
    assert(contains(node) && !hasEnded(node));
    notes_[node] |= ended;
    ++endedCount_;
  }
  /// A note of the policy about a member; false at first.
  bool isFlagged(uint32_t node) const { return (notes_[node] & flagged) != 0; }
  void unflag(uint32_t node) { notes_[node] &= static_cast<uint8_t>(~flagged); }
  /// Flags the members of these episodes; an episode may come many times.
  void flag(const uint32_t* episode, uint32_t count) {
    uint8_t* const notes = notes_.data();
    for (uint32_t k = 0; k < count; ++k) notes[nodeOf(episode[k])] |= flagged;
  }

  /// Makes `node`, no member yet, the last.
  void pushBack(uint32_t node) {
    assert(node != end && node <= countMax_ && !contains(node));
    if (node > indexCount_) indexCount_ = node;
    ++count_;
    notes_[node] = member;
    link(node);
  }

  void remove(uint32_t node) {
    assert(contains(node));
    unlink(node);
    --count_;
    endedCount_ -= hasEnded(node) ? 1 : 0;
    notes_[node] = 0;
  }

  /// Moves the members of these episodes to the back, one after the other; an episode may come many times.
  void moveToBack(const uint32_t* episode, uint32_t count) {
    Link* const links = links_.data();
    // The last stays in a register; kept in memory it is a store and a load of it in a chain, and five times slower.
    uint32_t back = links[end].previous;
    const auto move = [links, &back](uint32_t node) {
      if (node == back) return;
      const uint32_t before = links[node].previous;
      const uint32_t after = links[node].next;
      links[before].next = after;
      links[after].previous = before;
      links[node].previous = back;
      links[node].next = end;
      links[back].next = node;
      back = node;
    };
    uint32_t step = 0;
    if (indexCount_ >= prefetchFrom) {
      // Two distances: first the episode's own links, and once they are here, those of its neighbours.
      for (; step + prefetchFar < count; ++step) {
        __builtin_prefetch(&links[nodeOf(episode[step + prefetchFar])], 1);
        const Link& near = links[nodeOf(episode[step + prefetchNear])];
        __builtin_prefetch(&links[near.previous], 1);
        __builtin_prefetch(&links[near.next], 1);
        move(nodeOf(episode[step]));
      }
    }
    for (; step < count; ++step) move(nodeOf(episode[step]));
    links[end].previous = back;
  }

  /// 0, or the number of the first invariant of this head that does not hold. O(indexCount).
  int32_t check() const {
    uint32_t seen = 0;
    for (uint32_t node = end;;) {
      const uint32_t following = links_[node].next;
      if (following > indexCount_) return 3;
      if (links_[following].previous != node) return 2;
      if (following == end) break;
      if (++seen > count_ || !contains(following)) return 1;
      node = following;
    }
    if (seen != count_) return 1;
    if (indexCount_ > countMax_) return 3;
    uint32_t members = 0;
    uint32_t endedCount = 0;
    for (uint32_t node = 0; node <= indexCount_; ++node) {
      members += contains(node) ? 1u : 0u;
      endedCount += hasEnded(node) ? 1u : 0u;
    }
    if (members != count_) return 4;
    return endedCount == endedCount_ ? 0 : 5;
  }

 private:
  struct Link {
    uint32_t previous;
    uint32_t next;
  };
  // The notes of a node.
  static constexpr uint8_t member = 1;
  static constexpr uint8_t ended = 2;
  static constexpr uint8_t flagged = 4;
  // Below this many indices the links stay in the first-level cache or close to it, and prefetching costs more than it gives.
  static constexpr uint32_t prefetchFrom = 16384;
  static constexpr uint32_t prefetchFar = 16;
  static constexpr uint32_t prefetchNear = 8;

  /// At the back.
  void link(uint32_t node) {
    const uint32_t last = links_[end].previous;
    links_[node] = Link{last, end};
    links_[last].next = node;
    links_[end].previous = node;
  }
  void unlink(uint32_t node) {
    const Link gone = links_[node];
    links_[gone.previous].next = gone.next;
    links_[gone.next].previous = gone.previous;
  }

  ReservedArray<Link> links_;
  ReservedArray<uint8_t> notes_;  // by node
  uint32_t countMax_;
  uint32_t count_ = 0;
  uint32_t endedCount_ = 0;
  uint32_t indexCount_ = 0;
};

/// A policy whose victim is the first in a list: by creation, unless the policy moves episodes.
class ListPolicy : public EvictionPolicy {
 public:
  explicit ListPolicy(uint32_t countMax) : list_(countMax) {}
  bool valid() const { return list_.valid(); }

  bool prepare(uint32_t count) override { return list_.prepare(count); }
  void created(uint32_t episode) override { list_.pushBack(EvictionList::nodeOf(episode)); }
  void ended(uint32_t episode, uint32_t) override { list_.noteEnded(EvictionList::nodeOf(episode)); }
  void removed(uint32_t episode) override { list_.remove(EvictionList::nodeOf(episode)); }
  uint32_t victim() override { return list_.firstEnded(); }
  double memoryBytes() const override { return list_.memoryBytes(); }
  void save(EvictionItem* items) const override { saveFrom(list_.first(), items); }
  int32_t check() const override { return list_.check(); }

 protected:
  /// Writes the episodes from `node` on, once round, each with its flag.
  void saveFrom(uint32_t node, EvictionItem* items) const {
    for (uint32_t item = 0; item < list_.count(); ++item, node = list_.nextAround(node))
      items[item] = {EvictionList::episodeOf(node), list_.isFlagged(node) ? 1u : 0u};
  }
  /// Whether the items name the episodes in the list's order from `node` on, with values up to `valueMax`.
  bool agree(const EvictionItem* items, uint32_t count, uint32_t node, uint32_t valueMax) const {
    for (uint32_t item = 0; item < count; ++item, node = list_.nextAround(node))
      if (items[item].value > valueMax || items[item].episode != EvictionList::episodeOf(node)) return false;
    return true;
  }

  EvictionList list_;
};

}  // namespace exrp
