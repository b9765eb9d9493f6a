// LoggedRows: where the rows of each block are in the log of a durable replay, and which blocks have rows that are not there yet.
//
// A block is written whole, with all rows that it has. So one place is enough for each. What an update changed is in the log as a command; such a
// block is written once more before a checkpoint, and not at once.
//
// Thread safety: none of its own.
// Invariants:
//   1. Each block is at most once in the list, and so is each episode.
// Cost: 14 bytes a block, and 1 for an episode where columns are kept for some records only. A branch for each run of records; without a log
// nothing else.
#pragma once

#include "kernel/base/scratch.hpp"
#include "kernel/log/log_place.hpp"
#include "kernel/store/episode_listener.hpp"

namespace exrp {

class LoggedRows final : public EpisodeListener {
 public:
  /// From now on it listens. All blocks that are there have to be written. Status::memory leaves it deaf.
  Status begin(const StoredEpisodes& stored) {
    const Growth none = {0, 0, stored.episodes().highWater(), stored.store().highWater() << stored.store().blockShift()};
    isOn_ = true;
    const Status status = prepare(stored, none);
    isOn_ = status == Status::ok;
    for (uint32_t block = 0; isOn_ && block < stored.store().highWater(); ++block) {
      if (stored.store().isTaken(block)) note(block);
    }
    return status;
  }

  /// Calls use(block) for each block that has to be written, and use `useCarried(episode)` for each episode whose carried rows have to be.
  /// Then none has to.
  template <typename Use, typename UseCarried>
  void takeUnwritten(Use use, UseCarried useCarried) {
    for (uint32_t at = 0; at < blockCount_; ++at) {
      const uint32_t block = blocks_[at];
      const uint8_t marks = marks_[block];
      marks_[block] = static_cast<uint8_t>(marks & ~(unwritten | listed));
      if ((marks & unwritten) != 0) use(block);
    }
    blockCount_ = 0;
    for (uint32_t at = 0; at < episodeCount_; ++at) {
      episodeMarks_[episodes_[at]] = 0;
      useCarried(episodes_[at]);
    }
    episodeCount_ = 0;
    newRows_ = unwrittenRows_ = 0;
  }
  /// How many blocks have to be written, at most.
  uint32_t unwrittenCount() const { return blockCount_; }
  /// Rows that came since all blocks were written.
  uint64_t newRows() const { return newRows_; }
  /// Rows of the blocks that have to be written: with the new ones, those before them in the same blocks.
  uint64_t unwrittenRows() const { return unwrittenRows_; }

  /// The rows that a block has now are at this place. Where they `areThere`, the block itself has them, too: else they are still to be read.
  void setPlace(uint32_t block, const LogPlace& place, bool areThere) {
    places_[block] = place;
    marks_[block] = static_cast<uint8_t>((marks_[block] & listed) | (areThere ? 0 : unread));
  }
  /// The same, of a block whose rows were read: it need not be written.
  void setWritten(uint32_t block, const LogPlace& place) {
    places_[block] = place;
    marks_[block] &= listed;
  }
  const LogPlace& place(uint32_t block) const { return places_[block]; }
  bool isUnread(uint32_t block) const { return (marks_[block] & unread) != 0; }
  /// It is still to be written as it is.
  bool isUnwritten(uint32_t block) const { return (marks_[block] & unwritten) != 0; }
  /// Its rows differ from those at its place.
  bool isStale(uint32_t block) const { return (marks_[block] & stale) != 0; }
  /// What is at its place is damaged: nobody reads it any more, and the log need not keep it. The place stays, so that errors can say it.
  void lose(uint32_t block) { marks_[block] |= lost; }
  bool isLost(uint32_t block) const { return (marks_[block] & lost) != 0; }
  /// It could not be read when it was to be written again.
  void setPutOff(uint32_t block, bool isPutOff) { marks_[block] = static_cast<uint8_t>((marks_[block] & ~late) | (isPutOff ? late : 0)); }
  bool isPutOff(uint32_t block) const { return (marks_[block] & late) != 0; }
  /// Its rows are only in memory, until it was written.
  void pin(uint32_t block) { marks_[block] |= pinned; }
  bool isPinned(uint32_t block) const { return (marks_[block] & pinned) != 0; }
  /// The block has to be written, whatever its place says.
  void note(uint32_t block) {
    if ((marks_[block] & listed) == 0) blocks_[blockCount_++] = block;
    marks_[block] |= unwritten | listed;
  }

