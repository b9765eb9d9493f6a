// PickPolicy: what counts as a pick of one pick view, and what of it a batch holds.
//
// A pick begins at a position of its episode and has `length` records from there on. A batch shows it in rows: first as many records
// before it as `before` asks for, then its own. All numbers are checked once, by parse().
//
// Invariants:
//   1. Whether a position is a pick depends on the episode's tag, on its first position, on its count and on whether it has ended. A position
//      that is a pick stays one as long as all records that the pick shows are stored.
//   2. The tags rise.
#pragma once

#include "kernel/base/error.hpp"

namespace exrp {

/// What a batch holds of one leaf of the state.
struct LeafPolicy {
  uint32_t stack = 1;
  uint32_t nextState = EXRP_NEXT_STATE_COPY;
  bool compact = false;
  bool nStep = true;  // its n-step states

  /// Whether a batch has its next states as a part of their own.
  bool hasNext() const { return nextState == EXRP_NEXT_STATE_COPY; }
  /// Whether its states have one row more, for the next state of the last.
  bool overlaps() const { return nextState == EXRP_NEXT_STATE_OVERLAP; }
  /// Frames that a pick of so many rows has in a batch: the stack of each row, or each frame once.
  uint64_t frames(uint64_t rows) const {
    const uint64_t more = overlaps() ? 1 : 0;
    return compact ? stack - 1 + rows + more : (rows + more) * stack;
  }
};

struct PickPolicy {
  uint32_t length = 1;
  uint32_t stride = 1;
  uint32_t before = 0;
  uint32_t stack = 1;  // the largest of the leaves
  uint32_t rewardType = EXRP_TYPE_OTHER;
  uint32_t nSteps[EXRP_LIMIT_N_STEPS] = {};
  uint32_t nStepCount = 0;
  uint32_t nStepMax = 0;
  int32_t tags[EXRP_LIMIT_TAGS] = {};
  uint32_t tagCount = 0;  // 0: episodes of any tag
  bool allowShort = false;
  bool allowOpenEnd = false;
  bool whole = false;
  bool reversed = false;
  bool aligned = false;
  bool zeroPadded = false;
  bool masks = false;
  bool ends = false;
  bool returnToGo = false;
  double discount = 1;
  LeafPolicy leaves[EXRP_LIMIT_LEAVES];
  uint32_t leafCount = 0;  // 0: any number, and all are alike
  // The numbers of EXRP_TRANSFORM_* as the caller gave them: only for who makes a view of the policy, during the call.
  const double* transforms = nullptr;
  uint32_t transformCount = 0;

  /// Reads and checks the numbers of EXRP_POLICY_*, and those of the leaves; argument `argument` of the call.
  static Status parse(const double* numbers, uint32_t count, uint32_t argument, PickPolicy* parsed);

  /// Whether a batch has returns, which are computed from rewards.
  bool hasReturns() const { return nStepCount > 0 || returnToGo; }
  /// Whether the returns, if there are any, can be computed from rewards whose elements have so many bytes.
  bool fitsReward(uint32_t itemBytes) const;
  /// Whether it is one for states of so many leaves.
  bool fitsLeaves(uint32_t count) const { return leafCount == 0 || leafCount == count; }
  /// Rows a pick has in a batch.
  uint64_t rows() const { return uint64_t{before} + length; }
  /// Records after a pick's last whose states an open episode must have.
  uint32_t ahead() const { return nStepMax > 1 ? nStepMax : 1; }
  /// The most picks that an episode's end can complete.
  uint64_t lateCount() const { return whole ? 1 : uint64_t{length} + ahead(); }

  /// Whether episodes of this tag have picks.
  bool takes(int32_t tag) const {
    uint32_t at = 0;
    while (at < tagCount && tags[at] < tag) ++at;
    return tagCount == 0 || (at < tagCount && tags[at] == tag);
  }

  /// Of an episode whose oldest record is at `first`: its picks are the multiples of `stride` from this on, which is one, and below
  /// validEnd(). A pick that shows rows or frames before its own goes with the first of them.
  uint32_t validBegin(uint32_t first) const {
    if (first == 0) return 0;
    if (whole) return UINT32_MAX;
    const uint32_t begin = first + before + (stack - 1);
    return stride == 1 ? begin : (begin + stride - 1) / stride * stride;
  }
  /// Of an episode whose next record is at position `count`: below this are its picks.
  uint32_t validEnd(uint32_t count, bool ended) const {
    if (whole) return ended && count > 0 && count <= length ? 1 : 0;
    if (ended && allowShort) return count;
    // Without an end, the records after the last one's have to be there, for its next states.
    const uint64_t needed = uint64_t{length} + (ended || allowOpenEnd ? 0 : ahead());
    return count >= needed ? static_cast<uint32_t>(count - needed + 1) : 0;
  }
  /// How many picks they are.
  uint32_t validCount(uint32_t first, uint32_t count, bool ended) const {
    const uint32_t begin = validBegin(first);
    const uint32_t end = validEnd(count, ended);
    return begin < end ? (end - begin - 1) / stride + 1 : 0;
  }
};

}  // namespace exrp
