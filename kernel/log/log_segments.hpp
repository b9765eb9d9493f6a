// LogSegments: the files of a log, their names, and which of the oldest are sparse.
//
// Thread safety: none.
#pragma once

#include <algorithm>

#include "kernel/base/scratch.hpp"
#include "kernel/log/disk.hpp"
#include "kernel/log/log_status.hpp"

namespace exrp {

struct LogSegment {
  uint32_t segment;
  uint64_t bytes;
};

struct LogSegments {
  Scratch<LogSegment> segments;  // in order. A power cut may bring some back that were removed, so there may be gaps
  size_t count = 0;

  /// Whether nothing was removed at the front, as that is only done once a checkpoint stands for it.
  bool hasBeginning() const { return count == 0 || segments[0].segment == 1; }
  /// Which one has this number; `count` where none has.
  size_t find(uint32_t segment) const;

  /// The number below which segments should be emptied, by writing again what is needed of them; 0 for none. Only the oldest ones can go, so what counts is
  /// all of them together: they are emptied where at most half of their bytes are needed, and where `segmentBytes` and more are not. So the oldest segment of a queue is not
  /// written again, as its records soon go. A small segment counts for `least` bytes, so that those of killed programs go. It may take several calls, because this asks for
  /// at most `most` bytes, or one segment. `needed` says how many bytes of the segment at an index are needed.
  template <typename Needed>
  uint32_t sparseFront(uint64_t most, uint32_t segmentBytes, uint32_t least, Needed needed) const {
    size_t sparse = 0;
    uint64_t has = 0;
    uint64_t needs = 0;
    for (size_t at = 0; at + 1 < count; ++at) {
      needs += needed(at);
      if (needs == 0) continue;  // it goes anyway
      has += std::max<uint64_t>(segments[at].bytes, least);
      if (2 * needs <= has && has - needs >= segmentBytes) sparse = at + 1;
    }
    size_t end = 0;
    for (needs = 0; end < sparse; ++end) {
      needs += needed(end);
      if (end > 0 && needs > most) break;
    }
    return end == 0 ? 0 : segments[end - 1].segment + 1;
  }
};

/// The segments that the folder has.
LogStatus listSegments(Disk& disk, LogSegments* segments, LogFailure* failure);

/// The name of a segment's file: log-00000001.exrp.
struct SegmentName {
  char text[32];
  explicit SegmentName(uint32_t segment);
};

}  // namespace exrp
