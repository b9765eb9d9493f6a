// Pace: how fast records come beside the picks that are drawn, after the rate limiter of Reverb (Cassirer et al. 2021, "Reverb: A
// Framework for Experience Replay").
//
// It counts I records and S picks since it began, and knows how many records are stored, N. Their difference is D = I x ratio - S.
//   - n records may come where N + n <= minSize, or D + n x ratio <= differenceMax.
//   - n picks may be drawn where N >= minSize and D - n >= differenceMin.
// For single records and picks these are Reverb's rules. Calls of many are all or nothing here, which needs two more. Below minSize, where
// nobody can draw, n records may come if n x ratio is within the band, differenceMax - differenceMin. And where a call of records and a draw
// would each wait for the other, the second of them fails for good, and says so.
//
// Thread safety: none of its own; calls come within a Turn (instance.hpp).
// Invariants:
//   1. ratio > 0, differenceMin <= ratio x minSize, and the band is at least max(1, ratio): so it has room for a record and for a pick.
// Cost: a few additions a call. It keeps its numbers.
#pragma once

#include <cmath>

#include "kernel/base/error.hpp"
#include "kernel/base/whole_number.hpp"

namespace exrp {

/// What a replay holds when a call comes: records written ever, and records stored.
struct PaceLook {
  uint64_t recordedEver;
  uint64_t stored;
};

class Pace {
 public:
  bool isSet() const { return isSet_; }

  /// `numbers` are those of EXRP_PACE_*: none, the rule, or the rule and its counts. A new rule begins like a new replay that has just
  /// got its first minSize records, or as many as there are.
  Status set(const double* numbers, uint32_t count, PaceLook now, uint64_t capacity) {
    if (count == 0) {
      *this = Pace();
      return Status::ok;
    }
    if (count != EXRP_PACE_RULE_COUNT && count != EXRP_PACE_SAVED_COUNT) return fail(Status::argument, 3, count);
    Pace made;
    made.ratio_ = numbers[EXRP_PACE_RATIO];
    made.min_ = numbers[EXRP_PACE_DIFFERENCE_MIN];
    made.max_ = numbers[EXRP_PACE_DIFFERENCE_MAX];
    const double minSize = numbers[EXRP_PACE_MIN_SIZE];
    if (!(made.ratio_ > 0 && made.ratio_ <= ratioMax)) return fail(Status::argument, 2, made.ratio_);
    if (!isWhole(minSize, 1, static_cast<double>(capacity))) return fail(Status::argument, 2, minSize);
    if (!(made.min_ <= made.ratio_ * minSize)) return fail(Status::argument, 2, made.min_);
    if (!(made.band() >= (made.ratio_ > 1 ? made.ratio_ : 1))) return fail(Status::argument, 2, made.max_);
    made.minSize_ = static_cast<uint64_t>(minSize);
    double recorded = static_cast<double>(now.stored < made.minSize_ ? now.stored : made.minSize_);
    double drawn = 0;
    if (count == EXRP_PACE_SAVED_COUNT) {
      recorded = numbers[EXRP_PACE_RECORDED];
      drawn = numbers[EXRP_PACE_DRAWN];
      if (!isWhole(recorded, 0, static_cast<double>(now.recordedEver))) return fail(Status::argument, 2, recorded);
      if (!isWhole(drawn, 0, 0x1p53)) return fail(Status::argument, 2, drawn);
    }
    made.recordedBefore_ = now.recordedEver - static_cast<uint64_t>(recorded);
    made.drawn_ = static_cast<uint64_t>(drawn);
    made.isSet_ = true;
    *this = made;
    return Status::ok;
  }

  void info(double* info, PaceLook now) const {
    info[EXRP_PACE_RATIO] = ratio_;
    info[EXRP_PACE_MIN_SIZE] = static_cast<double>(minSize_);
    info[EXRP_PACE_DIFFERENCE_MIN] = min_;
    info[EXRP_PACE_DIFFERENCE_MAX] = max_;
    info[EXRP_PACE_RECORDED] = isSet_ ? recorded(now) : 0;
    info[EXRP_PACE_DRAWN] = static_cast<double>(drawn_);
    info[EXRP_PACE_IS_SET] = isSet_ ? 1 : 0;
    info[EXRP_PACE_RECORDS_ALLOWED] = recordsAllowed(now);
    info[EXRP_PACE_PICKS_ALLOWED] = picksAllowed(now);
  }

