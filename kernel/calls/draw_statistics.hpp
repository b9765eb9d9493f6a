// DrawStatistics: how many picks a selector drew, and what some of the latest were, so that stats() can say what a learner sees.
//
// It notes up to 32 picks of each batch, evenly spread. Once it has noted 1,024 picks, it notes up to 8 of every eighth batch, as more
// would be felt in batches of 32. The newest `ringCount` of them are kept. A noted pick is known by its slot and its birth, which no other pick has: another record of the same slot was born later.
//
// Thread safety: none of its own.
// Invariants: none beyond the types.
// Cost: a few ns for each noted pick. It takes its memory (24 KiB) at the first draw; without memory it only counts.
// It is not saved with a replay, and decides nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "kernel/exrp.h"

namespace exrp {

/// A pick as it was when it was drawn.
struct NotedPick {
  uint32_t slot;
  uint32_t birth;  // the low 32 bits of the number of records written before the pick's first one
  uint32_t age;    // records written since then; at its largest value it stays
};

class DrawStatistics {
 public:
  static constexpr uint32_t ringCount = EXRP_LIMIT_NOTED;
  static constexpr uint32_t batchMax = 32;

  /// How far apart the noted picks of a batch stand: place k is k * stepOf() >> stepShift.
  static uint64_t stepOf(uint32_t noted, uint32_t count) { return (count << stepShift) / (noted > 0 ? noted : 1); }
  static constexpr uint32_t stepShift = 7;  // so that the largest batch fits 32 bits

  /// Counts a batch of `count` picks. Returns how many of them are to be noted.
  uint32_t begin(uint32_t count) {
    drawnCount_ += count;
    const bool isFirst = notedCount_ < fewFrom;
    if (++batchCount_ % fewEvery != 0 && !isFirst) return 0;
    const uint32_t most = isFirst ? batchMax : batchFew;
    if (ring_ == nullptr) ring_.reset(new (std::nothrow) NotedPick[ringCount]);
    return ring_ == nullptr ? 0 : count < most ? count : most;
  }
  /// Notes a pick whose first record was the `birth`th written, of `recordedCount` so far. Needs begin().
  void add(uint32_t slot, uint64_t birth, uint64_t recordedCount) {
    const uint64_t age = recordedCount - birth - 1;
    ring_[notedCount_++ % ringCount] = {slot, static_cast<uint32_t>(birth), age < UINT32_MAX ? static_cast<uint32_t>(age) : UINT32_MAX};
  }

  /// Counts picks of which none is noted.
  void count(uint64_t picks) { drawnCount_ += picks; }

  uint64_t drawnCount() const { return drawnCount_; }
  /// How many picks are noted now.
  uint32_t count() const { return notedCount_ < ringCount ? static_cast<uint32_t>(notedCount_) : ringCount; }
  /// The noted picks, in no order.
  const NotedPick* picks() const { return ring_.get(); }
  double memoryBytes() const { return double{sizeof(NotedPick)} * count(); }

 private:
  static constexpr uint32_t fewFrom = 1024;
  static constexpr uint32_t fewEvery = 8;
  static constexpr uint32_t batchFew = 8;

  uint64_t drawnCount_ = 0;
  uint64_t batchCount_ = 0;
  uint64_t notedCount_ = 0;
  std::unique_ptr<NotedPick[]> ring_;
};

}  // namespace exrp
