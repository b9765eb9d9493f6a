// BlockHeap: blocks never overlap, keep what they hold when they are resized, and give back to the pages what they took. A large run of
// pages that was given back serves small blocks, and the other way round for pages of large blocks.
#include "kernel/base/block_heap.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "kernel/base/page_runs.hpp"
#include "tests/kernel/check.hpp"

namespace {

/// A piece of the process's memory that "grows" until it is used up.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes), base_(static_cast<uint8_t*>(std::aligned_alloc(4096, bytes))) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { std::free(base_); }

  uintptr_t more(size_t bytes) {
    if (bytes > bytes_ - used_) return 0;
    const size_t at = used_;
    used_ += bytes;
    return reinterpret_cast<uintptr_t>(base_ + at);
  }
  size_t used() const { return used_; }

 private:
  size_t bytes_;
  uint8_t* base_;
  size_t used_ = 0;
};

using Runs = exrp::PageRuns<Memory>;
using Heap = exrp::BlockHeap<Runs>;

struct Held {
  uint8_t* at;
  size_t bytes;
  uint8_t mark;
};

bool isWhole(const Held& held, size_t bytes) {
  for (size_t at = 0; at < bytes; ++at) {
    if (held.at[at] != held.mark) return false;
  }
  return true;
}

/// Takes, gives and resizes at random. Each block is filled with a mark of its own, which must stay.
void staysWhole(uint32_t seed) {
  std::printf("block_heap_test: seed %u\n", seed);
  std::mt19937 random(seed);
  const auto below = [&](uint32_t count) { return static_cast<uint32_t>(random() % count); };
  Memory memory(size_t{3} << 20);
  Runs runs(memory);
  Heap heap(runs);
  std::vector<Held> held;
  uint32_t refused = 0;
  uint32_t stayed = 0;
  const auto someBytes = [&] { return size_t{1} + below(below(3) == 0 ? 40000 : 300); };
  for (uint32_t step = 0; step < 40000; ++step) {
    const auto mark = static_cast<uint8_t>(step % 251 + 1);
    const uint32_t what = below(10);
    if (what < 5 || held.empty()) {
      const size_t bytes = someBytes();
      auto* const at = static_cast<uint8_t*>(heap.take(bytes));
      if (at == nullptr) {
        ++refused;
        continue;
      }
      CHECK_EQUAL(reinterpret_cast<uintptr_t>(at) % Heap::headBytes, uintptr_t{0});
      memset(at, mark, bytes);
      held.push_back({at, bytes, mark});
      continue;
    }
    Held& one = held[below(static_cast<uint32_t>(held.size()))];
    CHECK(isWhole(one, one.bytes));
    if (what < 8) {
      const size_t bytes = someBytes();
      auto* const at = static_cast<uint8_t*>(heap.resize(one.at, bytes));
      if (at == nullptr) {
        ++refused;
        CHECK(isWhole(one, one.bytes));
        continue;
      }
      if (at == one.at) ++stayed;
      one.at = at;
      CHECK(isWhole(one, bytes < one.bytes ? bytes : one.bytes));
      one.bytes = bytes;
      one.mark = mark;
      memset(at, mark, bytes);
    } else {
      heap.give(one.at);
      one = held.back();
      held.pop_back();
    }
    CHECK_EQUAL(runs.check(), 0);
  }
  CHECK(refused > 100 && stayed > 100);
  size_t small = 0;
  for (const Held& one : held) {
    CHECK(isWhole(one, one.bytes));
    heap.give(one.at);
  }
  // Only pages of small blocks are not free again, and they serve the next small blocks.
  small = memory.used() - runs.freeBytes();
  for (uint32_t block = 0; block < small / Heap::smallBytes / 8; ++block) CHECK(heap.take(100) != nullptr);
  CHECK_EQUAL(memory.used() - runs.freeBytes(), small);
}

/// Where the memory cannot grow any more, pages that an array gave back serve blocks of every size.
void sharesPages() {
  Memory memory(size_t{1} << 20);
  Runs runs(memory);
  Heap heap(runs);
  void* const array = runs.take(size_t{1} << 20);
  CHECK(array != nullptr);
  CHECK(heap.take(1) == nullptr && heap.take(100000) == nullptr);
  runs.give(array, size_t{1} << 20);
  void* const small = heap.take(1);
  void* const large = heap.take(100000);
  CHECK(small != nullptr && large != nullptr);
  heap.give(large);
  CHECK(runs.take((size_t{1} << 20) - Runs::pageBytes) != nullptr);
  // Sizes near the largest number are refused, and nothing is no block.
  CHECK(heap.take(SIZE_MAX) == nullptr && heap.resize(small, SIZE_MAX - 20) == nullptr);
  heap.give(nullptr);
  heap.give(small);
  CHECK_EQUAL(runs.check(), 0);
}

}  // namespace

int main() {
  for (uint32_t seed = 1; seed <= 3; ++seed) staysWhole(seed);
  sharesPages();
  return exrp::test::checkResult("block_heap");
}
