// What the log promises, case by case, on a simulated disk: counts of syncs, refusals, failures of each call, removed segments, refused memory.
#include <string>
#include <vector>

#include "kernel/base/memory.hpp"
#include "kernel/log/log.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/log/small_log.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

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

/// The bytes of a log follow from what was appended, however much of it is on the disk; in the end, they are those of its files.
void countsWhatWaits() {
  SimulatedDisk disk(1), slowDisk(1);
  LogOptions options = smallOptions();
  options.queueBytes = 1 << 20;
  Log log, slow;
  CHECK_EQUAL(log.create(&disk, options), LogStatus::ok);
  CHECK_EQUAL(slow.create(&slowDisk, options), LogStatus::ok);
  for (int k = 0; k < 60; ++k) {
    CHECK_EQUAL(put(log, numbered(k)), LogStatus::ok);
    CHECK_EQUAL(put(slow, numbered(k)), LogStatus::ok);
    if (k % 7 == 3) {
      CHECK_EQUAL(log.flush(), LogStatus::ok);
      (void)slow.requestFlush();
    }
    while (log.work()) {}
    CHECK_EQUAL(log.counts().logBytes, slow.counts().logBytes);
  }
  CHECK(log.position().segment > 3);
  const uint64_t bytes = log.counts().logBytes;
  CHECK_EQUAL(log.close(), LogStatus::ok);
  CHECK_EQUAL(slow.close(), LogStatus::ok);
  uint64_t there = 0;
  for (const auto& [name, content] : disk.files()) there += name.rfind("log-", 0) == 0 ? content.size() : 0;
  CHECK_EQUAL(there, bytes + closingMarkBytes);
}

LogOptions wideOptions() {
  LogOptions options = smallOptions();
  options.segmentBytes = 1 << 20;
  return options;
}

/// Opens a log, and compares its frames.
void reopen(Log& log, SimulatedDisk& disk, const std::vector<std::string>& texts) {
  LogListener listener;
  LogScan scan;
  CHECK_EQUAL(log.open(&disk, wideOptions(), {}, listener, &scan), LogStatus::ok);
  CHECK_EQUAL(scan.tailBytes, 0u);
  CHECK(listener.damages.empty() && listener.texts == texts);
}

/// A second life writes frames, and a crash takes all of them. A third one writes, too, and crashes. Where its sectors were never written, the disk shows those of the
/// second life. They do not count, whether the first life closed the log, was killed, or only made it.
void oldFramesStayAway() {
  for (const std::string first : {"closed", "killed", "made"}) {
    SimulatedDisk disk(9);
    std::vector<std::string> texts;
    {
      Log log;
      CHECK_EQUAL(log.create(&disk, wideOptions()), LogStatus::ok);
      if (first != "made") {
        CHECK_EQUAL(put(log, "first life"), LogStatus::ok);
        CHECK_EQUAL(log.flush(), LogStatus::ok);
        texts.emplace_back("first life");
      }
      if (first == "closed") CHECK_EQUAL(log.close(), LogStatus::ok);
      else log.abandon();
      disk.kill();
    }
    std::map<std::string, SimulatedDisk::Bytes> seconds;
    for (const char* const life : {"2nd..", "3rd.."}) {
      Log log;
      reopen(log, disk, texts);
      // As long as marks, so that frames of both lives begin at the same places, however many marks a life has.
      for (int k = 100; k < 300; ++k) CHECK_EQUAL(put(log, std::to_string(k) + life), LogStatus::ok);
      // Writes full buffers. Only what must be on the disk first is synced.
      while (log.work()) {}
      CHECK(log.counts().writtenBytes > 2000);
      if (seconds.empty()) seconds = disk.files();
      disk.crash(0);
      log.abandon();
      disk.restart();
    }
    // The third life's files are as long as they were, and what was not synced is what the second one wrote there.
    std::map<std::string, SimulatedDisk::Bytes> shown = disk.files();
    for (auto& [name, bytes] : shown) {
      const SimulatedDisk::Bytes& old = seconds[name];
      if (old.size() > bytes.size()) bytes.insert(bytes.end(), old.begin() + static_cast<ptrdiff_t>(bytes.size()), old.end());
    }
    disk.setFiles(shown);
    LogListener listener;
    LogScan scan;
    CHECK_EQUAL(scanAll(disk, listener, &scan), LogStatus::ok);
    CHECK(listener.damages.empty() && listener.texts == texts);
  }
}

