// Log: an append-only stream of frames, in files of bounded size. A frame is bytes of any kind, with a type that the caller chooses.
//
// Appending copies into memory. A thread of the log's own writes whole buffers to the disk, and syncs where a flush is asked for or an interval
// is over. What isFlushed() says is on the disk survives a crash of the process, of the system, and of its power. What was appended later is
// there as a prefix, or not at all: the stream never has a gap without a word (log_scan.hpp).
//
//   caller ── append ──► buffer ──► buffer ──► … ──► [ thread: late copies, checksums, write, sync ] ──► segment files
//
// Where the disk is behind, append waits.
//
// A write or a sync that fails ends the log for good, and nothing is tried again: each later append and flush returns `disk`, and failure() says
// what failed first. What was flushed before stays on the disk. Open the folder again to go on.
//
// Thread safety: begin, extend, end, drop, append, requestFlush and close belong to one caller at a time, who holds the replay's lock. Any thread may
// call isFlushed, waitFlushed, fail, read, segments, counts, failure and removeSegments meanwhile.
// Invariants:
//   1. A segment begins only once the one before is on the disk to its end. Its head and its name are on the disk before its first frame is written.
//   2. synced_ only grows, and no byte before it changes any more.
//   3. A mark is written only once all that it says is on the disk.
//   4. No offset of a segment is ever used for two frames, even if a crash took the first one without a trace: a log that does not end with the mark of close(), or that
//      is damaged, goes on in a new segment. Where it does, a mark alone is written and synced before anything else, so that this is seen from then on.
// Cost: docs/internals/log_format.md, "What it costs". A log takes a buffer of 1 MiB once a frame or a mark was appended, some spare ones
// (log_buffer.hpp), and queueBytes of others while the disk is behind.
// It does not lock the folder: who opens a log has Disk::lock(). The Disk must outlive it.
// Where isThreaded is false, there is no thread: whoever waits for a flush or for room does the work, or work() does. In WebAssembly there is
// none either: who asks for a flush does the work.
#pragma once

#include <atomic>

#include "kernel/base/sync.hpp"
#include "kernel/base/thread.hpp"
#include "kernel/log/disk.hpp"
#include "kernel/log/late_copies.hpp"
#include "kernel/log/log_buffer.hpp"
#include "kernel/log/log_format.hpp"
#include "kernel/log/log_scan.hpp"
#include "kernel/log/log_status.hpp"
#include "kernel/log/read_files.hpp"

namespace exrp {

struct LogOptions {
  /// A segment gets no more frames once it is so long; one frame alone may be longer. From 4 KiB to segmentBytesMax.
  uint32_t segmentBytes = uint32_t{64} << 20;
  /// Of one buffer. From 256 to 2^30.
  uint32_t bufferBytes = uint32_t{1} << 20;
  /// So many bytes may wait for the disk, and always one frame.
  uint64_t queueBytes = uint64_t{64} << 20;
  /// Syncs by itself so long after the last time, where there is something to sync. 0: never.
  uint32_t flushIntervalMs = 1000;
  /// Where too much waits for the disk: whether append waits, or returns `full`.
  bool isWaiting = true;
  /// Whether a thread of its own writes.
  bool isThreaded = hasThreads;
  /// For create(): 0 makes a new one.
  uint64_t logId = 0;

  /// What a segment counts for at least, where it is asked if it is worth its file.
  uint32_t leastBytes() const { return segmentBytes / 64; }
};

/// A piece of a payload.
struct LogPiece {
  const void* bytes;
  uint32_t size;
};

struct LogCounts {
  uint64_t writtenBytes = 0;
  uint64_t syncCount = 0;
  uint64_t queuedBytes = 0;   // that wait for the disk now, but for those of the buffer that is being filled
  uint64_t logBytes = 0;      // of all segments, with what waits for the disk: it follows from what was appended, however fast the disk is
};

class Log {
 public:
  Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  /// Closes it.
  ~Log() { close(); }

