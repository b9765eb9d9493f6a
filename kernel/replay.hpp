// Replay: the state of one replay. Episodes of records in a store, the tables of picks that may be drawn from them, and the
// selectors that draw. The policy chooses which episode to forget.
//
// It says what happens to the state when an episode begins, grows, ends or goes. What copies bytes in and out stands above it, each with
// a reference to it: recording.hpp, rows.hpp, drawing.hpp, snapshot.hpp. A record comes in four steps: openEpisode() finds its episode,
// makeRoomForRecord() makes room, takeSlot() gives it a slot, and, when it was copied there, publish() counts it and makes picks.
//
// Where room is needed, records go in one of two ways. An ended episode goes whole: the eviction policy chooses it. An open episode is
// trimmed: its oldest records go, and it keeps its handle, its positions and its other picks. Among open episodes, the one whose oldest record
// is the oldest gives way. It does so when that record is older than a ring of as many records would hold, or when no episode has ended.
// So actors whose episodes never end behave together like one ring, and one of them keeps its share beside episodes that end. Released records,
// which were handed out, go before all others, the oldest first; of an ended episode, too.
//
// Thread safety: none of its own; calls on one replay are the caller's to serialise.
// Invariants (check() returns the first that broke, plus ten times the number of the part it belongs to):
//   1. recordCount() is the sum of the records that the episodes hold, and at most what the capacity and the limit of bytes allow.
//   2. Each episode's chain has the blocks that its records and its final state need, and at least one. Their ordinals rise by 1, from that of
//      its oldest record on.
//   3. Each pick table holds each pick of each episode that is valid by its policy, tags included, and nothing else.
//   4. Every handle is below nextHandle().
//   5. Births rise within an episode by at least 1 a record, and are below recordedCount(). No record is older than the limit of age.
//   6. The heap of open episodes has those that hold records, by the birth of the oldest. Another heap has those that hold none, of which
//      there are at most emptyMax(). The limit of age has all episodes that hold records.
//   7. endedCount() counts the ended episodes.
//   8. Handles of OrphanHandles were given out and have no episode.
//   9. ReleasedRecords has the episodes that hold a released record, by the birth of the oldest record that they hold.
// Cost: record O(1) plus what giving way takes: a step of a trimmed episode, O(log of the open episodes), or one eviction for each
// episode's length of records.
// When full it evicts first and then writes. A failed call has changed nothing that a caller can see.
#pragma once

#include <memory>

#include "kernel/batches/batch.hpp"
#include "kernel/replay_config.hpp"
#include "kernel/sockets/eviction_policy.hpp"
#include "kernel/store/age_limit.hpp"
#include "kernel/store/block_index.hpp"
#include "kernel/store/byte_limit.hpp"
#include "kernel/store/episode_table.hpp"
#include "kernel/store/initial_priorities.hpp"
#include "kernel/store/orphan_handles.hpp"
#include "kernel/store/next_states.hpp"
#include "kernel/store/pick_table.hpp"
#include "kernel/store/released_records.hpp"
#include "kernel/store/store.hpp"

namespace exrp {

/// One pick table, and what makes batches of its picks.
struct Table {
  PickTable picks;
  BatchMaker gatherer;
  uint32_t number = 0;  // 0, 1, ... in order of creation
  uint32_t selectorCount = 0;
};

class Replay {
 public:
  Status create(const ReplayConfig& config, const PickPolicy& pick);
  void info(double* info) const;
  int32_t check() const;

  // ---- its parts ----

  const ReplayConfig& config() const { return config_; }
  Store& store() { return store_; }
  const Store& store() const { return store_; }
  const BlockIndex& blocks() const { return blocks_; }
  EpisodeTable& episodes() { return episodes_; }
  const EpisodeTable& episodes() const { return episodes_; }
  const AgeLimit& ages() const { return ages_; }
  const BirthHeap& open() const { return open_; }
  const ByteLimit& bytes() const { return bytes_; }
  /// The handles without an episode that a record may go on with.
  OrphanHandles& orphans() { return orphans_; }
  const OrphanHandles& orphans() const { return orphans_; }
  InitialPriorities& initialPriorities() { return initial_; }
  const InitialPriorities& initialPriorities() const { return initial_; }
  NextStates& nextStates() { return nextStates_; }
  const NextStates& nextStates() const { return nextStates_; }
  /// Null where the caller chooses what to forget.
  EvictionPolicy* eviction() const { return eviction_.get(); }

