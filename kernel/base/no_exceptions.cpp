// Keeps out of the kernel what the C++ library has for exceptions, because the kernel has none: the operators that throw where there is no
// memory, and with them the reader of unwind tables and that of mangled names. Together they would be a quarter of the library.
//
// Thread safety: any thread.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "kernel/base/static_guard.hpp"

#if defined(_LIBCPP_VERSION)

// The kernel asks for objects by `new (std::nothrow)` alone.
const std::nothrow_t std::nothrow;
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
int __cxa_guard_acquire(uint8_t* guard) { return exrp::StaticGuard(guard).begin() ? 1 : 0; }
void __cxa_guard_release(uint8_t* guard) { exrp::StaticGuard(guard).end(); }
void __cxa_guard_abort(uint8_t* guard) { exrp::StaticGuard(guard).giveUp(); }
#endif  // !defined(__wasm__)

}  // extern "C"

#endif  // defined(_LIBCPP_VERSION)
