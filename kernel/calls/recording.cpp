// Recording, in its four ways. The file is long because they share their checks and the four steps of a record.
#include "kernel/calls/recording.hpp"

#include <cstring>

#include "kernel/base/copy_row.hpp"

namespace exrp {
namespace {

constexpr uint32_t endFlags = EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED;
/// Where the priority lies in the row of one record: after the handle.
constexpr uint32_t rowPriorityOffset = 8;
/// Records stored in one call while a journal is open, which then has to be read.
constexpr uint32_t journalRecordsMax = 65536;
constexpr uint32_t pieceBytes = 1 << 18;  // of large rows that are copied after the call
/// The lines of the block index are asked for at the beginning of a call, for at most this many records.
constexpr uint32_t recordsAskedFor = 4096;

bool flagsPossible(uint32_t flags, uint32_t known) {
  return (flags & ~known) == 0 && (flags == 0 || (flags & EXRP_RECORD_ENDS) != 0);
}

/// Step `second` has the handle of a step before it, the first at `first` or behind it.
Status failTwice(const double* handles, uint32_t first, uint32_t second) {
  while (handles[first] != handles[second]) ++first;
  return fail(Status::episodeTwice, handles[second], first, second);
}

/// The tags of steps, where they have any.
class StepTags {
 public:
  StepTags(const uint8_t* tags, uint32_t flags) : tags_((flags & EXRP_RECORD_TAG) != 0 ? tags : nullptr) {}
  /// To be called where the episode of a step is known, and again where another one begins after it.
  void give(Replay& replay, uint32_t episode, uint32_t step) const {
    if (tags_ != nullptr) [[unlikely]] giveOne(replay, episode, step);
  }

 private:
  /// Apart, so that records without tags cost no more than the comparison.
  [[gnu::noinline, gnu::cold]] void giveOne(Replay& replay, uint32_t episode, uint32_t step) const {
    if (episode == episodeNone) return;
    int32_t tag = 0;
    memcpy(&tag, tags_ + size_t{step} * sizeof tag, sizeof tag);
    replay.tagFirst(episode, tag);
  }

  const uint8_t* tags_;
};

/// Parts begin at multiples of this, so that every element is aligned.
uint64_t padded(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }
uint32_t padded(uint32_t bytes) { return (bytes + 7) & ~7u; }

}  // namespace

// ---- layouts ----

/// The row of record(): the handle, the priority, a row of each of the store's groups as it lies there, the final state, the tag. Each begins
/// at a multiple of 8, so that every column is aligned to its element.
void Recording::create() {
  const Store& store = replay_.book().store();
  rowBytes_ = rowPriorityOffset + 8;
  for (uint32_t group = 0; group < store.groupCount(); ++group) {
    rowGroups_[group] = rowBytes_;
    rowBytes_ += padded(store.groupStride(group));
  }
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (store.isKept(column)) {
      rowColumns_[column] = rowBytes_;
      rowBytes_ += padded(store.column(column).bytes);
    } else {
      rowColumns_[column] = rowGroups_[store.column(column).group] + store.column(column).offset;
    }
  }
  rowFinalState_ = rowBytes_;
  rowBytes_ += padded(store.column(0).bytes);
  rowTag_ = rowBytes_;
  rowBytes_ += 8;
}

void Recording::rowLayout(double* offsets) const {
  offsets[EXRP_ROW_BYTES] = rowBytes_;
  offsets[EXRP_ROW_FINAL_STATE] = rowFinalState_;
  offsets[EXRP_ROW_PRIORITY] = rowPriorityOffset;
  offsets[EXRP_ROW_TAG] = rowTag_;
  for (uint32_t index = 0; index < replay_.book().store().columnCount(); ++index) offsets[EXRP_ROW_COLUMN + index] = rowColumns_[index];
}

/// Flags, priorities, tags, columns, and final states at the end, of which only as many have to be there as are read.
Recording::StepsLayout Recording::layoutSteps(uint32_t count) const {
  StepsLayout layout;
  layout.flags = 0;
  layout.priorities = padded(count);
  layout.tags = layout.priorities + uint64_t{count} * sizeof(double);
  uint64_t offset = layout.tags + padded(uint64_t{count} * sizeof(int32_t));
  for (uint32_t index = 0; index < replay_.book().store().columnCount(); ++index) {
    layout.columns[index] = offset;
    offset += padded(uint64_t{count} * replay_.book().store().column(index).bytes);
  }
  layout.finalState = offset;
  return layout;
}

