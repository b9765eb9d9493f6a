// Replay: makes room. Memory is prepared, ended episodes go whole, open ones are trimmed.
#include "kernel/replay.hpp"

namespace exrp {

// ---- memory and room ----

Status Replay::prepareRecords(uint32_t recordCount, uint32_t episodeCount, uint32_t blockCount) {
  Status status = store_.prepareBlocks(blockCount);
  if (status == Status::ok) status = blocks_.prepare(store_, blockCount);
  if (status == Status::ok) status = episodes_.prepare(episodeCount);
  const uint32_t episodeEnd = episodes_.preparedCount(episodeCount);
  if (status == Status::ok) status = ages_.prepare(episodeEnd);
  if (status == Status::ok) status = open_.prepare(episodeEnd);
  if (status == Status::ok) status = empty_.prepare(episodeEnd);
  // Any episode may go while it is open.
  if (status == Status::ok) status = orphans_.prepare(uint64_t{orphans_.count()} + episodes_.count() + episodeCount);
  if (status == Status::ok) status = released_.prepare(episodeEnd);
  if (status == Status::ok) status = store_.prepareCarried(episodeEnd);
  if (status == Status::ok && eviction_ != nullptr && !eviction_->prepare(episodeEnd)) {
    status = fail(Status::memory, 32.0 * episodeEnd);
  }
  if (status != Status::ok) return status;
  const uint64_t blockEnd = uint64_t{store_.highWater()} + blockCount;
  const auto blocks = static_cast<uint32_t>(blockEnd < store_.blockCountMax() ? blockEnd : store_.blockCountMax());
  status = initial_.prepare(size_t{blocks} << store_.blockShift());
  for (uint32_t table = 0; table < tableCount_ && status == Status::ok; ++table) {
    PickTable& picks = tables_[table]->picks;
    // Picks begin at different records: at those that come, and at the last ones of each episode, when its end completes them.
    const uint64_t late = episodeCount * picks.policy().lateCount();
    const uint64_t others = recordCount_ - picks.count();
    status = picks.prepare(recordCount + (late < others ? late : others), blocks << store_.blockShift());
  }
  return status;
}

/// Lets records go until `blockCount` blocks, `recordCount` records, and `besideBytes` of what they bring beside themselves fit.
Status Replay::makeRoom(uint32_t blockCount, uint32_t recordCount, uint64_t besideBytes) {
  while (true) {
    const bool isShortOfBlocks = store_.availableCount() < blockCount;
    if (!isShortOfBlocks && recordCount_ + recordCount <= bytes_.recordMaxWith(besideBytes)) return Status::ok;
    if (const uint32_t released = released_.first(); released != episodeNone) {
      const bool gone = giveReleased(released, isShortOfBlocks ? store_.blockLength() : trimLength_);
      if (!gone) return fail(Status::full, static_cast<double>(recordCount_), config_.capacity, handleAt(released));
      continue;
    }
    const uint32_t open = open_.first();
    // Older than a ring of as many records would hold.
    const bool isOld = open != episodeNone && recordedCount_ - open_.firstBirth() >= recordCount_;
    if (isOld || (open != episodeNone && endedCount_ == 0)) {
      trimStep(open, isShortOfBlocks ? store_.blockLength() : trimLength_);
    } else if (endedCount_ > 0) {
      if (eviction_ == nullptr) return fail(Status::full, static_cast<double>(recordCount_), config_.capacity, -1);
      removeEpisode(eviction_->victim());
    } else if (episodes_.count() > 0) {
      removeEpisode(episodes_.oldest());  // all are open and hold no record: only their blocks are in the way
    } else {
      return Status::ok;
    }
  }
}

/// Lets the records go that are too old for another one, whatever the policy says.
Status Replay::evictAged() {
  while (ages_.isDue(recordedCount_)) {
    const uint32_t oldest = ages_.oldest();
    if (!episodes_[oldest].ended()) {
      trimStep(oldest, trimLength_);
    } else if (eviction_ == nullptr) {
      return fail(Status::full, static_cast<double>(recordCount_), config_.capacity, handleAt(oldest));
    } else {
      removeEpisode(oldest);
    }
  }
  return Status::ok;
}

Status Replay::evictForRecord(double handle, uint32_t flags, uint32_t* episode) {
  if (ages_.isDue(recordedCount_)) {
    const Status status = evictAged();
    if (status != Status::ok) return status;
    if (*episode != episodeNone && !isLive(*episode, handle)) *episode = episodeNone;
  }
  while (true) {
    const uint32_t blockCount = blocksNeeded(*episode, flags);
    // A record that cuts a segment takes a block.
    if (blockCount == 0 && flags == 0 && hasBytesForOne(*episode)) return Status::ok;
    const bool cuts = *episode != episodeNone && episodes_[*episode].count == config_.segmentLength;
    const uint64_t finalStateCount = ((flags & EXRP_RECORD_ENDS) != 0 ? 1u : 0u) + (cuts ? 1u : 0u);
    const uint32_t position = *episode == episodeNone || cuts ? 0 : episodes_[*episode].count;
    const Status status = makeRoom(blockCount, 1, finalStateCount * bytes_.stateBytes() + bytes_.keptBytes(position));
    if (status != Status::ok) return status;
    if (*episode == episodeNone) break;
    if (isLive(*episode, handle)) return Status::ok;
    // Making room took this very episode, when it held no record. The one that begins in its place needs room of another size.
    *episode = episodeNone;
  }
  *episode = beginEpisode(orphans_.remove(static_cast<uint64_t>(handle)));
  return Status::ok;
}

// ---- open episodes are trimmed ----

/// The block of a position of an episode whose row is stored.
uint32_t Replay::blockAt(const Episode& entry, uint32_t position) const {
  const uint32_t ordinal = store_.ordinalOf(position);
  return store_.head(entry.firstBlock).ordinal() == ordinal ? entry.firstBlock : blocks_.find(store_, entry.handle, ordinal);
}

/// Removes the picks that an episode, whose oldest record is at `from`, would not have if it were at `to`; with positionMax, all.
void Replay::removePicks(uint32_t episode, uint32_t from, uint32_t to) {
  const Episode& entry = episodes_[episode];
  for (uint32_t table = 0; table < tableCount_; ++table) {
    PickTable& picks = tables_[table]->picks;
    const PickPolicy& policy = picks.policy();
    const uint32_t begin = policy.validBegin(from);
    if (!hasPicks(policy, episode)) continue;
    const uint32_t valid = policy.validEnd(entry.count, entry.ended());
    const uint32_t beginAfter = to == positionMax ? valid : policy.validBegin(to);
    const uint32_t end = beginAfter < valid ? beginAfter : valid;
    if (begin >= end) continue;
    const uint32_t block = blockAt(entry, begin);
    if (to == positionMax) picks.removeAll(store_, block, begin, end);
    else picks.removeOldest(store_, block, begin, end);
  }
}

/// The records of an open episode before `to` go, and those blocks that hold no other rows.
void Replay::trim(uint32_t episode, uint32_t to) {
  const Episode entry = episodes_[episode];
  const uint32_t from = episodes_.first(episode);
  removePicks(episode, from, to);
  const uint32_t ordinal = firstOrdinal(entry, to);
  while (store_.head(episodes_[episode].firstBlock).ordinal() < ordinal) dropFirstBlock(episode);
  episodes_.setFirst(episode, to);
  if (entry.ended() && eviction_ != nullptr) eviction_->trimmed(episode, endedPickCount(episode));
  bytes_.episodeTrimmed(from, to);
  recordCount_ -= to - from;
  ++changeCount_;
  if (to == entry.count) {
    released_.remove(episode);
    open_.remove(episode);
    ages_.remove(episode);
    empty_.set(episode, entry.handle);
    pushOutEmpty();
  } else {
    const uint64_t birth = birthOf(episode);
    if (!entry.ended()) open_.set(episode, birth);
    ages_.set(episode, birth);
    released_.trimmed(episode, to, birth);
  }
}

/// Gives back the first of an episode's blocks. What its records leave to those after them is carried.
void Replay::dropFirstBlock(uint32_t episode) {
  const uint32_t block = episodes_[episode].firstBlock;
  store_.carry(block);
  blocks_.moveFirst(episodes_[episode].handle, store_.head(block).ordinal(), block, store_.block(block).next);
  const uint32_t next = store_.giveFirst(block);
  episodes_[episode].firstBlock = next;
  // By the next time, its line is there.
  blocks_.prefetchTable(episodes_[episode].handle, store_.head(next).ordinal());
}

/// The records of an open episode go up to the next multiple of `length`, a power of two.
void Replay::trimStep(uint32_t episode, uint32_t length) {
  const uint32_t next = (episodes_.first(episode) & ~(length - 1)) + length;
  trim(episode, next < episodes_[episode].count ? next : episodes_[episode].count);
}

/// Lets released records of an episode go: all of an ended one, where all are released, else those up to the next multiple of `length`.
/// False where the caller has to evict the episode.
bool Replay::giveReleased(uint32_t episode, uint32_t length) {
  const Episode& entry = episodes_[episode];
  const uint32_t until = released_.until(episode);
  if (!entry.ended() || until < entry.count) {
    const uint32_t next = (episodes_.first(episode) & ~(length - 1)) + length;
    trim(episode, next < until ? next : until);
    return true;
  }
  if (eviction_ != nullptr) removeEpisode(episode);
  return eviction_ != nullptr;
}

Status Replay::releaseRecords(double handle, uint32_t position) {
  Status status = checkHandle(handle);
  if (status != Status::ok) return status;
  const uint32_t episode = findEpisode(handle);
  if (episode == episodeNone) return fail(Status::episodeUnknown, handle, static_cast<double>(nextHandle_));
  const uint32_t count = episodes_[episode].count;
  if (position > count) return fail(Status::recordUnknown, 0, handle, position, count);
  if (position <= episodes_.first(episode) || position <= released_.until(episode)) return Status::ok;
  status = released_.begin();
  if (status == Status::ok) released_.set(episode, position, birthOf(episode));
  return status;
}

Status Replay::trimEpisode(double handle, uint32_t position) {
  uint32_t episode = episodeNone;
  Status status = openEpisode(handle, &episode);
  if (status != Status::ok) return status;
  if (episode == episodeNone) return fail(Status::episodeUnknown, handle, static_cast<double>(nextHandle_));
  const uint32_t count = episodes_[episode].count;
  if (position > count) return fail(Status::recordUnknown, 0, handle, position, count);
  if (position <= episodes_.first(episode)) return Status::ok;
  status = prepareRemoval();
  if (status == Status::ok) trim(episode, position);
  return status;
}

Status Replay::trimOpen(double* handle, double* first) {
  const uint32_t oldest = open_.first();
  if (oldest != episodeNone) {
    const Status status = prepareRemoval();
    if (status != Status::ok) return status;
  }
  *handle = oldest == episodeNone ? -1 : handleAt(oldest);
  *first = 0;
  if (oldest == episodeNone) return Status::ok;
  trimStep(oldest, trimLength_);
  *first = episodes_.first(oldest);
  return Status::ok;
}

}  // namespace exrp
