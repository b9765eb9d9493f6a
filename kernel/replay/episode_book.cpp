#include "kernel/replay/episode_book.hpp"

#include <cstring>

namespace exrp {

Status EpisodeBook::create(const ReplayConfig& config) {
  const uint32_t blockCountMax = config.blockCountMax();
  trimLength_ = config.trimLength();
  const uint32_t birthLength = trimLength_ < config.blockLength ? trimLength_ : config.blockLength;
  const uint32_t blockCount = config.capacity / config.blockLength;
  Status status = store_.create(config.columns, config.columnCount, config.blockLength, blockCountMax, blockCount, birthLength, config.leafCount,
                                config.compression, config.residentBytes > 0);
  if (status == Status::ok) status = blocks_.create(blockCountMax, blockCount);
  return status == Status::ok ? episodes_.create(blockCountMax) : status;
}

Status EpisodeBook::prepare(uint32_t recordCount, uint32_t episodeCount, uint32_t blockCount, uint32_t openCount) {
  Status status = Status::ok;
  if (store_.isBounded()) [[unlikely]] {
    // The rows; and of each episode that gets some, the block that they fill, whose rows leave their piece, and the one that they begin.
    const uint64_t blockBytes = store_.packed().pieceBytes();
    const uint64_t most = uint64_t{1} + (recordCount < episodeCount ? recordCount : episodeCount);
    // Where a piece is free, the memory of one is there.
    const uint64_t free = store_.packed().freePieceCount();
    const uint64_t blocks = 2 * most - (free < most ? free : most);
    status = store_.source()->makeRoom(blocks * blockBytes + recordCount * (blockBytes / store_.blockLength()));
  }
  if (status == Status::ok) status = store_.prepareBlocks(blockCount, openCount);
  if (status == Status::ok) status = blocks_.prepare(store_, blockCount);
  if (status == Status::ok) status = episodes_.prepare(episodeCount);
  const uint32_t episodeEnd = episodes_.preparedCount(episodeCount);
  if (status == Status::ok) status = store_.kept().prepareCarried(episodeEnd);
  const uint64_t blockEnd = uint64_t{store_.highWater()} + blockCount;
  const auto blocks = static_cast<uint32_t>(blockEnd < store_.blockCountMax() ? blockEnd : store_.blockCountMax());
  const Growth growth = {recordCount, episodeCount, episodeEnd, blocks << store_.blockShift()};
  listeners_.forEach([&](auto& each) {
    if (status == Status::ok) status = each.prepare(*this, growth);
  });
  return status;
}

// ---- an episode begins ----

/// An open episode, whose first block has this ordinal: 0, but where one that was trimmed is loaded.
uint32_t EpisodeBook::add(uint64_t handle, int32_t tag, uint32_t ordinal) {
  const uint32_t episode = episodes_.add(handle, blockNone);
  episodes_.setTag(episode, tag);
  episodes_[episode].writer = writer_;
  const uint32_t block = store_.takeBlock(handle, ordinal, episode);
  episodes_[episode].firstBlock = block;
  episodes_[episode].lastBlock = block;
  blocks_.add(handle, ordinal, block);
  if (ordinal != 0) blocks_.addFirst(handle, block);
  ++changeCount_;
  listeners_.forEach([&](auto& each) { each.begun(*this, episode); });
  return episode;
}

// ---- records come ----

void EpisodeBook::appendBlock(uint32_t episode, uint32_t ordinal) {
  Episode& entry = episodes_[episode];
  const uint32_t block = store_.takeBlock(entry.handle, ordinal, episode);
  store_.link(entry.lastBlock, block);
  entry.lastBlock = block;
  blocks_.add(entry.handle, ordinal, block);
  // One that held no record kept its block until now.
  if (entry.count > 0 && episodes_.first(episode) == stateRows(entry)) dropFirstBlock(episode);
}

/// A block for an episode's next records. The rows of the one before are packed now, where those of the newest block may not leave memory.
void EpisodeBook::addBlock(uint32_t episode) {
  if (store_.isBounded()) [[unlikely]] pack(episodes_[episode].lastBlock);
  appendBlock(episode, store_.ordinalOf(episodes_[episode].count));
  store_.packed().open(episodes_[episode].lastBlock);
}

void EpisodeBook::append(uint32_t episode, uint32_t count, const uint8_t* priorities) {
  Episode& entry = episodes_[episode];
  const uint32_t from = entry.count;
  if (count > 1 || (from & (store_.births().length() - 1)) == 0 || episodes_.first(episode) == from) noteBirths(episode, count);
  entry.writer = writer_;
  entry.count += count;
  recordCount_ += count;
  recordedCount_ += count;
  listeners_.forEach([&](auto& each) { each.appended(*this, episode, from, priorities); });
  if (store_.within(entry.count) == 0) seal(entry.lastBlock, !store_.isBounded());
}

/// No more rows come to a block. Where rows may leave memory, those of the newest block may not: it `packs` once its episode goes on or ends, and its piece is
/// free for the next one then. So many open episodes take the memory of one block each.
void EpisodeBook::seal(uint32_t block, bool packs) {
  listeners_.forEach([&](auto& each) { each.sealed(*this, block); });
  if (packs) pack(block);
}

void EpisodeBook::packRows(uint32_t block) {
  const BlockRows rows = rowsOf(block);
  // Where there is none, the next record that needs a block says so.
  if (store_.isBounded()) [[unlikely]] (void)store_.source()->makeRoom(store_.packed().pieceBytes());
  if (rows.count == 0) return;
  store_.packed().pack(block, rows.first + rows.count);
  listeners_.forEach([&](auto& each) { each.packed(*this, block); });
}

/// Notes the births of an episode's next `count` records, all in one block, and that it holds records.
void EpisodeBook::noteBirths(uint32_t episode, uint32_t count) {
  const Episode& entry = episodes_[episode];
  const uint32_t length = store_.births().length();
  const uint32_t begin = entry.count;
  const uint32_t slot = store_.slotAt(entry.lastBlock, begin);
  if (episodes_.first(episode) == begin) {
    store_.births().set(slot, recordedCount_);
    listeners_.forEach([&](auto& each) { each.filled(*this, episode, recordedCount_); });
  }
  for (uint32_t k = (length - (begin & (length - 1))) & (length - 1); k < count; k += length) {
    const uint32_t position = begin + k;
    if (position == episodes_.first(episode)) continue;
    if ((position & (trimLength_ - 1)) == 0) {
      store_.births().set(slot + k, recordedCount_ + k);
    } else {
      // Blocks are short: the births of the block before count on.
      const uint32_t before = store_.firstSlot(store_.block(entry.lastBlock).previous);
      store_.births().set(slot + k, store_.births().at(before) + length);
    }
  }
}

// ---- an episode ends ----

void EpisodeBook::end(uint32_t episode, const StateRef& finalState, bool isTruncated) {
  const uint32_t slot = takeSlot(episode);
  const StateLeaves& leaves = store_.leaves();
  for (uint32_t leaf = 0; leaf < leaves.count(); ++leaf) {
    if (store_.doRowsComeLater() && !store_.isPacked(leaf)) continue;
    memcpy(store_.rowAt(leaf, slot), finalState.leaf(leaf, leaves.bytes(leaf)), leaves.bytes(leaf));
  }
  noteEnd(episode, isTruncated ? EXRP_EPISODE_TRUNCATED : EXRP_EPISODE_TERMINATED, episodes_[episode].count);
  seal(episodes_[episode].lastBlock);
}

void EpisodeBook::endAtLastState(uint32_t episode) {
  Episode& entry = episodes_[episode];
  listeners_.forEach([&](auto& each) { each.shortening(*this, episode); });
  const bool isSealed = needsBlock(episode);
  --entry.count;
  --recordCount_;
  noteEnd(episode, EXRP_EPISODE_TRUNCATED, entry.count + 1);
  if (!isSealed) seal(entry.lastBlock);
  else if (store_.isBounded()) pack(entry.lastBlock);
}

void EpisodeBook::noteEnd(uint32_t episode, uint16_t state, uint32_t openCount) {
  episodes_[episode].state = state;
  ++endedCount_;
  ++changeCount_;
  listeners_.forEach([&](auto& each) { each.ended(*this, episode, openCount); });
}

// ---- records go ----

void EpisodeBook::trim(uint32_t episode, uint32_t to) {
  const Episode& entry = episodes_[episode];
  const uint32_t from = episodes_.first(episode);
  listeners_.forEach([&](auto& each) { each.trimming(*this, episode, to); });
  const uint32_t ordinal = firstOrdinal(entry, to);
  while (store_.head(entry.firstBlock).ordinal() < ordinal) dropFirstBlock(episode);
  episodes_.setFirst(episode, to);
  recordCount_ -= to - from;
  ++changeCount_;
  listeners_.forEach([&](auto& each) { each.trimmed(*this, episode, from); });
}

/// Gives back the first of an episode's blocks. What its records leave to those after them is carried.
void EpisodeBook::dropFirstBlock(uint32_t episode) {
  const uint32_t block = episodes_[episode].firstBlock;
  listeners_.forEach([&](auto& each) { each.freed(*this, block); });
  if (store_.source() != nullptr) [[unlikely]] store_.source()->freed(block);
  store_.kept().carry(block);
  store_.packed().give(block);
  blocks_.moveFirst(episodes_[episode].handle, store_.head(block).ordinal(), block, store_.block(block).next);
  const uint32_t next = store_.giveFirst(block);
  episodes_[episode].firstBlock = next;
  // By the next time, its line is there.
  blocks_.prefetchTable(episodes_[episode].handle, store_.head(next).ordinal());
}

void EpisodeBook::remove(uint32_t episode, bool mayGoOn) {
  const Episode entry = episodes_[episode];
  // The index of blocks is wanted after the picks: by then its lines are there.
  const uint32_t ordinal = store_.head(entry.firstBlock).ordinal();
  uint32_t ahead = ordinal;
  for (uint32_t block = entry.firstBlock; block != blockNone; block = store_.block(block).next) {
    blocks_.prefetchTable(entry.handle, ahead++);
  }
  listeners_.forEach([&](auto& each) { each.removing(*this, episode, mayGoOn); });
  if (ordinal != 0) blocks_.removeFirst(entry.handle, entry.firstBlock);
  uint32_t blockCount = 0;
  for (uint32_t block = entry.firstBlock; block != blockNone; block = store_.block(block).next) {
    listeners_.forEach([&](auto& each) { each.freed(*this, block); });
    if (store_.source() != nullptr) [[unlikely]] store_.source()->freed(block);
    blocks_.remove(entry.handle, ordinal + blockCount, block);
    store_.packed().give(block);
    ++blockCount;
  }
  store_.giveChain(entry.firstBlock, entry.lastBlock, blockCount);
  recordCount_ -= entry.count - episodes_.first(episode);
  endedCount_ -= entry.ended() ? 1 : 0;
  episodes_.remove(episode);
  ++evictedCount_;
  ++changeCount_;
}

// ---- loading ----

Status EpisodeBook::restoreCounts(uint64_t nextHandle, uint64_t recordedCount, uint64_t evictedCount, uint32_t recordCount) {
  nextHandle_ = nextHandle;
  recordedCount_ = recordedCount;
  evictedCount_ = evictedCount;
  // At once, so that the index does not grow again and again.
  return blocks_.prepare(store_, recordCount / store_.blockLength());
}

Status EpisodeBook::restore(uint64_t handle, uint32_t first, uint32_t count, uint32_t state, int32_t tag) {
  Episode known = {};
  known.count = count;
  known.state = static_cast<uint16_t>(state);
  const uint32_t begin = firstOrdinal(known, first);
  const uint32_t end = endOrdinal(known, first);
  if (end - begin > store_.availableCount()) return Status::dataCorrupt;
  // A trimmed episode has one entry more in the index.
  const Status status = prepare(0, 1, end - begin + 1, 1);
  if (status != Status::ok) return status;
  const uint32_t episode = add(handle, tag, begin);
  for (uint32_t ordinal = begin + 1; ordinal < end; ++ordinal) {
    // By the time that it is needed, its line is there.
    blocks_.prefetchTable(handle, ordinal + 16);
    appendBlock(episode, ordinal);
  }
  episodes_[episode].count = count;
  episodes_[episode].state = known.state;
  episodes_.setFirst(episode, first);
  if (begin > 0) store_.kept().noteCarried(episode);
  // Blocks that get all their rows by loading are opened when these come.
  if (!isFull(episodes_[episode].lastBlock)) store_.packed().open(episodes_[episode].lastBlock);
  recordCount_ += count - first;
  endedCount_ += known.ended() ? 1 : 0;
  listeners_.forEach([&](auto& each) { each.restored(*this, episode); });
  return Status::ok;
}

void EpisodeBook::endRestoring() {
  for (uint32_t episode = episodes_.oldest(); episode != episodeNone; episode = episodes_[episode].newer) {
    if (holdsRecords(episode)) listeners_.forEach([&](auto& each) { each.filled(*this, episode, birthOf(episode)); });
    for (uint32_t block = episodes_[episode].firstBlock; block != blockNone; block = store_.block(block).next) {
      if (isFull(block)) seal(block);
    }
  }
}

}  // namespace exrp
