// Fifo: forgets the ended episode that was created first (Chen and Wang, section 3.2, "First In First Out").
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants: those of EpisodeList (1 to 5), whose order is the order of creation, oldest first.
// Cost: all O(1), but that victim() takes a step for each open episode older than it; 9 bytes an episode. sampled() does nothing. A saved item's value is 0.
// It does not look at what was sampled.
#pragma once

#include <cstdint>

#include "eviction/_episode_list.hpp"

namespace exrp {

class Fifo final : public EvictionPolicy {
 public:
  explicit Fifo(uint32_t countMax) : list_(countMax) {}
  bool valid() const { return list_.valid(); }

  bool prepare(uint32_t count) override { return list_.prepare(count); }

  void created(uint32_t episode) override { list_.pushBack(EpisodeList::nodeOf(episode)); }
  void sampled(const uint32_t*, uint32_t) override {}
  void ended(uint32_t episode, uint32_t) override { list_.noteEnded(EpisodeList::nodeOf(episode)); }
  void removed(uint32_t episode) override { list_.remove(EpisodeList::nodeOf(episode)); }

  uint32_t victim() override { return list_.firstEnded(); }

  double memoryBytes() const override { return static_cast<double>(list_.memoryBytes()); }

  void save(EvictionItem* items) const override { list_.save(items); }

  /// The order is known from the creations already: the items must agree with it.
  Status load(const EvictionItem* items, uint32_t count) override {
    if (count != list_.count()) return Status::dataCorrupt;
    uint32_t node = list_.first();
    for (uint32_t item = 0; item < count; ++item, node = list_.next(node))
      if (items[item].value != 0 || items[item].episode != EpisodeList::episodeOf(node)) return Status::dataCorrupt;
    return Status::ok;
  }

  int32_t check() const override { return list_.check(); }

 private:
  EpisodeList list_;
};

}  // namespace exrp
