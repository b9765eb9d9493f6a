// DurableLog: what a durable replay and durable tables have in common: a log in a folder of its own, the caller's state in it, what it failed by, and which
// checkpoint of it is whole.
//
// Where the disk fails, the log has failed for good, and what it is of goes on in memory. Then nothing new is taken, unless `goesOn`.
//
// A checkpoint says what there is, so that the log before it can go. Who derives from this writes it, in pieces. Once it is on the disk, a SegmentRemover has the
// folder name it, and removes older segments.
//
// Thread safety: that of what it is of: one call at a time. waitFlushed() may come from any thread, while the object is there.
// Cost: that of a Log.
#pragma once

#include <initializer_list>
#include <memory>

#include "kernel/durable/folder_copy.hpp"
#include "kernel/durable/segment_remover.hpp"
#include "kernel/durable/log_folder.hpp"

namespace exrp {

struct DurableOptions {
  LogOptions log;
  /// Of a replay: a group ends once so many bytes came.
  uint32_t groupBytes = uint32_t{1} << 20;
  /// A checkpoint is made once the log has grown by so many bytes, and by four times the last checkpoint. What earlier programs wrote counts, and so does
  /// each of their segments (LogOptions::leastBytes): those of killed programs go, too.
  uint64_t checkpointBytes = uint64_t{64} << 20;
  /// Of a replay's checkpoint, a frame has so many bytes at most, and each group writes so many.
  uint32_t pieceBytes = uint32_t{1} << 20;
  uint64_t pumpBytes = uint64_t{4} << 20;
  /// Of a replay: only the caller ends groups, because it has state of its own.
  bool hasState = false;
  /// Whether what is new is taken after the log has failed.
  bool goesOn = false;
  /// If the rows of older blocks have more bytes, opening a log reads only those that it needs; the others are read later.
  uint64_t readNowBytes = UINT64_MAX;
};

class DurableLog {
 public:
  DurableLog(const DurableLog&) = delete;
  DurableLog& operator=(const DurableLog&) = delete;

  /// Opens the folder, and takes its lock.
  Status openFolder(const char* path, OpenFolder how) { return openLogFolder(path, how, &disk_); }
  /// The same, where the folder is open already.
  Status takeDisk(std::unique_ptr<Disk> disk) { return lockLogFolder(disk_ = std::move(disk)); }

  /// Status::ok, or why nothing new is taken.
  Status mayTake() const { return !options_.goesOn && (hasFailed_ || log_.hasFailed()) ? failure() : Status::ok; }
  /// Asks for all that counts to be on the disk.
  uint64_t requestFlush() { return log_.requestFlush(); }
  Status waitFlushed(uint64_t ticket, uint32_t timeoutMs);

  /// The caller's, as it was written last.
  const uint8_t* state() const { return state_.data(); }
  uint32_t stateBytes() const { return stateBytes_; }

  /// LogStatus::ok, or what the log has failed by.
  LogStatus failedBy() const { return failedBy_; }
  Status failure() const;
  Log& stream() { return log_; }
  Disk& disk() { return *disk_; }

  // ---- what writes into it ----

  /// From now on, nothing more is written.
  void fail(LogStatus status);
  /// Appends a frame. False where the log has failed.
  bool append(uint32_t type, std::initializer_list<LogPiece> pieces, LogPlace* place = nullptr);
  /// Appends a frame of so many bytes that `write` puts there.
  template <typename Write>
  bool appendWritten(uint32_t type, uint64_t bytes, Write write, LogPlace* place = nullptr) {
    uint8_t* const payload = beginFrame(bytes);
    if (payload == nullptr) return false;
    write(payload);
    return endFrame(type, static_cast<uint32_t>(bytes), place);
  }
  /// Begins a frame, which belongs to the caller until endFrame(). Null where the log has failed.
  uint8_t* beginFrame(uint64_t room);
  bool endFrame(uint32_t type, uint32_t bytes, LogPlace* place = nullptr);

  // ---- copies of the folder ----

  /// Ends the segment that is being written. Until unseal(), no segment is removed. Once the ticket is flushed, copyFolder() may copy.
  Status seal(SealedFolder* sealed);
  void unseal();
  /// How many segments the sealed folder has.
  uint32_t sealedCount() const { return sealedCount_; }

 protected:
  enum class Checkpoint : uint8_t { none, writing, flushing };

  /// Rows or chunks that are written again for a checkpoint, at most, so that old segments can go.
  static constexpr uint64_t rewrittenMax = 64 << 20;

  DurableLog() = default;
  ~DurableLog() = default;
  /// Begins a log in a folder that has none.
  Status createLog();
  /// Flushes and closes it. What had failed stays failed, and is told.
  Status closeLog();
  /// Ends it as it is.
  void abandonLog() {
    remover_.wait();
    log_.abandon();
  }
  /// The log has just failed: what is kept for a checkpoint is let go.
  virtual void failed() = 0;

  /// The log's own thread may have met a failure.
  void noteFailure() {
    if (log_.hasFailed()) fail(LogStatus::disk);
  }
  bool isState(const uint8_t* state, uint32_t bytes) const;
  /// False without memory.
  bool keepState(const uint8_t* state, uint32_t bytes);

  bool wantsCheckpoint() const { return writtenBytes_ >= options_.checkpointBytes && writtenBytes_ >= 4 * checkpointSize_; }
  /// Its first frame was appended there. It needs the segments from this one on.
  void beginCheckpointAt(LogPosition at, uint32_t from);
  /// Ends it: from now on, finishFlushed() looks whether it is on the disk.
  void endCheckpoint();
  /// Once it is: has that said there, and the segments removed that nothing needs any more.
  void finishFlushed() {
    if (log_.isFlushed(checkpointTicket_) && remover_.begin(checkpointAt_, checkpointFrom_)) checkpoint_ = Checkpoint::none;
  }
  /// After the log was opened, and read from the checkpoint on that the folder names: how many bytes are that and what came behind it.
  void countRead(LogPosition checkpoint, uint64_t checkpointBytes, uint64_t laterBytes);

  DurableOptions options_;
  std::unique_ptr<Disk> disk_;
  Log log_;
  SegmentRemover remover_{log_, disk_};
  bool hasFailed_ = false;
  Scratch<uint8_t> state_;
  Checkpoint checkpoint_ = Checkpoint::none;
  uint64_t checkpointSize_ = 0;
  uint64_t writtenBytes_ = 0;  // since the last checkpoint began

 private:
  friend class LogRecovery;

  LogStatus failedBy_ = LogStatus::ok;
  uint32_t stateBytes_ = 0;
  LogPosition checkpointAt_;
  uint32_t checkpointFrom_ = 0;  // the first segment that it needs
  uint64_t checkpointTicket_ = 0;
  bool isSealed_ = false;
  uint32_t sealedCount_ = 0;
};

}  // namespace exrp
