#include "kernel/log/log_scan.hpp"

#include <algorithm>
#include <cstring>

#include "kernel/log/segment_reader.hpp"

namespace exrp {
namespace {

LogStatus failed(LogFailure* failure, DiskError error, const char* name) {
  *failure = LogFailure(error, name);
  return LogStatus::disk;
}

enum class Head : uint8_t { whole, repaired, damaged };

struct Known {
  LogSegment file;
  Head head;
  uint32_t previousBytes;
  uint32_t flippedBit;  // of the head
};

class Scanner {
 public:
  Scanner(Disk& disk, LogPosition from, LogVisitor& visitor, LogScan& scan) : disk_(disk), from_(from), visitor_(visitor), scan_(scan) {}

  LogStatus run() {
    scan_ = {};
    LogSegments listed;
    LogStatus status = listSegments(disk_, &listed, &scan_.failure);
    if (status != LogStatus::ok) return status;
    if (listed.count == 0) return LogStatus::empty;
    if (!known_.commit(listed.count)) return LogStatus::memory;
    count_ = listed.count;
    for (size_t k = 0; k < count_; ++k) known_[k].file = listed.segments[k];
    status = readHeads();
    if (status != LogStatus::ok) return status;
    status = dropTorn();
    if (status != LogStatus::ok) return status;
    return readAll();
  }

 private:
  LogStatus fail(const SegmentReader& reader) { return failed(&scan_.failure, reader.error(), reader.name()); }

  /// What a reader could not do.
  LogStatus statusOf(const SegmentReader& reader) { return reader.isMemoryShort() ? LogStatus::memory : fail(reader); }

  /// Reads the heads of the segments that are to be read, and takes the log's id from the first one that is whole. Where there is none, the
  /// segments before may know it.
  LogStatus readHeads() {
    while (begin_ < count_ && known_[begin_].file.segment < from_.segment) ++begin_;
    for (size_t k = begin_; k < count_; ++k) {
      if (const LogStatus status = readHead(known_[k]); status != LogStatus::ok) return status;
    }
    for (size_t k = begin_; k-- > 0 && !hasId_;) {
      if (const LogStatus status = readHead(known_[k]); status != LogStatus::ok) return status;
    }
    if (hasId_) return LogStatus::ok;
    // A log whose making a crash ended has one file, with nothing in it but a part of its head.
    return count_ == 1 && known_[0].file.bytes <= segmentHeadBytes ? LogStatus::empty : LogStatus::damaged;
  }

  LogStatus readHead(Known& known) {
    known.head = Head::damaged;
    known.previousBytes = 0;
    SegmentReader reader(disk_, segmentHeadBytes);
    if (!reader.open(known.file.segment)) return statusOf(reader);
    known.file.bytes = reader.bytes();
    const uint8_t* const bytes = reader.at(0, segmentHeadBytes);
    if (bytes == nullptr) return reader.hasFailed() ? statusOf(reader) : LogStatus::ok;
    SegmentHead head;
    memcpy(&head, bytes, sizeof head);
    const uint32_t sum = checksum(0, bytes, segmentHeadBytes - 4);
    const uint64_t bit = repairHead(reinterpret_cast<uint8_t*>(&head), segmentHeadBytes, sum);
    if (head.sum != checksum(0, reinterpret_cast<const uint8_t*>(&head), segmentHeadBytes - 4)) return LogStatus::ok;
    if (memcmp(head.magic, logMagic, sizeof logMagic) != 0 || head.segment != known.file.segment) return LogStatus::ok;
    if (head.version != logVersion) return LogStatus::version;
    if (hasId_ && head.logId != scan_.logId) return LogStatus::ok;
    scan_.logId = head.logId;
    hasId_ = true;
    known.head = bit == noBit ? Head::whole : Head::repaired;
    known.flippedBit = static_cast<uint32_t>(bit);
    known.previousBytes = head.previousBytes;
    return LogStatus::ok;
  }

  /// Leaves out files at the end whose making a crash ended. The head of a segment is on the disk before its first frame is written, and the first
  /// frame is a mark which says so.
  LogStatus dropTorn() {
    for (; count_ > begin_ && known_[count_ - 1].head == Head::damaged; --count_) {
      const Known& last = known_[count_ - 1];
      SegmentReader reader(disk_);
      if (!reader.open(last.file.segment)) return statusOf(reader);
      uint64_t synced = 0;
      if (!lookAhead(reader, last.file.segment, segmentHeadBytes, endOf(last), &synced)) return statusOf(reader);
      if (synced >= LogPosition{last.file.segment, segmentHeadBytes}.packed()) break;
      scan_.tailBytes += last.file.bytes;
    }
    return LogStatus::ok;
  }

  static uint32_t endOf(const Known& known) { return static_cast<uint32_t>(std::min<uint64_t>(known.file.bytes, UINT32_MAX & ~7u)); }

