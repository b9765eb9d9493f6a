// section_read: a snapshot is read in pieces while the replay changes, and is of the moment at which it was begun. Policies and counters that
// can't be are refused.
#include "kernel/base/random.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp::test;

namespace {

constexpr uint32_t recordBytes = 12;

TestSetup small(double capacity = 20) { return {.capacity = capacity, .segmentLength = 8, .blockLength = 2}; }

/// A snapshot is of the moment at which it was begun, whatever happens between two pieces. Records are read once, in order.
void testChangesBetweenPieces(uint64_t seed) {
  exrp::Random random(seed, 0);
  TestSetup setup = small(200);
  setup.columns = {4, 1, 1, 4, 1, 1, 4, 1, 1, 8, 2, 3};
  setup.selectors = {prioritized()};
  TestReplay replay(setup);
  const uint32_t id = replay.id;
  double handle = replay.begin();
  uint32_t value = 0;
  const auto change = [&] {
    for (uint8_t& byte : replay.nextRow.bytes) byte = static_cast<uint8_t>(++value * 7);
    const uint32_t what = random.below(40);
    if (what == 0) CHECK_EQUAL(exrp_replay_clear(id), 0);
    if (what < 3) handle = replay.begin();
    double first = 0;
    double trimmed = 0;
    if (what < 8) CHECK_EQUAL(exrp_open_trim(id, &trimmed, &first), 0);
    handle = replay.record(handle, random.below(4) == 0 ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS : 0);
    if (what < 20 && replay.picks().first.size() > 0) {
      const TestBatch batch = replay.draw(3);
      setPriorities(id, 0, batch.handles(), batch.positions(), {1.0 * what, 2, 3});
    }
  };
  for (int round = 0; round < 20; ++round) {
    for (uint32_t k = random.below(300); k > 0; --k) change();
    const Snapshot expected = replay.saved();
    const double memory = replay.info(EXRP_INFO_MEMORY_BYTES);
    CHECK_EQUAL(exrp_replay_save_begin(id), 0);
    CHECK(replay.info(EXRP_INFO_MEMORY_BYTES) > memory);
    CHECK_EQUAL(exrp_replay_save_begin(id), EXRP_STATUS_ORDER);
    const bool isGivenUp = random.below(4) == 0;
    for (uint32_t section = 0; section < expected.size(); ++section) {
      double info[2] = {};
      CHECK_EQUAL(exrp_section_info(id, section, info, 2), 0);
      std::vector<uint8_t> bytes(static_cast<size_t>(info[0] * info[1]) + 1);
      CHECK_EQUAL(bytes.size(), expected[section].size() + 1);
      for (double first = 0; first < info[0];) {
        const uint32_t left = static_cast<uint32_t>(info[0] - first);
        const uint32_t count = 1 + random.below(left < 30 ? left : 30);
        for (uint32_t k = random.below(20); k > 0; --k) change();
        uint8_t* const to = bytes.data() + static_cast<size_t>(first * info[1]);
        if (section == EXRP_SECTION_RECORDS) CHECK_EQUAL(exrp_section_read(id, section, first + 1, left > 1 ? 1 : 0, to, info[1]), left > 1 ? EXRP_STATUS_ORDER : 0);
        CHECK_EQUAL(exrp_section_read(id, section, first, count, to, count * info[1]), 0);
        first += count;
        if (isGivenUp && random.below(9) == 0) break;
      }
      bytes.pop_back();
      if (!isGivenUp) CHECK(bytes == expected[section]);
    }
    CHECK_EQUAL(exrp_replay_save_end(id), 0);
    uint8_t item[72];
    CHECK_EQUAL(exrp_section_read(id, EXRP_SECTION_COUNTERS, 0, 1, item, sizeof item), EXRP_STATUS_ORDER);
    if (!isGivenUp) {
      const TestReplay loaded(setup);
      CHECK_EQUAL(loadSnapshot(loaded.id, expected), 0);
      CHECK(loaded.saved() == expected);
    }
    replay.sound();
  }
}

/// What a save keeps goes with it, read or given up, and copies that found no memory are an error of the next read only.
void testMemoryGoesBack() {
  TestReplay replay({.capacity = 4000, .segmentLength = 50});
  double handle = replay.begin();
  const auto fill = [&] {
    for (int k = 0; k < 4000; ++k) handle = replay.record(handle, k % 9 == 0 ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS : 0);
  };
  fill();
  fill();
  const double before = replay.info(EXRP_INFO_MEMORY_BYTES);
  for (int round = 0; round < 2; ++round) {
    CHECK_EQUAL(exrp_replay_save_begin(replay.id), 0);
    const double begun = replay.info(EXRP_INFO_MEMORY_BYTES);
    CHECK(begun > before);
    fill();
    CHECK(replay.info(EXRP_INFO_MEMORY_BYTES) >= begun + 3900 * recordBytes);
    CHECK_EQUAL(exrp_replay_save_end(replay.id), 0);
    CHECK_EQUAL(replay.info(EXRP_INFO_MEMORY_BYTES), before);
  }
}

/// More episodes evicted and stored than were ever begun: nothing could be recorded without leaving what a snapshot may say.
void testCounters() {
  const TestReplay replay(small());
  const uint32_t id = replay.id;
  uint64_t counters[9] = {};
  CHECK_EQUAL(exrp_replay_save_begin(id), 0);
  CHECK_EQUAL(exrp_section_read(id, EXRP_SECTION_COUNTERS, 0, 1, reinterpret_cast<uint8_t*>(counters), sizeof counters), 0);
  CHECK_EQUAL(exrp_replay_save_end(id), 0);
  counters[0] = 5;  // episodes ever begun
  counters[2] = 4;  // evicted
  counters[3] = 2;  // stored
  const auto* items = reinterpret_cast<const uint8_t*>(counters);
  CHECK_EQUAL(exrp_section_write(id, EXRP_SECTION_COUNTERS, 0, 1, items, sizeof counters), EXRP_STATUS_DATA_CORRUPT);
}

/// n-step returns read rewards as what the policy says they are.
void testRewardTypes() {
  TestSetup setup = small();
  setup.policy[EXRP_POLICY_N_STEP] = 2;
  uint32_t id = 0;
  const uint32_t types[] = {EXRP_TYPE_FLOAT64, EXRP_TYPE_FLOAT16, EXRP_TYPE_UINT8, EXRP_TYPE_INT16, EXRP_TYPE_OTHER};
  for (const uint32_t type : types) {
    setup.policy[EXRP_POLICY_REWARD_TYPE] = type;
    CHECK_EQUAL(setup.tryCreate(&id), EXRP_STATUS_ARGUMENT);
  }
  const TestReplay replay(small());
  id = replay.id;
  uint32_t table = 0;
  CHECK_EQUAL(exrp_pick_view_create(id, setup.policy.data(), EXRP_POLICY_COUNT, &table), EXRP_STATUS_ARGUMENT);
  for (const uint32_t type : {uint32_t{EXRP_TYPE_FLOAT64}, uint32_t{EXRP_TYPE_INT8}}) {
    setup.policy[EXRP_POLICY_REWARD_TYPE] = type;
    CHECK_EQUAL(exrp_pick_view_create(id, setup.policy.data(), EXRP_POLICY_COUNT, &table), EXRP_STATUS_ARGUMENT);
  }
  setup.policy[EXRP_POLICY_REWARD_TYPE] = EXRP_TYPE_INT32;
  CHECK_EQUAL(exrp_pick_view_create(id, setup.policy.data(), EXRP_POLICY_COUNT, &table), 0);
}

/// A journal that was never opened has nothing to read, and no memory.
void testClosedJournal() {
  const TestReplay replay(small());
  const uint32_t id = replay.id;
  uint32_t events[4] = {};
  uint32_t count = 7;
  CHECK_EQUAL(exrp_journal_read(id, 0, events, 2, &count), 0);
  CHECK_EQUAL(count, 0u);
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 5; ++seed) testChangesBetweenPieces(seed);
  testMemoryGoesBack();
  testCounters();
  testRewardTypes();
  testClosedJournal();
  return checkResult("section_read_test");
}
