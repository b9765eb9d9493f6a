// EpisodeOrder: the PickOrder of a pick view, by walking back through the blocks of an episode.
//
// Picks of an episode begin at multiples of the policy's stride, without gaps. So the pick before one at position p is that at p - stride,
// or there is none: the walk stops where the episode begins, or where the picks before are gone because it was trimmed. Most are found in
// the block of the pick itself or in the one before it; the block index finds those farther back.
//
// Thread safety: none of its own. It refers to its parts, and holds as long as none of them changes.
// Cost: the block of each pick and the indices of the picks before it, about 3 cache lines a pick; the misses of many overlap.
#pragma once

#include "kernel/rules/pick_order.hpp"
#include "kernel/store/block_index.hpp"
#include "kernel/store/pick_index.hpp"

namespace exrp {

class EpisodeOrder final : public PickOrder {
 public:
  EpisodeOrder(const Store& store, const BlockIndex& blocks, const PickIndex& picks)
      : store_(store), blocks_(blocks), picks_(picks), stride_(picks.policy().stride) {}

  void before(const uint32_t* index, uint32_t count, uint32_t window, uint32_t* before) const override;

 private:
  void walkBack(uint32_t slot, uint32_t window, uint32_t* before) const;

  const Store& store_;
  const BlockIndex& blocks_;
  const PickIndex& picks_;
  const uint32_t stride_;
};

}  // namespace exrp
