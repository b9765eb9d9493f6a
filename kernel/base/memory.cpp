// The memory of every system but WebAssembly, which has a file of its own: memory_wasm.cpp.
#include "kernel/base/memory.hpp"

#if !defined(__wasm__)

#include <cstdlib>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#endif

namespace exrp {
namespace {

size_t roundUp(size_t bytes, size_t grain) { return (bytes + grain - 1) / grain * grain; }

#if defined(EXRP_TEST_MEMORY)
thread_local uint64_t grantedCount = UINT64_MAX;
thread_local bool isMovingMemory = false;

bool isGranted() {
  if (grantedCount == UINT64_MAX) return true;
  if (grantedCount == 0) return false;
  --grantedCount;
  return true;
}
#else
constexpr bool isGranted() { return true; }
#endif

}  // namespace

#if defined(EXRP_TEST_MEMORY)
void grantMemory(uint64_t count) { grantedCount = count; }
void moveMemory(bool isMoving) { isMovingMemory = isMoving; }
#endif

void* resizeMemory(void* old, size_t bytes) { return isGranted() ? std::realloc(old, bytes) : nullptr; }

#if defined(_WIN32)

namespace {
constexpr size_t smallPageBytes = 4096;
}

void* reserveMemory(Reservation* reservation) {
  return isGranted() ? VirtualAlloc(nullptr, reservation->reservedBytes, MEM_RESERVE, PAGE_READWRITE) : nullptr;
}
void* commitMemory(void* base, size_t, size_t to, Reservation*) {
  return isGranted() && VirtualAlloc(base, to, MEM_COMMIT, PAGE_READWRITE) != nullptr ? base : nullptr;
}
void allowHugePages(void*, size_t, const Reservation&, bool) {}
void releaseMemory(void* base, const Reservation&) { VirtualFree(base, 0, MEM_RELEASE); }
double pagesBytes(size_t used, size_t, const Reservation&) { return static_cast<double>(roundUp(used, smallPageBytes)); }

double physicalMemoryBytes() {
  MEMORYSTATUSEX status = {};
  status.dwLength = sizeof status;
  return GlobalMemoryStatusEx(&status) != 0 ? static_cast<double>(status.ullTotalPhys) : 0.0;
}
double groupMemoryBytes(const char*) { return 0.0; }

#else

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

namespace {

constexpr size_t hugePageBytes = size_t{2} << 20;
constexpr int reservedFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
/// Smaller reservations are usable at once. Equal neighbours then count as one mapping, and the system allows few mappings.
#if defined(EXRP_TEST_MEMORY)
constexpr size_t openBelowBytes = 0;  // for tests: memory that is not committed can't be touched, as on Windows
#else
constexpr size_t openBelowBytes = size_t{256} << 10;
#endif

size_t smallPageBytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

#if defined(MADV_HUGEPAGE)
/// Whether the system gives huge pages at all.
bool isHugeOffered() {
  static const bool isOffered = [] {
    FILE* const file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    char line[128] = {};
    const bool isRead = file != nullptr && fgets(line, sizeof line, file) != nullptr;
    if (file != nullptr) fclose(file);
    return isRead && strstr(line, "[never]") == nullptr;
  }();
  return isOffered;
}
#else
constexpr bool isHugeOffered() { return false; }
#endif

size_t wholeHuge(size_t bytes) { return bytes / hugePageBytes * hugePageBytes; }

/// From this byte on pages are huge again: so much more is used than was expected that the last one, which may be nearly empty, is small
/// beside it.
size_t hugeAgainFrom(const Reservation& reservation) {
  const size_t from = roundUp(reservation.expectedBytes + reservation.expectedBytes / 8, hugePageBytes);
  return from > hugeAgainMin ? from : hugeAgainMin;
}

/// Whether the byte at `at` lies in a huge page from its first use on, where `committed` bytes are committed.
bool isHuge(size_t at, size_t committed, const Reservation& reservation) {
  if (reservation.pages == Pages::small || committed < hugeFromBytes) return false;
  const bool isMore = at >= hugeAgainFrom(reservation) && at < wholeHuge(reservation.reservedBytes);
  return (at < wholeHuge(reservation.expectedBytes) || isMore) && isHugeOffered();
}

/// The end of the usable bytes, where `committed` bytes are committed.
size_t usableEnd(size_t committed, const Reservation& reservation) {
  if (committed == 0) return 0;
  const size_t end = roundUp(committed, isHuge(committed - 1, committed, reservation) ? hugePageBytes : smallPageBytes());
  return end < reservation.reservedBytes ? end : reservation.reservedBytes;
}

void* reserve(Reservation* reservation) {
  const size_t bytes = reservation->reservedBytes;
  const int access = bytes < openBelowBytes ? PROT_READ | PROT_WRITE : PROT_NONE;
  if (reservation->pages == Pages::small || bytes < hugePageBytes) {
    void* mapped = mmap(nullptr, bytes, access, reservedFlags, -1, 0);
    return mapped == MAP_FAILED ? nullptr : mapped;
  }
  // 2 MiB more, so that the reservation can begin at a multiple of that.
  if (bytes > SIZE_MAX - 2 * hugePageBytes) return nullptr;
  const size_t whole = roundUp(bytes, smallPageBytes());
  const size_t taken = whole + hugePageBytes;
  void* mapped = mmap(nullptr, taken, access, reservedFlags, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  // Keep only the aligned part, so that releaseMemory needs only base and bytes.
  const auto address = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = (address + hugePageBytes - 1) & ~(uintptr_t{hugePageBytes} - 1);
  const size_t head = aligned - address;
  if (head > 0) munmap(mapped, head);
  if (head < hugePageBytes) munmap(reinterpret_cast<void*>(aligned + whole), hugePageBytes - head);
  reservation->reservedBytes = whole;
  return reinterpret_cast<void*>(aligned);
}

#if defined(MADV_HUGEPAGE)
/// Makes one huge page of 2 MiB of small ones that are full: at once since Linux 6.1, before that by and by.
void joinPages(void* bytes) {
  constexpr int collapse = 25;  // MADV_COLLAPSE, which older headers don't have
  madvise(bytes, hugePageBytes, MADV_HUGEPAGE);
  madvise(bytes, hugePageBytes, collapse);
}

/// Whether 2 MiB of small pages are full. Arrays are filled from the front on, so the last page tells.
bool isFull(uint8_t* bytes) {
  unsigned char state = 0;
  return mincore(bytes + hugePageBytes - smallPageBytes(), smallPageBytes(), &state) == 0 && (state & 1) != 0;
}
#endif

bool makeUsable(void* base, size_t from, size_t to, const Reservation& reservation) {
  auto* const bytes = static_cast<uint8_t*>(base);
  const size_t begin = usableEnd(from, reservation);
  const size_t end = usableEnd(to, reservation);
  const bool isClosed = end > begin && reservation.reservedBytes >= openBelowBytes;
  if (isClosed && mprotect(bytes + begin, end - begin, PROT_READ | PROT_WRITE) != 0) return false;
#if defined(MADV_HUGEPAGE)
  // This is advice only: the array works without it. It is given once for all that may come.
  if (from < hugeFromBytes && isHuge(0, to, reservation)) {
    madvise(bytes, wholeHuge(reservation.expectedBytes), MADV_HUGEPAGE);
    if (from > 0) joinPages(bytes);  // the first bytes were written to small pages
  }
  const size_t again = hugeAgainFrom(reservation);
  if (from <= again && to > again && isHuge(again, to, reservation)) {
    madvise(bytes + again, wholeHuge(reservation.reservedBytes) - again, MADV_HUGEPAGE);
  }
  // More is used than was expected. What lies between is small, until it is full.
  const bool isBehind = reservation.pages == Pages::huge && from >= hugeFromBytes && isHugeOffered();
  for (size_t at = wholeHuge(reservation.expectedBytes); isBehind && at + hugePageBytes <= (from < again ? from : again); at += hugePageBytes) {
    if (isFull(bytes + at)) joinPages(bytes + at);
  }
#endif
  return true;
}

#if defined(EXRP_TEST_MEMORY)
/// Moves the array to another place, where that is asked for.
void* placeAfter(void* base, size_t committed, Reservation* reservation) {
  Reservation other = *reservation;
  void* const moved = isMovingMemory ? reserve(&other) : nullptr;
  if (moved == nullptr) return base;
  if (!makeUsable(moved, 0, committed, other)) {
    munmap(moved, other.reservedBytes);
    return base;
  }
  memcpy(moved, base, committed);
  munmap(base, reservation->reservedBytes);
  *reservation = other;
  return moved;
}
#else
void* placeAfter(void* base, size_t, Reservation*) { return base; }
#endif

}  // namespace

void* reserveMemory(Reservation* reservation) { return isGranted() ? reserve(reservation) : nullptr; }

void* commitMemory(void* base, size_t from, size_t to, Reservation* reservation) {
  if (!isGranted() || !makeUsable(base, from, to, *reservation)) return nullptr;
  return placeAfter(base, to, reservation);
}

void allowHugePages(void* base, size_t committed, const Reservation& reservation, bool allows) {
#if defined(MADV_HUGEPAGE)
  if (isHuge(0, committed, reservation)) madvise(base, wholeHuge(reservation.expectedBytes), allows ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else
  (void)base, (void)committed, (void)reservation, (void)allows;
#endif
}

void releaseMemory(void* base, const Reservation& reservation) { munmap(base, reservation.reservedBytes); }

double pagesBytes(size_t used, size_t committed, const Reservation& reservation) {
  if (used == 0) return 0.0;
  return static_cast<double>(roundUp(used, isHuge(used - 1, committed, reservation) ? hugePageBytes : smallPageBytes()));
}

namespace {

/// The number in a file; 0 where there is no file or no number ("max").
double numberIn(const char* path) {
  FILE* const file = fopen(path, "re");
  if (file == nullptr) return 0.0;
  double number = 0;
  if (fscanf(file, "%lf", &number) != 1) number = 0;
  fclose(file);
  return number;
}

void keepSmaller(double* smallest, double bytes) {
  if (bytes > 0 && (*smallest <= 0 || bytes < *smallest)) *smallest = bytes;
}

}  // namespace

double groupMemoryBytes(const char* root) {
  constexpr size_t pathMax = 4096;
  constexpr size_t tailMax = 64;
  char path[pathMax];
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE* const file = fopen(path, "re");
  if (file == nullptr) return 0.0;
  double smallest = 0;
  char line[pathMax - 2 * tailMax];
  while (fgets(line, sizeof line, file) != nullptr) {
    // "0::/path" is of version 2, "4:memory:/path" of version 1.
    line[strcspn(line, "\n")] = 0;
    char* const first = strchr(line, ':');
    char* const second = first == nullptr ? nullptr : strchr(first + 1, ':');
    if (second == nullptr) continue;
    *second = 0;
    const bool isSecond = first[1] == 0;
    if (!isSecond && strcmp(first + 1, "memory") != 0) continue;
    char* const group = second + 1;
    if (strlen(root) + strlen(group) + tailMax > pathMax) continue;
    // Look at the group itself and at the groups around it. In a container the path may be the host's; then only the outermost exists.
    while (true) {
      snprintf(path, sizeof path, "%s/sys/fs/cgroup%s%s/%s", root, isSecond ? "" : "/memory", group,
               isSecond ? "memory.max" : "memory.limit_in_bytes");
      keepSmaller(&smallest, numberIn(path));
      char* const slash = strrchr(group, '/');
      if (slash == nullptr) break;
      *slash = 0;
    }
  }
  fclose(file);
  return smallest;
}

namespace {

double machineOrGroupBytes() {
  const auto pages = static_cast<double>(sysconf(_SC_PHYS_PAGES));
  const auto pageBytes = static_cast<double>(sysconf(_SC_PAGESIZE));
  double smallest = pages > 0 && pageBytes > 0 ? pages * pageBytes : 0.0;
  keepSmaller(&smallest, groupMemoryBytes(""));
  return smallest;
}

}  // namespace

double physicalMemoryBytes() {
  // Read once: this reads files, and limits rarely change.
  static const double bytes = machineOrGroupBytes();
  return bytes;
}

#endif

}  // namespace exrp

#endif  // !defined(__wasm__)
