// The rows of a block as bytes, which mean the same once the block has gone: for a sealed chunk, which its holders may keep, and for a log.
//
// The bytes have a head (BlockChunkHead), the rows, and then the block's rows of each column that is kept for some records only, also those of
// records that were trimmed. A row is as a
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
  uint32_t recordEnd;  // the block's records have positions below this
};

/// What the bytes of a block's chunk begin with.
struct BlockChunkHead {
  uint64_t handle;
  uint32_t position;  // of the first row
  uint32_t rowCount;
  uint32_t hasFinal;
  uint32_t hasNextState;  // 1 where a log has the next state of the episode behind the rows
};

/// How many bytes the rows take, with their head.
uint64_t blockChunkBytes(const Store& store, uint32_t block, const BlockRows& rows);
/// Writes them, and returns where they end.
uint8_t* writeBlockChunk(const Store& store, uint32_t block, const BlockRows& rows, uint8_t* to);
/// Writes the rows of such bytes into a block, which has the head's episode and positions. Returns where they end.
const uint8_t* readBlockChunk(Store& store, uint32_t block, const BlockChunkHead& head, uint32_t recordEnd, const uint8_t* chunk);

/// A chunk with one reference; null for want of memory, or if it would take 4 GiB.
SealedChunk* sealBlock(const Store& store, uint32_t block, const BlockRows& rows);
/// One reference less to a chunk of sealBlock(). The last one frees it.
void releaseBlock(SealedChunk* chunk);
/// Writes one row as a chunk has it, and returns where it ends.
uint8_t* writeRow(const Store& store, uint32_t slot, bool isFinal, uint8_t* to);

}  // namespace exrp
