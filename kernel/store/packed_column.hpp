// PackedColumn: the rows of a wide column, block by block. While records come to a block, its rows stand in a piece of memory. Once it is sealed they are
// packed (kernel/packing/packed_rows.hpp), and the piece is for another block. A block whose rows gain little keeps its piece, unless memory is to be given back
// one day.
//
// A reader asks for the PackedRows of a block, whatever they are, as plain rows are one form of these. Where a replay is larger than memory, a block may have none
// here (row_source.hpp).
//
// Thread safety: none of its own. What a reader was given stays as it is until no seat is pinned that was pinned when it was replaced (CopyPins).
// Invariants:
//   1. A block that is taken has a piece or packed rows; while a replay is loaded, and where its rows are on the disk only, it has none. Packed rows have no
//      other rows than those that the block had when it was sealed.
// Cost: 16 bytes a block, and 24 for packed rows. Packing takes the time that docs/internals/packing_format.md says, when a block is sealed; so does a change of a packed row.
// Without memory for packed rows, a block keeps its piece.
#pragma once

#include <atomic>

#include "kernel/base/error.hpp"
#include "kernel/base/scratch.hpp"
#include "kernel/packing/packed_rows.hpp"
#include "kernel/store/block_pool.hpp"
#include "kernel/store/piece_pool.hpp"

namespace exrp {

/// What becomes of the rows of a block that is sealed.
struct SealedForm {
  bool packs = true;  // where that gains
  PackedKey key = PackedKey::plain;
  bool leavesPiece = false;  // also rows that stay plain, so that their memory can be given back
};

class PackedColumn {
 public:
  PackedColumn() = default;
  PackedColumn(const PackedColumn&) = delete;
  PackedColumn& operator=(const PackedColumn&) = delete;
  ~PackedColumn();

  /// For at most `blockCountMax` blocks of `pool`, of which `blockCount` are expected.
  Status create(const BlockPool& pool, const SealedForm& form, uint32_t rowBytes, uint32_t blockLength, uint32_t blockCountMax, uint32_t blockCount);
  /// Takes the memory for blocks below `blockEnd`, of which `openCount` are to be opened.
  Status prepare(uint32_t blockEnd, uint32_t openCount);

  /// A block without rows gets a piece, which was prepared.
  void open(uint32_t block) { places_[block] = {nullptr, 0, pieces_.take(pool_->pins()) + 1}; }
  /// Packs the first `count` rows of a block, the only ones that it has, if they gain by it, or must leave their piece. Does nothing where they are packed.
  void pack(uint32_t block, uint32_t count);
  /// A block has no rows any more.
  void give(uint32_t block);

  /// Where a row of a block is that is open.
  uint8_t* row(uint32_t block, uint32_t within) { return pieces_.at(places_[block].number - 1) + size_t{within} * rowBytes_; }
  bool hasRows(uint32_t block) const { return places_[block].number != 0; }
  bool isPacked(uint32_t block) const { return places_[block].data != nullptr; }
  /// Whether its rows stand in a piece.
  bool isOpen(uint32_t block) const { return hasRows(block) && !isPacked(block); }
  /// How many rows a packed block has.
  uint32_t packedCount(uint32_t block) const { return places_[block].number; }
  /// The rows of a block, in the one form or the other.
  PackedRows rowsOf(uint32_t block) const {
    const Place& place = places_[block];
    if (place.data != nullptr) return {place.data, place.bytes, rowBytes_, place.number};
    return {pieces_.at(place.number - 1), size_t{blockLength_} * rowBytes_, rowBytes_, blockLength_};
  }
  /// Asks for what rowsOf() reads.
  void prefetch(uint32_t block) const { prefetchLine(&places_[block]); }

  /// Puts the rows of a block, which may have none yet, into a piece again, which was prepared, so that they can be changed.
  void reopen(uint32_t block);
  /// Puts `count` rows, packed before, in the place of those of a block. Status::memory changes nothing.
  Status replace(uint32_t block, const uint8_t* packed, uint32_t bytes, uint32_t count);

  /// Memory for packed rows, from any thread; null where there is none. adopt() or freeBytes() takes it.
  static uint8_t* newBytes(uint32_t bytes);
  static void freeBytes(uint8_t* bytes);
  /// The same as newBytes(), by the caller alone. It takes memory that keepSpare() has kept, and frees what it can't use of that.
  uint8_t* takeBytes(uint32_t bytes);
  /// From now on, memory of rows that go is kept for takeBytes(), or it is freed again with all that was kept. Memory that goes back to the system comes again in
  /// pages of zeros, which takes as long as to read rows into it.
  void keepSpare(bool keeps);
  /// The same as replace(), of memory of newBytes().
  void adopt(uint32_t block, const uint8_t* data, uint32_t bytes, uint32_t count);
  /// The same, of a block that has no rows. Another thread may do it, where its caller sees to it that nobody else looks at the block, and that no memory moves.
  void adoptFirst(uint32_t block, const uint8_t* data, uint32_t bytes, uint32_t count) {
    firstBytes_.fetch_add(takenBytes(bytes), std::memory_order_relaxed);
    places_[block] = {data, bytes, count};
  }
  /// What so many bytes of packed rows take.
  static constexpr uint64_t takenBytes(uint64_t bytes) { return sizeof(Head) + bytes; }
  /// What the packed rows of a block take; 0 where it has none.
  uint64_t blockBytes(uint32_t block) const { return isPacked(block) ? takenBytes(places_[block].bytes) : 0; }
  /// What all packed rows take, those included that wait.
  uint64_t packedBytes() const { return packedBytes_ + firstBytes_.load(std::memory_order_relaxed); }
  /// Of packed rows that were given back, and wait for copies.
  uint64_t waitingBytes() const { return waitingBytes_; }
  /// Pieces that were used before, and are nobody's now.
  uint32_t freePieceCount() const { return pieces_.freeCount(); }
  size_t pieceBytes() const { return size_t{blockLength_} * rowBytes_; }
  /// Frees what nobody copies from any more.
  void reclaim();

  double memoryBytes(uint32_t blockCount) const;

 private:
  /// Where the rows of a block are. All zero: the block has none.
  struct Place {
    const uint8_t* data;  // packed rows; null where they are in a piece
    uint32_t bytes;
    uint32_t number;  // of packed rows, or 1 more than the piece's
  };
  /// What stands before packed rows.
  struct Head {
    Head* next;      // once they were given back
    uint64_t until;  // the number of the last copy that they wait for
    uint64_t bytes;  // that it takes, likewise
  };
  static_assert(sizeof(Head) % 8 == 0);

  static Head* headOf(const uint8_t* data) { return reinterpret_cast<Head*>(const_cast<uint8_t*>(data) - sizeof(Head)); }
  void giveBytes(const uint8_t* data, uint32_t bytes);

  const BlockPool* pool_ = nullptr;
  SealedForm form_;
  uint32_t rowBytes_ = 0;
  uint32_t blockLength_ = 0;
  ReservedArray<Place> places_;  // by block
  PiecePool pieces_;
  Scratch<uint8_t> room_;  // for packing
  uint64_t packedBytes_ = 0;  // those that wait, too; it may wrap around, as it has not those that adoptFirst() took
  std::atomic<uint64_t> firstBytes_ = 0;
  uint64_t waitingBytes_ = 0;
  Head* waiting_ = nullptr;  // packed rows that were given back while others copied, in that order
  Head* lastWaiting_ = nullptr;
  Head* spare_ = nullptr;
  bool keepsSpare_ = false;
};

}  // namespace exrp
