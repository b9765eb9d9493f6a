#include "kernel/batches/window_copier.hpp"

#include <cstring>

#include "kernel/base/copy_row.hpp"
#include "kernel/base/typed_number.hpp"

namespace exrp {

void WindowCopier::create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax, const ColumnTransform* reward, bool canQueue,
                          const AddressedColumns& addressed) {
  store_ = &store;
  reward_ = reward;
  if (canQueue) large_.useQueue(store.copiesPlace());
  policy_ = policy;
  locator_.create(store, policy, recordCountMax);
  addressed_ = addressed.columns;
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    bytes_[column] = isAddressed(column) ? addressed.bytes[column] : store.column(column).bytes;
    if (isAddressed(column) || store.isPacked(column)) apart_ |= uint64_t{1} << column;
    if (isAddressed(column) && store.isAlone(column)) addressedGroups_ |= uint64_t{1} << store.column(column).group;
  }
  for (uint32_t leaf = 0; leaf < store.leaves().count(); ++leaf) {
    if (waits(leaf)) waitingGroups_ |= uint64_t{1} << store.column(leaf).group;
  }
}

Status WindowCopier::createScratch(WindowScratch* scratch) const {
  const size_t count = locator_.slotCountMax();
  return scratch->slots.commit(count) ? Status::ok : fail(Status::memory, 4.0 * static_cast<double>(count));
}

void WindowCopier::copy(const EpisodeList& episodes, uint32_t slot, size_t index, const BatchTarget& target,
                        WindowScratch& scratch) const {
  Window window = {locator_.locate(episodes, slot), false, static_cast<size_t>(index * policy_.rows()), scratch.slots.data(), scratch.queue, &scratch.packed};
  window.joined = locator_.listSlots(window, scratch.slots.data());

  const uint32_t shownKnown = window.shownKnown();
  target.seqLen[index] = static_cast<int32_t>(window.lead + window.real);
  target.nextSeqLen[index] = static_cast<int32_t>(window.lead + shownKnown);
  const uint32_t leafCount = store_->leaves().count();
  for (uint32_t leaf = 0; leaf < leafCount; ++leaf) {
    if (policy_.leaves[leaf].hasNext()) copyBothStates(leaf, window, target, scratch);
    else if (policy_.leaves[leaf].compact) copyFrames(leaf, window, index, target.columns[leaf]);
    else copyStates(leaf, window, index, target.columns[leaf]);
  }
  for (uint32_t column = leafCount; column < store_->columnCount(); ++column) {
    if (!store_->isKept(column)) copyColumn(column, window, target.columns[column]);
  }
  writeDiscounts(window, target.discount);
  if (policy_.masks) writeMasks(window, target);
  if (policy_.ends) [[unlikely]] writeEnds(window, target);
  if (policy_.returnToGo) [[unlikely]] writeReturnsToGo(episodes[window.episode], window, target.returnToGo, scratch.rewardScales);
  for (uint32_t part = 0; part < policy_.nStepCount; ++part) writeNStep(window, policy_.nSteps[part], target.nSteps[part], scratch.rewardScales);
}

/// Copies a column of the `count` records at `slots`, which follow one another in time. Where `also` is not null, a large one to there, too.
void WindowCopier::copyRun(uint8_t* to, uint8_t* also, uint32_t column, const uint32_t* slots, uint32_t count, const Window& window) const {
  if ((apart_ >> column & 1) != 0) [[unlikely]] {
    return isAddressed(column) ? writeAddresses(to, column, slots, count) : copyPacked(column, slots, count, {to, count, also}, *window.packed);
  }
  const size_t bytes = bytes_[column];
  const size_t stride = store_->stride(column);
  const uint8_t* const rows = store_->at(column, 0);
  if (!store_->isAlone(column)) {
    return visitRowCopier(bytes, [&](auto copier) {
      for (size_t at = 0; at < count; ++at) copier.copy(to + at * bytes, rows + slots[at] * stride, bytes);
    });
  }
  // Neighbours in one go.
  for (uint32_t run = 0; count > 0; slots += run, count -= run) {
    run = 1;
    while (run < count && slots[run] == slots[0] + run) ++run;
    large_.copyTwice(to, also, rows + slots[0] * stride, run * bytes, window.queue);
    to += run * bytes;
    if (also != nullptr) also += run * bytes;
  }
}

