// LogSegments: the files of a log, and their names.
//
// Thread safety: none.
#pragma once

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
};

/// The segments that the folder has.
LogStatus listSegments(Disk& disk, LogSegments* segments, LogFailure* failure);

/// The name of a segment's file: log-00000001.exrp.
struct SegmentName {
  char text[32];
  explicit SegmentName(uint32_t segment);
};

}  // namespace exrp
