#include "kernel/batches/batch.hpp"

#include <cstring>

#include "kernel/base/copy_row.hpp"

namespace exrp {
namespace {

constexpr uint32_t stepsBackMax = 4;  // blocks
constexpr uint32_t groupNone = UINT32_MAX;

}  // namespace

/// How many of the next `rowCountMax` rows from `slot` stand one after another, neighbouring blocks included, and the slot of the
/// row after them.
uint32_t BatchMaker::runAt(uint32_t slot, uint32_t rowCountMax, uint32_t* nextSlot) const {
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
  return run < rowCountMax ? run : rowCountMax;
}

/// One pass over a pick's rows in group 0: the state, the next states and `fusedCount` columns of 4 bytes.
template <uint32_t stateBytes, uint32_t fusedCount>
void BatchMaker::copyFused(const BatchMaker& maker, const Rows& rows, const BatchTarget& target) {
  const Store& store = *maker.store_;
  const size_t stride = store.groupStride(0);
  const size_t stateOffset = store.column(0).offset;
  uint8_t* state = target.columns[0] + rows.to * stateBytes;
  uint8_t* nextState = target.nextState + rows.to * stateBytes;
  size_t fusedOffset[fusedMax] = {};
  uint8_t* fused[fusedMax] = {};
  for (uint32_t index = 0; index < fusedCount; ++index) {
    fusedOffset[index] = store.column(maker.fused_[index]).offset;
    fused[index] = target.columns[maker.fused_[index]] + rows.to * 4;
  }
  const uint8_t* row = store.groupRow(0, rows.slot);
  const auto copyRecord = [&](uint32_t at) {
    __builtin_memcpy(state + size_t{at} * stateBytes, row + stateOffset, stateBytes);
    for (uint32_t index = 0; index < fusedCount; ++index) {
      __builtin_memcpy(fused[index] + size_t{at} * 4, row + fusedOffset[index], 4);
    }
  };
  const auto copyNext = [&](uint32_t at) {
    __builtin_memcpy(nextState + size_t{at} * stateBytes, row + stateOffset, stateBytes);
  };
  if (rows.whole) {
    copyRecord(0);
    row += stride;
    for (uint32_t at = 1; at < rows.seqLen; ++at, row += stride) {
      copyRecord(at);
      copyNext(at - 1);
    }
    copyNext(rows.seqLen - 1);
    return;
  }
  uint32_t slot = rows.slot;
  for (uint32_t done = 0; done < rows.count;) {
    uint32_t nextSlot = 0;
    const uint32_t run = maker.runAt(slot, rows.count - done, &nextSlot);
    row = store.groupRow(0, slot);
    for (const uint32_t end = done + run; done < end; ++done, row += stride) {
      if (done < rows.seqLen) copyRecord(done);
      if (done > 0 && done <= rows.nextSeqLen) copyNext(done - 1);
    }
    slot = nextSlot;
  }
}

/// The pass for a state of 4 x one of `words` bytes; null for another width.
template <uint32_t... words>
BatchMaker::CopyFused BatchMaker::copierOf(uint32_t stateBytes, uint32_t fusedCount) {
  CopyFused found = nullptr;
  ((stateBytes == words * 4 ? (found = fusedCount == 0   ? copyFused<words * 4, 0>
                                       : fusedCount == 1 ? copyFused<words * 4, 1>
                                                         : copyFused<words * 4, 2>,
                               0)
                            : 0),
   ...);
  return found;
}

Status BatchMaker::create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax) {
  store_ = &store;
  policy_ = policy;
  walk_.create(store, policy);
  if (!policy.plain()) return window_.create(store, policy, recordCountMax);
  const Column& state = store.column(0);
  if (state.bytes <= columnAloneBytes) {
    uint32_t fusedCount = 0;
    for (uint32_t column = 1; column < store.columnCount() && fusedCount < fusedMax; ++column) {
      if (store.column(column).bytes == 4 && !store.isKept(column)) fused_[fusedCount++] = column;
    }
    copyFused_ = copierOf<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
                          30, 31, 32>(state.bytes, fusedCount);
  }
  for (uint32_t column = 1; column < store.columnCount(); ++column) {
    const bool isFused = copyFused_ != nullptr && (column == fused_[0] || column == fused_[1]);
    if (!isFused && !store.isKept(column)) rest_[restCount_++] = column;
  }
  return Status::ok;
}

