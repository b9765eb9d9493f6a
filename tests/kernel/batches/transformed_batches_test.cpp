// TransformedBatches: a batch with transforms is the plain batch of the same picks, each stored row transformed alone, whatever its rows are: small ones
// that are gathered first, large ones that are converted from where they are stored, and padding. The same picks make the same bytes with the second
// thread, which large batches have, and in parts.
#include "kernel/batches/transformed_batches.hpp"

#include <cstring>
#include <thread>  // so that TSan runs this test: the second thread is the kernel's own
#include <vector>

#include "kernel/base/second_thread.hpp"
#include "kernel/store/column_statistics.hpp"
#include "tests/kernel/batches/torn_replay.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

constexpr uint32_t extra = 4;  // the large one of a TornReplay
constexpr uint64_t viewSeed = 77;
constexpr uint32_t viewNumber = 3;
constexpr uint64_t drawn = 5;  // batches before

struct Setup {
  const char* name;
  uint32_t height, width;  // of the state
  uint32_t length;
  uint32_t stack;
  uint32_t flags;
  uint32_t nextState;
  uint32_t picks;
  bool hasBeside = true;  // columns that are large, or that some records keep
  uint32_t nSteps = 0;
};

using Numbers = std::vector<double>;

void add(Numbers& list, uint32_t column, double kind, const Numbers& numbers) {
  Numbers one(EXRP_TRANSFORM_COUNT);
  one[EXRP_TRANSFORM_COLUMN] = column;
  one[EXRP_TRANSFORM_KIND] = kind;
  one[EXRP_TRANSFORM_TYPE] = EXRP_TYPE_FLOAT32;
  for (size_t at = 0; at < numbers.size(); ++at) one[EXRP_TRANSFORM_NUMBER + at] = numbers[at];
  list.insert(list.end(), one.begin(), one.end());
}

/// A batch, and where its parts are.
struct Batch {
  std::vector<uint8_t> bytes;
  BatchLayout layout = {};
  BatchTarget target = {};

  Batch(const Store& store, const PickPolicy& policy, uint32_t count, const uint32_t* shown) : layout(layoutBatch(store, policy, count, shown)) {
    bytes.resize(static_cast<size_t>(layout.offsets[EXRP_BATCH_BYTES]) + lineBytes, 0x5A);
    target = batchTarget(store, policy, layout, bytes.data() + (lineBytes - reinterpret_cast<uintptr_t>(bytes.data()) % lineBytes) % lineBytes);
  }
};

/// The picks of a batch from `first` on, `count` at a time.
void gather(const TornReplay& replay, const Gatherer& gatherer, const std::vector<uint32_t>& indices, uint32_t pieceCount, Batch& batch) {
  const auto total = static_cast<uint32_t>(indices.size());
  std::vector<uint32_t> episodes(total);
  BatchScratch scratch;
  for (uint32_t first = 0; first < total; first += pieceCount) {
    const uint32_t count = total - first < pieceCount ? total - first : pieceCount;
    CHECK(gatherer.createScratch(pieceCount, &scratch) == Status::ok);
    gatherer.gather({replay.episodes(), replay.instance.replay.book().blocks(), replay.picks(), indices.data() + first, {first, count, total},
                     batch.target, episodes.data(), scratch, drawn});
  }
}

/// Compares the rows of one part: of each pick `rows`, of which some stand for a record.
uint32_t wrongRows(const ColumnTransform& transform, const float* scales, uint32_t column, uint32_t number, const uint8_t* stored, const uint8_t* shown,
                   size_t rowBytes, uint32_t picks, uint32_t rows, uint32_t stack, const int32_t* known) {
  uint32_t wrong = 0;
  std::vector<uint8_t> scratch(transform.scratchBytes());
  std::vector<uint8_t> expected(transform.shownBytes());
  for (uint32_t pick = 0; pick < picks; ++pick) {
    const uint64_t ofView = transformBits(transformBits(viewSeed) ^ viewNumber);
    const uint64_t ofPick = transformBits(transformBits(ofView ^ drawn) ^ pick);
    for (uint32_t row = 0; row < rows * stack; ++row, stored += rowBytes, shown += transform.shownBytes()) {
      memset(expected.data(), 0, expected.size());
      if (row < static_cast<uint32_t>(known[pick]) * stack) {
        const CropPlace place = transform.crops() ? transform.placeOf(transformBits(ofPick ^ number)) : CropPlace{};
        transform.run(stored, expected.data(), place, scales, scratch.data());
      }
      wrong += memcmp(expected.data(), shown, expected.size()) == 0 ? 0 : 1;
    }
  }
  if (wrong > 0) std::printf("column %u, part %u: %u rows of %u picks are wrong\n", column, number, wrong, picks);
  return wrong;
}

