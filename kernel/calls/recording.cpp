// Recording, in its four ways. The file is long because they share their checks and the four steps of a record.
#include "kernel/calls/recording.hpp"

#include <cstring>

#include "kernel/base/copy_row.hpp"
#include "kernel/base/padded.hpp"

namespace exrp {
namespace {

constexpr uint32_t endFlags = EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED;
/// Records stored in one call while a journal is open, which then has to be read.
constexpr uint32_t journalRecordsMax = 65536;
constexpr uint32_t pieceBytes = 1 << 18;  // of large rows that are recorded under the lock at once
/// The lines of the block index are asked for at the beginning of a call, for at most this many records.
constexpr uint32_t recordsAskedFor = 4096;

/// Whether a record can have these flags, but for those that say what comes with it.
bool flagsPossible(uint32_t flags) {
  return (flags & ~(endFlags | EXRP_RECORD_BEGINS)) == 0 && (flags == 0 || (flags & EXRP_RECORD_ENDS) != 0);
}

/// Step `second` has the handle of a step before it, the first at `first` or behind it.
Status failTwice(const double* handles, uint32_t first, uint32_t second) {
  while (handles[first] != handles[second]) ++first;
  return fail(Status::episodeTwice, handles[second], first, second);
}

}  // namespace

// ---- layouts ----

/// The row of record(): the handle, the priority, a row of each of the store's groups as it lies there, the final state, the tag. Each begins
/// at a multiple of 8, so that every column is aligned to its element.
void Recording::create() {
  const Store& store = replay_.book().store();
  rowBytes_ = rowPriority + 8;
  for (uint32_t group = 0; group < store.groupCount(); ++group) {
    rowGroups_[group] = rowBytes_;
    rowBytes_ += padded(store.groupStride(group));
  }
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (store.isKept(column) || store.isPacked(column)) {
      rowColumns_[column] = rowBytes_;
      rowBytes_ += padded(store.column(column).bytes);
    } else {
      rowColumns_[column] = rowGroups_[store.column(column).group] + store.column(column).offset;
    }
  }
  rowBytes_ = padded(static_cast<uint32_t>(store.leaves().layOut(rowBytes_, 1, rowFinalState_)));
  rowTag_ = rowBytes_;
  rowBytes_ += 8;
}

void Recording::rowLayout(double* offsets) const {
  const Store& store = replay_.book().store();
  offsets[EXRP_ROW_BYTES] = rowBytes_;
  offsets[EXRP_ROW_FINAL_STATE] = static_cast<double>(rowFinalState_[0]);
  offsets[EXRP_ROW_PRIORITY] = rowPriority;
  offsets[EXRP_ROW_TAG] = rowTag_;
  double* to = offsets + EXRP_ROW_COLUMN;
  for (uint32_t index = 0; index < store.columnCount(); ++index) *to++ = static_cast<double>(rowColumns_[index]);
  for (uint32_t leaf = 1; leaf < store.leaves().count(); ++leaf) *to++ = static_cast<double>(rowFinalState_[leaf]);
}

/// Flags, priorities, tags, columns, and final states at the end, of which only as many have to be there as are read.
void Recording::layoutSteps(uint32_t count, StepsLayout* layout) const {
  layout->flags = 0;
  layout->priorities = padded(count);
  layout->tags = layout->priorities + uint64_t{count} * sizeof(double);
  uint64_t offset = layout->tags + padded(uint64_t{count} * sizeof(int32_t));
  for (uint32_t index = 0; index < replay_.book().store().columnCount(); ++index) {
    layout->columns[index] = offset;
    offset += padded(uint64_t{count} * replay_.book().store().column(index).bytes);
  }
  layout->finalStates = offset;
}