double BatchMaker::bytes(uint32_t count) const {
  const double rows = static_cast<double>(policy_.rows());
  double row = 0;
  for (uint32_t column = 1; column < store_->columnCount(); ++column) row += store_->column(column).bytes;
  const double stacks = 1.0 + policy_.nStepCount;
  row += stacks * policy_.stack * store_->column(0).bytes + 4.0 * policy_.nStepCount * store_->column(2).itemCount + 64;
  return count * (rows * row + static_cast<double>(policy_.frames()) * store_->column(0).bytes + 64);
}

const BatchLayout& BatchMaker::layout(uint32_t count) {
  if (hasLayout(count)) return layout_;
  layoutCount_ = count;
  size_t end = 0;
  const auto place = [&](uint32_t part, size_t bytes) {
    layout_.offsets[part] = end;
    end = (end + bytes + lineBytes - 1) & ~(lineBytes - 1);
  };
  const size_t rows = size_t{count} * policy_.rows();
  const size_t stateBytes = store_->column(0).bytes;
  const size_t stacks = rows * policy_.stack * stateBytes;
  place(EXRP_BATCH_COLUMN, size_t{count} * policy_.frames() * stateBytes);
  for (uint32_t index = 1; index < store_->columnCount(); ++index) {
    place(EXRP_BATCH_COLUMN + index, (store_->isKept(index) ? count : rows) * store_->column(index).bytes);
  }
  place(EXRP_BATCH_NEXT_STATE, policy_.nextState == EXRP_NEXT_STATE_COPY ? stacks : 0);
  place(EXRP_BATCH_DISCOUNT, rows * sizeof(float));
  place(EXRP_BATCH_LEARN_MASK, policy_.masks ? rows * sizeof(float) : 0);
  place(EXRP_BATCH_CONTEXT_MASK, policy_.masks ? rows * sizeof(float) : 0);
  for (uint32_t index = 0; index < policy_.nStepCount; ++index) {
    const uint32_t part = EXRP_BATCH_COLUMN + store_->columnCount() + EXRP_BATCH_N_STEP_PARTS * index;
    place(part + EXRP_BATCH_N_STEP_RETURN, rows * store_->column(2).itemCount * sizeof(float));
    place(part + EXRP_BATCH_N_STEP_STATE, stacks);
    place(part + EXRP_BATCH_N_STEP_DISCOUNT, rows * sizeof(float));
  }
  place(EXRP_BATCH_SEQ_LEN, size_t{count} * sizeof(int32_t));
  place(EXRP_BATCH_NEXT_SEQ_LEN, size_t{count} * sizeof(int32_t));
  place(EXRP_BATCH_PICK_EPISODE, size_t{count} * sizeof(double));
  place(EXRP_BATCH_PICK_POSITION, size_t{count} * sizeof(int32_t));
  place(EXRP_BATCH_PROBABILITY, size_t{count} * sizeof(float));
  place(EXRP_BATCH_IMPORTANCE_WEIGHT, size_t{count} * sizeof(float));
  layout_.offsets[EXRP_BATCH_BYTES] = end;
  return layout_;
}

