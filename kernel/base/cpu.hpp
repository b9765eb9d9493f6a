// hasAvx2: whether this processor, and the system on it, can do what functions marked EXRP_AVX2 do.
//
// The kernel is built for every processor of its kind. What gains by vectors of 256 bits stands in a function marked EXRP_AVX2 beside
// one that is not; both give the same bits, and who calls them asks once, when it is created. __builtin_cpu_supports would be shorter,
// but the library that it reads from isn't there in Zig's builds.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>

#define EXRP_AVX2 __attribute__((target("avx2,popcnt")))

namespace exrp {

inline bool hasAvx2() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned osxsave = 1u << 27;
  constexpr unsigned avx = 1u << 28;
  constexpr unsigned popcnt = 1u << 23;
  constexpr unsigned needed = osxsave | avx | popcnt;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & needed) != needed) return false;
  // XCR0: the system keeps both halves of the registers when it switches threads.
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0u));
  if ((low & 6u) != 6u) return false;
  constexpr unsigned avx2 = 1u << 5;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & avx2) != 0;
}

}  // namespace exrp
#else
#define EXRP_AVX2

namespace exrp {

inline bool hasAvx2() { return false; }

}  // namespace exrp
#endif
