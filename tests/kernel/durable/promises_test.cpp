// What a durable replay promises, case by case: where the disk fails, where it can't be read, where the folder is removed, and what is refused before
// anything is made. The file is long because each promise has a case of its own.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "tests/kernel/durable/durable_side.hpp"
#include "tests/kernel/log/simulated_disk.hpp"
#include "tests/kernel/log/test_folder.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

constexpr uint32_t width = 40;

TestSetup setupOf(double capacity, uint32_t stateWidth = width) {
  return {.capacity = capacity, .seed = 7, .columns = {4, stateWidth, 1, 4, 1, 1, 4, 1, 1}};
}

DurableOptions optionsOf() {
  DurableOptions options;
  options.log.isThreaded = false;
  options.log.flushIntervalMs = 0;
  options.log.segmentBytes = 8192;
  options.log.bufferBytes = 1024;
  options.groupBytes = UINT32_MAX;
  options.checkpointBytes = 20000;
  return options;
}

Side opened(Disk& disk, const DurableOptions& options, bool isNew, const TestSetup& setup, RecoveryReport* report = nullptr) {
  RecoveryReport ignored;
  Side side = {{setup.create()}};
  const Status status = openDurable(side, disk, options, isNew, report == nullptr ? &ignored : report);
  CHECK_EQUAL(status, Status::ok);
  if (status != Status::ok) std::exit(checkResult("durable/promises"));
  return side;
}

/// Records so many steps into an episode of their own.
double record(const Side& side, uint32_t count, uint32_t seat = 0, uint32_t stateWidth = width) {
  double handle = -1;
  CHECK_EQUAL(exrp_episode_create(side.seats[seat], &handle), 0);
  TestSteps steps(side.seats[seat], count, 3, 4 * stateWidth);
  for (size_t k = 0; k < size_t{count} * stateWidth; ++k) steps.part<float>(EXRP_STEPS_COLUMN)[k] = static_cast<float>(k);
  CHECK_EQUAL(steps.recordMany(side.seats[seat], &handle), 0);
  return handle;
}

int32_t flush(const Side& side) {
  double ticket = 0;
  const int32_t status = exrp_durable_group(side.id(), nullptr, 0, 0, &ticket);
  return status == 0 ? exrp_durable_wait(side.id(), ticket, UINT32_MAX) : status;
}

void checkSame(const Side& one, const Side& other) {
  const char* const what = difference(one, other);
  if (what != nullptr) std::printf("%s\n", what);
  CHECK(what == nullptr);
}

/// The disk fails while a checkpoint is made. The replay goes on in memory, and can be saved otherwise: now more than ever.
void savesAfterFailure() {
  SimulatedDisk disk(1);
  DurableOptions options = optionsOf();
  options.goesOn = true;
  options.pieceBytes = 64;
  options.pumpBytes = 1;
  Side side = opened(disk, options, true, setupOf(300));
  Side twin = {{setupOf(300).create()}};
  for (int k = 0; k < 20; ++k) {
    record(side, 10);
    record(twin, 10);
    CHECK_EQUAL(flush(side), 0);
  }
  disk.failAt(0, ENOSPC);
  for (int k = 0; k < 20; ++k) {
    record(side, 10);
    record(twin, 10);
    (void)flush(side);
  }
  CHECK_EQUAL(flush(side), EXRP_STATUS_LOG);
  CHECK_EQUAL(errorDetail[2], double{ENOSPC});
  checkSame(side, twin);
  side.destroy();
  twin.destroy();
}

