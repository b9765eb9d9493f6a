// PageRuns: runs never overlap, free neighbours join, runs that were given back are handed out again, and memory that is refused changes
// nothing. The memory has gaps, as in a module whose C library grows it, too.
#include "kernel/base/page_runs.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "tests/kernel/check.hpp"

namespace {

constexpr size_t page = 4096;

/// A large piece of the process's memory that "grows", sometimes with a gap.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes), base_(static_cast<uint8_t*>(std::aligned_alloc(page, bytes))) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { std::free(base_); }

  uintptr_t more(size_t bytes) {
    CHECK(bytes % (size_t{64} << 10) == 0);
    if (bytes > bytes_ - used_) return 0;
    const size_t at = used_;
    used_ += bytes;
    return reinterpret_cast<uintptr_t>(base_ + at);
  }
  /// Somebody else takes the next bytes.
  void skip(size_t bytes) { used_ += bytes <= bytes_ - used_ ? bytes : 0; }
  size_t used() const { return used_; }

 private:
  size_t bytes_;
  uint8_t* base_;
  size_t used_ = 0;
};

using Runs = exrp::PageRuns<Memory>;

struct Held {
  uint8_t* at;
  size_t bytes;
  uint8_t mark;
};

bool isWhole(const Held& held) {
  for (size_t at = 0; at < held.bytes; at += 512) {
    if (held.at[at] != held.mark) return false;
  }
  return held.at[held.bytes - 1] == held.mark;
}

/// Takes, gives and extends at random. Each run is filled with a mark of its own, which must stay.
void staysWhole(uint32_t seed) {
  std::printf("page_runs_test: seed %u\n", seed);
  std::mt19937 random(seed);
  const auto below = [&](uint32_t count) { return static_cast<uint32_t>(random() % count); };
  Memory memory(size_t{48} << 20);
  Runs runs(memory);
  std::vector<Held> held;
  uint32_t extended = 0;
  uint32_t refused = 0;
  for (uint32_t step = 0; step < 4000; ++step) {
    if (step % 97 == 0) memory.skip(page);
    const uint32_t what = below(10);
    if (what < 5) {
      const size_t bytes = Runs::whole(1 + below(what == 0 ? 3u << 20 : 60000));
      auto* const at = static_cast<uint8_t*>(runs.take(bytes));
      if (at == nullptr) {
        ++refused;
        continue;
      }
      const auto mark = static_cast<uint8_t>(step % 251 + 1);
      memset(at, mark, bytes);
      held.push_back({at, bytes, mark});
    } else if (!held.empty()) {
      Held& one = held[below(static_cast<uint32_t>(held.size()))];
      CHECK(isWhole(one));
      if (what < 7) {
        const size_t wanted = one.bytes + page * (1 + below(20));
        if (runs.extend(one.at, one.bytes, wanted)) {
          memset(one.at + one.bytes, one.mark, wanted - one.bytes);
          one.bytes = wanted;
          ++extended;
        }
      } else {
        runs.give(one.at, one.bytes);
        one = held.back();
        held.pop_back();
      }
    }
    CHECK_EQUAL(runs.check(), 0);
  }
  for (const Held& one : held) {
    CHECK(isWhole(one));
    runs.give(one.at, one.bytes);
  }
  CHECK_EQUAL(runs.check(), 0);
  CHECK(extended > 50 && refused > 50);
  // All that was ever had is free again: no page was lost, but for those that somebody else took.
  CHECK(runs.freeBytes() <= memory.used() && runs.freeBytes() + 42 * page >= memory.used());
}

/// A run that was given back is handed out again before the memory grows, in parts too.
void reuses() {
  Memory memory(size_t{8} << 20);
  Runs runs(memory);
  void* const first = runs.take(size_t{1} << 20);
  const size_t used = memory.used();
  runs.give(first, size_t{1} << 20);
  for (uint32_t part = 0; part < 256; ++part) CHECK(runs.take(page) != nullptr);
  CHECK_EQUAL(memory.used(), used);
  CHECK(runs.take(size_t{16} << 20) == nullptr);
  CHECK_EQUAL(runs.check(), 0);
}

/// It is known beforehand where the memory would end.
void tellsItsEnd() {
  constexpr size_t mebi = size_t{1} << 20;
  Memory memory(8 * mebi);
  Runs runs(memory);
  void* const first = runs.take(2 * mebi);
  const uintptr_t end = reinterpret_cast<uintptr_t>(first) + 2 * mebi;
  CHECK(runs.endOf(mebi) == end + mebi);
  runs.give(first, 2 * mebi);
  CHECK(runs.endOf(2 * mebi) == end);
  CHECK(runs.endOf(3 * mebi) == end + 3 * mebi);
}

}  // namespace

int main() {
  for (uint32_t seed = 1; seed <= 3; ++seed) staysWhole(seed);
  reuses();
  tellsItsEnd();
  return exrp::test::checkResult("page_runs");
}
