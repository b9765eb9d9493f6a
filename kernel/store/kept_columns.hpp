// KeptColumns: the columns that are kept for every nth record of an episode only, apart from the others.
//
// A block has as many rows of such a column as there can be such records in it. A record has the newest row kept at or before it. A trimmed
// episode may still need the row of a block that went: it is carried, in a place of its own for each episode.
//
// Thread safety: none of its own.
// Invariants: none beyond the types.
// Cost: a row O(1), by two divisions. Memory comes in prepare() and prepareCarried(), before a row is written.
#pragma once

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/store/block_pool.hpp"
#include "kernel/store/column.hpp"

namespace exrp {

class KeptColumns {
 public:
  /// For columns of `columns`, in blocks of `blockLength` slots.
  void create(const Column* columns, const BlockPool& pool, uint32_t blockLength) {
    columns_ = columns;
    pool_ = &pool;
    blockLength_ = blockLength;
  }
  /// Takes in the column at `index`, for at most `blockCountMax` blocks, of which `blockCount` are expected. Its group is decided here.
  Status add(Column& column, uint32_t index, uint32_t blockCountMax, uint32_t blockCount);

  uint32_t count() const { return count_; }
  /// The index of the column that came `at`th.
  uint32_t column(uint32_t at) const { return indices_[at]; }

  /// The row for the record at `position`, a multiple of `every`, in block `block`.
  uint8_t* at(uint32_t column, uint32_t block, uint32_t position) {
    return rows_[columns_[column].group].data() + offsetOf(column, block, position);
  }
  const uint8_t* at(uint32_t column, uint32_t block, uint32_t position) const {
    return rows_[columns_[column].group].data() + offsetOf(column, block, position);
  }
  /// The row that an episode carries: the newest one kept before its first block.
  uint8_t* carriedAt(uint32_t column, uint32_t episode) {
    return carried_[columns_[column].group].data() + size_t{episode} * columns_[column].bytes;
  }
  const uint8_t* carriedAt(uint32_t column, uint32_t episode) const {
    return carried_[columns_[column].group].data() + size_t{episode} * columns_[column].bytes;
  }
  /// Carries what the block's records leave to those after them: it is the first of its episode, and goes.
  void carry(uint32_t block);
  /// Rows are about to be carried for an episode.
  void noteCarried(uint32_t episode) { carriedEnd_ = episode < carriedEnd_ ? carriedEnd_ : episode + 1; }

  /// Takes the memory for blocks below `blockCount`.
  Status prepare(uint32_t blockCount);
  /// Takes the memory for what episodes below `count` carry.
  Status prepareCarried(size_t count);
  /// Bytes of the pages in use.
  double memoryBytes() const;

 private:
  size_t offsetOf(uint32_t column, uint32_t block, uint32_t position) const {
    const Column& at = columns_[column];
    const uint32_t before = (pool_->heads()[block].ordinal() * blockLength_ + at.every - 1) / at.every;  // kept in earlier blocks
    return (size_t{block} * rowsEach_[at.group] + (position / at.every - before)) * at.bytes;
  }

  const Column* columns_ = nullptr;
  const BlockPool* pool_ = nullptr;
  uint32_t blockLength_ = 0;
  uint32_t indices_[EXRP_LIMIT_KEPT] = {};
  uint32_t count_ = 0;
  ReservedArray<uint8_t> rows_[EXRP_LIMIT_KEPT];
  uint32_t rowsEach_[EXRP_LIMIT_KEPT] = {};  // a block
  ReservedArray<uint8_t> carried_[EXRP_LIMIT_KEPT];
  uint32_t carriedEnd_ = 0;  // 1 more than the largest episode that ever carried rows
};

}  // namespace exrp