/// A change of many rows goes into the log in pieces.
void wideUpdate() {
  constexpr uint32_t rows = 300;
  constexpr uint32_t wide = 7000;
  SimulatedDisk disk(2);
  DurableOptions options = optionsOf();
  options.log.segmentBytes = 64 << 20;
  options.log.bufferBytes = 64 << 20;
  options.log.queueBytes = 256 << 20;
  Side side = opened(disk, options, true, setupOf(rows, wide));
  const double handle = record(side, rows, 0, wide);
  CHECK_EQUAL(flush(side), 0);
  const std::vector<double> handles(rows, handle);
  std::vector<int32_t> positions;
  for (uint32_t k = 0; k < rows; ++k) positions.push_back(static_cast<int32_t>(k));
  const std::vector<uint8_t> changed(size_t{rows} * wide * 4, 0x3f);
  uint32_t updated = 0;
  CHECK_EQUAL(exrp_rows_set(side.id(), 0, handles.data(), positions.data(), rows, changed.data(), static_cast<double>(changed.size()), &updated), 0);
  CHECK_EQUAL(updated, rows);
  CHECK_EQUAL(flush(side), 0);
  side.instance().durable->abandon();
  // No command has more than its share of the frame.
  class Commands : public LogVisitor {
   public:
    uint32_t largest = 0;

   private:
    bool frame(const LogFrame& frame) override {
      for (uint32_t at = 0; frame.type == commandsFrame && at < frame.place.bytes;) {
        CommandHead head;
        memcpy(&head, frame.payload + at, sizeof head);
        largest = head.bytes > largest ? head.bytes : largest;
        at += static_cast<uint32_t>(sizeof head) + padded(head.bytes);
      }
      return true;
    }
    bool damage(const LogDamage&) override { return false; }
  } commands;
  LogScan scan;
  CHECK(scanLog(disk, {}, commands, &scan) == LogStatus::ok);
  CHECK(commands.largest > 0 && commands.largest < (1u << 20) + 4096);
  Side again = opened(disk, options, false, setupOf(rows, wide));
  checkSame(again, side);
  again.destroy();
  side.destroy();
}

/// What several calls change under a hold is on the disk as a whole, or not at all, however soon groups end.
void heldCalls() {
  for (const bool isEnded : {false, true}) {
    SimulatedDisk disk(3);
    DurableOptions options = optionsOf();
    options.groupBytes = 1;
    Side side = opened(disk, options, true, setupOf(300));
    Side twin = {{setupOf(300).create()}};
    const double handle = record(side, 1);
    record(twin, 1);
    CHECK_EQUAL(flush(side), 0);
    const auto update = [&](const Side& of) {
      const std::vector<uint8_t> changed(4 * size_t{width}, 0x3f);
      const int32_t position = 0;
      uint32_t updated = 0;
      for (const uint32_t column : {0, 2}) {
        CHECK_EQUAL(exrp_rows_set(of.id(), column, &handle, &position, 1, changed.data(), column == 0 ? 4 * width : 4, &updated), 0);
        CHECK_EQUAL(updated, 1u);
      }
    };
    Durable& durable = *side.instance().durable;
    const uint64_t groups = durable.groupCount();
    // Holds are nested.
    for (int k = 0; k < 2; ++k) CHECK_EQUAL(exrp_hold_begin(side.id()), 0);
    update(side);
    CHECK_EQUAL(exrp_hold_end(side.id()), 0);
    CHECK_EQUAL(durable.groupCount(), groups);
    if (isEnded) {
      CHECK_EQUAL(exrp_hold_end(side.id()), 0);
      CHECK_EQUAL(durable.groupCount(), groups + 1);
      update(twin);
    }
    CHECK_EQUAL(durable.waitFlushed(durable.requestFlush(), UINT32_MAX), Status::ok);
    durable.abandon();
    Side again = opened(disk, options, false, setupOf(300));
    checkSame(again, twin);
    for (Side* const each : {&side, &twin, &again}) each->destroy();
  }
}

/// What has no place in a log is refused when the folder is opened, and not later.
void refusals() {
  SimulatedDisk disk(3);
  Side used = {{setupOf(100).create()}};
  record(used, 3);
  CHECK_EQUAL(openDurable(used, disk, optionsOf(), true, nullptr), Status::argument);
  used.destroy();
  Side selecting = {{setupOf(100).create()}};
  addSelector(selecting.id(), uniform());
  CHECK_EQUAL(openDurable(selecting, disk, optionsOf(), true, nullptr), Status::argument);
  selecting.destroy();
  // 1024 rows of 2 MiB are one block.
  TestSetup large = setupOf(2048, 1 << 19);
  large.blockLength = 1024;
  Side wide = {{large.create()}};
  CHECK_EQUAL(openDurable(wide, disk, optionsOf(), true, nullptr), Status::log);
  CHECK(reason() == LogStatus::argument);
  wide.destroy();
  CHECK(disk.fileNames().empty());
}

