// LargeCopier: copies of large columns, which have memory of their own: frames, images, long vectors.
//
// Such copies take as long as memory takes. Three things make them shorter (docs/performance.md has the numbers):
// - What goes to two places is read once and written to both.
// - Vectors of 256 bits are used where the processor has them.
// - Lines are asked for at the beginning of each page, where the processor's own prefetcher stops.
// Two things were tried and are not used. Stores that pass the caches by make a learner wait for memory when it reads its batch. memcpy took
// half as long again for what is larger than the caches.
//
// Thread safety: after creation it never changes, so many threads may share it.
// Invariants:
//   1. Both kinds of functions write the same bytes, and nothing before or after them.
// Cost: that of moving the bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exrp {

class LargeCopier {
 public:
  /// The least that its copies are for.
  static constexpr size_t bytesMin = 32;

  /// With the vectors of this processor, or without.
  explicit LargeCopier(bool vectors = hasVectors());
  /// Whether this processor has vectors of 256 bits.
  static bool hasVectors();

  /// Copies `bytes`, at least bytesMin.
  void copy(uint8_t* to, const uint8_t* from, size_t bytes) const { copy_(to, from, bytes); }
  /// Copies `bytes`, at least bytesMin, to two places; none of the three overlaps another.
  void copyTwice(uint8_t* to, uint8_t* also, const uint8_t* from, size_t bytes) const { copyTwice_(to, also, from, bytes); }

 private:
  void (*copy_)(uint8_t* to, const uint8_t* from, size_t bytes);
  void (*copyTwice_)(uint8_t* to, uint8_t* also, const uint8_t* from, size_t bytes);
};

/// Asks for the beginning of each page of what is copied soon; the processor's own prefetcher does the rest of the page.
void prefetchPages(const uint8_t* from, size_t bytes);

}  // namespace exrp
