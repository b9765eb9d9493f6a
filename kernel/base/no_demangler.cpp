// Keeps the C++ library's reader of mangled names out of the kernel. Only the text of an uncaught exception uses it, and the kernel has no
// exceptions. With its tables it would be a fifth of the library.
#include <cstddef>

#if defined(_LIBCPP_VERSION)

/// Says that the name is none, in the place of the C++ library's function.
extern "C" char* __cxa_demangle(const char*, char*, size_t*, int* status) {
  if (status != nullptr) *status = -2;
  return nullptr;
}

#endif  // defined(_LIBCPP_VERSION)
