// A durable replay of a test: its log is on a disk that the test has, and is opened as exrp_durable_open() does it.
#pragma once

#include <algorithm>
#include <memory>

#include "kernel/durable/recovery.hpp"
#include "tests/kernel/durable/calls.hpp"
#include "tests/kernel/durable/forwarding_disk.hpp"

namespace exrp::test {

/// Begins a log on a disk, or reads the one that is there.
inline Status openDurable(const Side& side, Disk& disk, const DurableOptions& options, bool isNew, RecoveryReport* report) {
  Seat& seat = *registry()->find(side.id());
  ReplayInstance& found = seat.instance;
  std::unique_ptr<Durable> made(new Durable(found.replay, found.snapshot, found.statistics));
  Status status = made->takeDisk(std::make_unique<BorrowedDisk>(disk));
  if (status == Status::ok && isNew) status = made->create(options);
  if (status == Status::ok && !isNew) status = Recovery(*made, found.recording, found.drawing, seat.scratch).open(options, report);
  if (status == Status::ok) found.durable = std::move(made);
  return status;
}

/// The log's reason behind Status::log.
inline LogStatus reason() { return static_cast<LogStatus>(static_cast<int>(errorDetail[0])); }

/// Options under which little is much: all of a log's life within some kilobytes, in one thread.
inline DurableOptions smallDurable(Random& random) {
  DurableOptions options;
  options.log.isThreaded = false;
  options.log.flushIntervalMs = 0;
  options.log.segmentBytes = 4096u << random.below(4);
  options.log.bufferBytes = 256u << random.below(4);
  options.log.queueBytes = 1024u << random.below(5);
  options.groupBytes = random.below(3) == 0 ? UINT32_MAX : 64u << random.below(8);
  options.checkpointBytes = random.below(5) == 0 ? UINT64_MAX : 1000u << random.below(6);
  options.pieceBytes = random.below(2) == 0 ? 1 + random.below(300) : 1u << 20;
  options.pumpBytes = random.below(2) == 0 ? 1 + random.below(2000) : 4u << 20;
  options.hasState = random.below(6) == 0;
  options.goesOn = random.below(2) == 0;
  // In half of them, what is older than the checkpoint is read when it is needed.
  options.readNowBytes = random.below(2) == 0 ? UINT64_MAX : random.below(2) * 1000;
  return options;
}

/// The stamps of a selector by priority only say which priority came first. One by one, records use up other stamps than many at once.
inline void rankStamps(std::vector<uint8_t>& items) {
  constexpr size_t itemBytes = 16;
  constexpr size_t stampAt = 8;
  std::vector<uint64_t> stamps(items.size() / itemBytes);
  for (size_t k = 0; k < stamps.size(); ++k) memcpy(&stamps[k], &items[k * itemBytes + stampAt], sizeof stamps[k]);
  std::vector<uint64_t> sorted = stamps;
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 0; k < stamps.size(); ++k) {
    const auto rank = static_cast<uint64_t>(std::lower_bound(sorted.begin(), sorted.end(), stamps[k]) - sorted.begin());
    memcpy(&items[k * itemBytes + stampAt], &rank, sizeof rank);
  }
}

/// What differs between a replay that was opened again and its twin; null where nothing does. A forged folder may have two copies of a row that only some
/// records keep: a checkpoint has one, and a block has the other, and either is taken. Or sums of a selector do not belong to the numbers that they are of. So there, only
/// the number of bytes counts.
inline const char* difference(const Side& one, const Side& other, const std::vector<SelectorSetup>& setups = {}, bool isForged = false) {
  static char text[96];
  if (broken(one.id()) != 0) return "a broken invariant";
  const auto selectors = static_cast<uint32_t>(infoOf(one.id(), EXRP_INFO_SELECTOR_COUNT));
  if (selectors != infoOf(other.id(), EXRP_INFO_SELECTOR_COUNT)) return "selectors";
  if (infoOf(one.id(), EXRP_INFO_TABLE_COUNT) != infoOf(other.id(), EXRP_INFO_TABLE_COUNT)) return "views";
  Snapshot snapshots[2];
  if (takeSnapshot(one.id(), selectors, &snapshots[0]) || takeSnapshot(other.id(), selectors, &snapshots[1])) return "a snapshot is refused";
  for (uint32_t selector = 0; selector < selectors && selector < setups.size(); ++selector) {
    if (setups[selector].kind != EXRP_SELECTOR_PRIORITY_END) continue;
    for (Snapshot& each : snapshots) rankStamps(each[EXRP_SECTION_SELECTOR + 2 * selector + 1]);
  }
  for (size_t section = 0; section < snapshots[0].size(); ++section) {
    if (snapshots[0][section] == snapshots[1][section]) continue;
    const bool mayDiffer = (section >= EXRP_SECTION_KEPT && section < EXRP_SECTION_PICKS) || section >= EXRP_SECTION_SELECTOR;
    if (isForged && mayDiffer && snapshots[0][section].size() == snapshots[1][section].size()) continue;
    std::snprintf(text, sizeof text, "section %zu: %zu and %zu bytes", section, snapshots[0][section].size(), snapshots[1][section].size());
    return text;
  }
  for (uint32_t log = 0; log < EXRP_LIMIT_LOGS; ++log) {
    const ReplayInstance& first = one.instance();
    if (first.statistics.drawnCount(log) != other.instance().statistics.drawnCount(log)) return "draws that were counted";
  }
  return nullptr;
}

}  // namespace exrp::test
