// LargestPriority: the largest priority of a table's items, without a look at all of them but where the largest one has just gone.
//
// Thread safety: none of its own.
// Invariants:
//   1. Where it is known, it is the largest.
// Cost: O(1); get() O(items) after the largest one went.
#pragma once

namespace exrp {

class LargestPriority {
 public:
  /// An item has this priority now.
  void raised(double priority) {
    if (priority < largest_) return;
    largest_ = priority;
    isKnown_ = true;
  }
  /// An item has it no more.
  void lowered(double before) {
    if (before >= largest_) isKnown_ = false;
  }
  /// There is no item.
  void clear() { *this = {}; }
  /// `find` looks at all items.
  template <typename Find>
  double get(Find find) {
    if (!isKnown_) raised(largest_ = find());
    return largest_;
  }
  bool canBe(double largest) const { return !isKnown_ || !(largest < largest_ || largest > largest_); }

 private:
  double largest_ = 0;
  bool isKnown_ = true;
};

}  // namespace exrp
