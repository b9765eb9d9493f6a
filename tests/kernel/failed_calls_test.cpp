// A call that fails changes nothing visible. An error about a limit names what exceeds it. A large call takes no more memory than the
// replay can use.
#include <cstring>
#include <vector>

#include "kernel/exrp.h"
#include "tests/kernel/check.hpp"

namespace {

constexpr uint32_t columns[] = {4, 1, 1, 4, 1, 1, 4, 1, 1};

uint32_t create(uint32_t capacity, uint32_t eviction) {
  double config[EXRP_CONFIG_COUNT] = {};
  config[EXRP_CONFIG_CAPACITY] = capacity;
  config[EXRP_CONFIG_EVICTION] = eviction;
  double policy[EXRP_POLICY_COUNT] = {};
  policy[EXRP_POLICY_LENGTH] = 1;
  policy[EXRP_POLICY_STRIDE] = 1;
  policy[EXRP_POLICY_STACK] = 1;
  policy[EXRP_POLICY_DISCOUNT] = 1;
  uint32_t id = 0;
  CHECK_EQUAL(exrp_replay_create(config, EXRP_CONFIG_COUNT, policy, EXRP_POLICY_COUNT, columns, 3, &id), 0);
  return id;
}

/// Many steps, all zero but for their priorities.
struct Steps {
  Steps(uint32_t id, uint32_t stepCount) : count(stepCount) {
    CHECK_EQUAL(exrp_steps_layout(id, count, offsets, EXRP_STEPS_COLUMN + 3), 0);
    bytes.resize(static_cast<size_t>(offsets[EXRP_STEPS_FINAL_STATE]) + 4);
  }
  int32_t recordMany(uint32_t id, double* handle, uint32_t flags) {
    uint32_t done = 0;
    return exrp_record_many(id, handle, bytes.data(), static_cast<double>(bytes.size()), count, flags, &done);
  }
  uint32_t count;
  double offsets[EXRP_STEPS_COLUMN + 3] = {};
  std::vector<uint8_t> bytes;
};

double prioritiesSaved(uint32_t id) {
  double info[2] = {};
  CHECK_EQUAL(exrp_section_info(id, EXRP_SECTION_PRIORITIES, info, 2), 0);
  return info[0];
}

/// A replay that is full refuses a record with a priority: then no record has one, and none is kept.
void testRefusedPriorities() {
  const uint32_t id = create(4, EXRP_EVICTION_EXTERNAL);
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
  Steps four(id, 4);
  // An ended episode fills the replay, and only the caller may say that it goes.
  CHECK_EQUAL(four.recordMany(id, &handle, EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS), 0);
  double layout[EXRP_ROW_COLUMN + 3] = {};
  CHECK_EQUAL(exrp_row_layout(id, layout, EXRP_ROW_COLUMN + 3), 0);
  std::vector<uint8_t> row(static_cast<size_t>(layout[EXRP_ROW_BYTES]));
  memcpy(row.data(), &handle, sizeof handle);
  CHECK_EQUAL(exrp_record(id, row.data(), static_cast<uint32_t>(row.size()), EXRP_RECORD_PRIORITY), EXRP_STATUS_FULL);
  CHECK_EQUAL(prioritiesSaved(id), 0.0);
  CHECK_EQUAL(four.recordMany(id, &handle, EXRP_RECORD_PRIORITY), EXRP_STATUS_FULL);
  CHECK_EQUAL(prioritiesSaved(id), 0.0);
  Steps one(id, 1);
  uint32_t done = 0;
  CHECK_EQUAL(exrp_record_batch(id, &handle, one.bytes.data(), static_cast<double>(one.bytes.size()), 1, EXRP_RECORD_PRIORITY, &done),
              EXRP_STATUS_FULL);
  CHECK_EQUAL(prioritiesSaved(id), 0.0);
  // The first that is stored begins it.
  CHECK_EQUAL(exrp_episode_evict(id, 0), 0);
  CHECK_EQUAL(one.recordMany(id, &handle, EXRP_RECORD_PRIORITY), 0);
  CHECK(prioritiesSaved(id) > 0);
  int32_t broken = 0;
  CHECK_EQUAL(exrp_replay_check(id, &broken), 0);
  CHECK_EQUAL(broken, 0);
  CHECK_EQUAL(exrp_replay_destroy(id), 0);
}

/// A journal that nobody reads is full at some time: the record is refused, and goes through when the journal was read.
void testFullJournal() {
  const uint32_t id = create(16, EXRP_EVICTION_FIFO);
  CHECK_EQUAL(exrp_journal_open(id, 0), 0);
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
  Steps steps(id, 4096);
  int32_t status = 0;
  for (int call = 0; call < 1000 && status == 0; ++call) status = steps.recordMany(id, &handle, 0);
  CHECK_EQUAL(status, EXRP_STATUS_JOURNAL_FULL);
  double detail[2] = {};
  CHECK_EQUAL(exrp_error_detail(detail, 2), 0);
  uint32_t waiting = 0;
  CHECK_EQUAL(exrp_journal_count(id, 0, &waiting), 0);
  CHECK_EQUAL(detail[0], static_cast<double>(waiting));
  CHECK_EQUAL(detail[1], 5.0 * 16 + (1 << 20));
  std::vector<uint32_t> events(size_t{2} * waiting);
  uint32_t readCount = 0;
  CHECK_EQUAL(exrp_journal_read(id, 0, events.data(), waiting, &readCount), 0);
  CHECK_EQUAL(readCount, waiting);
  CHECK_EQUAL(steps.recordMany(id, &handle, 0), 0);
  CHECK_EQUAL(exrp_replay_destroy(id), 0);
}

double indexBytes(uint32_t id) {
  double info[EXRP_INFO_COUNT] = {};
  CHECK_EQUAL(exrp_replay_info(id, info, EXRP_INFO_COUNT), 0);
  return info[EXRP_INFO_INDEX_BYTES];
}

/// A call with many more records than the capacity finds only the existing blocks, so their index need not grow.
void testIndexBytes() {
  const uint32_t id = create(1000, EXRP_EVICTION_FIFO);
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
  Steps many(id, 1 << 18);
  CHECK_EQUAL(many.recordMany(id, &handle, 0), 0);
  // 2004 blocks: their heads and births, at most 4096 entries of the index of 8 bytes, at most 32064 slots with an index of 4 bytes each.
  CHECK(indexBytes(id) < 270e3);
  CHECK_EQUAL(exrp_replay_destroy(id), 0);
}

}  // namespace

int main() {
  testRefusedPriorities();
  testFullJournal();
  testIndexBytes();
  return exrp::test::checkResult("failed_calls_test");
}
