// ReadFiles: the segments of a log that are open for reading, so that a frame is read by one call of the system or two.
//
// Thread safety: any thread may call.
// Invariants:
//   1. A file that somebody has taken stays open until it was given back.
// Cost: a lock, and a walk through 32 entries. The one that was not used for longest is closed for a new one.
#pragma once

#include "kernel/base/sync.hpp"
#include "kernel/log/disk.hpp"

namespace exrp {

class ReadFiles {
 public:
  /// An open segment; keep it until giveBack().
  struct Taken {
    FileId file = noFile;
    uint32_t entry = 0;
  };

  ReadFiles() = default;
  ReadFiles(const ReadFiles&) = delete;
  ReadFiles& operator=(const ReadFiles&) = delete;

  DiskError take(Disk& disk, uint32_t segment, Taken* taken);
  void giveBack(Disk& disk, const Taken& taken);
  /// Closes the files of segments before this one that nobody has taken. One that somebody has is closed by a later call.
  void closeBefore(Disk& disk, uint64_t segment);

 private:
  static constexpr uint32_t count = 32;
  static constexpr uint32_t noEntry = count;

  struct Entry {
    FileId file = noFile;
    uint32_t segment = 0;
    uint32_t users = 0;
    uint64_t lastUse = 0;
  };

  Mutex mutex_;
  Entry entries_[count];
  uint64_t useCount_ = 0;
};

}  // namespace exrp