/// Somebody removes the folder of a replay that is open: no flush says that all is well.
void removedFolder() {
  for (const bool hasMore : {true, false}) {
    const TestFolder folder;
    const std::string path = folder.path() + "/inner";
    Disk* made = nullptr;
    CHECK(!openDisk(path.c_str(), true, &made).isError());
    const std::unique_ptr<Disk> disk(made);
    Side side = opened(*disk, optionsOf(), true, setupOf(100));
    record(side, 10);
    CHECK_EQUAL(flush(side), 0);
    DiskFiles files;
    CHECK(!disk->list(&files).isError());
    for (size_t k = 0; k < files.count; ++k) CHECK(!disk->remove(files.files[k].name).isError());
    CHECK_EQUAL(rmdir(path.c_str()), 0);
    if (hasMore) record(side, 10);
    CHECK_EQUAL(flush(side), EXRP_STATUS_LOG);
    CHECK(reason() == LogStatus::disk);
    CHECK_EQUAL(errorDetail[1], double{EXRP_DISK_CHECK});
    side.destroy();
  }
}

/// Each call that reads fails once while a folder is opened. That is an error, and nothing else: a disk that can't be read now has lost nothing.
void unreadable(bool isNamed) {
  SimulatedDisk disk(4);
  Side twin = opened(disk, optionsOf(), true, setupOf(300));
  for (int k = 0; k < 30; ++k) {
    record(twin, 20);
    CHECK_EQUAL(flush(twin), 0);
  }
  CHECK(twin.instance().durable->close() == Status::ok);
  twin.instance().durable.reset();
  CHECK(disk.has(checkpointName) && !disk.has(SegmentName(1).text));
  // Without the file, the log itself is searched for its checkpoint.
  if (!isNamed) CHECK(!disk.remove(checkpointName).isError() && !disk.syncFolder().isError());
  const auto files = disk.files();
  uint64_t failures = 0;
  for (bool isOpen = false; !isOpen && failureCount == 0; ++failures) {
    disk.setFiles(files);
    Side side = {{setupOf(300).create()}};
    disk.failReadAt(failures, EIO);
    RecoveryReport report;
    const Status status = openDurable(side, disk, optionsOf(), false, &report);
    isOpen = status == Status::ok;
    if (isOpen) {
      CHECK(!disk.hasFailed() && !report.isDamaged);
      checkSame(side, twin);
    } else {
      CHECK(status == Status::log && reason() == LogStatus::disk && errorDetail[1] > 0);
      CHECK_EQUAL(errorDetail[2], double{EIO});
    }
    side.destroy();
    disk.restart();
  }
  CHECK(failures > 10);
  twin.destroy();
}

/// A Worker's open episodes stay open where the program was killed, and belong to nobody who comes later.
void gone() {
  SimulatedDisk disk(5);
  Side side = opened(disk, optionsOf(), true, setupOf(300));
  const auto attach = [](Side& to) { to.seats.push_back(Ticket(to.id()).attach()); };
  attach(side);
  const double handle = record(side, 5, 1);
  CHECK_EQUAL(flush(side), 0);
  side.instance().durable->abandon();
  side.destroy();
  for (int life = 0; life < 3; ++life) {
    Side again = opened(disk, optionsOf(), false, setupOf(300));
    attach(again);
    record(again, 5, 1);
    CHECK_EQUAL(exrp_replay_destroy(again.seats[1]), 0);
    again.seats.pop_back();
    double info[EXRP_EPISODE_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_episode_info(again.id(), handle, info, EXRP_EPISODE_INFO_COUNT), 0);
    CHECK_EQUAL(info[EXRP_EPISODE_STATE], double{EXRP_EPISODE_OPEN});
    CHECK_EQUAL(info[EXRP_EPISODE_RECORD_COUNT], 5.0);
    CHECK_EQUAL(flush(again), 0);
    again.instance().durable->abandon();
    again.destroy();
  }
}

/// A flipped bit of the file that names the checkpoint is repaired, and told.
void namedCheckpoint() {
  SimulatedDisk disk(6);
  Side twin = opened(disk, optionsOf(), true, setupOf(300));
  for (int k = 0; k < 30; ++k) {
    record(twin, 20);
    CHECK_EQUAL(flush(twin), 0);
  }
  CHECK(twin.instance().durable->close() == Status::ok);
  twin.instance().durable.reset();
  const auto files = disk.files();
  for (uint32_t bit = 0; bit < 8 * sizeof(CheckpointFile) && failureCount == 0; ++bit) {
    disk.setFiles(files);
    disk.flip(checkpointName, bit / 8, bit % 8);
    RecoveryReport report;
    Side side = opened(disk, optionsOf(), false, setupOf(300), &report);
    CHECK_EQUAL(report.repairedCount, 1u);
    checkSame(side, twin);
    side.destroy();
  }
  twin.destroy();
}

