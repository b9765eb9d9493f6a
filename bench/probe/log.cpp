// Probe: what the log costs (kernel/log): appending, flushing beside a bare write and fdatasync, and writing beside the disk's own speed. Not a test.
// g++ -std=c++20 -O3 -fno-exceptions -fno-rtti -I. bench/probe/log.cpp kernel/log/*.cpp kernel/base/{thread,process,memory}.cpp -o /tmp/log -ldl
// ./log FOLDER        a folder on the disk to measure; 2 GB, 1 minute. Linux and macOS.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/probe/_times.hpp"
#include "kernel/log/log.hpp"

using namespace exrp;
using probe::nowNs;

namespace {

[[noreturn]] void stop(const char* what) {
  std::printf("%s failed\n", what);
  std::exit(1);
}
void must(bool isGood, const char* what) {
  if (!isGood) stop(what);
}

/// A file that is written without a log.
class Bare {
 public:
  explicit Bare(const std::string& folder) : path_(folder + "/bare"), file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0666)) {
    must(file_ >= 0, "open");
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;
  ~Bare() {
    ::close(file_);
    ::unlink(path_.c_str());
  }
  void write(const uint8_t* bytes, size_t size) {
    must(pwrite(file_, bytes, size, at_) == static_cast<ssize_t>(size), "pwrite");
    at_ += static_cast<off_t>(size);
  }
  void sync() {
#if defined(__APPLE__)
    must(fcntl(file_, F_FULLFSYNC) != -1, "F_FULLFSYNC");
#else
    must(fdatasync(file_) == 0, "fdatasync");
#endif
  }

 private:
  std::string path_;
  int file_;
  off_t at_ = 0;
};

/// A log in a folder of its own, which goes with it.
class Made {
 public:
  Made(const std::string& folder, const LogOptions& options) : path_(folder + "/log") {
    must(!openDisk(path_.c_str(), true, &disk_).isError(), "openDisk");
    must(log.create(disk_, options) == LogStatus::ok, "create");
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() {
    must(log.close() == LogStatus::ok, "close");
    DiskFiles files;
    (void)disk_->list(&files);
    for (size_t k = 0; k < files.count; ++k) (void)disk_->remove(files.files[k].name);
    delete disk_;
    ::rmdir(path_.c_str());
  }
  void append(const uint8_t* bytes, uint32_t size) {
    LogPlace place;
    must(log.append(1, bytes, size, &place) == LogStatus::ok, "append");
  }
  Log log;

 private:
  std::string path_;
  Disk* disk_ = nullptr;
};

std::vector<uint8_t> someBytes(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t k = 0; k < size; ++k) bytes[k] = static_cast<uint8_t>(k * 7 + k / 251);
  return bytes;
}

void appending(const std::string& folder) {
  std::printf("append, one thread beside the log's own: ns a frame, least and median of repeats that fit into memory\n");
  LogOptions options;
  options.flushIntervalMs = 0;
  const std::vector<uint8_t> bytes = someBytes(4096);
  for (const uint32_t size : {16u, 32u, 64u, 256u, 1024u, 4096u}) {
    Made made(folder, options);
    const uint32_t count = (uint32_t{2} << 20) / (size + 16);
    std::vector<double> times;
    for (int turn = 0; turn < 40; ++turn) {
      const double start = nowNs();
      for (uint32_t k = 0; k < count; ++k) made.append(bytes.data(), size);
      times.push_back((nowNs() - start) / count);
      must(made.log.flush() == LogStatus::ok, "flush");
    }
    const auto [least, median] = probe::summary(times);
    std::printf("  %5u bytes  %8.1f  %8.1f\n", size, least, median);
  }
  {
    Made made(folder, options);
    std::vector<double> times;
    for (int turn = 0; turn < 40; ++turn) {
      constexpr uint32_t frames = 32;
      constexpr uint32_t commands = 1600;
      const double start = nowNs();
      for (uint32_t frame = 0; frame < frames; ++frame) {
        uint8_t* payload = nullptr;
        must(made.log.begin(65536, &payload) == LogStatus::ok, "begin");
        for (uint32_t k = 0; k < commands; ++k) memcpy(payload + k * 40, bytes.data() + k % 64, 40);
        LogPlace place;
        must(made.log.end(1, commands * 40, &place) == LogStatus::ok, "end");
      }
      times.push_back((nowNs() - start) / (frames * commands));
      must(made.log.flush() == LogStatus::ok, "flush");
    }
    const auto [least, median] = probe::summary(times);
    std::printf("  40 bytes into a growing frame  %8.1f  %8.1f\n", least, median);
  }
}

void flushing(const std::string& folder) {
  std::printf("flush beside a bare write and fdatasync, in turns: us, least and median, and the ratio of both\n");
  LogOptions options;
  options.flushIntervalMs = 0;
  const std::vector<uint8_t> bytes = someBytes(size_t{1} << 20);
  for (const uint32_t size : {4096u, 65536u, 1u << 20}) {
    Made made(folder, options);
    Bare bare(folder);
    std::vector<double> ours;
    std::vector<double> theirs;
    for (int turn = 0; turn < 150; ++turn) {
      double start = nowNs();
      bare.write(bytes.data(), size);
      bare.sync();
      theirs.push_back((nowNs() - start) / 1e3);
      start = nowNs();
      made.append(bytes.data(), size);
      must(made.log.flush() == LogStatus::ok, "flush");
      ours.push_back((nowNs() - start) / 1e3);
    }
    const auto a = probe::summary(ours);
    const auto b = probe::summary(theirs);
    std::printf("  %7u bytes  log %8.0f %8.0f  bare %8.0f %8.0f  ratio %.2f %.2f\n", size, a.least, a.median, b.least, b.median, a.least / b.least,
                a.median / b.median);
  }
}

void streaming(const std::string& folder) {
  std::printf("512 MiB at once, in turns: MB/s, best and median\n");
  constexpr uint32_t pieces = 512;
  constexpr uint32_t pieceBytes = uint32_t{1} << 20;
  const std::vector<uint8_t> bytes = someBytes(pieceBytes);
  constexpr double megabytes = double{pieces} * pieceBytes / 1e6;
  std::vector<double> ours;
  std::vector<double> theirs;
  for (int turn = 0; turn < 5; ++turn) {
    {
      Bare bare(folder);
      const double start = nowNs();
      for (uint32_t k = 0; k < pieces; ++k) bare.write(bytes.data(), pieceBytes);
      bare.sync();
      theirs.push_back((nowNs() - start) / 1e9 / megabytes);
    }
    {
      Made made(folder, LogOptions{});
      const double start = nowNs();
      for (uint32_t k = 0; k < 16 * pieces; ++k) made.append(bytes.data(), pieceBytes / 16);
      must(made.log.flush() == LogStatus::ok, "flush");
      ours.push_back((nowNs() - start) / 1e9 / megabytes);
    }
  }
  const auto a = probe::summary(ours);
  const auto b = probe::summary(theirs);
  std::printf("  log %.0f %.0f  bare %.0f %.0f  ratio %.2f %.2f\n", 1 / a.least, 1 / a.median, 1 / b.least, 1 / b.median, b.least / a.least,
              b.median / a.median);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) stop("usage: log FOLDER, which");
  const std::string folder = words[1];
  const bool isAll = count == 2;
  const auto isWanted = [&](const char* name) { return isAll || std::string(words[2]) == name; };
  if (isWanted("append")) appending(folder);
  if (isWanted("flush")) flushing(folder);
  if (isWanted("stream")) streaming(folder);
  return 0;
}
