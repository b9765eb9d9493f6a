// ChunkStore: the chunks of all tables of a set, each stored once, as its bytes came: a sealed chunk. It goes when nothing refers to it any more.
//
// What refers to a chunk: an item, and each inserter that holds it for items to come. A chunk also knows for each table how many of its items
// refer to it, so that a table knows how many bytes it keeps, and of how many episodes.
// Of the message, only chunk_key and sequence_range.episode_id are ever read. The key is known to the inserter alone: chunks of different
// clients never meet.
//
// Thread safety: none of its own.
// Invariants:
//   1. A chunk that exists has references, and its episode has a count of its chunks.
//   2. uses(chunk)[t] is the number of table t's items that refer to the chunk. What use() and disuse() add up is of the chunks for which it is not 0.
//   3. loggedBytes(s) are those of the frames of the chunks that a log has in segment s.
// Cost: some ns a chunk, and a copy of its bytes. A snapshot computes their checksum. Memory: 16 bytes, 4 for each table, 8 where a log keeps chunks, and the bytes, rounded up to 8. An
// episode takes 12 bytes, 4 for each table, and 11 to 21 in its map.
// A failure is Status::memory, and changes nothing.
#pragma once

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/base/sealed_chunk.hpp"
#include "kernel/log/log_place.hpp"
#include "kernel/tables/arena.hpp"
#include "kernel/tables/key_map.hpp"
#include "kernel/wire/proto_reader.hpp"

namespace exrp {

/// What the store keeps of a chunk. Before it stands a count for each table, and before these, where chunks go into a log, the place there.
struct ChunkPlace {
  uint32_t slab;
  uint32_t episode;
};

/// What the chunks that one table's items refer to come to.
struct ChunkUse {
  uint64_t bytes = 0;  // each chunk once
  uint64_t episodes = 0;
  uint64_t episodesDeleted = 0;  // episodes that no item refers to any more
};

/// Its bytes follow, as those of any sealed chunk.
struct Chunk : ChunkPlace, SealedChunk {};
static_assert(sizeof(Chunk) == sizeof(ChunkPlace) + sizeof(SealedChunk));

class ChunkStore {
 public:
  ChunkStore(uint32_t tableCount, uint64_t secret) : tableCount_(tableCount), headWords_(tableCount), episodeOf_(secret) {}
  Status create() { return episodes_.create(episodeWordsMax) ? Status::ok : Status::memory; }

  /// A new chunk with one reference; null for want of memory.
  Chunk* add(ByteSpan message, uint64_t episode);
  /// The same, whose bytes the caller writes before anybody reads them.
  Chunk* addUnwritten(uint32_t bytes, uint64_t episode);
  void keep(Chunk* chunk) { ++chunk->references; }
  /// One reference less; the last one frees the chunk.
  void release(Chunk* chunk) {
    if (--chunk->references == 0) free(chunk);
  }

  /// One more item of a table refers to the chunk.
  void use(Chunk* chunk, uint32_t table, ChunkUse& by) {
    if (uses(chunk)[table]++ > 0) return;
    by.bytes += chunk->bytes;
    if (episodeWords(chunk->episode)[episodeHead + table]++ == 0) ++by.episodes;
  }
  /// One less.
  void disuse(Chunk* chunk, uint32_t table, ChunkUse& by) {
    if (--uses(chunk)[table] > 0) return;
    by.bytes -= chunk->bytes;
    if (--episodeWords(chunk->episode)[episodeHead + table] > 0) return;
    --by.episodes;
    ++by.episodesDeleted;
  }
  uint32_t usesOf(const Chunk* chunk, uint32_t table) const { return (reinterpret_cast<const uint32_t*>(chunk) - tableCount_)[table]; }

  uint64_t episodeId(uint32_t episode) const;

