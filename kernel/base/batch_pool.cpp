#include "kernel/base/batch_pool.hpp"

#include <new>

namespace exrp {
namespace {

/// So batches of nearly one size have blocks of one size. Large ones consist of huge pages.
constexpr size_t grainOf(size_t bytes) { return bytes < hugeFromBytes ? size_t{64} << 10 : size_t{2} << 20; }

/// More spare bytes than this are those of sizes that were asked for once: what V8 leaves uncollected at a time is about half as much.
constexpr size_t spareBytesMax = size_t{128} << 20;

size_t limitOfProcess() {
  constexpr size_t most = size_t{512} << 20;
  const double share = physicalMemoryBytes() / 8;
  return share > 0 && share < static_cast<double>(most) ? static_cast<size_t>(share) : most;
}

}  // namespace

BatchPool::BatchPool() : BatchPool(limitOfProcess()) {}

BatchPool::Block* BatchPool::take(size_t bytes) {
  if (bytes > bytesMax_) return nullptr;
  const size_t grain = grainOf(bytes);
  bytes = (bytes + grain - 1) / grain * grain;
  const Lock lock(mutex_);
  if (Block* const spare = takeSpare(bytes)) return spare;
  freeSpares(bytes);
  if (bytes > bytesMax_ || bytes_ > bytesMax_ - bytes) return nullptr;
  auto* const made = new (std::nothrow) Block;
  if (made == nullptr) return nullptr;
  if (!made->memory.create(bytes, Pages::huge) || !made->memory.commit(bytes)) {
    delete made;
    return nullptr;
  }
  made->bytes = bytes;
  bytes_ += bytes;
  return made;
}

BatchPool::Block* BatchPool::takeSpare(size_t bytes) {
  for (Block** place = &spares_; *place != nullptr; place = &(*place)->next) {
    Block* const block = *place;
    if (block->bytes < bytes || block->bytes / 2 > bytes) continue;
    *place = block->next;
    block->next = nullptr;
    spareBytes_ -= block->bytes;
    return block;
  }
  return nullptr;
}

void BatchPool::giveBack(Block* block) {
  const Lock lock(mutex_);
  block->next = spares_;
  spares_ = block;
  spareBytes_ += block->bytes;
}

/// Frees the spares that were not used for longest, until there is room and few are left.
void BatchPool::freeSpares(size_t room) {
  const size_t needed = bytes_ - spareBytes_ + room;
  size_t most = needed < bytesMax_ ? bytesMax_ - needed : 0;
  if (most > spareBytesMax) most = spareBytesMax;
  Block** last = &spares_;
  size_t left = 0;
  for (; *last != nullptr && (*last)->bytes <= most - left; last = &(*last)->next) left += (*last)->bytes;
  bytes_ -= spareBytes_ - left;
  spareBytes_ = left;
  Block* block = *last;
  *last = nullptr;
  while (block != nullptr) {
    Block* const next = block->next;
    delete block;
    block = next;
  }
}

size_t BatchPool::bytes() {
  const Lock lock(mutex_);
  return bytes_;
}

}  // namespace exrp