  // ---- what it hears ----

  Status prepare(const StoredEpisodes& stored, const Growth& growth) {
    if (!isOn_) return Status::ok;
    const size_t blocks = growth.slotEnd >> stored.store().blockShift();
    const size_t episodes = stored.store().kept().count() > 0 ? growth.episodeEnd : 0;
    const bool taken = places_.commit(blocks) && marks_.commit(blocks) && blocks_.commit(blocks) && episodes_.commit(episodes) &&
                       episodeMarks_.commit(episodes);
    return taken ? Status::ok : fail(Status::memory, 17.0 * static_cast<double>(blocks));
  }
  void appended(const StoredEpisodes& stored, uint32_t episode, uint32_t from, const uint8_t*) {
    if (!isOn_) [[likely]] return;
    const Episode& entry = stored.episodes()[episode];
    const uint32_t block = entry.lastBlock;
    const uint32_t came = entry.count - from;
    newRows_ += came;
    unwrittenRows_ += (marks_[block] & unwritten) != 0 ? came : stored.rowsOf(block).count;
    note(block);
  }
  void sealed(const StoredEpisodes& stored, uint32_t block) {
    if (!isOn_) [[likely]] return;
    if ((marks_[block] & unwritten) == 0) unwrittenRows_ += stored.rowsOf(block).count;
    note(block);
  }
  void shortening(const StoredEpisodes& stored, uint32_t episode) {
    if (isOn_) [[unlikely]] note(stored.episodes()[episode].lastBlock);
  }
  void changing(const StoredEpisodes&, uint32_t block, uint64_t) {
    if (isOn_) [[unlikely]] marks_[block] |= stale;
  }
  void freed(const StoredEpisodes& stored, uint32_t block) {
    if (!isOn_) return;
    if (LateCopies* const copies = stored.store().lateCopies(); copies != nullptr) copies->makeOwn(places_[block].position().packed());
    marks_[block] &= listed;
    places_[block] = {};
    // If the episode stays, it carries rows of the block from now on.
    const uint32_t episode = stored.store().head(block).episode;
    if (stored.store().kept().count() == 0 || episodeMarks_[episode] != 0) return;
    episodeMarks_[episode] = 1;
    episodes_[episodeCount_++] = episode;
  }
  double memoryBytes() const {
    return places_.memoryBytes() + marks_.memoryBytes() + blocks_.memoryBytes() + episodes_.memoryBytes() + episodeMarks_.memoryBytes();
  }

 private:
  static constexpr uint8_t listed = 1;
  static constexpr uint8_t unwritten = 2;
  static constexpr uint8_t stale = 4;
  static constexpr uint8_t unread = 8;
  static constexpr uint8_t lost = 16;
  static constexpr uint8_t late = 32;
  static constexpr uint8_t pinned = 64;

  Scratch<LogPlace> places_;  // by block
  Scratch<uint8_t> marks_;    // by block
  Scratch<uint32_t> blocks_;
  uint32_t blockCount_ = 0;
  uint64_t newRows_ = 0;
  uint64_t unwrittenRows_ = 0;
  Scratch<uint32_t> episodes_;
  Scratch<uint8_t> episodeMarks_;
  uint32_t episodeCount_ = 0;
  bool isOn_ = false;
};

}  // namespace exrp
