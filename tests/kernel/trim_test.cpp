// Episodes are trimmed: who gives way, what stays, what goes, what a loaded replay does, and what went wrong once.
#include <algorithm>
#include <map>

#include "kernel/base/memory.hpp"
#include "kernel/base/random.hpp"
#include "kernel/store/orphan_handles.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp::test;

namespace {

/// As many handles of episodes that went may go on.
constexpr uint32_t handleCount = exrp::OrphanHandles::countMax;

/// A replay whose records are numbered: each column of a record holds the number of the step within its episode, and 1000 x its handle.
class Numbered : public TestReplay {
 public:
  using TestReplay::TestReplay;

  int32_t tryRecord(double* handle, uint32_t flags = 0) {
    const float value = valueOf(*handle, steps[*handle]);
    for (uint32_t part = EXRP_ROW_COLUMN; part < nextRow.partCount(); ++part) memcpy(nextRow.part(part), &value, 4);
    const int32_t status = TestReplay::tryRecord(handle, flags);
    if (status == 0) ++steps[*handle];
    return status;
  }
  double record(double handle, uint32_t flags = 0) {
    CHECK_EQUAL(tryRecord(&handle, flags), 0);
    return handle;
  }
  /// So many records of one episode, which stays itself.
  void go(double handle, int count) {
    for (int k = 0; k < count; ++k) CHECK_EQUAL(record(handle), handle);
  }
  double recordEnded(int count) {
    const double handle = begin();
    for (int k = 1; k < count; ++k) record(handle);
    CHECK_EQUAL(record(handle, EXRP_RECORD_ENDS), handle);
    return handle;
  }
  static float valueOf(double handle, uint32_t step) { return static_cast<float>(handle * 1000 + step); }

  /// The positions of the picks of a table that belong to an episode, in order.
  std::vector<int32_t> picksOf(double handle, uint32_t table = 0) const {
    const auto [handles, positions] = picks(table);
    std::vector<int32_t> own;
    for (size_t k = 0; k < handles.size(); ++k) {
      if (handles[k] == handle) own.push_back(positions[k]);
    }
    std::sort(own.begin(), own.end());
    return own;
  }
  float value(uint32_t column, double handle, int32_t position) const {
    float found = -1;
    CHECK_EQUAL(exrp_rows_get(id, column, &handle, &position, 1, 1, reinterpret_cast<uint8_t*>(&found), 4), 0);
    return found;
  }

