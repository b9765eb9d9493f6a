// Replay: the module's main body. Episodes of records in a store, the tables of picks that may be drawn from them, any number of
// selectors that draw, and the policy that chooses what to forget.
//
// Thread safety: none of its own; calls on one replay are the caller's to serialise.
// Invariants (check() returns the first that broke, plus ten times the number of the part it belongs to):
//   1. recordCount() is the sum of the episodes' counts, and at most what the capacity and the limit of bytes allow.
//   2. Each episode's chain has the blocks its records and its final state need, at least one, ordinals 0, 1, 2, ...
//   3. Each pick table holds each pick of each episode that is valid by its policy, and nothing else.
//   4. Every handle is below nextHandle().
//   5. With a limit of age: no episode is older, and births are those that can be (AgeLimit).
// Cost: record O(1) plus one eviction an episode's length of records; batches near the cost of moving their bytes.
// When full: evict first, then write. A failed call has changed nothing that a caller can see.
#pragma once

#include <memory>

#include "kernel/sockets/eviction_policy.hpp"
#include "kernel/store/age_limit.hpp"
#include "kernel/batches/batch.hpp"
#include "kernel/batch_orders.hpp"
#include "kernel/store/block_index.hpp"
#include "kernel/store/byte_limit.hpp"
#include "kernel/base/cpu.hpp"
#include "kernel/store/episode_table.hpp"
#include "kernel/store/initial_priorities.hpp"
#include "kernel/store/pick_table.hpp"
#include "kernel/store/store.hpp"

namespace exrp {

/// Blocks that one record can take: for a cut episode's final state, the record, a final state, and the episode that follows.
constexpr uint32_t blocksPerRecordMax = 4;
/// In the row of one record: after the handle.
constexpr uint32_t rowPriorityOffset = 8;

struct ReplayConfig {
  uint32_t capacity;
  uint32_t segmentLength;
  uint64_t seed;
  uint32_t eviction;
  uint32_t evictionOption;
  uint64_t capacityBytes;  // 0: no limit
  uint64_t ageMax;         // records; 0: no limit
  uint32_t blockLength;
  uint32_t columnCount;
  Column columns[columnMax];
};

/// One pick table, and what makes batches of its picks.
struct Table {
  PickTable picks;
  BatchMaker batches;
  BatchScratch scratch;
  uint32_t selectorCount = 0;
};

class Replay {
 public:
  /// Reads and checks what exrp_replay_create was given; `pick` is the policy of table 0.
  static Status parse(const double* config, uint32_t configCount, const PickPolicy& pick, const uint32_t* columns,
                      uint32_t columnCount, ReplayConfig* parsed);
  Status create(const ReplayConfig& config, const PickPolicy& pick);

  void info(double* info) const;
  int32_t check() const;

  // Recording (recording.cpp).
  uint32_t rowBytes() const { return rowBytes_; }
  uint32_t stateBytes() const { return store_.column(0).bytes; }
  void rowLayout(double* offsets) const;
  Status stepsLayout(uint32_t count, double* offsets) const;
  Status createEpisode(double* handle);
  Status record(uint8_t* row, uint32_t flags);
  Status recordMany(double* handle, const uint8_t* steps, double stepsBytes, uint32_t count, uint32_t flags, uint32_t* done);
  Status recordBatch(double* handles, const uint8_t* steps, double stepsBytes, uint32_t count, uint32_t flags, uint32_t* done);
  Status endEpisode(double handle, const uint8_t* finalState, uint32_t flags, uint32_t* ended);
  Status evictEpisode(double handle);
  Status episodeInfo(double handle, double* info) const;
  Status listEpisodes(double* handles, uint32_t count) const;

  // Reading records (rows.cpp).
  Status countRecords(const double* handles, uint32_t count, uint32_t* recordCounts, uint32_t* states) const;
  Status getRows(uint32_t column, const double* handles, const int32_t* positions, uint32_t count, uint32_t runLength, uint8_t* rows,
                 double rowsBytes);

  // Pick tables.
  Status createTable(const PickPolicy& policy, uint32_t* table);
  Status tableInfo(uint32_t table, double* info) const;
  /// Null when there is no such table, which is then the call's failure.
  Table* findTable(uint32_t table) const;

  // Selectors.
  Status createSelector(uint32_t table, uint32_t kind, const double* options, uint32_t optionCount, uint32_t* selector);
  Status setPriority(uint32_t selector, const double* handles, const int32_t* positions, const uint8_t* priorities,
                     uint32_t prioritySize, uint32_t count, uint32_t* applied);

  // Batches.
  Status batchLayout(Table& table, uint32_t count, double* offsets) const;
  Status getBatch(uint32_t selector, BatchRange range, double beta, uint8_t* batch, double batchBytes);
  Status gatherBatch(Table& table, const uint32_t* indices, const double* probabilities, BatchRange range, double beta,
                     double probabilityMin, bool weighted, uint8_t* batch, double batchBytes);

