// setPriority() knows the picks of the last batch while nothing has changed (kernel/calls/thread_scratch.hpp, DrawnPicks). It sets the same priorities as a
// search would. Two replays go through the same calls. One is given each batch's own arrays. The other is given one pick more, which does
// not exist, so that it has to search.
#include "kernel/base/random.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp::test;

namespace {

struct Picks {
  std::vector<double> handles;
  std::vector<int32_t> positions;
};

class Subject : public TestReplay {
 public:
  explicit Subject(double capacity) : TestReplay({.capacity = capacity, .selectors = {prioritized()}}) {}

  Picks draw(uint32_t count) const {
    const TestBatch batch = TestReplay::draw(count);
    return {batch.handles(), batch.positions()};
  }
  uint32_t setPriority(const Picks& picks, const std::vector<double>& priorities) {
    return setPriorities(id, 0, picks.handles, picks.positions, priorities);
  }
  std::vector<double> priorities() const {
    const auto [handles, positions] = picks();
    std::vector<double> all(handles.size());
    if (all.empty()) return all;
    CHECK_EQUAL(exrp_priority_get(id, 0, handles.data(), positions.data(), static_cast<uint32_t>(all.size()), all.data()), 0);
    return all;
  }
};

void followsASearch(uint64_t seed) {
  exrp::Random random(seed, 0);
  const uint32_t capacity = 40 + random.below(200);
  Subject known(capacity);
  Subject searched(capacity);
  // Makes the same call on both.
  const auto both = [&](auto call) {
    const auto result = call(known);
    CHECK_EQUAL(call(searched), result);
    return result;
  };
  double handles[3] = {};
  for (double& handle : handles) {
    both([&](Subject& to) { return exrp_episode_create(to.id, &handle); });
  }
  Picks drawn;
  for (uint32_t step = 0; step < 2000; ++step) {
    double& handle = handles[random.below(3)];
    const uint32_t what = random.below(100);
    if (what < 40) {
      const uint32_t flags = random.below(8) == 0 ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS : 0;
      handle = both([&, from = handle](Subject& to) { return to.record(from, flags); });
    } else if (what < 45) {
      const uint32_t position = random.below(8);  // refused where the episode is shorter
      both([&](Subject& to) { return exrp_episode_trim(to.id, handle, position); });
    } else if (what < 48) {
      const double other = random.below(static_cast<uint32_t>(handle) + 1);
      both([&](Subject& to) { return exrp_episode_evict(to.id, other); });
    } else if (what == 48) {
      both([&](Subject& to) { return exrp_replay_clear(to.id); });
    } else if (what < 75 && !known.picks().first.empty()) {
      const uint32_t count = 1 + random.below(20);
      drawn = known.draw(count);
      const Picks same = searched.draw(count);
      CHECK(drawn.handles == same.handles && drawn.positions == same.positions);
    } else if (!drawn.handles.empty()) {
      Picks more = drawn;
      more.handles.push_back(drawn.handles[0]);
      more.positions.push_back(INT32_MAX);
      std::vector<double> priorities(more.handles.size());
      for (double& priority : priorities) priority = 0.5 + random.below(1000);
      const uint32_t applied = known.setPriority(drawn, {priorities.begin(), priorities.end() - 1});
      CHECK_EQUAL(searched.setPriority(more, priorities), applied);
    }
    CHECK(known.priorities() == searched.priorities());
  }
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const int before = failureCount;
    followsASearch(seed);
    if (failureCount != before) std::printf("seed %d\n", static_cast<int>(seed));
  }
  return checkResult("drawn_picks");
}
