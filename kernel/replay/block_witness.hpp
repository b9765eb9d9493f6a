// BlockWitness: watches over what the book promises of blocks. It is a listener in the C++ tests only, where it ends the program with the
// promise that broke.
//
// Thread safety: none of its own.
// Invariants, which assertions or check() hold the book to:
//   1. A block is sealed at most once before it is freed.
//   2. Between calls, a block of an episode is sealed exactly if records fill it, or if its episode has ended.
//   3. The rows of a block are the same when it is sealed and when it is freed.
// Cost: a checksum of a block's rows when it is sealed and when it is freed.
#pragma once

#include <cassert>
#include <vector>

#include "kernel/base/checksum.hpp"
#include "kernel/store/episode_listener.hpp"

namespace exrp {

class BlockWitness final : public EpisodeListener {
 public:
  void sealed(const StoredEpisodes& stored, uint32_t block) {
    if (block >= notes_.size()) notes_.resize(size_t{block} + 1);
    assert(!notes_[block].isSealed && "invariant 1");
    notes_[block] = {true, sumOf(stored.store(), block)};
  }
  void freed(const StoredEpisodes& stored, uint32_t block) {
    if (block >= notes_.size()) return;
    assert((!notes_[block].isSealed || notes_[block].sum == sumOf(stored.store(), block)) && "invariant 3");
    notes_[block] = {};
  }
  int32_t check(const StoredEpisodes& stored) const {
    const EpisodeTable& episodes = stored.episodes();
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
  struct Note {
    bool isSealed = false;
    uint32_t sum = 0;
  };

  static uint32_t sumOf(const Store& store, uint32_t block) {
    uint32_t sum = 0;
    for (uint32_t group = 0; group < store.groupCount(); ++group) {
      sum = checksum(sum, store.groupRow(group, store.firstSlot(block)), size_t{store.blockLength()} * store.groupStride(group));
    }
    return sum;
  }

  std::vector<Note> notes_;  // by block
};

}  // namespace exrp
