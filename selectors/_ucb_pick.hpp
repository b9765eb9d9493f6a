// UcbPick: what the UCB selector keeps of a pick; WaitingLine: the picks that were never drawn, oldest first.
//
// Thread safety: none of its own.
// Invariants:
//   1. group is UcbPick::waiting while the pick waits in the line, UcbPick::gone once it was moved away, else its group's slot.
//   2. In the line, `position` is the pick before and `next` the one after, UcbPick::none at the ends; births rise.
// Cost: every operation O(1), without allocation: the links are in the picks.
#pragma once

#include <cstdint>

#include "kernel/base/memory.hpp"

namespace exrp {

struct UcbPick {
  static constexpr uint32_t none = 0xffffffffu;
  static constexpr uint32_t waiting = 0xffffffffu;
  static constexpr uint32_t gone = 0xfffffffeu;

  uint64_t birth;     // picks that were pushed before it, ever
  float priority;     // finite, >= 0
  uint32_t group;     // see invariant 1
  uint32_t position;  // among the group's members; while it waits, the pick before it
  uint32_t next;      // while it waits, the pick after it
};

class WaitingLine {
 public:
  explicit WaitingLine(ReservedArray<UcbPick>& picks) : picks_(picks) {}

  uint32_t head() const { return head_; }
  bool empty() const { return head_ == UcbPick::none; }
  void clear() { head_ = tail_ = UcbPick::none; }

  /// Puts the pick at the end.
  void append(uint32_t index) {
    UcbPick& pick = picks_[index];
    pick.group = UcbPick::waiting;
    pick.position = tail_;
    pick.next = UcbPick::none;
    linkBefore(index, tail_);
    tail_ = index;
  }

  /// Puts the pick at the head.
  void prepend(uint32_t index) {
    UcbPick& pick = picks_[index];
    pick.group = UcbPick::waiting;
    pick.position = UcbPick::none;
    pick.next = head_;
    linkAfter(index, head_);
    head_ = index;
  }

  void remove(uint32_t index) {
    const UcbPick& pick = picks_[index];
    linkBefore(pick.next, pick.position);
    linkAfter(pick.position, pick.next);
  }

  /// The pick whose data were copied to `to` stays where it is in the line.
  void relocated(uint32_t to) {
    const UcbPick& pick = picks_[to];
    linkBefore(to, pick.position);
    linkAfter(to, pick.next);
  }

 private:
  /// `index` comes after `before`, or first.
  void linkBefore(uint32_t index, uint32_t before) { (before == UcbPick::none ? head_ : picks_[before].next) = index; }
  /// `index` comes before `after`, or last.
  void linkAfter(uint32_t index, uint32_t after) { (after == UcbPick::none ? tail_ : picks_[after].position) = index; }

  ReservedArray<UcbPick>& picks_;
  uint32_t head_ = UcbPick::none;
  uint32_t tail_ = UcbPick::none;
};

}  // namespace exrp
