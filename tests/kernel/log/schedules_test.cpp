// The log on a disk that crashes, fails and lies: random schedules of calls, in one thread, so that a seed tells all of it.
//
// A schedule is some lives of one log. Each ends by a crash of the system, by the end of the process, or by close(). In some, a call of the disk fails.
// After each life, what the log tells must be what was appended, in order, whole, and at least what was flushed. A disk that lies may lose
// flushed frames, but what is told before the first damage is a prefix nevertheless, and nothing is invented. At the end, a bit is flipped in a copy
// of the disk, or bytes of a frame are spoiled: it must be told, and cost no other frame.
//
// EXRP_LOG_SCHEDULES sets how many schedules are run, and EXRP_LOG_SEED the first seed.
#include <algorithm>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/log/log.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/log/payloads.hpp"
#include "tests/kernel/log/simulated_disk.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

#if defined(EXRP_TEST_MEMORY)
constexpr uint64_t usualCount = 1000;  // under a sanitizer
#else
constexpr uint64_t usualCount = 10000;
#endif

struct Totals {
  uint64_t lives = 0, crashes = 0, kills = 0, failures = 0, lies = 0, torn = 0, frames = 0, repaired = 0, damaged = 0, flipsInTail = 0;
};

class Schedule {
 public:
  Schedule(uint64_t seed, Totals& totals) : seed_(seed), random_(seed, 3), payloads_(seed), disk_(seed), totals_(totals) {}

  /// False where a check failed: the rest would say nothing new.
  bool run() {
    options_.isThreaded = false;
    options_.segmentBytes = random_.below(3) == 0 ? 16384 : 4096;
    options_.bufferBytes = 256 + 256 * random_.below(8);
    options_.queueBytes = 512 + 512 * random_.below(12);
    options_.isWaiting = random_.below(4) > 0;
    isLying_ = random_.below(10) == 0;
    const uint32_t lives = 1 + random_.below(4);
    for (uint32_t life = 0; life < lives && isGood_; ++life) {
      ++totals_.lives;
      if (isLying_) disk_.lie(random_.below(3) * 0.3 + 0.2);
      live();
      if (isGood_) check();
      if (isLying_) break;
    }
    disk_.lie(0);
    if (isGood_ && !isLying_ && exists_) flips();
    if (isGood_ && !isLying_ && exists_) spoils();
    return isGood_;
  }

