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
//   7. A flag is 0 or 1, and 0 for an index that is no member.
// Cost: created, ended, removed O(1); sampled one byte written a pick; victim O(1) amortised (each step clears a flag that a pick set, or
// passes over an open episode), at most two rounds. 10 bytes an episode.
// It does not count how often an episode was sampled (Lfu does), nor keep when (Lru does).
#pragma once

#include <cstddef>
#include <cstdint>

#include "eviction/_episode_list.hpp"

namespace exrp {

class SecondChance final : public ListPolicy {
 public:
  explicit SecondChance(uint32_t countMax) : ListPolicy(countMax) {
    const size_t nodeCount = size_t{countMax} + 1;
    if (list_.valid()) flags_.create(nodeCount);
  }
  bool valid() const { return flags_.data() != nullptr; }

  bool prepare(uint32_t count) override { return list_.prepare(count) && flags_.commit(size_t{count} + 1); }

  void created(uint32_t episode) override {
    const uint32_t node = EvictionList::nodeOf(episode);
    list_.pushBack(node);
    if (hand_ == EvictionList::end) hand_ = node;
  }

  void sampled(const uint32_t* episode, uint32_t count) override {
    uint8_t* flags = flags_.data();
    for (uint32_t pick = 0; pick < count; ++pick) flags[EvictionList::nodeOf(episode[pick])] = 1;
  }

  void removed(uint32_t episode) override {
    const uint32_t node = EvictionList::nodeOf(episode);
    if (hand_ == node) hand_ = list_.nextAround(node);
    if (hand_ == node) hand_ = EvictionList::end;
    list_.remove(node);
    flags_[node] = 0;
  }

  uint32_t victim() override {
    if (list_.endedCount() == 0) return none;
    for (; !list_.hasEnded(hand_) || flags_[hand_] != 0; hand_ = list_.nextAround(hand_)) {
      if (list_.hasEnded(hand_)) flags_[hand_] = 0;
    }
    return EvictionList::episodeOf(hand_);
  }

  double memoryBytes() const override {
    return static_cast<double>(list_.memoryBytes()) + flags_.takenBytes(size_t{list_.indexCount()} + 1);
  }

  /// From the hand once round, each with its flag.
  void save(EvictionItem* items) const override {
    uint32_t node = hand_;
    for (uint32_t item = 0; item < list_.count(); ++item, node = list_.nextAround(node))
      items[item] = EvictionItem{EvictionList::episodeOf(node), flags_[node]};
  }

  /// The order is known from the creations already: the items must agree with it, from where the hand stands.
  Status load(const EvictionItem* items, uint32_t count) override {
    if (count != list_.count()) return Status::dataCorrupt;
    if (count == 0) return Status::ok;
    const uint32_t hand = EvictionList::nodeOf(items[0].episode);
    if (!list_.contains(hand)) return Status::dataCorrupt;
    uint32_t node = hand;
    for (uint32_t item = 0; item < count; ++item, node = list_.nextAround(node))
      if (items[item].value > 1 || items[item].episode != EvictionList::episodeOf(node)) return Status::dataCorrupt;
    hand_ = hand;
    for (uint32_t item = 0; item < count; ++item)
      flags_[EvictionList::nodeOf(items[item].episode)] = static_cast<uint8_t>(items[item].value);
    return Status::ok;
  }

  int32_t check() const override {
    if (const int32_t broken = list_.check(); broken != 0) return broken;
    if (list_.count() == 0 ? hand_ != EvictionList::end : !list_.contains(hand_)) return 6;
    if (list_.indexCount() > 0 && flags_[EvictionList::end] != 0) return 7;
    for (uint32_t node = 1; node <= list_.indexCount(); ++node)
      if (flags_[node] > (list_.contains(node) ? 1 : 0)) return 7;
    return 0;
  }

 private:
  ReservedArray<uint8_t> flags_;  // by node
  uint32_t hand_ = EvictionList::end;
};

}  // namespace exrp