  std::map<double, uint32_t> steps = {};  // records that each episode has got
};

/// Columns of one byte, and extras: of so many bytes, that each nth record keeps.
std::vector<uint32_t> byteColumns(const std::vector<std::pair<uint32_t, uint32_t>>& extras) {
  std::vector<uint32_t> columns(9, 1);
  for (const auto& [bytes, every] : extras) columns.insert(columns.end(), {1, bytes, every});
  return columns;
}

void oneEpisodeThatNeverEndsIsARing() {
  for (const double blockLength : {2.0, 16.0, 64.0}) {
    TestSetup setup = {.capacity = 300, .blockLength = blockLength};  // 4 go at once
    Numbered replay(setup);
    const double handle = replay.begin();
    for (int k = 1; k <= 2000; ++k) {
      replay.go(handle, 1);
      const double expected = k <= 300 ? 0 : (k - 300 + 3) / 4 * 4;
      CHECK_EQUAL(replay.first(handle), expected);
      CHECK_EQUAL(replay.stored(handle), k - expected);
    }
    CHECK_EQUAL(replay.info(EXRP_INFO_EVICTED_COUNT), 0.0);
    CHECK_EQUAL(replay.value(0, handle, 1700), Numbered::valueOf(handle, 1700));
    replay.sound();
  }
}

void eightThatNeverEndAreOneRing() {
  for (const double capacity : {64.0, 200.0, 1024.0}) {
    Numbered replay({.capacity = capacity, .blockLength = 16});
    std::vector<double> actors;
    for (int k = 0; k < 8; ++k) actors.push_back(replay.begin());
    const int step = capacity == 64 ? 1 : capacity == 200 ? 2 : 16;
    for (int k = 0; k < 3000; ++k) {
      for (const double actor : actors) replay.go(actor, 1);
      if (8 * (k + 1) <= capacity) continue;
      double most = 0;
      double least = 1e9;
      for (const double actor : actors) {
        CHECK_EQUAL(replay.state(actor), double{EXRP_EPISODE_OPEN});
        most = replay.stored(actor) > most ? replay.stored(actor) : most;
        least = replay.stored(actor) < least ? replay.stored(actor) : least;
      }
      CHECK(most - least <= step);
      CHECK(replay.info(EXRP_INFO_RECORD_COUNT) > capacity - step);
    }
    replay.sound();
  }
}

/// An actor that never ends keeps its share beside episodes that end, as in a ring: half of the records are its own.
void oneOpenAndManyEnded() {
  Numbered replay({.capacity = 1024, .blockLength = 16});
  const double open = replay.begin();
  double current = replay.begin();
  for (int k = 0; k < 20000; ++k) {
    replay.go(open, 1);
    const bool ends = k % 20 == 19;
    replay.record(current, ends ? EXRP_RECORD_ENDS : 0);
    if (ends) current = replay.begin();
    if (k < 2000 || k % 100 != 0) continue;
    CHECK(replay.stored(open) > 480 && replay.stored(open) < 550);
  }
  CHECK_EQUAL(replay.state(open), double{EXRP_EPISODE_OPEN});
  replay.sound();
}

/// An actor that stands still keeps its records only as long as a ring would.
void theOldestGoesFirst() {
  Numbered replay({.capacity = 64, .blockLength = 16});
  const double idle = replay.begin();
  replay.go(idle, 10);
  const double busy = replay.begin();
  replay.go(busy, 54);
  CHECK_EQUAL(replay.stored(idle), 10.0);
  for (int k = 1; k <= 10; ++k) {
    replay.go(busy, 1);
    CHECK_EQUAL(replay.stored(idle), 10.0 - k);
    CHECK_EQUAL(replay.stored(busy), 54.0 + k);
  }
  replay.go(busy, 1);
  CHECK_EQUAL(replay.first(busy), 1.0);
  CHECK_EQUAL(replay.state(idle), double{EXRP_EPISODE_OPEN});
  // It holds nothing, and goes on where it was.
  replay.go(idle, 1);
  CHECK_EQUAL(replay.first(idle), 10.0);
  CHECK_EQUAL(replay.value(0, idle, 10), Numbered::valueOf(idle, 10));
  replay.sound();
}

/// The picks of a trimmed episode are those whose every row is there, and the multiples of the stride.
void picksGoWithWhatTheyShow(uint64_t seed) {
  exrp::Random random(seed, 5);
  TestSetup setup = {.capacity = double(40 + random.below(300)), .blockLength = double(2u << random.below(6))};
  Numbered replay(setup);
  struct Table {
    uint32_t length, stride, before, stack, nStep;
    bool openEnd, whole;
  };
  std::vector<Table> tables;
  for (uint32_t table = 1; table < 6; ++table) {
    const Table made = {1 + random.below(9), 1 + random.below(5), random.below(2) * random.below(50), 1 + random.below(2) * random.below(8),
                        random.below(3) * 2, random.below(2) == 0, random.below(4) == 0};
    std::vector<double> policy = policyOf(made.length, (made.openEnd ? EXRP_PICK_ALLOW_OPEN_END : 0) | (made.whole ? EXRP_PICK_WHOLE : 0));
    policy[EXRP_POLICY_STRIDE] = made.stride;
    policy[EXRP_POLICY_BEFORE] = made.before;
    policy[EXRP_POLICY_STACK] = made.stack;
    policy[EXRP_POLICY_N_STEP] = made.nStep;
    uint32_t number = 0;
    CHECK_EQUAL(exrp_pick_view_create(replay.id, policy.data(), EXRP_POLICY_COUNT, &number), 0);
    tables.push_back(made);
  }
  std::vector<double> actors;
  for (int k = 0; k < 3; ++k) actors.push_back(replay.begin());
  for (int k = 0; k < 700; ++k) {
    double& actor = actors[random.below(3)];
    const bool ends = random.below(90) == 0;
    replay.record(actor, ends ? EXRP_RECORD_ENDS : 0);
    const double checked = actor;
    if (ends) actor = replay.begin();
    if (k % 7 != 0) continue;
    const auto first = static_cast<uint32_t>(replay.first(checked));
    const uint32_t count = replay.steps[checked];
    for (uint32_t table = 0; table < tables.size(); ++table) {
      const Table& at = tables[table];
      std::vector<int32_t> expected;
      for (uint32_t position = first; position < count; ++position) {
        if (position % at.stride != 0) continue;
        if (at.whole) {
          if (ends && first == 0 && position == 0 && count <= at.length) expected.push_back(0);
          continue;
        }
        const bool showsGone = first > 0 && position < first + at.before + at.stack - 1;
        const uint32_t ahead = ends || at.openEnd ? 0 : at.nStep > 1 ? at.nStep : 1;
        if (!showsGone && position + at.length + ahead <= count) expected.push_back(static_cast<int32_t>(position));
      }
      CHECK(replay.picksOf(checked, table + 1) == expected);
    }
    replay.sound();
  }
}

/// Values that every nth record keeps are there for each record, whatever n and the blocks are.
void keptValuesStayExact(uint64_t seed) {
  exrp::Random random(seed, 6);
  TestSetup setup = {.capacity = double(20 + random.below(200)), .blockLength = double(2u << random.below(5))};
  const uint32_t everies[] = {2 + random.below(9), 16, 17 + random.below(60), 500};
  for (const uint32_t every : everies) setup.columns.insert(setup.columns.end(), {4, 1, every});
  Numbered replay(setup);
  std::vector<double> actors = {replay.begin(), replay.begin()};
  for (int k = 0; k < 1500; ++k) {
    const double actor = actors[random.below(3) == 0 ? 0 : 1];
    replay.go(actor, 1);
    if (random.below(40) == 0) CHECK_EQUAL(exrp_episode_trim(replay.id, actor, replay.steps[actor] - random.below(2)), 0);
    if (k % 11 != 0) continue;
    const auto first = static_cast<int32_t>(replay.first(actor));
    const auto count = static_cast<int32_t>(replay.steps[actor]);
    for (uint32_t column = 3; column < 7; ++column) {
      const auto every = static_cast<int32_t>(everies[column - 3]);
      for (int32_t position = first; position < count; position += 1 + static_cast<int32_t>(random.below(9))) {
        CHECK_EQUAL(replay.value(column, actor, position), Numbered::valueOf(actor, static_cast<uint32_t>(position - position % every)));
      }
    }
  }
  replay.sound();
  // What is loaded into other blocks has the same values.
  TestSetup other = setup;
  other.blockLength = 2u << random.below(5);
  Numbered loaded(other);
  const Snapshot sections = replay.saved();
  CHECK_EQUAL(loadSnapshot(loaded.id, sections), 0);
  CHECK(loaded.saved() == sections);
  for (const double actor : actors) {
    for (auto position = static_cast<int32_t>(replay.first(actor)); position < static_cast<int32_t>(replay.steps[actor]); ++position) {
      for (uint32_t column = 0; column < 7; ++column) {
        CHECK_EQUAL(loaded.value(column, actor, position), replay.value(column, actor, position));
      }
    }
  }
}

void noRecordIsOlderThanTheLimit() {
  TestSetup setup = {.capacity = 1000, .blockLength = 16};
  setup.ageMax = 70;  // one goes at once
  Numbered replay(setup);
  const double slow = replay.begin();
  const double fast = replay.begin();
  std::vector<int> recordedAt;
  for (int k = 0; k < 1000; ++k) {
    const bool isSlow = k % 10 == 0;
    replay.record(isSlow ? slow : fast);
    if (isSlow) recordedAt.push_back(k);
    const auto first = static_cast<size_t>(replay.first(slow));
    CHECK(first < recordedAt.size() && k + 1 - recordedAt[first] <= 70);
    if (k >= 70) CHECK(replay.info(EXRP_INFO_RECORD_COUNT) == 70);
  }
  // One that stands still loses its last record too, and goes on.
  for (int k = 0; k < 100; ++k) replay.go(fast, 1);
  CHECK_EQUAL(replay.stored(slow), 0.0);
  CHECK_EQUAL(replay.state(slow), double{EXRP_EPISODE_OPEN});
  replay.go(slow, 1);
  CHECK_EQUAL(replay.first(slow), 100.0);
  // An ended episode goes whole when its oldest record is too old.
  const double ended = replay.recordEnded(30);
  replay.go(fast, 40);
  CHECK_EQUAL(replay.stored(ended), 30.0);
  replay.go(fast, 1);
  CHECK_EQUAL(replay.state(ended), double{EXRP_EPISODE_EVICTED});
  replay.sound();
}

void bytesMakeOpenEpisodesGiveWay() {
  TestSetup setup = {.capacity = 100, .blockLength = 16};
  setup.columns.insert(setup.columns.end(), {4, 1, 10});
  setup.capacityBytes = 100 * 12 + 10 * 4 + 4;  // what 100 records of one episode take
  Numbered replay(setup);
  std::vector<double> actors = {replay.begin(), replay.begin(), replay.begin()};
  for (int k = 0; k < 2000; ++k) {
    replay.record(actors[static_cast<size_t>(k % 3)]);
    CHECK(replay.info(EXRP_INFO_STORED_BYTES) <= setup.capacityBytes);
  }
  CHECK(replay.info(EXRP_INFO_RECORD_COUNT) >= 98);
  for (const double actor : actors) CHECK_EQUAL(replay.state(actor), double{EXRP_EPISODE_OPEN});
  replay.sound();
}

void abandonedEpisodesDoNotTakeAllBlocks() {
  Numbered replay({.capacity = 20, .blockLength = 16});
  std::vector<double> handles;
  for (int k = 0; k < 500; ++k) {
    const double handle = replay.begin();
    handles.push_back(handle);
    replay.go(handle, 1 + k % 3);
    CHECK(replay.info(EXRP_INFO_EPISODE_COUNT) <= 20 + 20);
  }
  CHECK_EQUAL(replay.info(EXRP_INFO_RECORD_COUNT), 20.0);
  CHECK_EQUAL(replay.state(handles[0]), double{EXRP_EPISODE_EVICTED});
  replay.sound();
  // One that went empty was open then: a record with it begins another episode, once.
  CHECK_EQUAL(replay.record(handles[440]), 500.0);
  CHECK_EQUAL(replay.tryRecord(&handles[440]), EXRP_STATUS_EPISODE_ENDED);
}

void oneIsTrimmedByItsCaller() {
  Numbered replay({.capacity = 1000, .blockLength = 16});
  const double handle = replay.begin();
  replay.go(handle, 50);
  CHECK_EQUAL(exrp_episode_trim(replay.id, handle, 33), 0);
  CHECK_EQUAL(replay.first(handle), 33.0);
  CHECK_EQUAL(exrp_episode_trim(replay.id, handle, 20), 0);  // they are gone already
  CHECK_EQUAL(replay.first(handle), 33.0);
  CHECK_EQUAL(replay.picksOf(handle).size(), size_t{16});
  replay.sound();
  CHECK_EQUAL(exrp_episode_trim(replay.id, handle, 51), EXRP_STATUS_RECORD_UNKNOWN);
  CHECK_EQUAL(exrp_episode_trim(replay.id, handle, 50), 0);
  CHECK_EQUAL(replay.stored(handle), 0.0);
  CHECK_EQUAL(replay.state(handle), double{EXRP_EPISODE_OPEN});
  replay.sound();
  replay.go(handle, 1);
  CHECK_EQUAL(replay.first(handle), 50.0);
  // At the end of a block, too.
  replay.go(handle, 13);
  CHECK_EQUAL(exrp_episode_trim(replay.id, handle, 64), 0);
  replay.sound();
  replay.go(handle, 2);
  CHECK_EQUAL(replay.first(handle), 64.0);
  CHECK_EQUAL(replay.value(0, handle, 65), Numbered::valueOf(handle, 65));
  replay.sound();
  replay.record(handle, EXRP_RECORD_ENDS);
  CHECK_EQUAL(exrp_episode_trim(replay.id, handle, 65), EXRP_STATUS_EPISODE_ENDED);
  CHECK_EQUAL(replay.stored(handle), 3.0);
  replay.sound();
}

/// Whatever memory is refused, a record and a trim leave all as it was; then they succeed.
void refusedMemoryChangesNothing() {
  TestSetup setup = {.capacity = 3000, .blockLength = 16};
  setup.columns.insert(setup.columns.end(), {4, 1, 7});
  Numbered replay(setup);
  const double handle = replay.begin();
  int refusals = 0;
  for (int k = 0; k < 4000; ++k) {
    for (uint64_t granted = 0;; ++granted) {
      const bool looks = k % 64 == 0;
      const Snapshot before = looks ? replay.saved() : Snapshot();
      exrp::grantMemory(granted);
      double to = handle;
      const int32_t status = replay.tryRecord(&to);
      exrp::grantMemory(UINT64_MAX);
      if (status == 0) CHECK_EQUAL(to, handle);
      if (status == 0) break;
      CHECK_EQUAL(status, EXRP_STATUS_MEMORY);
      if (looks) CHECK(replay.saved() == before);
      ++refusals;
    }
  }
  CHECK(refusals > 5);
  CHECK(replay.first(handle) >= 1000);
  replay.sound();
}

/// An ended episode of 10 records lost 7 that were released. After that, its 8 draws were more than one for each of its picks. The
/// policy had not heard of it, and loading refused what was saved.
void spentByTrimmingIsSaved() {
  const TestSetup setup = {.capacity = 20, .eviction = EXRP_EVICTION_AFTER_DRAWS, .evictionOption = 1, .selectors = {uniform()}};
  TestReplay replay(setup);
  const double older = replay.begin();
  const double spent = replay.begin();
  for (uint32_t k = 0; k < 10; ++k) replay.record(spent, k == 9 ? EXRP_RECORD_ENDS : 0);
  replay.draw(8);  // of the 10 that it takes
  CHECK_EQUAL(exrp_records_release(replay.id, spent, 7), 0);
  for (uint32_t k = 0; k < 17; ++k) replay.record(older, k == 16 ? EXRP_RECORD_ENDS : 0);
  CHECK_EQUAL(replay.first(spent), 7);
  replay.sound();
  TestReplay loaded(setup);
  CHECK_EQUAL(loadSnapshot(loaded.id, replay.saved()), 0);
  for (TestReplay* at : {&replay, &loaded}) {
    at->record(at->begin());
    CHECK_EQUAL(at->state(spent), EXRP_EPISODE_EVICTED);
    at->sound();
  }
  CHECK(replay.saved() == loaded.saved());
}

/// The episode that was recorded went itself to make room in bytes. The one after it keeps a row of each column, which is more than room
/// was made for.
void theEpisodeAfterOneThatWentHasRoom() {
  // A record is 3 bytes. Columns of 10 bytes every 2nd and 1,000 bytes every 1,000th record.
  TestReplay replay({.capacity = 3, .capacityBytes = 3 * 1000 + 2 * 10 + 3 + 5, .columns = byteColumns({{10, 2}, {1000, 1000}})});
  const double a = replay.begin();
  const double b = replay.begin();
  const double c = replay.begin();
  replay.record(a);
  replay.record(a);
  replay.record(b);
  replay.record(c);
  replay.sound();
  CHECK_EQUAL(replay.state(a), EXRP_EPISODE_OPEN);
  CHECK_EQUAL(replay.state(b), EXRP_EPISODE_OPEN);
  CHECK(replay.record(a) > c);  // a went, and another begins
  replay.sound();
}

/// An episode without records ended, and its handle took the place of the oldest one that may go on.
void endingAnEmptyEpisodeForgetsNoHandle() {
  TestReplay replay({.capacity = 5000});
  for (uint32_t k = 0; k < handleCount; ++k) replay.begin();
  CHECK_EQUAL(exrp_replay_clear(replay.id), 0);
  const double other = replay.begin();
  CHECK_EQUAL(replay.end(other), 0u);
  CHECK_EQUAL(replay.record(0), handleCount + 1);
  double ended = other;
  CHECK_EQUAL(replay.tryRecord(&ended), EXRP_STATUS_EPISODE_ENDED);
}

/// The same where an episode that lost all its records is as long as one may be.
void goingOnAfterAnEmptySegmentForgetsNoHandle() {
  TestReplay replay({.capacity = 5000, .segmentLength = 2});
  for (uint32_t k = 0; k < handleCount; ++k) replay.begin();
  CHECK_EQUAL(exrp_replay_clear(replay.id), 0);
  const double other = replay.begin();
  replay.record(other);
  replay.record(other);
  CHECK_EQUAL(exrp_episode_trim(replay.id, other, 2), 0);
  CHECK_EQUAL(replay.record(other), handleCount + 1);
  CHECK_EQUAL(replay.record(0), handleCount + 2);
  replay.sound();
}

/// The rows that episodes carry take memory, which was not told.
void carriedRowsAreTold() {
  constexpr uint32_t rowBytes = 65536;
  constexpr uint32_t episodeCount = 100;
  const TestSetup setup = {.capacity = 5000, .blockLength = 16, .columns = byteColumns({{rowBytes, 1000}})};
  const auto columnBytes = [](const TestReplay& replay) { return replay.info(EXRP_INFO_COLUMN_BYTES); };
  TestReplay replay(setup);
  for (uint32_t k = 0; k < episodeCount; ++k) {
    const double handle = replay.begin();
    for (uint32_t step = 0; step < 17; ++step) replay.record(handle);
  }
  const double before = columnBytes(replay);
  for (uint32_t k = 0; k < episodeCount; ++k) CHECK_EQUAL(exrp_episode_trim(replay.id, k, 16), 0);
  CHECK(columnBytes(replay) >= before + double{rowBytes} * episodeCount);
  TestReplay loaded(setup);
  CHECK_EQUAL(loadSnapshot(loaded.id, replay.saved()), 0);
  CHECK(columnBytes(loaded) >= double{2} * rowBytes * episodeCount);  // those that are carried, and those of the blocks
}

}  // namespace

int main() {
  oneEpisodeThatNeverEndsIsARing();
  eightThatNeverEndAreOneRing();
  oneOpenAndManyEnded();
  theOldestGoesFirst();
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const int before = failureCount;
    picksGoWithWhatTheyShow(seed);
    keptValuesStayExact(seed);
    if (failureCount != before) std::printf("with seed %llu\n", static_cast<unsigned long long>(seed));
  }
  noRecordIsOlderThanTheLimit();
  bytesMakeOpenEpisodesGiveWay();
  abandonedEpisodesDoNotTakeAllBlocks();
  oneIsTrimmedByItsCaller();
  refusedMemoryChangesNothing();
  spentByTrimmingIsSaved();
  theEpisodeAfterOneThatWentHasRoom();
  endingAnEmptyEpisodeForgetsNoHandle();
  goingOnAfterAnEmptySegmentForgetsNoHandle();
  carriedRowsAreTold();
  return checkResult("trim_test");
}
