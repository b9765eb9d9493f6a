#include "kernel/batches/rolling_walk.hpp"

#include <cstring>

#include "kernel/base/copy_row.hpp"
#include "kernel/base/cpu.hpp"

namespace exrp {

void RollingWalk::run(const WalkJob& job, const CopyAlone& alone) const {
  constexpr uint32_t g = groupCount;
  const uint32_t count = job.range.count;
  const size_t first = job.range.first;
  const Sources from = {job.table.slots(), store_->heads(), &job.episodes[0], store_->groupRow(0, 0), stride_, lastByte_, lines_,
                        reach_, lastUnit_};
  uint8_t nowhere[columnAloneBytes];  // for next states that nobody wants
  StateTarget target = {job.target.columns[0] + first * stateBytes_, nowhere, stateBytes_, 0};
  if (policy_.nextState == EXRP_NEXT_STATE_COPY) {
    target.next = job.target.nextState + first * stateBytes_;
    target.nextStep = stateBytes_;
  } else if (policy_.nextState == EXRP_NEXT_STATE_OVERLAP) {
    target.state = job.target.columns[0] + first * 2 * stateBytes_;
    target.next = target.state + stateBytes_;
    target.stateStep = target.nextStep = 2 * stateBytes_;
  }
  noteRolled();
  fill(job);
  Group ring[4];
  const auto groupOf = [&](uint32_t pick) { return &ring[pick / g % 4]; };
  const auto countOf = [&](uint32_t begin) { return begin < count ? smaller(g, count - begin) : 0; };
  for (const uint32_t begin : {0u, g}) find(from, job.indices + begin, countOf(begin), groupOf(begin));
  if (locate(from, countOf(0), groupOf(0)) != 0) askTorn(ring[0], countOf(0));
  for (uint32_t begin = 0; begin < count; begin += g) {
    const UnderWay groups = {groupOf(begin), groupOf(begin + g), groupOf(begin + 2 * g)};
    const uint32_t* const indices = job.indices + begin;
    Seen seen;
    if (begin + 4 * g <= count) {
      seen = stages_.all(from, indices, g, groups, target);
    } else {
      ask(job.table, indices + 3 * g, countOf(begin + 3 * g));
      find(from, indices + 2 * g, countOf(begin + 2 * g), groups.found);
      seen.torn = locate(from, countOf(begin + g), groups.located);
      seen.cut = stages_.copy(from, indices, countOf(begin), groups, target).cut;
    }
    if (seen.torn != 0) askTorn(*groups.located, countOf(begin + g));
    finish(job, alone, begin, countOf(begin), seen.cut != 0, *groups.copied, target.next, target.nextStep);
    target.state += g * target.stateStep;
    target.next += g * target.nextStep;
  }
}

// ---- the stages ----

void RollingWalk::ask(const PickTable& table, const uint32_t* indices, uint32_t count) {
  const uint32_t* const slots = table.slots();
  for (uint32_t k = 0; k < count; ++k) prefetchLine(slots + indices[k]);
}

EXRP_INLINE void RollingWalk::findOne(const Sources& from, uint32_t index, uint32_t k, Group* group) {
  const uint32_t slot = from.slots[index];
  prefetchLine(from.heads + (slot >> blockShift));
  const uint8_t* const row = from.rows + size_t{slot} * from.stride;
  prefetchLineFar(row);
  if (from.lines > 1) prefetchLineFar(row + lineBytes);
  if (from.lines > 2) prefetchLineFar(row + 2 * lineBytes);
  for (uint32_t line = 3; line < from.lines; ++line) prefetchLineFar(row + size_t{line} * lineBytes);
  prefetchLineFar(row + from.lastByte);
  group->slots[k] = slot;
  group->rows[k] = row;
}

/// 1 where the pick's rows are torn, else 0.
EXRP_INLINE uint32_t RollingWalk::locateOne(const Sources& from, uint32_t k, Group* group) {
  const uint32_t slot = group->slots[k];
  const BlockHead head = from.heads[slot >> blockShift];
  prefetchLine(from.episodes + head.episode);
  const uint32_t within = slot & ((1u << blockShift) - 1);
  group->episodes[k] = head.episode;
  group->positions[k] = (head.link >> 1 << blockShift) + within;
  // Where the next block is the one behind, the rows run on to its end.
  const uint32_t torn = (1u << blockShift) - within + ((head.link & 1) << blockShift) <= from.reach ? 1 : 0;
  group->cuts[k] = torn;
  return torn;
}

void RollingWalk::find(const Sources& from, const uint32_t* indices, uint32_t count, Group* group) {
  for (uint32_t k = 0; k < count; ++k) findOne(from, indices[k], k, group);
}

uint32_t RollingWalk::locate(const Sources& from, uint32_t count, Group* group) {
  uint32_t torn = 0;
  for (uint32_t k = 0; k < count; ++k) torn |= locateOne(from, k, group);
  return torn;
}

/// Asks for the rows that torn picks have elsewhere.
void RollingWalk::askTorn(const Group& group, uint32_t count) const {
  for (uint32_t k = 0; k < count; ++k) {
    if (group.cuts[k] != 0) prefetchTorn(group.slots[k]);
  }
}

/// Copies states and next states of a group; `State` is the RowValue of the state column. Where a pick is not whole, its own state stands in
/// for its next one. `all`: does the other stages of the groups behind too, which must be full.
template <typename State, bool all>
EXRP_INLINE RollingWalk::Seen RollingWalk::copyBody(const Sources& from, const uint32_t* indices, uint32_t count,
                                                    const UnderWay& groups, const StateTarget& target) {
  constexpr uint32_t g = groupCount;
  const Sources f = from;
  Group* const copied = groups.copied;
  Group* const located = groups.located;
  Group* const found = groups.found;
  uint8_t* state = target.state;
  uint8_t* next = target.next;
  const size_t stateStep = target.stateStep;
  const size_t nextStep = target.nextStep;
  Seen seen;
  const uint32_t end = all ? g : count;
  for (uint32_t k = 0; k < end; ++k) {
    if constexpr (all) {
      prefetchLine(f.slots + indices[3 * g + k]);
      findOne(f, indices[2 * g + k], k, found);
      seen.torn |= locateOne(f, k, located);
    }
    const Episode& episode = f.episodes[copied->episodes[k]];
    copied->handles[k] = static_cast<double>(static_cast<int64_t>(episode.handle));
    const uint32_t isCut = copied->cuts[k] | (episode.count - copied->positions[k] <= f.reach ? 2 : 0);
    const uint8_t* const row = copied->rows[k];
    size_t step = f.stride;
    if (__builtin_expect(isCut != 0, 0)) {
      copied->cuts[k] = isCut;
      seen.cut = 1;
      step = 0;
      // With this empty statement the compiler keeps the branch. A conditional move would let the next row wait for the episode.
      asm volatile("" : "+r"(step));
    }
    State value;
    value.read(row, f.lastUnit);
    value.write(state, f.lastUnit);
    value.read(row + step, f.lastUnit);
    value.write(next, f.lastUnit);
    state += stateStep;
    next += nextStep;
  }
  return seen;
}

template <typename State, bool all>
RollingWalk::Seen RollingWalk::copyPlain(const Sources& from, const uint32_t* indices, uint32_t count, const UnderWay& groups,
                                         const StateTarget& target) {
  return copyBody<State, all>(from, indices, count, groups, target);
}

template <typename State, bool all>
EXRP_AVX2 RollingWalk::Seen RollingWalk::copyAvx2(const Sources& from, const uint32_t* indices, uint32_t count, const UnderWay& groups,
                                         const StateTarget& target) {
  return copyBody<State, all>(from, indices, count, groups, target);
}

/// What fits states of so many bytes; nothing where none does.
RollingWalk::Fit RollingWalk::fitFor(uint32_t stateBytes) {
  const auto plain = [&]<typename State>(State) { return Fit{{copyPlain<State, false>, copyPlain<State, true>}, State::lastOf(stateBytes)}; };
  const auto avx2 = [&]<typename State>(State) { return Fit{{copyAvx2<State, false>, copyAvx2<State, true>}, State::lastOf(stateBytes)}; };
  if (stateBytes > 96) return stateBytes > 128 ? Fit() : avx2(RowValue<RowUnit32, 4>());
  if (stateBytes > 64) return avx2(RowValue<RowUnit32, 3>());
  if (stateBytes > 32) return avx2(RowValue<RowUnit32, 2>());
  if (stateBytes > 16) return plain(RowValue<RowUnit16, 2>());
  return stateBytes == 0 ? Fit() : visitRowValue(stateBytes, plain);
}

void RollingWalk::create(const Store& store, const PickPolicy& policy) {
  if (policy.length != 1 || policy.nStepCount > 0 || !likesRolling() || !hasAvx2()) return;
  if (store.blockShift() != blockShift || store.column(0).offset != 0) return;
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (store.isAlone(column) || store.isKept(column)) return;
  }
  const uint32_t stateBytes = store.column(0).bytes;
  const Fit fit = fitFor(stateBytes);
  if (fit.stages.copy == nullptr || !createPicks(store, policy)) return;
  stages_ = fit.stages;
  lastUnit_ = fit.lastUnit;
  for (uint32_t index = 0; index < partCount_; ++index) copyParts_[index] = copyRunsOf(parts_[index].bytes, true, true);
}

