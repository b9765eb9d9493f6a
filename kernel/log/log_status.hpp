// LogStatus: the outcome of what a log is asked for.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernel/log/disk.hpp"

namespace exrp {

enum class LogStatus : uint8_t {
  ok,
  argument,  // a payload that is too long, a frame that is open, a log that is open already, options that fit no log
  closed,    // not open
  full,      // as many bytes wait for the disk as may; only where append is not to wait
  timeout,
  memory,
  disk,      // the disk failed: now, or before and for good (LogFailure)
  empty,     // there is no log in the folder
  exists,    // there is one already
  unknown,   // there is no frame at this place
  damaged,   // the bytes at this place are no longer those that were written
  version,   // a newer library wrote the log
  stopped,   // the visitor wanted no more
};

/// What failed first, and at which file.
struct LogFailure {
  DiskError error;
  char name[diskNameMax + 1] = {};

  LogFailure() = default;
  LogFailure(DiskError failed, const char* at) : error(failed) { strncpy(name, at, diskNameMax); }
};

}  // namespace exrp
