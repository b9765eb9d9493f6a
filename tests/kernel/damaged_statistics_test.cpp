// The section of a snapshot that has what transforms need: how many batches each view has drawn, and the statistics of the columns that are normalized.
// Damaged in random ways, or by one number that can't be, it gives a status, or a sound replay that draws, records, and saves what it was given. So do
// items in an order, and with counts, that no reader of a file would pass.
#include <cstring>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp::test;
using exrp::Random;

namespace {

constexpr uint32_t viewCount = 2;
constexpr uint32_t stateCount = 5;
constexpr uint32_t extraCount = 3;
// Of the section: the counts of the views, the state's records and numbers, those of the reward, those of the extra.
constexpr uint32_t ofState = viewCount, ofReward = ofState + 1 + 2 * stateCount, ofExtra = ofReward + 3, itemCount = ofExtra + 1 + 2 * extraCount;

void addTransform(std::vector<double>& policy, double column, double kind, double type, double first = 0, double second = 0) {
  std::vector<double> one(EXRP_TRANSFORM_COUNT);
  one[EXRP_TRANSFORM_COLUMN] = column;
  one[EXRP_TRANSFORM_KIND] = kind;
  one[EXRP_TRANSFORM_TYPE] = type;
  one[EXRP_TRANSFORM_NUMBER] = first;
  one[EXRP_TRANSFORM_NUMBER + 1] = second;
  policy.insert(policy.end(), one.begin(), one.end());
}

/// A state of floats, a reward, and an extra of doubles. The first view normalizes the state and the reward, the second one the extra.
TestSetup setup() {
  TestSetup setup = {.capacity = 60, .segmentLength = 20, .seed = 3, .blockLength = 4, .policy = policyOf(2, EXRP_PICK_TRANSFORMS), .selectors = {uniform()}};
  setup.columns = {4, stateCount, 1, 4, 1, 1, 4, 1, 1, 8, extraCount, 1};
  addTransform(setup.policy, 0, EXRP_TRANSFORM_NORMALIZE, EXRP_TYPE_FLOAT32, 1e-8, 10);
  addTransform(setup.policy, 0, EXRP_TRANSFORM_FLOAT16, EXRP_TYPE_FLOAT32);
  addTransform(setup.policy, 2, EXRP_TRANSFORM_NORMALIZE, EXRP_TYPE_FLOAT32, 1e-8, 10);
  setup.policy.push_back(3);  // so many transforms
  return setup;
}

/// A replay with both views.
struct Normalized : TestReplay {
  Normalized() : TestReplay(setup()) {
    std::vector<double> policy = policyOf(1, EXRP_PICK_TRANSFORMS);
    addTransform(policy, 3, EXRP_TRANSFORM_NORMALIZE, EXRP_TYPE_FLOAT64, 0.5, 3);
    policy.push_back(1);
    uint32_t view = 0;
    CHECK_EQUAL(exrp_pick_view_create(id, policy.data(), static_cast<uint32_t>(policy.size()), &view), 0);
    CHECK_EQUAL(view, 1u);
  }
  void recordSome(Random& random, uint32_t count) {
    double handle = begin();
    for (; count > 0; --count) {
      for (uint32_t item = 0; item < stateCount; ++item) nextRow.part<float>(EXRP_ROW_COLUMN)[item] = static_cast<float>(random.uniform());
      *nextRow.part<float>(EXRP_ROW_COLUMN + 2) = static_cast<float>(random.below(9));
      for (uint32_t item = 0; item < extraCount; ++item) nextRow.part<double>(EXRP_ROW_COLUMN + 3)[item] = 1000 * random.uniform();
      handle = record(handle, random.below(9) == 0 ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS : 0);
    }
  }
};

double& itemOf(Snapshot& snapshot, uint32_t item) { return reinterpret_cast<double*>(snapshot.back().data())[item]; }

/// The status of loading; a replay that was loaded must work.
int32_t load(const Snapshot& snapshot, Random& random) {
  Normalized loaded;
  const int32_t status = loadSnapshot(loaded.id, snapshot);
  if (status != 0) return status;
  loaded.sound();
  // What was cut off was loaded as zeros. A count of -0 is saved as 0.
  Snapshot given = snapshot, saved = loaded.saved();
  given.back().resize(itemCount * sizeof(double));
  CHECK_EQUAL(saved.back().size(), given.back().size());
  for (uint32_t item = 0; item < itemCount; ++item) CHECK_EQUAL(itemOf(saved, item), itemOf(given, item));
  for (uint32_t turn = 0; turn < 3; ++turn) {
    loaded.draw(7);
    loaded.recordSome(random, 9);
  }
  loaded.sound();
  return 0;
}

bool isAllowed(int32_t status) { return status == 0 || status == EXRP_STATUS_DATA_CORRUPT; }

/// Each number in turn, replaced by one that can be or can't.
void eachNumber(const Snapshot& whole, Random& random) {
  const double nan = __builtin_nan(""), infinite = __builtin_inf();
  const auto loads = [&](uint32_t item, double value, bool isRight) {
    Snapshot damaged = whole;
    itemOf(damaged, item) = value;
    const int32_t status = load(damaged, random);
    CHECK_EQUAL(status, isRight ? 0 : EXRP_STATUS_DATA_CORRUPT);
    if (status != (isRight ? 0 : EXRP_STATUS_DATA_CORRUPT)) std::printf("item %u is %g\n", item, value);
  };
  for (uint32_t view = 0; view < viewCount; ++view) {
    for (const double good : {0.0, 5.0, 0x1p53}) loads(view, good, true);
    for (const double bad : {-1.0, 0.5, nan, infinite, 0x1p53 + 2, 1e300}) loads(view, bad, false);
  }
  Snapshot copy = whole;
  for (const auto& [begin, count] : {std::pair<uint32_t, uint32_t>{ofState, stateCount}, {ofReward, 1}, {ofExtra, extraCount}}) {
    const double records = itemOf(copy, begin);
    CHECK(records > 0);
    for (const double good : {0.0, 1.0, records}) loads(begin, good, true);
    for (const double bad : {-1.0, 0.5, nan, infinite, records + 1, 1e300}) loads(begin, bad, false);
    for (uint32_t item = 0; item < count; ++item) {
      const uint32_t mean = begin + 1 + item, squares = mean + count;
      for (const double good : {0.0, -3.5, 1e300}) loads(mean, good, true);
      for (const double good : {0.0, 5e-324, 1e300}) loads(squares, good, true);
      for (const double bad : {nan, infinite, -infinite}) {
        loads(mean, bad, false);
        loads(squares, bad, false);
      }
      loads(squares, -5e-324, false);
    }
  }
}

/// Changed bits, bytes and words, numbers that are seldom, and a section that was cut short.
void randomDamage(const Snapshot& whole, uint64_t seed, long* accepted, long* refused) {
  Random random(seed, 0);
  Snapshot damaged = whole;
  std::vector<uint8_t>& bytes = damaged.back();
  for (uint32_t hits = 1 + random.below(3); hits > 0 && !bytes.empty(); --hits) {
    const uint32_t at = random.below(static_cast<uint32_t>(bytes.size()));
    switch (random.below(5)) {
      case 0: bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1u << random.below(8))); break;
      case 1: bytes[at] = static_cast<uint8_t>(random.below(256)); break;
      case 2: bytes.resize(at); break;
      case 3: {
        const uint64_t bits = random.next();
        for (uint32_t index = 0; index < 8 && at + index < bytes.size(); ++index) bytes[at + index] = static_cast<uint8_t>(bits >> 8 * index);
        break;
      }
      default: {
        const uint32_t from = random.below(static_cast<uint32_t>(bytes.size()));
        for (uint32_t index = 0; index < 8 && at + index < bytes.size() && from + index < bytes.size(); ++index) bytes[at + index] = bytes[from + index];
        break;
      }
    }
  }
  const int32_t status = load(damaged, random);
  CHECK(isAllowed(status));
  if (!isAllowed(status)) std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  ++*(status == 0 ? accepted : refused);
}

