#include "kernel/store/store.hpp"

#include <bit>
#include <cstring>

#include "kernel/base/checksum.hpp"
#include "kernel/base/copy_row.hpp"

namespace exrp {

Status Store::create(const Column* columns, uint32_t columnCount, uint32_t blockLength, uint32_t blockCountMax,
                     uint32_t blockCount, uint32_t birthLength, uint32_t leafCount, uint32_t compression, bool canLeave) {
  columnCount_ = columnCount;
  leaves_.create(columns, leafCount);
  blockLength_ = blockLength;
  kept_.create(columns_, *this, blockLength);
  while ((1u << blockShift_) < blockLength) ++blockShift_;

  // Small columns share group 0, widest elements first, so that none needs padding before it.
  uint32_t joinedBytes = 0;
  uint32_t itemBytesMax = 1;
  for (uint32_t index = 0; index < columnCount; ++index) {
    columns_[index] = columns[index];
    if (!isKept(index)) recordBytes_ += columns[index].bytes;
    const uint32_t what[] = {columns[index].itemBytes, columns[index].itemCount, columns[index].every};
    schema_ = checksum(schema_, reinterpret_cast<const uint8_t*>(what), sizeof what);
  }
  if (leafCount > 1) schema_ = checksum(schema_, reinterpret_cast<const uint8_t*>(&leafCount), sizeof leafCount);
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
  // The rewards of many records are read one by one.
  for (uint32_t index = 0; (compression != EXRP_COMPRESSION_NONE || canLeave) && index < columnCount; ++index) {
    const bool isSmall = uint64_t{columns[index].bytes} * blockLength <= packedPlainMax;
    if (isWide(index) && index != rewardColumn() && isSmall) packedBits_ |= uint64_t{1} << index;
  }
  for (uint32_t index = 0; index < columnCount; ++index) {
    Column& column = columns_[index];
    if (!isAlone(index)) continue;
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
  if (packedBits_ != 0) {
    const PackedKey key = compression == EXRP_COMPRESSION_SMALL ? PackedKey::lz4 : PackedKey::plain;
    const SealedForm form = {compression != EXRP_COMPRESSION_NONE, key, canLeave};
    if (const Status status = packed_.create(columns_, static_cast<uint32_t>(std::popcount(packedBits_)), *this, form, blockLength); status != Status::ok) return status;
  }
  for (uint32_t index = 0; index < columnCount; ++index) {
    Column& column = columns_[index];
    if (isPacked(index) || column.every > 1) {
      const Status status = isPacked(index) ? packed_.add(column, index, blockCountMax, blockCount) : kept_.add(column, index, blockCountMax, blockCount);
      if (status != Status::ok) return status;
      continue;
    }
    strides_[index] = groupStride_[column.group];
  }
  findBases();
  const uint32_t length = birthLength == 0 ? blockLength : birthLength;
  const Status status = births_.create(length, uint64_t{blockCountMax} << blockShift_, uint64_t{blockCount} << blockShift_);
  if (status != Status::ok) return status;
  return BlockPool::create(blockCountMax, blockCount);
}

/// Growing may have moved the groups.
void Store::findBases() {
  for (uint32_t index = 0; index < columnCount_; ++index) {
    if (!isKept(index) && !isPacked(index)) bases_[index] = groups_[columns_[index].group].data() + columns_[index].offset;
  }
}

Status Store::prepareBlocks(uint32_t count, uint32_t openCount) {
  if (source_ == nullptr) [[likely]] return prepareMemory(count, openCount);
  source_->pause();
  const Status status = prepareMemory(count, openCount);
  source_->resume();
  return status;
}

Status Store::prepareMemory(uint32_t count, uint32_t openCount) {
  if (packed_.count() > 0) {
    const Status packed = packed_.prepare(preparedCount(count), openCount);
    if (packed != Status::ok) return packed;
  }
  if (count <= freeCount()) return Status::ok;
  const Status status = BlockPool::prepare(count);
  if (status != Status::ok) return status;
  const uint32_t needed = preparedCount(count);
  for (uint32_t group = 0; group < groupCount_; ++group) {
    const uint64_t bytes = uint64_t{needed} * blockLength_ * groupStride_[group];
    // Growing may move the first bytes to another page. Who copies meanwhile would read zeros, or write what is lost.
    if (bytes > groups_[group].committed()) waitForCopies();
    const bool isCommitted = groups_[group].commit(bytes);
    findBases();
    if (!isCommitted) return fail(Status::memory, static_cast<double>(bytes));
  }
  const Status kept = kept_.prepare(needed);
  if (kept != Status::ok) return kept;
  return births_.prepare(uint64_t{needed} << blockShift_);
}

void Store::readRows(uint32_t column, uint32_t slot, uint32_t count, uint8_t* to, size_t stride) const {
  const uint32_t bytes = columns_[column].bytes;
  if (!isPacked(column)) return copyRows(to, stride, at(column, slot), strides_[column], bytes, count);
  const PackedColumn& packed = packed_.of(column);
  const uint32_t block = blockOf(slot);
  if (source_ != nullptr && source_->isMissing(block)) [[unlikely]] source_->fetchOne(block);
  if (packed.hasRows(block)) {
    unpackRows(packed.rowsOf(block), within(slot), count, to, stride);
    return;
  }
  for (uint32_t row = 0; row < count; ++row) memset(to + row * stride, 0, bytes);
}

}  // namespace exrp
