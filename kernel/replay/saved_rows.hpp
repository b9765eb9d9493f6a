// SavedRows: the rows that a snapshot still has to be given, of the moment at which it was begun.
//
// Rows stay where they are, and only those of a block that goes or changes before they were read are copied aside. Records come, are drawn and go meanwhile.
//
// Thread safety: none of its own.
// Invariants:
//   1. While they are kept, pieceOf_ leads from each block with rows that were not read to its piece, unless its rows were copied aside.
// Cost: 24 bytes a block, and 4 for each block there ever was; and the rows of the blocks that go or change before they are read. Nothing while no
// snapshot is read: a comparison for each block that goes.
#pragma once

#include "kernel/base/scratch.hpp"
#include "kernel/store/episode_listener.hpp"

namespace exrp {

class SavedRows final : public EpisodeListener {
 public:
  SavedRows() = default;
  ~SavedRows() { release(); }

  /// Keeps all rows as they are now. Status::memory leaves nothing kept.
  Status take(const StoredEpisodes& stored);
  /// Writes the `count` rows that follow on those that were read. There are as many.
  Status read(const Store& store, uint32_t count, uint8_t* items);
  /// Loading: takes the memory that the next `count` rows need.
  Status prepareWrite(Store& store, uint32_t count) const;
  /// Loading: fills these rows, instead of reading them. Calls `filled(block)` for each block that has all its rows then.
  template <typename Filled>
  void write(Store& store, uint32_t count, const uint8_t* items, Filled filled) {
    for (; count > 0; --count, items += store.recordBytes()) {
      const uint32_t piece = piece_;
      store.packed().reopen(pieces_[piece].block);
      writeOne(store, items);
      pass(1);
      if (piece_ != piece) filled(pieces_[piece].block);
    }
  }
  /// Lets all go.
  void release();

  /// How many were read.
  double readCount() const { return static_cast<double>(readCount_); }

  // ---- what it hears ----

  void freed(const StoredEpisodes& stored, uint32_t block) {
    if (isTaken_) [[unlikely]] copyAside(stored.store(), block);
  }
  void changing(const StoredEpisodes& stored, uint32_t block, uint64_t) { freed(stored, block); }
  double memoryBytes() const { return static_cast<double>(copiedBytes_) + pieces_.memoryBytes() + pieceOf_.memoryBytes(); }

 private:
  /// The rows of one block.
  struct Piece {
    SealedChunk* copied;  // null while they stand in their block
    uint32_t block;
    BlockRows rows;
  };
  static constexpr uint32_t none = UINT32_MAX;

  static Status readBlock(const Store& store, uint32_t block);
  void copyAside(const Store& store, uint32_t block);
  void writeOne(Store& store, const uint8_t* item);
  void pass(uint32_t count);

  Scratch<Piece> pieces_;  // in order of episode and time
  Scratch<uint32_t> pieceOf_;  // by block
  uint32_t pieceCount_ = 0;
  uint32_t blockEnd_ = 0;
  uint32_t piece_ = 0;  // the next row is in this one
  uint32_t row_ = 0;    // at this place of it
  uint64_t readCount_ = 0;
  uint64_t copiedBytes_ = 0;
  bool isTaken_ = false;
  bool hasFailed_ = false;  // a copy found no memory, or its rows can't be read from the disk:
  Status failure_ = Status::ok;
  double detail_[errorDetailCount] = {};
};

}  // namespace exrp
