#include "kernel/durable/durable_log.hpp"

#include <cstring>

#include "kernel/durable/durable_format.hpp"

namespace exrp {

// ---- beginning, ending, failing ----

Status DurableLog::createLog() {
  const LogStatus made = log_.create(disk_.get(), options_.log);
  if (made == LogStatus::ok) return Status::ok;
  fail(made);
  return failure();
}

Status DurableLog::closeLog() {
  remover_.wait();
  // One that waits for the disk only: the next opening has less to read.
  if (checkpoint_ == Checkpoint::flushing && log_.flush() == LogStatus::ok) finishFlushed();
  remover_.wait();
  const LogStatus closed = log_.close();
  if (closed != LogStatus::ok) fail(closed);
  return hasFailed_ ? failure() : Status::ok;
}

void DurableLog::fail(LogStatus status) {
  if (hasFailed_) return;
  hasFailed_ = true;
  failedBy_ = status;
  checkpoint_ = Checkpoint::none;
  failed();
}

Status DurableLog::failure() const {
  return logStatus(failedBy_ == LogStatus::ok ? LogStatus::disk : failedBy_, const_cast<Log&>(log_).failure().error);
}

Status DurableLog::waitFlushed(uint64_t ticket, uint32_t timeoutMs) {
  const LogStatus status = log_.waitFlushed(ticket, timeoutMs);
  if (status != LogStatus::ok) return logStatus(status, log_.failure().error);
  // So that who copies the folder behind a flush finds it at rest.
  if (timeoutMs > 0) remover_.wait();
  // What was flushed before is lost where somebody has removed the folder since.
  const DiskError error = disk_->findFolder();
  if (!error.isError()) return Status::ok;
  log_.fail(error);  // so that the next call says it, too
  return logStatus(LogStatus::disk, error);
}

// ---- frames ----

bool DurableLog::append(uint32_t type, std::initializer_list<LogPiece> pieces, LogPlace* place) {
  if (hasFailed_) return false;
  LogPlace at;
  const LogStatus status = log_.append(type, pieces.begin(), static_cast<uint32_t>(pieces.size()), &at);
  if (status != LogStatus::ok) return fail(status), false;
  writtenBytes_ += wholeFrameBytes(at.bytes);
  if (place != nullptr) *place = at;
  return true;
}

uint8_t* DurableLog::beginFrame(uint64_t room) {
  if (hasFailed_) return nullptr;
  uint8_t* payload = nullptr;
  const LogStatus status = room > frameBytesMax ? LogStatus::argument : log_.begin(static_cast<uint32_t>(room), &payload);
  if (status == LogStatus::ok) return payload;
  fail(status);
  return nullptr;
}

bool DurableLog::endFrame(uint32_t type, uint32_t bytes, LogPlace* place) {
  // It failed while the frame was written.
  if (hasFailed_) return log_.drop(), false;
  LogPlace at;
  const LogStatus status = log_.end(type, bytes, &at);
  if (status != LogStatus::ok) return fail(status), false;
  writtenBytes_ += wholeFrameBytes(bytes);
  if (place != nullptr) *place = at;
  return true;
}

// ---- the caller's state ----

bool DurableLog::isState(const uint8_t* state, uint32_t bytes) const {
  return bytes == stateBytes_ && (bytes == 0 || memcmp(state, state_.data(), bytes) == 0);
}

bool DurableLog::keepState(const uint8_t* state, uint32_t bytes) {
  if (!state_.commit(bytes)) return false;
  if (bytes > 0) memcpy(state_.data(), state, bytes);
  stateBytes_ = bytes;
  return true;
}

// ---- checkpoints ----

void DurableLog::beginCheckpointAt(LogPosition at, uint32_t from) {
  checkpointAt_ = at;
  checkpointFrom_ = from < at.segment ? from : at.segment;
  checkpointSize_ = 0;
  writtenBytes_ = 0;
  checkpoint_ = Checkpoint::writing;
}

void DurableLog::endCheckpoint() {
  if (!append(checkpointEndFrame, {})) return;
  // The log syncs soon by itself: with its interval, or at the end of the segment. Nobody waits for this.
  checkpointTicket_ = log_.position().packed();
  checkpoint_ = Checkpoint::flushing;
}

void DurableLog::countRead(LogPosition checkpoint, uint64_t checkpointBytes, uint64_t laterBytes) {
  checkpointSize_ = checkpointBytes;
  writtenBytes_ += laterBytes + uint64_t{log_.position().segment - checkpoint.segment} * options_.log.leastBytes();
}

// ---- copies of the folder ----

Status DurableLog::seal(SealedFolder* sealed) {
  if (isSealed_) return exrp::fail(Status::log, EXRP_LOG_BUSY);
  if (hasFailed_) return failure();
  remover_.pause();
  LogSegments segments;
  LogStatus status = log_.segments(&segments);
  if (status == LogStatus::ok) status = log_.endSegment(&sealed->ticket, &sealed->next);
  if (status != LogStatus::ok) {
    remover_.resume();
    fail(status);
    return failure();
  }
  sealed->logId = log_.id();
  sealed->first = segments.count > 0 ? segments.segments[0].segment : sealed->next;
  for (size_t k = 0; k < segments.count; ++k) sealed->count += segments.segments[k].segment < sealed->next ? 1 : 0;
  sealedCount_ = sealed->count;
  sealed->checkpoint = remover_.newest();
  isSealed_ = true;
  return Status::ok;
}

void DurableLog::unseal() {
  isSealed_ = false;
  remover_.resume();
}

}  // namespace exrp
