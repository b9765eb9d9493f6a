// Queue<T>: first in, first out, in one array.
//
// Thread safety: none of its own.
// Invariants:
//   1. Elements head_..head_ + count_ - 1 of the array are in the queue, the oldest first.
//   2. push() never fails where prepare() has made room: take the memory first, then change what can be seen.
// Cost: a store a push, and what Scratch takes to grow. Elements move to the front when the end of the array is reached.
#pragma once

#include <cassert>
#include <cstring>

#include "kernel/base/scratch.hpp"

namespace exrp {

template <typename T>
class Queue {
 public:
  /// Makes room for `more` elements beside those that are there. False for want of memory.
  bool prepare(size_t more) {
    if (head_ + count_ + more <= items_.committed()) return true;
    if (head_ >= count_) moveToFront();
    return items_.commit(head_ + count_ + more);
  }
  void push(const T& item) {
    if (head_ + count_ == items_.committed()) moveToFront();
    assert(head_ + count_ < items_.committed());
    items_[head_ + count_++] = item;
  }
  /// Takes the `count` oldest out.
  void pop(size_t count = 1) {
    assert(count <= count_);
    count_ -= count;
    head_ = count_ == 0 ? 0 : head_ + count;
  }
  void clear() { pop(count_); }
  /// Keeps the `count` oldest.
  void keep(size_t count) {
    assert(count <= count_);
    count_ = count;
    if (count == 0) head_ = 0;
  }

  size_t count() const { return count_; }
  bool isEmpty() const { return count_ == 0; }
  /// The element that `index` others came before.
  T& operator[](size_t index) { return items_[head_ + index]; }
  const T& operator[](size_t index) const { return items_[head_ + index]; }
  T& front() { return items_[head_]; }
  double memoryBytes() const { return items_.memoryBytes(); }

 private:
  void moveToFront() {
    if (head_ == 0) return;
    memmove(static_cast<void*>(items_.data()), items_.data() + head_, count_ * sizeof(T));
    head_ = 0;
  }

  Scratch<T> items_;
  size_t head_ = 0;
  size_t count_ = 0;
};

}  // namespace exrp
