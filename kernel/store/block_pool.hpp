// BlockPool: which blocks there are, which episode owns each, and which are free.
//
// Where threads share the replay, some may still copy rows of blocks that go. Such chains wait in limbo until these copies are done.
//
// Thread safety: none of its own.
// Invariants:
//   1. A block is on the free list, in limbo, or taken and owned by one episode, or at or above highWater() and never used yet.
//   2. The free list and limbo hold every block below highWater() that is not taken, each once, and freeCount() counts those of the free list.
//   3. A taken block's `next` and `previous` are its neighbours in its episode, or blockNone, and its head says the same.
// Cost: taking a block and giving back a chain are O(1), apart from a mark in each block of the chain. A chain that was given back comes
// out again in the same order. So the next episode's blocks are neighbours where the last one's were.
// It does not know what an episode is, nor what lies in a block. It knows the handle, ordinal and index that are written into its blocks.
#pragma once

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/base/prefetch.hpp"
#include "kernel/log/late_copies.hpp"
#include "kernel/store/copy_queue.hpp"

namespace exrp {

constexpr uint32_t blockNone = UINT32_MAX;

/// A block's neighbours.
struct Block {
  uint32_t next;      // in the episode, or on the free list
  uint32_t previous;  // in the episode; while no episode owns the block, the block itself
};

/// What most batches need of a block. It stands apart because it is short: so the caches hold more of it.
struct BlockHead {
  uint32_t episode;  // index in the episode list
  uint32_t link;     // twice the block's ordinal, and 1 more where the block behind it is its next

  /// 0 for the episode's first block, and so on.
  uint32_t ordinal() const { return link >> 1; }
};

class BlockPool {
 public:
  /// `count` blocks are expected to be in use one day; there are never more than `countMax`.
  Status create(uint32_t countMax, uint32_t count);

  /// Takes the memory that the next `count` calls of takeBlock() need, for as many blocks as there are.
  Status prepare(uint32_t count);
  /// Blocks that have memory after so many were prepared.
  uint32_t preparedCount(uint32_t count) const {
    if (count <= freeCount_) return highWater_;
    const uint32_t needed = highWater_ + (count - freeCount_);
    return needed < countMax_ ? needed : countMax_;
  }
  /// Blocks that can be taken now.
  uint32_t availableCount() const { return freeCount_ + limboCount_ + (countMax_ - highWater_); }
  /// A block for episode `episode`. Needs prepare() and availableCount() > 0.
  uint32_t takeBlock(uint64_t handle, uint32_t ordinal, uint32_t episode);
  /// Puts a block that was just taken behind `last`, its episode's last.
  void link(uint32_t last, uint32_t block) {
    blocks_[last].next = block;
    blocks_[block].previous = last;
    heads_[last].link |= block == last + 1 ? 1u : 0u;
  }
  /// Gives back the `count` blocks of the chain first..last.
  void giveChain(uint32_t first, uint32_t last, uint32_t count);
  /// Gives back the first block of a chain of several. Returns the one after it.
  uint32_t giveFirst(uint32_t first) {
    const uint32_t next = blocks_[first].next;
    blocks_[next].previous = blockNone;
    giveChain(first, first, 1);
    return next;
  }

  // ---- copies without the lock, where threads share the replay, and for a log ----

  /// From now on, chains wait for the copies that these pins stand for.
  void keepPins(const CopyPins* pins) { pins_ = pins; }
  /// Null while there is one thread only.
  const CopyPins* pins() const { return pins_; }
  /// Where a log has copies of rows that are still to be made; null where there is no log.
  void setLateCopies(LateCopies* late) { late_ = late; }
  LateCopies* lateCopies() const { return late_; }
  /// Waits until nobody copies: to be called before the memory of large rows grows, or a row changes.
  void waitForCopies() const {
    if (pins_ != nullptr) pins_->await();
    if (late_ != nullptr) late_->makeOwn(UINT64_MAX);
  }
  /// Where the draw that is under way leaves its copies of large rows; null where it copies at once.
  void setCopies(CopyQueue* copies) { copies_ = copies; }
  /// Where that stands, for those that copy.
  CopyQueue* const* copiesPlace() const { return &copies_; }

  // ---- what is known of a block ----

  const Block& block(uint32_t index) const { return blocks_[index]; }
  bool isTaken(uint32_t index) const { return blocks_[index].previous != index; }
  /// The handle of the episode that owns a block.
  uint64_t handleOf(uint32_t index) const { return handles_[heads_[index].episode]; }
  void prefetchHandle(uint32_t index) const { prefetchLine(&handles_[heads_[index].episode]); }
  /// The heads of all blocks, by index. The head of a block that no episode owns says nothing.
  const BlockHead* heads() const { return heads_.data(); }
  const BlockHead& head(uint32_t index) const { return heads_[index]; }

  uint32_t blockCountMax() const { return countMax_; }
  uint32_t highWater() const { return highWater_; }
  uint32_t freeCount() const { return freeCount_; }
  double memoryBytes() const {
    return blocks_.takenBytes(highWater_) + heads_.takenBytes(highWater_) + handles_.takenBytes(episodeHighWater_);
  }

  int32_t check() const;

 private:
  /// A chain whose rows may still be copied, and the number of the last such copy.
  struct Limbo {
    uint32_t first;
    uint32_t last;
    uint32_t count;
    uint64_t until;
  };
  static constexpr uint32_t limboMax = 64;

  void free(uint32_t first, uint32_t last, uint32_t count);
  void leaveLimbo();
  void awaitLimbo();

  ReservedArray<Block> blocks_;
  ReservedArray<BlockHead> heads_;
  ReservedArray<uint64_t> handles_;  // by episode: each has a block, so they are no more than blocks
  uint32_t episodeHighWater_ = 0;
  uint32_t countMax_ = 0;
  uint32_t highWater_ = 0;
  uint32_t freeHead_ = blockNone;
  uint32_t freeCount_ = 0;
  const CopyPins* pins_ = nullptr;
  LateCopies* late_ = nullptr;
  CopyQueue* copies_ = nullptr;
  Limbo limbo_[limboMax] = {};  // a ring
  uint32_t limboFirst_ = 0;
  uint32_t limboChains_ = 0;
  uint32_t limboCount_ = 0;  // blocks
};

}  // namespace exrp