  uint64_t nextHandle() const { return nextHandle_; }
  uint64_t recordCount() const { return recordCount_; }
  uint64_t recordedCount() const { return recordedCount_; }
  uint64_t evictedCount() const { return evictedCount_; }
  /// A number that rises with every change of what a snapshot holds.
  uint64_t changeCount() const { return recordedCount_ + changeCount_; }
  /// Something was drawn or given a priority: what selectors and the eviction policy keep has changed.
  void noteChange() { ++changeCount_; }

  // ---- pick tables and selectors ----

  Status createTable(const PickPolicy& policy, uint32_t* table);
  Status tableInfo(uint32_t table, double* info) const;
  uint32_t tableCount() const { return tableCount_; }
  Table& table(uint32_t table) const { return *tables_[table]; }
  /// Null when there is no such table, which is then the call's failure.
  Table* findTable(uint32_t table) const;

  Status createSelector(uint32_t table, uint32_t kind, const double* options, uint32_t optionCount, uint32_t* selector);
  Status checkSelector(uint32_t selector) const {
    return selector < selectorCount_ ? Status::ok : fail(Status::selectorUnknown, selector, selectorCount_);
  }
  uint32_t selectorCount() const { return selectorCount_; }
  PickSelector& selector(uint32_t selector) const { return *selectors_[selector]; }
  /// The table that a selector draws from.
  Table& tableOf(uint32_t selector) const { return *selectorTables_[selector]; }

  // ---- finding episodes ----

  Status checkHandle(double handle) const {
    if (isWhole(handle, 0, static_cast<double>(nextHandle_) - 1)) return Status::ok;
    return fail(Status::episodeUnknown, handle, static_cast<double>(nextHandle_));
  }
  /// The index of a live episode, or episodeNone. The handle was given out.
  uint32_t findEpisode(double handle) const { return blocks_.findEpisode(store_, static_cast<uint64_t>(handle)); }
  /// A record for an episode that has ended; `episode` is episodeNone where it was forgotten since.
  Status failEnded(double handle, uint32_t episode) const {
    return fail(Status::episodeEnded, handle, episode == episodeNone ? -1 : double{1} * episodes_[episode].count);
  }
  /// Whether `episode` is the index of this handle's episode still, and it was not forgotten.
  bool isLive(uint32_t episode, double handle) const {
    return handleAt(episode) == handle && episodes_[episode].state != EXRP_EPISODE_EVICTED;
  }
  /// By way of a signed number, as handles are below 2^53: one instruction instead of many.
  double handleAt(uint32_t episode) const { return static_cast<double>(static_cast<int64_t>(episodes_[episode].handle)); }
  /// Whether a table of this policy has picks of the episode, by the episode's tag.
  bool hasPicks(const PickPolicy& policy, uint32_t episode) const {
    return policy.tagCount == 0 || policy.takes(episodes_.tag(episode));
  }
  /// Below this are the positions of the rows that an episode has in the state's column: its records, and its final state.
  uint32_t stateRows(const Episode& episode) const { return episode.count + (episode.ended() ? 1 : 0); }

  /// How many of them it holds.
  uint32_t storedRows(uint32_t episode) const { return stateRows(episodes_[episode]) - episodes_.first(episode); }
  /// The birth of the oldest record of an episode that holds one.
  uint64_t birthOf(uint32_t episode) const {
    return store_.birthAt(episode, store_.slotAt(episodes_[episode].firstBlock, episodes_.first(episode)));
  }
  Status episodeInfo(double handle, double* info) const;
  Status listEpisodes(double* handles, uint32_t count) const;

  // ---- episodes begin, end and go ----