  /// Makes a log in a folder that has none. Its first segment is on the disk when this returns. `exists`: there is one.
  LogStatus create(Disk* disk, const LogOptions& options);
  /// Opens a log: tells `visitor` all frames from `from` on (scanLog()), cuts the torn tail, and goes on behind. When this returns, all that was
  /// told is on the disk. `empty`: there is none; `stopped`: the visitor ended the scan, nothing was changed, and the log is not open.
  LogStatus open(Disk* disk, const LogOptions& options, LogPosition from, LogVisitor& visitor, LogScan* scan);
  /// Writes and syncs all that was appended, and a mark that says that the log was closed. Ends the thread. What that comes to is the status; the log is closed in any
  /// case. A frame that is open is dropped. Writes no mark where nothing was written since the log was opened. Does nothing where the log is closed.
  LogStatus close();
  /// Ends the thread without a flush: what was not written is lost. For tests, and for a log whose disk hangs.
  void abandon();
  bool isOpen() const { return disk_ != nullptr; }
  /// Whether a thread of its own writes.
  bool isThreaded() const { return options_.isThreaded; }

  /// Appends a frame, and says where it will be. It is not on the disk before a flush. `type` is from 1 on. A payload has at most frameBytesMax
  /// bytes. Any status but `ok`: nothing was appended.
  LogStatus append(uint32_t type, const LogPiece* pieces, uint32_t count, LogPlace* place);
  LogStatus append(uint32_t type, const void* bytes, uint32_t size, LogPlace* place) {
    const LogPiece piece = {bytes, size};
    return append(type, &piece, 1, place);
  }

  /// Begins a frame in the log's own buffer, with room for a payload of so many bytes. Until end() or drop(), nothing else can be appended, and
  /// requestFlush() flushes what was before.
  LogStatus begin(uint32_t room, uint8_t** payload);
  /// Makes room for so many bytes in the frame that is open, where it lies. False: its buffer ends before; end it, and begin another one.
  bool extend(uint32_t room);
  /// Ends it with the first `bytes` of its room as payload.
  LogStatus end(uint32_t type, uint32_t bytes, LogPlace* place);
  void drop();
  /// Where the bytes of the frame that is open may be written down that are copied later; null where all are copied at once.
  LateCopies* late() { return hasThreads ? &late_ : nullptr; }
  /// Ends the segment: once isFlushed(ticket), its file and those before never change any more, and the one that follows, which is `next`, begins with its head and
  /// a mark. A segment without a frame is not ended: it is `next` itself.
  LogStatus endSegment(uint64_t* ticket, uint32_t* next);

  /// The end of the last frame. What is appended next comes behind, so a scan may begin here.
  LogPosition position() const { return LogPosition::unpacked(userEnd_); }

  /// Asks for all that was appended to be on the disk, and returns a ticket for that. Does not wait. One sync serves all that ask meanwhile.
  uint64_t requestFlush();
  /// Whether what the ticket stands for is on the disk.
  bool isFlushed(uint64_t ticket) const { return synced_.load(std::memory_order_acquire) >= ticket; }
  /// Waits until it is. `timeout` once so many milliseconds have passed, UINT32_MAX: never. `disk` where the log has failed and it is not;
  /// `argument` where nobody was given the ticket.
  LogStatus waitFlushed(uint64_t ticket, uint32_t timeoutMs = UINT32_MAX);
  /// Returns once all that was appended is on the disk. `disk` where the log has failed, even if nothing is left to flush. Where the log's thread has
  /// nothing to do, this one writes and syncs, which saves waking the other.
  LogStatus flush();
  /// How many intervals of flushIntervalMs are over. Only the log's thread counts.
  uint32_t intervalCount() const { return intervalCount_.load(std::memory_order_relaxed); }
  /// The end of what is on the disk.
  LogPosition flushed() const { return LogPosition::unpacked(synced_.load(std::memory_order_acquire)); }

