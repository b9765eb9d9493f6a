#include "kernel/replay.hpp"

#include <cassert>
#include <cstring>

#include "kernel/store/episode_order.hpp"
#include "kernel/base/portable_math.hpp"
#include "kernel/rules.hpp"

namespace exrp {
namespace {

constexpr uint32_t emptyEpisodeSlack = 1024;  // blocks for episodes that have no record yet
constexpr double batchBytesMax = 0x1p46;      // far beyond any memory, and far below where sums of sizes would wrap

/// For bounds within +-2^53, where every integer is exact.
bool isInteger(double value, double smallest, double largest) {
  return value >= smallest && value <= largest && value == static_cast<double>(static_cast<int64_t>(value));
}

/// Importance weights: (N P)^-beta over its largest value, (N P_min)^-beta, is (P_min / P)^beta.
void weigh(const double* probabilities, uint32_t count, double beta, double probabilityMin, bool avx2, float* weight) {
  double smallest = probabilityMin;
  if (!(smallest > 0)) {
    smallest = probabilities[0];
    for (uint32_t index = 1; index < count; ++index) {
      if (probabilities[index] < smallest) smallest = probabilities[index];
    }
  }
  constexpr uint32_t pieceMax = 64;
  double ratio[pieceMax] = {};
  double power[pieceMax];
  for (uint32_t first = 0; first < count; first += pieceMax) {
    const uint32_t piece = count - first < pieceMax ? count - first : pieceMax;
    for (uint32_t index = 0; index < piece; ++index) ratio[index] = smallest / probabilities[first + index];
    portablePowMany(ratio, beta, power, piece, avx2);
    for (uint32_t index = 0; index < piece; ++index) weight[first + index] = static_cast<float>(power[index]);
  }
}

}  // namespace

// ---- creation ----

Status Replay::parse(const double* config, uint32_t configCount, const PickPolicy& pick, const uint32_t* columns,
                     uint32_t columnCount, ReplayConfig* parsed) {
  if (configCount != EXRP_CONFIG_COUNT) return fail(Status::argument, 2, configCount);
  if (columnCount < 3 || columnCount > columnMax) return fail(Status::argument, 6, columnCount);
  const auto number = [&](uint32_t index, double smallest, double largest) {
    return isInteger(config[index], smallest, largest);
  };
  ReplayConfig& to = *parsed;
  to = ReplayConfig{};
  if (!number(EXRP_CONFIG_CAPACITY, 1, EXRP_LIMIT_CAPACITY)) {
    return fail(Status::capacity, config[EXRP_CONFIG_CAPACITY], 1, EXRP_LIMIT_CAPACITY);
  }
  to.capacity = static_cast<uint32_t>(config[EXRP_CONFIG_CAPACITY]);
  if (to.capacity < pick.length) return fail(Status::capacity, to.capacity, pick.length, EXRP_LIMIT_CAPACITY);
  if (!number(EXRP_CONFIG_SEGMENT_LENGTH, 0, EXRP_LIMIT_CAPACITY)) return fail(Status::argument, 1, config[EXRP_CONFIG_SEGMENT_LENGTH]);
  to.segmentLength = static_cast<uint32_t>(config[EXRP_CONFIG_SEGMENT_LENGTH]);
  if (!number(EXRP_CONFIG_AGE_MAX, 0, 0x1p53)) return fail(Status::argument, 1, config[EXRP_CONFIG_AGE_MAX]);
  to.ageMax = static_cast<uint64_t>(config[EXRP_CONFIG_AGE_MAX]);
  if (to.ageMax != 0 && to.ageMax < pick.length) return fail(Status::argument, 1, config[EXRP_CONFIG_AGE_MAX]);
  const uint32_t segmentMax = to.ageMax != 0 && to.ageMax < to.capacity ? static_cast<uint32_t>(to.ageMax) : to.capacity;
  if (to.segmentLength == 0) to.segmentLength = segmentMax / 8 > pick.length ? segmentMax / 8 : pick.length;
  if (to.segmentLength < pick.length || to.segmentLength > segmentMax) return fail(Status::argument, 1, to.segmentLength);
  if (!number(EXRP_CONFIG_SEED, 0, 0x1p53)) return fail(Status::argument, 1, config[EXRP_CONFIG_SEED]);
  to.seed = static_cast<uint64_t>(config[EXRP_CONFIG_SEED]);
  // Which numbers are rules, and which options they take, createEvictionPolicy() knows.
  if (!number(EXRP_CONFIG_EVICTION, 0, UINT32_MAX)) return fail(Status::argument, 1, config[EXRP_CONFIG_EVICTION]);
  to.eviction = static_cast<uint32_t>(config[EXRP_CONFIG_EVICTION]);
  if (!number(EXRP_CONFIG_EVICTION_OPTION, 0, UINT32_MAX)) return fail(Status::argument, 1, config[EXRP_CONFIG_EVICTION_OPTION]);
  to.evictionOption = static_cast<uint32_t>(config[EXRP_CONFIG_EVICTION_OPTION]);

  double recordBytes = 0;
  uint32_t keptCount = 0;
  to.columnCount = columnCount;
  for (uint32_t index = 0; index < columnCount; ++index) {
    const uint32_t itemBytes = columns[3 * index];
    const uint32_t itemCount = columns[3 * index + 1];
    const uint32_t every = columns[3 * index + 2];
    const double bytes = double{1} * itemBytes * itemCount;
    if (itemBytes == 0 || itemBytes > 8 || (itemBytes & (itemBytes - 1)) != 0) return fail(Status::argument, 5, itemBytes);
    if (itemCount == 0 || bytes > 0x1p30) return fail(Status::argument, 5, itemCount);
    if (every < 1 || every > EXRP_LIMIT_CAPACITY || (every > 1 && (index < 3 || ++keptCount > EXRP_LIMIT_KEPT))) {
      return fail(Status::argument, 5, every);
    }
    to.columns[index] = Column{itemBytes, itemCount, itemBytes * itemCount, every, 0, 0};
    recordBytes += bytes;
  }
  if (recordBytes > 0x1p31) return fail(Status::argument, 5, recordBytes);
  if (!pick.fitsReward(columns[6])) return fail(Status::argument, 3, pick.rewardType);
  const double bytesNeeded = ByteLimit::episodeBytes(to.columns, columnCount, to.capacity);
  const double capacityBytes = config[EXRP_CONFIG_CAPACITY_BYTES];
  if (!number(EXRP_CONFIG_CAPACITY_BYTES, 0, 0x1p53) || (capacityBytes > 0 && capacityBytes < bytesNeeded)) {
    return fail(Status::argument, 1, capacityBytes);
  }
  to.capacityBytes = static_cast<uint64_t>(capacityBytes);

  const double blockLength = config[EXRP_CONFIG_BLOCK_LENGTH];
  if (!number(EXRP_CONFIG_BLOCK_LENGTH, 0, 1024) || blockLength == 1) return fail(Status::argument, 1, blockLength);
  to.blockLength = static_cast<uint32_t>(blockLength);
  if ((to.blockLength & (to.blockLength - 1)) != 0) return fail(Status::argument, 1, blockLength);
  if (to.blockLength == 0) to.blockLength = 16;
  // Slots are numbered in 32 bits.
  while (to.blockLength > 2 && (double{1} * to.capacity + emptyEpisodeSlack + blocksPerRecordMax) * to.blockLength >= 0x1p32) to.blockLength /= 2;
  return Status::ok;
}

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
  const uint32_t slack = config.capacity < emptyEpisodeSlack ? config.capacity : emptyEpisodeSlack;
  // A record and its final state fit one block, so an episode of n records never needs more than n blocks.
  const uint32_t blockCountMax = config.capacity + slack + blocksPerRecordMax;
  Status status = store_.create(config.columns, config.columnCount, config.blockLength, blockCountMax);
  if (status == Status::ok) status = index_.create(config.capacity / config.blockLength + 1);
  if (status == Status::ok) status = episodes_.create(blockCountMax);
  // Selectors draw from streams 1, 2, ...
  const Random random(config.seed, 0);
  if (status == Status::ok) status = createEvictionPolicy(config.eviction, config.evictionOption, random, blockCountMax, &eviction_);
  if (status == Status::ok) status = ages_.create(blockCountMax, config.ageMax);
  uint32_t table = 0;
  if (status == Status::ok) status = createTable(pick, &table);
  if (status != Status::ok) return status;
  bytes_.create(config.columns, config.columnCount, config.capacity, config.capacityBytes);
  const double scratchBytes = 20.0 * EXRP_LIMIT_BATCH;
  if (!scratchIndex_.create(EXRP_LIMIT_BATCH, Pages::small) || !scratchEpisode_.create(EXRP_LIMIT_BATCH, Pages::small) ||
      !scratchReal_.create(EXRP_LIMIT_BATCH, Pages::small) || !environments_.create(EXRP_LIMIT_BATCH, Pages::small)) {
    return fail(Status::memory, scratchBytes);
  }

