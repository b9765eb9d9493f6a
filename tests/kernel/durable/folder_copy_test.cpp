// Segments that were ended never change any more, whatever crashes; and a copy of a folder is whole, and of one moment, on simulated disks.
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/durable/checkpoint_file.hpp"
#include "kernel/durable/folder_copy.hpp"
#include "tests/kernel/durable/forwarding_disk.hpp"
#include "tests/kernel/log/small_log.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

constexpr uint64_t seedFirst = 26112;

using Files = std::map<std::string, SimulatedDisk::Bytes>;

/// What a segment that was ended must be for ever.
void keepEnded(SimulatedDisk& disk, uint32_t next, Files& ended) {
  for (uint32_t segment = 1; segment < next; ++segment) {
    const std::string name = SegmentName(segment).text;
    if (disk.has(name)) ended.emplace(name, disk.content(name));
  }
}

void checkEnded(SimulatedDisk& disk, const Files& ended, uint64_t seed) {
  for (const auto& [name, bytes] : ended) {
    if (disk.has(name) && disk.content(name) == bytes) continue;
    std::printf("%s has changed, seed %llu\n", name.c_str(), static_cast<unsigned long long>(seed));
    CHECK(false);
  }
}

/// A log is written, its segments are ended now and then, and it crashes or is killed at any moment, again and again.
void neverChange(uint64_t seed) {
  Random random(seed, 1);
  SimulatedDisk disk(seed);
  Files ended;
  int number = 0;
  int promised = 0;
  for (int life = 0; life < 6; ++life) {
    Log log;
    LogListener before;
    LogScan scan;
    const LogStatus opened = life == 0 ? log.create(&disk, smallOptions()) : log.open(&disk, smallOptions(), {}, before, &scan);
    CHECK_EQUAL(opened, LogStatus::ok);
    CHECK(before.damages.empty());
    CHECK(before.texts.size() >= static_cast<size_t>(promised));
    number = static_cast<int>(before.texts.size());
    checkEnded(disk, ended, seed);
    for (uint32_t step = random.below(40); step > 0; --step) {
      if (random.below(4) > 0) {
        CHECK_EQUAL(put(log, numbered(number, 20 + random.below(900))), LogStatus::ok);
        ++number;
      } else if (random.below(3) == 0) {
        CHECK_EQUAL(log.flush(), LogStatus::ok);
        promised = number;
      } else {
        uint64_t ticket = 0;
        uint32_t next = 0;
        CHECK_EQUAL(log.endSegment(&ticket, &next), LogStatus::ok);
        CHECK_EQUAL(log.waitFlushed(ticket), LogStatus::ok);
        CHECK(disk.has(SegmentName(next).text));
        keepEnded(disk, next, ended);
        promised = number;
        // One without a frame is not ended again.
        uint32_t again = 0;
        CHECK_EQUAL(log.endSegment(&ticket, &again), LogStatus::ok);
        CHECK_EQUAL(again, next);
      }
    }
    checkEnded(disk, ended, seed);
    if (random.below(3) == 0) {
      CHECK_EQUAL(log.close(), LogStatus::ok);
      promised = number;
    } else {
      if (random.below(2) == 0) disk.crash();
      log.abandon();
      disk.restart();
    }
    checkEnded(disk, ended, seed);
  }
}

std::vector<std::string> textsOf(SimulatedDisk& disk) {
  LogListener listener;
  LogScan scan;
  CHECK_EQUAL(scanAll(disk, listener, &scan), LogStatus::ok);
  CHECK(listener.damages.empty());
  CHECK_EQUAL(scan.tailBytes, 0u);
  return listener.texts;
}

