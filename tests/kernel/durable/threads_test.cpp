// A durable replay that several threads share, on the system's disk: some record, one draws and sets priorities, one flushes and waits, one comes and goes, and
// one copies the folder. The log's thread writes beside them, and checkpoints are made. The folder is then opened again, and the replay saves the same bytes.
//
// A second part has one thread, and a log that ends groups by time. In another one, a disk takes long to remove a file. In the last one, older rows are read by a thread while others record, draw, change and evict.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/kernel/durable/durable_side.hpp"
#include "tests/kernel/log/test_folder.hpp"
#include "tests/kernel/share_rows.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

constexpr uint32_t writerCount = 3;
constexpr uint32_t episodeCount = 150;

TestSetup setupOf(double capacity) {
  return {.capacity = capacity, .seed = 7, .policy = policyOf(1, 0, 0.9), .columns = {4, stateCount, 1, 4, 1, 1, 4, 1, 1}};
}

DurableOptions optionsOf(uint32_t intervalMs) {
  DurableOptions options;
  options.log.flushIntervalMs = intervalMs;
  options.log.segmentBytes = 32768;
  options.log.bufferBytes = 4096;
  options.log.queueBytes = 16384;
  options.groupBytes = 3000;
  options.checkpointBytes = 30000;
  return options;
}

void together() {
  const TestFolder folder;
  std::unique_ptr<Disk> disk(folder.disk());
  Side side = {{setupOf(500).create()}};
  CHECK(openDurable(side, *disk, optionsOf(1), true, nullptr) == Status::ok);
  addSelector(side.id(), prioritized());
  const Ticket ticket(side.id());
  std::atomic<uint32_t> writing = writerCount;
  std::vector<std::thread> threads;
  for (uint32_t writer = 0; writer < writerCount; ++writer) {
    threads.emplace_back([&, writer] {
      Random random(3, writer);
      uint32_t id = ticket.attach();
      for (uint32_t episode = 0; episode < episodeCount; ++episode) {
        double handle = 0;
        CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
        Steps steps(id, 1 + random.below(20));
        CHECK_EQUAL(steps.record(id, &handle, writer, episode, 0, random.below(4) == 0 ? 0 : EXRP_RECORD_ENDS, random), 0);
        // Its open episodes end.
        if (random.below(30) > 0) continue;
        CHECK_EQUAL(exrp_replay_destroy(id), 0);
        id = ticket.attach();
      }
      CHECK_EQUAL(exrp_replay_destroy(id), 0);
      --writing;
    });
  }
  threads.emplace_back([&] {
    const uint32_t id = ticket.attach();
    while (writing.load() > 0) {
      Batch batch(id, 16);
      const int32_t status = batch.draw(id, 0, 0.4);
      if (status == EXRP_STATUS_EMPTY) continue;
      CHECK_EQUAL(status, 0);
      batch.check();
      setPriorities(id, 0, batch.handles(), batch.positions(), std::vector<double>(16, 0.5));
    }
    CHECK_EQUAL(exrp_replay_destroy(id), 0);
  });
  threads.emplace_back([&] {
    const uint32_t id = ticket.attach();
    while (writing.load() > 0) {
      double flush = 0;
      CHECK_EQUAL(exrp_durable_group(id, nullptr, 0, 0, &flush), 0);
      CHECK_EQUAL(exrp_durable_wait(id, flush, UINT32_MAX), 0);
      double info[EXRP_DURABLE_INFO_COUNT] = {};
      CHECK_EQUAL(exrp_durable_info(id, info, EXRP_DURABLE_INFO_COUNT), 0);
      CHECK_EQUAL(info[EXRP_DURABLE_INFO_FAILED], 0.0);
    }
    CHECK_EQUAL(exrp_replay_destroy(id), 0);
  });
  // No copy of the folder lacks what it needs, whatever is removed before and behind it.
  threads.emplace_back([&] {
    const uint32_t id = ticket.attach();
    do {
      double copy[EXRP_COPY_COUNT] = {};
      CHECK_EQUAL(exrp_durable_seal(id, nullptr, 0, 0, copy, EXRP_COPY_COUNT), 0);
      CHECK_EQUAL(exrp_durable_wait(id, copy[EXRP_COPY_TICKET], UINT32_MAX), 0);
      const TestFolder to;
      const auto* const path = reinterpret_cast<const uint8_t*>(to.path().c_str());
      CHECK_EQUAL(exrp_durable_copy(id, path, static_cast<uint32_t>(to.path().size()), copy, EXRP_COPY_COUNT), 0);
      CHECK_EQUAL(copy[EXRP_COPY_FAILED], 0.0);
      CHECK_EQUAL(exrp_durable_unseal(id), 0);
      std::unique_ptr<Disk> copied(to.disk());
      Side there = {{setupOf(500).create()}};
      RecoveryReport report;
      CHECK(openDurable(there, *copied, optionsOf(0), false, &report) == Status::ok);
      CHECK_EQUAL(report.lostBlocks + report.repairedCount + report.tailBytes, 0u);
      there.destroy();
    } while (writing.load() > 0);
    CHECK_EQUAL(exrp_replay_destroy(id), 0);
  });
  for (std::thread& thread : threads) thread.join();
  CHECK(side.instance().durable->close() == Status::ok);
  side.instance().durable.reset();
  reopenTwin(side);
  // Not by a checkpoint's end alone, but by what removes the segments before it.
  Disk& files = *disk;
  FileId first = noFile;
  CHECK_EQUAL(files.open(SegmentName(1).text, OpenFile::read, &first).system, ENOENT);
  Side again = {{setupOf(500).create()}};
  RecoveryReport report;
  CHECK(openDurable(again, *disk, optionsOf(0), false, &report) == Status::ok);
  CHECK_EQUAL(report.lostBlocks + report.repairedCount, 0u);
  const char* const what = difference(again, side);
  if (what != nullptr) std::printf("%s\n", what);
  CHECK(what == nullptr);
  again.destroy();
  side.destroy();
}

