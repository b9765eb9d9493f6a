// PiecePool: memory in pieces of one size, of which some are in use. It is for blocks whose rows are recorded just now, so they are few.
//
// Where threads share the replay, some may still copy from a piece that is given back. It is not used again until these copies are done.
//
// Thread safety: none of its own.
// Invariants:
//   1. A piece below end_ is taken, or free, or was given back and waits for copies; each once.
// Cost: O(1), but where all are in use and a copy has to be awaited. The piece that was given back last is taken first, so its memory is in the caches.
// Memory comes in prepare(), and as pieces are used. It is kept.
#pragma once

#include "kernel/base/memory.hpp"
#include "kernel/base/sync.hpp"
#include "kernel/store/copy_queue.hpp"

namespace exrp {

class PiecePool {
 public:
  /// At most `countMax` pieces are in use at once.
  bool create(size_t pieceBytes, uint32_t countMax) {
    pieceBytes_ = pieceBytes;
    // Some more, as pieces may wait for copies.
    const uint64_t count = uint64_t{countMax} + waitingMax;
    return bytes_.create(count * pieceBytes, Pages::huge, 0) && links_.create(count, Pages::small);
  }
  /// Takes the memory for the next `count` calls of take(). Before it grows it calls waitForCopies().
  template <typename Wait>
  bool prepare(uint32_t count, Wait waitForCopies) {
    if (count <= freeCount_) return true;
    uint64_t needed = uint64_t{end_} + (count - freeCount_);
    // As many as there may be: then those that wait are enough.
    if (needed > links_.countMax()) needed = links_.countMax();
    if (needed * pieceBytes_ > bytes_.committed()) waitForCopies();
    return bytes_.commit(needed * pieceBytes_) && links_.commit(needed);
  }
  uint32_t take(const CopyPins* pins) {
    reclaim(pins);
    while (free_ == none && uint64_t{end_} * pieceBytes_ + pieceBytes_ > bytes_.committed()) {
      // Copies need no lock, so they end.
      yieldThread();
      reclaim(pins);
    }
    if (free_ == none) return end_++;
    const uint32_t piece = free_;
    free_ = links_[piece].next;
    --freeCount_;
    return piece;
  }
  /// Gives a piece back, from which others may copy who are pinned.
  void give(uint32_t piece, const CopyPins* pins) {
    if (pins == nullptr || pins->areDone(pins->count())) return free(piece);
    links_[piece] = {none, pins->count()};
    if (waiting_ == none) waiting_ = piece;
    else links_[lastWaiting_].next = piece;
    lastWaiting_ = piece;
  }

  /// Pieces that can be taken at once.
  uint32_t freeCount() const { return freeCount_; }
  uint8_t* at(uint32_t piece) { return bytes_.data() + size_t{piece} * pieceBytes_; }
  const uint8_t* at(uint32_t piece) const { return bytes_.data() + size_t{piece} * pieceBytes_; }
  double memoryBytes() const { return bytes_.takenBytes(uint64_t{end_} * pieceBytes_) + links_.takenBytes(end_); }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  static constexpr uint32_t waitingMax = 1024;

  /// What is known of a piece that nobody has taken.
  struct Link {
    uint32_t next;
    uint64_t until;  // the number of the last copy that it waits for
  };

  void free(uint32_t piece) {
    links_[piece].next = free_;
    free_ = piece;
    ++freeCount_;
  }
  void reclaim(const CopyPins* pins) {
    while (waiting_ != none && pins->areDone(links_[waiting_].until)) {
      const uint32_t piece = waiting_;
      waiting_ = links_[piece].next;
      free(piece);
    }
  }

  ReservedArray<uint8_t> bytes_;
  ReservedArray<Link> links_;
  size_t pieceBytes_ = 0;
  uint32_t end_ = 0;  // pieces that were ever taken
  uint32_t free_ = none;
  uint32_t freeCount_ = 0;
  uint32_t waiting_ = none;  // in the order in which they were given back
  uint32_t lastWaiting_ = none;
};

}  // namespace exrp
