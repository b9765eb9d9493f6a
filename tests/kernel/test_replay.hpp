// The replay of the C++ tests, through the C ABI: what it is made of, its episodes, its records one by one and many at once, its batches,
// what it says of itself, and its snapshot.
//
// CHECKs report what fails. Where a test expects a failure, it takes the call that returns the status: `tryRecord`, or the one of the ABI.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "kernel/exrp.h"
#include "tests/kernel/check.hpp"
#include "tests/kernel/snapshots.hpp"

namespace exrp::test {

/// The numbers of a pick policy: each step of an episode is a pick of so many steps.
inline std::vector<double> policyOf(double length = 1, double flags = 0, double discount = 1) {
  std::vector<double> policy(EXRP_POLICY_COUNT);
  policy[EXRP_POLICY_LENGTH] = length;
  policy[EXRP_POLICY_STRIDE] = policy[EXRP_POLICY_STACK] = 1;
  policy[EXRP_POLICY_FLAGS] = flags;
  policy[EXRP_POLICY_DISCOUNT] = discount;
  policy[EXRP_POLICY_REWARD_TYPE] = EXRP_TYPE_FLOAT32;
  return policy;
}

struct SelectorSetup {
  uint32_t kind;
  std::vector<double> options;
  uint32_t table = 0;
};

inline SelectorSetup uniform() { return {EXRP_SELECTOR_UNIFORM, {}}; }
inline SelectorSetup prioritized() { return {EXRP_SELECTOR_PRIORITIZED, {0.6, 1e-6, 1, 0, 0}}; }

inline uint32_t addSelector(uint32_t replay, const SelectorSetup& selector) {
  uint32_t made = 0;
  CHECK_EQUAL(exrp_selector_create(replay, selector.table, selector.kind, selector.options.data(),
                                   static_cast<uint32_t>(selector.options.size()), &made),
              0);
  return made;
}

/// What a replay is made of. `columns` has the bytes and the count of each column's elements, and that each so manieth record keeps it.
struct TestSetup {
  double capacity = 100;
  double segmentLength = 0;
  double seed = 0;
  double eviction = EXRP_EVICTION_FIFO;
  double evictionOption = 0;
  double blockLength = 0;
  double capacityBytes = 0;
  double ageMax = 0;
  double compression = EXRP_COMPRESSION_NONE;
  double residentBytes = 0;
  std::vector<double> policy = policyOf();
  std::vector<uint32_t> columns = {4, 1, 1, 4, 1, 1, 4, 1, 1};
  uint32_t leafCount = 1;  // of the state: the first columns
  std::vector<SelectorSetup> selectors = {};

  uint32_t columnCount() const { return static_cast<uint32_t>(columns.size() / 3); }
  /// Of one state of the ABI.
  uint32_t stateBytes() const {
    uint32_t bytes = 0;
    for (uint32_t leaf = 0; leaf < leafCount; ++leaf) bytes = (bytes + 7) / 8 * 8 + columns[3 * leaf] * columns[3 * leaf + 1];
    return bytes;
  }
  /// Parts of a row beside those of every row: its columns, and the other leaves of the final state.
  uint32_t rowParts() const { return columnCount() + leafCount - 1; }

  int32_t tryCreate(uint32_t* replay) const {
    double config[EXRP_CONFIG_COUNT] = {};
    config[EXRP_CONFIG_CAPACITY] = capacity;
    config[EXRP_CONFIG_SEGMENT_LENGTH] = segmentLength;
    config[EXRP_CONFIG_SEED] = seed;
    config[EXRP_CONFIG_EVICTION] = eviction;
    config[EXRP_CONFIG_EVICTION_OPTION] = evictionOption;
    config[EXRP_CONFIG_BLOCK_LENGTH] = blockLength;
    config[EXRP_CONFIG_CAPACITY_BYTES] = capacityBytes;
    config[EXRP_CONFIG_AGE_MAX] = ageMax;
    config[EXRP_CONFIG_STATE_COLUMNS] = leafCount;
    config[EXRP_CONFIG_COMPRESSION] = compression;
    config[EXRP_CONFIG_RESIDENT_BYTES] = residentBytes;
    return exrp_replay_create(config, EXRP_CONFIG_COUNT, policy.data(), static_cast<uint32_t>(policy.size()), columns.data(), columnCount(), replay);
  }
  /// Makes a replay that the caller destroys.
  uint32_t create() const {
    uint32_t replay = 0;
    CHECK_EQUAL(tryCreate(&replay), 0);
    for (const SelectorSetup& selector : selectors) addSelector(replay, selector);
    return replay;
  }
};

/// Memory of exactly the size that a layout of the ABI asks for, and where its parts lie in it.
struct Parts {
  std::vector<double> offsets;
  std::vector<uint8_t> bytes;

