// States of several leaves. Each leaf of a batch must be what it is where the state is that leaf alone: random programs record the same steps into a
// replay with all leaves, and into one for each leaf, and compare each part of all picks. One small replay is compared with a plain computation, and
// wrong numbers are refused. (replay_operations.cpp has states of several leaves, too: all ways to record, snapshots, damaged ones.)
#include <cstring>
#include <string>
#include <vector>

#include "tests/kernel/operations_shadow.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp::test;
using exrp::Random;

namespace {

using Bytes = std::vector<uint8_t>;

/// The part of a batch that has the next states of a leaf, or its states after the `index`th n.
uint32_t nextPart(const TestSetup& setup, uint32_t nSteps, uint32_t leaf) {
  return leaf == 0 ? EXRP_BATCH_NEXT_STATE : EXRP_BATCH_COLUMN + setup.columnCount() + EXRP_BATCH_N_STEP_PARTS * nSteps + (1 + nSteps) * (leaf - 1);
}
uint32_t nStepPart(const TestSetup& setup, uint32_t nSteps, uint32_t leaf, uint32_t index) {
  return leaf == 0 ? EXRP_BATCH_COLUMN + setup.columnCount() + EXRP_BATCH_N_STEP_PARTS * index + EXRP_BATCH_N_STEP_STATE
                   : nextPart(setup, nSteps, leaf) + 1 + index;
}

/// What a step writes into a column. Rewards are numbers, as they are added up.
void fillColumn(const TestSetup& setup, uint32_t column, uint32_t stamp, uint32_t salt, uint8_t* to) {
  const size_t bytes = size_t{setup.columns[3 * column]} * setup.columns[3 * column + 1];
  if (column != setup.leafCount + 1) return Shadow::fill(to, bytes, stamp, salt);
  const auto reward = static_cast<float>(stamp % 13);
  memcpy(to, &reward, sizeof reward);
}

/// Fills the row of a record, and the state after it. `salts` says which bytes each column has.
void fillRow(const TestSetup& setup, const std::vector<uint32_t>& salts, uint32_t stamp, TestRow* row) {
  for (uint32_t column = 0; column < setup.columnCount(); ++column) fillColumn(setup, column, stamp, salts[column], row->part(EXRP_ROW_COLUMN + column));
  for (uint32_t leaf = 0; leaf < setup.leafCount; ++leaf) {
    const uint32_t part = leaf == 0 ? EXRP_ROW_FINAL_STATE : EXRP_ROW_COLUMN + setup.columnCount() + leaf - 1;
    fillColumn(setup, leaf, stamp + 1, salts[leaf], row->part(part));
  }
}

// ---- each leaf alone ----

/// A replay of all leaves and one of each, which record the same.
struct Twins {
  TestSetup whole;
  std::vector<TestSetup> alone;
  uint32_t nSteps = 0;

