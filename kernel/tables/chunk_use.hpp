// ChunkUse: which chunks and episodes the items of one table refer to, and how many bytes these chunks have.
//
// The store keeps a count for each chunk and table, and for each episode and table (chunk_store.hpp). This adds up what they say of one table.
//
// Thread safety: none of its own.
// Invariants: bytes() are those of the chunks that items refer to, each once; episodes() are those of these chunks.
// Cost: O(chunks of the item).
#pragma once

#include "kernel/tables/chunk_store.hpp"

namespace exrp {

class ChunkUse {
 public:
  ChunkUse(uint32_t table, ChunkStore& store) : table_(table), store_(store) {}

  /// An item with these chunks is in the table, or no longer.
  void add(Chunk* const* chunks, uint32_t count) {
    for (uint32_t k = 0; k < count; ++k) {
      if (!store_.use(chunks[k], table_)) continue;
      bytes_ += chunks[k]->bytes;
      if (store_.useEpisode(chunks[k]->episode, table_)) ++episodes_;
    }
  }
  void remove(Chunk* const* chunks, uint32_t count) {
    for (uint32_t k = 0; k < count; ++k) {
      if (!store_.disuse(chunks[k], table_)) continue;
      bytes_ -= chunks[k]->bytes;
      if (!store_.disuseEpisode(chunks[k]->episode, table_)) continue;
      --episodes_;
      ++episodesDeleted_;
    }
  }
  /// Whether every chunk of an item that is in the table is counted.
  bool has(const Chunk* const* chunks, uint32_t count) const {
    for (uint32_t k = 0; k < count; ++k) {
      if (chunks[k]->references == 0 || store_.usesOf(chunks[k], table_) == 0) return false;
    }
    return true;
  }

  uint64_t bytes() const { return bytes_; }
  uint64_t episodes() const { return episodes_; }
  /// Episodes that no item refers to any more, since restore().
  uint64_t episodesDeleted() const { return episodesDeleted_; }
  void restore(uint64_t episodesDeleted) { episodesDeleted_ = episodesDeleted; }

 private:
  const uint32_t table_;
  ChunkStore& store_;
  uint64_t bytes_ = 0;
  uint64_t episodes_ = 0;
  uint64_t episodesDeleted_ = 0;
};

}  // namespace exrp