/// Writes where rows are. What else an address has is zero.
[[gnu::noinline]] void WindowCopier::writeAddresses(uint8_t* to, uint32_t column, const uint32_t* slots, uint32_t count) const {
  const size_t bytes = bytes_[column];
  memset(to, 0, count * bytes);
  for (uint32_t at = 0; at < count; ++at, to += bytes) {
    const uint32_t address = EXRP_ADDRESS_SLOT + slots[at];
    memcpy(to, &address, sizeof address);
  }
}

/// Copies rows of a packed column, block by block.
[[gnu::noinline]] void WindowCopier::copyPacked(uint32_t column, const uint32_t* slots, uint32_t count, Places places, CopyQueue& waiting) const {
  const PackedColumn& packed = store_->packed().of(column);
  const size_t bytes = store_->column(column).bytes;
  while (count > 0) {
    const uint32_t within = store_->within(slots[0]);
    const uint32_t run = smaller(count, store_->blockLength() - within);
    auto& [to, toCount, also, skipped] = places;
    const uint32_t here = smaller(run, toCount);
    const bool hasAlso = also != nullptr && run > skipped;
    large_.copy({packed.rowsOf(store_->blockOf(slots[0])), within, run, to, here, hasAlso ? skipped : 0, hasAlso ? also : nullptr}, waiting);
    to += here * bytes;
    toCount -= here;
    if (hasAlso) also += (run - skipped) * bytes;
    skipped -= smaller(run, skipped);
    slots += run;
    count -= run;
  }
}

void WindowCopier::copyPackedRows(uint32_t column, uint32_t slot, uint32_t count, uint8_t* to, WindowScratch& scratch) const {
  const size_t bytes = store_->column(column).bytes;
  for (uint32_t run = 0; count > 0; slot += run, count -= run, to += run * bytes) {
    run = smaller(count, store_->blockLength() - store_->within(slot));
    copyPacked(column, &slot, run, {to, run}, scratch.packed);
  }
}

void WindowCopier::copyColumn(uint32_t column, const Window& window, uint8_t* part) const {
  const size_t bytes = bytes_[column];
  const uint32_t* slots = window.slots + window.back;
  zeroAround(part, bytes, window);
  if (!policy_.reversed) return copyRun(part + rowOf(window, 0) * bytes, nullptr, column, slots, window.real, window);
  for (uint32_t at = 0; at < window.real; ++at) copyRun(part + rowOf(window, at) * bytes, nullptr, column, slots + at, 1, window);
}

// ---- states ----

/// The stack of frames that ends with record `at` of the window, and where `next` is not null, the one after it. Where the episode begins too
/// late, they are padded. A frame that is in both is read once.
void WindowCopier::copyStack(uint32_t leaf, uint8_t* state, uint8_t* next, const Window& window, uint32_t at) const {
  const size_t bytes = bytes_[leaf];
  const uint32_t stack = policy_.leaves[leaf].stack;
  const uint32_t there = smaller(stack, uint64_t{window.back} + at + 1);
  const uint32_t missing = stack - there;
  const uint32_t* const slots = window.slots + (window.back + at + 1 - there);
  pad(leaf, state, slots[0], missing, window);
  if (next != nullptr && missing > 0) pad(leaf, next, slots[0], missing - 1, window);
  // The oldest of a whole stack is not in the next one.
  const uint32_t alone = next == nullptr ? there : missing == 0 ? 1 : 0;
  const uint32_t first = missing + alone;
  if (next != nullptr && store_->isPacked(leaf)) [[unlikely]] {
    return copyPacked(leaf, slots, there + 1, {state + missing * bytes, there, next + (first - 1) * bytes, alone}, *window.packed);
  }
  if (alone > 0) copyRun(state + missing * bytes, nullptr, leaf, slots, alone, window);
  if (next == nullptr) return;
  copyRun(state + first * bytes, next + (first - 1) * bytes, leaf, slots + alone, there - alone, window);
  copyRun(next + size_t{stack - 1} * bytes, nullptr, leaf, slots + there, 1, window);
}