  /// From now on each chunk has a place in a log. False where there is a chunk already.
  bool keepPlaces() {
    if (chunkCount_ > 0) return false;
    headWords_ = tableCount_ + placeWords;
    return true;
  }
  /// Where a log has a chunk; segment 0: nowhere.
  LogPosition logged(const Chunk* chunk) const {
    return keepsPlaces() ? LogPosition{placeOf(chunk)[0], placeOf(chunk)[1]} : LogPosition{};
  }
  /// The first segment of a log that may have chunks.
  void beginSegments(uint32_t first) { firstSegment_ = first; }
  /// Makes room for what a log has in segments up to this one. False for want of memory.
  bool prepareSegment(uint32_t segment) { return loggedBytes_.commit(size_t{segment} - firstSegment_ + 1); }
  /// Says where a log has a chunk; {}: nowhere. After keepPlaces(). prepareSegment() has made room.
  void setLogged(Chunk* chunk, LogPosition place) {
    unlog(chunk);
    placeOf(chunk)[0] = place.segment;
    placeOf(chunk)[1] = place.offset;
    if (place.segment != 0) loggedBytes_[place.segment - firstSegment_] += frameBytes(chunk);
  }
  /// The bytes of the frames of all chunks that a log has in a segment.
  uint64_t loggedBytes(uint32_t segment) const {
    return segment >= firstSegment_ && segment - firstSegment_ < loggedBytes_.committed() ? loggedBytes_[segment - firstSegment_] : 0;
  }

  /// What a chunk takes besides its bytes.
  size_t headBytes() const { return wholeBytes(0); }

  Arena& arena() { return arena_; }
  double chunkCount() const { return static_cast<double>(chunkCount_); }
  double chunkBytes() const { return static_cast<double>(chunkBytes_); }
  double memoryBytes() const;
  int32_t check() const;

 private:
  static constexpr uint32_t none = 0xffffffffu;
  static constexpr size_t placeWords = 2;
  static constexpr uint32_t episodeHead = 3;  // words: the id's low and high half, and the count of chunks
  static constexpr uint64_t episodeWordsMax = uint64_t{1} << 34;

  void free(Chunk* chunk);
  static uint64_t frameBytes(const Chunk* chunk) { return uint64_t{16} + chunk->bytes; }
  void unlog(const Chunk* chunk) {
    if (const uint32_t segment = logged(chunk).segment; segment != 0) loggedBytes_[segment - firstSegment_] -= frameBytes(chunk);
  }
  uint32_t* uses(Chunk* chunk) const { return reinterpret_cast<uint32_t*>(chunk) - tableCount_; }
  bool keepsPlaces() const { return headWords_ > tableCount_; }
  /// Where the block of a chunk begins, which is its place in a log if it has one.
  uint32_t* placeOf(Chunk* chunk) const { return reinterpret_cast<uint32_t*>(chunk) - headWords_; }
  const uint32_t* placeOf(const Chunk* chunk) const { return reinterpret_cast<const uint32_t*>(chunk) - headWords_; }
  size_t wholeBytes(size_t bytes) const { return sizeof(Chunk) + 4 * headWords_ + bytes; }
  uint64_t episodeStride() const { return episodeHead + tableCount_; }
  uint32_t* episodeWords(uint32_t episode) { return &episodes_[episode * episodeStride()]; }
  const uint32_t* episodeWords(uint32_t episode) const { return &episodes_[episode * episodeStride()]; }
  /// The number of an episode, new or known, with one chunk more; `none` for want of memory.
  uint32_t keepEpisode(uint64_t id);

  const size_t tableCount_;
  size_t headWords_;  // before a chunk
  Arena arena_;
  ReservedArray<uint32_t> episodes_;
  KeyMap episodeOf_;
  uint32_t episodeCount_ = 0;  // numbers ever used
  uint32_t episodeFree_ = none;
  uint64_t chunkCount_ = 0;
  uint64_t chunkBytes_ = 0;
  Scratch<uint64_t> loggedBytes_;  // by segment, from the first one on
  uint32_t firstSegment_ = 1;
};

}  // namespace exrp
