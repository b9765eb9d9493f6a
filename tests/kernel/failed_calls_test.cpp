// A call that fails changes nothing visible. An error about a limit names what exceeds it. A large call takes no more memory than the
// replay can use.
#include "tests/kernel/test_replay.hpp"

using namespace exrp::test;

namespace {

double prioritiesSaved(const TestReplay& replay) {
  double info[2] = {};
  CHECK_EQUAL(exrp_section_info(replay.id, EXRP_SECTION_PRIORITIES, info, 2), 0);
  return info[0];
}

/// A replay that is full refuses a record with a priority: then no record has one, and none is kept.
void testRefusedPriorities() {
  TestReplay replay({.capacity = 4, .eviction = EXRP_EVICTION_EXTERNAL});
  double handle = replay.begin();
  TestSteps four = replay.steps(4);
  // An ended episode fills the replay, and only the caller may say that it goes.
  CHECK_EQUAL(four.recordMany(replay.id, &handle, EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS), 0);
  CHECK_EQUAL(replay.tryRecord(&handle, EXRP_RECORD_PRIORITY), EXRP_STATUS_FULL);
  CHECK_EQUAL(prioritiesSaved(replay), 0.0);
  CHECK_EQUAL(four.recordMany(replay.id, &handle, EXRP_RECORD_PRIORITY), EXRP_STATUS_FULL);
  CHECK_EQUAL(prioritiesSaved(replay), 0.0);
  TestSteps one = replay.steps(1);
  uint32_t done = 0;
  CHECK_EQUAL(exrp_record_batch(replay.id, &handle, one.bytes.data(), one.size(), 1, EXRP_RECORD_PRIORITY, &done),
              EXRP_STATUS_FULL);
  CHECK_EQUAL(prioritiesSaved(replay), 0.0);
  // The first that is stored begins it.
  CHECK_EQUAL(exrp_episode_evict(replay.id, 0), 0);
  CHECK_EQUAL(one.recordMany(replay.id, &handle, EXRP_RECORD_PRIORITY), 0);
  CHECK(prioritiesSaved(replay) > 0);
  replay.sound();
}

/// A journal that nobody reads is full at some time: the record is refused, and goes through when the journal was read.
void testFullJournal() {
  TestReplay replay({.capacity = 16});
  CHECK_EQUAL(exrp_journal_open(replay.id, 0), 0);
  double handle = replay.begin();
  TestSteps steps = replay.steps(4096);
  int32_t status = 0;
  for (int call = 0; call < 1000 && status == 0; ++call) status = steps.recordMany(replay.id, &handle, 0);
  CHECK_EQUAL(status, EXRP_STATUS_JOURNAL_FULL);
  double detail[2] = {};
  CHECK_EQUAL(exrp_error_detail(detail, 2), 0);
  uint32_t waiting = 0;
  CHECK_EQUAL(exrp_journal_count(replay.id, 0, &waiting), 0);
  CHECK_EQUAL(detail[0], static_cast<double>(waiting));
  CHECK_EQUAL(detail[1], 5.0 * 16 + (1 << 20));
  std::vector<uint32_t> events(size_t{2} * waiting);
  uint32_t readCount = 0;
  CHECK_EQUAL(exrp_journal_read(replay.id, 0, events.data(), waiting, &readCount), 0);
  CHECK_EQUAL(readCount, waiting);
  CHECK_EQUAL(steps.recordMany(replay.id, &handle, 0), 0);
}

/// A call with many more records than the capacity finds only the existing blocks, so their index need not grow.
void testIndexBytes() {
  TestReplay replay({.capacity = 1000});
  double handle = replay.begin();
  TestSteps many = replay.steps(1 << 18);
  CHECK_EQUAL(many.recordMany(replay.id, &handle, 0), 0);
  // 2004 blocks: their heads and births, at most 4096 entries of the index of 8 bytes, at most 32064 slots with an index of 4 bytes each.
  CHECK(replay.info(EXRP_INFO_INDEX_BYTES) < 270e3);
}

}  // namespace

int main() {
  testRefusedPriorities();
  testFullJournal();
  testIndexBytes();
  return checkResult("failed_calls_test");
}
