// What the log promises, case by case, on a simulated disk: counts of syncs, refusals, failures of each call, and files as crashes and lies leave them.
#include <string>
#include <vector>

#include "kernel/base/memory.hpp"
#include "kernel/log/log.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/log/log_listener.hpp"
#include "tests/kernel/log/simulated_disk.hpp"

using namespace exrp;
using exrp::test::LogListener;
using exrp::test::SimulatedDisk;

namespace {

LogOptions smallOptions() {
  LogOptions options;
  options.isThreaded = false;
  options.segmentBytes = 4096;
  options.bufferBytes = 512;
  options.queueBytes = 4096;
  return options;
}

LogStatus put(Log& log, const std::string& text, LogPlace* place = nullptr) {
  LogPlace ignored;
  return log.append(1, text.data(), static_cast<uint32_t>(text.size()), place == nullptr ? &ignored : place);
}

std::string numbered(int number, size_t size = 300) {
  std::string text = "frame " + std::to_string(number) + " ";
  text.resize(size, 'x');
  return text;
}

/// A log of so many frames, in several segments, all synced.
void fill(SimulatedDisk& disk, int count, LogOptions options = smallOptions()) {
  Log log;
  CHECK_EQUAL(log.create(&disk, options), LogStatus::ok);
  for (int k = 0; k < count; ++k) CHECK_EQUAL(put(log, numbered(k)), LogStatus::ok);
  CHECK_EQUAL(log.close(), LogStatus::ok);
}

LogStatus scanAll(SimulatedDisk& disk, LogListener& listener, LogScan* scan, LogPosition from = {}) {
  return scanLog(disk, from, listener, scan);
}

void syncsOnce() {
  SimulatedDisk disk(1);
  Log log;
  CHECK_EQUAL(log.create(&disk, smallOptions()), LogStatus::ok);
  for (int turn = 0; turn < 5; ++turn) {
    for (int k = 0; k < 2; ++k) CHECK_EQUAL(put(log, numbered(k, 200)), LogStatus::ok);
    const uint64_t syncs = disk.syncCount();
    const uint64_t ticket = log.requestFlush();
    CHECK(!log.isFlushed(ticket));
    CHECK_EQUAL(log.requestFlush(), ticket);
    CHECK_EQUAL(put(log, "more"), LogStatus::ok);
    const uint64_t later = log.requestFlush();
    CHECK(later > ticket);
    CHECK_EQUAL(log.waitFlushed(later), LogStatus::ok);
    CHECK(log.isFlushed(ticket));
    CHECK_EQUAL(disk.syncCount(), syncs + 1);  // asked for meanwhile: joined
    CHECK_EQUAL(log.flush(), LogStatus::ok);
    CHECK_EQUAL(log.waitFlushed(log.requestFlush(), 0), LogStatus::ok);
    CHECK_EQUAL(disk.syncCount(), syncs + 1);  // nothing new: no sync
    while (log.work()) {}
    CHECK_EQUAL(disk.syncCount(), syncs + 1);
  }
  CHECK_EQUAL(log.waitFlushed(log.requestFlush() + 8), LogStatus::argument);
  CHECK_EQUAL(log.close(), LogStatus::ok);
}

void refuses() {
  SimulatedDisk disk(2);
  Log log;
  LogPlace place;
  uint8_t* payload = nullptr;
  uint32_t type = 0;
  uint8_t bytes[600] = {};
  CHECK_EQUAL(put(log, "x"), LogStatus::closed);
  CHECK_EQUAL(log.begin(4, &payload), LogStatus::closed);
  CHECK_EQUAL(log.read({1, 56, 4}, bytes, &type), LogStatus::closed);
  LogOptions wrong = smallOptions();
  wrong.segmentBytes = 100;
  CHECK_EQUAL(log.create(&disk, wrong), LogStatus::argument);
  LogOptions options = smallOptions();
  options.isWaiting = false;
  CHECK_EQUAL(log.create(&disk, options), LogStatus::ok);
  CHECK_EQUAL(log.create(&disk, options), LogStatus::argument);
  CHECK_EQUAL(log.append(markType, "x", 1, &place), LogStatus::argument);
  CHECK_EQUAL(log.append(1, bytes, frameBytesMax + 1, &place), LogStatus::argument);
  CHECK_EQUAL(log.end(1, 0, &place), LogStatus::argument);
  CHECK_EQUAL(log.begin(16, &payload), LogStatus::ok);
  CHECK_EQUAL(log.begin(16, &payload), LogStatus::argument);
  CHECK_EQUAL(log.append(1, "x", 1, &place), LogStatus::argument);
  CHECK_EQUAL(log.end(1, 17, &place), LogStatus::argument);
  CHECK(log.hasOpenFrame());
  CHECK(log.extend(17) && !log.extend(100000));
  CHECK_EQUAL(log.end(1, 17, &place), LogStatus::ok);
  // As many bytes as may wait.
  int count = 0;
  LogStatus status = LogStatus::ok;
  while ((status = put(log, numbered(count))) == LogStatus::ok) ++count;
  CHECK_EQUAL(status, LogStatus::full);
  CHECK(log.counts().queuedBytes <= options.queueBytes);
  CHECK(log.counts().queuedBytes + options.bufferBytes + 100 > options.queueBytes);
  while (log.work()) {}
  CHECK_EQUAL(log.counts().queuedBytes, 0u);
  CHECK_EQUAL(put(log, numbered(count)), LogStatus::ok);
  // Places that are none.
  CHECK_EQUAL(log.read({place.segment, place.offset, 16}, bytes, &type), LogStatus::unknown);
  CHECK_EQUAL(log.read({place.segment, place.offset + 4, 17}, bytes, &type), LogStatus::unknown);
  CHECK_EQUAL(log.read({7, 56, 17}, bytes, &type), LogStatus::unknown);
  CHECK_EQUAL(log.read({place.segment, 1u << 20, 17}, bytes, &type), LogStatus::unknown);
  CHECK_EQUAL(log.read(place, bytes, &type), LogStatus::ok);
  CHECK_EQUAL(log.close(), LogStatus::ok);
}

/// Each call of the disk that changes something fails once: the log says what failed, stays failed, and keeps what was flushed.
void failsForGood() {
  for (uint64_t call = 0;; ++call) {
    SimulatedDisk disk(3);
    int flushed = 0;
    bool hasFailed = false;
    {
      Log log;
      disk.failAt(call, ENOSPC);
      LogStatus status = log.create(&disk, smallOptions());
      for (int k = 0; k < 40 && status == LogStatus::ok; ++k) {
        status = put(log, numbered(k));
        if (status == LogStatus::ok && k % 3 == 0) status = log.flush();
        if (status == LogStatus::ok && k % 3 == 0) flushed = k + 1;
      }
      hasFailed = disk.hasFailed();
      // The mark behind the last flush may be what failed: the flush itself was good.
      if (hasFailed && status == LogStatus::ok) status = put(log, "x");
      if (hasFailed) {
        CHECK_EQUAL(status, LogStatus::disk);
        CHECK_EQUAL(log.failure().error.system, ENOSPC);
        CHECK(log.failure().error.call != DiskCall::none);
      }
      if (hasFailed && log.isOpen()) {
        const uint64_t calls = disk.callCount();
        CHECK_EQUAL(put(log, "x"), LogStatus::disk);
        uint8_t* payload = nullptr;
        CHECK_EQUAL(log.begin(4, &payload), LogStatus::disk);
        CHECK_EQUAL(log.flush(), LogStatus::disk);
        CHECK(!log.work());
        CHECK_EQUAL(log.close(), LogStatus::disk);
        CHECK_EQUAL(disk.callCount(), calls);  // nothing was tried again
        CHECK_EQUAL(log.failure().error.system, ENOSPC);
      }
    }
    CHECK_EQUAL(disk.openCount(), 0u);
    disk.crash();
    disk.restart();
    LogListener listener;
    LogScan scan;
    Log log;
    const LogStatus status = log.open(&disk, smallOptions(), {}, listener, &scan);
    if (status == LogStatus::empty) CHECK_EQUAL(flushed, 0);
    else CHECK_EQUAL(status, LogStatus::ok);
    CHECK(static_cast<int>(listener.texts.size()) >= flushed);
    CHECK(listener.damages.empty());
    for (size_t k = 0; k < listener.texts.size(); ++k) CHECK(listener.texts[k] == numbered(static_cast<int>(k)));
    if (!hasFailed) break;
  }
}

/// Opening fails at each call: the next opening finds all.
void failsOpening() {
  for (uint64_t call = 0;; ++call) {
    SimulatedDisk disk(4);
    fill(disk, 30);
    SimulatedDisk::Bytes& last = disk.content("log-00000003.exrp");
    last.resize(last.size() - 20);
    disk.put("log-00000004.exrp", {1, 2, 3});
    disk.failAt(call, EIO);
    LogListener listener;
    LogScan scan;
    Log log;
    LogStatus status = log.open(&disk, smallOptions(), {}, listener, &scan);
    const bool hasFailed = disk.hasFailed();
    disk.failAt(UINT64_MAX, 0);
    CHECK_EQUAL(status, hasFailed ? LogStatus::disk : LogStatus::ok);
    if (hasFailed) {
      CHECK_EQUAL(scan.failure.error.system, EIO);
      disk.crash();
      disk.restart();
      LogListener again;
      status = log.open(&disk, smallOptions(), {}, again, &scan);
      CHECK_EQUAL(status, LogStatus::ok);
      CHECK(again.texts == listener.texts && again.damages.empty());
    }
    CHECK(listener.texts.size() >= 29 && listener.damages.empty());
    CHECK(!disk.has("log-00000004.exrp"));
    CHECK_EQUAL(put(log, "after"), LogStatus::ok);
    CHECK_EQUAL(log.close(), LogStatus::ok);
    if (!hasFailed) break;
  }
}

/// A disk forgets that a tail was cut, and shows the old file once more: its bytes are not taken for frames.
void forgottenCut() {
  SimulatedDisk disk(5);
  LogPlace second;
  {
    Log log;
    CHECK_EQUAL(log.create(&disk, smallOptions()), LogStatus::ok);
    CHECK_EQUAL(put(log, "first of the first life"), LogStatus::ok);
    CHECK_EQUAL(log.flush(), LogStatus::ok);
    CHECK_EQUAL(put(log, "second, torn"), LogStatus::ok);
    CHECK_EQUAL(put(log, "third, not flushed", &second), LogStatus::ok);
    while (log.work()) {}
    log.requestFlush();
    log.work();
    log.abandon();
  }
  const std::string name = "log-00000001.exrp";
  SimulatedDisk::Bytes old = disk.content(name);
  CHECK(old.size() >= second.offset + wholeFrameBytes(second.bytes));
  for (uint32_t k = second.offset - 8; k < second.offset; ++k) disk.content(name)[k] ^= 0x5a;
  Log log;
  LogListener listener;
  LogScan scan;
  CHECK_EQUAL(log.open(&disk, smallOptions(), {}, listener, &scan), LogStatus::ok);
  CHECK_EQUAL(listener.texts.size(), 1u);
  CHECK(scan.tailBytes > 0 && scan.framesBehind == 1);
  CHECK_EQUAL(put(log, "first of the second life"), LogStatus::ok);
  CHECK_EQUAL(log.close(), LogStatus::ok);
  CHECK(disk.has("log-00000002.exrp"));
  // The old bytes are back behind the cut: once as they were torn, and once whole.
  for (const bool isTorn : {true, false}) {
    SimulatedDisk::Bytes& now = disk.content(name);
    now = old;
    if (isTorn) now[second.offset - 4] ^= 0x5a;
    LogListener again;
    CHECK_EQUAL(scanAll(disk, again, &scan), LogStatus::ok);
    CHECK((again.texts == std::vector<std::string>{"first of the first life", "first of the second life"}));
    CHECK(again.damages.empty());
  }
  // And a part of what was before the cut is gone.
  disk.content(name).resize(40);
  LogListener last;
  CHECK_EQUAL(scanAll(disk, last, &scan), LogStatus::ok);
  CHECK_EQUAL(last.texts.size(), 1u);
  CHECK(!last.damages.empty() && last.damages.back().kind == LogDamageKind::missing && last.damages.back().at.segment == 1);
}

/// A head of a segment with many wrong bits costs nothing, where another one knows the log's id.
void damagedHeads() {
  for (const uint32_t victim : {1u, 2u, 3u}) {
    SimulatedDisk disk(6);
    fill(disk, 30);
    LogListener whole;
    LogScan scan;
    CHECK_EQUAL(scanAll(disk, whole, &scan), LogStatus::ok);
    CHECK_EQUAL(scan.lastSegment, 3u);
    SimulatedDisk::Bytes& bytes = disk.content(SegmentName(victim).text);
    for (uint32_t k = 4; k < 20; ++k) bytes[k] ^= static_cast<uint8_t>(k);
    LogListener listener;
    CHECK_EQUAL(scanAll(disk, listener, &scan), LogStatus::ok);
    CHECK(listener.texts == whole.texts);
    CHECK_EQUAL(listener.damages.size(), 1u);
    CHECK_EQUAL(listener.damages[0].kind, LogDamageKind::segmentHead);
    CHECK((listener.damages[0].at == LogPosition{victim, 0}));
    CHECK_EQUAL(scan.tailBytes, 0u);
    // From this segment on, an earlier one must be asked for the id.
    LogListener from;
    if (victim == 3) {
      CHECK_EQUAL(scanAll(disk, from, &scan, {3, segmentHeadBytes}), LogStatus::ok);
      CHECK(!from.texts.empty() && from.texts.back() == whole.texts.back());
    }
  }
  // No other one: the log is damaged, and nobody takes the folder for one without a log.
  SimulatedDisk disk(7);
  fill(disk, 2);
  SimulatedDisk::Bytes& bytes = disk.content("log-00000001.exrp");
  for (uint32_t k = 4; k < 20; ++k) bytes[k] ^= static_cast<uint8_t>(k);
  const SimulatedDisk::Bytes before = bytes;
  Log log;
  LogListener listener;
  LogScan scan;
  CHECK_EQUAL(log.open(&disk, smallOptions(), {}, listener, &scan), LogStatus::damaged);
  CHECK_EQUAL(log.create(&disk, smallOptions()), LogStatus::exists);
  CHECK(disk.content("log-00000001.exrp") == before);
  // A newer version, and a file of another log.
  disk.put("log-00000001.exrp", {});
  CHECK_EQUAL(log.create(&disk, smallOptions()), LogStatus::ok);
  CHECK_EQUAL(log.close(), LogStatus::ok);
  SegmentHead head = segmentHead(log.id(), 1, 0);
  head.version = logVersion + 1;
  head.sum = checksum(0, reinterpret_cast<const uint8_t*>(&head), segmentHeadBytes - 4);
  const auto* const headBytes = reinterpret_cast<const uint8_t*>(&head);
  disk.put("log-00000001.exrp", {headBytes, headBytes + sizeof head});
  CHECK_EQUAL(log.open(&disk, smallOptions(), {}, listener, &scan), LogStatus::version);
  SimulatedDisk first(8);
  SimulatedDisk second(9);
  LogOptions other = smallOptions();
  other.logId = 77;
  fill(first, 30);
  fill(second, 30, other);
  first.put("log-00000002.exrp", second.content("log-00000002.exrp"));
  LogListener mixed;
  CHECK_EQUAL(scanAll(first, mixed, &scan), LogStatus::ok);
  CHECK(mixed.texts.size() < 30 && mixed.texts.front() == numbered(0) && mixed.texts.back() == numbered(29));
  CHECK_EQUAL(mixed.damages.size(), 2u);  // its head, and all of its frames
}

void removes() {
  SimulatedDisk disk(10);
  fill(disk, 70);
  Log log;
  LogListener listener;
  LogScan scan;
  CHECK_EQUAL(log.open(&disk, smallOptions(), {}, listener, &scan), LogStatus::ok);
  LogSegments segments;
  CHECK_EQUAL(log.segments(&segments), LogStatus::ok);
  CHECK(segments.count >= 6);
  for (size_t k = 0; k < segments.count; ++k) {
    CHECK_EQUAL(segments.segments[k].segment, k + 1);
    CHECK_EQUAL(segments.segments[k].bytes, disk.content(SegmentName(static_cast<uint32_t>(k + 1)).text).size());
  }
  uint8_t bytes[400];
  uint32_t type = 0;
  CHECK_EQUAL(log.read(listener.places[0], bytes, &type), LogStatus::ok);
  // The second removal fails: the oldest is gone, and only that one.
  disk.failAt(1, EIO);
  CHECK_EQUAL(log.removeSegments(4), LogStatus::disk);
  CHECK(!disk.has("log-00000001.exrp") && disk.has("log-00000002.exrp") && disk.has("log-00000003.exrp"));
  CHECK_EQUAL(log.read(listener.places[0], bytes, &type), LogStatus::unknown);
  CHECK_EQUAL(log.removeSegments(4), LogStatus::ok);
  CHECK(!disk.has("log-00000003.exrp") && disk.has("log-00000004.exrp"));
  const auto last = static_cast<uint32_t>(segments.count);
  CHECK_EQUAL(log.removeSegments(UINT32_MAX), LogStatus::ok);
  CHECK_EQUAL(log.segments(&segments), LogStatus::ok);
  CHECK_EQUAL(segments.count, 1u);
  CHECK_EQUAL(segments.segments[0].segment, last);
  CHECK_EQUAL(put(log, "behind"), LogStatus::ok);
  CHECK_EQUAL(log.close(), LogStatus::ok);
  LogListener rest;
  CHECK_EQUAL(scanAll(disk, rest, &scan), LogStatus::ok);
  CHECK(rest.texts.back() == "behind" && rest.damages.empty());
  CHECK_EQUAL(scanAll(disk, rest, &scan, {last + 1, 32}), LogStatus::damaged);
  CHECK_EQUAL(scanAll(disk, rest, &scan, {last, 4000}), LogStatus::damaged);
  // A segment that is missing is told.
  SimulatedDisk gap(11);
  fill(gap, 40);
  (void)gap.remove("log-00000002.exrp");
  LogListener around;
  CHECK_EQUAL(scanAll(gap, around, &scan), LogStatus::ok);
  CHECK(around.damages.size() == 1 && around.damages[0].kind == LogDamageKind::missing && around.damages[0].at.segment == 2);
  CHECK(around.texts.back() == numbered(39));
}

/// cutLog() makes its cut last by itself, and a visitor may end a scan, so that its caller cuts there.
void cuts() {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SimulatedDisk disk(seed);
    fill(disk, 40);
    LogListener listener;
    LogScan scan;
    Log log;
    listener.stopAt = 17;
    CHECK_EQUAL(log.open(&disk, smallOptions(), {}, listener, &scan), LogStatus::stopped);
    CHECK(!log.isOpen());
    const size_t files = disk.fileNames().size();
    CHECK(files >= 3);
    LogFailure failure;
    CHECK_EQUAL(cutLog(disk, scan.end, &failure), LogStatus::ok);
    disk.crash();
    disk.restart();
    LogListener rest;
    CHECK_EQUAL(log.open(&disk, smallOptions(), {}, rest, &scan), LogStatus::ok);
    CHECK(rest.texts == listener.texts && rest.damages.empty());
    CHECK_EQUAL(scan.tailBytes, 0u);
    CHECK_EQUAL(log.close(), LogStatus::ok);
    CHECK_EQUAL(cutLog(disk, {9, 32}, &failure), LogStatus::unknown);
  }
}

