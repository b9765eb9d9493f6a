// CopyQueue: copies of large rows into a batch, plain or packed ones, that a call does last. On a shared replay they wait until it has given back the lock. On a
// private one they wait where there are so many that a second thread takes part (kernel/base/second_thread.hpp).
//
// Choosing and bookkeeping take microseconds, and a batch of images takes milliseconds. So a draw under the lock only writes down what has to
// be copied from where to where, and copies it afterwards. Others may have the replay meanwhile:
// - A block that goes meanwhile is not used again until the copies that were under way are done (CopyPins).
// - The store's memory may have to grow meanwhile. Who grows it waits for the copies of all others first (Store::waitForCopies).
// A record is copied under the lock: the row of an image takes less than a microsecond.
//
// Thread safety: a queue is filled and emptied under the lock, and run without it. While it is run, nobody changes it.
// Invariants:
//   1. Rows of a block that is taken change only after Store::waitForCopies().
//   2. Packed rows that are replaced stay as they are until copies from them are done (PackedColumn).
// Cost: 32 bytes a copy, and 80 of packed rows; a copy of many neighbouring rows is one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernel/base/scratch.hpp"
#include "kernel/base/sync.hpp"
#include "kernel/exrp.h"
#include "kernel/packing/packed_rows.hpp"

namespace exrp {

/// Which seats copy without the lock, by their numbers, and since when: a count of such copies, so that a pin is never mistaken for a later one.
class CopyPins {
 public:
  static constexpr uint32_t seatMax = EXRP_LIMIT_SEATS + 1;  // their numbers begin with 1

  /// Under the lock: the seat copies from now on.
  void set(uint32_t seat) {
    // Relaxed: the lock, which is given back next, makes it seen.
    pins_[seat].store(++count_, std::memory_order_relaxed);
    if (seat >= end_) end_ = seat + 1;
  }
  /// Without the lock. Release: who sees the pin gone sees the copies done, and may write over what they read.
  void clear(uint32_t seat) { pins_[seat].store(0, std::memory_order_release); }

  /// Copies that began after this are not concerned by what goes now.
  uint64_t count() const { return count_; }
  /// Whether all copies that had begun by then are done.
  bool areDone(uint64_t count) const {
    for (uint32_t seat = 1; seat < end_; ++seat) {
      const uint64_t pin = get(seat);
      if (pin != 0 && pin <= count) return false;
    }
    return true;
  }
  /// Waits for the copies of all seats. They need no lock, so they end. To be called by one that copies nothing.
  void await() const {
    for (uint32_t seat = 1; seat < end_; ++seat) {
      const uint64_t pin = get(seat);
      while (pin != 0 && get(seat) == pin) yieldThread();
    }
  }

 private:
  /// The seat's pin; 0 where it has none. Acquire: pairs with clear().
  uint64_t get(uint32_t seat) const { return pins_[seat].load(std::memory_order_acquire); }

  std::atomic<uint64_t> pins_[seatMax] = {};
  uint64_t count_ = 0;  // under the lock, as is end_
  uint32_t end_ = 0;
};

class CopyQueue {
 public:
  /// Copies of less are done at once.
  static constexpr size_t bytesMin = 1024;

  struct Copy {
    uint8_t* to;
    uint8_t* also;  // or null
    const uint8_t* from;
    size_t bytes;
  };
  /// Rows of one packed block, `first` to `first + count - 1`. The first `toCount` of them go to `to`, one after another, and those from `skipped` on to `also`.
  /// Each goes somewhere. So a stack of frames and the next one, which has all but the first of it and one more, are one copy.
  struct Unpacking {
    PackedRows rows;
    uint32_t first;
    uint32_t count;
    uint8_t* to;
    uint32_t toCount;
    uint32_t skipped;
    uint8_t* also;  // or null

    size_t writtenBytes() const { return (size_t{toCount} + (also == nullptr ? 0 : count - skipped)) * rows.rowBytes; }
  };

  /// The pins, and the seat whose queue it is. A queue without them is for a replay that is not shared.
  void bind(CopyPins* pins, uint32_t seat) {
    pins_ = pins;
    seat_ = seat;
  }

  /// Sets the seat's pin, where there are pins. False where there is no memory: the caller then copies at once.
  bool add(uint8_t* to, uint8_t* also, const uint8_t* from, size_t bytes) {
    if (!copies_.commit(size_t{count_} + 1)) return false;
    pin();
    copies_[count_++] = {to, also, from, bytes};
    writtenBytes_ += also == nullptr ? bytes : 2 * bytes;
    return true;
  }
  /// The same of packed rows.
  bool add(const Unpacking& unpacking) {
    if (!unpackings_.commit(size_t{unpackingCount_} + 1)) return false;
    pin();
    unpackings_[unpackingCount_++] = unpacking;
    writtenBytes_ += unpacking.writtenBytes();
    return true;
  }
  bool isEmpty() const { return count_ == 0 && unpackingCount_ == 0; }
  /// To be called once all copies were made: takes the seat's pin away.
  void unpin() {
    if (pins_ != nullptr) pins_->clear(seat_);
  }
  /// The bytes that all copies write.
  size_t writtenBytes() const { return writtenBytes_; }
  uint32_t count() const { return count_; }
  const Copy& operator[](uint32_t index) const { return copies_[index]; }
  uint32_t unpackingCount() const { return unpackingCount_; }
  const Unpacking& unpacking(uint32_t index) const { return unpackings_[index]; }
  void clear() {
    count_ = unpackingCount_ = 0;
    writtenBytes_ = 0;
  }
  double memoryBytes() const { return copies_.memoryBytes() + unpackings_.memoryBytes(); }

 private:
  void pin() {
    if (isEmpty() && pins_ != nullptr) pins_->set(seat_);
  }

  CopyPins* pins_ = nullptr;
  uint32_t seat_ = 0;
  Scratch<Copy> copies_;
  Scratch<Unpacking> unpackings_;
  uint32_t count_ = 0;
  uint32_t unpackingCount_ = 0;
  size_t writtenBytes_ = 0;
};

}  // namespace exrp
