// LargeCopier: copies of large columns, which have memory of their own: frames, images, long vectors.
//
// Such copies take as long as memory takes. Three things make them shorter (docs/internals/performance.md has the numbers):
// - What goes to two places is read once and written to both.
// - Vectors of 256 bits are used where the processor has them.
// - Lines are asked for at the beginning of each page, where the processor's own prefetcher stops.
// Two things were tried and are not used. Stores that pass the caches by make a learner wait for memory when it reads its batch. memcpy took
// half as long again for what is larger than the caches.
//
// Packed rows are copied by it too: they are unpacked where they go.
//
// On a replay that threads share, the copies are put into a queue, and done after the call has given back its lock. So are those of a large batch
// of any replay, as a second thread takes part in what a queue holds.
//
// Thread safety: after creation it never changes, so many threads may share it.
// Invariants:
//   1. Both kinds of functions write the same bytes, and nothing before or after them.
// Cost: that of moving the bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/base/second_thread.hpp"
#include "kernel/store/copy_queue.hpp"

namespace exrp {

class LargeCopier {
 public:
  /// The least that its copies are for.
  static constexpr size_t bytesMin = 32;

  /// With the vectors of this processor, or without.
  explicit LargeCopier(bool vectors = hasVectors());
  /// Whether this processor has vectors of 256 bits.
  static bool hasVectors();

  /// From now on, copies go to the queue that stands at `place`, while one stands there.
  void useQueue(CopyQueue* const* place) { place_ = place; }

  /// Copies `bytes`, at least bytesMin. Where `own` is not null, that is the queue.
  void copy(uint8_t* to, const uint8_t* from, size_t bytes, CopyQueue* own = nullptr) const { copyTwice(to, nullptr, from, bytes, own); }
  /// Copies `bytes`, at least bytesMin, to two places; none of the three overlaps another.
  void copyTwice(uint8_t* to, uint8_t* also, const uint8_t* from, size_t bytes, CopyQueue* own = nullptr) const {
    CopyQueue* const queue = own != nullptr ? own : place_ == nullptr ? nullptr : *place_;
    if (queue == nullptr || bytes < CopyQueue::bytesMin || !queue->add(to, also, from, bytes)) copy_(to, also, from, bytes);
  }
  /// Copies packed rows. Where no queue stands there, they wait in `own` with others, so that their memory comes meanwhile. `own` has no pins.
  void copy(const CopyQueue::Unpacking& unpacking, CopyQueue& own) const;
  /// Copies those that wait.
  void finish(CopyQueue& own) const {
    if (own.unpackingCount() > 0) [[unlikely]] finishWaiting(own);
  }
  /// Does what a queue holds, with a second thread where that is much. No queue stands in the way of that.
  void run(const CopyQueue& queue) const;
  /// Whether a batch of so many bytes should be copied by way of a queue, so that a second thread can take part.
  static bool isShared(uint64_t bytes) { return bytes >= sharedFromBytes && SecondThread::isAllowed(); }

 private:
  /// From so many bytes on, a second thread gains more than waking it costs.
  static constexpr size_t sharedFromBytes = size_t{2} << 20;

  /// Packed rows that wait for one another.
  static constexpr uint32_t waitingMax = 32;

  void runPart(const CopyQueue& queue, uint32_t first, uint32_t end) const;
  void unpack(const CopyQueue::Unpacking& unpacking) const;
  void unpackPart(const CopyQueue& queue, uint32_t first, uint32_t end) const;
  void finishWaiting(CopyQueue& own) const;

  CopyQueue* const* place_ = nullptr;
  void (*copy_)(uint8_t* to, uint8_t* also, const uint8_t* from, size_t bytes);
};

/// Asks for the beginning of each page of what is copied soon; the processor's own prefetcher does the rest of the page.
void prefetchPages(const uint8_t* from, size_t bytes);

}  // namespace exrp
