// BatchPool: memory for batches that an engine's buffers lie over (kernel/abi/buffers.cpp). It comes back when the engine frees the last
// such buffer, and serves the next batch without being cleared. The system clears memory that it gives, a page at a time, which takes longer
// than to copy a batch.
//
// Thread safety: any thread may call. An engine gives memory back on threads of its own.
// Invariants:
//   1. What it has given, and what is spare, is within its limit together. Above that, it gives none.
//   2. A block is given to one caller at a time.
//   3. When it makes a block, spares of 128 MiB at most are left: sizes that were asked for once do not keep memory for good.
// Cost: a lock, and one look at each spare block. A spare of up to twice the size will do. The spares that were not used for longest go to
// the system. From 1 MiB on, pages are huge where the system has such: a batch in memory that has left the caches takes 0.8 to 0.9 times as long.
#pragma once

#include "kernel/base/memory.hpp"
#include "kernel/base/sync.hpp"

namespace exrp {

class BatchPool {
 public:
  struct Block {
    ReservedArray<uint8_t> memory;
    size_t bytes = 0;
    Block* next = nullptr;
  };

  /// A pool for the process: of 512 MiB at most, about what V8 leaves uncollected of batches of 15 MB, and of an eighth of the machine's memory.
  BatchPool();
  explicit BatchPool(size_t bytesMax) : bytesMax_(bytesMax) {}
  BatchPool(const BatchPool&) = delete;
  BatchPool& operator=(const BatchPool&) = delete;
  /// Who has a block has given it back by then.
  ~BatchPool() { freeSpares(bytesMax_); }

  /// Memory of at least so many bytes, which hold anything; null where there is none.
  Block* take(size_t bytes);
  void giveBack(Block* block);
  /// Bytes of all blocks, given or spare.
  size_t bytes();

 private:
  Block* takeSpare(size_t bytes);
  void freeSpares(size_t room);

  Mutex mutex_;
  const size_t bytesMax_;
  Block* spares_ = nullptr;  // the latest first
  size_t bytes_ = 0;
  size_t spareBytes_ = 0;
};

}  // namespace exrp
