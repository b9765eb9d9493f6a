#include "kernel/store/pick_index.hpp"

namespace exrp {

Status PickIndex::create(const PickPolicy& policy, uint32_t countMax, uint32_t slotCountMax) {
  policy_ = policy;
  countMax_ = countMax;
  if (!slots_.create(countMax) || !indices_.create(slotCountMax, Pages::huge, countMax)) {
    return fail(Status::memory, 4.0 * countMax + 4.0 * slotCountMax);
  }
  return Status::ok;
}

Status PickIndex::prepare(uint64_t count, uint32_t slotCount) {
  // A full view can be asked to take what eviction will make room for first.
  const auto needed = static_cast<size_t>(count_ + count < countMax_ ? count_ + count : countMax_);
  if (!slots_.commit(needed) || !indices_.commit(slotCount) || !prepareSelectors(static_cast<uint32_t>(needed))) {
    return fail(Status::memory, 4.0 * static_cast<double>(needed) + 4.0 * slotCount);
  }
  if (slotCount > slotHighWater_) slotHighWater_ = slotCount;
  // Each pick that is there or comes can go again: two events. Coming is one event, and two more with a priority.
  return journal_.prepare(static_cast<size_t>(2 * (count_ + count) + 3 * count));
}

/// Takes what the selectors need for as many picks as slots_ has memory for, or for `count` picks where memory is short.
bool PickIndex::prepareSelectors(uint32_t count) {
  if (count <= preparedCount_) return true;
  const auto ample = static_cast<uint32_t>(slots_.committed());
  const auto prepare = [this](uint32_t each) {
    for (uint32_t selector = 0; selector < selectorCount_; ++selector) {
      if (!selectors_[selector]->prepare(each)) return false;
    }
    preparedCount_ = each;
    return true;
  };
  return prepare(ample) || prepare(count);
}

void PickIndex::pushRun(uint32_t slot, uint32_t count) {
  const uint32_t first = count_;
  for (uint32_t k = 0; k < count; ++k) slots_[first + k] = slot + k;
  for (uint32_t k = 0; k < count; ++k) indices_[slot + k] = first + k + 1;
  for (uint32_t selector = 0; selector < selectorCount_; ++selector) selectors_[selector]->pushedRun(first, count);
  for (uint32_t k = 0; journal_.isOpen() && k < count; ++k) journal_.add(pickNone, first + k);
  count_ += count;
  if (count_ > countHighWater_) countHighWater_ = count_;
}

void PickIndex::setFirstPriority(double priority) {
  const uint32_t index = count_ - 1;
  for (uint32_t selector = 0; selector < selectorCount_; ++selector) selectors_[selector]->setPriority(&index, &priority, 1);
  if (!journal_.isOpen()) return;
  uint32_t halves[2] = {};
  static_assert(sizeof halves == sizeof priority);
  __builtin_memcpy(halves, &priority, sizeof priority);
  journal_.add(index, index);
  journal_.add(halves[0], halves[1]);
}

void PickIndex::setFirstPriorities(const InitialPriorities& priorities, uint32_t slot, uint32_t count) {
  constexpr uint32_t pieceMax = 64;
  uint32_t index[pieceMax];
  double priority[pieceMax];
  for (uint32_t done = 0; done < count;) {
    const uint32_t piece = count - done < pieceMax ? count - done : pieceMax;
    for (uint32_t k = 0; k < piece; ++k) {
      index[k] = count_ - count + done + k;
      priority[k] = priorities.get(slot + done + k);
    }
    for (uint32_t selector = 0; selector < selectorCount_; ++selector) selectors_[selector]->setPriority(index, priority, piece);
    done += piece;
  }
}

void PickIndex::popLast() {
  const uint32_t last = --count_;
  indices_[slots_[last]] = 0;
  for (uint32_t selector = 0; selector < selectorCount_; ++selector) selectors_[selector]->popped(last);
  if (journal_.isOpen()) journal_.add(last, pickNone);
}

/// Removes the `count` picks from `index` on, of the slots from `removed` on. The last picks take their indices, in their order.
void PickIndex::moveLastTo(uint32_t index, uint32_t removed, uint32_t count) {
  const uint32_t last = count_ - 1;
  const uint32_t from = count_ - count;
  for (uint32_t selector = 0; selector < selectorCount_; ++selector) selectors_[selector]->movedBlock(last, index, count);
  if (journal_.isOpen()) {
    for (uint32_t k = 0; k < count; ++k) {
      journal_.add(last - k, index + count - 1 - k);
      journal_.add(last - k, pickNone);
    }
  }
  for (uint32_t k = 0; k < count; ++k) {
    const uint32_t slot = slots_[from + k];
    indices_[removed + k] = 0;
    slots_[index + k] = slot;
    indices_[slot] = index + k + 1;
  }
  count_ -= count;
}

void PickIndex::prefetchRemoval(const Store& store, uint32_t block) const {
  const uint32_t first = store.firstSlot(block);
  for (uint32_t slot = first; slot < first + store.blockLength(); ++slot) {
    if (indices_[slot] != 0) prefetchLineFar(&slots_[indices_[slot] - 1]);
  }
}

void PickIndex::removeBefore(const Store& store, uint32_t firstBlock, uint32_t begin, uint32_t end) {
  uint32_t block = firstBlock;
  for (uint32_t steps = store.ordinalOf(end - 1) - store.ordinalOf(begin); steps > 0; --steps) {
    prefetchIndexOf(store.firstSlot(block));
    block = store.block(block).next;
  }
  const bool isOneBlock = block == firstBlock;
  const Range range = {store.head(block).episode, end, store.slotAt(block, begin), isOneBlock ? end - begin : 0};
  uint32_t ahead = block;
  const auto askAhead = [&] {
    if (ahead == blockNone || isOneBlock) return;
    prefetchRemoval(store, ahead);
    ahead = ahead == firstBlock ? blockNone : store.block(ahead).previous;
  };
  askAhead();
  askAhead();
  for (uint32_t position = end; position > begin; block = store.block(block).previous) {
    askAhead();
    const uint32_t blockBegin = position - 1 - store.within(position - 1);
    const uint32_t pieceBegin = blockBegin < begin ? begin : blockBegin;
    while (position > pieceBegin) {
      const uint32_t slot = store.slotAt(block, position - 1);
      const uint32_t index = indexOf(slot);  // step 1
      uint32_t run = 1;
      if (index != pickNone) {
        // Steps 2 to 4: what stands at the end and goes anyway is not moved first.
        while (count_ > index && goes(store, range, count_ - 1)) popLast();
        if (index < count_) {
          // Neighbours in time that are neighbours in the view go together, as long as picks that stay take their indices.
          while (position - run > pieceBegin && indices_[slot - run] == index + 1 - run && indices_[slot - run] != 0 &&
                 !goes(store, range, count_ - 1 - run)) {
            ++run;
          }
          // Steps 5 to 7.
          moveLastTo(index + 1 - run, slot + 1 - run, run);
        }
      }
      position -= run;
    }
  }
}

void PickIndex::remove(uint32_t slot) {
  const uint32_t index = indexOf(slot);
  if (index == pickNone) return;
  if (index + 1 == count_) popLast();
  else moveLastTo(index, slot, 1);
}

void PickIndex::attach(PickSelector* selector) {
  selectors_[selectorCount_++] = selector;
}

Status PickIndex::openJournal() { return journal_.open(countMax_); }

int32_t PickIndex::check(const Store& store) const {
  for (uint32_t index = 0; index < count_; ++index) {
    if (indexOf(slots_[index]) != index || !store.isTaken(store.blockOf(slots_[index]))) return 1;
  }
  uint32_t placed = 0;
  const uint32_t slotCount = store.highWater() << store.blockShift();
  for (uint32_t slot = 0; slot < slotCount && slot < slotHighWater_; ++slot) placed += indices_[slot] != 0;
  return placed == count_ ? 0 : 1;
}

}  // namespace exrp
