// Store: the records themselves, as columns by slots. An episode takes its slots in blocks (block_pool.hpp).
//
//   episode 7: 21 records, ended (episode_table.hpp)
//      |  firstBlock                                       lastBlock
//      v                                                      |
//   block 40, ordinal 0            next                       v
//   +---+---+---+--   --+---+     ----->     block 12, ordinal 1
//   | 0 | 1 | 2 |  ...  | 15|     <-----     +---+---+--   --+---+---+---+--   --+---+
//   +---+---+---+--   --+---+    previous    | 16| 17|  ...  | 20| F |   |  ...  |   |
//   640  641             655                 +---+---+--   --+---+---+---+--   --+---+
//         ^                                  192  193                             207    <- slots
//         |
//   pick 3 of a table: the sequence that begins in slot 641 (pick_table.hpp: index 3 -> slot 641 -> index 3)
//
// In the boxes stand positions in the episode; F is the final state, in the slot after the last record.
// An episode and a position lead to a block by block_index.hpp; the slot is block * blockLength + position % blockLength. A slot leads
// back by its block, slot / blockLength: to the handle, and to the position, ordinal * blockLength + slot % blockLength.
//
// A record's small columns lie side by side, as one row of a group. So a random pick touches one run of memory instead of one for each
// column. A column of more than `columnAloneBytes` has a group of its own (measured in docs/internals/performance.md). A column that is kept for
// every nth record only stands apart: with as many rows a block as there can be such records in it. A trimmed episode may still need the
// row of a block that went: it is carried, in a place of its own for each episode.
//
// The store also keeps births: how many records had been written to the replay before a record. It keeps one for each `birthLength` slots of
// a block, and the slots after them count on from it. Only whole such runs are trimmed, so that is as good as one a record. They are kept as
// 32-bit differences from a birth that is kept for the episode.
//
// Thread safety: none of its own.
// Invariants: those of its BlockPool, which says which blocks are taken.
// Cost: taking a block and giving back a chain are O(1). Memory comes in prepareBlocks(), before a block is taken.
// It does not know what an episode is.
#pragma once

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/base/prefetch.hpp"
#include "kernel/store/block_pool.hpp"
#include "kernel/store/copy_queue.hpp"

namespace exrp {

constexpr uint32_t columnMax = EXRP_LIMIT_COLUMNS;
/// Columns of more than this many bytes a record stand alone.
constexpr uint32_t columnAloneBytes = 128;

struct Column {
  uint32_t itemBytes;  // of one element
  uint32_t itemCount;  // elements of one record
  uint32_t bytes;      // of one record
  uint32_t every;      // it is kept for every nth record of an episode; 1: for all
  uint32_t group;
  uint32_t offset;  // in the group's row
};

class Store {
 public:
  /// `columns` has bytes, itemBytes and itemCount set; groups and offsets are decided here.
  /// There are at most `blockCountMax` blocks, and at least `blockCount` once the replay is full. `birthLength` is a power of two, at most
  /// blockLength; 0 stands for blockLength.
  Status create(const Column* columns, uint32_t columnCount, uint32_t blockLength, uint32_t blockCountMax, uint32_t blockCount = 0,
                uint32_t birthLength = 0);

  /// Takes the memory that the next `count` calls of takeBlock() need, for as many blocks as there are.
  Status prepareBlocks(uint32_t count);
  /// Blocks that can be taken now.
  uint32_t availableCount() const { return pool_.availableCount(); }
  /// A block for episode `episode`. Needs prepareBlocks() and availableCount() > 0.
  uint32_t takeBlock(uint64_t handle, uint32_t ordinal, uint32_t episode) { return pool_.take(handle, ordinal, episode); }
  /// Puts a block that was just taken behind `last`, its episode's last.
  void link(uint32_t last, uint32_t block) { pool_.link(last, block); }
  /// Takes the memory for what episodes below `count` carry.
  Status prepareCarried(size_t count);
  /// Gives back the first block of a chain of several. Returns the one after it.
  uint32_t giveFirst(uint32_t first) { return pool_.giveFirst(first); }
  /// Gives back the `count` blocks of the chain first..last.
  void giveChain(uint32_t first, uint32_t last, uint32_t count) { pool_.giveChain(first, last, count); }

