#include "kernel/store/logged_block.hpp"

#include <cstring>

namespace exrp {
namespace {

/// Calls visit(column, position) for each row that a block has of the columns that only some records keep.
template <typename Visit>
void forEachKept(const Store& store, const LoggedBlockHead& head, Visit visit) {
  const KeptColumns& kept = store.kept();
  const uint32_t from = head.position & ~(store.blockLength() - 1);
  for (uint32_t k = 0; k < kept.count(); ++k) {
    const Column& column = store.column(kept.column(k));
    const uint32_t late = from % column.every;
    for (uint64_t at = from + uint64_t{late == 0 ? 0 : column.every - late}; at < head.recordEnd; at += column.every) {
      visit(kept.column(k), static_cast<uint32_t>(at));
    }
  }
}

/// Copies these rows, which begin at `from`, into a block.
void copyKept(Store& store, uint32_t block, const LoggedBlockHead& head, const uint8_t* from) {
  forEachKept(store, head, [&](uint32_t column, uint32_t at) {
    memcpy(store.kept().at(column, block, at), from, store.column(column).bytes);
    from += store.column(column).bytes;
  });
}

/// Calls visit(column) for each wide column.
template <typename Visit>
void forEachWide(const Store& store, Visit visit) {
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (store.isWide(column)) visit(column);
  }
}

/// Whether a block's rows of a column are shorter than plain ones.
bool arePacked(const Store& store, uint32_t column, uint32_t block, const LoggedBlockHead& head) {
  if (head.rowCount == 0 || !store.isPacked(column)) return false;
  const PackedColumn& packed = store.packed().of(column);
  return packed.isPacked(block) && !arePlain(packed.rowsOf(block));
}

}  // namespace

uint32_t joinedRowBytes(const Store& store) {
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (!store.isKept(column) && !store.isWide(column)) return store.groupStride(0);
  }
  return 0;
}

LoggedBlockHead loggedBlockHead(const StoredEpisodes& stored, uint32_t block) {
  const Store& store = stored.store();
  const Episode& episode = stored.episodes()[store.head(block).episode];
  const BlockRows rows = stored.rowsOf(block);
  const uint32_t begin = store.positionOf(store.firstSlot(block));
  const uint32_t end = begin + store.blockLength();
  return {episode.handle, begin + rows.first, rows.count, episode.count < end ? episode.count : end, 0};
}

bool isLoggedPacked(const Store& store, uint32_t block, const LoggedBlockHead& head) {
  bool isPacked = false;
  for (uint32_t at = 0; at < store.packed().count(); ++at) isPacked |= arePacked(store, store.packed().column(at), block, head);
  return isPacked;
}

uint64_t loggedBlockBytes(const Store& store, uint32_t block, const LoggedBlockHead& head) {
  const bool isPacked = isLoggedPacked(store, block, head);
  uint64_t bytes = sizeof head + uint64_t{head.rowCount} * joinedRowBytes(store);
  forEachWide(store, [&](uint32_t column) {
    if (isPacked) bytes += sizeof(uint32_t);
    bytes += arePacked(store, column, block, head) ? store.packed().of(column).rowsOf(block).bytes : uint64_t{head.rowCount} * store.column(column).bytes;
  });
  forEachKept(store, head, [&](uint32_t column, uint32_t) { bytes += store.column(column).bytes; });
  return bytes;
}

uint64_t loggedBlockBytesMax(const Store& store) {
  const LoggedBlockHead full = {0, 0, store.blockLength(), store.blockLength(), 1};
  uint64_t bytes = sizeof full + uint64_t{full.rowCount} * joinedRowBytes(store) + store.leaves().bytes();
  forEachWide(store, [&](uint32_t column) { bytes += sizeof(uint32_t) + uint64_t{full.rowCount} * store.column(column).bytes; });
  forEachKept(store, full, [&](uint32_t column, uint32_t) { bytes += store.column(column).bytes; });
  return bytes;
}