  Status createEpisode(double* handle);
  /// Gives an open episode its tag, as long as it has no record. The episodes that follow on it have this tag too.
  Status tagEpisode(double handle, int32_t tag);
  /// Ends an open episode; `ended` is 0 where there was nothing to end.
  Status endEpisode(double handle, const uint8_t* finalState, uint32_t flags, uint32_t* ended);
  /// Ends an open episode as truncated, with this final state, and begins another after it; `episode` is then that one. An episode
  /// that never had a record stays as it is. One whose records were all trimmed goes. The memory for it was prepared.
  Status cutEpisode(double handle, const uint8_t* finalState, uint32_t* episode);
  Status evictEpisode(double handle);
  /// Evicts all episodes, the oldest first.
  Status clear();
  /// The records of an open episode before `position` go, which is at most its count.
  Status trimEpisode(double handle, uint32_t position);
  /// The open episode with the oldest record loses some. `handle` is its, or -1 where none holds a record; `first` its first position.
  Status trimOpen(double* handle, double* first);
  /// The records of an episode before `position` may go before any others, once room is needed.
  Status releaseRecords(double handle, uint32_t position);

  // ---- who writes, where threads share the replay ----

  /// From now on each episode keeps the number of its writer, a seat. Those there are have none yet.
  Status keepWriters() { return episodes_.keepWriters(); }
  /// Whose calls follow; 0 while the replay is not shared.
  void setWriter(uint16_t writer) { writer_ = writer; }
  /// All episodes there are become the writer's.
  void writeAll();
  /// Ends the open episodes that a writer recorded into last, as truncated. An episode whose end finds no memory stays open.
  void endEpisodesOf(uint16_t writer);

  // ---- a record comes ----

  /// The open episode that a record with this handle goes to, or episodeNone when it was forgotten while it was open.
  Status openEpisode(double handle, uint32_t* episode) const {
    const Status status = checkHandle(handle);
    if (status != Status::ok) return status;
    const uint32_t found = findEpisode(handle);
    if (found == episodeNone ? !orphans_.contains(static_cast<uint64_t>(handle)) : episodes_[found].ended()) {
      return failEnded(handle, found);
    }
    *episode = found;
    return Status::ok;
  }

  /// The same, where the caller has a guess: any number, which most often is the episode's index.
  Status openEpisode(double handle, uint32_t guess, uint32_t* episode) const {
    if (guess >= episodes_.highWater() || handleAt(guess) != handle || episodes_[guess].state != EXRP_EPISODE_OPEN) {
      return openEpisode(handle, episode);
    }
    *episode = guess;
    return Status::ok;
  }

  /// Takes all memory that `recordCount` records of `episodeCount` episodes could need, before anything changes.
  Status prepareRecords(uint32_t recordCount, uint32_t episodeCount, uint32_t blockCount);
  Status prepareRecord() { return prepareRecords(1, 2, blocksPerRecordMax); }
  /// Takes the memory for priorities that come with records. From initialPriorities().begin() on they are noted.
  Status reservePriorities() {
    const uint32_t shift = store_.blockShift();
    return initial_.reserve(size_t{store_.blockCountMax()} << shift, size_t{store_.highWater()} << shift);
  }

  /// Takes the memory for one next state, of an episode that is there or is one of `episodeCount` that begin in the call.
  Status reserveNextState(uint32_t episodeCount) { return nextStates_.prepare(episodes_.highWater() + episodeCount, 1); }
  /// Takes the memory for next states that come with `count` records, whose episodes begin in the call or are there.
  Status reserveNextStates(uint32_t count) { return nextStates_.prepare(episodes_.highWater() + 2 * count, count); }

  /// Whether a record fits where its episode is, with nothing to make room for, to cut or to end.
  bool fitsAsItIs(uint32_t episode, uint32_t flags) const {
    return flags == 0 && blocksNeeded(episode, flags) == 0 && hasBytesForOne(episode) && !ages_.isDue(recordedCount_);
  }
  /// Whether such a record finds its memory prepared.
  bool hasRoomForOne() const {
    for (uint32_t table = 0; table < tableCount_; ++table) {
      if (!tables_[table]->picks.hasRoomForOne()) return false;
    }
    return true;
  }