  // ---- where threads share the replay: copies without the lock ----

  /// From now on, blocks that go wait for the copies that these pins stand for.
  void keepPins(const CopyPins* pins) {
    pins_ = pins;
    pool_.keepPins(pins, &copies_);
  }
  /// Waits until no other seat copies: to be called before large rows are read at once, and before their memory grows.
  void settle() const {
    if (pins_ != nullptr) pins_->await(copies_ == nullptr ? 0 : copies_->seat());
  }
  /// Where the call that is under way leaves its copies of large rows; null where it copies at once.
  void setCopies(CopyQueue* copies) { copies_ = copies; }
  CopyQueue* copies() const { return copies_; }
  /// Where that stands, for those that copy.
  CopyQueue* const* copiesPlace() const { return &copies_; }

  /// Good until the next prepareBlocks().
  uint8_t* at(uint32_t column, uint32_t slot) { return bases_[column] + size_t{slot} * strides_[column]; }
  const uint8_t* at(uint32_t column, uint32_t slot) const { return bases_[column] + size_t{slot} * strides_[column]; }
  size_t stride(uint32_t column) const { return strides_[column]; }

  /// Columns that are kept for some records only; at() is not for them.
  uint32_t keptCount() const { return keptCount_; }
  uint32_t keptColumn(uint32_t index) const { return keptColumns_[index]; }
  bool isKept(uint32_t column) const { return columns_[column].every > 1; }
  /// Whether the rows of a column stand one after another with nothing between them, each of more than columnAloneBytes.
  bool isAlone(uint32_t column) const { return columns_[column].bytes > columnAloneBytes && !isKept(column); }
  /// Groups from this on have one such column each.
  uint32_t firstAloneGroup() const { return firstAloneGroup_; }
  /// The row of such a column for the record at `position`, a multiple of `every`, in block `block`.
  uint8_t* keptAt(uint32_t column, uint32_t block, uint32_t position) {
    return kept_[columns_[column].group].data() + keptOffset(column, block, position);
  }
  const uint8_t* keptAt(uint32_t column, uint32_t block, uint32_t position) const {
    return kept_[columns_[column].group].data() + keptOffset(column, block, position);
  }
  /// The row of such a column that an episode carries: the newest one kept before its first block.
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

  /// How many slots share a birth.
  uint32_t birthLength() const { return 1u << birthShift_; }
  /// The birth of the record in a slot. It may be a little higher than this, as births count on within a run.
  uint64_t birthAt(uint32_t slot) const { return birthAt(head(blockOf(slot)).episode, slot); }
  uint64_t birthAt(uint32_t episode, uint32_t slot) const {
    return birthBases_[episode] + births_[slot >> birthShift_] + (slot & (birthLength() - 1));
  }
  /// Sets the birth of an episode's oldest record. Its others come later.
  void setFirstBirth(uint32_t episode, uint32_t slot, uint64_t birth) {
    birthBases_[episode] = birth - (slot & (birthLength() - 1));
    births_[slot >> birthShift_] = 0;
  }
  /// Sets that of a later record.
  void setBirth(uint32_t episode, uint32_t slot, uint64_t birth) {
    births_[slot >> birthShift_] = static_cast<uint32_t>(birth - birthBases_[episode] - (slot & (birthLength() - 1)));
  }
  /// Whether a later record of the episode can have this birth. Where it can't, it can after moveBirths().
  bool isBirthInReach(uint32_t episode, uint64_t birth) const { return birth - birthBases_[episode] < uint64_t{1} << 31; }
  /// Reckons an episode's births from that of its oldest record, which is in `slot`, in its first block. Where that lies more than 2^30
  /// before `birth`, that of the next record, the records before it count as younger than they are.
  void moveBirths(uint32_t episode, uint32_t slot, uint64_t birth);

  const Column& column(uint32_t index) const { return columns_[index]; }
  uint32_t columnCount() const { return columnCount_; }

