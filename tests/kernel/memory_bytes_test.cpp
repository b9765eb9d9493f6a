// exrp_replay_info gives the memory that the process takes. Nearly empty replays take little, and a process can have many.
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernel/exrp.h"
#include "tests/kernel/check.hpp"

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <unistd.h>

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
  int32_t selector;  // -1: none
};

uint32_t make(const Shape& shape) {
  double config[EXRP_CONFIG_COUNT] = {};
  config[EXRP_CONFIG_CAPACITY] = shape.capacity;
  config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;
  double policy[EXRP_POLICY_COUNT] = {};
  policy[EXRP_POLICY_LENGTH] = policy[EXRP_POLICY_STRIDE] = policy[EXRP_POLICY_STACK] = 1;
  policy[EXRP_POLICY_DISCOUNT] = 1;
  const uint32_t columns[] = {1, shape.stateBytes, 1, 4, 1, 1, 4, 1, 1};
  uint32_t replay = 0;
  CHECK_EQUAL(exrp_replay_create(config, EXRP_CONFIG_COUNT, policy, EXRP_POLICY_COUNT, columns, 3, &replay), 0);
  if (shape.selector >= 0) {
    const double options[] = {0.6, 1e-6, 1, 0, 0};
    uint32_t selector = 0;
    const uint32_t optionCount = shape.selector == EXRP_SELECTOR_PRIORITIZED ? 5 : 0;
    CHECK_EQUAL(exrp_selector_create(replay, 0, static_cast<uint32_t>(shape.selector), options, optionCount, &selector), 0);
  }
  double offsets[EXRP_ROW_COLUMN + 3] = {};
  CHECK_EQUAL(exrp_row_layout(replay, offsets, EXRP_ROW_COLUMN + 3), 0);
  std::vector<uint8_t> row(static_cast<size_t>(offsets[EXRP_ROW_BYTES]));
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(replay, &handle), 0);
  memcpy(row.data(), &handle, 8);
  for (uint32_t step = 0; step < shape.recordCount; ++step) {
    const uint32_t flags = step % 100 == 99 ? uint32_t{EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS} : 0;
    if (exrp_record(replay, row.data(), static_cast<uint32_t>(row.size()), flags) != 0) CHECK(false);
  }
  return replay;
}

double told(uint32_t replay) {
  double info[EXRP_INFO_COUNT] = {};
  CHECK_EQUAL(exrp_replay_info(replay, info, EXRP_INFO_COUNT), 0);
  return info[EXRP_INFO_MEMORY_BYTES];
}

}  // namespace

int main() {
  // The heap's and the registry's own pages first.
  exrp_replay_destroy(make({"first", 1000, 2000, 4, EXRP_SELECTOR_PRIORITIZED}));
  const Shape shapes[] = {
      {"tiny", 1000, 1, 4, EXRP_SELECTOR_UNIFORM},
      {"nearly empty, prioritized", 100000, 1, 16, EXRP_SELECTOR_PRIORITIZED},
      {"half full, prioritized", 100000, 50000, 16, EXRP_SELECTOR_PRIORITIZED},
      {"churned", 20000, 200000, 16, EXRP_SELECTOR_UNIFORM},
      {"frames", 4000, 3000, 7056, EXRP_SELECTOR_UNIFORM},
      {"large, nearly empty", 1 << 20, 10, 64, EXRP_SELECTOR_PRIORITIZED},
      {"large", 1 << 20, 300000, 64, EXRP_SELECTOR_PRIORITIZED},
      {"largest, nearly empty", EXRP_LIMIT_CAPACITY, 1, 4, EXRP_SELECTOR_UNIFORM},
  };
  for (const Shape& shape : shapes) {
    const double before = residentBytes();
    const uint32_t replay = make(shape);
    const double taken = residentBytes() - before;
    const double says = told(replay);
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
  for (uint32_t k = 0; k < 300; ++k) replays.push_back(make({"", 100000, 10, 16, EXRP_SELECTOR_PRIORITIZED}));
  const double each = (residentBytes() - before) / 300;
  std::printf("each of 300: %.2f MiB\n", each / mebi);
  CHECK(each < 0.5 * mebi);
  for (const uint32_t replay : replays) CHECK_EQUAL(exrp_replay_destroy(replay), 0);
  return exrp::test::checkResult("memory bytes");
}
#else
int main() { return 0; }
#endif
