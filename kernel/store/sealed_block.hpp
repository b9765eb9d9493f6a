// sealBlock: copies the rows of a block into a sealed chunk, which its holders may keep once the block has gone.
//
// The chunk has a head (BlockChunkHead), the rows, and then the rows of each column that is kept for some records only. A row is as a
// snapshot has it: its columns one after another, in order. Of a final state there is only the state, and zeros.
// Numbers are little-endian, as on all platforms that the kernel runs on.
//
// Thread safety: none of its own.
// Cost: a copy of the rows. The checksum is made when it is asked for.
#pragma once

#include "kernel/base/sealed_chunk.hpp"
#include "kernel/store/store.hpp"

namespace exrp {

/// Rows of one block, all of one episode.
struct BlockRows {
  uint32_t first;  // slot within the block
  uint32_t count;
  uint32_t hasFinal;  // 1 where the last one is a final state
};

/// What the bytes of a block's chunk begin with.
struct BlockChunkHead {
  uint64_t handle;
  uint32_t position;  // of the first row
  uint32_t rowCount;
  uint32_t hasFinal;
  uint32_t schema;  // how to read the bytes behind it: Store::schema()
};

/// A chunk with one reference; null for want of memory, or if it would take 4 GiB.
SealedChunk* sealBlock(const Store& store, uint32_t block, const BlockRows& rows);
/// One reference less to a chunk of sealBlock(). The last one frees it.
void releaseBlock(SealedChunk* chunk);
/// Writes `count` rows of one block, from `slot` on, as a chunk has them, and returns where they end. The last one may be a final state.
uint8_t* writeRows(const Store& store, uint32_t slot, uint32_t count, bool hasFinal, uint8_t* to);

}  // namespace exrp
