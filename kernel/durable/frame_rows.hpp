// takeRows: the rows of a block out of a frame of the log that has them, into the memory of a replay.
//
// Thread safety: none of its own. Two threads may take the rows of two blocks at the same time, while nobody frees these blocks or moves the memory of rows.
// Cost: a copy of the bytes.
#pragma once

#include "kernel/log/log_status.hpp"
#include "kernel/store/logged_block.hpp"

namespace exrp {

/// Of a block: which rows it has, from its first slot on. Only a final state may stand behind its last record.
struct RowRange {
  explicit RowRange(const BlockRows& rows)
      : first(static_cast<uint16_t>(rows.first)), end(static_cast<uint16_t>(rows.first + rows.count)), recordEnd(static_cast<uint16_t>(end - rows.hasFinal)) {}
  RowRange() = default;
  uint16_t first;
  uint16_t end;
  uint16_t recordEnd;
};

/// The rows of one packed column, in memory of PackedColumn::newBytes().
struct RowPart {
  uint8_t* data;
  uint32_t bytes;
  uint32_t count;
};

/// Takes the rows of a block that has these now. Those of packed columns get memory of their own, and `parts` has one for each. The others are copied to their place only
/// where the block `isUnread`. `damaged`: the frame has no rows of this block; `memory`. Then no part has memory.
LogStatus takeRows(Store& store, uint32_t block, RowRange now, bool isUnread, uint32_t type, const uint8_t* payload, uint32_t bytes, RowPart* parts);

}  // namespace exrp
