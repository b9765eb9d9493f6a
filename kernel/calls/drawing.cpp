#include "kernel/calls/drawing.hpp"

#include <cstring>
#include <limits>

#include "kernel/batches/importance_weights.hpp"
#include "kernel/store/episode_order.hpp"

namespace exrp {
namespace {

/// Far beyond any memory, and far below where sums of sizes would wrap. Where an address has 32 bits, the replay needs some memory, too.
constexpr double batchBytesMax = sizeof(size_t) < sizeof(uint64_t) ? 0xFp28 : 0x1p46;

/// Calls `use` with each block that has rows of a pick, until it says false. Whether it never did.
template <typename Use>
bool forEachBlock(const Store& store, const LocatedPick& pick, uint32_t slot, Use use) {
  const uint32_t start = pick.position - pick.context - pick.back;
  uint32_t block = store.blockOf(slot);
  for (uint32_t steps = store.ordinalOf(pick.position) - store.ordinalOf(start); steps > 0; --steps) block = store.block(block).previous;
  for (uint32_t left = store.ordinalOf(start + pick.slotCount - 1) - store.ordinalOf(start);; --left, block = store.block(block).next) {
    if (!use(block)) return false;
    if (left == 0) return true;
  }
}

}  // namespace

// ---- batches ----

/// Whether the thread may draw addresses.
Status Drawing::checkAddresses(const ThreadScratch& thread) const {
  return replay_.book().part<MirroredRows>().isOn() && thread.addressed != nullptr ? Status::ok : fail(Status::order);
}

/// Lays out a batch of `count` picks of a view, and takes what it needs, in the thread's scratch for that view.
Status Drawing::layOut(ThreadScratch& thread, const PickView& view, uint32_t count, bool addresses) const {
  BatchScratch& scratch = thread.batchOf(view.number, addresses);
  if (scratch.layoutCount == count) return Status::ok;
  const PickPolicy& policy = view.picks.policy();
  const uint32_t* const shown = view.shownBytes(addresses);
  const double bytes = batchBytes(replay_.book().store(), policy, count, shown);
  if (bytes > batchBytesMax) return fail(Status::memory, bytes, physicalMemoryBytes());
  const Status status = view.gatherer(addresses).createScratch(count, &scratch);
  if (status != Status::ok) return status;
  scratch.layout = layoutBatch(replay_.book().store(), policy, count, shown);
  scratch.layoutCount = count;
  return Status::ok;
}

Status Drawing::batchLayout(ThreadScratch& thread, const PickView& view, uint32_t count, bool addresses, double* offsets) const {
  if (count < 1 || count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  Status status = addresses ? checkAddresses(thread) : Status::ok;
  if (status == Status::ok) status = layOut(thread, view, count, addresses);
  if (status != Status::ok) return status;
  const BatchLayout& layout = thread.batchOf(view.number, addresses).layout;
  for (uint32_t part = 0; part < partCount(view); ++part) offsets[part] = static_cast<double>(layout.offsets[part]);
  return Status::ok;
}

/// Checks what a batch is asked with, and lays it out.
Status Drawing::checkBatch(ThreadScratch& thread, const PickView& view, const BatchRange& range, double beta, double batchBytes) const {
  if (range.count < 1 || range.count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, range.count, EXRP_LIMIT_BATCH);
  if (range.total > EXRP_LIMIT_BATCH) return fail(Status::batchSize, range.total, EXRP_LIMIT_BATCH);
  if (range.first > range.total || range.count > range.total - range.first) return fail(Status::batchSize, range.count, range.total);
  if (!(beta >= 0 && beta <= 0x1p53)) return fail(Status::argument, 6, beta);
  if (range.addresses) [[unlikely]] {
    const Status able = checkAddresses(thread);
    if (able != Status::ok) return able;
    // An address of a row that the mirror lacks would lead to another row.
    if (!replay_.book().part<MirroredRows>().isCurrent()) return fail(Status::order);
  }
  const Status status = layOut(thread, view, range.total, range.addresses);
  if (status != Status::ok) return status;
  const auto needed = static_cast<double>(thread.batchOf(view.number, range.addresses).layout.offsets[EXRP_BATCH_BYTES]);
  if (batchBytes < needed) return fail(Status::bufferSize, batchBytes, needed);
  if (view.picks.count() == 0) return fail(Status::empty, static_cast<double>(replay_.book().recordCount()));
  return Status::ok;
}

/// Takes the memory for the draws of a batch.
Status Drawing::takeScratch(ThreadScratch& thread, uint32_t count) const {
  const bool isTaken = thread.indices.commit(count) && thread.episodes.commit(count) && thread.numbers.commit(count);
  return isTaken ? Status::ok : fail(Status::memory, 16.0 * count);
}

Status Drawing::checkDraw(ThreadScratch& thread, uint32_t selector, uint32_t count) const {
  const Status status = replay_.picks().checkSelector(selector);
  if (status != Status::ok) return status;
  if (count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  if (replay_.picks().viewOf(selector).picks.count() == 0) return fail(Status::empty, static_cast<double>(replay_.book().recordCount()));
  const Status able = replay_.picks().selector(selector).checkCount(count);
  return able == Status::ok ? takeScratch(thread, count) : able;
}

Status Drawing::getBatch(ThreadScratch& thread, uint32_t selector, BatchRange range, double beta, uint8_t* batch, double batchBytes) {
  Status status = replay_.picks().checkSelector(selector);
  if (status != Status::ok) return status;
  PickView& view = replay_.picks().viewOf(selector);
  status = checkBatch(thread, view, range, beta, batchBytes);
  if (status != Status::ok) return status;
  const uint32_t count = range.count;
  ChosenPicks chosen;
  status = choose(thread, selector, count, &chosen);
  if (status != Status::ok) return status;
  thread.isChosen = true;
  status = gather(thread, view, chosen, range, beta, batch);
  if (status != Status::ok) {
    thread.drawn.count = 0;
    regather(thread, view, chosen.indices, count);
    statistics_.note(selector, view.picks, chosen.indices, count);
    return status;
  }
  replay_.book().noteChange();
  statistics_.note(selector, view.picks, chosen.indices, count);
  // Rules with weights are those that learners set priorities for.
  if (chosen.weighted) remember(&thread.drawn, view, chosen.indices, range, batch, thread.batchOf(view.number, range.addresses).layout);
  return Status::ok;
}

/// Lets a selector choose picks. They stand in the thread's scratch.
Status Drawing::choose(ThreadScratch& thread, uint32_t selector, uint32_t count, ChosenPicks* chosen) {
  const Status taken = takeScratch(thread, count);
  if (taken != Status::ok) return taken;
  PickSelector& rule = replay_.picks().selector(selector);
  const Status status = rule.select(count, thread.indices.data(), thread.numbers.data());
  if (status == Status::memory) return fail(status, 4.0 * count);
  if (status != Status::ok) return status;  // the rule has said why
  *chosen = {thread.indices.data(), thread.numbers.data(), count, rule.probabilityMin(), rule.weighted()};
  return Status::ok;
}

/// Keeps what a batch drew. Without memory for it, or where the batch is a part of another, it keeps nothing.
void Drawing::remember(DrawnPicks* drawn, const PickView& view, const uint32_t* indices, const BatchRange& range, const uint8_t* batch,
                       const BatchLayout& layout) const {
  const uint32_t count = range.count;
  drawn->count = 0;
  if (count != range.total || !drawn->handles.commit(count) || !drawn->positions.commit(count) || !drawn->indices.commit(count)) return;
  memcpy(drawn->handles.data(), batch + layout.offsets[EXRP_BATCH_PICK_EPISODE], size_t{count} * sizeof(double));
  memcpy(drawn->positions.data(), batch + layout.offsets[EXRP_BATCH_PICK_POSITION], size_t{count} * sizeof(int32_t));
  memcpy(drawn->indices.data(), indices, size_t{count} * sizeof(uint32_t));
  drawn->changeCount = replay_.book().changeCount();
  drawn->view = view.number;
  drawn->count = count;
}

/// Whether these are the picks that were drawn last from this view, and nothing has changed since.
bool Drawing::areDrawn(const DrawnPicks& drawn, uint32_t view, const double* handles, const int32_t* positions, uint32_t count) const {
  return count > 0 && drawn.count == count && drawn.view == view && drawn.changeCount == replay_.book().changeCount() &&
         memcmp(drawn.handles.data(), handles, size_t{count} * sizeof *handles) == 0 &&
         memcmp(drawn.positions.data(), positions, size_t{count} * sizeof *positions) == 0;
}

Status Drawing::gatherBatch(ThreadScratch& thread, PickView& view, const uint32_t* indices, const double* probabilities, BatchRange range,
                            double beta, double probabilityMin, bool weighted, uint8_t* batch, double batchBytes) {
  const Status status = checkBatch(thread, view, range, beta, batchBytes);
  if (status != Status::ok) return status;
  for (uint32_t index = 0; index < range.count; ++index) {
    if (indices[index] >= view.picks.count()) return fail(Status::pickIndex, index, indices[index], view.picks.count());
    if (!(probabilities[index] > 0 && probabilities[index] <= 1)) return fail(Status::argument, 4, probabilities[index]);
  }
  if (!(probabilityMin >= 0 && probabilityMin <= 1)) return fail(Status::argument, 9, probabilityMin);
  if (!thread.episodes.commit(range.count)) return fail(Status::memory, 4.0 * range.count);
  const Status gathered = gather(thread, view, {indices, probabilities, range.count, probabilityMin, weighted}, range, beta, batch);
  if (gathered == Status::ok) replay_.book().noteChange();
  return gathered;
}

/// Fills the range of a batch with the picks that were chosen. It fails only where rows can't be read from the disk, and has changed nothing then.
Status Drawing::gather(ThreadScratch& thread, PickView& view, const ChosenPicks& chosen, const BatchRange& range, double beta, uint8_t* batch) {
  const uint32_t count = chosen.count;
  const PickPolicy& policy = view.picks.policy();
  BatchScratch& scratch = thread.batchOf(view.number, range.addresses);
  const BatchLayout& layout = scratch.layout;
  view.picks.prefetchFirst(chosen.indices, count);
  const auto floats = [&](uint32_t part) { return reinterpret_cast<float*>(batch + layout.offsets[part]) + range.first; };
  float* const probability = floats(EXRP_BATCH_PROBABILITY);
  for (uint32_t index = 0; index < count; ++index) probability[index] = static_cast<float>(chosen.probabilities[index]);
  float* const weight = floats(EXRP_BATCH_IMPORTANCE_WEIGHT);
  if (chosen.weighted) {
    importanceWeights(chosen.probabilities, count, beta, chosen.probabilityMin, avx2_, weight);
  } else {
    for (uint32_t index = 0; index < count; ++index) weight[index] = 1.0f;
  }
  const BatchTarget target = batchTarget(replay_.book().store(), policy, layout, batch);
  Store& store = replay_.book().store();
  // A shared replay has a queue of its own. What is to be transformed is copied at once.
  const bool isQueued = view.transformed == nullptr && LargeCopier::isShared(layout.offsets[EXRP_BATCH_BYTES]) && *store.copiesPlace() == nullptr;
  if (isQueued) [[unlikely]] {
    thread.copies.clear();
    store.setCopies(&thread.copies);
  }
  const GatherJob job = {replay_.book().episodes(), replay_.book().blocks(), view.picks, chosen.indices, range, target, thread.episodes.data(), scratch,
                         view.drawnCount};
  Status status = range.addresses ? checkMirrored(view, job) : Status::ok;
  const Gatherer& gatherer = view.gatherer(range.addresses);
  const bool needsNone = range.addresses && view.addressed->needsNoSource() && store.source() != nullptr && !store.source()->hasUnread();
  if (status == Status::ok) [[likely]] {
    if (store.source() == nullptr || needsNone) [[likely]] gatherer.gather(job);
    else status = gatherInParts(view, gatherer, job);
  }
  if (status != Status::ok) {
    if (isQueued) {
      store.setCopies(nullptr);
      thread.copies.unpin();
    }
    return status;
  }
  if (view.transformed != nullptr) ++view.drawnCount;
  if (isQueued) [[unlikely]] {
    store.setCopies(nullptr);
    copier_.run(thread.copies);
    // A seat that holds a shared replay is pinned by its queue, too.
    thread.copies.unpin();
  }
  if (clearsPadding) clearPadding(layout, partCount(view), batch);
  if (EvictionPolicy* const eviction = replay_.eviction()) eviction->sampled(thread.episodes.data(), count);
  return Status::ok;
}

/// Where the mirror lacks blocks that can't be read, refuses picks with a row of one.
Status Drawing::checkMirrored(const PickView& view, const GatherJob& job) const {
  const MirroredRows& mirrored = replay_.book().part<MirroredRows>();
  if (mirrored.unreadableCount() == 0) [[likely]] return Status::ok;
  const Store& store = replay_.book().store();
  Locator locator;
  locator.create(store, view.picks.policy(), 0);
  uint32_t block = blockNone;
  const auto has = [&](uint32_t of) { return mirrored.has(block = of); };
  for (uint32_t at = 0; at < job.range.count; ++at) {
    const uint32_t slot = job.picks.slot(job.indices[at]);
    if (forEachBlock(store, locator.locate(job.episodes, slot), slot, has)) continue;
    const LogPlace& place = replay_.book().part<LoggedRows>().place(block);
    return fail(Status::log, EXRP_LOG_ROWS, place.segment, place.offset, mirrored.unreadableError());
  }
  return Status::ok;
}

/// Gathers a batch of a replay that may be larger than memory: as many picks at a time as there is memory for the blocks of.
[[gnu::noinline]] Status Drawing::gatherInParts(const PickView& view, const Gatherer& gatherer, const GatherJob& job) {
  const Store& store = replay_.book().store();
  RowSource& source = *store.source();
  Locator locator;
  locator.create(store, view.picks.policy(), 0);
  const bool addsRewards = view.picks.policy().returnToGo;
  const auto addBlocks = [&](uint32_t slot, bool isFirst) {
    uint32_t block = blockNone;
    if (!forEachBlock(store, locator.locate(job.episodes, slot), slot, [&](uint32_t of) { return source.add(block = of, isFirst); })) return false;
    // Returns to go need all rewards up to the last one. They never leave memory again.
    for (block = store.block(block).next; addsRewards && block != blockNone; block = store.block(block).next) {
      if (source.isUnread(block) && !source.add(block, isFirst)) return false;
    }
    return true;
  };
  for (uint32_t first = 0, end = 0; first < job.range.count; first = end) {
    source.begin();
    while (end < job.range.count && addBlocks(job.picks.slot(job.indices[end]), end == first)) ++end;
    if (const Status status = source.fetch(); status != Status::ok) return status;
    const BatchRange range = {job.range.first + first, end - first, job.range.total};
    if (first > 0) job.picks.prefetchFirst(job.indices + first, range.count);
    gatherer.gather({job.episodes, job.blocks, job.picks, job.indices + first, range, job.target, job.pickedEpisodes + first, job.scratch, job.drawn});
    CopyQueue* const copies = *store.copiesPlace();
    if (range.count == job.range.count || copies == nullptr || copies->isEmpty()) continue;
    // The next part needs the memory.
    copier_.run(*copies);
    copies->clear();
    copies->unpin();
  }
  source.begin();
  return Status::ok;
}

Status Drawing::redraw(ThreadScratch& thread, uint32_t selector, uint32_t count) {
  Status status = replay_.picks().checkSelector(selector);
  if (status != Status::ok) return status;
  PickView& view = replay_.picks().viewOf(selector);
  if (count < 1 || count > EXRP_LIMIT_BATCH || view.picks.count() == 0) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  ChosenPicks chosen = {};
  status = choose(thread, selector, count, &chosen);
  if (status == Status::ok) status = regather(thread, view, chosen.indices, count);
  if (status == Status::ok) statistics_.note(selector, view.picks, chosen.indices, count);
  return status;
}

Status Drawing::regather(ThreadScratch& thread, PickView& view, const uint32_t* indices, uint32_t count) {
  if (count < 1 || count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  if (!thread.episodes.commit(count)) return fail(Status::memory, 4.0 * count);
  const Store& store = replay_.book().store();
  for (uint32_t index = 0; index < count; ++index) {
    if (indices[index] >= view.picks.count()) return fail(Status::pickIndex, index, indices[index], view.picks.count());
    thread.episodes[index] = store.head(store.blockOf(view.picks.slot(indices[index]))).episode;
  }
  replay_.book().noteChange();
  if (view.transformed != nullptr) ++view.drawnCount;
  if (EvictionPolicy* const eviction = replay_.eviction()) eviction->sampled(thread.episodes.data(), count);
  return Status::ok;
}

// ---- the picks of a view ----

Status Drawing::findPicks(const PickIndex& picks, const double* handles, const int32_t* positions, uint32_t count,
                         uint32_t* indices) const {
  for (uint32_t index = 0; index < count; ++index) {
    if (const Status status = replay_.book().checkHandle(handles[index]); status != Status::ok) return status;
    if (positions[index] < 0) return fail(Status::argument, 3, positions[index]);
  }
  const auto handleAt = [&](uint32_t at) { return static_cast<uint64_t>(static_cast<int64_t>(handles[at])); };
  const auto positionAt = [&](uint32_t at) { return static_cast<uint32_t>(positions[at]); };
  const uint32_t* const pickSlots = picks.slots();
  const uint32_t pickCount = picks.count();
  const BlockHead* const heads = replay_.book().store().heads();
  const Episode* const episodes = &replay_.book().episodes()[0];
  const uint32_t blockShift = replay_.book().store().blockShift();
  const uint32_t withinMask = replay_.book().store().blockLength() - 1;
  // Whether the guess for a pick is right.
  const auto isKnown = [&](uint32_t at) {
    const uint32_t index = indices[at];
    if (index >= pickCount) return false;
    const uint32_t slot = pickSlots[index];
    const BlockHead head = heads[slot >> blockShift];
    const uint64_t differs = (episodes[head.episode].handle ^ handleAt(at)) |
                             (((head.link >> 1 << blockShift) + (slot & withinMask)) ^ positionAt(at));
    return differs == 0;
  };
  // A batch whose picks are not those guessed is told by a few of them.
  const bool areGuessed = count > 0 && (isKnown(0) || isKnown(count / 2) || isKnown(count - 1));
  const Store& store = replay_.book().store();
  uint32_t left[BlockIndex::findPiece];
  uint32_t slots[BlockIndex::findPiece];
  for (uint32_t first = 0; first < count; first += BlockIndex::findPiece) {
    const uint32_t end = count - first < BlockIndex::findPiece ? count : first + BlockIndex::findPiece;
    uint32_t leftCount = 0;
    for (uint32_t at = first; areGuessed && at < end; ++at) picks.prefetchSlot(indices[at]);
    for (uint32_t at = first; at < end; ++at) {
      if (!areGuessed || !isKnown(at)) left[leftCount++] = at;
    }
    replay_.book().blocks().findMany(
        store, leftCount, [&](uint32_t k) { return handleAt(left[k]); },
        [&](uint32_t k) { return store.ordinalOf(positionAt(left[k])); },
        [&](uint32_t k, uint32_t block) {
          slots[k] = block == blockNone ? UINT32_MAX : store.slotAt(block, positionAt(left[k]));
          if (block != blockNone) picks.prefetchIndexOf(slots[k]);
        });
    for (uint32_t k = 0; k < leftCount; ++k) indices[left[k]] = slots[k] == UINT32_MAX ? pickNone : picks.indexOf(slots[k]);
  }
  return Status::ok;
}

Status Drawing::listPicks(const PickIndex& picks, uint32_t first, uint32_t count, double* handles, int32_t* positions) const {
  if (first > picks.count() || count > picks.count() - first) return fail(Status::pickIndex, 0, first, picks.count());
  const Store& store = replay_.book().store();
  for (uint32_t index = 0; index < count; ++index) {
    const uint32_t slot = picks.slot(first + index);
    handles[index] = static_cast<double>(store.handleOf(store.blockOf(slot)));
    positions[index] = static_cast<int32_t>(store.positionOf(slot));
  }
  return Status::ok;
}

Status Drawing::listPriorities(const PickIndex& picks, uint32_t first, uint32_t count, double* priorities) const {
  if (first > picks.count() || count > picks.count() - first) return fail(Status::pickIndex, 0, first, picks.count());
  for (uint32_t index = 0; index < count; ++index) priorities[index] = replay_.picks().initialPriorities().get(picks.slot(first + index));
  return Status::ok;
}

// ---- priorities ----

Status Drawing::getPriority(ThreadScratch& thread, uint32_t selector, const double* handles, const int32_t* positions, uint32_t count,
                            double* priorities) const {
  Status status = replay_.picks().checkSelector(selector);
  if (status != Status::ok) return status;
  const PickSelector& rule = replay_.picks().selector(selector);
  if (!rule.getPriority(nullptr, 0, nullptr)) return fail(Status::argument, 2, selector);
  if (count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  if (!thread.indices.commit(count)) return fail(Status::memory, 4.0 * count);
  uint32_t* const found = thread.indices.data();
  status = findPicks(replay_.picks().viewOf(selector).picks, handles, positions, count, found);
  if (status != Status::ok) return status;
  for (uint32_t index = 0; index < count; ++index) {
    if (found[index] == pickNone) {
      priorities[index] = std::numeric_limits<double>::quiet_NaN();
    } else {
      rule.getPriority(found + index, 1, priorities + index);
    }
  }
  return Status::ok;
}

Status Drawing::setPriority(ThreadScratch& thread, uint32_t selector, const double* handles, const int32_t* positions,
                            const uint8_t* priorities, uint32_t prioritySize, uint32_t count, uint32_t* applied) {
  const bool isOwn = EXRP_INDEX_NONE - selector >= replay_.picks().viewCount();  // else of the caller's
  Status status = isOwn ? replay_.picks().checkSelector(selector) : Status::ok;
  if (status != Status::ok) return status;
  const PickView& view = isOwn ? replay_.picks().viewOf(selector) : replay_.picks().view(EXRP_INDEX_NONE - selector);
  const PickIndex& picks = view.picks;
  if (prioritySize != sizeof(float) && prioritySize != sizeof(double)) return fail(Status::argument, 6, prioritySize);
  if (count > EXRP_LIMIT_BATCH) return fail(Status::batchSize, count, EXRP_LIMIT_BATCH);
  EvictionPolicy* const eviction = replay_.eviction();
  const bool evictionListens = eviction != nullptr && eviction->wantsPriorities();
  if (!thread.indices.commit(count) || !thread.numbers.commit(count) || (evictionListens && !thread.episodes.commit(count))) {
    return fail(Status::memory, 16.0 * count);
  }

  double* priority = thread.numbers.data();
  if (prioritySize == sizeof(double)) {
    if (count > 0) memcpy(priority, priorities, size_t{count} * sizeof(double));
  } else {
    for (uint32_t index = 0; index < count; ++index) {
      float single = 0;
      memcpy(&single, priorities + size_t{index} * sizeof(float), sizeof(float));
      priority[index] = single;
    }
  }
  // All are looked at together first, which takes no branch for each: a plain loop takes 5 % of the call.
  bool areRight = true;
  for (uint32_t index = 0; index < count; ++index) areRight &= isPriority(priority[index]);
  for (uint32_t index = 0; !areRight && index < count; ++index) {
    if (!isPriority(priority[index])) return fail(Status::priorityInvalid, index, priority[index]);
  }
  const uint32_t* found = thread.drawn.indices.data();
  uint32_t kept = count;
  const bool known = areDrawn(thread.drawn, view.number, handles, positions, count);
  if (!known) {
    uint32_t* const indices = thread.indices.data();
    found = indices;
    status = findPicks(picks, handles, positions, count, indices);
    if (status != Status::ok) return status;
    kept = 0;
    for (uint32_t index = 0; index < count; ++index) {
      if (indices[index] == pickNone) continue;
      indices[kept] = indices[index];
      priority[kept++] = priority[index];
    }
  }
  replay_.book().noteChange();
  if (known) thread.drawn.changeCount = replay_.book().changeCount();  // a priority moves no pick
  // Before the selector, which may write over the priorities.
  if (evictionListens) {
    uint32_t* episodes = thread.episodes.data();
    const Store& store = replay_.book().store();
    for (uint32_t at = 0; at < kept; ++at) episodes[at] = store.head(store.blockOf(picks.slot(found[at]))).episode;
    eviction->prioritized(episodes, priority, kept);
  }
  if (isOwn) {
    const EpisodeOrder order(replay_.book().store(), replay_.book().blocks(), picks);
    replay_.picks().selector(selector).setPriorityInOrder(found, priority, kept, order);
  }
  *applied = kept;
  return Status::ok;
}

}  // namespace exrp