Status Recording::stepsLayout(uint32_t count, double* offsets) const {
  if (count < 1 || count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  const StepsLayout layout = layoutSteps(count);
  offsets[EXRP_STEPS_FLAGS] = static_cast<double>(layout.flags);
  offsets[EXRP_STEPS_FINAL_STATE] = static_cast<double>(layout.finalState);
  offsets[EXRP_STEPS_PRIORITY] = static_cast<double>(layout.priorities);
  offsets[EXRP_STEPS_TAG] = static_cast<double>(layout.tags);
  for (uint32_t index = 0; index < replay_.book().store().columnCount(); ++index) {
    offsets[EXRP_STEPS_COLUMN + index] = static_cast<double>(layout.columns[index]);
  }
  return Status::ok;
}

// ---- one record ----

/// `priorities` are doubles, of which those from `first` on are looked at.
Status Recording::checkPriorities(const uint8_t* priorities, uint32_t first, uint32_t count) const {
  for (uint32_t at = first; at < count; ++at) {
    const double priority = priorityAt(priorities, at);
    if (!isPriority(priority)) return fail(Status::priorityInvalid, at, priority);
  }
  return Status::ok;
}

/// Keeps a row of a column that not all records keep, where the episode's next record is one that does.
void Recording::copyKept(uint32_t episode, uint32_t column, const uint8_t* from) {
  const Episode& entry = replay_.book().episodes()[episode];
  Store& store = replay_.book().store();
  if (entry.count % store.column(column).every != 0) return;
  memcpy(store.kept().at(column, entry.lastBlock, entry.count), from, store.column(column).bytes);
}

/// Copies a record within a call that has the lock of a shared replay, and leaves its large rows for later. It is apart from record(), as that
/// needs fewer registers without it.
[[gnu::noinline]] void Recording::copyShared(uint32_t slot, const uint8_t* row) {
  Store& store = replay_.book().store();
  CopyQueue& copies = *store.copies();
  for (uint32_t group = 0; group < store.groupCount(); ++group) {
    uint8_t* const to = store.groupRow(group, slot);
    const uint8_t* const from = row + rowGroups_[group];
    const size_t bytes = store.groupStride(group);
    const bool isLater = group >= store.firstAloneGroup() && bytes >= CopyQueue::bytesMin;
    if (isLater && copies.add(to, nullptr, from, bytes)) copies.write();
    else memcpy(to, from, bytes);
  }
}

Status Recording::record(uint8_t* row, uint32_t flags) {
  double handle = 0;
  memcpy(&handle, row, sizeof handle);
  const bool hasPriority = (flags & EXRP_RECORD_PRIORITY) != 0;
  const bool hasNextState = (flags & EXRP_RECORD_NEXT_STATE) != 0;
  const StepTags tags(row + rowTag_, flags);
  flags &= ~uint32_t{EXRP_RECORD_PRIORITY | EXRP_RECORD_NEXT_STATE | EXRP_RECORD_TAG};
  if (!flagsPossible(flags, endFlags | EXRP_RECORD_BEGINS)) return fail(Status::argument, 4, flags);
  uint32_t episode = episodeNone;
  Status status = replay_.openEpisode(handle, guessFor(handle), &episode);
  if (status == Status::ok && hasPriority) {
    status = checkPriorities(row + rowPriorityOffset, 0, 1);
    if (status == Status::ok) status = replay_.picks().reservePriorities(replay_.book().store());
  }
  const bool asItIs = status == Status::ok && replay_.fitsAsItIs(episode, flags);
  NextStates& nextStates = replay_.part<NextStates>();
  if (status == Status::ok && hasNextState && !(asItIs && nextStates.has(episode))) status = replay_.reserveNextStates(2, 1);
  if (status != Status::ok) return status;
  if (!asItIs) {
    status = replay_.prepareRecord();
    if (status == Status::ok) status = replay_.makeRoomForRecord(handle, flags, &episode);
    if (status != Status::ok) return status;
  }
  if (hasPriority) replay_.picks().initialPriorities().begin();
  Store& store = replay_.book().store();
  const uint32_t slot = replay_.takeSlot(&episode, row + rowColumns_[0]);
  tags.give(replay_, episode, 0);
  if (store.copies() != nullptr) {
    copyShared(slot, row);
  } else {
    for (uint32_t group = 0; group < store.groupCount(); ++group) {
      memcpy(store.groupRow(group, slot), row + rowGroups_[group], store.groupStride(group));
    }
  }
  for (uint32_t kept = 0; kept < store.kept().count(); ++kept) {
    const uint32_t column = store.kept().column(kept);
    copyKept(episode, column, row + rowColumns_[column]);
  }
  replay_.publish(&episode, 1, hasPriority ? row + rowPriorityOffset : nullptr, flags, row + rowFinalState_);
  tags.give(replay_, episode, 0);
  if (hasNextState && flags == 0) nextStates.set(episode, replay_.book().episodes()[episode].count, row + rowFinalState_);
  handle = replay_.book().handleAt(episode);
  guessFor(handle) = episode;
  memcpy(row, &handle, sizeof handle);
  return Status::ok;
}

// ---- many records of one episode ----

Status Recording::checkSteps(uint32_t count, double stepsBytes, double bytesNeeded, uint32_t first) const {
  if (stepsBytes < bytesNeeded) return fail(Status::bufferSize, stepsBytes, bytesNeeded);
  return first < count ? Status::ok : fail(Status::argument, 7, first);
}

/// How many of `count` records one call stores: with a journal open not more than it has room for.
/// On a shared replay, large rows come in pieces, so that who draws the first ones need not wait for the last to be there.
uint32_t Recording::recordsAtOnce(uint32_t count) const {
  if (replay_.book().store().copies() != nullptr) {
    const uint32_t most = pieceBytes / replay_.book().store().recordBytes() + 1;
    if (most < count && replay_.book().store().recordBytes() >= CopyQueue::bytesMin) count = most;
  }
  return count > journalRecordsMax && replay_.picks().isJournalOpen() ? journalRecordsMax : count;
}

void Recording::findColumns(const uint8_t* steps, const StepsLayout& layout, StepColumns* columns) {
  Store& store = replay_.book().store();
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    const uint8_t* from = steps + layout.columns[column];
    if (store.isKept(column)) {
      columns->kept[columns->keptCount++] = {from, column};
      continue;
    }
    const bool isLater = store.copies() != nullptr && store.isAlone(column) && store.column(column).bytes >= CopyQueue::bytesMin;
    StepColumns::Dense& place = isLater ? columns->large[columns->largeCount++] : columns->dense[columns->denseCount++];
    place = {from, store.at(column, 0), store.stride(column), store.column(column).bytes};
  }
  if (columns->largeCount == 0) return;
  columns->copies = store.copies();
  columns->copies->write();
}

