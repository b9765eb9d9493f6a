// A replay that several threads of a test share: its rows, which show when they are torn, and what records and draws them.
//
// CHECKs report what fails.
#pragma once

#include "kernel/base/random.hpp"
#include "tests/kernel/test_replay.hpp"

namespace exrp::test {

// Writer, episode's number, position, a number, their sum, and then mostly the place, but for each eighth element, which follows from the sum. Of large
// states, copies are made without the lock.
inline uint32_t stateCount = 5;
inline uint32_t stateBytes() { return 4 * stateCount; }
inline uint32_t restOf(uint32_t sum, uint32_t at) { return at % 8 == 0 ? sum * 3 + at : at; }

struct Options {
  uint32_t capacity = 1000;
  uint32_t eviction = EXRP_EVICTION_FIFO;
  double length = 1;
  uint32_t flags = 0;
  uint32_t compression = EXRP_COMPRESSION_NONE;
};

inline uint32_t make(const Options& options) {
  const TestSetup setup = {.capacity = double(options.capacity),
                           .seed = 7,
                           .eviction = double(options.eviction),
                           .compression = double(options.compression),
                           .policy = policyOf(options.length, options.flags, 0.9),
                           .columns = {4, stateCount, 1, 4, 1, 1, 4, 1, 1},
                           .selectors = {prioritized(), uniform()}};
  return setup.create();
}

inline void writeState(uint32_t* state, uint32_t writer, uint32_t episode, uint32_t position, uint32_t number) {
  state[0] = writer;
  state[1] = episode;
  state[2] = position;
  state[3] = number;
  state[4] = (writer * 31 + episode) * 31 + position * 7 + number;
  for (uint32_t at = 5; at < stateCount; ++at) state[at] = restOf(state[4], at);
}

inline bool isWhole(const uint32_t* state) {
  if (state[4] != (state[0] * 31 + state[1]) * 31 + state[2] * 7 + state[3]) return false;
  for (uint32_t at = 5; at < stateCount; ++at) {
    if (state[at] != restOf(state[4], at)) return false;
  }
  return true;
}

/// Steps of one episode, as exrp_record_many takes them.
struct Steps : TestSteps {
  Steps(uint32_t replay, uint32_t stepCount) : TestSteps(replay, stepCount, 3, stateBytes()) {}

  /// Fills in `count` steps from a position on, and the state after them. Returns the status of recording them.
  int32_t record(uint32_t replay, double* handle, uint32_t writer, uint32_t episode, uint32_t position, uint32_t flags, Random& random) {
    for (uint32_t step = 0; step <= count; ++step) {
      std::vector<uint32_t> state(stateCount);
      writeState(state.data(), writer, episode, position + step, static_cast<uint32_t>(random.below(1000)));
      uint8_t* const to = step == count ? part(EXRP_STEPS_FINAL_STATE) : part(EXRP_STEPS_COLUMN) + step * stateBytes();
      memcpy(to, state.data(), stateBytes());
      if (step == count) break;
      // The action and the reward are the state's number and position.
      memcpy(part(EXRP_STEPS_COLUMN + 1) + 4 * step, &state[3], 4);
      const auto reward = static_cast<float>(state[2]);
      memcpy(part(EXRP_STEPS_COLUMN + 2) + 4 * step, &reward, 4);
      const double priority = random.uniform();
      memcpy(part(EXRP_STEPS_PRIORITY) + 8 * step, &priority, 8);
    }
    uint32_t done = 0;
    while (done < count) {
      if (const int32_t status = recordMany(replay, handle, flags | EXRP_RECORD_PRIORITY, &done); status != 0) return status;
    }
    return 0;
  }
};

struct Batch : TestBatch {
  using TestBatch::TestBatch;
  /// Each row's state is whole, its next state is the one after it, and its reward is its position.
  void check(uint32_t rows = 1) const {
    const int32_t* length = part<int32_t>(EXRP_BATCH_SEQ_LEN);
    const int32_t* nextLength = part<int32_t>(EXRP_BATCH_NEXT_SEQ_LEN);
    for (uint32_t row = 0; row < count * rows; ++row) {
      const auto at = static_cast<int32_t>(row % rows);
      if (at >= length[row / rows]) continue;
      const uint32_t* const state = part<uint32_t>(EXRP_BATCH_COLUMN) + size_t{row} * stateCount;
      const uint32_t* const next = part<uint32_t>(EXRP_BATCH_NEXT_STATE) + size_t{row} * stateCount;
      CHECK(isWhole(state));
      // That of an open episode's last record is not known yet.
      if (at < nextLength[row / rows]) CHECK(isWhole(next) && next[0] == state[0] && next[1] == state[1] && next[2] == state[2] + 1);
      CHECK(part<uint32_t>(EXRP_BATCH_COLUMN + 1)[row] == state[3]);
      CHECK(part<float>(EXRP_BATCH_COLUMN + 2)[row] == static_cast<float>(state[2]));
    }
  }
};

}  // namespace exrp::test
