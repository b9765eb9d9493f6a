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
  Status status = store_.create(config.columns, config.columnCount, config.blockLength, blockCountMax, config.capacity / config.blockLength);
  if (status == Status::ok) status = blocks_.create(blockCountMax);
  if (status == Status::ok) status = episodes_.create(blockCountMax);
  // Selectors draw from streams 1, 2, ...
  const Random random(config.seed, 0);
  if (status == Status::ok) status = createEvictionPolicy(config.eviction, config.evictionOption, random, blockCountMax, &eviction_);
  if (status == Status::ok) status = ages_.create(blockCountMax, config.ageMax);
  bytes_.create(config.columns, config.columnCount, config.capacity, config.capacityBytes);
  nextStates_.create(blockCountMax, config.columns[0].bytes);
  uint32_t table = 0;
  return status == Status::ok ? createTable(pick, &table) : status;
}

void Replay::info(double* info) const {
  double indexBytes = store_.indexBytes() + blocks_.memoryBytes() + episodes_.memoryBytes();
  for (uint32_t table = 0; table < tableCount_; ++table) indexBytes += tables_[table]->picks.memoryBytes();
  indexBytes += initial_.memoryBytes() + nextStates_.memoryBytes();
  for (uint32_t index = 0; index < selectorCount_; ++index) {
    indexBytes += selectors_[index]->memoryBytes(selectorTables_[index]->picks.countHighWater());
  }
  if (eviction_ != nullptr) indexBytes += eviction_->memoryBytes();
  indexBytes += ages_.memoryBytes(episodes_.highWater());
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
  info[EXRP_INFO_SEGMENT_LENGTH] = config_.segmentLength;
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
  // No episode is longer than a segment.
  if (policy.length > config_.segmentLength) return fail(Status::capacity, config_.segmentLength, policy.length, config_.capacity);
  std::unique_ptr<Table> made(new (std::nothrow) Table);
  if (made == nullptr) return fail(Status::memory, sizeof(Table));
  const uint32_t slotCountMax = store_.blockCountMax() * store_.blockLength();
  Status status = made->picks.create(policy, config_.capacity, slotCountMax);
  made->batches.create(store_, policy, config_.segmentLength);
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
  info[EXRP_EPISODE_RECORD_COUNT] = episode == episodeNone ? 0 : episodes_[episode].count;
  info[EXRP_EPISODE_TAG] = episode == episodeNone ? 0 : episodes_.tag(episode);
  return Status::ok;
}

Status Replay::listEpisodes(double* handles, uint32_t count) const {
  if (count < episodes_.count()) return fail(Status::bufferSize, count, episodes_.count());
  for (uint32_t episode = episodes_.oldest(); episode != episodeNone; episode = episodes_[episode].newer) {
    *handles++ = static_cast<double>(episodes_[episode].handle);
  }
  return Status::ok;
}

// ---- memory and room ----

