// What goes wrong, or went wrong, where episodes are trimmed: one test for each case, through the C ABI.
#include <cstring>
#include <vector>

#include "kernel/store/orphan_handles.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/operations_setup.hpp"

using namespace exrp::test;

namespace {

/// As many handles of episodes that went may go on.
constexpr uint32_t handleCount = exrp::OrphanHandles::countMax;

/// A replay of columns of one byte, where the caller says nothing else. Extra columns are {bytes, every}.
class Trimmed {
 public:
  struct Extra {
    uint32_t bytes;
    uint32_t every;
  };
  Trimmed(std::vector<std::pair<uint32_t, double>> config, std::vector<Extra> extras = {}) {
    setup_.config.fill(0);
    setup_.config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;
    for (const auto& [at, value] : config) setup_.config[at] = value;
    Policy policy(EXRP_POLICY_COUNT);
    policy[EXRP_POLICY_LENGTH] = policy[EXRP_POLICY_STRIDE] = policy[EXRP_POLICY_STACK] = policy[EXRP_POLICY_DISCOUNT] = 1;
    setup_.policies = {policy};
    setup_.columns = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (const Extra& extra : extras) setup_.columns.insert(setup_.columns.end(), {1, extra.bytes, extra.every});
    setup_.selectors = {{EXRP_SELECTOR_UNIFORM, {}}};
    CHECK(!setup_.make(&id));
  }
  Trimmed(const Trimmed&) = delete;
  Trimmed& operator=(const Trimmed&) = delete;
  ~Trimmed() { CHECK_EQUAL(exrp_replay_destroy(id), 0); }

  double begin() {
    double handle = -1;
    CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
    return handle;
  }
  /// Records once; the handle to go on with.
  double record(double handle, uint32_t flags = 0) {
    std::vector<double> offsets(EXRP_ROW_COLUMN + setup_.columnCount());
    CHECK_EQUAL(exrp_row_layout(id, offsets.data(), static_cast<uint32_t>(offsets.size())), 0);
    std::vector<uint8_t> row(static_cast<size_t>(offsets[EXRP_ROW_BYTES]));
    memcpy(row.data(), &handle, sizeof handle);
    status = exrp_record(id, row.data(), static_cast<uint32_t>(row.size()), flags);
    memcpy(&handle, row.data(), sizeof handle);
    return handle;
  }
  double end(double handle) {
    const uint8_t state = 0;
    uint32_t ended = 7;
    status = exrp_episode_end(id, handle, &state, 1, 0, &ended);
    return ended;
  }
  double info(double handle, uint32_t what) {
    double info[EXRP_EPISODE_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_episode_info(id, handle, info, EXRP_EPISODE_INFO_COUNT), 0);
    return info[what];
  }
  void draw(uint32_t count) {
    std::vector<uint8_t> bytes;
    std::vector<double> offsets;
    CHECK(!setup_.makeBatch(id, 0, count, &bytes, &offsets));
    CHECK_EQUAL(exrp_batch_get(id, 0, 0, count, count, 1, bytes.data(), offsets[EXRP_BATCH_BYTES]), 0);
  }
  int32_t broken() const {
    int32_t broken = -1;
    CHECK_EQUAL(exrp_replay_check(id, &broken), 0);
    return broken;
  }
  Snapshot saved() const {
    Snapshot snapshot;
    CHECK(!takeSnapshot(id, 1, &snapshot));
    return snapshot;
  }

  uint32_t id = 0;
  int32_t status = 0;