/// More than a bit of some rows is damaged, in a way that looks like one flipped bit. They are lost, and their episode goes, but nothing else.
void damageLikeOneBit() {
  // With `isOld`, the rows lie before the checkpoint.
  for (const bool isOld : {true, false}) {
    DurableOptions options = optionsOf();
    if (!isOld) options.checkpointBytes = UINT64_MAX;
    SimulatedDisk disk(10);
    Side twin = opened(disk, options, true, setupOf(300));
    for (int k = 0; k < 12; ++k) {
      record(twin, 20);
      CHECK_EQUAL(flush(twin), 0);
    }
    CHECK(twin.instance().durable->close() == Status::ok);
    twin.instance().durable.reset();
    CHECK_EQUAL(disk.has(checkpointName), isOld);
    const EpisodeBook& book = twin.instance().replay.book();
    const uint32_t block = book.episodes()[book.episodes().oldest()].firstBlock;
    const auto episode = static_cast<double>(book.store().handleOf(block));
    const LogPlace place = book.part<LoggedRows>().place(block);
    uint8_t* const payload = disk.content(SegmentName(place.segment).text).data() + place.offset + frameHeadBytes;
    // The polynomial of the checksum changes no checksum. It goes over the handle.
    uint64_t handle = 0;
    memcpy(&handle, payload, sizeof handle);
    handle ^= uint64_t{checksumPolynomial} << 1 | 1;
    memcpy(payload, &handle, sizeof handle);
    payload[place.bytes / 2] ^= 4;
    RecoveryReport report;
    Side side = opened(disk, options, false, setupOf(300), &report);
    CHECK(report.isDamaged && report.lostBlocks == 1 && report.damage == place.position());
    CHECK_EQUAL(exrp_episode_evict(twin.id(), episode), 0);
    checkSame(side, twin);
    side.destroy();
    twin.destroy();
  }
}

/// A log without a checkpoint has lost its first segment. What the others have is not all of a replay.
void lostBeginning() {
  SimulatedDisk disk(11);
  DurableOptions options = optionsOf();
  options.checkpointBytes = UINT64_MAX;
  Side side = opened(disk, options, true, setupOf(300));
  // The second segment has no group, so no number of a group tells.
  while (!disk.has(SegmentName(2).text)) {
    record(side, 20);
    side.instance().durable->stream().work();
  }
  side.instance().durable->abandon();
  side.destroy();
  auto files = disk.files();
  files.erase(SegmentName(1).text);
  disk.setFiles(files);
  side = {{setupOf(300).create()}};
  RecoveryReport report;
  CHECK_EQUAL(openDurable(side, disk, options, false, &report), Status::log);
  CHECK(reason() == LogStatus::damaged && errorDetail[1] == 1 && errorDetail[2] == 0 && report.isDamaged);
  side.destroy();
}

/// A block is written whole, with all rows that it has. Many blocks that are half full, or one that is large, are not written again for each row.
void writtenOnce() {
  for (const bool isLarge : {true, false}) {
    SimulatedDisk disk(9);
    DurableOptions options;
    options.log.isThreaded = false;
    options.log.flushIntervalMs = 0;
    options.checkpointBytes = UINT64_MAX;
    options.groupBytes = 1 << 14;
    const uint32_t wide = isLarge ? 512 : 64;
    TestSetup setup = setupOf(40000, wide);
    setup.blockLength = isLarge ? 128 : 16;
    Side side = opened(disk, options, true, setup);
    const uint32_t count = isLarge ? 1 : 300;
    std::vector<double> handles(count);
    for (double& handle : handles) CHECK_EQUAL(exrp_episode_create(side.seats[0], &handle), 0);
    TestSteps steps(side.seats[0], 1, 3, 4 * wide);
    uint32_t rows = 0;
    for (uint32_t turn = 0; turn < 6000 / count; ++turn, rows += count) {
      for (double& handle : handles) CHECK_EQUAL(steps.recordMany(side.seats[0], &handle), 0);
    }
    CHECK_EQUAL(flush(side), 0);
    const uint64_t written = side.instance().durable->stream().counts().writtenBytes;
    const uint64_t recorded = uint64_t{rows} * side.instance().replay.book().store().recordBytes();
    CHECK(written >= recorded && written < 5 * recorded / 2);
    side.destroy();
  }
}

