// Scratch<T>: an array for the numbers of one call. It grows when a call needs more, and may move in memory then.
//
// Thread safety: none of its own.
// Invariants:
//   1. Elements below committed() may be read and written. New ones start as zero bytes, and growing keeps the others.
//   2. Pointers to elements are good until the next commit().
//   3. T is trivially copyable, so zero bytes are a valid T.
// Cost: nothing until the first commit(); commit() of a count that is committed already is one comparison.
// It does not shrink, run constructors or destructors, or throw. Failure is `false` and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernel/base/memory.hpp"

namespace exrp {

template <typename T>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::free(data_); }

  /// Makes elements 0..count-1 usable.
  bool commit(size_t count) {
    if (count <= committed_) return true;
    // Growing by half keeps growth in small steps cheap. Where memory is too short for that, grow only to `count`.
    const size_t ample = committed_ + committed_ / 2;
    return (ample > count && grow(ample)) || grow(count);
  }

  void swap(Scratch& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(committed_, other.committed_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t index) { return data_[index]; }
  const T& operator[](size_t index) const { return data_[index]; }
  size_t committed() const { return committed_; }
  double memoryBytes() const { return static_cast<double>(committed_ * sizeof(T)); }

 private:
  bool grow(size_t count) {
    if (count > SIZE_MAX / sizeof(T)) return false;
    void* const moved = resizeMemory(data_, count * sizeof(T));
    if (moved == nullptr) return false;
    data_ = static_cast<T*>(moved);
    memset(static_cast<void*>(data_ + committed_), 0, (count - committed_) * sizeof(T));
    committed_ = count;
    return true;
  }

  T* data_ = nullptr;
  size_t committed_ = 0;
};

}  // namespace exrp
