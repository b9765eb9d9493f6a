#include "kernel/base/thread.hpp"

#include "kernel/base/process.hpp"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#elif !defined(__wasm__)
#include <csignal>
#endif

namespace exrp {

#if defined(__wasm__)

bool Thread::start(void (*)(void*), void*) { return false; }
void Thread::join() {}

#else

namespace {

constexpr size_t stackBytes = size_t{256} << 10;

}  // namespace

#if defined(_WIN32)

bool Thread::start(void (*body)(void* context), void* context) {
  if (isStarted_) return false;
  keepLoaded();
  body_ = body;
  context_ = context;
  handle_ = CreateThread(
      nullptr, stackBytes,
      [](void* given) -> DWORD {
        const Thread* const self = static_cast<Thread*>(given);
        self->body_(self->context_);
        return 0;
      },
      this, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  isStarted_ = handle_ != nullptr;
  return isStarted_;
}

void Thread::join() {
  if (!isStarted_) return;
  WaitForSingleObject(handle_, INFINITE);
  CloseHandle(handle_);
  isStarted_ = false;
}

#else

bool Thread::start(void (*body)(void* context), void* context) {
  if (isStarted_) return false;
  keepLoaded();
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, stackBytes);
  // A new thread has the signal mask of its maker. Signals are for the threads of the host.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  const bool isMasked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  body_ = body;
  context_ = context;
  const auto run = [](void* given) -> void* {
    const Thread* const self = static_cast<Thread*>(given);
    self->body_(self->context_);
    return nullptr;
  };
  isStarted_ = pthread_create(&handle_, &attributes, run, this) == 0;
  if (isMasked) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return isStarted_;
}

void Thread::join() {
  if (!isStarted_) return;
  pthread_join(handle_, nullptr);
  isStarted_ = false;
}

#endif

#endif  // defined(__wasm__)

}  // namespace exrp
