// Replay: one replay: its episodes, who hears of them, and what the calls of actors do with them.
//
// It composes: the book writes down what happens (episode_book.hpp), the listeners hear of it (listeners.hpp; one of them has the picks and the
// selectors), and forgetting.hpp chooses what goes. What copies bytes in and out stands above it, each with a reference to it:
// recording.hpp, rows.hpp, drawing.hpp, snapshot.hpp.
//
// A record comes in four steps: openEpisode() finds its episode, forgetting() makes room, takeSlot() gives it a slot, and, when it was
// copied there, publish() counts it and makes picks.
//
// Thread safety: none of its own; calls on one replay are the caller's to serialise.
// Invariants: those of its parts. check() returns the first that broke, plus ten times the number of its part: 1 the store, 2 the block index,
// 3 the list of episodes, 4 StoredEpisodes, 5 Forgetting, 6 a selector, 7 and above the listeners in their order.
// Cost: record O(1) plus what giving way takes.
// A failed call has changed nothing that a caller can see.
#pragma once

#include "kernel/replay/forgetting.hpp"

namespace exrp {

class Replay {
 public:
  /// `isPassing`: it is to get other limits before it is full, so it may be larger than memory.
  Status create(const ReplayConfig& config, const PickPolicy& pick, bool isPassing = false);
  void info(double* info) const;
  int32_t check() const;

  // ---- its parts ----

  const ReplayConfig& config() const { return config_; }
  EpisodeBook& book() { return book_; }
  const EpisodeBook& book() const { return book_; }
  PickViews& picks() { return book_.part<PickViews>(); }
  const PickViews& picks() const { return book_.part<PickViews>(); }
  /// Null where the caller chooses what to forget.
  EvictionPolicy* eviction() const { return book_.part<Eviction>().policy(); }

  Status createView(const PickPolicy& policy, uint32_t* view);
  Status createSelector(uint32_t view, uint32_t kind, const double* options, uint32_t optionCount, uint32_t* selector);

  // ---- calls on episodes ----

  Status createEpisode(double* handle);
  /// Gives an open episode its tag, as long as it has no record. The episodes that follow on it have this tag too.
  Status tagEpisode(double handle, int32_t tag);
  /// Ends an open episode; `ended` is 0 where there was nothing to end.
  Status endEpisode(double handle, const StateRef& finalState, uint32_t flags, uint32_t* ended);
  /// Ends an open episode as truncated, with this final state, and begins another after it; `episode` is then that one. An episode
  /// that never had a record stays as it is. One whose records were all trimmed goes. The memory for it was prepared.
  Status cutEpisode(double handle, const StateRef& finalState, uint32_t* episode);
  Status evictEpisode(double handle);
  /// Evicts all episodes, the oldest first.
  Status clear();
  /// The records of an open episode before `position` go, which is at most its count.
  Status trimEpisode(double handle, uint32_t position);
  /// The open episode with the oldest record loses some. `handle` is its, or -1 where none holds a record; `first` its first position.
  Status trimOpen(double* handle, double* first);
  /// The records of an episode before `position` may go before any others, once room is needed.
  Status releaseRecords(double handle, uint32_t position);
  Status episodeInfo(double handle, double* info) const;

  // ---- a record comes ----

  /// The open episode that a record with this handle goes to, or episodeNone when it was forgotten while it was open.
  Status openEpisode(double handle, uint32_t* episode) const {
    const Status status = book_.checkHandle(handle);
    if (status != Status::ok) return status;
    const uint32_t found = book_.findEpisode(handle);
    const bool isGone = found == episodeNone;
    if (isGone ? !book_.part<OrphanHandles>().contains(static_cast<uint64_t>(handle)) : book_.episodes()[found].ended()) {
      return book_.failEnded(handle, found);
    }
    *episode = found;
    return Status::ok;
  }
  /// The same, where the caller has a guess: any number, which most often is the episode's index.
  Status openEpisode(double handle, uint32_t guess, uint32_t* episode) const {
    const EpisodeList& episodes = book_.episodes();
    if (guess >= episodes.highWater() || book_.handleAt(guess) != handle || episodes[guess].state != EXRP_EPISODE_OPEN) {
      return openEpisode(handle, episode);
    }
    *episode = guess;
    return Status::ok;
  }

  Status prepareRecord() { return book_.prepare(1, 2, blocksPerRecordMax); }
  /// Takes the memory for next states that come with `count` records, of episodes that are there or of `episodeCount` that begin in the call.
  Status reserveNextStates(uint32_t episodeCount, uint32_t count) {
    return book_.part<NextStates>().prepare(book_.episodes().highWater() + episodeCount, count);
  }

  /// What makes room for records.
  Forgetting& forgetting() { return forgetting_; }
  /// The slot for a record, whose state `state()` says. An episode that is as long as one may be is cut, and `episode` is then its continuation.
  template <typename State>
  uint32_t takeSlot(uint32_t* episode, State state) {
    if (book_.episodes()[*episode].count == config_.segmentLength) *episode = continueEpisode(*episode, state());
    return book_.takeSlot(*episode);
  }
  /// Gives an episode that has no record yet its tag; for one that has, does nothing.
  void tagFirst(uint32_t episode, int32_t tag) {
    if (book_.episodes()[episode].count == 0) book_.episodes().setTag(episode, tag);
  }
  /// Counts the `count` records that were copied to the episode's next slots, all in one block, and pushes the picks that they complete.
  /// `priorities` are doubles, or null. `flags` may end the episode, with the state that `finalState()` says; `episode` is then the one to go on with.
  template <typename State>
  void publish(uint32_t* episode, uint32_t count, const uint8_t* priorities, uint32_t flags, State finalState) {
    book_.append(*episode, count, priorities);
    if (flags != 0) finishRecord(episode, flags, finalState());
  }

  // ---- loading, into a replay that was just made ----

  /// Adds an episode with room for its records from `first` on, which are not there yet.
  Status restoreEpisode(uint64_t handle, uint32_t first, uint32_t count, uint32_t state, int32_t tag);
  /// Gives an open episode that was just loaded a next state, which is not there yet.
  Status restoreNextState(uint32_t episode);

 private:
  uint32_t continueEpisode(uint32_t episode, const StateRef& state);
  void finishRecord(uint32_t* episode, uint32_t flags, const StateRef& finalState);

  ReplayConfig config_ = {};
  EpisodeBook book_;
  Forgetting forgetting_{book_};
};

}  // namespace exrp
