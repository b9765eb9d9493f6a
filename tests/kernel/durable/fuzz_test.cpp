// Damaged folders of durable replays, under the sanitizers: opening one gives an error of the log, or a replay that is sound, can be used, and is the
// same when it is opened once more. Half of the folders are damaged as a disk does it. In the others, frames are changed, left out, doubled and
// moved, and all checksums are made anew, as only somebody who wants to deceive would do it. Such a folder may be refused when it is opened once more.
// Such lengths must take no memory: an allocation above 512 MiB fails the test.
//
// EXRP_FUZZ_COUNT sets how many are tried, and EXRP_FUZZ_SEED which ones.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tests/kernel/durable/durable_side.hpp"
#include "tests/kernel/log/simulated_disk.hpp"
#include "tests/kernel/recycled_pages.hpp"

using namespace exrp;
using namespace exrp::test;

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options();
// The kernel takes a refused allocation for want of memory, and the test for a failure. One folder frees less than is kept back.
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=512:allocator_may_return_null=1:quarantine_size_mb=16"; }
#endif

namespace {

using Bytes = SimulatedDisk::Bytes;
using Files = std::map<std::string, Bytes>;

struct Frame {
  uint32_t type;
  Bytes payload;
};

/// One folder, and what it takes to open it.
class Folder {
 public:
  explicit Folder(uint64_t seed) : random_(seed, 9), setup_(durableSetup(random_)), calls_(setup_, random_.below(3) == 0) {
    SimulatedDisk disk(seed);
    Side side = {{calls_.makeReplay()}};
    DurableOptions options = smallDurable(random_);
    options.hasState = false;
    CHECK(openDurable(side, disk, options, true, nullptr) == Status::ok);
    for (uint32_t steps = 20 + random_.below(120); steps > 0; --steps) {
      calls_.make(side, calls_.choose(side, random_));
      if (random_.below(6) > 0) continue;
      double ticket = 0;
      const uint8_t state[3] = {1, 2, 3};
      CHECK_EQUAL(exrp_durable_group(side.id(), state, sizeof state, random_.below(2), &ticket), 0);
      CHECK_EQUAL(exrp_durable_wait(side.id(), ticket, UINT32_MAX), 0);
    }
    if (random_.below(2) == 0) side.instance().durable->abandon();
    side.destroy();
    files_ = disk.files();
  }

  /// Damages a copy, and opens it. Whether that gave a replay.
  bool tryOne(uint64_t seed) {
    Random random(seed, 10);
    Files files = files_;
    const bool isForged = random.below(2) != 0;
    if (!isForged) {
      for (uint32_t hits = 1 + random.below(3); hits > 0; --hits) damage(random, files);
    } else {
      for (uint32_t hits = 1 + random.below(2); hits > 0; --hits) deceive(random, files);
    }
    SimulatedDisk disk(seed);
    disk.setFiles(files);
    DurableOptions options = smallDurable(random);
    options.hasState = false;
    Side side = {{calls_.makeReplay()}};
    RecoveryReport report;
    const Status status = openDurable(side, disk, options, false, &report);
    const bool isOpen = status == Status::ok;
    if (isOpen) use(random, disk, side, isForged);
    else CHECK(status == Status::log && reason() != LogStatus::disk && reason() != LogStatus::memory);
    side.destroy();
    CHECK_EQUAL(disk.openCount(), 0u);
    return isOpen;
  }

