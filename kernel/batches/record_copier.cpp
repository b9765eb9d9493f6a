#include "kernel/batches/record_copier.hpp"

#include <cstring>

#include "kernel/base/copy_row.hpp"

namespace exrp {
namespace {

/// With vectors of 256 bits, batches of 256 sequences of 32 records took up to half as long again.
constexpr bool avx2 = false;

uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

}  // namespace

void RecordCopier::create(const Store& store, const PickPolicy& policy) {
  store_ = &store;
  large_.useQueue(store.copiesPlace());
  policy_ = policy;
  if (!store.isAlone(0)) copyBoth_ = copyBothOf(store.column(0).bytes, false, avx2);
  for (uint32_t index = 1; index < store.columnCount(); ++index) {
    if (store.isKept(index)) continue;
    const uint32_t bytes = store.column(index).bytes;
    parts_[partCount_++] = {store.isAlone(index) ? nullptr : copyRunsOf(bytes, false, avx2), index, bytes, store.stride(index)};
  }
}

void RecordCopier::begin(const BatchRange& range, const BatchTarget& target) const {
  const auto discount = static_cast<float>(policy_.discount);
  float* const discounts = target.discount + size_t{range.first} * policy_.length;
  for (size_t row = 0; row < size_t{range.count} * policy_.length; ++row) discounts[row] = discount;
}

/// How many of the next `rowCountMax` rows from `slot` on lie one after another, in neighbouring blocks too. Where they are fewer,
/// `nextSlot` becomes the slot of the row after them.
inline uint32_t RecordCopier::runAt(uint32_t slot, uint32_t rowCountMax, uint32_t* nextSlot) const {
  uint32_t run = store_->blockLength() - store_->within(slot);
  if (run >= rowCountMax) return rowCountMax;
  uint32_t block = store_->blockOf(slot);
  uint32_t next = store_->block(block).next;
  while (next == block + 1 && run < rowCountMax) {
    run += store_->blockLength();
    block = next;
    next = store_->block(block).next;
  }
  *nextSlot = store_->firstSlot(next);
  return smaller(run, rowCountMax);
}

void RecordCopier::copy(const Episode& episode, uint32_t slot, uint32_t position, size_t index, const BatchTarget& target) const {
  const uint32_t length = policy_.length;
  const uint32_t left = episode.count - position;
  const uint32_t known = left - (episode.ended() ? 0 : 1);  // records whose next state is known
  const uint32_t seqLen = smaller(left, length);
  const uint32_t nextSeqLen = smaller(known, length);
  const size_t row = index * length;
  target.seqLen[index] = static_cast<int32_t>(seqLen);
  target.nextSeqLen[index] = static_cast<int32_t>(nextSeqLen);
  if (episode.state == EXRP_EPISODE_TERMINATED && left <= length) target.discount[row + left - 1] = 0.0f;

  // All rows and the state after the last one, as seqLen is at most one more than nextSeqLen.
  const uint32_t rowCount = nextSeqLen + 1;
  for (uint32_t begin = 0; begin < rowCount;) {
    uint32_t nextSlot = 0;
    const uint32_t end = begin + runAt(slot, rowCount - begin, &nextSlot);
    const Run run = {slot, begin, end, seqLen, row};
    if (copyBoth_ != nullptr) copySmallStates(run, target);
    else copyLargeStates(run, target);
    const uint32_t recordCount = smaller(end, seqLen) - begin;
    for (uint32_t at = 0; at < partCount_ && recordCount > 0; ++at) {
      const Part& part = parts_[at];
      const uint8_t* const from = store_->at(part.column, slot);
      uint8_t* const to = target.columns[part.column] + (row + begin) * part.bytes;
      if (part.copy != nullptr) part.copy({&from, 1, recordCount, part.stride}, 0, part.bytes, to);
      else large_.copy(to, from, size_t{recordCount} * part.bytes);
    }
    begin = end;
    slot = nextSlot;
  }
  if (nextSeqLen < length) zeroPast(row, seqLen, nextSeqLen, target);
}

void RecordCopier::copySmallStates(const Run& run, const BatchTarget& target) const {
  const uint32_t bytes = store_->column(0).bytes;
  const size_t stride = store_->stride(0);
  const uint8_t* const from = store_->at(0, run.slot);
  uint8_t* const state = target.columns[0] + run.row * bytes;
  uint8_t* const next = target.nextState + run.row * bytes;
  const size_t begin = run.begin;
  const size_t last = run.end - 1;
  if (begin > 0) copyRow(next + (begin - 1) * bytes, from, bytes);
  if (begin < last) {
    copyBoth_({&from, 1, static_cast<uint32_t>(last - begin), stride}, 0, bytes, state + begin * bytes, next + begin * bytes);
  }
  if (last < run.seqLen) copyRow(state + last * bytes, from + (last - begin) * stride, bytes);
}

void RecordCopier::copyLargeStates(const Run& run, const BatchTarget& target) const {
  const size_t bytes = store_->column(0).bytes;
  const uint8_t* const from = store_->at(0, run.slot);
  uint8_t* const state = target.columns[0] + run.row * bytes;
  uint8_t* const next = target.nextState + run.row * bytes;
  // Row 0 is no record's next state, and after the last state there is one next state more, or none.
  const uint32_t stateEnd = smaller(run.end, run.seqLen);
  const uint32_t both = run.begin == 0 ? 1 : run.begin;
  if (run.begin == 0) large_.copy(state, from, bytes);
  if (both < stateEnd) {
    large_.copyTwice(state + both * bytes, next + (both - 1) * bytes, from + (both - run.begin) * bytes, (stateEnd - both) * bytes);
  }
  if (stateEnd < run.end) large_.copy(next + (stateEnd - 1) * bytes, from + (stateEnd - run.begin) * bytes, bytes);
}

void RecordCopier::zeroPast(size_t row, uint32_t seqLen, uint32_t nextSeqLen, const BatchTarget& target) const {
  const auto zero = [&](uint8_t* part, size_t bytes, uint32_t length) {
    memset(part + (row + length) * bytes, 0, (policy_.length - length) * bytes);
  };
  zero(target.columns[0], store_->column(0).bytes, seqLen);
  for (uint32_t at = 0; at < partCount_; ++at) zero(target.columns[parts_[at].column], parts_[at].bytes, seqLen);
  zero(target.nextState, store_->column(0).bytes, nextSeqLen);
  zero(reinterpret_cast<uint8_t*>(target.discount), sizeof(float), nextSeqLen);
}

}  // namespace exrp
