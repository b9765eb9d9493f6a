#include "kernel/batches/batch.hpp"

#include <cstring>

namespace exrp {
namespace {

constexpr uint32_t stepsBackMax = 4;  // blocks

uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

}  // namespace

void BatchMaker::create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax, const PipelinedCopier::Tuning& tuning,
                        const ColumnTransform* reward, bool canQueue, const AddressedColumns& addressed) {
  store_ = &store;
  policy_ = policy;
  if (canQueue) large_.useQueue(store.copiesPlace());
  // The flights know stored rewards only, and rows.
  if (addressed.columns == 0 && (reward == nullptr || !policy.hasReturns())) pipelined_.create(store, policy, tuning);
  window_.create(store, policy, recordCountMax, reward, canQueue, addressed);
}

Status BatchMaker::createScratch(uint32_t, BatchScratch* scratch) const {
  const size_t bytes = pipelined_.takes() ? pipelined_.joinedBytes() : 0;
  return scratch->joined.commit(bytes) ? window_.createScratch(&scratch->window) : fail(Status::memory, static_cast<double>(bytes));
}

void BatchMaker::gather(const GatherJob& job) const { pipelined_.takes() ? copyFlights(job) : copyRing(job); }

// ---- the flights ----

void BatchMaker::copyFlights(const GatherJob& job) const {
  pipelined_.run(
      job, job.scratch.joined.data(),
      [&](const FlightPick& pick, size_t index) { window_.copy(job.episodes, pick.slot, index, job.target, job.scratch.window); },
      [&](uint32_t slot) {
        prefetchLineFar(&store_->block(store_->blockOf(slot)));
        prefetchRows(slot, policy_.length, uint64_t{1} << store_->column(0).group);
        store_->packed().prefetch(store_->blockOf(slot));
      },
      [&](const FlightPick& pick, bool isWhole, size_t index) {
        copyKept(job, pick.slot, pick.position, index);
        if (isWhole) copyLargeColumns(pick.slot, index, job.target, job.scratch.window);
      });
  window_.finish(job.target, job.scratch.window);
}

/// Copies the rows of a pick's large columns, which lie one after another.
inline void BatchMaker::copyLargeColumns(uint32_t slot, size_t index, const BatchTarget& target, WindowScratch& scratch) const {
  for (uint32_t column = 0; column < store_->columnCount(); ++column) {
    if (!store_->isWide(column)) continue;
    const size_t bytes = size_t{policy_.length} * store_->column(column).bytes;
    uint8_t* const to = target.columns[column] + index * bytes;
    if (store_->isPacked(column)) window_.copyPackedRows(column, slot, policy_.length, to, scratch);
    else large_.copy(to, store_->at(column, slot), bytes, scratch.queue);
  }
}

// ---- the ring ----

void BatchMaker::copyRing(const GatherJob& job) const {
  const uint32_t count = job.range.count;
  Pick ring[ringCount];
  constexpr uint32_t d = stageDistance;
  for (uint32_t step = 0; step < count + 3 * d; ++step) {
    if (step < count) job.picks.prefetchSlot(job.indices[step]);
    if (step >= d && step - d < count) {
      Pick& pick = ring[(step - d) % ringCount];
      pick.slot = job.picks.slot(job.indices[step - d]);
      prefetchLine(&store_->head(store_->blockOf(pick.slot)));
      prefetchLine(&store_->block(store_->blockOf(pick.slot)));
    }
    if (step >= 2 * d && step - 2 * d < count) follow(job.episodes, &ring[(step - 2 * d) % ringCount]);
    if (step < 3 * d) continue;
    const Pick& pick = ring[(step - 3 * d) % ringCount];
    const size_t index = job.range.first + (step - 3 * d);
    job.target.pickEpisode[index] = static_cast<double>(job.episodes[pick.episode].handle);
    job.target.pickPosition[index] = static_cast<int32_t>(pick.position);
    job.pickedEpisodes[step - 3 * d] = pick.episode;
    copyKept(job, pick.slot, pick.position, index);
    window_.copy(job.episodes, pick.slot, index, job.target, job.scratch.window);
  }
  window_.finish(job.target, job.scratch.window);
}