  /// Evicts what has to go for a record. Where `episode` was gone or had to go, a new one begins, of the same tag.
  Status makeRoomForRecord(double handle, uint32_t flags, uint32_t* episode) {
    return fitsAsItIs(*episode, flags) ? Status::ok : evictForRecord(handle, flags, episode);
  }
  /// The slot for a record of this state. An episode that is as long as one may be is cut, and `episode` is then its continuation.
  uint32_t takeSlot(uint32_t* episode, const uint8_t* state) {
    if (episodes_[*episode].count == config_.segmentLength) *episode = continueEpisode(*episode, state);
    return appendSlot(*episode);
  }
  /// Gives an episode that has no record yet its tag; for one that has, does nothing.
  void tagFirst(uint32_t episode, int32_t tag) {
    if (episodes_[episode].count == 0) episodes_.setTag(episode, tag);
  }
  /// How many of `count` records that follow the next one go where it goes: into its block, with nothing to make room for or to cut.
  uint32_t recordsAlike(uint32_t episode, uint32_t count) const {
    if (store_.keptCount() > 0) return 0;
    const uint32_t position = episodes_[episode].count;
    uint64_t alike = store_.blockLength() - 1 - store_.within(position);
    const uint64_t limits[] = {count, uint64_t{config_.segmentLength} - 1 - position, bytes_.recordMax() - recordCount_ - 1,
                               ages_.recordsLeft(recordedCount_) - 1};
    for (const uint64_t limit : limits) alike = limit < alike ? limit : alike;
    return static_cast<uint32_t>(alike);
  }
  /// Counts the `count` records that were copied to the episode's next slots, all in one block, and pushes the picks that they complete.
  /// `priorities` are doubles, or null. `flags` may end the episode; `episode` is then the one to go on with.
  void publish(uint32_t* episode, uint32_t count, const uint8_t* priorities, uint32_t flags, const uint8_t* finalState);
  /// Whether the changes of any table are kept in a journal.
  bool journalOpen() const;
  uint32_t endedCount() const { return endedCount_; }
  uint32_t trimLength() const { return trimLength_; }

  // ---- loading, into a replay that was just made ----

  void restoreCounts(uint64_t nextHandle, uint64_t recordedCount, uint64_t evictedCount);
  /// Adds an episode with room for its records from `first` on, which are not there yet.
  Status restoreEpisode(uint64_t handle, uint32_t first, uint32_t count, uint32_t state, int32_t tag);
  /// To be called once all births are there: finds the oldest records.
  void restoreOldest();
  /// Gives an open episode that was just loaded a next state, which is not there yet.
  Status restoreNextState(uint32_t episode);

 private:
  /// The blocks that a record takes: for itself, for the final state of a segment that it cuts, for its own final state, for the episode
  /// that begins after it. Most often that is none, as its episode has a block for it. They are counted exactly, from what is saved with
  /// a replay, so that evictions come at the same records after loading.
  uint32_t blocksNeeded(uint32_t episode, uint32_t flags) const {
    const uint32_t begins = (flags & EXRP_RECORD_BEGINS) != 0 ? 1 : 0;
    if (episode == episodeNone) return 1 + begins;  // a block holds a record and a final state
    const Episode& entry = episodes_[episode];
    const uint32_t own = needsBlock(entry) ? 1 : 0;
    if (entry.count == config_.segmentLength) return 1 + own + begins;
    const bool endNeedsBlock = (flags & EXRP_RECORD_ENDS) != 0 && store_.within(entry.count + 1) == 0;
    return own + (endNeedsBlock ? 1 : 0) + begins;
  }
  /// Whether the next slot of the episode needs a new block.
  bool needsBlock(const Episode& episode) const { return episode.count > 0 && store_.within(episode.count) == 0; }
  /// Whether another record of an episode fits, by capacity and bytes.
  bool hasBytesForOne(uint32_t episode) const {
    return recordCount_ < bytes_.recordMaxWith(bytes_.keptBytes(episodes_[episode].count));
  }
  /// The slot after the episode's last record, in a new block where the last one is full.
  uint32_t appendSlot(uint32_t episode) {
    Episode& entry = episodes_[episode];
    if (needsBlock(entry)) appendBlock(episode, store_.ordinalOf(entry.count));
    return store_.slotAt(entry.lastBlock, entry.count);
  }
  /// The picks that an ended episode has in the first table.
  uint32_t endedPickCount(uint32_t episode) const {
    const PickPolicy& policy = tables_[0]->picks.policy();
    return hasPicks(policy, episode) ? policy.validCount(episodes_.first(episode), episodes_[episode].count, true) : 0;
  }
  /// The ordinal of the first block of an episode whose oldest row is at `first`. One that holds no row keeps the block that it had last.
  uint32_t firstOrdinal(const Episode& entry, uint32_t first) const {
    const bool isEmpty = first == stateRows(entry);
    return store_.ordinalOf(isEmpty && first > 0 ? first - 1 : first);
  }
  uint32_t blockAt(const Episode& entry, uint32_t position) const;
  Status prepareRemoval();

