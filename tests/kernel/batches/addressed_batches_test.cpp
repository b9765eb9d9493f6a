// Batches with addresses, through the C ABI: looked up in a mirror, they are the batches of a twin without one. Records come and go meanwhile, and the mirror is
// brought up to date piece by piece. Wide rows come packed. tests/gpu compares the same on a device, with transforms.
#include "kernel/base/random.hpp"
#include "kernel/packing/packed_rows.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

constexpr uint32_t narrow = 6;
constexpr uint32_t wide = 201;
constexpr uint32_t picks = 20;

/// Bytes of a row in a mirror: a multiple of 4.
constexpr uint32_t mirrorBytesOf(uint32_t stateBytes) { return (stateBytes + 3) / 4 * 4; }

TestSetup setupOf(double length, double stack, double flags, double nextState, double nStep, double before, double compression, uint32_t stateBytes) {
  TestSetup setup;
  setup.capacity = 90;
  setup.seed = 3;
  setup.policy = policyOf(length, flags, 0.9);
  setup.policy[EXRP_POLICY_STACK] = stack;
  setup.policy[EXRP_POLICY_NEXT_STATE] = nextState;
  setup.policy[EXRP_POLICY_N_STEP] = nStep;
  setup.policy[EXRP_POLICY_BEFORE] = before;
  setup.compression = compression;
  setup.columns = {1, stateBytes, 1, 4, 1, 1, 4, 1, 1};
  setup.selectors = {uniform(), prioritized()};
  return setup;
}

/// The mirror of a replay's state.
struct Mirror {
  uint32_t replay;
  uint32_t stateBytes;
  uint32_t mirrorBytes = mirrorBytesOf(stateBytes);
  std::vector<uint8_t> rows;
  uint32_t info[EXRP_MIRROR_COUNT] = {};
  uint32_t isPacked = 0;
  uint32_t packedCount = 0;
  uint32_t goneCount = 0;

  explicit Mirror(uint32_t id, uint32_t rowBytes = narrow) : replay(id), stateBytes(rowBytes) {
    const uint32_t state = 0;
    CHECK_EQUAL(exrp_mirror_begin(replay, &state, 1, &isPacked, 1), 0);
  }
  /// Reads a piece of at most two blocks.
  void readPiece() {
    std::vector<uint8_t> bytes(size_t{2} * 17 * (mirrorBytes + 8));
    uint32_t runs[2 * EXRP_MIRROR_RUN_COUNT];
    CHECK_EQUAL(exrp_mirror_read(replay, bytes.data(), static_cast<uint32_t>(bytes.size()), runs, 2, info), 0);
    const size_t needed = size_t{info[EXRP_MIRROR_SLOTS]} * mirrorBytes;
    if (rows.size() < needed) rows.resize(needed);
    for (uint32_t run = 0; run < info[EXRP_MIRROR_RUNS]; ++run) {
      const uint32_t* const at = runs + run * EXRP_MIRROR_RUN_COUNT;
      const uint32_t slot = at[EXRP_MIRROR_RUN_SLOT], count = at[EXRP_MIRROR_RUN_SLOTS], packed = at[EXRP_MIRROR_RUN_PACKED];
      CHECK_EQUAL(at[EXRP_MIRROR_RUN_COLUMN], 0u);
      CHECK(isPacked == 1 || (packed == 0 && count > 0));
      if (count == 0) {
        // Whoever reads a row of it reads nonsense.
        memset(&rows[size_t{slot} * mirrorBytes], 0xA5, size_t{info[EXRP_MIRROR_BLOCK]} * mirrorBytes);
        ++goneCount;
        continue;
      }
      const uint8_t* const from = bytes.data() + at[EXRP_MIRROR_RUN_BYTE];
      if (packed > 0) {
        ++packedCount;
        unpack(from, packed, slot, count);
        continue;
      }
      CHECK(slot / info[EXRP_MIRROR_BLOCK] == (slot + count - 1) / info[EXRP_MIRROR_BLOCK]);
      memcpy(&rows[size_t{slot} * mirrorBytes], from, size_t{count} * mirrorBytes);
    }
  }
  void unpack(const uint8_t* from, uint32_t bytes, uint32_t slot, uint32_t count) {
    uint32_t rowCount = 0;
    memcpy(&rowCount, from, sizeof rowCount);
    CHECK_EQUAL(rowCount, count);
    CHECK(slot % info[EXRP_MIRROR_BLOCK] == 0 && bytes % 4 == 0 && from[4] == 1);  // a plain key
    // The key ends in the last word, and only its size says where.
    bool isUnpacked = false;
    for (uint32_t rest = 0; rest < 4 && !isUnpacked; ++rest) {
      const PackedRows packed = {from + 4, bytes - 4 - rest, stateBytes, count};
      isUnpacked = checkPacked(packed) && unpackRows(packed, 0, count, &rows[size_t{slot} * mirrorBytes], mirrorBytes);
    }
    CHECK(isUnpacked);
  }
  void readAll() {
    do readPiece();
    while (info[EXRP_MIRROR_MORE] == 1);
  }
  /// Whether rows are those at these addresses.
  bool leadsTo(const uint32_t* addresses, const uint8_t* expected, size_t count) const {
    constexpr uint8_t zeros[wide] = {};
    for (size_t at = 0; at < count; ++at, expected += stateBytes) {
      const uint32_t address = addresses[at];
      const bool isZero = address == 0 || address == EXRP_ADDRESS_ZEROS;
      const uint8_t* const row = isZero ? zeros : &rows[size_t{address - EXRP_ADDRESS_SLOT} * mirrorBytes];
      if (memcmp(row, expected, stateBytes) != 0) return false;
    }
    return true;
  }
};

