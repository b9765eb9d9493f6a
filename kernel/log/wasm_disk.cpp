// The disk of WebAssembly: each call is an import, which ffi/host.ts answers by the files of the platform, or of a browser.
//
// An import that fails returns a negative number: that of Linux for what happened, whatever the system is. Names and paths are given with their lengths.
#include "kernel/log/disk.hpp"

#if defined(__wasm__)

#include <cstring>
#include <new>

#define EXRP_IMPORT(name) __attribute__((import_module("host"), import_name(name)))

extern "C" {
EXRP_IMPORT("openFolder") int32_t diskOpenFolder(const char* path, size_t size, bool isMaking);
EXRP_IMPORT("closeFolder") void diskCloseFolder(int32_t folder);
EXRP_IMPORT("open") int32_t diskOpen(int32_t folder, const char* name, size_t size, uint32_t how);
EXRP_IMPORT("close") int32_t diskClose(int32_t file);
EXRP_IMPORT("size") double diskSize(int32_t file);
EXRP_IMPORT("read") int32_t diskRead(int32_t file, double offset, uint8_t* bytes, size_t size);
EXRP_IMPORT("write") int32_t diskWrite(int32_t file, double offset, const uint8_t* bytes, size_t size);
EXRP_IMPORT("sync") int32_t diskSync(int32_t file);
EXRP_IMPORT("truncate") int32_t diskTruncate(int32_t file, double bytes);
EXRP_IMPORT("rename") int32_t diskRename(int32_t folder, const char* from, size_t fromSize, const char* to, size_t toSize);
EXRP_IMPORT("remove") int32_t diskRemove(int32_t folder, const char* name, size_t size);
EXRP_IMPORT("link") int32_t diskLink(int32_t folder, const char* name, size_t size, const char* other, size_t otherSize);
/// Lists the folder; the number of its files.
EXRP_IMPORT("list") int32_t diskList(int32_t folder);
/// Writes the name of a file of the list with a zero behind it, and returns the file's bytes.
EXRP_IMPORT("listed") double diskListed(int32_t folder, int32_t index, char* name, size_t room);
EXRP_IMPORT("syncFolder") int32_t diskSyncFolder(int32_t folder);
EXRP_IMPORT("findFolder") int32_t diskFindFolder(int32_t folder);
EXRP_IMPORT("freeBytes") double diskFreeBytes(int32_t folder);
/// 1: this module has it now; 0: another has it.
EXRP_IMPORT("lock") int32_t diskLock(int32_t folder, const char* name, size_t size);
EXRP_IMPORT("filesAhead") uint32_t diskFilesAhead(int32_t folder);
}

namespace exrp {
namespace {

/// What one call takes at most: its result has a sign.
constexpr size_t callBytesMax = size_t{1} << 30;

template <typename Number>
DiskError errorOf(DiskCall call, Number result) {
  return result < 0 ? DiskError{call, static_cast<int32_t>(-result)} : DiskError{};
}

int32_t numberOf(FileId file) { return static_cast<int32_t>(file); }

class WasmDisk final : public Disk {
 public:
  explicit WasmDisk(int32_t folder) : folder_(folder) {}
  ~WasmDisk() override { diskCloseFolder(folder_); }

  DiskError open(const char* name, OpenFile how, FileId* file) override {
    const int32_t opened = diskOpen(folder_, name, strlen(name), static_cast<uint32_t>(how));
    *file = opened < 0 ? noFile : opened;
    return errorOf(DiskCall::open, opened);
  }

  DiskError close(FileId file) override { return errorOf(DiskCall::close, diskClose(numberOf(file))); }

  DiskError size(FileId file, uint64_t* bytes) override {
    const double found = diskSize(numberOf(file));
    *bytes = found < 0 ? 0 : static_cast<uint64_t>(found);
    return errorOf(DiskCall::size, found);
  }

  DiskError read(FileId file, uint64_t offset, uint8_t* bytes, size_t size, size_t* readBytes) override {
    *readBytes = 0;
    while (*readBytes < size) {
      const size_t left = size - *readBytes < callBytesMax ? size - *readBytes : callBytesMax;
      const int32_t count = diskRead(numberOf(file), static_cast<double>(offset + *readBytes), bytes + *readBytes, left);
      if (count < 0) return errorOf(DiskCall::read, count);
      if (count == 0) break;
      *readBytes += static_cast<size_t>(count);
    }
    return {};
  }

  DiskError write(FileId file, uint64_t offset, const uint8_t* bytes, size_t size) override {
    for (size_t done = 0; done < size;) {
      const size_t left = size - done < callBytesMax ? size - done : callBytesMax;
      const int32_t count = diskWrite(numberOf(file), static_cast<double>(offset + done), bytes + done, left);
      if (count < 0) return errorOf(DiskCall::write, count);
      if (count == 0) return {DiskCall::write, noSpace};
      done += static_cast<size_t>(count);
    }
    return {};
  }

  DiskError sync(FileId file) override {
    const int32_t synced = diskSync(numberOf(file));
    return errorOf(synced == -notFound ? DiskCall::check : DiskCall::sync, synced);
  }

  DiskError truncate(FileId file, uint64_t bytes) override {
    return errorOf(DiskCall::truncate, diskTruncate(numberOf(file), static_cast<double>(bytes)));
  }

  DiskError rename(const char* from, const char* to) override {
    return errorOf(DiskCall::rename, diskRename(folder_, from, strlen(from), to, strlen(to)));
  }

  DiskError remove(const char* name) override { return errorOf(DiskCall::remove, diskRemove(folder_, name, strlen(name))); }

  DiskError link(const char* name, const char* folder) override {
    return errorOf(DiskCall::link, diskLink(folder_, name, strlen(name), folder, strlen(folder)));
  }

  DiskError list(DiskFiles* files) override {
    const int32_t count = diskList(folder_);
    for (int32_t index = 0; index < count; ++index) {
      char name[diskNameMax + 1] = {};
      const double bytes = diskListed(folder_, index, name, sizeof name);
      if (!files->add(name, static_cast<uint64_t>(bytes))) return {DiskCall::list, 0};
    }
    return errorOf(DiskCall::list, count);
  }

  DiskError syncFolder() override { return errorOf(DiskCall::syncFolder, diskSyncFolder(folder_)); }
  DiskError findFolder() override { return errorOf(DiskCall::check, diskFindFolder(folder_)); }

  DiskError freeBytes(uint64_t* bytes) override {
    const double found = diskFreeBytes(folder_);
    *bytes = found < 0 ? 0 : static_cast<uint64_t>(found);
    return errorOf(DiskCall::freeBytes, found);
  }

  DiskError lock(const char* name, bool* isTaken) override {
    const int32_t locked = diskLock(folder_, name, strlen(name));
    *isTaken = locked == 0;
    return errorOf(DiskCall::lock, locked);
  }

  uint32_t filesAhead() override { return diskFilesAhead(folder_); }

 private:
  static constexpr int32_t notFound = 2;
  static constexpr int32_t noSpace = 28;

  const int32_t folder_;
};

}  // namespace

DiskError openDisk(const char* path, bool isMaking, Disk** disk) {
  *disk = nullptr;
  const int32_t folder = diskOpenFolder(path, strlen(path), isMaking);
  if (folder < 0) return errorOf(DiskCall::openFolder, folder);
  *disk = new (std::nothrow) WasmDisk(folder);
  if (*disk != nullptr) return {};
  diskCloseFolder(folder);
  return {DiskCall::openFolder, 12};
}

}  // namespace exrp

#endif  // defined(__wasm__)
