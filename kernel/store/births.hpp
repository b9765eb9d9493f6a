// Births: how many records had been written to the replay before each record.
//
// One birth is kept for each `length` slots of a block, and the slots after them count on from it. Only whole such runs are trimmed, so that is
// as good as one a record.
//
// Thread safety: none of its own.
// Invariants: none beyond the types.
// Cost: O(1); 8 bytes for `length` slots.
#pragma once

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"

namespace exrp {

class Births {
 public:
  /// `length` is a power of two. There are at most `slotCountMax` slots, and `slotCount` are expected.
  Status create(uint32_t length, uint64_t slotCountMax, uint64_t slotCount) {
    shift_ = static_cast<uint32_t>(__builtin_ctz(length));
    const bool isReserved = births_.create(slotCountMax >> shift_, Pages::huge, slotCount >> shift_);
    return isReserved ? Status::ok : fail(Status::memory, 8.0 * static_cast<double>(slotCountMax >> shift_));
  }
  /// Takes the memory for slots below `slotCount`.
  Status prepare(uint64_t slotCount) {
    return births_.commit(slotCount >> shift_) ? Status::ok : fail(Status::memory, 8.0 * static_cast<double>(slotCount >> shift_));
  }

  /// How many slots share a birth.
  uint32_t length() const { return 1u << shift_; }
  /// That of the record in a slot. It may be a little higher than this, as births count on within a run.
  uint64_t at(uint32_t slot) const { return births_[slot >> shift_] + (slot & (length() - 1)); }
  /// Sets it. The slots behind it that share its birth count on.
  void set(uint32_t slot, uint64_t birth) { births_[slot >> shift_] = birth - (slot & (length() - 1)); }

  /// Bytes of the pages in use, where slots below `slotCount` are.
  double memoryBytes(uint64_t slotCount) const { return births_.takenBytes(slotCount >> shift_); }

 private:
  ReservedArray<uint64_t> births_;  // by run of slots: of its first
  uint32_t shift_ = 0;
};

}  // namespace exrp
