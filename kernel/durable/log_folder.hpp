// The folder of a log: its disk, and what went wrong, as a status.
//
// Thread safety: plain functions.
#pragma once

#include <memory>
#include <new>

#include "kernel/base/error.hpp"
#include "kernel/durable/durable_format.hpp"
#include "kernel/exrp.h"
#include "kernel/log/log.hpp"
#include "kernel/log/reading_disk.hpp"

namespace exrp {

inline Status logStatus(LogStatus status, const DiskError& error) {
  return fail(Status::log, static_cast<double>(status), static_cast<double>(error.call), error.system);
}

/// The log is damaged there, so that it can't be read.
inline Status damagedAt(LogPosition at) { return fail(Status::log, static_cast<double>(LogStatus::damaged), at.segment, at.offset); }

/// Takes the lock of a folder.
inline Status lockLogFolder(const std::unique_ptr<Disk>& disk) {
  bool isTaken = false;
  const DiskError locked = disk->lock(lockName, &isTaken);
  if (locked.isError()) return logStatus(LogStatus::disk, locked);
  return isTaken ? fail(Status::log, EXRP_LOG_TAKEN) : Status::ok;
}

enum class OpenFolder : uint8_t {
  make,  // it is made, if it is not there
  write,
  read,  // nothing in it is changed
};

/// Opens a folder, and takes its lock.
inline Status openLogFolder(const char* path, OpenFolder how, std::unique_ptr<Disk>* disk) {
  Disk* opened = nullptr;
  const DiskError error = openDisk(path, how == OpenFolder::make, &opened);
  disk->reset(opened);
  if (error.isError()) return logStatus(LogStatus::disk, error);
  if (how == OpenFolder::read) {
    std::unique_ptr<Disk> reading(new (std::nothrow) ReadingDisk(std::move(*disk)));
    if (reading == nullptr) return fail(Status::memory, sizeof(ReadingDisk));
    *disk = std::move(reading);
  }
  return lockLogFolder(*disk);
}

}  // namespace exrp
