// PackedColumns: the wide columns of a replay with compression, or of one that may be larger than memory, apart from the others.
//
// Thread safety: none of its own.
// Invariants: those of PackedColumn.
// Cost: that of each. It does not know what an episode is.
#pragma once

#include <memory>
#include <new>

#include "kernel/store/column.hpp"
#include "kernel/store/packed_column.hpp"

namespace exrp {

class PackedColumns {
 public:
  /// For up to `count` columns of `columns`, in blocks of `blockLength` slots.
  Status create(const Column* columns, uint32_t count, const BlockPool& pool, const SealedForm& form, uint32_t blockLength) {
    columns_ = columns;
    pool_ = &pool;
    form_ = form;
    blockLength_ = blockLength;
    packed_.reset(new (std::nothrow) PackedColumn[count]);
    return packed_ != nullptr ? Status::ok : fail(Status::memory, double{sizeof(PackedColumn)} * count);
  }
  /// Takes in the column at `index`, for at most `blockCountMax` blocks, of which `blockCount` are expected. Its group is decided here.
  Status add(Column& column, uint32_t index, uint32_t blockCountMax, uint32_t blockCount) {
    column.group = count_;
    indices_[count_] = index;
    return packed_[count_++].create(*pool_, form_, column.bytes, blockLength_, blockCountMax, blockCount);
  }

  uint32_t count() const { return count_; }
  /// Whether the rows of a block get shorter where that gains.
  bool packs() const { return count_ > 0 && form_.packs; }
  /// The index of the column that came `at`th.
  uint32_t column(uint32_t at) const { return indices_[at]; }
  PackedColumn& of(uint32_t column) { return packed_[columns_[column].group]; }
  const PackedColumn& of(uint32_t column) const { return packed_[columns_[column].group]; }

  Status prepare(uint32_t blockEnd, uint32_t openCount) {
    Status status = Status::ok;
    for (uint32_t at = 0; at < count_ && status == Status::ok; ++at) status = packed_[at].prepare(blockEnd, openCount);
    return status;
  }
  /// Opens a block where it is not.
  void reopen(uint32_t block) {
    for (uint32_t at = 0; at < count_; ++at) packed_[at].reopen(block);
  }
  void open(uint32_t block) {
    for (uint32_t at = 0; at < count_; ++at) packed_[at].open(block);
  }
  /// A block is sealed, and has so many rows, from its first slot on.
  void pack(uint32_t block, uint32_t rowCount) {
    for (uint32_t at = 0; at < count_; ++at) packed_[at].pack(block, rowCount);
  }
  void give(uint32_t block) {
    for (uint32_t at = 0; at < count_; ++at) packed_[at].give(block);
  }
  /// Whether a block has no rows here. Each column has them, or none.
  bool isAway(uint32_t block) const { return count_ > 0 && !packed_[0].hasRows(block); }
  /// Whether no column has the rows of a block in a piece.
  bool isPacked(uint32_t block) const {
    for (uint32_t at = 0; at < count_; ++at) {
      if (!packed_[at].isPacked(block)) return false;
    }
    return count_ > 0;
  }
  /// What the packed rows of a block take.
  uint64_t blockBytes(uint32_t block) const {
    uint64_t bytes = 0;
    for (uint32_t at = 0; at < count_; ++at) bytes += packed_[at].blockBytes(block);
    return bytes;
  }
  /// Of packed rows that were given back, and wait for copies.
  uint64_t waitingBytes() const {
    uint64_t bytes = 0;
    for (uint32_t at = 0; at < count_; ++at) bytes += packed_[at].waitingBytes();
    return bytes;
  }
  /// What the rows of an open block take.
  uint64_t pieceBytes() const {
    uint64_t bytes = 0;
    for (uint32_t at = 0; at < count_; ++at) bytes += packed_[at].pieceBytes();
    return bytes;
  }
  /// How many blocks can be opened without more memory.
  uint32_t freePieceCount() const {
    uint32_t count = UINT32_MAX;
    for (uint32_t at = 0; at < count_; ++at) count = packed_[at].freePieceCount() < count ? packed_[at].freePieceCount() : count;
    return count;
  }
  void keepSpare(bool keeps) {
    for (uint32_t at = 0; at < count_; ++at) packed_[at].keepSpare(keeps);
  }
  void reclaim() {
    for (uint32_t at = 0; at < count_; ++at) packed_[at].reclaim();
  }
  void prefetch(uint32_t block) const {
    for (uint32_t at = 0; at < count_; ++at) packed_[at].prefetch(block);
  }
  /// Whether only blocks that are taken have rows.
  bool areTaken() const {
    for (uint32_t block = 0; count_ > 0 && block < pool_->highWater(); ++block) {
      for (uint32_t at = 0; at < count_; ++at) {
        if (packed_[at].hasRows(block) && !pool_->isTaken(block)) return false;
      }
    }
    return true;
  }
  double memoryBytes() const {
    double bytes = 0;
    for (uint32_t at = 0; at < count_; ++at) bytes += packed_[at].memoryBytes(pool_->highWater());
    return bytes;
  }

 private:
  uint32_t count_ = 0;  // first, as each record asks for it
  const Column* columns_ = nullptr;
  const BlockPool* pool_ = nullptr;
  SealedForm form_;
  uint32_t blockLength_ = 0;
  std::unique_ptr<PackedColumn[]> packed_;
  uint32_t indices_[EXRP_LIMIT_COLUMNS] = {};
};

}  // namespace exrp
