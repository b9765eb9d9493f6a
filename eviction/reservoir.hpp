// Reservoir: keeps a random sample of all episodes that have ended (Vitter's Algorithm R, 1985, in the form of random keys; known
// here from descriptions of it).
//
// An episode gets a random key once, when it ends. When room is needed, the ended episode with the lowest key goes. So the episodes with the
// highest keys stay. Keys do not depend on their episodes, so every set of that size is as likely as any other.
// Open episodes have no key yet.
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants:
//   1 to 3. Those of EpisodeHeap, in which open episodes wait; a value is a key.
//   4. An open episode's value is 0.
// Cost: ended, removed O(log E), created, victim O(1); one random number an episode that ends. 20 bytes an episode.
// A saved item's value is the key, 0 for an open episode; the header is the random state.
// Of two equal keys, the episode that ended first goes. One pair in 2^32 has equal keys, so samples are that close to uniform.
#pragma once

#include <cstdint>

#include "eviction/_episode_heap.hpp"
#include "kernel/base/random.hpp"

namespace exrp {

class Reservoir final : public HeapPolicy {
 public:
  Reservoir(uint32_t countMax, Random random) : HeapPolicy(countMax), random_(random) {}

  void created(uint32_t episode) override { heap_.add(episode, 0, ++now_); }
  void ended(uint32_t episode, uint32_t) override {
    heap_.set(episode, static_cast<uint32_t>(random_.next() >> 32), ++now_);
    heap_.file(episode);
  }

  uint32_t headerBytes() const override { return Random::stateBytes; }
  void saveHeader(uint8_t* bytes) const override { random_.save(bytes); }
  Status loadHeader(const uint8_t* bytes) override { return random_.load(bytes) ? Status::ok : Status::dataCorrupt; }

  /// They are in order of their keys; so open episodes come first.
  Status load(const EvictionItem* items, uint32_t count) override {
    for (uint32_t item = 0; item < count; ++item)
      if (items[item].value != 0 && !heap_.isFiled(items[item].episode)) return Status::dataCorrupt;
    return take(items, count);
  }

  int32_t check() const override {
    if (const int32_t broken = heap_.check(); broken != 0) return broken;
    return heap_.waitsWithValue() ? 4 : 0;
  }

 private:
  Random random_;
};

}  // namespace exrp
