// RateLimiter: how inserts and samples of a table keep pace, by the rules of Reverb (Cassirer et al. 2021, "Reverb: A Framework for
// Experience Replay").
//
// It counts I inserts, S samples and D deletes since the last reset.
//   - n inserts are allowed where I + n - D <= minSize, or (I + n) x samplesPerInsert - S <= maxDiff.
//   - n samples are allowed where I - D >= minSize, and I x samplesPerInsert - S - n >= minDiff.
// A draw that removes its item also counts a delete: what n draws in a row may do, ItemTable::maySample() says.
// A change of priorities counts nothing. The numbers may change at any time; the counts stay then.
//
// Thread safety: none of its own. Cost: a few additions.
// Invariants: 1. D <= I. 2. The four numbers are as exrp.h says.
#pragma once

#include <cstdint>

#include "kernel/base/error.hpp"

namespace exrp {

class RateLimiter {
 public:
  /// Takes EXRP_LIMITER_COUNT numbers, which are argument `which` of a call.
  Status set(const double* numbers, uint32_t which) {
    const double ratio = numbers[EXRP_LIMITER_SAMPLES_PER_INSERT];
    const double minSize = numbers[EXRP_LIMITER_MIN_SIZE];
    const double minDiff = numbers[EXRP_LIMITER_MIN_DIFF];
    const double maxDiff = numbers[EXRP_LIMITER_MAX_DIFF];
    if (!(ratio > 0 && ratio <= 0x1.fffffffffffffp1023)) return fail(Status::argument, which, ratio);
    if (!(minSize >= 0 && minSize <= 0x1p53 && minSize == static_cast<double>(static_cast<int64_t>(minSize)))) {
      return fail(Status::argument, which, minSize);
    }
    if (!(minDiff <= maxDiff)) return fail(Status::argument, which, maxDiff);
    samplesPerInsert_ = ratio;
    minSize_ = static_cast<int64_t>(minSize);
    minDiff_ = minDiff;
    maxDiff_ = maxDiff;
    return Status::ok;
  }
  void get(double* numbers) const {
    numbers[EXRP_LIMITER_SAMPLES_PER_INSERT] = samplesPerInsert_;
    numbers[EXRP_LIMITER_MIN_SIZE] = static_cast<double>(minSize_);
    numbers[EXRP_LIMITER_MIN_DIFF] = minDiff_;
    numbers[EXRP_LIMITER_MAX_DIFF] = maxDiff_;
  }

  bool mayInsert(int64_t count) const {
    if (inserts_ + count - deletes_ <= minSize_) return true;
    return static_cast<double>(count + inserts_) * samplesPerInsert_ - static_cast<double>(samples_) <= maxDiff_;
  }
  bool maySample(int64_t count) const {
    if (inserts_ - deletes_ < minSize_) return false;
    return static_cast<double>(inserts_) * samplesPerInsert_ - static_cast<double>(samples_) - static_cast<double>(count) >= minDiff_;
  }
  /// How many of `count` samples are allowed now.
  uint32_t samplesAllowed(uint32_t count) const {
    if (count == 0 || !maySample(1)) return 0;
    if (maySample(count)) return count;
    uint32_t allowed = 1;
    for (uint32_t refused = count; refused - allowed > 1;) {
      const uint32_t middle = allowed + (refused - allowed) / 2;
      (maySample(middle) ? allowed : refused) = middle;
    }
    return allowed;
  }

  void inserted() { ++inserts_; }
  void sampled(uint32_t count) { samples_ += count; }
  void deleted() { ++deletes_; }
  void reset() { inserts_ = samples_ = deletes_ = 0; }
  void restore(int64_t inserts, int64_t samples, int64_t deletes) {
    inserts_ = inserts;
    samples_ = samples;
    deletes_ = deletes;
  }

  int64_t minSize() const { return minSize_; }
  int64_t inserts() const { return inserts_; }
  int64_t samples() const { return samples_; }
  int64_t deletes() const { return deletes_; }

 private:
  double samplesPerInsert_ = 1;
  int64_t minSize_ = 1;
  double minDiff_ = 0;
  double maxDiff_ = 0;
  int64_t inserts_ = 0;
  int64_t samples_ = 0;
  int64_t deletes_ = 0;
};

}  // namespace exrp