  explicit Twins(Random& random) {
    whole.capacity = 30 + random.below(100);
    whole.seed = 3;
    if (random.below(3) == 0) whole.segmentLength = 12 + random.below(15);
    whole.blockLength = 2u << random.below(4);
    const uint32_t length = 1 + random.below(6);
    uint32_t flags = random.below(EXRP_PICK_TRANSFORMS) & ~uint32_t{EXRP_PICK_COMPACT | EXRP_PICK_WHOLE};
    const bool plain = random.below(3) == 0;
    if (plain) flags &= EXRP_PICK_ALLOW_SHORT | EXRP_PICK_ENDS;
    const bool isReversed = (flags & EXRP_PICK_REVERSED) != 0;
    if (isReversed) flags &= ~uint32_t{EXRP_PICK_ALLOW_OPEN_END};
    whole.policy = policyOf(length, flags, 0.5);
    if (!isReversed && !plain) whole.policy[EXRP_POLICY_BEFORE] = random.below(5);
    nSteps = random.below(3);
    for (uint32_t index = 0; index < nSteps; ++index) whole.policy[EXRP_POLICY_N_STEP + index] = 1 + random.below(5);
    whole.leafCount = 2 + random.below(2);
    const std::vector<double> shared = whole.policy;
    whole.columns.clear();
    const uint32_t sizes[] = {1, 3, 8, 32, 200, 3000};
    for (uint32_t leaf = 0; leaf < whole.leafCount; ++leaf) {
      const uint32_t itemBytes = 1u << random.below(3);
      whole.columns.insert(whole.columns.end(), {itemBytes, sizes[random.below(plain ? 4 : 6)], 1});
      const uint32_t kinds[] = {EXRP_NEXT_STATE_COPY, EXRP_NEXT_STATE_NONE, EXRP_NEXT_STATE_OVERLAP};
      const uint32_t nextState = kinds[random.below(isReversed ? 2 : 3)];
      const uint32_t stack = plain ? 1 : 1 + random.below(4);
      uint32_t leafFlags = random.below(EXRP_LEAF_FLAGS_ALL + 1);
      if (isReversed || plain || nextState == EXRP_NEXT_STATE_COPY) leafFlags &= ~uint32_t{EXRP_LEAF_COMPACT};
      whole.policy.insert(whole.policy.end(), {double(stack), double(nextState), double(leafFlags)});
      TestSetup setup = whole;
      setup.leafCount = 1;
      setup.columns.assign(whole.columns.end() - 3, whole.columns.end());
      setup.policy = shared;
      setup.policy[EXRP_POLICY_STACK] = stack;
      setup.policy[EXRP_POLICY_NEXT_STATE] = nextState;
      if ((leafFlags & EXRP_LEAF_COMPACT) != 0) setup.policy[EXRP_POLICY_FLAGS] += EXRP_PICK_COMPACT;
      alone.push_back(setup);
    }
    std::vector<uint32_t> rest = {4, 2, 1, 4, 1, 1};
    if (random.below(2) == 0) rest.insert(rest.end(), {1, random.below(2) == 0 ? 5u : 300u, 1});
    if (random.below(3) == 0) rest.insert(rest.end(), {2, 3, 4});
    whole.columns.insert(whole.columns.end(), rest.begin(), rest.end());
    for (TestSetup& setup : alone) setup.columns.insert(setup.columns.end(), rest.begin(), rest.end());
  }

