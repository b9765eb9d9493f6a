// BatchPool: memory for large batches that an engine's buffers lie over (kernel/abi/buffers.cpp). It comes back when the engine frees the last
// such buffer, and serves the next batch without being cleared. The system clears memory that it gives, a page at a time, which takes longer
// than to copy a batch of images.
//
// Thread safety: any thread may call. An engine gives memory back on threads of its own.
// Invariants:
//   1. What it has given, and what is spare, is at most `bytesMax` together. Above that, it gives none.
//   2. A block is given to one caller at a time.
// Cost: a lock, and one look at each spare block. A spare of up to twice the size will do. The others are given to the system where there is no
// room beside them. Pages are small: the system took 35 to 100 ms to find huge ones for 16 MB, and 8 ms for small ones.
#pragma once

#include "kernel/base/memory.hpp"
#include "kernel/base/sync.hpp"

namespace exrp {

class BatchPool {
 public:
  /// More than an engine leaves uncollected of batches of 15 MB, mostly.
  static constexpr size_t bytesMax = size_t{256} << 20;

  struct Block {
    ReservedArray<uint8_t> memory;
    size_t bytes = 0;
    Block* next = nullptr;
  };

  BatchPool() = default;
  BatchPool(const BatchPool&) = delete;
  BatchPool& operator=(const BatchPool&) = delete;
  /// Who has a block has given it back by then.
  ~BatchPool() { freeSpares(); }

  /// Memory of at least so many bytes, which hold anything; null where there is none.
  Block* take(size_t bytes);
  void giveBack(Block* block);
  /// Bytes of all blocks, given or spare.
  size_t bytes();

 private:
  Block* takeSpare(size_t bytes);
  void freeSpares();

  Mutex mutex_;
  Block* spares_ = nullptr;  // the latest first
  size_t bytes_ = 0;
};

}  // namespace exrp