 private:
  Setup setup_;
};

/// An ended episode of 10 records lost 7 that were released. After that, its 8 draws were more than one for each of its picks. The
/// policy had not heard of it, and loading refused what was saved.
void spentByTrimmingIsSaved() {
  const std::vector<std::pair<uint32_t, double>> config = {
      {EXRP_CONFIG_CAPACITY, 20}, {EXRP_CONFIG_EVICTION, EXRP_EVICTION_AFTER_DRAWS}, {EXRP_CONFIG_EVICTION_OPTION, 1}};
  Trimmed replay(config);
  const double older = replay.begin();
  const double spent = replay.begin();
  for (uint32_t k = 0; k < 10; ++k) replay.record(spent, k == 9 ? EXRP_RECORD_ENDS : 0);
  replay.draw(8);  // of the 10 that it takes
  CHECK_EQUAL(exrp_records_release(replay.id, spent, 7), 0);
  for (uint32_t k = 0; k < 17; ++k) replay.record(older, k == 16 ? EXRP_RECORD_ENDS : 0);
  CHECK_EQUAL(replay.info(spent, EXRP_EPISODE_FIRST_POSITION), 7);
  CHECK_EQUAL(replay.broken(), 0);
  Trimmed loaded(config);
  CHECK_EQUAL(loadSnapshot(loaded.id, replay.saved()), 0);
  for (Trimmed* at : {&replay, &loaded}) {
    at->record(at->begin());
    CHECK_EQUAL(at->info(spent, EXRP_EPISODE_STATE), EXRP_EPISODE_EVICTED);
    CHECK_EQUAL(at->broken(), 0);
  }
  CHECK(replay.saved() == loaded.saved());
}

/// The episode that was recorded went itself to make room in bytes. The one after it keeps a row of each column, which is more than room
/// was made for.
void theEpisodeAfterOneThatWentHasRoom() {
  // A record is 3 bytes. Columns of 10 bytes every 2nd and 1,000 bytes every 1,000th record.
  Trimmed replay({{EXRP_CONFIG_CAPACITY, 3}, {EXRP_CONFIG_CAPACITY_BYTES, 3 * 1000 + 2 * 10 + 3 + 5}}, {{10, 2}, {1000, 1000}});
  const double a = replay.begin();
  const double b = replay.begin();
  const double c = replay.begin();
  replay.record(a);
  replay.record(a);
  replay.record(b);
  replay.record(c);
  CHECK_EQUAL(replay.broken(), 0);
  CHECK_EQUAL(replay.info(a, EXRP_EPISODE_STATE), EXRP_EPISODE_OPEN);
  CHECK_EQUAL(replay.info(b, EXRP_EPISODE_STATE), EXRP_EPISODE_OPEN);
  CHECK(replay.record(a) > c);  // a went, and another begins
  CHECK_EQUAL(replay.status, 0);
  CHECK_EQUAL(replay.broken(), 0);
}

/// An episode without records ended, and its handle took the place of the oldest one that may go on.
void endingAnEmptyEpisodeForgetsNoHandle() {
  Trimmed replay({{EXRP_CONFIG_CAPACITY, 5000}});
  for (uint32_t k = 0; k < handleCount; ++k) replay.begin();
  CHECK_EQUAL(exrp_replay_clear(replay.id), 0);
  const double other = replay.begin();
  CHECK_EQUAL(replay.end(other), 0);
  CHECK_EQUAL(replay.status, 0);
  CHECK_EQUAL(replay.record(0), handleCount + 1);
  CHECK_EQUAL(replay.status, 0);
  replay.record(other);
  CHECK_EQUAL(replay.status, EXRP_STATUS_EPISODE_ENDED);
}

/// The same where an episode that lost all its records is as long as one may be.
void goingOnAfterAnEmptySegmentForgetsNoHandle() {
  Trimmed replay({{EXRP_CONFIG_CAPACITY, 5000}, {EXRP_CONFIG_SEGMENT_LENGTH, 2}});
  for (uint32_t k = 0; k < handleCount; ++k) replay.begin();
  CHECK_EQUAL(exrp_replay_clear(replay.id), 0);
  const double other = replay.begin();
  replay.record(other);
  replay.record(other);
  CHECK_EQUAL(exrp_episode_trim(replay.id, other, 2), 0);
  CHECK_EQUAL(replay.record(other), handleCount + 1);
  CHECK_EQUAL(replay.record(0), handleCount + 2);
  CHECK_EQUAL(replay.status, 0);
  CHECK_EQUAL(replay.broken(), 0);
}

/// The rows that episodes carry take memory, which was not told.
void carriedRowsAreTold() {
  constexpr uint32_t rowBytes = 65536;
  constexpr uint32_t episodeCount = 100;
  const std::vector<std::pair<uint32_t, double>> config = {{EXRP_CONFIG_CAPACITY, 5000}, {EXRP_CONFIG_BLOCK_LENGTH, 16}};
  const std::vector<Trimmed::Extra> extras = {{rowBytes, 1000}};
  const auto columnBytes = [](const Trimmed& replay) {
    double info[EXRP_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_replay_info(replay.id, info, EXRP_INFO_COUNT), 0);
    return info[EXRP_INFO_COLUMN_BYTES];
  };
  Trimmed replay(config, extras);
  for (uint32_t k = 0; k < episodeCount; ++k) {
    const double handle = replay.begin();
    for (uint32_t step = 0; step < 17; ++step) replay.record(handle);
  }
  const double before = columnBytes(replay);
  for (uint32_t k = 0; k < episodeCount; ++k) CHECK_EQUAL(exrp_episode_trim(replay.id, k, 16), 0);
  CHECK(columnBytes(replay) >= before + double{rowBytes} * episodeCount);
  Trimmed loaded(config, extras);
  CHECK_EQUAL(loadSnapshot(loaded.id, replay.saved()), 0);
  CHECK(columnBytes(loaded) >= double{2} * rowBytes * episodeCount);  // those that are carried, and those of the blocks
}

/// An episode of more than 2^31 - 11 records, of which the last ones are stored, goes on until positions end, and then under a new handle.
void positionsEndAt2To31() {
  constexpr uint32_t positionMax = 0x7fffffff;
  for (const double blockLength : {2.0, 16.0, 1024.0}) {
    const std::vector<std::pair<uint32_t, double>> config = {{EXRP_CONFIG_CAPACITY, 100}, {EXRP_CONFIG_BLOCK_LENGTH, blockLength}};
    const std::vector<Trimmed::Extra> extras = {{5, 7}};
    Trimmed source(config, extras);
    const double handle = source.begin();
    for (uint32_t k = 0; k < 10; ++k) source.record(handle);
    CHECK_EQUAL(exrp_episode_trim(source.id, handle, 3), 0);
    CHECK_EQUAL(source.broken(), 0);
    Snapshot snapshot = source.saved();
    const auto move = [&](uint32_t section, size_t at, uint64_t by, size_t bytes) {
      uint64_t value = 0;
      memcpy(&value, &snapshot[section][at], bytes);
      value += by;
      memcpy(&snapshot[section][at], &value, bytes);
    };
    // By a multiple of 7, so that the same rows are kept.
    constexpr uint32_t by = (positionMax - 13) / 7 * 7;
    move(EXRP_SECTION_COUNTERS, 8, by, 8);
    move(EXRP_SECTION_EPISODES, 8, by, 4);   // the count
    move(EXRP_SECTION_EPISODES, 24, by, 4);  // the first position
    for (size_t at = 0; at < snapshot[EXRP_SECTION_BIRTHS].size(); at += 8) move(EXRP_SECTION_BIRTHS, at, by, 8);
    for (size_t at = 4; at < snapshot[EXRP_SECTION_PICKS].size(); at += 8) move(EXRP_SECTION_PICKS, at, by, 4);
    Trimmed replay(config, extras);
    CHECK_EQUAL(loadSnapshot(replay.id, snapshot), 0);
    CHECK(replay.saved() == snapshot);
    double current = handle;
    for (uint32_t k = 0; k < 30; ++k) {
      current = replay.record(current);
      CHECK_EQUAL(replay.status, 0);
      CHECK_EQUAL(replay.broken(), 0);
    }
    CHECK(current != handle);
    CHECK_EQUAL(replay.info(handle, EXRP_EPISODE_STATE), EXRP_EPISODE_TRUNCATED);
    CHECK_EQUAL(replay.info(handle, EXRP_EPISODE_FIRST_POSITION) + replay.info(handle, EXRP_EPISODE_RECORD_COUNT), positionMax);
    // Its last record is a pick, and the final state has the last position of all.
    const double handles[] = {handle, handle};
    const int32_t positions[] = {static_cast<int32_t>(positionMax) - 1, static_cast<int32_t>(positionMax)};
    uint32_t found[] = {0, 0};
    CHECK_EQUAL(exrp_pick_find(replay.id, 0, handles, positions, 2, found), 0);
    CHECK(found[0] != EXRP_INDEX_NONE && found[1] == EXRP_INDEX_NONE);
    uint8_t rows[2] = {};
    CHECK_EQUAL(exrp_rows_get(replay.id, 0, &handle, positions, 1, 2, rows, sizeof rows), 0);
    CHECK_EQUAL(current, handle + 1);
    replay.draw(200);
    Trimmed again(config, extras);
    CHECK_EQUAL(loadSnapshot(again.id, replay.saved()), 0);
    CHECK(again.saved() == replay.saved());
    for (uint32_t k = 0; k < 200; ++k) replay.record(replay.record(replay.begin()), EXRP_RECORD_ENDS);
    CHECK_EQUAL(replay.broken(), 0);
    CHECK_EQUAL(replay.info(handle, EXRP_EPISODE_STATE), EXRP_EPISODE_EVICTED);
  }
}

/// Between the records of an open episode come 2^31 others or more, of which none is left. Its births rise on. Once its old records went, they
/// are right to the number again.
void birthsOfAnEpisodeLieFarApart() {
  for (const uint64_t by : {(uint64_t{1} << 31) - 60, uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 40}) {
    for (const double blockLength : {2.0, 16.0, 64.0}) {
      for (const double capacity : {60.0, 300.0, 1200.0}) {
        const std::vector<std::pair<uint32_t, double>> config = {{EXRP_CONFIG_CAPACITY, capacity}, {EXRP_CONFIG_BLOCK_LENGTH, blockLength}};
        Trimmed source(config, {});
        const double handle = source.begin();
        for (uint32_t k = 0; k < 39; ++k) source.record(handle);
        CHECK_EQUAL(exrp_episode_trim(source.id, handle, 3), 0);
        Snapshot snapshot = source.saved();
        uint64_t recorded = 0;
        memcpy(&recorded, &snapshot[EXRP_SECTION_COUNTERS][8], sizeof recorded);
        recorded += by;
        memcpy(&snapshot[EXRP_SECTION_COUNTERS][8], &recorded, sizeof recorded);
        Trimmed replay(config, {});
        CHECK_EQUAL(loadSnapshot(replay.id, snapshot), 0);
        for (uint32_t k = 0; k < 3 * static_cast<uint32_t>(capacity); ++k) {
          CHECK_EQUAL(replay.record(handle), handle);
          if (k < 200) CHECK_EQUAL(replay.broken(), 0);
          if (k % 97 != 0) continue;
          Trimmed again(config, {});
          CHECK_EQUAL(loadSnapshot(again.id, replay.saved()), 0);
          CHECK(again.saved() == replay.saved());
        }
        CHECK_EQUAL(replay.broken(), 0);
        // The oldest record, and the number of those that were written since.
        const Snapshot saved = replay.saved();
        uint64_t birth = 0;
        memcpy(&birth, saved[EXRP_SECTION_BIRTHS].data(), sizeof birth);
        memcpy(&recorded, &saved[EXRP_SECTION_COUNTERS][8], sizeof recorded);
        CHECK_EQUAL(static_cast<double>(recorded - birth), replay.info(handle, EXRP_EPISODE_RECORD_COUNT));
      }
    }
  }
}

}  // namespace

int main() {
  spentByTrimmingIsSaved();
  theEpisodeAfterOneThatWentHasRoom();
  endingAnEmptyEpisodeForgetsNoHandle();
  goingOnAfterAnEmptySegmentForgetsNoHandle();
  carriedRowsAreTold();
  positionsEndAt2To31();
  birthsOfAnEpisodeLieFarApart();
  return checkResult("trimming_test");
}
