#include "kernel/store/store.hpp"

#include <cstring>

namespace exrp {

Status Store::create(const Column* columns, uint32_t columnCount, uint32_t blockLength, uint32_t blockCountMax,
                     uint32_t blockCount, uint32_t birthLength) {
  columnCount_ = columnCount;
  blockLength_ = blockLength;
  while ((1u << blockShift_) < blockLength) ++blockShift_;
  birthShift_ = birthLength == 0 ? blockShift_ : static_cast<uint32_t>(__builtin_ctz(birthLength));

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
  firstAloneGroup_ = groupCount_;
  for (uint32_t index = 0; index < columnCount; ++index) {
    Column& column = columns_[index];
    if (column.bytes <= columnAloneBytes || column.every > 1) continue;
    column.group = groupCount_;
    column.offset = 0;
    groupStride_[groupCount_++] = column.bytes;
  }

  const double slotCount = double{1} * blockCountMax * blockLength;
  for (uint32_t group = 0; group < groupCount_; ++group) {
    const uint64_t blockBytes = uint64_t{blockLength} * groupStride_[group];
    if (!groups_[group].create(blockCountMax * blockBytes, Pages::huge, blockCount * blockBytes)) {
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
      const uint64_t blockBytes = uint64_t{rows} * column.bytes;
      if (!kept_[keptCount_++].create(blockCountMax * blockBytes, Pages::huge, blockCount * blockBytes)) {
        return fail(Status::memory, double{1} * blockCountMax * rows * column.bytes);
      }
      if (!carried_[column.group].create(uint64_t{blockCountMax} * column.bytes)) {
        return fail(Status::memory, double{1} * blockCountMax * column.bytes);
      }
      continue;
    }
    strides_[index] = groupStride_[column.group];
  }
  findBases();
  const uint32_t births = 1u << (blockShift_ - birthShift_);
  if (!births_.create(uint64_t{blockCountMax} * births, Pages::huge, uint64_t{blockCount} * births)) {
    return fail(Status::memory, 8.0 * births * blockCountMax);
  }
  return pool_.create(blockCountMax, blockCount);
}

/// Growing may have moved the groups.
void Store::findBases() {
  for (uint32_t index = 0; index < columnCount_; ++index) {
    if (!isKept(index)) bases_[index] = groups_[columns_[index].group].data() + columns_[index].offset;
  }
}

Status Store::prepareBlocks(uint32_t count) {
  if (count <= pool_.freeCount()) return Status::ok;
  const Status status = pool_.prepare(count);
  if (status != Status::ok) return status;
  const uint32_t needed = pool_.preparedCount(count);
  for (uint32_t group = 0; group < groupCount_; ++group) {
    const uint64_t bytes = uint64_t{needed} * blockLength_ * groupStride_[group];
    // Growing may move the first bytes to another page. Who copies meanwhile would read zeros, or write what is lost.
    if (bytes > groups_[group].committed()) settle();
    const bool isCommitted = groups_[group].commit(bytes);
    findBases();
    if (!isCommitted) return fail(Status::memory, static_cast<double>(bytes));
  }
  for (uint32_t index = 0; index < keptCount_; ++index) {
    const uint64_t bytes = uint64_t{needed} * keptRows_[index] * columns_[keptColumns_[index]].bytes;
    if (!kept_[index].commit(bytes)) return fail(Status::memory, static_cast<double>(bytes));
  }
  const uint64_t birthCount = uint64_t{needed} << (blockShift_ - birthShift_);
  return births_.commit(birthCount) ? Status::ok : fail(Status::memory, 8.0 * static_cast<double>(birthCount));
}

Status Store::prepareCarried(size_t count) {
  for (uint32_t index = 0; index < keptCount_; ++index) {
    // There are never more episodes than blocks.
    const uint64_t bounded = count < blockCountMax() ? count : blockCountMax();
    const uint64_t bytes = bounded * columns_[keptColumns_[index]].bytes;
    if (!carried_[index].commit(bytes)) return fail(Status::memory, static_cast<double>(bytes));
  }
  return Status::ok;
}

void Store::carry(uint32_t block) {
  const BlockHead& gone = head(block);
  noteCarried(gone.episode);
  const uint32_t begin = gone.ordinal() << blockShift_;
  for (uint32_t index = 0; index < keptCount_; ++index) {
    const uint32_t column = keptColumns_[index];
    const uint32_t last = begin + blockLength_ - 1;
    const uint32_t kept = last - last % columns_[column].every;
    // Where no row is kept in this block, the one that is carried stays.
    if (kept >= begin) memcpy(carriedAt(column, gone.episode), keptAt(column, block, kept), columns_[column].bytes);
  }
}

}  // namespace exrp
