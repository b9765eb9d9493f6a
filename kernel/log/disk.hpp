// Disk: the files of one folder, as a log and its checkpoints need them. All that the kernel does with files goes through it, so that a test
// can put a disk in between that crashes, lies and is full (tests/kernel/log/simulated_disk.hpp).
//
// What is written counts once sync() has returned, and a new, renamed or removed name once syncFolder() has. Before that, a crash of the
// system may keep any part of it, in any order. A call that fails says what was called and the system's number. Nobody tries a failed sync()
// again: the system may have dropped what it could not write, and would then say that all is well.
//
// Thread safety: any thread may make any call, as with the system's own. One file is written by one thread at a time.
// Invariants:
//   1. write() has written all bytes, or says why not. Then some of them may be there.
//   2. read() gives fewer bytes than were asked for only at the end of the file.
//   3. The lock ends with the process, however that ends.
// Cost: that of the system's call behind it.
// Names are plain: ASCII letters, digits, '-', '_' and '.', at most diskNameMax of them, no folder. In WebAssembly, the host answers (wasm_disk.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/base/scratch.hpp"

namespace exrp {

enum class DiskCall : uint8_t { none, openFolder, open, close, size, read, write, sync, truncate, rename, remove, list, syncFolder, freeBytes, lock, link, check };

/// What failed, and the system's number for it (errno, GetLastError). No call: nothing failed.
struct DiskError {
  DiskCall call = DiskCall::none;
  int32_t system = 0;

  bool isError() const { return call != DiskCall::none; }
};

constexpr size_t diskNameMax = 63;

struct DiskFile {
  char name[diskNameMax + 1];
  uint64_t bytes;
};

struct DiskFiles {
  Scratch<DiskFile> files;
  size_t count = 0;

  /// False for want of memory.
  bool add(const char* name, uint64_t bytes);
};

/// A place for a part of what is read.
struct DiskPart {
  uint8_t* bytes;
  size_t size;
};

/// An open file: the system's number for it.
using FileId = int64_t;
constexpr FileId noFile = -1;

enum class OpenFile : uint8_t {
  fresh,   // makes it; an error where it exists
  write,   // exists; to be read and written
  read,    // exists; to be read
};

class Disk {
 public:
  Disk() = default;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  /// Gives the lock back. All files were closed before.
  virtual ~Disk() = default;

  virtual DiskError open(const char* name, OpenFile how, FileId* file) = 0;
  /// The file is closed, also where it fails.
  virtual DiskError close(FileId file) = 0;
  virtual DiskError size(FileId file, uint64_t* bytes) = 0;
  virtual DiskError read(FileId file, uint64_t offset, uint8_t* bytes, size_t size, size_t* readBytes) = 0;
  /// Reads parts that follow one another in the file, each to its place. As read() otherwise.
  virtual DiskError readParts(FileId file, uint64_t offset, const DiskPart* parts, uint32_t count, size_t* readBytes);
  virtual DiskError write(FileId file, uint64_t offset, const uint8_t* bytes, size_t size) = 0;
  /// Returns once what was written, and the file's size, are on the disk. An error of findFolder() where the file was removed meanwhile: then all of it
  /// goes with the process.
  virtual DiskError sync(FileId file) = 0;
  /// Makes the file so long. sync() makes it last.
  virtual DiskError truncate(FileId file, uint64_t bytes) = 0;
  /// Takes the place of a file `to` in one step.
  virtual DiskError rename(const char* from, const char* to) = 0;
  virtual DiskError remove(const char* name) = 0;
  /// Gives the file a second name, the same one in another folder, whose path is UTF-8. Both names stand for the same bytes. An error, if only because
  /// the file system has no links, changes nothing.
  virtual DiskError link(const char* name, const char* folder) {
    (void)name;
    (void)folder;
    return {DiskCall::link, 0};
  }
  /// Adds each plain file of the folder, in no order. Longer names than diskNameMax are left out: nobody here made them. On a system without
  /// memory for the list, the number is 0.
  virtual DiskError list(DiskFiles* files) = 0;
  /// Returns once new, renamed and removed names are on the disk.
  virtual DiskError syncFolder() = 0;
  /// An error where the folder was removed, so that nobody finds its files any more, or the file of the lock, so that another may take the folder.
  virtual DiskError findFolder() = 0;
  virtual DiskError freeBytes(uint64_t* bytes) = 0;
  /// Keeps all others that ask for the lock of this name out of the folder, in other processes and in this one. `isTaken` says that another has
  /// it; that is no error. It lasts as long as the Disk.
  virtual DiskError lock(const char* name, bool* isTaken) = 0;
  /// The same lock for somebody who only reads the folder, and may not be allowed to write. Its file is there already.
  virtual DiskError lockToRead(const char* name, bool* isTaken) { return lock(name, isTaken); }
  /// How many files of the next segments can be made now. Only where files are opened ahead, as in a browser, there is an end of them.
  virtual uint32_t filesAhead() { return UINT32_MAX; }
};

/// The system's disk at a folder. `path` is UTF-8. A folder that is not there is made, if its parent is there and `isMaking`. `disk` is null
/// where it fails, also for want of memory. Who has it deletes it.
DiskError openDisk(const char* path, bool isMaking, Disk** disk);

}  // namespace exrp
