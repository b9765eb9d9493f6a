#include "kernel/base/batch_pool.hpp"

#include <new>

namespace exrp {
namespace {

/// So batches of nearly one size have blocks of one size.
constexpr size_t grain = size_t{2} << 20;

}  // namespace

BatchPool::Block* BatchPool::take(size_t bytes) {
  if (bytes > bytesMax) return nullptr;
  bytes = (bytes + grain - 1) / grain * grain;
  const Lock lock(mutex_);
  if (Block* const spare = takeSpare(bytes)) return spare;
  if (bytes_ + bytes > bytesMax) freeSpares();
  if (bytes_ + bytes > bytesMax) return nullptr;
  auto* const made = new (std::nothrow) Block;
  if (made == nullptr) return nullptr;
  if (!made->memory.create(bytes, Pages::small) || !made->memory.commit(bytes)) {
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
    return block;
  }
  return nullptr;
}

void BatchPool::giveBack(Block* block) {
  const Lock lock(mutex_);
  block->next = spares_;
  spares_ = block;
}

void BatchPool::freeSpares() {
  while (spares_ != nullptr) {
    Block* const block = spares_;
    spares_ = block->next;
    bytes_ -= block->bytes;
    delete block;
  }
}

size_t BatchPool::bytes() {
  const Lock lock(mutex_);
  return bytes_;
}

}  // namespace exrp
