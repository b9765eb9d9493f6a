// setPriority() knows the picks of the last batch while nothing has changed (kernel/calls/thread_scratch.hpp, DrawnPicks). It sets the same priorities as a
// search would. Two replays go through the same calls. One is given each batch's own arrays. The other is given one pick more, which does
// not exist, so that it has to search.
#include <cstring>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/exrp.h"
#include "tests/kernel/check.hpp"

namespace {

constexpr uint32_t columnCount = 3;

struct Picks {
  std::vector<double> handles;
  std::vector<int32_t> positions;
};

class Subject {
 public:
  explicit Subject(uint32_t capacity) {
    double config[EXRP_CONFIG_COUNT] = {};
    config[EXRP_CONFIG_CAPACITY] = capacity;
    config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;
    double policy[EXRP_POLICY_COUNT] = {};
    policy[EXRP_POLICY_LENGTH] = policy[EXRP_POLICY_STRIDE] = policy[EXRP_POLICY_STACK] = 1;
    const uint32_t columns[] = {4, 1, 1, 4, 1, 1, 4, 1, 1};
    CHECK_EQUAL(exrp_replay_create(config, EXRP_CONFIG_COUNT, policy, EXRP_POLICY_COUNT, columns, columnCount, &id), 0);
    const double options[] = {0.6, 1e-6, 1, 0, 0};
    uint32_t selector = 0;
    CHECK_EQUAL(exrp_selector_create(id, 0, EXRP_SELECTOR_PRIORITIZED, options, 5, &selector), 0);
    double layout[EXRP_ROW_COLUMN + columnCount] = {};
    CHECK_EQUAL(exrp_row_layout(id, layout, EXRP_ROW_COLUMN + columnCount), 0);
    row_.resize(static_cast<size_t>(layout[EXRP_ROW_BYTES]));
  }
  ~Subject() { CHECK_EQUAL(exrp_replay_destroy(id), 0); }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  /// Records into an episode; returns the handle to go on with.
  double record(double handle, uint32_t flags) {
    memcpy(row_.data(), &handle, sizeof handle);
    CHECK_EQUAL(exrp_record(id, row_.data(), static_cast<uint32_t>(row_.size()), flags), 0);
    memcpy(&handle, row_.data(), sizeof handle);
    return handle;
  }

  uint32_t pickCount() const {
    double info[EXRP_TABLE_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_table_info(id, 0, info, EXRP_TABLE_INFO_COUNT), 0);
    return static_cast<uint32_t>(info[EXRP_TABLE_PICK_COUNT]);
  }

  Picks draw(uint32_t count) {
    double offsets[EXRP_BATCH_COLUMN + columnCount] = {};
    CHECK_EQUAL(exrp_batch_layout(id, 0, count, offsets, EXRP_BATCH_COLUMN + columnCount), 0);
    std::vector<uint64_t> words(static_cast<size_t>(offsets[EXRP_BATCH_BYTES]) / sizeof(uint64_t));
    auto* const batch = reinterpret_cast<uint8_t*>(words.data());
    CHECK_EQUAL(exrp_batch_get(id, 0, 0, count, count, 0.5, batch, offsets[EXRP_BATCH_BYTES]), 0);
    Picks picks = {std::vector<double>(count), std::vector<int32_t>(count)};
    memcpy(picks.handles.data(), batch + static_cast<size_t>(offsets[EXRP_BATCH_PICK_EPISODE]), count * sizeof(double));
    memcpy(picks.positions.data(), batch + static_cast<size_t>(offsets[EXRP_BATCH_PICK_POSITION]), count * sizeof(int32_t));
    return picks;
  }

  uint32_t setPriority(const Picks& picks, const std::vector<double>& priorities) {
    uint32_t applied = 0;
    CHECK_EQUAL(exrp_priority_set(id, 0, picks.handles.data(), picks.positions.data(), reinterpret_cast<const uint8_t*>(priorities.data()),
                                  sizeof(double), static_cast<uint32_t>(picks.handles.size()), &applied),
                0);
    return applied;
  }

  std::vector<double> priorities() const {
    const uint32_t count = pickCount();
    Picks picks = {std::vector<double>(count + 1), std::vector<int32_t>(count + 1)};
    std::vector<double> all(count + 1);
    CHECK_EQUAL(exrp_pick_list(id, 0, 0, count, picks.handles.data(), picks.positions.data()), 0);
    CHECK_EQUAL(exrp_priority_get(id, 0, picks.handles.data(), picks.positions.data(), count, all.data()), 0);
    return all;
  }

  uint32_t id = 0;

 private:
  std::vector<uint8_t> row_;
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
    } else if (what < 75 && known.pickCount() > 0) {
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
    const int before = exrp::test::failureCount;
    followsASearch(seed);
    if (exrp::test::failureCount != before) std::printf("seed %d\n", static_cast<int>(seed));
  }
  return exrp::test::checkResult("drawn_picks");
}
