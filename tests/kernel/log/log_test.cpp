// The log at the system's disk: what was appended is read back, flushed or not, in one segment and in many; tickets; refusals; reopening.
#include "kernel/log/log.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <thread>  // for the tests under TSan: the log has a thread
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/durable/forwarding_disk.hpp"
#include "tests/kernel/log/test_folder.hpp"

using namespace exrp;
using exrp::test::TestFolder;

namespace {

using Bytes = std::vector<uint8_t>;

struct Kept {
  LogPlace place;
  uint32_t type;
  Bytes bytes;
};

/// Compares what a scan tells with what was appended.
class Expects final : public LogVisitor {
 public:
  explicit Expects(const std::vector<Kept>& kept, size_t first = 0) : kept_(kept), next_(first) {}
  bool frame(const LogFrame& frame) override {
    CHECK(next_ < kept_.size());
    if (next_ >= kept_.size()) return false;
    const Kept& kept = kept_[next_++];
    CHECK(frame.place.position() == kept.place.position());
    CHECK_EQUAL(frame.place.bytes, kept.place.bytes);
    CHECK_EQUAL(frame.type, kept.type);
    CHECK(!frame.isRepaired);
    CHECK(kept.bytes.empty() || memcmp(frame.payload, kept.bytes.data(), kept.bytes.size()) == 0);
    return true;
  }
  bool damage(const LogDamage&) override {
    CHECK(false);
    return true;
  }
  size_t next() const { return next_; }

 private:
  const std::vector<Kept>& kept_;
  size_t next_;
};

Bytes randomBytes(Random& random, uint32_t size) {
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
  return bytes;
}

void readsBack(Log& log, const Kept& kept) {
  Bytes read(kept.bytes.size() + 1, 7);
  uint32_t type = 0;
  CHECK_EQUAL(log.read(kept.place, read.data(), &type), LogStatus::ok);
  CHECK_EQUAL(type, kept.type);
  CHECK(kept.bytes.empty() || memcmp(read.data(), kept.bytes.data(), kept.bytes.size()) == 0);
  CHECK_EQUAL(read.back(), 7);
}

/// Appends, in one of three ways.
Kept appendOne(Log& log, Random& random, uint32_t size) {
  Kept kept = {{}, 1 + random.below(9), randomBytes(random, size)};
  switch (random.below(3)) {
    case 0: CHECK_EQUAL(log.append(kept.type, kept.bytes.data(), size, &kept.place), LogStatus::ok); break;
    case 1: {
      const uint32_t cut = random.below(size + 1);
      const LogPiece pieces[] = {{kept.bytes.data(), cut}, {nullptr, 0}, {kept.bytes.data() + cut, size - cut}};
      CHECK_EQUAL(log.append(kept.type, pieces, 3, &kept.place), LogStatus::ok);
      break;
    }
    default: {
      uint8_t* payload = nullptr;
      CHECK_EQUAL(log.begin(size / 2, &payload), LogStatus::ok);
      if (!log.extend(size)) {
        log.drop();
        CHECK_EQUAL(log.begin(size + 40, &payload), LogStatus::ok);
      }
      if (size > 0) memcpy(payload, kept.bytes.data(), size);
      CHECK_EQUAL(log.end(kept.type, size, &kept.place), LogStatus::ok);
    }
  }
  CHECK_EQUAL(kept.place.bytes, size);
  return kept;
}

void manyFrames(uint64_t seed, LogOptions options, uint32_t count, uint32_t bytesMax) {
  const TestFolder folder;
  Disk* disk = folder.disk();
  Random random(seed, 0);
  std::vector<Kept> all;
  for (int life = 0; life < 3; ++life) {
    Log log;
    Expects expects(all);
    LogScan scan;
    if (life == 0) {
      CHECK_EQUAL(log.open(disk, options, {}, expects, &scan), LogStatus::empty);
      CHECK_EQUAL(log.create(disk, options), LogStatus::ok);
    } else {
      Log other;
      CHECK_EQUAL(other.create(disk, options), LogStatus::exists);
      CHECK_EQUAL(log.open(disk, options, {}, expects, &scan), LogStatus::ok);
      CHECK_EQUAL(expects.next(), all.size());
      CHECK_EQUAL(scan.frameCount, all.size());
      CHECK_EQUAL(scan.tailBytes, 0u);
      CHECK(scan.end == scan.synced || scan.synced.packed() < scan.end.packed());
    }
    for (uint32_t k = 0; k < count; ++k) {
      all.push_back(appendOne(log, random, random.below(bytesMax + 1)));
      if (random.below(8) == 0) readsBack(log, all[random.below(static_cast<uint32_t>(all.size()))]);
      if (random.below(50) == 0) {
        const uint64_t ticket = log.requestFlush();
        CHECK_EQUAL(log.waitFlushed(ticket), LogStatus::ok);
        CHECK(log.isFlushed(ticket));
        CHECK(log.flushed().packed() >= log.position().packed());
      }
    }
    const LogPosition middle = all[all.size() / 2].place.position();
    CHECK_EQUAL(log.close(), LogStatus::ok);
    CHECK_EQUAL(log.close(), LogStatus::ok);
    LogPlace place;
    CHECK_EQUAL(log.append(1, "x", 1, &place), LogStatus::closed);
    Expects later(all, all.size() / 2);
    CHECK_EQUAL(scanLog(*disk, middle, later, &scan), LogStatus::ok);
    CHECK_EQUAL(later.next(), all.size());
  }
  delete disk;
}

/// A disk that makes so many files, until somebody opens more of them ahead.
class FewFiles final : public test::ForwardingDisk {
 public:
  using ForwardingDisk::ForwardingDisk;
  DiskError open(const char* name, OpenFile how, FileId* file) override {
    if (how == OpenFile::fresh) {
      if (ahead == 0) return {DiskCall::open, EMFILE};
      --ahead;
    }
    return ForwardingDisk::open(name, how, file);
  }
  uint32_t filesAhead() override { return ahead; }

