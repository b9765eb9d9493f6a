// Durable tables on a disk whose power goes at any moment, and whose calls fail: what was flushed is there, and what is there is what the tables were after some
// change.
//
// EXRP_TABLES_SCHEDULES sets how many are tried, and EXRP_TABLES_SCHEDULE_SEED the first seed.
#include <algorithm>
#include <memory>

#include "kernel/abi/tables_registry.hpp"
#include "kernel/durable/tables_recovery.hpp"
#include "tests/kernel/durable/forwarding_disk.hpp"
#include "tests/kernel/log/simulated_disk.hpp"
#include "tests/kernel/tables/messages.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

const std::vector<std::string> names = {"a", "b"};

std::vector<double> config() {
  std::vector<double> made = {11, 2};
  addTable(made, 12, minSize(1), power(0.6), fifo, 3);
  addTable(made, 9, minSize(1), {EXRP_SELECTOR_RANK_BASED, 0.7, 1, 0, 0}, minHeap, 0, 2000);
  return made;
}

struct Set : TablesUnderTest {
  Set() : TablesUnderTest(config(), names) {}
  exrp::Tables& tables() { return tablesRegistry()->find(id)->tables; }
  Message whole() {
    CHECK_EQUAL(check(), 0);
    std::vector<uint8_t> bytes(1 << 16);
    double info[EXRP_TABLES_SAVE_COUNT] = {};
    CHECK_EQUAL(exrp_tables_save_begin(id), EXRP_STATUS_OK);
    CHECK_EQUAL(exrp_tables_save_read(id, bytes.data(), static_cast<double>(bytes.size()), info, EXRP_TABLES_SAVE_COUNT), EXRP_STATUS_OK);
    CHECK_EQUAL(info[EXRP_TABLES_SAVE_ENDED], 1.0);
    CHECK_EQUAL(exrp_tables_save_end(id), EXRP_STATUS_OK);
    return Message(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(info[EXRP_TABLES_SAVE_BYTES]));
  }
};

DurableOptions optionsOf(Random& random) {
  DurableOptions options;
  options.log.isThreaded = false;
  options.log.segmentBytes = 4096;
  options.log.bufferBytes = 256 << random.below(4);
  options.log.flushIntervalMs = 0;
  options.checkpointBytes = 1000 + 1000 * random.below(6);
  options.goesOn = true;
  return options;
}

/// One change of one table: a frame, or one that follows another without a change of what is seen.
void change(Random& random, Set& set, uint32_t inserter, uint64_t* key) {
  const uint32_t table = random.below(2);
  switch (random.below(5)) {
    case 0: {
      const uint32_t sampler = set.sampler(table);
      CHECK_EQUAL(exrp_sampler_ask(set.id, sampler, 1, EXRP_ASK_NOW), EXRP_STATUS_OK);
      (void)set.read(sampler);
      CHECK_EQUAL(exrp_stream_close(set.id, sampler), EXRP_STATUS_OK);
      break;
    }
    case 1: {
      const Message message = mutateOf(names[table], {{1 + random.below(static_cast<uint32_t>(*key) + 1), static_cast<double>(random.below(9))}}, {});
      CHECK_EQUAL(set.mutate(message), EXRP_STATUS_OK);
      break;
    }
    default: {
      ++*key;
      Insert insert = {{chunkOf(*key, random.below(3), random.below(400))}, {{*key, names[table], 1, {*key}}}, {}};
      if (*key > 1 && random.below(2) == 0) {
        // Another item shares the chunk of the last one.
        insert.chunks.clear();
        insert.items[0].chunks = {*key - 1};
      }
      insert.keep = {insert.items[0].chunks[0]};
      // Where the chunk is not held any more, this is refused, and nothing changes.
      if (set.feed(inserter, insert) != EXRP_STATUS_OK) --*key;
      break;
    }
  }
}

long checkpointsSeen = 0;
long failuresSeen = 0;

