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

}  // namespace

LoggedBlockHead loggedBlockHead(const StoredEpisodes& stored, uint32_t block) {
  const Store& store = stored.store();
  const Episode& episode = stored.episodes()[store.head(block).episode];
  const BlockRows rows = stored.rowsOf(block);
  const uint32_t begin = store.positionOf(store.firstSlot(block));
  const uint32_t end = begin + store.blockLength();
  return {episode.handle, begin + rows.first, rows.count, episode.count < end ? episode.count : end, 0};
}

uint64_t loggedBlockBytes(const Store& store, const LoggedBlockHead& head) {
  uint64_t bytes = sizeof head;
  for (uint32_t group = 0; group < store.groupCount(); ++group) bytes += uint64_t{head.rowCount} * store.groupStride(group);
  forEachKept(store, head, [&](uint32_t column, uint32_t) { bytes += store.column(column).bytes; });
  return bytes;
}

uint8_t* writeLoggedBlock(const Store& store, uint32_t block, const LoggedBlockHead& head, uint8_t* to) {
  memcpy(to, &head, sizeof head);
  to += sizeof head;
  const uint32_t slot = store.slotAt(block, head.position);
  for (uint32_t group = 0; group < store.groupCount(); ++group) {
    const size_t bytes = size_t{head.rowCount} * store.groupStride(group);
    memcpy(to, store.groupRow(group, slot), bytes);
    to += bytes;
  }
  forEachKept(store, head, [&](uint32_t column, uint32_t at) {
    memcpy(to, store.kept().at(column, block, at), store.column(column).bytes);
    to += store.column(column).bytes;
  });
  return to;
}

const uint8_t* readLoggedBlock(Store& store, uint32_t block, const LoggedBlockHead& head, const uint8_t* from) {
  from += sizeof head;
  const uint32_t slot = store.slotAt(block, head.position);
  for (uint32_t group = 0; group < store.groupCount(); ++group) {
    const size_t bytes = size_t{head.rowCount} * store.groupStride(group);
    memcpy(store.groupRow(group, slot), from, bytes);
    from += bytes;
  }
  forEachKept(store, head, [&](uint32_t column, uint32_t at) {
    memcpy(store.kept().at(column, block, at), from, store.column(column).bytes);
    from += store.column(column).bytes;
  });
  return from;
}

}  // namespace exrp