void matchesPlainBatch(TornReplay& replay, const Setup& setup, const Numbers& ofState, bool extraToo) {
  const Store& store = replay.store();
  Numbers list = ofState;
  if (extraToo) add(list, extra, EXRP_TRANSFORM_FLOAT16, {});
  PickPolicy policy = replay.policy;
  policy.transforms = list.data();
  policy.transformCount = static_cast<uint32_t>(list.size() / EXRP_TRANSFORM_COUNT);
  TransformedBatches transformed;
  CHECK(transformed.create(store, policy, 2, 100, viewSeed, viewNumber) == Status::ok);
  ColumnStatistics statistics;
  transformed.forEachNormalized([&](uint32_t column, uint32_t type) {
    CHECK(statistics.reserve(store, column, type) == Status::ok);
    statistics.begin(replay.instance.replay.book(), column);
  });
  transformed.useStatistics(statistics);
  BatchMaker maker;
  maker.create(store, replay.policy, 100);

  const std::vector<uint32_t> indices = replay.choose(setup.picks);
  Batch plain(store, replay.policy, setup.picks, nullptr);
  gather(replay, maker, indices, setup.picks, plain);
  Batch shown(store, replay.policy, setup.picks, transformed.shownBytes());
  gather(replay, transformed, indices, setup.picks, shown);

  uint32_t wrong = 0;
  uint32_t number = 0;
  for (const uint32_t column : {0u, extra}) {
    if (column >= store.columnCount()) continue;
    Numbers own;
    for (size_t at = 0; at < list.size(); at += EXRP_TRANSFORM_COUNT) {
      if (list[at + EXRP_TRANSFORM_COLUMN] == column) own.insert(own.end(), &list[at], &list[at] + EXRP_TRANSFORM_COUNT);
    }
    if (own.empty()) {
      const size_t bytes = size_t{setup.picks} * setup.length * store.column(column).bytes;
      if (memcmp(plain.target.columns[column], shown.target.columns[column], bytes) != 0) ++wrong;
      continue;
    }
    ColumnTransform transform;
    CHECK(transform.parse(store.column(column), false, own.data(), static_cast<uint32_t>(own.size() / EXRP_TRANSFORM_COUNT), 2) == Status::ok);
    std::vector<float> scales(transform.scaleCount());
    if (transform.normalizes()) transform.scalesOf(*statistics.find(column), scales.data());
    const size_t bytes = store.column(column).bytes;
    const uint32_t stack = column == 0 ? setup.stack : 1;
    const bool overlaps = column == 0 && setup.nextState == EXRP_NEXT_STATE_OVERLAP;
    const auto compare = [&](const uint8_t* from, const uint8_t* to, const int32_t* known, uint32_t more) {
      wrong += wrongRows(transform, scales.data(), column, number++, from, to, bytes, setup.picks, setup.length + more, stack, known);
    };
    std::vector<int32_t> oneMore(setup.picks);
    for (uint32_t pick = 0; pick < setup.picks; ++pick) oneMore[pick] = plain.target.nextSeqLen[pick] + 1;
    compare(plain.target.columns[column], shown.target.columns[column], overlaps ? oneMore.data() : plain.target.seqLen, overlaps ? 1 : 0);
    if (column != 0) continue;
    if (setup.nextState == EXRP_NEXT_STATE_COPY) compare(plain.target.nextStates[0], shown.target.nextStates[0], plain.target.nextSeqLen, 0);
    if (setup.nSteps > 0) compare(plain.target.nSteps[0].states[0], shown.target.nSteps[0].states[0], plain.target.nextSeqLen, 0);
  }
  CHECK_EQUAL(wrong, 0u);
  if (wrong > 0) std::printf("%s\n", setup.name);

  // In parts that are too small for the second thread.
  Batch parts(store, replay.policy, setup.picks, transformed.shownBytes());
  gather(replay, transformed, indices, 7, parts);
  const auto bytesOf = [&](const Batch& batch) {
    const auto end = static_cast<size_t>(batch.layout.offsets[EXRP_BATCH_BYTES]);
    const uint8_t* const begin = batch.target.columns[0] - static_cast<size_t>(batch.layout.offsets[EXRP_BATCH_COLUMN]);
    return std::vector<uint8_t>(begin, begin + end);
  };
  CHECK(bytesOf(parts) == bytesOf(shown));
}

