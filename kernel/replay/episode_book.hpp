// EpisodeBook: writes down what happens to the episodes of a replay: one begins, gets records, ends, is trimmed, goes. Then it tells the
// listeners.
//
// It does what it is told, and decides nothing. Which episode goes, and when, is the business of forgetting.hpp; what a call of an actor
// leads to, that of replay.hpp.
//
// Thread safety: none of its own.
// Invariants: those of StoredEpisodes, and those that EpisodeListener promises.
// Cost: append() O(1), and what the listeners take. A trim O(its blocks), a removal likewise. All memory is taken in prepare(), so nothing else
// fails.
#pragma once

#include "kernel/replay/listeners.hpp"
#include "kernel/replay/replay_config.hpp"
#include "kernel/store/stored_episodes.hpp"

namespace exrp {

class EpisodeBook final : public StoredEpisodes {
 public:
  Status create(const ReplayConfig& config);

  /// A listener, by its type.
  template <typename Listener>
  Listener& part() {
    return listeners_.get<Listener>();
  }
  template <typename Listener>
  const Listener& part() const {
    return listeners_.get<Listener>();
  }
  const Listeners& listeners() const { return listeners_; }

  // For those who write rows, tags and births into what is there.
  using StoredEpisodes::episodes;
  using StoredEpisodes::store;
  Store& store() { return store_; }
  EpisodeList& episodes() { return episodes_; }
  /// Something was drawn, given a priority or made: what a snapshot holds has changed.
  void noteChange() { ++changeCount_; }

  /// To be called before a row of a block gets other values in the columns whose bits are set, while nobody copies from it.
  void changing(uint32_t block, uint64_t columns = UINT64_MAX) {
    listeners_.forEach([&](auto& each) { each.changing(*this, block, columns); });
    ++changeCount_;
  }

  /// Whether no more rows come to a block.
  bool isFull(uint32_t block) const {
    const uint32_t episode = store_.head(block).episode;
    return block != episodes_[episode].lastBlock || episodes_[episode].ended() || needsBlock(episode);
  }

  /// Takes all memory that `recordCount` records of `episodeCount` episodes in `blockCount` blocks could need, before anything changes.
  Status prepare(uint32_t recordCount, uint32_t episodeCount, uint32_t blockCount) { return prepare(recordCount, episodeCount, blockCount, blockCount); }

  /// An open episode of this tag, which holds no record.
  uint32_t begin(int32_t tag) {
    const uint32_t episode = add(nextHandle_++, tag, 0);
    store_.packed().open(episodes_[episode].firstBlock);
    return episode;
  }
  /// The slot after the episode's last record, in a new block where the last one is full.
  uint32_t takeSlot(uint32_t episode) {
    if (needsBlock(episode)) [[unlikely]] addBlock(episode);
    return nextSlot(episode);
  }
  /// The same, of an episode whose last block has room.
  uint32_t nextSlot(uint32_t episode) const { return store_.slotAt(episodes_[episode].lastBlock, episodes_[episode].count); }
  /// Counts the `count` records that were copied to the episode's next slots, all in one block. `priorities` are doubles, or null.
  void append(uint32_t episode, uint32_t count, const uint8_t* priorities);
  /// Ends an open episode that holds records.
  void end(uint32_t episode, const StateRef& finalState, bool isTruncated);
  /// Ends one that holds two or more as truncated. Its newest record goes: its state, which is there already, becomes the final state.
  void endAtLastState(uint32_t episode);
  /// The records of an episode before `to` go, and those blocks that hold no other rows.
  void trim(uint32_t episode, uint32_t to);
  /// Where it is open, its handle may go on, but for an episode that ends and is removed as it holds nothing.
  void remove(uint32_t episode, bool mayGoOn = true);

  // ---- who writes, where threads share the replay ----

  /// The seat whose calls follow.
  void setWriter(uint16_t writer) { writer_ = writer; }
  uint16_t writer() const { return writer_; }

  // ---- loading, into a replay that was just made ----

  /// Of the records, so many are stored.
  Status restoreCounts(uint64_t nextHandle, uint64_t recordedCount, uint64_t evictedCount, uint32_t recordCount);
  /// Adds an episode with room for its records from `first` on, which are not there yet.
  Status restore(uint64_t handle, uint32_t first, uint32_t count, uint32_t state, int32_t tag);
  /// A block got its last row. It is packed at once where no more come: all rows of a replay may need more memory than there is.
  void filled(uint32_t block) {
    if (isFull(block)) pack(block);
  }
  /// To be called once all rows and births are there.
  void endRestoring();

 private:
  /// Likewise; `openCount` of the blocks get records one by one.
  Status prepare(uint32_t recordCount, uint32_t episodeCount, uint32_t blockCount, uint32_t openCount);
  uint32_t add(uint64_t handle, int32_t tag, uint32_t ordinal);
  void appendBlock(uint32_t episode, uint32_t ordinal);
  void addBlock(uint32_t episode);
  void dropFirstBlock(uint32_t episode);
  void pack(uint32_t block) {
    if (store_.packed().count() > 0) packRows(block);
  }
  void packRows(uint32_t block);
  void seal(uint32_t block, bool packs = true);
  void noteBirths(uint32_t episode, uint32_t count);
  void noteEnd(uint32_t episode, uint16_t state, uint32_t openCount);

  Listeners listeners_;
  uint16_t writer_ = 1;  // the first seat, which is the only one while the replay is not shared
};

}  // namespace exrp