Status Replay::prepareRecords(uint32_t recordCount, uint32_t episodeCount, uint32_t blockCount) {
  Status status = store_.prepareBlocks(blockCount);
  if (status == Status::ok) status = blocks_.prepare(blockCount);
  if (status == Status::ok) status = episodes_.prepare(episodeCount);
  if (status == Status::ok) status = ages_.prepare(episodes_.preparedCount(episodeCount));
  if (status == Status::ok && eviction_ != nullptr && !eviction_->prepare(episodes_.preparedCount(episodeCount))) {
    status = fail(Status::memory, 32.0 * episodes_.preparedCount(episodeCount));
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

/// Evicts until `blockCount` blocks, `recordCount` records, and `besideBytes` of what they bring beside themselves fit. Episode `spared`
/// goes only when it is the last: then all that is left to store fits.
Status Replay::makeRoom(uint32_t blockCount, uint32_t recordCount, uint64_t besideBytes, uint32_t spared) {
  while (store_.availableCount() < blockCount || recordCount_ + recordCount > bytes_.recordMaxWith(besideBytes)) {
    if (episodes_.count() == 0) return Status::ok;
    if (eviction_ == nullptr) return fail(Status::full, static_cast<double>(recordCount_), config_.capacity, -1);
    const uint32_t victim = eviction_->victim();
    removeEpisode(victim != EvictionPolicy::none ? victim : oldestBut(spared));
  }
  return Status::ok;
}

/// The oldest episode that is not `spared`, or the only one.
uint32_t Replay::oldestBut(uint32_t spared) const {
  const uint32_t oldest = episodes_.oldest();
  return oldest == spared && episodes_.count() > 1 ? episodes_[oldest].newer : oldest;
}

/// Evicts the episodes that are too old for another record, whatever the policy says, and even one that is being recorded.
Status Replay::evictAged() {
  while (ages_.isDue(recordedCount_)) {
    const uint32_t oldest = episodes_.oldest();
    if (eviction_ == nullptr) {
      return fail(Status::full, static_cast<double>(recordCount_), config_.capacity, static_cast<double>(episodes_[oldest].handle));
    }
    removeEpisode(oldest);
  }
  return Status::ok;
}

Status Replay::evictForRecord(double handle, uint32_t flags, uint32_t* episode) {
  if (ages_.isDue(recordedCount_)) {
    const Status status = evictAged();
    if (status != Status::ok) return status;
    if (*episode != episodeNone && !isLive(*episode, handle)) *episode = episodeNone;
  }
  const uint32_t blockCount = blocksNeeded(*episode, flags);
  // A record that cuts a segment takes a block.
  if (blockCount == 0 && flags == 0 && hasBytesForOne(*episode)) return Status::ok;
  const bool cuts = *episode != episodeNone && episodes_[*episode].count == config_.segmentLength;
  const uint64_t finalStateCount = ((flags & EXRP_RECORD_ENDS) != 0 ? 1u : 0u) + (cuts ? 1u : 0u);
  const uint32_t position = *episode == episodeNone || cuts ? 0 : episodes_[*episode].count;
  const Status status = makeRoom(blockCount, 1, finalStateCount * bytes_.stateBytes() + bytes_.keptBytes(position), *episode);
  if (status != Status::ok) return status;
  // Making room may have evicted this very episode, when it was the only one; then, or if it was gone before, a new one begins.
  if (*episode != episodeNone && !isLive(*episode, handle)) *episode = episodeNone;
  if (*episode == episodeNone) *episode = addEpisode(orphans_.remove(static_cast<uint64_t>(handle)));
  return Status::ok;
}

// ---- episodes begin, end and go ----

/// The episode that an actor goes on with.
uint32_t Replay::addEpisodeAfter(uint32_t ended) {
  const uint32_t actor = episodes_.actor(ended);
  const uint32_t episode = addEpisode(episodes_.tag(ended));
  episodes_.setActor(episode, actor);
  return episode;
}

uint32_t Replay::addEpisode(int32_t tag) {
  const uint64_t handle = nextHandle_++;
  const uint32_t episode = episodes_.add(handle, blockNone);
  episodes_.setTag(episode, tag);
  const uint32_t block = store_.takeBlock(handle, 0, episode);
  episodes_[episode].firstBlock = block;
  episodes_[episode].lastBlock = block;
  blocks_.add(store_.block(block), block);
  ages_.begin(episode, recordedCount_);
  ages_.follow(episodes_);
  if (eviction_ != nullptr) eviction_->created(episode);
  ++changeCount_;
  return episode;
}

void Replay::appendBlock(uint32_t episode, uint32_t ordinal) {
  Episode& entry = episodes_[episode];
  const uint32_t block = store_.takeBlock(entry.handle, ordinal, episode);
  store_.link(entry.lastBlock, block);
  entry.lastBlock = block;
  blocks_.add(store_.block(block), block);
}

/// The episode that follows on one that is as long as one may be: one with no records, and the same tag.
uint32_t Replay::continueEpisode(uint32_t episode, const uint8_t* state) {
  endEpisodeAt(episode, state, EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED);
  return addEpisodeAfter(episode);
}

Status Replay::createEpisode(double* handle) {
  Status status = prepareRecord();
  if (status == Status::ok) status = makeRoom(1, 0, 0, EvictionPolicy::none);
  if (status != Status::ok) return status;
  *handle = static_cast<double>(episodes_[addEpisode(0)].handle);
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
  if (eviction_ != nullptr) eviction_->ended(episode, endedPickCount(episode, episodes_[episode].count));
  ++changeCount_;
}

Status Replay::endEpisode(double handle, const uint8_t* finalState, uint32_t flags, uint32_t* ended) {
  if ((flags & ~uint32_t{EXRP_RECORD_TRUNCATED}) != 0) return fail(Status::argument, 5, flags);
  uint32_t episode = episodeNone;
  Status status = openEpisode(handle, &episode);
  if (status != Status::ok) return status;
  if (episode != episodeNone && episodes_[episode].count == 0) {
    // No record, so no pick could ever begin in it.
    removeEpisode(episode);
    episode = episodeNone;
  }
  if (episode != episodeNone) {
    status = prepareRecord();
    if (status == Status::ok) status = makeRoom(needsBlock(episodes_[episode]) ? 1 : 0, 0, bytes_.stateBytes(), episode);
    if (status != Status::ok) return status;
    episode = findEpisode(handle);
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
  const Status status = makeRoom(needsBlock(episodes_[*episode]) ? 2 : 1, 0, bytes_.stateBytes(), *episode);
  if (status != Status::ok) return status;
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
    const Status prepared = picks.journal().prepare(size_t{2} * picks.count());
    if (prepared != Status::ok) return prepared;
  }
  return Status::ok;
}

void Replay::removeEpisode(uint32_t episode) {
  const Episode entry = episodes_[episode];
  // The index of blocks is wanted after the picks: by then its lines are there.
  for (uint32_t block = entry.firstBlock; block != blockNone; block = store_.block(block).next) {
    blocks_.prefetchTable(entry.handle, store_.block(block).ordinal);
  }
  for (uint32_t table = 0; table < tableCount_; ++table) {
    if (!hasPicks(tables_[table]->picks.policy(), episode)) continue;
    tables_[table]->picks.removeEpisode(store_, episode, entry.firstBlock, entry.count);
  }
  uint32_t blockCount = 0;
  for (uint32_t block = entry.firstBlock; block != blockNone; block = store_.block(block).next) {
    blocks_.remove(store_.block(block), block);
    ++blockCount;
  }
  store_.giveChain(entry.firstBlock, entry.lastBlock, blockCount);
  if (eviction_ != nullptr) eviction_->removed(episode);
  if (!entry.ended()) orphans_.add(entry.handle, episodes_.tag(episode));
  nextStates_.release(episode);
  episodes_.remove(episode);
  bytes_.episodeRemoved(entry.count, entry.ended());
  ages_.follow(episodes_);
  recordCount_ -= entry.count;
  ++evictedCount_;
  ++changeCount_;
}

// ---- what a record makes of picks ----

void Replay::publish(uint32_t* episode, uint32_t count, const uint8_t* priorities, uint32_t flags, const uint8_t* finalState) {
  Episode& entry = episodes_[*episode];
  const uint32_t countBefore = entry.count;
  if (initial_.inUse()) {
    const uint32_t slot = store_.slotAt(entry.lastBlock, countBefore);
    for (uint32_t k = 0; k < count; ++k) {
      initial_.set(slot + k, priorities == nullptr ? InitialPriorities::none : priorityAt(priorities, k));
    }
  }
  if (store_.within(countBefore) == 0) store_.setBirth(entry.lastBlock, recordedCount_);
  bytes_.recordAdded(countBefore);  // where it matters, they come one by one
  entry.count += count;
  recordCount_ += count;
  recordedCount_ += count;
  pushPicks(*episode, countBefore);
  if ((flags & EXRP_RECORD_ENDS) != 0) endEpisodeAt(*episode, finalState, flags);
  if ((flags & EXRP_RECORD_BEGINS) != 0) *episode = addEpisodeAfter(*episode);
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
  // A block at a time, where every record begins a pick and none has a priority of its own.
  const bool inRuns = stride == 1 && !initial_.inUse();
  uint32_t run = stride;
  for (; position < valid; position += run) {
    // The last block is at hand, as picks become valid near the end; further back, the index finds it.
    const uint32_t ordinal = store_.ordinalOf(position);
    const uint32_t block = store_.block(entry.lastBlock).ordinal == ordinal ? entry.lastBlock
                                                                              : blocks_.find(store_, entry.handle, ordinal);
    const uint32_t slot = store_.slotAt(block, position);
    if (inRuns) {
      run = store_.blockLength() - store_.within(position);
      if (run > valid - position) run = valid - position;
      if (run == 1) picks.push(slot);
      else picks.pushRun(slot, run);
      continue;
    }
    picks.push(slot);
    if (const double priority = initial_.get(slot); priority >= 0) picks.setFirstPriority(priority);
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

Status Replay::restoreEpisode(uint64_t handle, uint32_t count, uint32_t state, int32_t tag, uint64_t birth) {
  const bool ended = state != EXRP_EPISODE_OPEN;
  const uint32_t rows = count + (ended ? 1 : 0);
  const uint32_t blockCount = rows == 0 ? 1 : store_.ordinalOf(rows - 1) + 1;
  if (blockCount > store_.availableCount()) return Status::dataCorrupt;
  const Status status = prepareRecords(0, 1, blockCount);
  if (status != Status::ok) return status;
  const uint64_t nextHandle = nextHandle_;
  nextHandle_ = handle;  // addEpisode() gives this one out
  const uint32_t episode = addEpisode(tag);
  nextHandle_ = nextHandle;
  for (uint32_t ordinal = 1; ordinal < blockCount; ++ordinal) appendBlock(episode, ordinal);
  episodes_[episode].count = count;
  episodes_[episode].state = state;
  recordCount_ += count;
  if (ages_.isSet()) {
    ages_.begin(episode, birth);
    ages_.follow(episodes_);
  }
  bytes_.episodeAdded(count, ended);
  if (ended && eviction_ != nullptr) eviction_->ended(episode, endedPickCount(episode, count));
  return Status::ok;
}

void Replay::restoreBirths() {
  uint64_t birth = recordedCount_ - recordCount_;
  for (uint32_t at = episodes_.oldest(); at != episodeNone; at = episodes_[at].newer) {
    uint32_t position = 0;
    for (uint32_t block = episodes_[at].firstBlock; block != blockNone; block = store_.block(block).next) {
      store_.setBirth(block, birth + position);
      position += store_.blockLength();
    }
    birth += episodes_[at].count;
  }
}

Status Replay::restoreNextState(uint32_t episode) {
  const Status status = reserveNextStates(1);
  // The bytes of any row of its own stand there until the state comes.
  if (status == Status::ok) nextStates_.set(episode, episodes_[episode].count, store_.at(0, store_.firstSlot(episodes_[episode].lastBlock)));
  return status;
}

// ---- invariants ----

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

  uint64_t recordCount = 0;
  uint64_t pickCounts[EXRP_LIMIT_TABLES] = {};
  uint64_t birthBefore = 0;
  for (uint32_t episode = episodes_.oldest(); episode != episodeNone; episode = episodes_[episode].newer) {
    const Episode& entry = episodes_[episode];
    if (entry.handle >= nextHandle_) return 4;
    if (ages_.isSet()) {
      if (!ages_.isPossible(ages_.birth(episode), birthBefore, entry.count, recordedCount_)) return 5;
      birthBefore = ages_.birth(episode);
    }
    recordCount += entry.count;
    const uint32_t rows = stateRows(entry) > 0 ? stateRows(entry) : 1;
    const uint32_t blockCount = store_.ordinalOf(rows - 1) + 1;
    uint32_t ordinal = 0;
    uint32_t last = blockNone;
    for (uint32_t block = entry.firstBlock; block != blockNone; block = store_.block(block).next, ++ordinal) {
      const Block& link = store_.block(block);
      if (ordinal >= blockCount || link.ordinal != ordinal || link.previous != last) return 2;
      if (link.handle != entry.handle || link.episode != episode) return 2;
      last = block;
    }
    if (ordinal != blockCount || last != entry.lastBlock) return 2;
    for (uint32_t table = 0; table < tableCount_; ++table) {
      const PickTable& picks = tables_[table]->picks;
      const uint32_t valid = hasPicks(picks.policy(), episode) ? picks.policy().validEnd(entry.count, entry.ended()) : 0;
      uint32_t block = entry.firstBlock;
      for (uint32_t position = 0; position < valid; ++position) {
        if (position > 0 && store_.within(position) == 0) block = store_.block(block).next;
        if (position % picks.policy().stride != 0) continue;
        if (picks.indexOf(store_.slotAt(block, position)) == pickNone) return 3;
        ++pickCounts[table];
      }
    }
  }
  if (recordCount != recordCount_ || recordCount > bytes_.recordMax()) return 1;
  if (orphans_.check() != 0) return 6;
  for (uint32_t at = 0; at < orphans_.count(); ++at) {
    const uint64_t handle = orphans_.handles()[at];
    if (handle >= nextHandle_ || findEpisode(static_cast<double>(handle)) != episodeNone) return 6;
  }
  for (uint32_t table = 0; table < tableCount_; ++table) {
    if (pickCounts[table] != tables_[table]->picks.count()) return 3;
  }
  return 0;
}

}  // namespace exrp
