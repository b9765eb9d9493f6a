// EpisodeHeap: episode indices in the order of a key that can be set again at any time.
// HeapPolicy: what native eviction policies have in common whose victim has the least of something. NotedPolicy: those that also keep a note
// of each episode.
//
// A key is a value, then a time. The policy never gives the same time twice, so no two keys are equal. A member waits until it is filed,
// which is when its episode ends: it has a key, but first() does not see it. Waiting members stand behind the heap in the same array.
// A parent has four children, which begin at a multiple of four and so share a cache line: those of entry p begin at 4 p - 8.
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants:
//   1. Entries heapRoot..heapRoot + count - 1 hold each member once, and a member's note says which entry holds it. The note is 0 for an
//      index that is no member. (Memory comes as zero bytes, so a new index is no member.)
//   2. The first filedCount of them are a heap: the key of a parent is less than that of its children.
//   3. Every member is below indexCount(), which is at most countMax.
// Cost: add and first O(1); set, file and remove O(log E); save sorts, O(E log E). 20 bytes an episode. No allocation after creation
// (see EvictionList for what that takes of memory).
// It does not know what a value means, and asserts rather than checks what its policy passes.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "kernel/base/memory.hpp"
#include "kernel/rules/eviction_policy.hpp"

namespace exrp {

class EpisodeHeap {
 public:
  /// What the key of an item's episode begins with: mostly what the item says.
  struct ItemValue {
    uint32_t operator()(const EvictionItem& item) const { return item.value; }
  };

  explicit EpisodeHeap(uint32_t countMax) {
    if (countMax > UINT32_MAX - heapRoot) return;
    const size_t entryCount = size_t{countMax} + heapRoot;
    if (entries_.create(countMax) && heap_.create(entryCount) && heap_.commit(heapRoot)) {
      countMax_ = countMax;
    } else {
      heap_.destroy();
    }
  }

  /// False when there was no memory at creation; nothing else may be called then.
  bool valid() const { return heap_.data() != nullptr; }
  /// Takes the memory for episodes below `count`. False for want of it.
  bool prepare(uint32_t count) { return entries_.commit(count) && heap_.commit(size_t{count} + heapRoot); }
  uint32_t count() const { return count_; }
  /// One more than the largest index that was ever a member.
  uint32_t indexCount() const { return indexCount_; }
  double memoryBytes() const { return entries_.takenBytes(indexCount_) + heap_.takenBytes(size_t{indexCount_} + heapRoot); }

  bool contains(uint32_t episode) const { return episode < indexCount_ && entries_[episode] != 0; }
  bool isFiled(uint32_t episode) const { return contains(episode) && entries_[episode] < heapEnd(); }
  uint32_t value(uint32_t episode) const { return heap_[entries_[episode]].value; }
  uint64_t time(uint32_t episode) const { return heap_[entries_[episode]].time; }

  /// Makes `episode`, no member yet, one that waits.
  void add(uint32_t episode, uint32_t value, uint64_t time) {
    assert(episode < countMax_ && !contains(episode));
    if (episode >= indexCount_) indexCount_ = episode + 1;
    put(heapRoot + count_++, Filed{time, value, episode});
  }

  /// Gives `episode`, a member, this key.
  void set(uint32_t episode, uint32_t value, uint64_t time) {
    assert(contains(episode));
    const Filed filed{time, value, episode};
    if (isFiled(episode)) sift(entries_[episode], filed);
    else put(entries_[episode], filed);
  }

  /// Files `episode`, a member that waits.
  void file(uint32_t episode) {
    assert(contains(episode) && !isFiled(episode));
    const Filed filed = heap_[entries_[episode]];
    const uint32_t entry = heapEnd();
    put(entries_[episode], heap_[entry]);  // the first that waits takes its place
    ++filedCount_;
    sift(entry, filed);
  }

  void remove(uint32_t episode) {
    assert(contains(episode));
    uint32_t entry = entries_[episode];
    const bool wasFiled = isFiled(episode);
    entries_[episode] = 0;
    if (wasFiled) {
      const uint32_t last = heapRoot + --filedCount_;
      if (entry != last) sift(entry, heap_[last]);
      entry = last;
    }
    const uint32_t last = heapRoot + --count_;
    if (entry != last) put(entry, heap_[last]);
  }

  /// The filed member of the least key, or EvictionPolicy::none.
  uint32_t first() const { return filedCount_ > 0 ? heap_[heapRoot].episode : EvictionPolicy::none; }

  /// Writes the members with their values, in order of their keys.
  void save(EvictionItem* items) const {
    for (uint32_t item = 0; item < count_; ++item) {
      const Filed& filed = heap_[heapRoot + item];
      items[item] = EvictionItem{filed.episode, filed.value};
    }
    std::sort(items, items + count_, [this](const EvictionItem& a, const EvictionItem& b) {
      return less(heap_[entries_[a.episode]], heap_[entries_[b.episode]]);
    });
  }