  // Batches ordered ahead: these two wait for no draw, but for that of the order that is taken.
  Status orderBatch(uint32_t selector, uint32_t count, double beta, uint8_t* batch, double batchBytes, double* order);
  Status takeBatch(double order);
  /// Draws what was ordered before; every call but these three comes here first.
  void settle() {
    if (orders_.waiting() > 0) runOrders();
  }
  void runOrders();
  /// From another thread, whose caller keeps the order's memory at `batch` until this returns.
  Status runOrder(double order, const uint8_t* batch);
  /// Lets other threads leave runOrder(), as the replay is about to go.
  void closeOrders() { orders_.close(); }
  /// Threads that are in runOrder(), and the thread that made the replay: both are the registry's business.
  uint32_t runnerCount = 0;
  uint64_t owner = 0;

  // The picks of a table.
  bool beginsAt(const PickTable& picks, uint32_t index, uint64_t handle, uint32_t position) const;
  Status findPicks(const PickTable& picks, const double* handles, const int32_t* positions, uint32_t count, uint32_t* indices) const;
  Status listPicks(const PickTable& picks, uint32_t first, uint32_t count, double* handles, int32_t* positions) const;
  Status listPriorities(const PickTable& picks, uint32_t first, uint32_t count, double* priorities) const;

  // Snapshots (snapshot.cpp).
  Status sectionInfo(uint32_t section, double* info);
  Status sectionRead(uint32_t section, double first, uint32_t count, uint8_t* items, double itemsBytes);
  Status sectionWrite(uint32_t section, double first, uint32_t count, const uint8_t* items, double itemsBytes);
  Status snapshotEnd();

  uint32_t columnCount() const { return store_.columnCount(); }

 private:
  struct Section {
    double itemCount;
    uint32_t itemBytes;
  };
  /// Where the parts of `count` steps lie, in bytes.
  struct StepsLayout {
    uint64_t flags;
    uint64_t priorities;
    uint64_t columns[columnMax];
    uint64_t finalState;
  };
  StepsLayout layoutSteps(uint32_t count) const;

  uint32_t findEpisode(double handle) const;
  /// Whether the episode at `index` is the one of this handle still, and not forgotten.
  bool isLive(uint32_t index, double handle) const {
    return handleAt(index) == handle && episodes_[index].state != EXRP_EPISODE_EVICTED;
  }
  /// By way of a signed number, as handles are below 2^53: one instruction instead of many.
  double handleAt(uint32_t index) const { return static_cast<double>(static_cast<int64_t>(episodes_[index].handle)); }
  Status checkHandle(double handle) const;
  Status findRows(uint32_t column, const double* handles, const int32_t* positions, uint32_t count, uint32_t runLength,
                  uint32_t* slots) const;
  Status prepareRecords(uint32_t recordCount, uint32_t episodeCount, uint32_t blockCount);
  Status prepareRecord() { return prepareRecords(1, 2, blocksPerRecordMax); }
  Status makeRoom(uint32_t blockCount, uint32_t recordCount, uint64_t besideBytes, uint32_t spared);
  Status evictAged();
  /// Whether another record of an episode fits, by capacity and bytes.
  bool hasBytesForOne(uint32_t episode) const {
    return recordCount_ < bytes_.recordMaxWith(bytes_.keptBytes(episodes_[episode].count));
  }
  /// The picks that an ended episode of `count` records has in the first table.
  uint32_t endedPickCount(uint32_t count) const { return tables_[0]->picks.policy().validCount(count, true); }
  void removeEpisode(uint32_t episode);
  uint32_t addEpisode();
  bool needsBlock(const Episode& episode) const;
  uint32_t blocksNeeded(uint32_t index, uint32_t flags) const;
  uint32_t appendSlot(uint32_t episode);
  Status openEpisode(double handle, uint32_t* episode) const;
  Status makeRoomForRecord(double handle, uint32_t flags, uint32_t* episode);
  uint32_t nextSlot(uint32_t* episode, const uint8_t* state);
  void finishRecords(uint32_t* episode, uint32_t count, const uint8_t* priorities, uint32_t flags, const uint8_t* finalState);
  uint32_t recordsAlike(uint32_t episode, uint32_t count) const;
  void prefetchIndex(uint32_t episode, uint32_t count) const;
  Status beginPriorities();
  Status checkPriorities(const uint8_t* priorities, uint32_t first, uint32_t count) const;
  Status checkSteps(uint32_t count, double stepsBytes, double bytesNeeded, uint32_t first) const;
  uint32_t recordsAtOnce(uint32_t count);
  void copyKept(uint32_t episode, uint32_t column, const uint8_t* from);
  /// Where the columns of many steps come from and go to, so that a step is copied without looking anything up.
  struct StepColumns {
    struct Dense {
      const uint8_t* from;
      uint8_t* to;
      size_t stride;
      size_t bytes;
    };
    struct Kept {
      const uint8_t* from;
      uint32_t column;
    };
    Dense dense[columnMax];
    uint32_t denseCount = 0;
    Kept kept[EXRP_LIMIT_KEPT];
    uint32_t keptCount = 0;
  };
  void findColumns(const uint8_t* steps, const StepsLayout& layout, StepColumns* columns);
  void copyStep(uint32_t episode, uint32_t slot, const StepColumns& columns, size_t step);
  void copySteps(uint32_t episode, uint32_t slot, const StepColumns& columns, size_t first, uint32_t count);
  Status findBatchEpisodes(const double* handles, uint32_t first, uint32_t count);
  void endEpisodeAt(uint32_t episode, const uint8_t* finalState, uint32_t state);
  void pushNewPicks(PickTable& picks, uint32_t episode, uint32_t validBefore);
  void pushAllPicks(uint32_t episode, uint32_t countBefore);
  bool journalOpen() const;
  bool hasRoomForOne() const;
  Status checkBatch(Table& table, const BatchRange& range, double beta, double batchBytes) const;
  void finishBatch(Table& table, const uint32_t* indices, const double* probabilities, const BatchRange& range, double beta,
                   double probabilityMin, bool weighted, uint8_t* batch);
  Status carryOut(const BatchOrder& order);
  Status checkSelector(uint32_t selector) const;

