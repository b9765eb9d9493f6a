// section_read: reading the records of a snapshot in pieces while the replay changes gives a status or rows, never what is gone; and
// policies and counters that can't be are refused.
#include <cstring>
#include <vector>

#include "kernel/exrp.h"
#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

namespace {

constexpr uint32_t columns[] = {4, 1, 1, 4, 1, 1, 4, 1, 1};
constexpr uint32_t recordBytes = 12;

struct Numbers {
  double config[EXRP_CONFIG_COUNT] = {};
  double policy[EXRP_POLICY_COUNT] = {};
  Numbers() {
    config[EXRP_CONFIG_CAPACITY] = 20;
    config[EXRP_CONFIG_SEGMENT_LENGTH] = 8;
    config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;
    config[EXRP_CONFIG_BLOCK_LENGTH] = 2;
    policy[EXRP_POLICY_LENGTH] = 1;
    policy[EXRP_POLICY_STRIDE] = 1;
    policy[EXRP_POLICY_STACK] = 1;
    policy[EXRP_POLICY_DISCOUNT] = 1;
  }
  int32_t create(uint32_t* id) const {
    return exrp_replay_create(config, EXRP_CONFIG_COUNT, policy, EXRP_POLICY_COUNT, columns, 3, id);
  }
};

double sectionRows(uint32_t id) {
  double info[2] = {};
  CHECK_EQUAL(exrp_section_info(id, EXRP_SECTION_RECORDS, info, 2), 0);
  return info[0];
}

/// Reads on from where the last piece ended, while episodes come, end and go.
void testChangesBetweenPieces(uint64_t seed) {
  exrp::Random random(seed, 0);
  uint32_t id = 0;
  CHECK_EQUAL(Numbers().create(&id), 0);
  double layout[EXRP_ROW_COLUMN + 3] = {};
  CHECK_EQUAL(exrp_row_layout(id, layout, EXRP_ROW_COLUMN + 3), 0);
  std::vector<uint8_t> row(static_cast<size_t>(layout[EXRP_ROW_BYTES]));
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
  double at = 0;
  for (int step = 0; step < 2000; ++step) {
    std::memcpy(row.data(), &handle, sizeof handle);
    const uint32_t flags = random.below(4) == 0 ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS : 0;
    CHECK_EQUAL(exrp_record(id, row.data(), static_cast<uint32_t>(row.size()), flags), 0);
    std::memcpy(&handle, row.data(), sizeof handle);
    if (random.below(6) == 0) {
      uint32_t ended = 0;
      const uint8_t final[4] = {};
      CHECK_EQUAL(exrp_episode_end(id, handle, final, 4, 0, &ended), 0);
      CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
    }
    const double rows = sectionRows(id);
    const auto left = static_cast<uint32_t>(rows > at ? rows - at : 0);
    const uint32_t count = random.below(left + 1);
    std::vector<uint8_t> items(size_t{count} * recordBytes + 1);
    const int32_t status = exrp_section_read(id, EXRP_SECTION_RECORDS, at, count, items.data(), static_cast<double>(items.size()));
    CHECK_EQUAL(status, at + count > rows ? EXRP_STATUS_ARGUMENT : 0);
    at = random.below(8) == 0 ? 0 : at + count;
  }
  int32_t broken = 0;
  CHECK_EQUAL(exrp_replay_check(id, &broken), 0);
  CHECK_EQUAL(broken, 0);
  CHECK_EQUAL(exrp_replay_destroy(id), 0);
}

/// More episodes evicted and stored than were ever begun: nothing could be recorded without leaving what a snapshot may say.
void testCounters() {
  uint32_t id = 0;
  CHECK_EQUAL(Numbers().create(&id), 0);
  uint64_t counters[8] = {};
  CHECK_EQUAL(exrp_section_read(id, EXRP_SECTION_COUNTERS, 0, 1, reinterpret_cast<uint8_t*>(counters), sizeof counters), 0);
  counters[0] = 5;  // episodes ever begun
  counters[2] = 4;  // evicted
  counters[3] = 2;  // stored
  const auto* items = reinterpret_cast<const uint8_t*>(counters);
  CHECK_EQUAL(exrp_section_write(id, EXRP_SECTION_COUNTERS, 0, 1, items, sizeof counters), EXRP_STATUS_DATA_CORRUPT);
  CHECK_EQUAL(exrp_replay_destroy(id), 0);
}

/// n-step returns read rewards as what the policy says they are.
void testRewardTypes() {
  Numbers numbers;
  numbers.policy[EXRP_POLICY_N_STEP] = 2;
  uint32_t id = 0;
  const uint32_t types[] = {EXRP_TYPE_FLOAT64, EXRP_TYPE_FLOAT16, EXRP_TYPE_UINT8, EXRP_TYPE_INT16, EXRP_TYPE_OTHER};
  for (const uint32_t type : types) {
    numbers.policy[EXRP_POLICY_REWARD_TYPE] = type;
    CHECK_EQUAL(numbers.create(&id), EXRP_STATUS_ARGUMENT);
  }
  CHECK_EQUAL(Numbers().create(&id), 0);
  uint32_t table = 0;
  CHECK_EQUAL(exrp_table_create(id, numbers.policy, EXRP_POLICY_COUNT, &table), EXRP_STATUS_ARGUMENT);
  for (const uint32_t type : {uint32_t{EXRP_TYPE_FLOAT64}, uint32_t{EXRP_TYPE_INT8}}) {
    numbers.policy[EXRP_POLICY_REWARD_TYPE] = type;
    CHECK_EQUAL(exrp_table_create(id, numbers.policy, EXRP_POLICY_COUNT, &table), EXRP_STATUS_ARGUMENT);
  }
  numbers.policy[EXRP_POLICY_REWARD_TYPE] = EXRP_TYPE_INT32;
  CHECK_EQUAL(exrp_table_create(id, numbers.policy, EXRP_POLICY_COUNT, &table), 0);
  CHECK_EQUAL(exrp_replay_destroy(id), 0);
}

/// A journal that was never opened has nothing to read, and no memory.
void testClosedJournal() {
  uint32_t id = 0;
  CHECK_EQUAL(Numbers().create(&id), 0);
  uint32_t events[4] = {};
  uint32_t count = 7;
  CHECK_EQUAL(exrp_journal_read(id, 0, events, 2, &count), 0);
  CHECK_EQUAL(count, 0u);
  CHECK_EQUAL(exrp_replay_destroy(id), 0);
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 5; ++seed) testChangesBetweenPieces(seed);
  testCounters();
  testRewardTypes();
  testClosedJournal();
  return exrp::test::checkResult("section_read_test");
}