/// The sync at the end of close() fails, and the system shows what it did not write. Whoever opens the log next writes all of it again, so that a crash costs nothing.
void failedClosing() {
  for (uint64_t seed = 1; seed < 20; ++seed) {
    SimulatedDisk disk(seed);
    {
      Log log;
      CHECK_EQUAL(log.create(&disk, wideOptions()), LogStatus::ok);
      CHECK_EQUAL(put(log, "flushed"), LogStatus::ok);
      CHECK_EQUAL(log.flush(), LogStatus::ok);
      disk.failAt(1, EIO);
      CHECK_EQUAL(log.close(), LogStatus::disk);
      CHECK(disk.hasFailed());
      disk.kill();
    }
    Log log;
    reopen(log, disk, {"flushed"});
    disk.crash(0);
    log.abandon();
    disk.restart();
    Log again;
    reopen(again, disk, {"flushed"});
    CHECK_EQUAL(again.close(), LogStatus::ok);
  }
}

/// A log that is closed each time goes on in one file. Whoever writes has one sync more, once; who only opens the log changes nothing.
void goesOnBehindItsEnd() {
  SimulatedDisk disk(10);
  std::vector<std::string> texts;
  {
    Log log;
    CHECK_EQUAL(log.create(&disk, wideOptions()), LogStatus::ok);
    CHECK_EQUAL(log.close(), LogStatus::ok);
  }
  for (int life = 0; life < 20; ++life) {
    const auto files = disk.files();
    {
      Log log;
      reopen(log, disk, texts);
      LogPlace place;
      CHECK_EQUAL(put(log, "never flushed", &place), LogStatus::ok);
      log.abandon();
    }
    CHECK(disk.files() == files);
    Log log;
    reopen(log, disk, texts);
    if (life % 3 > 0) {
      for (int turn = 0; turn < 3; ++turn) {
        texts.push_back(numbered(life));
        CHECK_EQUAL(put(log, texts.back()), LogStatus::ok);
        const uint64_t syncs = disk.syncCount();
        CHECK_EQUAL(log.flush(), LogStatus::ok);
        CHECK_EQUAL(disk.syncCount(), syncs + (turn == 0 ? 2 : 1));
      }
    }
    const uint64_t syncs = disk.syncCount();
    CHECK_EQUAL(log.close(), LogStatus::ok);
    CHECK_EQUAL(disk.syncCount(), syncs + (life % 3 > 0 ? 1 : 0));
    CHECK(life % 3 > 0 || disk.files() == files);
  }
  CHECK_EQUAL(disk.files().size(), 1u);
}

/// A log that was not closed goes on in another file, which is made with the next frame: where the mark of close() is damaged or missing, too.
void goesOnInAnotherSegment() {
  for (int turn = 0; turn < 4; ++turn) {
    SimulatedDisk disk(11);
    fill(disk, 3, wideOptions());
    const std::string name = SegmentName(1).text;
    SimulatedDisk::Bytes bytes = disk.content(name);
    const size_t end = bytes.size() - closingMarkBytes;
    if (turn == 0) bytes.resize(end);
    if (turn == 1) bytes[end + frameHeadBytes + 8] ^= 1;
    if (turn == 2) bytes[end + 13] ^= 0x55;
    if (turn == 3) bytes.resize(bytes.size() + 8);
    disk.put(name, bytes);
    // Without a tail, it is lazy. Where there is one, its mark may have been the only proof, so a new one is written at once.
    for (int life = 0; life < 5; ++life) {
      Log log;
      LogListener listener;
      LogScan scan;
      CHECK_EQUAL(log.open(&disk, wideOptions(), {}, listener, &scan), LogStatus::ok);
      CHECK_EQUAL(listener.texts.size(), 3u);
      CHECK_EQUAL(scan.tailBytes > 0, turn > 0 && life == 0);
      CHECK_EQUAL(log.close(), LogStatus::ok);
      CHECK_EQUAL(disk.files().size(), turn == 0 ? 1u : 2u);
    }
    Log log;
    LogListener listener;
    LogScan scan;
    LogPlace place;
    CHECK_EQUAL(log.open(&disk, wideOptions(), {}, listener, &scan), LogStatus::ok);
    CHECK_EQUAL(put(log, "more", &place), LogStatus::ok);
    CHECK_EQUAL(place.segment, 2u);
    CHECK_EQUAL(log.close(), LogStatus::ok);
  }
}

}  // namespace

int main() {
  oldFramesStayAway();
  failedClosing();
  goesOnBehindItsEnd();
  goesOnInAnotherSegment();
  countsWhatWaits();
  syncsOnce();
  refuses();
  failsForGood();
  failsOpening();
  removes();
  cuts();
  refusedMemory();
  return checkResult("log/promises");
}