/// All lists of one setup.
void matchesPlainBatches(const Setup& setup) {
  double numbers[EXRP_POLICY_COUNT] = {};
  numbers[EXRP_POLICY_LENGTH] = setup.length;
  numbers[EXRP_POLICY_STRIDE] = 1;
  numbers[EXRP_POLICY_STACK] = setup.stack;
  numbers[EXRP_POLICY_DISCOUNT] = 0.5;
  numbers[EXRP_POLICY_FLAGS] = setup.flags;
  numbers[EXRP_POLICY_NEXT_STATE] = setup.nextState;
  numbers[EXRP_POLICY_REWARD_TYPE] = EXRP_TYPE_FLOAT32;
  numbers[EXRP_POLICY_N_STEP] = setup.nSteps;
  TornReplay replay({setup.height * setup.width, setup.hasBeside}, numbers);
  const double height = setup.height, width = setup.width;
  Numbers scaled, halves, normal, shifted;
  add(scaled, 0, EXRP_TRANSFORM_LINEAR, {0.25, 1});
  add(halves, 0, EXRP_TRANSFORM_FLOAT16, {});
  add(normal, 0, EXRP_TRANSFORM_NORMALIZE, {1e-8, 10});
  add(shifted, 0, EXRP_TRANSFORM_CROP, {height, width, 1, 2, height, width, 1});
  Numbers normalHalves = normal, cropped = normal;
  add(normalHalves, 0, EXRP_TRANSFORM_FLOAT16, {});
  add(cropped, 0, EXRP_TRANSFORM_CROP, {height, width, 1, 1, 2, 3, 1});
  for (const Numbers& list : {scaled, halves, normal, normalHalves, shifted, cropped}) {
    if (!setup.hasBeside && (&list == &shifted || &list == &cropped)) continue;
    for (const bool extraToo : {false, true}) {
      if (!extraToo || setup.hasBeside) matchesPlainBatch(replay, setup, list, extraToo);
    }
  }
  if (setup.hasBeside) matchesPlainBatch(replay, setup, {}, true);
}

}  // namespace

int main() {
  constexpr uint32_t some = EXRP_PICK_ALLOW_SHORT | EXRP_PICK_ALLOW_OPEN_END;
  const Setup setups[] = {
      {"small rows, one step", 3, 5, 1, 1, 0, EXRP_NEXT_STATE_COPY, 300},
      {"small rows, short picks", 3, 5, 8, 1, some, EXRP_NEXT_STATE_COPY, 100},
      {"rows of which only runs wait", 6, 10, 8, 1, some, EXRP_NEXT_STATE_COPY, 60},
      {"stacks of such", 6, 10, 3, 4, some, EXRP_NEXT_STATE_COPY, 60},
      {"large rows", 20, 30, 1, 1, 0, EXRP_NEXT_STATE_COPY, 500},
      {"large rows, zero padding", 20, 30, 3, 4, some | EXRP_PICK_ZERO_PADDED, EXRP_NEXT_STATE_COPY, 80},
      {"large rows, repeated padding", 20, 30, 3, 4, some, EXRP_NEXT_STATE_COPY, 80},
      {"large rows, backwards", 20, 30, 3, 2, EXRP_PICK_ALLOW_SHORT | EXRP_PICK_REVERSED, EXRP_NEXT_STATE_COPY, 80},
      {"large rows, no next states", 20, 30, 5, 4, some, EXRP_NEXT_STATE_NONE, 60},
  };
#if defined(__SANITIZE_THREAD__)
  // Only a batch that two threads convert has races.
  matchesPlainBatches(setups[4]);
#else
  for (const Setup& setup : setups) matchesPlainBatches(setup);
  // Rows that are changed while they are gathered, and the next narrower and wider ones, which are not.
  for (const uint32_t width : {3u, 4u, 6u, 8u, 15u, 20u, 32u, 33u}) {
    matchesPlainBatches({"changed on the way, one step", 1, width, 1, 1, 0, EXRP_NEXT_STATE_COPY, 300, false});
    matchesPlainBatches({"changed on the way, short picks", 1, width, 8, 1, some, EXRP_NEXT_STATE_COPY, 100, false});
    matchesPlainBatches({"changed on the way, overlap", 1, width, 5, 1, some, EXRP_NEXT_STATE_OVERLAP, 100, false});
    matchesPlainBatches({"changed on the way, no next states, three steps", 1, width, 2, 1, some, EXRP_NEXT_STATE_NONE, 100, false, 3});
  }
#endif
#if defined(EXRP_TEST_MEMORY)
  std::printf("the second thread did %llu pieces\n", static_cast<unsigned long long>(SecondThread::helpedCount()));
#endif
  return checkResult("transformed_batches");
}
