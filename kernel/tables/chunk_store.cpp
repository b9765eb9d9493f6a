#include "kernel/tables/chunk_store.hpp"

#include <cstring>

namespace exrp {

Chunk* ChunkStore::add(ByteSpan message, uint64_t episode) {
  Chunk* const chunk = addUnwritten(static_cast<uint32_t>(message.size), episode);
  if (chunk != nullptr && message.size > 0) memcpy(chunk->data(), message.data, message.size);
  return chunk;
}

Chunk* ChunkStore::addUnwritten(uint32_t bytes, uint64_t episode) {
  Arena::Block block = {};
  if (!arena_.take(wholeBytes(bytes), &block)) return nullptr;
  const uint32_t number = keepEpisode(episode);
  if (number == none) {
    arena_.give(block);
    return nullptr;
  }
  memset(block.at, 0, 4 * headWords_);
  auto* const chunk = reinterpret_cast<Chunk*>(block.at + 4 * headWords_);
  *chunk = {{block.slab, number}, {1, bytes}};
  ++chunkCount_;
  chunkBytes_ += bytes;
  return chunk;
}

void ChunkStore::free(Chunk* chunk) {
  const uint32_t episode = chunk->episode;
  --chunkCount_;
  chunkBytes_ -= chunk->bytes;
  unlog(chunk);
  arena_.give({reinterpret_cast<uint8_t*>(placeOf(chunk)), chunk->slab});
  uint32_t* const words = episodeWords(episode);
  if (--words[2] > 0) return;
  episodeOf_.remove(episodeId(episode), episode);
  words[0] = episodeFree_;
  episodeFree_ = episode;
}

uint64_t ChunkStore::episodeId(uint32_t episode) const {
  const uint32_t* const words = episodeWords(episode);
  return uint64_t{words[1]} << 32 | words[0];
}

uint32_t ChunkStore::keepEpisode(uint64_t id) {
  const uint32_t known = episodeOf_.find(id, [this](uint32_t episode) { return episodeId(episode); });
  if (known != none) {
    ++episodeWords(known)[2];
    return known;
  }
  if (!episodeOf_.prepare(episodeOf_.count() + 1)) return none;
  uint32_t number = episodeFree_;
  if (number != none) {
    episodeFree_ = episodeWords(number)[0];
  } else {
    if (!episodes_.commit((uint64_t{episodeCount_} + 1) * episodeStride())) return none;
    number = episodeCount_++;
  }
  uint32_t* const words = episodeWords(number);
  words[0] = static_cast<uint32_t>(id);
  words[1] = static_cast<uint32_t>(id >> 32);
  words[2] = 1;
  for (size_t table = 0; table < tableCount_; ++table) words[episodeHead + table] = 0;
  episodeOf_.add(id, number);
  return number;
}

double ChunkStore::memoryBytes() const {
  return arena_.memoryBytes() + episodes_.takenBytes(episodeCount_ * episodeStride()) + episodeOf_.memoryBytes() + loggedBytes_.memoryBytes();
}

int32_t ChunkStore::check() const {
  uint64_t chunks = 0;
  uint64_t freeCount = 0;
  for (uint32_t at = episodeFree_; at != none; at = episodeWords(at)[0]) ++freeCount;
  for (uint32_t episode = 0; episode < episodeCount_; ++episode) {
    const uint64_t id = episodeId(episode);
    const uint32_t found = episodeOf_.find(id, [this](uint32_t number) { return episodeId(number); });
    if (found == episode) chunks += episodeWords(episode)[2];
  }
  if (chunks != chunkCount_ || episodeOf_.count() + freeCount != episodeCount_) return 1;
  return arena_.check() == 0 ? 0 : 10 + arena_.check();
}

}  // namespace exrp
