// The file that says where the newest whole checkpoint of a log begins.
//
// Thread safety: that of the disk.
// Cost: a small file. Where it is damaged or gone, and the log has lost its beginning, the whole log is read.
#pragma once

#include "kernel/log/disk.hpp"
#include "kernel/log/log_place.hpp"

namespace exrp {

/// Writes it, in the place of the one before.
DiskError writeCheckpointFile(Disk& disk, uint64_t logId, LogPosition checkpoint);

enum class CheckpointFileState : uint8_t { none, whole, damaged };

/// What it says; {} where it is not there, or damaged.
LogPosition readCheckpointFile(Disk& disk, CheckpointFileState* state);

/// Where the newest whole checkpoint begins; {} without one, which is the beginning of the log. Where the file does not say it, the log itself is searched.
LogPosition findCheckpoint(Disk& disk);

}  // namespace exrp