  explicit Parts(uint32_t partCount) : offsets(partCount) {}
  size_t at(uint32_t part) const { return static_cast<size_t>(offsets[part]); }
  double size() const { return static_cast<double>(bytes.size()); }
  uint32_t partCount() const { return static_cast<uint32_t>(offsets.size()); }
  template <typename T = uint8_t>
  T* part(uint32_t index) {
    return reinterpret_cast<T*>(bytes.data() + at(index));
  }
  template <typename T = uint8_t>
  const T* part(uint32_t index) const {
    return reinterpret_cast<const T*>(bytes.data() + at(index));
  }
};

/// One record.
struct TestRow : Parts {
  explicit TestRow(uint32_t replay, uint32_t parts = 3) : Parts(EXRP_ROW_COLUMN + parts) {
    CHECK_EQUAL(exrp_row_layout(replay, offsets.data(), partCount()), 0);
    bytes.resize(at(EXRP_ROW_BYTES));
  }
  /// The status. If it is 0, `handle` is the one to go on with.
  int32_t record(uint32_t replay, double* handle, uint32_t flags = 0) {
    memcpy(bytes.data(), handle, sizeof *handle);
    const int32_t status = exrp_record(replay, bytes.data(), static_cast<uint32_t>(bytes.size()), flags);
    memcpy(handle, bytes.data(), sizeof *handle);
    return status;
  }
};

/// Many steps, all zero, with one final state.
struct TestSteps : Parts {
  uint32_t count;

  TestSteps(uint32_t replay, uint32_t stepCount, uint32_t columnCount = 3, uint32_t stateBytes = 4)
      : Parts(EXRP_STEPS_COLUMN + columnCount), count(stepCount) {
    CHECK_EQUAL(exrp_steps_layout(replay, count, offsets.data(), partCount()), 0);
    bytes.resize(at(EXRP_STEPS_FINAL_STATE) + stateBytes);
  }
  /// The status; `done` says how many steps are recorded already, and then how many are.
  int32_t recordMany(uint32_t replay, double* handle, uint32_t flags, uint32_t* done) {
    return exrp_record_many(replay, handle, bytes.data(), size(), count, flags, done);
  }
  int32_t recordMany(uint32_t replay, double* handle, uint32_t flags = 0) {
    uint32_t done = 0;
    return recordMany(replay, handle, flags, &done);
  }
};

/// A batch of the first pick view.
struct TestBatch : Parts {
  uint32_t count;

  TestBatch(uint32_t replay, uint32_t pickCount, uint32_t columnCount = 3) : Parts(EXRP_BATCH_COLUMN + columnCount), count(pickCount) {
    CHECK_EQUAL(exrp_batch_layout(replay, 0, count, offsets.data(), partCount()), 0);
    bytes.resize(at(EXRP_BATCH_BYTES));
  }
  int32_t draw(uint32_t replay, uint32_t selector = 0, double beta = 0.5) {
    return exrp_batch_get(replay, selector, 0, count, count, beta, bytes.data(), size());
  }
  int32_t order(uint32_t replay, double* order, uint32_t selector = 0, double beta = 0.5) {
    return exrp_batch_order(replay, selector, count, beta, bytes.data(), size(), order);
  }
  std::vector<double> handles() const { return {part<double>(EXRP_BATCH_PICK_EPISODE), part<double>(EXRP_BATCH_PICK_EPISODE) + count}; }
  std::vector<int32_t> positions() const {
    return {part<int32_t>(EXRP_BATCH_PICK_POSITION), part<int32_t>(EXRP_BATCH_PICK_POSITION) + count};
  }
};

/// Sets priorities of picks; how many of them were there.
inline uint32_t setPriorities(uint32_t replay, uint32_t selector, const std::vector<double>& handles, const std::vector<int32_t>& positions,
                              const std::vector<double>& priorities) {
  uint32_t applied = 0;
  CHECK_EQUAL(exrp_priority_set(replay, selector, handles.data(), positions.data(), reinterpret_cast<const uint8_t*>(priorities.data()),
                                sizeof(double), static_cast<uint32_t>(handles.size()), &applied),
              0);
  return applied;
}

/// The number of the broken invariant, or 0.
inline int32_t broken(uint32_t replay) {
  int32_t found = -1;
  CHECK_EQUAL(exrp_replay_check(replay, &found), 0);
  return found;
}

/// One number of exrp_replay_info().
inline double infoOf(uint32_t replay, uint32_t index) {
  double info[EXRP_INFO_COUNT] = {};
  CHECK_EQUAL(exrp_replay_info(replay, info, EXRP_INFO_COUNT), 0);
  return info[index];
}

/// What other threads attach a replay by.
struct Ticket {
  double numbers[EXRP_TICKET_COUNT] = {};
  explicit Ticket(uint32_t replay) { CHECK_EQUAL(exrp_replay_share(replay, numbers, EXRP_TICKET_COUNT), 0); }
  uint32_t serial() const { return static_cast<uint32_t>(numbers[EXRP_TICKET_SERIAL]); }
  uint32_t attach() const {
    uint32_t id = 0;
    CHECK_EQUAL(exrp_replay_attach(numbers, EXRP_TICKET_COUNT, &id), 0);
    return id;
  }
};

/// A replay that goes with this object.
class TestReplay {
 public:
  explicit TestReplay(const TestSetup& setup = {}) : TestReplay(setup, setup.create()) {}
  /// Takes over one that was made or attached.
  TestReplay(const TestSetup& setup, uint32_t made) : id(made), nextRow(made, setup.rowParts()), setup_(setup) {}
  ~TestReplay() { CHECK_EQUAL(exrp_replay_destroy(id), 0); }
  TestReplay(const TestReplay&) = delete;
  TestReplay& operator=(const TestReplay&) = delete;