struct DrawnBatch {
  std::vector<double> offsets = std::vector<double>(EXRP_BATCH_COLUMN + 3 + EXRP_BATCH_N_STEP_PARTS);
  std::vector<uint8_t> bytes;

  DrawnBatch(uint32_t replay, uint32_t selector, uint32_t more) {
    CHECK_EQUAL(exrp_batch_layout(replay, 0, picks + more, offsets.data(), static_cast<uint32_t>(offsets.size())), 0);
    bytes.resize(static_cast<size_t>(offsets[EXRP_BATCH_BYTES]));
    CHECK_EQUAL(exrp_batch_get(replay, selector, 0, picks, picks + more, 0.5, bytes.data(), offsets[EXRP_BATCH_BYTES]), 0);
  }
  const uint8_t* part(uint32_t index) const { return bytes.data() + static_cast<size_t>(offsets[index]); }
};

void leadsToTheTwin(const TestSetup& setup, uint32_t stateBytes, uint64_t seed) {
  const uint32_t ids[] = {setup.create(), setup.create()};
  Random random(seed, 1);
  double handles[2] = {};
  for (uint32_t k = 0; k < 2; ++k) CHECK_EQUAL(exrp_episode_create(ids[k], &handles[k]), 0);
  TestRow row(ids[0]);
  // Wide rows are alike.
  const auto fill = [&](uint8_t* to) {
    for (uint32_t at = 0; at < stateBytes; ++at) to[at] = static_cast<uint8_t>(stateBytes == wide ? at / 40 + 1 : random.below(255) + 1);
    for (uint32_t at = random.below(stateBytes), end = at + random.below(stateBytes - at) / 4; at < end; ++at) to[at] = static_cast<uint8_t>(random.below(255) + 1);
  };
  const auto record = [&] {
    fill(row.part(EXRP_ROW_COLUMN));
    fill(row.part(EXRP_ROW_FINAL_STATE));
    const uint32_t flags = random.below(15) == 0 ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS : 0;
    for (uint32_t k = 0; k < 2; ++k) CHECK_EQUAL(row.record(ids[k], &handles[k], flags), 0);
  };
  for (uint32_t step = 0; step < 150; ++step) record();  // some episodes have ended then
  Mirror mirror(ids[1], stateBytes);
  const auto rows = static_cast<size_t>(setup.policy[EXRP_POLICY_LENGTH] + setup.policy[EXRP_POLICY_BEFORE]);
  const auto stack = static_cast<size_t>(setup.policy[EXRP_POLICY_STACK]);
  const double nextState = setup.policy[EXRP_POLICY_NEXT_STATE];
  const bool isCompact = (static_cast<uint32_t>(setup.policy[EXRP_POLICY_FLAGS]) & EXRP_PICK_COMPACT) != 0;
  const size_t shown = rows + (nextState == EXRP_NEXT_STATE_OVERLAP ? 1 : 0);
  for (uint32_t draw = 0; draw < 30; ++draw) {
    for (uint32_t steps = random.below(40); steps > 0; --steps) record();
    mirror.readAll();
    const uint32_t selector = random.below(2);
    const DrawnBatch plain(ids[0], selector, 0);
    const DrawnBatch addressed(ids[1], selector, EXRP_BATCH_ADDRESSES);
    const auto check = [&](uint32_t part, size_t count) {
      return mirror.leadsTo(reinterpret_cast<const uint32_t*>(addressed.part(part)), plain.part(part), picks * count);
    };
    CHECK(check(EXRP_BATCH_COLUMN, isCompact ? stack - 1 + shown : shown * stack));
    if (nextState == EXRP_NEXT_STATE_COPY) CHECK(check(EXRP_BATCH_NEXT_STATE, rows * stack));
    const uint32_t nSteps = EXRP_BATCH_COLUMN + 3;
    if (setup.policy[EXRP_POLICY_N_STEP] > 0) {
      CHECK(check(nSteps + EXRP_BATCH_N_STEP_STATE, rows * stack));
      CHECK(memcmp(plain.part(nSteps), addressed.part(nSteps), picks * rows * sizeof(float)) == 0);
    }
    for (const uint32_t part : {uint32_t{EXRP_BATCH_COLUMN + 1}, uint32_t{EXRP_BATCH_COLUMN + 2}, uint32_t{EXRP_BATCH_DISCOUNT}}) {
      CHECK(memcmp(plain.part(part), addressed.part(part), picks * rows * sizeof(float)) == 0);
    }
    CHECK(memcmp(plain.part(EXRP_BATCH_PICK_EPISODE), addressed.part(EXRP_BATCH_PICK_EPISODE), picks * sizeof(double)) == 0);
    CHECK(memcmp(plain.part(EXRP_BATCH_IMPORTANCE_WEIGHT), addressed.part(EXRP_BATCH_IMPORTANCE_WEIGHT), picks * sizeof(float)) == 0);
  }
  const bool comesPacked = stateBytes == wide && setup.compression != EXRP_COMPRESSION_NONE;
  CHECK_EQUAL(mirror.isPacked, comesPacked ? 1u : 0u);
  CHECK(comesPacked ? mirror.packedCount > 30 : mirror.packedCount + mirror.goneCount == 0);
  if (comesPacked) {
    CHECK_EQUAL(exrp_replay_clear(ids[1]), 0);
    mirror.readAll();
    CHECK(mirror.goneCount > 0);
  }
  for (const uint32_t id : ids) {
    CHECK_EQUAL(broken(id), 0);
    CHECK_EQUAL(exrp_replay_destroy(id), 0);
  }
}

