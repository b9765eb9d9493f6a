// A replay that is being loaded refuses to draw and to change: its parts do not fit together yet. What can't be is not loaded, and a replay
// that was loaded goes on.
#include "tests/kernel/test_replay.hpp"

using namespace exrp::test;

namespace {

constexpr uint32_t pickLength = 200;
constexpr uint32_t recordCount = 150;

TestSetup longPicks() {
  return {.capacity = 100000, .segmentLength = 2000, .seed = 1, .policy = policyOf(pickLength), .selectors = {uniform()}};
}

/// Records into an episode, whose handle may become another's.
void recordMany(const TestReplay& replay, double* handle) { CHECK_EQUAL(replay.steps(recordCount).recordMany(replay.id, handle), 0); }

/// The calls that draw or change something, on a replay that is not wholly loaded.
void checkRefused(uint32_t replay, double handle) {
  uint8_t bytes[4096] = {};
  memcpy(bytes, &handle, sizeof handle);
  double number = handle;
  uint32_t result = 0;
  CHECK_EQUAL(exrp_episode_create(replay, &number), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_record(replay, bytes, sizeof bytes, 0), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_record_many(replay, &number, bytes, sizeof bytes, 1, 0, &result), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_record_batch(replay, &number, bytes, sizeof bytes, 1, 0, &result), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_episode_end(replay, handle, bytes, sizeof bytes, 0, &result), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_episode_evict(replay, handle), EXRP_STATUS_ORDER);
  const int32_t position = 0;
  const double priority = 1;
  CHECK_EQUAL(exrp_priority_set(replay, 0, &handle, &position, reinterpret_cast<const uint8_t*>(&priority), 8, 1, &result),
              EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_selector_create(replay, 0, EXRP_SELECTOR_UNIFORM, nullptr, 0, &result), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_batch_get(replay, 0, 0, 1, 1, 1, bytes, sizeof bytes), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_batch_gather(replay, 0, &result, &priority, 0, 1, 1, 1, 0, 0, bytes, sizeof bytes), EXRP_STATUS_ORDER);
  double order = 0;
  CHECK_EQUAL(exrp_batch_order(replay, 0, 1, 1, bytes, sizeof bytes, &order), 0);
  CHECK_EQUAL(exrp_batch_take(replay, order), EXRP_STATUS_ORDER);
}

/// A replay with a selector of this kind that was loaded up to its picks, but not up to what the selector keeps of them, draws nothing.
void testHalfLoaded(const SelectorSetup& selector) {
  const TestSetup setup = {.capacity = 100000, .segmentLength = 2000, .seed = 1, .selectors = {selector}};
  TestReplay source(setup);
  const TestReplay loaded(setup);
  double handle = source.begin();
  recordMany(source, &handle);
  const Snapshot snapshot = source.saved();
  for (uint32_t section = 0; section < snapshot.size(); ++section) {
    double info[2] = {};
    CHECK_EQUAL(exrp_section_info(loaded.id, section, info, 2), 0);
    if (snapshot[section].empty()) continue;
    const auto bytes = static_cast<double>(snapshot[section].size());
    const auto count = static_cast<uint32_t>(bytes / info[1]);
    CHECK_EQUAL(exrp_section_write(loaded.id, section, 0, count, snapshot[section].data(), bytes), 0);
    checkRefused(loaded.id, handle);
  }
  CHECK_EQUAL(exrp_snapshot_end(loaded.id), 0);
  recordMany(loaded, &handle);
  uint8_t bytes[4096] = {};
  CHECK_EQUAL(exrp_batch_get(loaded.id, 0, 0, 1, 1, 1, bytes, sizeof bytes), 0);
}

/// Births of an episode that fall are refused. Those that lie 2^32 records apart are as good as any: they were kept in 32 bits once, taken
/// for others and loaded.
void testBirthsThatCantBe() {
  TestReplay source(longPicks());
  double handle = source.begin();
  recordMany(source, &handle);
  Snapshot snapshot = source.saved();
  constexpr uint64_t recorded = uint64_t{1} << 40;
  memcpy(&snapshot[EXRP_SECTION_COUNTERS][8], &recorded, sizeof recorded);
  std::vector<uint8_t>& section = snapshot[EXRP_SECTION_BIRTHS];
  const std::vector<uint8_t> right = section;
  CHECK(right.size() > 2 * sizeof(uint64_t));
  constexpr int64_t far = int64_t{1} << 32;
  // The first birth rises by the one, the others rise by the other.
  for (const auto& [first, others] : std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {0, 1000}, {1000, 0}, {0, far}, {far, 0}, {0, far / 2}}) {
    for (size_t at = 0; at < right.size(); at += sizeof(uint64_t)) {
      uint64_t birth = 0;
      memcpy(&birth, &right[at], sizeof birth);
      birth += static_cast<uint64_t>(at == 0 ? first : others);
      memcpy(&section[at], &birth, sizeof birth);
    }
    const TestReplay loaded(longPicks());
    const bool isPossible = others >= first;
    CHECK_EQUAL(loadSnapshot(loaded.id, snapshot), isPossible ? 0 : EXRP_STATUS_DATA_CORRUPT);
    if (isPossible) CHECK(loaded.saved()[EXRP_SECTION_BIRTHS] == section);
  }
}

