// StoredEpisodes: the episodes of a replay as they are now: where their records lie, how they are found, and how many there were.
//
// Everybody may look at them. Only the book changes them (kernel/replay/episode_book.hpp), and tells its listeners.
//
// Thread safety: none of its own.
// Invariants:
//   1. recordCount() is the sum of the records that the episodes hold.
//   2. Each episode's chain has the blocks that its records and its final state need, and at least one. Their ordinals rise by 1, from that of
//      its oldest record on.
//   3. endedCount() counts the ended episodes.
//   4. Every handle is below nextHandle().
//   5. Births rise within an episode by at least 1 a record, and are below recordedCount().
// Cost: all O(1), but for check(). It does not decide which record goes.
#pragma once

#include "kernel/base/whole_number.hpp"
#include "kernel/store/block_index.hpp"
#include "kernel/store/episode_list.hpp"
#include "kernel/store/pick_policy.hpp"
#include "kernel/store/sealed_block.hpp"

namespace exrp {

class StoredEpisodes {
 public:
  StoredEpisodes() = default;
  StoredEpisodes(const StoredEpisodes&) = delete;
  StoredEpisodes& operator=(const StoredEpisodes&) = delete;

  const Store& store() const { return store_; }
  const BlockIndex& blocks() const { return blocks_; }
  const EpisodeList& episodes() const { return episodes_; }

  // ---- how many ----

  uint64_t nextHandle() const { return nextHandle_; }
  uint64_t recordCount() const { return recordCount_; }
  uint64_t recordedCount() const { return recordedCount_; }
  uint64_t evictedCount() const { return evictedCount_; }
  uint32_t endedCount() const { return endedCount_; }
  /// A number that rises with every change of what a snapshot holds.
  uint64_t changeCount() const { return recordedCount_ + changeCount_; }
  /// How many records of an open episode go at once where room is needed.
  uint32_t trimLength() const { return trimLength_; }
  double indexBytes() const { return store_.indexBytes() + blocks_.memoryBytes() + episodes_.memoryBytes(); }

  // ---- finding episodes ----

  Status checkHandle(double handle) const {
    return isWhole(handle, 0, static_cast<double>(static_cast<int64_t>(nextHandle_) - 1)) ? Status::ok : failUnknown(handle);
  }
  Status failUnknown(double handle) const { return fail(Status::episodeUnknown, handle, static_cast<double>(nextHandle_)); }
  /// A record for an episode that has ended; `episode` is episodeNone where it was forgotten since.
  Status failEnded(double handle, uint32_t episode) const {
    return fail(Status::episodeEnded, handle, episode == episodeNone ? -1 : double{1} * episodes_[episode].count);
  }
  /// The index of a live episode, or episodeNone. The handle was given out.
  uint32_t findEpisode(double handle) const { return blocks_.findEpisode(store_, static_cast<uint64_t>(handle)); }
  /// Whether `episode` is the index of this handle's episode still, and it was not forgotten.
  bool isLive(uint32_t episode, double handle) const {
    return handleAt(episode) == handle && episodes_[episode].state != EXRP_EPISODE_EVICTED;
  }
  /// By way of a signed number, as handles are below 2^53: one instruction instead of many.
  double handleAt(uint32_t episode) const { return static_cast<double>(static_cast<int64_t>(episodes_[episode].handle)); }

  // ---- what an episode has ----

  /// Below this are the positions of the rows that an episode has in the state's column: its records, and its final state.
  uint32_t stateRows(const Episode& episode) const { return episode.count + (episode.ended() ? 1 : 0); }
  /// How many of them it holds.
  uint32_t storedRows(uint32_t episode) const { return stateRows(episodes_[episode]) - episodes_.first(episode); }
  /// Those of them that lie in one of its blocks.
  BlockRows rowsOf(uint32_t block) const {
    const uint32_t episode = store_.head(block).episode;
    const uint32_t end = stateRows(episodes_[episode]);
    const uint32_t begin = store_.positionOf(store_.firstSlot(block));
    const uint32_t first = episodes_.first(episode) > begin ? episodes_.first(episode) : begin;
    if (first >= end || first - begin >= store_.blockLength()) return {0, 0, 0};
    const uint32_t room = store_.blockLength() - (first - begin);
    const uint32_t count = room < end - first ? room : end - first;
    return {first - begin, count, first + count == end && episodes_[episode].ended() ? 1u : 0u};
  }
  bool holdsRecords(uint32_t episode) const { return episodes_.recordCount(episode) > 0; }
  /// Whether its next row needs a new block, as its records fill the last one.
  bool needsBlock(uint32_t episode) const {
    const Episode& entry = episodes_[episode];
    return entry.count > 0 && store_.within(entry.count) == 0;
  }
  /// The birth of the oldest record of an episode that holds one.
  uint64_t birthOf(uint32_t episode) const {
    return store_.births().at(store_.slotAt(episodes_[episode].firstBlock, episodes_.first(episode)));
  }
  /// The block of a position of an episode whose row is stored.
  uint32_t blockAt(const Episode& entry, uint32_t position) const {
    const uint32_t ordinal = store_.ordinalOf(position);
    return store_.head(entry.firstBlock).ordinal() == ordinal ? entry.firstBlock : blocks_.find(store_, entry.handle, ordinal);
  }
  /// Whether pick views of this policy have picks of the episode, by the episode's tag.
  bool hasPicks(const PickPolicy& policy, uint32_t episode) const {
    return policy.tagCount == 0 || policy.takes(episodes_.tag(episode));
  }

  int32_t check() const;

 protected:
  /// The ordinal of the first block of an episode whose oldest row is at `first`. One that holds no row keeps the block that it had last.
  uint32_t firstOrdinal(const Episode& entry, uint32_t first) const {
    const bool isEmpty = first == stateRows(entry);
    return store_.ordinalOf(isEmpty && first > 0 ? first - 1 : first);
  }
  /// One more than the ordinal of its last block.
  uint32_t endOrdinal(const Episode& entry, uint32_t first) const {
    const uint32_t rows = stateRows(entry);
    return (rows > first ? store_.ordinalOf(rows - 1) : firstOrdinal(entry, first)) + 1;
  }

  Store store_;
  BlockIndex blocks_;
  EpisodeList episodes_;
  uint64_t nextHandle_ = 0;
  uint64_t recordCount_ = 0;
  uint64_t recordedCount_ = 0;
  uint64_t evictedCount_ = 0;
  uint64_t changeCount_ = 0;  // but for records
  uint32_t endedCount_ = 0;
  uint32_t trimLength_ = 1;

 private:
  int32_t checkBlocks(uint32_t episode) const;
  int32_t checkBirths(uint32_t episode) const;
};

}  // namespace exrp
