// A durable replay is opened with other limits, again and again: its invariants hold, it is the same when it is opened once more, and without memory
// the folder stays as it was. And what verify() finds in its folder.
#include <cstdio>
#include <string>
#include <vector>

#include "kernel/base/memory.hpp"
#include "kernel/base/random.hpp"
#include "tests/kernel/log/test_folder.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp::test;
using exrp::Random;

namespace {

constexpr uint64_t seedFirst = 26113;

struct Limits {
  double capacity = EXRP_DURABLE_KEEP;
  double bytes = EXRP_DURABLE_KEEP;
  double age = EXRP_DURABLE_KEEP;
};

struct Opened {
  uint32_t replay = 0;
  int32_t status = 0;
  double report[EXRP_RECOVERY_COUNT] = {};
};

/// Opens a folder with a replay that was just made.
Opened open(const TestSetup& setup, const std::string& path, bool isNew, const Limits& limits = {}) {
  Opened made;
  TestSetup plain = setup;
  plain.selectors.clear();
  made.status = plain.tryCreate(&made.replay);
  if (made.status != 0) return made;
  double options[EXRP_DURABLE_OPTION_COUNT] = {};
  options[EXRP_DURABLE_IS_NEW] = isNew ? 1 : 0;
  options[EXRP_DURABLE_SEGMENT_BYTES] = 1 << 14;
  options[EXRP_DURABLE_QUEUE_BYTES] = 1 << 20;
  options[EXRP_DURABLE_GROUP_BYTES] = 1 << 12;
  options[EXRP_DURABLE_CHECKPOINT_BYTES] = 1 << 14;
  options[EXRP_DURABLE_CAPACITY] = limits.capacity;
  options[EXRP_DURABLE_CAPACITY_BYTES] = limits.bytes;
  options[EXRP_DURABLE_AGE_MAX] = limits.age;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(path.data());
  made.status = exrp_durable_open(made.replay, bytes, static_cast<uint32_t>(path.size()), options, EXRP_DURABLE_OPTION_COUNT, made.report,
                                  EXRP_RECOVERY_COUNT);
  return made;
}

void work(TestReplay& replay, Random& random, std::vector<double>& handles) {
  for (uint32_t step = 20 + random.below(120); step > 0; --step) {
    if (handles.empty() || random.below(12) == 0) handles.push_back(replay.begin());
    double& handle = handles[random.below(static_cast<uint32_t>(handles.size()))];
    for (uint8_t& byte : replay.nextRow.bytes) byte = static_cast<uint8_t>(random.below(256));
    const uint32_t flags = random.below(15) == 0 ? EXRP_RECORD_ENDS : 0;
    CHECK_EQUAL(replay.tryRecord(&handle, flags), 0);
    if (flags == 0) continue;
    handle = handles.back();
    handles.pop_back();
  }
  if (replay.info(EXRP_INFO_PICK_COUNT) > 0) {
    const TestBatch batch = replay.draw(1 + random.below(8), 1);
    setPriorities(replay.id, 1, batch.handles(), batch.positions(), std::vector<double>(batch.count, 1 + random.below(9)));
    replay.draw(4, 0);
  }
  if (random.below(4) == 0) {
    const double handle = handles.empty() ? replay.begin() : handles[0];
    const double count = replay.first(handle) + replay.stored(handle);
    if (count > 0) CHECK_EQUAL(exrp_records_release(replay.id, handle, static_cast<uint32_t>(random.below(static_cast<uint32_t>(count)) + 1)), 0);
  }
}

void changeAgain(uint64_t seed) {
  Random random(seed, 3);
  TestSetup setup;
  setup.capacity = 30 + random.below(400);
  setup.seed = static_cast<double>(seed);
  const double evictions[] = {EXRP_EVICTION_FIFO, EXRP_EVICTION_LRU, EXRP_EVICTION_LFU, EXRP_EVICTION_SECOND_CHANCE, EXRP_EVICTION_RESERVOIR};
  setup.eviction = evictions[random.below(5)];
  setup.blockLength = random.below(2) == 0 ? 0 : 4;
  if (random.below(3) == 0) setup.segmentLength = 20;
  if (random.below(3) == 0) setup.ageMax = setup.capacity;
  if (random.below(2) == 0) setup.columns = {4, 50, 1, 4, 1, 1, 4, 1, 1, 4, 3, 8};
  setup.selectors = {uniform(), prioritized()};
  const TestFolder folder;
  Opened made = open(setup, folder.path(), true);
  CHECK_EQUAL(made.status, 0);
  std::vector<double> handles;
  for (int life = 0; life < 5; ++life) {
    Snapshot before;
    {
      TestReplay replay(setup, made.replay);
      if (life == 0) for (const SelectorSetup& selector : setup.selectors) addSelector(replay.id, selector);
      work(replay, random, handles);
      replay.sound();
      before = replay.saved();
    }
    Limits limits;
    limits.capacity = 30 + random.below(450);
    if (random.below(3) == 0) limits.age = random.below(2) == 0 ? 0 : 25 + random.below(200);
    // One episode of that many records must fit.
    limits.bytes = random.below(2) == 0 ? 0 : 1000 + 300 * limits.capacity;
    made = open(setup, folder.path(), false, limits);
    CHECK_EQUAL(made.status, 0);
    Snapshot changed;
    {
      TestReplay replay(setup, made.replay);
      replay.sound();
      changed = replay.saved();
      CHECK_EQUAL(replay.info(EXRP_INFO_CAPACITY), limits.capacity);
      CHECK_EQUAL(made.report[EXRP_RECOVERY_CAPACITY], limits.capacity);
      CHECK(replay.info(EXRP_INFO_RECORD_COUNT) <= limits.capacity);
    }
    // Once more, with what the log says, from options that are long past.
    made = open(setup, folder.path(), false);
    CHECK_EQUAL(made.status, 0);
    CHECK_EQUAL(made.report[EXRP_RECOVERY_EVICTED], 0.0);
    TestReplay* const again = new TestReplay(setup, made.replay);
    again->sound();
    CHECK(again->saved() == changed);
    delete again;
    made = open(setup, folder.path(), false);
    CHECK_EQUAL(made.status, 0);
  }
  CHECK_EQUAL(exrp_replay_destroy(made.replay), 0);
}

/// What verify finds in a folder.
std::vector<double> verify(const std::string& path) {
  std::vector<double> report(EXRP_VERIFY_COUNT);
  std::vector<double> flaws(20 * EXRP_FLAW_COUNT);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(path.data());
  CHECK_EQUAL(exrp_folder_verify(bytes, static_cast<uint32_t>(path.size()), 0, report.data(), EXRP_VERIFY_COUNT, flaws.data(), static_cast<uint32_t>(flaws.size())), 0);
  for (uint32_t k = 0; k < 20 && k < report[EXRP_VERIFY_FLAWS]; ++k) {
    CHECK(flaws[k * EXRP_FLAW_COUNT + EXRP_FLAW_KIND] <= EXRP_FLAW_KIND_MISSING && flaws[k * EXRP_FLAW_COUNT + EXRP_FLAW_COST] <= EXRP_FLAW_COST_ALL);
  }
  return report;
}

/// A folder is whole, and each damage to one of its files is found.
void findDamage() {
  Random random(6, 5);
  TestSetup setup;
  setup.capacity = 400;
  setup.selectors = {uniform(), prioritized()};
  const TestFolder folder;
  std::vector<double> handles;
  {
    const Opened made = open(setup, folder.path(), true);
    TestReplay replay(setup, made.replay);
    for (const SelectorSetup& selector : setup.selectors) addSelector(replay.id, selector);
    for (int k = 0; k < 30; ++k) work(replay, random, handles);
  }
  const std::vector<double> whole = verify(folder.path());
  CHECK_EQUAL(whole[EXRP_VERIFY_FLAWS], 0.0);
  CHECK_EQUAL(whole[EXRP_VERIFY_TAIL_BYTES], 0.0);
  CHECK_EQUAL(whole[EXRP_VERIFY_CHECKPOINT], 1.0);
  exrp::Disk* const disk = folder.disk();
  exrp::DiskFiles files;
  CHECK(!disk->list(&files).isError());
  for (int turn = 0; turn < 300; ++turn) {
    const exrp::DiskFile& named = files.files[random.below(static_cast<uint32_t>(files.count))];
    if (named.bytes == 0) continue;
    exrp::FileId file = exrp::noFile;
    CHECK(!disk->open(named.name, exrp::OpenFile::write, &file).isError());
    const uint64_t at = random.below(static_cast<uint32_t>(named.bytes));
    std::vector<uint8_t> bytes(1 + random.below(40));
    size_t count = 0;
    CHECK(!disk->read(file, at, bytes.data(), bytes.size(), &count).isError());
    std::vector<uint8_t> damaged(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(count));
    for (uint8_t& byte : damaged) byte = static_cast<uint8_t>(byte ^ (1 + random.below(255)));
    CHECK(!disk->write(file, at, damaged.data(), count).isError());
    const std::vector<double> found = verify(folder.path());
    CHECK(found[EXRP_VERIFY_FLAWS] > 0 || found[EXRP_VERIFY_TAIL_BYTES] > 0 || found[EXRP_VERIFY_CHECKPOINT] == 2);
    CHECK(!disk->write(file, at, bytes.data(), count).isError());
    CHECK(!disk->close(file).isError());
  }
  CHECK_EQUAL(verify(folder.path())[EXRP_VERIFY_FLAWS], 0.0);
  delete disk;
}

/// Without memory at any moment, the folder stays as it was.
void withoutMemory() {
  Random random(5, 4);
  TestSetup setup;
  setup.selectors = {uniform(), prioritized()};
  const TestFolder folder;
  Snapshot before;
  std::vector<double> handles;
  {
    const Opened made = open(setup, folder.path(), true);
    TestReplay replay(setup, made.replay);
    for (const SelectorSetup& selector : setup.selectors) addSelector(replay.id, selector);
    work(replay, random, handles);
    before = replay.saved();
  }
  Limits limits;
  limits.capacity = 40;
  uint64_t granted = 0;
  for (bool isDone = false; !isDone; granted += 1 + granted / 12) {
    exrp::grantMemory(granted);
    const Opened made = open(setup, folder.path(), false, limits);
    exrp::grantMemory(UINT64_MAX);
    isDone = made.status == 0;
    if (!isDone) CHECK(made.status == EXRP_STATUS_MEMORY || made.status == EXRP_STATUS_LOG);
    if (made.replay != 0) CHECK_EQUAL(exrp_replay_destroy(made.replay), 0);
    if (isDone || granted % 5 != 0) continue;
    const Opened same = open(setup, folder.path(), false);
    CHECK_EQUAL(same.status, 0);
    const TestReplay replay(setup, same.replay);
    CHECK(replay.saved() == before);
  }
  std::printf("%llu requests for memory\n", static_cast<unsigned long long>(granted));
}

}  // namespace

int main() {
  const uint64_t count = fromEnvironment("EXRP_LIMITS", 12);
  for (uint64_t seed = seedFirst; seed < seedFirst + count; ++seed) {
    const int failed = failureCount;
    changeAgain(seed);
    if (failureCount > failed) std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  }
  withoutMemory();
  findDamage();
  return checkResult("durable/limits");
}
