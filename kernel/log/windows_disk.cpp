// The disk of Windows.
//
// Windows has no call that makes the names of a folder last. NTFS writes changes of names into its own journal, in order, and
// FlushFileBuffers() of a file writes the journal before it returns. So syncFolder() flushes a small file of its own in the folder,
// exrp-sync. A rename is told to return once it is on the disk.
//
// The lock is that of a file (LockFileEx), which the system gives back when the process ends. Other programs, such as virus scanners, may hold a file
// for a moment: then a removal or a renaming is tried again for a second.
#include "kernel/log/disk.hpp"

#if defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <cstring>
#include <new>

namespace exrp {
namespace {

constexpr size_t pathMax = 4096;
constexpr size_t callBytesMax = size_t{1} << 30;
constexpr int tryCount = 50;
constexpr DWORD tryMilliseconds = 20;
constexpr wchar_t syncName[] = L"exrp-sync";

DiskError failedCall(DiskCall call) { return {call, static_cast<int32_t>(GetLastError())}; }

HANDLE handleOf(FileId file) { return reinterpret_cast<HANDLE>(static_cast<intptr_t>(file)); }

/// A folder's path, with room for a name behind it.
bool widePath(const char* path, wchar_t (&wide)[pathMax]) {
  const int room = static_cast<int>(pathMax - diskNameMax - 2);
  return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, room) != 0;
}

/// A path of the folder's: its own, and a plain name.
class WindowsPath {
 public:
  WindowsPath(const wchar_t* folder, const char* name) {
    size_t at = 0;
    for (; folder[at] != 0 && at + diskNameMax + 2 < pathMax; ++at) text_[at] = folder[at];
    text_[at++] = L'\\';
    for (; *name != 0 && at + 1 < pathMax; ++name) text_[at++] = static_cast<wchar_t>(*name);
    text_[at] = 0;
  }
  const wchar_t* text() const { return text_; }

 private:
  wchar_t text_[pathMax];
};

/// Makes a call again while another program has the file.
template <typename Call>
bool patiently(Call call) {
  for (int tries = 0;; ++tries) {
    if (call()) return true;
    const DWORD error = GetLastError();
    if ((error != ERROR_SHARING_VIOLATION && error != ERROR_ACCESS_DENIED) || tries == tryCount) return false;
    Sleep(tryMilliseconds);
    SetLastError(error);
  }
}

OVERLAPPED placeOf(uint64_t offset) {
  OVERLAPPED place = {};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return place;
}

class WindowsDisk final : public Disk {
 public:
  explicit WindowsDisk(const wchar_t* folder) {
    size_t at = 0;
    for (; folder[at] != 0 && at + 1 < pathMax; ++at) folder_[at] = folder[at];
    folder_[at] = 0;
  }
  ~WindowsDisk() override {
    if (lock_ != INVALID_HANDLE_VALUE) CloseHandle(lock_);
    if (sync_ != INVALID_HANDLE_VALUE) CloseHandle(sync_);
  }

  DiskError open(const char* name, OpenFile how, FileId* file) override {
    *file = noFile;
    const DWORD access = how == OpenFile::read ? GENERIC_READ : GENERIC_READ | GENERIC_WRITE;
    const DWORD disposition = how == OpenFile::fresh ? CREATE_NEW : OPEN_EXISTING;
    const HANDLE handle = openFile(WindowsPath(folder_, name).text(), access, disposition);
    if (handle == INVALID_HANDLE_VALUE) return failedCall(DiskCall::open);
    *file = static_cast<FileId>(reinterpret_cast<intptr_t>(handle));
    return {};
  }

  DiskError close(FileId file) override { return CloseHandle(handleOf(file)) != 0 ? DiskError{} : failedCall(DiskCall::close); }

  DiskError size(FileId file, uint64_t* bytes) override {
    LARGE_INTEGER size = {};
    if (GetFileSizeEx(handleOf(file), &size) == 0) return failedCall(DiskCall::size);
    *bytes = static_cast<uint64_t>(size.QuadPart);
    return {};
  }

