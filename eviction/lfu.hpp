// Lfu: forgets the ended episode that was sampled least often since it was created (least frequently used). Of several, it forgets the one that
// was sampled or created longest ago.
//
// An episode's key is its count, then the time of its last use: a pick or its creation. Times count 1, 2, ... and are never equal. The
// victim has the least key. A pick only writes the key of its episode, so the heap may still hold an older key. Keys never fall. So when the
// root's key is old, the root's episode is filed again under its new key, until the key at the root is true. An episode is filed for the
// first time when it ends; its picks from before count.
//
// Why not a list of buckets, one for each count, where a pick moves its episode to the next bucket (O(1) for everything; Shah, Mitra and
// Matani 2010)? It was written and measured: 4 to 10 ns a pick. The processor can't predict whether the episode is the last or the only
// one of its bucket. Nor can it predict whether the next bucket exists, once counts spread. This way takes about 1 ns (bench/probe/eviction.cpp), and
// episodes of high count, which nearly all picks are of, are hardly ever filed again. The price: a victim is not O(1).
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants:
//   1. Entries heapRoot..heapRoot + filedCount - 1 of the heap hold each ended member once, and its `entry` says which one. That is 0 for
//      every other index.
//   2. A filed key is not above the episode's own, in count nor in time.
//   3. The filed key of a parent is less than that of its children.
//   4. Times are 1..now for the `count` members, and 0 for an index that is no member.
// Cost: created O(1); sampled O(1) a pick; ended, removed O(log E); victim O(log E) for each episode filed again: at most one for each that was
// sampled since it was last filed. It is never more than O(E), about 10 ns an episode: after a share of E the whole heap is
// built again. save() sorts, O(E log E). 32 bytes an episode, no allocation after creation (see EpisodeList). A saved item's value
// is its count.
// A count stays at 2^32 - 1 once it is there; later picks only renew the time. It does not age counts: an episode that was sampled often
// long ago stays.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "eviction/_key_heap.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/sockets/eviction_policy.hpp"

namespace exrp {

class Lfu final : public EvictionPolicy {
 public:
  static constexpr uint32_t countLimit = KeyHeap::countLimit;

  explicit Lfu(uint32_t countMax) {
    if (countMax > countLimit) return;
    const size_t entryCount = size_t{countMax} + heapRoot;
    if (!uses_.create(countMax) || !heap_.create(entryCount) || !heap_.commit(heapRoot)) {
      heap_.destroy();
      return;
    }
    countMax_ = countMax;
  }
  /// False when there was no memory at creation; nothing else may be called then.
  bool valid() const { return heap_.data() != nullptr; }

  bool prepare(uint32_t count) override { return uses_.commit(count) && heap_.commit(size_t{count} + heapRoot); }

  void created(uint32_t episode) override {
    assert(episode < countMax_ && !isMember(episode));
    if (episode >= indexCount_) indexCount_ = episode + 1;
    uses_[episode] = Use{++now_, 0, 0};
    ++count_;
  }

  void ended(uint32_t episode, uint32_t) override {
    assert(isMember(episode) && uses_[episode].entry == 0);
    ++filedCount_;
    siftUp(heapEnd() - 1, Filed{uses_[episode].time, uses_[episode].count, episode});
  }

  void sampled(const uint32_t* episode, uint32_t count) override {
    Use* const uses = uses_.data();
    uint64_t now = now_;
    for (uint32_t pick = 0; pick < count; ++pick) {
      Use& use = uses[episode[pick]];
      use.time = ++now;
      use.count += use.count != countLargest ? 1 : 0;
    }
    now_ = now;
  }

  void removed(uint32_t episode) override {
    assert(isMember(episode));
    const uint32_t entry = uses_[episode].entry;
    uses_[episode] = Use{0, 0, 0};
    --count_;
    if (entry == 0) return;
    const Filed last = heap_[heapEnd() - 1];
    --filedCount_;
    if (entry == heapEnd()) return;
    if (entry > heapRoot && less(last, heap_[KeyHeap::parentOf(entry)])) siftUp(entry, last);
    else siftDown(entry, last);
  }

  /// The root, once it is filed under its own key.
  uint32_t victim() override {
    if (filedCount_ == 0) return none;
    for (uint32_t refiled = 0; refiled < filedCount_ / rebuildShare + 1; ++refiled) {
      const Filed root = heap_[heapRoot];
      const Use& use = uses_[root.episode];
      if (root.time == use.time) return root.episode;
      siftDown(heapRoot, Filed{use.time, use.count, root.episode});
    }
    rebuild();
    return heap_[heapRoot].episode;
  }

  double memoryBytes() const override {
    return uses_.takenBytes(indexCount_) + heap_.takenBytes(size_t{indexCount_} + heapRoot);
  }

