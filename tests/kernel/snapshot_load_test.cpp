// A loaded replay without picks, because its episodes are too short. The test reads them, evicts some and records into the open one.
// Its tables had no memory for these slots (which only shows where memory has to be committed: EXRP_TEST_MEMORY).
#include <vector>

#include "tests/kernel/check.hpp"
#include "tests/kernel/operations_setup.hpp"

using namespace exrp::test;

namespace {

constexpr uint32_t pickLength = 200;
constexpr uint32_t recordCount = 150;

uint32_t create() {
  double config[EXRP_CONFIG_COUNT] = {};
  config[EXRP_CONFIG_CAPACITY] = 100000;
  config[EXRP_CONFIG_SEGMENT_LENGTH] = 2000;
  config[EXRP_CONFIG_SEED] = 1;
  config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;
  double policy[EXRP_POLICY_COUNT] = {};
  policy[EXRP_POLICY_LENGTH] = pickLength;
  policy[EXRP_POLICY_STRIDE] = 1;
  policy[EXRP_POLICY_STACK] = 1;
  policy[EXRP_POLICY_DISCOUNT] = 1;
  const uint32_t columns[] = {4, 1, 1, 4, 1, 1, 4, 1, 1};
  uint32_t replay = 0;
  CHECK_EQUAL(exrp_replay_create(config, EXRP_CONFIG_COUNT, policy, EXRP_POLICY_COUNT, columns, 3, &replay), 0);
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

}  // namespace

int main() {
  const uint32_t from = create();
  double handles[200] = {};
  for (double& handle : handles) {
    CHECK_EQUAL(exrp_episode_create(from, &handle), 0);
    record(from, &handle);
  }
  Snapshot snapshot;
  CHECK(!takeSnapshot(from, 1, &snapshot));
  const uint32_t to = create();
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
