// prefetchLine, prefetchLineFar, prefetchSpan: ask for cache lines without waiting for them.
//
// WebAssembly has no instruction for it. There they do nothing, and the compiler is told so: else it keeps the loops around them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exrp {

/// Whether lines can be asked for.
#if defined(__wasm__)
constexpr bool canPrefetch = false;
#else
constexpr bool canPrefetch = true;
#endif

/// GCC treats a function that only prefetches as one without effect, and drops its calls. The empty volatile statement keeps them: a
/// batch at 2^20 records took 2.5 times as long without it.
inline void prefetchLine(const void* address) {
  if constexpr (canPrefetch) __builtin_prefetch(address);
#if defined(__GNUC__) && !defined(__clang__)
  asm volatile("" : : "r"(address));
#endif
}

/// Prefetches into the second-level cache only. The first-level cache can wait for few lines at a time. So the processor may drop
/// prefetches into it if there are many at once (docs/internals/performance.md has the measurement).
inline void prefetchLineFar(const void* address) {
  if constexpr (canPrefetch) __builtin_prefetch(address, 0, 2);
#if defined(__GNUC__) && !defined(__clang__)
  asm volatile("" : : "r"(address));
#endif
}

constexpr size_t lineBytes = 64;
constexpr uint32_t prefetchLinesMax = 16;  // per run; the processor's own prefetcher does the rest of a longer run

/// Prefetches the lines of a run of bytes.
template <void (*ask)(const void*) = prefetchLine>
inline void prefetchSpan(const uint8_t* from, size_t bytes) {
  if constexpr (!canPrefetch) return;
  const auto first = reinterpret_cast<uintptr_t>(from) & ~uintptr_t{lineBytes - 1};
  const auto end = reinterpret_cast<uintptr_t>(from) + bytes;
  uint32_t lines = 0;
  for (uintptr_t line = first; line < end && lines < prefetchLinesMax; line += lineBytes, ++lines) {
    ask(reinterpret_cast<const void*>(line));
  }
}

}  // namespace exrp
