// The routes "flights" and "rolling" (kernel/batches/batch.hpp) write the same batches, to the byte, whichever the processor likes. Two
// replays that differ in nothing else record the same episodes, whose blocks are torn, and draw the same picks.
#include <cstring>
#include <vector>

#include "kernel/base/cpu.hpp"
#include "kernel/base/random.hpp"
#include "kernel/exrp.h"
#include "tests/kernel/check.hpp"

namespace {

struct Setup {
  uint32_t stateCount;
  uint32_t nextState;
  uint32_t flags;
  uint32_t nStep;
  bool hasBeside;  // columns beside the group of the state. Rolling takes neither these nor n-step returns
};

class Subject {
 public:
  Subject(const Setup& setup, bool isRolling) : columnCount_(setup.hasBeside ? 6 : 4), random_(7, 0) {
    exrp::testRolling = isRolling ? 1 : 0;
    double config[EXRP_CONFIG_COUNT] = {};
    config[EXRP_CONFIG_CAPACITY] = 3000;
    config[EXRP_CONFIG_SEGMENT_LENGTH] = 100;
    config[EXRP_CONFIG_SEED] = 5;
    config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;
    double policy[EXRP_POLICY_COUNT] = {};
    policy[EXRP_POLICY_LENGTH] = 1;
    policy[EXRP_POLICY_STRIDE] = 1;
    policy[EXRP_POLICY_STACK] = 1;
    policy[EXRP_POLICY_DISCOUNT] = 0.5;
    policy[EXRP_POLICY_FLAGS] = setup.flags;
    policy[EXRP_POLICY_NEXT_STATE] = setup.nextState;
    policy[EXRP_POLICY_REWARD_TYPE] = EXRP_TYPE_FLOAT32;
    policy[EXRP_POLICY_N_STEP] = setup.nStep;
    // A state, an action, a reward; a small extra, a large one, and one that every third record keeps.
    const uint32_t columns[] = {4, setup.stateCount, 1, 2, 3, 1, 4, 1, 1, 1, 5, 1, 4, 40, 1, 4, 2, 3};
    CHECK_EQUAL(exrp_replay_create(config, EXRP_CONFIG_COUNT, policy, EXRP_POLICY_COUNT, columns, columnCount_, &id_), 0);
    CHECK_EQUAL(exrp_selector_create(id_, 0, EXRP_SELECTOR_UNIFORM, nullptr, 0, &selector_), 0);
    CHECK_EQUAL(exrp_row_layout(id_, layout_, EXRP_ROW_COLUMN + columnCount_), 0);
    fill();
    exrp::testRolling = -1;
  }
  ~Subject() { CHECK_EQUAL(exrp_replay_destroy(id_), 0); }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  std::vector<uint8_t> draw(uint32_t count) {
    std::vector<double> offsets(EXRP_BATCH_COLUMN + columnCount_ + EXRP_BATCH_N_STEP_PARTS * EXRP_LIMIT_N_STEPS);
    // As many offsets as the policy has parts.
    uint32_t parts = EXRP_BATCH_COLUMN + columnCount_;
    if (exrp_batch_layout(id_, 0, count, offsets.data(), parts) != 0) {
      parts += EXRP_BATCH_N_STEP_PARTS;
      CHECK_EQUAL(exrp_batch_layout(id_, 0, count, offsets.data(), parts), 0);
    }
    std::vector<uint8_t> batch(static_cast<size_t>(offsets[EXRP_BATCH_BYTES]) + 64);
    auto* const aligned = batch.data() + (64 - reinterpret_cast<uintptr_t>(batch.data()) % 64) % 64;
    CHECK_EQUAL(exrp_batch_get(id_, selector_, 0, count, count, 0, aligned, offsets[EXRP_BATCH_BYTES]), 0);
    return {aligned, aligned + static_cast<size_t>(offsets[EXRP_BATCH_BYTES])};
  }

 private:
  /// Five episodes at a time, so that their blocks are torn; some end, some stay open.
  void fill() {
    double handles[5] = {};
    for (double& handle : handles) CHECK_EQUAL(exrp_episode_create(id_, &handle), 0);
    std::vector<uint64_t> words(static_cast<size_t>(layout_[EXRP_ROW_BYTES]) / 8);
    auto* const row = reinterpret_cast<uint8_t*>(words.data());
    for (uint32_t step = 0; step < 6000; ++step) {
      double& handle = handles[random_.below(5)];
      for (uint64_t& word : words) word = random_.next() & 0x3fffffff3fffffffu;
      std::memcpy(row, &handle, sizeof handle);
      const bool ends = random_.below(30) == 0;
      const uint32_t truncated = random_.below(2) * EXRP_RECORD_TRUNCATED;
      const uint32_t flags = ends ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS | truncated : 0;
      CHECK_EQUAL(exrp_record(id_, row, static_cast<uint32_t>(layout_[EXRP_ROW_BYTES]), flags), 0);
      std::memcpy(&handle, row, sizeof handle);
    }
  }

  uint32_t columnCount_;
  exrp::Random random_;
  uint32_t id_ = 0;
  uint32_t selector_ = 0;
  double layout_[EXRP_ROW_COLUMN + 6] = {};
};

}  // namespace

int main() {
  std::vector<Setup> setups = {
      {4, EXRP_NEXT_STATE_COPY, 0, 0, true},
      {15, EXRP_NEXT_STATE_COPY, EXRP_PICK_ALLOW_SHORT, 3, false},
      {15, EXRP_NEXT_STATE_COPY, EXRP_PICK_ALLOW_OPEN_END, 0, false},
      {15, EXRP_NEXT_STATE_OVERLAP, 0, 0, false},
      {7, EXRP_NEXT_STATE_NONE, EXRP_PICK_ALLOW_SHORT, 0, false},
      {5, EXRP_NEXT_STATE_OVERLAP, EXRP_PICK_ALLOW_SHORT, 0, false},
  };
  // One state for each number of units and each size of a unit.
  for (const uint32_t stateCount : {1u, 2u, 3u, 4u, 6u, 8u, 9u, 16u, 17u, 24u, 25u, 32u}) {
    setups.push_back({stateCount, EXRP_NEXT_STATE_COPY, 0, 0, false});
  }
  uint32_t drawn = 0;
  for (const Setup& setup : setups) {
    Subject flights(setup, false);
    Subject rolling(setup, true);
    const uint64_t before = exrp::testRolledCount;
    for (const uint32_t count : {1u, 7u, 15u, 16u, 17u, 31u, 32u, 33u, 63u, 64u, 65u, 100u, 256u, 1000u}) {
      CHECK(flights.draw(count) == rolling.draw(count));
      drawn += count;
    }
    CHECK_EQUAL(exrp::testRolledCount - before, exrp::hasAvx2() && !setup.hasBeside && setup.nStep == 0 ? 14u : 0u);
  }
  std::printf("%u picks drawn twice\n", drawn);
  return exrp::test::checkResult("flights");
}
