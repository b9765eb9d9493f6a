// The functions of the C library that the kernel calls in WebAssembly. No C library is linked there: Zig would compile all of it, which takes
// longer than half of the kernel.
//
// Thread safety: any thread.
#if defined(__wasm__)

#include <cstddef>
#include <cstdint>

// Else the compiler could make a loop a call of the function that it stands in.
#define EXRP_NO_BUILTIN __attribute__((no_builtin))

extern "C" {

EXRP_NO_BUILTIN int memcmp(const void* a, const void* b, size_t bytes) {
  const auto* const left = static_cast<const uint8_t*>(a);
  const auto* const right = static_cast<const uint8_t*>(b);
  size_t k = 0;
  while (k < bytes && left[k] == right[k]) ++k;
  return k < bytes ? left[k] - right[k] : 0;
}

EXRP_NO_BUILTIN size_t strlen(const char* text) {
  size_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

EXRP_NO_BUILTIN int strncmp(const char* a, const char* b, size_t bytes) {
  size_t k = 0;
  while (k < bytes && a[k] == b[k] && a[k] != 0) ++k;
  return k < bytes ? static_cast<uint8_t>(a[k]) - static_cast<uint8_t>(b[k]) : 0;
}

EXRP_NO_BUILTIN int strcmp(const char* a, const char* b) { return strncmp(a, b, SIZE_MAX); }

EXRP_NO_BUILTIN char* strncpy(char* to, const char* from, size_t bytes) {
  size_t k = 0;
  for (; k < bytes && from[k] != 0; ++k) to[k] = from[k];
  for (; k < bytes; ++k) to[k] = 0;
  return to;
}

}  // extern "C"

#endif  // defined(__wasm__)
