// RateLimiter: how inserts and samples keep pace, after that of Reverb (Cassirer et al. 2021, "Reverb: A Framework for Experience Replay").
//
// It counts I inserts, S samples and D deletes. So N = I - D are stored, and the difference is I x ratio - S.
//   - n inserts are allowed where N + n <= minSize, or (I + n) x ratio - S <= differenceMax.
//   - n samples are allowed where N >= minSize, and I x ratio - S - n >= differenceMin.
// The numbers may change at any time; the counts stay then.
//
// A table lets one item in after the other. A draw that removes its item also counts a delete: what n draws in a row may do,
// ItemTable::maySample() says. A change of priorities counts nothing.
//
// Calls of a replay are whole: all or nothing. This needs two more rules. Below minSize, where nobody can draw, n inserts are allowed if
// n x ratio is within the band, differenceMax - differenceMin. And where a call of inserts and one of samples would each wait for the other,
// the second of them fails for good, and says so.
//
// Thread safety: none of its own; those of a replay come within a Turn (replay_instance.hpp). Cost: a few additions a call.
// Invariants: 1. The four numbers are as exrp.h says. So a replay's band has room for one insert, and for one sample.
#pragma once

#include <cmath>

#include "kernel/base/error.hpp"
#include "kernel/base/whole_number.hpp"

namespace exrp {

/// What a rate limiter counts.
struct RateCounts {
  int64_t inserts = 0;
  int64_t samples = 0;
  int64_t deletes = 0;  // below 0 where more was stored than it began with
  int64_t stored() const { return inserts - deletes; }
  bool operator==(const RateCounts&) const = default;
};

/// One that was never set allows everything.
class RateLimiter {
 public:
  /// Takes EXRP_RATE_LIMITER_RULE_COUNT numbers, which are argument `which` of a call. `capacity` is that of the replay; 0 for a table.
  Status set(const double* numbers, uint32_t which, uint64_t capacity) {
    const bool isWholeCall = capacity > 0;
    const double ratio = numbers[EXRP_RATE_LIMITER_RATIO];
    const double minSize = numbers[EXRP_RATE_LIMITER_MIN_SIZE];
    const double min = numbers[EXRP_RATE_LIMITER_DIFFERENCE_MIN];
    const double max = numbers[EXRP_RATE_LIMITER_DIFFERENCE_MAX];
    if (!(ratio > 0 && ratio <= (isWholeCall ? 0x1p32 : 0x1.fffffffffffffp1023))) return fail(Status::argument, which, ratio);
    if (!isWhole(minSize, isWholeCall ? 1 : 0, isWholeCall ? static_cast<double>(capacity) : 0x1p53)) {
      return fail(Status::argument, which, minSize);
    }
    if (isWholeCall && !(min <= ratio * minSize)) return fail(Status::argument, which, min);
    if (!(isWholeCall ? max - min >= (ratio > 1 ? ratio : 1) : min <= max)) return fail(Status::argument, which, max);
    isWhole_ = isWholeCall;
    ratio_ = ratio;
    minSize_ = static_cast<int64_t>(minSize);
    min_ = min;
    max_ = max;
    return Status::ok;
  }
  void get(double* numbers) const {
    numbers[EXRP_RATE_LIMITER_RATIO] = ratio_;
    numbers[EXRP_RATE_LIMITER_MIN_SIZE] = static_cast<double>(minSize_);
    numbers[EXRP_RATE_LIMITER_DIFFERENCE_MIN] = min_;
    numbers[EXRP_RATE_LIMITER_DIFFERENCE_MAX] = max_;
  }
  /// Those, the counts, and what is allowed now.
  void info(double* info) const {
    get(info);
    info[EXRP_RATE_LIMITER_INSERTS] = static_cast<double>(counts_.inserts);
    info[EXRP_RATE_LIMITER_SAMPLES] = static_cast<double>(counts_.samples);
    info[EXRP_RATE_LIMITER_INSERTS_ALLOWED] = allowed(EXRP_ALLOW_INSERTS);
    info[EXRP_RATE_LIMITER_SAMPLES_ALLOWED] = allowed(EXRP_ALLOW_SAMPLES);
  }

  bool mayInsert(int64_t count) const {
    if (counts_.stored() + count <= minSize_) return true;
    if (isWhole_ && counts_.stored() < minSize_ && static_cast<double>(count) * ratio_ <= band()) return true;
    return static_cast<double>(counts_.inserts + count) * ratio_ - static_cast<double>(counts_.samples) <= max_;
  }
  bool maySample(int64_t count) const {
    if (counts_.stored() < minSize_) return false;
    const double difference = static_cast<double>(counts_.inserts) * ratio_ - static_cast<double>(counts_.samples);
    return difference - static_cast<double>(count) >= min_;
  }
  /// How many of `most` inserts or samples are allowed now, as EXRP_ALLOW_* says.
  int64_t allowed(uint32_t what, int64_t most) const {
    if (may(what, most)) return most;
    int64_t allowed = 0;
    for (int64_t refused = most; refused - allowed > 1;) {
      const int64_t middle = allowed + (refused - allowed) / 2;
      (may(what, middle) ? allowed : refused) = middle;
    }
    return allowed;
  }

  /// Whether a whole call of so many inserts or samples may go ahead now.
  Status admit(uint32_t what, uint32_t count) {
    if (count == 0 || may(what, count)) return Status::ok;
    const double cost = what == EXRP_ALLOW_INSERTS ? count * ratio_ : count;
    if (cost > band()) return fail(Status::rateLimiterSize, what, count, 0, cost);
    const Refusal& other = refused_[1 - what];
    if (other.count > 0 && other.at == counts_) return fail(Status::rateLimiterSize, what, count, other.count, cost + other.cost);
    refused_[what] = {count, cost, counts_};
    return fail(Status::rateLimiter, what, count, allowed(what), static_cast<double>(counts_.stored()));
  }

  void inserted() { ++counts_.inserts; }
  void sampled(uint32_t count) { counts_.samples += count; }
  void deleted() { ++counts_.deletes; }
  void setCounts(const RateCounts& counts) { counts_ = counts; }
  const RateCounts& counts() const { return counts_; }
  /// Whether a replay has one.
  bool isSet() const { return minSize_ > 0; }
  int64_t minSize() const { return minSize_; }

 private:
  /// A call that was held back, and when.
  struct Refusal {
    uint32_t count = 0;
    double cost = 0;  // how far it would move the difference
    RateCounts at;
  };

  double band() const { return max_ - min_; }
  bool may(uint32_t what, int64_t count) const { return what == EXRP_ALLOW_INSERTS ? mayInsert(count) : maySample(count); }
  /// Infinity without a limit.
  double allowed(uint32_t what) const {
    constexpr int64_t most = int64_t{1} << 53;
    const int64_t found = allowed(what, most);
    return found < most ? static_cast<double>(found) : HUGE_VAL;
  }

  double ratio_ = 1;
  double min_ = -HUGE_VAL;
  double max_ = HUGE_VAL;
  int64_t minSize_ = 0;
  RateCounts counts_;
  bool isWhole_ = false;
  Refusal refused_[2];  // by EXRP_ALLOW_*
};

}  // namespace exrp
