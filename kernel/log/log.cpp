#include "kernel/log/log.hpp"

#include <algorithm>

#include "kernel/base/process.hpp"
#include "kernel/base/random.hpp"

namespace exrp {
namespace {

constexpr uint32_t never = UINT32_MAX;

bool isPossible(const LogOptions& options) {
  return options.segmentBytes >= 4096 && options.segmentBytes <= segmentBytesMax && options.bufferBytes >= 256 &&
         options.bufferBytes <= frameBytesMax;
}

uint64_t newLogId() {
  static const uint8_t here = 0;
  Random random(static_cast<uint64_t>(numberOfThisCopy()), reinterpret_cast<uintptr_t>(&here));
  return random.next();
}

/// Writes bytes of a file once more. False without memory, or with an error where the disk fails.
bool rewrite(Disk& disk, FileId file, uint32_t from, uint32_t to, DiskError* error) {
  constexpr uint32_t pieceBytes = uint32_t{1} << 20;
  Scratch<uint8_t> piece;
  while (from < to) {
    const uint32_t size = std::min(pieceBytes, to - from);
    if (!piece.commit(size)) return false;
    size_t readBytes = 0;
    *error = disk.read(file, from, piece.data(), size, &readBytes);
    if (!error->isError() && readBytes < size) *error = {DiskCall::read, 0};
    if (!error->isError()) *error = disk.write(file, from, piece.data(), size);
    if (error->isError()) return false;
    from += size;
  }
  return true;
}

/// For create(): a folder that has a log has a first frame, or an end.
class NoVisitor final : public LogVisitor {
 public:
  bool frame(const LogFrame&) override { return false; }
  bool damage(const LogDamage&) override { return false; }
};

}  // namespace

// Opening and closing.

LogStatus Log::start(Disk* disk, const LogOptions& options) {
  failure_ = {};
  hasFailed_.store(false);
  intervalCount_.store(0);
  counts_ = {};
  flushTo_ = 0;
  mark_ = 0;
  requestedTo_ = 0;
  isEnding_ = false;
  options_ = options;
  if (!hasThreads) {
    options_.isThreaded = false;
    // Nobody writes meanwhile, so a buffer is written once it is full.
    options_.queueBytes = 0;
  }
  const Lock lock(mutex_);
  disk_ = disk;
  return LogStatus::ok;
}

LogStatus Log::create(Disk* disk, const LogOptions& options) {
  if (disk_ != nullptr || !isPossible(options)) return LogStatus::argument;
  NoVisitor visitor;
  LogScan scan;
  LogStatus status = scanLog(*disk, {}, visitor, &scan);
  failure_ = scan.failure;
  if (status == LogStatus::disk || status == LogStatus::memory) return status;
  if (status != LogStatus::empty) return LogStatus::exists;
  status = listSegments(*disk, &segments_, &failure_);
  if (status != LogStatus::ok) return status;
  if (!segments_.segments.commit(1)) return LogStatus::memory;
  // What a crash left of a log that was being made.
  for (size_t k = 0; k < segments_.count; ++k) {
    const SegmentName name(segments_.segments[k].segment);
    if (const DiskError error = disk->remove(name.text); error.isError()) {
      failWith(error, name.text);
      return LogStatus::disk;
    }
  }
  start(disk, options);
  logId_ = options.logId != 0 ? options.logId : newLogId();
  segments_.count = 1;
  segments_.segments[0] = {1, segmentHeadBytes};
  written_ = {};
  opened_ = {};
  synced_.store(0);
  if (!beginSegment(1)) {
    stop();
    return LogStatus::disk;
  }
  next_ = written_;
  userEnd_ = next_.packed();
  mustBegin_ = false;
  return LogStatus::ok;
}

LogStatus Log::open(Disk* disk, const LogOptions& options, LogPosition from, LogVisitor& visitor, LogScan* scan) {
  if (disk_ != nullptr || !isPossible(options)) return LogStatus::argument;
  LogStatus status = scanLog(*disk, from, visitor, scan);
  failure_ = scan->failure;
  if (status != LogStatus::ok) return status;
  start(disk, options);
  logId_ = scan->logId;
  status = goOn(*scan);
  scan->failure = failure_;
  if (status != LogStatus::ok) stop();
  return status;
}

/// Makes what was read last, and cuts the rest.
LogStatus Log::goOn(const LogScan& scan) {
  LogStatus status = cutLog(*disk_, scan.end, &failure_);
  if (status != LogStatus::ok) return status;
  status = listSegments(*disk_, &segments_, &failure_);
  if (status != LogStatus::ok) return status;
  const SegmentName name(scan.end.segment);
  DiskError error = disk_->open(name.text, OpenFile::write, &file_);
  if (error.isError()) {
    failWith(error, name.text);
    return LogStatus::disk;
  }
  // What nothing proves to be on the disk may be in the system's memory only, after a sync that failed: the system takes such bytes for synced.
  // So they are written again. A crash meanwhile leaves the same bytes.
  const uint32_t proven = scan.synced.segment == scan.end.segment ? scan.synced.offset : segmentHeadBytes;
  if (!rewrite(*disk_, file_, proven > segmentHeadBytes ? proven : 0, scan.end.offset, &error) && !error.isError()) return LogStatus::memory;
  if (!error.isError()) error = disk_->sync(file_);
  if (!error.isError()) error = disk_->syncFolder();
  if (error.isError()) {
    failWith(error, name.text);
    return LogStatus::disk;
  }
  written_ = scan.end;
  opened_ = scan.end;
  synced_.store(written_.packed(), std::memory_order_release);
  next_ = written_;
  userEnd_ = next_.packed();
  // Who did not close the log may have written behind its end, even if a crash took all of that. Behind damage, a head that was forged may claim what is written next.
  mustBegin_ = !scan.isClosed() || scan.damagedCount > 0;
  // A mark that lay in the torn tail went with it.
  const bool isProven = scan.synced.packed() >= scan.lastEnd.packed() && scan.tailBytes == 0;
  return isProven ? LogStatus::ok : proveEnd();
}

/// Has a mark written which says that all before is on the disk. Without one, damage of the last frame would look like a torn tail.
LogStatus Log::proveEnd() {
  if (const LogStatus status = makeRoom(0); status != LogStatus::ok) return status;
  const Lock lock(mutex_);
  mark_ = LogPosition{filling_->segment, filling_->offset}.packed();
  wanted_.notify_all();
  return LogStatus::ok;
}

LogStatus Log::close() {
  if (disk_ == nullptr) return LogStatus::ok;
  drop();
  LogStatus status = flush();
  if (status == LogStatus::ok) status = markClosed();
  stop();
  return status;
}

void Log::abandon() {
  if (disk_ == nullptr) return;
  hasFailed_.store(true);
  stop();
}

void Log::stop() {
  {
    const Lock lock(mutex_);
    isEnding_ = true;
    wanted_.notify_all();
  }
  thread_.join();
  late_.clear();
  files_.closeBefore(*disk_, UINT64_MAX);
  if (file_ != noFile) disk_->close(file_);
  file_ = noFile;
  const Lock lock(mutex_);
  while (first_ != nullptr) {
    LogBuffer* const buffer = first_;
    first_ = buffer->next;
    spare_.give(buffer, 0);
  }
  spare_.free(0);
  queued_ = 0;
  last_ = nullptr;
  filling_ = nullptr;
  frame_ = nullptr;
  at_ = nullptr;
  limit_ = nullptr;
  segments_.count = 0;
  disk_ = nullptr;
  done_.notify_all();
}

// Appending.

LogStatus Log::append(uint32_t type, const LogPiece* pieces, uint32_t count, LogPlace* place) {
  uint64_t size = 0;
  for (uint32_t k = 0; k < count; ++k) size += pieces[k].size;
  if (size > frameBytesMax || type == markType || frame_ != nullptr) return LogStatus::argument;
  const auto bytes = static_cast<uint32_t>(size);
  const uint32_t whole = wholeFrameBytes(bytes);
  if (limit_ - at_ < static_cast<ptrdiff_t>(whole) || hasFailed()) {
    if (const LogStatus status = makeRoom(whole); status != LogStatus::ok) return status;
  }
  uint8_t* to = at_ + frameHeadBytes;
  for (uint32_t k = 0; k < count; ++k) {
    if (pieces[k].size > 0) memcpy(to, pieces[k].bytes, pieces[k].size);
    to += pieces[k].size;
  }
  finish(type, bytes, place);
  return LogStatus::ok;
}

LogStatus Log::begin(uint32_t room, uint8_t** payload) {
  *payload = nullptr;
  if (room > frameBytesMax || frame_ != nullptr) return LogStatus::argument;
  const uint32_t whole = wholeFrameBytes(room);
  if (limit_ - at_ < static_cast<ptrdiff_t>(whole) || hasFailed()) {
    if (const LogStatus status = makeRoom(whole); status != LogStatus::ok) return status;
  }
  frame_ = at_;
  frameRoom_ = room;
  late_.begin(next_.packed());
  *payload = frame_ + frameHeadBytes;
  return LogStatus::ok;
}

bool Log::extend(uint32_t room) {
  if (frame_ == nullptr || room > frameBytesMax || limit_ - frame_ < static_cast<ptrdiff_t>(wholeFrameBytes(room))) return false;
  frameRoom_ = std::max(frameRoom_, room);
  return true;
}

LogStatus Log::end(uint32_t type, uint32_t bytes, LogPlace* place) {
  if (frame_ == nullptr || bytes > frameRoom_ || type == markType) return LogStatus::argument;
  frame_ = nullptr;
  if (hasFailed()) return LogStatus::disk;
  finish(type, bytes, place);
  return LogStatus::ok;
}

void Log::drop() {
  frame_ = nullptr;
  late_.drop();
}

/// The payload is there: writes the head, but for the checksums, and lets others see the frame.
void Log::finish(uint32_t type, uint32_t bytes, LogPlace* place) {
  constexpr uint8_t zeros[8] = {};
  const uint32_t whole = wholeFrameBytes(bytes);
  memcpy(at_ + frameHeadBytes + bytes, zeros, padded(bytes) - bytes);
  const FrameHead head = {bytes, type, 0, 0};
  memcpy(at_, &head, sizeof head);
  *place = {next_.segment, next_.offset, bytes};
  at_ += whole;
  next_.offset += whole;
  if (type != markType) userEnd_ = next_.packed();
  late_.publish();
  // Release: who sees the number sees the frame.
  filling_->filled.store(static_cast<uint32_t>(at_ - filling_->bytes), std::memory_order_release);
}

/// There is room for one behind each frame.
void Log::appendMark() {
  constexpr SyncedMark mark = {0, 0};
  memcpy(at_ + frameHeadBytes, &mark, sizeof mark);
  LogPlace ignored;
  finish(markType, sizeof mark, &ignored);
}

/// The caller's buffer gets no more frames. Under the mutex.
void Log::handOver() {
  if (filling_ == nullptr) return;
  filling_->isDone = true;
  queued_ += filling_->filled.load(std::memory_order_relaxed) - filling_->written;
  filling_ = nullptr;
  at_ = nullptr;
  limit_ = nullptr;
  wanted_.notify_all();
}

LogStatus Log::endSegment(uint64_t* ticket, uint32_t* next) {
  if (frame_ != nullptr) return LogStatus::argument;
  if (hasFailed()) return LogStatus::disk;
  const bool hasNothing = !mustBegin_ && next_.offset == segmentHeadBytes + markBytes;
  if (!hasNothing) {
    mustBegin_ = true;
    if (const LogStatus status = makeRoom(0); status != LogStatus::ok) return status;
  }
  *ticket = next_.packed();
  *next = next_.segment;
  const Lock lock(mutex_);
  flushTo_ = std::max(flushTo_, *ticket);
  wanted_.notify_all();
  return LogStatus::ok;
}

/// Makes room for a frame of so many bytes, in another buffer.
[[gnu::noinline]] LogStatus Log::makeRoom(uint32_t whole) {
  if (disk_ == nullptr) return LogStatus::closed;
  if (hasFailed()) return LogStatus::disk;
  const uint32_t needed = markBytes + whole;
  // Where no file is open ahead for one more segment, this one goes on.
  const uint32_t ahead = disk_->filesAhead();
  const bool mayBegin = ahead == UINT32_MAX || ahead > next_.segment - written_.segment;
  const uint64_t segmentEnd = mayBegin ? options_.segmentBytes : segmentBytesMax;
  const bool isBeginning = mustBegin_ || (next_.offset > segmentHeadBytes && next_.offset + uint64_t{needed} > segmentEnd);
  const LogPosition begin = isBeginning ? LogPosition{next_.segment + 1, segmentHeadBytes} : next_;
  const uint32_t capacity = std::max(options_.bufferBytes, needed + markBytes);
  Lock lock(mutex_);
  if (options_.isThreaded && !thread_.isStarted()) options_.isThreaded = thread_.start([](void* log) { static_cast<Log*>(log)->serve(); }, this);
  handOver();
  // Who has to wait waits for a quarter of the room: for each buffer alone, both threads would wake each other all the time.
  uint64_t most = options_.queueBytes;
  while (queued_ > 0 && queued_ + capacity > most) {
    if (hasFailed()) return LogStatus::disk;
    most = options_.queueBytes - options_.queueBytes / 4;
    if (!options_.isWaiting) return LogStatus::full;
    if (options_.isThreaded || !workOnce(lock)) lock.wait(done_);
  }
  if (hasFailed()) return LogStatus::disk;
  if (isBeginning && !segments_.segments.commit(segments_.count + 1)) return LogStatus::memory;
  LogBuffer* const buffer = spare_.take(capacity);
  if (buffer == nullptr) return LogStatus::memory;
  if (isBeginning) segments_.segments[segments_.count++] = {begin.segment, 0};
  mustBegin_ = false;
  buffer->begin(begin);
  (last_ == nullptr ? first_ : last_->next) = buffer;
  last_ = buffer;
  filling_ = buffer;
  next_ = begin;
  at_ = buffer->bytes;
  const uint64_t inSegment = segmentEnd > begin.offset ? segmentEnd - begin.offset : 0;
  limit_ = at_ + std::max<uint64_t>(needed, std::min<uint64_t>(buffer->capacity - markBytes, inSegment));
  appendMark();
  return LogStatus::ok;
}

// Flushing.

uint64_t Log::requestFlush() {
  const uint64_t ticket = markFlush();
  if (isFlushed(ticket)) return ticket;
  Lock lock(mutex_);
  // Without threads, nobody else would.
  while (!hasThreads && workOnce(lock)) {}
  wanted_.notify_all();
  return ticket;
}

/// Says to where it is to be flushed, and appends a mark there.
uint64_t Log::markFlush() {
  if (disk_ == nullptr) return 0;
  const uint64_t ticket = userEnd_;
  if (ticket == requestedTo_ || isFlushed(ticket)) return ticket;
  requestedTo_ = ticket;
  const bool isMarked = filling_ != nullptr && frame_ == nullptr && next_.packed() == ticket;
  if (isMarked) appendMark();
  const Lock lock(mutex_);
  flushTo_ = std::max(flushTo_, ticket);
  if (isMarked) mark_ = ticket;
  return ticket;
}

LogStatus Log::flush() {
  const uint64_t ticket = markFlush();
  if (disk_ == nullptr) return LogStatus::closed;
  if (hasFailed()) return LogStatus::disk;
  if (isFlushed(ticket)) return LogStatus::ok;
  {
    // The mark, too.
    Lock lock(mutex_);
    while (workOnce(lock)) {}
  }
  return waitFlushed(ticket);
}

LogStatus Log::waitFlushed(uint64_t ticket, uint32_t timeoutMs) {
  if (isFlushed(ticket)) return LogStatus::ok;
  const uint64_t until = timeoutMs == never ? 0 : steadyMilliseconds() + timeoutMs;
  Lock lock(mutex_);
  while (!isFlushed(ticket)) {
    if (disk_ == nullptr) return LogStatus::closed;
    if (hasFailed()) return LogStatus::disk;
    if (ticket > flushTo_) return LogStatus::argument;
    if (!options_.isThreaded && workOnce(lock)) continue;
    const uint64_t now = timeoutMs == never ? 0 : steadyMilliseconds();
    if (timeoutMs != never && now >= until) return LogStatus::timeout;
    if (timeoutMs == never) lock.wait(done_);
    else lock.waitFor(done_, static_cast<uint32_t>(until - now));
  }
  return LogStatus::ok;
}

}  // namespace exrp
