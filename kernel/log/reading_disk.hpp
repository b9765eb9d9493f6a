// ReadingDisk: a disk of which a log is read, and which nothing changes. Calls that would change it do nothing, and say that all is well: so what is read is
// repaired in memory only. Nobody appends to such a log, as that is kept nowhere.
//
// Thread safety: that of the disk behind it.
// Cost: a call.
#pragma once

#include <cstring>
#include <memory>

#include "kernel/log/disk.hpp"

namespace exrp {

class ReadingDisk final : public Disk {
 public:
  explicit ReadingDisk(std::unique_ptr<Disk> disk) : disk_(std::move(disk)) {}

  DiskError open(const char* name, OpenFile how, FileId* file) override {
    *file = noFile;
    return how == OpenFile::fresh ? DiskError{} : disk_->open(name, OpenFile::read, file);
  }
  DiskError close(FileId file) override { return file == noFile ? DiskError{} : disk_->close(file); }
  DiskError size(FileId file, uint64_t* bytes) override { return disk_->size(file, bytes); }
  DiskError read(FileId file, uint64_t offset, uint8_t* bytes, size_t size, size_t* readBytes) override {
    return disk_->read(file, offset, bytes, size, readBytes);
  }
  DiskError write(FileId, uint64_t, const uint8_t*, size_t) override { return {}; }
  DiskError sync(FileId) override { return {}; }
  DiskError truncate(FileId, uint64_t) override { return {}; }
  DiskError rename(const char*, const char*) override { return {}; }
  DiskError remove(const char*) override { return {}; }
  DiskError list(DiskFiles* files) override { return disk_->list(files); }
  DiskError syncFolder() override { return {}; }
  DiskError findFolder() override { return disk_->findFolder(); }
  DiskError freeBytes(uint64_t* bytes) override { return disk_->freeBytes(bytes); }
  /// A lock is taken, but none is made: without one, nobody has the folder open.
  DiskError lock(const char* name, bool* isTaken) override {
    *isTaken = false;
    DiskFiles files;
    if (const DiskError error = disk_->list(&files); error.isError()) return error;
    for (size_t k = 0; k < files.count; ++k) {
      if (strcmp(files.files[k].name, name) == 0) return disk_->lockToRead(name, isTaken);
    }
    return {};
  }

 private:
  const std::unique_ptr<Disk> disk_;
};

}  // namespace exrp
