// BlockIndex: finds a block by its episode's handle and its ordinal in it, so that (pick episode, pick position) leads to a
// slot in one step however long the episode is.
//
// Open addressing with linear probing over block numbers; the keys themselves stand in the blocks. Removal shifts back, so
// there are no tombstones and no slow decay.
// Thread safety: none of its own.
// Invariants:
//   1. Every taken block is found by its key; nothing else is.
//   2. At most 5/8 of the table is used.
// Cost: O(1), one miss of the cache in the table and one in the block. The table doubles when needed (amortised O(1)).
#pragma once

#include "kernel/store.hpp"

namespace exrp {

class BlockIndex {
 public:
  /// Room for about `blockCount` blocks before the first growth.
  Status create(uint32_t blockCount);
  /// Makes sure that the next `count` add() calls cannot fail.
  Status prepare(const Store& store, uint32_t count);

  void add(const Store& store, uint32_t block);
  void remove(const Store& store, uint32_t block);

  /// The block, or blockNone.
  uint32_t find(const Store& store, uint64_t handle, uint32_t ordinal) const {
    for (size_t place = home(handle, ordinal);; place = (place + 1) & mask_) {
      const uint32_t entry = table_[place];
      if (entry == 0) return blockNone;
      const Block& block = store.block(entry - 1);
      if (block.handle == handle && block.ordinal == ordinal) return entry - 1;
    }
  }
  /// Asks for the cache lines that find() reads first, in two steps.
  void prefetchTable(uint64_t handle, uint32_t ordinal) const { prefetchLineFar(&table_[home(handle, ordinal)]); }
  void prefetchBlock(const Store& store, uint64_t handle, uint32_t ordinal) const {
    const uint32_t entry = table_[home(handle, ordinal)];
    if (entry != 0) prefetchLineFar(&store.block(entry - 1));
  }

  uint32_t count() const { return count_; }
  double memoryBytes() const { return double{4} * static_cast<double>(mask_ + 1); }
  int32_t check(const Store& store) const;

 private:
  size_t home(uint64_t handle, uint32_t ordinal) const {
    const uint64_t mixed = handle * 0x9E3779B97F4A7C15u + ordinal * 0xC2B2AE3D27D4EB4Fu;
    return static_cast<size_t>((mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9u >> shift_);
  }
  bool grow(const Store& store, size_t tableCount);
  void place(const Store& store, uint32_t block);

  ReservedArray<uint32_t> table_;  // block + 1; 0 is free
  size_t mask_ = 0;
  uint32_t shift_ = 0;
  uint32_t count_ = 0;
};

}  // namespace exrp