 private:
  void use(Random& random, SimulatedDisk& disk, Side& side, bool isForged) {
    CHECK_EQUAL(broken(side.id()), 0);
    // A forged log may have made more views and selectors than the setup knows, or fewer views.
    const PickViews& picks = side.instance().replay.picks();
    bool isKnown = picks.viewCount() <= setup_.policies.size() && picks.selectorCount() <= setup_.selectors.size();
    for (uint32_t selector = 0; isKnown && selector < picks.selectorCount(); ++selector) isKnown = setup_.selectors[selector].table < picks.viewCount();
    for (uint32_t steps = isKnown ? random.below(12) : 0; steps > 0; --steps) calls_.make(side, calls_.choose(side, random));
    CHECK_EQUAL(broken(side.id()), 0);
    if (random.below(4) > 0) return;
    // What it has not read yet can't be read without its log.
    side.instance().durable->resident().unread().readNext(UINT32_MAX);
    CHECK(side.instance().durable->close() == Status::ok);
    side.instance().durable.reset();
    // As the next program finds it.
    reopenTwin(side);
    Side again = {{calls_.makeReplay()}};
    RecoveryReport report;
    const Status status = openDurable(again, disk, smallDurable(random), false, &report);
    // What a forger wrote may be found out only now.
    CHECK(status == Status::ok || (isForged && status == Status::log && reason() != LogStatus::disk && reason() != LogStatus::memory));
    if (status != Status::ok) std::printf("reason %d, %g, %g\n", static_cast<int>(reason()), errorDetail[1], errorDetail[2]);
    const char* const what = status == Status::ok ? difference(again, side, setup_.selectors, isForged) : nullptr;
    if (what != nullptr) std::printf("%s\n", what);
    CHECK(what == nullptr);
    again.destroy();
  }

  static std::string anyName(Random& random, const Files& files) {
    auto found = files.begin();
    std::advance(found, random.below(static_cast<uint32_t>(files.size())));
    return found->first;
  }

