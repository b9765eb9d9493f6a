// TestFolder: a folder of its own for a test, which is removed with all in it. It lies in TMPDIR, or in /tmp.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "kernel/log/disk.hpp"

namespace exrp::test {

class TestFolder {
 public:
  TestFolder() {
    const char* const root = std::getenv("TMPDIR");
    path_ = std::string(root == nullptr ? "/tmp" : root) + "/exrp_log_XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) {
      std::perror(path_.c_str());
      std::abort();
    }
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    Disk* const files = disk();
    DiskFiles listed;
    (void)files->list(&listed);
    for (size_t k = 0; k < listed.count; ++k) (void)files->remove(listed.files[k].name);
    delete files;
    (void)rmdir(path_.c_str());
  }

  const std::string& path() const { return path_; }
  /// Who asks deletes it.
  Disk* disk() const {
    Disk* made = nullptr;
    const DiskError error = openDisk(path_.c_str(), false, &made);
    if (made != nullptr) return made;
    std::printf("%s can't be opened: %d\n", path_.c_str(), error.system);
    std::abort();
  }

 private:
  std::string path_;
};

}  // namespace exrp::test
