// A durable replay on a disk that crashes, fails and lies: random schedules of calls, in one thread, so that a seed tells all of it.
//
// A schedule is some lives of one folder. Each ends by a crash of the system, by the end of the process, or by close(). In some, a call of the disk
// fails. Then the folder is opened again, which may fail, too. A twin in memory makes the calls of the groups that were found. Each must come to the
// same, and both replays must save the same bytes: nothing that was flushed is missing, and nothing is torn, doubled or invented. The next life goes
// on with both.
//
// In half of them, rows may leave memory, and all that may do leave it between calls.
//
// In half of the openings, older rows are read later: by whoever needs them, or one block after the other between calls.
//
// A disk that lies may lose what was flushed. At the end, a bit is flipped: it must be found, and cost nothing. Or the rows of a block are spoiled, before the folder is
// opened, or once it is open, where they were not read yet: that is named, and costs its episode.
//
// EXRP_CRASH_SCHEDULES sets how many schedules are run, and EXRP_CRASH_SEED the first seed.
#include <algorithm>
#include <string>
#include <vector>

#include "kernel/log/log_format.hpp"
#include "kernel/store/logged_rows.hpp"
#include "tests/kernel/durable/durable_side.hpp"
#include "tests/kernel/log/simulated_disk.hpp"
#include "tests/kernel/recycled_pages.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

#if defined(EXRP_TEST_MEMORY)
constexpr uint64_t usualCount = 300;  // under a sanitizer
#else
constexpr uint64_t usualCount = 10000;
#endif

struct Totals {
  uint64_t lives = 0, calls = 0, crashes = 0, kills = 0, failures = 0, failedOpens = 0, lies = 0, groups = 0, lost = 0, checkpoints = 0, flips = 0,
           found = 0, spoiled = 0, spoiledLate = 0, readBlocks = 0, unread = 0, refused = 0;
};