  DiskError read(FileId file, uint64_t offset, uint8_t* bytes, size_t size, size_t* readBytes) override {
    *readBytes = 0;
    while (*readBytes < size) {
      const size_t left = size - *readBytes < callBytesMax ? size - *readBytes : callBytesMax;
      OVERLAPPED place = placeOf(offset + *readBytes);
      DWORD count = 0;
      if (ReadFile(handleOf(file), bytes + *readBytes, static_cast<DWORD>(left), &count, &place) == 0) {
        if (GetLastError() == ERROR_HANDLE_EOF) break;
        return failedCall(DiskCall::read);
      }
      if (count == 0) break;
      *readBytes += count;
    }
    return {};
  }

  DiskError write(FileId file, uint64_t offset, const uint8_t* bytes, size_t size) override {
    for (size_t done = 0; done < size;) {
      const size_t left = size - done < callBytesMax ? size - done : callBytesMax;
      OVERLAPPED place = placeOf(offset + done);
      DWORD count = 0;
      if (WriteFile(handleOf(file), bytes + done, static_cast<DWORD>(left), &count, &place) == 0) return failedCall(DiskCall::write);
      if (count == 0) return {DiskCall::write, ERROR_DISK_FULL};
      done += count;
    }
    return {};
  }

  DiskError sync(FileId file) override { return FlushFileBuffers(handleOf(file)) != 0 ? DiskError{} : failedCall(DiskCall::sync); }

  DiskError truncate(FileId file, uint64_t bytes) override {
    FILE_END_OF_FILE_INFO end = {};
    end.EndOfFile.QuadPart = static_cast<LONGLONG>(bytes);
    const BOOL isDone = SetFileInformationByHandle(handleOf(file), FileEndOfFileInfo, &end, sizeof end);
    return isDone != 0 ? DiskError{} : failedCall(DiskCall::truncate);
  }

