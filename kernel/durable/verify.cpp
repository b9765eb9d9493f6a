#include "kernel/durable/verify.hpp"

#include <cstring>

#include "kernel/durable/tables_format.hpp"

namespace exrp {
namespace {

/// How often it begins anew, where another process removes segments.
constexpr int tryCount = 20;

}  // namespace

LogStatus Verify::run(Disk& disk) {
  for (int tries = 1;; ++tries) {
    const LogStatus status = scanOnce(disk);
    if (tries == tryCount) return status;
    if (status == LogStatus::ok && flawCount_ > 0) {
      // The checkpoint that was looked for may have gone meanwhile, with its segments.
      CheckpointFileState state = CheckpointFileState::none;
      LogPosition now;
      LogFailure ignored;
      readCheckpointFile(disk, &state, &now, &ignored);
      if (now.segment != 0 && now != from_ && checkpointFile_ != CheckpointFileState::none) continue;
    }
    if (status != LogStatus::disk || scan_.failure.error.call != DiskCall::open) return status;
    // One that could not be opened may have been removed meanwhile.
    DiskFiles files;
    if (disk.list(&files).isError()) return status;
    for (size_t k = 0; k < files.count; ++k) {
      if (strcmp(files.files[k].name, scan_.failure.name) == 0) return status;
    }
  }
}

LogStatus Verify::scanOnce(Disk& disk) {
  checkpoint_ = Checkpoint::none;
  segmentCount_ = bytes_ = groupCount_ = openBytes_ = 0;
  flawCount_ = placeCount_ = 0;
  LogStatus status = findCheckpoint(disk, &from_, &checkpointFile_, &scan_.failure);
  if (status != LogStatus::ok) return status;
  LogSegments segments;
  status = listSegments(disk, &segments, &scan_.failure);
  if (status != LogStatus::ok) return status;
  segmentCount_ = segments.count;
  for (size_t k = 0; k < segments.count; ++k) bytes_ += segments.segments[k].bytes;
  status = scanLog(disk, {}, *this, &scan_);
  if (isMemoryShort_) return LogStatus::memory;
  if (status != LogStatus::ok && status != LogStatus::damaged) return status;
  const bool isBegun = from_.segment != 0 ? checkpoint_ == Checkpoint::whole : segments.hasBeginning();
  const Flaw lost = {LogDamageKind::missing, FlawCost::all, from_.segment != 0 ? from_ : LogPosition{1, 0}, 0};
  if ((status == LogStatus::damaged || !isBegun) && !add(lost)) return LogStatus::memory;
  // What lies before the checkpoint is needed only where rows are.
  for (size_t k = 0; k < flawCount_; ++k) {
    Flaw& flaw = flaws_[k];
    if (flaw.at.packed() < from_.packed() && flaw.cost != FlawCost::nothing) flaw.cost = isNeeded(flaw) ? FlawCost::episodes : FlawCost::nothing;
  }
  return addLostSegments(segments.segments[0].segment) ? LogStatus::ok : LogStatus::memory;
}

/// The segments before the first one that hold rows of the checkpoint. Nobody else misses them.
bool Verify::addLostSegments(uint32_t first) {
  const size_t before = flawCount_;
  for (size_t k = 0; k < placeCount_; ++k) {
    const uint32_t segment = places_[k].segment;
    bool isKnown = segment >= first || segment == 0;
    for (size_t at = before; at < flawCount_; ++at) isKnown = isKnown || flaws_[at].at.segment == segment;
    if (!isKnown && !add({LogDamageKind::missing, FlawCost::episodes, {segment, 0}, 0})) return false;
  }
  return true;
}

bool Verify::frame(const LogFrame& frame) {
  const LogPosition at = frame.place.position();
  if (!isOfTables_) {
    if (frame.type == groupFrame) ++groupCount_;
    if (frame.type == groupFrame || frame.type == discardFrame) openBytes_ = 0;
    else if (isOfGroup(frame.type)) openBytes_ += wholeFrameBytes(frame.place.bytes);
  }
  if (frame.type == checkpointFrame && from_.segment != 0 && at == from_) checkpoint_ = Checkpoint::begun;
  if (frame.type == checkpointEndFrame && checkpoint_ == Checkpoint::begun) checkpoint_ = Checkpoint::whole;
  if (frame.type != placesFrame || checkpoint_ != Checkpoint::begun || isOfTables_) return true;
  const size_t count = frame.place.bytes / sizeof(LogPlace);
  isMemoryShort_ = !places_.commit(placeCount_ + count);
  if (isMemoryShort_) return false;
  memcpy(places_.data() + placeCount_, frame.payload, count * sizeof(LogPlace));
  placeCount_ += count;
  return true;
}

bool Verify::damage(const LogDamage& damage) {
  isMemoryShort_ = !add({damage.kind, costOf(damage), damage.at, damage.bytes});
  return !isMemoryShort_;
}

bool Verify::add(const Flaw& flaw) {
  if (!flaws_.commit(flawCount_ + 1)) return false;
  flaws_[flawCount_++] = flaw;
  return true;
}

/// What recovery makes of it, where it lies behind the checkpoint.
FlawCost Verify::costOf(const LogDamage& damage) const {
  if (damage.kind == LogDamageKind::repaired || damage.kind == LogDamageKind::segmentHead) return FlawCost::nothing;
  const bool canBeLost = isOfTables_ ? damage.type == chunkFrame : isOfRows(damage.type);
  return damage.kind == LogDamageKind::payload && canBeLost ? FlawCost::episodes : FlawCost::all;
}

/// Whether rows of the checkpoint lie in it. What is missing of a segment reaches to its end.
bool Verify::isNeeded(const Flaw& flaw) const {
  if (isOfTables_) return flaw.kind != LogDamageKind::payload || flaw.cost == FlawCost::episodes;
  const bool isOpenEnded = flaw.kind == LogDamageKind::missing;
  for (size_t k = 0; k < placeCount_; ++k) {
    const LogPlace& place = places_[k];
    if (place.segment != flaw.at.segment) continue;
    const uint64_t end = place.offset + uint64_t{wholeFrameBytes(place.bytes)};
    if (end > flaw.at.offset && (isOpenEnded || place.offset < flaw.at.offset + flaw.bytes)) return true;
  }
  return false;
}

}  // namespace exrp