uint8_t* writeLoggedBlock(const Store& store, uint32_t block, const LoggedBlockHead& head, uint8_t* to, LateCopies* late) {
  const bool isPacked = isLoggedPacked(store, block, head);
  const auto put = [&](const void* from, size_t bytes) {
    if (bytes > 0) memcpy(to, from, bytes);
    to += bytes;
  };
  const auto putLate = [&](const uint8_t* from, size_t bytes) {
    if (late == nullptr || !late->add(to, from, bytes)) return put(from, bytes);
    to += bytes;
  };
  put(&head, sizeof head);
  const uint32_t slot = store.slotAt(block, head.position);
  if (joinedRowBytes(store) > 0) putLate(store.groupRow(0, slot), size_t{head.rowCount} * joinedRowBytes(store));
  forEachWide(store, [&](uint32_t column) {
    const size_t rowBytes = store.column(column).bytes;
    const PackedRows packed = arePacked(store, column, block, head) ? store.packed().of(column).rowsOf(block) : PackedRows{};
    const auto packedBytes = static_cast<uint32_t>(packed.bytes);
    if (isPacked) put(&packedBytes, sizeof packedBytes);
    if (packedBytes > 0) return putLate(packed.data, packed.bytes);
    if (head.rowCount == 0) return;
    if (!store.isPacked(column)) return putLate(store.at(column, slot), head.rowCount * rowBytes);
    // A piece goes to another block once this one is sealed.
    if (const PackedColumn& plain = store.packed().of(column); plain.isPacked(block)) {
      return putLate(plain.rowsOf(block).data + store.within(slot) * rowBytes, head.rowCount * rowBytes);
    }
    store.readRows(column, slot, head.rowCount, to, rowBytes);
    to += head.rowCount * rowBytes;
  });
  forEachKept(store, head, [&](uint32_t column, uint32_t at) { put(store.kept().at(column, block, at), store.column(column).bytes); });
  return to;
}

const uint8_t* checkLoggedBlock(const Store& store, const LoggedBlockHead& head, bool isPacked, const uint8_t* from, uint64_t size) {
  const uint32_t begin = head.position & ~(store.blockLength() - 1);
  if (head.recordEnd < begin || head.recordEnd - begin > store.blockLength()) return nullptr;
  uint64_t left = size;
  bool isRight = store.within(head.position) + uint64_t{head.rowCount} <= store.blockLength();
  const auto pass = [&](uint64_t bytes) {
    isRight = isRight && bytes <= left;
    if (!isRight) return;
    from += bytes;
    left -= bytes;
  };
  pass(sizeof head + uint64_t{head.rowCount} * joinedRowBytes(store));
  forEachWide(store, [&](uint32_t column) {
    const uint32_t rowBytes = store.column(column).bytes;
    uint32_t packedBytes = 0;
    if (isPacked && isRight && left >= sizeof packedBytes) memcpy(&packedBytes, from, sizeof packedBytes);
    if (isPacked) pass(sizeof packedBytes);
    const PackedRows packed = {from, packedBytes, rowBytes, store.within(head.position) + head.rowCount};
    pass(packedBytes > 0 ? packedBytes : uint64_t{head.rowCount} * rowBytes);
    if (isRight && packedBytes > 0) isRight = checkPacked(packed);
  });
  forEachKept(store, head, [&](uint32_t column, uint32_t) { pass(store.column(column).bytes); });
  return isRight ? from : nullptr;
}

Status readLoggedBlock(Store& store, uint32_t block, const LoggedBlockHead& head, bool isPacked, bool isSealed, const uint8_t* from) {
  const uint32_t slot = store.slotAt(block, head.position);
  const uint32_t within = store.within(head.position);
  const uint32_t end = within + head.rowCount;
  const size_t joined = size_t{head.rowCount} * joinedRowBytes(store);
  if (joined > 0) memcpy(store.groupRow(0, slot), from + sizeof head, joined);
  Status status = Status::ok;
  from = forEachLoggedColumn(store, head, isPacked, from, [&](uint32_t column, const uint8_t* rows, uint32_t packedBytes) {
    const size_t rowBytes = store.column(column).bytes;
    const size_t bytes = packedBytes > 0 ? packedBytes : head.rowCount * rowBytes;
    if (status != Status::ok || head.rowCount == 0) return;
    if (!store.isPacked(column)) {
      uint8_t* const to = store.at(column, slot);
      if (packedBytes > 0) unpackRows({rows, packedBytes, rowBytes, end}, within, head.rowCount, to, rowBytes);
      else memcpy(to, rows, bytes);
      return;
    }
    PackedColumn& packed = store.packed().of(column);
    if (packedBytes > 0 && isSealed) {
      status = packed.replace(block, rows, packedBytes, end);
      return;
    }
    if (!packed.isOpen(block)) status = packed.prepare(store.highWater(), 1);
    if (status != Status::ok) return;
    packed.reopen(block);
    uint8_t* const to = packed.row(block, within);
    if (packedBytes > 0) unpackRows({rows, packedBytes, rowBytes, end}, within, head.rowCount, to, rowBytes);
    else memcpy(to, rows, bytes);
    if (isSealed) packed.pack(block, end);
  });
  copyKept(store, block, head, from);
  return status;
}

void readLoggedKept(Store& store, uint32_t block, const LoggedBlockHead& head, bool isPacked, const uint8_t* from) {
  if (store.kept().count() > 0) copyKept(store, block, head, forEachLoggedColumn(store, head, isPacked, from, [](uint32_t, const uint8_t*, uint32_t) {}));
}

}  // namespace exrp