/// A program that makes few calls, and lets nobody else run: once the interval is over, its next call ends the group, which is then flushed.
void byTime() {
  const TestFolder folder;
  std::unique_ptr<Disk> disk(folder.disk());
  Side side = {{setupOf(100).create()}};
  DurableOptions options = optionsOf(2);
  options.groupBytes = UINT32_MAX;
  CHECK(openDurable(side, *disk, options, true, nullptr) == Status::ok);
  Durable& durable = *side.instance().durable;
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(side.id(), &handle), 0);
  TestRow row(side.id());
  for (uint64_t groups = 1; groups < 4; ++groups) {
    const uint32_t intervals = durable.stream().intervalCount();
    while (durable.stream().intervalCount() == intervals) std::this_thread::yield();
    CHECK_EQUAL(row.record(side.id(), &handle), 0);
    CHECK(durable.groupCount() >= groups);
    const uint64_t end = durable.stream().position().packed();
    while (!durable.stream().isFlushed(end)) std::this_thread::yield();
  }
  side.destroy();
}

/// A disk that may take long to remove a file.
class KeepingDisk final : public ForwardingDisk {
 public:
  using ForwardingDisk::ForwardingDisk;
  DiskError remove(const char* name) override {
    isAsked = true;
    while (isKeeping) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return ForwardingDisk::remove(name);
  }
  bool has(uint32_t segment) {
    FileId file = noFile;
    const DiskError error = open(SegmentName(segment).text, OpenFile::read, &file);
    if (!error.isError()) close(file);
    return !error.isError();
  }

  std::atomic<bool> isKeeping = true;
  std::atomic<bool> isAsked = false;
};

