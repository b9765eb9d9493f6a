// LogBuffer: a piece of a log, which the caller fills with frames and whoever writes takes to the disk; and LogBuffers, those that wait for use.
//
// Thread safety: the caller fills a buffer and another thread writes it; each field says who changes it. LogBuffers is used under the log's mutex.
// Invariants:
//   1. A buffer is in one list at most: that of the log, or that of the spare ones.
// Cost: 64 spare buffers at most, and 8 once trim() was called.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernel/log/late_copies.hpp"
#include "kernel/log/log_place.hpp"

namespace exrp {

struct LogBuffer {
  uint8_t* memory;
  uint8_t* bytes;  // in it, so that they lie in their cache lines as in the segment: the system copies them faster
  uint32_t capacity;
  uint32_t segment;
  uint32_t offset;               // of its first byte in the segment
  uint32_t written;              // bytes from its first on; whoever writes changes it
  bool isDone;                   // it gets no more bytes; under the mutex
  std::atomic<uint32_t> filled;  // whole frames; only the caller adds
  LogBuffer* next;

  /// Begins at a place of the log.
  void begin(const LogPosition& at);
  /// Behind its last whole frame.
  LogPosition end() const { return {segment, offset + filled.load(std::memory_order_acquire)}; }
  /// Makes the late copies of the frames that are to be written, and computes their checksums. Says in marks that the log is on the disk up to `synced`: only
  /// who writes them next knows that.
  void seal(uint32_t until, uint64_t logId, const LogPosition& synced, LateCopies& late) const;
};

class LogBuffers {
 public:
  LogBuffers() = default;
  LogBuffers(const LogBuffers&) = delete;
  LogBuffers& operator=(const LogBuffers&) = delete;
  ~LogBuffers() { free(0); }

  /// An empty buffer with room for so many bytes. Null without memory.
  LogBuffer* take(uint32_t capacity);
  /// Takes one back, which is kept where it has the usual capacity.
  void give(LogBuffer* buffer, uint32_t usualCapacity);
  /// Lets go what a burst took.
  void trim() { free(8); }
  /// Lets all go but so many.
  void free(uint32_t kept);

 private:
  LogBuffer* first_ = nullptr;
  uint32_t count_ = 0;
};

}  // namespace exrp
