#include "kernel/batches/plain_picks.hpp"

#include <cstring>

namespace exrp {

bool PlainPicks::createPicks(const Store& store, const PickPolicy& policy) {
  const bool simple = policy.before == 0 && policy.stack == 1 && !policy.reversed && !policy.compact && !policy.masks;
  const auto isBeside = [&](uint32_t column) { return store.isAlone(column) || store.isKept(column); };
  if (!simple || isBeside(0) || isBeside(2)) return false;
  if (policy.nStepCount > 0) {
    const bool fits = policy.rewardType == EXRP_TYPE_FLOAT32 && store.column(2).itemCount == 1 && policy.nStepMax <= nStepsMax;
    if (!fits) return false;
  }
  policy_ = policy;
  // A row is looked at for its state: that after the last record, or the one that its longest return bootstraps from.
  const uint64_t reach = uint64_t{policy.length} - 1 + policy.ahead();
  if (reach >= 2 * uint64_t{store.blockLength()}) return false;  // no pick would be joined
  reach_ = static_cast<uint32_t>(reach);
  stride_ = store.groupStride(0);
  const Column& state = store.column(0);
  stateBytes_ = state.bytes;
  stateOffset_ = state.offset;
  lastByte_ = reach_ * stride_ + stateOffset_ + stateBytes_ - 1;
  lines_ = smaller(static_cast<uint32_t>((lastByte_ + lineBytes) / lineBytes), prefetchLinesMax);
  for (uint32_t index = 1; index < store.columnCount(); ++index) {
    const Column& column = store.column(index);
    if (isBeside(index)) hasBeside_ = true;
    else parts_[partCount_++] = {index, column.offset, column.bytes};
  }
  // Powers as the window path multiplies them up.
  double power = 1;
  for (uint32_t step = 0; step < policy.nStepMax; ++step, power *= policy.discount) powers_[step] = power;
  for (uint32_t part = 0; part < policy.nStepCount; ++part) {
    nStepDiscounts_[part] = static_cast<float>(powers_[policy.nSteps[part] - 1] * policy.discount);
  }
  store_ = &store;
  return true;
}

/// What is the same for all whole picks.
void PlainPicks::fill(const WalkJob& job) const {
  const BatchTarget& target = job.target;
  const uint32_t length = policy_.length;
  const size_t first = job.range.first;
  const size_t count = job.range.count;
  const auto fillFloats = [&](float* part, float value) {
    float* const from = part + first * length;
    for (size_t row = 0; row < count * length; ++row) from[row] = value;
  };
  fillFloats(target.discount, static_cast<float>(policy_.discount));
  for (uint32_t part = 0; part < policy_.nStepCount; ++part) fillFloats(target.nSteps[part].discount, nStepDiscounts_[part]);
  int32_t* const seqLen = target.seqLen + first;
  int32_t* const nextSeqLen = target.nextSeqLen + first;
  for (size_t index = 0; index < count; ++index) seqLen[index] = static_cast<int32_t>(length);
  for (size_t index = 0; index < count; ++index) nextSeqLen[index] = static_cast<int32_t>(length);
}

/// The sum of n rewards from each row on, each times its power of the discount, as the window path adds them up; of eight picks at once,
/// two in a vector, so that they don't wait for one another.
void PlainPicks::copyReturns(const uint8_t* const* rows, uint32_t count, uint32_t length, uint32_t n, float* to) const {
  typedef float Floats __attribute__((vector_size(8)));
  typedef double Doubles __attribute__((vector_size(16)));
  constexpr uint32_t pairCount = 4;
  const auto valueAt = [](const uint8_t* from) {
    float value = 0;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
  };
  for (uint32_t row = 0; row < length; ++row) {
    const size_t first = store_->column(2).offset + row * stride_;
    uint32_t pick = 0;
    for (; pick + 2 * pairCount <= count; pick += 2 * pairCount) {
      Doubles sums[pairCount] = {};
      size_t offset = first;
      for (uint32_t step = 0; step < n; ++step, offset += stride_) {
        for (uint32_t pair = 0; pair < pairCount; ++pair) {
          const uint8_t* const* const two = rows + pick + 2 * pair;
          sums[pair] += powers_[step] * __builtin_convertvector((Floats{valueAt(two[0] + offset), valueAt(two[1] + offset)}), Doubles);
        }
      }
      for (uint32_t k = 0; k < 2 * pairCount; ++k) to[size_t{pick + k} * length + row] = static_cast<float>(sums[k / 2][k % 2]);
    }
    for (; pick < count; ++pick) {
      double sum = 0;
      size_t offset = first;
      for (uint32_t step = 0; step < n; ++step, offset += stride_) sum += powers_[step] * static_cast<double>(valueAt(rows[pick] + offset));
      to[size_t{pick} * length + row] = static_cast<float>(sum);
    }
  }
}

/// Puts right what the end of an episode, `left` records from the pick's first, changes.
void PlainPicks::mendEnd(const WalkJob& job, const uint8_t* row, uint32_t left, bool terminated, size_t index) const {
  const BatchTarget& target = job.target;
  const uint32_t length = policy_.length;
  const size_t first = index * length;
  if (terminated && left == length) target.discount[first + length - 1] = 0.0f;
  for (uint32_t part = 0; part < policy_.nStepCount; ++part) {
    const BatchTarget::NStep& to = target.nSteps[part];
    const uint32_t n = policy_.nSteps[part];
    for (uint32_t at = left > n ? left - n : 0; at < length; ++at) {
      const uint32_t m = left - at;
      const uint8_t* const from = row + at * stride_;
      copyReturns(&from, 1, 1, m, to.reward + first + at);
      __builtin_memcpy(to.state + (first + at) * stateBytes_, from + m * stride_ + stateOffset_, stateBytes_);
      to.discount[first + at] = terminated ? 0.0f : static_cast<float>(powers_[m - 1] * policy_.discount);
    }
  }
}

/// Asks for the rows of a torn pick beyond its first block.
void PlainPicks::prefetchTorn(uint32_t slot) const {
  uint32_t next = store_->block(store_->blockOf(slot)).next;
  uint32_t run = store_->blockLength() - store_->within(slot);
  while (run <= reach_ && next != blockNone) {
    const uint32_t left = reach_ + 1 - run;
    const uint32_t rowCount = smaller(left, store_->blockLength());
    prefetchSpan<prefetchLineFar>(store_->groupRow(0, store_->firstSlot(next)), rowCount * stride_);
    run += rowCount;
    if (run <= reach_) next = store_->block(next).next;
  }
}

}  // namespace exrp