void BatchMaker::copy(const EpisodeTable& episodeTable, const BlockIndex& blocks, const PickTable& table, const uint32_t* indices,
                      const BatchPlace& place, const BatchLayout& at, uint8_t* batch, uint32_t* episodes) {
  BatchTarget target;
  const auto floats = [&](uint32_t part) { return reinterpret_cast<float*>(batch + at.offsets[part]); };
  for (uint32_t index = 0; index < store_->columnCount(); ++index) {
    target.columns[index] = batch + at.offsets[EXRP_BATCH_COLUMN + index];
  }
  target.nextState = batch + at.offsets[EXRP_BATCH_NEXT_STATE];
  target.discount = floats(EXRP_BATCH_DISCOUNT);
  target.learnMask = floats(EXRP_BATCH_LEARN_MASK);
  target.contextMask = floats(EXRP_BATCH_CONTEXT_MASK);
  for (uint32_t index = 0; index < policy_.nStepCount; ++index) {
    const uint32_t part = EXRP_BATCH_COLUMN + store_->columnCount() + EXRP_BATCH_N_STEP_PARTS * index;
    target.nSteps[index] = {floats(part + EXRP_BATCH_N_STEP_RETURN), batch + at.offsets[part + EXRP_BATCH_N_STEP_STATE],
                            floats(part + EXRP_BATCH_N_STEP_DISCOUNT)};
  }
  target.seqLen = reinterpret_cast<int32_t*>(batch + at.offsets[EXRP_BATCH_SEQ_LEN]);
  target.nextSeqLen = reinterpret_cast<int32_t*>(batch + at.offsets[EXRP_BATCH_NEXT_SEQ_LEN]);
  auto* pickEpisode = reinterpret_cast<double*>(batch + at.offsets[EXRP_BATCH_PICK_EPISODE]);
  auto* pickPosition = reinterpret_cast<int32_t*>(batch + at.offsets[EXRP_BATCH_PICK_POSITION]);
  const bool plain = policy_.plain();
  const uint32_t count = place.count;
  if (walk_.takes()) {
    const WalkJob job = {episodeTable, table, indices, place, target, pickEpisode, pickPosition, episodes};
    return walk_.run(
        job,
        [&](const Episode& episode, const WalkedPick& pick, size_t index) {
          if (plain) copyPick(episode, pick.slot, pick.position, pick.joined, index, target);
          else window_.copy(episode, pick.slot, pick.position, index, target);
        },
        [&](uint32_t slot) {
          prefetchLineFar(&store_->block(store_->blockOf(slot)));
          prefetchRows(slot, policy_.length, store_->column(0).group);
        },
        [&](const WalkedPick& pick, bool isWhole, size_t index) {
          copyKept(blocks, pick.slot, pick.position, index, target);
          if (isWhole) copyWideRuns(pick.slot, index, target);
        });
  }
  if (plain) {
    const auto discount = static_cast<float>(policy_.discount);
    const size_t firstRow = size_t{place.first} * policy_.length;
    for (size_t row = 0; row < size_t{count} * policy_.length; ++row) target.discount[firstRow + row] = discount;
  }

  Pick ring[ringCount];
  constexpr uint32_t d = stageDistance;
  for (uint32_t step = 0; step < count + 3 * d; ++step) {
    if (step < count) table.prefetchSlot(indices[step]);
    if (step >= d && step - d < count) {
      Pick& pick = ring[(step - d) % ringCount];
      lookUp(table, indices[step - d], &pick);
      prefetchLine(&store_->block(store_->blockOf(pick.slot)));
    }
    if (step >= 2 * d && step - 2 * d < count) follow(episodeTable, &ring[(step - 2 * d) % ringCount]);
    if (step < 3 * d) continue;
    const Pick& pick = ring[(step - 3 * d) % ringCount];
    const Episode& episode = episodeTable[pick.episode];
    const size_t index = place.first + (step - 3 * d);
    pickEpisode[index] = static_cast<double>(episode.handle);
    pickPosition[index] = static_cast<int32_t>(pick.position);
    episodes[step - 3 * d] = pick.episode;
    copyKept(blocks, pick.slot, pick.position, index, target);
    if (plain) copyPick(episode, pick.slot, pick.position, pick.joined != 0, index, target);
    else window_.copy(episode, pick.slot, pick.position, index, target);
  }
  if (!plain) window_.finish(target);
}

/// Copies of each column that is kept for some records only the newest row kept at or before the first record that a batch shows of a
/// pick. It is near where such rows are, else the index knows.
inline void BatchMaker::copyKept(const BlockIndex& blocks, uint32_t slot, uint32_t position, size_t index, const BatchTarget& target) const {
  for (uint32_t kept = 0; kept < store_->keptCount(); ++kept) {
    const uint32_t column = store_->keptColumn(kept);
    const size_t bytes = store_->column(column).bytes;
    const uint32_t first = position - (position < policy_.before ? position : policy_.before);
    const uint32_t found = first - first % store_->column(column).every;
    uint32_t block = store_->blockOf(slot);
    uint32_t steps = store_->ordinalOf(position) - store_->ordinalOf(found);
    if (steps > stepsBackMax) {
      block = blocks.find(*store_, store_->block(block).handle, store_->ordinalOf(found));
      steps = 0;
    }
    for (; steps > 0; --steps) block = store_->block(block).previous;
    memcpy(target.columns[column] + index * bytes, store_->keptAt(column, block, found), bytes);
  }
}

