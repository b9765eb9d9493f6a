// ReservedArray: committed elements are usable, and growth falls back to the needed size where half more does not fit.
// groupMemoryBytes() finds the limit of a control group.
#include "kernel/base/memory.hpp"

#include "tests/kernel/check.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if !defined(_WIN32)
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#endif

using exrp::Pages;
using exrp::ReservedArray;

namespace {

/// Growing in steps across the sizes from which pages are huge keeps what was written, and what is new is zero.
void grows(Pages pages, size_t countExpected = SIZE_MAX) {
  ReservedArray<uint32_t> array;
  CHECK(array.create(size_t{3} << 20, pages, countExpected));
  CHECK(!array.commit((size_t{3} << 20) + 1));
  const uint32_t* const base = array.data();
  size_t written = 0;
  for (size_t count = 1; count <= size_t{3} << 20; count += count / 3 + 1) {
    CHECK(array.commit(count));
    CHECK(array.committed() >= count);
    for (size_t at = 0; at < written; at += 97) CHECK_EQUAL(array[at], static_cast<uint32_t>(at + 1));
    for (size_t at = written; at < array.committed(); ++at) {
      if (array[at] != 0) CHECK_EQUAL(array[at], 0u);
    }
    for (; written < array.committed(); ++written) array[written] = static_cast<uint32_t>(written + 1);
  }
  CHECK(array.data() == base);
  CHECK(array.takenBytes(0) == 0);
  CHECK(array.takenBytes(1) > 0);
  CHECK(array.takenBytes(array.committed()) >= 4.0 * static_cast<double>(array.committed()));
}

#if !defined(_WIN32) && defined(EXRP_TEST_MEMORY)
/// Where each commit moves the array, as in WebAssembly, what was written moves along.
void movesWithItsContent() {
  exrp::moveMemory(true);
  ReservedArray<uint32_t> array;
  CHECK(array.create(size_t{3} << 20));
  size_t written = 0;
  size_t moves = 0;
  for (size_t count = 1; count <= size_t{3} << 20; count += count / 3 + 1) {
    const uint32_t* const before = array.data();
    CHECK(array.commit(count));
    moves += array.data() == before ? 0 : 1;
    for (size_t at = 0; at < written; at += 97) CHECK_EQUAL(array[at], static_cast<uint32_t>(at + 1));
    for (; written < array.committed(); ++written) {
      if (array[written] != 0) CHECK_EQUAL(array[written], 0u);
      array[written] = static_cast<uint32_t>(written + 1);
    }
  }
  CHECK(moves > 10);
  exrp::moveMemory(false);
}
#endif

/// Behind what was expected, a page takes memory only where it is used. There, an array doesn't take 2 MiB for a byte.
void takesNoMoreThanExpected() {
  ReservedArray<uint8_t> array;
  constexpr size_t mebi = size_t{1} << 20;
  CHECK(array.create(64 * mebi, Pages::huge, 24 * mebi));
  CHECK(array.commit(24 * mebi));
  CHECK(array.takenBytes(24 * mebi) == 24.0 * mebi);
  CHECK(array.commit(27 * mebi + 1));
  CHECK(array.takenBytes(24 * mebi + 1) < 24.1 * mebi);
  CHECK(array.takenBytes(27 * mebi + 1) < 27.1 * mebi);
  // An eighth more, in whole huge pages: from there on, one is a small part of the array.
  CHECK(array.commit(28 * mebi + 1));
  CHECK(array.takenBytes(28 * mebi) == 28.0 * mebi);
  const double last = array.takenBytes(28 * mebi + 1);
  CHECK(last == 30.0 * mebi || last < 28.1 * mebi);  // huge, or the system gives no huge pages
}

#if defined(__linux__)
/// Small pages behind what was expected join only where all are in use. Else memory would be taken that nothing lies in.
void joinsOnlyFullPages() {
  constexpr size_t mebi = size_t{1} << 20;
  for (const size_t used : {size_t{3} * mebi, size_t{5} * mebi}) {
    ReservedArray<uint8_t> array;
    CHECK(array.create(16 * mebi, Pages::huge, 0));
    CHECK(array.commit(8 * mebi));
    for (size_t at = 0; at < used; at += 512) array[at] = static_cast<uint8_t>(at / 512 + 1);
    CHECK(array.commit(12 * mebi));
    size_t wrong = 0;
    for (size_t at = 0; at < used; at += 512) wrong += array[at] != static_cast<uint8_t>(at / 512 + 1) ? 1 : 0;
    CHECK_EQUAL(wrong, size_t{0});
    const auto pageBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    unsigned char pages[(size_t{12} << 20) / 4096] = {};
    CHECK_EQUAL(mincore(array.data(), 12 * mebi, pages), 0);
    size_t taken = 0;
    for (const unsigned char page : pages) taken += page & 1;
    CHECK_EQUAL(taken * pageBytes, used);
    CHECK(array.takenBytes(used) >= static_cast<double>(used));
  }
}
#endif

#if !defined(_WIN32) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define EXRP_HAS_LIMITS 1

/// Half as much again may be more than there is, where what is needed fits.
void growsToTheLimit() {
  ReservedArray<uint8_t> array;
  constexpr size_t mebi = size_t{1} << 20;
  CHECK(array.create(400 * mebi));
  CHECK(array.commit(90 * mebi));
  // The limit counts memory that can be written to: the array's, and some for the rest of the process.
  FILE* const file = fopen("/proc/self/statm", "re");
  if (file == nullptr) return;
  fclose(file);
  rlimit before = {};
  CHECK_EQUAL(getrlimit(RLIMIT_DATA, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = 0;
  char line[256];
  FILE* const status = fopen("/proc/self/status", "re");
  long data = 0;
  while (status != nullptr && fgets(line, sizeof line, status) != nullptr) {
    if (sscanf(line, "VmData: %ld", &data) == 1) break;
  }
  if (status != nullptr) fclose(status);
  tight.rlim_cur = static_cast<rlim_t>(data) * 1024 + 30 * mebi;
  CHECK_EQUAL(setrlimit(RLIMIT_DATA, &tight), 0);
  // 135 MiB would be asked for at first.
  CHECK(array.commit(110 * mebi));
  array[110 * mebi - 1] = 1;
  CHECK(array.committed() < 130 * mebi);
  CHECK(!array.commit(300 * mebi));
  CHECK_EQUAL(array[110 * mebi - 1], 1);
  CHECK_EQUAL(setrlimit(RLIMIT_DATA, &before), 0);
}
#endif

#if !defined(_WIN32)
void write(const std::string& path, const char* text) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) mkdir(path.substr(0, at).c_str(), 0700);
  FILE* const file = fopen(path.c_str(), "w");
  CHECK(file != nullptr);
  if (file == nullptr) return;
  fputs(text, file);
  fclose(file);
}

void findsTheGroupsLimit() {
  char folder[] = "/tmp/exrp-memory-XXXXXX";
  CHECK(mkdtemp(folder) != nullptr);
  const std::string root = folder;
  const auto limit = [&](const char* name) { return exrp::groupMemoryBytes((root + name).c_str()); };
  CHECK(limit("/none") == 0);
  // Version 2: the group has no limit of its own, one around it has.
  write(root + "/two/proc/self/cgroup", "0::/outer/inner\n");
  write(root + "/two/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write(root + "/two/sys/fs/cgroup/outer/memory.max", "3000000\n");
  CHECK(limit("/two") == 3000000);
  write(root + "/two/sys/fs/cgroup/memory.max", "2000000\n");
  CHECK(limit("/two") == 2000000);
  // Version 1, in a container that sees the host's path.
  write(root + "/one/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/docker/0123\n");
  write(root + "/one/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
  write(root + "/one/sys/fs/cgroup/cpu/memory.limit_in_bytes", "5\n");
  CHECK(limit("/one") == 1000000);
  // Version 1 writes a huge number for no limit; a group inside may have less, and one outside counts for it too.
  write(root + "/nested/proc/self/cgroup", "4:memory:/outer/inner\n0::/elsewhere\n");
  write(root + "/nested/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write(root + "/nested/sys/fs/cgroup/memory/outer/memory.limit_in_bytes", "4000000\n");
  write(root + "/nested/sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes", "7000000\n");
  CHECK(limit("/nested") == 4000000);
  // No group has a limit.
  write(root + "/free/proc/self/cgroup", "0::/a/b\n");
  write(root + "/free/sys/fs/cgroup/a/b/memory.max", "max\n");
  write(root + "/free/sys/fs/cgroup/a/memory.max", "max\n");
  CHECK(limit("/free") == 0);
  CHECK_EQUAL(std::system(("rm -r " + root).c_str()), 0);
  const double machine = exrp::physicalMemoryBytes();
  CHECK(machine > 0);
  CHECK(exrp::groupMemoryBytes("") == 0 || machine <= exrp::groupMemoryBytes(""));
}
#endif

}  // namespace

int main() {
  grows(Pages::huge);
  grows(Pages::huge, 700'000);
  grows(Pages::huge, 0);
  grows(Pages::small);
  takesNoMoreThanExpected();
#if !defined(_WIN32) && defined(EXRP_TEST_MEMORY)
  movesWithItsContent();
#endif
#if defined(__linux__)
  joinsOnlyFullPages();
#endif
#if defined(EXRP_HAS_LIMITS)
  growsToTheLimit();
#endif
#if !defined(_WIN32)
  findsTheGroupsLimit();
#endif
  return exrp::test::checkResult("memory");
}
