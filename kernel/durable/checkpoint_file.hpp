// The file that says where the newest whole checkpoint of a log begins.
//
// Thread safety: that of the disk.
// Cost: a small file. Where it is damaged or gone, and the log has lost its beginning, the whole log is read.
#pragma once

#include "kernel/log/disk.hpp"
#include "kernel/log/log_place.hpp"
#include "kernel/log/log_status.hpp"

namespace exrp {

/// Writes it, in the place of the one before.
DiskError writeCheckpointFile(Disk& disk, uint64_t logId, LogPosition checkpoint);

/// `repaired`: a bit of it was flipped, and it says what it said.
enum class CheckpointFileState : uint8_t { none, whole, damaged, repaired };

/// What it says; {} where it is not there, or damaged. LogStatus::disk, where the disk can't be read now: the log would look older than it is.
LogStatus readCheckpointFile(Disk& disk, CheckpointFileState* state, LogPosition* said, LogFailure* failure);

/// Where the newest whole checkpoint begins; {} without one, which is the beginning of the log. Where the file does not say it, the log itself is searched.
LogStatus findCheckpoint(Disk& disk, LogPosition* found, CheckpointFileState* state, LogFailure* failure);

}  // namespace exrp
