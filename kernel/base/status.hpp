// Status: the outcome of every operation that can fail, with the numbers of exrp.h.
//
// Cost: one int32. It carries no text; up to four numbers of detail are kept beside it (see error.hpp).
#pragma once

#include "kernel/exrp.h"

namespace exrp {

enum class Status : int32_t {
  ok = EXRP_STATUS_OK,
  argument = EXRP_STATUS_ARGUMENT,
  replayUnknown = EXRP_STATUS_REPLAY_UNKNOWN,
  episodeUnknown = EXRP_STATUS_EPISODE_UNKNOWN,
  selectorUnknown = EXRP_STATUS_SELECTOR_UNKNOWN,
  priorityInvalid = EXRP_STATUS_PRIORITY_INVALID,
  batchSize = EXRP_STATUS_BATCH_SIZE,
  bufferSize = EXRP_STATUS_BUFFER_SIZE,
  capacity = EXRP_STATUS_CAPACITY,
  pickIndex = EXRP_STATUS_PICK_INDEX,
  episodeTwice = EXRP_STATUS_EPISODE_TWICE,
  empty = EXRP_STATUS_EMPTY,
  episodeEnded = EXRP_STATUS_EPISODE_ENDED,
  full = EXRP_STATUS_FULL,
  order = EXRP_STATUS_ORDER,
  recordUnknown = EXRP_STATUS_RECORD_UNKNOWN,
  notSharable = EXRP_STATUS_NOT_SHARABLE,
  ticket = EXRP_STATUS_TICKET,
  revoked = EXRP_STATUS_REVOKED,
  held = EXRP_STATUS_HELD,
  rateLimiter = EXRP_STATUS_RATE_LIMITER,
  memory = EXRP_STATUS_MEMORY,
  limit = EXRP_STATUS_LIMIT,
  journalFull = EXRP_STATUS_JOURNAL_FULL,
  ordersFull = EXRP_STATUS_ORDERS_FULL,
  rateLimiterSize = EXRP_STATUS_RATE_LIMITER_SIZE,
  dataCorrupt = EXRP_STATUS_DATA_CORRUPT,
  dataMismatch = EXRP_STATUS_DATA_MISMATCH,
  tablesUnknown = EXRP_STATUS_TABLES_UNKNOWN,
  tableUnknown = EXRP_STATUS_TABLE_UNKNOWN,
  streamUnknown = EXRP_STATUS_STREAM_UNKNOWN,
  message = EXRP_STATUS_MESSAGE,
  messageEmpty = EXRP_STATUS_MESSAGE_EMPTY,
  chunkUnknown = EXRP_STATUS_CHUNK_UNKNOWN,
  chunksKept = EXRP_STATUS_CHUNKS_KEPT,
  itemPriority = EXRP_STATUS_ITEM_PRIORITY,
  itemBytes = EXRP_STATUS_ITEM_BYTES,
  itemEmpty = EXRP_STATUS_ITEM_EMPTY,
  itemSlice = EXRP_STATUS_ITEM_SLICE,
  damaged = EXRP_STATUS_DAMAGED,
  log = EXRP_STATUS_LOG,
};

}  // namespace exrp