  // The row of record(): the handle, the priority, a row of each of the store's groups as it lies there, the final state; each at a multiple
  // of 8, so that every column is aligned to its element.
  const auto padded = [](uint32_t bytes) { return (bytes + 7) & ~7u; };
  rowBytes_ = rowPriorityOffset + 8;
  for (uint32_t group = 0; group < store_.groupCount(); ++group) {
    rowGroups_[group] = rowBytes_;
    rowBytes_ += padded(store_.groupStride(group));
  }
  for (uint32_t index = 0; index < config.columnCount; ++index) {
    if (store_.isKept(index)) {
      rowColumns_[index] = rowBytes_;
      rowBytes_ += padded(store_.column(index).bytes);
    } else {
      rowColumns_[index] = rowGroups_[store_.column(index).group] + store_.column(index).offset;
    }
  }
  rowFinalState_ = rowBytes_;
  rowBytes_ += padded(config.columns[0].bytes);
  return Status::ok;
}

void Replay::info(double* info) const {
  double indexBytes = store_.indexBytes() + index_.memoryBytes() + episodes_.memoryBytes();
  for (uint32_t table = 0; table < tableCount_; ++table) indexBytes += tables_[table]->picks.memoryBytes();
  indexBytes += initial_.memoryBytes();
  for (uint32_t index = 0; index < selectorCount_; ++index) indexBytes += selectors_[index]->memoryBytes();
  if (eviction_ != nullptr) indexBytes += eviction_->memoryBytes();
  indexBytes += ages_.memoryBytes(episodes_.highWater());
  info[EXRP_INFO_CAPACITY] = config_.capacity;
  info[EXRP_INFO_EPISODE_COUNT] = episodes_.count();
  info[EXRP_INFO_RECORD_COUNT] = static_cast<double>(recordCount_);
  info[EXRP_INFO_PICK_COUNT] = tables_[0]->picks.count();
  info[EXRP_INFO_MEMORY_BYTES] = store_.columnBytes() + indexBytes + static_cast<double>(sizeof(Replay));
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

// ---- episodes ----

Status Replay::checkHandle(double handle) const {
  if (isInteger(handle, 0, static_cast<double>(nextHandle_) - 1)) return Status::ok;
  return fail(Status::episodeUnknown, handle, static_cast<double>(nextHandle_));
}

/// The index of a live episode, or episodeNone. The handle was given out.
uint32_t Replay::findEpisode(double handle) const {
  const uint32_t block = index_.find(store_, static_cast<uint64_t>(handle), 0);
  return block == blockNone ? episodeNone : store_.block(block).episode;
}

/// Everything that can fail for want of memory in `recordCount` records of `episodeCount` episodes, before anything changes.
Status Replay::prepareRecords(uint32_t recordCount, uint32_t episodeCount, uint32_t blockCount) {
  Status status = store_.prepareBlocks(blockCount);
  if (status == Status::ok) status = index_.prepare(blockCount);
  if (status == Status::ok) status = episodes_.prepare(episodeCount);
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

/// Whether one record that begins no block finds everything prepared.
bool Replay::hasRoomForOne() const {
  for (uint32_t table = 0; table < tableCount_; ++table) {
    if (!tables_[table]->picks.hasRoomForOne()) return false;
  }
  return true;
}

/// Evicts until `blockCount` blocks, `recordCount` records and, of what they bring beside themselves, `besideBytes` fit; episode
/// `spared` only when it is the last, after which all that is left to store does.
Status Replay::makeRoom(uint32_t blockCount, uint32_t recordCount, uint64_t besideBytes, uint32_t spared) {
  while (store_.availableCount() < blockCount || recordCount_ + recordCount > bytes_.recordMaxWith(besideBytes)) {
    if (episodes_.count() == 0) return Status::ok;
    if (eviction_ == nullptr) return fail(Status::full, static_cast<double>(recordCount_), config_.capacity, -1);
    removeEpisode(eviction_->victim(spared));
  }
  return Status::ok;
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

void Replay::removeEpisode(uint32_t index) {
  cursorRow_ = -1;
  const Episode episode = episodes_[index];
  // The index is wanted after the picks: by then it is there.
  for (uint32_t block = episode.firstBlock; block != blockNone; block = store_.block(block).next) {
    index_.prefetchTable(episode.handle, store_.block(block).ordinal);
  }
  for (uint32_t table = 0; table < tableCount_; ++table) {
    tables_[table]->picks.removeEpisode(store_, index, episode.firstBlock, episode.count);
  }
  uint32_t blockCount = 0;
  for (uint32_t block = episode.firstBlock; block != blockNone; block = store_.block(block).next) {
    index_.remove(store_.block(block), block);
    ++blockCount;
  }
  store_.giveChain(episode.firstBlock, episode.lastBlock, blockCount);
  if (eviction_ != nullptr) eviction_->removed(index);
  episodes_.remove(index);
  bytes_.episodeRemoved(episode.count, episode.ended());
  ages_.follow(episodes_);
  recordCount_ -= episode.count;
  ++evictedCount_;
}

uint32_t Replay::addEpisode() {
  const uint64_t handle = nextHandle_++;
  const uint32_t index = episodes_.add(handle, blockNone);
  const uint32_t block = store_.takeBlock(handle, 0, index);
  episodes_[index].firstBlock = block;
  episodes_[index].lastBlock = block;
  index_.add(store_.block(block), block);
  ages_.begin(index, recordedCount_);
  ages_.follow(episodes_);
  if (eviction_ != nullptr) eviction_->created(index);
  return index;
}

Status Replay::createEpisode(double* handle) {
  Status status = prepareRecord();
  if (status == Status::ok) status = makeRoom(1, 0, 0, EvictionPolicy::none);
  if (status != Status::ok) return status;
  *handle = static_cast<double>(episodes_[addEpisode()].handle);
  return Status::ok;
}

/// Whether the next slot of the episode needs a new block.
bool Replay::needsBlock(const Episode& episode) const { return episode.count > 0 && store_.within(episode.count) == 0; }

/// The slot after the episode's last record, in a new block where the last one is full.
uint32_t Replay::appendSlot(uint32_t index) {
  Episode& episode = episodes_[index];
  if (needsBlock(episode)) {
    const uint32_t block = store_.takeBlock(episode.handle, store_.ordinalOf(episode.count), index);
    store_.link(episode.lastBlock, block);
    episode.lastBlock = block;
    index_.add(store_.block(block), block);
  }
  return store_.slotAt(episode.lastBlock, episode.count);
}

void Replay::endEpisodeAt(uint32_t index, const uint8_t* finalState, uint32_t state) {
  const uint32_t slot = appendSlot(index);
  memcpy(store_.at(0, slot), finalState, store_.column(0).bytes);
  episodes_[index].state = state;
  cursorRow_ = -1;
  pushAllPicks(index, episodes_[index].count);
  bytes_.finalStateAdded();
  if (eviction_ != nullptr) eviction_->ended(index, endedPickCount(episodes_[index].count));
}

/// Pushes the picks of each table that became valid since the episode was open and had `countBefore` records.
void Replay::pushAllPicks(uint32_t index, uint32_t countBefore) {
  for (uint32_t table = 0; table < tableCount_; ++table) {
    PickTable& picks = tables_[table]->picks;
    pushNewPicks(picks, index, picks.policy().validEnd(countBefore, false));
  }
}

/// Pushes the picks that became valid: those at positions from `validBefore` on.
void Replay::pushNewPicks(PickTable& picks, uint32_t index, uint32_t validBefore) {
  const Episode& episode = episodes_[index];
  const uint32_t valid = picks.policy().validEnd(episode.count, episode.ended());
  if (validBefore >= valid) return;
  const uint32_t stride = picks.policy().stride;
  uint32_t position = validBefore;
  if (stride > 1) position = (validBefore + stride - 1) / stride * stride;
  // A block at a time, where every record begins a pick and none has a priority of its own.
  const bool inRuns = stride == 1 && !initial_.inUse();
  uint32_t run = stride;
  for (; position < valid; position += run) {
    // The last block is at hand, as picks become valid near the end; further back, the index finds it.
    const uint32_t ordinal = store_.ordinalOf(position);
    const uint32_t block = store_.block(episode.lastBlock).ordinal == ordinal ? episode.lastBlock
                                                                              : index_.find(store_, episode.handle, ordinal);
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

Status Replay::evictEpisode(double handle) {
  const Status status = checkHandle(handle);
  if (status != Status::ok) return status;
  const uint32_t index = findEpisode(handle);
  if (index == episodeNone) return fail(Status::episodeUnknown, handle, static_cast<double>(nextHandle_));
  for (uint32_t table = 0; table < tableCount_; ++table) {
    PickTable& picks = tables_[table]->picks;
    if (picks.journal().isOpen() && !picks.journal().prepare(size_t{2} * picks.count())) {
      return fail(Status::limit, static_cast<double>(picks.journal().count()));
    }
  }
  removeEpisode(index);
  return Status::ok;
}

Status Replay::episodeInfo(double handle, double* info) const {
  const Status status = checkHandle(handle);
  if (status != Status::ok) return status;
  const uint32_t index = findEpisode(handle);
  info[EXRP_EPISODE_STATE] = index == episodeNone ? EXRP_EPISODE_EVICTED : episodes_[index].state;
  info[EXRP_EPISODE_RECORD_COUNT] = index == episodeNone ? 0 : episodes_[index].count;
  return Status::ok;
}

Status Replay::listEpisodes(double* handles, uint32_t count) const {
  if (count < episodes_.count()) return fail(Status::bufferSize, count, episodes_.count());
  for (uint32_t index = episodes_.oldest(); index != episodeNone; index = episodes_[index].newer) {
    *handles++ = static_cast<double>(episodes_[index].handle);
  }
  return Status::ok;
}

// ---- pick tables ----

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
  if (status == Status::ok) status = made->batches.createScratch(&made->scratch);
  if (status == Status::ok) status = made->picks.prepare(recordCount_, store_.highWater() << store_.blockShift());
  if (status != Status::ok) return status;
  for (uint32_t index = episodes_.oldest(); index != episodeNone; index = episodes_[index].newer) {
    pushNewPicks(made->picks, index, 0);
  }
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

// ---- selectors ----

Status Replay::createSelector(uint32_t table, uint32_t kind, const double* options, uint32_t optionCount, uint32_t* selector) {
  Table* found = findTable(table);
  if (found == nullptr) return Status::argument;
  if (selectorCount_ == EXRP_LIMIT_SELECTORS) return fail(Status::limit, EXRP_LIMIT_SELECTORS);
  std::unique_ptr<PickSelector> made;
  const Random random(config_.seed, selectorCount_ + 1);
  const Status status = createPickSelector(kind, options, optionCount, random, config_.capacity, &made);
  if (status != Status::ok) return status;
  PickTable& picks = found->picks;
  for (uint32_t index = 0; index < picks.count(); ++index) {
    made->pushed(index);
    const double priority = initial_.get(picks.slot(index));
    if (priority >= 0) made->setPriority(&index, &priority, 1);
  }
  picks.attach(made.get());
  ++found->selectorCount;
  selectorTables_[selectorCount_] = found;
  selectors_[selectorCount_] = std::move(made);
  *selector = selectorCount_++;
  return Status::ok;
}

Status Replay::checkSelector(uint32_t selector) const {
  return selector < selectorCount_ ? Status::ok : fail(Status::selectorUnknown, selector, selectorCount_);
}

/// Whether the pick at `index` of the table, if there is one, begins at this place.
bool Replay::beginsAt(const PickTable& picks, uint32_t index, uint64_t handle, uint32_t position) const {
  if (index >= picks.count()) return false;
  const uint32_t slot = picks.slot(index);
  const BlockHead& head = store_.heads()[store_.blockOf(slot)];
  return episodes_[head.episode].handle == handle && (head.place >> 1 << store_.blockShift()) + store_.within(slot) == position;
}

/// The picks that begin at these places, or pickNone. `indices` holds guesses, whatever they are: most often those of the last draw, whose
/// picks' slots and blocks were just read. What they don't tell the block index does.
Status Replay::findPicks(const PickTable& picks, const double* handles, const int32_t* positions, uint32_t count,
                         uint32_t* indices) const {
  for (uint32_t index = 0; index < count; ++index) {
    const Status status = checkHandle(handles[index]);
    if (status != Status::ok) return status;
    if (positions[index] < 0) return fail(Status::argument, 3, positions[index]);
  }
  const auto handleAt = [&](uint32_t at) { return static_cast<uint64_t>(handles[at]); };
  const auto positionAt = [&](uint32_t at) { return static_cast<uint32_t>(positions[at]); };
  const auto isKnown = [&](uint32_t at) { return beginsAt(picks, indices[at], handleAt(at), positionAt(at)); };
  // A batch whose picks are not those guessed is told by a few of them.
  const bool areGuessed = count > 0 && (isKnown(0) || isKnown(count / 2) || isKnown(count - 1));
  // Passes over pieces, so that the misses of many lookups overlap.
  constexpr uint32_t pieceMax = 64;
  uint32_t left[pieceMax];
  uint32_t slots[pieceMax];
  for (uint32_t first = 0; first < count; first += pieceMax) {
    const uint32_t end = count - first < pieceMax ? count : first + pieceMax;
    uint32_t leftCount = 0;
    if (areGuessed) {
      for (uint32_t at = first; at < end; ++at) picks.prefetchSlot(indices[at]);
      for (uint32_t at = first; at < end; ++at) {
        if (!isKnown(at)) left[leftCount++] = at;
      }
    } else {
      for (uint32_t at = first; at < end; ++at) left[leftCount++] = at;
    }
    for (uint32_t k = 0; k < leftCount; ++k) index_.prefetchTable(handleAt(left[k]), store_.ordinalOf(positionAt(left[k])));
    for (uint32_t k = 0; k < leftCount; ++k) index_.prefetchBlock(store_, handleAt(left[k]), store_.ordinalOf(positionAt(left[k])));
    for (uint32_t k = 0; k < leftCount; ++k) {
      const uint32_t block = index_.find(store_, handleAt(left[k]), store_.ordinalOf(positionAt(left[k])));
      slots[k] = block == blockNone ? UINT32_MAX : store_.slotAt(block, positionAt(left[k]));
      if (block != blockNone) picks.prefetchPlace(slots[k]);
    }
    for (uint32_t k = 0; k < leftCount; ++k) indices[left[k]] = slots[k] == UINT32_MAX ? pickNone : picks.place(slots[k]);
  }
  return Status::ok;
}

Status Replay::setPriority(uint32_t selector, const double* handles, const int32_t* positions, const uint8_t* priorities,
                           uint32_t prioritySize, uint32_t count, uint32_t* applied) {
  const bool isOwn = EXRP_INDEX_NONE - selector >= tableCount_;  // else of the caller's
  Status status = isOwn ? checkSelector(selector) : Status::ok;
  if (status != Status::ok) return status;
  const PickTable& picks = (isOwn ? selectorTables_[selector] : tables_[EXRP_INDEX_NONE - selector].get())->picks;
  if (prioritySize != sizeof(float) && prioritySize != sizeof(double)) return fail(Status::argument, 6, prioritySize);
  if (count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  const bool evictionListens = eviction_ != nullptr && eviction_->wantsPriorities();
  if (!scratchIndex_.commit(count) || !scratchReal_.commit(count) || (evictionListens && !scratchEpisode_.commit(count))) {
    return fail(Status::memory, 16.0 * count);
  }

  double* priority = scratchReal_.data();
  for (uint32_t index = 0; index < count; ++index) {
    if (prioritySize == sizeof(double)) {
      memcpy(&priority[index], priorities + size_t{index} * sizeof(double), sizeof(double));
    } else {
      float single = 0;
      memcpy(&single, priorities + size_t{index} * sizeof(float), sizeof(float));
      priority[index] = single;
    }
    const bool valid = priority[index] >= 0 && priority[index] <= 0x1.fffffffffffffp1023;
    if (!valid) return fail(Status::priorityInvalid, index, priority[index]);
  }
  uint32_t* found = scratchIndex_.data();
  status = findPicks(picks, handles, positions, count, found);
  if (status != Status::ok) return status;
  uint32_t kept = 0;
  for (uint32_t index = 0; index < count; ++index) {
    if (found[index] == pickNone) continue;
    found[kept] = found[index];
    priority[kept++] = priority[index];
  }
  // Before the selector, which may write over the priorities.
  if (evictionListens) {
    uint32_t* episodes = scratchEpisode_.data();
    for (uint32_t at = 0; at < kept; ++at) episodes[at] = store_.block(store_.blockOf(picks.slot(found[at]))).episode;
    eviction_->prioritized(episodes, priority, kept);
  }
  if (isOwn) {
    const EpisodeOrder order(store_, index_, picks);
    selectors_[selector]->setPriorityInOrder(found, priority, kept, order);
  }
  *applied = kept;
  return Status::ok;
}

// ---- batches ----

Status Replay::batchLayout(Table& table, uint32_t count, double* offsets) const {
  if (count < 1 || count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  const double bytes = table.batches.bytes(count);
  if (bytes > batchBytesMax) return fail(Status::memory, bytes, physicalMemoryBytes());
  const BatchLayout& layout = table.batches.layout(count, table.scratch);
  for (uint32_t part = 0; part < table.batches.partCount(); ++part) offsets[part] = static_cast<double>(layout.offsets[part]);
  return Status::ok;
}

/// Checks what a batch is asked with.
Status Replay::checkBatch(Table& table, const BatchRange& range, double beta, double batchBytes) const {
  if (range.count < 1 || range.count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, range.count, EXRP_LIMIT_BATCH);
  if (range.total > EXRP_LIMIT_BATCH) return fail(Status::batchSize, range.total, EXRP_LIMIT_BATCH);
  if (range.first > range.total || range.count > range.total - range.first) return fail(Status::batchSize, range.count, range.total);
  if (!(beta >= 0 && beta <= 0x1p53)) return fail(Status::argument, 6, beta);
  if (table.scratch.layoutCount != range.total) {
    const double bytes = table.batches.bytes(range.total);
    if (bytes > batchBytesMax) return fail(Status::memory, bytes, physicalMemoryBytes());
  }
  const auto needed = static_cast<double>(table.batches.layout(range.total, table.scratch).offsets[EXRP_BATCH_BYTES]);
  if (batchBytes < needed) return fail(Status::bufferSize, batchBytes, needed);
  if (table.picks.count() == 0) return fail(Status::empty, static_cast<double>(recordCount_));
  return Status::ok;
}

Status Replay::getBatch(uint32_t selector, BatchRange range, double beta, uint8_t* batch, double batchBytes) {
  Status status = checkSelector(selector);
  if (status == Status::ok) status = checkBatch(*selectorTables_[selector], range, beta, batchBytes);
  if (status != Status::ok) return status;
  const uint32_t count = range.count;
  if (!scratchIndex_.commit(count) || !scratchEpisode_.commit(count) || !scratchReal_.commit(count)) {
    return fail(Status::memory, 16.0 * count);
  }
  PickSelector& rule = *selectors_[selector];
  status = rule.select(count, scratchIndex_.data(), scratchReal_.data());
  if (status == Status::memory) return fail(status, 4.0 * count);
  if (status != Status::ok) return status;  // the rule has said why
  finishBatch(*selectorTables_[selector], scratchIndex_.data(), scratchReal_.data(), range, beta, rule.probabilityMin(),
              rule.weighted(), batch);
  return Status::ok;
}

Status Replay::orderBatch(uint32_t selector, uint32_t count, double beta, uint8_t* batch, double batchBytes, double* order) {
  BatchOrder made = {};
  made.selector = selector;
  made.count = count;
  made.beta = beta;
  made.batch = batch;
  made.batchBytes = batchBytes;
  const double id = orders_.give(made);
  if (id == 0) return fail(Status::limit, EXRP_LIMIT_ORDERS);
  *order = id;
  return Status::ok;
}

Status Replay::carryOut(const BatchOrder& order) {
  return getBatch(order.selector, {0, order.count, order.count}, order.beta, order.batch, order.batchBytes);
}

void Replay::runOrders() {
  orders_.run([this](const BatchOrder& order) { return carryOut(order); });
}

Status Replay::runOrder(double order, const uint8_t* batch) {
  const bool isKnown = orders_.runFor(order, batch, [this](const BatchOrder& each) { return carryOut(each); });
  return isKnown ? Status::ok : fail(Status::argument, 2, order);
}

Status Replay::takeBatch(double order) {
  Status status = Status::ok;
  if (orders_.take(order, &status)) return status;
  settle();
  return orders_.take(order, &status) ? status : fail(Status::argument, 2, order);
}

Status Replay::gatherBatch(Table& table, const uint32_t* indices, const double* probabilities, BatchRange range, double beta,
                           double probabilityMin, bool weighted, uint8_t* batch, double batchBytes) {
  const Status status = checkBatch(table, range, beta, batchBytes);
  if (status != Status::ok) return status;
  for (uint32_t index = 0; index < range.count; ++index) {
    if (indices[index] >= table.picks.count()) return fail(Status::pickIndex, index, indices[index], table.picks.count());
    if (!(probabilities[index] > 0 && probabilities[index] <= 1)) return fail(Status::argument, 4, probabilities[index]);
  }
  if (!(probabilityMin >= 0 && probabilityMin <= 1)) return fail(Status::argument, 9, probabilityMin);
  if (!scratchEpisode_.commit(range.count)) return fail(Status::memory, 4.0 * range.count);
  finishBatch(table, indices, probabilities, range, beta, probabilityMin, weighted, batch);
  return Status::ok;
}

void Replay::finishBatch(Table& table, const uint32_t* indices, const double* probabilities, const BatchRange& range,
                         double beta, double probabilityMin, bool weighted, uint8_t* batch) {
  const uint32_t count = range.count;
  const BatchLayout& layout = table.batches.layout(range.total, table.scratch);
  const auto floats = [&](uint32_t part) { return reinterpret_cast<float*>(batch + layout.offsets[part]) + range.first; };
  table.batches.begin(table.picks, indices, count);
  float* const probability = floats(EXRP_BATCH_PROBABILITY);
  for (uint32_t index = 0; index < count; ++index) probability[index] = static_cast<float>(probabilities[index]);
  float* const weight = floats(EXRP_BATCH_IMPORTANCE_WEIGHT);
  if (weighted) {
    weigh(probabilities, count, beta, probabilityMin, avx2_, weight);
  } else {
    for (uint32_t index = 0; index < count; ++index) weight[index] = 1.0f;
  }
  table.batches.copy(episodes_, index_, table.picks, indices, range, layout, batch, scratchEpisode_.data(), table.scratch);
  if (eviction_ != nullptr) eviction_->sampled(scratchEpisode_.data(), count);
}

Status Replay::listPicks(const PickTable& picks, uint32_t first, uint32_t count, double* handles, int32_t* positions) const {
  if (first > picks.count() || count > picks.count() - first) return fail(Status::pickIndex, 0, first, picks.count());
  for (uint32_t index = 0; index < count; ++index) {
    const uint32_t slot = picks.slot(first + index);
    const Block& block = store_.block(store_.blockOf(slot));
    handles[index] = static_cast<double>(block.handle);
    positions[index] = static_cast<int32_t>((block.ordinal << store_.blockShift()) + store_.within(slot));
  }
  return Status::ok;
}

Status Replay::listPriorities(const PickTable& picks, uint32_t first, uint32_t count, double* priorities) const {
  if (first > picks.count() || count > picks.count() - first) return fail(Status::pickIndex, 0, first, picks.count());
  for (uint32_t index = 0; index < count; ++index) priorities[index] = initial_.get(picks.slot(first + index));
  return Status::ok;
}

// ---- invariants ----

int32_t Replay::check() const {
  if (const int32_t broken = store_.check(); broken != 0) return 10 + broken;
  if (const int32_t broken = index_.check(store_); broken != 0) return 20 + broken;
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
  for (uint32_t index = episodes_.oldest(); index != episodeNone; index = episodes_[index].newer) {
    const Episode& episode = episodes_[index];
    if (episode.handle >= nextHandle_) return 4;
    if (ages_.isSet()) {
      if (!ages_.isPossible(ages_.birth(index), birthBefore, episode.count, recordedCount_)) return 5;
      birthBefore = ages_.birth(index);
    }
    recordCount += episode.count;
    const uint32_t rows = storedRows(episode) > 0 ? storedRows(episode) : 1;
    const uint32_t blockCount = store_.ordinalOf(rows - 1) + 1;
    uint32_t ordinal = 0;
    uint32_t last = blockNone;
    for (uint32_t block = episode.firstBlock; block != blockNone; block = store_.block(block).next, ++ordinal) {
      const Block& link = store_.block(block);
      if (ordinal >= blockCount || link.ordinal != ordinal || link.previous != last || link.handle != episode.handle || link.episode != index) return 2;
      last = block;
    }
    if (ordinal != blockCount || last != episode.lastBlock) return 2;
    for (uint32_t table = 0; table < tableCount_; ++table) {
      const PickTable& picks = tables_[table]->picks;
      const uint32_t valid = picks.policy().validEnd(episode.count, episode.ended());
      uint32_t block = episode.firstBlock;
      for (uint32_t position = 0; position < valid; ++position) {
        if (position > 0 && store_.within(position) == 0) block = store_.block(block).next;
        if (position % picks.policy().stride != 0) continue;
        if (picks.place(store_.slotAt(block, position)) == pickNone) return 3;
        ++pickCounts[table];
      }
    }
  }
  if (recordCount != recordCount_ || recordCount > bytes_.recordMax()) return 1;
  for (uint32_t table = 0; table < tableCount_; ++table) {
    if (pickCounts[table] != tables_[table]->picks.count()) return 3;
  }
  return 0;
}

}  // namespace exrp
