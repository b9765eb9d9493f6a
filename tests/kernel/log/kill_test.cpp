// A process that appends to a log is killed, again and again, at any moment. It says what was flushed, and all of that must be there afterwards: in
// order, each frame once, and nothing else. The next process goes on with the same log.
//
// EXRP_LOG_KILLS sets how often.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/log/log.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/log/test_folder.hpp"

using namespace exrp;
using exrp::test::TestFolder;

namespace {

LogOptions optionsOf(Random& random) {
  LogOptions options;
  options.segmentBytes = 8192u << random.below(6);
  options.bufferBytes = 1024u << random.below(6);
  options.queueBytes = 4 * options.bufferBytes;
  options.flushIntervalMs = random.below(2) * 3;
  return options;
}

uint32_t sizeOf(uint32_t number) {
  Random random(5, number);
  return 4 + random.below(random.below(20) == 0 ? 20000 : 600);
}

void fill(uint32_t number, std::vector<uint8_t>& bytes) {
  bytes.assign(sizeOf(number), 0);
  Random random(6, number);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
  memcpy(bytes.data(), &number, sizeof number);
}

/// Numbers rise by one from the first on.
class Counts final : public LogVisitor {
 public:
  bool frame(const LogFrame& frame) override {
    uint32_t number = 0;
    memcpy(&number, frame.payload, std::min<size_t>(frame.place.bytes, sizeof number));
    std::vector<uint8_t> bytes;
    fill(number, bytes);
    const bool isRight = frame.place.bytes == bytes.size() && memcmp(frame.payload, bytes.data(), bytes.size()) == 0;
    CHECK(isRight && number == next);
    next = number + 1;
    return isRight;
  }
  bool damage(const LogDamage&) override {
    CHECK(false && "damage");
    return true;
  }
  uint32_t next = 0;
};

/// Appends until somebody kills it, and writes to `told` how many frames are flushed.
[[noreturn]] void child(const TestFolder& folder, uint64_t seed, uint32_t number, LogPosition from, int told) {
  Random random(seed, 2);
  Disk* const disk = folder.disk();
  bool isTaken = true;
  if (disk->lock("lock", &isTaken).isError() || isTaken) _exit(3);
  const LogOptions options = optionsOf(random);
  static Log log;
  Counts counts;
  counts.next = number;
  LogScan scan;
  LogStatus status = log.open(disk, options, from, counts, &scan);
  if (status == LogStatus::empty) status = log.create(disk, options);
  if (status != LogStatus::ok || counts.next != number + scan.frameCount) _exit(4);
  std::vector<uint8_t> bytes;
  uint64_t ticket = 0;
  uint32_t asked = 0;
  for (uint32_t next = counts.next;; ++next) {
    fill(next, bytes);
    LogPlace place;
    if (log.append(1, bytes.data(), static_cast<uint32_t>(bytes.size()), &place) != LogStatus::ok) _exit(5);
    if (asked > 0 && log.isFlushed(ticket)) {
      if (write(told, &asked, sizeof asked) != sizeof asked) _exit(6);
      asked = 0;
    }
    if (asked == 0 && random.below(10) == 0) {
      ticket = log.requestFlush();
      asked = next + 1;
    }
    if (random.below(200) == 0 && log.flush() != LogStatus::ok) _exit(7);
  }
}

}  // namespace

int main() {
  const uint64_t kills = test::fromEnvironment("EXRP_LOG_KILLS", 20);
  const uint64_t seed = test::fromEnvironment("EXRP_LOG_SEED", 20261128);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const TestFolder folder;
  Random random(seed, 1);
  uint32_t total = 0;
  LogPosition from;
  uint32_t fromNumber = 0;
  for (uint64_t round = 0; round < kills && test::failureCount == 0; ++round) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    std::fflush(stdout);
    const pid_t process = fork();
    if (process == 0) {
      close(ends[0]);
      child(folder, seed + round, fromNumber, from, ends[1]);
    }
    close(ends[1]);
    usleep(2000 + 1000 * random.below(60));
    kill(process, SIGKILL);
    int ended = 0;
    waitpid(process, &ended, 0);
    CHECK(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    if (!WIFSIGNALED(ended)) std::printf("the process ended with status %d\n", WEXITSTATUS(ended));
    uint32_t flushed = 0;
    uint32_t number = 0;
    while (read(ends[0], &number, sizeof number) == sizeof number) flushed = number;
    close(ends[0]);
    // Nobody has the lock any more, and what was flushed is there.
    Disk* const disk = folder.disk();
    bool isTaken = true;
    CHECK(!disk->lock("lock", &isTaken).isError() && !isTaken);
    Counts counts;
    counts.next = fromNumber;
    LogScan scan;
    Log log;
    const LogStatus status = log.open(disk, optionsOf(random), from, counts, &scan);
    CHECK(status == LogStatus::ok || (status == LogStatus::empty && flushed == 0));
    if (status == LogStatus::ok) {
      CHECK(counts.next >= flushed && counts.next >= total);
      total = counts.next;
      // From here on, now and then.
      if (random.below(3) == 0) {
        from = log.position();
        fromNumber = total;
        CHECK_EQUAL(log.removeSegments(from.segment), LogStatus::ok);
      }
      CHECK_EQUAL(log.close(), LogStatus::ok);
    }
    delete disk;
  }
  std::printf("%u frames in %llu processes\n", total, static_cast<unsigned long long>(kills));
  return test::checkResult("log/kill");
}