/// Leaves the large columns of `count` steps, all to one block, for later.
void Recording::copyLater(uint32_t slot, const StepColumns& columns, size_t first, uint32_t count) {
  for (uint32_t at = 0; at < columns.largeCount; ++at) {
    const StepColumns::Dense& column = columns.large[at];
    uint8_t* const to = column.to + slot * column.stride;
    const uint8_t* const from = column.from + first * column.bytes;
    const size_t bytes = count * column.bytes;
    if (!columns.copies->add(to, nullptr, from, bytes)) memcpy(to, from, bytes);
  }
}

inline void Recording::copyStep(uint32_t episode, uint32_t slot, const StepColumns& columns, size_t step) {
  for (uint32_t at = 0; at < columns.denseCount; ++at) {
    const StepColumns::Dense& column = columns.dense[at];
    copyRow(column.to + slot * column.stride, column.from + step * column.bytes, column.bytes);
  }
  if (columns.largeCount > 0) copyLater(slot, columns, step, 1);
  for (uint32_t at = 0; at < columns.keptCount; ++at) {
    const StepColumns::Kept& column = columns.kept[at];
    copyKept(episode, column.column, column.from + step * replay_.book().store().column(column.column).bytes);
  }
}

/// Copies `count` steps from `first` on, all to one block; more than one only where no column is kept for some records only.
inline void Recording::copySteps(uint32_t episode, uint32_t slot, const StepColumns& columns, size_t first, uint32_t count) {
  if (count == 1) return copyStep(episode, slot, columns, first);
  for (uint32_t at = 0; at < columns.denseCount; ++at) {
    const StepColumns::Dense& column = columns.dense[at];
    copyRows(column.to + slot * column.stride, column.stride, column.from + first * column.bytes, column.bytes, column.bytes, count);
  }
  if (columns.largeCount > 0) copyLater(slot, columns, first, count);
}