/// Fills the place of frames before the episode's first, which is at `slot`.
void WindowCopier::pad(uint32_t leaf, uint8_t* to, uint32_t slot, uint32_t frameCount, const Window& window) const {
  const size_t bytes = bytes_[leaf];
  // EXRP_ADDRESS_ZEROS has all bits.
  const int zero = isAddressed(leaf) ? 0xff : 0;
  for (; frameCount > 0; --frameCount, to += bytes) {
    if (policy_.zeroPadded) memset(to, zero, bytes);
    else copyRun(to, nullptr, leaf, &slot, 1, window);
  }
}

/// States and next states. A row's state is the stack of frames that ends with its record, its next state the one that ends with the frame after it.
///
/// Large frames of a window that all lie one after another wait until there are some of its kind. Copied in one go they take a tenth to a fifth less
/// time, as no branch between them can be guessed wrong.
void WindowCopier::copyBothStates(uint32_t leaf, const Window& window, const BatchTarget& target, WindowScratch& scratch) const {
  const uint32_t shownKnown = window.shownKnown();
  const uint32_t stack = policy_.leaves[leaf].stack;
  // All rows are records with next states, and no stack is padded.
  const bool whole = window.joined && window.lead == 0 && backOf(leaf, window) == stack - 1 && shownKnown == policy_.rows();
  if (whole && waits(leaf)) {
    scratch.waiting[scratch.waitingCount++] = {leaf, *slotsOf(leaf, window), window.row};
    if (scratch.waitingCount == WindowScratch::waitingMax) finish(target, scratch);
    return;
  }
  const size_t bytes = stackBytes(leaf);
  const auto state = [&](uint32_t at) { return target.columns[leaf] + rowOf(window, at) * bytes; };
  const auto next = [&](uint32_t at) { return target.nextStates[leaf] + rowOf(window, at) * bytes; };
  zeroAround(target.columns[leaf], bytes, window);
  zeroAround(target.nextStates[leaf], bytes, window);
  // The last row alone may have no next state.
  if (shownKnown < window.real) memset(next(shownKnown), 0, bytes);
  const bool isSmall = !store_->isWide(leaf) || isAddressed(leaf);  // small frames are read twice
  if (stack > 1 || policy_.reversed || isSmall) {
    for (uint32_t at = 0; at < window.real; ++at) {
      copyStack(leaf, state(at), at < shownKnown && !isSmall ? next(at) : nullptr, window, at);
      if (at < shownKnown && isSmall) copyStack(leaf, next(at), nullptr, window, at + 1);
    }
    return;
  }
  const uint32_t* const slots = slotsOf(leaf, window);
  if (store_->isPacked(leaf)) [[unlikely]] {
    return copyPacked(leaf, slots, shownKnown == window.real ? window.real + 1 : window.real, {state(0), window.real, next(0), 1}, *window.packed);
  }
  copyRun(state(0), nullptr, leaf, slots, 1, window);
  if (window.real > 1) copyRun(state(1), next(0), leaf, slots + 1, window.real - 1, window);
  if (shownKnown == window.real) copyRun(next(window.real - 1), nullptr, leaf, slots + window.real, 1, window);
}

/// Copies the states that wait.
void WindowCopier::finish(const BatchTarget& target, WindowScratch& scratch) const {
  large_.finish(scratch.packed);
  const auto ask = [&](uint32_t at) {
    if (at >= scratch.waitingCount) return;
    const WindowScratch::Waiting& waiting = scratch.waiting[at];
    const auto frames = static_cast<size_t>(policy_.rows() + policy_.leaves[waiting.leaf].stack);
    prefetchPages(store_->at(waiting.leaf, waiting.slot), frames * store_->column(waiting.leaf).bytes);
  };
  for (uint32_t at = 0; at < askedAhead; ++at) ask(at);
  for (uint32_t at = 0; at < scratch.waitingCount; ++at) {
    ask(at + askedAhead);
    copyWhole(scratch.waiting[at], target, scratch.queue);
  }
  scratch.waitingCount = 0;
}

