// Durable: writes what happens to a replay into its log, so that a process that was killed finds it again (recovery.hpp).
//
// Each call that has changed the replay notes a command. At the end of a group, the rows of all blocks that are new since the last one follow. A
// group ends when the caller says so, and also once enough has come or enough time has passed, unless the caller has state of its own, which only it can
// write. A checkpoint says now and then what the replay is, so that the log before it can go.
//
// Where the disk fails, the replay goes on in memory (durable_log.hpp). Then each record is refused with what failed first, unless `goesOn`.
//
// Thread safety: that of the replay: one call at a time. waitFlushed() may come from any thread, while the object is there.
// Invariants:
//   1. All that changed the replay since the last group is noted, or the log has failed.
// Cost: a few ns for a record, and a copy of its row; a copy of the numbers of other calls. A checkpoint stops the caller while its numbers are copied: some
// 30 bytes a record. Its parts are written piece by piece, with the groups that follow.
#pragma once

#include "kernel/calls/statistics.hpp"
#include "kernel/durable/checkpoint_places.hpp"
#include "kernel/durable/command_writer.hpp"
#include "kernel/durable/resident_rows.hpp"
#include "kernel/snapshot/snapshot.hpp"

namespace exrp {

class Durable final : public DurableLog, private RowWriter {
 public:
  Durable(Replay& replay, Snapshot& snapshot, Statistics& statistics) : replay_(replay), snapshot_(snapshot), statistics_(statistics) {}
  ~Durable() {
    close();
    replay_.book().store().setLateCopies(nullptr);
  }

  /// Opens the folder, and takes its lock.
  Status openFolder(const char* path, OpenFolder how) {
    resident_.setReading(how == OpenFolder::read);
    return DurableLog::openFolder(path, how);
  }
  /// Begins a log for a replay as it is. Status::log where the folder has one.
  Status create(const DurableOptions& options);
  /// Ends the last group, and flushes. What had failed stays failed, and is told.
  Status close();
  /// Ends the log as it is: what is not on the disk is lost, as if the process were killed. The replay goes on in memory.
  void abandon();

  // ---- calls that have changed the replay; CommandWriter says what they take ----

  void note(Command command, std::initializer_list<LogPiece> pieces) {
    commands_.put(command, pieces);
    goOn();
  }
  void noteHandle(Command command, double handle, uint32_t number = 0) {
    commands_.put(command, handle, number);
    goOn();
  }
  void noteRecord(double handle, uint32_t flags, const uint8_t* priority, const uint8_t* tag) {
    if (flags != 0 || !commands_.continueRun(handle)) commands_.putRecord(handle, flags, priority, tag);
    goOn();
  }
  void noteSteps(Command command, const double* handles, const uint8_t* steps, uint32_t first, uint32_t end, uint32_t count, uint32_t flags) {
    commands_.putSteps(command, handles, steps, first, end, count, flags);
    goOn();
  }
  void notePicks(Command command, uint32_t number, const double* handles, const int32_t* positions, const uint8_t* items, uint32_t itemBytes,
                 uint32_t count) {
    commands_.putPicks(command, number, handles, positions, items, itemBytes, count);
    goOn();
  }
  void noteRows(uint32_t column, const double* handles, const int32_t* positions, const uint8_t* rows, uint32_t rowBytes, uint32_t count) {
    commands_.putRows(column, handles, positions, rows, rowBytes, count);
    goOn();
  }
  const double* keepHandles(const double* handles, uint32_t count) { return commands_.keepHandles(handles, count); }

  // ---- groups ----

  /// Whole groups, since the log began.
  uint64_t groupCount() const { return groupCount_; }
  /// Ends the group, with the caller's state, or without.
  Status endGroup(const uint8_t* state, uint32_t stateBytes, bool hasState);
  /// From now on, only endGroup() ends groups.
  void leaveGroupsToCaller() { options_.hasState = true; }
  /// Until as many ends as holds, no group ends by itself: what calls change meanwhile is in one.
  void hold() { ++holdCount_; }
  void endHold() {
    if (holdCount_ > 0 && --holdCount_ == 0) goOn();
  }
  /// A snapshot is wanted now: what a checkpoint still keeps of the moment is written at once.
  void finishCheckpoint();

  ResidentRows& resident() { return resident_; }
  double memoryBytes() const {
    return sizeof(Durable) + commands_.memoryBytes() + places_.memoryBytes() + state_.memoryBytes() + resident_.memoryBytes();
  }

 private:
  friend class Recovery;

  Status openLog(const DurableOptions& options);
  Status beginRows();
  void failed() override;
  LimitsCommand limitsCommand() const;
  void putLimits();
  void goOn();
  bool writeForRoom() override;
  bool readBack(uint32_t block);
  void writeBlock(uint32_t block);
  void writeCarried(uint32_t episode);
  void writeStatistics();
  void evictLost();
  void freshenBlocks();
  uint32_t sparseFront();
  void beginCheckpoint();
  void pumpCheckpoint(uint64_t budget);
  uint64_t writeSection(const double* info);
  uint64_t writePlaces();

  Replay& replay_;
  Snapshot& snapshot_;
  Statistics& statistics_;
  CommandWriter commands_{*this, replay_.book()};
  ResidentRows resident_{replay_.book(), log_, *this};
  bool isRecovering_ = false;     // the log is open, and no group has begun yet
  bool hasWrittenEarly_ = false;  // rows, meanwhile
  bool hasLeftOut_ = false;       // a block that has changed and can't be read now, of those that were to be written
  uint64_t groupCount_ = 0;
  uint32_t intervalsSeen_ = 0;
  uint32_t holdCount_ = 0;
  bool hasState_ = false;  // the caller has written some

  // Of the checkpoint that is under way.
  uint32_t section_ = 0;
  double sectionItem_ = 0;
  CheckpointPlaces places_;
  uint32_t placeAt_ = 0;
};

}  // namespace exrp
