// Journal: the changes of a pick view, kept for rules written outside the kernel until they are read.
//
// An event is a pair (from, to): (none, i) pick i was added; (j, i) j moved to i; (i, none) i was removed; (i, i) i was given a
// priority, whose bits are the event after it.
// Thread safety: none of its own. Cost: 8 bytes an event, one store.
// It does not grow without bound: the replay refuses to record when a record could cause more events than there is room for.
#pragma once

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"

namespace exrp {

class Journal {
 public:
  /// Room for `pickCountMax` picks coming and going, and for what piles up between two readings.
  Status open(uint32_t pickCountMax) {
    if (isOpen_) return Status::ok;
    eventCountMax_ = size_t{5} * pickCountMax + (size_t{1} << 20);
    if (!events_.create(2 * eventCountMax_, Pages::small)) return fail(Status::memory, double{8} * static_cast<double>(eventCountMax_));
    isOpen_ = true;
    return Status::ok;
  }
  bool isOpen() const { return isOpen_; }
  size_t count() const { return written_ - read_; }
  /// Makes sure that `count` further events fit. Does nothing while it is not open.
  Status prepare(size_t count) {
    if (!isOpen_) return Status::ok;
    if (written_ + count > eventCountMax_) compact();
    if (written_ + count > eventCountMax_) {
      return fail(Status::journalFull, static_cast<double>(written_), static_cast<double>(eventCountMax_));
    }
    if (events_.commit(2 * (written_ + count))) return Status::ok;
    return fail(Status::memory, double{8} * static_cast<double>(written_ + count));
  }
  void add(uint32_t from, uint32_t to) {
    events_[2 * written_] = from;
    events_[2 * written_ + 1] = to;
    ++written_;
  }
  uint32_t read(uint32_t* events, uint32_t countMax) {
    const uint32_t given = count() < countMax ? static_cast<uint32_t>(count()) : countMax;
    if (given == 0) return 0;  // a journal that was never opened has no memory to read from
    __builtin_memcpy(events, events_.data() + 2 * read_, size_t{8} * given);
    read_ += given;
    if (read_ == written_) read_ = written_ = 0;
    return given;
  }
  double memoryBytes() const { return isOpen_ ? events_.takenBytes(events_.committed()) : 0.0; }

 private:
  void compact() {
    __builtin_memmove(events_.data(), events_.data() + 2 * read_, 8 * count());
    written_ -= read_;
    read_ = 0;
  }

  ReservedArray<uint32_t> events_;
  size_t eventCountMax_ = 0;
  size_t written_ = 0;
  size_t read_ = 0;
  bool isOpen_ = false;
};

}  // namespace exrp
