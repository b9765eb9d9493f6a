#include "kernel/batches/window.hpp"

#include <cstring>

#include "kernel/base/copy_row.hpp"

namespace exrp {
namespace {

template <typename T>
double numberAt(const uint8_t* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

/// The number that 16 bits of IEEE 754 binary16 stand for, exactly.
double halfAt(const uint8_t* from) {
  uint16_t bits = 0;
  memcpy(&bits, from, sizeof bits);
  const uint32_t exponent = (bits >> 10) & 31;
  const uint32_t fraction = bits & 1023;
  double value = 0;
  if (exponent == 31) value = fraction != 0 ? __builtin_nan("") : __builtin_inf();
  else if (exponent == 0) value = fraction * 0x1p-24;
  else value = static_cast<double>(1024 + fraction) * static_cast<double>(uint32_t{1} << exponent) * 0x1p-25;
  return (bits & 0x8000) != 0 ? -value : value;
}

}  // namespace

void WindowCopier::create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax) {
  store_ = &store;
  large_.useQueue(store.copiesPlace());
  policy_ = policy;
  locator_.create(store, policy, recordCountMax);
  // With vectors of 256 bits, batches of 256 sequences of 32 records took up to half as long again.
  for (uint32_t column = 0; column < store.columnCount(); ++column) copyRuns_[column] = copyRunsOf(store.column(column).bytes, false, false);
}

Status WindowCopier::createScratch(WindowScratch* scratch) const {
  const size_t count = locator_.slotCountMax();
  return scratch->slots.commit(count) ? Status::ok : fail(Status::memory, 4.0 * static_cast<double>(count));
}

void WindowCopier::copy(const EpisodeTable& episodes, uint32_t slot, size_t index, const BatchTarget& target,
                        WindowScratch& scratch) const {
  Window window = {locator_.locate(episodes, slot), false, static_cast<size_t>(index * policy_.rows()), scratch.slots.data()};
  window.joined = locator_.listSlots(window, scratch.slots.data());

  const uint32_t shownKnown = window.shownKnown();
  target.seqLen[index] = static_cast<int32_t>(window.lead + window.real);
  target.nextSeqLen[index] = static_cast<int32_t>(window.lead + shownKnown);
  const bool once = statesWait();
  if (once) copyStatesOnce(window, target, scratch);
  else if (policy_.compact) copyFrames(window, index, target.columns[0]);
  else copyStates(window, index, target.columns[0]);
  for (uint32_t column = 1; column < store_->columnCount(); ++column) {
    if (!store_->isKept(column)) copyColumn(column, window, target.columns[column]);
  }
  if (!once && policy_.nextState == EXRP_NEXT_STATE_COPY) {
    const size_t stackBytes = size_t{policy_.stack} * store_->column(0).bytes;
    zeroAround(target.nextState, stackBytes, window);
    copyStacks(target.nextState, window, 1, shownKnown);
    for (uint32_t at = shownKnown; at < window.real; ++at) memset(target.nextState + rowOf(window, at) * stackBytes, 0, stackBytes);
  }
  writeDiscounts(window, target.discount);
  if (policy_.masks) writeMasks(window, target);
  for (uint32_t part = 0; part < policy_.nStepCount; ++part) writeNStep(window, policy_.nSteps[part], target.nSteps[part]);
}

/// Copies a column of the `count` records at `slots`, which follow one another in time: neighbours in one go.
void WindowCopier::copyRun(uint8_t* to, uint32_t column, const uint32_t* slots, uint32_t count) const {
  const size_t bytes = store_->column(column).bytes;
  const size_t stride = store_->stride(column);
  for (uint32_t at = 0; at < count;) {
    const uint32_t run = runAt(slots + at, count - at);
    const uint8_t* const from = store_->at(column, slots[at]);
    if (store_->isAlone(column)) large_.copy(to, from, run * bytes);
    else copyRuns_[column]({&from, 1, run, stride}, 0, static_cast<uint32_t>(bytes), to, nullptr);
    to += run * bytes;
    at += run;
  }
}

void WindowCopier::copyColumn(uint32_t column, const Window& window, uint8_t* part) const {
  const size_t bytes = store_->column(column).bytes;
  const uint32_t* slots = window.slots + window.back;
  zeroAround(part, bytes, window);
  if (!policy_.reversed) {
    copyRun(part + rowOf(window, 0) * bytes, column, slots, window.real);
    return;
  }
  for (uint32_t at = 0; at < window.real; ++at) copyOne(part + rowOf(window, at) * bytes, column, slots[at]);
}

/// Copies one row of a column.
inline void WindowCopier::copyOne(uint8_t* to, uint32_t column, uint32_t slot) const {
  const size_t bytes = store_->column(column).bytes;
  if (store_->isAlone(column)) large_.copy(to, store_->at(column, slot), bytes);
  else copyRow(to, store_->at(column, slot), bytes);
}

/// The stack of frames that ends with record `at` of the window: where the episode begins too late, it is padded.
void WindowCopier::copyStack(uint8_t* to, const Window& window, uint32_t at) const {
  const size_t bytes = store_->column(0).bytes;
  const uint32_t wanted = policy_.stack;
  const uint32_t there = smaller(wanted, uint64_t{window.back} + at + 1);
  const uint32_t* slots = window.slots + (window.back + at + 1 - there);
  for (uint32_t missing = wanted - there; missing > 0; --missing, to += bytes) {
    if (policy_.zeroPadded) memset(to, 0, bytes);
    else copyOne(to, 0, slots[0]);
  }
  if (there == 1 && !store_->isAlone(0)) copyRow(to, store_->at(0, slots[0]), bytes);
  else copyRun(to, 0, slots, there);
}

/// The stacks that end with the `count` records from `first` on, in as many rows from the window's first on.
void WindowCopier::copyStacks(uint8_t* part, const Window& window, uint32_t first, uint32_t count) const {
  const size_t bytes = size_t{policy_.stack} * store_->column(0).bytes;
  if (policy_.stack == 1 && !policy_.reversed) return copyRun(part + rowOf(window, 0) * bytes, 0, window.slots + window.back + first, count);
  for (uint32_t at = 0; at < count; ++at) copyStack(part + rowOf(window, at) * bytes, window, first + at);
}

/// The states, one stack a row; with the overlap one row more, which is the next state of the last.
void WindowCopier::copyStates(const Window& window, size_t index, uint8_t* part) const {
  const size_t bytes = size_t{policy_.stack} * store_->column(0).bytes;
  if (policy_.nextState != EXRP_NEXT_STATE_OVERLAP) {
    zeroAround(part, bytes, window);
    return copyStacks(part, window, 0, window.real);
  }
  const auto rows = static_cast<size_t>(policy_.rows() + 1);
  uint8_t* const base = part + index * rows * bytes;
  const uint32_t there = window.real + (window.known >= window.real ? 1 : 0);
  if (window.lead > 0) memset(base, 0, window.lead * bytes);
  for (uint32_t at = 0; at < there; ++at) copyStack(base + (size_t{window.lead} + at) * bytes, window, at);
  const size_t written = size_t{window.lead} + there;
  if (written < rows) memset(base + written * bytes, 0, (rows - written) * bytes);
}

/// Each frame once, from the first one of the first row's stack on.
void WindowCopier::copyFrames(const Window& window, size_t index, uint8_t* part) const {
  const size_t bytes = store_->column(0).bytes;
  const auto frames = static_cast<size_t>(policy_.frames());
  uint8_t* to = part + index * frames * bytes;
  const uint8_t* const end = to + frames * bytes;
  const bool overlap = policy_.nextState == EXRP_NEXT_STATE_OVERLAP;
  const uint32_t there = window.back + window.real + (overlap && window.known >= window.real ? 1 : 0);
  for (uint32_t missing = window.lead + (policy_.stack - 1) - window.back; missing > 0; --missing, to += bytes) {
    if (policy_.zeroPadded) memset(to, 0, bytes);
    else copyOne(to, 0, window.slots[0]);
  }
  copyRun(to, 0, window.slots, there);
  to += there * bytes;
  if (to < end) memset(to, 0, static_cast<size_t>(end - to));
}

void WindowCopier::writeDiscounts(const Window& window, float* part) const {
  zeroAround(reinterpret_cast<uint8_t*>(part), sizeof(float), window);
  const auto discount = static_cast<float>(policy_.discount);
  float* const rows = part + window.row + (policy_.reversed ? 0 : window.lead);
  for (uint32_t at = 0; at < window.real; ++at) rows[at] = discount;
  if (window.known < window.real) part[rowOf(window, window.real - 1)] = 0.0f;
  if (window.terminates && window.known <= window.real) part[rowOf(window, window.known - 1)] = 0.0f;
}

void WindowCopier::writeMasks(const Window& window, const BatchTarget& target) const {
  zeroAround(reinterpret_cast<uint8_t*>(target.learnMask), sizeof(float), window);
  zeroAround(reinterpret_cast<uint8_t*>(target.contextMask), sizeof(float), window);
  for (uint32_t at = 0; at < window.real; ++at) {
    const size_t row = rowOf(window, at);
    target.learnMask[row] = at < window.context ? 0.0f : 1.0f;
    target.contextMask[row] = at < window.context ? 1.0f : 0.0f;
  }
}

inline double WindowCopier::reward(const uint8_t* from) const {
  switch (policy_.rewardType) {
    case EXRP_TYPE_FLOAT32: return numberAt<float>(from);
    case EXRP_TYPE_FLOAT64: return numberAt<double>(from);
    case EXRP_TYPE_FLOAT16: return halfAt(from);
    case EXRP_TYPE_UINT8: return numberAt<uint8_t>(from);
    case EXRP_TYPE_INT8: return numberAt<int8_t>(from);
    case EXRP_TYPE_INT16: return numberAt<int16_t>(from);
    default: return numberAt<int32_t>(from);
  }
}

void WindowCopier::writeNStep(const Window& window, uint32_t n, const BatchTarget::NStep& part) const {
  const Column& column = store_->column(2);
  const size_t stackBytes = size_t{policy_.stack} * store_->column(0).bytes;
  const uint32_t* slots = window.slots + window.back;
  zeroAround(reinterpret_cast<uint8_t*>(part.reward), column.itemCount * sizeof(float), window);
  zeroAround(part.state, stackBytes, window);
  zeroAround(reinterpret_cast<uint8_t*>(part.discount), sizeof(float), window);
  for (uint32_t at = 0; at < window.real; ++at) {
    const size_t row = rowOf(window, at);
    const uint32_t m = at < window.known ? smaller(n, window.known - at) : 0;
    const uint32_t rewardCount = m > 0 ? m : 1;
    double discount = 1;
    for (uint32_t item = 0; item < column.itemCount; ++item) {
      double sum = 0;
      discount = 1;
      for (uint32_t step = 0; step < rewardCount; ++step, discount *= policy_.discount) {
        sum += discount * reward(store_->at(2, slots[at + step]) + size_t{item} * column.itemBytes);
      }
      part.reward[row * column.itemCount + item] = static_cast<float>(sum);
    }
    const bool bootstraps = m > 0 && !(window.terminates && at + m == window.known);
    part.discount[row] = bootstraps ? static_cast<float>(discount) : 0.0f;
    if (m > 0) copyStack(part.state + row * stackBytes, window, at + m);
    else memset(part.state + row * stackBytes, 0, stackBytes);
  }
}

}  // namespace exrp
