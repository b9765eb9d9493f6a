#include "kernel/batches/plain_walk.hpp"

#include <cstring>

#include "kernel/base/cpu.hpp"

namespace exrp {

void PlainWalk::create(const Store& store, const PickPolicy& policy) {
  const bool simple = policy.before == 0 && policy.stack == 1 && !policy.reversed && !policy.compact && !policy.masks;
  const auto isBeside = [&](uint32_t column) { return store.isAlone(column) || store.isKept(column); };
  if (!simple || isBeside(0) || isBeside(2)) return;
  if (policy.nStepCount > 0) {
    const bool fits = policy.rewardType == EXRP_TYPE_FLOAT32 && store.column(2).itemCount == 1 && policy.nStepMax <= nStepsMax;
    if (!fits) return;
  }
  policy_ = policy;
  // A row is looked at for its state: that after the last record, or the one that its longest return bootstraps from.
  const uint64_t reach = uint64_t{policy.length} - 1 + policy.ahead();
  if (reach >= 2 * uint64_t{store.blockLength()}) return;  // no pick would be joined
  reach_ = static_cast<uint32_t>(reach);
  stride_ = store.groupStride(0);
  const bool avx2 = hasAvx2();
  const bool single = policy.length == 1;
  const Column& state = store.column(0);
  stateBytes_ = state.bytes;
  stateOffset_ = state.offset;
  lastByte_ = reach_ * stride_ + stateOffset_ + stateBytes_ - 1;
  lines_ = smaller(static_cast<uint32_t>((lastByte_ + lineBytes) / lineBytes), prefetchLinesMax);
  inShortFlights_ = single && likesShortFlights();
  findLong_ = findOf<LongFlights>(lines_);
  findShort_ = findOf<ShortFlights>(lines_);
  copyBoth_ = copyBothOf(state.bytes, single, avx2);
  // With the overlap there is one row more.
  copyStates_ = copyRunsOf(state.bytes, single && policy.nextState != EXRP_NEXT_STATE_OVERLAP, avx2);
  if (copyStates_ == nullptr) return;
  for (uint32_t index = 1; index < store.columnCount(); ++index) {
    const Column& column = store.column(index);
    if (isBeside(index)) hasBeside_ = true;
    else parts_[partCount_++] = {copyRunsOf(column.bytes, single, avx2), index, column.offset, column.bytes};
  }
  // Powers as the window path multiplies them up.
  double power = 1;
  for (uint32_t step = 0; step < policy.nStepMax; ++step, power *= policy.discount) powers_[step] = power;
  for (uint32_t part = 0; part < policy.nStepCount; ++part) {
    nStepDiscounts_[part] = static_cast<float>(powers_[policy.nSteps[part] - 1] * policy.discount);
  }
  store_ = &store;
}

template <typename Flights>
PlainWalk::Find<Flights> PlainWalk::findOf(uint32_t lines) {
  constexpr Find<Flights> ofLines[] = {find<0, Flights>, find<1, Flights>, find<2, Flights>, find<3, Flights>,
                                       find<4, Flights>, find<5, Flights>, find<6, Flights>};
  return ofLines[lines < sizeof ofLines / sizeof *ofLines ? lines : 0];
}

/// What is the same for all whole picks.
void PlainWalk::fill(const WalkJob& job) const {
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

/// Reads the picks' slots, asks for their blocks and their rows. `lines`: of each pick's rows; 0 where that isn't known before.
template <uint32_t lines, typename Flights>
void PlainWalk::find(const PlainWalk& walk, const WalkJob& job, uint32_t number, Flight<Flights>* flight) {
  const Store& store = *walk.store_;
  const uint32_t* const slots = job.table.slots();
  const uint32_t* const indices = job.indices + number * Flights::count;
  const BlockHead* const heads = store.heads();
  const uint8_t* const rows = store.groupRow(0, 0);
  const uint32_t blockShift = store.blockShift();
  const size_t stride = walk.stride_;
  const size_t lastByte = walk.lastByte_;
  const uint32_t lineCount = lines == 0 ? walk.lines_ : lines;
  const uint32_t count = sizeOf<Flights>(job, number);
  uint32_t k = 0;
  for (; k < count; ++k) {
    const uint32_t slot = slots[indices[k]];
    Flights::askLookUp(heads + (slot >> blockShift));
    const uint8_t* row = rows + size_t{slot} * stride;
    for (uint32_t line = 0; line < lineCount; ++line) prefetchLineFar(row + size_t{line} * lineBytes);
    prefetchLineFar(row + lastByte);
    flight->slots[k] = slot;
    flight->rows[k] = row;
  }
  for (; k % laneCount != 0; ++k) flight->slots[k] = flight->slots[0];
}

/// Reads the heads of the picks' blocks: names their episodes, asks for these, and says whether the rows stand together.
template <typename Flights>
void PlainWalk::locate(const WalkJob& job, uint32_t number, Flight<Flights>* flight) const {
  const BlockHead* const heads = store_->heads();
  const Episode* const episodes = &job.episodes[0];
  const uint32_t blockShift = store_->blockShift();
  const uint32_t blockLength = 1u << blockShift;
  const uint32_t reach = reach_;
  const uint32_t count = sizeOf<Flights>(job, number);
  Lanes anyTorn = {};
  for (uint32_t first = 0; first < count; first += laneCount) {
    alignas(sizeof(Lanes)) uint32_t links[laneCount];
    for (uint32_t k = 0; k < laneCount; ++k) {
      const BlockHead& head = heads[flight->slots[first + k] >> blockShift];
      Flights::askLookUp(episodes + head.episode);
      links[k] = head.link;
      flight->episodes[first + k] = head.episode;
    }
    const Lanes link = *lanes(links);
    const Lanes within = *lanes(flight->slots + first) & (blockLength - 1);
    *lanes(flight->positions + first) = (link >> 1 << blockShift) + within;
    // Where the next block is the one behind, the rows run on to its end.
    const Lanes torn = blockLength - within + ((link & 1) << blockShift) <= reach;
    *lanes(flight->torn + first) = torn;
    anyTorn |= torn;
  }
  const size_t to = job.range.first + number * Flights::count;
  memcpy(job.target.pickPosition + to, flight->positions, count * sizeof(uint32_t));
  memcpy(job.pickedEpisodes + number * Flights::count, flight->episodes, count * sizeof(uint32_t));
  if (!anyOf(anyTorn)) return;
  for (uint32_t k = 0; k < count; ++k) {
    if (flight->torn[k] != 0) prefetchTorn(flight->slots[k]);
  }
}

/// Names the picks' episodes by their handles, and copies what of the picks is whole; a bit is set of each that isn't.
template <typename Flights>
uint64_t PlainWalk::copyWhole(const WalkJob& job, uint32_t number, Flight<Flights>* flight) const {
  const Episode* const episodes = &job.episodes[0];
  const uint32_t reach = reach_;
  const uint32_t count = sizeOf<Flights>(job, number);
  double* const pickEpisode = job.target.pickEpisode + job.range.first + number * Flights::count;
  Lanes anyCut = {};
  alignas(sizeof(Lanes)) uint32_t cut[Flights::count];
  for (uint32_t first = 0; first < count; first += laneCount) {
    alignas(sizeof(Lanes)) uint32_t counts[laneCount];
    alignas(sizeof(Lanes)) double handles[laneCount];
    for (uint32_t k = 0; k < laneCount; ++k) {
      const Episode& episode = episodes[flight->episodes[first + k]];
      counts[k] = episode.count;
      handles[k] = static_cast<double>(static_cast<int64_t>(episode.handle));
    }
    *lanes(cut + first) = (*lanes(counts) - *lanes(flight->positions + first) <= reach) | *lanes(flight->torn + first);
    anyCut |= *lanes(cut + first);
    if (first + laneCount <= count) __builtin_memcpy(pickEpisode + first, handles, sizeof handles);
    else memcpy(pickEpisode + first, handles, (count - first) * sizeof *handles);
  }
  if (anyOf(anyCut)) return copyCut(job, number, cut, flight);
  copyParts(job, flight->rows, number * Flights::count, count);
  return 0;
}

/// copyWhole() of a flight that has picks which are torn, or so near their episodes' ends that it matters: those whose `cut` isn't 0.
template <typename Flights>
uint64_t PlainWalk::copyCut(const WalkJob& job, uint32_t number, const uint32_t* cut, Flight<Flights>* flight) const {
  const uint32_t first = number * Flights::count;
  const uint32_t count = sizeOf<Flights>(job, number);
  const auto leftOf = [&](uint32_t k) { return job.episodes[flight->episodes[k]].count - flight->positions[k]; };
  uint64_t cuts = 0;
  const uint8_t* whole = nullptr;
  for (uint32_t k = 0; k < count; ++k) {
    cuts |= uint64_t{cut[k] & 1} << k;
    whole = cut[k] == 0 ? flight->rows[k] : whole;
  }
  uint64_t apart = 0;
  for (uint64_t bits = cuts; bits != 0; bits &= bits - 1) {
    // Where an ended episode has all of a pick's records, the rows are there up to the final state.
    const auto k = static_cast<uint32_t>(__builtin_ctzll(bits));
    const uint32_t left = leftOf(k);
    const bool hasRows = left > reach_ || (left >= policy_.length && job.episodes[flight->episodes[k]].ended());
    if (flight->torn[k] == 0 && hasRows) whole = flight->rows[k];
    else apart |= uint64_t{1} << k;
  }
  if (whole == nullptr) return apart;
  // Another stands in for those that are copied alone afterwards.
  for (uint64_t bits = apart; bits != 0; bits &= bits - 1) flight->rows[__builtin_ctzll(bits)] = whole;
  copyParts(job, flight->rows, first, count);
  for (uint64_t bits = cuts & ~apart; bits != 0; bits &= bits - 1) {
    const auto k = static_cast<uint32_t>(__builtin_ctzll(bits));
    const uint32_t left = leftOf(k);
    if (left > reach_) continue;
    const bool terminated = job.episodes[flight->episodes[k]].state == EXRP_EPISODE_TERMINATED;
    mendEnd(job, flight->rows[k], left, terminated, job.range.first + first + k);
  }
  return apart;
}

/// Copies all parts of `count` whole picks.
void PlainWalk::copyParts(const WalkJob& job, const uint8_t* const* rows, uint32_t first, uint32_t count) const {
  const BatchTarget& target = job.target;
  const uint32_t length = policy_.length;
  const size_t row = (job.range.first + first) * size_t{length};
  const Runs runs = {rows, count, length, stride_};
  if (policy_.nextState == EXRP_NEXT_STATE_COPY) {
    copyBoth_(runs, stateOffset_, stateBytes_, target.columns[0] + row * stateBytes_, target.nextState + row * stateBytes_);
  } else if (policy_.nextState == EXRP_NEXT_STATE_OVERLAP) {
    const Runs longer = {rows, count, length + 1, stride_};
    copyStates_(longer, stateOffset_, stateBytes_, target.columns[0] + (row + job.range.first + first) * stateBytes_);
  } else {
    copyStates_(runs, stateOffset_, stateBytes_, target.columns[0] + row * stateBytes_);
  }
  // These first, as they touch the most lines with the fewest instructions: what was not asked for in time is waited for together.
  for (uint32_t part = 0; part < policy_.nStepCount; ++part) {
    copyStates_(runs, policy_.nSteps[part] * stride_ + stateOffset_, stateBytes_, target.nSteps[part].state + row * stateBytes_);
  }
  for (uint32_t part = 0; part < policy_.nStepCount; ++part) {
    copyReturns(rows, count, length, policy_.nSteps[part], target.nSteps[part].reward + row);
  }
  for (uint32_t index = 0; index < partCount_; ++index) {
    const Part& part = parts_[index];
    part.copy(runs, part.offset, part.bytes, target.columns[part.column] + row * part.bytes);
  }
}

/// The sum of n rewards from each row on, each times its power of the discount, as the window path adds them up; of eight picks at once,
/// two in a vector, so that they don't wait for one another.
void PlainWalk::copyReturns(const uint8_t* const* rows, uint32_t count, uint32_t length, uint32_t n, float* to) const {
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
void PlainWalk::mendEnd(const WalkJob& job, const uint8_t* row, uint32_t left, bool terminated, size_t index) const {
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
void PlainWalk::prefetchTorn(uint32_t slot) const {
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

template void PlainWalk::locate(const WalkJob& job, uint32_t number, Flight<LongFlights>* flight) const;
template void PlainWalk::locate(const WalkJob& job, uint32_t number, Flight<ShortFlights>* flight) const;
template uint64_t PlainWalk::copyWhole(const WalkJob& job, uint32_t number, Flight<LongFlights>* flight) const;
template uint64_t PlainWalk::copyWhole(const WalkJob& job, uint32_t number, Flight<ShortFlights>* flight) const;

}  // namespace exrp
