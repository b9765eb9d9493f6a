// check: the few macros the native tests need. CHECK(condition) and CHECK_EQUAL(a, b) print file:line and values, and count;
// return checkResult() from main. A failure is printed at most 20 times.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace exrp::test {

// Tests with threads check in all of them.
inline std::atomic<int> failureCount = 0;
inline std::atomic<long> checkCount = 0;

template <typename T>
void printValue(const char* name, const T& value) {
  if constexpr (std::is_enum_v<T>) {
    std::printf("  %s = %lld\n", name, static_cast<long long>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    std::printf("  %s = %.17g (%a)\n", name, static_cast<double>(value), static_cast<double>(value));
  } else if constexpr (std::is_unsigned_v<T>) {
    std::printf("  %s = %llu\n", name, static_cast<unsigned long long>(value));
  } else if constexpr (std::is_integral_v<T>) {
    std::printf("  %s = %lld\n", name, static_cast<long long>(value));
  } else {
    std::printf("  %s = (no print)\n", name);
  }
}

/// Counts a check; true when the failure is one to print.
inline bool failed(bool good, const char* file, int line, const char* text) {
  ++checkCount;
  if (good) return false;
  if (++failureCount > 20) return false;
  std::printf("%s:%d: CHECK failed: %s\n", file, line, text);
  return true;
}

/// A number of the environment, or `otherwise` where it is not there.
inline uint64_t fromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

inline int checkResult(const char* name) {
  std::printf("%s: %ld checks, %d failed\n", name, checkCount.load(), failureCount.load());
  return failureCount == 0 ? 0 : 1;
}

}  // namespace exrp::test

#define CHECK(condition) (void)exrp::test::failed(static_cast<bool>(condition), __FILE__, __LINE__, #condition)

#define CHECK_EQUAL(a, b)                                                                   \
  do {                                                                                      \
    const auto checkA = (a);                                                                \
    const auto checkB = (b);                                                                \
    if (exrp::test::failed(checkA == checkB, __FILE__, __LINE__, #a " == " #b)) {           \
      exrp::test::printValue(#a, checkA);                                                   \
      exrp::test::printValue(#b, checkB);                                                   \
    }                                                                                       \
  } while (false)