  DiskError rename(const char* from, const char* to) override {
    const WindowsPath old(folder_, from);
    const WindowsPath fresh(folder_, to);
    const auto move = [&] { return MoveFileExW(old.text(), fresh.text(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != 0; };
    return patiently(move) ? DiskError{} : failedCall(DiskCall::rename);
  }

  DiskError remove(const char* name) override {
    const WindowsPath path(folder_, name);
    return patiently([&] { return DeleteFileW(path.text()) != 0; }) ? DiskError{} : failedCall(DiskCall::remove);
  }

  DiskError link(const char* name, const char* folder) override {
    wchar_t other[pathMax];
    if (!widePath(folder, other)) return failedCall(DiskCall::link);
    const WindowsPath old(folder_, name);
    const WindowsPath fresh(other, name);
    return CreateHardLinkW(fresh.text(), old.text(), nullptr) != 0 ? DiskError{} : failedCall(DiskCall::link);
  }

  DiskError list(DiskFiles* files) override {
    WIN32_FIND_DATAW found = {};
    const HANDLE search = FindFirstFileW(WindowsPath(folder_, "*").text(), &found);
    if (search == INVALID_HANDLE_VALUE) return failedCall(DiskCall::list);
    DiskError error = {};
    do {
      if ((found.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) != 0) continue;
      char name[diskNameMax + 1];
      size_t at = 0;
      // Other names than plain ones are nobody's here.
      for (; at < diskNameMax && found.cFileName[at] != 0 && found.cFileName[at] < 128; ++at) name[at] = static_cast<char>(found.cFileName[at]);
      if (found.cFileName[at] != 0) continue;
      name[at] = 0;
      const uint64_t bytes = static_cast<uint64_t>(found.nFileSizeHigh) << 32 | found.nFileSizeLow;
      if (!files->add(name, bytes)) error = {DiskCall::list, 0};
    } while (!error.isError() && FindNextFileW(search, &found) != 0);
    if (!error.isError() && GetLastError() != ERROR_NO_MORE_FILES) error = failedCall(DiskCall::list);
    FindClose(search);
    return error;
  }

  DiskError syncFolder() override {
    if (sync_ == INVALID_HANDLE_VALUE) {
      wchar_t path[pathMax];
      joinSyncName(path);
      sync_ = openFile(path, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS);
      if (sync_ == INVALID_HANDLE_VALUE) return failedCall(DiskCall::syncFolder);
    }
    OVERLAPPED place = {};
    const uint8_t byte = 0;
    DWORD count = 0;
    const bool isDone = WriteFile(sync_, &byte, 1, &count, &place) != 0 && FlushFileBuffers(sync_) != 0;
    return isDone ? DiskError{} : failedCall(DiskCall::syncFolder);
  }

  // Windows removes no folder and no file that is open.
  DiskError findFolder() override { return {}; }

  DiskError freeBytes(uint64_t* bytes) override {
    ULARGE_INTEGER free = {};
    if (GetDiskFreeSpaceExW(folder_, &free, nullptr, nullptr) == 0) return failedCall(DiskCall::freeBytes);
    *bytes = free.QuadPart;
    return {};
  }

  DiskError lock(const char* name, bool* isTaken) override { return takeLock(name, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, isTaken); }
  DiskError lockToRead(const char* name, bool* isTaken) override { return takeLock(name, GENERIC_READ, OPEN_EXISTING, isTaken); }

 private:
  DiskError takeLock(const char* name, DWORD access, DWORD how, bool* isTaken) {
    *isTaken = false;
    const HANDLE handle = openFile(WindowsPath(folder_, name).text(), access, how);
    if (handle == INVALID_HANDLE_VALUE) return failedCall(DiskCall::lock);
    OVERLAPPED place = {};
    if (LockFileEx(handle, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place) == 0) {
      const DWORD error = GetLastError();
      *isTaken = error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING;
      CloseHandle(handle);
      return *isTaken ? DiskError{} : DiskError{DiskCall::lock, static_cast<int32_t>(error)};
    }
    if (lock_ != INVALID_HANDLE_VALUE) CloseHandle(lock_);
    lock_ = handle;
    return {};
  }

  /// Others may read, write, rename and remove it meanwhile, as on other systems.
  static HANDLE openFile(const wchar_t* path, DWORD access, DWORD disposition) {
    constexpr DWORD sharing = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    return CreateFileW(path, access, sharing, nullptr, disposition, FILE_ATTRIBUTE_NORMAL, nullptr);
  }
  void joinSyncName(wchar_t* path) const {
    size_t at = 0;
    for (; folder_[at] != 0 && at + 16 < pathMax; ++at) path[at] = folder_[at];
    path[at++] = L'\\';
    for (size_t k = 0; syncName[k] != 0; ++k) path[at++] = syncName[k];
    path[at] = 0;
  }

  wchar_t folder_[pathMax];
  HANDLE lock_ = INVALID_HANDLE_VALUE;
  HANDLE sync_ = INVALID_HANDLE_VALUE;
};

}  // namespace

DiskError openDisk(const char* path, bool isMaking, Disk** disk) {
  *disk = nullptr;
  wchar_t folder[pathMax];
  if (!widePath(path, folder)) return failedCall(DiskCall::openFolder);
  if (isMaking && CreateDirectoryW(folder, nullptr) == 0 && GetLastError() != ERROR_ALREADY_EXISTS) return failedCall(DiskCall::openFolder);
  const DWORD attributes = GetFileAttributesW(folder);
  if (attributes == INVALID_FILE_ATTRIBUTES) return failedCall(DiskCall::openFolder);
  if ((attributes & FILE_ATTRIBUTE_DIRECTORY) == 0) return {DiskCall::openFolder, ERROR_DIRECTORY};
  *disk = new (std::nothrow) WindowsDisk(folder);
  return *disk != nullptr ? DiskError{} : DiskError{DiskCall::openFolder, ERROR_NOT_ENOUGH_MEMORY};
}

}  // namespace exrp

#endif  // defined(_WIN32)
