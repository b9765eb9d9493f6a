// SecondChance: first in, first out of ended episodes, but one that was sampled since it was last passed over is spared once
// (Chen and Wang, section 3.2: access_flag is the flag here, h_epi_remove the hand).
//
// The hand points at an episode. It moves from older to younger ones, and from the youngest to the oldest. victim() clears flags and moves
// the hand until it stands on an ended episode whose flag is clear. It passes over open episodes and leaves their flags. The hand stays there, so asking again gives the same answer. When the
// hand's episode is removed, the hand moves on at once, before any later episode comes. New episodes join at the young end with a
// clear flag.
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants:
//   1 to 5. Those of EvictionList, whose order is the order of creation, oldest first.
//   6. The hand is a member; the end only when there are no episodes.
// Cost: created, ended, removed O(1); sampled one byte written a pick; victim O(1) amortised (each step clears a flag that a pick set, or
// passes over an open episode), at most two rounds. 9 bytes an episode.
// It does not count how often an episode was sampled (Lfu does), nor keep when (Lru does).
#pragma once

#include <cstdint>

#include "eviction/_episode_list.hpp"

namespace exrp {

class SecondChance final : public ListPolicy {
 public:
  using ListPolicy::ListPolicy;

  void created(uint32_t episode) override {
    ListPolicy::created(episode);
    if (hand_ == EvictionList::end) hand_ = EvictionList::nodeOf(episode);
  }

  void sampled(const uint32_t* episode, uint32_t count) override { list_.flag(episode, count); }

  void removed(uint32_t episode) override {
    const uint32_t node = EvictionList::nodeOf(episode);
    if (hand_ == node) hand_ = list_.nextAround(node);
    if (hand_ == node) hand_ = EvictionList::end;
    list_.remove(node);
  }

  uint32_t victim() override {
    if (list_.endedCount() == 0) return none;
    for (; !list_.hasEnded(hand_) || list_.isFlagged(hand_); hand_ = list_.nextAround(hand_)) {
      if (list_.hasEnded(hand_)) list_.unflag(hand_);
    }
    return EvictionList::episodeOf(hand_);
  }

  /// From the hand once round, each with its flag.
  void save(EvictionItem* items) const override { saveFrom(hand_, items); }

  /// The order is known from the creations already: the items must agree with it, from where the hand stands.
  Status load(const EvictionItem* items, uint32_t count) override {
    if (count == 0) return Status::ok;
    const uint32_t hand = EvictionList::nodeOf(items[0].episode);
    if (!agree(items, count, hand, 1)) return Status::dataCorrupt;
    hand_ = hand;
    for (uint32_t item = 0; item < count; ++item) {
      list_.unflag(EvictionList::nodeOf(items[item].episode));
      list_.flag(&items[item].episode, items[item].value);
    }
    return Status::ok;
  }

  int32_t check() const override {
    if (const int32_t broken = list_.check(); broken != 0) return broken;
    return (list_.count() == 0 ? hand_ == EvictionList::end : list_.contains(hand_)) ? 0 : 6;
  }

 private:
  uint32_t hand_ = EvictionList::end;
};

}  // namespace exrp
