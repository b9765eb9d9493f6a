// ShortLock: a lock for work of microseconds. Nobody is ever woken: who finds it taken looks again, first at once, then after short sleeps.
//
// So unlocking is a plain store, which makes a free lock cost a third of a mutex. A thread that ends holds none: the system ends no thread
// in the middle of a call, and a Worker that is terminated finishes the call that it is in.
//
// A free lock goes to whoever looks first. That is mostly the thread that has just given it back, so a learner beside busy writers could look
// 50 times in vain. So who has slept some times in vain reserves the next turn: then nobody else takes the lock before. One thread at a
// time has such a reservation, and it looks all the time while it has one.
//
// Thread safety: any thread may call. Memory order: lock() acquires what the last unlock() released, so what one thread did under the lock
// is seen by the next. A reservation is a wish and guards no data, so it is relaxed: who misses it takes one more turn before.
// Invariants:
//   1. reserved_ is 1 from the time that one thread set it, until that thread has the lock or gives up.
// Cost: free: 6 to 8 ns. Taken: about 10 us of looking, then sleeps of 50 us and, for long, of 250 us.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernel/base/sync.hpp"

namespace exrp {

class ShortLock {
 public:
  /// Takes the lock where it is free, and nobody has reserved it.
  bool tryLock() { return !isReserved() && take(); }
  // Sleeps before a thread reserves its turn: some 0.6 ms for callers that hurry, and twice as long for the others. With less, many threads take
  // turns like a queue: each turn then waits for a sleeper, and four writers and a learner did less in the few runs that were made.
  static constexpr uint32_t shortPatience = 10;
  static constexpr uint32_t longPatience = 20;

  /// Calls `mayWait` before each sleep; where it says no, gives up and returns false.
  template <typename MayWait>
  bool lock(MayWait mayWait, uint32_t patience = shortPatience) {
    for (uint32_t tries = 0; tries < spinCount; ++tries) {
      if (tryLock()) return true;
      pauseCore();
    }
    for (uint32_t slept = 0; !tryLock(); ++slept) {
      if (slept >= patience && reserve()) return lockReserved(mayWait, slept);
      if (!mayWait()) return false;
      sleep(slept);
    }
    return true;
  }
  void lock() {
    lock([] { return true; });
  }
  void unlock() { word_.store(0, std::memory_order_release); }
  bool isReserved() const { return reserved_.load(std::memory_order_relaxed) != 0; }

 private:
  // About 10 us of looking: a batch of 256 small records takes as long. To give the turn away is no better than to sleep: where many threads
  // want the processor it takes milliseconds each time, which made the worst call of a learner three times as long.
  static constexpr uint32_t spinCount = 250;
  static constexpr uint32_t shortCount = 20;  // sleeps

  bool take() {
    uint32_t free = 0;
    // The load alone leaves the line where it is while another thread has the lock.
    return word_.load(std::memory_order_relaxed) == 0 &&
           word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  bool reserve() {
    uint32_t none = 0;
    return reserved_.compare_exchange_strong(none, 1, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  void endReservation() { reserved_.store(0, std::memory_order_relaxed); }
  /// By the thread that has the reservation. It ends here.
  template <typename MayWait>
  bool lockReserved(MayWait mayWait, uint32_t slept) {
    for (;; ++slept) {
      for (uint32_t tries = 0; tries < 2 * spinCount; ++tries) {
        if (!take()) {
          pauseCore();
          continue;
        }
        endReservation();
        return true;
      }
      // Whoever has the lock keeps it for long, or has lost its core: this one may serve it.
      if (!mayWait()) {
        endReservation();
        return false;
      }
      sleep(slept);
    }
  }

  static void sleep(uint32_t turn) {
    // Of the shortest sleep, systems make some 50 us.
    sleepThread(turn < shortCount ? 1 : 200);
  }

  std::atomic<uint32_t> word_ = 0;
  std::atomic<uint32_t> reserved_ = 0;
};

}  // namespace exrp