  /// Whether a call may store so many records now.
  Status checkRecords(uint32_t count, PaceLook now) {
    if (!isSet_ || count == 0 || mayRecord(count, now)) return Status::ok;
    const double own = count * ratio_;
    if (own > band()) return fail(Status::paceSize, EXRP_PACE_RECORDS, count, 0, own);
    if (refusedPicks_.isOf(now, drawn_)) {
      return fail(Status::paceSize, EXRP_PACE_RECORDS, count, refusedPicks_.count, own + refusedPicks_.count);
    }
    refusedRecords_ = {count, now, drawn_};
    return fail(Status::pace, EXRP_PACE_RECORDS, count, recordsAllowed(now), static_cast<double>(now.stored));
  }

  /// Whether so many picks may be drawn now.
  Status checkPicks(uint32_t count, PaceLook now) {
    if (!isSet_ || count == 0 || mayDraw(count, now)) return Status::ok;
    if (count > band()) return fail(Status::paceSize, EXRP_PACE_PICKS, count, 0, count);
    if (refusedRecords_.isOf(now, drawn_)) {
      return fail(Status::paceSize, EXRP_PACE_PICKS, count, refusedRecords_.count, count + refusedRecords_.count * ratio_);
    }
    refusedPicks_ = {count, now, drawn_};
    return fail(Status::pace, EXRP_PACE_PICKS, count, picksAllowed(now), static_cast<double>(now.stored));
  }

  /// So many picks were drawn.
  void drew(uint32_t count) { drawn_ += isSet_ ? count : 0; }

 private:
  static constexpr double ratioMax = 0x1p32;

  /// A call that the pace held back, and when.
  struct Refusal {
    uint32_t count = 0;
    PaceLook at = {};
    uint64_t drawn = 0;
    /// Whether nothing has changed since.
    bool isOf(PaceLook now, uint64_t drawnNow) const {
      return count > 0 && at.recordedEver == now.recordedEver && at.stored == now.stored && drawn == drawnNow;
    }
  };

  double band() const { return max_ - min_; }
  double recorded(PaceLook now) const { return static_cast<double>(now.recordedEver - recordedBefore_); }

  bool mayRecord(double count, PaceLook now) const {
    const auto stored = static_cast<double>(now.stored);
    const auto minSize = static_cast<double>(minSize_);
    if (stored + count <= minSize) return true;
    if (stored < minSize && count * ratio_ <= band()) return true;
    return (recorded(now) + count) * ratio_ - static_cast<double>(drawn_) <= max_;
  }
  bool mayDraw(double count, PaceLook now) const {
    return now.stored >= minSize_ && recorded(now) * ratio_ - static_cast<double>(drawn_) - count >= min_;
  }

  /// The largest count for which `may` holds, near a guess that rounding may have made wrong by one.
  template <typename May>
  static double largest(double guess, May may) {
    if (!(guess > 0)) guess = 0;
    if (!(guess < 0x1p53)) return guess;
    guess = static_cast<double>(static_cast<uint64_t>(guess));
    while (guess > 0 && !may(guess)) --guess;
    while (may(guess + 1)) ++guess;
    return guess;
  }
  double picksAllowed(PaceLook now) const {
    if (!isSet_) return HUGE_VAL;
    if (now.stored < minSize_) return 0;
    return largest(recorded(now) * ratio_ - static_cast<double>(drawn_) - min_, [&](double count) { return mayDraw(count, now); });
  }
  double recordsAllowed(PaceLook now) const {
    if (!isSet_) return HUGE_VAL;
    double guess = (max_ + static_cast<double>(drawn_)) / ratio_ - recorded(now);
    if (now.stored < minSize_) {
      const auto free = static_cast<double>(minSize_ - now.stored);
      guess = guess < free ? free : guess;
      guess = guess < band() / ratio_ ? band() / ratio_ : guess;
    }
    return largest(guess, [&](double count) { return mayRecord(count, now); });
  }

  bool isSet_ = false;
  double ratio_ = 1;
  double min_ = -HUGE_VAL;
  double max_ = HUGE_VAL;
  uint64_t minSize_ = 0;
  uint64_t recordedBefore_ = 0;
  uint64_t drawn_ = 0;
  Refusal refusedRecords_;
  Refusal refusedPicks_;
};

}  // namespace exrp
