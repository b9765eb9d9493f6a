// Reading and changing records: how many each episode has, and the rows of one column wherever they lie.
//
// Lookups of rows go in pieces, so that the cache misses of many overlap. Everything is looked up and checked before the first row is copied: a
// call that fails has written and changed nothing.
//
// Thread safety: none of its own; calls on one replay are the caller's to serialise.
// Cost: about three misses of the cache for a run of rows, which overlap, and moving the bytes.
#pragma once

#include "kernel/calls/thread_scratch.hpp"
#include "kernel/replay/replay.hpp"

namespace exrp {

/// How many records each episode holds, the position of the oldest, and its state. An evicted one has none.
Status countRecords(const Replay& replay, const double* handles, uint32_t count, uint32_t* recordCounts, uint32_t* firstPositions,
                    uint32_t* states);

/// `runLength` rows of a column from each of `count` positions on.
Status getRows(const Replay& replay, ThreadScratch& thread, uint32_t column, const double* handles, const int32_t* positions, uint32_t count,
               uint32_t runLength, uint8_t* rows, double rowsBytes);

/// Checks rows that are to be overwritten, and takes the memory for it: then setRows() of these can't fail.
Status prepareRows(Replay& replay, ThreadScratch& thread, uint32_t column, const double* handles, const int32_t* positions, uint32_t count);

/// Overwrites a column of the record at each of `count` positions, in order. Records that are gone are skipped; `updated` counts the others.
Status setRows(Replay& replay, ThreadScratch& thread, uint32_t column, const double* handles, const int32_t* positions, uint32_t count,
               const uint8_t* rows, double rowsBytes, uint32_t* updated);

/// Overwrites one row of a packed column, of a record or a final state.
Status setPackedRow(EpisodeBook& book, uint32_t column, uint32_t slot, const uint8_t* row);

/// Whether each episode is open and has the next state of its newest record, and these states; only whether, where there are no bytes.
Status getNextStates(const Replay& replay, const double* handles, uint32_t count, uint8_t* there, uint8_t* states, double statesBytes);

/// The actor of each episode; 0 for an evicted one.
Status listActors(const Replay& replay, const double* handles, uint32_t count, uint32_t* actors);

}  // namespace exrp