/// Nobody who records or flushes without waiting waits for old segments to be removed.
void besideRemoval() {
  const TestFolder folder;
  std::unique_ptr<Disk> disk(folder.disk());
  KeepingDisk keeping(*disk);
  Side side = {{setupOf(100).create()}};
  CHECK(openDurable(side, keeping, optionsOf(1), true, nullptr) == Status::ok);
  Durable& durable = *side.instance().durable;
  Random random(13, 0);
  uint32_t episode = 0;
  const auto recordAndFlush = [&] {
    double handle = 0;
    CHECK_EQUAL(exrp_episode_create(side.id(), &handle), 0);
    Steps steps(side.id(), 20);
    CHECK_EQUAL(steps.record(side.id(), &handle, 0, episode++, 0, EXRP_RECORD_ENDS, random), 0);
    double flush = 0;
    CHECK_EQUAL(exrp_durable_group(side.id(), nullptr, 0, 0, &flush), 0);
    while (!durable.stream().isFlushed(static_cast<uint64_t>(flush))) std::this_thread::yield();
  };
  while (!keeping.isAsked) recordAndFlush();
  const uint32_t before = durable.stream().flushed().segment;
  while (durable.stream().flushed().segment < before + 5) recordAndFlush();
  CHECK(keeping.has(1));
  // Who waits for a flush finds the folder at rest.
  std::thread waiting([&] {
    CHECK(durable.waitFlushed(durable.stream().flushed().packed(), UINT32_MAX) == Status::ok);
    CHECK(!keeping.has(1));
  });
  keeping.isKeeping = false;
  waiting.join();
  // The next checkpoint takes those that became old meanwhile.
  while (keeping.has(before)) recordAndFlush();
  CHECK(durable.close() == Status::ok);
  side.instance().durable.reset();
  reopenTwin(side);
  Side again = {{setupOf(100).create()}};
  RecoveryReport report;
  CHECK(openDurable(again, *disk, optionsOf(0), false, &report) == Status::ok);
  CHECK_EQUAL(report.lostBlocks + report.repairedCount, 0u);
  CHECK(difference(again, side) == nullptr);
  again.destroy();
  side.destroy();
}

/// A disk whose reads take a while, and may be refused.
class SlowDisk final : public ForwardingDisk {
 public:
  using ForwardingDisk::ForwardingDisk;
  DiskError read(FileId file, uint64_t offset, uint8_t* bytes, size_t size, size_t* readBytes) override {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (!isRefusing) return ForwardingDisk::read(file, offset, bytes, size, readBytes);
    ++refused;
    return {DiskCall::read, EIO};
  }

  std::atomic<bool> isRefusing = false;
  std::atomic<uint32_t> refused = 0;
};

double unreadCount(uint32_t id) {
  double info[EXRP_DURABLE_INFO_COUNT] = {};
  CHECK_EQUAL(exrp_durable_info(id, info, EXRP_DURABLE_INFO_COUNT), 0);
  CHECK_EQUAL(info[EXRP_DURABLE_INFO_LOST_BLOCKS], 0.0);
  return info[EXRP_DURABLE_INFO_UNREAD_BLOCKS];
}

/// Draws, and writes over rows with what they are.
void drawAndUpdate(uint32_t id, Random& random) {
  Batch batch(id, 16);
  CHECK_EQUAL(batch.draw(id, 0, 0.4), 0);
  batch.check();
  const uint32_t column = random.below(2) * 2;
  const uint32_t rowBytes = column == 0 ? stateBytes() : 4;
  const std::vector<double> handles = batch.handles();
  const std::vector<int32_t> positions = batch.positions();
  uint32_t updated = 0;
  const uint8_t* const rows = batch.part(EXRP_BATCH_COLUMN + column);
  CHECK_EQUAL(exrp_rows_set(id, column, handles.data(), positions.data(), 4, rows, 4.0 * rowBytes, &updated), 0);
}

enum class Reopened { closedEarly, together, refused };

