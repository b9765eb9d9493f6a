// The log's thread, beside a caller that appends, and others that read, wait and remove: each frame is read as it was appended, whenever; who
// waits for a flush is woken, also by a failure; segments are removed; and logs are closed with whatever is still to be done.
#include <atomic>
#include <cerrno>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/log/log.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/log/log_listener.hpp"
#include "tests/kernel/log/simulated_disk.hpp"

using namespace exrp;
using exrp::test::LogListener;
using exrp::test::SimulatedDisk;

namespace {

/// A simulated disk for many threads.
class LockedDisk : public Disk {
 public:
  explicit LockedDisk(uint64_t seed) : disk_(seed) {}
  template <typename Body>
  auto with(Body body) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return body(disk_);
  }
  DiskError open(const char* name, OpenFile how, FileId* file) override {
    return with([&](SimulatedDisk& disk) { return disk.open(name, how, file); });
  }
  DiskError close(FileId file) override { return with([&](SimulatedDisk& disk) { return disk.close(file); }); }
  DiskError size(FileId file, uint64_t* bytes) override { return with([&](SimulatedDisk& disk) { return disk.size(file, bytes); }); }
  DiskError read(FileId file, uint64_t offset, uint8_t* bytes, size_t size, size_t* readBytes) override {
    return with([&](SimulatedDisk& disk) { return disk.read(file, offset, bytes, size, readBytes); });
  }
  DiskError write(FileId file, uint64_t offset, const uint8_t* bytes, size_t size) override {
    return with([&](SimulatedDisk& disk) { return disk.write(file, offset, bytes, size); });
  }
  DiskError sync(FileId file) override { return with([&](SimulatedDisk& disk) { return disk.sync(file); }); }
  DiskError truncate(FileId file, uint64_t bytes) override { return with([&](SimulatedDisk& disk) { return disk.truncate(file, bytes); }); }
  DiskError rename(const char* from, const char* to) override { return with([&](SimulatedDisk& disk) { return disk.rename(from, to); }); }
  DiskError remove(const char* name) override { return with([&](SimulatedDisk& disk) { return disk.remove(name); }); }
  DiskError list(DiskFiles* files) override { return with([&](SimulatedDisk& disk) { return disk.list(files); }); }
  DiskError syncFolder() override { return with([&](SimulatedDisk& disk) { return disk.syncFolder(); }); }
  DiskError findFolder() override { return with([&](SimulatedDisk& disk) { return disk.findFolder(); }); }
  DiskError freeBytes(uint64_t* bytes) override { return with([&](SimulatedDisk& disk) { return disk.freeBytes(bytes); }); }
  DiskError lock(const char* name, bool* isTaken) override { return with([&](SimulatedDisk& disk) { return disk.lock(name, isTaken); }); }

 private:
  std::mutex mutex_;
  SimulatedDisk disk_;
};

LogOptions optionsOf(Random& random) {
  LogOptions options;
  options.segmentBytes = 4096u << random.below(4);
  options.bufferBytes = 256u << random.below(5);
  options.queueBytes = 1024u << random.below(5);
  options.flushIntervalMs = random.below(3);
  return options;
}

std::string textOf(uint32_t number, uint32_t size) {
  Random random(77, number);
  std::string text(size, 0);
  for (char& letter : text) letter = static_cast<char>(random.next());
  return text;
}

struct Shared {
  std::mutex mutex;
  std::vector<LogPlace> places;
  std::vector<uint64_t> tickets;
  std::atomic<bool> isOver = false;
  std::atomic<uint32_t> removedBefore = 0;
  std::atomic<uint64_t> reads = 0;
};