/// Addresses are given while the mirror has all rows, and only then.
void refusesStaleAddresses() {
  const TestSetup setup = setupOf(1, 1, 0, EXRP_NEXT_STATE_COPY, 0, 0, EXRP_COMPRESSION_NONE, narrow);
  const uint32_t id = setup.create();
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
  TestRow row(id);
  for (uint32_t step = 0; step < 20; ++step) CHECK_EQUAL(row.record(id, &handle), 0);
  std::vector<double> offsets(EXRP_BATCH_COLUMN + 3);
  std::vector<uint8_t> bytes(4096);
  const auto draw = [&] { return exrp_batch_get(id, 0, 0, 4, 4 + EXRP_BATCH_ADDRESSES, 0, bytes.data(), 4096); };
  CHECK_EQUAL(draw(), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_batch_layout(id, 0, 4 + EXRP_BATCH_ADDRESSES, offsets.data(), EXRP_BATCH_COLUMN + 3), EXRP_STATUS_ORDER);
  const uint32_t wrong = 3;
  uint32_t packed = 0;
  CHECK_EQUAL(exrp_mirror_begin(id, &wrong, 1, &packed, 1), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_mirror_begin(id, &wrong, 0, &packed, 1), EXRP_STATUS_ARGUMENT);
  uint32_t info[EXRP_MIRROR_COUNT] = {}, runs[EXRP_MIRROR_RUN_COUNT] = {};
  CHECK_EQUAL(exrp_mirror_read(id, bytes.data(), 4096, runs, 1, info), EXRP_STATUS_ORDER);
  {
    Mirror mirror(id);
    const uint32_t state = 0;
    CHECK_EQUAL(exrp_mirror_begin(id, &state, 1, &packed, 1), EXRP_STATUS_LIMIT);
    CHECK_EQUAL(draw(), EXRP_STATUS_ORDER);
    CHECK_EQUAL(exrp_mirror_read(id, bytes.data(), mirrorBytesOf(narrow), runs, 1, info), EXRP_STATUS_BUFFER_SIZE);
    float scales[3 * narrow] = {};
    CHECK_EQUAL(exrp_mirror_scales(id, 0, 0, scales, 3 * narrow), EXRP_STATUS_ARGUMENT);
    mirror.readAll();
    CHECK_EQUAL(draw(), 0);
    CHECK_EQUAL(row.record(id, &handle), 0);
    CHECK_EQUAL(draw(), EXRP_STATUS_ORDER);
    mirror.readAll();
    CHECK_EQUAL(draw(), 0);
  }
  CHECK_EQUAL(exrp_mirror_end(id), 0);
  CHECK_EQUAL(exrp_mirror_end(id), 0);
  CHECK_EQUAL(draw(), EXRP_STATUS_ORDER);
  Mirror again(id);
  again.readAll();
  CHECK_EQUAL(draw(), 0);
  CHECK_EQUAL(exrp_replay_destroy(id), 0);
}