/// Copies the rows of a pick's wide columns, which stand one after another.
inline void BatchMaker::copyWideRuns(uint32_t slot, size_t index, const BatchTarget& target) const {
  for (uint32_t column = 0; column < store_->columnCount(); ++column) {
    if (!store_->isAlone(column)) continue;
    const size_t bytes = size_t{policy_.length} * store_->column(column).bytes;
    wide_.copy(target.columns[column] + index * bytes, store_->at(column, slot), bytes);
  }
}

inline void BatchMaker::lookUp(const PickTable& table, uint32_t index, Pick* pick) const { pick->slot = table.slot(index); }

inline void BatchMaker::follow(const EpisodeTable& episodeTable, Pick* pick) const {
  const uint32_t index = store_->blockOf(pick->slot);
  const Block& block = store_->block(index);
  pick->episode = block.episode;
  const uint32_t within = store_->within(pick->slot);
  pick->position = (block.ordinal << store_->blockShift()) + within;
  // Without branches: where picks begin in their block is random, so a branch on it would be guessed wrong half the time.
  const uint32_t rowCount = policy_.length + policy_.ahead();  // the records, and the states after them
  const uint32_t run = store_->blockLength() - within;
  const uint32_t two = static_cast<uint32_t>(block.next == index + 1) & static_cast<uint32_t>(run + store_->blockLength() >= rowCount);
  pick->joined = static_cast<uint32_t>(run >= rowCount) | two;
  prefetchLine(&episodeTable[block.episode]);
  if (window_.looksBack()) {
    prefetchWindow(pick->slot);
  } else if (pick->joined != 0) {
    prefetchRows(pick->slot, rowCount, groupNone);
  } else {
    prefetchChain(pick->slot, block.next);
  }
}

/// Asks for the lines of rows that stand one after another, in all groups but one (groupNone: in all).
inline void BatchMaker::prefetchRows(uint32_t slot, uint32_t rowCount, uint32_t groupLeft) const {
  for (uint32_t group = 0; group < store_->groupCount(); ++group) {
    if (group == groupLeft) continue;
    const size_t bytes = size_t{rowCount} * store_->groupStride(group);
    const bool wide = store_->groupStride(group) > columnAloneBytes && bytes > size_t{prefetchLinesMax} * lineBytes;
    if (wide) prefetchPages(store_->groupRow(group, slot), bytes);
    else prefetchSpan(store_->groupRow(group, slot), bytes);
  }
}

/// Asks for the lines of what of a pick's window, with what comes before the pick, lies in its first block or next to it.
void BatchMaker::prefetchWindow(uint32_t slot) const {
  const uint32_t index = store_->blockOf(slot);
  const Block& block = store_->block(index);
  const uint32_t within = store_->within(slot);
  const uint32_t length = store_->blockLength();
  const uint32_t back = policy_.before + policy_.stack - 1;
  const uint32_t there = within + (block.previous != blockNone && block.previous + 1 == index ? length : 0);
  const uint32_t first = there < back ? there : back;
  const uint64_t ahead = uint64_t{policy_.length} + policy_.ahead();
  const uint32_t run = length - within + (block.next == index + 1 ? length : 0);
  const bool whole = there >= back && run >= ahead;
  // States that wait are asked for when their turn comes.
  const uint32_t groupLeft = whole && window_.statesWait() ? store_->column(0).group : groupNone;
  prefetchRows(slot - first, first + (ahead < run ? static_cast<uint32_t>(ahead) : run), groupLeft);
}

/// Asks for the lines of a pick's rows, along the chain.
void BatchMaker::prefetchChain(uint32_t slot, uint32_t next) const {
  uint32_t left = policy_.length + policy_.ahead();
  uint32_t run = store_->blockLength() - store_->within(slot);
  while (true) {
    prefetchRows(slot, run < left ? run : left, groupNone);
    if (run >= left || next == blockNone) return;
    left -= run;
    run = store_->blockLength();
    slot = store_->firstSlot(next);
    if (left > run) next = store_->block(next).next;
  }
}

