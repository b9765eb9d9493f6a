// Lru: forgets the ended episode that was used longest ago (least recently used). Being created and being sampled are uses, being ended is
// none.
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants: those of EvictionList (1 to 5), whose order is that of each episode's last use, least recent first.
// Cost: all O(1): a use moves the episode to the back, 1 to 3 ns a pick (bench/probe/eviction.cpp). But victim() takes a step for each open
// episode that was used before it. 9 bytes an episode.
// A saved item's value is 0. It does not count uses (Lfu does).
#pragma once

#include <cstdint>

#include "eviction/_episode_list.hpp"

namespace exrp {

class Lru final : public ListPolicy {
 public:
  using ListPolicy::ListPolicy;

  void sampled(const uint32_t* episode, uint32_t count) override { list_.moveToBack(episode, count); }

  Status load(const EvictionItem* items, uint32_t count) override {
    for (uint32_t item = 0; item < count; ++item)
      if (items[item].value != 0) return Status::dataCorrupt;
    for (uint32_t item = 0; item < count; ++item) list_.moveToBack(&items[item].episode, 1);
    return Status::ok;
  }
};

}  // namespace exrp
