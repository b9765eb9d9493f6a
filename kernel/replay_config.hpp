// ReplayConfig: the numbers that a replay is made with, read and checked once.
#pragma once

#include "kernel/store/pick_policy.hpp"
#include "kernel/store/store.hpp"

namespace exrp {

/// The most blocks that one record can take: for a cut episode's final state, the record, a final state, and the episode that follows.
constexpr uint32_t blocksPerRecordMax = 4;
/// Blocks for episodes that have no record yet.
constexpr uint32_t emptyEpisodeSlack = 1024;

/// Whether a number is an integer within these bounds, which lie within +-2^53: there every integer is exact.
inline bool isWhole(double value, double smallest, double largest) {
  return value >= smallest && value <= largest && value == static_cast<double>(static_cast<int64_t>(value));
}

struct ReplayConfig {
  uint32_t capacity;
  uint32_t segmentLength;
  uint64_t seed;
  uint32_t eviction;
  uint32_t evictionOption;
  uint64_t capacityBytes;  // 0: no limit
  uint64_t ageMax;         // records; 0: no limit
  uint32_t blockLength;
  uint32_t columnCount;
  Column columns[columnMax];

  /// Reads and checks what exrp_replay_create was given; `pick` is the policy of table 0. Which rules evict, rules.cpp knows.
  static Status parse(const double* config, uint32_t configCount, const PickPolicy& pick, const uint32_t* columns,
                      uint32_t columnCount, ReplayConfig* parsed);

  /// The blocks that a replay has. A record and its final state fit one block, so an episode of n records never needs more than n.
  uint32_t blockCountMax() const {
    return capacity + (capacity < emptyEpisodeSlack ? capacity : emptyEpisodeSlack) + blocksPerRecordMax;
  }
};

}  // namespace exrp
