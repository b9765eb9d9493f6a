// Durable: writes what happens to a replay into its log, so that a process that was killed finds it again (recovery.hpp).
//
// Each call that has changed the replay notes a command. At the end of a group, the rows of all blocks that are new since the last one follow. A
// group ends when the caller says so, and also once enough has come or enough time has passed, unless the caller has state of its own, which only it can
// write. A checkpoint says now and then what the replay is, so that the log before it can go.
//
// Where the disk fails, the log has failed for good, and the replay goes on in memory. Then each record is refused with what failed first, unless
// `goesOn`.
//
// Thread safety: that of the replay: one call at a time. waitFlushed() may come from any thread, while the object is there.
// Invariants:
//   1. All that changed the replay since the last group is noted, or the log has failed.
// Cost: a few ns for a record, and a copy of its row; a copy of the numbers of other calls. A checkpoint stops the caller while its numbers are copied: some
// 30 bytes a record. Its parts are written piece by piece, with the groups that follow.
#pragma once

#include <initializer_list>
#include <memory>

#include "kernel/calls/statistics.hpp"
#include "kernel/durable/durable_format.hpp"
#include "kernel/durable/folder_copy.hpp"
#include "kernel/durable/log_cleaner.hpp"
#include "kernel/durable/log_folder.hpp"
#include "kernel/durable/resident_rows.hpp"
#include "kernel/log/log.hpp"
#include "kernel/replay/replay.hpp"
#include "kernel/snapshot/snapshot.hpp"

namespace exrp {

struct DurableOptions {
  LogOptions log;
  /// A group ends once so many bytes came.
  uint32_t groupBytes = uint32_t{1} << 20;
  /// A checkpoint is made once the log has grown by so many bytes, and by four times the last checkpoint. What earlier programs wrote counts, and so does
  /// each of their segments (LogOptions::leastBytes): those of killed programs go, too.
  uint64_t checkpointBytes = uint64_t{64} << 20;
  /// Of a checkpoint, a frame has so many bytes at most, and each group writes so many.
  uint32_t pieceBytes = uint32_t{1} << 20;
  uint64_t pumpBytes = uint64_t{4} << 20;
  /// Only the caller ends groups, because it has state of its own.
  bool hasState = false;
  /// Whether records are taken after the log has failed.
  bool goesOn = false;
  /// If the rows of older blocks have more bytes, opening a log reads only those that it needs; the others are read later.
  uint64_t readNowBytes = UINT64_MAX;
};

class Durable final : private RowWriter {
 public:
  Durable(Replay& replay, Snapshot& snapshot, Statistics& statistics) : replay_(replay), snapshot_(snapshot), statistics_(statistics) {}
  Durable(const Durable&) = delete;
  Durable& operator=(const Durable&) = delete;
  ~Durable() {
    close();
    replay_.book().store().setLateCopies(nullptr);
  }

  /// Opens the folder, and takes its lock.
  Status openFolder(const char* path, OpenFolder how) {
    resident_.setReading(how == OpenFolder::read);
    return openLogFolder(path, how, &disk_);
  }
  /// The same, where the folder is open already.
  Status takeDisk(std::unique_ptr<Disk> disk) { return lockLogFolder(disk_ = std::move(disk)); }
  /// Begins a log for a replay as it is. Status::log where the folder has one.
  Status create(const DurableOptions& options);
  /// Ends the last group, and flushes. What had failed stays failed, and is told.
  Status close();
  /// Ends the log as it is: what is not on the disk is lost, as if the process were killed. The replay goes on in memory.
  void abandon();

  // ---- calls that have changed the replay ----

  /// Status::ok, or why records are refused.
  Status mayRecord() const { return !options_.goesOn && (hasFailed_ || log_.hasFailed()) ? failure() : Status::ok; }
  void note(Command command, std::initializer_list<LogPiece> pieces);
  void noteHandle(Command command, double handle, uint32_t number = 0) {
    const HandleHead head = {handle, number, 0};
    note(command, {{&head, sizeof head}});
  }
  /// One record, of recordMany() but for its next state. `priority` is a double, `tag` an int32, each where the flags say so.
  void noteRecord(double handle, uint32_t flags, const uint8_t* priority, const uint8_t* tag);
  /// Steps `first` to `end` of `count`, as the layout of many steps has them. `handles` are those before the call: of each step, or one.
  void noteSteps(Command command, const double* handles, const uint8_t* steps, uint32_t first, uint32_t end, uint32_t count, uint32_t flags);
  void notePicks(Command command, uint32_t number, const double* handles, const int32_t* positions, const uint8_t* items, uint32_t itemBytes,
                 uint32_t count);
  /// A call that changed rows. It is noted in pieces, as it may have more bytes than a frame.
  void noteRows(uint32_t column, const double* handles, const int32_t* positions, const uint8_t* rows, uint32_t rowBytes, uint32_t count);
  /// The handles of a call that writes over them.
  const double* keepHandles(const double* handles, uint32_t count);

