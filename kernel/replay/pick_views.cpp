#include "kernel/replay/pick_views.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "kernel/rules/native_rules.hpp"

namespace exrp {

// ---- views ----

PickView* PickViews::findView(uint32_t number) const {
  if (number < viewCount_) return views_[number].get();
  fail(Status::argument, 2, number);
  return nullptr;
}

Status PickViews::createView(const StoredEpisodes& stored, const PickPolicy& asked, ColumnStatistics& statistics, uint32_t* number) {
  PickPolicy policy = asked;
  policy.transforms = nullptr;  // they are the caller's
  const Store& store = stored.store();
  if (viewCount_ == EXRP_LIMIT_PICK_VIEWS) return fail(Status::limit, EXRP_LIMIT_PICK_VIEWS);
  if (!policy.fitsLeaves(store.leaves().count())) return fail(Status::argument, 3, policy.leafCount);
  if (!policy.fitsReward(store.reward().itemBytes)) return fail(Status::argument, 2, policy.rewardType);
  if (policy.length > episodeMax_) return fail(Status::capacity, episodeMax_, policy.length, capacity_);
  std::unique_ptr<PickView> made(new (std::nothrow) PickView);
  if (made == nullptr) return fail(Status::memory, sizeof(PickView));
  const uint32_t slotCountMax = store.blockCountMax() * store.blockLength();
  Status status = made->picks.create(policy, capacity_, slotCountMax);
  if (asked.transformCount == 0) made->maker.create(store, policy, episodeMax_);
  else if (status == Status::ok) status = createTransformed(store, asked, statistics, made.get());
  made->number = viewCount_;
  if (status == Status::ok && addressedColumns_ != 0) status = makeAddressed(store, statistics, made.get());
  if (status == Status::ok) status = made->picks.prepare(stored.recordCount(), store.highWater() << store.blockShift());
  if (status == Status::ok && made->transformed != nullptr && store.source() != nullptr) status = readNormalized(stored, *made->transformed, statistics);
  if (status != Status::ok) return status;
  if (made->transformed != nullptr) made->transformed->forEachNormalized([&](uint32_t column, uint32_t) { statistics.begin(stored, column); });
  for (uint32_t episode = stored.episodes().oldest(); episode != episodeNone; episode = stored.episodes()[episode].newer) {
    pushTo(made->picks, stored, episode, 0);
  }
  views_[viewCount_] = std::move(made);
  *number = viewCount_++;
  return Status::ok;
}

/// Makes what gathers batches with transforms, and takes the memory for the statistics that they need.
Status PickViews::createTransformed(const Store& store, const PickPolicy& policy, ColumnStatistics& statistics, PickView* view) {
  view->transformed.reset(new (std::nothrow) TransformedBatches);
  if (view->transformed == nullptr) return fail(Status::memory, sizeof(TransformedBatches));
  const size_t numberCount = size_t{policy.transformCount} * EXRP_TRANSFORM_COUNT;
  if (!view->transforms.commit(numberCount)) return fail(Status::memory, 8.0 * static_cast<double>(numberCount));
  memcpy(view->transforms.data(), policy.transforms, numberCount * sizeof(double));
  Status status = view->transformed->create(store, policy, 2, episodeMax_, seed_, viewCount_);
  if (status != Status::ok) return status;
  view->transformed->useStatistics(statistics);
  view->transformed->forEachNormalized([&](uint32_t column, uint32_t type) {
    if (status == Status::ok) status = statistics.reserve(store, column, type);
  });
  return status;
}

/// Makes what gathers batches with addresses.
Status PickViews::makeAddressed(const Store& store, const ColumnStatistics& statistics, PickView* view) const {
  view->addressed.reset(new (std::nothrow) AddressedBatches);
  if (view->addressed == nullptr) return fail(Status::memory, sizeof(AddressedBatches));
  PickPolicy policy = view->picks.policy();
  policy.transforms = view->transforms.data();
  const Status status = view->addressed->create(store, policy, episodeMax_, seed_, view->number, addressedColumns_);
  view->addressed->useStatistics(statistics);
  return status;
}

Status PickViews::beginAddresses(const Store& store, const ColumnStatistics& statistics, uint64_t columns) {
  addressedColumns_ = columns;
  for (uint32_t view = 0; view < viewCount_; ++view) {
    if (const Status status = makeAddressed(store, statistics, views_[view].get()); status != Status::ok) {
      endAddresses();
      return status;
    }
  }
  return Status::ok;
}

void PickViews::endAddresses() {
  addressedColumns_ = 0;
  for (uint32_t view = 0; view < viewCount_; ++view) views_[view]->addressed.reset();
}

/// Reads all blocks that are on the disk only, where statistics begin that need them: so that what can't be read is told before anything changes.
Status PickViews::readNormalized(const StoredEpisodes& stored, const TransformedBatches& batches, const ColumnStatistics& statistics) {
  const Store& store = stored.store();
  bool needsRows = false;
  bool needsPacked = false;
  batches.forEachNormalized([&](uint32_t column, uint32_t) {
    if (statistics.find(column) != nullptr) return;
    needsRows = true;
    needsPacked |= store.isPacked(column);
  });
  // The store forgets it once all rows are read, which a thread may do meanwhile.
  RowSource& source = *store.source();
  Status status = Status::ok;
  for (uint32_t block = 0; needsRows && block < store.highWater() && status == Status::ok; ++block) {
    const bool isWanted = needsPacked ? source.isMissing(block) : source.isUnread(block);
    if (isWanted && store.isTaken(block) && stored.rowsOf(block).count > 0) status = source.fetchOne(block);
  }
  return status;
}

Status PickViews::info(uint32_t number, double* info) const {
  const PickView* found = findView(number);
  if (found == nullptr) return Status::argument;
  info[EXRP_PICK_VIEW_PICK_COUNT] = found->picks.count();
  info[EXRP_PICK_VIEW_SELECTOR_COUNT] = found->selectorCount;
  return Status::ok;
}

// ---- selectors ----

Status PickViews::createSelector(uint32_t view, uint32_t kind, const double* options, uint32_t optionCount, uint32_t* selector) {
  PickView* found = findView(view);
  if (found == nullptr) return Status::argument;
  if (selectorCount_ == EXRP_LIMIT_SELECTORS) return fail(Status::limit, EXRP_LIMIT_SELECTORS);
  std::unique_ptr<PickSelector> made;
  const Random random(seed_, selectorCount_ + 1);
  const Status status = createPickSelector(kind, options, optionCount, random, capacity_, Draws::inBatches, &made);
  if (status != Status::ok) return status;
  PickIndex& picks = found->picks;
  if (!made->prepare(picks.preparedCount())) return fail(Status::memory, 4.0 * picks.preparedCount());
  for (uint32_t index = 0; index < picks.count(); ++index) {
    made->pushed(index);
    const double priority = initial_.get(picks.slot(index));
    if (priority >= 0) made->setPriority(&index, &priority, 1);
  }
  picks.attach(made.get());
  ++found->selectorCount;
  selectorViews_[selectorCount_] = found;
  selectors_[selectorCount_] = std::move(made);
  *selector = selectorCount_++;
  return Status::ok;
}

int32_t PickViews::checkSelectors() const {
  for (uint32_t index = 0; index < selectorCount_; ++index) {
    if (const int32_t broken = selectors_[index]->check(); broken != 0) return broken;
  }
  return 0;
}

// ---- room ----

Status PickViews::prepareRemoval() {
  for (uint32_t view = 0; view < viewCount_; ++view) {
    PickIndex& picks = views_[view]->picks;
    const Status status = picks.journal().prepare(size_t{2} * picks.count());
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

bool PickViews::isJournalOpen() const {
  for (uint32_t view = 0; view < viewCount_; ++view) {
    if (views_[view]->picks.journal().isOpen()) return true;
  }
  return false;
}

Status PickViews::prepare(const StoredEpisodes& stored, const Growth& growth) {
  Status status = initial_.prepare(growth.slotEnd);
  for (uint32_t view = 0; view < viewCount_ && status == Status::ok; ++view) {
    PickIndex& picks = views_[view]->picks;
    // Picks begin at different records: at those that come, and at the last ones of each episode, when its end completes them.
    const uint64_t late = growth.episodes * picks.policy().lateCount();
    const uint64_t others = stored.recordCount() - picks.count();
    status = picks.prepare(growth.records + (late < others ? late : others), growth.slotEnd);
  }
  return status;
}

// ---- records come ----

void PickViews::notePriorities(const StoredEpisodes& stored, uint32_t episode, uint32_t from, const uint8_t* priorities) {
  const Episode& entry = stored.episodes()[episode];
  const uint32_t slot = stored.store().slotAt(entry.lastBlock, from);
  for (uint32_t k = 0; k < entry.count - from; ++k) {
    initial_.set(slot + k, priorities == nullptr ? InitialPriorities::none : priorityAt(priorities, k));
  }
}

/// Pushes the picks of one view that became valid: those at positions from `validBefore` on.
void PickViews::pushTo(PickIndex& picks, const StoredEpisodes& stored, uint32_t episode, uint32_t validBefore) {
  const Store& store = stored.store();
  const Episode& entry = stored.episodes()[episode];
  const uint32_t valid = picks.policy().validEnd(entry.count, entry.ended());
  if (validBefore >= valid || !stored.hasPicks(picks.policy(), episode)) return;
  const uint32_t stride = picks.policy().stride;
  uint32_t position = validBefore;
  if (stride > 1) position = (validBefore + stride - 1) / stride * stride;
  if (const uint32_t first = stored.episodes().first(episode); first > 0) {
    const uint32_t begin = picks.policy().validBegin(first);
    if (position < begin) position = begin;
  }
  // A block at a time, where every record begins a pick.
  const bool inRuns = stride == 1 && valid - position > 1;
  const uint32_t last = store.ordinalOf(stored.stateRows(entry) - 1);  // that of the last block
  for (uint32_t run = stride; position < valid; position += run) {
    // The last blocks are at hand, as picks become valid near the end; further back, the index finds them.
    const uint32_t ordinal = store.ordinalOf(position);
    const uint32_t block = last == ordinal       ? entry.lastBlock
                           : last == ordinal + 1 ? store.block(entry.lastBlock).previous
                                                 : stored.blocks().find(store, entry.handle, ordinal);
    const uint32_t slot = store.slotAt(block, position);
    if (inRuns) {
      run = store.blockLength() - store.within(position);
      if (run > valid - position) run = valid - position;
      pushRun(picks, slot, run);
    } else {
      picks.push(slot);
      if (initial_.has(slot)) picks.setFirstPriority(initial_.get(slot));
    }
  }
}

/// Pushes `count` picks, which begin in the slots from `slot` on, with the effect of one push after the other. A pick with a priority may raise
/// the priority at which the next one without any begins. So picks with and without priorities come in runs of their own.
void PickViews::pushRun(PickIndex& picks, uint32_t slot, uint32_t count) {
  // A journal tells of each pick's priority right after the pick.
  const bool oneByOne = initial_.inUse() && picks.journal().isOpen();
  for (uint32_t run = 0; count > 0; slot += run, count -= run) {
    run = oneByOne ? 1 : initial_.inUse() ? initial_.countAlike(slot, count) : count;
    if (run == 1) {
      picks.push(slot);
      if (initial_.has(slot)) picks.setFirstPriority(initial_.get(slot));
    } else {
      picks.pushRun(slot, run);
      if (initial_.has(slot)) picks.setFirstPriorities(initial_, slot, run);
    }
  }
}

// ---- records go ----

/// Removes the picks that an episode would not have if its oldest record were at `to`; with positionMax, all.
void PickViews::remove(const StoredEpisodes& stored, uint32_t episode, uint32_t to) {
  const Episode& entry = stored.episodes()[episode];
  const uint32_t from = stored.episodes().first(episode);
  for (uint32_t view = 0; view < viewCount_; ++view) {
    PickIndex& picks = views_[view]->picks;
    const PickPolicy& policy = picks.policy();
    const uint32_t begin = policy.validBegin(from);
    if (!stored.hasPicks(policy, episode)) continue;
    const uint32_t valid = policy.validEnd(entry.count, entry.ended());
    const uint32_t beginAfter = to == positionMax ? valid : policy.validBegin(to);
    const uint32_t end = beginAfter < valid ? beginAfter : valid;
    if (begin >= end) continue;
    picks.prefetchIndexOf(stored.store().firstSlot(entry.lastBlock));  // the newest go first
    picks.removeBefore(stored.store(), stored.blockAt(entry, begin), begin, end);
  }
}

/// Those picks of an open episode go that it will not have once it has ended with one record less.
void PickViews::shortening(const StoredEpisodes& stored, uint32_t episode) {
  const Episode& entry = stored.episodes()[episode];
  for (uint32_t view = 0; view < viewCount_; ++view) {
    PickIndex& picks = views_[view]->picks;
    const PickPolicy& policy = picks.policy();
    const uint32_t after = policy.validEnd(entry.count - 1, true);
    const uint32_t oldest = policy.validBegin(stored.episodes().first(episode));
    const uint32_t begin = after < oldest ? oldest : after;
    for (uint32_t position = policy.validEnd(entry.count, false); position > begin; --position) {
      picks.remove(stored.store().slotAt(stored.blockAt(entry, position - 1), position - 1));
    }
  }
}

double PickViews::memoryBytes() const {
  double bytes = initial_.memoryBytes();
  for (uint32_t view = 0; view < viewCount_; ++view) bytes += views_[view]->picks.memoryBytes();
  for (uint32_t index = 0; index < selectorCount_; ++index) {
    bytes += selectors_[index]->memoryBytes(selectorViews_[index]->picks.countHighWater());
  }
  return bytes;
}

int32_t PickViews::check(const StoredEpisodes& stored) const {
  const Store& store = stored.store();
  for (uint32_t view = 0; view < viewCount_; ++view) {
    const PickIndex& picks = views_[view]->picks;
    if (picks.check(store) != 0) return 1;
    const PickPolicy& policy = picks.policy();
    uint64_t pickCount = 0;
    for (uint32_t episode = stored.episodes().oldest(); episode != episodeNone; episode = stored.episodes()[episode].newer) {
      const Episode& entry = stored.episodes()[episode];
      const uint32_t begin = policy.validBegin(stored.episodes().first(episode));
      const uint32_t end = stored.hasPicks(policy, episode) ? policy.validEnd(entry.count, entry.ended()) : 0;
      uint32_t block = begin < end ? stored.blockAt(entry, begin) : blockNone;
      for (uint32_t position = begin; position < end; ++position) {
        if (position > begin && store.within(position) == 0) block = store.block(block).next;
        if (position % policy.stride != 0) continue;
        if (picks.indexOf(store.slotAt(block, position)) == pickNone) return 2;
        ++pickCount;
      }
    }
    if (pickCount != picks.count()) return 2;
  }
  return 0;
}

}  // namespace exrp