/// Reads the pick's block, and asks for its episode and rows.
inline void BatchMaker::follow(const EpisodeList& episodes, Pick* pick) const {
  const uint32_t index = store_->blockOf(pick->slot);
  const BlockHead head = store_->head(index);
  pick->episode = head.episode;
  pick->position = store_->positionOf(pick->slot);
  prefetchLine(&episodes[head.episode]);
  prefetchWindow(pick->slot);
}

/// Asks for the lines of rows that lie one after another, in all groups whose bits are not in `groupsLeft`.
inline void BatchMaker::prefetchRows(uint32_t slot, uint32_t rowCount, uint64_t groupsLeft) const {
  for (uint32_t group = 0; group < store_->groupCount(); ++group) {
    if ((groupsLeft >> group & 1) != 0) continue;
    const size_t bytes = size_t{rowCount} * store_->groupStride(group);
    const bool isLarge = store_->groupStride(group) > columnAloneBytes && bytes > size_t{prefetchLinesMax} * lineBytes;
    if (isLarge) prefetchPages(store_->groupRow(group, slot), bytes);
    else prefetchSpan(store_->groupRow(group, slot), bytes);
  }
}

/// Asks for the lines of a pick's window, as far back as it lies in the pick's first block or in a neighbouring one. It goes block by block, as no
/// more than prefetchLinesMax lines of a piece are asked for.
void BatchMaker::prefetchWindow(uint32_t slot) const {
  const uint32_t length = store_->blockLength();
  uint32_t block = store_->blockOf(slot);
  store_->packed().prefetch(block);
  const uint32_t previous = store_->block(block).previous;
  const uint32_t back = policy_.before + policy_.stack - 1;
  const uint32_t there = store_->within(slot) + (previous != blockNone && previous + 1 == block ? length : 0);
  uint32_t left = smaller(there, back);
  slot -= left;
  left += policy_.length + policy_.ahead();
  uint32_t run = store_->firstSlot(block) + length - slot;
  // States that wait are asked for when their turn comes.
  const bool isJoined = there >= back && (run >= left || (run + length >= left && store_->block(block).next == block + 1));
  const uint64_t groupsLeft = window_.addressedGroups() | (isJoined ? window_.waitingGroups() : 0);
  while (true) {
    prefetchRows(slot, smaller(run, left), groupsLeft);
    if (run >= left) return;
    block = store_->block(block).next;
    if (block == blockNone) return;
    left -= run;
    run = length;
    slot = store_->firstSlot(block);
  }
}

// ---- columns that some records keep ----

/// Copies one row of each column that is kept for some records only: the newest one at or before the first record that the batch shows of
/// the pick. Mostly its block is a few steps back; else the block index knows it.
inline void BatchMaker::copyKept(const GatherJob& job, uint32_t slot, uint32_t position, size_t index) const {
  for (uint32_t kept = 0; kept < store_->kept().count(); ++kept) {
    const uint32_t column = store_->kept().column(kept);
    const size_t bytes = store_->column(column).bytes;
    const uint32_t first = position - (position < policy_.before ? position : policy_.before);
    const uint32_t found = first - first % store_->column(column).every;
    const uint32_t own = store_->blockOf(slot);
    uint32_t block = own;
    uint32_t steps = store_->ordinalOf(position) - store_->ordinalOf(found);
    if (steps > stepsBackMax) {
      block = job.blocks.find(*store_, store_->handleOf(own), store_->ordinalOf(found));
      steps = 0;
    }
    for (; steps > 0 && block != blockNone; --steps) block = store_->block(block).previous;
    const uint8_t* const row = block == blockNone ? store_->kept().carriedAt(column, store_->head(own).episode) : store_->kept().at(column, block, found);
    memcpy(job.target.columns[column] + index * bytes, row, bytes);
  }
}

}  // namespace exrp
