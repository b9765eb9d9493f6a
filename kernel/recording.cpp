// Recording (Chen and Wang, section 3.2): one record, many of one episode, one of each of many episodes, and the end of an episode.
//
// All go through the same four steps: find the open episode, make room, take the next slot, and see what became a pick. So many
// records in one call leave exactly what as many calls would: the same handles, picks, draws and victims.

#include <cstring>

#include "kernel/base/copy_row.hpp"
#include "kernel/replay.hpp"

namespace exrp {
namespace {

constexpr uint32_t endFlags = EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED;

bool flagsPossible(uint32_t flags, uint32_t known) {
  return (flags & ~known) == 0 && (flags == 0 || (flags & EXRP_RECORD_ENDS) != 0);
}

double realAt(const uint8_t* from) {
  double value = 0;
  memcpy(&value, from, sizeof value);
  return value;
}

uint32_t endState(uint32_t flags) {
  return (flags & EXRP_RECORD_TRUNCATED) != 0 ? EXRP_EPISODE_TRUNCATED : EXRP_EPISODE_TERMINATED;
}

/// Records stored in one call while a journal is open, which then has to be read.
constexpr uint32_t journalRecordsMax = 65536;

/// Of so many records that come in one call, the block index's lines are asked for at its beginning.
constexpr uint32_t recordsAskedFor = 4096;

/// Parts begin at multiples of this, so that every element is aligned.
uint64_t padded(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }

}  // namespace

// ---- layouts ----

void Replay::rowLayout(double* offsets) const {
  offsets[EXRP_ROW_BYTES] = rowBytes_;
  offsets[EXRP_ROW_FINAL_STATE] = rowFinalState_;
  offsets[EXRP_ROW_PRIORITY] = rowPriorityOffset;
  for (uint32_t index = 0; index < store_.columnCount(); ++index) offsets[EXRP_ROW_COLUMN + index] = rowColumns_[index];
}

/// Flags, priorities, columns, and final states at the end, of which only as many have to be there as are read.
Replay::StepsLayout Replay::layoutSteps(uint32_t count) const {
  StepsLayout layout;
  layout.flags = 0;
  layout.priorities = padded(count);
  uint64_t offset = layout.priorities + uint64_t{count} * sizeof(double);
  for (uint32_t index = 0; index < store_.columnCount(); ++index) {
    layout.columns[index] = offset;
    offset += padded(uint64_t{count} * store_.column(index).bytes);
  }
  layout.finalState = offset;
  return layout;
}

Status Replay::stepsLayout(uint32_t count, double* offsets) const {
  if (count < 1 || count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  const StepsLayout layout = layoutSteps(count);
  offsets[EXRP_STEPS_FLAGS] = static_cast<double>(layout.flags);
  offsets[EXRP_STEPS_FINAL_STATE] = static_cast<double>(layout.finalState);
  offsets[EXRP_STEPS_PRIORITY] = static_cast<double>(layout.priorities);
  for (uint32_t index = 0; index < store_.columnCount(); ++index) {
    offsets[EXRP_STEPS_COLUMN + index] = static_cast<double>(layout.columns[index]);
  }
  return Status::ok;
}

// ---- the parts of every record ----

/// The episode that a record with this handle goes to: an open one, or none, when it was forgotten.
Status Replay::openEpisode(double handle, uint32_t* episode) const {
  const Status status = checkHandle(handle);
  if (status != Status::ok) return status;
  const uint32_t index = findEpisode(handle);
  if (index != episodeNone && episodes_[index].ended()) return fail(Status::episodeEnded, handle, episodes_[index].count);
  *episode = index;
  return Status::ok;
}

/// The blocks that a record takes: for itself, for the final state of a segment that it cuts, for its own final state, for the
/// episode that begins after it. Nearly always none: it goes into a block that its episode has. Counted exactly, from what is
/// saved with a replay, so that evictions come at the same records after loading.
uint32_t Replay::blocksNeeded(uint32_t index, uint32_t flags) const {
  const uint32_t begins = (flags & EXRP_RECORD_BEGINS) != 0 ? 1 : 0;
  if (index == episodeNone) return 1 + begins;  // a block holds a record and a final state
  const Episode& episode = episodes_[index];
  const uint32_t own = needsBlock(episode) ? 1 : 0;
  if (episode.count == config_.segmentLength) return 1 + own + begins;
  const bool endNeedsBlock = (flags & EXRP_RECORD_ENDS) != 0 && store_.within(episode.count + 1) == 0;
  return own + (endNeedsBlock ? 1 : 0) + begins;
}

Status Replay::makeRoomForRecord(double handle, uint32_t flags, uint32_t* index) {
  if (ages_.isDue(recordedCount_)) {
    const Status status = evictAged();
    if (status != Status::ok) return status;
    if (*index != episodeNone && !isLive(*index, handle)) *index = episodeNone;
  }
  const uint32_t blockCount = blocksNeeded(*index, flags);
  // A record that cuts a segment takes a block.
  if (blockCount == 0 && flags == 0 && hasBytesForOne(*index)) return Status::ok;
  const bool cuts = *index != episodeNone && episodes_[*index].count == config_.segmentLength;
  const uint64_t finalStateCount = ((flags & EXRP_RECORD_ENDS) != 0 ? 1u : 0u) + (cuts ? 1u : 0u);
  const uint32_t position = *index == episodeNone || cuts ? 0 : episodes_[*index].count;
  const Status status = makeRoom(blockCount, 1, finalStateCount * bytes_.stateBytes() + bytes_.keptBytes(position), *index);
  if (status != Status::ok) return status;
  // Making room may have evicted this very episode, when it was the only one; then, or if it was gone before, a new one begins.
  if (*index != episodeNone && !isLive(*index, handle)) *index = episodeNone;
  return Status::ok;
}

/// The slot for a record of this state; where the episode is as long as one may be, it is cut, and `index` is its continuation.
uint32_t Replay::nextSlot(uint32_t* index, const uint8_t* state) {
  if (*index != episodeNone && episodes_[*index].count == config_.segmentLength) {
    endEpisodeAt(*index, state, EXRP_EPISODE_TRUNCATED);
    *index = episodeNone;
  }
  if (*index == episodeNone) *index = addEpisode();
  return appendSlot(*index);
}

/// From now on priorities are noted with records.
Status Replay::beginPriorities() {
  const size_t slotCountMax = size_t{store_.blockCountMax()} << store_.blockShift();
  return initial_.begin(slotCountMax, size_t{store_.highWater()} << store_.blockShift());
}

/// `priorities` are doubles, of which those from `first` on are looked at.
Status Replay::checkPriorities(const uint8_t* priorities, uint32_t first, uint32_t count) const {
  for (uint32_t at = first; at < count; ++at) {
    const double priority = realAt(priorities + size_t{at} * sizeof(double));
    if (!(priority >= 0 && priority <= 0x1.fffffffffffffp1023)) return fail(Status::priorityInvalid, at, priority);
  }
  return Status::ok;
}

/// How many of `count` records that follow the next one go where it goes: into its block, with nothing to make room for or to cut.
uint32_t Replay::recordsAlike(uint32_t index, uint32_t count) const {
  if (store_.keptCount() > 0) return 0;
  const uint32_t position = episodes_[index].count;
  uint64_t alike = store_.blockLength() - 1 - store_.within(position);
  const uint64_t limits[] = {count, uint64_t{config_.segmentLength} - 1 - position, bytes_.recordMax() - recordCount_ - 1,
                             ages_.recordsLeft(recordedCount_) - 1};
  for (const uint64_t limit : limits) alike = limit < alike ? limit : alike;
  return static_cast<uint32_t>(alike);
}

/// Counts the `count` records that were copied to the next slots, all in one block; `priorities` are doubles, or null. After it, `index`
/// is the episode to go on with.
void Replay::finishRecords(uint32_t* index, uint32_t count, const uint8_t* priorities, uint32_t flags, const uint8_t* finalState) {
  Episode& episode = episodes_[*index];
  const uint32_t countBefore = episode.count;
  if (initial_.inUse()) {
    const uint32_t slot = store_.slotAt(episode.lastBlock, countBefore);
    for (uint32_t k = 0; k < count; ++k) {
      initial_.set(slot + k, priorities == nullptr ? InitialPriorities::none : realAt(priorities + k * sizeof(double)));
    }
  }
  bytes_.recordAdded(countBefore);  // where it matters, they come one by one
  episode.count += count;
  recordCount_ += count;
  recordedCount_ += count;
  pushAllPicks(*index, countBefore);
  if ((flags & EXRP_RECORD_ENDS) != 0) endEpisodeAt(*index, finalState, endState(flags));
  if ((flags & EXRP_RECORD_BEGINS) != 0) *index = addEpisode();
}

// ---- one record ----

Status Replay::record(uint8_t* row, uint32_t flags) {
  double handle = 0;
  memcpy(&handle, row, sizeof handle);
  const bool hasPriority = (flags & EXRP_RECORD_PRIORITY) != 0;
  flags &= ~uint32_t{EXRP_RECORD_PRIORITY};
  if (!flagsPossible(flags, endFlags | EXRP_RECORD_BEGINS)) return fail(Status::argument, 4, flags);
  uint32_t index = episodeNone;
  Status status = openEpisode(handle, &index);
  if (status == Status::ok && hasPriority) {
    status = checkPriorities(row + rowPriorityOffset, 0, 1);
    if (status == Status::ok) status = beginPriorities();
  }
  if (status != Status::ok) return status;
  if (flags != 0 || blocksNeeded(index, flags) > 0 || !hasBytesForOne(index) || ages_.isDue(recordedCount_) || !hasRoomForOne()) {
    status = prepareRecord();
    if (status == Status::ok) status = makeRoomForRecord(handle, flags, &index);
    if (status != Status::ok) return status;
  }
  const uint32_t slot = nextSlot(&index, row + rowColumns_[0]);
  for (uint32_t group = 0; group < store_.groupCount(); ++group) {
    memcpy(store_.groupRow(group, slot), row + rowGroups_[group], store_.groupStride(group));
  }
  for (uint32_t kept = 0; kept < store_.keptCount(); ++kept) {
    const uint32_t column = store_.keptColumn(kept);
    copyKept(index, column, row + rowColumns_[column]);
  }
  finishRecords(&index, 1, hasPriority ? row + rowPriorityOffset : nullptr, flags, row + rowFinalState_);
  handle = handleAt(index);
  memcpy(row, &handle, sizeof handle);
  return Status::ok;
}

// ---- many records in one call ----

Status Replay::checkSteps(uint32_t count, double stepsBytes, double bytesNeeded, uint32_t first) const {
  if (stepsBytes < bytesNeeded) return fail(Status::bufferSize, stepsBytes, bytesNeeded);
  return first < count ? Status::ok : fail(Status::argument, 7, first);
}

/// How many of `count` records one call stores: with a journal open not more than it has room for.
uint32_t Replay::recordsAtOnce(uint32_t count) {
  return count > journalRecordsMax && journalOpen() ? journalRecordsMax : count;
}

bool Replay::journalOpen() const {
  for (uint32_t table = 0; table < tableCount_; ++table) {
    if (tables_[table]->picks.journal().isOpen()) return true;
  }
  return false;
}

/// Keeps a row of a column that not all records keep, where the episode's next record is one that does.
void Replay::copyKept(uint32_t index, uint32_t column, const uint8_t* from) {
  const Episode& episode = episodes_[index];
  if (episode.count % store_.column(column).every != 0) return;
  memcpy(store_.keptAt(column, episode.lastBlock, episode.count), from, store_.column(column).bytes);
}

void Replay::findColumns(const uint8_t* steps, const StepsLayout& layout, StepColumns* columns) {
  for (uint32_t column = 0; column < store_.columnCount(); ++column) {
    const uint8_t* from = steps + layout.columns[column];
    if (store_.isKept(column)) {
      columns->kept[columns->keptCount++] = {from, column};
    } else {
      columns->dense[columns->denseCount++] = {from, store_.at(column, 0), store_.stride(column), store_.column(column).bytes};
    }
  }
}

inline void Replay::copyStep(uint32_t index, uint32_t slot, const StepColumns& columns, size_t step) {
  for (uint32_t at = 0; at < columns.denseCount; ++at) {
    const StepColumns::Dense& column = columns.dense[at];
    copyRow(column.to + slot * column.stride, column.from + step * column.bytes, column.bytes);
  }
  for (uint32_t at = 0; at < columns.keptCount; ++at) {
    const StepColumns::Kept& column = columns.kept[at];
    copyKept(index, column.column, column.from + step * store_.column(column.column).bytes);
  }
}

/// Copies `count` steps from `first` on, all to one block; more than one only where no column is kept for some records only.
inline void Replay::copySteps(uint32_t index, uint32_t slot, const StepColumns& columns, size_t first, uint32_t count) {
  if (count == 1) return copyStep(index, slot, columns, first);
  for (uint32_t at = 0; at < columns.denseCount; ++at) {
    const StepColumns::Dense& column = columns.dense[at];
    copyRows(column.to + slot * column.stride, column.stride, column.from + first * column.bytes, column.bytes, column.bytes, count);
  }
}

/// Asks for the lines of the block index that the blocks of an episode's next `count` records, and of the one that follows, go to; of
/// very many records the first ones', as the caches would not keep more.
void Replay::prefetchIndex(uint32_t index, uint32_t count) const {
  if (count > recordsAskedFor) count = recordsAskedFor;
  uint64_t handle = nextHandle_;
  uint32_t position = 0;
  if (index != episodeNone) {
    handle = episodes_[index].handle;
    position = episodes_[index].count;
  }
  for (uint32_t ahead = 0; ahead < 2 && count > 0; ++ahead, handle = nextHandle_, position = 0) {
    const uint32_t fits = config_.segmentLength - position;
    const uint32_t taken = count < fits ? count : fits;
    const uint32_t firstNew = position == 0 ? 0 : store_.ordinalOf(position - 1) + 1;
    for (uint32_t ordinal = firstNew; ordinal <= store_.ordinalOf(position + taken); ++ordinal) index_.prefetchTable(handle, ordinal);
    count -= taken;
  }
}

Status Replay::recordMany(double* handle, const uint8_t* steps, double stepsBytes, uint32_t count, uint32_t flags, uint32_t* done) {
  if (count < 1 || count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  const bool hasPriorities = (flags & EXRP_RECORD_PRIORITY) != 0;
  flags &= ~uint32_t{EXRP_RECORD_PRIORITY};
  if (!flagsPossible(flags, endFlags | EXRP_RECORD_BEGINS)) return fail(Status::argument, 6, flags);
  const StepsLayout layout = layoutSteps(count);
  const uint32_t stateBytes = store_.column(0).bytes;
  const uint64_t needed = layout.finalState + (flags != 0 ? stateBytes : 0);
  const uint32_t first = *done;
  double current = *handle;
  uint32_t index = episodeNone;
  Status status = checkSteps(count, stepsBytes, static_cast<double>(needed), first);
  if (status == Status::ok) status = openEpisode(current, &index);
  if (status == Status::ok && hasPriorities) {
    status = checkPriorities(steps + layout.priorities, first, count);
    if (status == Status::ok) status = beginPriorities();
  }
  const uint32_t end = first + recordsAtOnce(count - first);
  const uint32_t left = end - first;
  const uint32_t episodeCount = left / config_.segmentLength + 3;
  // Each episode has one block that is not full, and its final state may take another.
  const uint32_t blockCount = left / config_.blockLength + 2 * episodeCount + blocksPerRecordMax;
  if (status == Status::ok) status = prepareRecords(left, episodeCount, blockCount);
  if (status != Status::ok) return status;

  StepColumns columns;
  findColumns(steps, layout, &columns);
  prefetchIndex(index, left);
  const uint8_t* const priorities = hasPriorities ? steps + layout.priorities : nullptr;
  uint32_t step = first;
  while (step < end) {
    const uint32_t own = step + 1 == count ? flags : 0;
    status = makeRoomForRecord(current, own, &index);
    if (status != Status::ok && step == first) return status;
    if (status != Status::ok) break;
    const uint32_t slot = nextSlot(&index, steps + layout.columns[0] + size_t{step} * stateBytes);
    // The last record of all, which may end the episode, comes alone.
    const uint32_t plainEnd = flags != 0 && end == count ? end - 1 : end;
    const uint32_t run = own != 0 ? 1 : 1 + recordsAlike(index, plainEnd - step - 1);
    copySteps(index, slot, columns, step, run);
    finishRecords(&index, run, priorities == nullptr ? nullptr : priorities + size_t{step} * sizeof(double), own, steps + layout.finalState);
    current = handleAt(index);
    step += run;
  }
  *handle = current;
  *done = step;
  return Status::ok;
}

/// The episodes of a batch's handles, in environments_; an error when one can't be recorded into, or is there twice.
Status Replay::findBatchEpisodes(const double* handles, uint32_t first, uint32_t count) {
  constexpr uint32_t seen = 0x80000000u;
  uint32_t* found = environments_.data();
  Status status = Status::ok;
  uint32_t end = first;
  for (; end < count && status == Status::ok; ++end) {
    const uint32_t guess = found[end];
    if (guess >= episodes_.highWater() || !isLive(guess, handles[end])) {
      found[end] = episodeNone;
      status = checkHandle(handles[end]);
      if (status == Status::ok) found[end] = findEpisode(handles[end]);
      if (found[end] == episodeNone) continue;
    }
    const Episode& episode = episodes_[found[end]];
    const uint32_t slot = store_.slotAt(episode.lastBlock, episode.count);
    prefetchLine(store_.groupRow(0, slot));
    for (uint32_t table = 0; table < tableCount_; ++table) tables_[table]->picks.prefetchPlace(slot);
    uint32_t& state = episodes_[found[end]].state;
    if ((state & seen) != 0) {
      uint32_t before = first;
      while (found[before] != found[end]) ++before;
      status = fail(Status::episodeTwice, handles[end], before, end);
    } else if (state != EXRP_EPISODE_OPEN) {
      status = fail(Status::episodeEnded, handles[end], episodes_[found[end]].count);
    } else {
      state |= seen;
    }
  }
  for (uint32_t at = first; at < end; ++at) {
    if (found[at] != episodeNone) episodes_[found[at]].state &= ~seen;
  }
  return status;
}

Status Replay::recordBatch(double* handles, const uint8_t* steps, double stepsBytes, uint32_t count, uint32_t flags, uint32_t* done) {
  if (count < 1 || count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  const bool hasPriorities = flags == EXRP_RECORD_PRIORITY;
  if (flags != 0 && !hasPriorities) return fail(Status::argument, 6, flags);
  const StepsLayout layout = layoutSteps(count);
  const size_t stateBytes = store_.column(0).bytes;
  const uint32_t first = *done;
  Status status = checkSteps(count, stepsBytes, static_cast<double>(layout.finalState), first);
  if (status != Status::ok) return status;
  const uint8_t* own = steps + layout.flags;
  uint32_t any = 0;
  for (uint32_t step = first; step < count; ++step) {
    if (!flagsPossible(own[step], endFlags | EXRP_RECORD_BEGINS)) return fail(Status::argument, 3, own[step]);
    any |= own[step];
  }
  const double needed = static_cast<double>(layout.finalState) + (any != 0 ? double{1} * count * static_cast<double>(stateBytes) : 0);
  if (stepsBytes < needed) return fail(Status::bufferSize, stepsBytes, needed);
  if (!environments_.commit(count)) return fail(Status::memory, 4.0 * count);
  status = findBatchEpisodes(handles, first, count);
  if (status == Status::ok && hasPriorities) {
    status = checkPriorities(steps + layout.priorities, first, count);
    if (status == Status::ok) status = beginPriorities();
  }
  const uint32_t end = first + recordsAtOnce(count - first);
  const uint64_t blockCount = uint64_t{end - first} * blocksPerRecordMax;
  const auto blocks = static_cast<uint32_t>(blockCount < store_.blockCountMax() ? blockCount : store_.blockCountMax());
  if (status == Status::ok) status = prepareRecords(end - first, 2 * (end - first), blocks);
  if (status != Status::ok) return status;

  StepColumns columns;
  findColumns(steps, layout, &columns);
  uint32_t step = first;
  for (; step < end; ++step) {
    uint32_t& index = environments_[step];
    // The records before may have evicted it, and its place in the table may be another's by now.
    if (index != episodeNone && !isLive(index, handles[step])) index = episodeNone;
    status = makeRoomForRecord(handles[step], own[step], &index);
    if (status != Status::ok && step == first) return status;
    if (status != Status::ok) break;
    const uint32_t slot = nextSlot(&index, steps + layout.columns[0] + step * stateBytes);
    copyStep(index, slot, columns, step);
    const uint8_t* const priority = hasPriorities ? steps + layout.priorities + size_t{step} * sizeof(double) : nullptr;
    finishRecords(&index, 1, priority, own[step], steps + layout.finalState + step * stateBytes);
    handles[step] = handleAt(index);
  }
  *done = step;
  return Status::ok;
}

// ---- the end of an episode ----

Status Replay::endEpisode(double handle, const uint8_t* finalState, uint32_t flags, uint32_t* ended) {
  if ((flags & ~uint32_t{EXRP_RECORD_TRUNCATED}) != 0) return fail(Status::argument, 5, flags);
  uint32_t index = episodeNone;
  Status status = openEpisode(handle, &index);
  if (status != Status::ok) return status;
  if (index != episodeNone && episodes_[index].count == 0) {
    // No record, so no pick could ever begin in it.
    removeEpisode(index);
    index = episodeNone;
  }
  if (index != episodeNone) {
    status = prepareRecord();
    if (status == Status::ok) status = makeRoom(needsBlock(episodes_[index]) ? 1 : 0, 0, bytes_.stateBytes(), index);
    if (status != Status::ok) return status;
    index = findEpisode(handle);
  }
  *ended = index != episodeNone;
  if (index != episodeNone) endEpisodeAt(index, finalState, endState(flags));
  return Status::ok;
}

}  // namespace exrp