/// The only mark that says what was on the disk lies in the torn tail. It is cut, and what was flushed is proven anew: a bit that flips later costs nothing.
void provenByTail() {
  SimulatedDisk disk(8);
  DurableOptions options = optionsOf();
  options.groupBytes = 64;
  Side twin = {{setupOf(300).create()}};
  Side side = opened(disk, options, true, setupOf(300));
  record(side, 5);
  record(twin, 5);
  CHECK_EQUAL(flush(side), 0);
  const std::string name = SegmentName(1).text;
  class : public LogVisitor {
   public:
    LogPosition last;
    uint32_t end = 0;

   private:
    bool frame(const LogFrame& frame) override {
      last = frame.place.position();
      end = frame.place.offset + wholeFrameBytes(frame.place.bytes);
      return true;
    }
    bool damage(const LogDamage&) override { return false; }
  } frames;
  LogScan scan;
  CHECK(scanLog(disk, {}, frames, &scan) == LogStatus::ok);
  // More is written in some buffers, and not synced. Of the first one, the beginning is lost.
  for (int k = 0; k < 3; ++k) record(side, 12);
  while (side.instance().durable->stream().work()) {}
  CHECK(disk.content(name).size() > frames.end + 1024u);
  memset(disk.content(name).data() + frames.end, 0, 64);
  side.instance().durable->abandon();
  side.destroy();
  RecoveryReport report;
  side = opened(disk, options, false, setupOf(300), &report);
  CHECK(report.tailBytes > 0 && !report.isDamaged);
  checkSame(side, twin);
  CHECK(side.instance().durable->close() == Status::ok);
  side.instance().durable.reset();
  side.destroy();
  disk.flip(name, frames.last.offset + 4, 2);
  side = opened(disk, options, false, setupOf(300), &report);
  CHECK_EQUAL(report.repairedCount, 1u);
  checkSame(side, twin);
  side.destroy();
  twin.destroy();
}

/// The segments of a disk, in order.
std::vector<uint32_t> segmentsOf(Disk& disk) {
  LogSegments listed;
  LogFailure failure;
  CHECK(listSegments(disk, &listed, &failure) == LogStatus::ok);
  std::vector<uint32_t> found;
  for (size_t k = 0; k < listed.count; ++k) found.push_back(listed.segments[k].segment);
  return found;
}

/// A power cut may bring some removed segments back, with gaps between. The next checkpoint makes the folder as small as it would be without them.
void removedSegmentsComeBack() {
  SimulatedDisk disk(7);
  DurableOptions options = optionsOf();
  options.log.segmentBytes = 4096;
  Side side = opened(disk, options, true, setupOf(2000));
  std::map<std::string, SimulatedDisk::Bytes> removed;
  std::vector<double> handles;
  for (size_t k = 0; k < 200; ++k) {
    for (const auto& [name, bytes] : disk.files())
      if (name.rfind("log-", 0) == 0) removed[name] = bytes;
    handles.push_back(record(side, 3));
    CHECK_EQUAL(flush(side), 0);
    if (k >= 60) CHECK_EQUAL(exrp_episode_evict(side.id(), handles[k - 60]), 0);
  }
  CHECK(side.instance().durable->close() == Status::ok);
  side.destroy();
  const auto files = disk.files();
  const std::vector<uint32_t> before = segmentsOf(disk);
  CHECK(before[0] > 4);
  std::vector<uint32_t> left[2];
  for (const bool isBack : {false, true}) {
    auto found = files;
    if (isBack) {
      for (const uint32_t segment : {1u, 3u}) found[SegmentName(segment).text] = removed.at(SegmentName(segment).text);
    }
    disk.setFiles(found);
    disk.restart();
    Side again = opened(disk, options, false, setupOf(2000));
    // Most of what is left of each segment goes.
    for (size_t k = 140; k < 200; ++k)
      if (k % 6 > 0) CHECK_EQUAL(exrp_episode_evict(again.id(), handles[k]), 0);
    const SimulatedDisk::Bytes checkpoint = disk.content(checkpointName);
    for (int k = 0; k < 200 && disk.content(checkpointName) == checkpoint; ++k) {
      record(again, 3);
      CHECK_EQUAL(flush(again), 0);
    }
    CHECK(disk.content(checkpointName) != checkpoint);
    left[isBack ? 1 : 0] = segmentsOf(disk);
    CHECK(again.instance().durable->close() == Status::ok);
    again.destroy();
  }
  CHECK(left[0][0] > before[0]);
  CHECK(left[0] == left[1]);
}

