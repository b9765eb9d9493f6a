#include "kernel/store/mirrored_rows.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace exrp {

Status MirroredRows::begin(const StoredEpisodes& stored, uint64_t columns) {
  const Store& store = stored.store();
  if (const Status status = reserve(store.highWater()); status != Status::ok) {
    end();
    return status;
  }
  isOn_ = true;
  columns_ = columns;
  wideColumns_ = 0;
  for (uint32_t column = 0; column < store.columnCount(); ++column) wideColumns_ |= uint64_t{store.isWide(column)} << column;
  for (uint32_t block = 0; block < store.highWater(); ++block) {
    if (store.isTaken(block)) note(block, 0);
  }
  return Status::ok;
}

void MirroredRows::end() {
  Scratch<uint32_t>().swap(from_);
  Scratch<uint32_t>().swap(blocks_);
  blockCount_ = unreadableCount_ = 0;
  columns_ = 0;
  isOn_ = false;
}

Status MirroredRows::reserve(size_t blocks) {
  return from_.commit(blocks) && blocks_.commit(blocks) ? Status::ok : fail(Status::memory, 8.0 * static_cast<double>(blocks));
}

uint32_t MirroredRows::packedBytes(const Store& store, uint32_t column, uint32_t block) {
  if (!comesPacked(store, column) || !store.packed().of(column).isPacked(block)) return 0;
  const auto bytes = static_cast<uint32_t>(plainKeyBytes(store.packed().of(column).rowsOf(block)));
  return bytes == 0 ? 0 : (uint32_t{sizeof(uint32_t)} + bytes + 3u) & ~3u;
}

/// Whether the last block of the list, whose rows could not be read, is passed over. Then it is one of the first.
bool MirroredRows::passesOver(Status status) {
  if (status != Status::log || errorDetail[0] != EXRP_LOG_ROWS) return false;
  if (errorDetail[3] != 0 && unreadableCount_ >= unreadableMax) return false;
  unreadableError_ = errorDetail[3];
  std::swap(blocks_[unreadableCount_++], blocks_[blockCount_ - 1]);
  return true;
}

Status MirroredRows::read(const StoredEpisodes& stored, uint8_t* bytes, uint32_t size, Run* runs, uint32_t* count) {
  const Store& store = stored.store();
  const auto forEachColumn = [&](auto visit) {
    for (uint32_t column = 0; column < store.columnCount(); ++column) {
      if ((columns_ >> column & 1) != 0) visit(column);
    }
  };
  const uint32_t most = *count;
  uint32_t used = 0, made = 0;
  bool hasPacked = false;
  forEachColumn([&](uint32_t column) { hasPacked = hasPacked || store.isPacked(column); });
  // Some may be readable again.
  if (isCurrent()) unreadableCount_ = 0;
  while (!isCurrent()) {
    const uint32_t block = blocks_[blockCount_ - 1];
    const bool isTaken = store.isTaken(block);
    const BlockRows rows = isTaken ? stored.rowsOf(block) : BlockRows{};
    const uint32_t end = rows.first + rows.count;
    // The first row that the mirror lacks of wide columns, and of narrow ones.
    const uint32_t from = from_[block] & ~narrow;
    const uint32_t wideFirst = from == 0 ? end : std::max(from - 1, rows.first);
    const uint32_t narrowFirst = from == from_[block] ? wideFirst : rows.first;
    const auto firstOf = [&](uint32_t column) { return store.isWide(column) ? wideFirst : narrowFirst; };
    // A block that went, and was not taken again, has no row.
    const bool hasRows = isTaken && narrowFirst < end;
    const RowSource* const source = store.source();
    if (hasRows && source != nullptr && source->isMissing(block) && ((hasPacked && wideFirst < end) || source->isUnread(block))) [[unlikely]] {
      const Status status = store.source()->fetchOne(block);
      if (status != Status::ok && passesOver(status)) continue;
      if (status != Status::ok && made == 0) return status;
      if (status != Status::ok) break;
    }
    const auto isTold = [&](uint32_t column) { return !isTaken && comesPacked(store, column); };
    uint64_t needed = 0;
    uint32_t runCount = 0;
    forEachColumn([&](uint32_t column) {
      if (!hasRows) {
        runCount += isTold(column) ? 1 : 0;
        return;
      }
      const uint32_t first = firstOf(column);
      if (first >= end) return;
      ++runCount;
      const uint32_t packed = packedBytes(store, column, block);
      needed += packed > 0 ? packed : uint64_t{end - first} * rowBytes(store, column);
    });
    if (runCount > most - made || needed > size - used) {
      if (made == 0) return fail(Status::bufferSize, size, static_cast<double>(needed));
      break;
    }
    forEachColumn([&](uint32_t column) {
      if (!hasRows) {
        if (isTold(column)) runs[made++] = {column, store.firstSlot(block), 0, used, 0};
        return;
      }
      const uint32_t first = firstOf(column);
      if (first >= end) return;
      const uint32_t packed = packedBytes(store, column, block);
      if (packed > 0) {
        const PackedColumn& of = store.packed().of(column);
        const uint32_t rowCount = of.packedCount(block);
        memcpy(bytes + used, &rowCount, sizeof rowCount);
        copyWithPlainKey(of.rowsOf(block), bytes + used + sizeof rowCount);
        runs[made++] = {column, store.firstSlot(block), rowCount, used, packed};
        used += packed;
        return;
      }
      const uint32_t slot = store.firstSlot(block) + first;
      runs[made++] = {column, slot, end - first, used, 0};
      store.readRows(column, slot, end - first, bytes + used, rowBytes(store, column));
      used += (end - first) * rowBytes(store, column);
    });
    from_[block] = 0;
    --blockCount_;
  }
  *count = made;
  return Status::ok;
}

}  // namespace exrp
