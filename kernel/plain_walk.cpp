#include "kernel/plain_walk.hpp"

#include "kernel/batch.hpp"

namespace exrp {

/// The whole pipeline for plain batches of small columns.
template <uint32_t stateBytes, bool single>
void BatchMaker::walkPlain(const BatchMaker& maker, const Walk& walk) {
  struct Found {
    const uint8_t* row;
    uint64_t handle;
    Pick pick;
  };
  constexpr uint32_t d = walkDistance;
  const Store& store = *maker.store_;
  const BatchTarget& target = walk.target;
  const uint32_t length = single ? 1 : maker.policy_.length;
  const uint32_t count = walk.place.count;
  const size_t first = walk.place.first;
  const uint8_t* const rows = store.groupRow(0, 0);
  const size_t stride = store.groupStride(0);
  const size_t stateOffset = store.column(0).offset;
  const Block* const blocks = &store.block(0);
  const uint32_t blockShift = store.blockShift();
  const uint32_t blockLength = store.blockLength();
  const size_t spanBytes = size_t{length} * stride + stateOffset + stateBytes;
  const uint32_t* const indices = walk.indices;
  uint32_t* const pickedEpisodes = walk.pickedEpisodes;
  double* const pickEpisode = walk.pickEpisode + first;
  int32_t* const pickPosition = walk.pickPosition + first;
  float* const discount = target.discount;
  uint8_t* state = target.columns[0] + first * length * stateBytes;
  uint8_t* nextState = target.nextState + first * length * stateBytes;
  SmallColumn small[columnMax];
  const uint32_t smallCount = store.columnCount() - 1;
  for (uint32_t index = 0; index < smallCount; ++index) {
    const Column& column = store.column(index + 1);
    small[index] = {column.offset, column.bytes, target.columns[index + 1] + first * length * column.bytes};
  }
  for (uint32_t index = 0; index < count; ++index) target.seqLen[first + index] = static_cast<int32_t>(length);
  for (uint32_t index = 0; index < count; ++index) target.nextSeqLen[first + index] = static_cast<int32_t>(length);

  Found ring[walkRing];
  for (uint32_t step = 0; step < count + 3 * d; ++step) {
    if (step < count) walk.table.prefetchSlotFar(indices[step]);
    if (step >= d && step - d < count) {
      Found& found = ring[(step - d) % walkRing];
      found.pick.slot = walk.table.slot(indices[step - d]);
      prefetchLineFar(&blocks[found.pick.slot >> blockShift]);
    }
    if (step >= 2 * d && step - 2 * d < count) {
      Found& found = ring[(step - 2 * d) % walkRing];
      Pick& pick = found.pick;
      const uint32_t index = pick.slot >> blockShift;
      const Block block = blocks[index];
      const uint32_t within = pick.slot & (blockLength - 1);
      const uint32_t run = blockLength - within;
      const uint32_t two = static_cast<uint32_t>(block.next == index + 1) & static_cast<uint32_t>(run + blockLength > length);
      pick.joined = static_cast<uint32_t>(run > length) | two;
      pick.episode = block.episode;
      pick.position = (block.ordinal << blockShift) + within;
      found.handle = block.handle;
      found.row = rows + size_t{pick.slot} * stride;
      prefetchLineFar(&walk.episodes[block.episode]);
      if (pick.joined != 0) {
        prefetchSpan<prefetchLineFar>(found.row, spanBytes);
      } else {
        maker.prefetchChain(pick.slot, block.next);
      }
    }
    if (step < 3 * d) continue;
    const uint32_t done = step - 3 * d;
    const Found& found = ring[done % walkRing];
    const Pick& pick = found.pick;
    const Episode& episode = walk.episodes[pick.episode];
    pickEpisode[done] = static_cast<double>(static_cast<int64_t>(found.handle));
    pickPosition[done] = static_cast<int32_t>(pick.position);
    pickedEpisodes[done] = pick.episode;
    const uint32_t left = episode.count - pick.position;
    const uint32_t known = left - (episode.ended() ? 0 : 1);
    if (pick.joined != 0 && known >= length) {
      if (left == length && episode.state == EXRP_EPISODE_TERMINATED) discount[(first + done + 1) * length - 1] = 0.0f;
      copyStates<stateBytes>(state, nextState, found.row + stateOffset, stride, length);
      for (uint32_t index = 0; index < smallCount; ++index) {
        const SmallColumn& column = small[index];
        copySmall(column.to + size_t{done} * length * column.bytes, found.row + column.offset, column.bytes, stride, length);
      }
    } else {
      maker.copyPick(episode, pick, first + done, target);
    }
    state += size_t{length} * stateBytes;
    nextState += size_t{length} * stateBytes;
  }
}

/// The walk for a state of 4 x one of `words` bytes; null for another width.
template <uint32_t... words>
BatchMaker::WalkPlain BatchMaker::walkOf(uint32_t stateBytes, bool single) {
  WalkPlain found = nullptr;
  ((stateBytes == words * 4 ? (found = single ? walkPlain<words * 4, true> : walkPlain<words * 4, false>, 0) : 0), ...);
  return found;
}

BatchMaker::WalkPlain BatchMaker::plainWalk(uint32_t stateBytes, bool single) {
  return walkOf<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                32>(stateBytes, single);
}

}  // namespace exrp
