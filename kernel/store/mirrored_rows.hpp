// MirroredRows: which rows of some columns came or changed since a mirror of them was last brought up to date, as one in a GPU's memory.
//
// A mirror has the row of each slot at the slot's number. So it is told of rows that are written, and not of rows that go.
//
// Thread safety: none of its own.
// Invariants:
//   1. Each block is at most once in the list. It is there if it has a row that the mirror lacks.
// Cost: 8 bytes for each block there ever was, while there is a mirror. A branch for each run of records; without a mirror nothing else.
#pragma once

#include "kernel/base/scratch.hpp"
#include "kernel/store/episode_listener.hpp"

namespace exrp {

class MirroredRows final : public EpisodeListener {
 public:
  /// Rows of neighbouring slots, and where they begin in the bytes that were read: those of the first column, then those of the next.
  struct Run {
    uint32_t slot;
    uint32_t count;
    uint32_t offset;
  };

  /// From now on there is a mirror of the columns whose bits are in `columns`, which has no row yet. Status::memory leaves none.
  Status begin(const StoredEpisodes& stored, uint64_t columns);
  void end();
  bool isOn() const { return isOn_; }
  uint64_t columns() const { return columns_; }
  /// Whether the mirror has all rows.
  bool isCurrent() const { return blockCount_ == 0; }

  /// Bytes of a row of a column in a mirror.
  static uint32_t rowBytes(const Store& store, uint32_t column) { return (store.column(column).bytes + 3u) & ~3u; }
  /// Copies rows that the mirror lacks, as long as there is room for those of a block, which the mirror has then. `runs` has room for `*count` of them and gets
  /// as many as `*count` says then. Room for none is Status::bufferSize. Where rows can't be read from the disk, it is that failure, if there is no run before.
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
  void changing(const StoredEpisodes&, uint32_t block) {
    if (isOn_) [[unlikely]] note(block, 0);
  }
  double memoryBytes() const { return from_.memoryBytes() + blocks_.memoryBytes(); }

 private:
  Status reserve(size_t blocks);
  /// The rows of a block from this one on.
  void note(uint32_t block, uint32_t from) {
    if (from_[block] == 0) blocks_[blockCount_++] = block;
    if (from_[block] == 0 || from < from_[block] - 1) from_[block] = from + 1;
  }

  Scratch<uint32_t> from_;    // by block: 1 and the first row that the mirror lacks; 0 where it has all
  Scratch<uint32_t> blocks_;  // those where it has not
  uint32_t blockCount_ = 0;
  uint64_t columns_ = 0;
  bool isOn_ = false;
};

}  // namespace exrp
