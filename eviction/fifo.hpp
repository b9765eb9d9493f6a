// Fifo: forgets the ended episode that was created first (Chen and Wang, section 3.2, "First In First Out").
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants: those of EvictionList (1 to 5), whose order is the order of creation, oldest first.
// Cost: all O(1), but that victim() takes a step for each open episode older than it; 9 bytes an episode. sampled() does nothing. A saved item's value is 0.
// It does not look at what was sampled.
#pragma once

#include <cstdint>

#include "eviction/_episode_list.hpp"

namespace exrp {

class Fifo final : public ListPolicy {
 public:
  using ListPolicy::ListPolicy;

  /// The order is known from the creations already: the items must agree with it.
  Status load(const EvictionItem* items, uint32_t count) override {
    return agree(items, count, list_.first(), 0) ? Status::ok : Status::dataCorrupt;
  }
};

}  // namespace exrp
