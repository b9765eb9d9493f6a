#include "kernel/batches/plain_walk.hpp"

#include <bit>
#include <cstring>

#include "kernel/base/cpu.hpp"

namespace exrp {

void PlainWalk::create(const Store& store, const PickPolicy& policy) {
  const bool avx2 = hasAvx2();
  const bool single = policy.length == 1;
  const uint32_t stateBytes = store.column(0).bytes;
  copyBoth_ = copyBothOf(stateBytes, single, avx2);
  // With the overlap there is one row more.
  copyStates_ = copyRunsOf(stateBytes, single && policy.nextState != EXRP_NEXT_STATE_OVERLAP, avx2);
  if (copyStates_ == nullptr || !createPicks(store, policy)) return;
  constexpr Find ofLines[] = {find<0>, find<1>, find<2>, find<3>, find<4>, find<5>, find<6>};
  find_ = lines_ < sizeof ofLines / sizeof *ofLines ? ofLines[lines_] : find<0>;
  lookUp_ = store.blockShift() == commonShift ? lookUp<commonShift> : lookUp<0>;
  for (uint32_t index = 0; index < partCount_; ++index) copyParts_[index] = copyRunsOf(parts_[index].bytes, single, avx2);
}

/// Asks for the picks' entries in the table.
void PlainWalk::ask(const PickTable& table, const uint32_t* indices, uint32_t count) {
  const uint32_t* const slots = table.slots();
  for (uint32_t k = 0; k < count; ++k) prefetchLineFar(slots + indices[k]);
}

/// Reads the picks' slots, asks for their blocks and their rows. `lines`: of each pick's rows; 0 where that isn't known before.
template <uint32_t lines>
void PlainWalk::find(const PlainWalk& walk, const WalkJob& job, uint32_t number, Flight* flight) {
  const Store& store = *walk.store_;
  const uint32_t* const slots = job.table.slots();
  const uint32_t* const indices = job.indices + number * flightCount;
  const BlockHead* const heads = store.heads();
  const uint8_t* const rows = store.groupRow(0, 0);
  const uint32_t blockShift = store.blockShift();
  const size_t stride = walk.stride_;
  const size_t lastByte = walk.lastByte_;
  const uint32_t lineCount = lines == 0 ? walk.lines_ : lines;
  const uint32_t count = sizeOf(job, number);
  uint32_t k = 0;
  for (; k < count; ++k) {
    const uint32_t slot = slots[indices[k]];
    prefetchLineFar(heads + (slot >> blockShift));
    const uint8_t* row = rows + size_t{slot} * stride;
    for (uint32_t line = 0; line < lineCount; ++line) prefetchLineFar(row + size_t{line} * lineBytes);
    prefetchLineFar(row + lastByte);
    flight->slots[k] = slot;
    flight->rows[k] = row;
  }
  for (; k % laneCount != 0; ++k) flight->slots[k] = flight->slots[0];
}

/// Reads the heads of the picks' blocks: names their episodes, asks for these, and says whether the rows stand together.
void PlainWalk::locate(const WalkJob& job, uint32_t number, Flight* flight) const {
  const BlockHead* const heads = store_->heads();
  const Episode* const episodes = &job.episodes[0];
  const uint32_t blockShift = store_->blockShift();
  const uint32_t blockLength = 1u << blockShift;
  const uint32_t reach = reach_;
  const uint32_t count = sizeOf(job, number);
  Lanes anyTorn = {};
  for (uint32_t first = 0; first < count; first += laneCount) {
    alignas(sizeof(Lanes)) uint32_t links[laneCount];
    for (uint32_t k = 0; k < laneCount; ++k) {
      const BlockHead& head = heads[flight->slots[first + k] >> blockShift];
      prefetchLineFar(episodes + head.episode);
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
  const size_t to = job.range.first + number * flightCount;
  memcpy(job.target.pickPosition + to, flight->positions, count * sizeof(uint32_t));
  memcpy(job.pickedEpisodes + number * flightCount, flight->episodes, count * sizeof(uint32_t));
  if (!anyOf(anyTorn)) return;
  for (uint32_t k = 0; k < count; ++k) {
    if (flight->torn[k] != 0) prefetchTorn(flight->slots[k]);
  }
}

/// locate()s the picks, names their episodes by their handles, and copies what of the picks is whole. Returns how many are apart.
uint32_t PlainWalk::copyWhole(const WalkJob& job, uint32_t number, Flight* flight) const {
  locate(job, number, flight);
  const Episode* const episodes = &job.episodes[0];
  const uint32_t reach = reach_;
  const uint32_t count = sizeOf(job, number);
  double* const pickEpisode = job.target.pickEpisode + job.range.first + number * flightCount;
  Lanes anyCut = {};
  alignas(sizeof(Lanes)) uint32_t cut[flightCount];
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
  if (!anyOf(anyCut)) {
    copyParts(job, flight->rows, number * flightCount, count);
    return 0;
  }
  uint32_t cutCount = 0;
  for (uint32_t k = 0; k < count; ++k) {
    flight->cuts[cutCount] = k;
    cutCount += cut[k] & 1;
  }
  return copyCut(job, number, cutCount, flight);
}

/// Finds out what locate() and copyWhole() do, but pick by pick: in WebAssembly their vectors cost more than they save. Returns how many
/// picks are cut. `shift`: of the store's blocks; 0 where that isn't known before.
template <uint32_t shift>
uint32_t PlainWalk::lookUp(const PlainWalk& walk, const WalkJob& job, uint32_t number, Flight* flight) {
  const BlockHead* const heads = walk.store_->heads();
  const Episode* const episodes = &job.episodes[0];
  const uint32_t blockShift = shift == 0 ? walk.store_->blockShift() : shift;
  const uint32_t blockLength = 1u << blockShift;
  // A pick is cut where fewer records than this are left, in its episode or before a tear. Then one of two differences is below zero.
  const uint32_t needed = walk.reach_ + 1;
  const uint32_t runMin = blockLength - needed;
  const uint32_t first = number * flightCount;
  double* const handles = job.target.pickEpisode + job.range.first + first;
  int32_t* const positions = job.target.pickPosition + job.range.first + first;
  uint32_t* const picked = job.pickedEpisodes + first;
  const uint32_t count = sizeOf(job, number);
  uint32_t cutCount = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const uint32_t slot = flight->slots[k];
    const auto head = std::bit_cast<uint64_t>(heads[slot >> blockShift]);  // by one access
    const auto owner = static_cast<uint32_t>(head);
    const auto link = static_cast<uint32_t>(head >> 32);
    const uint32_t within = slot & (blockLength - 1);
    const uint32_t position = (link >> 1 << blockShift) + within;
    const Episode& episode = episodes[owner];
    picked[k] = owner;
    positions[k] = static_cast<int32_t>(position);
    handles[k] = static_cast<double>(static_cast<int64_t>(episode.handle));
    const auto left = static_cast<int32_t>(episode.count - position - needed);
    const auto run = static_cast<int32_t>(runMin - within + ((link & 1) << blockShift));
    if ((left | run) < 0) flight->cuts[cutCount++] = k;
  }
  return cutCount;
}

/// The same as copyWhole(), by lookUp().
uint32_t PlainWalk::copyLookedUp(const WalkJob& job, uint32_t number, Flight* flight) const {
  const uint32_t cutCount = lookUp_(*this, job, number, flight);
  if (cutCount > 0) return copyCut(job, number, cutCount, flight);
  copyParts(job, flight->rows, number * flightCount, sizeOf(job, number));
  return 0;
}

/// copyWhole() of a flight that has `cutCount` picks which are torn, or so near their episodes' ends that it matters.
uint32_t PlainWalk::copyCut(const WalkJob& job, uint32_t number, uint32_t cutCount, Flight* flight) const {
  const uint32_t first = number * flightCount;
  const uint32_t count = sizeOf(job, number);
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
    // Where an ended episode has all of a pick's records, the rows are there up to the final state.
    const uint32_t k = cuts[at];
    const uint32_t left = leftOf(k);
    const bool hasRows = left > reach_ || (left >= policy_.length && episodeOf(k).ended());
    if (hasRows && !isTorn(flight->slots[k])) {
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
bool PlainWalk::isTorn(uint32_t slot) const {
  const uint32_t run = store_->blockLength() - store_->within(slot);
  return run + (store_->head(store_->blockOf(slot)).link & 1) * store_->blockLength() <= reach_;
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
    copyParts_[index](runs, part.offset, part.bytes, target.columns[part.column] + row * part.bytes);
  }
}

}  // namespace exrp
