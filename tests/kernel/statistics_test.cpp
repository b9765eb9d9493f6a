// Statistics: what is noted of draws, ages and weights, by the C interface.
#include "kernel/calls/draw_statistics.hpp"

#include "tests/kernel/test_replay.hpp"

using exrp::DrawStatistics;
using namespace exrp::test;

namespace {

void aLogNotesManyPicksAtFirstAndFewLater() {
  DrawStatistics log;
  for (uint32_t batch = 0; batch < 32; ++batch) {
    const uint32_t noted = log.begin(100);
    CHECK_EQUAL(noted, 32u);
    for (uint32_t k = 0; k < noted; ++k) log.add(k, batch, batch + 1);
  }
  CHECK_EQUAL(log.count(), 1024u);
  uint32_t noted = 0;
  for (uint32_t batch = 0; batch < 16; ++batch) noted += log.begin(100);
  CHECK_EQUAL(noted, 16u);  // 8 of every eighth
  CHECK_EQUAL(log.drawnCount(), uint64_t{4800});
  for (uint32_t k = 0; k < 5000; ++k) log.add(7, 10, uint64_t{1} << 40);
  CHECK_EQUAL(log.count(), 2048u);
  CHECK_EQUAL(log.picks()[0].age, UINT32_MAX);  // larger ages don't fit
}

void theNotedPicksAreSpreadOverTheBatch() {
  for (const uint32_t count : {1u, 5u, 31u, 32u, 33u, 100u, 16777216u}) {
    DrawStatistics log;
    const uint32_t noted = log.begin(count);
    const uint64_t step = DrawStatistics::stepOf(noted, count);
    uint64_t before = 0;
    for (uint32_t k = 0; k < noted; ++k) {
      const uint64_t place = k * step >> DrawStatistics::stepShift;
      CHECK(place < count && (k == 0 || place > before));
      CHECK(place + 1 >= uint64_t{k} * count / noted);
      before = place;
    }
  }
}

/// A replay of records 0, 1, 2, ... in one episode of a single float.
class Filled : public TestReplay {
 public:
  explicit Filled(uint32_t recordCount) : TestReplay({.capacity = 1000, .segmentLength = 1000, .seed = 1}) {
    const double handle = begin();
    for (uint32_t k = 0; k < recordCount; ++k) record(handle);
  }
};

void agesAndWeightsAreCountedBetweenEdges() {
  const Filled filled(101);
  const uint32_t replay = filled.id;
  const double edges[] = {10, 50};
  double counts[3];
  double summary[EXRP_SUMMARY_NUMBERS];
  CHECK_EQUAL(exrp_record_ages(replay, edges, 2, counts, summary, EXRP_SUMMARY_NUMBERS), EXRP_STATUS_OK);
  CHECK(counts[0] == 10 && counts[1] == 40 && counts[2] == 51);
  CHECK(summary[EXRP_SUMMARY_COUNT] == 101 && summary[EXRP_SUMMARY_SUM] == 5050 && summary[EXRP_SUMMARY_LARGEST] == 100);
  CHECK(summary[EXRP_SUMMARY_SMALLEST] == 1);

  const uint32_t selectors[] = {addSelector(replay, {EXRP_SELECTOR_PRIORITIZED, {1, 0, 1, 0, 0}}),
                                addSelector(replay, {EXRP_SELECTOR_AGE_END, {1, 0}})};
  setPriorities(replay, selectors[0], {0, 0}, {3, 4}, {0, 20});
  CHECK_EQUAL(exrp_selector_sums(replay, selectors[0], EXRP_SUMS_WEIGHTS, edges, 2, counts, summary, EXRP_SUMMARY_NUMBERS), EXRP_STATUS_OK);
  CHECK(counts[0] == 99 && counts[1] == 1 && counts[2] == 0);
  CHECK(summary[EXRP_SUMMARY_COUNT] == 100 && summary[EXRP_SUMMARY_SUM] == 118 && summary[EXRP_SUMMARY_SQUARES] == 498);
  CHECK(summary[EXRP_SUMMARY_SMALLEST] == 1 && summary[EXRP_SUMMARY_LARGEST] == 20 && summary[EXRP_SUMMARY_EXISTS] == 1);
  CHECK_EQUAL(exrp_selector_sums(replay, selectors[1], EXRP_SUMS_WEIGHTS, edges, 2, counts, summary, EXRP_SUMMARY_NUMBERS), EXRP_STATUS_OK);
  CHECK(summary[EXRP_SUMMARY_EXISTS] == 0 && summary[EXRP_SUMMARY_COUNT] == 0);
  CHECK_EQUAL(exrp_selector_sums(replay, selectors[0], EXRP_SUMS_PRIORITIES, edges, 2, counts, summary, EXRP_SUMMARY_NUMBERS), EXRP_STATUS_OK);
  CHECK(summary[EXRP_SUMMARY_EXISTS] == 1 && summary[EXRP_SUMMARY_SUM] == 118 && counts[1] == 1);
  CHECK_EQUAL(exrp_selector_sums(replay, selectors[1], EXRP_SUMS_PRIORITIES, edges, 2, counts, summary, EXRP_SUMMARY_NUMBERS), EXRP_STATUS_OK);
  CHECK(summary[EXRP_SUMMARY_EXISTS] == 0);
  CHECK_EQUAL(exrp_selector_sums(replay, selectors[0], EXRP_SUMS_TOTAL, edges, 0, counts, summary, EXRP_SUMMARY_NUMBERS), EXRP_STATUS_OK);
  CHECK(summary[EXRP_SUMMARY_EXISTS] == 1 && summary[EXRP_SUMMARY_SUM] == 118 && summary[EXRP_SUMMARY_COUNT] == 100);
  CHECK_EQUAL(exrp_selector_sums(replay, selectors[0], 3, edges, 2, counts, summary, EXRP_SUMMARY_NUMBERS), EXRP_STATUS_ARGUMENT);

  // What is wrong is refused, and changes nothing.
  const double falling[] = {50, 10};
  counts[0] = -1;
  CHECK_EQUAL(exrp_record_ages(replay, falling, 2, counts, summary, EXRP_SUMMARY_NUMBERS), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_record_ages(replay, edges, 2, counts, summary, EXRP_SUMMARY_NUMBERS - 1), EXRP_STATUS_BUFFER_SIZE);
  CHECK_EQUAL(exrp_selector_sums(replay, 2, EXRP_SUMS_WEIGHTS, edges, 2, counts, summary, EXRP_SUMMARY_NUMBERS), EXRP_STATUS_SELECTOR_UNKNOWN);
  CHECK(counts[0] == -1);
}

void theCallerNotesDrawsOfItsOwn() {
  const Filled filled(40);
  const uint32_t replay = filled.id;
  const double episodes[] = {0, 0, 0};
  const int32_t positions[] = {39, 7, 39};
  const uint32_t log = EXRP_LIMIT_SELECTORS;
  CHECK_EQUAL(exrp_draws_note(replay, log, episodes, positions, 3), EXRP_STATUS_OK);
  double info[EXRP_DRAWS_INFO_COUNT];
  CHECK_EQUAL(exrp_draws_info(replay, log, info, EXRP_DRAWS_INFO_COUNT), EXRP_STATUS_OK);
  CHECK(info[EXRP_DRAWS_DRAWN_COUNT] == 3 && info[EXRP_DRAWS_NOTED_COUNT] == 3);
  uint32_t draws[9];
  CHECK_EQUAL(exrp_draws_read(replay, log, draws, 9), EXRP_STATUS_OK);
  CHECK_EQUAL(draws[0], draws[6]);
  CHECK(draws[1] == 39 && draws[4] == 7 && draws[7] == 39);
  CHECK(draws[2] == 0 && draws[5] == 32 && draws[8] == 0);

  CHECK_EQUAL(exrp_draws_read(replay, log, draws, 8), EXRP_STATUS_BUFFER_SIZE);
  const double unknown[] = {1};
  CHECK_EQUAL(exrp_draws_note(replay, log, unknown, positions, 1), EXRP_STATUS_EPISODE_UNKNOWN);
  const int32_t negative[] = {-1};
  CHECK_EQUAL(exrp_draws_note(replay, log, episodes, negative, 1), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_draws_note(replay, EXRP_LIMIT_SELECTORS - 1, episodes, positions, 1), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_draws_note(replay, EXRP_LIMIT_LOGS, episodes, positions, 1), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_draws_info(replay, EXRP_LIMIT_LOGS, info, EXRP_DRAWS_INFO_COUNT), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_draws_info(replay, log, info, EXRP_DRAWS_INFO_COUNT), EXRP_STATUS_OK);
  CHECK(info[EXRP_DRAWS_DRAWN_COUNT] == 3);

  // A pick that went only counts.
  CHECK_EQUAL(exrp_episode_evict(replay, 0), EXRP_STATUS_OK);
  CHECK_EQUAL(exrp_draws_note(replay, log, episodes, positions, 3), EXRP_STATUS_OK);
  CHECK_EQUAL(exrp_draws_info(replay, log, info, EXRP_DRAWS_INFO_COUNT), EXRP_STATUS_OK);
  CHECK(info[EXRP_DRAWS_DRAWN_COUNT] == 6 && info[EXRP_DRAWS_NOTED_COUNT] == 3);
}

}  // namespace

int main() {
  aLogNotesManyPicksAtFirstAndFewLater();
  theNotedPicksAreSpreadOverTheBatch();
  agesAndWeightsAreCountedBetweenEdges();
  theCallerNotesDrawsOfItsOwn();
  return checkResult("statistics_test");
}
