// InsertLine: the items that wait to be inserted into one table, in the order in which they came: those of clients and those of this process.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. bytes() are those of the items.
//   2. So are the counts of items whose stream has ended.
// Cost: O(1) an item that comes or goes in; leave() and withdraw() pass over the line.
#pragma once

#include "kernel/base/queue.hpp"
#include "kernel/exrp.h"

namespace exrp {

struct ItemBody;

/// An item that is to be inserted once the rate limiter allows it.
struct WaitingItem {
  uint64_t key;
  double priority;
  double removerPriority;  // its own for the remover; NaN: none
  ItemBody* body;
  uint64_t bytes;
  uint32_t inserter;  // gone: its stream has ended
  bool isConfirmed;   // its stream is told its key

  static constexpr uint32_t gone = 0xffffffffu;
};

class InsertLine {
 public:
  bool isEmpty() const { return items_.isEmpty(); }
  size_t count() const { return items_.count(); }
  uint64_t bytes() const { return bytes_; }
  const WaitingItem& operator[](size_t index) const { return items_[index]; }
  double memoryBytes() const { return items_.memoryBytes(); }

  /// Makes room for `more` items.
  bool prepare(size_t more) { return items_.prepare(more); }
  void push(const WaitingItem& item) {
    items_.push(item);
    bytes_ += item.bytes;
  }
  /// Takes out the item that has waited longest.
  WaitingItem pop() {
    const WaitingItem item = items_.front();
    items_.pop();
    bytes_ -= item.bytes;
    if (item.inserter == WaitingItem::gone) {
      --leftItems_;
      leftBytes_ -= item.bytes;
    }
    return item;
  }
  /// How many items an inserter has here.
  size_t countOf(uint32_t inserter) const {
    size_t found = 0;
    for (size_t k = 0; k < items_.count(); ++k) found += items_[k].inserter == inserter ? 1 : 0;
    return found;
  }
  /// Takes out all items of an inserter, and tells `dropped(item)` of each.
  template <typename Dropped>
  void withdraw(uint32_t inserter, Dropped dropped) {
    keepIf([&](WaitingItem& item) { return item.inserter != inserter; }, dropped);
  }
  /// The inserter's stream has ended: its items stay, as long as those of all that ended are few. The others go, and `dropped(item)` is told.
  template <typename Dropped>
  void leave(uint32_t inserter, Dropped dropped) {
    const auto stays = [&](WaitingItem& item) {
      if (item.inserter != inserter) return true;
      if (leftItems_ >= EXRP_LIMIT_TABLES_LEFT_ITEMS || leftBytes_ >= EXRP_LIMIT_TABLES_LEFT_BYTES) return false;
      item.inserter = WaitingItem::gone;
      ++leftItems_;
      leftBytes_ += item.bytes;
      return true;
    };
    keepIf(stays, dropped);
  }

  int32_t check() const {
    uint64_t bytes = 0;
    uint64_t leftItems = 0;
    uint64_t leftBytes = 0;
    for (size_t k = 0; k < items_.count(); ++k) {
      bytes += items_[k].bytes;
      if (items_[k].inserter != WaitingItem::gone) continue;
      ++leftItems;
      leftBytes += items_[k].bytes;
    }
    return bytes != bytes_ ? 1 : leftItems != leftItems_ || leftBytes != leftBytes_ ? 2 : 0;
  }

 private:
  template <typename Stays, typename Dropped>
  void keepIf(Stays stays, Dropped dropped) {
    size_t kept = 0;
    for (size_t k = 0; k < items_.count(); ++k) {
      if (stays(items_[k])) {
        items_[kept++] = items_[k];
      } else {
        bytes_ -= items_[k].bytes;
        dropped(items_[k]);
      }
    }
    items_.keep(kept);
  }

  Queue<WaitingItem> items_;
  uint64_t bytes_ = 0;
  uint64_t leftItems_ = 0;  // of streams that ended
  uint64_t leftBytes_ = 0;
};

}  // namespace exrp
