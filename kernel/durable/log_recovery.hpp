// LogRecovery: what the recovery of a replay and that of tables have in common: it finds the newest checkpoint, reads the log from there on, and says what was found.
//
// Who derives from it makes of each frame what it says. Until the checkpoint has ended, frames that came between its pieces are kept.
//
// Thread safety: none: nobody else has yet what is recovered.
#pragma once

#include "kernel/durable/durable_log.hpp"
#include "kernel/durable/payload.hpp"

namespace exrp {

/// What was found.
struct RecoveryReport {
  uint64_t groupCount = 0;     // of tables: changes
  uint64_t tailBytes = 0;      // that were cut off: no whole group, or torn
  uint64_t repairedCount = 0;  // flipped bits
  uint64_t lostBlocks = 0;     // whose rows are damaged: their episodes were evicted; of tables: items
  LogPosition damage;          // the first that was not repaired
  bool isDamaged = false;
  uint32_t stateBytes = 0;
  uint64_t evictedRecords = 0;  // for the limits that were asked for

  void noteDamage(LogPosition at) {
    if (!isDamaged) damage = at;
    isDamaged = true;
  }
};

class LogRecovery : private LogVisitor {
 protected:
  struct KeptFrame {
    LogPlace place;
    uint32_t type;
    bool isRepaired;
    size_t at;  // in bytes_
  };

  explicit LogRecovery(DurableLog& log) : log_(log) {}
  ~LogRecovery() override = default;

  /// Finds the segments and the newest checkpoint. An error where neither it nor the log's beginning is there.
  Status find(RecoveryReport* report);
  /// Opens the log, and reads it from the checkpoint on.
  Status readLog(const DurableOptions& options);

  /// Takes a frame. False where it is not right, or with a status.
  virtual bool take(const LogFrame& frame) = 0;
  /// Whether frames of this type can be done without, where they are damaged.
  virtual bool mayLack(uint32_t type) const = 0;
  /// A frame whose bytes are of the checkpoint, while one is loaded.
  virtual bool isOfCheckpoint(uint32_t type) const = 0;

  bool keepFrame(const LogFrame& frame);
  bool giveState(const uint8_t* state, uint32_t bytes);
  /// False, for the caller to return.
  bool noMemory(double bytes) {
    status_ = fail(Status::memory, bytes);
    return false;
  }
  /// Tells the log how much was read.
  void countRead() { log_.countRead(from_, checkpointBytes_, laterBytes_); }

  Status status_ = Status::ok;  // why the scan was ended
  RecoveryReport* report_ = nullptr;
  LogSegments segments_;
  LogPosition from_;        // where the checkpoint begins; {}: there is none
  bool isLoading_ = false;  // it has not ended
  Scratch<KeptFrame> frames_;
  size_t frameCount_ = 0;
  Scratch<uint8_t> bytes_;
  size_t byteCount_ = 0;

 private:
  bool frame(const LogFrame& frame) final;
  bool damage(const LogDamage& damage) final;

  DurableLog& log_;
  uint64_t checkpointBytes_ = 0;
  uint64_t laterBytes_ = 0;
};

}  // namespace exrp
