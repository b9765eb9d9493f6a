#include "kernel/store/sealed_block.hpp"

#include <cstdlib>
#include <cstring>

namespace exrp {

uint8_t* writeRows(const Store& store, uint32_t slot, uint32_t count, bool hasFinal, uint8_t* to) {
  const size_t rowBytes = store.recordBytes();
  uint8_t* const end = to + count * rowBytes;
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (store.isKept(column)) continue;
    const uint32_t bytes = store.column(column).bytes;
    const bool isCut = hasFinal && column >= store.leaves().count();
    const uint32_t known = isCut ? count - 1 : count;
    if (known > 0) store.readRows(column, slot, known, to, rowBytes);
    if (isCut) memset(to + known * rowBytes, 0, bytes);
    to += bytes;
  }
  return end;
}

SealedChunk* sealBlock(const Store& store, uint32_t block, const BlockRows& rows) {
  const uint32_t slot = store.firstSlot(block) + rows.first;
  const uint32_t position = store.positionOf(slot);
  const uint32_t end = position + rows.count - rows.hasFinal;
  const KeptColumns& kept = store.kept();
  const auto forEachKept = [&](auto visit) {
    for (uint32_t k = 0; k < kept.count(); ++k) {
      const Column& column = store.column(kept.column(k));
      const uint32_t late = position % column.every;
      for (uint64_t at = position + uint64_t{late == 0 ? 0 : column.every - late}; at < end; at += column.every) {
        visit(kept.column(k), column.bytes, static_cast<uint32_t>(at));
      }
    }
  };
  uint64_t bytes = sizeof(BlockChunkHead) + uint64_t{rows.count} * store.recordBytes();
  forEachKept([&](uint32_t, uint32_t rowBytes, uint32_t) { bytes += rowBytes; });
  if (bytes > UINT32_MAX - sizeof(SealedChunk)) return nullptr;
  auto* const chunk = static_cast<SealedChunk*>(resizeMemory(nullptr, sizeof(SealedChunk) + static_cast<size_t>(bytes)));
  if (chunk == nullptr) return nullptr;
  *chunk = {1, static_cast<uint32_t>(bytes)};
  const BlockChunkHead head = {store.handleOf(block), position, rows.count, rows.hasFinal, store.schema()};
  memcpy(chunk->data(), &head, sizeof head);
  uint8_t* to = chunk->data() + sizeof head;
  if (rows.count > 0) to = writeRows(store, slot, rows.count, rows.hasFinal == 1, to);
  forEachKept([&](uint32_t column, uint32_t rowBytes, uint32_t at) {
    memcpy(to, kept.at(column, block, at), rowBytes);
    to += rowBytes;
  });
  return chunk;
}

void releaseBlock(SealedChunk* chunk) {
  if (--chunk->references == 0) std::free(chunk);
}

}  // namespace exrp
