// NextStates against a map: a row is found only for the count that it was given for, and rows are used again.
#include "kernel/store/next_states.hpp"

#include <map>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

void followsAMap(uint64_t seed, const std::vector<uint32_t>& leafBytes) {
  constexpr uint32_t countMax = 40;
  Random random(seed, 1);
  std::vector<Column> columns;
  std::vector<uint64_t> offsets;  // of each leaf's rows, where two states are given at once
  uint32_t stateBytes = 0;
  for (const uint32_t bytes : leafBytes) {
    columns.push_back({1, bytes, bytes, 1, 0, 0});
    offsets.push_back(2 * stateBytes);
    stateBytes += bytes;
  }
  StateLeaves leaves;
  leaves.create(columns.data(), static_cast<uint32_t>(columns.size()));
  CHECK_EQUAL(leaves.bytes(), stateBytes);
  NextStates states;
  states.create(countMax, leaves);
  CHECK(states.memoryBytes() == 0);
  CHECK(states.find(3, 0) == nullptr);
  states.release(3);
  std::map<uint32_t, std::pair<uint32_t, std::vector<uint8_t>>> given;  // episode -> count and state
  for (int step = 0; step < 2000; ++step) {
    const uint32_t episode = random.below(countMax);
    if (random.below(3) > 0) {
      const uint32_t count = random.below(5);
      std::vector<uint8_t> both(2 * stateBytes);
      for (uint8_t& byte : both) byte = static_cast<uint8_t>(random.below(256));
      const StateRef second = {both.data(), offsets.data(), 1};
      std::vector<uint8_t> state;
      for (uint32_t leaf = 0; leaf < leaves.count(); ++leaf) {
        const uint8_t* const from = second.leaf(leaf, leafBytes[leaf]);
        state.insert(state.end(), from, from + leafBytes[leaf]);
      }
      if (!states.has(episode)) CHECK_EQUAL(states.prepare(countMax, 1), Status::ok);
      states.set(episode, count, second);
      given[episode] = {count, state};
    } else {
      states.release(episode);
      given.erase(episode);
    }
    for (uint32_t at = 0; at < countMax; ++at) {
      const auto found = given.find(at);
      CHECK_EQUAL(states.has(at), found != given.end());
      for (uint32_t count = 0; count < 5; ++count) {
        const uint8_t* const state = states.find(at, count);
        const bool expected = found != given.end() && found->second.first == count;
        CHECK_EQUAL(state != nullptr, expected);
        if (state != nullptr && expected) CHECK(memcmp(state, found->second.second.data(), stateBytes) == 0);
      }
    }
  }
  // Rows that nobody has are used again: there are never more than episodes.
  CHECK(states.memoryBytes() > 0);
  CHECK_EQUAL(states.prepare(countMax, 1000), Status::ok);
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    followsAMap(seed, {1});
    followsAMap(seed, {16});
    followsAMap(seed, {300});
    followsAMap(seed, {3, 200, 1});
  }
  return test::checkResult("next_states");
}
