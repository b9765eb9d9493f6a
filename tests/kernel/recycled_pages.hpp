// Memory of small arrays, used again and again: a random schedule makes more than 200 of them, and two thirds of its time went into the system's mmap()
// and munmap().
//
// In a program that includes this file, the linker turns the kernel's calls of mmap(), mprotect() and munmap() into those below (kernel/CMakeLists.txt).
// What is given back is cleared, so that it is taken with zeros, as from the system. Under ASan it is out of reach until then, and so is what was
// taken and not yet made usable. What is larger comes from the system. Only Linux's linker does this: elsewhere, nothing changes.
#pragma once

#if defined(EXRP_RECYCLED_PAGES)

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "kernel/base/sync.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(bytes, size) ((void)(bytes), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(bytes, size) ((void)(bytes), (void)(size))
#endif

// The linker gives these names.
extern "C" {
void* __real_mmap(void* at, size_t bytes, int access, int flags, int file, off_t offset);
int __real_mprotect(void* base, size_t bytes, int access);
int __real_munmap(void* base, size_t bytes);
}

namespace exrp::test {

class RecycledPages {
 public:
  static RecycledPages& all() {
    static RecycledPages& pages = *new RecycledPages;  // never freed: memory may be given back until the process ends
    return pages;
  }

  /// Pages with zeros; null where the system is to give them.
  void* take(size_t bytes, bool isUsable) {
    if (bytes == 0 || bytes > largestBytes || base_ == nullptr) return nullptr;
    const Lock lock(mutex_);
    std::vector<uint8_t*>& left = left_[kind(bytes)];
    if (left.empty() && allBytes - takenBytes_ < largestBytes) return nullptr;
    uint8_t* const pages = left.empty() ? base_ + takenBytes_ : left.back();
    if (left.empty()) takenBytes_ += smallestBytes << kind(bytes);
    else left.pop_back();
    if (isUsable) ASAN_UNPOISON_MEMORY_REGION(pages, wholePages(bytes));
    return pages;
  }

  bool has(const void* pages) const {
    const auto* const at = static_cast<const uint8_t*>(pages);
    return base_ != nullptr && at >= base_ && at < base_ + allBytes;
  }

  void giveBack(void* pages, size_t bytes) {
    ASAN_UNPOISON_MEMORY_REGION(pages, wholePages(bytes));
    memset(pages, 0, wholePages(bytes));
    ASAN_POISON_MEMORY_REGION(pages, wholePages(bytes));
    const Lock lock(mutex_);
    left_[kind(bytes)].push_back(static_cast<uint8_t*>(pages));
  }

 private:
  static constexpr size_t smallestBytes = 4096;
  static constexpr uint32_t kindCount = 5;
  static constexpr size_t largestBytes = smallestBytes << (kindCount - 1);
  static constexpr size_t allBytes = size_t{1} << 28;

  RecycledPages() {
    void* const made = __real_mmap(nullptr, allBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return;
    base_ = static_cast<uint8_t*>(made);
    ASAN_POISON_MEMORY_REGION(base_, allBytes);
  }

  static size_t wholePages(size_t bytes) { return (bytes + smallestBytes - 1) / smallestBytes * smallestBytes; }
  static uint32_t kind(size_t bytes) {
    uint32_t found = 0;
    while (smallestBytes << found < bytes) ++found;
    return found;
  }

  Mutex mutex_;
  uint8_t* base_ = nullptr;
  size_t takenBytes_ = 0;
  std::vector<uint8_t*> left_[kindCount];
};

}  // namespace exrp::test

extern "C" {

void* __wrap_mmap(void* at, size_t bytes, int access, int flags, int file, off_t offset);
int __wrap_mprotect(void* base, size_t bytes, int access);
int __wrap_munmap(void* base, size_t bytes);

void* __wrap_mmap(void* at, size_t bytes, int access, int flags, int file, off_t offset) {
  const bool isMemory = at == nullptr && file == -1 && (flags & MAP_ANONYMOUS) != 0;
  void* const pages = isMemory ? exrp::test::RecycledPages::all().take(bytes, (access & PROT_WRITE) != 0) : nullptr;
  return pages != nullptr ? pages : __real_mmap(at, bytes, access, flags, file, offset);
}

int __wrap_mprotect(void* base, size_t bytes, int access) {
  if (!exrp::test::RecycledPages::all().has(base)) return __real_mprotect(base, bytes, access);
  ASAN_UNPOISON_MEMORY_REGION(base, bytes);  // the kernel closes no memory
  return 0;
}

int __wrap_munmap(void* base, size_t bytes) {
  if (!exrp::test::RecycledPages::all().has(base)) return __real_munmap(base, bytes);
  exrp::test::RecycledPages::all().giveBack(base, bytes);
  return 0;
}

}

#endif
