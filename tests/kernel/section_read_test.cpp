// section_read: a section of a snapshot is read in pieces, and a piece that goes on after the replay has changed is refused. Policies and
// counters that can't be are refused too.
#include "kernel/base/random.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp::test;

namespace {

constexpr uint32_t recordBytes = 12;

TestSetup small(double capacity = 20) { return {.capacity = capacity, .segmentLength = 8, .blockLength = 2}; }

double sectionItems(uint32_t id, uint32_t section) {
  double info[2] = {};
  CHECK_EQUAL(exrp_section_info(id, section, info, 2), 0);
  return info[0];
}

/// Reads on from where the last piece ended. While nothing has changed that goes on; after a change it is refused, and nothing is written.
void testChangesBetweenPieces(uint64_t seed) {
  exrp::Random random(seed, 0);
  TestReplay replay(small());
  const uint32_t id = replay.id;
  double handle = replay.record(replay.begin());
  double at = 0;
  bool hasChanged = true;
  int refused = 0;
  int continued = 0;
  for (int step = 0; step < 2000; ++step) {
    const bool changes = random.below(3) == 0;
    if (changes && random.below(5) > 0) handle = replay.record(handle, random.below(4) == 0 ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS : 0);
    else if (changes) {
      replay.end(handle);
      handle = replay.begin();
    }
    hasChanged = hasChanged || changes;
    const double rows = sectionItems(id, EXRP_SECTION_RECORDS);
    const auto left = static_cast<uint32_t>(rows > at ? rows - at : 0);
    const uint32_t count = random.below(left + 1);
    std::vector<uint8_t> items(size_t{count} * recordBytes + 1, 0xa5);
    const int32_t status = exrp_section_read(id, EXRP_SECTION_RECORDS, at, count, items.data(), static_cast<double>(items.size()));
    const bool isStale = at > 0 && count > 0 && hasChanged;
    CHECK_EQUAL(status, at + count > rows ? EXRP_STATUS_ARGUMENT : isStale ? EXRP_STATUS_ORDER : 0);
    if (status == EXRP_STATUS_ORDER) {
      ++refused;
      for (const uint8_t byte : items) CHECK_EQUAL(byte, 0xa5);
      double detail[3] = {};
      CHECK_EQUAL(exrp_error_detail(detail, 3), 0);
      CHECK_EQUAL(detail[0], 1.0 * EXRP_SECTION_RECORDS);
      CHECK_EQUAL(detail[1], 0.0);
      CHECK_EQUAL(detail[2], at);
    }
    if (status == 0 && at > 0 && count > 0) ++continued;
    if (status == 0 && count > 0) hasChanged = false;
    at = status == 0 && random.below(8) > 0 ? at + count : 0;
  }
  CHECK(refused > 20 && continued > 20);
  replay.sound();
}

/// Picks and the eviction policy's items name episodes by their ordinal. If thousands of episodes came between two pieces, these
/// ordinals would name other episodes, or lie past the numbered ones.
void testOrdinals() {
  for (const uint32_t section : {uint32_t{EXRP_SECTION_PICKS}, uint32_t{EXRP_SECTION_EVICTION}, uint32_t{EXRP_SECTION_EPISODES}}) {
    TestReplay replay(small(40000));
    const uint32_t id = replay.id;
    double handle = replay.begin();
    for (int k = 0; k < 3; ++k) handle = replay.record(handle, EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS);
    std::vector<uint8_t> items(32);
    CHECK_EQUAL(exrp_section_read(id, section, 0, 1, items.data(), 32), 0);
    for (int k = 0; k < 20000; ++k) handle = replay.record(handle, EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS);
    CHECK_EQUAL(exrp_section_read(id, section, 19000, 1, items.data(), 32), EXRP_STATUS_ORDER);
    // From the beginning it can be read, whatever was numbered before.
    CHECK_EQUAL(exrp_section_read(id, section, 0, 1, items.data(), 32), 0);
    CHECK_EQUAL(exrp_section_read(id, section, 19000, 1, items.data(), 32), 0);
    uint32_t ordinal = 0;
    memcpy(&ordinal, items.data(), sizeof ordinal);
    CHECK_EQUAL(ordinal, 19000u);  // an episode's item begins with its handle, which is the same here
    replay.sound();
  }
}

/// The state of a selector changes with each draw and each priority.
void testSelectorItems() {
  TestReplay replay(small());
  const uint32_t id = replay.id;
  const uint32_t selector = addSelector(id, {EXRP_SELECTOR_PRIORITIZED, {0.6, 0, 1, 0, 0}});
  const double handle = replay.begin();
  for (int k = 0; k < 4; ++k) replay.record(handle);
  const uint32_t section = EXRP_SECTION_SELECTOR + 1;
  double info[2] = {};
  CHECK_EQUAL(exrp_section_info(id, section, info, 2), 0);
  std::vector<uint8_t> items(static_cast<size_t>(info[1]));
  const auto read = [&](double first) { return exrp_section_read(id, section, first, 1, items.data(), info[1]); };
  CHECK_EQUAL(read(1), EXRP_STATUS_ORDER);  // not begun
  CHECK_EQUAL(read(0), 0);
  CHECK_EQUAL(read(1), 0);
  CHECK_EQUAL(setPriorities(id, selector, {0}, {1}, {3}), 1u);
  CHECK_EQUAL(read(2), EXRP_STATUS_ORDER);
  CHECK_EQUAL(read(0), 0);
  replay.draw(2, selector, 1);
  CHECK_EQUAL(read(2), EXRP_STATUS_ORDER);
  replay.sound();
}

/// More episodes evicted and stored than were ever begun: nothing could be recorded without leaving what a snapshot may say.
void testCounters() {
  const TestReplay replay(small());
  const uint32_t id = replay.id;
  uint64_t counters[9] = {};
  CHECK_EQUAL(exrp_section_read(id, EXRP_SECTION_COUNTERS, 0, 1, reinterpret_cast<uint8_t*>(counters), sizeof counters), 0);
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
  CHECK_EQUAL(exrp_table_create(id, setup.policy.data(), EXRP_POLICY_COUNT, &table), EXRP_STATUS_ARGUMENT);
  for (const uint32_t type : {uint32_t{EXRP_TYPE_FLOAT64}, uint32_t{EXRP_TYPE_INT8}}) {
    setup.policy[EXRP_POLICY_REWARD_TYPE] = type;
    CHECK_EQUAL(exrp_table_create(id, setup.policy.data(), EXRP_POLICY_COUNT, &table), EXRP_STATUS_ARGUMENT);
  }
  setup.policy[EXRP_POLICY_REWARD_TYPE] = EXRP_TYPE_INT32;
  CHECK_EQUAL(exrp_table_create(id, setup.policy.data(), EXRP_POLICY_COUNT, &table), 0);
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
  testOrdinals();
  testSelectorItems();
  testCounters();
  testRewardTypes();
  testClosedJournal();
  return checkResult("section_read_test");
}
