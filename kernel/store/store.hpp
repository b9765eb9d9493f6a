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
// every nth record only stands apart (kept_columns.hpp). So do wide columns with compression, and those of a replay that may be larger than memory
// (packed_columns.hpp): of these, `readRows` gives the rows wherever they are.
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
#include "kernel/store/packed_columns.hpp"
#include "kernel/store/row_source.hpp"
#include "kernel/store/state_leaves.hpp"

namespace exrp {

constexpr uint32_t columnMax = EXRP_LIMIT_COLUMNS;
/// Columns of more than this many bytes a record stand alone.
constexpr uint32_t columnAloneBytes = 128;

class Store : public BlockPool {
 public:
  /// `columns` has bytes, itemBytes and itemCount set; groups and offsets are decided here.
  /// There are at most `blockCountMax` blocks, and at least `blockCount` once the replay is full. `birthLength` is a power of two, at most
  /// blockLength; 0 stands for blockLength. The first `leafCount` columns are the leaves of the state. `compression` is EXRP_COMPRESSION_*. `canLeave`: rows of
  /// wide columns may leave memory, once there is a source for them.
  Status create(const Column* columns, uint32_t columnCount, uint32_t blockLength, uint32_t blockCountMax, uint32_t blockCount = 0,
                uint32_t birthLength = 0, uint32_t leafCount = 1, uint32_t compression = EXRP_COMPRESSION_NONE, bool canLeave = false);

  /// Takes the memory that the next `count` calls of takeBlock() need, and for their rows, for as many blocks as there are. Of packed columns, `openCount`
  /// of these blocks can be opened then.
  Status prepareBlocks(uint32_t count, uint32_t openCount);
  Status prepareBlocks(uint32_t count) { return prepareBlocks(count, count); }

  /// Good until the next prepareBlocks(). Not for packed columns, nor for those that some records keep.
  uint8_t* at(uint32_t column, uint32_t slot) { return bases_[column] + size_t{slot} * strides_[column]; }
  const uint8_t* at(uint32_t column, uint32_t slot) const { return bases_[column] + size_t{slot} * strides_[column]; }
  size_t stride(uint32_t column) const { return strides_[column]; }

  /// The columns that are kept for some records only; at() is not for them.
  KeptColumns& kept() { return kept_; }
  const KeptColumns& kept() const { return kept_; }
  bool isKept(uint32_t column) const { return columns_[column].every > 1; }
  /// The columns whose blocks are packed once no more records come to them; at() is not for them.
  PackedColumns& packed() { return packed_; }
  const PackedColumns& packed() const { return packed_; }
  bool isPacked(uint32_t column) const { return (packedBits_ >> column & 1) != 0; }
  /// Where rows come from that are not in memory; null where all are.
  RowSource* source() const { return source_; }
  /// `isBounded`: rows may leave memory again.
  void setSource(RowSource* source, bool isBounded) {
    source_ = source;
    isBounded_ = source != nullptr && isBounded;
  }
  bool isBounded() const { return isBounded_; }
  /// Recovery makes calls again whose rows it has apart. Until it ends, nobody needs to copy rows to columns that are not packed: so these take no memory.
  void setRowsComeLater(bool comeLater) { rowsComeLater_ = comeLater; }
  bool doRowsComeLater() const { return rowsComeLater_; }
  /// Whether a column has more than columnAloneBytes, and is kept for all records.
  bool isWide(uint32_t column) const { return columns_[column].bytes > columnAloneBytes && !isKept(column); }
  /// Whether the rows of a column stand one after another with nothing between them, each of more than columnAloneBytes.
  bool isAlone(uint32_t column) const { return isWide(column) && !isPacked(column); }

  /// Where the row of a slot goes whose block is open. Good until the next prepareBlocks().
  uint8_t* rowAt(uint32_t column, uint32_t slot) {
    return isPacked(column) ? packed_.of(column).row(blockOf(slot), within(slot)) : at(column, slot);
  }
  const uint8_t* rowAt(uint32_t column, uint32_t slot) const { return const_cast<Store*>(this)->rowAt(column, slot); }
  /// Copies the rows of a column from `slot` on, `count` of one block, to places `stride` bytes apart. Not for columns that some records keep. Rows that are
  /// not loaded yet, or can't be read, are zero.
  void readRows(uint32_t column, uint32_t slot, uint32_t count, uint8_t* to, size_t stride) const;

  /// Whether memory for rows that nobody has touched yet comes in huge pages.
  void allowHugeRows(bool allows) {
    for (uint32_t group = 0; group < groupCount_; ++group) groups_[group].allowHuge(allows);
  }

  Births& births() { return births_; }
  const Births& births() const { return births_; }

  const Column& column(uint32_t index) const { return columns_[index]; }
  uint32_t columnCount() const { return columnCount_; }
  /// The state's columns, which come first; then come the action, the reward and extras.
  const StateLeaves& leaves() const { return leaves_; }
  uint32_t rewardColumn() const { return leaves_.count() + 1; }
  const Column& reward() const { return columns_[rewardColumn()]; }

  /// Groups of columns that are neither packed nor kept by some records only.
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
    double bytes = kept_.memoryBytes() + packed_.memoryBytes();
    for (uint32_t group = 0; group < groupCount_; ++group) {
      bytes += groups_[group].takenBytes(uint64_t{highWater()} * blockLength_ * groupStride_[group]);
    }
    return bytes;
  }
  int32_t check() const {
    const int32_t broken = BlockPool::check();
    return broken != 0 || packed_.areTaken() ? broken : 4;
  }
  double indexBytes() const {
    return BlockPool::memoryBytes() + births_.memoryBytes(uint64_t{highWater()} << blockShift_);
  }

 private:
  Status prepareMemory(uint32_t count, uint32_t openCount);
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
  PackedColumns packed_;
  uint64_t packedBits_ = 0;  // which columns these are
  RowSource* source_ = nullptr;
  bool isBounded_ = false;
  bool rowsComeLater_ = false;
  uint32_t blockLength_ = 0;
  uint32_t blockShift_ = 0;
  Births births_;
};

}  // namespace exrp
