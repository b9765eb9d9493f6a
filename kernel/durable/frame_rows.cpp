#include "kernel/durable/frame_rows.hpp"

#include <cstring>

#include "kernel/durable/durable_format.hpp"

namespace exrp {
namespace {

/// The rows of a packed column. Plain ones stand where they would be had none been trimmed.
RowPart newPart(const uint8_t* rows, uint32_t bytes, uint32_t skipped, uint32_t end) {
  uint8_t* const data = PackedColumn::newBytes(skipped + bytes);
  if (data == nullptr) return {};
  memcpy(data + skipped, rows, bytes);
  return {data, skipped + bytes, end};
}

}  // namespace

LogStatus takeRows(Store& store, uint32_t block, RowRange now, bool isUnread, uint32_t type, const uint8_t* payload, uint32_t bytes, RowPart* parts) {
  LoggedBlockHead head = {};
  if (!isOfRows(type) || bytes < sizeof head) return LogStatus::damaged;
  memcpy(&head, payload, sizeof head);
  const bool isPacked = type == packedRowsFrame;
  const uint32_t within = store.within(head.position);
  const uint32_t end = within + head.rowCount;
  const bool isOfBlock = head.handle == store.handleOf(block) && store.ordinalOf(head.position) == store.head(block).ordinal();
  const bool isSameEnd = end == now.end && head.recordEnd == head.position - within + now.recordEnd;
  const bool isRight = isOfBlock && within <= now.first && isSameEnd && checkLoggedBlock(store, head, isPacked, payload, bytes) != nullptr;
  if (!isRight) return LogStatus::damaged;
  const uint32_t slot = store.slotAt(block, head.position);
  if (isUnread && joinedRowBytes(store) > 0) memcpy(store.groupRow(0, slot), payload + sizeof head, size_t{head.rowCount} * joinedRowBytes(store));
  uint32_t at = 0;
  bool isMemoryShort = false;
  forEachLoggedColumn(store, head, isPacked, payload, [&](uint32_t column, const uint8_t* rows, uint32_t packedBytes) {
    const uint32_t rowBytes = store.column(column).bytes;
    const uint32_t plainBytes = head.rowCount * rowBytes;
    if (store.isPacked(column)) {
      if (isMemoryShort) return;
      parts[at] = packedBytes > 0 ? newPart(rows, packedBytes, 0, end) : newPart(rows, plainBytes, within * rowBytes, end);
      isMemoryShort = parts[at].data == nullptr;
      if (!isMemoryShort) ++at;
      return;
    }
    if (!isUnread) return;
    uint8_t* const to = store.at(column, slot);
    if (packedBytes > 0) unpackRows({rows, packedBytes, rowBytes, end}, within, head.rowCount, to, rowBytes);
    else memcpy(to, rows, plainBytes);
  });
  if (!isMemoryShort) return LogStatus::ok;
  while (at > 0) PackedColumn::freeBytes(parts[--at].data);
  return LogStatus::memory;
}

}  // namespace exrp
