// Recovery: makes a replay from its log, as it was when its last whole group ended.
//
// It loads the newest checkpoint, and then makes the calls of each group again, with rows of zeros, or with none. The rows follow at the end of the group, as no
// decision depends on what is in them. In a large log, they stay at their places, as those of the checkpoint do. These are read in the end, or later, where they
// have many bytes (unread_rows.hpp). Then changes of rows are made again.
//
// Thread safety: none: nobody else has the replay yet.
// Cost: reads the log from the checkpoint on, and the rows of blocks that are not left; a draw costs what choosing costs. It takes the memory of the largest
// group, and of what a replay keeps beside its rows.
#pragma once

#include "kernel/calls/drawing.hpp"
#include "kernel/calls/recording.hpp"
#include "kernel/durable/durable.hpp"
#include "kernel/durable/log_recovery.hpp"

namespace exrp {

/// Other limits than those of the log; EXRP_DURABLE_KEEP where they stay.
struct WantedLimits {
  double capacity = EXRP_DURABLE_KEEP;
  double capacityBytes = EXRP_DURABLE_KEEP;
  double ageMax = EXRP_DURABLE_KEEP;
};

class Recovery final : private LogRecovery {
 public:
  /// The replay was just made, and has no view but its first, and no selector.
  Recovery(Durable& durable, Recording& recording, Drawing& drawing, ThreadScratch& thread)
      : LogRecovery(durable), durable_(durable), replay_(durable.replay_), recording_(recording), drawing_(drawing), thread_(thread) {}

  /// Opens the log of the folder, and goes on with it. Other limits begin with the next group. Where that fails, what was flushed is still in the folder.
  Status open(const DurableOptions& options, RecoveryReport* report, const WantedLimits& wanted = {});

 private:
  Status read(const DurableOptions& options, RecoveryReport* report, const WantedLimits& wanted);
  bool take(const LogFrame& frame) override;
  bool mayLack(uint32_t type) const override { return isOfRows(type); }
  bool isOfCheckpoint(uint32_t type) const override { return type == checkpointFrame || type == sectionFrame || type == placesFrame; }
  bool beginCheckpoint(const uint8_t* payload, uint32_t bytes);
  bool loadSection(const uint8_t* payload, uint32_t bytes);
  bool endCheckpoint();
  Status goOn(const WantedLimits& wanted);
  Status takeWanted(const WantedLimits& wanted, bool* isChanged);
  Status changeLimits(const LimitsHead& limits, bool isPassing);
  Status takeBlockLength(uint32_t length, ReplayConfig* config);
  Status shrink(const ReplayConfig& to);
  Status makeAgain();
  Status make(Command command, const uint8_t* bytes, uint32_t count);
  bool applyGroup(const uint8_t* payload, uint32_t bytes);
  bool applyCommands(const uint8_t* bytes, uint32_t count);
  Status apply(Command command, const uint8_t* bytes, uint32_t count);
  Status applyRecords(Command command, const uint8_t* bytes, uint32_t count);
  Status applyPicks(Command command, const uint8_t* bytes, uint32_t count);
  void setKeptRow(uint32_t column, double handle, uint32_t position, const uint8_t* row);
  Status setFinalState(uint32_t column, double handle, uint32_t position, const uint8_t* row);
  /// When the rows of a frame are put into their block: with its group, later than that, or later by whoever needs them.
  enum class Rows : uint8_t { now, late, left };
  Status applyRows(uint32_t type, const LogPlace& place, const uint8_t* payload, Rows when);
  bool applyCarried(const uint8_t* payload, uint32_t bytes);
  bool applyStatistics(const uint8_t* payload, uint32_t bytes);
  Status leaveUnread();
  Status markNeeded(Scratch<uint8_t>& marks) const;
  Status readOldRows();
  Status updateRows();

  Durable& durable_;
  Replay& replay_;
  Recording& recording_;
  Drawing& drawing_;
  ThreadScratch& thread_;
  bool leavesRows_ = false;   // those of groups: they stay on the disk as those of a checkpoint do
  bool hasSkippedRecords_ = false;
  uint64_t groupCount_ = 0;
  CheckpointPlaces places_;    // of the checkpoint
  uint64_t evictedCount_ = 0;  // by changeLimits()
  Scratch<uint8_t> updates_;  // changes of rows, to be made again in the end: CommandHead, arguments
  size_t updateBytes_ = 0;
  Scratch<double> lost_;  // handles
  size_t lostCount_ = 0;
  Scratch<uint8_t> steps_;
  Scratch<uint8_t> made_;  // commands of the checkpoint, as their arguments must be aligned
  double handle_ = 0;
};

}  // namespace exrp