void readerOf(Log& log, Shared& shared, uint64_t seed) {
  Random random(seed, 1);
  std::string text;
  while (!shared.isOver.load()) {
    LogPlace place;
    uint32_t number = 0;
    uint64_t ticket = 0;
    {
      const std::lock_guard<std::mutex> lock(shared.mutex);
      if (shared.places.empty()) continue;
      // The newest ones are in memory.
      const auto count = static_cast<uint32_t>(shared.places.size());
      number = random.below(2) == 0 ? random.below(count) : count - 1 - random.below(std::min(count, 8u));
      place = shared.places[number];
      if (!shared.tickets.empty()) ticket = shared.tickets[random.below(static_cast<uint32_t>(shared.tickets.size()))];
    }
    text.assign(place.bytes, 0);
    uint32_t type = 0;
    if (place.segment >= shared.removedBefore.load() + 2) {
      const LogStatus status = log.read(place, reinterpret_cast<uint8_t*>(text.data()), &type);
      // Its segment may be gone since.
      if (status != LogStatus::ok) CHECK(place.segment < shared.removedBefore.load());
      else CHECK(text == textOf(number, place.bytes) && type == 1 + number % 5);
      shared.reads.fetch_add(1);
    }
    if (random.below(8) == 0) {
      const LogStatus status = log.waitFlushed(ticket, random.below(3));
      CHECK(status == LogStatus::ok || status == LogStatus::timeout);
      if (status == LogStatus::ok) CHECK(log.isFlushed(ticket));
    }
    if (random.below(16) == 0) (void)log.counts();
  }
}

void beside(uint64_t seed) {
  Random random(seed, 0);
  LockedDisk disk(seed);
  Log log;
  CHECK_EQUAL(log.create(&disk, optionsOf(random)), LogStatus::ok);
  Shared shared;
  std::vector<std::thread> threads;
  for (uint64_t k = 0; k < 2; ++k) threads.emplace_back([&, k] { readerOf(log, shared, seed * 10 + k); });
  const uint32_t count = 600;
  std::deque<std::string> texts;  // what is copied late stays
  for (uint32_t number = 0; number < count; ++number) {
    const uint32_t size = random.below(random.below(10) == 0 ? 6000 : 400);
    const std::string& text = texts.emplace_back(textOf(number, size));
    LogPlace place;
    if (random.below(2) == 0) {
      CHECK_EQUAL(log.append(1 + number % 5, text.data(), size, &place), LogStatus::ok);
    } else {
      uint8_t* payload = nullptr;
      const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
      CHECK_EQUAL(log.begin(size, &payload), LogStatus::ok);
      if (!log.late()->add(payload, bytes, size)) memcpy(payload, bytes, size);
      CHECK_EQUAL(log.end(1 + number % 5, size, &place), LogStatus::ok);
    }
    {
      const std::lock_guard<std::mutex> lock(shared.mutex);
      shared.places.push_back(place);
    }
    if (random.below(10) == 0) {
      const uint64_t ticket = log.requestFlush();
      const std::lock_guard<std::mutex> lock(shared.mutex);
      shared.tickets.push_back(ticket);
    }
    if (random.below(60) == 0) {
      CHECK_EQUAL(log.flush(), LogStatus::ok);
      CHECK(log.flushed().packed() >= log.position().packed());
    }
    if (random.below(100) == 0 && place.segment > 3) {
      // Readers keep away from these.
      shared.removedBefore.store(place.segment - 3);
      CHECK_EQUAL(log.removeSegments(place.segment - 3), LogStatus::ok);
    }
  }
  shared.isOver.store(true);
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(log.close(), LogStatus::ok);
  LogListener listener;
  LogScan scan;
  CHECK_EQUAL(scanLog(disk, {}, listener, &scan), LogStatus::ok);
  CHECK(listener.damages.empty() && !listener.texts.empty());
  for (size_t k = 0; k < listener.texts.size(); ++k) {
    const auto number = static_cast<uint32_t>(count - listener.texts.size() + k);
    CHECK(listener.texts[k] == textOf(number, static_cast<uint32_t>(listener.texts[k].size())));
  }
}

