#include "kernel/batches/locator.hpp"

namespace exrp {

void Locator::create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax) {
  store_ = &store;
  policy_ = policy;
  const size_t listMax = size_t{recordCountMax} + 1;  // and the final state
  slotCountMax_ = smaller(listMax, policy.rows() + policy.stack + policy.ahead());
}

LocatedPick Locator::locate(const EpisodeList& episodes, uint32_t slot) const {
  const uint32_t owner = store_->head(store_->blockOf(slot)).episode;
  const Episode& episode = episodes[owner];
  const uint32_t position = store_->positionOf(slot);
  const uint32_t knownEnd = episode.count - (episode.ended() ? 0 : 1);  // records whose next state is known
  LocatedPick pick;
  pick.handle = episode.handle;
  pick.episode = owner;
  pick.position = position;
  pick.slot = slot;
  pick.context = smaller(policy_.before, position);
  pick.lead = policy_.aligned ? policy_.before - pick.context : 0;
  pick.real = pick.context + smaller(policy_.length, episode.count - position);
  const uint32_t first = position - pick.context;
  pick.known = knownEnd - first;
  pick.back = smaller(policy_.stack - 1, first);
  // Up to the next state of the last record, or the state that its longest return bootstraps from.
  pick.slotCount = pick.back + smaller(pick.real + uint64_t{policy_.ahead()}, uint64_t{pick.known} + 1);
  pick.state = episode.state;
  return pick;
}

bool Locator::listSlots(const LocatedPick& pick, uint32_t* slots) const {
  const uint32_t start = pick.position - pick.context - pick.back;
  uint32_t block = store_->blockOf(pick.slot);
  for (uint32_t steps = store_->ordinalOf(pick.position) - store_->ordinalOf(start); steps > 0; --steps) {
    block = store_->block(block).previous;
  }
  bool joined = true;
  for (uint32_t at = 0; at < pick.slotCount;) {
    const uint32_t first = store_->slotAt(block, start + at);
    joined = joined && (at == 0 || first == slots[at - 1] + 1);
    const uint32_t run = smaller(store_->blockLength() - store_->within(first), pick.slotCount - at);
    for (uint32_t step = 0; step < run; ++step) slots[at + step] = first + step;
    at += run;
    if (at < pick.slotCount) block = store_->block(block).next;
  }
  return joined;
}

}  // namespace exrp