inline void WindowCopier::copyWhole(const WindowScratch::Waiting& waiting, const BatchTarget& target, CopyQueue* queue) const {
  const size_t bytes = store_->column(waiting.leaf).bytes;
  const size_t stack = policy_.leaves[waiting.leaf].stack;
  const auto rows = static_cast<size_t>(policy_.rows());
  const uint8_t* from = store_->at(waiting.leaf, waiting.slot);
  uint8_t* const state = target.columns[waiting.leaf] + waiting.row * stack * bytes;
  uint8_t* const next = target.nextStates[waiting.leaf] + waiting.row * stack * bytes;
  if (stack == 1 && !policy_.reversed) {
    large_.copy(state, from, bytes, queue);
    if (rows > 1) large_.copyTwice(state + bytes, next, from + bytes, (rows - 1) * bytes, queue);
    large_.copy(next + (rows - 1) * bytes, from + rows * bytes, bytes, queue);
    return;
  }
  for (size_t at = 0; at < rows; ++at, from += bytes) {
    const size_t to = (policy_.reversed ? rows - 1 - at : at) * stack * bytes;
    large_.copy(state + to, from, bytes, queue);
    if (stack > 1) large_.copyTwice(state + to + bytes, next + to, from + bytes, (stack - 1) * bytes, queue);
    large_.copy(next + to + (stack - 1) * bytes, from + stack * bytes, bytes, queue);
  }
}

/// The states, one stack a row; with the overlap one row more, which is the next state of the last.
void WindowCopier::copyStates(uint32_t leaf, const Window& window, size_t index, uint8_t* part) const {
  const size_t bytes = stackBytes(leaf);
  const uint32_t more = policy_.leaves[leaf].overlaps() ? 1 : 0;
  const auto rows = static_cast<size_t>(policy_.rows() + more);
  uint8_t* const base = part + index * rows * bytes;
  const uint32_t there = window.real + (window.known >= window.real ? more : 0);
  const bool inOrder = policy_.leaves[leaf].stack == 1 && !policy_.reversed;
  if (inOrder) copyRun(base + window.lead * bytes, nullptr, leaf, slotsOf(leaf, window), there, window);
  else for (uint32_t at = 0; at < there; ++at) copyStack(leaf, base + locator_.rowOf(window, at) * bytes, nullptr, window, at);
  const size_t written = size_t{window.lead} + there;
  memset(base, 0, window.lead * bytes);
  memset(base + written * bytes, 0, (rows - written) * bytes);
}

/// Each frame once, from the first one of the first row's stack on.
void WindowCopier::copyFrames(uint32_t leaf, const Window& window, size_t index, uint8_t* part) const {
  const LeafPolicy& policy = policy_.leaves[leaf];
  const size_t bytes = bytes_[leaf];
  const auto frames = static_cast<size_t>(policy.frames(policy_.rows()));
  uint8_t* to = part + index * frames * bytes;
  const uint8_t* const end = to + frames * bytes;
  const uint32_t back = backOf(leaf, window);
  const uint32_t* const slots = slotsOf(leaf, window);
  const uint32_t there = back + window.real + (policy.overlaps() && window.known >= window.real ? 1 : 0);
  const uint32_t missing = window.lead + (policy.stack - 1) - back;
  pad(leaf, to, slots[0], missing, window);
  to += missing * bytes;
  copyRun(to, nullptr, leaf, slots, there, window);
  to += there * bytes;
  if (to < end) memset(to, 0, static_cast<size_t>(end - to));
}

// ---- other parts ----