  /// In the order in which they would go, had all ended.
  void save(EvictionItem* items) const override {
    uint32_t item = 0;
    for (uint32_t episode = 0; episode < indexCount_; ++episode)
      if (isMember(episode)) items[item++] = EvictionItem{episode, uses_[episode].count};
    std::sort(items, items + count_, [this](const EvictionItem& a, const EvictionItem& b) {
      return a.value != b.value ? a.value < b.value : uses_[a.episode].time < uses_[b.episode].time;
    });
  }

  /// Times become 1, 2, ... in order of the items: only their order ever mattered.
  Status load(const EvictionItem* items, uint32_t count) override {
    for (uint32_t item = 1; item < count; ++item)
      if (items[item].value < items[item - 1].value) return Status::dataCorrupt;
    if (!holdsEach(items, count)) return Status::dataCorrupt;
    now_ = count;
    uint32_t entry = heapRoot;  // ascending keys are a heap
    for (uint32_t item = 0; item < count; ++item) {
      const uint32_t episode = items[item].episode;
      const bool isFiled = uses_[episode].entry != 0;
      uses_[episode] = Use{uint64_t{item} + 1, items[item].value, 0};
      if (isFiled) put(entry++, Filed{uint64_t{item} + 1, items[item].value, episode});
    }
    return Status::ok;
  }

  int32_t check() const override {
    uint32_t memberCount = 0;
    uint32_t filedCount = 0;
    for (uint32_t episode = 0; episode < indexCount_; ++episode) {
      memberCount += isMember(episode) ? 1u : 0u;
      filedCount += uses_[episode].entry != 0 ? 1u : 0u;
    }
    if (filedCount != filedCount_) return 1;
    if (memberCount != count_ || count_ > indexCount_ || indexCount_ > countMax_) return 4;
    for (uint32_t entry = heapRoot; entry < heapEnd(); ++entry) {
      const Filed& filed = heap_[entry];
      if (filed.episode >= indexCount_ || uses_[filed.episode].entry != entry) return 1;
      const Use& use = uses_[filed.episode];
      if (filed.value > use.count || filed.time > use.time) return 2;
      if (entry > heapRoot && !less(heap_[KeyHeap::parentOf(entry)], filed)) return 3;
      if (filed.time == 0 || use.time > now_) return 4;
    }
    return 0;
  }

 private:
  struct Use {
    uint64_t time;   // of the last use; 0: no member
    uint32_t count;  // picks since creation
    uint32_t entry;  // in the heap; 0: none, as it is open
  };
  using Filed = KeyHeap::Entry;  // its value is the count
  static constexpr uint32_t countLargest = UINT32_MAX;
  static constexpr uint32_t heapRoot = KeyHeap::root;
  // Building the heap anew costs about as much as filing a sixteenth of it one by one.
  static constexpr uint32_t rebuildShare = 16;

  static bool less(const Filed& a, const Filed& b) { return KeyHeap::less(a, b); }
  uint32_t heapEnd() const { return heapRoot + filedCount_; }
  bool isMember(uint32_t episode) const { return uses_[episode].time != 0; }

  void put(uint32_t entry, const Filed& filed) {
    heap_[entry] = filed;
    uses_[filed.episode].entry = entry;
  }

  /// Puts `filed` at the free entry, or, above larger ones, at an ancestor's.
  void siftUp(uint32_t entry, const Filed filed) {
    put(KeyHeap::up(heap_.data(), entry, filed, [this](uint32_t to, const Filed& from) { put(to, from); }), filed);
  }

  /// Puts `filed` at the free entry, or, below smaller ones, at a descendant's.
  void siftDown(uint32_t entry, const Filed filed) {
    put(KeyHeap::down(heap_.data(), entry, heapEnd(), filed, [this](uint32_t to, const Filed& from) { put(to, from); }), filed);
  }

  /// Files every ended episode under its own key. O(E).
  void rebuild() {
    for (uint32_t entry = heapRoot; entry < heapEnd(); ++entry) {
      Filed& filed = heap_[entry];
      filed.time = uses_[filed.episode].time;
      filed.value = uses_[filed.episode].count;
    }
    if (filedCount_ < 2) return;
    for (uint32_t entry = KeyHeap::parentOf(heapEnd() - 1); entry >= heapRoot; --entry) siftDown(entry, heap_[entry]);
  }

  /// True when the items name every member once and nothing else. Nothing has changed after it.
  bool holdsEach(const EvictionItem* items, uint32_t count) {
    return KeyHeap::namesEach(items, count, count_, [&](uint32_t episode) {
      return episode < indexCount_ && isMember(episode) ? &uses_[episode].entry : nullptr;
    });
  }

  ReservedArray<Use> uses_;    // by episode
  ReservedArray<Filed> heap_;  // by entry
  uint32_t countMax_ = 0;
  uint32_t count_ = 0;
  uint32_t filedCount_ = 0;
  uint32_t indexCount_ = 0;    // one more than the largest index ever a member
  uint64_t now_ = 0;
};

}  // namespace exrp
