// hasAvx2, hasCrc32: whether this processor and its system can run functions marked EXRP_AVX2, which may use F16C too, and those marked EXRP_CRC32,
// which compute CRC-32C. Where no processor of the kind can, EXRP_CRC32 is not defined. hasWideProducts: those marked EXRP_WIDE_PRODUCTS, which multiply
// without carries in vectors of 512 bits.
// isIntel: whether Intel made it; only the speed depends on it (kernel/batches/pipelined_copier_native.cpp).
//
// The kernel is built for the baseline of each processor kind. Where vectors of 256 bits are faster, a function marked EXRP_AVX2 stands
// beside a plain one, and both give the same bits. An object that uses them calls hasAvx2() once, when it is created.
// __builtin_cpu_supports would be shorter, but it needs a library that Zig's builds lack.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>

#define EXRP_AVX2 __attribute__((target("avx2,f16c,popcnt")))
#define EXRP_CRC32 __attribute__((target("sse4.2,crc32,pclmul")))
#define EXRP_WIDE_PRODUCTS __attribute__((target("avx512f,vpclmulqdq,sse4.2,crc32,pclmul")))

namespace exrp {

/// Whether the processor says in leaf 1 that it has all of these features.
inline bool hasFeatures(unsigned needed) {
  unsigned registers[4] = {};
  return __get_cpuid(1, &registers[0], &registers[1], &registers[2], &registers[3]) != 0 && (registers[2] & needed) == needed;
}

/// Whether the system saves these registers (XCR0) when it switches threads.
inline bool savesRegisters(unsigned needed) {
  constexpr unsigned osxsave = 1u << 27;
  if (!hasFeatures(osxsave)) return false;
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0u));
  return (low & needed) == needed;
}

inline bool detectAvx2() {
  constexpr unsigned avx = 1u << 28;
  constexpr unsigned popcnt = 1u << 23;
  constexpr unsigned f16c = 1u << 29;  // older than AVX2
  // Both halves of the vector registers.
  if (!hasFeatures(avx | popcnt | f16c) || !savesRegisters(6u)) return false;
  constexpr unsigned avx2 = 1u << 5;
  unsigned registers[4] = {};
  return __get_cpuid_count(7, 0, &registers[0], &registers[1], &registers[2], &registers[3]) != 0 && (registers[1] & avx2) != 0;
}

/// Asked once: in a virtual machine, a question takes some 20 microseconds, as the machine's host answers it.
inline bool hasAvx2() {
  static const bool has = detectAvx2();
  return has;
}

inline bool hasCrc32() {
  constexpr unsigned sse42 = 1u << 20;
  constexpr unsigned pclmul = 1u << 1;
  return hasFeatures(sse42 | pclmul);
}

inline bool hasWideProducts() {
  constexpr unsigned avx512f = 1u << 16;
  constexpr unsigned vpclmulqdq = 1u << 10;
  // All 32 registers, with all 512 bits.
  if (!hasCrc32() || !savesRegisters(0xE6u)) return false;
  unsigned registers[4] = {};
  const bool isThere = __get_cpuid_count(7, 0, &registers[0], &registers[1], &registers[2], &registers[3]) != 0;
  return isThere && (registers[1] & avx512f) != 0 && (registers[2] & vpclmulqdq) != 0;
}

/// True for processors of Intel. docs/internals/performance.md, "On Intel machines", has the figures.
inline bool isIntel() {
  static const bool is = [] {
    unsigned highest = 0;
    unsigned name[3] = {};
    return __get_cpuid(0, &highest, &name[0], &name[2], &name[1]) != 0 && name[0] == 0x756e6547u && name[1] == 0x49656e69u &&
           name[2] == 0x6c65746eu;
  }();
  return is;
}

}  // namespace exrp
#else
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#define EXRP_AVX2

namespace exrp {

inline bool hasAvx2() { return false; }
inline bool isIntel() { return false; }

#if defined(__aarch64__) && (defined(__linux__) || defined(__APPLE__))
#define EXRP_CRC32 __attribute__((target("+crc")))

#if defined(__linux__)
inline bool hasCrc32() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#else
inline bool hasCrc32() { return true; }
#endif
#endif

}  // namespace exrp
#endif
