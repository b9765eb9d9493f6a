// EvictionList: a doubly linked list over episode indices, shared by those native eviction policies that keep an order.
//
// A list position is called a node: the node of episode e is e + 1. Node 0 is the end, which stands before the first member and after
// the last. The list is a ring through it, so linking has no special cases. Links are indices: with the note of whether the episode has
// ended, a member takes 9 bytes.
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants:
//   1. Following next from the end reaches every member once and comes back to the end after count() of them.
//   2. previous undoes next, at every node of the ring.
//   3. Every member is below indexCount(), which is at most countMax.
//   4. A node that is no member has both links 0. (So zero bytes, as memory comes, are nodes that are no members.)
//   5. A note is 1 for a member that has ended and 0 for every other node; endedCount() counts them.
// Cost: O(1), or O(1) an item given or written; firstEnded() takes a step for each open member before it; check() O(indexCount). No allocation after creation: on POSIX the constructor takes
// address space and pages come as indices are first used; on Windows all of it is committed at once. So nothing can fail later.
// It does not know what the order means, and asserts rather than checks what its policy passes.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "kernel/sockets/eviction_policy.hpp"
#include "kernel/base/memory.hpp"

namespace exrp {

class EvictionList {
 public:
  /// The node that is no episode.
  static constexpr uint32_t end = 0;
  /// The most episodes a list can be made for: the top bit of a link is spare, holdsEach() marks with it.
  static constexpr uint32_t countLimit = 0x7FFFFFFE;

  explicit EvictionList(uint32_t countMax) {
    const size_t nodeCount = size_t{countMax} + 1;
    if (countMax <= countLimit && links_.create(nodeCount, Pages::huge, 0) && links_.commit(1) && ended_.create(nodeCount, Pages::huge, 0) && ended_.commit(1)) {
      countMax_ = countMax;
    } else {
      links_.destroy();
    }
  }

  static uint32_t nodeOf(uint32_t episode) { return episode + 1; }
  static uint32_t episodeOf(uint32_t node) { return node - 1; }

  /// False when there was no memory at creation; nothing else may be called then.
  bool valid() const { return links_.data() != nullptr; }
  /// Takes the memory for episodes below `count`. False for want of it.
  bool prepare(uint32_t count) { return links_.commit(size_t{count} + 1) && ended_.commit(size_t{count} + 1); }
  uint32_t count() const { return count_; }
  uint32_t endedCount() const { return endedCount_; }
  uint32_t countMax() const { return countMax_; }
  /// One more than the largest episode index that was ever a member.
  uint32_t indexCount() const { return indexCount_; }
  size_t memoryBytes() const {
    const size_t nodeCount = size_t{indexCount_} + 1;
    return static_cast<size_t>(links_.takenBytes(nodeCount) + ended_.takenBytes(nodeCount));
  }

  uint32_t first() const { return links_[end].next; }
  uint32_t last() const { return links_[end].previous; }
  /// The first episode that has ended, or EvictionPolicy::none.
  uint32_t firstEnded() const {
    if (endedCount_ == 0) return EvictionPolicy::none;
    uint32_t node = first();
    while (!hasEnded(node)) node = links_[node].next;
    return episodeOf(node);
  }
  uint32_t next(uint32_t node) const { return links_[node].next; }
  /// The node after `node`, going round from the last to the first. The end only when the list is empty.
  uint32_t nextAround(uint32_t node) const {
    const uint32_t following = links_[node].next;
    return following != end ? following : first();
  }

  bool contains(uint32_t node) const {
    if (node == end || node > indexCount_) return false;
    return links_[node].previous != end || links_[node].next != end || first() == node;
  }

  bool hasEnded(uint32_t node) const { return ended_[node] != 0; }
  /// Notes that the episode of `node`, a member, has ended.
  void noteEnded(uint32_t node) {
    assert(contains(node) && !hasEnded(node));
    ended_[node] = 1;
    ++endedCount_;
  }

