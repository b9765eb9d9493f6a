// Store: the records themselves, as columns by slots. An episode takes its slots in blocks (block_pool.hpp).
//
//   episode 7: 21 records, ended (episode_list.hpp)
//      |  firstBlock                                       lastBlock
//      v                                                      |
//   block 40, ordinal 0            next                       v
//   +---+---+---+--   --+---+     ----->     block 12, ordinal 1
//   | 0 | 1 | 2 |  ...  | 15|     <-----     +---+---+--   --+---+---+---+--   --+---+
//   +---+---+---+--   --+---+    previous    | 16| 17|  ...  | 20| F |   |  ...  |   |
//   640  641             655                 +---+---+--   --+---+---+---+--   --+---+
//         ^                                  192  193                             207    <- slots
//         |
//   pick 3 of a view: the sequence that begins in slot 641 (pick_index.hpp: index 3 -> slot 641 -> index 3)
//
// In the boxes stand positions in the episode; F is the final state, in the slot after the last record.
// An episode and a position lead to a block by block_index.hpp; the slot is block * blockLength + position % blockLength. A slot leads
// back by its block, slot / blockLength: to the handle, and to the position, ordinal * blockLength + slot % blockLength.
//
// A record's small columns lie side by side, as one row of a group. So a random pick touches one run of memory instead of one for each
// column. A column of more than `columnAloneBytes` has a group of its own (measured in docs/internals/performance.md). A column that is kept for
// every nth record only stands apart (kept_columns.hpp).
//
// The store also keeps births (births.hpp).
//
// Thread safety: none of its own.
// Invariants: those of BlockPool, which says which blocks are taken.
// Cost: taking a block and giving back a chain are O(1). Memory comes in prepareBlocks(), before a block is taken.
// It does not know what an episode is.
#pragma once

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/base/prefetch.hpp"
#include "kernel/store/births.hpp"
#include "kernel/store/block_pool.hpp"
#include "kernel/store/column.hpp"
#include "kernel/store/copy_queue.hpp"
#include "kernel/store/kept_columns.hpp"
#include "kernel/store/state_leaves.hpp"

namespace exrp {

constexpr uint32_t columnMax = EXRP_LIMIT_COLUMNS;
/// Columns of more than this many bytes a record stand alone.
constexpr uint32_t columnAloneBytes = 128;

class Store : public BlockPool {
 public:
  /// `columns` has bytes, itemBytes and itemCount set; groups and offsets are decided here.
  /// There are at most `blockCountMax` blocks, and at least `blockCount` once the replay is full. `birthLength` is a power of two, at most
  /// blockLength; 0 stands for blockLength. The first `leafCount` columns are the leaves of the state.
  Status create(const Column* columns, uint32_t columnCount, uint32_t blockLength, uint32_t blockCountMax, uint32_t blockCount = 0,
                uint32_t birthLength = 0, uint32_t leafCount = 1);

  /// Takes the memory that the next `count` calls of takeBlock() need, and for their rows, for as many blocks as there are.
  Status prepareBlocks(uint32_t count);

  /// Good until the next prepareBlocks().
  uint8_t* at(uint32_t column, uint32_t slot) { return bases_[column] + size_t{slot} * strides_[column]; }
  const uint8_t* at(uint32_t column, uint32_t slot) const { return bases_[column] + size_t{slot} * strides_[column]; }
  size_t stride(uint32_t column) const { return strides_[column]; }

  /// The columns that are kept for some records only; at() is not for them.
  KeptColumns& kept() { return kept_; }
  const KeptColumns& kept() const { return kept_; }
  bool isKept(uint32_t column) const { return columns_[column].every > 1; }
  /// Whether the rows of a column stand one after another with nothing between them, each of more than columnAloneBytes.
  bool isAlone(uint32_t column) const { return columns_[column].bytes > columnAloneBytes && !isKept(column); }

  Births& births() { return births_; }
  const Births& births() const { return births_; }

  const Column& column(uint32_t index) const { return columns_[index]; }
  uint32_t columnCount() const { return columnCount_; }
  /// The state's columns, which come first; then come the action, the reward and extras.
  const StateLeaves& leaves() const { return leaves_; }
  uint32_t rewardColumn() const { return leaves_.count() + 1; }
  const Column& reward() const { return columns_[rewardColumn()]; }

  uint32_t groupCount() const { return groupCount_; }
  uint8_t* groupRow(uint32_t group, uint32_t slot) { return groups_[group].data() + size_t{slot} * groupStride_[group]; }
  const uint8_t* groupRow(uint32_t group, uint32_t slot) const {
    return groups_[group].data() + size_t{slot} * groupStride_[group];
  }
  uint32_t groupStride(uint32_t group) const { return groupStride_[group]; }

  /// The position of the record in a slot.
  uint32_t positionOf(uint32_t slot) const { return (head(blockOf(slot)).ordinal() << blockShift_) + within(slot); }
  uint32_t blockOf(uint32_t slot) const { return slot >> blockShift_; }
  uint32_t firstSlot(uint32_t block) const { return block << blockShift_; }
  uint32_t within(uint32_t slot) const { return slot & (blockLength_ - 1); }
  /// Slot of the record at `position`, whose block is `block`.
  uint32_t slotAt(uint32_t block, uint32_t position) const { return firstSlot(block) + (position & (blockLength_ - 1)); }
  uint32_t ordinalOf(uint32_t position) const { return position >> blockShift_; }

  uint32_t blockLength() const { return blockLength_; }
  uint32_t blockShift() const { return blockShift_; }
  /// Bytes of one record's columns, without those that not all records keep.
  uint32_t recordBytes() const { return recordBytes_; }
  /// Says what columns there are: the CRC-32C of each one's itemBytes, itemCount and every, and of how many leaves there are beside the first.
  uint32_t schema() const { return schema_; }
  double columnBytes() const {
    double bytes = kept_.memoryBytes();
    for (uint32_t group = 0; group < groupCount_; ++group) {
      bytes += groups_[group].takenBytes(uint64_t{highWater()} * blockLength_ * groupStride_[group]);
    }
    return bytes;
  }
  double indexBytes() const {
    return BlockPool::memoryBytes() + births_.memoryBytes(uint64_t{highWater()} << blockShift_);
  }

 private:
  void findBases();

  Column columns_[columnMax] = {};
  uint8_t* bases_[columnMax] = {};
  size_t strides_[columnMax] = {};
  uint32_t columnCount_ = 0;
  StateLeaves leaves_;
  ReservedArray<uint8_t> groups_[columnMax];
  uint32_t groupStride_[columnMax] = {};
  uint32_t groupCount_ = 0;
  uint32_t recordBytes_ = 0;
  uint32_t schema_ = 0;

  KeptColumns kept_;
  uint32_t blockLength_ = 0;
  uint32_t blockShift_ = 0;
  Births births_;
};

}  // namespace exrp
