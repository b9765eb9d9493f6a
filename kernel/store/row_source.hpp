// RowSource: where the rows of a block are read from that are not in memory (PackedColumns::isAway).
//
// Who needs the rows of some blocks asks for them as a set. They stay in memory until the next set begins. A set may be as large as memory allows, so who needs
// more goes through them in parts.
//
// Thread safety: none of its own.
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
  /// Rows of a block are about to change. It stays in memory until it was written again.
  virtual void changing(uint32_t block) = 0;
  /// Lets blocks leave memory, so that rows can take so many bytes more.
  virtual Status makeRoom(uint64_t bytes) = 0;
};

}  // namespace exrp