  /// Reads a frame at a place that append() or a scan gave: its place.bytes bytes into `payload`, also those that are not written yet. One flipped
  /// bit is repaired, and `isRepaired` says so. `damaged`: the bytes on the disk are others; `unknown`: no frame of this length is here, or its segment was removed; `disk`:
  /// it can't be read now, and `failure` says why. That does not end the log.
  LogStatus read(const LogPlace& place, uint8_t* payload, uint32_t* type, LogFailure* failure = nullptr, bool* isRepaired = nullptr);

  /// Reads a frame that is flushed in parts, each to its place; together they have place.bytes. `disk`: as read(). Any other status but `ok` says nothing of the
  /// frame: read() tells more, and repairs it.
  LogStatus readParts(const LogPlace& place, const DiskPart* parts, uint32_t count, uint32_t* type, LogFailure* failure);

  /// Removes the segments before this one, the oldest first; never the last one. One thread at a time. Who reads in one meanwhile may not find it. On
  /// Windows, that one may then stay until the next call.
  /// `disk`: one can't be removed, as `failure` says; it and the later ones stay. That does not end the log.
  LogStatus removeSegments(uint32_t before, LogFailure* failure = nullptr);
  /// The segments that there are, in order.
  LogStatus segments(LogSegments* segments);
  LogCounts counts();
  uint64_t id() const { return logId_; }

  /// Whether it has failed for good.
  bool hasFailed() const { return hasFailed_.load(std::memory_order_relaxed); }
  LogFailure failure();
  /// Ends it for good, as a write that fails does.
  void fail(DiskError error) { failWith(error, ""); }

  /// Where there is no thread: does the next piece of what is to be done, which is at most one write and one sync. False: nothing is to be done.
  bool work();

 private:
  LogStatus start(Disk* disk, const LogOptions& options);
  LogStatus goOn(const LogScan& scan);
  LogStatus proveEnd();
  LogStatus markClosed();
  LogStatus makeRoom(uint32_t whole);
  void finish(uint32_t type, uint32_t bytes, LogPlace* place);
  void appendMark();
  uint64_t markFlush();
  void handOver();
  void stop();

  bool workOnce(Lock& lock);
  bool writePart(const LogBuffer& buffer, uint32_t until);
  bool beginSegment(uint32_t segment);
  bool syncFile();
  bool failWith(DiskError error, const char* name);
  void serve();

  // Of the caller alone.
  uint8_t* at_ = nullptr;     // where the next frame will be
  uint8_t* limit_ = nullptr;  // the end of the room for it: of the buffer, or of the segment
  uint8_t* frame_ = nullptr;  // one that is open
  LogBuffer* filling_ = nullptr;  // the last of the list, while it is not done
  uint32_t frameRoom_ = 0;     // of its payload
  LogPosition next_;           // the place of at_
  uint64_t userEnd_ = 0;       // behind the last frame that is no mark
  uint64_t requestedTo_ = 0;   // by requestFlush()
  bool mustBegin_ = false;     // a segment, with the next frame
  LogOptions options_;
  uint64_t logId_ = 0;
  Disk* disk_ = nullptr;

  Mutex mutex_;
  Condition wanted_;  // there is work for the thread
  Condition done_;    // something was written or synced, or has failed
  // Under the mutex.
  LogBuffer* first_ = nullptr;  // what is not written, the oldest first
  LogBuffer* last_ = nullptr;
  LogBuffers spare_;
  uint64_t queued_ = 0;    // bytes of buffers that are done and not written
  uint64_t flushTo_ = 0;   // all before is to be synced
  uint64_t mark_ = 0;      // the newest mark behind a flush: written as soon as the flush is done
  bool isWriting_ = false;   // somebody writes, outside of the mutex
  bool isEnding_ = false;
  LogSegments segments_;
  LogCounts counts_;
  LogFailure failure_;

  // Of whoever writes.
  FileId file_ = noFile;
  LogPosition written_;
  LogPosition opened_;  // where the log ended when it was opened; {}: it is new

  LateCopies late_;
  std::atomic<uint64_t> synced_ = 0;
  std::atomic<bool> hasFailed_ = false;
  std::atomic<uint32_t> intervalCount_ = 0;
  Thread thread_;
  ReadFiles files_;
};

}  // namespace exrp
