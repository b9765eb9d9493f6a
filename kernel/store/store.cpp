#include "kernel/store/store.hpp"

#include <cassert>

namespace exrp {

Status Store::create(const Column* columns, uint32_t columnCount, uint32_t blockLength, uint32_t blockCountMax) {
  columnCount_ = columnCount;
  blockLength_ = blockLength;
  while ((1u << blockShift_) < blockLength) ++blockShift_;
  blockCountMax_ = blockCountMax;

  // Small columns share group 0, widest elements first, so that none needs padding before it.
  uint32_t joinedBytes = 0;
  uint32_t itemBytesMax = 1;
  for (uint32_t index = 0; index < columnCount; ++index) {
    columns_[index] = columns[index];
    if (!isKept(index)) recordBytes_ += columns[index].bytes;
  }
  for (uint32_t itemBytes = 8; itemBytes >= 1; itemBytes /= 2) {
    for (uint32_t index = 0; index < columnCount; ++index) {
      Column& column = columns_[index];
      if (column.itemBytes != itemBytes || column.bytes > columnAloneBytes || column.every > 1) continue;
      column.group = 0;
      column.offset = joinedBytes;
      joinedBytes += column.bytes;
      if (itemBytes > itemBytesMax) itemBytesMax = itemBytes;
    }
  }
  if (joinedBytes > 0) {
    groupStride_[groupCount_++] = (joinedBytes + itemBytesMax - 1) / itemBytesMax * itemBytesMax;
  }
  for (uint32_t index = 0; index < columnCount; ++index) {
    Column& column = columns_[index];
    if (column.bytes <= columnAloneBytes || column.every > 1) continue;
    column.group = groupCount_;
    column.offset = 0;
    groupStride_[groupCount_++] = column.bytes;
  }

  const double slotCount = double{1} * blockCountMax * blockLength;
  for (uint32_t group = 0; group < groupCount_; ++group) {
    if (!groups_[group].create(size_t{blockCountMax} * blockLength * groupStride_[group])) {
      return fail(Status::memory, slotCount * groupStride_[group]);
    }
  }
  for (uint32_t index = 0; index < columnCount; ++index) {
    Column& column = columns_[index];
    if (column.every > 1) {
      const uint32_t rows = (blockLength + column.every - 1) / column.every;
      column.group = keptCount_;
      keptRows_[keptCount_] = rows;
      keptColumns_[keptCount_] = index;
      if (!kept_[keptCount_++].create(size_t{blockCountMax} * rows * column.bytes)) {
        return fail(Status::memory, double{1} * blockCountMax * rows * column.bytes);
      }
      continue;
    }
    bases_[index] = groups_[column.group].data() + column.offset;
    strides_[index] = groupStride_[column.group];
  }
  if (!blocks_.create(blockCountMax) || !heads_.create(blockCountMax)) {
    return fail(Status::memory, double{1} * blockCountMax * (sizeof(Block) + sizeof(BlockHead)));
  }
  return Status::ok;
}

Status Store::prepareBlocks(uint32_t count) {
  if (count <= freeCount_) return Status::ok;
  uint32_t needed = highWater_ + (count - freeCount_);
  if (needed > blockCountMax_) needed = blockCountMax_;
  if (!blocks_.commit(needed) || !heads_.commit(needed)) {
    return fail(Status::memory, double{1} * needed * (sizeof(Block) + sizeof(BlockHead)));
  }
  for (uint32_t group = 0; group < groupCount_; ++group) {
    const size_t bytes = size_t{needed} * blockLength_ * groupStride_[group];
    if (!groups_[group].commit(bytes)) return fail(Status::memory, static_cast<double>(bytes));
  }
  for (uint32_t index = 0; index < keptCount_; ++index) {
    const size_t bytes = size_t{needed} * keptRows_[index] * columns_[keptColumns_[index]].bytes;
    if (!kept_[index].commit(bytes)) return fail(Status::memory, static_cast<double>(bytes));
  }
  return Status::ok;
}

uint32_t Store::takeBlock(uint64_t handle, uint32_t ordinal, uint32_t episode) {
  uint32_t index = freeHead_;
  if (index != blockNone) {
    freeHead_ = blocks_[index].next;
    --freeCount_;
  } else {
    assert(highWater_ < blockCountMax_);
    index = highWater_++;
  }
  blocks_[index] = Block{handle, ordinal, blockNone, blockNone, episode};
  heads_[index] = BlockHead{episode, ordinal << 1};
  return index;
}

void Store::giveChain(uint32_t first, uint32_t last, uint32_t count) {
  for (uint32_t index = first; index != blockNone; index = blocks_[index].next) blocks_[index].episode = blockNone;
  blocks_[last].next = freeHead_;
  freeHead_ = first;
  freeCount_ += count;
}

int32_t Store::check() const {
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
