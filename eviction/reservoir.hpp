// Reservoir: keeps a random sample of all episodes that have ended (Vitter's Algorithm R, 1985, in the form of random keys; known
// here from descriptions of it).
//
// An episode gets a random key once, when it ends. When room is needed, the ended episode with the lowest key goes. So the episodes with the
// highest keys stay. Keys do not depend on their episodes, so every set of that size is as likely as any other.
// Open episodes have no key and stay while an ended one is left. After that, the open episode that was created first goes.
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants:
//   1 to 3. Those of EpisodeHeap, for the ended episodes; a value is a key.
//   4. The open episodes' list keeps those of EpisodeList; its order is that of creation.
//   5. No episode is in both.
// Cost: ended, removed O(log E), created, victim O(1); one random number an episode that ends. 28 bytes an episode.
// A saved item's value is the key, 0 for an open episode; the header is the random state.
// Of two equal keys, the episode that ended first goes. One pair in 2^32 has equal keys, so samples are that close to uniform.
#pragma once

#include <cstddef>
#include <cstdint>

#include "eviction/_episode_heap.hpp"
#include "eviction/_episode_list.hpp"
#include "kernel/base/random.hpp"

namespace exrp {

class Reservoir final : public EvictionPolicy {
 public:
  Reservoir(uint32_t countMax, Random random) : ended_(countMax), open_(countMax), random_(random) {}
  bool valid() const { return ended_.valid() && open_.valid(); }

  void created(uint32_t episode) override { open_.pushBack(EpisodeList::nodeOf(episode)); }
  void sampled(const uint32_t*, uint32_t) override {}
  void ended(uint32_t episode, uint32_t) override {
    open_.remove(EpisodeList::nodeOf(episode));
    ended_.set(episode, static_cast<uint32_t>(random_.next() >> 32), ++now_);
  }
  void removed(uint32_t episode) override {
    if (ended_.contains(episode)) ended_.remove(episode);
    else open_.remove(EpisodeList::nodeOf(episode));
  }

  uint32_t victim(uint32_t spared = none) override {
    const uint32_t lowest = ended_.count() > 0 ? ended_.firstBut(spared) : spared;
    if (lowest != spared) return lowest;
    return open_.count() > 0 ? EpisodeList::episodeOf(open_.firstBut(spared)) : spared;
  }

  double memoryBytes() const override { return static_cast<double>(ended_.memoryBytes() + open_.memoryBytes()); }

  uint32_t headerBytes() const override { return Random::stateBytes; }
  void saveHeader(uint8_t* bytes) const override { random_.save(bytes); }
  Status loadHeader(const uint8_t* bytes) override { return random_.load(bytes) ? Status::ok : Status::dataCorrupt; }

  /// In the order in which they would go.
  void save(EvictionItem* items) const override {
    ended_.save(items);
    open_.save(items + ended_.count());
  }

  /// Which are open, and in what order, is known already: the items must agree with it.
  Status load(const EvictionItem* items, uint32_t count) override {
    const uint32_t endedCount = ended_.count();
    if (count != endedCount + open_.count() || !ended_.fits(items, endedCount)) return Status::dataCorrupt;
    uint32_t node = open_.first();
    for (uint32_t item = endedCount; item < count; ++item, node = open_.next(node))
      if (items[item].value != 0 || items[item].episode != EpisodeList::episodeOf(node)) return Status::dataCorrupt;
    ended_.load(items, endedCount);
    now_ = endedCount;
    return Status::ok;
  }

  int32_t check() const override {
    if (const int32_t broken = ended_.check(); broken != 0) return broken;
    if (open_.check() != 0) return 4;
    for (uint32_t node = open_.first(); node != EpisodeList::end; node = open_.next(node))
      if (ended_.contains(EpisodeList::episodeOf(node))) return 5;
    return 0;
  }

 private:
  EpisodeHeap ended_;
  EpisodeList open_;
  Random random_;
  uint64_t now_ = 0;
};

}  // namespace exrp
