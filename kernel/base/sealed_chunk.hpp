// SealedChunk: rows that never change any more, as bytes with what a stranger needs of them: how many bytes, how to read them, and their checksum.
// A block of a replay leaves its store so (kernel/store/sealed_block.hpp), and a chunk of a table is stored so (kernel/tables/chunk_store.hpp).
//
// The bytes stand right behind it, in the same allocation. They also say which episode the rows are of, and from which position on. So the
// checksum speaks of that, too.
//
// Thread safety: none of its own: one thread at a time counts, or asks for the checksum.
// Invariants:
//   1. The bytes never change. They stay while anybody has a reference.
// Cost: 16 bytes. The first checksum() reads all bytes.
// It does not free itself: the last reference is given back to who made it.
#pragma once

#include "kernel/base/checksum.hpp"

namespace exrp {

struct SealedChunk {
  /// The schema of a ChunkData of Reverb's, which says itself what its columns are.
  static constexpr uint32_t reverbSchema = 0;

  uint32_t references;
  uint32_t bytes;
  uint32_t schema;  // how to read the bytes: Store::schema(), or reverbSchema
  uint32_t sum;     // 0: nobody has asked for it

  uint8_t* data() { return reinterpret_cast<uint8_t*>(this + 1); }
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(this + 1); }
  /// CRC-32C of the bytes. One in 2^32 chunks has a sum of 0, and computes it each time.
  uint32_t checksum() {
    if (sum == 0) sum = exrp::checksum(0, data(), bytes);
    return sum;
  }
};

}  // namespace exrp
