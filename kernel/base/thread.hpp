// Thread: a thread of the kernel's own that ends, and that can be waited for.
//
// It gets no signals, and a small stack. The library stays loaded once one was started (keepLoaded), because the thread may still be at the
// library's last instruction when join() has returned elsewhere.
//
// Thread safety: none; one owner. Where the process ends first, the thread ends with it: nothing here runs then.
// Invariants:
//   1. What it was started for has returned once join() returns.
#pragma once

#include <cstdint>

#include "kernel/base/sync.hpp"

namespace exrp {

class Thread {
 public:
  Thread() = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread() { join(); }

  /// Starts body(context). False where the system gives no thread, and in WebAssembly. One that was started must be joined first.
  bool start(void (*body)(void* context), void* context);
  /// Waits until the body has returned. Does nothing where no thread was started.
  void join();
  bool isStarted() const { return isStarted_; }

 private:
  bool isStarted_ = false;
#if !defined(__wasm__)
  void (*body_)(void*) = nullptr;
  void* context_ = nullptr;
#if defined(_WIN32)
  void* handle_ = nullptr;
#else
  pthread_t handle_ = {};
#endif
#endif
};

}  // namespace exrp
