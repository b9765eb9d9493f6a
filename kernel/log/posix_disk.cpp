// The disk of Linux and macOS.
//
// The folder is open all the time, and names are looked up in it. So the folder may be moved meanwhile. On macOS, fsync() leaves data in the
// drive's own memory, so sync() asks the drive to write that, too (F_FULLFSYNC). Linux is told to begin writing large pieces at once,
// so that a later sync() has less to wait for.
//
// The lock is flock(): the system gives it back when the process ends, and two Disks of one process keep each other out, too.
#include "kernel/log/disk.hpp"

#if !defined(_WIN32) && !defined(__wasm__)

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

namespace exrp {
namespace {

/// What one call of the system takes at most: macOS takes no 2 GiB.
constexpr size_t callBytesMax = size_t{1} << 30;

DiskError failedCall(DiskCall call) { return {call, errno}; }

/// Makes a call again where a signal came in between.
template <typename Call>
auto uninterrupted(Call call) {
  while (true) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

DiskError syncDescriptor(int descriptor, DiskCall call) {
#if defined(__APPLE__)
  if (uninterrupted([&] { return fcntl(descriptor, F_FULLFSYNC); }) != -1) return {};
  // Some file systems, such as those of networks, know no F_FULLFSYNC.
  if (errno != ENOTSUP && errno != EINVAL && errno != ENOTTY) return failedCall(call);
  return uninterrupted([&] { return fsync(descriptor); }) == 0 ? DiskError{} : failedCall(call);
#else
  // A sync that a signal ended has synced nothing for sure, but it may be made again: no failure of the disk was told yet.
  return uninterrupted([&] { return fdatasync(descriptor); }) == 0 ? DiskError{} : failedCall(call);
#endif
}

/// An error where a file or folder that is open has no name any more.
DiskError checkNamed(int descriptor) {
  struct stat found = {};
  if (fstat(descriptor, &found) != 0) return failedCall(DiskCall::check);
  return found.st_nlink > 0 ? DiskError{} : DiskError{DiskCall::check, ENOENT};
}

class PosixDisk final : public Disk {
 public:
  explicit PosixDisk(int folder) : folder_(folder) {}
  ~PosixDisk() override {
    if (lock_ >= 0) ::close(lock_);
    ::close(folder_);
  }

  DiskError open(const char* name, OpenFile how, FileId* file) override {
    *file = noFile;
    int flags = O_CLOEXEC;
    if (how == OpenFile::fresh) flags |= O_RDWR | O_CREAT | O_EXCL;
    if (how == OpenFile::write) flags |= O_RDWR;
    if (how == OpenFile::read) flags |= O_RDONLY;
    const int descriptor = uninterrupted([&] { return openat(folder_, name, flags, 0666); });
    if (descriptor < 0) return failedCall(DiskCall::open);
    *file = descriptor;
    return {};
  }

  // A close that a signal ended has closed the file on Linux, and another thread may have its number already: never again.
  DiskError close(FileId file) override {
    return ::close(static_cast<int>(file)) == 0 || errno == EINTR ? DiskError{} : failedCall(DiskCall::close);
  }

  DiskError size(FileId file, uint64_t* bytes) override {
    struct stat found = {};
    if (fstat(static_cast<int>(file), &found) != 0) return failedCall(DiskCall::size);
    *bytes = static_cast<uint64_t>(found.st_size);
    return {};
  }

  DiskError read(FileId file, uint64_t offset, uint8_t* bytes, size_t size, size_t* readBytes) override {
    *readBytes = 0;
    while (*readBytes < size) {
      const size_t left = size - *readBytes < callBytesMax ? size - *readBytes : callBytesMax;
      const auto at = static_cast<off_t>(offset + *readBytes);
      const ssize_t count = uninterrupted([&] { return pread(static_cast<int>(file), bytes + *readBytes, left, at); });
      if (count < 0) return failedCall(DiskCall::read);
      if (count == 0) break;
      *readBytes += static_cast<size_t>(count);
    }
    return {};
  }

#if defined(__linux__)
  DiskError readParts(FileId file, uint64_t offset, const DiskPart* parts, uint32_t count, size_t* readBytes) override {
    constexpr uint32_t partMax = 16;
    iovec places[partMax];
    size_t wanted = 0;
    for (uint32_t k = 0; k < count && k < partMax; wanted += parts[k++].size) places[k] = {parts[k].bytes, parts[k].size};
    if (count <= partMax && wanted <= callBytesMax) {
      const ssize_t read = uninterrupted([&] { return preadv(static_cast<int>(file), places, static_cast<int>(count), static_cast<off_t>(offset)); });
      if (read >= 0 && static_cast<size_t>(read) == wanted) {
        *readBytes = wanted;
        return {};
      }
    }
    return Disk::readParts(file, offset, parts, count, readBytes);
  }
#endif

  DiskError write(FileId file, uint64_t offset, const uint8_t* bytes, size_t size) override {
    const auto descriptor = static_cast<int>(file);
    for (size_t done = 0; done < size;) {
      const size_t left = size - done < callBytesMax ? size - done : callBytesMax;
      const auto at = static_cast<off_t>(offset + done);
      const ssize_t count = uninterrupted([&] { return pwrite(descriptor, bytes + done, left, at); });
      if (count < 0) return failedCall(DiskCall::write);
      if (count == 0) return {DiskCall::write, ENOSPC};  // what a short write means that leaves no number
      done += static_cast<size_t>(count);
    }
#if defined(__linux__) && defined(SYNC_FILE_RANGE_WRITE)
    // A hint: what comes of it is no matter.
    constexpr size_t earlyBytes = size_t{256} << 10;
    if (size >= earlyBytes) sync_file_range(descriptor, static_cast<off_t>(offset), static_cast<off_t>(size), SYNC_FILE_RANGE_WRITE);
#endif
    return {};
  }

  DiskError sync(FileId file) override {
    const DiskError error = syncDescriptor(static_cast<int>(file), DiskCall::sync);
    return error.isError() ? error : checkNamed(static_cast<int>(file));
  }

  DiskError truncate(FileId file, uint64_t bytes) override {
    const int result = uninterrupted([&] { return ftruncate(static_cast<int>(file), static_cast<off_t>(bytes)); });
    return result == 0 ? DiskError{} : failedCall(DiskCall::truncate);
  }

  DiskError rename(const char* from, const char* to) override {
    return renameat(folder_, from, folder_, to) == 0 ? DiskError{} : failedCall(DiskCall::rename);
  }

  DiskError remove(const char* name) override { return unlinkat(folder_, name, 0) == 0 ? DiskError{} : failedCall(DiskCall::remove); }

  DiskError link(const char* name, const char* folder) override {
    const int other = uninterrupted([&] { return ::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (other < 0) return failedCall(DiskCall::link);
    const DiskError error = linkat(folder_, name, other, name, 0) == 0 ? DiskError{} : failedCall(DiskCall::link);
    ::close(other);
    return error;
  }

  DiskError list(DiskFiles* files) override {
    const int descriptor = uninterrupted([&] { return openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (descriptor < 0) return failedCall(DiskCall::list);
    DIR* const folder = fdopendir(descriptor);
    if (folder == nullptr) {
      const DiskError error = failedCall(DiskCall::list);
      ::close(descriptor);
      return error;
    }
    DiskError error = {};
    while (!error.isError()) {
      errno = 0;
      const dirent* const entry = readdir(folder);
      if (entry == nullptr) {
        if (errno != 0) error = failedCall(DiskCall::list);
        break;
      }
      struct stat found = {};
      if (strlen(entry->d_name) > diskNameMax || fstatat(folder_, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (S_ISREG(found.st_mode) && !files->add(entry->d_name, static_cast<uint64_t>(found.st_size))) error = {DiskCall::list, 0};
    }
    closedir(folder);
    return error;
  }

  DiskError syncFolder() override {
    // fdatasync() of a folder does what fsync() does on the usual file systems. fsync() is what is promised.
    return uninterrupted([&] { return fsync(folder_); }) == 0 ? DiskError{} : failedCall(DiskCall::syncFolder);
  }

  DiskError findFolder() override {
    const DiskError error = checkNamed(folder_);
    return error.isError() || lock_ < 0 ? error : checkNamed(lock_);
  }

  DiskError freeBytes(uint64_t* bytes) override {
    struct statvfs found = {};
    if (uninterrupted([&] { return fstatvfs(folder_, &found); }) != 0) return failedCall(DiskCall::freeBytes);
    *bytes = static_cast<uint64_t>(found.f_bavail) * static_cast<uint64_t>(found.f_frsize);
    return {};
  }

  DiskError lock(const char* name, bool* isTaken) override { return takeLock(name, O_RDWR | O_CREAT, isTaken); }
  DiskError lockToRead(const char* name, bool* isTaken) override { return takeLock(name, O_RDONLY, isTaken); }

 private:
  DiskError takeLock(const char* name, int flags, bool* isTaken) {
    *isTaken = false;
    const int descriptor = uninterrupted([&] { return openat(folder_, name, flags | O_CLOEXEC, 0666); });
    if (descriptor < 0) return failedCall(DiskCall::lock);
    if (uninterrupted([&] { return flock(descriptor, LOCK_EX | LOCK_NB); }) != 0) {
      *isTaken = errno == EWOULDBLOCK;
      const DiskError error = *isTaken ? DiskError{} : failedCall(DiskCall::lock);
      ::close(descriptor);
      return error;
    }
    if (lock_ >= 0) ::close(lock_);
    lock_ = descriptor;
    return {};
  }

  const int folder_;
  int lock_ = -1;
};

/// Makes the name of a new folder last: syncs the folder around it.
DiskError syncAround(int folder) {
  const int around = uninterrupted([&] { return openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (around < 0) return failedCall(DiskCall::openFolder);
  const bool isSynced = uninterrupted([&] { return fsync(around); }) == 0;
  const DiskError error = isSynced ? DiskError{} : failedCall(DiskCall::openFolder);
  ::close(around);
  return error;
}

}  // namespace

DiskError openDisk(const char* path, bool isMaking, Disk** disk) {
  *disk = nullptr;
  const bool isMade = isMaking && mkdir(path, 0777) == 0;
  if (isMaking && !isMade && errno != EEXIST) return failedCall(DiskCall::openFolder);
  const int folder = uninterrupted([&] { return ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (folder < 0) return failedCall(DiskCall::openFolder);
  const DiskError error = isMade ? syncAround(folder) : DiskError{};
  *disk = error.isError() ? nullptr : new (std::nothrow) PosixDisk(folder);
  if (*disk != nullptr) return {};
  ::close(folder);
  return error.isError() ? error : DiskError{DiskCall::openFolder, ENOMEM};
}

}  // namespace exrp

#endif  // !defined(_WIN32) && !defined(__wasm__)
