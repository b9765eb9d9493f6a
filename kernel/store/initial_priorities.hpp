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

#include <cmath>
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
    const bool isReserved = kept_.data() != nullptr || kept_.create(slotCountMax);
    return isReserved && kept_.commit(slotCount) ? Status::ok : fail(Status::memory, 8.0 * static_cast<double>(slotCountMax));
  }
  /// From now on slots are noted. Those there are have none yet.
  void begin() { inUse_ = true; }
  /// Makes sure that slots below `slotCount` can be set, now or after begin().
  Status prepare(size_t slotCount) {
    if (kept_.data() == nullptr || kept_.commit(slotCount)) return Status::ok;
    return fail(Status::memory, 8.0 * static_cast<double>(slotCount));
  }
  /// `priority` is finite and not negative, or `none`.
  void set(uint32_t slot, double priority) { kept_[slot] = priority < 0 ? 0 : -std::fabs(priority); }
  /// What was given, or `none`.
  double get(uint32_t slot) const { return has(slot) ? std::fabs(kept_[slot]) : none; }
  bool has(uint32_t slot) const { return inUse_ && std::signbit(kept_[slot]); }
  /// How many of `count` slots from `slot` on have a priority, where the first has one; else how many have none. Once in use.
  uint32_t countAlike(uint32_t slot, uint32_t count) const {
    uint32_t alike = 1;
    while (alike < count && std::signbit(kept_[slot + alike]) == std::signbit(kept_[slot])) ++alike;
    return alike;
  }
  double memoryBytes() const { return inUse_ ? kept_.takenBytes(kept_.committed()) : 0; }

  static constexpr double none = -1;

 private:
  ReservedArray<double> kept_;  // with a minus sign, which 0 has, too; without one, there is none
  bool inUse_ = false;
};

}  // namespace exrp
