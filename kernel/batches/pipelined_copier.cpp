#include "kernel/batches/pipelined_copier.hpp"

#include <cstring>

#include "kernel/base/cpu.hpp"

namespace exrp {

void PipelinedCopier::create(const Store& store, const PickPolicy& policy, const Tuning& tuning, const Transforms* transforms) {
  const bool single = policy.length == 1;
  const bool simple = policy.before == 0 && policy.stack == 1 && !policy.reversed && !policy.masks && !policy.returnToGo;
  const auto isBeside = [&](uint32_t column) { return store.isWide(column) || store.isKept(column); };
  if (!simple || isBeside(store.rewardColumn())) return;
  for (uint32_t column = 0; transforms != nullptr && column < store.columnCount(); ++column) {
    const ColumnTransform* const transform = transforms->of[column].get();
    if (isBeside(column) || (transform != nullptr && !transform->takesRuns())) return;
    if (transform != nullptr && column == store.rewardColumn() && policy.hasReturns()) return;
  }
  uint32_t leavesEnd = 0;
  for (leafCount_ = 0; leafCount_ < store.leaves().count(); ++leafCount_) {
    const Column& column = store.column(leafCount_);
    const LeafPolicy& leaf = policy.leaves[leafCount_];
    // With the overlap there is one row more.
    leaves_[leafCount_] = {partOf(store, leafCount_, single && !leaf.overlaps(), transforms), leaf.nextState, leaf.nStep};
    if (leaves_[leafCount_].copy == nullptr || leaf.compact || isBeside(leafCount_)) return;
    if (column.offset + column.bytes > leavesEnd) leavesEnd = column.offset + column.bytes;
  }
  if (policy.nStepCount > 0) {
    const bool fits = policy.rewardType == EXRP_TYPE_FLOAT32 && store.reward().itemCount == 1 && policy.nStepMax <= nStepsMax;
    if (!fits) return;
  }
  policy_ = policy;
  // A row is looked at for its state: that after the last record, or the one that its longest return bootstraps from.
  const uint64_t reach = uint64_t{policy.length} - 1 + policy.ahead();
  stride_ = store.groupStride(0);
  if (reach >= pickBytesMax / stride_) return;
  reach_ = static_cast<uint32_t>(reach);
  pickBytes_ = (size_t{reach_} + 1) * stride_;
  lastByte_ = reach_ * stride_ + leavesEnd - 1;
  lines_ = smaller(static_cast<uint32_t>((lastByte_ + lineBytes) / lineBytes), prefetchLinesMax);
  for (uint32_t index = leafCount_; index < store.columnCount(); ++index) {
    if (isBeside(index)) hasBeside_ = true;
    else parts_[partCount_++] = partOf(store, index, single, transforms);
  }
  // Powers as the window path multiplies them up.
  double power = 1;
  for (uint32_t step = 0; step < policy.nStepMax; ++step, power *= policy.discount) powers_[step] = power;
  for (uint32_t part = 0; part < policy.nStepCount; ++part) {
    nStepDiscounts_[part] = static_cast<float>(powers_[policy.nSteps[part] - 1] * policy.discount);
  }
  isChanged_ = transforms != nullptr;
  tuning_ = tuning;
  while (tuning_.flightCount > laneCount && joinedBytes() > flightBytesMax) tuning_.flightCount -= laneCount;
  store_ = &store;
  chooseStages();
}

PipelinedCopier::Part PipelinedCopier::partOf(const Store& store, uint32_t index, bool single, const Transforms* transforms) {
  const Column& column = store.column(index);
  const ColumnTransform* const transform = transforms == nullptr ? nullptr : transforms->of[index].get();
  return {index, column.offset, column.bytes, copyRunsOf(column.bytes, single, hasAvx2()), transform == nullptr ? column.bytes : transform->shownBytes(),
          transform, transform == nullptr ? 0 : transforms->scaleAt[index]};
}

/// What is the same for all whole picks.
void PipelinedCopier::fill(const GatherJob& job) const {
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
  if (policy_.ends) {
    memset(target.terminated + first * length, 0, count * length);
    memset(target.truncated + first * length, 0, count * length);
  }
  int32_t* const seqLen = target.seqLen + first;
  int32_t* const nextSeqLen = target.nextSeqLen + first;
  for (size_t index = 0; index < count; ++index) seqLen[index] = static_cast<int32_t>(length);
  for (size_t index = 0; index < count; ++index) nextSeqLen[index] = static_cast<int32_t>(length);
}

/// The sum of n rewards from each row on, each times its power of the discount, as the window path adds them up; of some picks at once, so that they
/// don't wait for one another.
void PipelinedCopier::copyReturns(const uint8_t* const* rows, uint32_t count, uint32_t length, uint32_t n, float* to) const {
  constexpr uint32_t pieceMax = 8;
  for (uint32_t row = 0; row < length; ++row) {
    for (uint32_t first = 0; first < count; first += pieceMax) {
      const uint32_t piece = smaller(pieceMax, count - first);
      double sums[pieceMax] = {};
      size_t offset = store_->reward().offset + row * stride_;
      for (uint32_t step = 0; step < n; ++step, offset += stride_) {
        for (uint32_t k = 0; k < piece; ++k) {
          float value = 0;
          __builtin_memcpy(&value, rows[first + k] + offset, sizeof value);
          sums[k] += powers_[step] * static_cast<double>(value);
        }
      }
      for (uint32_t k = 0; k < piece; ++k) to[size_t{first + k} * length + row] = static_cast<float>(sums[k]);
    }
  }
}

/// Puts right what the end of an episode, `left` records from the pick's first, changes.
void PipelinedCopier::mendEnd(const GatherJob& job, const uint8_t* row, uint32_t left, bool terminated, size_t index) const {
  const BatchTarget& target = job.target;
  const uint32_t length = policy_.length;
  const size_t first = index * length;
  if (terminated && left <= length) target.discount[first + left - 1] = 0.0f;
  if (policy_.ends && left <= length) (terminated ? target.terminated : target.truncated)[first + left - 1] = 1;
  const uint32_t end = smaller(left, length);
  if (end < length) {
    target.seqLen[index] = target.nextSeqLen[index] = static_cast<int32_t>(end);
    memset(target.discount + first + end, 0, (length - end) * sizeof(float));
    for (uint32_t column = 0; column < leafCount_; ++column) {
      const Leaf& leaf = leaves_[column];
      if (leaf.nextState != EXRP_NEXT_STATE_OVERLAP) memset(target.columns[column] + (first + end) * leaf.bytes, 0, leaf.bytes);
    }
  }
  for (uint32_t part = 0; part < policy_.nStepCount; ++part) {
    const BatchTarget::NStep& to = target.nSteps[part];
    const uint32_t n = policy_.nSteps[part];
    memset(to.discount + first + end, 0, (length - end) * sizeof(float));
    for (uint32_t at = left > n ? left - n : 0; at < end; ++at) {
      const uint32_t m = left - at;
      const uint8_t* const from = row + at * stride_;
      copyReturns(&from, 1, 1, m, to.reward + first + at);
      for (uint32_t column = 0; column < leafCount_; ++column) {
        const Leaf& leaf = leaves_[column];
        if (leaf.nStep) copyColumn(job, leaf, {&from, 1, 1, stride_}, m * stride_ + leaf.offset, to.states[column] + (first + at) * leaf.shownBytes, nullptr);
      }
      to.discount[first + at] = terminated ? 0.0f : static_cast<float>(powers_[m - 1] * policy_.discount);
    }
  }
}

/// Copies what of a flight's picks is whole; `cutCount` of them may be apart. Returns how many are.
uint32_t PipelinedCopier::copy(const GatherJob& job, uint32_t number, uint32_t cutCount, Flight* flight, uint8_t* joined) const {
  const uint32_t first = number * tuning_.flightCount;
  const uint32_t count = sizeOf(job, number);
  if (cutCount == 0) {
    copyParts(job, flight->rows, first, count);
    return 0;
  }
  uint32_t* const cuts = flight->cuts;
  uint32_t* const apart = flight->apart;
  const auto episodeOf = [&](uint32_t k) -> const Episode& { return job.episodes[job.pickedEpisodes[first + k]]; };
  const int32_t* const positions = job.target.pickPosition + job.range.first + first;
  const auto leftOf = [&](uint32_t k) { return episodeOf(k).count - static_cast<uint32_t>(positions[k]); };
  uint32_t other = 0;
  while (other < cutCount && cuts[other] == other) ++other;
  const uint8_t* whole = other < count ? flight->rows[other] : nullptr;
  uint32_t apartCount = 0;
  uint32_t endCount = 0;
  for (uint32_t at = 0; at < cutCount; ++at) {
    // Of an ended episode, the rows are there up to the final state.
    const uint32_t k = cuts[at];
    const uint32_t left = leftOf(k);
    const bool hasRows = left > reach_ || episodeOf(k).ended();
    const bool isShort = left < policy_.length;
    const bool isApart = hasRows && (isShort || isTorn(flight->slots[k]));
    // The zeros behind a short pick must not be changed.
    const bool isJoined = isApart && !hasBeside_ && !(isShort && isChanged_);
    if (isJoined) {
      join(flight->slots[k], left, joined);
      flight->rows[k] = joined;
      joined += pickBytes_;
    }
    if (hasRows && isApart == isJoined) {
      whole = flight->rows[k];
      cuts[endCount++] = k;
    } else {
      apart[apartCount++] = k;
    }
  }
  if (whole == nullptr) return apartCount;
  // Another stands in for those that are copied alone afterwards.
  for (uint32_t at = 0; at < apartCount; ++at) flight->rows[apart[at]] = whole;
  copyParts(job, flight->rows, first, count);
  for (uint32_t at = 0; at < endCount; ++at) {
    const uint32_t k = cuts[at];
    const uint32_t left = leftOf(k);
    if (left > reach_) continue;
    mendEnd(job, flight->rows[k], left, episodeOf(k).state == EXRP_EPISODE_TERMINATED, job.range.first + first + k);
  }
  return apartCount;
}

/// Whether the rows of the pick that begins at a slot don't lie together.
bool PipelinedCopier::isTorn(uint32_t slot) const {
  uint32_t run = store_->blockLength() - store_->within(slot);
  for (uint32_t block = store_->blockOf(slot); run <= reach_ && (store_->head(block).link & 1) != 0; ++block) run += store_->blockLength();
  return run <= reach_;
}

/// Copies the rows of a pick together, as far as its episode has them: `left` records and a final state. Where those are too few, zeros follow.
void PipelinedCopier::join(uint32_t slot, uint32_t left, uint8_t* to) const {
  uint8_t* const rows = to;
  for (uint32_t rowCount = smaller(reach_, left) + 1; rowCount > 0;) {
    const uint32_t run = smaller(store_->blockLength() - store_->within(slot), rowCount);
    memcpy(to, store_->groupRow(0, slot), run * stride_);
    to += run * stride_;
    rowCount -= run;
    if (rowCount > 0) slot = store_->firstSlot(store_->block(store_->blockOf(slot)).next);
  }
  if (left >= policy_.length) return;
  // Of the final state's row, the state alone is kept.
  uint8_t* const final = rows + left * stride_;
  for (uint32_t index = 0; index < partCount_; ++index) memset(final + parts_[index].offset, 0, parts_[index].bytes);
  memset(final + stride_, 0, pickBytes_ - (left + 1) * stride_);
}

/// Copies one column, and changes it where it has a transform.
EXRP_INLINE void PipelinedCopier::copyColumn(const GatherJob& job, const Part& part, const Runs& runs, size_t offset, uint8_t* to, uint8_t* next) const {
  if (part.transform == nullptr) part.copy(runs, offset, part.bytes, to, next);
  else part.transform->gatherRuns(runs, offset, job.scales + part.scaleAt, to, next);
}

/// Copies a leaf of the state in all its parts. The picks go to places from `first` on.
EXRP_INLINE void PipelinedCopier::copyLeaf(const GatherJob& job, const Leaf& leaf, const Runs& runs, size_t first) const {
  const BatchTarget& target = job.target;
  const size_t row = first * runs.length;
  if (leaf.nextState == EXRP_NEXT_STATE_OVERLAP) {
    const Runs longer = {runs.rows, runs.count, runs.length + 1, runs.stride};
    copyColumn(job, leaf, longer, leaf.offset, target.columns[leaf.column] + (row + first) * leaf.shownBytes, nullptr);
  } else {
    uint8_t* const next = leaf.nextState == EXRP_NEXT_STATE_COPY ? target.nextStates[leaf.column] + row * leaf.shownBytes : nullptr;
    copyColumn(job, leaf, runs, leaf.offset, target.columns[leaf.column] + row * leaf.shownBytes, next);
  }
  for (uint32_t part = 0; leaf.nStep && part < policy_.nStepCount; ++part) {
    uint8_t* const to = target.nSteps[part].states[leaf.column] + row * leaf.shownBytes;
    copyColumn(job, leaf, runs, policy_.nSteps[part] * stride_ + leaf.offset, to, nullptr);
  }
}

/// Copies all parts of `count` whole picks.
void PipelinedCopier::copyParts(const GatherJob& job, const uint8_t* const* rows, uint32_t first, uint32_t count) const {
  const BatchTarget& target = job.target;
  const uint32_t length = policy_.length;
  const size_t row = (job.range.first + first) * size_t{length};
  const Runs runs = {rows, count, length, stride_};
  // These first, as they touch the most lines with the fewest instructions: what was not asked for in time is waited for together.
  for (uint32_t leaf = 0; leaf < leafCount_; ++leaf) copyLeaf(job, leaves_[leaf], runs, job.range.first + first);
  for (uint32_t part = 0; part < policy_.nStepCount; ++part) {
    copyReturns(rows, count, length, policy_.nSteps[part], target.nSteps[part].reward + row);
  }
  for (uint32_t index = 0; index < partCount_; ++index) {
    const Part& part = parts_[index];
    copyColumn(job, part, runs, part.offset, target.columns[part.column] + row * part.shownBytes, nullptr);
  }
}

}  // namespace exrp
