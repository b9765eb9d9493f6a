// Damaged logs, under the sanitizers: a scan ends, tells only frames whose checksums hold, and the log that is opened then takes frames and gives
// them back. Some heads are damaged and get their checksums anew, as only somebody who wants to deceive would do it.
//
// EXRP_FUZZ_COUNT sets how many are tried, and EXRP_FUZZ_SEED which ones.
#include <algorithm>
#include <string>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/log/log.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/log/log_listener.hpp"
#include "tests/kernel/log/simulated_disk.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

using Bytes = SimulatedDisk::Bytes;
using Files = std::vector<std::pair<std::string, Bytes>>;

constexpr uint64_t logId = 0x1122334455667788;

LogOptions optionsOf(Random& random) {
  LogOptions options;
  options.isThreaded = false;
  options.segmentBytes = 4096;
  options.bufferBytes = 256 << random.below(4);
  options.logId = logId;
  return options;
}

Files makeLog(Random& random) {
  SimulatedDisk disk(random.next());
  Log log;
  CHECK_EQUAL(log.create(&disk, optionsOf(random)), LogStatus::ok);
  for (uint32_t k = random.below(40); k > 0; --k) {
    std::string text(random.below(random.below(5) == 0 ? 3000 : 200), 'a');
    for (char& letter : text) letter = static_cast<char>(random.next());
    LogPlace place;
    CHECK_EQUAL(log.append(1 + random.below(4), text.data(), static_cast<uint32_t>(text.size()), &place), LogStatus::ok);
    if (random.below(4) == 0) CHECK_EQUAL(log.flush(), LogStatus::ok);
  }
  if (random.below(2) == 0) CHECK_EQUAL(log.close(), LogStatus::ok);
  else log.abandon();
  Files files;
  for (const std::string& name : disk.fileNames()) files.emplace_back(name, disk.content(name));
  return files;
}

/// Changes numbers of a frame's head, and makes its checksum right.
void deceive(Random& random, Bytes& bytes, uint32_t segment) {
  std::vector<uint32_t> heads;
  for (uint32_t at = segmentHeadBytes; at + frameHeadBytes <= bytes.size();) {
    uint32_t size = 0;
    memcpy(&size, bytes.data() + at, sizeof size);
    if (size > bytes.size()) break;
    heads.push_back(at);
    at += wholeFrameBytes(size);
  }
  if (heads.empty()) return;
  const uint32_t at = heads[random.below(static_cast<uint32_t>(heads.size()))];
  FrameHead head;
  memcpy(&head, bytes.data() + at, sizeof head);
  switch (random.below(5)) {
    case 0: head.bytes = static_cast<uint32_t>(random.next()); break;
    case 1: head.bytes += random.below(64) - 32; break;
    case 2: head.type = random.below(3); break;
    case 3: head.payloadSum = static_cast<uint32_t>(random.next()); break;
    default:
      head.type = markType;
      head.bytes = sizeof(SyncedMark);
      if (at + markBytes <= bytes.size()) {
        SyncedMark mark = {segment + random.below(3) - 1, random.below(6000)};
        memcpy(bytes.data() + at + frameHeadBytes, &mark, sizeof mark);
        head.payloadSum = checksum(0, bytes.data() + at + frameHeadBytes, sizeof mark);
      }
  }
  if (random.below(2) == 0 && head.bytes <= bytes.size() && at + wholeFrameBytes(head.bytes) <= bytes.size()) {
    head.payloadSum = checksum(0, bytes.data() + at + frameHeadBytes, padded(head.bytes));
  }
  head.sum = frameHeadSum(frameSeed(logId, segment), at, head);
  memcpy(bytes.data() + at, &head, sizeof head);
}