/// The disk fails at some call: nobody waits for ever, and what was flushed is there.
void failing(uint64_t seed) {
  Random random(seed, 5);
  LockedDisk disk(seed);
  size_t flushed = 0;
  std::vector<std::string> texts;
  {
    Log log;
    CHECK_EQUAL(log.create(&disk, optionsOf(random)), LogStatus::ok);
    disk.with([&](SimulatedDisk& inner) { inner.failAt(random.below(60), ENOSPC); });
    std::atomic<uint64_t> ticket = 0;
    std::atomic<bool> isOver = false;
    std::thread waiter([&] {
      while (!isOver.load()) {
        const LogStatus status = log.waitFlushed(ticket.load());
        CHECK(status == LogStatus::ok || (status == LogStatus::disk && log.hasFailed()));
      }
    });
    LogStatus status = LogStatus::ok;
    for (uint32_t number = 0; number < 2000 && status == LogStatus::ok; ++number) {
      texts.push_back(textOf(number, random.below(300)));
      LogPlace place;
      status = log.append(1, texts.back().data(), static_cast<uint32_t>(texts.back().size()), &place);
      if (status == LogStatus::ok && random.below(20) == 0) ticket.store(log.requestFlush());
      if (status == LogStatus::ok && random.below(40) == 0) {
        status = log.flush();
        if (status == LogStatus::ok) flushed = texts.size();
      }
    }
    if (status == LogStatus::ok) status = log.flush();
    const bool hasFailed = disk.with([](SimulatedDisk& inner) { return inner.hasFailed(); });
    CHECK_EQUAL(status, hasFailed ? LogStatus::disk : LogStatus::ok);
    if (hasFailed) CHECK_EQUAL(log.failure().error.system, ENOSPC);
    isOver.store(true);
    waiter.join();
    CHECK_EQUAL(log.close(), status);
  }
  disk.with([](SimulatedDisk& inner) {
    inner.crash();
    inner.restart();
  });
  LogListener listener;
  LogScan scan;
  CHECK_EQUAL(scanLog(disk, {}, listener, &scan), LogStatus::ok);
  CHECK(listener.texts.size() >= flushed && listener.texts.size() <= texts.size() && listener.damages.empty());
  for (size_t k = 0; k < listener.texts.size(); ++k) CHECK(listener.texts[k] == texts[k]);
}

/// fail() ends a wait, also where it comes after the log's thread was woken, and before that one looks what there is to do.
void failedMeanwhile() {
  for (uint32_t round = 0; round < 400; ++round) {
    LockedDisk disk(round);
    Log log;
    LogOptions options;
    options.flushIntervalMs = 0;
    CHECK_EQUAL(log.create(&disk, options), LogStatus::ok);
    LogPlace place;
    CHECK_EQUAL(log.append(1, "first", 5, &place), LogStatus::ok);
    CHECK_EQUAL(log.waitFlushed(log.requestFlush()), LogStatus::ok);
    std::atomic<uint64_t> ticket = 0;
    std::thread waiter([&] {
      while (ticket.load() == 0) {}
      const LogStatus status = log.waitFlushed(ticket.load());
      CHECK(status == LogStatus::ok || status == LogStatus::disk);
    });
    CHECK_EQUAL(log.append(1, "second", 6, &place), LogStatus::ok);
    ticket.store(log.requestFlush());
    for (uint32_t looks = 0; looks < round * 37 % 2500; ++looks) pauseCore();
    log.fail({DiskCall::sync, EIO});
    waiter.join();
    CHECK_EQUAL(log.close(), LogStatus::disk);
  }
}

/// A log syncs by itself after the interval, and sleeps where there is nothing to sync.
void byItself() {
  LockedDisk disk(9);
  Log log;
  LogOptions options;
  options.flushIntervalMs = 1;
  CHECK_EQUAL(log.create(&disk, options), LogStatus::ok);
  LogPlace place;
  for (int turn = 0; turn < 3; ++turn) {
    CHECK_EQUAL(log.append(1, "by itself", 9, &place), LogStatus::ok);
    while (log.flushed().packed() < log.position().packed()) sleepThread(200);
  }
  CHECK_EQUAL(log.counts().syncCount, 3u);
  CHECK_EQUAL(log.close(), LogStatus::ok);
}

}  // namespace

int main() {
  const uint64_t seed = test::fromEnvironment("EXRP_LOG_SEED", 20261128);
  const uint64_t rounds = test::fromEnvironment("EXRP_LOG_ROUNDS", 12);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (uint64_t k = 0; k < rounds; ++k) {
    beside(seed + k);
    failing(seed + k);
  }
  // Closed at once, with all still to be done, and without a flush.
  for (uint64_t k = 0; k < 30; ++k) {
    LockedDisk disk(k);
    Random random(k, 8);
    Log log;
    CHECK_EQUAL(log.create(&disk, optionsOf(random)), LogStatus::ok);
    LogPlace place;
    for (uint64_t frame = 0; frame < k; ++frame) CHECK_EQUAL(log.append(1, "x", 1, &place), LogStatus::ok);
    if (k % 3 == 0) log.requestFlush();
    if (k % 4 == 0) log.abandon();
  }
  byItself();
  failedMeanwhile();
  return test::checkResult("log/threads");
}
