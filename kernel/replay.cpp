// Replay: creation, episodes and picks. The file is long because these change one state, which replay.hpp describes.
#include "kernel/replay.hpp"

#include <cstring>

#include "kernel/rules.hpp"

namespace exrp {

// ---- creation ----

Status Replay::create(const ReplayConfig& config, const PickPolicy& pick) {
  config_ = config;
  // Memory comes as it is used: say now what would otherwise end the process when the replay is nearly full.
  double recordBytes = 0;
  for (uint32_t index = 0; index < config.columnCount; ++index) {
    // A column that not all records keep has at least one row a block.
    const double rows = (config.blockLength + config.columns[index].every - 1) / config.columns[index].every;
    recordBytes += config.columns[index].bytes * rows / config.blockLength;
  }
  const double available = physicalMemoryBytes();
  if (available > 0 && recordBytes * config.capacity > available) {
    return fail(Status::memory, recordBytes * config.capacity, available);
  }
  const uint32_t blockCountMax = config.blockCountMax();
  const uint32_t birthLength = config.trimLength() < config.blockLength ? config.trimLength() : config.blockLength;
  Status status = store_.create(config.columns, config.columnCount, config.blockLength, blockCountMax, config.capacity / config.blockLength,
                                birthLength);
  trimLength_ = config.trimLength();
  if (status == Status::ok) status = blocks_.create(blockCountMax, config.capacity / config.blockLength);
  if (status == Status::ok) status = episodes_.create(blockCountMax);
  // Selectors draw from streams 1, 2, ...
  const Random random(config.seed, 0);
  if (status == Status::ok) status = createEvictionPolicy(config.eviction, config.evictionOption, random, blockCountMax, &eviction_);
  if (status == Status::ok) status = ages_.create(episodes_, blockCountMax, config.ageMax);
  if (status == Status::ok) status = open_.create(episodes_, blockCountMax);
  if (status == Status::ok) status = empty_.create(episodes_, blockCountMax);
  if (status == Status::ok) status = orphans_.create();
  bytes_.create(config.columns, config.columnCount, config.capacity, config.capacityBytes);
  nextStates_.create(blockCountMax, config.columns[0].bytes);
  released_.create(episodes_, blockCountMax);
  uint32_t table = 0;
  return status == Status::ok ? createTable(pick, &table) : status;
}

void Replay::info(double* info) const {
  double indexBytes = store_.indexBytes() + blocks_.memoryBytes() + episodes_.memoryBytes();
  for (uint32_t table = 0; table < tableCount_; ++table) indexBytes += tables_[table]->picks.memoryBytes();
  indexBytes += initial_.memoryBytes() + nextStates_.memoryBytes() + released_.memoryBytes();
  for (uint32_t index = 0; index < selectorCount_; ++index) {
    indexBytes += selectors_[index]->memoryBytes(selectorTables_[index]->picks.countHighWater());
  }
  if (eviction_ != nullptr) indexBytes += eviction_->memoryBytes();
  indexBytes += ages_.memoryBytes() + open_.memoryBytes() + empty_.memoryBytes() + orphans_.memoryBytes();
  // Some parts take a bit for each pick: a part of a byte does not count.
  indexBytes = static_cast<double>(static_cast<uint64_t>(indexBytes));
  info[EXRP_INFO_CAPACITY] = config_.capacity;
  info[EXRP_INFO_EPISODE_COUNT] = episodes_.count();
  info[EXRP_INFO_RECORD_COUNT] = static_cast<double>(recordCount_);
  info[EXRP_INFO_PICK_COUNT] = tables_[0]->picks.count();
  info[EXRP_INFO_MEMORY_BYTES] = store_.columnBytes() + indexBytes + static_cast<double>(tableCount_ * sizeof(Table));
  info[EXRP_INFO_COLUMN_BYTES] = store_.columnBytes();
  info[EXRP_INFO_INDEX_BYTES] = indexBytes;
  info[EXRP_INFO_BLOCK_LENGTH] = config_.blockLength;
  info[EXRP_INFO_SEGMENT_LENGTH] = config_.segmentLength == positionMax ? 0 : config_.segmentLength;
  info[EXRP_INFO_NEXT_HANDLE] = static_cast<double>(nextHandle_);
  info[EXRP_INFO_RECORDED_COUNT] = static_cast<double>(recordedCount_);
  info[EXRP_INFO_EVICTED_COUNT] = static_cast<double>(evictedCount_);
  info[EXRP_INFO_SELECTOR_COUNT] = selectorCount_;
  info[EXRP_INFO_RECORD_BYTES] = store_.recordBytes();
  info[EXRP_INFO_TABLE_COUNT] = tableCount_;
  info[EXRP_INFO_STORED_BYTES] = bytes_.storedBytes(recordCount_);
}

// ---- pick tables and selectors ----

Table* Replay::findTable(uint32_t table) const {
  if (table < tableCount_) return tables_[table].get();
  fail(Status::argument, 2, table);
  return nullptr;
}

Status Replay::createTable(const PickPolicy& policy, uint32_t* table) {
  if (tableCount_ == EXRP_LIMIT_TABLES) return fail(Status::limit, EXRP_LIMIT_TABLES);
  if (!policy.fitsReward(store_.column(2).itemBytes)) return fail(Status::argument, 2, policy.rewardType);
  if (policy.length > config_.episodeMax()) return fail(Status::capacity, config_.episodeMax(), policy.length, config_.capacity);
  std::unique_ptr<Table> made(new (std::nothrow) Table);
  if (made == nullptr) return fail(Status::memory, sizeof(Table));
  const uint32_t slotCountMax = store_.blockCountMax() * store_.blockLength();
  Status status = made->picks.create(policy, config_.capacity, slotCountMax);
  made->gatherer.create(store_, policy, config_.episodeMax());
  made->number = tableCount_;
  if (status == Status::ok) status = made->picks.prepare(recordCount_, store_.highWater() << store_.blockShift());
  if (status != Status::ok) return status;
  for (uint32_t episode = episodes_.oldest(); episode != episodeNone; episode = episodes_[episode].newer) {
    pushPicksOf(made->picks, episode, 0);
  }
  noteChange();
  tables_[tableCount_] = std::move(made);
  *table = tableCount_++;
  return Status::ok;
}

Status Replay::tableInfo(uint32_t table, double* info) const {
  const Table* found = findTable(table);
  if (found == nullptr) return Status::argument;
  info[EXRP_TABLE_PICK_COUNT] = found->picks.count();
  info[EXRP_TABLE_SELECTOR_COUNT] = found->selectorCount;
  return Status::ok;
}

Status Replay::createSelector(uint32_t table, uint32_t kind, const double* options, uint32_t optionCount, uint32_t* selector) {
  Table* found = findTable(table);
  if (found == nullptr) return Status::argument;
  if (selectorCount_ == EXRP_LIMIT_SELECTORS) return fail(Status::limit, EXRP_LIMIT_SELECTORS);
  std::unique_ptr<PickSelector> made;
  const Random random(config_.seed, selectorCount_ + 1);
  const Status status = createPickSelector(kind, options, optionCount, random, config_.capacity, &made);
  if (status != Status::ok) return status;
  PickTable& picks = found->picks;
  if (!made->prepare(picks.preparedCount())) return fail(Status::memory, 4.0 * picks.preparedCount());
  for (uint32_t index = 0; index < picks.count(); ++index) {
    made->pushed(index);
    const double priority = initial_.get(picks.slot(index));
    if (priority >= 0) made->setPriority(&index, &priority, 1);
  }
  noteChange();
  picks.attach(made.get());
  ++found->selectorCount;
  selectorTables_[selectorCount_] = found;
  selectors_[selectorCount_] = std::move(made);
  *selector = selectorCount_++;
  return Status::ok;
}

// ---- what is known of episodes ----

Status Replay::episodeInfo(double handle, double* info) const {
  const Status status = checkHandle(handle);
  if (status != Status::ok) return status;
  const uint32_t episode = findEpisode(handle);
  info[EXRP_EPISODE_STATE] = episode == episodeNone ? EXRP_EPISODE_EVICTED : episodes_[episode].state;
  info[EXRP_EPISODE_RECORD_COUNT] = episode == episodeNone ? 0 : episodes_.recordCount(episode);
  info[EXRP_EPISODE_TAG] = episode == episodeNone ? 0 : episodes_.tag(episode);
  info[EXRP_EPISODE_FIRST_POSITION] = episode == episodeNone ? 0 : episodes_.first(episode);
  return Status::ok;
}

Status Replay::listEpisodes(double* handles, uint32_t count) const {
  if (count < episodes_.count()) return fail(Status::bufferSize, count, episodes_.count());
  for (uint32_t episode = episodes_.oldest(); episode != episodeNone; episode = episodes_[episode].newer) {
    *handles++ = static_cast<double>(episodes_[episode].handle);
  }
  return Status::ok;
}

// ---- episodes begin, end and go ----

/// The episode that an actor goes on with.
uint32_t Replay::beginEpisodeAfter(int32_t tag, uint32_t actor) {
  const uint32_t episode = beginEpisode(tag);
  episodes_.setActor(episode, actor);
  return episode;
}

/// An open episode, whose first block has this ordinal: 0, but where one that was trimmed is loaded.
uint32_t Replay::addEpisode(int32_t tag, uint32_t ordinal) {
  const uint64_t handle = nextHandle_++;
  const uint32_t episode = episodes_.add(handle, blockNone);
  episodes_.setTag(episode, tag);
  if (writer_ != 0) episodes_.setWriter(episode, writer_);
  const uint32_t block = store_.takeBlock(handle, ordinal, episode);
  episodes_[episode].firstBlock = block;
  episodes_[episode].lastBlock = block;
  blocks_.add(handle, ordinal, block);
  if (ordinal != 0) blocks_.addFirst(handle, block);
  empty_.set(episode, handle);
  if (eviction_ != nullptr) eviction_->created(episode);
  ++changeCount_;
  return episode;
}

/// An open episode of this tag.
uint32_t Replay::beginEpisode(int32_t tag) {
  const uint32_t episode = addEpisode(tag, 0);
  pushOutEmpty();
  return episode;
}

/// An actor that was given up leaves an open episode, which is trimmed until it holds nothing. Such ones must not take all blocks.
void Replay::pushOutEmpty() {
  while (empty_.count() > config_.emptyMax()) removeEpisode(empty_.first());
}

void Replay::appendBlock(uint32_t episode, uint32_t ordinal) {
  Episode& entry = episodes_[episode];
  const uint32_t block = store_.takeBlock(entry.handle, ordinal, episode);
  store_.link(entry.lastBlock, block);
  entry.lastBlock = block;
  blocks_.add(entry.handle, ordinal, block);
  // One that held no record kept its block until now.
  if (entry.count > 0 && episodes_.first(episode) == stateRows(entry)) dropFirstBlock(episode);
}

/// The episode that follows on one that is as long as one may be: one with no records, and the same tag.
uint32_t Replay::continueEpisode(uint32_t episode, const uint8_t* state) {
  const int32_t tag = episodes_.tag(episode);
  const uint32_t actor = episodes_.actor(episode);
  if (episodes_.recordCount(episode) == 0) {
    removeEpisode(episode, false);  // nothing of it is left: it goes, but as one that has ended
    return beginEpisodeAfter(tag, actor);
  }
  endEpisodeAt(episode, state, EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED);
  return beginEpisodeAfter(tag, actor);
}

Status Replay::createEpisode(double* handle) {
  Status status = prepareRecord();
  if (status != Status::ok) return status;
  status = makeRoom(1, 0, 0);
  if (status != Status::ok) return status;
  *handle = static_cast<double>(episodes_[beginEpisode(0)].handle);
  return Status::ok;
}

Status Replay::tagEpisode(double handle, int32_t tag) {
  uint32_t episode = episodeNone;
  const Status status = openEpisode(handle, &episode);
  if (status != Status::ok) return status;
  if (episode == episodeNone || episodes_[episode].count > 0) return fail(Status::argument, 2, handle);
  episodes_.setTag(episode, tag);
  ++changeCount_;
  return Status::ok;
}

void Replay::endEpisodeAt(uint32_t episode, const uint8_t* finalState, uint32_t flags) {
  const uint32_t slot = appendSlot(episode);
  memcpy(store_.at(0, slot), finalState, store_.column(0).bytes);
  const bool isTruncated = (flags & EXRP_RECORD_TRUNCATED) != 0;
  episodes_[episode].state = isTruncated ? EXRP_EPISODE_TRUNCATED : EXRP_EPISODE_TERMINATED;
  pushPicks(episode, episodes_[episode].count);
  bytes_.finalStateAdded();
  nextStates_.release(episode);
  open_.remove(episode);
  ++endedCount_;
  if (eviction_ != nullptr) eviction_->ended(episode, endedPickCount(episode));
  ++changeCount_;
}

Status Replay::endEpisode(double handle, const uint8_t* finalState, uint32_t flags, uint32_t* ended) {
  if ((flags & ~uint32_t{EXRP_RECORD_TRUNCATED}) != 0) return fail(Status::argument, 5, flags);
  uint32_t episode = episodeNone;
  Status status = openEpisode(handle, &episode);
  if (status != Status::ok) return status;
  if (episode != episodeNone && episodes_.recordCount(episode) > 0) {
    status = prepareRecord();
    if (status == Status::ok) status = makeRoom(needsBlock(episodes_[episode]) ? 1 : 0, 0, bytes_.stateBytes());
    if (status != Status::ok) return status;
    episode = findEpisode(handle);
  }
  if (episode != episodeNone && episodes_.recordCount(episode) == 0) {
    // No record, so no pick could ever begin in it.
    removeEpisode(episode, false);
    episode = episodeNone;
  }
  *ended = episode != episodeNone;
  if (episode != episodeNone) {
    endEpisodeAt(episode, finalState, flags);
  } else {
    orphans_.remove(static_cast<uint64_t>(handle));
    ++changeCount_;
  }
  return Status::ok;
}

Status Replay::cutEpisode(double handle, const uint8_t* finalState, uint32_t* episode) {
  if (*episode == episodeNone || episodes_[*episode].count == 0) return Status::ok;
  // One whose records were all trimmed takes no final state, and gives its block to the next.
  if (episodes_.recordCount(*episode) > 0) {
    const Status status = makeRoom(needsBlock(episodes_[*episode]) ? 2 : 1, 0, bytes_.stateBytes());
    if (status != Status::ok) return status;
  }
  *episode = isLive(*episode, handle) ? continueEpisode(*episode, finalState) : episodeNone;
  return Status::ok;
}

Status Replay::evictEpisode(double handle) {
  const Status status = checkHandle(handle);
  if (status != Status::ok) return status;
  const uint32_t episode = findEpisode(handle);
  if (episode == episodeNone) return fail(Status::episodeUnknown, handle, static_cast<double>(nextHandle_));
  const Status prepared = prepareRemoval();
  if (prepared == Status::ok) removeEpisode(episode);
  return prepared;
}

Status Replay::clear() {
  const Status prepared = prepareRemoval();
  if (prepared != Status::ok) return prepared;
  while (episodes_.oldest() != episodeNone) removeEpisode(episodes_.oldest());
  return Status::ok;
}

/// Takes the memory that the journals need if every pick goes.
Status Replay::prepareRemoval() {
  for (uint32_t table = 0; table < tableCount_; ++table) {
    PickTable& picks = tables_[table]->picks;
    const Status status = picks.journal().prepare(size_t{2} * picks.count());
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

/// Where it is open, its handle may go on, but for an episode that ends and is removed as it holds nothing.
void Replay::removeEpisode(uint32_t episode, bool mayGoOn) {
  const Episode entry = episodes_[episode];
  // The index of blocks is wanted after the picks: by then its lines are there.
  const uint32_t ordinal = store_.head(entry.firstBlock).ordinal();
  uint32_t ahead = ordinal;
  for (uint32_t block = entry.firstBlock; block != blockNone; block = store_.block(block).next) {
    blocks_.prefetchTable(entry.handle, ahead++);
  }
  const uint32_t first = episodes_.first(episode);
  removePicks(episode, first, positionMax);
  if (ordinal != 0) blocks_.removeFirst(entry.handle, entry.firstBlock);
  uint32_t blockCount = 0;
  for (uint32_t block = entry.firstBlock; block != blockNone; block = store_.block(block).next) {
    blocks_.remove(entry.handle, ordinal + blockCount, block);
    ++blockCount;
  }
  store_.giveChain(entry.firstBlock, entry.lastBlock, blockCount);
  if (eviction_ != nullptr) eviction_->removed(episode);
  if (mayGoOn && !entry.ended()) orphans_.add(entry.handle, episodes_.tag(episode));
  nextStates_.release(episode);
  released_.remove(episode);
  open_.remove(episode);
  empty_.remove(episode);
  ages_.remove(episode);
  endedCount_ -= entry.ended() ? 1 : 0;
  episodes_.remove(episode);
  bytes_.episodeRemoved(first, entry.count, entry.ended());
  recordCount_ -= entry.count - first;
  ++evictedCount_;
  ++changeCount_;
}

// ---- what a record makes of picks ----

void Replay::publish(uint32_t* episode, uint32_t count, const uint8_t* priorities, uint32_t flags, const uint8_t* finalState) {
  Episode& entry = episodes_[*episode];
  const uint32_t countBefore = entry.count;
  if (count > 1 || (countBefore & (store_.birthLength() - 1)) == 0 || episodes_.first(*episode) == countBefore) noteBirths(*episode, count);
  if (initial_.inUse()) {
    const uint32_t slot = store_.slotAt(entry.lastBlock, countBefore);
    for (uint32_t k = 0; k < count; ++k) {
      initial_.set(slot + k, priorities == nullptr ? InitialPriorities::none : priorityAt(priorities, k));
    }
  }
  if (writer_ != 0) episodes_.setWriter(*episode, writer_);
  bytes_.recordAdded(countBefore);  // where it matters, they come one by one
  entry.count += count;
  recordCount_ += count;
  recordedCount_ += count;
  pushPicks(*episode, countBefore);
  if ((flags & EXRP_RECORD_ENDS) != 0) endEpisodeAt(*episode, finalState, flags);
  if ((flags & EXRP_RECORD_BEGINS) != 0) *episode = beginEpisodeAfter(episodes_.tag(*episode), episodes_.actor(*episode));
}

/// Notes the births of an episode's next `count` records, all in one block, and that it holds records.
void Replay::noteBirths(uint32_t episode, uint32_t count) {
  const Episode& entry = episodes_[episode];
  const uint32_t length = store_.birthLength();
  const uint32_t begin = entry.count;
  const uint32_t slot = store_.slotAt(entry.lastBlock, begin);
  if (episodes_.first(episode) == begin) {
    store_.setFirstBirth(episode, slot, recordedCount_);
    empty_.remove(episode);
    open_.set(episode, recordedCount_);
    ages_.set(episode, recordedCount_);
  }
  for (uint32_t k = (length - (begin & (length - 1))) & (length - 1); k < count; k += length) {
    const uint32_t position = begin + k;
    if (position == episodes_.first(episode)) continue;
    const uint64_t birth = recordedCount_ + k;
    if ((position & (trimLength_ - 1)) == 0) {
      if (!store_.isBirthInReach(episode, birth)) moveBirths(episode, birth);
      store_.setBirth(episode, slot + k, birth);
    } else {
      // Blocks are short: the births of the block before count on.
      const uint32_t before = store_.firstSlot(store_.block(entry.lastBlock).previous);
      store_.setBirth(episode, slot + k, store_.birthAt(episode, before) + length);
    }
  }
}

/// Brings the birth of an episode's next record in reach of those that it has.
void Replay::moveBirths(uint32_t episode, uint64_t birth) {
  const uint32_t first = episodes_.first(episode);
  store_.moveBirths(episode, store_.slotAt(episodes_[episode].firstBlock, first), birth);
  const uint64_t oldest = birthOf(episode);
  open_.set(episode, oldest);
  ages_.set(episode, oldest);
  released_.trimmed(episode, first, oldest);
}

/// Pushes the picks of each table that became valid since the episode was open and had `countBefore` records.
void Replay::pushPicks(uint32_t episode, uint32_t countBefore) {
  for (uint32_t table = 0; table < tableCount_; ++table) {
    PickTable& picks = tables_[table]->picks;
    pushPicksOf(picks, episode, picks.policy().validEnd(countBefore, false));
  }
}

/// Pushes the picks of one table that became valid: those at positions from `validBefore` on.
void Replay::pushPicksOf(PickTable& picks, uint32_t episode, uint32_t validBefore) {
  const Episode& entry = episodes_[episode];
  const uint32_t valid = picks.policy().validEnd(entry.count, entry.ended());
  if (validBefore >= valid || !hasPicks(picks.policy(), episode)) return;
  const uint32_t stride = picks.policy().stride;
  uint32_t position = validBefore;
  if (stride > 1) position = (validBefore + stride - 1) / stride * stride;
  if (const uint32_t first = episodes_.first(episode); first > 0) {
    const uint32_t begin = picks.policy().validBegin(first);
    if (position < begin) position = begin;
  }
  // A block at a time, where every record begins a pick.
  const bool inRuns = stride == 1 && valid - position > 1;
  for (uint32_t run = stride; position < valid; position += run) {
    // The last blocks are at hand, as picks become valid near the end; further back, the index finds them.
    const uint32_t ordinal = store_.ordinalOf(position);
    const uint32_t last = store_.head(entry.lastBlock).ordinal();
    const uint32_t block = last == ordinal       ? entry.lastBlock
                           : last == ordinal + 1 ? store_.block(entry.lastBlock).previous
                                                 : blocks_.find(store_, entry.handle, ordinal);
    const uint32_t slot = store_.slotAt(block, position);
    if (inRuns) {
      run = store_.blockLength() - store_.within(position);
      if (run > valid - position) run = valid - position;
      pushRun(picks, slot, run);
    } else {
      picks.push(slot);
      if (initial_.has(slot)) picks.setFirstPriority(initial_.get(slot));
    }
  }
}

/// Pushes `count` picks, which begin in the slots from `slot` on, with the effect of one push after the other. A pick with a priority may raise
/// the priority at which the next one without any begins. So picks with and without priorities come in runs of their own.
void Replay::pushRun(PickTable& picks, uint32_t slot, uint32_t count) {
  // A journal tells of each pick's priority right after the pick.
  const bool oneByOne = initial_.inUse() && picks.journal().isOpen();
  for (uint32_t run = 0; count > 0; slot += run, count -= run) {
    run = oneByOne ? 1 : initial_.inUse() ? initial_.countAlike(slot, count) : count;
    if (run == 1) {
      picks.push(slot);
      if (initial_.has(slot)) picks.setFirstPriority(initial_.get(slot));
    } else {
      picks.pushRun(slot, run);
      if (initial_.has(slot)) picks.setFirstPriorities(initial_, slot, run);
    }
  }
}

bool Replay::journalOpen() const {
  for (uint32_t table = 0; table < tableCount_; ++table) {
    if (tables_[table]->picks.journal().isOpen()) return true;
  }
  return false;
}

// ---- loading ----

void Replay::restoreCounts(uint64_t nextHandle, uint64_t recordedCount, uint64_t evictedCount) {
  nextHandle_ = nextHandle;
  recordedCount_ = recordedCount;
  evictedCount_ = evictedCount;
}

Status Replay::restoreEpisode(uint64_t handle, uint32_t first, uint32_t count, uint32_t state, int32_t tag) {
  Episode known = {};
  known.count = count;
  known.state = state;
  const uint32_t rows = stateRows(known);
  const uint32_t begin = firstOrdinal(known, first);
  const uint32_t end = (rows > first ? store_.ordinalOf(rows - 1) : begin) + 1;
  if (end - begin > store_.availableCount()) return Status::dataCorrupt;
  // A trimmed episode has one entry more in the index.
  const Status status = prepareRecords(0, 1, end - begin + 1);
  if (status != Status::ok) return status;
  const uint64_t nextHandle = nextHandle_;
  nextHandle_ = handle;  // addEpisode() gives this one out
  const uint32_t episode = addEpisode(tag, begin);
  nextHandle_ = nextHandle;
  for (uint32_t ordinal = begin + 1; ordinal < end; ++ordinal) appendBlock(episode, ordinal);
  episodes_[episode].count = count;
  episodes_[episode].state = state;
  episodes_.setFirst(episode, first);
  if (begin > 0) store_.noteCarried(episode);
  recordCount_ += count - first;
  if (count > first) empty_.remove(episode);
  if (empty_.count() > config_.emptyMax()) return Status::dataCorrupt;
  bytes_.episodeAdded(first, count, known.ended());
  if (!known.ended()) return Status::ok;
  ++endedCount_;
  if (eviction_ != nullptr) eviction_->ended(episode, endedPickCount(episode));
  return Status::ok;
}

void Replay::restoreOldest() {
  for (uint32_t episode = episodes_.oldest(); episode != episodeNone; episode = episodes_[episode].newer) {
    if (episodes_.recordCount(episode) == 0) continue;
    const uint64_t birth = birthOf(episode);
    if (!episodes_[episode].ended()) open_.set(episode, birth);
    ages_.set(episode, birth);
  }
}

Status Replay::restoreNextState(uint32_t episode) {
  const Status status = reserveNextStates(1);
  // The bytes of any row of its own stand there until the state comes.
  if (status == Status::ok) nextStates_.set(episode, episodes_[episode].count, store_.at(0, store_.firstSlot(episodes_[episode].lastBlock)));
  return status;
}

}  // namespace exrp