#define REQUIRE(condition)                   \
  do {                                       \
    const bool isMet = (condition);          \
    CHECK(isMet && "schedule: " #condition); \
    if (!isMet) {                            \
      isGood_ = false;                       \
      return;                                \
    }                                        \
  } while (false)

class Schedule {
 public:
  Schedule(uint64_t seed, Totals& totals)
      : random_(seed, 5), disk_(seed), setup_(durableSetup(random_)), calls_(setup_, random_.below(3) == 0), totals_(totals) {}

  /// False where a check failed: the rest would say nothing new.
  bool run() {
    twin_.seats = {calls_.makeReplay()};
    isLying_ = random_.below(10) == 0;
    const uint32_t lives = 1 + random_.below(random_.below(3) == 0 ? 4 : 2);
    for (uint32_t life = 0; life < lives && isGood_; ++life) {
      ++totals_.lives;
      if (isLying_) disk_.lie(random_.below(3) * 0.3 + 0.2);
      live();
      if (isLying_) break;
    }
    disk_.lie(0);
    if (isGood_ && exists_) finish();
    side_.destroy();
    twin_.destroy();
    return isGood_;
  }

 private:
  struct Made {
    Call call;
    Outcome outcome;
  };
  using Bytes = SimulatedDisk::Bytes;

  Durable& durable() { return *side_.instance().durable; }

  void fault(const char* what, int32_t status = 0) {
    if (isGood_) std::printf("%s (status %d, reason %d, call %d)\n", what, status, static_cast<int>(reason()), static_cast<int>(errorDetail[1]));
    CHECK(false && "schedule");
    isGood_ = false;
  }

  void live() {
    options_ = smallDurable(random_);
    if (!begin(true)) return;
    if (random_.below(3) == 0) disk_.failAt(random_.below(random_.below(2) == 0 ? 12 : 100), random_.below(2) == 0 ? ENOSPC : EIO);
    for (uint32_t steps = random_.below(90); steps > 0 && isGood_; --steps) step();
    if (isGood_) endLife();
  }

  void endLife() {
    const uint32_t how = random_.below(5);
    if (how == 0) {
      close();
    } else if (how == 1) {
      ++totals_.kills;
      durable().abandon();
    } else {
      ++totals_.crashes;
      disk_.crash();
    }
    side_.destroy();
    REQUIRE(disk_.openCount() == 0);
    if (disk_.hasFailed()) ++totals_.failures;
    disk_.restart();
  }

  /// Ends the log as the end of a program does. All calls count then.
  void close() {
    const Status status = durable().close();
    noteGroups();
    if (status != Status::ok) {
      if (status != Status::log || !disk_.hasFailed()) fault("close", number(status));
    } else if (!options_.hasState) {
      flushed_ = durable().groupCount();
    }
    side_.instance().durable.reset();
  }

  /// Opens the folder, or makes its log, and compares. False where it can't be.
  bool begin(bool mayFail) {
    for (int turn = 0; turn < 4; ++turn) {
      side_.seats = {calls_.makeReplay()};
      if (mayFail && random_.below(5) == 0) disk_.failAt(random_.below(10), EIO);
      if (mayFail && random_.below(5) == 0) disk_.failReadAt(random_.below(20), EIO);
      RecoveryReport report;
      Status status = openDurable(side_, disk_, options_, !exists_, &report);
      const bool isMadeAlready = status == Status::log && reason() == LogStatus::exists && !exists_;
      if (isMadeAlready) status = openDurable(side_, disk_, options_, false, &report);
      if (status == Status::ok) {
        // Another failure may come later.
        disk_.failAt(UINT64_MAX, 0);
        disk_.failReadAt(UINT64_MAX, 0);
        if (exists_ || isMadeAlready) took(report);
        exists_ = true;
        return isGood_;
      }
      ++totals_.failedOpens;
      side_.destroy();
      if (isLying_ && exists_) {
        if (status != Status::log) fault("a disk that lied", number(status));
        return false;
      }
      if (status != Status::log || reason() != LogStatus::disk || !disk_.hasFailed()) fault("open", number(status));
      if (errorDetail[1] == 0) fault("open: no failure is told", number(status));
      if (!isGood_) return false;
      if (random_.below(3) == 0) disk_.crash();
      disk_.restart();
      if (turn == 2) mayFail = false;
    }
    fault("it can't be opened");
    return false;
  }

  /// The replay was opened again: a twin makes the calls that it is to have.
  void took(const RecoveryReport& report) {
    const uint64_t groups = report.groupCount;
    REQUIRE(groups == durable().groupCount() && groups >= base_ && groups <= base_ + groupEnds_.size());
    // Of what it lied about, rows may be missing that nobody has read yet.
    if (isLying_) readAll();
    if (isLying_ && (report.isDamaged || report.lostBlocks > 0 || unread().report().lostBlocks > 0)) {
      ++totals_.lies;
      REQUIRE(broken(side_.id()) == 0);
      isTwinOf_ = false;
      return;
    }
    // What a disk lied about may look like one flipped bit: a mark whose number of bytes lies in a sector that is not there.
    REQUIRE(!report.isDamaged && report.lostBlocks == 0 && (isLying_ || report.repairedCount == 0));
    REQUIRE(isLying_ || groups >= flushed_);
    totals_.groups += groups - base_;
    totals_.lost += base_ + groupEnds_.size() - groups;
    catchUp(groups);
    totals_.unread += unread().count();
    // To compare reads all rows. So some calls come first: they come to what they come to with the twin, or they are not compared before the next life.
    if (isGood_ && (unread().count() == 0 || random_.below(2) == 0)) compare();
  }

  UnreadRows& unread() { return durable().resident().unread(); }

  /// Whether rows may leave memory.
  bool isBounded() { return side_.instance().replay.book().store().isBounded(); }

  /// Reads all that was not read, one block after the other, as a thread or as calls do.
  void readAll() {
    if (!isBounded() && random_.below(2) == 0) return unread().readNext(UINT32_MAX);
    Store& store = side_.instance().replay.book().store();
    for (uint32_t block = 0; block < store.highWater(); ++block) {
      if (unread().is(block) && store.source()->fetchOne(block) != Status::ok) ++totals_.refused;
    }
  }

  /// Lets the twin make the calls up to the end of a group, and begin a new life.
  void catchUp(uint64_t groups) {
    const size_t count = groups == base_ ? 0 : groupEnds_[groups - base_ - 1];
    for (size_t k = 0; k < count; ++k) REQUIRE(calls_.make(twin_, made_[k].call) == made_[k].outcome);
    reopenTwin(twin_);
    while (!states_.empty() && states_.back().first > groups) states_.pop_back();
    if (!states_.empty()) state_ = states_.back().second;
    states_.clear();
    made_.clear();
    groupEnds_.clear();
    tickets_.clear();
    base_ = flushed_ = groups;
  }

  void compare() {
    const char* const what = difference(side_, twin_, setup_.selectors);
    if (what != nullptr) return fault(what);
    const Bytes state(durable().state(), durable().state() + durable().stateBytes());
    REQUIRE(state == state_);
  }

  void step() {
    // It asks for more than there can be, and so all leaves that may.
    RowSource* const source = side_.instance().replay.book().store().source();
    if (isBounded() && random_.below(3) == 0) CHECK(source->makeRoom(uint64_t{1} << 40) != Status::ok);
    const uint64_t before = durable().resident().readBlocks();
    act();
    totals_.readBlocks += durable().resident().readBlocks() - before;
  }

  void act() {
    const uint32_t choice = random_.below(100);
    if (choice < 80) {
      Made made;
      const uint64_t groups = durable().groupCount();
      made.call = calls_.choose(side_, random_);
      made.outcome = calls_.make(side_, made.call);
      REQUIRE(!options_.hasState || durable().groupCount() == groups);
      made_.push_back(std::move(made));
      ++totals_.calls;
    } else if (choice < 89) {
      if (!isBounded()) unread().readNext(random_.below(4));
      durable().stream().work();
    } else if (choice < 97) {
      flush(choice < 92);
    } else if (choice < 98) {
      test::Snapshot snapshot;
      const auto selectors = static_cast<uint32_t>(infoOf(side_.id(), EXRP_INFO_SELECTOR_COUNT));
      REQUIRE(!takeSnapshot(side_.id(), selectors, &snapshot));
    } else if (choice < 99) {
      REQUIRE(broken(side_.id()) == 0);
    }
    noteGroups();
    for (const auto& [ticket, groups] : tickets_)
      if (durable().stream().isFlushed(ticket)) flushed_ = std::max(flushed_, groups);
  }

  /// Ends a group, with a state or without, and may wait for it.
  void flush(bool isWaiting) {
    const bool hasState = random_.below(2) == 0;
    Bytes state(random_.below(30));
    for (uint8_t& byte : state) byte = static_cast<uint8_t>(random_.next());
    double ticket = 0;
    const auto size = static_cast<uint32_t>(state.size());
    const uint64_t before = durable().groupCount();
    const uint32_t mode = !hasState ? 0 : random_.below(8) == 0 ? 2 : 1;
    int32_t status = exrp_durable_group(side_.id(), state.data(), size, mode, &ticket);
    if (status == 0 && mode == 2) options_.hasState = true;
    const uint64_t groups = durable().groupCount();
    // The group may have ended, and then the disk failed.
    if (hasState && (status == 0 || groups > before)) states_.emplace_back(groups, state);
    if (status == 0) tickets_.emplace_back(static_cast<uint64_t>(ticket), groups);
    if (status == 0 && isWaiting) status = exrp_durable_wait(side_.id(), ticket, UINT32_MAX);
    if (status == 0 && isWaiting) flushed_ = std::max(flushed_, groups);
    if (status != 0 && (status != EXRP_STATUS_LOG || !disk_.hasFailed())) fault("flush", status);
  }

  void noteGroups() {
    while (base_ + groupEnds_.size() < durable().groupCount()) groupEnds_.push_back(made_.size());
  }

  // ---- damage ----

  /// Where the newest checkpoint begins, or the log.
  LogPosition checkpoint() {
    if (!disk_.has(checkpointName)) return {1, segmentHeadBytes};
    CheckpointFile file;
    memcpy(&file, disk_.content(checkpointName).data(), sizeof file);
    return {file.segment, file.offset};
  }

  void finish() {
    options_ = smallDurable(random_);
    options_.hasState = false;
    if (!begin(false) || !isTwinOf_) return;
    for (uint32_t steps = random_.below(40); steps > 0 && isGood_; --steps) step();
    if (!isGood_) return;
    if (disk_.has(checkpointName)) ++totals_.checkpoints;
    // Where only the caller ends groups, close() leaves out what came behind the last one.
    if (options_.hasState) flush(true);
    if (!isGood_) return;
    // The rows of which block are spoiled in the end.
    LogPlace victim;
    double episode = 0;
    const Status closed = durable().close();
    REQUIRE(closed == Status::ok);
    noteGroups();
    flushed_ = durable().groupCount();
    catchUp(flushed_);
    chooseBlock(&victim, &episode);
    side_.instance().durable.reset();
    side_.destroy();
    REQUIRE(disk_.openCount() == 0);
    // Of what a disk lied about, there may be more than one part that is not what was written.
    if (isLying_) return;
    if (random_.below(2) == 0) flip();
    else if (victim.segment > 0) spoil(victim, episode);
  }

  void chooseBlock(LogPlace* victim, double* episode) {
    const EpisodeBook& book = side_.instance().replay.book();
    const Store& store = book.store();
    const uint32_t from = store.highWater() == 0 ? 0 : random_.below(store.highWater());
    for (uint32_t block = from; block < store.highWater(); ++block) {
      if (!store.isTaken(block) || book.rowsOf(block).count == 0) continue;
      *victim = book.part<LoggedRows>().place(block);
      *episode = static_cast<double>(store.handleOf(block));
      return;
    }
  }

  /// Where the next segment says that this one ends: behind, there may be what a recovery cut, and a crash brought back.
  uint32_t endOf(uint32_t segment) {
    const std::string next = SegmentName(segment + 1).text;
    if (!disk_.has(next)) return UINT32_MAX;
    SegmentHead head;
    memcpy(&head, disk_.content(next).data(), sizeof head);
    return head.previousBytes;
  }

  /// A flipped bit anywhere is found, and costs nothing.
  void flip() {
    const std::map<std::string, Bytes> files = disk_.files();
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files)
      if (!bytes.empty() && name != newCheckpointName) names.push_back(name);
    const std::string name = names[random_.below(static_cast<uint32_t>(names.size()))];
    const uint32_t byte = random_.below(static_cast<uint32_t>(files.at(name).size()));
    class : public LogVisitor {
      bool frame(const LogFrame&) override { return true; }
      bool damage(const LogDamage&) override { return true; }
    } ignores;
    LogScan scan;
    const LogPosition from = checkpoint();
    const LogStatus scanned = scanLog(disk_, from, ignores, &scan);
    REQUIRE(scanned == LogStatus::ok);
    const LogPosition at = {name == checkpointName ? 0 : static_cast<uint32_t>(std::strtoul(name.c_str() + 4, nullptr, 10)), byte};
    const bool isRead = name == checkpointName || (at.packed() >= from.packed() && at.packed() < scan.synced.packed() && byte < endOf(at.segment));
    disk_.flip(name, byte, random_.below(8));
    ++totals_.flips;
    side_.seats = {calls_.makeReplay()};
    RecoveryReport report;
    const Status status = openDurable(side_, disk_, options_, false, &report);
    if (status != Status::ok) return fault("a flipped bit", number(status));
    REQUIRE(!report.isDamaged && report.lostBlocks == 0);
    if (isRead) REQUIRE(report.repairedCount == 1);
    const uint64_t repairedCount = report.repairedCount;
    report.repairedCount = 0;
    took(report);
    if (isGood_) readAll();
    if (isGood_) compare();
    if (!isGood_) return;
    const UnreadReport late = unread().report();
    REQUIRE(late.unreadBlocks == 0 && late.lostBlocks == 0 && repairedCount + late.repairedCount <= 1);
    totals_.found += repairedCount + late.repairedCount;
    durable().abandon();
    side_.destroy();
    disk_.setFiles(files);
  }

  /// The rows of one block are no longer what they were. This is named, and its episode goes.
  void spoil(const LogPlace& place, double episode) {
    const bool isLate = random_.below(2) == 0;
    if (!isLate) spoil(place);
    side_.seats = {calls_.makeReplay()};
    RecoveryReport report;
    const Status status = openDurable(side_, disk_, options_, false, &report);
    if (status != Status::ok) return fault("spoiled rows", number(status));
    const bool isUnread = isUnreadAt(place);
    if (isLate) {
      REQUIRE(!report.isDamaged && report.lostBlocks == 0);
      // What is in memory by now may be the only one that is whole, or leave memory and be lost.
      if (!isUnread && isBounded()) return;
      spoil(place);
      ++totals_.spoiledLate;
    }
    ++totals_.spoiled;
    readAll();
    const UnreadReport late = unread().report();
    const uint64_t lostBlocks = report.lostBlocks + late.lostBlocks;
    REQUIRE(late.repairedCount == 0 && report.repairedCount == 0 && late.unreadBlocks == late.lostBlocks && lostBlocks <= 1);
    REQUIRE(late.lostBlocks == (isUnread ? 1u : 0u) && (late.lostBlocks == 0 || late.damage == place.position()));
    REQUIRE(isLate || isUnread || (report.isDamaged && report.damage == place.position()));
    double ticket = 0;
    // Its episode goes with the next group, also where it is open.
    if (late.lostBlocks == 1) REQUIRE(exrp_durable_group(side_.id(), nullptr, 0, 0, &ticket) == 0);
    REQUIRE(unread().count() == 0);
    // Where it was written once more for a checkpoint only, its rows are also at an older place.
    if (lostBlocks == 1) CHECK_EQUAL(exrp_episode_evict(twin_.id(), episode), 0);
    compare();
  }

  bool isUnreadAt(const LogPlace& place) {
    const EpisodeBook& book = side_.instance().replay.book();
    bool isThere = false;
    for (uint32_t block = 0; block < book.store().highWater(); ++block) {
      isThere = isThere || (unread().is(block) && book.part<LoggedRows>().place(block).position() == place.position());
    }
    return isThere;
  }

  /// Damages a payload. What looks like one flipped bit would be repaired first, and lost only then: that is a case of promises_test.cpp.
  void spoil(const LogPlace& place) {
    uint8_t* const payload = disk_.content(SegmentName(place.segment).text).data() + place.offset + frameHeadBytes;
    const uint32_t sum = payloadSum(payload, place.bytes);
    do {
      for (uint32_t k = 0; k < 12; ++k) {
        uint8_t& byte = payload[(k * (place.bytes - 1)) / 11];
        byte = static_cast<uint8_t>(byte ^ (1 + random_.below(255)));
      }
    } while (flippedBit(payloadSum(payload, place.bytes) ^ sum, padded(place.bytes)) != noBit);
  }

  Random random_;
  SimulatedDisk disk_;
  const Setup setup_;
  const Calls calls_;
  Totals& totals_;
  DurableOptions options_;
  Side side_;
  Side twin_;
  uint64_t base_ = 0;     // groups that the twin has
  uint64_t flushed_ = 0;  // groups that must be there
  std::vector<Made> made_;         // since then
  std::vector<size_t> groupEnds_;  // of each later group: how many of these calls it and those before it have
  std::vector<std::pair<uint64_t, uint64_t>> tickets_;
  std::vector<std::pair<uint64_t, Bytes>> states_;
  Bytes state_;
  bool exists_ = false;
  bool isLying_ = false;
  bool isTwinOf_ = true;
  bool isGood_ = true;
};

}  // namespace

