// InitialPriorities: the priorities that were given with records, by slot, for the picks that begin at them.
//
// A pick often becomes valid later than its record arrives, and a selector or a view may come later still. So a priority is kept as
// long as its record. There is no memory for them until the first one is given.
//
// Thread safety: none of its own.
// Invariants:
//   1. Once in use, a slot that holds a record has what was given with that record, or none.
// Cost: 8 bytes a slot once in use; O(1).
#pragma once

#include <cstring>

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/base/priority.hpp"

namespace exrp {

/// One of many doubles that begin at any address.
inline double priorityAt(const uint8_t* priorities, size_t index) {
  double value = 0;
  memcpy(&value, priorities + index * sizeof value, sizeof value);
  return value;
}

class InitialPriorities {
 public:
  bool inUse() const { return inUse_; }
  /// Takes what begin() needs, of up to `slotCountMax` slots, for the `slotCount` there are. Nobody sees it before begin().
  Status reserve(size_t slotCountMax, size_t slotCount) {
    if (inUse_) return Status::ok;
    const bool isReserved = bits_.data() != nullptr || bits_.create(slotCountMax);
    return isReserved && bits_.commit(slotCount) ? Status::ok : fail(Status::memory, 8.0 * static_cast<double>(slotCountMax));
  }
  /// From now on slots are noted. Those there are have none yet.
  void begin() { inUse_ = true; }
  /// Makes sure that slots below `slotCount` can be set, now or after begin().
  Status prepare(size_t slotCount) {
    if (bits_.data() == nullptr || bits_.commit(slotCount)) return Status::ok;
    return fail(Status::memory, 8.0 * static_cast<double>(slotCount));
  }
  /// `priority` is finite and not negative, or `none`.
  void set(uint32_t slot, double priority) { bits_[slot] = priority < 0 ? 0 : bitsOf(priority) + 1; }
  /// What was given, or `none`.
  double get(uint32_t slot) const { return inUse_ ? fromBits(bits_[slot]) : none; }
  bool has(uint32_t slot) const { return inUse_ && bits_[slot] != 0; }
  /// How many of `count` slots from `slot` on have a priority, where the first has one; else how many have none. Once in use.
  uint32_t countAlike(uint32_t slot, uint32_t count) const {
    uint32_t alike = 1;
    while (alike < count && (bits_[slot + alike] != 0) == (bits_[slot] != 0)) ++alike;
    return alike;
  }
  double memoryBytes() const { return inUse_ ? bits_.takenBytes(bits_.committed()) : 0; }

  static constexpr double none = -1;

 private:
  static uint64_t bitsOf(double value) {
    if (value == 0) return 0;  // of either sign
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  static double fromBits(uint64_t bits) {
    if (bits == 0) return none;
    --bits;
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
  }

  ReservedArray<uint64_t> bits_;  // 0 for none, else the number's bits and one more
  bool inUse_ = false;
};

}  // namespace exrp