  static void damage(Random& random, Files& files) {
    if (files.empty()) return;
    const std::string name = anyName(random, files);
    Bytes& bytes = files[name];
    const auto size = static_cast<uint32_t>(bytes.size());
    const uint32_t at = size == 0 ? 0 : random.below(size);
    const auto place = bytes.begin() + at;
    switch (random.below(8)) {
      case 0:
        if (size > 0) bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1u << random.below(8)));
        break;
      case 1:
        for (uint32_t k = at; k < std::min(size, at + random.below(900)); ++k) bytes[k] = static_cast<uint8_t>(random.next());
        break;
      case 2: bytes.resize(at); break;
      case 3: bytes.insert(place, 8 * random.below(9), static_cast<uint8_t>(random.next())); break;
      case 4: bytes.erase(place, place + std::min(size - at, 8 * random.below(9))); break;
      case 5: bytes.resize(size + random.below(1000)); break;
      case 6: {
        const Bytes copy = files[anyName(random, files)];
        files[name] = copy;
        break;
      }
      default: files.erase(name);
    }
  }

  /// Changes a number somewhere to one that was not expected there.
  static void twist(Random& random, Bytes& bytes) {
    if (bytes.empty()) return;
    const uint32_t wide = random.below(3) == 0 ? 8 : 4;
    // The heads of payloads steer the most.
    const auto size = static_cast<uint32_t>(bytes.size());
    const uint32_t at = random.below(random.below(2) == 0 ? std::min(size, 64u) : size) / wide * wide;
    uint64_t number = 0;
    memcpy(&number, &bytes[at], std::min(wide, size - at));
    const double doubles[] = {-1, 0.5, 1e300, 0x1p53, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -0.0};
    switch (random.below(8)) {
      case 0: number = 0; break;
      case 1: number = UINT64_MAX; break;
      case 2: number = uint64_t{1} << random.below(64); break;
      case 3: number += random.below(5) - 2; break;
      case 4: number = random.below(64); break;
      case 5: number = random.next(); break;
      case 6: memcpy(&number, &doubles[random.below(7)], sizeof number); break;
      default: {
        const uint32_t from = random.below(size) / 4 * 4;
        memcpy(&number, &bytes[from], std::min(wide, size - from));
      }
    }
    memcpy(&bytes[at], &number, std::min(wide, size - at));
  }

  static void deceive(Random& random, Files& files) {
    const std::string name = anyName(random, files);
    Bytes& bytes = files[name];
    if (name == checkpointName && bytes.size() == sizeof(CheckpointFile)) {
      CheckpointFile file;
      bytes.resize(offsetof(CheckpointFile, sum));
      twist(random, bytes);
      bytes.resize(sizeof file);
      memcpy(&file, bytes.data(), sizeof file);
      file.sum = checksum(0, bytes.data(), offsetof(CheckpointFile, sum));
      memcpy(bytes.data(), &file, sizeof file);
      return;
    }
    if (bytes.size() < segmentHeadBytes) return;
    SegmentHead head;
    memcpy(&head, bytes.data(), sizeof head);
    std::vector<Frame> frames;
    uint32_t at = segmentHeadBytes;
    while (at + frameHeadBytes <= bytes.size()) {
      FrameHead frame;
      memcpy(&frame, &bytes[at], sizeof frame);
      if (frame.bytes > bytes.size() || at + wholeFrameBytes(frame.bytes) > bytes.size()) break;
      const auto begin = bytes.begin() + at + frameHeadBytes;
      frames.push_back({frame.type, {begin, begin + frame.bytes}});
      at += wholeFrameBytes(frame.bytes);
    }
    if (frames.empty()) return;
    const uint32_t which = random.below(static_cast<uint32_t>(frames.size()));
    const auto place = frames.begin() + which;
    const uint32_t other = random.below(static_cast<uint32_t>(frames.size()));
    switch (random.below(12)) {
      case 0: frames.erase(place); break;
      case 1: {
        const Frame copy = *place;
        frames.insert(frames.begin() + other, copy);
        break;
      }
      case 2: std::swap(frames[which], frames[other]); break;
      case 3: place->type = random.below(12); break;
      case 4: place->payload.resize(random.below(static_cast<uint32_t>(place->payload.size()) + 1)); break;
      case 5: place->payload.resize(place->payload.size() + random.below(100)); break;
      default:
        for (uint32_t hits = 1 + random.below(3); hits > 0; --hits) twist(random, place->payload);
    }
    rebuild(head, frames, bytes);
    // The next segment says where this one ends.
    const auto next = files.find(SegmentName(head.segment + 1).text);
    if (next == files.end() || next->second.size() < segmentHeadBytes) return;
    const SegmentHead after = segmentHead(head.logId, head.segment + 1, static_cast<uint32_t>(bytes.size()));
    memcpy(next->second.data(), &after, sizeof after);
  }

  /// Writes a segment anew, with all checksums.
  static void rebuild(const SegmentHead& head, const std::vector<Frame>& frames, Bytes& bytes) {
    bytes.resize(segmentHeadBytes);
    const uint32_t seed = frameSeed(head.logId, head.segment);
    for (const Frame& frame : frames) {
      const auto at = static_cast<uint32_t>(bytes.size());
      const auto size = static_cast<uint32_t>(frame.payload.size());
      FrameHead made = {size, frame.type, payloadSum(frame.payload.data(), size), 0};
      made.sum = frameHeadSum(seed, at, made);
      bytes.resize(at + wholeFrameBytes(size));
      memcpy(&bytes[at], &made, sizeof made);
      if (size > 0) memcpy(&bytes[at + frameHeadBytes], frame.payload.data(), size);
    }
  }

  Random random_;
  const Setup setup_;
  const Calls calls_;
  Files files_;
};

}  // namespace

int main() {
  const uint64_t count = fromEnvironment("EXRP_FUZZ_COUNT", 2000);
  const uint64_t seed = fromEnvironment("EXRP_FUZZ_SEED", 20261128);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  constexpr uint64_t perFolder = 50;
  uint64_t opened = 0;
  for (uint64_t at = 0; at < count && failureCount == 0; at += perFolder) {
    Folder folder(seed + at);
    for (uint64_t k = at; k < std::min(count, at + perFolder) && failureCount == 0; ++k) {
      opened += folder.tryOne(seed + k) ? 1 : 0;
      if (failureCount > 0) {
        std::printf("again, the last of: EXRP_FUZZ_SEED=%llu EXRP_FUZZ_COUNT=%llu\n", static_cast<unsigned long long>(seed + at),
                    static_cast<unsigned long long>(k - at + 1));
      }
    }
  }
  std::printf("%llu of %llu folders were opened\n", static_cast<unsigned long long>(opened), static_cast<unsigned long long>(count));
  return checkResult("durable/fuzz");
}