/// Copies at some moment; the log goes on, and so does the copy.
void isOfOneMoment(uint64_t seed) {
  Random random(seed, 2);
  SimulatedDisk disk(seed);
  Log log;
  CHECK_EQUAL(log.create(&disk, smallOptions()), LogStatus::ok);
  std::vector<std::string> texts;
  const auto record = [&](uint32_t count) {
    for (; count > 0; --count) {
      texts.push_back(numbered(static_cast<int>(texts.size()), 20 + random.below(600)));
      CHECK_EQUAL(put(log, texts.back()), LogStatus::ok);
    }
  };
  record(random.below(40));
  SealedFolder sealed;
  sealed.logId = log.id();
  sealed.first = 1;
  if (random.below(2) == 0) sealed.checkpoint = {1, 56};
  CHECK_EQUAL(log.endSegment(&sealed.ticket, &sealed.next), LogStatus::ok);
  const std::vector<std::string> expected = texts;
  record(random.below(20));
  CHECK_EQUAL(log.waitFlushed(sealed.ticket), LogStatus::ok);
  record(random.below(20));
  SimulatedDisk other(seed + 1);
  const FolderCopy copy = copyFolder(disk, other, "", sealed);
  CHECK(!copy.error.isError());
  CHECK_EQUAL(copy.linkedBytes, 0u);
  CHECK(copy.copiedBytes >= segmentHeadBytes + markBytes);
  // All of it is on the disk.
  other.crash();
  other.restart();
  CHECK(textsOf(other) == expected);
  CheckpointFileState state = CheckpointFileState::none;
  LogPosition said;
  LogFailure failure;
  CHECK_EQUAL(readCheckpointFile(other, &state, &said, &failure), LogStatus::ok);
  CHECK(said == sealed.checkpoint);
  CHECK_EQUAL(state, sealed.checkpoint.segment == 0 ? CheckpointFileState::none : CheckpointFileState::whole);
  Files ended;
  keepEnded(other, sealed.next, ended);
  {
    Log second;
    LogListener listener;
    LogScan scan;
    CHECK_EQUAL(second.open(&other, smallOptions(), {}, listener, &scan), LogStatus::ok);
    CHECK_EQUAL(second.id(), log.id());
    CHECK_EQUAL(put(second, "mine"), LogStatus::ok);
    CHECK_EQUAL(second.close(), LogStatus::ok);
  }
  checkEnded(other, ended, seed);
  std::vector<std::string> its = expected;
  its.emplace_back("mine");
  CHECK(textsOf(other) == its);
  CHECK_EQUAL(log.close(), LogStatus::ok);
  CHECK(textsOf(disk) == texts);
}

/// Each call of a copy fails in turn, and the copy says so.
void tellsFailures() {
  SimulatedDisk disk(3);
  Log log;
  CHECK_EQUAL(log.create(&disk, smallOptions()), LogStatus::ok);
  for (int k = 0; k < 30; ++k) CHECK_EQUAL(put(log, numbered(k)), LogStatus::ok);
  SealedFolder sealed;
  sealed.logId = log.id();
  sealed.first = 1;
  sealed.checkpoint = {1, 56};
  CHECK_EQUAL(log.endSegment(&sealed.ticket, &sealed.next), LogStatus::ok);
  CHECK_EQUAL(log.waitFlushed(sealed.ticket), LogStatus::ok);
  bool isDone = false;
  for (uint64_t at = 0; !isDone && at < 1000; ++at) {
    SimulatedDisk other(4);
    other.failAt(at, ENOSPC);
    const FolderCopy copy = copyFolder(disk, other, "", sealed);
    isDone = !other.hasFailed();
    // A failure that it got over leaves it whole.
    if (copy.error.isError()) CHECK_EQUAL(copy.error.system, ENOSPC);
    else CHECK_EQUAL(textsOf(other).size(), 30u);
    CHECK(!isDone || !copy.error.isError());
  }
  CHECK(isDone);
  CHECK_EQUAL(log.close(), LogStatus::ok);
}

/// A disk with little room.
class SmallDisk final : public ForwardingDisk {
 public:
  SmallDisk(Disk& disk, uint64_t free) : ForwardingDisk(disk), free_(free) {}
  DiskError freeBytes(uint64_t* bytes) override {
    *bytes = free_;
    return {};
  }

 private:
  uint64_t free_;
};

void asksForRoom() {
  SimulatedDisk disk(5);
  Log log;
  CHECK_EQUAL(log.create(&disk, smallOptions()), LogStatus::ok);
  for (int k = 0; k < 30; ++k) CHECK_EQUAL(put(log, numbered(k)), LogStatus::ok);
  SealedFolder sealed;
  sealed.first = 1;
  CHECK_EQUAL(log.endSegment(&sealed.ticket, &sealed.next), LogStatus::ok);
  CHECK_EQUAL(log.waitFlushed(sealed.ticket), LogStatus::ok);
  SimulatedDisk other(6);
  constexpr uint64_t spare = uint64_t{1} << 20;
  for (const uint64_t free : {uint64_t{0}, spare, spare + 9000}) {
    SmallDisk small(other, free);
    const FolderCopy copy = copyFolder(disk, small, "", sealed);
    CHECK(!copy.error.isError());
    CHECK(copy.missingBytes > 0);
    CHECK(other.fileNames().empty());
  }
  SmallDisk enough(other, spare + 20000);
  const FolderCopy copy = copyFolder(disk, enough, "", sealed);
  CHECK(!copy.error.isError());
  CHECK_EQUAL(copy.missingBytes, 0u);
  CHECK_EQUAL(textsOf(other).size(), 30u);
  CHECK_EQUAL(log.close(), LogStatus::ok);
}

}  // namespace

int main() {
  for (uint64_t seed = seedFirst; seed < seedFirst + 200; ++seed) {
    neverChange(seed);
    isOfOneMoment(seed);
  }
  tellsFailures();
  asksForRoom();
  return checkResult("folder_copy");
}
