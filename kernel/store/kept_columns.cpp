#include "kernel/store/kept_columns.hpp"

#include <cstring>

namespace exrp {

Status KeptColumns::add(Column& column, uint32_t index, uint32_t blockCountMax, uint32_t blockCount) {
  const uint32_t rows = (blockLength_ + column.every - 1) / column.every;
  column.group = count_;
  rowsEach_[count_] = rows;
  indices_[count_] = index;
  const uint64_t blockBytes = uint64_t{rows} * column.bytes;
  if (!rows_[count_++].create(blockCountMax * blockBytes, Pages::huge, blockCount * blockBytes)) {
    return fail(Status::memory, double{1} * blockCountMax * rows * column.bytes);
  }
  const bool isReserved = carried_[column.group].create(uint64_t{blockCountMax} * column.bytes);
  return isReserved ? Status::ok : fail(Status::memory, double{1} * blockCountMax * column.bytes);
}

Status KeptColumns::prepare(uint32_t blockCount) {
  for (uint32_t at = 0; at < count_; ++at) {
    const uint64_t bytes = uint64_t{blockCount} * rowsEach_[at] * columns_[indices_[at]].bytes;
    if (!rows_[at].commit(bytes)) return fail(Status::memory, static_cast<double>(bytes));
  }
  return Status::ok;
}

Status KeptColumns::prepareCarried(size_t count) {
  for (uint32_t at = 0; at < count_; ++at) {
    // There are never more episodes than blocks.
    const uint64_t bounded = count < pool_->blockCountMax() ? count : pool_->blockCountMax();
    const uint64_t bytes = bounded * columns_[indices_[at]].bytes;
    if (!carried_[at].commit(bytes)) return fail(Status::memory, static_cast<double>(bytes));
  }
  return Status::ok;
}

void KeptColumns::carry(uint32_t block) {
  const BlockHead& gone = pool_->heads()[block];
  noteCarried(gone.episode);
  const uint32_t begin = gone.ordinal() * blockLength_;
  for (uint32_t at = 0; at < count_; ++at) {
    const uint32_t column = indices_[at];
    const uint32_t last = begin + blockLength_ - 1;
    const uint32_t kept = last - last % columns_[column].every;
    // Where no row is kept in this block, the one that is carried stays.
    if (kept >= begin) memcpy(carriedAt(column, gone.episode), this->at(column, block, kept), columns_[column].bytes);
  }
}

double KeptColumns::memoryBytes() const {
  double bytes = 0;
  for (uint32_t at = 0; at < count_; ++at) {
    const uint32_t rowBytes = columns_[indices_[at]].bytes;
    bytes += rows_[at].takenBytes(uint64_t{pool_->highWater()} * rowsEach_[at] * rowBytes);
    bytes += carried_[at].takenBytes(uint64_t{carriedEnd_} * rowBytes);
  }
  return bytes;
}

}  // namespace exrp
