#include "kernel/store/mirrored_rows.hpp"

#include <cstring>

namespace exrp {

Status MirroredRows::begin(const StoredEpisodes& stored, uint64_t columns) {
  const Store& store = stored.store();
  if (const Status status = reserve(store.highWater()); status != Status::ok) {
    end();
    return status;
  }
  isOn_ = true;
  columns_ = columns;
  for (uint32_t block = 0; block < store.highWater(); ++block) {
    if (store.isTaken(block)) note(block, 0);
  }
  return Status::ok;
}

void MirroredRows::end() {
  Scratch<uint32_t>().swap(from_);
  Scratch<uint32_t>().swap(blocks_);
  blockCount_ = 0;
  columns_ = 0;
  isOn_ = false;
}

Status MirroredRows::reserve(size_t blocks) {
  return from_.commit(blocks) && blocks_.commit(blocks) ? Status::ok : fail(Status::memory, 8.0 * static_cast<double>(blocks));
}

Status MirroredRows::read(const StoredEpisodes& stored, uint8_t* bytes, uint32_t size, Run* runs, uint32_t* count) {
  const Store& store = stored.store();
  uint32_t slotBytes = 0;
  for (uint32_t column = 0; column < store.columnCount(); ++column) slotBytes += (columns_ >> column & 1) != 0 ? rowBytes(store, column) : 0;
  const uint32_t most = *count;
  uint32_t used = 0, made = 0;
  for (; blockCount_ > 0; --blockCount_) {
    const uint32_t block = blocks_[blockCount_ - 1];
    const BlockRows rows = stored.rowsOf(block);
    // A block that went, and was not taken again, has none.
    const uint32_t end = store.isTaken(block) ? rows.first + rows.count : 0;
    uint32_t first = from_[block] - 1;
    if (first < rows.first) first = rows.first;
    if (first < end) {
      const uint64_t needed = uint64_t{end - first} * slotBytes;
      if (made == most || needed > size - used) {
        if (made == 0) return fail(Status::bufferSize, size, static_cast<double>(needed));
        break;
      }
      if (store.source() != nullptr && store.source()->isMissing(block)) [[unlikely]] {
        const Status status = store.source()->fetchOne(block);
        if (status != Status::ok && made == 0) return status;
        if (status != Status::ok) break;
      }
      const uint32_t slot = store.firstSlot(block) + first;
      runs[made++] = {slot, end - first, used};
      for (uint32_t column = 0; column < store.columnCount(); ++column) {
        if ((columns_ >> column & 1) == 0) continue;
        store.readRows(column, slot, end - first, bytes + used, rowBytes(store, column));
        used += (end - first) * rowBytes(store, column);
      }
    }
    from_[block] = 0;
  }
  *count = made;
  return Status::ok;
}

}  // namespace exrp
