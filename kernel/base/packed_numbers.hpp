// PackedNumbers: an array of whole numbers that takes 3 bytes for each where all are below 2^24, else 4.
//
// Thread safety: none of its own.
// Invariants: each number is 0 until it is set.
// Cost: get() is one load, as numbers may lie anywhere; set() is two stores, or three. Each number may lie in two cache lines.
#pragma once

#include <cstring>

#include "kernel/base/memory.hpp"
#include "kernel/base/prefetch.hpp"

namespace exrp {

class PackedNumbers {
 public:
  /// Reserves room for `countMax` numbers, all at most `largest`; none is committed yet. `countExpected` of them will be used one day.
  bool create(uint64_t countMax, uint32_t largest, uint64_t countExpected) {
    width_ = largest < 1u << 24 ? 3 : 4;
    mask_ = largest < 1u << 24 ? (1u << 24) - 1 : UINT32_MAX;
    if (countMax > (UINT64_MAX - sizeof(uint32_t)) / width_) return false;
    return bytes_.create(countMax * width_ + over, Pages::huge, countExpected * width_);
  }
  bool commit(uint64_t count) { return bytes_.commit(count * width_ + over); }

  uint32_t get(size_t at) const {
    uint32_t number = 0;
    memcpy(&number, bytes_.data() + at * width_, sizeof number);
    return number & mask_;
  }
  void set(size_t at, uint32_t number) {
    uint8_t* const to = bytes_.data() + at * width_;
    memcpy(to, &number, 2);
    to[2] = static_cast<uint8_t>(number >> 16);
    if (width_ == 4) to[3] = static_cast<uint8_t>(number >> 24);
  }
  /// Sets `count` numbers, the first to `number` and each to one more than that before it.
  void setRun(size_t at, size_t count, uint32_t number) {
    if (count == 0) return;
    uint8_t* to = bytes_.data() + at * width_;
    // What is written too far is written again, by the next one.
    for (size_t k = 0; k + 1 < count; ++k, ++number, to += width_) memcpy(to, &number, sizeof number);
    set(at + count - 1, number);
  }
  void clear(size_t at, size_t count) { memset(bytes_.data() + at * width_, 0, count * width_); }

  void prefetchFar(size_t at) const { prefetchLineFar(bytes_.data() + at * width_); }
  /// The bytes of a number.
  uint32_t width() const { return width_; }
  double takenBytes(uint64_t count) const { return bytes_.takenBytes(count * width_); }

 private:
  static constexpr size_t over = 1;  // get() of the last one reads this many bytes more

  ReservedArray<uint8_t> bytes_;
  uint32_t width_ = 4;
  uint32_t mask_ = UINT32_MAX;
};

}  // namespace exrp
