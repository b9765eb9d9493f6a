// Reading records: how many an episode has, and the rows of one column wherever they lie.
//
// As in findPicks(), lookups go in pieces and in passes, so that the cache misses of many of them overlap. Everything is looked up and
// checked before the first row is copied: a call that fails has written nothing.

#include <cstring>

#include "kernel/base/copy_row.hpp"
#include "kernel/replay.hpp"

namespace exrp {
namespace {

constexpr uint32_t pieceMax = 64;
constexpr uint32_t prefetchDistance = 16;  // rows ahead

}  // namespace

Status Replay::countRecords(const double* handles, uint32_t count, uint32_t* recordCounts, uint32_t* states) const {
  for (uint32_t index = 0; index < count; ++index) {
    const Status status = checkHandle(handles[index]);
    if (status != Status::ok) return status;
  }
  for (uint32_t first = 0; first < count; first += pieceMax) {
    const uint32_t end = count - first < pieceMax ? count : first + pieceMax;
    const auto handleAt = [&](uint32_t at) { return static_cast<uint64_t>(handles[at]); };
    uint32_t found[pieceMax];
    for (uint32_t at = first; at < end; ++at) index_.prefetchTable(handleAt(at), 0);
    for (uint32_t at = first; at < end; ++at) index_.prefetchBlock(store_, handleAt(at), 0);
    for (uint32_t at = first; at < end; ++at) {
      found[at - first] = findEpisode(handles[at]);
      if (found[at - first] != episodeNone) prefetchLine(&episodes_[found[at - first]]);
    }
    for (uint32_t at = first; at < end; ++at) {
      const uint32_t index = found[at - first];
      recordCounts[at] = index == episodeNone ? 0 : episodes_[index].count;
      states[at] = index == episodeNone ? EXRP_EPISODE_EVICTED : episodes_[index].state;
    }
  }
  return Status::ok;
}

/// The slot of the first row of each pair, whose rows are all there.
Status Replay::findRows(uint32_t column, const double* handles, const int32_t* positions, uint32_t count, uint32_t runLength,
                        uint32_t* slots) const {
  for (uint32_t index = 0; index < count; ++index) {
    const Status status = checkHandle(handles[index]);
    if (status != Status::ok) return status;
  }
  uint32_t blocks[pieceMax];
  for (uint32_t first = 0; first < count; first += pieceMax) {
    const uint32_t end = count - first < pieceMax ? count : first + pieceMax;
    const auto handleAt = [&](uint32_t at) { return static_cast<uint64_t>(handles[at]); };
    // A negative position is beyond every episode's end.
    const auto ordinalAt = [&](uint32_t at) { return store_.ordinalOf(static_cast<uint32_t>(positions[at])); };
    for (uint32_t at = first; at < end; ++at) index_.prefetchTable(handleAt(at), ordinalAt(at));
    for (uint32_t at = first; at < end; ++at) index_.prefetchBlock(store_, handleAt(at), ordinalAt(at));
    for (uint32_t at = first; at < end; ++at) {
      blocks[at - first] = index_.find(store_, handleAt(at), ordinalAt(at));
      if (blocks[at - first] != blockNone) prefetchLine(&episodes_[store_.block(blocks[at - first]).episode]);
    }
    for (uint32_t at = first; at < end; ++at) {
      const uint32_t block = blocks[at - first];
      const uint32_t index = block == blockNone ? findEpisode(handles[at]) : store_.block(block).episode;
      uint32_t rowCount = 0;
      if (index != episodeNone) rowCount = column == 0 ? storedRows(episodes_[index]) : episodes_[index].count;
      const double past = double{1} * positions[at] + runLength;
      if (positions[at] < 0 || past > rowCount) return fail(Status::recordUnknown, at, handles[at], positions[at], rowCount);
      slots[at] = store_.slotAt(block, static_cast<uint32_t>(positions[at]));
    }
  }
  return Status::ok;
}

Status Replay::getRows(uint32_t column, const double* handles, const int32_t* positions, uint32_t count, uint32_t runLength,
                       uint8_t* rows, double rowsBytes) {
  if (column >= store_.columnCount()) return fail(Status::argument, 2, column);
  if (count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  if (runLength < 1) return fail(Status::argument, 6, runLength);
  const size_t bytes = store_.column(column).bytes;
  const double needed = double{1} * count * runLength * static_cast<double>(bytes);
  if (rowsBytes < needed) return fail(Status::bufferSize, rowsBytes, needed);
  if (!scratchIndex_.commit(count)) return fail(Status::memory, 4.0 * count);
  uint32_t* slots = scratchIndex_.data();
  const Status status = findRows(column, handles, positions, count, runLength, slots);
  if (status != Status::ok) return status;

  if (store_.isKept(column)) {
    for (uint32_t index = 0; index < count; ++index) {
      const auto first = static_cast<uint32_t>(positions[index]);
      for (uint32_t run = 0; run < runLength; ++run, rows += bytes) {
        const uint32_t kept = first + run - (first + run) % store_.column(column).every;
        const uint32_t block = index_.find(store_, static_cast<uint64_t>(handles[index]), store_.ordinalOf(kept));
        memcpy(rows, store_.keptAt(column, block, kept), bytes);
      }
    }
    return Status::ok;
  }
  const size_t stride = store_.stride(column);
  for (uint32_t index = 0; index < count; ++index) {
    if (index + prefetchDistance < count) prefetchLine(store_.at(column, slots[index + prefetchDistance]));
    uint32_t slot = slots[index];
    for (uint32_t left = runLength; left > 0;) {
      const uint32_t inBlock = store_.blockLength() - store_.within(slot);
      const uint32_t run = left < inBlock ? left : inBlock;
      const uint8_t* from = store_.at(column, slot);
      if (stride == bytes) memcpy(rows, from, run * bytes);
      else copyRows(rows, bytes, from, stride, bytes, run);
      rows += run * bytes;
      left -= run;
      if (left > 0) slot = store_.firstSlot(store_.block(store_.blockOf(slot)).next);
    }
  }
  return Status::ok;
}

}  // namespace exrp