void WindowCopier::writeDiscounts(const Window& window, float* part) const {
  zeroAround(reinterpret_cast<uint8_t*>(part), sizeof(float), window);
  const auto discount = static_cast<float>(policy_.discount);
  float* const rows = part + window.row + (policy_.reversed ? 0 : window.lead);
  for (uint32_t at = 0; at < window.real; ++at) rows[at] = discount;
  if (window.known < window.real) part[rowOf(window, window.real - 1)] = 0.0f;
  if (window.terminates() && window.known <= window.real) part[rowOf(window, window.known - 1)] = 0.0f;
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

/// Not inline, as the returns below: copy() stays as fast for views without them.
[[gnu::noinline]] void WindowCopier::writeEnds(const Window& window, const BatchTarget& target) const {
  const auto rows = static_cast<size_t>(policy_.rows());
  memset(target.terminated + window.row, 0, rows);
  memset(target.truncated + window.row, 0, rows);
  if (window.showsEnd()) (window.terminates() ? target.terminated : target.truncated)[rowOf(window, window.known - 1)] = 1;
}

/// Adds up the rewards from the episode's last record backwards, block by block.
[[gnu::noinline]] void WindowCopier::writeReturnsToGo(const Episode& episode, const Window& window, float* part, const float* scales) const {
  zeroAround(reinterpret_cast<uint8_t*>(part), store_->reward().itemCount * sizeof(float), window);
  if (reward_ != nullptr) return addUp(episode, window, part, [&](const uint8_t* from, uint32_t item) { return reward_->numberOf(from, item, scales); });
  withNumbers(policy_.rewardType, [&](auto read) { addUp(episode, window, part, [&](const uint8_t* from, uint32_t) { return read(from); }); });
}

template <typename Read>
inline void WindowCopier::addUp(const Episode& episode, const Window& window, float* part, Read read) const {
  const Column& column = store_->reward();
  const size_t stride = store_->stride(store_->rewardColumn());
  const uint32_t first = window.position - window.context;
  const uint32_t shownEnd = first + window.real;
  for (uint32_t item = 0; item < column.itemCount; ++item) {
    double sum = 0;
    uint32_t block = episode.lastBlock;
    for (uint32_t end = episode.count; end > first; block = store_->block(block).previous) {
      const uint32_t begin = store_->head(block).ordinal() << store_->blockShift();
      const uint8_t* const rewards = store_->at(store_->rewardColumn(), store_->firstSlot(block)) + size_t{item} * column.itemBytes;
      for (; end > begin && end > shownEnd; --end) sum += read(rewards + (end - 1 - begin) * stride, item);
      for (; end > begin && end > first; --end) {
        sum += read(rewards + (end - 1 - begin) * stride, item);
        part[rowOf(window, end - 1 - first) * column.itemCount + item] = static_cast<float>(sum);
      }
    }
  }
}

void WindowCopier::writeNStep(const Window& window, uint32_t n, const BatchTarget::NStep& part, const float* scales) const {
  const uint32_t rewardColumn = store_->rewardColumn();
  const Column& column = store_->column(rewardColumn);
  const uint32_t* slots = window.slots + window.back;
  zeroAround(reinterpret_cast<uint8_t*>(part.reward), column.itemCount * sizeof(float), window);
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
        const uint8_t* const from = store_->at(rewardColumn, slots[at + step]) + size_t{item} * column.itemBytes;
        sum += discount * (reward_ == nullptr ? typedNumber(from, policy_.rewardType) : double{reward_->numberOf(from, item, scales)});
      }
      part.reward[row * column.itemCount + item] = static_cast<float>(sum);
    }
    const bool bootstraps = m > 0 && !(window.terminates() && at + m == window.known);
    part.discount[row] = bootstraps ? static_cast<float>(discount) : 0.0f;
  }
  for (uint32_t leaf = 0; leaf < store_->leaves().count(); ++leaf) {
    if (policy_.leaves[leaf].nStep) copyNStepStates(leaf, window, n, part.states[leaf]);
  }
}

/// The state after n records, or after those that are known where they are fewer.
void WindowCopier::copyNStepStates(uint32_t leaf, const Window& window, uint32_t n, uint8_t* part) const {
  const size_t bytes = stackBytes(leaf);
  zeroAround(part, bytes, window);
  for (uint32_t at = 0; at < window.real; ++at) {
    uint8_t* const to = part + rowOf(window, at) * bytes;
    if (at < window.known) copyStack(leaf, to, nullptr, window, at + smaller(n, window.known - at));
    else memset(to, 0, bytes);
  }
}

}  // namespace exrp