  // Snapshots.
  Section section(uint32_t section) const;
  uint32_t evictionHeaderItems() const;
  uint32_t storedRows(const Episode& episode) const { return episode.count + (episode.ended() ? 1 : 0); }
  Status numberEpisodes();
  Status seekRow(double row);
  void readRecords(double first, uint32_t count, uint8_t* items);
  Status writeCounters(const uint8_t* items);
  Status writeEpisodes(uint32_t count, const uint8_t* items);
  void writeRecords(double first, uint32_t count, const uint8_t* items);
  template <typename Visit>
  void visitRecords(double first, uint32_t count, Visit visit) const;
  Status writePriorities(double first, uint32_t count, const uint8_t* items);
  template <typename Visit>
  void visitKept(uint32_t column, double first, uint32_t count, Visit visit) const;
  double validPicks(const PickPolicy& policy) const;
  void readPicks(const PickTable& picks, uint32_t first, uint32_t count, uint8_t* items) const;
  Status writePicks(PickTable& picks, uint32_t section, double first, uint32_t count, const uint8_t* items);
  Status writeEviction(double first, uint32_t count, const uint8_t* items);

  ReplayConfig config_ = {};
  Store store_;
  BlockIndex index_;
  EpisodeTable episodes_;
  std::unique_ptr<Table> tables_[EXRP_LIMIT_TABLES];
  uint32_t tableCount_ = 0;
  std::unique_ptr<PickSelector> selectors_[EXRP_LIMIT_SELECTORS];
  Table* selectorTables_[EXRP_LIMIT_SELECTORS] = {};
  uint32_t selectorCount_ = 0;
  std::unique_ptr<EvictionPolicy> eviction_;  // none: the caller's
  AgeLimit ages_;
  ByteLimit bytes_;

  uint32_t rowBytes_ = 0;
  uint32_t rowGroups_[columnMax] = {};
  uint32_t rowColumns_[columnMax] = {};
  uint32_t rowFinalState_ = 0;
  InitialPriorities initial_;
  BatchOrders orders_;
  bool avx2_ = hasAvx2();

  uint64_t nextHandle_ = 0;
  uint64_t recordCount_ = 0;
  uint64_t recordedCount_ = 0;
  uint64_t evictedCount_ = 0;

  // Scratch of one batch or one setPriority.
  ReservedArray<uint32_t> scratchIndex_;
  ReservedArray<uint32_t> scratchEpisode_;
  ReservedArray<double> scratchReal_;
  /// The episode of each environment of a recordBatch; after it a guess for the next, which saves looking it up.
  ReservedArray<uint32_t> environments_;

  // Where a snapshot being read or written stands.
  ReservedArray<uint32_t> ordinals_;          // episode index -> ordinal by age
  ReservedArray<uint32_t> numbered_;          // ordinal -> episode index
  ReservedArray<EvictionItem> evictionItems_;
  uint32_t cursorEpisode_ = episodeNone;
  uint32_t cursorBlock_ = blockNone;
  uint32_t cursorPosition_ = 0;
  double cursorRow_ = -1;         // none: episodes came, ended or went since
  uint64_t cursorRecorded_ = 0;   // records ever written when it was put there
  uint32_t loadSection_ = 0;
  double loadItem_ = 0;
  uint64_t loadExpected_[2] = {};  // episodes, records
};

}  // namespace exrp
