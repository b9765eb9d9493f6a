// A replay that is being loaded refuses to draw and to change: its parts do not fit together yet.
//
// A loaded replay without picks, because its episodes are too short. The test reads them, evicts some and records into the open one.
// Its tables had no memory for these slots (which only shows where memory has to be committed: EXRP_TEST_MEMORY).
#include <cstring>
#include <utility>
#include <vector>

#include "tests/kernel/check.hpp"
#include "tests/kernel/operations_setup.hpp"

using namespace exrp::test;

namespace {

constexpr uint32_t pickLength = 200;
constexpr uint32_t recordCount = 150;

/// A replay without selectors.
uint32_t create(uint32_t length) {
  double config[EXRP_CONFIG_COUNT] = {};
  config[EXRP_CONFIG_CAPACITY] = 100000;
  config[EXRP_CONFIG_SEGMENT_LENGTH] = 2000;
  config[EXRP_CONFIG_SEED] = 1;
  config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;
  double policy[EXRP_POLICY_COUNT] = {};
  policy[EXRP_POLICY_LENGTH] = length;
  policy[EXRP_POLICY_STRIDE] = 1;
  policy[EXRP_POLICY_STACK] = 1;
  policy[EXRP_POLICY_DISCOUNT] = 1;
  const uint32_t columns[] = {4, 1, 1, 4, 1, 1, 4, 1, 1};
  uint32_t replay = 0;
  CHECK_EQUAL(exrp_replay_create(config, EXRP_CONFIG_COUNT, policy, EXRP_POLICY_COUNT, columns, 3, &replay), 0);
  return replay;
}

uint32_t createUniform() {
  const uint32_t replay = create(pickLength);
  uint32_t selector = 0;
  CHECK_EQUAL(exrp_selector_create(replay, 0, EXRP_SELECTOR_UNIFORM, nullptr, 0, &selector), 0);
  return replay;
}

/// Records into an episode, whose handle may become another's.
void record(uint32_t replay, double* handle) {
  double offsets[EXRP_STEPS_COLUMN + 3] = {};
  CHECK_EQUAL(exrp_steps_layout(replay, recordCount, offsets, EXRP_STEPS_COLUMN + 3), 0);
  const std::vector<uint8_t> steps(static_cast<size_t>(offsets[EXRP_STEPS_FINAL_STATE]));
  uint32_t done = 0;
  CHECK_EQUAL(exrp_record_many(replay, handle, steps.data(), static_cast<double>(steps.size()), recordCount, 0, &done), 0);
}

/// The calls that draw or change something, on a replay that is not wholly loaded.
void checkRefused(uint32_t replay, double handle) {
  uint8_t bytes[4096] = {};
  memcpy(bytes, &handle, sizeof handle);
  double number = handle;
  uint32_t result = 0;
  CHECK_EQUAL(exrp_episode_create(replay, &number), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_record(replay, bytes, sizeof bytes, 0), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_record_many(replay, &number, bytes, sizeof bytes, 1, 0, &result), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_record_batch(replay, &number, bytes, sizeof bytes, 1, 0, &result), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_episode_end(replay, handle, bytes, sizeof bytes, 0, &result), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_episode_evict(replay, handle), EXRP_STATUS_ORDER);
  const int32_t position = 0;
  const double priority = 1;
  CHECK_EQUAL(exrp_priority_set(replay, 0, &handle, &position, reinterpret_cast<const uint8_t*>(&priority), 8, 1, &result),
              EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_selector_create(replay, 0, EXRP_SELECTOR_UNIFORM, nullptr, 0, &result), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_batch_get(replay, 0, 0, 1, 1, 1, bytes, sizeof bytes), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_batch_gather(replay, 0, &result, &priority, 0, 1, 1, 1, 0, 0, bytes, sizeof bytes), EXRP_STATUS_ORDER);
  double order = 0;
  CHECK_EQUAL(exrp_batch_order(replay, 0, 1, 1, bytes, sizeof bytes, &order), 0);
  CHECK_EQUAL(exrp_batch_take(replay, order), EXRP_STATUS_ORDER);
}

/// A replay with a selector of this kind that was loaded up to its picks, but not up to what the selector keeps of them, draws nothing.
void testHalfLoaded(uint32_t kind, const double* options, uint32_t optionCount) {
  uint32_t replays[2] = {};
  for (uint32_t& replay : replays) {
    replay = create(1);
    uint32_t selector = 0;
    CHECK_EQUAL(exrp_selector_create(replay, 0, kind, options, optionCount, &selector), 0);
  }
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(replays[0], &handle), 0);
  record(replays[0], &handle);
  Snapshot snapshot;
  CHECK(!takeSnapshot(replays[0], 1, &snapshot));
  for (uint32_t section = 0; section < snapshot.size(); ++section) {
    double info[2] = {};
    CHECK_EQUAL(exrp_section_info(replays[1], section, info, 2), 0);
    if (snapshot[section].empty()) continue;
    const auto bytes = static_cast<double>(snapshot[section].size());
    const auto count = static_cast<uint32_t>(bytes / info[1]);
    CHECK_EQUAL(exrp_section_write(replays[1], section, 0, count, snapshot[section].data(), bytes), 0);
    checkRefused(replays[1], handle);
  }
  CHECK_EQUAL(exrp_snapshot_end(replays[1]), 0);
  record(replays[1], &handle);
  uint8_t bytes[4096] = {};
  CHECK_EQUAL(exrp_batch_get(replays[1], 0, 0, 1, 1, 1, bytes, sizeof bytes), 0);
  for (const uint32_t replay : replays) exrp_replay_destroy(replay);
}