  bool hasNSteps(uint32_t leaf) const {
    return (static_cast<uint32_t>(whole.policy[EXRP_POLICY_COUNT + EXRP_LEAF_COUNT * leaf + EXRP_LEAF_FLAGS]) & EXRP_LEAF_NO_N_STEP) == 0;
  }
  /// Which bytes the columns of the replay of one leaf have.
  std::vector<uint32_t> saltsOf(uint32_t leaf) const {
    std::vector<uint32_t> salts = {leaf};
    for (uint32_t column = whole.leafCount; column < whole.columnCount(); ++column) salts.push_back(column);
    return salts;
  }
};

/// A batch of these picks, with their places in the view as `indices`.
TestBatch gather(const TestReplay& replay, const TestSetup& setup, uint32_t extraParts, const std::vector<uint32_t>& indices) {
  const auto count = static_cast<uint32_t>(indices.size());
  TestBatch batch(replay.id, count, setup.columnCount() + extraParts);
  for (uint8_t& byte : batch.bytes) byte = 0xA5;
  const std::vector<double> probabilities(count, 0.5);
  CHECK_EQUAL(exrp_batch_gather(replay.id, 0, indices.data(), probabilities.data(), 0, count, count, 0, 0, 0, batch.bytes.data(), batch.size()), 0);
  return batch;
}

/// The bytes of a part, which end where the next one begins.
Bytes bytesOf(const TestBatch& batch, uint32_t part) {
  size_t end = batch.bytes.size();
  for (const double offset : batch.offsets) {
    const auto other = static_cast<size_t>(offset);
    if (other > batch.at(part) && other < end) end = other;
  }
  return {batch.part(part), batch.part(part) + (end - batch.at(part))};
}

void isEachLeafAlone(uint64_t seed) {
  Random random(seed, 5);
  const Twins twins(random);
  const uint32_t leafCount = twins.whole.leafCount;
  TestReplay whole(twins.whole);
  std::vector<std::unique_ptr<TestReplay>> alone;
  for (const TestSetup& setup : twins.alone) alone.push_back(std::make_unique<TestReplay>(setup));
  std::vector<uint32_t> salts;
  for (uint32_t column = 0; column < twins.whole.columnCount(); ++column) salts.push_back(column);
  const auto all = [&](auto use) {
    const double result = use(whole, twins.whole, salts);
    for (uint32_t leaf = 0; leaf < leafCount; ++leaf) CHECK_EQUAL(use(*alone[leaf], twins.alone[leaf], twins.saltsOf(leaf)), result);
    return result;
  };
  double handles[3] = {};
  for (double& handle : handles) handle = all([](TestReplay& replay, const TestSetup&, const std::vector<uint32_t>&) { return replay.begin(); });
  for (uint32_t step = 0; step < 150; ++step) {
    double& handle = handles[random.below(3)];
    const uint32_t stamp = 2 * step + 1;
    constexpr uint32_t ends = EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS;
    const uint32_t kinds[] = {ends, ends | EXRP_RECORD_TRUNCATED, EXRP_RECORD_NEXT_STATE};
    const uint32_t kind = random.below(30);
    const uint32_t flags = kind < 3 ? kinds[kind] : 0;
    handle = all([&](TestReplay& replay, const TestSetup& setup, const std::vector<uint32_t>& own) {
      fillRow(setup, own, stamp, &replay.nextRow);
      return replay.record(handle, flags);
    });
    if (random.below(40) > 0) continue;
    all([&](TestReplay& replay, const TestSetup&, const std::vector<uint32_t>&) {
      double trimmed = 0;
      double first = 0;
      CHECK_EQUAL(exrp_open_trim(replay.id, &trimmed, &first), 0);
      return first;
    });
  }
  whole.sound();
  const auto [pickHandles, positions] = whole.picks();
  const auto count = static_cast<uint32_t>(pickHandles.size());
  if (count == 0) return;
  std::vector<uint32_t> indices(count);
  for (uint32_t index = 0; index < count; ++index) indices[index] = index;
  const TestBatch batch = gather(whole, twins.whole, EXRP_BATCH_N_STEP_PARTS * twins.nSteps + (1 + twins.nSteps) * (leafCount - 1), indices);
  for (uint32_t leaf = 0; leaf < leafCount; ++leaf) {
    const TestSetup& setup = twins.alone[leaf];
    // Its largest stack may be smaller, and then it has more picks of trimmed episodes.
    CHECK_EQUAL(exrp_pick_find(alone[leaf]->id, 0, pickHandles.data(), positions.data(), count, indices.data()), 0);
    const TestBatch expected = gather(*alone[leaf], setup, EXRP_BATCH_N_STEP_PARTS * twins.nSteps, indices);
    const auto same = [&](uint32_t part, uint32_t aloneIn) {
      const Bytes found = bytesOf(batch, part);
      const Bytes wanted = bytesOf(expected, aloneIn);
      CHECK(found.size() == wanted.size() && found == wanted);
    };
    same(EXRP_BATCH_COLUMN + leaf, EXRP_BATCH_COLUMN);
    if (setup.policy[EXRP_POLICY_NEXT_STATE] == EXRP_NEXT_STATE_COPY) same(nextPart(twins.whole, twins.nSteps, leaf), EXRP_BATCH_NEXT_STATE);
    for (uint32_t column = 1; column < setup.columnCount(); ++column) same(EXRP_BATCH_COLUMN + leafCount - 1 + column, EXRP_BATCH_COLUMN + column);
    for (uint32_t part = EXRP_BATCH_SEQ_LEN; part <= EXRP_BATCH_DISCOUNT; ++part) same(part, part);
    const auto flags = static_cast<uint32_t>(setup.policy[EXRP_POLICY_FLAGS]);
    for (const uint32_t part : {EXRP_BATCH_TERMINATED, EXRP_BATCH_TRUNCATED}) {
      if ((flags & EXRP_PICK_ENDS) != 0) same(part, part);
    }
    if ((flags & EXRP_PICK_RETURN_TO_GO) != 0) same(EXRP_BATCH_RETURN_TO_GO, EXRP_BATCH_RETURN_TO_GO);
    for (uint32_t index = 0; index < twins.nSteps; ++index) {
      if (twins.hasNSteps(leaf)) same(nStepPart(twins.whole, twins.nSteps, leaf, index), nStepPart(setup, twins.nSteps, 0, index));
      const uint32_t from = EXRP_BATCH_COLUMN + twins.whole.columnCount() + EXRP_BATCH_N_STEP_PARTS * index;
      const uint32_t to = EXRP_BATCH_COLUMN + setup.columnCount() + EXRP_BATCH_N_STEP_PARTS * index;
      same(from + EXRP_BATCH_N_STEP_RETURN, to + EXRP_BATCH_N_STEP_RETURN);
      same(from + EXRP_BATCH_N_STEP_DISCOUNT, to + EXRP_BATCH_N_STEP_DISCOUNT);
    }
  }
}

// ---- a plain computation ----

/// An image that is stacked and has no next states, and a speed that has them; returns of two steps.
TestSetup imageAndSpeed() {
  TestSetup setup;
  setup.leafCount = 2;
  setup.columns = {1, 300, 1, 4, 3, 1, 4, 1, 1, 4, 1, 1};
  setup.policy = policyOf(2, 0, 0.5);
  setup.policy[EXRP_POLICY_N_STEP] = 2;
  setup.policy.insert(setup.policy.end(), {3, EXRP_NEXT_STATE_NONE, EXRP_LEAF_NO_N_STEP, 1, EXRP_NEXT_STATE_COPY, 0});
  setup.selectors = {uniform()};
  return setup;
}

/// State `at` of an episode of five records: a leaf of it.
Bytes leafOf(const TestSetup& setup, uint32_t leaf, uint32_t at) {
  Bytes bytes(size_t{setup.columns[3 * leaf]} * setup.columns[3 * leaf + 1]);
  Shadow::fill(bytes.data(), bytes.size(), 100 + at, leaf);
  return bytes;
}

void recordFive(TestReplay& replay, const TestSetup& setup, uint32_t flags) {
  double handle = replay.begin();
  for (uint32_t at = 0; at < 5; ++at) {
    fillRow(setup, {0, 1, 2, 3}, 100 + at, &replay.nextRow);
    handle = replay.record(handle, at == 4 ? flags : 0);
  }
}

void isWhatItSays() {
  const TestSetup setup = imageAndSpeed();
  TestReplay replay(setup);
  recordFive(replay, setup, EXRP_RECORD_ENDS);
  const auto [handles, positions] = replay.picks();
  CHECK_EQUAL(handles.size(), size_t{4});
  const TestBatch batch = gather(replay, setup, EXRP_BATCH_N_STEP_PARTS + 2, {0, 1, 2, 3});
  const auto is = [&](uint32_t part, size_t row, const Bytes& expected) {
    CHECK(memcmp(batch.part(part) + row * expected.size(), expected.data(), expected.size()) == 0);
  };
  const uint32_t nSteps = EXRP_BATCH_COLUMN + setup.columnCount();
  for (uint32_t pick = 0; pick < 4; ++pick) {
    for (uint32_t step = 0; step < 2; ++step) {
      const size_t row = 2 * pick + step;
      const auto at = static_cast<uint32_t>(positions[pick]) + step;
      const uint32_t two = at + 2 < 5 ? at + 2 : 5;
      for (uint32_t frame = 0; frame < 3; ++frame) {
        is(EXRP_BATCH_COLUMN, 3 * row + frame, leafOf(setup, 0, at + frame < 2 ? 0 : at + frame - 2));
      }
      is(EXRP_BATCH_COLUMN + 1, row, leafOf(setup, 1, at));
      is(nextPart(setup, 1, 1), row, leafOf(setup, 1, at + 1));
      is(nStepPart(setup, 1, 1, 0), row, leafOf(setup, 1, two));
      const float reward = batch.part<float>(nSteps + EXRP_BATCH_N_STEP_RETURN)[row];
      CHECK_EQUAL(reward, static_cast<float>((100 + at) % 13) + (at == 4 ? 0 : 0.5f * static_cast<float>((101 + at) % 13)));
      CHECK_EQUAL(batch.part<float>(nSteps + EXRP_BATCH_N_STEP_DISCOUNT)[row], at + 2 < 5 ? 0.25f : 0.0f);
    }
  }
  // Parts that the policy leaves out have no bytes.
  CHECK_EQUAL(batch.at(nStepPart(setup, 1, 0, 0)), batch.at(nStepPart(setup, 1, 1, 0)));
  // Each leaf has the final state as a row.
  for (uint32_t leaf = 0; leaf < 2; ++leaf) {
    const Bytes expected = leafOf(setup, leaf, 5);
    Bytes row(expected.size());
    const int32_t position = 5;
    CHECK_EQUAL(exrp_rows_get(replay.id, leaf, handles.data(), &position, 1, 1, row.data(), static_cast<double>(row.size())), 0);
    CHECK(row == expected);
  }
  const int32_t position = 5;
  float action = 0;
  CHECK_EQUAL(exrp_rows_get(replay.id, 2, handles.data(), &position, 1, 1, reinterpret_cast<uint8_t*>(&action), 4), EXRP_STATUS_RECORD_UNKNOWN);
}

/// One leaf gets another value: it shows as a state and as the next state before it, and the other leaf stays.
void setsOneLeaf() {
  const TestSetup setup = imageAndSpeed();
  TestReplay replay(setup);
  recordFive(replay, setup, EXRP_RECORD_ENDS);
  const auto [handles, positions] = replay.picks();
  const TestBatch before = gather(replay, setup, EXRP_BATCH_N_STEP_PARTS + 2, {0});
  const Bytes other = leafOf(setup, 1, 77);
  const int32_t position = positions[0] + 1;
  uint32_t updated = 0;
  CHECK_EQUAL(exrp_rows_set(replay.id, 1, handles.data(), &position, 1, other.data(), static_cast<double>(other.size()), &updated), 0);
  CHECK_EQUAL(updated, 1u);
  const TestBatch after = gather(replay, setup, EXRP_BATCH_N_STEP_PARTS + 2, {0});
  CHECK(bytesOf(after, EXRP_BATCH_COLUMN) == bytesOf(before, EXRP_BATCH_COLUMN));
  CHECK(memcmp(after.part(EXRP_BATCH_COLUMN + 1) + other.size(), other.data(), other.size()) == 0);
  CHECK(memcmp(after.part(nextPart(setup, 1, 1)), other.data(), other.size()) == 0);
}

/// The rows of a snapshot have all leaves of the final state, also where the episode went before they were read.
void savesTheWholeFinalState() {
  const TestSetup setup = imageAndSpeed();
  TestReplay replay(setup);
  recordFive(replay, setup, EXRP_RECORD_ENDS);
  CHECK_EQUAL(exrp_replay_save_begin(replay.id), 0);
  CHECK_EQUAL(exrp_episode_evict(replay.id, 0), 0);
  double info[2] = {};
  CHECK_EQUAL(exrp_section_info(replay.id, EXRP_SECTION_RECORDS, info, 2), 0);
  CHECK_EQUAL(info[0], 6.0);
  const auto rowBytes = static_cast<size_t>(info[1]);
  Bytes rows(6 * rowBytes);
  CHECK_EQUAL(exrp_section_read(replay.id, EXRP_SECTION_RECORDS, 0, 6, rows.data(), static_cast<double>(rows.size())), 0);
  CHECK_EQUAL(exrp_replay_save_end(replay.id), 0);
  const uint8_t* const last = &rows[5 * rowBytes];
  CHECK(memcmp(last, leafOf(setup, 0, 5).data(), 300) == 0);
  CHECK(memcmp(last + 300, leafOf(setup, 1, 5).data(), 12) == 0);
  CHECK(Shadow::isZero(last + 312, rowBytes - 312));
}

// ---- what is refused ----

void refusesWrongNumbers() {
  const TestSetup good = imageAndSpeed();
  const auto refused = [&](auto change, int32_t status) {
    TestSetup setup = good;
    change(setup);
    uint32_t replay = 0;
    CHECK_EQUAL(setup.tryCreate(&replay), status);
  };
  refused([](TestSetup& setup) { setup.leafCount = 0; }, EXRP_STATUS_ARGUMENT);
  refused([](TestSetup& setup) { setup.leafCount = EXRP_LIMIT_LEAVES + 1; }, EXRP_STATUS_ARGUMENT);
  // No column is left for the action or the reward.
  refused([](TestSetup& setup) { setup.columns.resize(9); }, EXRP_STATUS_ARGUMENT);
  // Numbers of another count of leaves, or a part of one's.
  refused([](TestSetup& setup) { setup.leafCount = 1; }, EXRP_STATUS_ARGUMENT);
  refused([](TestSetup& setup) { setup.policy.resize(EXRP_POLICY_COUNT + EXRP_LEAF_COUNT); }, EXRP_STATUS_ARGUMENT);
  refused([](TestSetup& setup) { setup.policy.resize(EXRP_POLICY_COUNT + 1); }, EXRP_STATUS_ARGUMENT);
  refused([](TestSetup& setup) { setup.policy.resize(EXRP_POLICY_COUNT - EXRP_LEAF_COUNT); }, EXRP_STATUS_ARGUMENT);
  refused([](TestSetup& setup) { setup.policy.resize(EXRP_POLICY_COUNT + EXRP_LEAF_COUNT * (EXRP_LIMIT_LEAVES + 1)); }, EXRP_STATUS_ARGUMENT);
  const auto second = [](TestSetup& setup, uint32_t number) -> double& { return setup.policy[EXRP_POLICY_COUNT + EXRP_LEAF_COUNT + number]; };
  refused([&](TestSetup& setup) { second(setup, EXRP_LEAF_STACK) = 0; }, EXRP_STATUS_ARGUMENT);
  refused([&](TestSetup& setup) { second(setup, EXRP_LEAF_STACK) = EXRP_LIMIT_WINDOW + 1; }, EXRP_STATUS_ARGUMENT);
  refused([&](TestSetup& setup) { second(setup, EXRP_LEAF_NEXT_STATE) = 3; }, EXRP_STATUS_ARGUMENT);
  refused([&](TestSetup& setup) { second(setup, EXRP_LEAF_FLAGS) = EXRP_LEAF_FLAGS_ALL + 1; }, EXRP_STATUS_ARGUMENT);
  refused([&](TestSetup& setup) { second(setup, EXRP_LEAF_FLAGS) = EXRP_LEAF_COMPACT; }, EXRP_STATUS_ARGUMENT);  // with next states
  // Backwards there is no row more.
  refused([&](TestSetup& setup) {
    setup.policy[EXRP_POLICY_FLAGS] = EXRP_PICK_REVERSED;
    second(setup, EXRP_LEAF_NEXT_STATE) = EXRP_NEXT_STATE_OVERLAP;
  }, EXRP_STATUS_ARGUMENT);
  refused([](TestSetup& setup) { setup.columns[5] = 2; }, EXRP_STATUS_ARGUMENT);  // a leaf that only some records keep
  refused([](TestSetup& setup) { setup.columns[1] = setup.columns[4] = 1u << 29; }, EXRP_STATUS_ARGUMENT);  // 2^29 and 2^31 bytes
  refused([](TestSetup& setup) { setup.columns[1] = 1u << 30, setup.columns[4] = 1; }, EXRP_STATUS_ARGUMENT);
  refused([](TestSetup&) {}, 0);
}

void refusesSmallBuffers() {
  const TestSetup setup = imageAndSpeed();
  TestReplay replay(setup);
  std::vector<double> offsets(EXRP_ROW_COLUMN + setup.columnCount());
  CHECK_EQUAL(exrp_row_layout(replay.id, offsets.data(), static_cast<uint32_t>(offsets.size())), EXRP_STATUS_BUFFER_SIZE);
  CHECK_EQUAL(setup.stateBytes(), 304u + 12u);
  recordFive(replay, setup, EXRP_RECORD_NEXT_STATE);
  const double handle = 0;
  uint8_t there = 0;
  Bytes states(setup.stateBytes());
  CHECK_EQUAL(exrp_next_states_get(replay.id, &handle, 1, &there, states.data(), setup.stateBytes() - 1), EXRP_STATUS_BUFFER_SIZE);
  CHECK_EQUAL(exrp_next_states_get(replay.id, &handle, 1, &there, states.data(), setup.stateBytes()), 0);
  CHECK_EQUAL(there, 1);
  CHECK(memcmp(states.data(), leafOf(setup, 0, 5).data(), 300) == 0 && memcmp(&states[304], leafOf(setup, 1, 5).data(), 12) == 0);
  uint32_t ended = 0;
  CHECK_EQUAL(exrp_episode_end(replay.id, handle, states.data(), setup.stateBytes() - 1, 0, &ended), EXRP_STATUS_BUFFER_SIZE);
  TestBatch batch(replay.id, 1, setup.columnCount() + EXRP_BATCH_N_STEP_PARTS + 2);
  CHECK_EQUAL(exrp_batch_layout(replay.id, 0, 1, batch.offsets.data(), batch.partCount() - 1), EXRP_STATUS_BUFFER_SIZE);
  replay.sound();
}

}  // namespace

int main() {
  const uint64_t first = fromEnvironment("LEAVES_SEED", 1);
  const uint64_t count = fromEnvironment("LEAVES_COUNT", 150);
  for (uint64_t seed = first; seed < first + count; ++seed) isEachLeafAlone(seed);
  isWhatItSays();
  setsOneLeaf();
  savesTheWholeFinalState();
  refusesWrongNumbers();
  refusesSmallBuffers();
  return checkResult("leaves");
}
