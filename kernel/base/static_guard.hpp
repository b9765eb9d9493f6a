// StaticGuard: sees to it that one thread makes a static object of a function, and that the others wait for it.
//
// Compilers call it by names of the C++ library (no_exceptions.cpp), and give it 8 bytes that are zero at first. They read byte 0 themselves, and
// call only where it is 0. Byte 1 says that a thread makes the object now.
//
// Thread safety: any thread may call. Who waits looks again and again, so an object should be made in microseconds.
// Invariants:
//   1. Byte 0 is 1 once the object is made, and stays so.
//   2. Where begin() says true, no other thread makes the object until end() or giveUp().
#pragma once

#include <atomic>
#include <cstdint>

#include "kernel/base/sync.hpp"

namespace exrp {

class StaticGuard {
 public:
  explicit StaticGuard(uint8_t* bytes) : made_(bytes[0]), taken_(bytes[1]) {}

  /// True where the caller must make the object. False once another thread has made it.
  bool begin() {
    // Acquire: pairs with end(), so that the object is seen whole.
    while (made_.load(std::memory_order_acquire) == 0) {
      if (taken_.exchange(1, std::memory_order_acquire) == 0) {
        if (made_.load(std::memory_order_acquire) == 0) return true;
        giveUp();
      }
      yieldThread();
    }
    return false;
  }
  /// The object is made.
  void end() {
    made_.store(1, std::memory_order_release);
    giveUp();
  }
  /// The caller no longer makes the object.
  void giveUp() { taken_.store(0, std::memory_order_release); }

 private:
  static_assert(std::atomic_ref<uint8_t>::is_always_lock_free);

  std::atomic_ref<uint8_t> made_;
  std::atomic_ref<uint8_t> taken_;
};

}  // namespace exrp
