// PageRuns: hands out runs of pages of one memory that can only grow, and takes them back.
//
// It is for WebAssembly, where there is no other way to get and give back memory in large pieces. A run that was given back is joined
// with the free runs beside it, and handed out again. The list of free runs lies in the free runs themselves.
//
// Source, the memory: `uintptr_t more(size_t bytes)` makes it longer by a multiple of grainBytes, and returns where the new bytes begin, at
// a multiple of pageBytes; 0 where there is no more. The new bytes need not follow on the last ones.
//
// Thread safety: none.
// Invariants:
//   1. Every run begins at a multiple of pageBytes and has a multiple of pageBytes.
//   2. Free runs are listed by address. Two neighbours never touch.
// Cost: a walk through the free runs a call. No page of a free run but its first is touched, so untouched pages take no memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exrp {

template <typename Source>
class PageRuns {
 public:
  static constexpr size_t pageBytes = 4096;
  /// A memory of WebAssembly grows by multiples of this.
  static constexpr size_t grainBytes = size_t{64} << 10;
  /// The memory grows by this many bytes at least, where it can: growing costs a call of the system.
  static constexpr size_t growBytes = size_t{1} << 20;

  explicit PageRuns(Source& source) : source_(source) {}

  static constexpr size_t whole(size_t bytes) { return (bytes + pageBytes - 1) / pageBytes * pageBytes; }

  /// A run of `bytes`, a multiple of pageBytes; null where there is no memory for it. Its bytes may have been used before.
  void* take(size_t bytes) {
    void* const found = takeFree(bytes);
    if (found != nullptr) return found;
    return grow(bytes) ? takeFree(bytes) : nullptr;
  }

  void give(void* at, size_t bytes) { insert(reinterpret_cast<uintptr_t>(at), bytes); }

  /// Makes a run longer without moving it; false where what follows is taken.
  bool extend(void* at, size_t bytes, size_t wanted) {
    const uintptr_t end = reinterpret_cast<uintptr_t>(at) + bytes;
    const size_t more = wanted - bytes;
    if (takeAt(end, more)) return true;
    // Only the last run can get longer by memory that is new.
    if (end != end_ && !isLastFree(end)) return false;
    return grow(end_ == end ? more : more - static_cast<size_t>(end_ - end)) && takeAt(end, more);
  }

  /// Where the memory would end, once take(bytes) has succeeded.
  uintptr_t endOf(size_t bytes) const {
    for (const Run* run = first_; run != nullptr; run = run->next) {
      if (run->bytes >= bytes) return end_;
    }
    return end_ + bytes;
  }

  /// Bytes of the free runs.
  size_t freeBytes() const {
    size_t bytes = 0;
    for (const Run* run = first_; run != nullptr; run = run->next) bytes += run->bytes;
    return bytes;
  }

  /// The number of the invariant that is broken, or 0.
  int32_t check() const {
    for (const Run* run = first_; run != nullptr; run = run->next) {
      if (addressOf(run) % pageBytes != 0 || run->bytes == 0 || run->bytes % pageBytes != 0) return 1;
      if (run->next != nullptr && addressOf(run) + run->bytes >= addressOf(run->next)) return 2;
    }
    return 0;
  }

 private:
  struct Run {
    size_t bytes;
    Run* next;
  };

  static uintptr_t addressOf(const Run* run) { return reinterpret_cast<uintptr_t>(run); }
  static Run* runAt(uintptr_t address) { return reinterpret_cast<Run*>(address); }

  /// Whether the bytes from `end` up to the end of the memory are one free run.
  bool isLastFree(uintptr_t end) const {
    for (const Run* run = first_; run != nullptr; run = run->next) {
      if (addressOf(run) == end) return end + run->bytes == end_;
    }
    return false;
  }

  /// Makes the memory so much longer that `bytes` more are free.
  bool grow(size_t bytes) {
    if (bytes > SIZE_MAX - grainBytes) return false;
    const size_t enough = (bytes + grainBytes - 1) / grainBytes * grainBytes;
    size_t grown = enough < growBytes ? growBytes : enough;
    uintptr_t at = source_.more(grown);
    if (at == 0 && grown > enough) at = source_.more(grown = enough);
    if (at == 0) return false;
    end_ = at + grown;
    insert(at, grown);
    return true;
  }

  void* takeFree(size_t bytes) {
    for (Run** link = &first_; *link != nullptr; link = &(*link)->next) {
      if ((*link)->bytes >= bytes) return cut(link, bytes);
    }
    return nullptr;
  }

  bool takeAt(uintptr_t address, size_t bytes) {
    for (Run** link = &first_; *link != nullptr; link = &(*link)->next) {
      if (addressOf(*link) == address) return (*link)->bytes >= bytes && cut(link, bytes) != nullptr;
    }
    return false;
  }

  /// Takes the first bytes of a free run.
  static void* cut(Run** link, size_t bytes) {
    Run* const run = *link;
    if (run->bytes == bytes) {
      *link = run->next;
    } else {
      Run* const rest = runAt(addressOf(run) + bytes);
      *rest = {run->bytes - bytes, run->next};
      *link = rest;
    }
    return run;
  }

  void insert(uintptr_t address, size_t bytes) {
    Run* before = nullptr;
    Run* after = first_;
    while (after != nullptr && addressOf(after) < address) {
      before = after;
      after = after->next;
    }
    Run* run = runAt(address);
    if (before != nullptr && addressOf(before) + before->bytes == address) {
      before->bytes += bytes;
      run = before;
    } else {
      *run = {bytes, after};
      if (before != nullptr) before->next = run;
      else first_ = run;
    }
    if (after != nullptr && addressOf(run) + run->bytes == addressOf(after)) {
      run->bytes += after->bytes;
      run->next = after->next;
    }
  }

  Source& source_;
  Run* first_ = nullptr;
  uintptr_t end_ = 0;  // of the newest memory
};

}  // namespace exrp
