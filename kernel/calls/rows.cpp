#include "kernel/calls/rows.hpp"

#include <cstring>

#include "kernel/base/copy_row.hpp"

namespace exrp {
namespace {

constexpr uint32_t prefetchDistance = 16;  // rows ahead

Status checkHandles(const Replay& replay, const double* handles, uint32_t count) {
  for (uint32_t index = 0; index < count; ++index) {
    const Status status = replay.book().checkHandle(handles[index]);
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

/// Calls `use(k, episode)` with the index of each handle's episode, or episodeNone, once all handles were checked.
template <typename Use>
Status forEpisodes(const Replay& replay, const double* handles, uint32_t count, Use use) {
  const Status status = checkHandles(replay, handles, count);
  for (uint32_t k = 0; status == Status::ok && k < count; ++k) use(k, replay.book().findEpisode(handles[k]));
  return status;
}

constexpr uint32_t slotGone = UINT32_MAX;

/// What findRows() looks for.
enum class Find {
  records,           // rows of records; all must be there
  states,            // the same, and final states
  recordsIfNotGone,  // rows of records; for one that is gone the slot is slotGone
};

/// The slot of the first row of each pair.
Status findRows(const Replay& replay, Find what, const double* handles, const int32_t* positions, uint32_t count, uint32_t runLength,
                uint32_t* slots) {
  const Status status = checkHandles(replay, handles, count);
  if (status != Status::ok) return status;
  const Store& store = replay.book().store();
  const EpisodeList& episodes = replay.book().episodes();
  uint32_t blocks[BlockIndex::findPiece];
  for (uint32_t first = 0; first < count; first += BlockIndex::findPiece) {
    const uint32_t end = count - first < BlockIndex::findPiece ? count : first + BlockIndex::findPiece;
    replay.book().blocks().findMany(
        store, end - first, [&](uint32_t k) { return static_cast<uint64_t>(handles[first + k]); },
        // A negative position is beyond every episode's end.
        [&](uint32_t k) { return store.ordinalOf(static_cast<uint32_t>(positions[first + k])); },
        [&](uint32_t k, uint32_t block) {
          blocks[k] = block;
          if (block != blockNone) prefetchLine(&episodes[store.head(block).episode]);
        });
    for (uint32_t at = first; at < end; ++at) {
      const uint32_t block = blocks[at - first];
      const uint32_t episode = block == blockNone ? replay.book().findEpisode(handles[at]) : store.head(block).episode;
      uint32_t rowsEnd = 0;
      uint32_t rowsBegin = 0;
      if (episode != episodeNone) {
        rowsEnd = what == Find::states ? replay.book().stateRows(episodes[episode]) : episodes[episode].count;
        rowsBegin = episodes.first(episode);
      }
      const bool isGone = episode == episodeNone || static_cast<uint32_t>(positions[at]) < rowsBegin;
      if (what == Find::recordsIfNotGone && isGone && positions[at] >= 0) {
        slots[at] = slotGone;
        continue;
      }
      const double past = double{1} * positions[at] + runLength;
      if (positions[at] < 0 || past > rowsEnd) return fail(Status::recordUnknown, at, handles[at], positions[at], rowsEnd);
      if (static_cast<uint32_t>(positions[at]) < rowsBegin) {
        return fail(Status::recordUnknown, at, handles[at], positions[at], -double{1} * rowsBegin);
      }
      slots[at] = store.slotAt(block, static_cast<uint32_t>(positions[at]));
    }
  }
  return Status::ok;
}

/// Of a column that not all records keep: where the row for the record at `position` was kept.
uint32_t keptPosition(const Store& store, uint32_t column, uint32_t position) { return position - position % store.column(column).every; }

/// The block that has this row; blockNone where the episode carries it.
uint32_t keptBlock(const Replay& replay, double handle, uint32_t kept) {
  const Store& store = replay.book().store();
  return replay.book().blocks().find(store, static_cast<uint64_t>(handle), store.ordinalOf(kept));
}

/// The row of a column that not all records keep, for the record at `position`: that of the newest one kept at or before it.
const uint8_t* keptRow(const Replay& replay, uint32_t column, double handle, uint32_t position) {
  const Store& store = replay.book().store();
  const uint32_t kept = keptPosition(store, column, position);
  const uint32_t block = keptBlock(replay, handle, kept);
  return block == blockNone ? store.kept().carriedAt(column, replay.book().findEpisode(handle)) : store.kept().at(column, block, kept);
}

void copyKeptRows(const Replay& replay, uint32_t column, const double* handles, const int32_t* positions, uint32_t count,
                  uint32_t runLength, uint8_t* rows) {
  const size_t bytes = replay.book().store().column(column).bytes;
  for (uint32_t index = 0; index < count; ++index) {
    const auto first = static_cast<uint32_t>(positions[index]);
    for (uint32_t run = 0; run < runLength; ++run, rows += bytes) memcpy(rows, keptRow(replay, column, handles[index], first + run), bytes);
  }
}

/// Runs of rows, of which the first ones' slots are known.
void copyRuns(const Store& store, uint32_t column, const uint32_t* slots, uint32_t count, uint32_t runLength, uint8_t* rows) {
  const size_t bytes = store.column(column).bytes;
  const size_t stride = store.stride(column);
  const bool isPacked = store.isPacked(column);
  for (uint32_t index = 0; index < count; ++index) {
    if (!isPacked && index + prefetchDistance < count) prefetchLine(store.at(column, slots[index + prefetchDistance]));
    uint32_t slot = slots[index];
    for (uint32_t left = runLength; left > 0;) {
      const uint32_t inBlock = store.blockLength() - store.within(slot);
      const uint32_t run = left < inBlock ? left : inBlock;
      if (stride == bytes) memcpy(rows, store.at(column, slot), run * bytes);
      else store.readRows(column, slot, run, rows, bytes);
      rows += run * bytes;
      left -= run;
      if (left > 0) slot = store.firstSlot(store.block(store.blockOf(slot)).next);
    }
  }
}

/// The same, where blocks may be on the disk only: as many runs at a time as there is memory for the blocks of. Rows of a column that is not packed, once they were
/// read, never leave memory again.
Status copyRunsInParts(const Store& store, uint32_t column, const uint32_t* slots, uint32_t count, uint32_t runLength, uint8_t* rows) {
  RowSource& source = *store.source();
  const size_t runBytes = size_t{runLength} * store.column(column).bytes;
  const auto addBlocks = [&](uint32_t slot, bool isFirst) {
    uint32_t block = store.blockOf(slot);
    for (uint32_t left = runLength + store.within(slot);; left -= store.blockLength(), block = store.block(block).next) {
      if ((store.isPacked(column) || source.isUnread(block)) && !source.add(block, isFirst)) return false;
      if (left <= store.blockLength()) return true;
    }
  };
  for (uint32_t first = 0, end = 0; first < count; first = end) {
    source.begin();
    while (end < count && addBlocks(slots[end], end == first)) ++end;
    if (const Status status = source.fetch(); status != Status::ok) return status;
    copyRuns(store, column, slots + first, end - first, runLength, rows + first * runBytes);
  }
  source.begin();
  return Status::ok;
}

uint32_t blockOf(const Store& store, uint32_t slot) { return slot == slotGone ? blockNone : store.blockOf(slot); }

/// Reads the unread blocks of these rows of a column that is not packed: as many at a time as there is memory for.
Status readUnread(const Store& store, const uint32_t* slots, uint32_t count) {
  RowSource* const source = store.source();
  if (source == nullptr) [[likely]] return Status::ok;
  Status status = Status::ok;
  const auto add = [&](uint32_t slot, bool isFirst) {
    return slot == slotGone || !source->isUnread(store.blockOf(slot)) || source->add(store.blockOf(slot), isFirst);
  };
  for (uint32_t first = 0, end = 0; first < count && status == Status::ok; first = end) {
    source->begin();
    while (end < count && add(slots[end], end == first)) ++end;
    status = source->fetch();
  }
  source->begin();
  return status;
}

/// Takes the memory for overwriting these rows of a packed column. Each block may stay as large as a piece. Where blocks may be on the disk only, it reads them: all, as
/// they stay in memory until they are written again. There is room then for as many `columns` that gain as little as this one.
Status preparePackedRows(Store& store, uint32_t column, const uint32_t* slots, uint32_t count, uint32_t columns) {
  PackedColumn& packed = store.packed().of(column);
  RowSource* const source = store.source();
  if (source != nullptr) {
    source->begin();
    for (uint32_t index = 0; index < count; ++index) {
      if (slots[index] != slotGone) source->add(store.blockOf(slots[index]), true);
    }
    if (const Status status = source->fetch(); status != Status::ok) return status;
  }
  uint32_t openCount = 0;
  uint64_t growth = 2 * packed.pieceBytes();
  for (uint32_t index = 0; index < count; ++index) {
    const uint32_t block = blockOf(store, slots[index]);
    if (block == blockNone || packed.isOpen(block) || (index > 0 && blockOf(store, slots[index - 1]) == block)) continue;
    ++openCount;
    const uint64_t now = packed.blockBytes(block);
    growth += now < packed.pieceBytes() ? packed.pieceBytes() - now : 0;
  }
  if (!store.isBounded()) return packed.prepare(store.highWater(), openCount);
  // Changed rows may gain less than those before. They leave their piece at once.
  const Status status = source->makeRoom(growth * columns);
  return status == Status::ok ? packed.prepare(store.highWater(), openCount > 0 ? 1 : 0) : status;
}

/// Overwrites rows of a packed column. Where several in turn are of one block, it is unpacked and packed once.
Status setPackedRows(EpisodeBook& book, uint32_t column, const uint32_t* slots, uint32_t count, const uint8_t* rows, uint32_t* updated) {
  Store& store = book.store();
  PackedColumn& packed = store.packed().of(column);
  const size_t bytes = store.column(column).bytes;
  RowSource* const source = store.source();
  if (const Status status = preparePackedRows(store, column, slots, count, 1); status != Status::ok) {
    // The blocks that it has read may leave again.
    if (source != nullptr) source->begin();
    return status;
  }
  // Other seats may still copy from rows that are not packed.
  store.waitForCopies();
  *updated = 0;
  for (uint32_t index = 0; index < count;) {
    const uint32_t block = blockOf(store, slots[index]);
    if (block == blockNone) {
      ++index;
      continue;
    }
    book.changing(block, uint64_t{1} << column);
    if (source != nullptr) source->changing(block);
    const uint32_t rowCount = packed.isPacked(block) ? packed.packedCount(block) : 0;
    packed.reopen(block);
    for (; index < count && blockOf(store, slots[index]) == block; ++index) {
      memcpy(packed.row(block, store.within(slots[index])), rows + index * bytes, bytes);
      ++*updated;
    }
    packed.pack(block, rowCount);
  }
  if (source != nullptr) source->begin();
  return Status::ok;
}

/// The slots of rows that are to be overwritten; slotGone where a record is gone.
Status findRowsToSet(const Replay& replay, ThreadScratch& thread, uint32_t column, const double* handles, const int32_t* positions, uint32_t count) {
  if (column >= replay.book().store().columnCount()) return fail(Status::argument, 2, column);
  if (count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  if (!thread.indices.commit(count)) return fail(Status::memory, 4.0 * count);
  return findRows(replay, Find::recordsIfNotGone, handles, positions, count, 1, thread.indices.data());
}

}  // namespace

Status setPackedRow(EpisodeBook& book, uint32_t column, uint32_t slot, const uint8_t* row) {
  uint32_t updated = 0;
  return setPackedRows(book, column, &slot, 1, row, &updated);
}

Status listActors(const Replay& replay, const double* handles, uint32_t count, uint32_t* actors) {
  return forEpisodes(replay, handles, count,
                     [&](uint32_t k, uint32_t episode) { actors[k] = episode == episodeNone ? 0 : replay.book().episodes().actor(episode); });
}

Status countRecords(const Replay& replay, const double* handles, uint32_t count, uint32_t* recordCounts, uint32_t* firstPositions,
                    uint32_t* states) {
  const EpisodeList& episodes = replay.book().episodes();
  return forEpisodes(replay, handles, count, [&](uint32_t k, uint32_t episode) {
    const bool isGone = episode == episodeNone;
    recordCounts[k] = isGone ? 0 : episodes.recordCount(episode);
    firstPositions[k] = isGone ? 0 : episodes.first(episode);
    states[k] = isGone ? EXRP_EPISODE_EVICTED : uint32_t{episodes[episode].state};
  });
}

Status getRows(const Replay& replay, ThreadScratch& thread, uint32_t column, const double* handles, const int32_t* positions, uint32_t count,
               uint32_t runLength, uint8_t* rows, double rowsBytes) {
  const Store& store = replay.book().store();
  if (column >= store.columnCount()) return fail(Status::argument, 2, column);
  if (count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  if (runLength < 1) return fail(Status::argument, 6, runLength);
  const double needed = double{1} * count * runLength * static_cast<double>(store.column(column).bytes);
  if (rowsBytes < needed) return fail(Status::bufferSize, rowsBytes, needed);
  if (!thread.indices.commit(count)) return fail(Status::memory, 4.0 * count);
  uint32_t* const slots = thread.indices.data();
  const Status status = findRows(replay, column < store.leaves().count() ? Find::states : Find::records, handles, positions, count, runLength, slots);
  if (status != Status::ok) return status;
  if (store.isKept(column)) copyKeptRows(replay, column, handles, positions, count, runLength, rows);
  else if (store.source() != nullptr) return copyRunsInParts(store, column, slots, count, runLength, rows);
  else copyRuns(store, column, slots, count, runLength, rows);
  return Status::ok;
}

Status prepareRows(Replay& replay, ThreadScratch& thread, uint32_t column, const double* handles, const int32_t* positions, uint32_t count) {
  const Status status = findRowsToSet(replay, thread, column, handles, positions, count);
  Store& store = replay.book().store();
  if (status != Status::ok || store.isKept(column)) return status;
  if (!store.isPacked(column)) return readUnread(store, thread.indices.data(), count);
  // Others may be set before this one, and take their room first.
  const Status prepared = preparePackedRows(store, column, thread.indices.data(), count, store.packed().count());
  if (prepared != Status::ok && store.source() != nullptr) store.source()->begin();
  return prepared;
}

Status setRows(Replay& replay, ThreadScratch& thread, uint32_t column, const double* handles, const int32_t* positions, uint32_t count,
               const uint8_t* rows, double rowsBytes, uint32_t* updated) {
  EpisodeBook& book = replay.book();
  Store& store = book.store();
  const Status status = findRowsToSet(replay, thread, column, handles, positions, count);
  if (status != Status::ok) return status;
  const size_t bytes = store.column(column).bytes;
  const double needed = double{1} * count * static_cast<double>(bytes);
  if (rowsBytes < needed) return fail(Status::bufferSize, rowsBytes, needed);
  const uint32_t* const slots = thread.indices.data();
  if (store.isPacked(column)) return setPackedRows(book, column, slots, count, rows, updated);
  if (const Status read = store.isKept(column) ? Status::ok : readUnread(store, slots, count); read != Status::ok) return read;
  // Other seats may still copy from large rows.
  store.waitForCopies();
  *updated = 0;
  for (uint32_t index = 0; index < count; ++index, rows += bytes) {
    if (slots[index] == slotGone) continue;
    const auto position = static_cast<uint32_t>(positions[index]);
    const bool isKept = store.isKept(column);
    const uint32_t block = isKept ? keptBlock(replay, handles[index], keptPosition(store, column, position)) : store.blockOf(slots[index]);
    if (block != blockNone) book.changing(block, uint64_t{1} << column);
    // The kept row is the replay's own, which may change here.
    uint8_t* const row = isKept ? const_cast<uint8_t*>(keptRow(replay, column, handles[index], position)) : store.at(column, slots[index]);
    memcpy(row, rows, bytes);
    ++*updated;
  }
  return Status::ok;
}

Status getNextStates(const Replay& replay, const double* handles, uint32_t count, uint8_t* there, uint8_t* states, double statesBytes) {
  const NextStates& kept = replay.book().part<NextStates>();
  const StateLeaves& leaves = replay.book().store().leaves();
  uint64_t offsets[leafMax];
  const auto needed = static_cast<double>(leaves.layOut(0, count, offsets));
  if (statesBytes > 0 && statesBytes < needed) return fail(Status::bufferSize, statesBytes, needed);
  return forEpisodes(replay, handles, count, [&](uint32_t k, uint32_t episode) {
    const uint8_t* const state = episode == episodeNone ? nullptr : kept.find(episode, replay.book().episodes()[episode].count);
    there[k] = state != nullptr ? 1 : 0;
    if (state == nullptr || statesBytes == 0) return;
    const StateRef from = leaves.packed(state);
    for (uint32_t leaf = 0; leaf < leaves.count(); ++leaf) {
      const size_t bytes = leaves.bytes(leaf);
      memcpy(states + offsets[leaf] + k * bytes, from.leaf(leaf, bytes), bytes);
    }
  });
}

}  // namespace exrp
