#include "kernel/store/stored_episodes.hpp"

namespace exrp {

int32_t StoredEpisodes::check() const {
  uint64_t recordCount = 0;
  uint32_t endedCount = 0;
  for (uint32_t episode = episodes_.oldest(); episode != episodeNone; episode = episodes_[episode].newer) {
    if (episodes_[episode].handle >= nextHandle_) return 4;
    recordCount += episodes_.recordCount(episode);
    endedCount += episodes_[episode].ended() ? 1 : 0;
    if (const int32_t broken = checkBlocks(episode); broken != 0) return broken;
    if (const int32_t broken = checkBirths(episode); broken != 0) return broken;
  }
  if (recordCount != recordCount_) return 1;
  return endedCount == endedCount_ ? 0 : 3;
}

/// Invariant 2, of one episode.
int32_t StoredEpisodes::checkBlocks(uint32_t episode) const {
  const Episode& entry = episodes_[episode];
  const uint32_t first = episodes_.first(episode);
  if (first > entry.count || (entry.ended() && first == entry.count)) return 2;
  uint32_t ordinal = firstOrdinal(entry, first);
  const uint32_t end = endOrdinal(entry, first);
  uint32_t last = blockNone;
  for (uint32_t block = entry.firstBlock; block != blockNone; block = store_.block(block).next, ++ordinal) {
    const Block& link = store_.block(block);
    if (ordinal >= end || store_.head(block).ordinal() != ordinal || link.previous != last) return 2;
    if (store_.handleOf(block) != entry.handle || store_.head(block).episode != episode) return 2;
    last = block;
  }
  return ordinal == end && last == entry.lastBlock ? 0 : 2;
}

/// Invariant 5, of one episode.
int32_t StoredEpisodes::checkBirths(uint32_t episode) const {
  const Episode& entry = episodes_[episode];
  const uint32_t length = store_.births().length();
  uint64_t least = 0;
  uint32_t block = entry.firstBlock;
  for (uint32_t position = episodes_.first(episode); position < entry.count;) {
    const uint64_t begin = store_.births().at(store_.slotAt(block, position));
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