  /// Takes the values and the order of the items, which name every member. Their times become 1, 2, ... Who waits stays as it is. False, with
  /// nothing changed, where their values fall.
  template <typename Value = ItemValue>
  bool load(const EvictionItem* items, uint32_t count, Value value = {}) {
    for (uint32_t item = 1; item < count; ++item)
      if (value(items[item]) < value(items[item - 1])) return false;
    // Filed items in order of their keys are a heap already. All places are chosen before the first note changes.
    uint32_t filed = heapRoot;
    uint32_t waiting = heapEnd();
    for (uint32_t item = 0; item < count; ++item) {
      const uint32_t episode = items[item].episode;
      const uint32_t entry = entries_[episode] < heapEnd() ? filed++ : waiting++;
      heap_[entry] = Filed{uint64_t{item} + 1, value(items[item]), episode};
    }
    for (uint32_t entry = heapRoot; entry < heapRoot + count; ++entry) entries_[heap_[entry].episode] = entry;
    return true;
  }

  /// Whether a member that waits has another value than 0. O(count).
  bool waitsWithValue() const {
    for (uint32_t entry = heapEnd(); entry < heapRoot + count_; ++entry)
      if (heap_[entry].value != 0) return true;
    return false;
  }

  /// 0, or the number of the first invariant of this head that does not hold. O(indexCount).
  int32_t check() const {
    uint32_t members = 0;
    for (uint32_t episode = 0; episode < indexCount_; ++episode) members += entries_[episode] != 0 ? 1u : 0u;
    if (members != count_) return 1;
    if (count_ > indexCount_ || indexCount_ > countMax_) return 3;
    if (filedCount_ > count_) return 2;
    for (uint32_t entry = heapRoot; entry < heapRoot + count_; ++entry) {
      const Filed& filed = heap_[entry];
      if (filed.episode >= indexCount_ || entries_[filed.episode] != entry) return 1;
      if (entry > heapRoot && entry < heapEnd() && !less(heap_[parentOf(entry)], filed)) return 2;
    }
    return 0;
  }

 private:
  struct Filed {
    uint64_t time;
    uint32_t value;
    uint32_t episode;
  };
  static constexpr uint32_t heapRoot = 3;

  static uint32_t parentOf(uint32_t at) { return at / 4 + 2; }
  static bool less(const Filed& a, const Filed& b) { return a.value != b.value ? a.value < b.value : a.time < b.time; }
  uint32_t heapEnd() const { return heapRoot + filedCount_; }

  void put(uint32_t entry, const Filed& filed) {
    heap_[entry] = filed;
    entries_[filed.episode] = entry;
  }

  /// Puts `filed` at the free entry of the heap, or at an ancestor's, or at a descendant's.
  void sift(uint32_t entry, const Filed filed) {
    for (; entry > heapRoot && less(filed, heap_[parentOf(entry)]); entry = parentOf(entry)) put(entry, heap_[parentOf(entry)]);
    for (uint32_t least = leastChild(entry); least != heapEnd() && less(heap_[least], filed); least = leastChild(entry)) {
      put(entry, heap_[least]);
      entry = least;
    }
    put(entry, filed);
  }

  /// The one of the least key among the children of an entry, or the heap's end if there is none.
  uint32_t leastChild(uint32_t at) const {
    const uint64_t begin = uint64_t{at} * 4 - 8;
    if (begin >= heapEnd()) return heapEnd();
    const auto end = static_cast<uint32_t>(std::min<uint64_t>(begin + 4, heapEnd()));
    auto least = static_cast<uint32_t>(begin);
    for (uint32_t child = least + 1; child < end; ++child)
      if (less(heap_[child], heap_[least])) least = child;
    return least;
  }

  ReservedArray<uint32_t> entries_;  // by episode
  ReservedArray<Filed> heap_;        // by entry
  uint32_t countMax_ = 0;
  uint32_t count_ = 0;
  uint32_t filedCount_ = 0;
  uint32_t indexCount_ = 0;
};

/// A policy whose victim is the first of a heap, in which open episodes wait. Items are saved in the order in which the episodes would go,
/// had all ended. Each key takes the next time.
class HeapPolicy : public EvictionPolicy {
 public:
  explicit HeapPolicy(uint32_t countMax) : heap_(countMax) {}
  bool valid() const { return heap_.valid(); }

  bool prepare(uint32_t count) override { return heap_.prepare(count); }
  void removed(uint32_t episode) override { heap_.remove(episode); }
  uint32_t victim() override { return heap_.first(); }
  double memoryBytes() const override { return heap_.memoryBytes(); }
  void save(EvictionItem* items) const override { heap_.save(items); }
  int32_t check() const override { return heap_.check(); }

 protected:
  /// Takes the order of the items, with the time that goes on from there.
  template <typename Value = EpisodeHeap::ItemValue>
  Status take(const EvictionItem* items, uint32_t count, Value value = {}) {
    if (!heap_.load(items, count, value)) return Status::dataCorrupt;
    now_ = count;
    return Status::ok;
  }

  EpisodeHeap heap_;
  uint64_t now_ = 0;  // the time of the last key
};

template <typename Note>
class NotedPolicy : public HeapPolicy {
 public:
  explicit NotedPolicy(uint32_t countMax) : HeapPolicy(countMax) {
    if (HeapPolicy::valid()) notes_.create(countMax);
  }
  bool valid() const { return notes_.data() != nullptr; }

  bool prepare(uint32_t count) override { return heap_.prepare(count) && notes_.commit(count); }
  double memoryBytes() const override { return heap_.memoryBytes() + notes_.takenBytes(heap_.indexCount()); }

 protected:
  ReservedArray<Note> notes_;  // by episode
};

}  // namespace exrp