/// Births of an episode that fall are refused. Those that lie 2^32 records apart are as good as any: they were kept in 32 bits once, taken
/// for others and loaded.
void testBirthsThatCantBe() {
  const uint32_t from = createUniform();
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(from, &handle), 0);
  record(from, &handle);
  Snapshot snapshot;
  CHECK(!takeSnapshot(from, 1, &snapshot));
  exrp_replay_destroy(from);
  constexpr uint64_t recorded = uint64_t{1} << 40;
  memcpy(&snapshot[EXRP_SECTION_COUNTERS][8], &recorded, sizeof recorded);
  std::vector<uint8_t>& section = snapshot[EXRP_SECTION_BIRTHS];
  const std::vector<uint8_t> right = section;
  CHECK(right.size() > 2 * sizeof(uint64_t));
  constexpr int64_t far = int64_t{1} << 32;
  // The first birth rises by the one, the others rise by the other.
  for (const auto& [first, others] : std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {0, 1000}, {1000, 0}, {0, far}, {far, 0}, {0, far / 2}}) {
    for (size_t at = 0; at < right.size(); at += sizeof(uint64_t)) {
      uint64_t birth = 0;
      memcpy(&birth, &right[at], sizeof birth);
      birth += static_cast<uint64_t>(at == 0 ? first : others);
      memcpy(&section[at], &birth, sizeof birth);
    }
    const uint32_t to = createUniform();
    const bool isPossible = others >= first;
    CHECK_EQUAL(loadSnapshot(to, snapshot), isPossible ? 0 : EXRP_STATUS_DATA_CORRUPT);
    if (isPossible) {
      Snapshot again;
      CHECK(!takeSnapshot(to, 1, &again));
      CHECK(again[EXRP_SECTION_BIRTHS] == section);
    }
    exrp_replay_destroy(to);
  }
}

}  // namespace

int main() {
  testBirthsThatCantBe();
  const double ucb[] = {1, 0, 1};
  testHalfLoaded(EXRP_SELECTOR_UCB, ucb, 3);
  const double prioritized[] = {0.6, 1e-6, 1, 0, 0};
  testHalfLoaded(EXRP_SELECTOR_PRIORITIZED, prioritized, 5);
  const uint32_t from = createUniform();
  double handles[200] = {};
  for (double& handle : handles) {
    CHECK_EQUAL(exrp_episode_create(from, &handle), 0);
    record(from, &handle);
  }
  Snapshot snapshot;
  CHECK(!takeSnapshot(from, 1, &snapshot));
  const uint32_t to = createUniform();
  CHECK_EQUAL(loadSnapshot(to, snapshot), 0);

  const int32_t positions[] = {0, recordCount - 1};
  const double asked[] = {handles[150], handles[199]};
  const double priorities[] = {1, 2};
  uint32_t applied = 7;
  CHECK_EQUAL(exrp_priority_set(to, 0, asked, positions, reinterpret_cast<const uint8_t*>(priorities), 8, 2, &applied), 0);
  CHECK_EQUAL(applied, 0u);
  for (uint32_t at = 0; at < 200; at += 3) CHECK_EQUAL(exrp_episode_evict(to, handles[at]), 0);
  for (uint32_t at = 1; at < 200; at += 3) record(to, &handles[at]);
  int32_t broken = 0;
  CHECK_EQUAL(exrp_replay_check(to, &broken), 0);
  CHECK_EQUAL(broken, 0);
  exrp_replay_destroy(from);
  exrp_replay_destroy(to);
  return checkResult("snapshot_load_test");
}
