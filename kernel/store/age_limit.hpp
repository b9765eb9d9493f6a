// AgeLimit: says when the oldest episode must go, because more records were written since it began than the limit allows.
//
// An episode's age is the number of records written to the replay since it began. So episodes grow too old in the order of their handles,
// and only the oldest has to be looked at. No record is older than its episode: with a limit of n, every stored record is among the last
// n that were written.
//
// Thread safety: none of its own. Without a limit nothing is ever due, and it takes no memory.
// Invariants:
//   1. Births rise with handles, never fall, and are at most the count of records written.
//   2. Between calls no episode is older than the limit.
// (The replay checks both, as it knows the episodes and the count.)
// Cost: all O(1); 8 bytes an episode. It does not evict.
#pragma once

#include "kernel/store/episode_table.hpp"

namespace exrp {

class AgeLimit {
 public:
  /// For up to `countMax` episodes; `ageMax` 0 is no limit.
  Status create(uint32_t countMax, uint64_t ageMax) {
    ageMax_ = ageMax;
    return ageMax == 0 || births_.create(countMax, Pages::small) ? Status::ok : fail(Status::memory, double{8} * countMax);
  }
  /// Takes the memory for episodes below `count`.
  Status prepare(uint32_t count) {
    return !isSet() || births_.commit(count) ? Status::ok : fail(Status::memory, double{8} * count);
  }

  bool isSet() const { return ageMax_ != 0; }
  /// Whether an episode is too old for another record, of which `recordedCount` were written so far: the oldest is, then.
  bool isDue(uint64_t recordedCount) const { return recordedCount >= due_; }
  /// How many more records can be written before an episode is too old. Not to be asked when one is.
  uint64_t recordsLeft(uint64_t recordedCount) const { return due_ - recordedCount; }

  uint64_t birth(uint32_t episode) const { return births_[episode]; }
  /// The episode began when `recordedCount` records had been written.
  void begin(uint32_t episode, uint64_t recordedCount) {
    if (isSet()) births_[episode] = recordedCount;
  }
  /// To be called after each change of the episodes.
  void follow(const EpisodeTable& episodes) {
    if (isSet()) due_ = episodes.oldest() == episodeNone ? never : births_[episodes.oldest()] + ageMax_;
  }

  /// Whether there can be an episode of that birth, with so many records, after one of `birthBefore`.
  bool isPossible(uint64_t birth, uint64_t birthBefore, uint64_t recordCount, uint64_t recordedCount) const {
    return birth >= birthBefore && birth <= recordedCount && recordCount <= recordedCount - birth && recordedCount - birth <= ageMax_;
  }

  double memoryBytes(uint32_t episodeCount) const { return isSet() ? births_.takenBytes(episodeCount) : 0; }

 private:
  static constexpr uint64_t never = UINT64_MAX;

  ReservedArray<uint64_t> births_;  // by episode
  uint64_t ageMax_ = 0;
  uint64_t due_ = never;
};

}  // namespace exrp
