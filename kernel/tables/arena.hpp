// Arena: memory for many objects of any size, which never move until they are given back.
//
// Memory comes in slabs. A slab is cut into blocks of one size, which are handed out again once they came back. Sizes are multiples of 8 up to
// 1 KiB, then eight steps for each doubling. A larger block has a slab of its own. A slab without any block in use goes back to the system, but
// for one of each size, so that a block that comes and goes does not take a slab each time.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. A slab's blocks below its brink are in use or in its list of free ones.
//   2. The slabs of a size that have a free block, and no others, are in the list of that size.
// Cost: some ns a block, and a system call or two a slab. Waste: below 8 bytes of a small block, a ninth of a large one.
// A failure is `false`, and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/base/memory.hpp"
#include "kernel/base/scratch.hpp"

namespace exrp {

class Arena {
 public:
  /// Where a block is, and the slab that it must be given back to.
  struct Block {
    uint8_t* at;
    uint32_t slab;
  };

  Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// A block of at least `bytes` >= 1, at a multiple of 8. It holds anything.
  bool take(size_t bytes, Block* block);
  void give(const Block& block);

  /// Bytes of the slabs, as far as blocks were ever taken from them.
  double memoryBytes() const { return static_cast<double>(bytesUsed_) + slabs_.memoryBytes(); }
  int32_t check() const;

 private:
  static constexpr uint32_t none = 0xffffffffu;
  static constexpr uint32_t fineCount = 128;  // sizes up to 1 KiB
  static constexpr uint32_t sizeCount = fineCount + 64;
  static constexpr uint32_t largeSize = sizeCount;  // of a block that has a slab of its own
  static constexpr size_t blockMax = size_t{256} << 10;

  struct Slab {
    uint8_t* base;  // null: this number is free
    Reservation reservation;
    size_t blockBytes;
    uint32_t size;      // which of the sizes
    uint32_t blockMax;  // blocks that it has room for
    uint32_t brink;     // blocks that were ever taken
    uint32_t used;      // blocks in use
    uint32_t free;      // the first free block below the brink, or none
    uint32_t before;    // slabs with free blocks of this size; `after` also lists free numbers
    uint32_t after;
  };

  static uint32_t sizeOf(size_t bytes);
  static size_t bytesOf(uint32_t size);
  static bool hasFree(const Slab& slab) { return slab.used < slab.blockMax; }
  uint32_t addSlab(uint32_t size, size_t blockBytes);
  void removeSlab(uint32_t number);
  void list(uint32_t number);
  void unlist(uint32_t number);

  Scratch<Slab> slabs_;
  uint32_t slabCount_ = 0;        // numbers ever used
  uint32_t freeNumber_ = none;    // the first number that no slab has
  uint32_t first_[sizeCount];     // the first slab of each size that has a free block
  uint64_t bytesUsed_ = 0;
};

}  // namespace exrp