  // ---- copies of the folder ----

  /// Ends the segment behind the group that has just ended. Until unseal(), no segment is removed. Once the ticket is flushed, copyFolder() may copy.
  Status seal(SealedFolder* sealed);
  void unseal();
  /// How many segments the sealed folder has.
  uint32_t sealedCount() const { return sealedCount_; }
  Disk& disk() { return *disk_; }

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
  /// Asks for all groups that have ended to be on the disk.
  uint64_t requestFlush() { return log_.requestFlush(); }
  Status waitFlushed(uint64_t ticket, uint32_t timeoutMs);
  /// A snapshot is wanted now: what a checkpoint still keeps of the moment is written at once.
  void finishCheckpoint();

  /// The caller's, as it was with the last group.
  const uint8_t* state() const { return state_.data(); }
  uint32_t stateBytes() const { return hasState_ ? stateBytes_ : 0; }

  /// LogStatus::ok, or what the log has failed by.
  LogStatus failedBy() const { return failedBy_; }
  Status failure() const;
  Log& stream() { return log_; }
  ResidentRows& resident() { return resident_; }
  double memoryBytes() const {
    return sizeof(Durable) + made_.memoryBytes() + places_.memoryBytes() + episodes_.memoryBytes() + state_.memoryBytes() + resident_.memoryBytes();
  }

 private:
  friend class Recovery;

  enum class Checkpoint : uint8_t { none, sections, places, flushing };

  void fail(LogStatus status);
  void put(Command command, std::initializer_list<LogPiece> pieces);
  uint8_t* room(uint32_t bytes);
  void putPicks(Command command, uint32_t number, const double* handles, const int32_t* positions, const uint8_t* items, uint32_t itemBytes,
                uint32_t count);
  void endCommands();
  void noteWriter();
  LimitsCommand limitsCommand() const;
  void putLimits();
  bool keepMade(Command command, const uint8_t* arguments, uint32_t bytes);
  void goOn();
  Status beginRows();
  bool writeForRoom() override;
  bool readBack(uint32_t block);
  void writeBlock(uint32_t block);
  void writeCarried(uint32_t episode);
  void writeStatistics();
  void append(uint32_t type, std::initializer_list<LogPiece> pieces);
  bool wantsCheckpoint();
  void freshenBlocks();
  uint32_t sparseFront();
  bool listPlaces(uint32_t* count, uint32_t* from, Scratch<LogPlace>& places) const;
  bool listEpisodes(uint32_t* count, Scratch<EpisodeHead>& heads) const;
  void beginCheckpoint();
  void pumpCheckpoint(uint64_t budget);
  void evictLost();
  void finishFlushed();
  Status openLog(const DurableOptions& options);

  Replay& replay_;
  Snapshot& snapshot_;
  Statistics& statistics_;
  DurableOptions options_;
  std::unique_ptr<Disk> disk_;
  Log log_;
  LogCleaner cleaner_{log_, disk_};
  ResidentRows resident_{replay_.book(), log_, *this};
  bool isRecovering_ = false;  // the log is open, and no group has begun yet
  bool hasWrittenEarly_ = false;  // rows, meanwhile
  bool hasLeftOut_ = false;  // a block that has changed and can't be read now, of those that were to be written

  uint8_t* frame_ = nullptr;  // of commands, while it is open
  uint32_t frameRoom_ = 0;
  uint32_t frameBytes_ = 0;
  uint32_t lastRun_ = 0;  // where the records that may be continued are in the frame; 0: nowhere
  uint32_t runMax_ = 1;
  uint16_t writer_ = 1;
  uint64_t groupCount_ = 0;
  uint64_t pendingBytes_ = 0;
  uint32_t intervalsSeen_ = 0;
  uint32_t holdCount_ = 0;
  bool isPending_ = false;
  bool hasFailed_ = false;
  LogStatus failedBy_ = LogStatus::ok;
  Scratch<uint8_t> made_;  // the commands that made views and selectors
  uint32_t madeBytes_ = 0;
  Scratch<double> handles_;
  Scratch<uint8_t> state_;  // the caller's, as it was written last
  uint32_t stateBytes_ = 0;
  bool hasState_ = false;

  Checkpoint checkpoint_ = Checkpoint::none;
  LogPosition checkpointAt_;
  bool isSealed_ = false;
  uint32_t sealedCount_ = 0;
  uint64_t checkpointTicket_ = 0;
  uint64_t checkpointSize_ = 0;
  uint64_t writtenBytes_ = 0;      // since the last checkpoint began
  uint32_t section_ = 0;
  double sectionItem_ = 0;
  Scratch<EpisodeHead> episodes_;
  Scratch<LogPlace> places_;
  uint32_t placeCount_ = 0;
  uint32_t placeAt_ = 0;
  uint32_t placesFrom_ = 0;  // the first segment that they need
};

}  // namespace exrp
