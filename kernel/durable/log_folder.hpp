// The folder of a log: its disk, and what went wrong, as a status.
//
// Thread safety: plain functions.
#pragma once

#include <memory>

#include "kernel/base/error.hpp"
#include "kernel/durable/durable_format.hpp"
#include "kernel/exrp.h"
#include "kernel/log/log.hpp"

namespace exrp {

inline Status logStatus(LogStatus status, const DiskError& error) {
  return fail(Status::log, static_cast<double>(status), static_cast<double>(error.call), error.system);
}

/// Takes the lock of a folder.
inline Status lockLogFolder(const std::unique_ptr<Disk>& disk) {
  bool isTaken = false;
  const DiskError locked = disk->lock(lockName, &isTaken);
  if (locked.isError()) return logStatus(LogStatus::disk, locked);
  return isTaken ? fail(Status::log, EXRP_LOG_TAKEN) : Status::ok;
}

/// Opens a folder, and takes its lock.
inline Status openLogFolder(const char* path, bool isMaking, std::unique_ptr<Disk>* disk) {
  Disk* opened = nullptr;
  const DiskError error = openDisk(path, isMaking, &opened);
  disk->reset(opened);
  return error.isError() ? logStatus(LogStatus::disk, error) : lockLogFolder(*disk);
}

}  // namespace exrp
