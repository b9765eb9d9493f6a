// replay_recordings FILE...: a published library under recorded calls, on the system that it was built for.
//
// targets_test.ts compiles this for a target, links it with the library of the package, and runs it by an emulator. Each call must give
// the bytes that it gave on the machine that recorded it (tests/kernel/operations_recording.hpp).
//
// Zig's C++ library is not compiled for it, because that takes a minute of processor time for each target. What the program needs of that
// library's binary stands here.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "tests/kernel/operations_recording.hpp"

void* operator new(size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

template class std::basic_string<char>;

_LIBCPP_BEGIN_NAMESPACE_STD
[[noreturn]] void __libcpp_verbose_abort(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::abort();
}
_LIBCPP_END_NAMESPACE_STD

int main(int argumentCount, char** arguments) {
  int failures = 0;
  long calls = 0;
  for (int index = 1; index < argumentCount; ++index) {
    exrp::test::Recording recording;
    failures += recording.replay(arguments[index]);
    calls += recording.calls();
  }
  std::printf("%d recordings, %ld calls, %d failed\n", argumentCount - 1, calls, failures);
  return failures == 0 ? 0 : 1;
}
