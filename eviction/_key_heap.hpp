// KeyHeap: the arithmetic of a heap of episodes under keys, for those native eviction policies whose victim has the least of something.
//
// A key is a value, then a time. The heap's array and its count are the owner's, and so is the note of where each episode stands.
// A parent has four children, which begin at a multiple of four and so share a cache line: those of entry p begin at 4 p - 8.
//
// Thread safety: pure functions on the owner's memory.
// Invariants:
//   1. The first entry of a heap is `root`, and the key of a parent is less than that of its children.
// Cost: up and down O(log E), without allocation.
// It does not know what a value means.
#pragma once

#include <algorithm>
#include <cstdint>

namespace exrp {

struct KeyHeap {
  struct Entry {
    uint64_t time;
    uint32_t value;
    uint32_t episode;
  };
  static constexpr uint32_t root = 3;
  /// The top bit of an entry's number is spare: owners mark with it while they check what they load.
  static constexpr uint32_t mark = 0x80000000u;
  /// The most episodes that a heap can be made for.
  static constexpr uint32_t countLimit = 0x7FFFFFF0;

  static uint32_t parentOf(uint32_t at) { return at / 4 + 2; }
  static bool less(const Entry& a, const Entry& b) { return a.value != b.value ? a.value < b.value : a.time < b.time; }

  /// The one of the least key among the children of `at`, or `end` if there is none.
  static uint32_t leastChild(const Entry* heap, uint32_t at, uint32_t end) {
    const uint64_t begin = uint64_t{at} * 4 - 8;
    if (begin >= end) return end;
    const auto childEnd = static_cast<uint32_t>(std::min<uint64_t>(begin + 4, end));
    auto least = static_cast<uint32_t>(begin);
    for (uint32_t child = least + 1; child < childEnd; ++child)
      if (less(heap[child], heap[least])) least = child;
    return least;
  }

  /// Finds where `entry` belongs, from the free entry `at` up, and makes that free by `put(at, entry)` of those on the way.
  template <typename Put>
  static uint32_t up(const Entry* heap, uint32_t at, const Entry& entry, Put put) {
    for (; at > root && less(entry, heap[parentOf(at)]); at = parentOf(at)) put(at, heap[parentOf(at)]);
    return at;
  }
  /// The same from the free entry `at` down, in a heap whose last entry is the one before `end`.
  template <typename Put>
  static uint32_t down(const Entry* heap, uint32_t at, uint32_t end, const Entry& entry, Put put) {
    for (uint32_t least = leastChild(heap, at, end); least != end && less(heap[least], entry); least = leastChild(heap, at, end)) {
      put(at, heap[least]);
      at = least;
    }
    return at;
  }

  /// Whether the `count` items name each of `memberCount` members once and nothing else. `standing(episode)` is a pointer to the number of
  /// the episode's entry, null for what is no member. Nothing has changed after it.
  template <typename Item, typename Standing>
  static bool namesEach(const Item* items, uint32_t count, uint32_t memberCount, Standing standing) {
    if (count != memberCount) return false;
    uint32_t marked = 0;
    for (; marked < count; ++marked) {
      uint32_t* const at = standing(items[marked].episode);
      if (at == nullptr || (*at & mark) != 0) break;
      *at |= mark;
    }
    for (uint32_t item = 0; item < marked; ++item) *standing(items[item].episode) &= ~mark;
    return marked == count;
  }
};

}  // namespace exrp
