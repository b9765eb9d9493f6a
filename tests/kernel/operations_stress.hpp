// Generated operations on one replay, each checked: against a shadow that remembers what was recorded, against the replay's own
// check(), and against a mirror of the pick table that hears only the journal. Then snapshots: whole ones must give an equal
// replay, damaged ones an error or a replay that is sound.
//
// Draws are not predicted here (the model in TypeScript does that); what a batch holds is.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "kernel/exrp.h"
#include "kernel/random.hpp"
#include "tests/kernel/operations_recording.hpp"

namespace exrp::test {

/// A failure ends the run of its seed and is printed with it.
struct Failure {
  const char* what = nullptr;
  int line = 0;
  explicit operator bool() const { return what != nullptr; }
};

#define EXRP_REQUIRE(condition)                              \
  do {                                                       \
    if (!(condition)) return Failure{#condition, __LINE__};  \
  } while (false)
#define EXRP_CARRY(call)                                                \
  do {                                                                  \
    if (const Failure carried = (call); carried) return carried;        \
  } while (false)

struct SelectorSetup {
  uint32_t kind;
  std::vector<double> options;
  uint32_t table = 0;
};

/// How a replay is made, so that another like it can be.
struct Setup {
  std::array<double, EXRP_CONFIG_COUNT> config = {};
  std::vector<Policy> policies;  // of each pick table; the first is plain
  std::vector<uint32_t> columns;
  std::vector<SelectorSetup> selectors;

  static Setup random(Random& random) {
    Setup setup;
    const uint32_t length = 1 + random.below(9);
    const uint32_t capacity = length + random.below(random.below(4) == 0 ? 400 : 60);
    const auto flags = random.below(4);
    setup.config[EXRP_CONFIG_CAPACITY] = capacity;
    if (random.below(2) == 0) setup.config[EXRP_CONFIG_SEGMENT_LENGTH] = length + random.below(capacity - length + 1);
    setup.config[EXRP_CONFIG_SEED] = random.below(1u << 30);
    Policy policy(EXRP_POLICY_COUNT);
    policy[EXRP_POLICY_LENGTH] = length;
    policy[EXRP_POLICY_STRIDE] = policy[EXRP_POLICY_STACK] = 1;
    policy[EXRP_POLICY_FLAGS] = flags;
    policy[EXRP_POLICY_DISCOUNT] = random.below(3) == 0 ? 1.0 : random.uniform();
    setup.policies.push_back(policy);
    for (uint32_t tables = random.below(3); tables > 0; --tables) setup.policies.push_back(randomPolicy(random, length));
    setup.config[EXRP_CONFIG_EVICTION] = random.below(EXRP_EVICTION_RESERVOIR + 1);
    if (setup.config[EXRP_CONFIG_EVICTION] == EXRP_EVICTION_AFTER_DRAWS) setup.config[EXRP_CONFIG_EVICTION_OPTION] = 1 + random.below(5);
    setup.config[EXRP_CONFIG_BLOCK_LENGTH] = 2u << random.below(5);
    const uint32_t stateCounts[] = {1, 1, 3, 4, 17, 200};
    setup.columns = {4, stateCounts[random.below(6)], 1, 4, 1, 1, 4, 1, 1};
    for (uint32_t extra = random.below(3); extra > 0; --extra) {
      setup.columns.push_back(1u << random.below(4));
      setup.columns.push_back(1 + random.below(5));
      setup.columns.push_back(random.below(3) == 0 ? 2 + random.below(40) : 1);
    }
    for (uint32_t count = 1 + random.below(3); count > 0; --count) setup.selectors.push_back(randomSelector(random));
    for (uint32_t table = 1; table < setup.policies.size(); ++table) {
      setup.selectors.push_back(randomSelector(random));
      setup.selectors.back().table = table;
    }
    setup.limit(random);
    return setup;
  }

  /// Now and then a limit of bytes, which final states use up too, and one of age.
  void limit(Random& random) {
    const auto capacity = static_cast<uint32_t>(config[EXRP_CONFIG_CAPACITY]);
    if (random.below(3) == 0) {
      const double room = stateBytes() * random.below(capacity);
      config[EXRP_CONFIG_CAPACITY_BYTES] = episodeBytes(capacity) + stateBytes() + (random.below(2) == 0 ? 0 : room);
    }
    if (random.below(3) > 0) return;
    const double segment = config[EXRP_CONFIG_SEGMENT_LENGTH];
    const double smallest = segment > length() ? segment : length();
    config[EXRP_CONFIG_AGE_MAX] = smallest + random.below(2 * capacity);
  }

  /// A policy of a table beside the first, that asks for whatever there is.
  static Policy randomPolicy(Random& random, uint32_t lengthMax) {
    Policy policy(EXRP_POLICY_COUNT);
    policy[EXRP_POLICY_LENGTH] = 1 + random.below(lengthMax);
    policy[EXRP_POLICY_STRIDE] = 1 + random.below(4);
    policy[EXRP_POLICY_STACK] = 1 + random.below(5);
    policy[EXRP_POLICY_DISCOUNT] = random.uniform();
    policy[EXRP_POLICY_REWARD_TYPE] = EXRP_TYPE_FLOAT32;
    uint32_t flags = random.below(EXRP_PICK_FLAGS_ALL + 1);
    uint32_t nextState = random.below(3);
    if ((flags & EXRP_PICK_COMPACT) != 0 && nextState == EXRP_NEXT_STATE_COPY) nextState = EXRP_NEXT_STATE_NONE;
    if ((flags & EXRP_PICK_COMPACT) != 0 || nextState == EXRP_NEXT_STATE_OVERLAP) flags &= ~uint32_t{EXRP_PICK_REVERSED};
    if ((flags & EXRP_PICK_REVERSED) != 0) flags &= ~uint32_t{EXRP_PICK_ALLOW_OPEN_END};
    else policy[EXRP_POLICY_BEFORE] = random.below(20);
    policy[EXRP_POLICY_FLAGS] = flags;
    policy[EXRP_POLICY_NEXT_STATE] = nextState;
    for (uint32_t index = random.below(4); index > 0; --index) policy[EXRP_POLICY_N_STEP + index - 1] = 1 + random.below(12);
    return policy;
  }

  static SelectorSetup randomSelector(Random& random) {
    const double alphas[] = {0, 0.5, 0.6, 1, 2.5};
    const double epsilons[] = {0, 1e-6, 0.1};
    const double cs[] = {0, 0.3, 1, 5};
    switch (random.below(9)) {
      case 0: return {EXRP_SELECTOR_UNIFORM, {}};
      case 1:
        return {EXRP_SELECTOR_PRIORITIZED,
                {alphas[random.below(5)], epsilons[random.below(3)], 1.0, double(random.below(2)), double(random.below(2))}};
      case 2: return {EXRP_SELECTOR_AGE_END, {double(random.below(2)), double(random.below(2))}};
      case 3: return {EXRP_SELECTOR_PRIORITY_END, {double(random.below(2)), 1.0}};
      case 4:
        return {EXRP_SELECTOR_RECENT, {1.0 + random.below(9), 0.5 * random.below(3), random.below(2) == 0 ? 0.996 : 1.0, 5}};
      case 5: return {EXRP_SELECTOR_RANK_BASED, {alphas[random.below(5)], 1.0, double(random.below(2)), double(random.below(2))}};
      case 6:
        return {EXRP_SELECTOR_PSER,
                {alphas[random.below(5)], epsilons[random.below(3)], 1.0, double(random.below(2)), double(random.below(2)),
                 0.25 * random.below(5), 1.0 + random.below(30), 0.25 * random.below(5)}};
      case 7:
        return {EXRP_SELECTOR_CURIOUS,
                {cs[random.below(4)], 0.25 * random.below(5), alphas[random.below(5)], epsilons[random.below(3)], 5.0,
                 double(random.below(2)), double(random.below(2))}};
      default: return {EXRP_SELECTOR_UCB, {cs[random.below(4)], double(random.below(2)), 1.0}};
    }
  }

  Failure make(uint32_t* replay) const {
    EXRP_REQUIRE(exrp_replay_create(config.data(), EXRP_CONFIG_COUNT, policies[0].data(), EXRP_POLICY_COUNT, columns.data(),
                                    columnCount(), replay) == 0);
    uint32_t made = 0;
    for (uint32_t table = 1; table < policies.size(); ++table) {
      EXRP_REQUIRE(exrp_table_create(*replay, policies[table].data(), EXRP_POLICY_COUNT, &made) == 0 && made == table);
    }
    for (const SelectorSetup& selector : selectors) {
      EXRP_REQUIRE(exrp_selector_create(*replay, selector.table, selector.kind, selector.options.data(),
                                        static_cast<uint32_t>(selector.options.size()), &made) == 0);
    }
    return {};
  }

  uint32_t columnCount() const { return static_cast<uint32_t>(columns.size() / 3); }
  uint32_t selectorCount() const { return static_cast<uint32_t>(selectors.size()); }
  double stateBytes() const { return double{1} * columns[0] * columns[1]; }
  /// Of the records of one episode.
  double episodeBytes(uint32_t count) const {
    double bytes = 0;
    for (uint32_t column = 0; column < columnCount(); ++column) {
      const uint32_t every = columns[3 * column + 2];
      bytes += double{1} * columns[3 * column] * columns[3 * column + 1] * ((count + every - 1) / every);
    }
    return bytes;
  }
  uint32_t length() const { return static_cast<uint32_t>(policies[0][EXRP_POLICY_LENGTH]); }
  bool external() const { return config[EXRP_CONFIG_EVICTION] == EXRP_EVICTION_EXTERNAL; }
  ReplayShape shape(uint32_t replay) const {
    ReplayShape shape{replay, {}, {}, 1, policies, {}};
    for (uint32_t column = 0; column < columnCount(); ++column) {
      shape.columnBytes.push_back(columns[3 * column] * columns[3 * column + 1]);
      shape.every.push_back(columns[3 * column + 2]);
    }
    return shape;
  }
};

/// Everything a replay would save, by section.
using Snapshot = std::vector<std::vector<uint8_t>>;

inline Failure takeSnapshot(uint32_t replay, uint32_t selectorCount, Snapshot* snapshot) {
  snapshot->clear();
  for (uint32_t section = 0; section < EXRP_SECTION_SELECTOR + 2 * selectorCount; ++section) {
    double info[2] = {};
    EXRP_REQUIRE(exrp_section_info(replay, section, info, 2) == 0);
    std::vector<uint8_t> bytes(static_cast<size_t>(info[0] * info[1]));
    // In pieces of 7 items, which fit no block.
    for (double first = 0; first < info[0]; first += 7) {
      const double count = info[0] - first < 7 ? info[0] - first : 7;
      EXRP_REQUIRE(exrp_section_read(replay, section, first, static_cast<uint32_t>(count),
                                     bytes.data() + static_cast<size_t>(first * info[1]), count * info[1]) == 0);
    }
    snapshot->push_back(std::move(bytes));
  }
  return {};
}

/// Loads what `snapshot` says; the status of the call that failed, or 0. Every buffer is exactly as large as it is said to be.
inline int32_t loadSnapshot(uint32_t replay, const Snapshot& snapshot) {
  for (uint32_t section = 0; section < snapshot.size(); ++section) {
    double info[2] = {};
    int32_t status = exrp_section_info(replay, section, info, 2);
    if (status != 0) return status;
    if (info[0] == 0 || info[1] == 0) continue;
    const std::vector<uint8_t>& bytes = snapshot[section];
    const auto itemBytes = static_cast<size_t>(info[1]);
    for (double first = 0; first < info[0]; first += 5) {
      const double count = info[0] - first < 5 ? info[0] - first : 5;
      const size_t from = static_cast<size_t>(first) * itemBytes;
      const size_t needed = static_cast<size_t>(count) * itemBytes;
      std::vector<uint8_t> items(needed);
      if (from < bytes.size()) memcpy(items.data(), &bytes[from], needed < bytes.size() - from ? needed : bytes.size() - from);
      status = exrp_section_write(replay, section, first, static_cast<uint32_t>(count), items.data(), static_cast<double>(needed));
      if (status != 0) return status;
    }
  }
  return exrp_snapshot_end(replay);
}

class Stress {
 public:
  explicit Stress(uint64_t seed) : random_(seed, 77) {}

  Failure run(uint32_t operationCount) {
    setup_ = Setup::random(random_);
    EXRP_CARRY(setup_.make(&replay_));
    const Failure failure = runOperations(operationCount);
    exrp_replay_destroy(replay_);
    if (failure) return failure;
    EXRP_REQUIRE(exrp_replay_destroy(replay_) == EXRP_STATUS_REPLAY_UNKNOWN);
    double handle = 0;
    EXRP_REQUIRE(exrp_episode_create(replay_, &handle) == EXRP_STATUS_REPLAY_UNKNOWN);
    return {};
  }

 private:
  struct Shadow {
    std::vector<uint32_t> stamps;  // of each record
    uint32_t finalStamp = 0;
    int32_t state = EXRP_EPISODE_OPEN;
  };

  Failure runOperations(uint32_t operationCount) {
    EXRP_CARRY(readLayout());
    EXRP_REQUIRE(exrp_journal_open(replay_, 0) == 0);
    for (uint32_t operation = 0; operation < operationCount; ++operation) {
      const uint32_t choice = random_.below(100);
      if (choice < 12) EXRP_CARRY(begin());
      else if (choice < 56) EXRP_CARRY(record());
      else if (choice < 60) EXRP_CARRY(recordSteps(true));
      else if (choice < 64) EXRP_CARRY(recordSteps(false));
      else if (choice < 66) EXRP_CARRY(endEpisode());
      else if (choice < 82) EXRP_CARRY(batch());
      else if (choice < 91) EXRP_CARRY(setPriority());
      else if (choice < 94) EXRP_CARRY(evict());
      else if (choice < 97) EXRP_CARRY(refused());
      else if (choice < 98) EXRP_CARRY(reload());
      else EXRP_CARRY(fuzz());
      EXRP_CARRY(sound());
    }
    return {};
  }

  Failure readLayout() {
    shape_ = setup_.shape(replay_);
    rowOffsets_.resize(EXRP_ROW_COLUMN + setup_.columnCount());
    EXRP_REQUIRE(exrp_row_layout(replay_, rowOffsets_.data(), static_cast<uint32_t>(rowOffsets_.size())) == 0);
    return {};
  }

  /// The bytes of column `column` of the record with this stamp.
  static void fill(uint8_t* to, size_t bytes, uint32_t stamp, size_t column) {
    uint32_t mixed = stamp * 2654435761u + static_cast<uint32_t>(column) * 40503u + 1;
    for (size_t index = 0; index < bytes; ++index) to[index] = static_cast<uint8_t>((mixed = mixed * 1664525u + 1013904223u) >> 24);
  }
  static bool holds(const uint8_t* at, size_t bytes, uint32_t stamp, size_t column) {
    std::vector<uint8_t> expected(bytes);
    fill(expected.data(), bytes, stamp, column);
    return memcmp(at, expected.data(), bytes) == 0;
  }
  static bool isZero(const uint8_t* at, size_t bytes) {
    for (size_t index = 0; index < bytes; ++index)
      if (at[index] != 0) return false;
    return true;
  }

  double anyHandle() { return nextHandle_ == 0 ? 0 : random_.below(static_cast<uint32_t>(nextHandle_)); }
  double lateHandle() {
    const auto next = static_cast<uint32_t>(nextHandle_);
    return next - 1 - random_.below(next < 5 ? next : 5);
  }

  /// Where the caller evicts: makes room by forgetting the episode that must go, or any.
  Failure evictAny(uint32_t replay) {
    EXRP_REQUIRE(!episodes_.empty());
    double detail[3] = {};
    EXRP_REQUIRE(exrp_error_detail(detail, 3) == 0);
    EXRP_REQUIRE(detail[2] == -1 || (setup_.config[EXRP_CONFIG_AGE_MAX] > 0 && detail[2] == episodes_.begin()->first));
    auto victim = episodes_.begin();
    if (detail[2] == -1) std::advance(victim, random_.below(static_cast<uint32_t>(episodes_.size())));
    victims_.push_back(victim->first);
    EXRP_REQUIRE(exrp_episode_evict(replay, victim->first) == 0);
    return forgetEvicted(replay);
  }
  Failure forgetEvicted(uint32_t replay) {
    for (auto episode = episodes_.begin(); episode != episodes_.end();) {
      double info[EXRP_EPISODE_INFO_COUNT] = {};
      EXRP_REQUIRE(exrp_episode_info(replay, episode->first, info, EXRP_EPISODE_INFO_COUNT) == 0);
      if (info[EXRP_EPISODE_STATE] == EXRP_EPISODE_EVICTED) episode = episodes_.erase(episode);
      else ++episode;
    }
    return {};
  }

  Failure begin() {
    double handle = -1;
    return beginOn(replay_, &handle);
  }

  Failure beginOn(uint32_t replay, double* made) {
    double handle = -1;
    while (true) {
      const int32_t status = exrp_episode_create(replay, &handle);
      if (status == 0) break;
      EXRP_REQUIRE(status == EXRP_STATUS_FULL && setup_.external());
      EXRP_CARRY(evictAny(replay));
    }
    EXRP_REQUIRE(handle == nextHandle_);
    nextHandle_ += 1;
    EXRP_CARRY(forgetEvicted(replay));
    episodes_[handle] = Shadow{};
    *made = handle;
    return {};
  }

  Failure record() {
    if (nextHandle_ == 0) return begin();
    double handle = lateHandle();
    const uint32_t stamp = ++stamp_;
    const uint32_t finalStamp = ++stamp_;
    const uint32_t ending = random_.below(16);
    const uint32_t flags = ending == 0 ? EXRP_RECORD_ENDS : ending == 1 ? EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED : 0;
    return recordOn(replay_, &handle, flags, stamp, finalStamp);
  }

  /// Records and shadows it; the handle to go on with.
  Failure recordOn(uint32_t replay, double* current, uint32_t flags, uint32_t stamp, uint32_t finalStamp) {
    const double handle = *current;
    std::vector<uint8_t> row(static_cast<size_t>(rowOffsets_[EXRP_ROW_BYTES]));
    memcpy(row.data(), &handle, 8);
    for (size_t column = 0; column < shape_.columnBytes.size(); ++column) {
      fill(row.data() + static_cast<size_t>(rowOffsets_[EXRP_ROW_COLUMN + column]), shape_.columnBytes[column], stamp, column);
    }
    fill(row.data() + static_cast<size_t>(rowOffsets_[EXRP_ROW_FINAL_STATE]), shape_.columnBytes[0], finalStamp, 0);

    const auto known = episodes_.find(handle);
    const bool ended = known != episodes_.end() && known->second.state != EXRP_EPISODE_OPEN;
    const std::vector<uint8_t> before = row;
    int32_t status = exrp_record(replay, row.data(), static_cast<uint32_t>(row.size()), flags);
    while (status == EXRP_STATUS_FULL) {
      EXRP_REQUIRE(setup_.external() && row == before);
      EXRP_CARRY(evictAny(replay));
      status = exrp_record(replay, row.data(), static_cast<uint32_t>(row.size()), flags);
    }
    if (ended && episodes_.count(handle) != 0) {
      EXRP_REQUIRE(status == EXRP_STATUS_EPISODE_ENDED && row == before);
      return {};
    }
    EXRP_REQUIRE(status == 0);
    double to = -1;
    memcpy(&to, row.data(), 8);
    if (to != handle) {
      EXRP_REQUIRE(to == nextHandle_);
      nextHandle_ += 1;
      EXRP_CARRY(forgetEvicted(replay));
      // Still there: it was cut, and this record's state is its final state.
      if (const auto cut = episodes_.find(handle); cut != episodes_.end()) {
        cut->second.state = EXRP_EPISODE_TRUNCATED;
        cut->second.finalStamp = stamp;
      }
    } else {
      EXRP_CARRY(forgetEvicted(replay));
    }
    Shadow& episode = episodes_[to];
    episode.stamps.push_back(stamp);
    recordedAt_.emplace(stamp, recordedAt_.size());
    if (flags != 0) {
      episode.finalStamp = finalStamp;
      episode.state = flags == EXRP_RECORD_ENDS ? EXRP_EPISODE_TERMINATED : EXRP_EPISODE_TRUNCATED;
    }
    *current = to;
    return {};
  }

  /// Staged steps in a buffer of exactly the bytes that are read.
  struct Staged {
    std::vector<uint8_t> bytes;
    std::vector<uint32_t> stamps;
    std::vector<uint32_t> finalStamps;
    std::vector<uint32_t> flags;
    double size() const { return static_cast<double>(bytes.size()); }
  };

  Failure stage(uint32_t count, bool many, Staged* staged) {
    std::vector<double> offsets(EXRP_STEPS_COLUMN + setup_.columnCount());
    EXRP_REQUIRE(exrp_steps_layout(replay_, count, offsets.data(), static_cast<uint32_t>(offsets.size())) == 0);
    const uint32_t ends[] = {0, 0, 0, 0, EXRP_RECORD_ENDS, EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED};
    uint32_t any = 0;
    for (uint32_t step = 0; step < count; ++step) {
      uint32_t flags = many && step + 1 < count ? 0 : ends[random_.below(6)];
      if (flags != 0 && random_.below(3) > 0) flags |= EXRP_RECORD_BEGINS;
      staged->flags.push_back(flags);
      any |= flags;
    }
    const auto finalAt = static_cast<size_t>(offsets[EXRP_STEPS_FINAL_STATE]);
    const uint32_t finalCount = any == 0 ? 0 : many ? 1 : count;
    const size_t stateBytes = shape_.columnBytes[0];
    staged->bytes.assign(finalAt + finalCount * stateBytes, 0);
    uint8_t* bytes = staged->bytes.data();
    for (uint32_t step = 0; step < count; ++step) {
      bytes[static_cast<size_t>(offsets[EXRP_STEPS_FLAGS]) + step] = static_cast<uint8_t>(staged->flags[step]);
      staged->stamps.push_back(++stamp_);
      for (size_t column = 0; column < shape_.columnBytes.size(); ++column) {
        const size_t size = shape_.columnBytes[column];
        fill(bytes + static_cast<size_t>(offsets[EXRP_STEPS_COLUMN + column]) + step * size, size, stamp_, column);
      }
      staged->finalStamps.push_back(++stamp_);
      if (finalCount > 0) fill(bytes + finalAt + (many ? 0 : step * stateBytes), stateBytes, stamp_, 0);
    }
    return {};
  }

  /// Many steps of one episode, or one of each of many, must leave what single records leave in a twin: the same snapshot.
  Failure recordSteps(bool many) {
    if (nextHandle_ == 0) return begin();
    const auto call = many ? exrp_record_many : exrp_record_batch;
    const uint32_t count = 1 + random_.below(many ? 24 : 8);
    std::vector<double> handles;
    for (uint32_t at = 0; at < (many ? 1 : count); ++at) handles.push_back(lateHandle());
    Staged staged;
    EXRP_CARRY(stage(count, many, &staged));
    const uint32_t flags = many ? staged.flags.back() : 0;

    const std::vector<double> given = handles;
    uint32_t done = 0;
    int32_t refused = 0;
    for (size_t at = 0; at < handles.size() && refused == 0; ++at) {
      const auto known = episodes_.find(handles[at]);
      if (known == episodes_.end()) continue;
      if (known->second.state != EXRP_EPISODE_OPEN) refused = EXRP_STATUS_EPISODE_ENDED;
      for (size_t before = 0; before < at; ++before)
        if (handles[before] == handles[at]) refused = EXRP_STATUS_EPISODE_TWICE;
    }
    if (refused != 0) {
      EXRP_REQUIRE(call(replay_, handles.data(), staged.bytes.data(), staged.size(), count, flags, &done) == refused);
      EXRP_REQUIRE(done == 0 && handles == given);
      return {};
    }
    EXRP_REQUIRE(call(replay_, handles.data(), staged.bytes.data(), staged.size() - 8, count, flags, &done) == EXRP_STATUS_BUFFER_SIZE);
    EXRP_REQUIRE(call(replay_, handles.data(), staged.bytes.data(), staged.size(), count, 2, &done) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(call(replay_, handles.data(), staged.bytes.data(), staged.size(), 0, flags, &done) == EXRP_STATUS_BATCH_SIZE);
    EXRP_REQUIRE(done == 0 && handles == given);

    Snapshot snapshot;
    EXRP_CARRY(takeSnapshot(replay_, setup_.selectorCount(), &snapshot));
    uint32_t twin = 0;
    EXRP_CARRY(setup_.make(&twin));
    EXRP_REQUIRE(loadSnapshot(twin, snapshot) == 0);
    victims_.clear();
    const Failure failure = recordStepsTwice(twin, many, flags, staged, handles);
    EXRP_REQUIRE(exrp_replay_destroy(twin) == 0);
    return failure;
  }

  Failure recordStepsTwice(uint32_t twin, bool many, uint32_t flags, const Staged& staged, std::vector<double> handles) {
    const auto count = static_cast<uint32_t>(staged.stamps.size());
    std::vector<double> expected = handles;
    for (uint32_t step = 0; step < count; ++step) {
      double& handle = expected[many ? 0 : step];
      const uint32_t own = staged.flags[step] & ~uint32_t{EXRP_RECORD_BEGINS};
      EXRP_CARRY(recordOn(twin, &handle, own, staged.stamps[step], staged.finalStamps[step]));
      if (own != staged.flags[step]) EXRP_CARRY(beginOn(twin, &handle));
    }
    const auto call = many ? exrp_record_many : exrp_record_batch;
    auto victim = victims_.begin();
    uint32_t done = 0;
    while (done < count) {
      const uint32_t before = done;
      const int32_t status = call(replay_, handles.data(), staged.bytes.data(), staged.size(), count, flags, &done);
      if (status == 0) {
        EXRP_REQUIRE(done > before);
        continue;
      }
      EXRP_REQUIRE(status == EXRP_STATUS_FULL && done == before && victim != victims_.end());
      EXRP_REQUIRE(exrp_episode_evict(replay_, *victim++) == 0);
    }
    EXRP_REQUIRE(handles == expected && victim == victims_.end());
    Snapshot one;
    Snapshot other;
    EXRP_CARRY(takeSnapshot(replay_, setup_.selectorCount(), &one));
    EXRP_CARRY(takeSnapshot(twin, setup_.selectorCount(), &other));
    EXRP_REQUIRE(one == other);
    return {};
  }

  Failure endEpisode() {
    if (nextHandle_ == 0) return begin();
    const double handle = lateHandle();
    const uint32_t flags = random_.below(2) == 0 ? 0 : EXRP_RECORD_TRUNCATED;
    const uint32_t stamp = ++stamp_;
    std::vector<uint8_t> state(shape_.columnBytes[0]);
    fill(state.data(), state.size(), stamp, 0);
    const auto size = static_cast<uint32_t>(state.size());
    uint32_t ended = 7;
    EXRP_REQUIRE(exrp_episode_end(replay_, handle, state.data(), size - 1, flags, &ended) == EXRP_STATUS_BUFFER_SIZE);
    EXRP_REQUIRE(exrp_episode_end(replay_, handle, state.data(), size, EXRP_RECORD_ENDS, &ended) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_episode_end(replay_, nextHandle_, state.data(), size, flags, &ended) == EXRP_STATUS_EPISODE_UNKNOWN);
    const auto known = episodes_.find(handle);
    const bool over = known != episodes_.end() && known->second.state != EXRP_EPISODE_OPEN;
    int32_t status = exrp_episode_end(replay_, handle, state.data(), size, flags, &ended);
    if (over) {
      EXRP_REQUIRE(status == EXRP_STATUS_EPISODE_ENDED && ended == 7);
      return {};
    }
    while (status == EXRP_STATUS_FULL) {
      EXRP_REQUIRE(setup_.external() && ended == 7);
      EXRP_CARRY(evictAny(replay_));
      status = exrp_episode_end(replay_, handle, state.data(), size, flags, &ended);
    }
    EXRP_REQUIRE(status == 0);
    EXRP_CARRY(forgetEvicted(replay_));
    const auto left = episodes_.find(handle);
    EXRP_REQUIRE(ended == (left != episodes_.end()));
    if (ended == 0) return {};
    EXRP_REQUIRE(!left->second.stamps.empty());
    left->second.state = flags == 0 ? EXRP_EPISODE_TERMINATED : EXRP_EPISODE_TRUNCATED;
    left->second.finalStamp = stamp;
    return {};
  }

  Failure readBatch(uint32_t count, std::vector<uint8_t>* bytes, std::vector<double>* offsets, uint32_t table = 0) {
    offsets->resize(batchPartCount(shape_, table));
    EXRP_REQUIRE(exrp_batch_layout(replay_, table, count, offsets->data(), static_cast<uint32_t>(offsets->size())) == 0);
    // Whatever was there must be written over.
    bytes->assign(static_cast<size_t>((*offsets)[EXRP_BATCH_BYTES]), 0xA5);
    return {};
  }

  Failure batch() {
    const uint32_t count = 1 + random_.below(random_.below(3) == 0 ? 150 : 12);
    const uint32_t selector = random_.below(setup_.selectorCount());
    std::vector<uint8_t> bytes;
    std::vector<double> offsets;
    const uint32_t table = setup_.selectors[selector].table;
    EXRP_CARRY(readBatch(count, &bytes, &offsets, table));
    if (table > 0) return windowBatch(selector, count, &bytes, offsets);
    const int32_t status =
        exrp_batch_get(replay_, selector, 0, count, count, random_.uniform(), bytes.data(), offsets[EXRP_BATCH_BYTES]);
    if (mirror_.empty()) {
      EXRP_REQUIRE(status == EXRP_STATUS_EMPTY && bytes[0] == 0xA5);
      return {};
    }
    EXRP_REQUIRE(status == 0);
    EXRP_CARRY(checkBatch(count, bytes, offsets));

    std::vector<uint32_t> indices(count);
    for (uint32_t& index : indices) index = random_.below(static_cast<uint32_t>(mirror_.size()));
    const std::vector<double> probabilities(count, 0.25);
    EXRP_CARRY(readBatch(count, &bytes, &offsets));
    EXRP_REQUIRE(exrp_batch_gather(replay_, 0, indices.data(), probabilities.data(), 0, count, count, 0.5, 0, 1, bytes.data(),
                                   offsets[EXRP_BATCH_BYTES]) == 0);
    const auto* handles = reinterpret_cast<const double*>(&bytes[static_cast<size_t>(offsets[EXRP_BATCH_PICK_EPISODE])]);
    const auto* positions = reinterpret_cast<const int32_t*>(&bytes[static_cast<size_t>(offsets[EXRP_BATCH_PICK_POSITION])]);
    for (uint32_t index = 0; index < count; ++index) {
      EXRP_REQUIRE(mirror_[indices[index]] == Pick(handles[index], positions[index]));
    }
    return checkBatch(count, bytes, offsets);
  }

  /// A batch of another table, in two halves: every byte of every part is written, and nothing else. (The model in TypeScript says
  /// what they are.)
  Failure windowBatch(uint32_t selector, uint32_t count, std::vector<uint8_t>* bytes, const std::vector<double>& offsets) {
    const uint32_t table = setup_.selectors[selector].table;
    double info[EXRP_TABLE_INFO_COUNT] = {};
    EXRP_REQUIRE(exrp_table_info(replay_, table, info, EXRP_TABLE_INFO_COUNT) == 0);
    std::vector<uint8_t> other(bytes->size(), 0x5A);
    const uint32_t half = count / 2;
    for (uint32_t run = 0; run < 2; ++run) {
      // Uniform draws move on, so both are drawn from the same indices.
      std::vector<uint32_t> indices(count);
      for (uint32_t index = 0; index < count && info[EXRP_TABLE_PICK_COUNT] > 0; ++index) {
        indices[index] = (index * 7919) % static_cast<uint32_t>(info[EXRP_TABLE_PICK_COUNT]);
      }
      const std::vector<double> probabilities(count, 0.5);
      std::vector<uint8_t>& to = run == 0 ? *bytes : other;
      for (const auto& [first, size] : {std::pair{0u, half}, std::pair{half, count - half}}) {
        if (size == 0) continue;
        const int32_t status = exrp_batch_gather(replay_, table, &indices[first], &probabilities[first], first, size, count, 1, 0, 0,
                                                 to.data(), offsets[EXRP_BATCH_BYTES]);
        EXRP_REQUIRE(status == (info[EXRP_TABLE_PICK_COUNT] > 0 ? 0 : EXRP_STATUS_EMPTY));
        if (status != 0) return {};
      }
    }
    for (const BatchPart& part : batchParts(shape_, table)) {
      const auto offset = static_cast<size_t>(offsets[part.part]);
      EXRP_REQUIRE(memcmp(bytes->data() + offset, other.data() + offset, count * part.bytes) == 0);
      memset(bytes->data() + offset, 0xA5, count * part.bytes);
    }
    for (const uint8_t byte : *bytes) EXRP_REQUIRE(byte == 0xA5);
    EXRP_REQUIRE(exrp_batch_get(replay_, selector, half, count - half, count, 1, bytes->data(), offsets[EXRP_BATCH_BYTES]) == 0);
    return {};
  }

  /// Every row of a batch is what was recorded, and nothing past a pick's end is anything but zero.
  Failure checkBatch(uint32_t count, const std::vector<uint8_t>& bytes, const std::vector<double>& offsets) {
    const auto part = [&](size_t index) { return bytes.data() + static_cast<size_t>(offsets[index]); };
    const auto* seqLen = reinterpret_cast<const int32_t*>(part(EXRP_BATCH_SEQ_LEN));
    const auto* nextSeqLen = reinterpret_cast<const int32_t*>(part(EXRP_BATCH_NEXT_SEQ_LEN));
    const auto* handles = reinterpret_cast<const double*>(part(EXRP_BATCH_PICK_EPISODE));
    const auto* positions = reinterpret_cast<const int32_t*>(part(EXRP_BATCH_PICK_POSITION));
    const auto* probability = reinterpret_cast<const float*>(part(EXRP_BATCH_PROBABILITY));
    const auto* weight = reinterpret_cast<const float*>(part(EXRP_BATCH_IMPORTANCE_WEIGHT));
    const auto* discount = reinterpret_cast<const float*>(part(EXRP_BATCH_DISCOUNT));
    const uint32_t length = setup_.length();
    for (uint32_t pick = 0; pick < count; ++pick) {
      const auto found = episodes_.find(handles[pick]);
      EXRP_REQUIRE(found != episodes_.end());
      const Shadow& episode = found->second;
      const auto recordCount = static_cast<uint32_t>(episode.stamps.size());
      const auto first = static_cast<uint32_t>(positions[pick]);
      EXRP_REQUIRE(first < recordCount);
      const uint32_t left = recordCount - first;
      const uint32_t known = episode.state == EXRP_EPISODE_OPEN ? left - 1 : left;
      const uint32_t real = left < length ? left : length;
      const uint32_t nextReal = known < length ? known : length;
      EXRP_REQUIRE(seqLen[pick] == static_cast<int32_t>(real) && nextSeqLen[pick] == static_cast<int32_t>(nextReal));
      EXRP_REQUIRE(probability[pick] > 0 && probability[pick] <= 1);
      EXRP_REQUIRE(weight[pick] >= 0 && weight[pick] <= 1);  // 0: too small for a float
      for (uint32_t step = 0; step < length; ++step) {
        const size_t row = size_t{pick} * length + step;
        for (size_t column = 0; column < shape_.columnBytes.size(); ++column) {
          const size_t size = shape_.columnBytes[column];
          if (shape_.every[column] > 1) {
            const uint32_t kept = first - first % shape_.every[column];
            EXRP_REQUIRE(holds(part(EXRP_BATCH_COLUMN + column) + pick * size, size, episode.stamps[kept], column));
            continue;
          }
          const uint8_t* at = part(EXRP_BATCH_COLUMN + column) + row * size;
          EXRP_REQUIRE(step < real ? holds(at, size, episode.stamps[first + step], column) : isZero(at, size));
        }
        const uint8_t* next = part(EXRP_BATCH_NEXT_STATE) + row * shape_.columnBytes[0];
        const bool isLast = first + step + 1 == recordCount;
        const uint32_t stamp = step >= nextReal ? 0 : isLast ? episode.finalStamp : episode.stamps[first + step + 1];
        EXRP_REQUIRE(step < nextReal ? holds(next, shape_.columnBytes[0], stamp, 0) : isZero(next, shape_.columnBytes[0]));
        const bool bootstraps = step < nextReal && !(isLast && episode.state == EXRP_EPISODE_TERMINATED);
        EXRP_REQUIRE(discount[row] == (bootstraps ? static_cast<float>(setup_.policies[0][EXRP_POLICY_DISCOUNT]) : 0.0f));
      }
    }
    return {};
  }

  Failure setPriority() {
    if (nextHandle_ == 0) return {};
    const uint32_t count = random_.below(20);
    std::vector<double> handles(count);
    std::vector<int32_t> positions(count);
    std::vector<double> priorities(count);
    uint32_t live = 0;
    for (uint32_t index = 0; index < count; ++index) {
      const double choices[] = {0, 1e-300, 1e300, 1, random_.uniform(), 100 * random_.uniform()};
      priorities[index] = choices[random_.below(6)];
      handles[index] = anyHandle();
      positions[index] = static_cast<int32_t>(random_.below(8));
      if (!mirror_.empty() && random_.below(4) != 0) {
        const Pick& pick = mirror_[random_.below(static_cast<uint32_t>(mirror_.size()))];
        handles[index] = pick.first;
        positions[index] = pick.second;
      }
      for (const Pick& pick : mirror_) live += pick == Pick(handles[index], positions[index]);
    }
    uint32_t applied = 0xDEAD;
    const uint32_t own = random_.below(setup_.selectorCount());
    const uint32_t table = setup_.selectors[own].table;
    const bool counted = table == 0;
    const uint32_t selector = random_.below(5) == 0 ? EXRP_INDEX_NONE - table : own;
    const auto set = [&](const double* values) {
      return exrp_priority_set(replay_, selector, handles.data(), positions.data(),
                               reinterpret_cast<const uint8_t*>(values), 8, count, &applied);
    };
    if (count > 0 && random_.below(4) == 0) {
      std::vector<double> invalid = priorities;
      const double bad[] = {-1, -1e-300, __builtin_nan(""), __builtin_inf()};
      invalid[random_.below(count)] = bad[random_.below(4)];
      EXRP_REQUIRE(set(invalid.data()) == EXRP_STATUS_PRIORITY_INVALID && applied == 0xDEAD);
    }
    EXRP_REQUIRE(set(priorities.data()) == 0 && (applied == live || !counted));
    return {};
  }

  Failure evict() {
    const double handle = anyHandle();
    const bool live = episodes_.count(handle) != 0;
    EXRP_REQUIRE(exrp_episode_evict(replay_, handle) == (live ? 0 : EXRP_STATUS_EPISODE_UNKNOWN));
    return forgetEvicted(replay_);
  }

  /// Calls that must be refused; sound() then finds all as it was.
  Failure refused() {
    std::vector<uint8_t> bytes;
    std::vector<double> offsets;
    EXRP_CARRY(readBatch(4, &bytes, &offsets));
    const double size = offsets[EXRP_BATCH_BYTES];
    uint8_t* batch = bytes.data();
    EXRP_REQUIRE(exrp_batch_get(replay_, 99, 0, 4, 4, 0, batch, size) == EXRP_STATUS_SELECTOR_UNKNOWN);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 0, 0, 4, 0, batch, size) == EXRP_STATUS_BATCH_SIZE);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 0, EXRP_LIMIT_BATCH + 1, EXRP_LIMIT_BATCH + 1, 0, batch, size) == EXRP_STATUS_BATCH_SIZE);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 1, 4, 4, 0, batch, size) == EXRP_STATUS_BATCH_SIZE);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 5, 4, 4, 0, batch, size) == EXRP_STATUS_BATCH_SIZE);
    uint32_t table = 0;
    EXRP_REQUIRE(exrp_selector_create(replay_, 16, EXRP_SELECTOR_UNIFORM, &size, 0, &table) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_table_create(replay_, &size, 1, &table) == EXRP_STATUS_ARGUMENT);
    Policy policy = setup_.policies[0];
    policy[random_.below(2)] = 0.5;
    EXRP_REQUIRE(exrp_table_create(replay_, policy.data(), EXRP_POLICY_COUNT, &table) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 0, 4, 4, -1, batch, size) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 0, 4, 4, __builtin_nan(""), batch, size) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 0, 4, 4, 0, batch, size - 1) == EXRP_STATUS_BUFFER_SIZE);
    const auto pickCount = static_cast<uint32_t>(mirror_.size());
    const uint32_t index = pickCount;
    const double probability = 1;
    EXRP_REQUIRE(exrp_batch_gather(replay_, 0, &index, &probability, 0, 1, 4, 0, 0, 0, batch, size) ==
                 (pickCount == 0 ? EXRP_STATUS_EMPTY : EXRP_STATUS_PICK_INDEX));
    double handle = nextHandle_;
    int32_t position = 0;
    uint32_t found = 7;
    EXRP_REQUIRE(exrp_pick_find(replay_, 0, &handle, &position, 1, &found) == EXRP_STATUS_EPISODE_UNKNOWN && found == 7);
    EXRP_REQUIRE(exrp_pick_list(replay_, 0, pickCount, 1, &handle, &position) == EXRP_STATUS_PICK_INDEX);
    EXRP_REQUIRE(exrp_pick_list(replay_, 0, 0, pickCount + 1, &handle, &position) == EXRP_STATUS_PICK_INDEX);
    std::vector<uint8_t> row(static_cast<size_t>(rowOffsets_[EXRP_ROW_BYTES]));
    const double handles[] = {nextHandle_, -1, 0.5, __builtin_nan(""), __builtin_inf(), 1e300};
    memcpy(row.data(), &handles[random_.below(6)], 8);
    const auto rowBytes = static_cast<uint32_t>(row.size());
    EXRP_REQUIRE(exrp_record(replay_, row.data(), rowBytes, 0) == EXRP_STATUS_EPISODE_UNKNOWN);
    EXRP_REQUIRE(exrp_record(replay_, row.data(), rowBytes, EXRP_RECORD_TRUNCATED) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_record(replay_, row.data(), rowBytes - 1, 0) == EXRP_STATUS_BUFFER_SIZE);
    uint32_t selector = 0;
    const double options[] = {-1, 0, 1, 0, 0};
    EXRP_REQUIRE(exrp_selector_create(replay_, 0, 99, options, 0, &selector) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_selector_create(replay_, 0, EXRP_SELECTOR_PRIORITIZED, options, 5, &selector) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_selector_create(replay_, 0, EXRP_SELECTOR_PRIORITIZED, options, 4, &selector) == EXRP_STATUS_ARGUMENT);
    return {};
  }

  /// A snapshot loaded into a replay of another block length gives a replay whose future is the same.
  Failure reload() {
    Snapshot snapshot;
    EXRP_CARRY(takeSnapshot(replay_, setup_.selectorCount(), &snapshot));
    Setup other = setup_;
    other.config[EXRP_CONFIG_BLOCK_LENGTH] = 2u << random_.below(5);
    other.config[EXRP_CONFIG_SEED] = 1;
    uint32_t twin = 0;
    EXRP_CARRY(other.make(&twin));
    EXRP_REQUIRE(loadSnapshot(twin, snapshot) == 0);
    Snapshot again;
    EXRP_CARRY(takeSnapshot(twin, setup_.selectorCount(), &again));
    EXRP_REQUIRE(snapshot == again);
    if (!mirror_.empty()) {
      for (uint32_t selector = 0; selector < setup_.selectorCount(); ++selector) {
        std::vector<uint8_t> one;
        std::vector<uint8_t> two;
        std::vector<double> offsets;
        EXRP_CARRY(readBatch(33, &one, &offsets, setup_.selectors[selector].table));
        two = one;
        const int32_t status = exrp_batch_get(replay_, selector, 0, 33, 33, 0.5, one.data(), offsets[EXRP_BATCH_BYTES]);
        EXRP_REQUIRE(status == 0 || (status == EXRP_STATUS_EMPTY && setup_.selectors[selector].table > 0));
        EXRP_REQUIRE(exrp_batch_get(twin, selector, 0, 33, 33, 0.5, two.data(), offsets[EXRP_BATCH_BYTES]) == status);
        EXRP_REQUIRE(one == two);
      }
    }
    // The twin goes on in the other's place. Its journal begins with the picks as they are.
    EXRP_REQUIRE(exrp_replay_destroy(replay_) == 0);
    replay_ = twin;
    EXRP_CARRY(readLayout());
    EXRP_REQUIRE(exrp_journal_open(replay_, 0) == 0);
    return {};
  }

  /// Damaged snapshots: a status, or a replay that is sound and can be used.
  Failure fuzz() {
    Snapshot whole;
    EXRP_CARRY(takeSnapshot(replay_, setup_.selectorCount(), &whole));
    for (uint32_t round = 0; round < 8; ++round) {
      Snapshot damaged = whole;
      for (uint32_t hits = 1 + random_.below(3); hits > 0; --hits) damage(&damaged);
      uint32_t subject = 0;
      EXRP_CARRY(setup_.make(&subject));
      const int32_t status = loadSnapshot(subject, damaged);
      const Failure failure = status == 0 ? useLoaded(subject) : Failure{};
      EXRP_REQUIRE(exrp_replay_destroy(subject) == 0);
      if (failure) return failure;
      (status == 0 ? accepted_ : refused_) += 1;
    }
    return callsOutOfOrder(whole);
  }

  void damage(Snapshot* snapshot) {
    std::vector<uint8_t>& bytes = (*snapshot)[random_.below(static_cast<uint32_t>(snapshot->size()))];
    if (bytes.empty()) return;
    const uint32_t at = random_.below(static_cast<uint32_t>(bytes.size()));
    switch (random_.below(5)) {
      case 0: bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1u << random_.below(8))); break;
      case 1: bytes[at] = static_cast<uint8_t>(random_.below(256)); break;
      case 2: bytes.resize(at); break;
      case 3:
        for (uint32_t index = at; index < bytes.size() && index < at + 8; ++index) bytes[index] = 0xFF;
        break;
      default: {
        // A word of another place: values that can be, where they can't.
        const uint32_t from = random_.below(static_cast<uint32_t>(bytes.size()));
        for (uint32_t index = 0; index < 4 && at + index < bytes.size() && from + index < bytes.size(); ++index) {
          bytes[at + index] = bytes[from + index];
        }
        break;
      }
    }
  }

  Failure useLoaded(uint32_t subject) {
    int32_t broken = -1;
    EXRP_REQUIRE(exrp_replay_check(subject, &broken) == 0 && broken == 0);
    std::vector<uint8_t> row(static_cast<size_t>(rowOffsets_[EXRP_ROW_BYTES]));
    std::vector<uint8_t> bytes;
    std::vector<double> offsets;
    double handle = 0;
    for (uint32_t step = 0; step < 12; ++step) {
      for (uint32_t selector = 0; selector < setup_.selectorCount(); ++selector) {
        EXRP_CARRY(readBatch(9, &bytes, &offsets, setup_.selectors[selector].table));
        const int32_t status = exrp_batch_get(subject, selector, 0, 9, 9, 1, bytes.data(), offsets[EXRP_BATCH_BYTES]);
        EXRP_REQUIRE(status == 0 || status == EXRP_STATUS_EMPTY);
      }
      int32_t status = step == 0 ? exrp_episode_create(subject, &handle) : 0;
      memcpy(row.data(), &handle, 8);
      if (status == 0) status = exrp_record(subject, row.data(), static_cast<uint32_t>(row.size()), 0);
      EXRP_REQUIRE(status == 0 || (status == EXRP_STATUS_FULL && setup_.external()));
      if (status != 0) break;
      memcpy(&handle, row.data(), 8);
    }
    EXRP_REQUIRE(exrp_replay_check(subject, &broken) == 0 && broken == 0);
    return {};
  }

  /// Sections and items in an order and in numbers that no reader of a file would ask for.
  Failure callsOutOfOrder(const Snapshot& whole) {
    uint32_t subject = 0;
    EXRP_CARRY(setup_.make(&subject));
    const double firsts[] = {0, 1, -1, 0.5, 5, __builtin_nan(""), __builtin_inf(), 1e18, 4294967296.0};
    for (uint32_t call = 0; call < 24; ++call) {
      const uint32_t section = random_.below(3) == 0 ? random_.below(40) : call % static_cast<uint32_t>(whole.size());
      const uint32_t count = random_.below(4) == 0 ? 0xFFFFFFFFu : random_.below(4);
      std::vector<uint8_t> items(512);
      const size_t from = section < whole.size() ? whole[section].size() : 0;
      if (from > 0) memcpy(items.data(), whole[section].data(), from < 512 ? from : 512);
      const double first = random_.below(2) == 0 ? 0 : firsts[random_.below(9)];
      if (random_.below(4) == 0) exrp_section_read(subject, section, first, count, items.data(), 512);
      else exrp_section_write(subject, section, first, count, items.data(), 512);
      double info[2] = {};
      exrp_section_info(subject, section, info, 2);
    }
    if (exrp_snapshot_end(subject) == 0) EXRP_CARRY(useLoaded(subject));
    EXRP_REQUIRE(exrp_replay_destroy(subject) == 0);
    return {};
  }

  /// What can be seen agrees with the shadow; the mirror of the journal agrees with the pick table.
  Failure sound() {
    int32_t broken = -1;
    EXRP_REQUIRE(exrp_replay_check(replay_, &broken) == 0);
    EXRP_REQUIRE(broken == 0);
    double info[EXRP_INFO_COUNT] = {};
    EXRP_REQUIRE(exrp_replay_info(replay_, info, EXRP_INFO_COUNT) == 0);
    size_t recordCount = 0;
    std::vector<double> handles(episodes_.size() + 1);
    EXRP_REQUIRE(exrp_episode_list(replay_, handles.data(), static_cast<uint32_t>(handles.size())) == 0);
    auto listed = handles.begin();
    for (const auto& [handle, episode] : episodes_) {
      EXRP_REQUIRE(*listed++ == handle);
      double known[EXRP_EPISODE_INFO_COUNT] = {};
      EXRP_REQUIRE(exrp_episode_info(replay_, handle, known, EXRP_EPISODE_INFO_COUNT) == 0);
      EXRP_REQUIRE(known[EXRP_EPISODE_STATE] == episode.state && known[EXRP_EPISODE_RECORD_COUNT] == double(episode.stamps.size()));
      recordCount += episode.stamps.size();
    }
    EXRP_REQUIRE(info[EXRP_INFO_EPISODE_COUNT] == double(episodes_.size()));
    EXRP_REQUIRE(info[EXRP_INFO_RECORD_COUNT] == double(recordCount));
    EXRP_REQUIRE(double(recordCount) <= setup_.config[EXRP_CONFIG_CAPACITY]);
    EXRP_CARRY(withinLimits(info));
    EXRP_REQUIRE(info[EXRP_INFO_NEXT_HANDLE] == nextHandle_);
    EXRP_CARRY(readJournal());
    return compareMirror(static_cast<uint32_t>(info[EXRP_INFO_PICK_COUNT]));
  }

  /// No more bytes than allowed, and no record older.
  Failure withinLimits(const double* info) {
    double bytes = 0;
    for (const auto& [handle, episode] : episodes_) {
      bytes += setup_.episodeBytes(static_cast<uint32_t>(episode.stamps.size()));
      if (episode.state != EXRP_EPISODE_OPEN) bytes += setup_.stateBytes();
    }
    EXRP_REQUIRE(info[EXRP_INFO_STORED_BYTES] == bytes);
    const double bytesMax = setup_.config[EXRP_CONFIG_CAPACITY_BYTES];
    EXRP_REQUIRE(bytesMax == 0 || bytes <= bytesMax);
    const double ageMax = setup_.config[EXRP_CONFIG_AGE_MAX];
    if (ageMax == 0) return {};
    for (const auto& [handle, episode] : episodes_) {
      if (!episode.stamps.empty()) EXRP_REQUIRE(double(recordedAt_.size() - recordedAt_.at(episode.stamps.front())) <= ageMax);
    }
    return {};
  }

  /// (NONE, i): a pick was added at i; (j, i): j takes the place of i; (i, NONE): i is gone. Kept as marks: what stands where is
  /// asked of the pick table only for picks that are new.
  Failure readJournal() {
    uint32_t events[14] = {};
    uint32_t waiting = 0;
    EXRP_REQUIRE(exrp_journal_count(replay_, 0, &waiting) == 0);
    for (uint32_t count = 7; count == 7;) {
      EXRP_REQUIRE(exrp_journal_read(replay_, 0, events, 7, &count) == 0);
      for (uint32_t event = 0; event < count; ++event, --waiting) {
        const uint32_t from = events[2 * event];
        const uint32_t to = events[2 * event + 1];
        if (from == EXRP_INDEX_NONE) {
          EXRP_REQUIRE(to == mirror_.size());
          mirror_.push_back(unknown_);
        } else if (to == EXRP_INDEX_NONE) {
          EXRP_REQUIRE(from + 1 == mirror_.size());
          mirror_.pop_back();
        } else {
          EXRP_REQUIRE(from + 1 == mirror_.size() && to < from);
          mirror_[to] = mirror_[from];
        }
      }
    }
    EXRP_REQUIRE(waiting == 0);
    return {};
  }

  Failure compareMirror(uint32_t pickCount) {
    EXRP_REQUIRE(pickCount == mirror_.size());
    std::vector<double> handles(pickCount + 1);
    std::vector<int32_t> positions(pickCount + 1);
    EXRP_REQUIRE(exrp_pick_list(replay_, 0, 0, pickCount, handles.data(), positions.data()) == 0);
    std::vector<uint32_t> indices(pickCount + 1);
    EXRP_REQUIRE(exrp_pick_find(replay_, 0, handles.data(), positions.data(), pickCount, indices.data()) == 0);
    for (uint32_t index = 0; index < pickCount; ++index) {
      const Pick pick(handles[index], positions[index]);
      EXRP_REQUIRE(indices[index] == index);
      if (mirror_[index] == unknown_) mirror_[index] = pick;
      EXRP_REQUIRE(mirror_[index] == pick);
    }
    return {};
  }

  using Pick = std::pair<double, int32_t>;
  const Pick unknown_{-1, -1};

  Random random_;
  Setup setup_;
  uint32_t replay_ = 0;
  ReplayShape shape_;
  std::vector<double> rowOffsets_;
  std::map<double, Shadow> episodes_;
  std::vector<Pick> mirror_;
  std::vector<double> victims_;  // of evictAny, in order
  std::map<uint32_t, size_t> recordedAt_;  // stamp -> how many records were written before
  double nextHandle_ = 0;
  uint32_t stamp_ = 0;

 public:
  long accepted_ = 0;
  long refused_ = 0;
};

}  // namespace exrp::test