int main() {
  const uint64_t first = fromEnvironment("EXRP_CRASH_SEED", 1);
  const uint64_t count = fromEnvironment("EXRP_CRASH_SCHEDULES", usualCount);
  Totals totals;
  uint64_t failed = 0;
  for (uint64_t seed = first; seed < first + count && failed < 5; ++seed) {
    if (Schedule(seed, totals).run()) continue;
    ++failed;
    std::printf("again: EXRP_CRASH_SEED=%llu EXRP_CRASH_SCHEDULES=1\n", static_cast<unsigned long long>(seed));
  }
  const auto say = [](const char* what, uint64_t number) { std::printf("%s %llu, ", what, static_cast<unsigned long long>(number)); };
  say("lives", totals.lives);
  say("calls", totals.calls);
  say("crashes", totals.crashes);
  say("kills", totals.kills);
  say("failures", totals.failures);
  say("failed openings", totals.failedOpens);
  say("lies", totals.lies);
  say("groups", totals.groups);
  say("groups that a crash took", totals.lost);
  say("with a checkpoint", totals.checkpoints);
  say("flipped bits", totals.flips);
  say("of them read", totals.found);
  say("spoiled", totals.spoiled);
  say("of them once it was open", totals.spoiledLate);
  say("unread blocks", totals.unread);
  say("of them refused", totals.refused);
  say("blocks that were read back", totals.readBlocks);
  std::printf("\n");
  return checkResult("durable/schedules");
}
