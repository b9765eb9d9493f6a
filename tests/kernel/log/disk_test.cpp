// The system's disk: files, names, sizes, the lock, and the numbers of what fails.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "kernel/log/disk.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/log/test_folder.hpp"

using namespace exrp;
using exrp::test::TestFolder;

namespace {

void is(const DiskError& error, DiskCall call, int32_t system) {
  CHECK_EQUAL(error.call, call);
  CHECK_EQUAL(error.system, system);
}
void isGood(const DiskError& error) { is(error, DiskCall::none, 0); }

std::vector<std::string> listed(Disk& disk) {
  DiskFiles files;
  isGood(disk.list(&files));
  std::vector<std::string> names;
  for (size_t k = 0; k < files.count; ++k) names.push_back(files.files[k].name + (" " + std::to_string(files.files[k].bytes)));
  std::sort(names.begin(), names.end());
  return names;
}

void files() {
  const TestFolder folder;
  Disk* const disk = folder.disk();
  FileId file = noFile;
  is(disk->open("a", OpenFile::read, &file), DiskCall::open, ENOENT);
  CHECK_EQUAL(file, noFile);
  is(disk->open("a", OpenFile::write, &file), DiskCall::open, ENOENT);
  isGood(disk->open("a", OpenFile::fresh, &file));
  std::vector<uint8_t> bytes(3'000'000);
  for (size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<uint8_t>(k * 31 + k / 255);
  isGood(disk->write(file, 5, bytes.data(), bytes.size()));
  isGood(disk->sync(file));
  uint64_t size = 0;
  isGood(disk->size(file, &size));
  CHECK_EQUAL(size, 3'000'005u);
  std::vector<uint8_t> read(bytes.size() + 100);
  size_t count = 0;
  isGood(disk->read(file, 5, read.data(), read.size(), &count));
  CHECK_EQUAL(count, bytes.size());
  CHECK(std::equal(bytes.begin(), bytes.end(), read.begin()));
  isGood(disk->read(file, 0, read.data(), 5, &count));
  CHECK(count == 5 && read[0] == 0 && read[4] == 0);
  isGood(disk->read(file, 3'000'005, read.data(), 5, &count));
  CHECK_EQUAL(count, 0u);
  isGood(disk->truncate(file, 7));
  isGood(disk->size(file, &size));
  CHECK_EQUAL(size, 7u);
  isGood(disk->close(file));
  is(disk->open("a", OpenFile::fresh, &file), DiskCall::open, EEXIST);
  isGood(disk->open("a", OpenFile::read, &file));
  is(disk->write(file, 0, bytes.data(), 1), DiskCall::write, EBADF);
  isGood(disk->close(file));
  is(disk->close(file), DiskCall::close, EBADF);

  isGood(disk->open("b", OpenFile::fresh, &file));
  isGood(disk->close(file));
  CHECK_EQUAL(mkdir((folder.path() + "/c").c_str(), 0777), 0);
  CHECK_EQUAL(symlink("a", (folder.path() + "/d").c_str()), 0);
  CHECK((listed(*disk) == std::vector<std::string>{"a 7", "b 0"}));
  isGood(disk->rename("a", "b"));
  isGood(disk->syncFolder());
  CHECK((listed(*disk) == std::vector<std::string>{"b 7"}));
  is(disk->rename("a", "b"), DiskCall::rename, ENOENT);
  isGood(disk->remove("b"));
  is(disk->remove("b"), DiskCall::remove, ENOENT);
  CHECK(listed(*disk).empty());
  uint64_t free = 0;
  isGood(disk->freeBytes(&free));
  CHECK(free > 0);
  (void)rmdir((folder.path() + "/c").c_str());
  (void)unlink((folder.path() + "/d").c_str());
  delete disk;
}

void folders() {
  const TestFolder folder;
  Disk* disk = nullptr;
  const std::string inner = folder.path() + "/inner";
  is(openDisk(inner.c_str(), false, &disk), DiskCall::openFolder, ENOENT);
  CHECK(disk == nullptr);
  is(openDisk((inner + "/more").c_str(), true, &disk), DiskCall::openFolder, ENOENT);
  for (int turn = 0; turn < 2; ++turn) {
    isGood(openDisk(inner.c_str(), true, &disk));
    CHECK(disk != nullptr);
    delete disk;
  }
  (void)rmdir(inner.c_str());
  FILE* const plain = std::fopen(inner.c_str(), "w");
  CHECK(plain != nullptr);
  if (plain != nullptr) std::fclose(plain);
  is(openDisk(inner.c_str(), true, &disk), DiskCall::openFolder, ENOTDIR);
  (void)unlink(inner.c_str());
}

/// The lock is for one Disk, and goes with it and with its process.
void locks() {
  const TestFolder folder;
  Disk* const first = folder.disk();
  Disk* const second = folder.disk();
  bool isTaken = true;
  isGood(first->lock("lock", &isTaken));
  CHECK(!isTaken);
  isGood(second->lock("lock", &isTaken));
  CHECK(isTaken);
  delete first;
  int ends[2];
  CHECK_EQUAL(pipe(ends), 0);
  std::fflush(stdout);
  const pid_t process = fork();
  if (process == 0) {
    bool isOurs = false;
    const bool isLocked = !second->lock("lock", &isOurs).isError() && !isOurs;
    const char word = isLocked ? 'y' : 'n';
    if (write(ends[1], &word, 1) == 1) pause();
    _exit(1);
  }
  char word = 0;
  CHECK_EQUAL(read(ends[0], &word, 1), 1);
  CHECK_EQUAL(word, 'y');
  isGood(second->lock("lock", &isTaken));
  CHECK(isTaken);
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  isGood(second->lock("lock", &isTaken));
  CHECK(!isTaken);
  close(ends[0]);
  close(ends[1]);
  delete second;
}

}  // namespace

int main() {
  files();
  folders();
  locks();
  return test::checkResult("log/disk");
}
