// How a log writes: what its thread does, or whoever waits where there is none. The head of log.hpp says what is promised.
//
// One thread at a time is between the two halves of workOnce(), outside of the mutex. It alone touches the file.
#include <algorithm>

#include "kernel/log/log.hpp"

namespace exrp {

bool Log::work() {
  Lock lock(mutex_);
  return disk_ != nullptr && !isWriting_ && workOnce(lock);
}

void Log::serve() {
  const uint32_t interval = options_.flushIntervalMs;
  uint64_t next = steadyMilliseconds() + interval;
  uint64_t writtenBefore = 0;
  Lock lock(mutex_);
  while (true) {
    if (workOnce(lock)) continue;
    if (isEnding_) return;
    if (interval == 0) {
      lock.wait(wanted_);
      continue;
    }
    const uint64_t now = steadyMilliseconds();
    if (now >= next) {
      next = now + interval;
      intervalCount_.fetch_add(1, std::memory_order_relaxed);
      if (counts_.writtenBytes == writtenBefore) spare_.trim();
      writtenBefore = counts_.writtenBytes;
      flushTo_ = std::max(flushTo_, (last_ == nullptr ? written_ : last_->end()).packed());
      if (flushTo_ > synced_.load(std::memory_order_relaxed)) continue;
    }
    lock.waitFor(wanted_, static_cast<uint32_t>(next - now));
  }
}

/// Does the next piece: writes to the end of a buffer that is done, or to what is to be flushed, and syncs. False: there is none.
bool Log::workOnce(Lock& lock) {
  LogBuffer* const buffer = first_;
  if (isWriting_ || hasFailed()) return false;
  const bool isFlushing = flushTo_ > synced_.load(std::memory_order_relaxed);
  uint32_t until = 0;
  bool isSyncing = false;
  if (buffer == nullptr) {
    if (!isFlushing) return false;
    isSyncing = true;
  } else {
    const uint32_t filled = buffer->filled.load(std::memory_order_acquire);
    const LogPosition written = {buffer->segment, buffer->offset + buffer->written};
    const LogPosition end = {buffer->segment, buffer->offset + filled};
    until = buffer->written;
    if (isFlushing && flushTo_ <= written.packed()) {
      isSyncing = true;
    } else if (isFlushing && flushTo_ <= end.packed()) {
      // Not to the end: what comes behind would make the flush longer, and the mark must come later.
      until = static_cast<uint32_t>(flushTo_) - buffer->offset;
      isSyncing = true;
    } else if (buffer->isDone) {
      until = filled;
    } else if (mark_ == written.packed() && end.offset - written.offset >= markBytes) {
      until += markBytes;
    } else {
      return false;
    }
    if (written == opened_) {
      // Behind the mark of who closed the log, a mark alone: until it is on the disk, a crash leaves a closed log, and nothing else behind it.
      until = buffer->written + markBytes;
      isSyncing = true;
    }
  }
  isWriting_ = true;
  lock.unlock();
  const bool isGood = (buffer == nullptr || until == buffer->written || writePart(*buffer, until)) && (!isSyncing || syncFile());
  lock.lock();
  isWriting_ = false;
  if (isGood && buffer != nullptr) {
    const uint32_t bytes = until - buffer->written;
    if (buffer->isDone) queued_ -= bytes;
    buffer->written = until;
    counts_.writtenBytes += bytes;
    for (size_t k = segments_.count; k-- > 0;) {
      if (segments_.segments[k].segment != written_.segment) continue;
      segments_.segments[k].bytes = written_.offset;
      break;
    }
    if (buffer->isDone && until == buffer->filled.load(std::memory_order_relaxed)) {
      first_ = buffer->next;
      if (first_ == nullptr) last_ = nullptr;
      spare_.give(buffer, options_.bufferBytes);
    }
  }
  done_.notify_all();
  return true;
}

bool Log::writePart(const LogBuffer& buffer, uint32_t until) {
  if (written_.segment != buffer.segment && !beginSegment(buffer.segment)) return false;
  buffer.seal(until, logId_, flushed(), late_);
  const uint32_t offset = buffer.offset + buffer.written;
  const DiskError error = disk_->write(file_, offset, buffer.bytes + buffer.written, until - buffer.written);
  if (error.isError()) return failWith(error, SegmentName(buffer.segment).text);
  written_ = {buffer.segment, buffer.offset + until};
  return true;
}

bool Log::syncFile() {
  const DiskError error = disk_->sync(file_);
  if (error.isError()) return failWith(error, SegmentName(written_.segment).text);
  synced_.store(written_.packed(), std::memory_order_release);
  const Lock lock(mutex_);
  ++counts_.syncCount;
  return true;
}

/// Makes the file of a segment, and all before it last.
bool Log::beginSegment(uint32_t segment) {
  if (file_ != noFile) {
    if (synced_.load(std::memory_order_relaxed) < written_.packed() && !syncFile()) return false;
    disk_->close(file_);
    file_ = noFile;
  }
  const SegmentName name(segment);
  const SegmentHead head = segmentHead(logId_, segment, written_.offset);
  DiskError error = disk_->open(name.text, OpenFile::fresh, &file_);
  if (!error.isError()) error = disk_->write(file_, 0, reinterpret_cast<const uint8_t*>(&head), sizeof head);
  if (!error.isError()) error = disk_->sync(file_);
  if (!error.isError()) error = disk_->syncFolder();
  if (error.isError()) return failWith(error, name.text);
  written_ = {segment, segmentHeadBytes};
  synced_.store(written_.packed(), std::memory_order_release);
  return true;
}

/// Says behind all that was flushed that it is on the disk, and that the log was closed. Nothing is written behind.
LogStatus Log::markClosed() {
  Lock lock(mutex_);
  isEnding_ = true;
  while (isWriting_ || workOnce(lock)) {
    if (isWriting_) lock.wait(done_);
  }
  if (hasFailed()) return LogStatus::disk;
  if (written_ == opened_) return LogStatus::ok;
  isWriting_ = true;
  lock.unlock();
  const LogPosition synced = flushed();
  const ClosingMark mark = {{synced.segment, synced.offset}, 1};
  uint8_t bytes[closingMarkBytes];
  memcpy(bytes + frameHeadBytes, &mark, sizeof mark);
  FrameHead head = {sizeof mark, markType, payloadSum(bytes + frameHeadBytes, sizeof mark), 0};
  head.sum = frameHeadSum(frameSeed(logId_, written_.segment), written_.offset, head);
  memcpy(bytes, &head, sizeof head);
  const DiskError error = disk_->write(file_, written_.offset, bytes, sizeof bytes);
  written_.offset += closingMarkBytes;
  const bool isGood = error.isError() ? failWith(error, SegmentName(written_.segment).text) : syncFile();
  lock.lock();
  isWriting_ = false;
  done_.notify_all();
  return isGood ? LogStatus::ok : LogStatus::disk;
}

/// False, for the caller to return. Nobody writes any more, so it wakes who waits.
bool Log::failWith(DiskError error, const char* name) {
  const Lock lock(mutex_);
  if (!hasFailed_.load(std::memory_order_relaxed)) failure_ = LogFailure(error, name);
  hasFailed_.store(true);
  done_.notify_all();
  return false;
}

}  // namespace exrp