  double begin() {
    double handle = -1;
    CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
    return handle;
  }
  /// Records `nextRow` as it stands: the status. If it is 0, `handle` is the one to go on with.
  int32_t tryRecord(double* handle, uint32_t flags = 0) { return nextRow.record(id, handle, flags); }
  /// The handle to go on with.
  double record(double handle, uint32_t flags = 0) {
    CHECK_EQUAL(tryRecord(&handle, flags), 0);
    return handle;
  }
  TestSteps steps(uint32_t count) const { return {id, count, setup_.columnCount(), setup_.stateBytes()}; }
  /// Ends an episode with a final state of zeros: 1, or 0 where there was nothing to end.
  uint32_t end(double handle) {
    const std::vector<uint8_t> state(setup_.stateBytes());
    uint32_t ended = 7;
    CHECK_EQUAL(exrp_episode_end(id, handle, state.data(), setup_.stateBytes(), 0, &ended), 0);
    return ended;
  }

  TestBatch draw(uint32_t count, uint32_t selector = 0, double beta = 0.5) const {
    TestBatch batch(id, count, setup_.columnCount());
    CHECK_EQUAL(batch.draw(id, selector, beta), 0);
    return batch;
  }
  /// The picks of a table, in its order.
  std::pair<std::vector<double>, std::vector<int32_t>> picks(uint32_t table = 0) const {
    double info[EXRP_PICK_VIEW_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_pick_view_info(id, table, info, EXRP_PICK_VIEW_INFO_COUNT), 0);
    const auto count = static_cast<uint32_t>(info[EXRP_PICK_VIEW_PICK_COUNT]);
    std::pair<std::vector<double>, std::vector<int32_t>> picks{count, count};
    if (count > 0) CHECK_EQUAL(exrp_pick_list(id, table, 0, count, picks.first.data(), picks.second.data()), 0);
    return picks;
  }

  double info(uint32_t index) const { return infoOf(id, index); }
  double episodeInfo(double handle, uint32_t index) const {
    double info[EXRP_EPISODE_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_episode_info(id, handle, info, EXRP_EPISODE_INFO_COUNT), 0);
    return info[index];
  }
  double first(double handle) const { return episodeInfo(handle, EXRP_EPISODE_FIRST_POSITION); }
  double stored(double handle) const { return episodeInfo(handle, EXRP_EPISODE_RECORD_COUNT); }
  double state(double handle) const { return episodeInfo(handle, EXRP_EPISODE_STATE); }
  void sound() const { CHECK_EQUAL(broken(id), 0); }

  Snapshot saved() const {
    Snapshot snapshot;
    CHECK(!takeSnapshot(id, static_cast<uint32_t>(setup_.selectors.size()), &snapshot));
    return snapshot;
  }

  const uint32_t id;
  TestRow nextRow;

 private:
  const TestSetup setup_;
};

}  // namespace exrp::test