/// Asks for the lines of the block index that the blocks of an episode's next `count` records go to. It asks for those of the episode that follows,
/// too. Of very many records it asks for the first ones' only, as the caches would not keep more.
void Recording::prefetchBlocks(uint32_t episode, uint32_t count) const {
  if (count > recordsAskedFor) count = recordsAskedFor;
  const Store& store = replay_.book().store();
  uint64_t handle = replay_.book().nextHandle();
  uint32_t position = 0;
  if (episode != episodeNone) {
    handle = replay_.book().episodes()[episode].handle;
    position = replay_.book().episodes()[episode].count;
  }
  for (uint32_t ahead = 0; ahead < 2 && count > 0; ++ahead, handle = replay_.book().nextHandle(), position = 0) {
    const uint32_t fits = replay_.config().segmentLength - position;
    const uint32_t taken = count < fits ? count : fits;
    const uint32_t firstNew = position == 0 ? 0 : store.ordinalOf(position - 1) + 1;
    for (uint32_t ordinal = firstNew; ordinal <= store.ordinalOf(position + taken); ++ordinal) {
      replay_.book().blocks().prefetchTable(handle, ordinal);
    }
    count -= taken;
  }
}

Status Recording::recordMany(double* handle, const uint8_t* steps, double stepsBytes, uint32_t count, uint32_t flags, uint32_t* done) {
  if (count < 1 || count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  const bool hasPriorities = (flags & EXRP_RECORD_PRIORITY) != 0;
  const StepsLayout layout = layoutSteps(count);
  const StepTags tags(steps + layout.tags, flags);
  flags &= ~uint32_t{EXRP_RECORD_PRIORITY | EXRP_RECORD_TAG};
  if (!flagsPossible(flags, endFlags | EXRP_RECORD_BEGINS)) return fail(Status::argument, 6, flags);
  const uint32_t stateBytes = replay_.book().store().column(0).bytes;
  const uint64_t needed = layout.finalState + (flags != 0 ? stateBytes : 0);
  const uint32_t first = *done;
  double current = *handle;
  uint32_t episode = episodeNone;
  Status status = checkSteps(count, stepsBytes, static_cast<double>(needed), first);
  if (status == Status::ok) status = replay_.openEpisode(current, &episode);
  if (status == Status::ok && hasPriorities) {
    status = checkPriorities(steps + layout.priorities, first, count);
    if (status == Status::ok) status = replay_.picks().reservePriorities(replay_.book().store());
  }
  const uint32_t end = first + recordsAtOnce(count - first);
  const uint32_t left = end - first;
  const uint32_t episodeCount = left / replay_.config().segmentLength + 3;
  // Each episode has one block that is not full, and its final state may take another.
  const uint32_t blockCount = left / replay_.config().blockLength + 2 * episodeCount + blocksPerRecordMax;
  if (status == Status::ok) status = replay_.book().prepare(left, episodeCount, blockCount);
  if (status != Status::ok) return status;

  StepColumns columns;
  findColumns(steps, layout, &columns);
  prefetchBlocks(episode, left);
  const uint8_t* const priorities = hasPriorities ? steps + layout.priorities : nullptr;
  uint32_t step = first;
  while (step < end) {
    const uint32_t own = step + 1 == count ? flags : 0;
    status = replay_.makeRoomForRecord(current, own, &episode);
    if (status != Status::ok && step == first) return status;
    if (status != Status::ok) break;
    if (hasPriorities) replay_.picks().initialPriorities().begin();
    const uint32_t slot = replay_.takeSlot(&episode, steps + layout.columns[0] + size_t{step} * stateBytes);
    tags.give(replay_, episode, step);
    // The last record of all, which may end the episode, comes alone.
    const uint32_t plainEnd = flags != 0 && end == count ? end - 1 : end;
    const uint32_t run = own != 0 ? 1 : 1 + replay_.recordsAlike(episode, plainEnd - step - 1);
    copySteps(episode, slot, columns, step, run);
    replay_.publish(&episode, run, priorities == nullptr ? nullptr : priorities + size_t{step} * sizeof(double), own,
                    steps + layout.finalState);
    tags.give(replay_, episode, step);
    current = replay_.book().handleAt(episode);
    step += run;
  }
  *handle = current;
  *done = step;
  return Status::ok;
}

// ---- many records of many episodes, one after the other ----

/// Checks the flags of `count` steps, and counts what those from `first` to `end` need.
Status Recording::readFlags(const uint8_t* flags, uint32_t first, uint32_t end, uint32_t count, FlatNeeds* needs) const {
  constexpr uint32_t ends = EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS;
  const uint32_t blockLength = replay_.config().blockLength;
  uint32_t start = first;
  for (uint32_t step = 0; step < count; ++step) {
    const uint32_t own = flags[step];
    if (own == 0) continue;
    const bool isFinal = own == EXRP_RECORD_FINAL;
    if (!isFinal && (own & ~uint32_t{EXRP_RECORD_TRUNCATED}) != ends) return fail(Status::argument, 3, own);
    if (!isFinal) ++needs->ends;
    if (!isFinal && step < first) ++needs->endsBefore;
    if (step < first || step >= end) continue;
    // The records and their final state.
    needs->blockCount += (step + 1 - start + blockLength) / blockLength;
    ++needs->episodeCount;
    start = step + 1;
  }
  const uint32_t cuts = (end - first) / replay_.config().segmentLength;
  needs->episodeCount += cuts;
  needs->blockCount += (end - start) / blockLength + 2 * cuts + 2 + blocksPerRecordMax;
  return Status::ok;
}

Status Recording::recordFlat(double* handle, const uint8_t* steps, double stepsBytes, uint32_t count, uint32_t flags, uint32_t* done,
                             double* episodes) {
  if (count < 1 || count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  const bool hasPriorities = (flags & EXRP_RECORD_PRIORITY) != 0;
  if ((flags & ~uint32_t{EXRP_RECORD_PRIORITY | EXRP_RECORD_NEXT_STATE | EXRP_RECORD_TAG}) != 0) return fail(Status::argument, 6, flags);
  const StepsLayout layout = layoutSteps(count);
  const size_t stateBytes = replay_.book().store().column(0).bytes;
  const uint32_t first = done[0];
  uint32_t episodeCount = done[1];
  Status status = checkSteps(count, stepsBytes, static_cast<double>(layout.finalState), first);
  if (status != Status::ok) return status;
  if (episodeCount > first) return fail(Status::argument, 7, episodeCount);
  const uint32_t end = first + recordsAtOnce(count - first);
  const uint8_t* const own = steps + layout.flags;
  FlatNeeds needs;
  status = readFlags(own, first, end, count, &needs);
  if (status != Status::ok) return status;
  // The state after the last step, where its episode goes on.
  const bool hasNextState = (flags & EXRP_RECORD_NEXT_STATE) != 0 && own[count - 1] == 0;
  const size_t stateCount = needs.ends + (hasNextState ? 1u : 0u);
  status = checkSteps(count, stepsBytes, static_cast<double>(layout.finalState + stateCount * stateBytes), first);
  double current = *handle;
  uint32_t episode = episodeNone;
  if (status == Status::ok) status = replay_.openEpisode(current, &episode);
  if (status == Status::ok && hasPriorities) {
    status = checkPriorities(steps + layout.priorities, first, count);
    if (status == Status::ok) status = replay_.picks().reservePriorities(replay_.book().store());
  }
  if (status == Status::ok && hasNextState && end == count) status = replay_.reserveNextStates(needs.episodeCount, 1);
  if (status == Status::ok) status = replay_.book().prepare(end - first, needs.episodeCount, needs.blockCount);
  if (status != Status::ok) return status;

  StepColumns columns;
  findColumns(steps, layout, &columns);
  const StepTags tags(steps + layout.tags, flags);
  const uint8_t* const priorities = hasPriorities ? steps + layout.priorities : nullptr;
  const uint8_t* finalState = steps + layout.finalState + needs.endsBefore * stateBytes;
  double latest = episodeCount > 0 ? episodes[episodeCount - 1] : -1;
  uint32_t step = first;
  uint32_t flagged = first;  // the next step with flags, or the end
  while (step < end) {
    const uint8_t* const state = steps + layout.columns[0] + size_t{step} * stateBytes;
    status = own[step] == EXRP_RECORD_FINAL ? replay_.cutEpisode(current, state, &episode)
                                            : replay_.makeRoomForRecord(current, own[step], &episode);
    if (status != Status::ok && step == first) return status;
    if (status != Status::ok) break;
    if (own[step] == EXRP_RECORD_FINAL) {
      tags.give(replay_, episode, step);
      if (episode != episodeNone) current = replay_.book().handleAt(episode);
      flagged = ++step;
      continue;
    }
    if (flagged <= step) {
      flagged = step;
      while (flagged < end && own[flagged] == 0) ++flagged;
      prefetchBlocks(episode, flagged - step + 1);
    }
    if (hasPriorities) replay_.picks().initialPriorities().begin();
    const uint32_t slot = replay_.takeSlot(&episode, state);
    tags.give(replay_, episode, step);
    if (replay_.book().handleAt(episode) != latest) episodes[episodeCount++] = latest = replay_.book().handleAt(episode);
    const uint32_t run = own[step] != 0 ? 1 : 1 + replay_.recordsAlike(episode, flagged - step - 1);
    copySteps(episode, slot, columns, step, run);
    replay_.publish(&episode, run, priorities == nullptr ? nullptr : priorities + size_t{step} * sizeof(double), own[step], finalState);
    tags.give(replay_, episode, step);
    if (own[step] != 0) {
      finalState += stateBytes;
      flagged = step + 1;
    } else if (hasNextState && step + run == count) {
      replay_.part<NextStates>().set(episode, replay_.book().episodes()[episode].count, finalState);
    }
    current = replay_.book().handleAt(episode);
    step += run;
  }
  *handle = current;
  done[0] = step;
  done[1] = episodeCount;
  return Status::ok;
}

// ---- one record of each of many episodes ----

/// Finds the episodes of a batch's handles, into the thread's environments. It fails when one can't be recorded into, or is there twice.
Status Recording::findEnvironments(ThreadScratch& thread, const double* handles, uint32_t first, uint32_t count) {
  constexpr uint32_t seen = 0x80000000u;
  uint64_t seenOrphans[OrphanHandles::countMax / 64] = {};
  uint32_t* found = thread.environments.data();
  EpisodeList& episodes = replay_.book().episodes();
  Status status = Status::ok;
  uint32_t end = first;
  for (; end < count && status == Status::ok; ++end) {
    const uint32_t guess = found[end];
    if (guess >= episodes.highWater() || !replay_.book().isLive(guess, handles[end])) {
      found[end] = episodeNone;
      status = replay_.book().checkHandle(handles[end]);
      if (status == Status::ok) found[end] = replay_.book().findEpisode(handles[end]);
      if (status == Status::ok && found[end] == episodeNone) {
        const uint32_t orphan = replay_.part<OrphanHandles>().find(static_cast<uint64_t>(handles[end]));
        if (orphan == OrphanHandles::none) {
          status = replay_.book().failEnded(handles[end], episodeNone);
        } else if ((seenOrphans[orphan / 64] >> orphan % 64 & 1) != 0) {
          status = failTwice(handles, first, end);
        } else {
          seenOrphans[orphan / 64] |= uint64_t{1} << orphan % 64;
        }
      }
      if (found[end] == episodeNone) continue;
    }
    const Episode& entry = episodes[found[end]];
    const uint32_t slot = replay_.book().store().slotAt(entry.lastBlock, entry.count);
    prefetchLine(replay_.book().store().groupRow(0, slot));
    for (uint32_t view = 0; view < replay_.picks().viewCount(); ++view) replay_.picks().view(view).picks.prefetchIndexOf(slot);
    uint32_t& state = episodes[found[end]].state;
    if ((state & seen) != 0) {
      status = failTwice(handles, first, end);
    } else if (state != EXRP_EPISODE_OPEN) {
      status = replay_.book().failEnded(handles[end], found[end]);
    } else {
      state |= seen;
    }
  }
  for (uint32_t at = first; at < end; ++at) {
    if (found[at] != episodeNone) episodes[found[at]].state &= ~seen;
  }
  return status;
}

Status Recording::recordBatch(ThreadScratch& thread, double* handles, const uint8_t* steps, double stepsBytes, uint32_t count, uint32_t flags,
                              uint32_t* done) {
  if (count < 1 || count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  const bool hasPriorities = (flags & EXRP_RECORD_PRIORITY) != 0;
  const bool hasNextStates = (flags & EXRP_RECORD_NEXT_STATE) != 0;
  if ((flags & ~uint32_t{EXRP_RECORD_PRIORITY | EXRP_RECORD_NEXT_STATE | EXRP_RECORD_TAG}) != 0) return fail(Status::argument, 6, flags);
  const StepsLayout layout = layoutSteps(count);
  const size_t stateBytes = replay_.book().store().column(0).bytes;
  const uint32_t first = *done;
  Status status = checkSteps(count, stepsBytes, static_cast<double>(layout.finalState), first);
  if (status != Status::ok) return status;
  const uint8_t* own = steps + layout.flags;
  uint32_t any = 0;
  for (uint32_t step = first; step < count; ++step) {
    if (!flagsPossible(own[step], endFlags | EXRP_RECORD_BEGINS)) return fail(Status::argument, 3, own[step]);
    any |= own[step];
  }
  const bool readsStates = any != 0 || hasNextStates;
  const double needed = static_cast<double>(layout.finalState) + (readsStates ? double{1} * count * static_cast<double>(stateBytes) : 0);
  if (stepsBytes < needed) return fail(Status::bufferSize, stepsBytes, needed);
  if (!thread.environments.commit(count)) return fail(Status::memory, 4.0 * count);
  status = findEnvironments(thread, handles, first, count);
  if (status == Status::ok && hasPriorities) {
    status = checkPriorities(steps + layout.priorities, first, count);
    if (status == Status::ok) status = replay_.picks().reservePriorities(replay_.book().store());
  }
  const uint32_t end = first + recordsAtOnce(count - first);
  const uint64_t blockCount = uint64_t{end - first} * blocksPerRecordMax;
  const auto blocks = static_cast<uint32_t>(blockCount < replay_.book().store().blockCountMax() ? blockCount : replay_.book().store().blockCountMax());
  if (status == Status::ok && hasNextStates) status = replay_.reserveNextStates(2 * (end - first), end - first);
  if (status == Status::ok) status = replay_.book().prepare(end - first, 2 * (end - first), blocks);
  if (status != Status::ok) return status;

  StepColumns columns;
  findColumns(steps, layout, &columns);
  const StepTags tags(steps + layout.tags, flags);
  uint32_t step = first;
  for (; step < end; ++step) {
    uint32_t& episode = thread.environments[step];
    // The records before may have evicted it, and its index may be another's by now.
    if (episode != episodeNone && !replay_.book().isLive(episode, handles[step])) episode = episodeNone;
    status = replay_.makeRoomForRecord(handles[step], own[step], &episode);
    if (status != Status::ok && step == first) return status;
    if (status != Status::ok) break;
    if (hasPriorities) replay_.picks().initialPriorities().begin();
    const uint32_t slot = replay_.takeSlot(&episode, steps + layout.columns[0] + step * stateBytes);
    tags.give(replay_, episode, step);
    copyStep(episode, slot, columns, step);
    const uint8_t* const priority = hasPriorities ? steps + layout.priorities + size_t{step} * sizeof(double) : nullptr;
    const uint8_t* const nextState = steps + layout.finalState + step * stateBytes;
    replay_.publish(&episode, 1, priority, own[step], nextState);
    tags.give(replay_, episode, step);
    if (hasNextStates && own[step] == 0) replay_.part<NextStates>().set(episode, replay_.book().episodes()[episode].count, nextState);
    handles[step] = replay_.book().handleAt(episode);
  }
  *done = step;
  return Status::ok;
}

}  // namespace exrp
