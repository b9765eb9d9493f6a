// Disks of tests that hand calls on to another disk.
#pragma once

#include "kernel/log/disk.hpp"

namespace exrp::test {

/// Hands on each call to a disk that is not its own.
class ForwardingDisk : public Disk {
 public:
  explicit ForwardingDisk(Disk& disk) : disk_(disk) {}

  DiskError open(const char* name, OpenFile how, FileId* file) override { return disk_.open(name, how, file); }
  DiskError close(FileId file) override { return disk_.close(file); }
  DiskError size(FileId file, uint64_t* bytes) override { return disk_.size(file, bytes); }
  DiskError read(FileId file, uint64_t offset, uint8_t* bytes, size_t size, size_t* readBytes) override {
    return disk_.read(file, offset, bytes, size, readBytes);
  }
  DiskError write(FileId file, uint64_t offset, const uint8_t* bytes, size_t size) override { return disk_.write(file, offset, bytes, size); }
  DiskError sync(FileId file) override { return disk_.sync(file); }
  DiskError truncate(FileId file, uint64_t bytes) override { return disk_.truncate(file, bytes); }
  DiskError rename(const char* from, const char* to) override { return disk_.rename(from, to); }
  DiskError remove(const char* name) override { return disk_.remove(name); }
  DiskError list(DiskFiles* files) override { return disk_.list(files); }
  DiskError syncFolder() override { return disk_.syncFolder(); }
  DiskError findFolder() override { return disk_.findFolder(); }
  DiskError freeBytes(uint64_t* bytes) override { return disk_.freeBytes(bytes); }
  DiskError lock(const char* name, bool* isTaken) override { return disk_.lock(name, isTaken); }

 private:
  Disk& disk_;
};

/// Another's disk. The lock is given back with it.
class BorrowedDisk final : public ForwardingDisk {
 public:
  using ForwardingDisk::ForwardingDisk;
  DiskError lock(const char*, bool* isTaken) override {
    *isTaken = false;
    return {};
  }
};

}  // namespace exrp::test