/// A head that says more bytes than there are takes no memory, whatever its checksum says.
void lyingLength() {
  SimulatedDisk disk(12);
  fill(disk, 1);
  Log known;
  SimulatedDisk::Bytes& bytes = disk.content("log-00000001.exrp");
  SegmentHead segment;
  memcpy(&segment, bytes.data(), sizeof segment);
  const auto at = static_cast<uint32_t>(bytes.size());
  for (const uint32_t length : {frameBytesMax, frameBytesMax + 1, UINT32_MAX, 100u}) {
    SimulatedDisk other(13);
    other.put("log-00000001.exrp", bytes);
    SimulatedDisk::Bytes& longer = other.content("log-00000001.exrp");
    longer.resize(at + 64);
    FrameHead head = {length, 1, 0, 0};
    head.sum = frameHeadSum(frameSeed(segment.logId, 1), at, head);
    memcpy(longer.data() + at, &head, sizeof head);
    grantMemory(8);
    LogListener listener;
    LogScan scan;
    CHECK_EQUAL(scanAll(other, listener, &scan), LogStatus::ok);
    grantMemory(UINT64_MAX);
    CHECK_EQUAL(listener.texts.size(), 1u);
    CHECK_EQUAL(scan.tailBytes, 64u);
  }
}

/// Wherever memory is refused, nothing was appended, and the next call goes on.
void refusedMemory() {
  SimulatedDisk disk(14);
  std::vector<std::string> expected;
  {
    Log log;
    uint64_t grant = 0;
    LogStatus status = LogStatus::memory;
    for (; status == LogStatus::memory; ++grant) {
      grantMemory(grant);
      status = log.create(&disk, smallOptions());
    }
    CHECK_EQUAL(status, LogStatus::ok);
    uint64_t refused = 0;
    for (int k = 0; k < 60; ++k) {
      grantMemory(0);
      const std::string text = numbered(k, k % 7 == 0 ? 2000 : 200);
      while ((status = put(log, text)) == LogStatus::memory) {
        ++refused;
        grantMemory(1 + refused % 2);
      }
      CHECK_EQUAL(status, LogStatus::ok);
      expected.push_back(text);
      if (k % 10 == 0) CHECK_EQUAL(log.flush(), LogStatus::ok);
    }
    CHECK(refused > 5);
    grantMemory(UINT64_MAX);
    CHECK_EQUAL(log.close(), LogStatus::ok);
  }
  for (uint64_t grant = 0;; ++grant) {
    Log log;
    LogListener listener;
    LogScan scan;
    grantMemory(grant);
    const LogStatus status = log.open(&disk, smallOptions(), {}, listener, &scan);
    grantMemory(UINT64_MAX);
    CHECK_EQUAL(status, listener.texts.size() < expected.size() || !log.isOpen() ? LogStatus::memory : LogStatus::ok);
    if (status == LogStatus::ok) {
      CHECK(listener.texts == expected);
      break;
    }
    if (grant > 100) break;
  }
}

}  // namespace

int main() {
  syncsOnce();
  refuses();
  failsForGood();
  failsOpening();
  forgottenCut();
  damagedHeads();
  removes();
  cuts();
  lyingLength();
  refusedMemory();
  return test::checkResult("log/promises");
}
