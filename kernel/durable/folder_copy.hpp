// Copies a durable folder as it was at one moment, into another folder, while the log goes on.
//
// DurableLog::seal() ends a group and the segment that it is in. So the segments before never change any more, and the other folder gets them by links, which
// cost no bytes; where there are none, by copies. Of the segment that follows, it gets the first bytes: the head and a mark, which prove that all before is
// whole. So whoever opens the copy goes on in a file that is not linked.
//
// Thread safety: touches nothing of a Durable but its two disks, so any thread may copy. Nobody removes the segments meanwhile (DurableLog::seal()).
// Cost: a link for each segment; the bytes of each, where links are impossible.
#pragma once

#include "kernel/log/disk.hpp"
#include "kernel/log/log_place.hpp"

namespace exrp {

/// What a copy of a folder has, which never changes any more.
struct SealedFolder {
  uint64_t logId = 0;
  uint64_t ticket = 0;     // that stands for all of it being on the disk
  uint32_t first = 0;      // segments from this one on,
  uint32_t next = 0;       // and before this one,
  uint32_t count = 0;      // of which there are so many
  LogPosition checkpoint;  // where the newest checkpoint begins; {}: there is none
};

struct FolderCopy {
  DiskError error;
  uint64_t linkedBytes = 0;
  uint64_t copiedBytes = 0;  // those that were written
  uint64_t missingBytes = 0;  // of free space: then nothing was written
};

/// Copies into a folder that has none of the names. Once it is done, all of it is on the disk.
FolderCopy copyFolder(Disk& from, Disk& to, const char* toPath, const SealedFolder& sealed);

}  // namespace exrp
