// RowSource: where the rows of a block are read from that are not in memory. Of a block that is unread, as nobody needed it since the replay was opened, that is all
// of its rows, but for those of columns that only some records keep. Others may have left the memory of their packed columns (PackedColumns::isAway).
//
// Who needs the rows of some blocks asks for them as a set. They stay in memory until the next set begins. A set may be as large as memory allows, so who needs
// more goes through them in parts.
//
// Thread safety: that of the replay: one call at a time. A thread of the source's own may fill unread blocks meanwhile. So who frees a block or moves the memory of rows
// says so first.
// Invariants:
//   1. The blocks of a set that was fetched have their rows, until the next set begins.
#pragma once

#include "kernel/base/error.hpp"

namespace exrp {

class RowSource {
 public:
  virtual ~RowSource() = default;

  /// Begins a set. Blocks of the one before may leave memory from now on.
  virtual void begin() = 0;
  /// Adds a block. False, and nothing is added, where the set would take too much memory with it; one that `isFirst` is added anyway.
  virtual bool add(uint32_t block, bool isFirst) = 0;
  /// Reads those blocks of the set that are not in memory. Where that fails, some of them may be.
  virtual Status fetch() = 0;
  /// The same, of a set of one block.
  Status fetchOne(uint32_t block) {
    begin();
    add(block, true);
    return fetch();
  }
  /// Whether rows of a block are not in memory.
  virtual bool isMissing(uint32_t block) const = 0;
  /// Whether a block is unread.
  virtual bool isUnread(uint32_t block) const = 0;
  virtual bool hasUnread() const = 0;
  /// A block has gone, with all its rows.
  virtual void freed(uint32_t block) = 0;
  /// No other thread writes rows until resume(): their memory may move.
  virtual void pause() = 0;
  virtual void resume() = 0;
  /// Rows of a block are about to change. It stays in memory until it was written again.
  virtual void changing(uint32_t block) = 0;
  /// Lets blocks leave memory, so that rows can take so many bytes more.
  virtual Status makeRoom(uint64_t bytes) = 0;
};

}  // namespace exrp