void damage(Random& random, Files& files) {
  for (uint32_t k = 1 + random.below(4); k > 0; --k) {
    const uint32_t which = random.below(static_cast<uint32_t>(files.size()));
    Bytes& bytes = files[which].second;
    const auto size = static_cast<uint32_t>(bytes.size());
    const uint32_t at = size == 0 ? 0 : random.below(size);
    const auto place = bytes.begin() + at;
    switch (random.below(9)) {
      case 0:
        if (size > 0) bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1u << random.below(8)));
        break;
      case 1:
        for (uint32_t j = at; j < std::min(size, at + random.below(900)); ++j) bytes[j] = static_cast<uint8_t>(random.next());
        break;
      case 2: bytes.resize(at); break;
      case 3: bytes.insert(place, random.below(64), static_cast<uint8_t>(random.next())); break;
      case 4: bytes.erase(place, place + std::min(size - at, random.below(64))); break;
      case 5: bytes.resize(size + random.below(1000)); break;
      case 6: {
        const Bytes copy = files[random.below(static_cast<uint32_t>(files.size()))].second;
        if (random.below(4) == 0) bytes = copy;
        break;
      }
      case 7:
        if (files.size() > 1 && random.below(3) == 0) files.erase(files.begin() + which);
        break;
      default: deceive(random, bytes, which + 1);
    }
  }
}

void putAll(SimulatedDisk& disk, const Files& files) {
  for (const auto& [name, bytes] : files) disk.put(name, bytes);
}

}  // namespace

int main() {
  const uint64_t count = fromEnvironment("EXRP_FUZZ_COUNT", 4000);
  const uint64_t seed = fromEnvironment("EXRP_FUZZ_SEED", 20261128);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  uint64_t opened = 0;
  uint64_t told = 0;
  for (uint64_t k = 0; k < count && failureCount == 0; ++k) {
    Random random(seed, k);
    Files files = makeLog(random);
    damage(random, files);
    SimulatedDisk disk(k);
    putAll(disk, files);
    if (random.below(8) == 0) disk.put("log-00000009.exrp", Bytes(random.below(100), 7));
    if (random.below(8) == 0) disk.put("log-9.exrp", Bytes(40, 7));  // no segment's name
    LogPosition from;
    if (random.below(3) == 0) from = {1 + random.below(4), random.below(5000)};
    LogListener first;
    LogScan scan;
    const LogStatus status = scanLog(disk, from, first, &scan);
    told += first.damages.size();
    if (status != LogStatus::ok) {
      CHECK(status == LogStatus::damaged || status == LogStatus::empty || status == LogStatus::version);
      continue;
    }
    ++opened;
    CHECK_EQUAL(scan.frameCount, first.texts.size());
    Log log;
    LogListener second;
    const LogOptions options = optionsOf(random);
    CHECK_EQUAL(log.open(&disk, options, from, second, &scan), LogStatus::ok);
    CHECK(second.texts == first.texts);
    for (size_t j = 0; j < second.places.size(); ++j) {
      std::string text(second.places[j].bytes, 0);
      uint32_t type = 0;
      CHECK_EQUAL(log.read(second.places[j], reinterpret_cast<uint8_t*>(text.data()), &type), LogStatus::ok);
      CHECK(text == second.texts[j]);
    }
    LogPlace place;
    CHECK_EQUAL(log.append(3, "behind", 6, &place), LogStatus::ok);
    CHECK_EQUAL(log.close(), LogStatus::ok);
    LogListener third;
    CHECK_EQUAL(scanLog(disk, from, third, &scan), LogStatus::ok);
    first.texts.emplace_back("behind");
    CHECK(third.texts == first.texts);
    CHECK_EQUAL(disk.openCount(), 0u);
    if (failureCount > 0) std::printf("again: EXRP_FUZZ_SEED=%llu, turn %llu\n", static_cast<unsigned long long>(seed), static_cast<unsigned long long>(k));
  }
  std::printf("%llu of %llu logs were opened, %llu damages told\n", static_cast<unsigned long long>(opened), static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(told));
  return checkResult("log/fuzz");
}