void BatchMaker::copyPick(const Episode& episode, uint32_t slot, uint32_t position, bool joined, size_t index,
                          const BatchTarget& target) const {
  const uint32_t length = policy_.length;
  const uint32_t left = episode.count - position;
  const uint32_t known = left - (episode.ended() ? 0 : 1);  // records whose next state is known
  Rows rows;
  rows.slot = slot;
  rows.seqLen = left < length ? left : length;
  rows.nextSeqLen = known < length ? known : length;
  rows.count = rows.nextSeqLen + 1 > rows.seqLen ? rows.nextSeqLen + 1 : rows.seqLen;
  rows.whole = joined && rows.nextSeqLen == length;
  rows.to = index * length;

  target.seqLen[index] = static_cast<int32_t>(rows.seqLen);
  target.nextSeqLen[index] = static_cast<int32_t>(rows.nextSeqLen);
  if (episode.state == EXRP_EPISODE_TERMINATED && left <= length) target.discount[rows.to + left - 1] = 0.0f;

  if (copyFused_ != nullptr) {
    copyFused_(*this, rows, target);
  } else if (store_->isAlone(0)) {
    copyStateWide(rows, target);
  } else {
    copyStateAlone(rows, target);
  }
  for (uint32_t rest = 0; rest < restCount_; ++rest) copyColumn(rest_[rest], rows, target.columns[rest_[rest]]);
  if (rows.nextSeqLen < length) zeroPast(rows, target);
}

/// The state and the next states where they stand alone: one copy a run each.
void BatchMaker::copyStateAlone(const Rows& rows, const BatchTarget& target) const {
  const uint32_t bytes = store_->column(0).bytes;
  const size_t stride = store_->stride(0);
  const auto copyRun = [&](uint8_t* to, const uint8_t* from, uint32_t count) { copyRows(to, bytes, from, stride, bytes, count); };
  uint32_t slot = rows.slot;
  for (uint32_t done = 0; done < rows.count;) {
    uint32_t nextSlot = 0;
    const uint32_t run = runAt(slot, rows.count - done, &nextSlot);
    if (done < rows.seqLen) {
      const uint32_t count = run < rows.seqLen - done ? run : rows.seqLen - done;
      copyRun(target.columns[0] + (rows.to + done) * bytes, store_->at(0, slot), count);
    }
    const uint32_t skipped = done == 0 ? 1 : 0;  // row 0 is no one's next
    const uint32_t end = done + run < rows.nextSeqLen + 1 ? done + run : rows.nextSeqLen + 1;
    if (done + skipped < end) {
      copyRun(target.nextState + (rows.to + done + skipped - 1) * bytes, store_->at(0, slot + skipped), end - done - skipped);
    }
    done += run;
    slot = nextSlot;
  }
}

void BatchMaker::copyColumn(uint32_t column, const Rows& rows, uint8_t* part) const {
  const uint32_t bytes = store_->column(column).bytes;
  const size_t stride = store_->stride(column);
  uint8_t* to = part + rows.to * bytes;
  uint32_t slot = rows.slot;
  for (uint32_t done = 0; done < rows.seqLen;) {
    uint32_t nextSlot = 0;
    const uint32_t run = runAt(slot, rows.seqLen - done, &nextSlot);
    const uint8_t* from = store_->at(column, slot);
    if (store_->isAlone(column)) wide_.copy(to, from, size_t{run} * bytes);
    else copyRows(to, bytes, from, stride, bytes, run);
    to += size_t{run} * bytes;
    done += run;
    slot = nextSlot;
  }
}

void BatchMaker::zeroPast(const Rows& rows, const BatchTarget& target) const {
  const auto zero = [&](uint8_t* part, size_t bytes, uint32_t length) {
    memset(part + (rows.to + length) * bytes, 0, (policy_.length - length) * bytes);
  };
  for (uint32_t column = 0; column < store_->columnCount(); ++column) {
    if (!store_->isKept(column)) zero(target.columns[column], store_->column(column).bytes, rows.seqLen);
  }
  zero(target.nextState, store_->column(0).bytes, rows.nextSeqLen);
  zero(reinterpret_cast<uint8_t*>(target.discount), sizeof(float), rows.nextSeqLen);
}

}  // namespace exrp