/// An id that is given up takes its mirror with it.
void goesWithItsId() {
  const uint32_t id = TestSetup{}.create();
  const uint32_t other = Ticket(id).attach();
  const uint32_t state = 0;
  uint32_t packed = 0;
  CHECK_EQUAL(exrp_mirror_begin(other, &state, 1, &packed, 1), 0);
  CHECK_EQUAL(exrp_mirror_begin(id, &state, 1, &packed, 1), EXRP_STATUS_LIMIT);
  CHECK_EQUAL(exrp_replay_destroy(other), 0);
  CHECK_EQUAL(exrp_mirror_begin(id, &state, 1, &packed, 1), 0);
  CHECK_EQUAL(exrp_replay_destroy(id), 0);
}

}  // namespace

int main() {
  uint64_t seed = 1;
  const auto run = [&](double compression, uint32_t bytes) {
    const auto with = [&](double length, double stack, double flags, double nextState, double nStep, double before) {
      leadsToTheTwin(setupOf(length, stack, flags, nextState, nStep, before, compression, bytes), bytes, seed++);
    };
    with(1, 1, 0, EXRP_NEXT_STATE_COPY, 0, 0);
    with(1, 4, 0, EXRP_NEXT_STATE_COPY, 3, 0);
    with(3, 4, EXRP_PICK_ZERO_PADDED | EXRP_PICK_ALLOW_SHORT, EXRP_NEXT_STATE_COPY, 0, 2);
    with(5, 1, EXRP_PICK_REVERSED | EXRP_PICK_ALLOW_SHORT, EXRP_NEXT_STATE_COPY, 2, 0);
    with(4, 3, EXRP_PICK_COMPACT | EXRP_PICK_ALIGNED | EXRP_PICK_ALLOW_OPEN_END, EXRP_NEXT_STATE_OVERLAP, 0, 3);
    with(20, 1, EXRP_PICK_ALLOW_SHORT, EXRP_NEXT_STATE_NONE, 0, 0);
  };
  run(EXRP_COMPRESSION_NONE, narrow);
  run(EXRP_COMPRESSION_FAST, narrow);
  run(EXRP_COMPRESSION_NONE, wide);
  run(EXRP_COMPRESSION_FAST, wide);
  run(EXRP_COMPRESSION_SMALL, wide);
  refusesStaleAddresses();
  goesWithItsId();
  return checkResult("addressed batches");
}
