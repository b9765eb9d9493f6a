#include "kernel/base/memory.hpp"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace exrp {
#if defined(_WIN32)

void* reserveMemory(size_t* bytes, Pages) { return VirtualAlloc(nullptr, *bytes, MEM_RESERVE, PAGE_READWRITE); }
bool commitMemory(void* base, size_t bytes) {
  return VirtualAlloc(base, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}
void releaseMemory(void* base, size_t) { VirtualFree(base, 0, MEM_RELEASE); }

double physicalMemoryBytes() {
  MEMORYSTATUSEX status = {};
  status.dwLength = sizeof status;
  return GlobalMemoryStatusEx(&status) != 0 ? static_cast<double>(status.ullTotalPhys) : 0.0;
}

#else

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

namespace {
#if defined(EXRP_COMMIT_PAGES)
// For tests: as on Windows, what isn't committed can't be touched.
constexpr int reservedAccess = PROT_NONE;
#else
constexpr int reservedAccess = PROT_READ | PROT_WRITE;
#endif
constexpr size_t hugePageBytes = size_t{2} << 20;
// Below this a 2 MiB page would hold mostly nothing.
constexpr size_t hugeReservationBytes = hugePageBytes / 2;
}  // namespace

void* reserveMemory(size_t* bytes, Pages pages) {
  const bool huge = pages == Pages::huge && *bytes >= hugeReservationBytes;
  if (!huge) {
    void* mapped = mmap(nullptr, *bytes, reservedAccess, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapped == MAP_FAILED ? nullptr : mapped;
  }
  // Whole huge pages, the last one too; and as much again as it takes to begin at one.
  if (*bytes > SIZE_MAX - 2 * hugePageBytes) return nullptr;
  const size_t whole = (*bytes + hugePageBytes - 1) & ~(hugePageBytes - 1);
  const size_t taken = whole + hugePageBytes;
  void* mapped = mmap(nullptr, taken, reservedAccess, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  // Keep only the aligned part, so that releaseMemory needs no more than base and bytes.
  const auto address = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = (address + hugePageBytes - 1) & ~(uintptr_t{hugePageBytes} - 1);
  const size_t head = aligned - address;
  if (head > 0) munmap(mapped, head);
  if (head < hugePageBytes) munmap(reinterpret_cast<void*>(aligned + whole), hugePageBytes - head);
  void* base = reinterpret_cast<void*>(aligned);
#if defined(MADV_HUGEPAGE)
  madvise(base, whole, MADV_HUGEPAGE);
#endif
  *bytes = whole;
  return base;
}
#if defined(EXRP_COMMIT_PAGES)
bool commitMemory(void* base, size_t bytes) { return mprotect(base, bytes, PROT_READ | PROT_WRITE) == 0; }
#else
bool commitMemory(void*, size_t) { return true; }
#endif
void releaseMemory(void* base, size_t bytes) { munmap(base, bytes); }

double physicalMemoryBytes() {
  const auto pages = static_cast<double>(sysconf(_SC_PHYS_PAGES));
  const auto pageBytes = static_cast<double>(sysconf(_SC_PAGESIZE));
  return pages > 0 && pageBytes > 0 ? pages * pageBytes : 0.0;
}

#endif

}  // namespace exrp
