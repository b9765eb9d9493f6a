#include "kernel/store/episode_order.hpp"

namespace exrp {

static_assert(PickOrder::none == pickNone);

void EpisodeOrder::before(const uint32_t* index, uint32_t count, uint32_t window, uint32_t* before) const {
  // In pieces, and each in passes, so that the misses of many walks overlap.
  constexpr uint32_t pieceMax = BlockIndex::findPiece;
  for (uint32_t first = 0; first < count; first += pieceMax) {
    const uint32_t piece = count - first < pieceMax ? count - first : pieceMax;
    const auto slotAt = [&](uint32_t at) { return picks_.slot(index[first + at]); };
    for (uint32_t at = 0; at < piece; ++at) picks_.prefetchSlot(index[first + at]);
    for (uint32_t at = 0; at < piece; ++at) {
      picks_.prefetchIndexOf(slotAt(at));
      prefetchLine(&store_.head(store_.blockOf(slotAt(at))));
      prefetchLine(&store_.block(store_.blockOf(slotAt(at))));
    }
    for (uint32_t at = 0; at < piece; ++at) {
      const Block& block = store_.block(store_.blockOf(slotAt(at)));
      if (store_.within(slotAt(at)) < uint64_t{window} * stride_ && block.previous != blockNone) {
        picks_.prefetchIndexOf(store_.firstSlot(block.previous) + store_.blockLength() - 1);
      }
    }
    for (uint32_t at = 0; at < piece; ++at) walkBack(slotAt(at), window, before + (size_t{first} + at) * window);
  }
}

void EpisodeOrder::walkBack(uint32_t slot, uint32_t window, uint32_t* before) const {
  uint32_t block = store_.blockOf(slot);
  const uint64_t handle = store_.handleOf(block);
  uint32_t ordinal = store_.head(block).ordinal();
  uint32_t position = (ordinal << store_.blockShift()) + store_.within(slot);
  uint32_t found = 0;
  for (; found < window && position >= stride_; ++found) {
    position -= stride_;
    if (store_.ordinalOf(position) != ordinal) {
      // The block before this one is its neighbour in the chain; one farther back is found at once by the index.
      const bool isNeighbour = store_.ordinalOf(position) + 1 == ordinal;
      ordinal = store_.ordinalOf(position);
      block = isNeighbour ? store_.block(block).previous : blocks_.find(store_, handle, ordinal);
      if (block == blockNone) break;
    }
    before[found] = picks_.indexOf(store_.slotAt(block, position));
    if (before[found] == pickNone) break;
  }
  for (; found < window; ++found) before[found] = none;
}

}  // namespace exrp