 private:
  struct Appended {
    LogPlace place;
    uint32_t type;
    uint32_t number;
  };

#define REQUIRE(condition)                    \
  do {                                        \
    const bool isMet = (condition);           \
    CHECK(isMet && "schedule: " #condition);  \
    if (!isMet) {                             \
      isGood_ = false;                        \
      return;                                 \
    }                                         \
  } while (false)

  /// One life: opens or creates, calls, and an end.
  void live() {
    if (random_.below(3) == 0) disk_.failAt(random_.below(random_.below(2) == 0 ? 12 : 80), random_.below(2) == 0 ? ENOSPC : EIO);
    {
      Log log;
      if (!begin(log)) return;
      const uint32_t count = random_.below(80);
      for (uint32_t k = 0; k < count && isGood_; ++k) step(log);
      if (!isGood_) return;
      const uint32_t end = random_.below(5);
      if (end == 0) {
        const LogStatus status = log.close();
        if (status == LogStatus::ok) flushed_ = appended_.size();
        else REQUIRE(status == LogStatus::disk && disk_.hasFailed());
      } else if (end == 1) {
        log.abandon();
      } else {
        ++totals_.crashes;
        disk_.crash();
        log.abandon();
      }
    }
    REQUIRE(disk_.openCount() == 0);
    if (disk_.hasFailed()) ++totals_.failures;
    disk_.restart();
  }

  /// Opens or makes the log. False where a failure of the disk ended that.
  bool begin(Log& log) {
    for (int turn = 0; turn < 3; ++turn) {
      Listens listens(payloads_);
      LogScan scan;
      LogStatus status = log.open(&disk_, options_, {}, listens, &scan);
      if (status == LogStatus::empty) {
        // Whoever was told that it is there finds it.
        if (exists_) fault("a log that was made is not there");
        status = log.create(&disk_, options_);
        if (status == LogStatus::ok) exists_ = true;
      } else if (status == LogStatus::ok) {
        if (exists_) took(listens, scan);
        exists_ = true;
      }
      if (status == LogStatus::ok) return true;
      if (status != LogStatus::disk || !disk_.hasFailed()) fault("open: status");
      if (!isGood_) return false;
      if (log.failure().error.call == DiskCall::none) fault("open: no failure is told");
      if (random_.below(3) == 0) disk_.crash();
      disk_.restart();
    }
    return false;
  }

  void fault(const char* what) {
    if (isGood_) std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed_), what);
    CHECK(false && "schedule");
    isGood_ = false;
  }

  void step(Log& log) {
    const uint32_t choice = random_.below(100);
    if (choice < 55) {
      append(log);
    } else if (choice < 70) {
      log.work();
    } else if (choice < 80) {
      ticket_ = log.requestFlush();
      ticketCount_ = appended_.size();
      hasTicket_ = true;
    } else if (choice < 88) {
      const LogStatus status = log.flush();
      if (status == LogStatus::ok) flushed_ = appended_.size();
      else if (status != LogStatus::disk || !log.hasFailed()) fault("flush: status");
    } else if (choice < 97) {
      readOne(log);
    } else if (choice == 97 && flushed_ > 0) {
      // Of what is on the disk: whoever removes segments knows that later ones are there.
      const uint32_t before = appended_[random_.below(static_cast<uint32_t>(flushed_))].place.segment;
      const LogStatus status = log.removeSegments(before);
      if (status == LogStatus::ok || status == LogStatus::disk) forget(before);
      else fault("removeSegments: status");
    }
    if (hasTicket_ && log.isFlushed(ticket_)) flushed_ = std::max(flushed_, ticketCount_);
    if (log.hasFailed() && !disk_.hasFailed()) fault("the log failed, and the disk did not");
    if (log.hasFailed() && log.failure().error.call == DiskCall::none) fault("no failure is told");
  }

  void append(Log& log) {
    static constexpr uint32_t sizes[] = {40, 200, 700, 3000, 9000};
    const uint32_t most = sizes[random_.below(random_.below(8) == 0 ? 5 : 3)];
    const uint32_t size = Payloads::leastBytes + random_.below(most);
    const Appended made = {{}, 1 + random_.below(5), nextNumber_};
    const std::vector<uint8_t> bytes = payloads_.make(made.number, size);
    LogPlace place;
    LogStatus status = LogStatus::ok;
    if (random_.below(2) == 0) {
      status = log.append(made.type, bytes.data(), size, &place);
    } else {
      uint8_t* payload = nullptr;
      status = log.begin(size, &payload);
      if (status == LogStatus::ok) {
        memcpy(payload, bytes.data(), size);
        // Others ask meanwhile.
        if (random_.below(8) == 0) (void)log.requestFlush();
        while (random_.below(3) == 0) log.work();
        status = log.end(made.type, size, &place);
      }
    }
    if (status == LogStatus::ok) {
      ++nextNumber_;
      appended_.push_back({place, made.type, made.number});
    } else if (status == LogStatus::full) {
      if (options_.isWaiting) fault("append: full");
    } else if (status != LogStatus::disk || !log.hasFailed()) {
      fault("append: status");
    }
  }

  void readOne(Log& log) {
    if (appended_.empty()) return;
    const Appended& one = appended_[random_.below(static_cast<uint32_t>(appended_.size()))];
    std::vector<uint8_t> bytes(one.place.bytes);
    uint32_t type = 0;
    const LogStatus status = log.read(one.place, bytes.data(), &type);
    uint32_t number = 0;
    REQUIRE(status == LogStatus::ok);
    REQUIRE(type == one.type && payloads_.isRight(bytes.data(), one.place.bytes, &number) && number == one.number);
  }

  /// Frames of segments before this one may be gone.
  void forget(uint32_t before) {
    before_ = std::max(before_, before);
    size_t count = 0;
    while (count < appended_.size() && appended_[count].place.segment < before) ++count;
    appended_.erase(appended_.begin(), appended_.begin() + static_cast<ptrdiff_t>(count));
    flushed_ -= std::min(flushed_, count);
    ticketCount_ -= std::min(ticketCount_, count);
  }

  /// What is told must be what was appended, without what was removed.
  void compare(const Listens& listens, size_t count) {
    REQUIRE(count <= appended_.size());
    for (size_t k = 0; k < count; ++k) {
      const Told& told = listens.frames[k];
      const Appended& one = appended_[k];
      REQUIRE(told.isWhole && told.type == one.type && listens.numbers[k] == one.number);
      REQUIRE(told.place.position() == one.place.position() && told.place.bytes == one.place.bytes);
    }
  }

  /// The log was opened: what it told is all that there is from now on.
  void took(Listens& listens, const LogScan& scan) {
    // Of segments that were removed, a crash may bring some back.
    size_t old = 0;
    while (old < listens.frames.size() && listens.frames[old].place.segment < before_) ++old;
    listens.frames.erase(listens.frames.begin(), listens.frames.begin() + static_cast<ptrdiff_t>(old));
    listens.numbers.erase(listens.numbers.begin(), listens.numbers.begin() + static_cast<ptrdiff_t>(old));
    for (const LogDamage& damage : listens.damages) REQUIRE(damage.kind == LogDamageKind::missing && damage.at.segment < before_);
    REQUIRE(scan.repairedCount == 0);
    compare(listens, listens.frames.size());
    if (!isGood_) return;
    REQUIRE(listens.frames.size() >= flushed_);
    appended_.resize(listens.frames.size());
    flushed_ = appended_.size();
    hasTicket_ = false;
    if (scan.tailBytes > 0) ++totals_.torn;
    totals_.frames += scan.frameCount;
  }

  /// After a life: a scan of what the disk has now.
  void check() {
    hasTicket_ = false;
    if (!exists_) return;
    Listens listens(payloads_);
    LogScan scan;
    LogPosition from = {before_ == 0 ? 1 : before_, 0};
    size_t first = 0;
    if (flushed_ > 0 && !isLying_ && random_.below(3) == 0) {
      first = random_.below(static_cast<uint32_t>(flushed_));
      from = appended_[first].place.position();
    }
    const LogStatus status = scanLog(disk_, from, listens, &scan);
    if (isLying_) {
      ++totals_.lies;
      if (status == LogStatus::ok) lied(listens);
      return;
    }
    REQUIRE(status == LogStatus::ok);
    REQUIRE(listens.damages.empty());
    REQUIRE(listens.frames.size() + first >= flushed_);
    REQUIRE(listens.frames.size() + first <= appended_.size());
    for (size_t k = 0; k < listens.frames.size(); ++k) {
      const Told& told = listens.frames[k];
      const Appended& one = appended_[first + k];
      REQUIRE(told.isWhole && told.type == one.type && listens.numbers[k] == one.number);
      REQUIRE(told.place.position() == one.place.position() && told.place.bytes == one.place.bytes);
    }
  }

  /// Frames may be lost, and nothing else.
  void lied(const Listens& listens) {
    size_t next = 0;
    for (size_t k = 0; k < listens.frames.size(); ++k) {
      const Told& told = listens.frames[k];
      REQUIRE(told.isWhole);
      if (k < listens.beforeDamage) REQUIRE(next < appended_.size() && appended_[next].number == listens.numbers[k]);
      while (next < appended_.size() && appended_[next].number != listens.numbers[k]) ++next;
      REQUIRE(next < appended_.size());
      REQUIRE(appended_[next].place.position() == told.place.position() && appended_[next].type == told.type);
      ++next;
    }
  }

  /// A place in the files: any byte of any segment.
  bool choose(std::string* name, uint64_t* byte) {
    std::vector<std::string> names;
    for (const std::string& each : disk_.fileNames())
      if (!disk_.content(each).empty()) names.push_back(each);
    if (names.empty()) return false;
    *name = names[random_.below(static_cast<uint32_t>(names.size()))];
    *byte = random_.below(static_cast<uint32_t>(disk_.content(*name).size()));
    return true;
  }

  static uint32_t segmentIn(const std::string& name) { return static_cast<uint32_t>(std::strtoul(name.c_str() + 4, nullptr, 10)); }

  /// Where the frame begins in which a byte is; marks have places, too.
  uint32_t frameAt(const std::string& name, uint64_t byte) {
    const SimulatedDisk::Bytes& bytes = disk_.content(name);
    uint32_t at = segmentHeadBytes;
    while (true) {
      uint32_t size = 0;
      memcpy(&size, bytes.data() + at, sizeof size);
      if (byte < at + uint64_t{wholeFrameBytes(size)}) return at;
      at += wholeFrameBytes(size);
    }
  }

  /// Whether the next segment says that this one ends before a byte: a recovery cut it, and a crash brought it back.
  bool isCut(uint32_t segment, uint64_t byte) {
    const std::string next = SegmentName(segment + 1).text;
    const std::vector<std::string> names = disk_.fileNames();
    SegmentHead head = {};
    if (std::find(names.begin(), names.end(), next) == names.end() || disk_.content(next).size() < sizeof head) return false;
    memcpy(&head, disk_.content(next).data(), sizeof head);
    return byte >= head.previousBytes;
  }

  /// One flipped bit is always found. Where the frame is proven to have been on the disk, it costs nothing; in the tail it costs the tail.
  void flips() {
    Listens before(payloads_);
    LogScan whole;
    if (scanLog(disk_, {before_, 0}, before, &whole) != LogStatus::ok) return fault("a scan before the flip");
    LogSegments there;
    REQUIRE(listSegments(disk_, &there, &whole.failure) == LogStatus::ok);
    for (int turn = 0; turn < 3 && isGood_; ++turn) {
      std::string name;
      uint64_t byte = 0;
      if (!choose(&name, &byte)) return;
      const uint32_t segment = segmentIn(name);
      if (segment < std::max(before_, there.segments[0].segment) || isCut(segment, byte)) continue;
      const uint32_t bit = random_.below(8);
      const LogPosition at = {segment, static_cast<uint32_t>(byte)};
      const bool isInHead = byte < segmentHeadBytes;
      const bool isInTail = at.packed() >= whole.end.packed();
      const uint32_t frame = isInHead || isInTail ? 0 : frameAt(name, byte);
      disk_.flip(name, byte, bit);
      Listens after(payloads_);
      LogScan scan;
      const LogStatus status = scanLog(disk_, {before_, 0}, after, &scan);
      REQUIRE(status == LogStatus::ok);
      const LogPosition begin = {segment, frame};
      if (isInTail) {
        REQUIRE(after.frames == before.frames && after.damages.size() == before.damages.size());
      } else if (isInHead || begin.packed() < whole.synced.packed()) {
        ++totals_.repaired;
        REQUIRE(after.frames == before.frames);
        REQUIRE(after.damages.size() == before.damages.size() + 1 && scan.repairedCount == 1);
        const LogDamage& told = after.damages.back();
        REQUIRE(told.kind == LogDamageKind::repaired && told.at == begin && told.flippedByte == byte && told.flippedBit == bit);
        opensAfter(after);
      } else {
        ++totals_.flipsInTail;
        REQUIRE(scan.end == begin && after.damages.size() == before.damages.size());
        REQUIRE(scan.tailBytes >= wholeFrameBytes(0));
        size_t count = 0;
        while (count < before.frames.size() && before.frames[count].place.position().packed() < begin.packed()) ++count;
        REQUIRE(after.frames.size() == count && std::equal(after.frames.begin(), after.frames.end(), before.frames.begin()));
      }
      disk_.flip(name, byte, bit);
    }
  }

  /// The frame that was repaired is read by its place, too.
  void opensAfter(const Listens& after) {
    if (random_.below(16) != 0) return;
    SimulatedDisk other(seed_ + 1);
    for (const std::string& name : disk_.fileNames()) other.put(name, disk_.content(name));
    Log log;
    Listens listens(payloads_);
    LogScan scan;
    const LogStatus status = log.open(&other, options_, {before_, 0}, listens, &scan);
    REQUIRE(status == LogStatus::ok && listens.frames == after.frames);
    for (const Told& told : listens.frames) {
      std::vector<uint8_t> bytes(told.place.bytes);
      uint32_t type = 0;
      uint32_t number = 0;
      const LogStatus read = log.read(told.place, bytes.data(), &type);
      REQUIRE(read == LogStatus::ok && type == told.type && payloads_.isRight(bytes.data(), told.place.bytes, &number));
    }
    const LogStatus closed = log.close();
    REQUIRE(closed == LogStatus::ok);
  }

  /// Many wrong bytes in a frame cost this frame alone, and are told.
  void spoils() {
    Listens before(payloads_);
    LogScan whole;
    if (scanLog(disk_, {before_, 0}, before, &whole) != LogStatus::ok) return fault("a scan before the damage");
    std::vector<size_t> proven;
    for (size_t k = 0; k < before.frames.size(); ++k)
      if (before.frames[k].place.position().packed() < whole.synced.packed()) proven.push_back(k);
    for (int turn = 0; turn < 2 && isGood_ && !proven.empty(); ++turn) {
      const size_t victim = proven[random_.below(static_cast<uint32_t>(proven.size()))];
      const LogPlace place = before.frames[victim].place;
      SimulatedDisk::Bytes& bytes = disk_.content(SegmentName(place.segment).text);
      const SimulatedDisk::Bytes kept = bytes;
      const bool isHeadHit = random_.below(2) == 0;
      const uint32_t begin = place.offset + (isHeadHit ? 0 : frameHeadBytes);
      const uint32_t end = place.offset + wholeFrameBytes(place.bytes);
      const uint32_t from = begin + random_.below(isHeadHit ? frameHeadBytes : end - begin);
      const uint32_t count = std::min(end - from, 2 + random_.below(700));
      if (count < 2) continue;
      for (uint32_t k = from; k < from + count; ++k) bytes[k] = static_cast<uint8_t>(bytes[k] ^ (1 + random_.below(255)));
      Listens after(payloads_);
      LogScan scan;
      const LogStatus status = scanLog(disk_, {before_, 0}, after, &scan);
      ++totals_.damaged;
      REQUIRE(status == LogStatus::ok);
      REQUIRE(after.damages.size() == before.damages.size() + 1 && scan.damagedCount == whole.damagedCount + 1 && scan.repairedCount == 0);
      const LogDamage& told = after.damages.back();
      REQUIRE(told.at == place.position() && told.bytes == wholeFrameBytes(place.bytes));
      if (told.kind == LogDamageKind::payload) REQUIRE(told.type == before.frames[victim].type);
      else REQUIRE(told.kind == LogDamageKind::frames && isHeadHit);
      std::vector<Told> expected = before.frames;
      expected.erase(expected.begin() + static_cast<ptrdiff_t>(victim));
      REQUIRE(after.frames == expected && scan.end == whole.end);
      bytes = kept;
    }
  }

  const uint64_t seed_;
  Random random_;
  const Payloads payloads_;
  SimulatedDisk disk_;
  Totals& totals_;
  LogOptions options_;
  std::vector<Appended> appended_;
  size_t flushed_ = 0;
  uint64_t ticket_ = 0;
  size_t ticketCount_ = 0;
  bool hasTicket_ = false;
  uint32_t before_ = 0;
  uint32_t nextNumber_ = 0;
  bool exists_ = false;
  bool isLying_ = false;
  bool isGood_ = true;
};

}  // namespace

int main() {
  const uint64_t first = test::fromEnvironment("EXRP_LOG_SEED", 1);
  const uint64_t count = test::fromEnvironment("EXRP_LOG_SCHEDULES", usualCount);
  Totals totals;
  uint64_t failed = 0;
  for (uint64_t seed = first; seed < first + count && failed < 5; ++seed) {
    if (Schedule(seed, totals).run()) continue;
    ++failed;
    std::printf("again: EXRP_LOG_SEED=%llu EXRP_LOG_SCHEDULES=1\n", static_cast<unsigned long long>(seed));
  }
  const auto say = [](const char* what, uint64_t number) { std::printf("%s %llu, ", what, static_cast<unsigned long long>(number)); };
  say("lives", totals.lives);
  say("crashes", totals.crashes);
  say("failures", totals.failures);
  say("lies", totals.lies);
  say("torn tails", totals.torn);
  say("frames", totals.frames);
  say("repaired", totals.repaired);
  say("flips in the tail", totals.flipsInTail);
  say("spoiled", totals.damaged);
  std::printf("\n");
  return test::checkResult("log/schedules");
}
