// Mutex, Condition, Lock, pauseCore, yieldThread, sleepThread, steadyMilliseconds: the system's locks and its clock, or empty ones where there
// is one thread only.
//
// Those of the C++ library throw, so they bring its exceptions along, and with them the reader of unwind tables: a twentieth of the kernel.
//
// A WebAssembly module has one thread, and the C++ library for it has no locks. There every lock is free, and a wait finds what it
// waits for at once: nobody else could bring it.
//
// A mutex and a condition last until the last call that uses them has returned. Windows needs no destructor, because its locks are plain pointers.
#pragma once

#include <cstdint>

#if !defined(__wasm__) && !defined(_WIN32)
#include <pthread.h>
#include <sched.h>
#include <time.h>
#endif

namespace exrp {

/// Some nanoseconds in a loop that waits for another core.
inline void pauseCore() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

#if defined(__wasm__)

constexpr bool hasThreads = false;

inline void yieldThread() { __builtin_trap(); }  // there is nobody to wait for
inline void sleepThread(uint32_t) { __builtin_trap(); }  // one thread never finds its own lock taken
inline uint64_t steadyMilliseconds() { return 0; }       // nothing is ever timed

class Mutex {
 public:
  void lock() {}
  void unlock() {}
};

class Condition {
 public:
  void notify_all() {}
  void wait(Mutex&) { __builtin_trap(); }
  void waitFor(Mutex&, uint32_t) { __builtin_trap(); }
};

#elif defined(_WIN32)

// In sync.cpp, because the system's header makes macros of words that others use.

constexpr bool hasThreads = true;

void yieldThread();
/// Sleeps for so many microseconds: for a millisecond at least, as Windows counts in those.
void sleepThread(uint32_t microseconds);
/// Milliseconds of a clock that is never set.
uint64_t steadyMilliseconds();

class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock();
  void unlock();

 private:
  friend class Condition;
  void* lock_ = nullptr;  // an SRWLOCK
};

class Condition {
 public:
  Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
  void notify_all();
  void wait(Mutex& mutex);
  /// Waits for so many milliseconds at most.
  void waitFor(Mutex& mutex, uint32_t milliseconds);

 private:
  void* waiting_ = nullptr;  // a CONDITION_VARIABLE
};

#else

constexpr bool hasThreads = true;

inline void yieldThread() { sched_yield(); }
/// Sleeps for so many microseconds, less than a second.
inline void sleepThread(uint32_t microseconds) {
  const timespec time = {0, static_cast<long>(microseconds) * 1000};
  nanosleep(&time, nullptr);
}
/// Milliseconds of a clock that is never set.
inline uint64_t steadyMilliseconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  ~Mutex() { pthread_mutex_destroy(&mutex_); }
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  friend class Condition;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Condition {
 public:
#if defined(__APPLE__)
  Condition() = default;
#else
  /// Its times are those of the steady clock: a clock that is set makes no wait longer.
  Condition() {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) return;
    if (pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0) pthread_cond_init(&waiting_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
#endif
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
  ~Condition() { pthread_cond_destroy(&waiting_); }
  void notify_all() { pthread_cond_broadcast(&waiting_); }
  void wait(Mutex& mutex) { pthread_cond_wait(&waiting_, &mutex.mutex_); }
  /// Waits for so many milliseconds at most.
  void waitFor(Mutex& mutex, uint32_t milliseconds) {
    timespec time = {static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds % 1000) * 1'000'000};
#if defined(__APPLE__)
    pthread_cond_timedwait_relative_np(&waiting_, &mutex.mutex_, &time);
#else
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    time.tv_sec += now.tv_sec;
    time.tv_nsec += now.tv_nsec;
    if (time.tv_nsec >= 1'000'000'000) {
      time.tv_nsec -= 1'000'000'000;
      ++time.tv_sec;
    }
    pthread_cond_timedwait(&waiting_, &mutex.mutex_, &time);
#endif
  }

 private:
  pthread_cond_t waiting_ = PTHREAD_COND_INITIALIZER;
};

#endif

/// Holds a mutex, and can leave it for a while. Its end gives the mutex back, so it must be held then.
class Lock {
 public:
  explicit Lock(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { mutex_.unlock(); }
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

  /// Leaves the mutex until `condition` is notified of; then holds it again. It may also return without a notice.
  void wait(Condition& condition) { condition.wait(mutex_); }
  /// The same, for so many milliseconds at most.
  void waitFor(Condition& condition, uint32_t milliseconds) { condition.waitFor(mutex_, milliseconds); }

 private:
  Mutex& mutex_;
};

}  // namespace exrp
