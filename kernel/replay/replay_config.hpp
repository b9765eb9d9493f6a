// ReplayConfig: the numbers that a replay is made with, read and checked once.
#pragma once

#include "kernel/store/episode_list.hpp"
#include "kernel/store/pick_policy.hpp"
#include "kernel/store/store.hpp"

namespace exrp {

/// The most blocks that one record can take: for a cut episode's final state, the record, a final state, and the episode that follows.
constexpr uint32_t blocksPerRecordMax = 4;
/// Blocks for open episodes that hold no record.
constexpr uint32_t emptyEpisodeSlack = 4096;

struct ReplayConfig {
  uint32_t capacity;
  uint32_t segmentLength;  // records after which an episode is cut; positionMax where no length was given
  uint64_t seed;
  uint32_t eviction;
  uint32_t evictionOption;
  uint64_t capacityBytes;  // 0: no limit
  uint64_t ageMax;         // records; 0: no limit
  uint32_t blockLength;
  uint32_t columnCount;
  uint32_t leafCount;  // of the state: the first columns
  uint32_t compression;  // EXRP_COMPRESSION_*
  uint64_t residentBytes;  // of rows in memory, once the replay is durable; 0: no limit
  Column columns[columnMax];

  /// Reads and checks what exrp_replay_create was given; `pick` is the policy of view 0. Which rules evict, rules.cpp knows.
  static Status parse(const double* config, uint32_t configCount, const PickPolicy& pick, const uint32_t* columns,
                      uint32_t columnCount, ReplayConfig* parsed);

  /// Whether these are other limits.
  bool differs(uint32_t toCapacity, uint64_t toBytes, uint64_t toAge) const {
    return toCapacity != capacity || toBytes != capacityBytes || toAge != ageMax;
  }
  /// Takes other limits, where they fit the rest; `pick` is the policy of view 0.
  Status change(uint32_t toCapacity, uint64_t toBytes, uint64_t toAge, const PickPolicy& pick);

  /// The most records that one episode holds.
  uint32_t episodeMax() const { return segmentLength < capacity ? segmentLength : capacity; }
  /// How many records of an open episode go at once where room is needed: a power of two, at most 16. Of a small replay they are fewer, so
  /// that it keeps nearly all that it may. The block length has no say, so that a replay loaded with another one has the same future.
  uint32_t trimLength() const {
    uint64_t most = capacity / 64;
    if (ageMax != 0 && ageMax / 64 < most) most = ageMax / 64;
    uint32_t length = 16;
    while (length > 1 && length > most) length /= 2;
    return length;
  }

  /// The blocks that a replay has. A record and its final state fit one block. So an episode of n records mostly needs no more than n; one
  /// more where it was trimmed.
  uint32_t blockCountMax() const { return capacity + emptyMax() + blocksPerRecordMax; }
  /// The open episodes that may hold no record. One more pushes the oldest out.
  uint32_t emptyMax() const { return capacity < emptyEpisodeSlack ? capacity : emptyEpisodeSlack; }
};

}  // namespace exrp
