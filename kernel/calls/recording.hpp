// Recording: one record, many of one episode, many of one episode after the other, and one of each of many episodes (Chen and Wang,
// section 3.2), from the caller's buffers into the store.
//
// All go through the four steps of replay.hpp. So many records in one call leave exactly what as many calls would: the same handles,
// picks, draws and victims. Everything is checked, and all memory taken, before the first record is stored.
//
// Thread safety: none of its own; calls on one replay are the caller's to serialise.
// Cost: near that of copying the bytes. It keeps where the columns of a row lie, and guesses of episodes.
#pragma once

#include "kernel/calls/thread_scratch.hpp"
#include "kernel/replay/replay.hpp"

namespace exrp {

class Recording {
 public:
  explicit Recording(Replay& replay) : replay_(replay) {}
  /// Lays out the row; the replay was created.
  void create();

  uint32_t rowBytes() const { return rowBytes_; }
  /// Where the priority and the tag are in the row of record().
  static constexpr uint32_t rowPriority = 8;
  uint32_t rowTag() const { return rowTag_; }
  void rowLayout(double* offsets) const;
  Status stepsLayout(uint32_t count, double* offsets) const;

  Status record(uint8_t* row, uint32_t flags);
  Status recordMany(double* handle, const uint8_t* bytes, double bytesCount, uint32_t count, uint32_t flags, uint32_t* done);
  Status recordBatch(ThreadScratch& thread, double* handles, const uint8_t* bytes, double bytesCount, uint32_t count, uint32_t flags,
                     uint32_t* done);
  Status recordFlat(double* handle, const uint8_t* bytes, double bytesCount, uint32_t count, uint32_t flags, uint32_t* done,
                    double* episodes);

 private:
  /// Where the parts of many steps lie, in bytes.
  struct StepsLayout {
    uint64_t flags;
    uint64_t priorities;
    uint64_t tags;
    uint64_t columns[columnMax];
    uint64_t finalStates;
  };
  /// The parts of a call's steps, and where their columns go, so that a step is copied without looking anything up.
  struct Steps {
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
    const uint8_t* bytes;
    double bytesCount;
    StepsLayout layout;
    const uint8_t* flags;
    const uint8_t* priorities;  // null where none came
    const uint8_t* tags;        // likewise
    uint64_t finalStates[leafMax];  // where those of each leaf lie in `bytes`
    Dense dense[columnMax];
    uint32_t denseCount = 0;
    Kept kept[EXRP_LIMIT_KEPT];
    uint32_t keptCount = 0;
    Kept packed[columnMax];
    uint32_t packedCount = 0;

    StateRef stateOf(uint32_t step) const { return {bytes, layout.columns, step}; }
    StateRef finalState(uint32_t number) const { return {bytes, finalStates, number}; }
  };

  void layoutSteps(uint32_t count, StepsLayout* layout) const;
  /// What the flags of many steps of many episodes ask for.
  struct RunNeeds {
    uint32_t endsBefore = 0;    // final states before the first step
    uint32_t ends = 0;          // final states in all
    uint32_t episodeCount = 2;  // that the steps record into, or begin
    uint32_t blockCount = 0;
    bool hasNextState = false;  // of the last step
  };
  Status readFlags(const uint8_t* flags, uint32_t first, uint32_t end, uint32_t count, RunNeeds* needs) const;
  Status openSteps(const uint8_t* bytes, double bytesCount, uint32_t count, uint32_t flags, uint32_t known, uint32_t first, Steps* steps);
  Status placeFinalStates(Steps* steps, uint64_t stateCount) const;
  Status readyPriorities(const uint8_t* priorities, uint32_t first, uint32_t count);
  Status prepareSteps(Steps* steps, uint32_t count, uint32_t episodeCount, uint32_t blockCount);
  uint32_t endOfCall(uint32_t first, uint32_t count) const;
  void giveTag(const uint8_t* tags, uint32_t episode, uint32_t step);
  void giveOne(const uint8_t* tags, uint32_t episode, uint32_t step);
  void copyKept(uint32_t episode, uint32_t column, const uint8_t* from);
  uint32_t beginRun(const Steps& steps, uint32_t step, uint32_t* episode);
  void endRun(const Steps& steps, uint32_t step, uint32_t run, uint32_t slot, uint32_t flags, uint32_t finalState, uint32_t* episode);
  Status recordRuns(double* handle, Steps& steps, const RunNeeds& needs, uint32_t first, uint32_t end, uint32_t count, uint32_t last,
                    double* episodes, uint32_t* done);
  void prefetchBlocks(uint32_t episode, uint32_t count) const;
  Status findEnvironments(ThreadScratch& thread, const double* handles, uint32_t first, uint32_t count);

  Replay& replay_;
  uint32_t rowBytes_ = 0;
  uint32_t rowGroups_[columnMax] = {};   // where a group's row begins in the caller's
  uint64_t rowColumns_[columnMax] = {};  // where a column begins
  uint64_t rowFinalState_[leafMax] = {};  // where a leaf of the final state begins
  /// The episodes that single records went to last, by the lowest bits of their handles. They are guesses, tried before a search.
  static constexpr uint32_t guessCount = 64;
  uint32_t guesses_[guessCount] = {};
  uint32_t& guessFor(double handle) {
    return guesses_[handle >= 0 && handle < 0x1p53 ? static_cast<uint64_t>(static_cast<int64_t>(handle)) % guessCount : 0];
  }
  uint32_t rowTag_ = 0;
};

}  // namespace exrp