/// A replay is opened whose rows a thread reads. It is closed while that thread reads, or at the end: after others recorded, drew and changed, or after the thread alone has
/// read all, also what it could not read at first.
void reopened(uint32_t compression, Reopened how) {
  const bool isClosedEarly = how == Reopened::closedEarly;
  stateCount = 300;
  TestSetup setup = setupOf(2000);
  setup.compression = compression;
  const TestFolder folder;
  std::unique_ptr<Disk> disk(folder.disk());
  DurableOptions options = optionsOf(1);
  Side side = {{setup.create()}};
  CHECK(openDurable(side, *disk, options, true, nullptr) == Status::ok);
  addSelector(side.id(), prioritized());
  Random random(5, compression);
  const auto record = [](uint32_t id, uint32_t writer, uint32_t episode, Random& numbers) {
    double handle = 0;
    CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
    Steps steps(id, 1 + numbers.below(60));
    CHECK_EQUAL(steps.record(id, &handle, writer, episode, 0, EXRP_RECORD_ENDS, numbers), 0);
  };
  for (uint32_t episode = 0; episode < 100; ++episode) record(side.id(), 9, episode, random);
  CHECK(side.instance().durable->close() == Status::ok);
  side.destroy();

  SlowDisk slow(*disk);
  options.readNowBytes = 0;
  side.seats = {setup.create()};
  RecoveryReport report;
  CHECK(openDurable(side, slow, options, false, &report) == Status::ok);
  CHECK(unreadCount(side.id()) > 20);
  if (isClosedEarly) {
    drawAndUpdate(side.id(), random);
    CHECK(unreadCount(side.id()) > 0);
  } else if (how == Reopened::refused) {
    const auto moment = std::chrono::milliseconds(1);
    slow.isRefusing = true;
    while (slow.refused < 10) std::this_thread::sleep_for(moment);
    CHECK(unreadCount(side.id()) > 0);
    slow.isRefusing = false;
    while (unreadCount(side.id()) > 0) std::this_thread::sleep_for(moment);
  } else {
    const Ticket ticket(side.id());
    std::atomic<uint32_t> writing = writerCount;
    std::vector<std::thread> threads;
    for (uint32_t writer = 0; writer < writerCount; ++writer) {
      threads.emplace_back([&, writer] {
        Random numbers(11, writer);
        const uint32_t id = ticket.attach();
        for (uint32_t episode = 0; episode < 20 || unreadCount(id) > 0; ++episode) record(id, writer, episode, numbers);
        --writing;
        CHECK_EQUAL(exrp_replay_destroy(id), 0);
      });
    }
    threads.emplace_back([&] {
      Random numbers(12, 0);
      const uint32_t id = ticket.attach();
      while (writing.load() > 0) drawAndUpdate(id, numbers);
      CHECK_EQUAL(exrp_replay_destroy(id), 0);
    });
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(unreadCount(side.id()), 0.0);
  }
  CHECK(side.instance().durable->close() == Status::ok);
  side.instance().durable.reset();
  options.readNowBytes = UINT64_MAX;
  Side again = {{setup.create()}};
  CHECK(openDurable(again, *disk, options, false, &report) == Status::ok);
  CHECK_EQUAL(report.lostBlocks + report.repairedCount, 0u);
  // One that was closed early has rows no more.
  reopenTwin(side);
  const char* const what = isClosedEarly ? nullptr : difference(again, side);
  if (what != nullptr) std::printf("%s\n", what);
  CHECK(what == nullptr);
  for (uint32_t draws = 0; draws < 50; ++draws) drawAndUpdate(again.id(), random);
  again.destroy();
  side.destroy();
  stateCount = 5;
}

}  // namespace

int main() {
  together();
  byTime();
  besideRemoval();
  for (const uint32_t compression : {EXRP_COMPRESSION_NONE, EXRP_COMPRESSION_FAST}) {
    reopened(compression, Reopened::together);
    reopened(compression, Reopened::closedEarly);
  }
  reopened(EXRP_COMPRESSION_NONE, Reopened::refused);
  return checkResult("durable/threads");
}
