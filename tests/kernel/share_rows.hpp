// A replay that several threads of a test share: its rows, which show when they are torn, and what records and draws them.
//
// CHECKs report what fails.
#pragma once

#include <cstring>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/exrp.h"
#include "tests/kernel/check.hpp"

namespace exrp::test {

// Writer, episode's number, position, a number, their sum, and what follows from the sum. Of large states, copies are made without the lock.
inline uint32_t stateCount = 5;
inline uint32_t stateBytes() { return 4 * stateCount; }

struct Options {
  uint32_t capacity = 1000;
  uint32_t eviction = EXRP_EVICTION_FIFO;
  double length = 1;
  uint32_t flags = 0;
};

inline uint32_t make(const Options& options) {
  double config[EXRP_CONFIG_COUNT] = {};
  config[EXRP_CONFIG_CAPACITY] = options.capacity;
  config[EXRP_CONFIG_SEED] = 7;
  config[EXRP_CONFIG_EVICTION] = options.eviction;
  double policy[EXRP_POLICY_COUNT] = {};
  policy[EXRP_POLICY_LENGTH] = options.length;
  policy[EXRP_POLICY_STRIDE] = policy[EXRP_POLICY_STACK] = 1;
  policy[EXRP_POLICY_FLAGS] = options.flags;
  policy[EXRP_POLICY_DISCOUNT] = 0.9;
  const uint32_t columns[] = {4, stateCount, 1, 4, 1, 1, 4, 1, 1};
  uint32_t replay = 0;
  CHECK_EQUAL(exrp_replay_create(config, EXRP_CONFIG_COUNT, policy, EXRP_POLICY_COUNT, columns, 3, &replay), 0);
  const double numbers[] = {0.6, 1e-6, 1, 0, 0};
  uint32_t selector = 0;
  CHECK_EQUAL(exrp_selector_create(replay, 0, EXRP_SELECTOR_PRIORITIZED, numbers, 5, &selector), 0);
  CHECK_EQUAL(exrp_selector_create(replay, 0, EXRP_SELECTOR_UNIFORM, numbers, 0, &selector), 0);
  return replay;
}

struct Ticket {
  double numbers[EXRP_TICKET_COUNT] = {};
  explicit Ticket(uint32_t replay) { CHECK_EQUAL(exrp_replay_share(replay, numbers, EXRP_TICKET_COUNT), 0); }
  uint32_t serial() const { return static_cast<uint32_t>(numbers[EXRP_TICKET_SERIAL]); }
  uint32_t attach() const {
    uint32_t id = 0;
    CHECK_EQUAL(exrp_replay_attach(numbers, EXRP_TICKET_COUNT, &id), 0);
    return id;
  }
};

inline void writeState(uint32_t* state, uint32_t writer, uint32_t episode, uint32_t position, uint32_t number) {
  state[0] = writer;
  state[1] = episode;
  state[2] = position;
  state[3] = number;
  state[4] = (writer * 31 + episode) * 31 + position * 7 + number;
  for (uint32_t at = 5; at < stateCount; ++at) state[at] = state[at - 1] * 3 + 1;
}

inline bool isWhole(const uint32_t* state) {
  if (state[4] != (state[0] * 31 + state[1]) * 31 + state[2] * 7 + state[3]) return false;
  for (uint32_t at = 5; at < stateCount; ++at) {
    if (state[at] != state[at - 1] * 3 + 1) return false;
  }
  return true;
}

/// Steps of one episode, as exrp_record_many takes them.
class Steps {
 public:
  Steps(uint32_t replay, uint32_t count) : count_(count), offsets_(EXRP_STEPS_COLUMN + 3) {
    CHECK_EQUAL(exrp_steps_layout(replay, count, offsets_.data(), static_cast<uint32_t>(offsets_.size())), 0);
    bytes_.resize(at(EXRP_STEPS_FINAL_STATE) + stateBytes());
  }
  /// Fills in `count` steps from a position on, and the state after them. Returns the status of recording them.
  int32_t record(uint32_t replay, double* handle, uint32_t writer, uint32_t episode, uint32_t position, uint32_t flags, Random& random) {
    for (uint32_t step = 0; step <= count_; ++step) {
      std::vector<uint32_t> state(stateCount);
      writeState(state.data(), writer, episode, position + step, static_cast<uint32_t>(random.below(1000)));
      uint8_t* const to = bytes_.data() + (step == count_ ? at(EXRP_STEPS_FINAL_STATE) : at(EXRP_STEPS_COLUMN) + step * stateBytes());
      memcpy(to, state.data(), stateBytes());
      if (step == count_) break;
      // The action and the reward are the state's number and position.
      memcpy(bytes_.data() + at(EXRP_STEPS_COLUMN + 1) + 4 * step, &state[3], 4);
      const auto reward = static_cast<float>(state[2]);
      memcpy(bytes_.data() + at(EXRP_STEPS_COLUMN + 2) + 4 * step, &reward, 4);
      const double priority = random.uniform();
      memcpy(bytes_.data() + at(EXRP_STEPS_PRIORITY) + 8 * step, &priority, 8);
    }
    uint32_t done = 0;
    while (done < count_) {
      const int32_t status =
          exrp_record_many(replay, handle, bytes_.data(), static_cast<double>(bytes_.size()), count_, flags | EXRP_RECORD_PRIORITY, &done);
      if (status != 0) return status;
    }
    return 0;
  }

 private:
  size_t at(uint32_t part) const { return static_cast<size_t>(offsets_[part]); }

  uint32_t count_;
  std::vector<double> offsets_;
  std::vector<uint8_t> bytes_;
};

struct Batch {
  uint32_t count;
  std::vector<double> offsets;
  std::vector<uint8_t> bytes;
  Batch(uint32_t replay, uint32_t size) : count(size), offsets(EXRP_BATCH_COLUMN + 3) {
    CHECK_EQUAL(exrp_batch_layout(replay, 0, count, offsets.data(), static_cast<uint32_t>(offsets.size())), 0);
    bytes.resize(static_cast<size_t>(offsets[EXRP_BATCH_BYTES]));
  }
  int32_t draw(uint32_t replay, uint32_t selector) {
    return exrp_batch_get(replay, selector, 0, count, count, 0.5, bytes.data(), static_cast<double>(bytes.size()));
  }
  template <typename T>
  const T* part(uint32_t index) const {
    return reinterpret_cast<const T*>(bytes.data() + static_cast<size_t>(offsets[index]));
  }
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

inline int32_t broken(uint32_t replay) {
  int32_t found = 0;
  CHECK_EQUAL(exrp_replay_check(replay, &found), 0);
  return found;
}

inline void infoOf(uint32_t replay, double* info) { CHECK_EQUAL(exrp_replay_info(replay, info, EXRP_INFO_COUNT), 0); }

}  // namespace exrp::test
