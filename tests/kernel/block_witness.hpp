// BlockWitness: watches over what the book promises of blocks. It is a listener in the C++ tests only, where it ends the program with the
// promise that broke.
//
// It does what a log would do: it makes a sealed chunk of each block that is sealed, and keeps the latest of them after their blocks have gone.
//
// Thread safety: none of its own.
// Invariants, which assertions or check() hold the book to:
//   1. A block is sealed at most once before it is freed.
//   2. Between calls, a block of an episode is sealed exactly if records fill it, or if its episode has ended.
//   3. The rows of a block are the same when it is sealed and when it is freed, or first changes.
//   4. The chunk of a block stays as it was made.
// Cost: a copy of a block's rows and its checksum when it is sealed and when it is freed; the chunks of all sealed blocks, and 64 more.
#pragma once

#include <cassert>
#include <cstring>
#include <deque>
#include <vector>

#include "kernel/store/episode_listener.hpp"

namespace exrp {

class BlockWitness final : public EpisodeListener {
 public:
  BlockWitness() = default;
  ~BlockWitness() {
    for (const Note& note : notes_) {
      if (note.chunk != nullptr) release(note);
    }
    for (const Note& note : gone_) release(note);
  }

  void sealed(const StoredEpisodes& stored, uint32_t block) {
    if (block >= notes_.size()) notes_.resize(size_t{block} + 1);
    Note& note = notes_[block];
    assert(!note.isSealed && "invariant 1");
    note = {true, stored.rowsOf(block)};
    // Null where the test refuses memory.
    note.chunk = sealBlock(stored.store(), block, note.rows);
    if (note.chunk != nullptr) note.sum = note.chunk->checksum();
  }
  void freed(const StoredEpisodes& stored, uint32_t block) {
    if (block >= notes_.size()) return;
    changing(stored, block, UINT64_MAX);
    notes_[block] = {};
  }
  void changing(const StoredEpisodes& stored, uint32_t block, uint64_t) {
    if (block >= notes_.size() || notes_[block].chunk == nullptr) return;
    const Note note = notes_[block];
    notes_[block].chunk = nullptr;
    const Store& store = stored.store();
    // Those of a block that is on the disk only, or still to be read from there, are not looked at. One that was read back has no rows that were trimmed before.
    const bool isThere = store.source() == nullptr || (!store.source()->isMissing(block) && stored.rowsOf(block).first == note.rows.first);
    if (SealedChunk* const now = isThere ? sealBlock(store, block, note.rows) : nullptr; now != nullptr) {
      assert(now->bytes == note.chunk->bytes && memcmp(now->data(), note.chunk->data(), now->bytes) == 0 && "invariant 3");
      assert(now->checksum() == note.sum && "invariant 3");
      releaseBlock(now);
    }
    gone_.push_back(note);
    if (gone_.size() <= goneMax) return;
    release(gone_.front());
    gone_.pop_front();
  }
  int32_t check(const StoredEpisodes& stored) const {
    const EpisodeList& episodes = stored.episodes();
    for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) {
      const Episode& entry = episodes[episode];
      for (uint32_t block = entry.firstBlock; block != blockNone; block = stored.store().block(block).next) {
        const bool isSealed = block < notes_.size() && notes_[block].isSealed;
        if (isSealed != (block != entry.lastBlock || entry.ended() || stored.needsBlock(episode))) return 2;
      }
    }
    return 0;
  }

 private:
  static constexpr size_t goneMax = 64;

  struct Note {
    bool isSealed = false;
    BlockRows rows = {};
    SealedChunk* chunk = nullptr;
    uint32_t sum = 0;  // of the chunk
  };

  static void release(const Note& note) {
    assert(note.sum == note.chunk->checksum() && "invariant 4");
    releaseBlock(note.chunk);
  }

  std::vector<Note> notes_;  // by block
  std::deque<Note> gone_;
};

}  // namespace exrp
