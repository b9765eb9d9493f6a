// NextStates against a map: a row is found only for the count that it was given for, and rows are used again.
#include "kernel/store/next_states.hpp"

#include <map>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

void followsAMap(uint64_t seed, uint32_t stateBytes) {
  constexpr uint32_t countMax = 40;
  Random random(seed, 1);
  NextStates states;
  states.create(countMax, stateBytes);
  CHECK(states.memoryBytes() == 0);
  CHECK(states.find(3, 0) == nullptr);
  states.release(3);
  std::map<uint32_t, std::pair<uint32_t, std::vector<uint8_t>>> given;  // episode -> count and state
  for (int step = 0; step < 2000; ++step) {
    const uint32_t episode = random.below(countMax);
    if (random.below(3) > 0) {
      const uint32_t count = random.below(5);
      std::vector<uint8_t> state(stateBytes);
      for (uint8_t& byte : state) byte = static_cast<uint8_t>(random.below(256));
      if (!states.has(episode)) CHECK_EQUAL(states.prepare(countMax, 1), Status::ok);
      states.set(episode, count, state.data());
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
    followsAMap(seed, 1);
    followsAMap(seed, 16);
    followsAMap(seed, 300);
  }
  return test::checkResult("next_states");
}