Status Recording::stepsLayout(uint32_t count, double* offsets) const {
  if (count < 1 || count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  StepsLayout layout;
  layoutSteps(count, &layout);
  offsets[EXRP_STEPS_FLAGS] = static_cast<double>(layout.flags);
  offsets[EXRP_STEPS_FINAL_STATE] = static_cast<double>(layout.finalStates);
  offsets[EXRP_STEPS_PRIORITY] = static_cast<double>(layout.priorities);
  offsets[EXRP_STEPS_TAG] = static_cast<double>(layout.tags);
  for (uint32_t index = 0; index < replay_.book().store().columnCount(); ++index) {
    offsets[EXRP_STEPS_COLUMN + index] = static_cast<double>(layout.columns[index]);
  }
  return Status::ok;
}

// ---- one record ----

/// Keeps a row of a column that not all records keep, where the episode's next record is one that does.
void Recording::copyKept(uint32_t episode, uint32_t column, const uint8_t* from) {
  const Episode& entry = replay_.book().episodes()[episode];
  Store& store = replay_.book().store();
  if (entry.count % store.column(column).every != 0) return;
  memcpy(store.kept().at(column, entry.lastBlock, entry.count), from, store.column(column).bytes);
}

/// Gives the episode of a step its tag, where steps have any. To be called where the episode is known, and again where another one begins after it.
inline void Recording::giveTag(const uint8_t* tags, uint32_t episode, uint32_t step) {
  if (tags != nullptr) [[unlikely]] giveOne(tags, episode, step);
}

/// Apart, so that records without tags cost no more than the comparison.
[[gnu::noinline, gnu::cold]] void Recording::giveOne(const uint8_t* tags, uint32_t episode, uint32_t step) {
  if (episode == episodeNone) return;
  int32_t tag = 0;
  memcpy(&tag, tags + size_t{step} * sizeof tag, sizeof tag);
  replay_.tagFirst(episode, tag);
}

Status Recording::record(uint8_t* row, uint32_t flags) {
  double handle = 0;
  memcpy(&handle, row, sizeof handle);
  const bool hasPriority = (flags & EXRP_RECORD_PRIORITY) != 0;
  const bool hasNextState = (flags & EXRP_RECORD_NEXT_STATE) != 0;
  const uint8_t* const tags = (flags & EXRP_RECORD_TAG) != 0 ? row + rowTag_ : nullptr;
  flags &= ~uint32_t{EXRP_RECORD_PRIORITY | EXRP_RECORD_NEXT_STATE | EXRP_RECORD_TAG};
  if (!flagsPossible(flags)) return fail(Status::argument, 4, flags);
  uint32_t episode = episodeNone;
  uint32_t& guess = guessFor(handle);
  Status status = replay_.openEpisode(handle, guess, &episode);
  if (status == Status::ok) status = readyPriorities(hasPriority ? row + rowPriority : nullptr, 0, 1);
  const bool asItIs = status == Status::ok && replay_.forgetting().fitsAsItIs(episode, flags) && replay_.picks().hasRoomForOne();
  NextStates& nextStates = replay_.book().part<NextStates>();
  if (status == Status::ok && hasNextState && !(asItIs && nextStates.has(episode))) status = replay_.reserveNextStates(2, 1);
  if (status != Status::ok) return status;
  if (!asItIs) {
    status = replay_.prepareRecord();
    if (status == Status::ok) status = replay_.forgetting().makeRoomForRecord(handle, flags, &episode);
    if (status != Status::ok) return status;
  }
  if (hasPriority) replay_.picks().initialPriorities().begin();
  Store& store = replay_.book().store();
  const uint32_t slot = asItIs ? replay_.book().nextSlot(episode) : replay_.takeSlot(&episode, [&] { return StateRef{row, rowColumns_, 0}; });
  giveTag(tags, episode, 0);
  for (uint32_t group = 0; group < store.groupCount(); ++group) {
    copyRow(store.groupRow(group, slot), row + rowGroups_[group], store.groupStride(group));
  }
  for (uint32_t packed = 0; packed < store.packed().count(); ++packed) {
    const uint32_t column = store.packed().column(packed);
    memcpy(store.rowAt(column, slot), row + rowColumns_[column], store.column(column).bytes);
  }
  for (uint32_t kept = 0; kept < store.kept().count(); ++kept) {
    const uint32_t column = store.kept().column(kept);
    copyKept(episode, column, row + rowColumns_[column]);
  }
  const auto finalState = [&] { return StateRef{row, rowFinalState_, 0}; };
  replay_.publish(&episode, 1, hasPriority ? row + rowPriority : nullptr, flags, finalState);
  giveTag(tags, episode, 0);
  if (hasNextState && flags == 0) nextStates.set(episode, replay_.book().episodes()[episode].count, finalState());
  const double next = replay_.book().handleAt(episode);
  (next == handle ? guess : guessFor(next)) = episode;
  memcpy(row, &next, sizeof next);
  return Status::ok;
}

// ---- many records ----

/// Checks what all calls of many steps have, and finds the parts. `known` are the flags that such a call may have.
Status Recording::openSteps(const uint8_t* bytes, double bytesCount, uint32_t count, uint32_t flags, uint32_t known, uint32_t first, Steps* steps) {
  if (count < 1 || count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  if ((flags & ~known) != 0) return fail(Status::argument, 6, flags);
  layoutSteps(count, &steps->layout);
  steps->bytes = bytes;
  steps->bytesCount = bytesCount;
  steps->flags = bytes + steps->layout.flags;
  steps->priorities = (flags & EXRP_RECORD_PRIORITY) != 0 ? bytes + steps->layout.priorities : nullptr;
  steps->tags = (flags & EXRP_RECORD_TAG) != 0 ? bytes + steps->layout.tags : nullptr;
  if (const Status status = placeFinalStates(steps, 0); status != Status::ok) return status;
  return first < count ? Status::ok : fail(Status::argument, 7, first);
}

/// Finds the states after the steps, and whether so many are there.
Status Recording::placeFinalStates(Steps* steps, uint64_t stateCount) const {
  const auto needed = static_cast<double>(replay_.book().store().leaves().layOut(steps->layout.finalStates, stateCount, steps->finalStates));
  return steps->bytesCount < needed ? fail(Status::bufferSize, steps->bytesCount, needed) : Status::ok;
}

/// Checks the priorities of the steps from `first` on, and takes the memory for them.
Status Recording::readyPriorities(const uint8_t* priorities, uint32_t first, uint32_t count) {
  if (priorities == nullptr) return Status::ok;
  for (uint32_t at = first; at < count; ++at) {
    const double priority = priorityAt(priorities, at);
    if (!isPriority(priority)) return fail(Status::priorityInvalid, at, priority);
  }
  return replay_.picks().reservePriorities(replay_.book().store());
}

/// Takes the memory for `count` records, and finds where their columns go.
Status Recording::prepareSteps(Steps* steps, uint32_t count, uint32_t episodeCount, uint32_t blockCount) {
  if (const Status status = replay_.book().prepare(count, episodeCount, blockCount); status != Status::ok) return status;
  Store& store = replay_.book().store();
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    const uint8_t* const from = steps->bytes + steps->layout.columns[column];
    if (store.isKept(column)) steps->kept[steps->keptCount++] = {from, column};
    else if (store.isPacked(column)) steps->packed[steps->packedCount++] = {from, column};
    else if (!store.doRowsComeLater()) steps->dense[steps->denseCount++] = {from, store.at(column, 0), store.stride(column), store.column(column).bytes};
  }
  return Status::ok;
}

/// Where the steps of one call end. With a journal open it stores no more than that has room for. Where threads share the replay, large rows come in
/// pieces, so that nobody waits for all of them.
uint32_t Recording::endOfCall(uint32_t first, uint32_t count) const {
  const Store& store = replay_.book().store();
  uint32_t most = replay_.picks().isJournalOpen() ? journalRecordsMax : count;
  if (*store.copiesPlace() != nullptr && store.recordBytes() >= CopyQueue::bytesMin) most = pieceBytes / store.recordBytes() + 1;
  return count - first < most ? count : first + most;
}

/// Makes the room that a step needs, and takes its slot. This and endRun() are inlined: a step of recordBatch() then takes 2 ns less.
EXRP_INLINE uint32_t Recording::beginRun(const Steps& steps, uint32_t step, uint32_t* episode) {
  if (steps.priorities != nullptr) replay_.picks().initialPriorities().begin();
  const uint32_t slot = replay_.takeSlot(episode, [&] { return steps.stateOf(step); });
  giveTag(steps.tags, *episode, step);
  return slot;
}

/// Copies `run` steps, all to one block from `slot` on, and publishes them; more than one only where no column is kept for some records only. Where
/// `flags` end the episode, `finalState` is the number of its state.
EXRP_INLINE void Recording::endRun(const Steps& steps, uint32_t step, uint32_t run, uint32_t slot, uint32_t flags, uint32_t finalState,
                              uint32_t* episode) {
  for (uint32_t at = 0; at < steps.denseCount; ++at) {
    const Steps::Dense& column = steps.dense[at];
    uint8_t* const to = column.to + slot * column.stride;
    const uint8_t* const from = column.from + size_t{step} * column.bytes;
    if (run == 1) copyRow(to, from, column.bytes);
    else copyRows(to, column.stride, from, column.bytes, column.bytes, run);
  }
  for (uint32_t at = 0; at < steps.packedCount; ++at) {
    const Steps::Kept& column = steps.packed[at];
    Store& store = replay_.book().store();
    const size_t bytes = store.column(column.column).bytes;
    memcpy(store.rowAt(column.column, slot), column.from + step * bytes, run * bytes);
  }
  for (uint32_t at = 0; at < steps.keptCount; ++at) {
    const Steps::Kept& column = steps.kept[at];
    copyKept(*episode, column.column, column.from + size_t{step} * replay_.book().store().column(column.column).bytes);
  }
  const uint8_t* const priorities = steps.priorities == nullptr ? nullptr : steps.priorities + size_t{step} * sizeof(double);
  replay_.publish(episode, run, priorities, flags, [&] { return steps.finalState(finalState); });
  giveTag(steps.tags, *episode, step);
}

// ---- many records, of one episode after the other ----

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

/// Records the steps from `first` to `end` of one episode after the other. `last` are the flags of the last of all `count` steps where they have
/// none each; `needs` says what they take at most. It lists the handles of episodes that get records, where `episodes` is not null.
Status Recording::recordRuns(double* handle, Steps& steps, const RunNeeds& needs, uint32_t first, uint32_t end, uint32_t count, uint32_t last,
                             double* episodes, uint32_t* done) {
  double current = *handle;
  uint32_t episode = episodeNone;
  Status status = replay_.openEpisode(current, &episode);
  if (status == Status::ok) status = readyPriorities(steps.priorities, first, count);
  if (status == Status::ok && needs.hasNextState && end == count) status = replay_.reserveNextStates(needs.episodeCount, 1);
  if (status == Status::ok) status = prepareSteps(&steps, end - first, needs.episodeCount, needs.blockCount);
  if (status != Status::ok) return status;

  const bool hasFlags = episodes != nullptr;
  const auto flagsOf = [&](uint32_t step) { return hasFlags ? steps.flags[step] : step + 1 == count ? last : 0; };
  uint32_t finalState = needs.endsBefore;
  uint32_t episodeCount = hasFlags ? done[1] : 0;
  double latest = episodeCount > 0 ? episodes[episodeCount - 1] : -1;
  uint32_t step = first;
  uint32_t flagged = first;  // the next step with flags, or the end
  while (step < end) {
    const uint32_t own = flagsOf(step);
    const bool isRecord = !hasFlags || own != EXRP_RECORD_FINAL;
    status = isRecord ? replay_.forgetting().makeRoomForRecord(current, own, &episode)
                      : replay_.cutEpisode(current, steps.stateOf(step), &episode);
    if (status != Status::ok && step == first) return status;
    if (status != Status::ok) break;
    if (!isRecord) {
      giveTag(steps.tags, episode, step);
      if (episode != episodeNone) current = replay_.book().handleAt(episode);
      flagged = ++step;
      continue;
    }
    if (flagged <= step) {
      flagged = hasFlags ? step : end - (last != 0 && end == count ? 1 : 0);
      while (hasFlags && flagged < end && steps.flags[flagged] == 0) ++flagged;
      prefetchBlocks(episode, flagged - step + 1);
    }
    const uint32_t slot = beginRun(steps, step, &episode);
    if (hasFlags && replay_.book().handleAt(episode) != latest) episodes[episodeCount++] = latest = replay_.book().handleAt(episode);
    const uint32_t run = own != 0 ? 1 : 1 + replay_.forgetting().recordsAlike(episode, flagged - step - 1);
    endRun(steps, step, run, slot, own, finalState, &episode);
    if (own != 0) {
      ++finalState;
      flagged = step + 1;
    } else if (needs.hasNextState && step + run == count) {
      replay_.book().part<NextStates>().set(episode, replay_.book().episodes()[episode].count, steps.finalState(finalState));
    }
    current = replay_.book().handleAt(episode);
    step += run;
  }
  *handle = current;
  done[0] = step;
  if (hasFlags) done[1] = episodeCount;
  return Status::ok;
}

Status Recording::recordMany(double* handle, const uint8_t* bytes, double bytesCount, uint32_t count, uint32_t flags, uint32_t* done) {
  Steps steps;
  const uint32_t first = *done;
  Status status = openSteps(bytes, bytesCount, count, flags, EXRP_RECORD_PRIORITY | EXRP_RECORD_TAG | endFlags | EXRP_RECORD_BEGINS, first, &steps);
  if (status != Status::ok) return status;
  const uint32_t last = flags & ~uint32_t{EXRP_RECORD_PRIORITY | EXRP_RECORD_TAG};
  if (!flagsPossible(last)) return fail(Status::argument, 6, last);
  if (last != 0) status = placeFinalStates(&steps, 1);
  if (status != Status::ok) return status;
  const uint32_t end = endOfCall(first, count);
  RunNeeds needs;
  needs.episodeCount = (end - first) / replay_.config().segmentLength + 3;
  // Each episode has one block that is not full, and its final state may take another.
  needs.blockCount = (end - first) / replay_.config().blockLength + 2 * needs.episodeCount + blocksPerRecordMax;
  return recordRuns(handle, steps, needs, first, end, count, last, nullptr, done);
}

/// Checks the flags of `count` steps, and counts what those from `first` to `end` need.
Status Recording::readFlags(const uint8_t* flags, uint32_t first, uint32_t end, uint32_t count, RunNeeds* needs) const {
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

Status Recording::recordFlat(double* handle, const uint8_t* bytes, double bytesCount, uint32_t count, uint32_t flags, uint32_t* done,
                             double* episodes) {
  Steps steps;
  const uint32_t first = done[0];
  Status status = openSteps(bytes, bytesCount, count, flags, EXRP_RECORD_PRIORITY | EXRP_RECORD_NEXT_STATE | EXRP_RECORD_TAG, first, &steps);
  if (status != Status::ok) return status;
  if (done[1] > first) return fail(Status::argument, 7, done[1]);
  const uint32_t end = endOfCall(first, count);
  RunNeeds needs;
  status = readFlags(steps.flags, first, end, count, &needs);
  // The state after the last step, where its episode goes on.
  needs.hasNextState = (flags & EXRP_RECORD_NEXT_STATE) != 0 && steps.flags[count - 1] == 0;
  if (status == Status::ok) status = placeFinalStates(&steps, uint64_t{needs.ends} + (needs.hasNextState ? 1 : 0));
  return status == Status::ok ? recordRuns(handle, steps, needs, first, end, count, 0, episodes, done) : status;
}

// ---- one record of each of many episodes ----

/// Finds the episodes of a batch's handles, into the thread's environments. It fails when one can't be recorded into, or is there twice.
Status Recording::findEnvironments(ThreadScratch& thread, const double* handles, uint32_t first, uint32_t count) {
  constexpr uint16_t seen = 0x8000;
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
        const uint32_t orphan = replay_.book().part<OrphanHandles>().find(static_cast<uint64_t>(handles[end]));
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
    uint16_t& state = episodes[found[end]].state;
    if ((state & seen) != 0) {
      status = failTwice(handles, first, end);
    } else if (state != EXRP_EPISODE_OPEN) {
      status = replay_.book().failEnded(handles[end], found[end]);
    } else {
      state = static_cast<uint16_t>(state | seen);
    }
  }
  for (uint32_t at = first; at < end; ++at) {
    if (found[at] != episodeNone) episodes[found[at]].state &= seen - 1;
  }
  return status;
}

Status Recording::recordBatch(ThreadScratch& thread, double* handles, const uint8_t* bytes, double bytesCount, uint32_t count, uint32_t flags,
                              uint32_t* done) {
  Steps steps;
  const uint32_t first = *done;
  Status status = openSteps(bytes, bytesCount, count, flags, EXRP_RECORD_PRIORITY | EXRP_RECORD_NEXT_STATE | EXRP_RECORD_TAG, first, &steps);
  if (status != Status::ok) return status;
  const bool hasNextStates = (flags & EXRP_RECORD_NEXT_STATE) != 0;
  const uint8_t* const own = steps.flags;
  uint32_t any = 0;
  for (uint32_t step = first; step < count; ++step) {
    if (!flagsPossible(own[step])) return fail(Status::argument, 3, own[step]);
    any |= own[step];
  }
  status = placeFinalStates(&steps, any != 0 || hasNextStates ? count : 0);
  if (status != Status::ok) return status;
  if (!thread.environments.commit(count)) return fail(Status::memory, 4.0 * count);
  status = findEnvironments(thread, handles, first, count);
  if (status == Status::ok) status = readyPriorities(steps.priorities, first, count);
  const uint32_t end = endOfCall(first, count);
  const uint64_t blockCount = uint64_t{end - first} * blocksPerRecordMax;
  const uint32_t blockCountMax = replay_.book().store().blockCountMax();
  if (status == Status::ok && hasNextStates) status = replay_.reserveNextStates(2 * (end - first), end - first);
  if (status == Status::ok) {
    status = prepareSteps(&steps, end - first, 2 * (end - first), blockCount < blockCountMax ? static_cast<uint32_t>(blockCount) : blockCountMax);
  }
  if (status != Status::ok) return status;

  uint32_t step = first;
  for (; step < end; ++step) {
    uint32_t& episode = thread.environments[step];
    // The records before may have evicted it, and its index may be another's by now.
    if (episode != episodeNone && !replay_.book().isLive(episode, handles[step])) episode = episodeNone;
    status = replay_.forgetting().makeRoomForRecord(handles[step], own[step], &episode);
    if (status != Status::ok && step == first) return status;
    if (status != Status::ok) break;
    const uint32_t slot = beginRun(steps, step, &episode);
    endRun(steps, step, 1, slot, own[step], step, &episode);
    if (hasNextStates && own[step] == 0) {
      replay_.book().part<NextStates>().set(episode, replay_.book().episodes()[episode].count, steps.finalState(step));
    }
    handles[step] = replay_.book().handleAt(episode);
  }
  *done = step;
  return Status::ok;
}

}  // namespace exrp
