// MirroredRows: which rows of some columns came or changed since a mirror of them was last brought up to date, as one in a GPU's memory.
//
// A mirror has the row of each slot at the slot's number. So it is told of rows that are written, and not of rows that go. Of a column whose blocks are packed it
// has the packed rows of a block once there are some, and is told when a block goes, as that frees their memory.
//
// A block whose rows can't be read from the disk is passed over. The mirror goes on to lack it, and each later read tries it again. So batches without its rows can
// be made.
//
// Thread safety: none of its own.
// Invariants:
//   1. Each block is at most once in the list. It is there if it has a row that the mirror lacks. Those that can't be read come first.
// Cost: 8 bytes for each block there ever was, while there is a mirror. A branch for each run of records; without a mirror nothing else.
#pragma once

#include "kernel/base/scratch.hpp"
#include "kernel/store/episode_listener.hpp"

namespace exrp {

class MirroredRows final : public EpisodeListener {
 public:
  /// Rows of a column, and where they begin in the bytes that were read.
  struct Run {
    uint32_t column;
    uint32_t slot;
    uint32_t count;   // neighbouring slots; 0: the block has gone
    uint32_t offset;
    uint32_t packed;  // bytes of all rows of a block: how many rows, and then packed rows with a plain key; 0: rows as they are
  };

  /// From now on there is a mirror of the columns whose bits are in `columns`, which has no row yet. Status::memory leaves none.
  Status begin(const StoredEpisodes& stored, uint64_t columns);
  void end();
  bool isOn() const { return isOn_; }
  uint64_t columns() const { return columns_; }
  /// Whether packed rows of a column come to a mirror.
  static bool comesPacked(const Store& store, uint32_t column) { return store.isPacked(column) && store.packed().packs(); }
  /// Whether the mirror has all rows of a block.
  bool has(uint32_t block) const { return from_[block] == 0; }
  /// Whether it has those of its wide columns, which are all that may leave memory.
  bool hasWide(uint32_t block) const { return (from_[block] & ~narrow) == 0; }
  /// Whether the mirror has all rows but those that can't be read.
  bool isCurrent() const { return blockCount_ == unreadableCount_; }
  /// Blocks that can't be read.
  uint32_t unreadableCount() const { return unreadableCount_; }
  /// The system's error number of the last one; 0 where it is damaged.
  double unreadableError() const { return unreadableError_; }

  /// Bytes of a row of a column in a mirror.
  static uint32_t rowBytes(const Store& store, uint32_t column) { return (store.column(column).bytes + 3u) & ~3u; }
  /// Copies rows that the mirror lacks, as long as there is room for those of a block, which the mirror has then. A block has a run for each column at most. `runs`
  /// has room for `*count` of them and gets as many as `*count` says then. Room for none is Status::bufferSize. Where many blocks can't be read from the disk, it is
  /// that failure, if there is no run before.
  Status read(const StoredEpisodes& stored, uint8_t* bytes, uint32_t size, Run* runs, uint32_t* count);

  // ---- what it hears ----

  Status prepare(const StoredEpisodes& stored, const Growth& growth) {
    return isOn_ ? reserve(growth.slotEnd >> stored.store().blockShift()) : Status::ok;
  }
  void appended(const StoredEpisodes& stored, uint32_t episode, uint32_t from, const uint8_t*) {
    if (!isOn_) [[likely]] return;
    note(stored.episodes()[episode].lastBlock, stored.store().within(from));
  }
  /// It may have got a final state, behind its records.
  void sealed(const StoredEpisodes& stored, uint32_t block) {
    if (!isOn_) [[likely]] return;
    const BlockRows rows = stored.rowsOf(block);
    if (rows.hasFinal == 1) note(block, rows.first + rows.count - 1);
  }
  void packed(const StoredEpisodes& stored, uint32_t block) {
    if (!isOn_) [[likely]] return;
    const Store& store = stored.store();
    for (uint32_t column = 0; column < store.columnCount(); ++column) {
      if ((columns_ >> column & 1) != 0 && packedBytes(store, column, block) > 0) return note(block, 0);
    }
  }
  void changing(const StoredEpisodes&, uint32_t block, uint64_t columns) {
    if ((columns & columns_) == 0) [[likely]] return;
    if ((columns & columns_ & wideColumns_) != 0) return note(block, 0);
    // All its narrow rows, and of the wide ones those that it lacked already.
    list(block);
    from_[block] |= narrow;
  }
  void freed(const StoredEpisodes& stored, uint32_t block) {
    if (isOn_ && stored.store().packed().packs()) [[unlikely]] note(block, 0);
  }
  double memoryBytes() const { return from_.memoryBytes() + blocks_.memoryBytes(); }

 private:
  static constexpr uint32_t narrow = uint32_t{1} << 31;
  /// After so many that the disk did not give, it fails altogether.
  static constexpr uint32_t unreadableMax = 16;

  Status reserve(size_t blocks);
  bool passesOver(Status status);
  /// Bytes of a run with the packed rows of a block; 0 where they are to come as they are.
  static uint32_t packedBytes(const Store& store, uint32_t column, uint32_t block);
  void list(uint32_t block) {
    if (from_[block] == 0) blocks_[blockCount_++] = block;
    // One that has changed may be one that can't be read.
    unreadableCount_ = 0;
  }
  /// The rows of a block from this one on.
  void note(uint32_t block, uint32_t from) {
    list(block);
    const uint32_t before = from_[block] & ~narrow;
    if (before == 0 || from < before - 1) from_[block] = (from_[block] & narrow) | (from + 1);
  }

  Scratch<uint32_t> from_;    // by block: 1 and the first row that the mirror lacks, and `narrow` where it lacks all rows of narrow columns; 0 where it has all
  Scratch<uint32_t> blocks_;  // those where it has not
  uint32_t blockCount_ = 0;
  uint32_t unreadableCount_ = 0;
  double unreadableError_ = 0;
  uint64_t columns_ = 0;
  uint64_t wideColumns_ = 0;  // of all
  bool isOn_ = false;
};

}  // namespace exrp
