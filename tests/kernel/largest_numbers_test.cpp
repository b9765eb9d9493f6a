// Positions near 2^31, and births that lie as far apart: a snapshot takes a replay there, and it goes on.
#include "tests/kernel/test_replay.hpp"

using namespace exrp::test;

namespace {

/// An episode of more than 2^31 - 11 records, of which the last ones are stored, goes on until positions end, and then under a new handle.
void positionsEndAt2To31() {
  constexpr uint32_t positionMax = 0x7fffffff;
  for (const double blockLength : {2.0, 16.0, 1024.0}) {
    const TestSetup setup = {.capacity = 100, .blockLength = blockLength, .columns = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 7}, .selectors = {uniform()}};
    TestReplay source(setup);
    const double handle = source.begin();
    for (uint32_t k = 0; k < 10; ++k) source.record(handle);
    CHECK_EQUAL(exrp_episode_trim(source.id, handle, 3), 0);
    source.sound();
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
    TestReplay replay(setup);
    CHECK_EQUAL(loadSnapshot(replay.id, snapshot), 0);
    CHECK(replay.saved() == snapshot);
    double current = handle;
    for (uint32_t k = 0; k < 30; ++k) {
      current = replay.record(current);
      replay.sound();
    }
    CHECK(current != handle);
    CHECK_EQUAL(replay.state(handle), EXRP_EPISODE_TRUNCATED);
    CHECK_EQUAL(replay.first(handle) + replay.stored(handle), positionMax);
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
    TestReplay again(setup);
    CHECK_EQUAL(loadSnapshot(again.id, replay.saved()), 0);
    CHECK(again.saved() == replay.saved());
    for (uint32_t k = 0; k < 200; ++k) replay.record(replay.record(replay.begin()), EXRP_RECORD_ENDS);
    replay.sound();
    CHECK_EQUAL(replay.state(handle), EXRP_EPISODE_EVICTED);
  }
}

/// Between the records of an open episode come 2^31 others or more, of which none is left. Its births rise on. Once its old records went, they
/// are right to the number again.
void birthsOfAnEpisodeLieFarApart() {
  for (const uint64_t by : {(uint64_t{1} << 31) - 60, uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 40}) {
    for (const double blockLength : {2.0, 16.0, 64.0}) {
      for (const double capacity : {60.0, 300.0, 1200.0}) {
        const TestSetup setup = {.capacity = capacity, .blockLength = blockLength};
        TestReplay source(setup);
        const double handle = source.begin();
        for (uint32_t k = 0; k < 39; ++k) source.record(handle);
        CHECK_EQUAL(exrp_episode_trim(source.id, handle, 3), 0);
        Snapshot snapshot = source.saved();
        uint64_t recorded = 0;
        memcpy(&recorded, &snapshot[EXRP_SECTION_COUNTERS][8], sizeof recorded);
        recorded += by;
        memcpy(&snapshot[EXRP_SECTION_COUNTERS][8], &recorded, sizeof recorded);
        TestReplay replay(setup);
        CHECK_EQUAL(loadSnapshot(replay.id, snapshot), 0);
        for (uint32_t k = 0; k < 3 * static_cast<uint32_t>(capacity); ++k) {
          CHECK_EQUAL(replay.record(handle), handle);
          if (k < 200) replay.sound();
          if (k % 97 != 0) continue;
          TestReplay again(setup);
          CHECK_EQUAL(loadSnapshot(again.id, replay.saved()), 0);
          CHECK(again.saved() == replay.saved());
        }
        replay.sound();
        // The oldest record, and the number of those that were written since.
        const Snapshot saved = replay.saved();
        uint64_t birth = 0;
        memcpy(&birth, saved[EXRP_SECTION_BIRTHS].data(), sizeof birth);
        memcpy(&recorded, &saved[EXRP_SECTION_COUNTERS][8], sizeof recorded);
        CHECK_EQUAL(static_cast<double>(recorded - birth), replay.stored(handle));
      }
    }
  }
}

}  // namespace

int main() {
  positionsEndAt2To31();
  birthsOfAnEpisodeLieFarApart();
  return checkResult("largest_numbers_test");
}
