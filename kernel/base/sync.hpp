// Mutex, Condition, Lock, Guard, yieldThread: the standard library's locks, or empty ones where there is one thread only.
//
// A WebAssembly module has one thread, and the C++ library for it has no locks. There every lock is free, and a wait finds what it
// waits for at once: nobody else could bring it.
#pragma once

#if defined(__wasm__)

namespace exrp {

constexpr bool hasThreads = false;

inline void yieldThread() { __builtin_trap(); }  // there is nobody to wait for

class Mutex {};

class Guard {
 public:
  explicit Guard(Mutex&) {}
  ~Guard() {}
};

class Lock {
 public:
  explicit Lock(Mutex&) {}
  ~Lock() {}
  void lock() {}
  void unlock() {}
};

class Condition {
 public:
  void notify_all() {}
  void wait(Lock&) { __builtin_trap(); }
  template <typename Ready>
  void wait(Lock&, Ready ready) {
    if (!ready()) __builtin_trap();
  }
};

}  // namespace exrp

#else

#include <condition_variable>
#include <mutex>
#include <thread>

namespace exrp {

constexpr bool hasThreads = true;

inline void yieldThread() { std::this_thread::yield(); }

using Mutex = std::mutex;
using Guard = std::scoped_lock<std::mutex>;
using Lock = std::unique_lock<std::mutex>;
using Condition = std::condition_variable;

}  // namespace exrp

#endif
