// Replay: its invariants, which replay.hpp numbers.
#include "kernel/replay.hpp"

namespace exrp {

int32_t Replay::check() const {
  if (const int32_t broken = store_.check(); broken != 0) return 10 + broken;
  if (const int32_t broken = blocks_.check(store_); broken != 0) return 20 + broken;
  if (const int32_t broken = episodes_.check(); broken != 0) return 30 + broken;
  for (uint32_t table = 0; table < tableCount_; ++table) {
    if (const int32_t broken = tables_[table]->picks.check(store_); broken != 0) return 40 + broken;
  }
  if (eviction_ != nullptr) {
    if (const int32_t broken = eviction_->check(); broken != 0) return 50 + broken;
  }
  for (uint32_t index = 0; index < selectorCount_; ++index) {
    if (const int32_t broken = selectors_[index]->check(); broken != 0) return 60 + broken;
  }

  if (const int32_t broken = open_.check() + empty_.check() + ages_.check(); broken != 0) return 6;
  uint64_t recordCount = 0;
  uint64_t pickCounts[EXRP_LIMIT_TABLES] = {};
  uint32_t openCount = 0;
  uint32_t emptyCount = 0;
  uint32_t agedCount = 0;
  uint32_t endedCount = 0;
  uint32_t releasedCount = 0;
  for (uint32_t episode = episodes_.oldest(); episode != episodeNone; episode = episodes_[episode].newer) {
    const Episode& entry = episodes_[episode];
    const uint32_t first = episodes_.first(episode);
    if (entry.handle >= nextHandle_) return 4;
    recordCount += entry.count - first;
    if (const int32_t broken = checkBlocks(episode); broken != 0) return broken;
    if (const int32_t broken = checkBirths(episode); broken != 0) return broken;
    const bool holdsRecords = first < entry.count;
    if (open_.contains(episode) != (holdsRecords && !entry.ended())) return 6;
    if (empty_.contains(episode) == holdsRecords) return 6;
    openCount += holdsRecords && !entry.ended() ? 1 : 0;
    emptyCount += holdsRecords ? 0 : 1;
    agedCount += holdsRecords ? 1 : 0;
    endedCount += entry.ended() ? 1 : 0;
    const uint32_t released = released_.until(episode);
    releasedCount += released > 0 ? 1 : 0;
    if (released_.contains(episode) != (released > 0) || released > entry.count) return 9;
    if (released > 0 && (released <= first || released_.birth(episode) != birthOf(episode))) return 9;
    for (uint32_t table = 0; table < tableCount_; ++table) {
      const PickTable& picks = tables_[table]->picks;
      const uint32_t begin = picks.policy().validBegin(first);
      const uint32_t end = hasPicks(picks.policy(), episode) ? picks.policy().validEnd(entry.count, entry.ended()) : 0;
      uint32_t block = begin < end ? blockAt(entry, begin) : blockNone;
      for (uint32_t position = begin; position < end; ++position) {
        if (position > begin && store_.within(position) == 0) block = store_.block(block).next;
        if (position % picks.policy().stride != 0) continue;
        if (picks.indexOf(store_.slotAt(block, position)) == pickNone) return 3;
        ++pickCounts[table];
      }
    }
  }
  if (recordCount != recordCount_ || recordCount > bytes_.recordMax()) return 1;
  if (openCount != open_.count() || emptyCount != empty_.count() || emptyCount > config_.emptyMax()) return 6;
  if (ages_.isSet() && agedCount != ages_.episodeCount()) return 6;
  if (endedCount != endedCount_) return 7;
  if (released_.check() != 0 || releasedCount != released_.count()) return 9;
  if (orphans_.check() != 0) return 8;
  for (uint32_t at = 0; at < orphans_.count(); ++at) {
    const uint64_t handle = orphans_.handles()[at];
    if (handle >= nextHandle_ || findEpisode(static_cast<double>(handle)) != episodeNone) return 8;
  }
  for (uint32_t table = 0; table < tableCount_; ++table) {
    if (pickCounts[table] != tables_[table]->picks.count()) return 3;
  }
  return 0;
}

/// Invariant 2, of one episode.
int32_t Replay::checkBlocks(uint32_t episode) const {
  const Episode& entry = episodes_[episode];
  const uint32_t first = episodes_.first(episode);
  const uint32_t rows = stateRows(entry);
  if (first > entry.count || (entry.ended() && first == entry.count)) return 2;
  uint32_t ordinal = firstOrdinal(entry, first);
  const uint32_t end = (rows > first ? store_.ordinalOf(rows - 1) : ordinal) + 1;
  uint32_t last = blockNone;
  for (uint32_t block = entry.firstBlock; block != blockNone; block = store_.block(block).next, ++ordinal) {
    const Block& link = store_.block(block);
    if (ordinal >= end || store_.head(block).ordinal() != ordinal || link.previous != last) return 2;
    if (store_.handleOf(block) != entry.handle || store_.head(block).episode != episode) return 2;
    last = block;
  }
  return ordinal == end && last == entry.lastBlock ? 0 : 2;
}

/// Invariants 5 and 6, of one episode.
int32_t Replay::checkBirths(uint32_t episode) const {
  const Episode& entry = episodes_[episode];
  const uint32_t first = episodes_.first(episode);
  if (first == entry.count) return 0;
  const uint64_t birth = birthOf(episode);
  if (ages_.isSet() && (!ages_.contains(episode) || ages_.birth(episode) != birth || !ages_.allows(birth, recordedCount_))) return 5;
  if (open_.contains(episode) && open_.birth(episode) != birth) return 6;
  const uint32_t length = store_.birthLength();
  uint64_t least = 0;
  uint32_t block = entry.firstBlock;
  for (uint32_t position = first; position < entry.count;) {
    const uint64_t begin = store_.birthAt(store_.slotAt(block, position));
    const uint32_t next = (position & ~(length - 1)) + length;
    const uint32_t run = (next < entry.count ? next : entry.count) - position;
    if (begin < least || begin > recordedCount_ || recordedCount_ - begin < run) return 5;
    least = begin + run;
    position += run;
    if (position < entry.count && store_.within(position) == 0) block = store_.block(block).next;
  }
  return 0;
}

}  // namespace exrp