  Status evictForRecord(double handle, uint32_t flags, uint32_t* episode);
  Status makeRoom(uint32_t blockCount, uint32_t recordCount, uint64_t besideBytes);
  Status evictAged();
  void removePicks(uint32_t episode, uint32_t from, uint32_t to);
  void trim(uint32_t episode, uint32_t to);
  void dropFirstBlock(uint32_t episode);
  void trimStep(uint32_t episode, uint32_t length);
  bool giveReleased(uint32_t episode, uint32_t length);
  void noteBirths(uint32_t episode, uint32_t count);
  void moveBirths(uint32_t episode, uint64_t birth);
  uint32_t addEpisode(int32_t tag, uint32_t ordinal);
  uint32_t beginEpisode(int32_t tag);
  uint32_t beginEpisodeAfter(int32_t tag, uint32_t actor);
  void pushOutEmpty();
  void appendBlock(uint32_t episode, uint32_t ordinal);
  uint32_t continueEpisode(uint32_t episode, const uint8_t* state);
  void endEpisodeAt(uint32_t episode, const uint8_t* finalState, uint32_t flags);
  void removeEpisode(uint32_t episode, bool mayGoOn = true);
  void endLeftEpisode(uint32_t episode);
  void endAtLastState(uint32_t episode);
  void pushPicks(uint32_t episode, uint32_t countBefore);
  void pushPicksOf(PickTable& picks, uint32_t episode, uint32_t validBefore);
  void pushRun(PickTable& picks, uint32_t slot, uint32_t count);
  int32_t checkBlocks(uint32_t episode) const;
  int32_t checkBirths(uint32_t episode) const;

  ReplayConfig config_ = {};
  Store store_;
  BlockIndex blocks_;
  EpisodeTable episodes_;
  std::unique_ptr<Table> tables_[EXRP_LIMIT_TABLES];
  uint32_t tableCount_ = 0;
  std::unique_ptr<PickSelector> selectors_[EXRP_LIMIT_SELECTORS];
  Table* selectorTables_[EXRP_LIMIT_SELECTORS] = {};
  uint32_t selectorCount_ = 0;
  std::unique_ptr<EvictionPolicy> eviction_;  // null: the caller's
  AgeLimit ages_;
  ByteLimit bytes_;
  BirthHeap open_;
  BirthHeap empty_;  // open episodes that hold no record, by handle
  InitialPriorities initial_;
  OrphanHandles orphans_;
  NextStates nextStates_;
  ReleasedRecords released_;

  uint16_t writer_ = 0;
  uint64_t nextHandle_ = 0;
  uint64_t recordCount_ = 0;
  uint32_t endedCount_ = 0;
  uint32_t trimLength_ = 1;
  uint64_t recordedCount_ = 0;
  uint64_t evictedCount_ = 0;
  uint64_t changeCount_ = 0;  // but for records
};

}  // namespace exrp
