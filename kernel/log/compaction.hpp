// sparseFrontOf(): which of a log's oldest segments should be compacted, which means that what is needed of them is written again, so that they can go.
//
// Only the oldest segments can go, so what counts is all of them together. They are compacted where at most half of their bytes are needed, and where a whole segment's
// worth of them is not. So the oldest segment of a queue is not written again, as its records soon go.
#pragma once

#include <algorithm>

#include "kernel/log/log_segments.hpp"

namespace exrp {

/// The number below which segments should be compacted; 0 for none. `needed` says how many bytes of the segment at an index are needed, and `segmentBytes` how long a
/// segment may get. A small segment counts for `least` bytes, so that those of killed programs go. It may take several calls, because this asks for at most `most` bytes,
/// or one segment.
template <typename Needed>
uint32_t sparseFrontOf(const LogSegments& log, uint64_t most, uint32_t segmentBytes, uint32_t least, Needed needed) {
  size_t sparse = 0;
  uint64_t has = 0;
  uint64_t needs = 0;
  for (size_t at = 0; at + 1 < log.count; ++at) {
    needs += needed(at);
    if (needs == 0) continue;  // it goes anyway
    has += std::max<uint64_t>(log.segments[at].bytes, least);
    if (2 * needs <= has && has - needs >= segmentBytes) sparse = at + 1;
  }
  size_t end = 0;
  for (needs = 0; end < sparse; ++end) {
    needs += needed(end);
    if (end > 0 && needs > most) break;
  }
  return end == 0 ? 0 : log.segments[end - 1].segment + 1;
}

}  // namespace exrp
