// What a durable set of tables writes into its log: the types of frames, and the heads of their payloads. docs/internals/durable_format.md describes each.
//
// A table is deterministic: the same changes in the same order make the same table. So the log has the changes, a frame each, and the bytes of each
// chunk once, before the first item that needs it. No change depends on what is in a chunk, but on how large it is and which episode it is of.
//
// Thread safety: plain data.
#pragma once

#include "kernel/durable/durable_format.hpp"
#include "kernel/exrp.h"

namespace exrp {

/// Beside these, checkpointFrame and checkpointEndFrame are as in the log of a replay.
enum TablesFrame : uint32_t {
  chunkFrame = 1,         // the bytes of a chunk
  insertFrame = 2,        // LoggedItem, a LoggedChunk for each chunk, the trajectory
  removeFrame = 3,        // ItemChange
  priorityFrame = 4,      // ItemChange
  resetFrame = 5,         // ItemChange
  tableFrame = 7,         // of a checkpoint: LoggedTable, the headers of the sampler and the remover
  itemsFrame = 8,         // of a checkpoint: items one behind the other, each as in insertFrame, with what the sampler and the remover know of it
  rateLimiterFrame = 10,  // LoggedRateLimiter
  drawFrame = 11,         // LoggedDraw
  batchEndFrame = 12,     // LoggedDraw
  stateFrame = 13,        // the caller's own state
  movedFrame = 14,        // ChunkMove: a chunk was written again, right before
};

struct LoggedItem {
  uint64_t key;
  double priority;
  double own;  // priority for the remover, or NaN
  double insertedAt;
  uint32_t table;
  uint32_t timesSampled;
  uint32_t chunkCount;
  uint32_t trajectoryBytes;
};
struct LoggedChunk {
  uint64_t episode;
  uint32_t segment;  // of its frame
  uint32_t offset;
  uint32_t bytes;
  uint32_t zero;
};
struct ChunkMove {
  uint32_t fromSegment;
  uint32_t fromOffset;
  uint32_t segment;
  uint32_t offset;
};
struct ItemChange {
  uint32_t table;
  uint32_t index;
  double priority;
  double own;
};
struct LoggedDraw {
  uint32_t table;
  uint32_t count;
  uint64_t batch;
};
struct LoggedRateLimiter {
  uint64_t table;
  double numbers[EXRP_RATE_LIMITER_RULE_COUNT];
};
struct LoggedTable {
  uint32_t table;
  uint32_t size;
  int64_t inserts;
  int64_t samples;
  int64_t deletes;
  uint64_t uniqueSamples;
  uint64_t episodesDeleted;
  uint64_t batch;
  double rateLimiter[EXRP_RATE_LIMITER_RULE_COUNT];
  uint32_t samplerBytes;
  uint32_t removerBytes;
};
/// The caller's state follows.
struct TablesCheckpointHead {
  uint32_t version;
  uint32_t tableCount;
};

constexpr uint32_t tablesVersion = 1;

}  // namespace exrp
