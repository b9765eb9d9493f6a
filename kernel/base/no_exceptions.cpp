// Keeps out of the kernel what the C++ library has for exceptions, because the kernel has none: the operators that throw where there is no
// memory, and with them the reader of unwind tables and that of mangled names. Together they would be a quarter of the library.
//
// Thread safety: any thread.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "kernel/base/sync.hpp"

#if defined(_LIBCPP_VERSION)

// The kernel asks for objects by `new (std::nothrow)` alone.
#if !defined(__wasm__)
const std::nothrow_t std::nothrow;
#endif
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void operator delete(void* object) noexcept { std::free(object); }
void operator delete[](void* objects) noexcept { std::free(objects); }
void operator delete(void* object, size_t) noexcept { std::free(object); }
void operator delete[](void* objects, size_t) noexcept { std::free(objects); }

// What stands for a pure virtual function, and the guards of a static object in a function, end the process by the library's own words
// where they fail. Those words bring the rest along.

extern "C" {

/// Says that a mangled name is none.
char* __cxa_demangle(const char*, char*, size_t*, int* status) {
  if (status != nullptr) *status = -2;
  return nullptr;
}

[[noreturn]] void __cxa_pure_virtual() { __builtin_trap(); }

#if !defined(__wasm__)
// A guard's first byte is set once the object is made: compiled code looks at it, and calls only where it is not. The second says that a thread
// makes the object now.
static_assert(std::atomic_ref<uint8_t>::is_always_lock_free);

int __cxa_guard_acquire(uint8_t* guard) {
  const std::atomic_ref<uint8_t> made(guard[0]);
  const std::atomic_ref<uint8_t> taken(guard[1]);
  // Acquire: pairs with the release below, so that the object is seen whole.
  while (made.load(std::memory_order_acquire) == 0) {
    if (taken.exchange(1, std::memory_order_acquire) == 0) {
      if (made.load(std::memory_order_acquire) == 0) return 1;
      taken.store(0, std::memory_order_relaxed);
    }
    exrp::yieldThread();
  }
  return 0;
}

void __cxa_guard_release(uint8_t* guard) {
  // Release: who sees the byte sees the object.
  std::atomic_ref<uint8_t>(guard[0]).store(1, std::memory_order_release);
  std::atomic_ref<uint8_t>(guard[1]).store(0, std::memory_order_release);
}
#endif  // !defined(__wasm__)

}  // extern "C"

#endif  // defined(_LIBCPP_VERSION)