  uint32_t groupCount() const { return groupCount_; }
  uint8_t* groupRow(uint32_t group, uint32_t slot) { return groups_[group].data() + size_t{slot} * groupStride_[group]; }
  const uint8_t* groupRow(uint32_t group, uint32_t slot) const {
    return groups_[group].data() + size_t{slot} * groupStride_[group];
  }
  uint32_t groupStride(uint32_t group) const { return groupStride_[group]; }

  Block& block(uint32_t index) { return pool_[index]; }
  const Block& block(uint32_t index) const { return pool_[index]; }
  const BlockHead* heads() const { return pool_.heads(); }
  const BlockHead& head(uint32_t block) const { return pool_.heads()[block]; }
  /// Blocks that have memory after prepareBlocks(count).
  uint32_t preparedCount(uint32_t count) const { return pool_.preparedCount(count); }
  uint64_t handleOf(uint32_t block) const { return pool_.handle(block); }
  void prefetchHandle(uint32_t block) const { pool_.prefetchHandle(block); }
  bool isTaken(uint32_t block) const { return pool_.isTaken(block); }
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
  uint32_t blockCountMax() const { return pool_.countMax(); }
  uint32_t highWater() const { return pool_.highWater(); }
  uint32_t freeCount() const { return pool_.freeCount(); }
  /// Bytes of one record's columns, without those that not all records keep.
  uint32_t recordBytes() const { return recordBytes_; }
  double columnBytes() const {
    double bytes = 0;
    for (uint32_t group = 0; group < groupCount_; ++group) {
      bytes += groups_[group].takenBytes(uint64_t{highWater()} * blockLength_ * groupStride_[group]);
    }
    for (uint32_t index = 0; index < keptCount_; ++index) {
      const uint32_t rowBytes = columns_[keptColumns_[index]].bytes;
      bytes += kept_[index].takenBytes(uint64_t{highWater()} * keptRows_[index] * rowBytes);
      bytes += carried_[index].takenBytes(uint64_t{carriedEnd_} * rowBytes);
    }
    return bytes;
  }
  double indexBytes() const {
    return pool_.memoryBytes() + births_.takenBytes(uint64_t{highWater()} << (blockShift_ - birthShift_)) +
           birthBases_.takenBytes(pool_.episodeHighWater());
  }

  int32_t check() const { return pool_.check(); }

 private:
  void findBases();

  Column columns_[columnMax] = {};
  uint8_t* bases_[columnMax] = {};
  size_t strides_[columnMax] = {};
  uint32_t columnCount_ = 0;
  ReservedArray<uint8_t> groups_[columnMax];
  uint32_t groupStride_[columnMax] = {};
  uint32_t groupCount_ = 0;
  uint32_t firstAloneGroup_ = 0;
  const CopyPins* pins_ = nullptr;
  CopyQueue* copies_ = nullptr;
  uint32_t recordBytes_ = 0;

  size_t keptOffset(uint32_t column, uint32_t block, uint32_t position) const {
    const Column& at = columns_[column];
    const uint32_t before = (head(block).ordinal() * blockLength_ + at.every - 1) / at.every;  // kept in earlier blocks
    return (size_t{block} * keptRows_[at.group] + (position / at.every - before)) * at.bytes;
  }
  uint32_t keptColumns_[EXRP_LIMIT_KEPT] = {};
  uint32_t keptCount_ = 0;
  ReservedArray<uint8_t> kept_[EXRP_LIMIT_KEPT];
  uint32_t keptRows_[EXRP_LIMIT_KEPT] = {};  // a block
  ReservedArray<uint8_t> carried_[EXRP_LIMIT_KEPT];
  uint32_t carriedEnd_ = 0;  // 1 more than the largest episode that ever carried rows

  BlockPool pool_;
  uint32_t blockLength_ = 0;
  uint32_t blockShift_ = 0;
  ReservedArray<uint32_t> births_;       // by run of slots: what to add to the episode's
  ReservedArray<uint64_t> birthBases_;  // by episode
  uint32_t birthShift_ = 0;
};

}  // namespace exrp
