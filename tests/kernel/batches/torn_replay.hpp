// TornReplay: a replay whose episodes lie torn over the pool, for tests of what makes batches. Some episodes end, some stay open.
#pragma once

#include <cstring>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/sharing/replay_instance.hpp"
#include "tests/kernel/check.hpp"

namespace exrp::test {

/// What a replay has: a state of so many floats, an action, a reward and a small extra. `hasBeside`: also a large extra, and one that every
/// third record keeps.
struct TornSetup {
  uint32_t stateCount;
  bool hasBeside;
};

class TornReplay {
 public:
  TornReplay(const TornSetup& setup, const double (&numbers)[EXRP_POLICY_COUNT]) {
    double config[EXRP_CONFIG_COUNT] = {};
    config[EXRP_CONFIG_CAPACITY] = 3000;
    config[EXRP_CONFIG_STATE_COLUMNS] = 1;
    config[EXRP_CONFIG_SEGMENT_LENGTH] = 100;
    config[EXRP_CONFIG_SEED] = 5;
    config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;
    const uint32_t columns[] = {4, setup.stateCount, 1, 2, 3, 1, 4, 1, 1, 1, 5, 1, 4, 40, 1, 4, 2, 3};
    ReplayConfig parsed = {};
    CHECK(PickPolicy::parse(numbers, EXRP_POLICY_COUNT, 3, &policy) == Status::ok);
    CHECK(ReplayConfig::parse(config, EXRP_CONFIG_COUNT, policy, columns, setup.hasBeside ? 6 : 4, &parsed) == Status::ok);
    CHECK(instance.create(parsed, policy) == Status::ok);
    fill();
  }
  TornReplay(const TornReplay&) = delete;
  TornReplay& operator=(const TornReplay&) = delete;

  const Store& store() const { return instance.replay.book().store(); }
  const EpisodeList& episodes() const { return instance.replay.book().episodes(); }
  const PickIndex& picks() const { return instance.replay.picks().view(0).picks; }

  /// Indices of `count` picks, some more than once.
  std::vector<uint32_t> choose(uint32_t count) {
    std::vector<uint32_t> indices(count);
    for (uint32_t& index : indices) index = random_.below(picks().count());
    return indices;
  }

  /// A batch of these picks, gathered by `gatherer`, without probabilities and importance weights; `scratch` gets its layout.
  std::vector<uint8_t> gather(const Gatherer& gatherer, const std::vector<uint32_t>& indices, BatchScratch& scratch) const {
    const auto count = static_cast<uint32_t>(indices.size());
    CHECK(gatherer.createScratch(count, &scratch) == Status::ok);
    scratch.layout = layoutBatch(store(), policy, count);
    std::vector<uint8_t> batch(static_cast<size_t>(scratch.layout.offsets[EXRP_BATCH_BYTES]) + lineBytes);
    uint8_t* const aligned = batch.data() + (lineBytes - reinterpret_cast<uintptr_t>(batch.data()) % lineBytes) % lineBytes;
    std::vector<uint32_t> pickedEpisodes(count);
    const BatchTarget target = batchTarget(store(), policy, scratch.layout, aligned);
    gatherer.gather({episodes(), instance.replay.book().blocks(), picks(), indices.data(), {0, count, count}, target, pickedEpisodes.data(),
                     scratch});
    return {aligned, aligned + static_cast<size_t>(scratch.layout.offsets[EXRP_BATCH_BYTES])};
  }

  PickPolicy policy;
  ReplayInstance instance{1};

 private:
  /// Five episodes at a time, so that their blocks are torn.
  void fill() {
    double handles[5] = {};
    for (double& handle : handles) CHECK(instance.replay.createEpisode(&handle) == Status::ok);
    std::vector<uint64_t> words(instance.recording.rowBytes() / sizeof(uint64_t));
    auto* const row = reinterpret_cast<uint8_t*>(words.data());
    for (uint32_t step = 0; step < 6000; ++step) {
      double& handle = handles[random_.below(5)];
      for (uint64_t& word : words) word = random_.next() & 0x3fffffff3fffffffu;
      std::memcpy(row, &handle, sizeof handle);
      const bool ends = random_.below(30) == 0;
      const uint32_t truncated = random_.below(2) * EXRP_RECORD_TRUNCATED;
      const uint32_t flags = ends ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS | truncated : 0;
      CHECK(instance.recording.record(row, flags) == Status::ok);
      std::memcpy(&handle, row, sizeof handle);
    }
  }

  Random random_{7, 0};
};

}  // namespace exrp::test