/// What can't be is refused: births that fall, that are too late, that crowd; first positions above the count.
void testWhatCantBe() {
  const TestSetup setup = {.capacity = 64, .blockLength = 16};
  TestReplay made(setup);
  const double handle = made.begin();
  for (int k = 0; k < 100; ++k) made.record(handle);
  const Snapshot sections = made.saved();
  const auto refused = [&](uint32_t section, size_t at, uint64_t value, size_t bytes) {
    Snapshot damaged = sections;
    memcpy(&damaged[section][at], &value, bytes);
    const TestReplay replay(setup);
    CHECK(loadSnapshot(replay.id, damaged) != 0);
  };
  refused(EXRP_SECTION_BIRTHS, 8 * 5, 39, 8);    // as old as the one before
  refused(EXRP_SECTION_BIRTHS, 8 * 63, 100, 8);  // not written yet
  refused(EXRP_SECTION_BIRTHS, 0, UINT64_MAX, 8);
  refused(EXRP_SECTION_BIRTHS, 8 * 62, 99, 8);  // no place for the next
  refused(EXRP_SECTION_EPISODES, 24, 101, 4);
  refused(EXRP_SECTION_EPISODES, 24, 0, 4);  // more records than there are
  refused(EXRP_SECTION_EPISODES, 8, 0x80000000u, 4);
  refused(EXRP_SECTION_PICKS, 4, 35, 4);  // it is gone
}

/// Policies take it for granted that each of their items names another episode, one that there is.
void testEvictionItemsNameEachEpisodeOnce() {
  for (const uint32_t policy : {EXRP_EVICTION_FIFO, EXRP_EVICTION_LRU, EXRP_EVICTION_LFU, EXRP_EVICTION_LOWEST_PRIORITY_FIRST}) {
    const TestSetup setup = {.capacity = 64, .eviction = static_cast<double>(policy)};
    TestReplay made(setup);
    for (int k = 0; k < 3; ++k) made.record(made.begin());
    const Snapshot sections = made.saved();
    const size_t itemsBytes = 3 * 8;
    const size_t from = sections[EXRP_SECTION_EVICTION].size() - itemsBytes;
    for (const uint32_t episode : {0u, 1u, 2u, 3u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
      Snapshot damaged = sections;
      memcpy(&damaged[EXRP_SECTION_EVICTION][from + 8], &episode, sizeof episode);
      const TestReplay replay(setup);
      CHECK_EQUAL(loadSnapshot(replay.id, damaged), episode == 1 ? 0 : EXRP_STATUS_DATA_CORRUPT);
    }
  }
}

/// A loaded replay without picks, because its episodes are too short. The test reads them, evicts some and records into the open one. Its tables
/// had no memory for these slots (which only shows where memory has to be committed: EXRP_TEST_MEMORY).
void testNoPicks() {
  TestReplay source(longPicks());
  std::vector<double> handles(200);
  for (double& handle : handles) {
    handle = source.begin();
    recordMany(source, &handle);
  }
  const TestReplay loaded(longPicks());
  CHECK_EQUAL(loadSnapshot(loaded.id, source.saved()), 0);
  CHECK_EQUAL(setPriorities(loaded.id, 0, {handles[150], handles[199]}, {0, recordCount - 1}, {1, 2}), 0u);
  for (uint32_t at = 0; at < 200; at += 3) CHECK_EQUAL(exrp_episode_evict(loaded.id, handles[at]), 0);
  for (uint32_t at = 1; at < 200; at += 3) recordMany(loaded, &handles[at]);
  loaded.sound();
}

}  // namespace

int main() {
  testBirthsThatCantBe();
  testWhatCantBe();
  testEvictionItemsNameEachEpisodeOnce();
  testHalfLoaded({EXRP_SELECTOR_UCB, {1, 0, 1}});
  testHalfLoaded(prioritized());
  testNoPicks();
  return checkResult("snapshot_load_test");
}
