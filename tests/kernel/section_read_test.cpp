// section_read: a section of a snapshot is read in pieces, and a piece that goes on after the replay has changed is refused. Policies and
// counters that can't be are refused too.
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

double sectionItems(uint32_t id, uint32_t section) {
  double info[2] = {};
  CHECK_EQUAL(exrp_section_info(id, section, info, 2), 0);
  return info[0];
}

void checkAndDestroy(uint32_t id) {
  int32_t broken = 0;
  CHECK_EQUAL(exrp_replay_check(id, &broken), 0);
  CHECK_EQUAL(broken, 0);
  CHECK_EQUAL(exrp_replay_destroy(id), 0);
}

/// Records into one episode after the other.
class Recorder {
 public:
  explicit Recorder(uint32_t id) : id_(id) {
    double layout[EXRP_ROW_COLUMN + 3] = {};
    CHECK_EQUAL(exrp_row_layout(id, layout, EXRP_ROW_COLUMN + 3), 0);
    row_.resize(static_cast<size_t>(layout[EXRP_ROW_BYTES]));
    CHECK_EQUAL(exrp_episode_create(id, &handle_), 0);
  }
  void record(uint32_t flags) {
    std::memcpy(row_.data(), &handle_, sizeof handle_);
    CHECK_EQUAL(exrp_record(id_, row_.data(), static_cast<uint32_t>(row_.size()), flags), 0);
    std::memcpy(&handle_, row_.data(), sizeof handle_);
  }
  void end() {
    uint32_t ended = 0;
    const uint8_t final[4] = {};
    CHECK_EQUAL(exrp_episode_end(id_, handle_, final, 4, 0, &ended), 0);
    CHECK_EQUAL(exrp_episode_create(id_, &handle_), 0);
  }

 private:
  uint32_t id_;
  double handle_ = 0;
  std::vector<uint8_t> row_;
};

/// Reads on from where the last piece ended. While nothing has changed that goes on; after a change it is refused, and nothing is written.
void testChangesBetweenPieces(uint64_t seed) {
  exrp::Random random(seed, 0);
  uint32_t id = 0;
  CHECK_EQUAL(Numbers().create(&id), 0);
  Recorder recorder(id);
  recorder.record(0);
  double at = 0;
  bool hasChanged = true;
  int refused = 0;
  int continued = 0;
  for (int step = 0; step < 2000; ++step) {
    const bool changes = random.below(3) == 0;
    if (changes && random.below(5) > 0) recorder.record(random.below(4) == 0 ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS : 0);
    else if (changes) recorder.end();
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
  checkAndDestroy(id);
}

/// Picks and the eviction policy's items name episodes by their ordinal. If thousands of episodes came between two pieces, these
/// ordinals would name other episodes, or lie past the numbered ones.
void testOrdinals() {
  Numbers numbers;
  numbers.config[EXRP_CONFIG_CAPACITY] = 40000;
  for (const uint32_t section : {uint32_t{EXRP_SECTION_PICKS}, uint32_t{EXRP_SECTION_EVICTION}, uint32_t{EXRP_SECTION_EPISODES}}) {
    uint32_t id = 0;
    CHECK_EQUAL(numbers.create(&id), 0);
    Recorder recorder(id);
    for (int k = 0; k < 3; ++k) recorder.record(EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS);
    std::vector<uint8_t> items(32);
    CHECK_EQUAL(exrp_section_read(id, section, 0, 1, items.data(), 32), 0);
    for (int k = 0; k < 20000; ++k) recorder.record(EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS);
    CHECK_EQUAL(exrp_section_read(id, section, 19000, 1, items.data(), 32), EXRP_STATUS_ORDER);
    // From the beginning it can be read, whatever was numbered before.
    CHECK_EQUAL(exrp_section_read(id, section, 0, 1, items.data(), 32), 0);
    CHECK_EQUAL(exrp_section_read(id, section, 19000, 1, items.data(), 32), 0);
    uint32_t ordinal = 0;
    memcpy(&ordinal, items.data(), sizeof ordinal);
    CHECK_EQUAL(ordinal, 19000u);  // an episode's item begins with its handle, which is the same here
    checkAndDestroy(id);
  }
}

/// The state of a selector changes with each draw and each priority.
void testSelectorItems() {
  uint32_t id = 0;
  CHECK_EQUAL(Numbers().create(&id), 0);
  const double options[] = {0.6, 0.0, 1.0, 0.0, 0.0};
  uint32_t selector = 0;
  CHECK_EQUAL(exrp_selector_create(id, 0, EXRP_SELECTOR_PRIORITIZED, options, 5, &selector), 0);
  Recorder recorder(id);
  for (int k = 0; k < 4; ++k) recorder.record(0);
  const uint32_t section = EXRP_SECTION_SELECTOR + 1;
  double info[2] = {};
  CHECK_EQUAL(exrp_section_info(id, section, info, 2), 0);
  std::vector<uint8_t> items(static_cast<size_t>(info[1]));
  const auto read = [&](double first) { return exrp_section_read(id, section, first, 1, items.data(), info[1]); };
  CHECK_EQUAL(read(1), EXRP_STATUS_ORDER);  // not begun
  CHECK_EQUAL(read(0), 0);
  CHECK_EQUAL(read(1), 0);
  const double handle = 0;
  const int32_t position = 1;
  const double priority = 3;
  uint32_t applied = 0;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&priority);
  CHECK_EQUAL(exrp_priority_set(id, selector, &handle, &position, bytes, 8, 1, &applied), 0);
  CHECK_EQUAL(applied, 1u);
  CHECK_EQUAL(read(2), EXRP_STATUS_ORDER);
  CHECK_EQUAL(read(0), 0);
  double offsets[EXRP_BATCH_COLUMN + 3] = {};
  CHECK_EQUAL(exrp_batch_layout(id, 0, 2, offsets, EXRP_BATCH_COLUMN + 3), 0);
  std::vector<uint64_t> batch(static_cast<size_t>(offsets[EXRP_BATCH_BYTES]) / 8);
  CHECK_EQUAL(exrp_batch_get(id, selector, 0, 2, 2, 1, reinterpret_cast<uint8_t*>(batch.data()), offsets[EXRP_BATCH_BYTES]), 0);
  CHECK_EQUAL(read(2), EXRP_STATUS_ORDER);
  checkAndDestroy(id);
}

/// More episodes evicted and stored than were ever begun: nothing could be recorded without leaving what a snapshot may say.
void testCounters() {
  uint32_t id = 0;
  CHECK_EQUAL(Numbers().create(&id), 0);
  uint64_t counters[9] = {};
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
  testOrdinals();
  testSelectorItems();
  testCounters();
  testRewardTypes();
  testClosedJournal();
  return exrp::test::checkResult("section_read_test");
}