  LogStatus readAll() {
    if (begin_ == count_) return LogStatus::damaged;
    uint32_t expected = from_.segment != 0 ? from_.segment : known_[begin_].file.segment;
    for (size_t k = begin_; k < count_; ++k) {
      const Known& known = known_[k];
      const uint32_t segment = known.file.segment;
      for (; expected < segment; ++expected) {
        if (!tell({LogDamageKind::missing, {expected, 0}, 0, 0, 0, 0})) return stopAt({expected, 0});
      }
      ++expected;
      const bool isFrom = segment == from_.segment;
      const LogStatus status = readSegment(k, isFrom ? std::max(from_.offset, segmentHeadBytes) : segmentHeadBytes);
      if (status != LogStatus::ok || hasEnded_) return status;
    }
    return LogStatus::ok;
  }

  bool tell(const LogDamage& damage) {
    if (damage.kind == LogDamageKind::repaired) ++scan_.repairedCount;
    else ++scan_.damagedCount;
    return visitor_.damage(damage);
  }

  LogStatus stopAt(LogPosition at) {
    scan_.end = at;
    return LogStatus::stopped;
  }

  bool tellHead(const Known& known) {
    const LogPosition at = {known.file.segment, 0};
    if (known.head == Head::whole) return true;
    const bool isRepaired = known.head == Head::repaired;
    return tell({isRepaired ? LogDamageKind::repaired : LogDamageKind::segmentHead, at, segmentHeadBytes, 0, isRepaired ? known.flippedBit / 8 : 0,
                 static_cast<uint8_t>(isRepaired ? known.flippedBit % 8 : 0)});
  }

  LogStatus readSegment(size_t k, uint32_t offset) {
    const Known& known = known_[k];
    const uint32_t segment = known.file.segment;
    const bool isLast = k + 1 == count_;
    // The head of the next segment says where this one ends. Bytes behind are what a recovery cut.
    const bool isEndSaid = !isLast && known_[k + 1].file.segment == segment + 1 && known_[k + 1].head != Head::damaged;
    const uint32_t fileEnd = endOf(known);
    const uint32_t end = isEndSaid ? std::min(known_[k + 1].previousBytes, fileEnd) : fileEnd;
    if (offset > end && isLast) return LogStatus::damaged;
    if (!tellHead(known)) return stopAt({segment, 0});
    SegmentReader reader(disk_);
    if (!reader.open(segment)) return statusOf(reader);
    const uint32_t seed = frameSeed(scan_.logId, segment);
    hasLookedAhead_ = false;
    note(LogPosition{segment, segmentHeadBytes}.packed());
    while (offset < end) {
      const LogPosition at = {segment, offset};
      FoundFrame found = reader.look(seed, offset, end);
      if (found.state == FrameState::failed) return statusOf(reader);
      if (found.state != FrameState::whole) {
        bool isProven = !isLast;
        if (!isProven && !isSynced(reader, at, end, &isProven)) return statusOf(reader);
        if (!isProven) return endAt(at, known.file.bytes);
        found = reader.repair(seed, offset, end);
        if (found.state == FrameState::failed) return statusOf(reader);
      }
      const uint32_t whole = wholeFrameBytes(found.head.bytes);
      if (found.state == FrameState::whole) {
        if (found.flippedBit != noBit) {
          const auto byte = static_cast<uint32_t>(found.flippedBit / 8);
          const auto bit = static_cast<uint8_t>(found.flippedBit % 8);
          if (!tell({LogDamageKind::repaired, at, whole, found.head.type, offset + byte, bit})) return stopAt(at);
        }
        if (!take(found, at)) return stopAt(at);
        offset += whole;
      } else if (found.state == FrameState::payloadDamaged) {
        if (!tell({LogDamageKind::payload, at, whole, found.head.type, 0, 0})) return stopAt(at);
        offset += whole;
      } else {
        // What is torn behind the damage is no damage: the log ends where the proof does, and a later scan shall find the same.
        const uint32_t proven = isLast ? std::min(scan_.synced.offset, end) : end;
        const uint32_t next = reader.findHead(seed, offset + 8, proven, end);
        if (reader.hasFailed()) return statusOf(reader);
        if (!tell({LogDamageKind::frames, at, next - offset, 0, 0, 0})) return stopAt(at);
        offset = next;
      }
    }
    scan_.end = {segment, end};
    if (isEndSaid && known_[k + 1].previousBytes > end) {
      const uint32_t missing = known_[k + 1].previousBytes - end;
      if (!tell({LogDamageKind::missing, {segment, end}, missing, 0, 0, 0})) return stopAt({segment, end});
    }
    if (isLast) return endAt({segment, end}, known.file.bytes);
    return LogStatus::ok;
  }

  /// The stream ends here; what the file has behind is the torn tail.
  LogStatus endAt(LogPosition at, uint64_t fileBytes) {
    scan_.end = at;
    scan_.tailBytes += fileBytes - at.offset;
    hasEnded_ = true;
    return LogStatus::ok;
  }