  /// Makes `node`, no member yet, the last.
  void pushBack(uint32_t node) {
    assert(node != end && node <= countMax_ && !contains(node));
    if (node > indexCount_) indexCount_ = node;
    ++count_;
    link(last(), node);
  }

  void remove(uint32_t node) {
    assert(contains(node));
    unlink(node);
    links_[node] = Link{end, end};
    --count_;
    endedCount_ -= ended_[node];
    ended_[node] = 0;
  }

  /// Moves the members of these episodes to the back, one after the other; an episode may come many times.
  void moveToBack(const uint32_t* episode, uint32_t count) {
    Link* const links = links_.data();
    // The last stays in a register; kept in memory it is a store and a load of it in a chain, and five times slower.
    uint32_t back = last();
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

  /// Writes the episodes in order of the list, each with value 0.
  void save(EvictionItem* items) const {
    for (uint32_t node = first(); node != end; node = next(node)) *items++ = EvictionItem{episodeOf(node), 0};
  }

  /// True when the items name every member once and nothing else. The list is as before. O(count).
  bool holdsEach(const EvictionItem* items, uint32_t count) {
    if (count != count_) return false;
    uint32_t marked = 0;
    while (marked < count && mark(items[marked].episode)) ++marked;
    for (uint32_t item = 0; item < marked; ++item) links_[nodeOf(items[item].episode)].previous &= ~markBit;
    return marked == count;
  }

  /// Takes the order of the items, of which holdsEach() says true.
  void reorder(const EvictionItem* items, uint32_t count) {
    for (uint32_t item = 0; item < count; ++item) {
      const uint32_t node = nodeOf(items[item].episode);
      unlink(node);
      link(last(), node);
    }
  }

  /// 0, or the number of the first invariant of this head that does not hold. O(indexCount).
  int32_t check() const {
    uint32_t seen = 0;
    for (uint32_t node = end;;) {
      const uint32_t following = links_[node].next;
      if (following > indexCount_) return 3;
      if (links_[following].previous != node) return 2;
      if (following == end) break;
      if (++seen > count_) return 1;
      node = following;
    }
    if (seen != count_) return 1;
    if (indexCount_ > countMax_) return 3;
    uint32_t members = 0;
    uint32_t endedCount = 0;
    for (uint32_t node = 0; node <= indexCount_; ++node) {
      members += contains(node) ? 1u : 0u;
      if (ended_[node] > (contains(node) ? 1 : 0)) return 5;
      endedCount += ended_[node];
    }
    if (members != count_) return 4;
    return endedCount == endedCount_ ? 0 : 5;
  }

 private:
  struct Link {
    uint32_t previous;
    uint32_t next;
  };
  // Below this many indices the links stay in the first-level cache or close to it, and prefetching costs more than it gives.
  static constexpr uint32_t prefetchFrom = 16384;
  static constexpr uint32_t prefetchFar = 16;
  static constexpr uint32_t prefetchNear = 8;
  static constexpr uint32_t markBit = 0x80000000u;

  void link(uint32_t place, uint32_t node) {
    const uint32_t following = links_[place].next;
    links_[node] = Link{place, following};
    links_[place].next = node;
    links_[following].previous = node;
  }

  void unlink(uint32_t node) {
    const uint32_t before = links_[node].previous;
    const uint32_t after = links_[node].next;
    links_[before].next = after;
    links_[after].previous = before;
  }

  bool mark(uint32_t episode) {
    if (episode >= indexCount_) return false;
    const uint32_t node = nodeOf(episode);
    if ((links_[node].previous & markBit) != 0 || !contains(node)) return false;
    links_[node].previous |= markBit;
    return true;
  }

  ReservedArray<Link> links_;
  ReservedArray<uint8_t> ended_;  // by node
  uint32_t countMax_ = 0;
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
  double memoryBytes() const override { return static_cast<double>(list_.memoryBytes()); }
  void save(EvictionItem* items) const override { list_.save(items); }
  int32_t check() const override { return list_.check(); }

 protected:
  EvictionList list_;
};

}  // namespace exrp
