// SealedChunk: rows that never change any more, as bytes with what a stranger needs of them: how many bytes, and their checksum.
// A block of a replay leaves its store so (kernel/store/sealed_block.hpp), and a chunk of a table is stored so (kernel/tables/chunk_store.hpp).
//
// The bytes stand right behind it, in the same allocation. They also say how to read them, which episode the rows are of, and from which position on. So
// the checksum speaks of that, too.
//
// Thread safety: none of its own: one thread at a time counts.
// Invariants:
//   1. The bytes never change. They stay while anybody has a reference.
// Cost: 8 bytes. Each checksum() reads all bytes: kept, it would take 4 more, and a table of small steps has five chunks an item.
// It does not free itself: the last reference is given back to who made it.
#pragma once

#include "kernel/base/checksum.hpp"

namespace exrp {

struct SealedChunk {
  uint32_t references;
  uint32_t bytes;

  uint8_t* data() { return reinterpret_cast<uint8_t*>(this + 1); }
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(this + 1); }
  /// CRC-32C of the bytes.
  uint32_t checksum() const { return exrp::checksum(0, data(), bytes); }
};

}  // namespace exrp
