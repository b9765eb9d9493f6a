#include "kernel/store/sealed_block.hpp"

#include <cstdlib>
#include <cstring>

namespace exrp {

uint8_t* writeRow(const Store& store, uint32_t slot, bool isFinal, uint8_t* to) {
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (store.isKept(column)) continue;
    const uint32_t bytes = store.column(column).bytes;
    if (isFinal && column >= store.leaves().count()) memset(to, 0, bytes);
    else memcpy(to, store.at(column, slot), bytes);
    to += bytes;
  }
  return to;
}

namespace {

/// Calls visit(column, position) for each row, before `end`, that a block has of the columns that only some records keep. Where its first records were
/// trimmed, their rows may serve those that are left.
template <typename Visit>
void forEachKept(const Store& store, uint32_t block, uint32_t end, Visit visit) {
  const KeptColumns& kept = store.kept();
  const uint32_t from = store.positionOf(store.firstSlot(block));
  for (uint32_t k = 0; k < kept.count(); ++k) {
    const Column& column = store.column(kept.column(k));
    const uint32_t late = from % column.every;
    for (uint64_t at = from + uint64_t{late == 0 ? 0 : column.every - late}; at < end; at += column.every) {
      visit(kept.column(k), static_cast<uint32_t>(at));
    }
  }
}

}  // namespace

uint64_t blockChunkBytes(const Store& store, uint32_t block, const BlockRows& rows) {
  uint64_t bytes = sizeof(BlockChunkHead) + uint64_t{rows.count} * store.recordBytes();
  forEachKept(store, block, rows.recordEnd, [&](uint32_t column, uint32_t) { bytes += store.column(column).bytes; });
  return bytes;
}

uint8_t* writeBlockChunk(const Store& store, uint32_t block, const BlockRows& rows, uint8_t* to) {
  const uint32_t slot = store.firstSlot(block) + rows.first;
  const uint32_t position = store.positionOf(slot);
  const BlockChunkHead head = {store.handleOf(block), position, rows.count, rows.hasFinal, 0};
  memcpy(to, &head, sizeof head);
  to += sizeof head;
  for (uint32_t row = 0; row < rows.count; ++row) to = writeRow(store, slot + row, rows.hasFinal == 1 && row + 1 == rows.count, to);
  forEachKept(store, block, rows.recordEnd, [&](uint32_t column, uint32_t at) {
    memcpy(to, store.kept().at(column, block, at), store.column(column).bytes);
    to += store.column(column).bytes;
  });
  return to;
}

const uint8_t* readBlockChunk(Store& store, uint32_t block, const BlockChunkHead& head, uint32_t recordEnd, const uint8_t* chunk) {
  const uint8_t* from = chunk + sizeof head;
  for (uint32_t row = 0; row < head.rowCount; ++row) {
    const uint32_t slot = store.slotAt(block, head.position + row);
    for (uint32_t column = 0; column < store.columnCount(); ++column) {
      if (store.isKept(column)) continue;
      memcpy(store.at(column, slot), from, store.column(column).bytes);
      from += store.column(column).bytes;
    }
  }
  forEachKept(store, block, recordEnd, [&](uint32_t column, uint32_t at) {
    memcpy(store.kept().at(column, block, at), from, store.column(column).bytes);
    from += store.column(column).bytes;
  });
  return from;
}

SealedChunk* sealBlock(const Store& store, uint32_t block, const BlockRows& rows) {
  const uint64_t bytes = blockChunkBytes(store, block, rows);
  if (bytes > UINT32_MAX - sizeof(SealedChunk)) return nullptr;
  auto* const chunk = static_cast<SealedChunk*>(resizeMemory(nullptr, sizeof(SealedChunk) + static_cast<size_t>(bytes)));
  if (chunk == nullptr) return nullptr;
  *chunk = {1, static_cast<uint32_t>(bytes), store.schema(), 0};
  writeBlockChunk(store, block, rows, chunk->data());
  return chunk;
}

void releaseBlock(SealedChunk* chunk) {
  if (--chunk->references == 0) std::free(chunk);
}

}  // namespace exrp
