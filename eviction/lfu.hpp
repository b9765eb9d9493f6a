// Lfu: forgets the ended episode that was sampled least often since it was created (least frequently used). Of several, it forgets the one that
// was sampled or created longest ago.
//
// An episode's key is its count, then the time of its last use: a pick or its creation. Times count 1, 2, ... and are never equal. The
// victim has the least key. A pick only writes the key of its episode, so the heap may still hold an older key. Keys never fall. So when the
// first key of the heap is old, its episode is filed again under its new key, until the first key is true.
//
// Why not a list of buckets, one for each count, where a pick moves its episode to the next bucket (O(1) for everything; Shah, Mitra and
// Matani 2010)? It was written and measured: 4 to 10 ns a pick. The processor can't predict whether the episode is the last or the only
// one of its bucket. Nor can it predict whether the next bucket exists, once counts spread. This way takes about 1 ns (bench/probe/eviction.cpp), and
// episodes of high count, which nearly all picks are of, are hardly ever filed again. The price: a victim is not O(1).
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants:
//   1 to 3. Those of EpisodeHeap, in which open episodes wait; a value is a count.
//   4. A key in the heap is not above the episode's own, in count nor in time, and no time is above now.
// Cost: created O(1); sampled O(1) a pick; ended, removed O(log E); victim O(log E) for each episode filed again: at most one for each that was
// sampled since it was last filed. save() sorts, O(E log E). 36 bytes an episode, no allocation after creation (see EvictionList). A saved
// item's value is its count.
// A count stays at 2^32 - 1 once it is there; later picks only renew the time. It does not age counts: an episode that was sampled often
// long ago stays.
#pragma once

#include <algorithm>
#include <cstdint>

#include "eviction/_episode_heap.hpp"

namespace exrp {

/// How an Lfu knows that an episode was used.
struct UseNote {
  uint64_t time;   // of the last use
  uint32_t count;  // picks since creation
};

class Lfu final : public NotedPolicy<UseNote> {
 public:
  using NotedPolicy::NotedPolicy;

  void created(uint32_t episode) override {
    notes_[episode] = {++now_, 0};
    heap_.add(episode, 0, now_);
  }
  void ended(uint32_t episode, uint32_t) override {
    fileAgain(episode);
    heap_.file(episode);
  }

  void sampled(const uint32_t* episode, uint32_t count) override {
    UseNote* const notes = notes_.data();
    uint64_t now = now_;
    for (uint32_t pick = 0; pick < count; ++pick) {
      UseNote& note = notes[episode[pick]];
      note.time = ++now;
      note.count += note.count != UINT32_MAX ? 1 : 0;
    }
    now_ = now;
  }

  /// The first, once it is filed under its own key.
  uint32_t victim() override {
    uint32_t first = heap_.first();
    for (; first != none && heap_.time(first) != notes_[first].time; first = heap_.first()) fileAgain(first);
    return first;
  }

  void save(EvictionItem* items) const override {
    heap_.save(items);
    for (uint32_t item = 0; item < heap_.count(); ++item) items[item].value = notes_[items[item].episode].count;
    std::sort(items, items + heap_.count(), [this](const EvictionItem& a, const EvictionItem& b) {
      return a.value != b.value ? a.value < b.value : notes_[a.episode].time < notes_[b.episode].time;
    });
  }

  /// Times become 1, 2, ... in order of the items: only their order ever mattered.
  Status load(const EvictionItem* items, uint32_t count) override {
    const Status status = take(items, count);
    for (uint32_t item = 0; status == Status::ok && item < count; ++item)
      notes_[items[item].episode] = {uint64_t{item} + 1, items[item].value};
    return status;
  }

  int32_t check() const override {
    if (const int32_t broken = heap_.check(); broken != 0) return broken;
    for (uint32_t episode = 0; episode < heap_.indexCount(); ++episode) {
      const UseNote& note = notes_[episode];
      if (!heap_.contains(episode)) continue;
      if (heap_.value(episode) > note.count || heap_.time(episode) > note.time || note.time > now_) return 4;
    }
    return 0;
  }

 private:
  void fileAgain(uint32_t episode) { heap_.set(episode, notes_[episode].count, notes_[episode].time); }
};

}  // namespace exrp