  void note(uint64_t synced) {
    if (synced > scan_.synced.packed()) scan_.synced = LogPosition::unpacked(synced);
  }

  bool take(const FoundFrame& found, LogPosition at) {
    if (found.head.type == markType) {
      note(syncedBy(found, at));
      if (isClosing(found)) scan_.closed = {at.segment, at.offset + closingMarkBytes};
      return true;
    }
    const LogFrame frame = {{at.segment, at.offset, found.head.bytes}, found.head.type, found.payload, found.flippedBit != noBit};
    if (!visitor_.frame(frame)) return false;
    scan_.lastEnd = {at.segment, at.offset + wholeFrameBytes(found.head.bytes)};
    ++scan_.frameCount;
    return true;
  }

  /// How far the log was on the disk when a mark was written; 0 where the frame is no mark, or says what none can know.
  static uint64_t syncedBy(const FoundFrame& found, LogPosition at) {
    if (found.head.type != markType || (found.head.bytes != sizeof(SyncedMark) && !isClosing(found))) return 0;
    SyncedMark mark;
    memcpy(&mark, found.payload, sizeof mark);
    const uint64_t synced = LogPosition{mark.segment, mark.offset}.packed();
    return synced <= at.packed() && mark.offset % 8 == 0 ? synced : 0;
  }

  /// Whether it is the mark of close().
  static bool isClosing(const FoundFrame& found) {
    if (found.head.type != markType || found.head.bytes != sizeof(ClosingMark)) return false;
    ClosingMark mark;
    memcpy(&mark, found.payload, sizeof mark);
    return mark.isClosed == 1;
  }

  /// Whether a mark behind `at` says that this byte had been on the disk. False where the file can't be read.
  bool isSynced(SegmentReader& reader, LogPosition at, uint32_t end, bool* isProven) {
    if (at.packed() >= scan_.synced.packed() && !hasLookedAhead_) {
      uint64_t synced = 0;
      if (!lookAhead(reader, at.segment, at.offset, end, &synced)) return false;
      hasLookedAhead_ = true;
      note(synced);
    }
    *isProven = at.packed() < scan_.synced.packed();
    return true;
  }

  /// Finds the marks from `offset` on, whatever lies between them.
  bool lookAhead(SegmentReader& reader, uint32_t segment, uint32_t offset, uint32_t end, uint64_t* synced) {
    const uint32_t seed = frameSeed(scan_.logId, segment);
    while (offset < end) {
      offset = reader.findHead(seed, offset, end, end);
      if (offset >= end) break;
      const FoundFrame found = reader.look(seed, offset, end);
      if (found.state == FrameState::failed) return false;
      if (found.state == FrameState::whole) *synced = std::max(*synced, syncedBy(found, {segment, offset}));
      offset += wholeFrameBytes(found.head.bytes);
    }
    return !reader.hasFailed();
  }

  Disk& disk_;
  const LogPosition from_;
  LogVisitor& visitor_;
  LogScan& scan_;
  Scratch<Known> known_;
  size_t count_ = 0;
  size_t begin_ = 0;  // the first one to be read
  bool hasId_ = false;
  bool hasLookedAhead_ = false;  // in this segment
  bool hasEnded_ = false;
};

}  // namespace

LogStatus scanLog(Disk& disk, LogPosition from, LogVisitor& visitor, LogScan* scan) { return Scanner(disk, from, visitor, *scan).run(); }

LogStatus cutLog(Disk& disk, LogPosition end, LogFailure* failure) {
  LogSegments listed;
  const LogStatus status = listSegments(disk, &listed, failure);
  if (status != LogStatus::ok) return status;
  bool hasRemoved = false;
  // The last one first: what a crash leaves is a prefix.
  while (listed.count > 0 && listed.segments[listed.count - 1].segment > end.segment) {
    const SegmentName name(listed.segments[--listed.count].segment);
    const DiskError error = disk.remove(name.text);
    if (error.isError()) return failed(failure, error, name.text);
    hasRemoved = true;
  }
  if (listed.count == 0 || listed.segments[listed.count - 1].segment != end.segment) return LogStatus::unknown;
  if (hasRemoved) {
    if (const DiskError error = disk.syncFolder(); error.isError()) return failed(failure, error, "");
  }
  if (listed.segments[listed.count - 1].bytes <= end.offset) return LogStatus::ok;
  const SegmentName name(end.segment);
  FileId file = noFile;
  DiskError error = disk.open(name.text, OpenFile::write, &file);
  if (error.isError()) return failed(failure, error, name.text);
  error = disk.truncate(file, end.offset);
  if (!error.isError()) error = disk.sync(file);
  const DiskError closing = disk.close(file);
  if (!error.isError()) error = closing;
  return error.isError() ? failed(failure, error, name.text) : LogStatus::ok;
}

}  // namespace exrp