/// Pieces that are not the next ones, or longer than the section.
void piecesOutOfOrder(const Snapshot& whole, uint64_t seed) {
  Random random(seed, 1);
  const Normalized subject;
  const auto section = static_cast<uint32_t>(whole.size() - 1);
  const uint32_t written = random.below(section + 1);
  for (uint32_t at = 0; at < written; ++at) {
    double info[2] = {};
    CHECK_EQUAL(exrp_section_info(subject.id, at, info, 2), 0);
    const auto bytes = static_cast<double>(whole[at].size());
    if (bytes > 0) CHECK_EQUAL(exrp_section_write(subject.id, at, 0, static_cast<uint32_t>(bytes / info[1]), whole[at].data(), bytes), 0);
  }
  const double firsts[] = {0, 1, itemCount - 1, itemCount, -1, 0.5, 1e18, 4294967296.0, __builtin_nan(""), __builtin_inf()};
  for (uint32_t call = 0; call < 8; ++call) {
    const uint32_t count = random.below(6) == 0 ? 0xFFFFFFFFu : random.below(itemCount + 2);
    const uint32_t there = count < itemCount ? count : itemCount;
    const std::vector<uint8_t> items(whole.back().begin(), whole.back().begin() + there * sizeof(double));
    exrp_section_write(subject.id, section, firsts[random.below(10)], count, items.data(), static_cast<double>(items.size()));
  }
  if (exrp_snapshot_end(subject.id) == 0) subject.sound();
}

}  // namespace

int main() {
  const uint64_t first = fromEnvironment("EXRP_SEED", 1);
  Random random(first, 2);
  Normalized source;
  source.recordSome(random, 90);
  for (uint32_t batch = 0; batch < 4; ++batch) source.draw(7);
  const Snapshot whole = source.saved();
  CHECK_EQUAL(whole.back().size(), itemCount * sizeof(double));
  CHECK_EQUAL(load(whole, random), 0);
  eachNumber(whole, random);
  long accepted = 0, refused = 0;
  for (uint64_t seed = first; seed < first + 2000; ++seed) {
    randomDamage(whole, seed, &accepted, &refused);
    piecesOutOfOrder(whole, seed);
  }
  // The damage reaches both.
  CHECK(accepted > 200);
  CHECK(refused > 200);
  std::printf("damaged sections: %ld accepted, %ld refused\n", accepted, refused);
  return checkResult("damaged_statistics");
}
