// ShortLock: a lock for work of microseconds. Nobody is ever woken: who finds it taken looks again, first at once, then after short sleeps.
//
// So unlocking is a plain store, which makes a free lock cost a third of a mutex. A thread that ends holds none: the system ends no thread
// in the middle of a call, and a Worker that is terminated finishes the call that it is in.
//
// Thread safety: any thread may call. Memory order: lock() acquires what the last unlock() released, so what one thread did under the lock
// is seen by the next.
// Cost: free: 6 to 8 ns. Taken: about 10 us of looking, then sleeps of 50 us and, for long, of 250 us.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernel/base/sync.hpp"

#if !defined(__wasm__)
#include <chrono>
#include <thread>
#endif

namespace exrp {

class ShortLock {
 public:
  bool tryLock() {
    uint32_t free = 0;
    // The load alone leaves the line where it is while another thread has the lock.
    return word_.load(std::memory_order_relaxed) == 0 &&
           word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// Calls `mayWait` before each sleep; where it says no, gives up and returns false.
  template <typename MayWait>
  bool lock(MayWait mayWait) {
    for (uint32_t tries = 0; !tryLock(); ++tries) {
      if (tries < spinCount) {
        pause();
        continue;
      }
      if (!mayWait()) return false;
      sleep(tries - spinCount);
    }
    return true;
  }
  void lock() {
    lock([] { return true; });
  }
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  // About 10 us of looking: a batch of 256 small records takes as long. To give the turn away is no better than to sleep: where many threads
  // want the processor it takes milliseconds each time, which made the worst call of a learner three times as long.
  static constexpr uint32_t spinCount = 250;
  static constexpr uint32_t shortCount = 20;  // sleeps

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  static void sleep(uint32_t turn) {
#if !defined(__wasm__)
    // Of the shortest sleep, systems make some 50 us.
    std::this_thread::sleep_for(std::chrono::microseconds(turn < shortCount ? 1 : 200));
#else
    static_cast<void>(turn);
    __builtin_trap();  // one thread never finds its own lock taken
#endif
  }

  std::atomic<uint32_t> word_ = 0;
};

}  // namespace exrp
