// Open episodes give way by their oldest records: who gives way, what stays, what goes, and what a loaded replay does. What went wrong
// once, and the end of positions, is in trimming_test.cpp.
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "kernel/exrp.h"
#include "kernel/base/memory.hpp"
#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/operations_setup.hpp"

using exrp::test::loadSnapshot;
using exrp::test::Snapshot;
using exrp::test::takeSnapshot;

namespace {

struct Setup {
  double capacity = 64;
  double segmentLength = 0;
  double blockLength = 16;
  double ageMax = 0;
  double capacityBytes = 0;
  double eviction = EXRP_EVICTION_FIFO;
  std::vector<uint32_t> every = {};  // an extra of 4 bytes for each
  double policy[EXRP_POLICY_COUNT] = {1, 1, 0, 1, 0, 1};
};

/// A replay whose records are numbered: each column of a record holds the number of the step within its episode, and 1000 x its handle.
class Subject {
 public:
  explicit Subject(const Setup& setup) : setup_(setup) {
    double config[EXRP_CONFIG_COUNT] = {};
    config[EXRP_CONFIG_CAPACITY] = setup.capacity;
    config[EXRP_CONFIG_SEGMENT_LENGTH] = setup.segmentLength;
    config[EXRP_CONFIG_EVICTION] = setup.eviction;
    config[EXRP_CONFIG_BLOCK_LENGTH] = setup.blockLength;
    config[EXRP_CONFIG_AGE_MAX] = setup.ageMax;
    config[EXRP_CONFIG_CAPACITY_BYTES] = setup.capacityBytes;
    std::vector<uint32_t> columns = {4, 1, 1, 4, 1, 1, 4, 1, 1};
    for (const uint32_t every : setup.every) columns.insert(columns.end(), {4, 1, every});
    columnCount_ = static_cast<uint32_t>(columns.size() / 3);
    CHECK_EQUAL(exrp_replay_create(config, EXRP_CONFIG_COUNT, setup.policy, EXRP_POLICY_COUNT, columns.data(), columnCount_, &id), 0);
    layout_.resize(EXRP_ROW_COLUMN + columnCount_);
    CHECK_EQUAL(exrp_row_layout(id, layout_.data(), static_cast<uint32_t>(layout_.size())), 0);
    row_.resize(static_cast<size_t>(layout_[EXRP_ROW_BYTES]) / 8);
  }
  ~Subject() { CHECK_EQUAL(exrp_replay_destroy(id), 0); }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  double begin() {
    double handle = -1;
    CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
    return handle;
  }
  /// The handle that stores the record.
  double record(double handle, uint32_t flags = 0) {
    auto* row = reinterpret_cast<uint8_t*>(row_.data());
    memcpy(row, &handle, 8);
    const float value = valueOf(handle, steps[handle]);
    for (uint32_t column = 0; column < columnCount_; ++column) memcpy(row + static_cast<size_t>(layout_[EXRP_ROW_COLUMN + column]), &value, 4);
    status = exrp_record(id, row, static_cast<uint32_t>(layout_[EXRP_ROW_BYTES]), flags);
    if (status != 0) return -1;
    double to = -1;
    memcpy(&to, row, 8);
    ++steps[to];
    return to;
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

  std::vector<double> info(double handle) const {
    std::vector<double> known(EXRP_EPISODE_INFO_COUNT);
    CHECK_EQUAL(exrp_episode_info(id, handle, known.data(), EXRP_EPISODE_INFO_COUNT), 0);
    return known;
  }
  double first(double handle) const { return info(handle)[EXRP_EPISODE_FIRST_POSITION]; }
  double stored(double handle) const { return info(handle)[EXRP_EPISODE_RECORD_COUNT]; }
  double state(double handle) const { return info(handle)[EXRP_EPISODE_STATE]; }
  double total(uint32_t index) const {
    double known[EXRP_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_replay_info(id, known, EXRP_INFO_COUNT), 0);
    return known[index];
  }
  /// The positions of the picks of a table that belong to an episode, in order.
  std::vector<int32_t> picks(double handle, uint32_t table = 0) const {
    double known[EXRP_TABLE_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_table_info(id, table, known, EXRP_TABLE_INFO_COUNT), 0);
    const auto count = static_cast<uint32_t>(known[EXRP_TABLE_PICK_COUNT]);
    std::vector<double> handles(count + 1);
    std::vector<int32_t> positions(count + 1);
    CHECK_EQUAL(exrp_pick_list(id, table, 0, count, handles.data(), positions.data()), 0);
    std::vector<int32_t> own;
    for (uint32_t k = 0; k < count; ++k) {
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
  void sound() const {
    int32_t broken = -1;
    CHECK_EQUAL(exrp_replay_check(id, &broken), 0);
    CHECK_EQUAL(broken, 0);
  }
  const Setup& setup() const { return setup_; }

  uint32_t id = 0;
  int32_t status = 0;
  std::map<double, uint32_t> steps = {};  // records that each episode has got

 private:
  Setup setup_;
  uint32_t columnCount_ = 0;
  std::vector<double> layout_ = {};
  std::vector<uint64_t> row_ = {};
};

Snapshot save(uint32_t id) {
  Snapshot sections;
  CHECK(!takeSnapshot(id, 0, &sections));
  return sections;
}

void oneEpisodeThatNeverEndsIsARing() {
  for (const double blockLength : {2.0, 16.0, 64.0}) {
    Setup setup;
    setup.capacity = 300;  // 4 go at once
    setup.blockLength = blockLength;
    Subject subject(setup);
    const double handle = subject.begin();
    for (int k = 1; k <= 2000; ++k) {
      subject.go(handle, 1);
      const double expected = k <= 300 ? 0 : (k - 300 + 3) / 4 * 4;
      CHECK_EQUAL(subject.first(handle), expected);
      CHECK_EQUAL(subject.stored(handle), k - expected);
    }
    CHECK_EQUAL(subject.total(EXRP_INFO_EVICTED_COUNT), 0.0);
    CHECK_EQUAL(subject.value(0, handle, 1700), Subject::valueOf(handle, 1700));
    subject.sound();
  }
}

void eightThatNeverEndAreOneRing() {
  for (const double capacity : {64.0, 200.0, 1024.0}) {
    Setup setup;
    setup.capacity = capacity;
    Subject subject(setup);
    std::vector<double> actors;
    for (int k = 0; k < 8; ++k) actors.push_back(subject.begin());
    const int step = capacity == 64 ? 1 : capacity == 200 ? 2 : 16;
    for (int k = 0; k < 3000; ++k) {
      for (const double actor : actors) subject.go(actor, 1);
      if (8 * (k + 1) <= capacity) continue;
      double most = 0;
      double least = 1e9;
      for (const double actor : actors) {
        CHECK_EQUAL(subject.state(actor), double{EXRP_EPISODE_OPEN});
        most = subject.stored(actor) > most ? subject.stored(actor) : most;
        least = subject.stored(actor) < least ? subject.stored(actor) : least;
      }
      CHECK(most - least <= step);
      CHECK(subject.total(EXRP_INFO_RECORD_COUNT) > capacity - step);
    }
    subject.sound();
  }
}

/// An actor that never ends keeps its share beside episodes that end, as in a ring: half of the records are its own.
void oneOpenAndManyEnded() {
  Setup setup;
  setup.capacity = 1024;
  Subject subject(setup);
  const double open = subject.begin();
  double current = subject.begin();
  for (int k = 0; k < 20000; ++k) {
    subject.go(open, 1);
    const bool ends = k % 20 == 19;
    subject.record(current, ends ? EXRP_RECORD_ENDS : 0);
    if (ends) current = subject.begin();
    if (k < 2000 || k % 100 != 0) continue;
    CHECK(subject.stored(open) > 480 && subject.stored(open) < 550);
  }
  CHECK_EQUAL(subject.state(open), double{EXRP_EPISODE_OPEN});
  subject.sound();
}

/// An actor that stands still keeps its records only as long as a ring would.
void theOldestGoesFirst() {
  Setup setup;
  setup.capacity = 64;
  Subject subject(setup);
  const double idle = subject.begin();
  subject.go(idle, 10);
  const double busy = subject.begin();
  subject.go(busy, 54);
  CHECK_EQUAL(subject.stored(idle), 10.0);
  for (int k = 1; k <= 10; ++k) {
    subject.go(busy, 1);
    CHECK_EQUAL(subject.stored(idle), 10.0 - k);
    CHECK_EQUAL(subject.stored(busy), 54.0 + k);
  }
  subject.go(busy, 1);
  CHECK_EQUAL(subject.first(busy), 1.0);
  CHECK_EQUAL(subject.state(idle), double{EXRP_EPISODE_OPEN});
  // It holds nothing, and goes on where it was.
  subject.go(idle, 1);
  CHECK_EQUAL(subject.first(idle), 10.0);
  CHECK_EQUAL(subject.value(0, idle, 10), Subject::valueOf(idle, 10));
  subject.sound();
}

/// The picks of a trimmed episode are those whose every row is there, and the multiples of the stride.
void picksGoWithWhatTheyShow(uint64_t seed) {
  exrp::Random random(seed, 5);
  Setup setup;
  setup.capacity = 40 + random.below(300);
  setup.blockLength = 2u << random.below(6);
  Subject subject(setup);
  struct Table {
    uint32_t length, stride, before, stack, nStep;
    bool openEnd, whole;
  };
  std::vector<Table> tables;
  for (uint32_t table = 1; table < 6; ++table) {
    const Table made = {1 + random.below(9), 1 + random.below(5), random.below(2) * random.below(50), 1 + random.below(2) * random.below(8),
                        random.below(3) * 2, random.below(2) == 0, random.below(4) == 0};
    double policy[EXRP_POLICY_COUNT] = {};
    policy[EXRP_POLICY_LENGTH] = made.length;
    policy[EXRP_POLICY_STRIDE] = made.stride;
    policy[EXRP_POLICY_FLAGS] = (made.openEnd ? EXRP_PICK_ALLOW_OPEN_END : 0) | (made.whole ? EXRP_PICK_WHOLE : 0);
    policy[EXRP_POLICY_DISCOUNT] = 1;
    policy[EXRP_POLICY_BEFORE] = made.before;
    policy[EXRP_POLICY_STACK] = made.stack;
    policy[EXRP_POLICY_REWARD_TYPE] = EXRP_TYPE_FLOAT32;
    policy[EXRP_POLICY_N_STEP] = made.nStep;
    uint32_t number = 0;
    CHECK_EQUAL(exrp_table_create(subject.id, policy, EXRP_POLICY_COUNT, &number), 0);
    tables.push_back(made);
  }
  std::vector<double> actors;
  for (int k = 0; k < 3; ++k) actors.push_back(subject.begin());
  for (int k = 0; k < 700; ++k) {
    double& actor = actors[random.below(3)];
    const bool ends = random.below(90) == 0;
    subject.record(actor, ends ? EXRP_RECORD_ENDS : 0);
    const double checked = actor;
    if (ends) actor = subject.begin();
    if (k % 7 != 0) continue;
    const auto first = static_cast<uint32_t>(subject.first(checked));
    const uint32_t count = subject.steps[checked];
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
      CHECK(subject.picks(checked, table + 1) == expected);
    }
    subject.sound();
  }
}

/// Values that every nth record keeps are there for each record, whatever n and the blocks are.
void keptValuesStayExact(uint64_t seed) {
  exrp::Random random(seed, 6);
  Setup setup;
  setup.capacity = 20 + random.below(200);
  setup.blockLength = 2u << random.below(5);
  setup.every = {2 + random.below(9), 16, 17 + random.below(60), 500};
  Subject subject(setup);
  std::vector<double> actors = {subject.begin(), subject.begin()};
  for (int k = 0; k < 1500; ++k) {
    const double actor = actors[random.below(3) == 0 ? 0 : 1];
    subject.go(actor, 1);
    if (random.below(40) == 0) CHECK_EQUAL(exrp_episode_trim(subject.id, actor, subject.steps[actor] - random.below(2)), 0);
    if (k % 11 != 0) continue;
    const auto first = static_cast<int32_t>(subject.first(actor));
    const auto count = static_cast<int32_t>(subject.steps[actor]);
    for (uint32_t column = 3; column < 7; ++column) {
      const auto every = static_cast<int32_t>(setup.every[column - 3]);
      for (int32_t position = first; position < count; position += 1 + static_cast<int32_t>(random.below(9))) {
        CHECK_EQUAL(subject.value(column, actor, position), Subject::valueOf(actor, static_cast<uint32_t>(position - position % every)));
      }
    }
  }
  subject.sound();
  // What is loaded into other blocks has the same values.
  Setup other = setup;
  other.blockLength = 2u << random.below(5);
  Subject loaded(other);
  const Snapshot sections = save(subject.id);
  CHECK_EQUAL(loadSnapshot(loaded.id, sections), 0);
  CHECK(save(loaded.id) == sections);
  for (const double actor : actors) {
    for (auto position = static_cast<int32_t>(subject.first(actor)); position < static_cast<int32_t>(subject.steps[actor]); ++position) {
      for (uint32_t column = 0; column < 7; ++column) {
        CHECK_EQUAL(loaded.value(column, actor, position), subject.value(column, actor, position));
      }
    }
  }
}

void noRecordIsOlderThanTheLimit() {
  Setup setup;
  setup.capacity = 1000;
  setup.ageMax = 70;  // one goes at once
  Subject subject(setup);
  const double slow = subject.begin();
  const double fast = subject.begin();
  std::vector<int> recordedAt;
  for (int k = 0; k < 1000; ++k) {
    const bool isSlow = k % 10 == 0;
    subject.record(isSlow ? slow : fast);
    if (isSlow) recordedAt.push_back(k);
    const auto first = static_cast<size_t>(subject.first(slow));
    CHECK(first < recordedAt.size() && k + 1 - recordedAt[first] <= 70);
    if (k >= 70) CHECK(subject.total(EXRP_INFO_RECORD_COUNT) == 70);
  }
  // One that stands still loses its last record too, and goes on.
  for (int k = 0; k < 100; ++k) subject.go(fast, 1);
  CHECK_EQUAL(subject.stored(slow), 0.0);
  CHECK_EQUAL(subject.state(slow), double{EXRP_EPISODE_OPEN});
  subject.go(slow, 1);
  CHECK_EQUAL(subject.first(slow), 100.0);
  // An ended episode goes whole when its oldest record is too old.
  const double ended = subject.recordEnded(30);
  subject.go(fast, 40);
  CHECK_EQUAL(subject.stored(ended), 30.0);
  subject.go(fast, 1);
  CHECK_EQUAL(subject.state(ended), double{EXRP_EPISODE_EVICTED});
  subject.sound();
}

void bytesMakeOpenEpisodesGiveWay() {
  Setup setup;
  setup.capacity = 100;
  setup.every = {10};
  setup.capacityBytes = 100 * 12 + 10 * 4 + 4;  // what 100 records of one episode take
  Subject subject(setup);
  std::vector<double> actors = {subject.begin(), subject.begin(), subject.begin()};
  for (int k = 0; k < 2000; ++k) {
    subject.record(actors[static_cast<size_t>(k % 3)]);
    CHECK(subject.total(EXRP_INFO_STORED_BYTES) <= setup.capacityBytes);
  }
  CHECK(subject.total(EXRP_INFO_RECORD_COUNT) >= 98);
  for (const double actor : actors) CHECK_EQUAL(subject.state(actor), double{EXRP_EPISODE_OPEN});
  subject.sound();
}

void abandonedEpisodesDoNotTakeAllBlocks() {
  Setup setup;
  setup.capacity = 20;
  Subject subject(setup);
  std::vector<double> handles;
  for (int k = 0; k < 500; ++k) {
    const double handle = subject.begin();
    handles.push_back(handle);
    subject.go(handle, 1 + k % 3);
    CHECK(subject.total(EXRP_INFO_EPISODE_COUNT) <= 20 + 20);
  }
  CHECK_EQUAL(subject.total(EXRP_INFO_RECORD_COUNT), 20.0);
  CHECK_EQUAL(subject.state(handles[0]), double{EXRP_EPISODE_EVICTED});
  subject.sound();
  // One that went empty was open then: a record with it begins another episode, once.
  const double again = subject.record(handles[440]);
  CHECK_EQUAL(again, 500.0);
  CHECK_EQUAL(subject.record(handles[440]), -1.0);
  CHECK_EQUAL(subject.status, EXRP_STATUS_EPISODE_ENDED);
}

void oneIsTrimmedByItsCaller() {
  Setup setup;
  setup.capacity = 1000;
  Subject subject(setup);
  const double handle = subject.begin();
  subject.go(handle, 50);
  CHECK_EQUAL(exrp_episode_trim(subject.id, handle, 33), 0);
  CHECK_EQUAL(subject.first(handle), 33.0);
  CHECK_EQUAL(exrp_episode_trim(subject.id, handle, 20), 0);  // they are gone already
  CHECK_EQUAL(subject.first(handle), 33.0);
  CHECK_EQUAL(subject.picks(handle).size(), size_t{16});
  subject.sound();
  CHECK_EQUAL(exrp_episode_trim(subject.id, handle, 51), EXRP_STATUS_RECORD_UNKNOWN);
  CHECK_EQUAL(exrp_episode_trim(subject.id, handle, 50), 0);
  CHECK_EQUAL(subject.stored(handle), 0.0);
  CHECK_EQUAL(subject.state(handle), double{EXRP_EPISODE_OPEN});
  subject.sound();
  subject.go(handle, 1);
  CHECK_EQUAL(subject.first(handle), 50.0);
  // At the end of a block, too.
  subject.go(handle, 13);
  CHECK_EQUAL(exrp_episode_trim(subject.id, handle, 64), 0);
  subject.sound();
  subject.go(handle, 2);
  CHECK_EQUAL(subject.first(handle), 64.0);
  CHECK_EQUAL(subject.value(0, handle, 65), Subject::valueOf(handle, 65));
  subject.sound();
  subject.record(handle, EXRP_RECORD_ENDS);
  CHECK_EQUAL(exrp_episode_trim(subject.id, handle, 65), EXRP_STATUS_EPISODE_ENDED);
  CHECK_EQUAL(subject.stored(handle), 3.0);
  subject.sound();
}

/// What can't be is refused: births that fall, that are too late, that crowd; first positions above the count.
void impossibleBirthsAreRefused() {
  Setup setup;
  setup.capacity = 64;
  Subject made(setup);
  const double handle = made.begin();
  made.go(handle, 100);
  const Snapshot sections = save(made.id);
  const auto refused = [&](uint32_t section, size_t at, uint64_t value, size_t bytes) {
    Snapshot damaged = sections;
    memcpy(&damaged[section][at], &value, bytes);
    Subject subject(setup);
    CHECK(loadSnapshot(subject.id, damaged) != 0);
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

/// Whatever memory is refused, a record and a trim leave all as it was; then they succeed.
void refusedMemoryChangesNothing() {
  Setup setup;
  setup.capacity = 3000;
  setup.every = {7};
  Subject subject(setup);
  const double handle = subject.begin();
  int refusals = 0;
  for (int k = 0; k < 4000; ++k) {
    for (uint64_t granted = 0;; ++granted) {
      const bool looks = k % 64 == 0;
      const Snapshot before = looks ? save(subject.id) : Snapshot();
      exrp::grantMemory(granted);
      const double to = subject.record(handle);
      exrp::grantMemory(UINT64_MAX);
      if (to == handle) break;
      CHECK_EQUAL(subject.status, EXRP_STATUS_MEMORY);
      if (looks) CHECK(save(subject.id) == before);
      ++refusals;
    }
  }
  CHECK(refusals > 5);
  CHECK(subject.first(handle) >= 1000);
  subject.sound();
}

}  // namespace

int main() {
  oneEpisodeThatNeverEndsIsARing();
  eightThatNeverEndAreOneRing();
  oneOpenAndManyEnded();
  theOldestGoesFirst();
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const int before = exrp::test::failureCount;
    picksGoWithWhatTheyShow(seed);
    keptValuesStayExact(seed);
    if (exrp::test::failureCount != before) std::printf("with seed %llu\n", static_cast<unsigned long long>(seed));
  }
  noRecordIsOlderThanTheLimit();
  bytesMakeOpenEpisodesGiveWay();
  abandonedEpisodesDoNotTakeAllBlocks();
  oneIsTrimmedByItsCaller();
  impossibleBirthsAreRefused();
  refusedMemoryChangesNothing();
  return exrp::test::checkResult("trim");
}
