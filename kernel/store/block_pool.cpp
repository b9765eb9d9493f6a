#include "kernel/store/block_pool.hpp"

#include <cassert>

#include "kernel/base/sync.hpp"

namespace exrp {
namespace {

constexpr uint32_t bytesEach = sizeof(Block) + sizeof(BlockHead) + sizeof(uint64_t);

}  // namespace

Status BlockPool::create(uint32_t countMax, uint32_t count) {
  countMax_ = countMax;
  const bool isReserved = blocks_.create(countMax, Pages::huge, count) && heads_.create(countMax, Pages::huge, count);
  if (isReserved && handles_.create(countMax, Pages::small)) return Status::ok;
  return fail(Status::memory, double{bytesEach} * countMax);
}

Status BlockPool::prepare(uint32_t count) {
  const uint32_t needed = preparedCount(count);
  if (blocks_.commit(needed) && heads_.commit(needed) && handles_.commit(needed)) return Status::ok;
  return fail(Status::memory, double{bytesEach} * needed);
}

uint32_t BlockPool::takeBlock(uint64_t handle, uint32_t ordinal, uint32_t episode) {
  if (limboChains_ > 0) leaveLimbo();
  if (freeHead_ == blockNone && highWater_ == countMax_) awaitLimbo();
  uint32_t index = freeHead_;
  if (index != blockNone) {
    freeHead_ = blocks_[index].next;
    --freeCount_;
  } else {
    assert(highWater_ < countMax_);
    index = highWater_++;
  }
  blocks_[index] = Block{blockNone, blockNone};
  heads_[index] = BlockHead{episode, ordinal << 1};
  assert(episode < handles_.committed());
  handles_[episode] = handle;
  if (episode >= episodeHighWater_) episodeHighWater_ = episode + 1;
  return index;
}

void BlockPool::giveChain(uint32_t first, uint32_t last, uint32_t count) {
  for (uint32_t index = first, left = count; left > 0; index = blocks_[index].next, --left) blocks_[index].previous = index;
  if (pins_ == nullptr || pins_->areDone(pins_->count())) return free(first, last, count);
  if (limboChains_ == limboMax) awaitLimbo();
  limbo_[(limboFirst_ + limboChains_++) % limboMax] = {first, last, count, pins_->count()};
  limboCount_ += count;
}

void BlockPool::free(uint32_t first, uint32_t last, uint32_t count) {
  blocks_[last].next = freeHead_;
  freeHead_ = first;
  freeCount_ += count;
}

/// Frees the chains that nobody copies from any more.
void BlockPool::leaveLimbo() {
  while (limboChains_ > 0 && pins_->areDone(limbo_[limboFirst_].until)) {
    const Limbo& oldest = limbo_[limboFirst_];
    free(oldest.first, oldest.last, oldest.count);
    limboCount_ -= oldest.count;
    limboFirst_ = (limboFirst_ + 1) % limboMax;
    --limboChains_;
  }
}

/// Waits for the oldest chain. Copies need no lock, so they end.
void BlockPool::awaitLimbo() {
  const uint32_t before = limboChains_;
  while (limboChains_ == before && before > 0) {
    leaveLimbo();
    if (limboChains_ == before) yieldThread();
  }
}

int32_t BlockPool::check() const {
  uint32_t takenCount = 0;
  for (uint32_t index = 0; index < highWater_; ++index) {
    const Block& block = blocks_[index];
    if (!isTaken(index)) continue;
    ++takenCount;
    if ((heads_[index].link & 1) != (block.next == index + 1 ? 1u : 0u) || heads_[index].episode >= episodeHighWater_) return 3;
    if (block.next == blockNone) continue;
    const BlockHead& next = heads_[block.next];
    if (next.episode != heads_[index].episode || next.ordinal() != heads_[index].ordinal() + 1) return 3;
  }
  uint32_t limboCount = 0;
  for (uint32_t chain = 0; chain < limboChains_; ++chain) limboCount += limbo_[(limboFirst_ + chain) % limboMax].count;
  if (limboCount != limboCount_ || takenCount + freeCount_ + limboCount_ != highWater_) return 1;
  uint32_t freeCount = 0;
  for (uint32_t index = freeHead_; index != blockNone; index = blocks_[index].next) {
    if (index >= highWater_ || isTaken(index) || ++freeCount > freeCount_) return 2;
  }
  return freeCount == freeCount_ ? 0 : 2;
}

}  // namespace exrp
