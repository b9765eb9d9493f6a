// NextStates: the state after the newest record of each open episode, where the caller gave it with the record.
//
// The state after any other record is that of the record behind it, or the final state. These rows stand apart from the records, so they
// take no part in what is a pick or in what goes for room. A row belongs to one count of its episode. A record that comes without a next
// state makes the row stale, and nothing has to be told.
//
// Thread safety: none of its own.
// Invariants:
//   1. An episode has at most one row, and a row at most one episode.
//   2. find() gives a row only while its episode has the count that it was given for.
// Cost: O(1) and a copy of the state. Memory: a state for each episode that was open with a row at the same time; 4 bytes an episode. An
// array that no next state ever came for has no memory.
#pragma once

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/store/episode_listener.hpp"

namespace exrp {

class NextStates final : public EpisodeListener {
 public:
  /// `leaves` stays where it is.
  void create(uint32_t episodeCountMax, const StateLeaves& leaves) {
    episodeCountMax_ = episodeCountMax;
    leaves_ = &leaves;
    stateBytes_ = leaves.bytes();
  }

  /// Takes the memory that the next `count` set() calls need, for episodes below index `episodeCount`.
  Status prepare(uint32_t episodeCount, uint32_t count) {
    if (rowOf_.data() == nullptr) {
      const bool made = rowOf_.create(episodeCountMax_, Pages::small) && rows_.create(episodeCountMax_, Pages::small) &&
                        states_.create(uint64_t{episodeCountMax_} * stateBytes_, Pages::small);
      if (!made) {
        rowOf_.destroy();  // the next call begins anew
        return noMemory(episodeCountMax_);
      }
    }
    uint64_t rowCount = uint64_t{rowCount_} + count;
    if (rowCount > episodeCountMax_) rowCount = episodeCountMax_;
    if (episodeCount > episodeCountMax_) episodeCount = episodeCountMax_;
    const bool taken = rowOf_.commit(episodeCount) && rows_.commit(rowCount) && states_.commit(rowCount * stateBytes_);
    return taken ? Status::ok : noMemory(static_cast<size_t>(rowCount));
  }
  /// Whether set() finds its memory without prepare().
  bool has(uint32_t episode) const { return episode < rowOf_.committed() && rowOf_[episode] != 0; }

  /// Keeps the state after the newest record of an open episode of `count` records.
  void set(uint32_t episode, uint32_t count, const StateRef& state) {
    leaves_->pack(reserve(episode, count), state);
  }
  /// The same, but the caller writes the state there, packed.
  uint8_t* reserve(uint32_t episode, uint32_t count) {
    uint32_t row = rowOf_[episode];
    if (row == 0) row = rowOf_[episode] = takeRow();
    rows_[row - 1].count = count;
    return &states_[size_t{row - 1} * stateBytes_];
  }
  /// The state after the newest of an open episode's `count` records, packed; or null where it was not given.
  const uint8_t* find(uint32_t episode, uint32_t count) const {
    if (!has(episode)) return nullptr;
    const uint32_t row = rowOf_[episode] - 1;
    return rows_[row].count == count ? &states_[size_t{row} * stateBytes_] : nullptr;
  }
  /// The episode ends or goes.
  void release(uint32_t episode) {
    if (!has(episode)) return;
    const uint32_t row = rowOf_[episode];
    rowOf_[episode] = 0;
    rows_[row - 1].nextFree = freeHead_;
    freeHead_ = row;
  }

  // ---- what it hears ----

  /// Most replays have no next states: prepare() above takes memory once some come.
  Status prepare(const StoredEpisodes&, const Growth&) { return Status::ok; }
  void ended(const StoredEpisodes&, uint32_t episode, uint32_t) { release(episode); }
  void removing(const StoredEpisodes&, uint32_t episode, bool) { release(episode); }
  double memoryBytes() const {
    if (rowOf_.data() == nullptr) return 0;
    return rowOf_.takenBytes(rowOf_.committed()) + rows_.takenBytes(rowCount_) + states_.takenBytes(uint64_t{rowCount_} * stateBytes_);
  }

 private:
  struct Row {
    uint32_t count;     // of the episode, when the state was given
    uint32_t nextFree;  // the next row that no episode has, and 1 more; 0 for none
  };

  Status noMemory(size_t rowCount) const {
    return fail(Status::memory, static_cast<double>(rowCount) * (stateBytes_ + sizeof(Row)));
  }
  /// A row that no episode has, and 1 more.
  uint32_t takeRow() {
    const uint32_t row = freeHead_;
    if (row == 0) return ++rowCount_;
    freeHead_ = rows_[row - 1].nextFree;
    return row;
  }

  ReservedArray<uint32_t> rowOf_;  // by episode: its row and 1 more, or 0
  ReservedArray<Row> rows_;
  ReservedArray<uint8_t> states_;  // by row
  uint32_t episodeCountMax_ = 0;
  const StateLeaves* leaves_ = nullptr;
  uint32_t stateBytes_ = 0;
  uint32_t rowCount_ = 0;  // ever used
  uint32_t freeHead_ = 0;
};

}  // namespace exrp
