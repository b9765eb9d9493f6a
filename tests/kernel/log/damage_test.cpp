// Files as crashes, lies and strangers leave them, case by case: what a scan tells of them, and where the log ends.
#include <string>
#include <vector>

#include "kernel/base/memory.hpp"
#include "kernel/log/log.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/log/small_log.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

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
  CHECK(scan.tailBytes > 0);
  // The file that comes next is still to be made, so it has no frame.
  uint8_t bytes[16];
  uint32_t type = 0;
  CHECK_EQUAL(log.read({2, 56, 16}, bytes, &type), LogStatus::unknown);
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
  for (uint32_t turn = 0; turn < 6; ++turn) {
    const uint32_t victim = 1 + turn / 2;
    SimulatedDisk disk(6);
    fill(disk, 30);
    LogListener whole;
    LogScan scan;
    CHECK_EQUAL(scanAll(disk, whole, &scan), LogStatus::ok);
    CHECK_EQUAL(scan.end.segment, 3u);
    SimulatedDisk::Bytes& bytes = disk.content(SegmentName(victim).text);
    // Nearly all of it, or only where the segment before ends.
    for (uint32_t k = turn % 2 == 0 ? 4 : 24; k < 26; ++k) bytes[k] ^= static_cast<uint8_t>(k + 3);
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

/// Damage in what is proven, and a torn tail right behind it: the damage is told, the log ends where the proof does, and nothing behind counts.
void damageBeforeTail() {
  SimulatedDisk disk(15);
  LogPlace spoiled;
  LogPlace torn;
  {
    Log log;
    CHECK_EQUAL(log.create(&disk, smallOptions()), LogStatus::ok);
    CHECK_EQUAL(put(log, "whole"), LogStatus::ok);
    CHECK_EQUAL(put(log, "spoiled", &spoiled), LogStatus::ok);
    CHECK_EQUAL(log.flush(), LogStatus::ok);
    CHECK_EQUAL(put(log, "flushed"), LogStatus::ok);
    CHECK_EQUAL(put(log, "torn", &torn), LogStatus::ok);
    CHECK_EQUAL(put(log, "whole behind"), LogStatus::ok);
    // Other buffers, whose marks know of the flush. They are written, and not synced.
    for (int k = 0; k < 3; ++k) CHECK_EQUAL(put(log, numbered(k)), LogStatus::ok);
    while (log.work()) {}
    log.abandon();
  }
  SimulatedDisk::Bytes& bytes = disk.content("log-00000001.exrp");
  for (uint32_t k = 0; k < 12; ++k) {
    bytes[spoiled.offset + k] ^= 0x35;
    bytes[torn.offset + k] ^= 0x35;
  }
  LogListener listener;
  LogScan scan;
  CHECK_EQUAL(scanAll(disk, listener, &scan), LogStatus::ok);
  CHECK((listener.texts == std::vector<std::string>{"whole", "flushed"}));
  CHECK(listener.damages.size() == 1 && listener.damages[0].at == spoiled.position());
  CHECK_EQUAL(listener.damages[0].bytes, wholeFrameBytes(spoiled.bytes));
  CHECK(scan.end == torn.position());
  // All between the damage and the frame behind is spoiled: only what was proven is damage.
  for (uint32_t k = spoiled.offset; k < torn.offset + wholeFrameBytes(torn.bytes); ++k) bytes[k] ^= 0x53;
  const uint32_t markAt = spoiled.offset + wholeFrameBytes(spoiled.bytes);
  LogListener again;
  CHECK_EQUAL(scanAll(disk, again, &scan), LogStatus::ok);
  CHECK((again.texts == std::vector<std::string>{"whole"}));
  CHECK(again.damages.size() == 1 && again.damages[0].at == spoiled.position());
  CHECK_EQUAL(again.damages[0].bytes, wholeFrameBytes(spoiled.bytes));
  CHECK((scan.end == LogPosition{1, markAt}));
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

/// What a scan finds in a damaged log, a later one finds, too, and no more: before and after the log went on.
void foundAgain(SimulatedDisk& disk) {
  Log log;
  LogListener first;
  LogScan scan;
  CHECK_EQUAL(log.open(&disk, smallOptions(), {}, first, &scan), LogStatus::ok);
  CHECK(!first.damages.empty());
  CHECK_EQUAL(put(log, "behind"), LogStatus::ok);
  CHECK_EQUAL(log.close(), LogStatus::ok);
  LogListener later;
  CHECK_EQUAL(scanAll(disk, later, &scan), LogStatus::ok);
  first.texts.emplace_back("behind");
  CHECK(later.texts == first.texts);
}

/// A frame with one flipped bit lies between damage and the end of what is proven. The mark that would show where it ends is damaged, too.
void flippedBeforeTheEnd() {
  SimulatedDisk disk(14);
  LogPlace places[2];
  {
    Log log;
    CHECK_EQUAL(log.create(&disk, smallOptions()), LogStatus::ok);
    for (int k = 0; k < 2; ++k) CHECK_EQUAL(put(log, numbered(k, 50), &places[k]), LogStatus::ok);
    CHECK_EQUAL(log.flush(), LogStatus::ok);
    CHECK_EQUAL(log.close(), LogStatus::ok);
  }
  SimulatedDisk::Bytes& bytes = disk.content("log-00000001.exrp");
  for (uint32_t k = 0; k < 8; ++k) bytes[places[0].offset + k] ^= 0x5a;
  bytes[places[1].offset + frameHeadBytes + 5] ^= 4;
  const uint32_t mark = places[1].offset + wholeFrameBytes(places[1].bytes);
  for (uint32_t k = 0; k < 8; ++k) bytes[mark + k] ^= 0x5a;
  foundAgain(disk);
}

/// A head was forged, and claims more bytes than the file has yet.
void forgedLength() {
  SimulatedDisk disk(15);
  LogPlace places[3];
  {
    Log log;
    CHECK_EQUAL(log.create(&disk, smallOptions()), LogStatus::ok);
    for (int k = 0; k < 3; ++k) CHECK_EQUAL(put(log, numbered(k, 50), &places[k]), LogStatus::ok);
    CHECK_EQUAL(log.close(), LogStatus::ok);
  }
  SimulatedDisk::Bytes& bytes = disk.content("log-00000001.exrp");
  SegmentHead segment;
  memcpy(&segment, bytes.data(), sizeof segment);
  FrameHead head = {static_cast<uint32_t>(bytes.size()) - places[1].offset, 1, 0, 0};
  head.sum = frameHeadSum(frameSeed(segment.logId, 1), places[1].offset, head);
  memcpy(bytes.data() + places[1].offset, &head, sizeof head);
  foundAgain(disk);
}

}  // namespace

int main() {
  forgottenCut();
  damagedHeads();
  damageBeforeTail();
  lyingLength();
  flippedBeforeTheEnd();
  forgedLength();
  return checkResult("log/damage");
}