  uint32_t ahead = 0;
};

/// Where no file is open ahead, the last segment goes on, and nothing fails. Much may wait for the disk, or nothing.
void fewFilesAhead(uint64_t seed, uint64_t queueBytes) {
  const TestFolder folder;
  const std::unique_ptr<Disk> system(folder.disk());
  FewFiles disk(*system);
  Random random(seed, 0);
  LogOptions options;
  options.isThreaded = false;
  options.segmentBytes = 4096;
  options.bufferBytes = 512;
  options.queueBytes = queueBytes;
  std::vector<Kept> all;
  Log log;
  disk.ahead = 3;
  CHECK_EQUAL(log.create(&disk, options), LogStatus::ok);
  for (uint32_t last = 3; last < 9; last += 2) {
    for (int k = 0; k < 150; ++k) all.push_back(appendOne(log, random, random.below(400)));
    CHECK_EQUAL(all.back().place.segment, last);
    CHECK(all.back().place.offset > 2 * options.segmentBytes);
    if (last == 5) CHECK_EQUAL(log.flush(), LogStatus::ok);
    disk.ahead += 2;
  }
  for (size_t k = 0; k < all.size(); k += 7) readsBack(log, all[k]);
  CHECK_EQUAL(log.close(), LogStatus::ok);
  Expects expects(all);
  LogScan scan;
  CHECK_EQUAL(scanLog(disk, {}, expects, &scan), LogStatus::ok);
  CHECK_EQUAL(expects.next(), all.size());
}

#if !defined(__SANITIZE_THREAD__)
/// A process ends while its log is open, and the thread is at work: it ends well, and what was flushed is there. TSan would tell of the thread.
void exits(uint64_t round) {
  const TestFolder folder;
  Disk* const disk = folder.disk();
  std::fflush(stdout);
  const pid_t process = fork();
  if (process == 0) {
    static Log* left = nullptr;
    left = new Log;
    LogOptions options;
    options.bufferBytes = 4096;
    options.flushIntervalMs = static_cast<uint32_t>(round % 2);
    LogPlace place;
    if (left->create(disk, options) != LogStatus::ok || left->append(1, "flushed", 7, &place) != LogStatus::ok) std::exit(2);
    if (left->flush() != LogStatus::ok) std::exit(3);
    const Bytes bytes(3000);
    for (uint64_t k = 0; k < 50 * round; ++k) {
      if (left->append(2, bytes.data(), 3000, &place) != LogStatus::ok) std::exit(4);
    }
    if (round % 3 == 0) left->requestFlush();
    std::exit(0);
  }
  int status = -1;
  waitpid(process, &status, 0);
  CHECK_EQUAL(status, 0);
  Log log;
  const std::vector<Kept> kept = {{{1, segmentHeadBytes + markBytes, 7}, 1, {'f', 'l', 'u', 's', 'h', 'e', 'd'}}};
  class First final : public LogVisitor {
   public:
    bool frame(const LogFrame& frame) override { return ++count > 1 || frame.type == 1; }
    bool damage(const LogDamage&) override { return false; }
    uint32_t count = 0;
  } first;
  LogScan scan;
  CHECK_EQUAL(log.open(disk, {}, {}, first, &scan), LogStatus::ok);
  CHECK(first.count >= 1);
  readsBack(log, kept[0]);
  CHECK_EQUAL(log.close(), LogStatus::ok);
  delete disk;
}
#endif

}  // namespace

int main() {
  const uint64_t seed = test::fromEnvironment("EXRP_LOG_SEED", 20261128);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (const bool isThreaded : {false, true}) {
    LogOptions options;
    options.isThreaded = isThreaded;
    manyFrames(seed, options, 500, 3000);
    options.segmentBytes = 4096;
    options.bufferBytes = 256;
    options.queueBytes = 2000;
    manyFrames(seed + 1, options, 60, 300);
    options.flushIntervalMs = 1;
    manyFrames(seed + 2, options, 20, 9000);
  }
  for (const uint64_t queueBytes : {0, 4096, 1 << 20}) fewFilesAhead(seed + 3, queueBytes);
#if !defined(__SANITIZE_THREAD__)
  for (uint64_t round = 0; round < 12; ++round) exits(round);
#endif
  return test::checkResult("log/log");
}
