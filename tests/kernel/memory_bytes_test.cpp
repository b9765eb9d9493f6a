// exrp_replay_info gives the memory that the process takes. Nearly empty replays take little, and a process can have many.
#include <cstdio>

#include "tests/kernel/test_replay.hpp"

#if defined(__linux__)
#include <unistd.h>

using namespace exrp::test;

namespace {

constexpr double mebi = 1048576;

/// Bytes of this process that are in memory: exactly, which statm is not.
double residentBytes() {
  FILE* const file = fopen("/proc/self/smaps_rollup", "re");
  CHECK(file != nullptr);
  if (file == nullptr) return 0;
  char line[256];
  double kibi = 0;
  while (fgets(line, sizeof line, file) != nullptr && sscanf(line, "Rss: %lf", &kibi) != 1) {
  }
  fclose(file);
  return 1024 * kibi;
}

bool hasHugePages() {
  FILE* const file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
  if (file == nullptr) return false;
  char line[256] = {};
  const bool isRead = fgets(line, sizeof line, file) != nullptr;
  fclose(file);
  return isRead && strstr(line, "[never]") == nullptr;
}

struct Shape {
  const char* name;
  uint32_t capacity;
  uint32_t recordCount;
  uint32_t stateBytes;
  SelectorSetup selector;
};

uint32_t make(const Shape& shape) {
  const TestSetup setup = {.capacity = double(shape.capacity),
                           .columns = {1, shape.stateBytes, 1, 4, 1, 1, 4, 1, 1},
                           .selectors = {shape.selector}};
  const uint32_t replay = setup.create();
  TestRow row(replay);
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(replay, &handle), 0);
  for (uint32_t step = 0; step < shape.recordCount; ++step) {
    const uint32_t flags = step % 100 == 99 ? uint32_t{EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS} : 0;
    CHECK_EQUAL(row.record(replay, &handle, flags), 0);
  }
  return replay;
}

}  // namespace

int main() {
  // The heap's and the registry's own pages first.
  exrp_replay_destroy(make({"first", 1000, 2000, 4, prioritized()}));
  const Shape shapes[] = {
      {"tiny", 1000, 1, 4, uniform()},
      {"nearly empty, prioritized", 100000, 1, 16, prioritized()},
      {"half full, prioritized", 100000, 50000, 16, prioritized()},
      {"churned", 20000, 200000, 16, uniform()},
      {"frames", 4000, 3000, 7056, uniform()},
      {"large, nearly empty", 1 << 20, 10, 64, prioritized()},
      {"large", 1 << 20, 300000, 64, prioritized()},
      {"largest, nearly empty", EXRP_LIMIT_CAPACITY, 1, 4, uniform()},
  };
  for (const Shape& shape : shapes) {
    const double before = residentBytes();
    const uint32_t replay = make(shape);
    const double taken = residentBytes() - before;
    const double says = infoOf(replay, EXRP_INFO_MEMORY_BYTES);
    std::printf("%s: says %.2f MiB, takes %.2f MiB\n", shape.name, says / mebi, taken / mebi);
    CHECK_EQUAL(exrp_replay_destroy(replay), 0);
    // Small parts of selectors are estimated. Without huge pages, large arrays that are hardly used take less memory.
    const double slack = 0.25 * mebi + 0.1 * taken;
    if (shape.capacity > 300000 && !hasHugePages()) continue;
    CHECK(says <= taken + slack);
    CHECK(taken <= says + slack);
    if (shape.recordCount == 1 && shape.capacity <= 100000) CHECK(taken < 0.75 * mebi);
  }
  // Hundreds of nearly empty ones.
  const double before = residentBytes();
  std::vector<uint32_t> replays;
  for (uint32_t k = 0; k < 300; ++k) replays.push_back(make({"", 100000, 10, 16, prioritized()}));
  const double each = (residentBytes() - before) / 300;
  std::printf("each of 300: %.2f MiB\n", each / mebi);
  CHECK(each < 0.5 * mebi);
  for (const uint32_t replay : replays) CHECK_EQUAL(exrp_replay_destroy(replay), 0);
  return checkResult("memory bytes");
}
#else
int main() { return 0; }
#endif
