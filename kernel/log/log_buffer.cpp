#include "kernel/log/log_buffer.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "kernel/base/checksum.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/base/padded.hpp"
#include "kernel/log/log_format.hpp"

namespace exrp {
namespace {

constexpr uint32_t spareMax = 64;  // memory that was given back would come in pages again, which takes as long as the copy into it
constexpr uint32_t lineBytes = 64;

void freeBuffer(LogBuffer* buffer) {
  std::free(buffer->memory);
  delete buffer;
}

}  // namespace

void LogBuffer::begin(const LogPosition& at) {
  segment = at.segment;
  offset = at.offset;
  written = 0;
  isDone = false;
  filled.store(0, std::memory_order_relaxed);
  next = nullptr;
  bytes = memory + ((at.offset - reinterpret_cast<uintptr_t>(memory)) & (lineBytes - 1));
}

void LogBuffer::seal(uint32_t until, uint64_t logId, const LogPosition& synced, LateCopies& late) const {
  const uint32_t seed = frameSeed(logId, segment);
  for (uint32_t at = written; at < until;) {
    uint8_t* const frame = bytes + at;
    FrameHead head;
    memcpy(&head, frame, sizeof head);
    const uint32_t place = offset + at;
    at += wholeFrameBytes(head.bytes);
    if (head.type == markType) {
      const SyncedMark mark = {synced.segment, synced.offset};
      memcpy(frame + frameHeadBytes, &mark, sizeof mark);
    } else {
      late.make(LogPosition{segment, place}.packed());
    }
    head.payloadSum = checksum(0, frame + frameHeadBytes, padded(head.bytes));
    head.sum = frameHeadSum(seed, place, head);
    // Only these: others may read the rest of the head now.
    memcpy(frame + 8, &head.payloadSum, 8);
  }
}

LogBuffer* LogBuffers::take(uint32_t capacity) {
  if (first_ != nullptr && first_->capacity >= capacity) {
    LogBuffer* const buffer = first_;
    first_ = buffer->next;
    --count_;
    return buffer;
  }
  auto* const buffer = new (std::nothrow) LogBuffer{};
  if (buffer == nullptr) return nullptr;
  buffer->memory = static_cast<uint8_t*>(resizeMemory(nullptr, size_t{capacity} + lineBytes));
  buffer->capacity = capacity;
  if (buffer->memory != nullptr) return buffer;
  delete buffer;
  return nullptr;
}

void LogBuffers::give(LogBuffer* buffer, uint32_t usualCapacity) {
  if (buffer->capacity != usualCapacity || count_ >= spareMax) return freeBuffer(buffer);
  buffer->next = first_;
  first_ = buffer;
  ++count_;
}

void LogBuffers::free(uint32_t kept) {
  for (; count_ > kept; --count_) {
    LogBuffer* const buffer = first_;
    first_ = buffer->next;
    freeBuffer(buffer);
  }
}

}  // namespace exrp