void run(uint64_t seed) {
  Random random(seed, 0);
  SimulatedDisk disk(seed);
  std::vector<Message> states;
  size_t flushed = 0;  // all before and with this state are on the disk
  uint64_t key = 0;
  for (int life = 0; life < 4; ++life) {
    Set set;
    DurableTables durable(set.tables());
    CHECK(durable.takeDisk(std::make_unique<BorrowedDisk>(disk)) == Status::ok);
    const DurableOptions options = optionsOf(random);
    if (life == 0) {
      CHECK(durable.create(options) == Status::ok);
    } else {
      RecoveryReport report;
      const Status status = TablesRecovery(durable).open(options, &report);
      CHECK(status == Status::ok);
      if (status != Status::ok) return durable.abandon();
      const Message found = set.whole();
      const auto at = std::find(states.begin() + static_cast<long>(flushed), states.end(), found);
      CHECK(at != states.end());
      CHECK_EQUAL(report.lostBlocks, uint64_t{0});
      states.clear();
    }
    // What was found is on the disk.
    states.push_back(set.whole());
    flushed = 0;
    const uint32_t inserter = set.inserter();
    const bool fails = random.below(3) == 0;
    if (fails) disk.failAt(random.below(200), random.below(2) == 0 ? EIO : ENOSPC);
    for (uint32_t k = random.below(120); k > 0; --k) {
      change(random, set, inserter, &key);
      states.push_back(set.whole());
      if (random.below(6) > 0) continue;
      const uint8_t state = static_cast<uint8_t>(k);
      if (durable.setState(&state, 1) != Status::ok) continue;
      if (random.below(2) == 0 && durable.waitFlushed(durable.requestFlush(), UINT32_MAX) == Status::ok) flushed = states.size() - 1;
    }
    if (durable.failedBy() != LogStatus::ok) ++failuresSeen;
    if (random.below(4) == 0 && durable.setState(nullptr, 0) == Status::ok &&
        durable.waitFlushed(durable.requestFlush(), UINT32_MAX) == Status::ok) {
      flushed = states.size() - 1;
    }
    if (random.below(3) > 0) disk.crash();
    durable.abandon();
    disk.restart();
    if (disk.has(checkpointName)) ++checkpointsSeen;
  }
}

/// Where the last frame of a log is that is no mark.
struct LastFrame final : LogVisitor {
  LogPlace place;
  bool frame(const LogFrame& frame) override {
    place = frame.place;
    return true;
  }
  bool damage(const LogDamage&) override { return false; }
};

/// The program is killed before the log says that its last frame is on the disk. It is opened, nothing is done, and it ends. Then a bit flips in that frame.
void aBitFlipsAfterAQuietLife() {
  for (const bool isTorn : {false, true}) {
    SimulatedDisk disk(1);
    DurableOptions options;
    options.log.isThreaded = false;
    options.log.flushIntervalMs = 0;
    Message whole;
    {
      Set set;
      DurableTables durable(set.tables());
      CHECK(durable.takeDisk(std::make_unique<BorrowedDisk>(disk)) == Status::ok);
      CHECK(durable.create(options) == Status::ok);
      for (uint64_t key = 1; key <= 5; ++key) {
        CHECK_EQUAL(set.feed(set.inserter(), Insert{{chunkOf(key, 1, 100)}, {{key, names[0], 1, {key}}}, {}}), EXRP_STATUS_OK);
      }
      CHECK(durable.waitFlushed(durable.requestFlush(), UINT32_MAX) == Status::ok);
      whole = set.whole();
      durable.abandon();
    }
    LastFrame last;
    LogScan scan;
    CHECK(scanLog(disk, {}, last, &scan) == LogStatus::ok);
    CHECK(scan.synced.packed() <= last.place.position().packed());
    const char* const name = "log-00000001.exrp";
    if (isTorn) disk.content(name).resize(disk.content(name).size() + 16);
    for (const bool isFlipped : {false, true}) {
      if (isFlipped) disk.flip(name, last.place.offset + frameHeadBytes + 5, 3);
      Set set;
      DurableTables durable(set.tables());
      CHECK(durable.takeDisk(std::make_unique<BorrowedDisk>(disk)) == Status::ok);
      RecoveryReport report;
      CHECK(TablesRecovery(durable).open(options, &report) == Status::ok);
      CHECK(set.whole() == whole);
      CHECK_EQUAL(report.repairedCount, uint64_t{isFlipped ? 1u : 0u});
      CHECK(durable.close() == Status::ok);
    }
  }
}

}  // namespace

int main() {
  aBitFlipsAfterAQuietLife();
  const uint64_t first = fromEnvironment("EXRP_TABLES_SCHEDULE_SEED", 1);
  const uint64_t count = fromEnvironment("EXRP_TABLES_SCHEDULES", 300);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const int before = failureCount;
    run(seed);
    if (failureCount > before) std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  }
  CHECK(count < 300 || checkpointsSeen > 100);
  CHECK(count < 300 || failuresSeen > 50);
  return checkResult("durable/tables_schedules");
}
