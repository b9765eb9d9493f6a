// What others ask a log for while it is written: frames by their places, its segments, its counts and its failure.
#include <algorithm>

#include "kernel/log/log.hpp"

namespace exrp {

LogStatus Log::read(const LogPlace& place, uint8_t* payload, uint32_t* type, LogFailure* failure, bool* isRepaired) {
  if (place.bytes > frameBytesMax || place.offset < segmentHeadBytes || place.offset % 8 != 0) return LogStatus::unknown;
  const uint64_t end = place.offset + uint64_t{wholeFrameBytes(place.bytes)};
  late_.make(place.position().packed());
  {
    const Lock lock(mutex_);
    if (disk_ == nullptr) return LogStatus::closed;
    for (const LogBuffer* buffer = first_; buffer != nullptr; buffer = buffer->next) {
      if (buffer->segment != place.segment || place.offset < buffer->offset) continue;
      if (end > uint64_t{buffer->offset} + buffer->filled.load(std::memory_order_acquire)) continue;
      const uint8_t* const frame = buffer->bytes + (place.offset - buffer->offset);
      uint32_t said[2];
      memcpy(said, frame, sizeof said);
      if (said[0] != place.bytes || said[1] == markType) return LogStatus::unknown;
      *type = said[1];
      memcpy(payload, frame + frameHeadBytes, place.bytes);
      return LogStatus::ok;
    }
    // A segment that has no bytes is still to be made, so no file of it is there.
    const size_t at = segments_.find(place.segment);
    if (at == segments_.count || segments_.segments[at].bytes == 0) return LogStatus::unknown;
  }
  ReadFiles::Taken taken;
  FrameHead head = {};
  size_t headRead = 0;
  size_t payloadRead = 0;
  DiskError error = files_.take(*disk_, place.segment, &taken);
  if (!error.isError()) {
    // The payload first: the head is in its first page then, so that the disk is read once.
    error = disk_->read(taken.file, place.offset + frameHeadBytes, payload, place.bytes, &payloadRead);
    if (!error.isError()) error = disk_->read(taken.file, place.offset, reinterpret_cast<uint8_t*>(&head), sizeof head, &headRead);
    files_.giveBack(*disk_, taken);
  }
  if (error.isError()) {
    if (failure != nullptr) *failure = LogFailure(error, SegmentName(place.segment).text);
    return LogStatus::disk;
  }
  if (headRead < sizeof head) return LogStatus::unknown;
  const uint32_t seed = frameSeed(logId_, place.segment);
  if (head.sum != frameHeadSum(seed, place.offset, head)) {
    const uint64_t bit = repairHead(reinterpret_cast<uint8_t*>(&head), sizeof head, frameHeadSum(seed, place.offset, head));
    if (bit == noBit) return LogStatus::damaged;
    if (isRepaired != nullptr) *isRepaired = true;
  }
  if (head.bytes != place.bytes || head.type == markType) return LogStatus::unknown;
  if (payloadRead < place.bytes) return LogStatus::damaged;
  *type = head.type;
  const uint32_t syndrome = payloadSum(payload, place.bytes) ^ head.payloadSum;
  if (syndrome == 0) return LogStatus::ok;
  const uint64_t bit = flippedBit(syndrome, padded(place.bytes));
  if (bit == noBit || bit / 8 >= place.bytes) return LogStatus::damaged;
  payload[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
  if (isRepaired != nullptr) *isRepaired = true;
  return LogStatus::ok;
}

LogStatus Log::readParts(const LogPlace& place, const DiskPart* parts, uint32_t count, uint32_t* type, LogFailure* failure) {
  constexpr uint32_t partMax = 16;
  const LogPosition end = {place.segment, place.offset + wholeFrameBytes(place.bytes)};
  if (place.segment == 0 || count >= partMax || end.packed() > flushed().packed()) return LogStatus::unknown;
  FrameHead head = {};
  DiskPart all[partMax] = {{reinterpret_cast<uint8_t*>(&head), sizeof head}};
  for (uint32_t k = 0; k < count; ++k) all[k + 1] = parts[k];
  ReadFiles::Taken taken;
  size_t readBytes = 0;
  DiskError error = files_.take(*disk_, place.segment, &taken);
  if (!error.isError()) {
    error = disk_->readParts(taken.file, place.offset, all, count + 1, &readBytes);
    files_.giveBack(*disk_, taken);
  }
  if (error.isError()) {
    *failure = LogFailure(error, SegmentName(place.segment).text);
    return LogStatus::disk;
  }
  if (readBytes < sizeof head + place.bytes || head.bytes != place.bytes || head.type == markType) return LogStatus::unknown;
  constexpr uint8_t zeros[8] = {};
  uint32_t sum = 0;
  for (uint32_t k = 0; k < count; ++k) sum = checksum(sum, parts[k].bytes, parts[k].size);
  sum = checksum(sum, zeros, padded(place.bytes) - place.bytes);
  *type = head.type;
  const bool isWhole = sum == head.payloadSum && head.sum == frameHeadSum(frameSeed(logId_, place.segment), place.offset, head);
  return isWhole ? LogStatus::ok : LogStatus::damaged;
}

LogStatus Log::removeSegments(uint32_t before, LogFailure* failure) {
  Lock lock(mutex_);
  if (disk_ == nullptr) return LogStatus::closed;
  // The last one that has bytes is being written.
  while (segments_.count > 1 && segments_.segments[0].segment < before && segments_.segments[1].bytes > 0) {
    const uint32_t segment = segments_.segments[0].segment;
    const SegmentName name(segment);
    // It takes long to remove a large file. Who appends does not wait for it.
    lock.unlock();
    files_.closeBefore(*disk_, uint64_t{segment} + 1);
    const DiskError error = disk_->remove(name.text);
    lock.lock();
    if (error.isError()) {
      if (failure != nullptr) *failure = LogFailure(error, name.text);
      return LogStatus::disk;
    }
    --segments_.count;
    LogSegment* const first = segments_.segments.data();
    memmove(static_cast<void*>(first), first + 1, segments_.count * sizeof(LogSegment));
  }
  return LogStatus::ok;
}

LogStatus Log::segments(LogSegments* segments) {
  const Lock lock(mutex_);
  segments->count = 0;
  if (disk_ == nullptr) return LogStatus::closed;
  if (!segments->segments.commit(segments_.count)) return LogStatus::memory;
  for (size_t k = 0; k < segments_.count; ++k) {
    if (segments_.segments[k].bytes > 0) segments->segments[segments->count++] = segments_.segments[k];
  }
  return LogStatus::ok;
}

LogCounts Log::counts() {
  const Lock lock(mutex_);
  LogCounts counts = counts_;
  counts.queuedBytes = queued_;
  // A segment that the disk does not have yet gets its head first.
  for (size_t k = 0; k < segments_.count; ++k) counts.logBytes += std::max(segments_.segments[k].bytes, uint64_t{segmentHeadBytes});
  for (const LogBuffer* each = first_; each != nullptr; each = each->next) counts.logBytes += each->filled.load(std::memory_order_acquire) - each->written;
  return counts;
}

LogFailure Log::failure() {
  const Lock lock(mutex_);
  return failure_;
}

}  // namespace exrp
