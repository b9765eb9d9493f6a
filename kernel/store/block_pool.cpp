#include "kernel/store/block_pool.hpp"

#include <cassert>

namespace exrp {

Status BlockPool::create(uint32_t countMax, uint32_t count) {
  countMax_ = countMax;
  if (blocks_.create(countMax, Pages::huge, count) && heads_.create(countMax, Pages::huge, count)) return Status::ok;
  return fail(Status::memory, double{1} * countMax * (sizeof(Block) + sizeof(BlockHead)));
}

Status BlockPool::prepare(uint32_t count) {
  const uint32_t needed = preparedCount(count);
  if (blocks_.commit(needed) && heads_.commit(needed)) return Status::ok;
  return fail(Status::memory, double{1} * needed * (sizeof(Block) + sizeof(BlockHead)));
}

uint32_t BlockPool::take(uint64_t handle, uint32_t ordinal, uint32_t episode) {
  uint32_t index = freeHead_;
  if (index != blockNone) {
    freeHead_ = blocks_[index].next;
    --freeCount_;
  } else {
    assert(highWater_ < countMax_);
    index = highWater_++;
  }
  blocks_[index] = Block{handle, ordinal, blockNone, blockNone, episode};
  heads_[index] = BlockHead{episode, ordinal << 1};
  return index;
}

void BlockPool::giveChain(uint32_t first, uint32_t last, uint32_t count) {
  for (uint32_t index = first, left = count; left > 0; index = blocks_[index].next, --left) blocks_[index].episode = blockNone;
  blocks_[last].next = freeHead_;
  freeHead_ = first;
  freeCount_ += count;
}

int32_t BlockPool::check() const {
  uint32_t takenCount = 0;
  for (uint32_t index = 0; index < highWater_; ++index) {
    const Block& block = blocks_[index];
    if (!block.taken()) continue;
    ++takenCount;
    const uint32_t link = block.ordinal << 1 | (block.next == index + 1 ? 1u : 0u);
    if (heads_[index].episode != block.episode || heads_[index].link != link) return 3;
  }
  if (takenCount + freeCount_ != highWater_) return 1;
  uint32_t freeCount = 0;
  for (uint32_t index = freeHead_; index != blockNone; index = blocks_[index].next) {
    if (index >= highWater_ || blocks_[index].taken() || ++freeCount > freeCount_) return 2;
  }
  return freeCount == freeCount_ ? 0 : 2;
}

}  // namespace exrp