/// Rows that stay do not keep what was written behind them: they are written again once the folder has twice their bytes, so its size is bounded.
void boundedFolder() {
  SimulatedDisk disk(9);
  Side side = opened(disk, optionsOf(), true, setupOf(300));
  record(side, 250);
  double empty = -1;
  CHECK_EQUAL(exrp_episode_create(side.id(), &empty), 0);
  CHECK_EQUAL(flush(side), 0);
  const auto folderBytes = [&] {
    DiskFiles files;
    CHECK(!disk.list(&files).isError());
    uint64_t bytes = 0;
    for (size_t k = 0; k < files.count; ++k) bytes += files.files[k].bytes;
    return bytes;
  };
  const uint64_t rows = folderBytes();
  uint64_t most = 0;
  uint64_t written = 0;
  for (int32_t round = 0; round < 60; ++round) {
    for (int32_t k = 0; k < 300; ++k) CHECK_EQUAL(exrp_episode_tag(side.id(), empty, k), 0);
    CHECK_EQUAL(flush(side), 0);
    most = std::max(most, folderBytes());
    written = side.instance().durable->stream().counts().writtenBytes;
  }
  CHECK(written > 10 * rows);
  if (most > 3 * rows + 2 * optionsOf().checkpointBytes) std::printf("rows %g, most %g, written %g\n", double(rows), double(most), double(written));
  CHECK(most <= 3 * rows + 2 * optionsOf().checkpointBytes);
  side.instance().durable->abandon();
  Side again = opened(disk, optionsOf(), false, setupOf(300));
  checkSame(again, side);
  again.destroy();
  side.destroy();
}

/// A program is killed again and again, after a few records each time. Each leaves a segment of its own, but checkpoints let these go: with usual options, and with small ones.
void killedOften() {
  for (const bool isUsual : {true, false}) {
    SimulatedDisk disk(21);
    DurableOptions options = isUsual ? DurableOptions{} : optionsOf();
    options.log.isThreaded = false;
    options.log.flushIntervalMs = 0;
    Side side = opened(disk, options, true, setupOf(300));
    Side twin = {{setupOf(300).create()}};
    size_t most = 0;
    for (int life = 0; life < 1000; ++life) {
      record(side, 10);
      record(twin, 10);
      CHECK_EQUAL(flush(side), 0);
      CHECK_EQUAL(flush(side), 0);
      side.instance().durable->abandon();
      side.destroy();
      disk.kill();
      reopenTwin(twin);
      most = std::max(most, disk.files().size());
      side = opened(disk, options, false, setupOf(300));
      if (life % 100 == 0) checkSame(side, twin);
    }
    if (most > 150) std::printf("%zu files\n", most);
    CHECK(most > 10 && most <= 150);
    checkSame(side, twin);
    side.destroy();
    twin.destroy();
  }
}

/// Programs that only open and close a folder do not change it, however much its log has: no checkpoint begins that nobody would finish.
void closedAtOnce() {
  SimulatedDisk disk(22);
  DurableOptions options = optionsOf();
  options.checkpointBytes = UINT64_MAX;
  Side side = opened(disk, options, true, setupOf(300));
  for (int k = 0; k < 60; ++k) record(side, 10);
  const auto close = [&] {
    CHECK(side.instance().durable->close() == Status::ok);
    side.instance().durable.reset();
    side.destroy();
    disk.kill();
  };
  close();
  const auto files = disk.files();
  for (int life = 0; life < 5; ++life) {
    side = opened(disk, optionsOf(), false, setupOf(300));
    close();
    CHECK(disk.files() == files);
  }
  side = opened(disk, optionsOf(), false, setupOf(300));
  for (int k = 0; k < 3; ++k) {
    record(side, 1);
    CHECK_EQUAL(flush(side), 0);
  }
  CHECK(disk.has(checkpointName));
  close();
}

}  // namespace

int main() {
  removedSegmentsComeBack();
  savesAfterFailure();
  wideUpdate();
  heldCalls();
  refusals();
  removedFolder();
  unreadable(true);
  unreadable(false);
  gone();
  namedCheckpoint();
  provenByTail();
  damageLikeOneBit();
  lostBeginning();
  writtenOnce();
  boundedFolder();
  killedOften();
  closedAtOnce();
  return checkResult("durable/promises");
}
