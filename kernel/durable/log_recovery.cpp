#include "kernel/durable/log_recovery.hpp"

#include <cstring>

#include "kernel/durable/checkpoint_file.hpp"

namespace exrp {

Status LogRecovery::find(RecoveryReport* report) {
  report_ = report;
  LogFailure failure;
  if (const LogStatus listed = listSegments(log_.disk(), &segments_, &failure); listed != LogStatus::ok) return logStatus(listed, failure.error);
  CheckpointFileState state = CheckpointFileState::none;
  const LogStatus found = findCheckpoint(log_.disk(), &from_, &state, &failure);
  if (found != LogStatus::ok) return logStatus(found, failure.error);
  if (state == CheckpointFileState::repaired) ++report->repairedCount;
  isLoading_ = from_.segment != 0;
  if (isLoading_ || segments_.hasBeginning()) return Status::ok;
  // Nothing stands for what came before.
  report->noteDamage({1, 0});
  return damagedAt(report->damage);
}

Status LogRecovery::readLog(const DurableOptions& options) {
  LogScan scan;
  const LogStatus opened = log_.stream().open(&log_.disk(), options.log, from_, *this, &scan);
  report_->repairedCount += scan.repairedCount;
  report_->tailBytes = scan.tailBytes;
  if (opened == LogStatus::stopped) return status_ != Status::ok ? status_ : damagedAt(report_->damage);
  if (opened != LogStatus::ok) return logStatus(opened, scan.failure.error);
  return isLoading_ ? damagedAt(from_) : Status::ok;
}

bool LogRecovery::frame(const LogFrame& frame) {
  (isLoading_ && isOfCheckpoint(frame.type) ? checkpointBytes_ : laterBytes_) += frame.place.bytes;
  const bool isRight = take(frame);
  if (!isRight && status_ == Status::ok) status_ = unfit();
  return isRight;
}

bool LogRecovery::damage(const LogDamage& damage) {
  if (damage.kind == LogDamageKind::repaired || damage.kind == LogDamageKind::segmentHead) return true;
  report_->noteDamage(damage.at);
  return damage.kind == LogDamageKind::payload && mayLack(damage.type);
}

bool LogRecovery::keepFrame(const LogFrame& frame) {
  const auto room = static_cast<size_t>(padded(frame.place.bytes));
  if (!frames_.commit(frameCount_ + 1) || !bytes_.commit(byteCount_ + room)) return noMemory(static_cast<double>(byteCount_ + room));
  frames_[frameCount_++] = {frame.place, frame.type, frame.isRepaired, byteCount_};
  if (frame.place.bytes > 0) memcpy(bytes_.data() + byteCount_, frame.payload, frame.place.bytes);
  byteCount_ += room;
  return true;
}

bool LogRecovery::giveState(const uint8_t* state, uint32_t bytes) { return log_.keepState(state, bytes) || noMemory(bytes); }

}  // namespace exrp