// ---- what comes after them ----

/// Copies the other parts of a group, and puts right the picks that are not whole. Its next states go to `next`.
void RollingWalk::finish(const WalkJob& job, const CopyAlone& alone, uint32_t begin, uint32_t count, bool anyCut, const Group& group,
                         uint8_t* next, size_t nextStep) const {
  const size_t to = job.range.first + begin;
  memcpy(job.target.pickEpisode + to, group.handles, count * sizeof *group.handles);
  memcpy(job.target.pickPosition + to, group.positions, count * sizeof *group.positions);
  memcpy(job.pickedEpisodes + begin, group.episodes, count * sizeof *group.episodes);
  const Runs runs = {group.rows, count, 1, stride_};
  for (uint32_t index = 0; index < partCount_; ++index) {
    const Part& part = parts_[index];
    copyParts_[index](runs, part.offset, part.bytes, job.target.columns[part.column] + to * part.bytes);
  }
  for (uint32_t k = 0; anyCut && k < count; ++k) {
    if (group.cuts[k] != 0) mend(job, alone, begin + k, group.slots[k], (group.cuts[k] & 1) != 0, next + k * nextStep);
  }
}

/// What a pick needs whose rows are torn, or which is so near its episode's end that it matters.
void RollingWalk::mend(const WalkJob& job, const CopyAlone& alone, uint32_t pick, uint32_t slot, bool isTorn, uint8_t* next) const {
  const Episode& episode = job.episodes[job.pickedEpisodes[pick]];
  const size_t index = job.range.first + pick;
  const auto position = static_cast<uint32_t>(job.target.pickPosition[index]);
  // Where an ended episode has the pick's record, the rows are there up to the final state.
  if (isTorn || !episode.ended()) return alone.call(alone.context, episode, {slot, position}, index);
  const uint8_t* const row = store_->groupRow(0, slot);
  copyRow(next, row + stride_, stateBytes_);
  mendEnd(job, row, episode.count - position, episode.state == EXRP_EPISODE_TERMINATED, index);
}

}  // namespace exrp
