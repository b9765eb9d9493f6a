// scanLog: reads the frames of a log in order, checks them, and finds the longest prefix of the stream that is whole.
//
// What was written but not synced before a crash may be there in any part. So what is no whole frame is either of two things:
//   - The torn tail. Nothing proves that these bytes were ever on the disk. The log ends before them, and cutLog() takes them away. Whole
//     frames behind them were not flushed either, and go with them.
//   - Damage. A later mark, or a later segment, proves that they had been on the disk. A frame with one flipped bit is repaired, and the repair is
//     told. Anything else is told as damage, and costs the frames that it lies in: the scan goes on at the next whole head.
// A mark is a frame of the log's own, which says what was on the disk when it was written. A segment begins only once the one before is on
// the disk.
//
// Files are only read: a repaired frame is repaired in memory, each time.
//
// Thread safety: none; nobody writes the log meanwhile.
// Cost: reads each file once, in pieces of 1 MiB, or of one frame where that is larger. It takes that much memory, and never more than a file really
// has. Where bytes are no frame, it looks for a head at each multiple of 8, at some 5 ns each; the last segment may be read once more.
// One flipped bit in a frame of n bits is found in n ns. Damage of more bits looks like a flipped bit in n of 2^32 cases; who can't have that
// drops frames with isRepaired.
#pragma once

#include "kernel/log/disk.hpp"
#include "kernel/log/log_format.hpp"
#include "kernel/log/log_segments.hpp"
#include "kernel/log/log_status.hpp"

namespace exrp {

struct LogFrame {
  LogPlace place;
  uint32_t type;
  const uint8_t* payload;  // place.bytes; good until the visitor returns
  bool isRepaired;
};

enum class LogDamageKind : uint8_t {
  repaired,     // one flipped bit, of a frame or of a segment's head; the frame follows
  payload,      // the head of the frame is whole, its payload is not
  frames,       // no head is whole: any number of frames
  segmentHead,  // the head of a segment; its frames are read nevertheless
  missing,      // a segment, or the end of one, is not there
};

struct LogDamage {
  LogDamageKind kind;
  LogPosition at;
  uint64_t bytes;
  uint32_t type;         // of a frame whose head is whole
  uint32_t flippedByte;  // where a bit was repaired: its byte's offset in the segment,
  uint8_t flippedBit;    // and which bit of it, from 0, the lowest
};

/// Takes what a scan finds, in order. Where it returns false, the scan ends.
class LogVisitor {
 public:
  virtual ~LogVisitor() = default;
  virtual bool frame(const LogFrame& frame) = 0;
  virtual bool damage(const LogDamage& damage) = 0;
};

struct LogScan {
  LogPosition end;     // where the whole prefix ends, or the frame at which the visitor stopped
  LogPosition synced;  // so far the log is proven to have been on the disk
  LogPosition lastEnd;  // of the last frame that the visitor got
  LogPosition closed;   // behind the last mark that says that the log was closed
  uint64_t logId = 0;
  uint64_t frameCount = 0;    // that the visitor got
  uint64_t repairedCount = 0;
  uint64_t damagedCount = 0;  // damages that were told and not repaired
  uint64_t tailBytes = 0;     // of the torn tail, in all files
  LogFailure failure;

  /// Whether the log ends as close() leaves it.
  bool isClosed() const { return closed == end && tailBytes == 0; }
};

/// Reads the log from `from` on: from a place where a frame begins or ends, or {} for all that is there. `ok`: all was read, and what was not whole
/// was told to the visitor or is the torn tail. `damaged`: the log ends before `from`, or no segment has a whole head.
LogStatus scanLog(Disk& disk, LogPosition from, LogVisitor& visitor, LogScan* scan);

/// Makes a log end at `end`, a place where a frame ends: removes later segments, cuts this one, and syncs both. What was before stays.
LogStatus cutLog(Disk& disk, LogPosition end, LogFailure* failure);

}  // namespace exrp
