// Generated operations on one replay. After each, three checks: a shadow of all records (operations_shadow.hpp), the replay's own
// check(), and a mirror of the pick view that reads only the journal. Many steps at once are compared with single ones in a twin
// (operations_steps.hpp). Then snapshots: whole ones must give an equal replay, damaged ones an error or a replay that is sound
// (operations_damage.hpp).
//
// One seed gives the setup (operations_setup.hpp) and all operations. Thread safety: each object has a replay of its own.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "kernel/exrp.h"
#include "kernel/base/random.hpp"
#include "tests/kernel/operations_damage.hpp"
#include "tests/kernel/operations_setup.hpp"
#include "tests/kernel/operations_shadow.hpp"
#include "tests/kernel/operations_steps.hpp"

namespace exrp::test {

class Stress {
 public:
  explicit Stress(uint64_t seed) : random_(seed, 77) {}
  Stress(const Stress&) = delete;
  Stress& operator=(const Stress&) = delete;

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

  const DamagedSnapshots& damaged() const { return damaged_; }

 private:
  Failure runOperations(uint32_t operationCount) {
    EXRP_CARRY(shadow_.readLayout(replay_));
    EXRP_REQUIRE(exrp_journal_open(replay_, 0) == 0);
    for (uint32_t operation = 0; operation < operationCount; ++operation) {
      const uint32_t choice = random_.below(100);
      if (choice < 11) EXRP_CARRY(begin());
      else if (choice < 12) EXRP_CARRY(trim());
      else if (choice < 56) EXRP_CARRY(record());
      else if (choice < 59) EXRP_CARRY(recordSteps(ManySteps::Call::many));
      else if (choice < 61) EXRP_CARRY(recordSteps(ManySteps::Call::batch));
      else if (choice < 63) EXRP_CARRY(recordSteps(ManySteps::Call::flat));
      else if (choice < 64) EXRP_CARRY(random_.below(4) == 0 ? clear() : release());
      else if (choice < 66) EXRP_CARRY(endEpisode());
      else if (choice < 82) EXRP_CARRY(batch());
      else if (choice < 91) EXRP_CARRY(setPriority());
      else if (choice < 94) EXRP_CARRY(evict());
      else if (choice < 97) EXRP_CARRY(refused());
      else if (choice < 98) EXRP_CARRY(reload());
      else EXRP_CARRY(damaged_.run(replay_));
      EXRP_CARRY(shadow_.sound(replay_));
    }
    return {};
  }

  Failure begin() {
    double handle = -1;
    return shadow_.beginOn(replay_, &handle);
  }

  Failure record() {
    if (shadow_.nextHandle == 0) return begin();
    double handle = shadow_.lateHandle();
    const uint32_t stamp = ++shadow_.lastStamp;
    const uint32_t finalStamp = ++shadow_.lastStamp;
    const uint32_t ending = random_.below(16);
    const uint32_t flags = ending == 0 ? EXRP_RECORD_ENDS : ending == 1 ? EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED : 0;
    const auto tag = static_cast<int32_t>(random_.below(6)) - 2;
    return shadow_.recordOn(replay_, &handle, flags, stamp, finalStamp, random_.below(3) == 0, random_.below(3) == 0 ? &tag : nullptr);
  }

  Failure recordSteps(ManySteps::Call call) { return shadow_.nextHandle == 0 ? begin() : steps_.run(replay_, call); }

  Failure clear() {
    EXRP_REQUIRE(exrp_replay_clear(replay_) == 0);
    EXRP_CARRY(shadow_.forgetEvicted(replay_));
    EXRP_REQUIRE(shadow_.episodes.empty());
    return {};
  }

  /// Records of some episodes may go before others.
  Failure release() {
    if (shadow_.nextHandle == 0) return begin();
    EXRP_REQUIRE(exrp_records_release(replay_, shadow_.nextHandle, 0) == EXRP_STATUS_EPISODE_UNKNOWN);
    for (uint32_t round = 1 + random_.below(4); round > 0; --round) {
      const double handle = random_.below(2) == 0 ? shadow_.lateHandle() : shadow_.anyHandle();
      const auto found = shadow_.episodes.find(handle);
      const uint32_t count = found == shadow_.episodes.end() ? 0 : found->second.count();
      const uint32_t position = random_.below(3) == 0 ? count : random_.below(count + 2);
      const int32_t status = exrp_records_release(replay_, handle, position);
      if (found == shadow_.episodes.end()) EXRP_REQUIRE(status == EXRP_STATUS_EPISODE_UNKNOWN);
      else EXRP_REQUIRE(status == (position > count ? EXRP_STATUS_RECORD_UNKNOWN : 0));
      if (status == 0 && position > found->second.released) found->second.released = position;
    }
    return {};
  }

  Failure endEpisode() {
    if (shadow_.nextHandle == 0) return begin();
    const double handle = shadow_.lateHandle();
    const uint32_t flags = random_.below(2) == 0 ? 0 : EXRP_RECORD_TRUNCATED;
    const uint32_t stamp = ++shadow_.lastStamp;
    const std::vector<uint8_t> state = shadow_.stateOf(stamp);
    const auto size = static_cast<uint32_t>(state.size());
    uint32_t ended = 7;
    EXRP_REQUIRE(exrp_episode_end(replay_, handle, state.data(), size - 1, flags, &ended) == EXRP_STATUS_BUFFER_SIZE);
    EXRP_REQUIRE(exrp_episode_end(replay_, handle, state.data(), size, EXRP_RECORD_ENDS, &ended) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_episode_end(replay_, shadow_.nextHandle, state.data(), size, flags, &ended) == EXRP_STATUS_EPISODE_UNKNOWN);
    const auto known = shadow_.episodes.find(handle);
    const bool over = known == shadow_.episodes.end() ? shadow_.orphans.count(handle) == 0 : known->second.state != EXRP_EPISODE_OPEN;
    int32_t status = exrp_episode_end(replay_, handle, state.data(), size, flags, &ended);
    if (over) {
      EXRP_REQUIRE(status == EXRP_STATUS_EPISODE_ENDED && ended == 7);
      return {};
    }
    while (status == EXRP_STATUS_FULL) {
      EXRP_REQUIRE(setup_.external() && ended == 7);
      EXRP_CARRY(shadow_.evictAny(replay_));
      status = exrp_episode_end(replay_, handle, state.data(), size, flags, &ended);
    }
    EXRP_REQUIRE(status == 0);
    EXRP_CARRY(shadow_.forgetEvicted(replay_));
    const auto left = shadow_.episodes.find(handle);
    EXRP_REQUIRE(ended == (left != shadow_.episodes.end()));
    if (ended == 0) shadow_.orphans.erase(handle);
    if (ended == 0) return {};
    EXRP_REQUIRE(!left->second.isEmpty());
    left->second.state = flags == 0 ? EXRP_EPISODE_TERMINATED : EXRP_EPISODE_TRUNCATED;
    left->second.finalStamp = stamp;
    return {};
  }

  Failure batch() {
    const uint32_t count = 1 + random_.below(random_.below(3) == 0 ? 150 : 12);
    const uint32_t selector = random_.below(setup_.selectorCount());
    std::vector<uint8_t> bytes;
    std::vector<double> offsets;
    const uint32_t table = setup_.selectors[selector].table;
    EXRP_CARRY(setup_.makeBatch(replay_, table, count, &bytes, &offsets));
    if (table > 0) return windowBatch(selector, count, &bytes, offsets);
    const int32_t status =
        exrp_batch_get(replay_, selector, 0, count, count, random_.uniform(), bytes.data(), offsets[EXRP_BATCH_BYTES]);
    if (shadow_.mirror.empty()) {
      EXRP_REQUIRE(status == EXRP_STATUS_EMPTY && bytes[0] == 0xA5);
      return {};
    }
    EXRP_REQUIRE(status == 0);
    EXRP_CARRY(shadow_.checkBatch(count, bytes, offsets));

    std::vector<uint32_t> indices(count);
    for (uint32_t& index : indices) index = random_.below(static_cast<uint32_t>(shadow_.mirror.size()));
    const std::vector<double> probabilities(count, 0.25);
    EXRP_CARRY(setup_.makeBatch(replay_, 0, count, &bytes, &offsets));
    EXRP_REQUIRE(exrp_batch_gather(replay_, 0, indices.data(), probabilities.data(), 0, count, count, 0.5, 0, 1, bytes.data(),
                                   offsets[EXRP_BATCH_BYTES]) == 0);
    const auto* handles = reinterpret_cast<const double*>(&bytes[static_cast<size_t>(offsets[EXRP_BATCH_PICK_EPISODE])]);
    const auto* positions = reinterpret_cast<const int32_t*>(&bytes[static_cast<size_t>(offsets[EXRP_BATCH_PICK_POSITION])]);
    for (uint32_t index = 0; index < count; ++index) {
      EXRP_REQUIRE(shadow_.mirror[indices[index]] == Shadow::Pick(handles[index], positions[index]));
    }
    return shadow_.checkBatch(count, bytes, offsets);
  }

  /// A batch of another table, in two halves: every byte of every part is written, and nothing else. (The model in TypeScript says
  /// what they are.)
  Failure windowBatch(uint32_t selector, uint32_t count, std::vector<uint8_t>* bytes, const std::vector<double>& offsets) {
    const uint32_t table = setup_.selectors[selector].table;
    double info[EXRP_PICK_VIEW_INFO_COUNT] = {};
    EXRP_REQUIRE(exrp_pick_view_info(replay_, table, info, EXRP_PICK_VIEW_INFO_COUNT) == 0);
    std::vector<uint8_t> other(bytes->size(), 0x5A);
    const uint32_t half = count / 2;
    for (uint32_t run = 0; run < 2; ++run) {
      // Uniform draws move on, so both are drawn from the same indices.
      std::vector<uint32_t> indices(count);
      for (uint32_t index = 0; index < count && info[EXRP_PICK_VIEW_PICK_COUNT] > 0; ++index) {
        indices[index] = (index * 7919) % static_cast<uint32_t>(info[EXRP_PICK_VIEW_PICK_COUNT]);
      }
      const std::vector<double> probabilities(count, 0.5);
      std::vector<uint8_t>& to = run == 0 ? *bytes : other;
      for (const auto& [first, size] : {std::pair{0u, half}, std::pair{half, count - half}}) {
        if (size == 0) continue;
        const int32_t status = exrp_batch_gather(replay_, table, &indices[first], &probabilities[first], first, size, count, 1, 0, 0,
                                                 to.data(), offsets[EXRP_BATCH_BYTES]);
        EXRP_REQUIRE(status == (info[EXRP_PICK_VIEW_PICK_COUNT] > 0 ? 0 : EXRP_STATUS_EMPTY));
        if (status != 0) return {};
      }
    }
    for (const BatchPart& part : batchParts(shadow_.shape, table)) {
      const auto offset = static_cast<size_t>(offsets[part.part]);
      EXRP_REQUIRE(memcmp(bytes->data() + offset, other.data() + offset, count * part.bytes) == 0);
      memset(bytes->data() + offset, 0xA5, count * part.bytes);
    }
    for (const uint8_t byte : *bytes) EXRP_REQUIRE(byte == 0xA5);
    EXRP_REQUIRE(exrp_batch_get(replay_, selector, half, count - half, count, 1, bytes->data(), offsets[EXRP_BATCH_BYTES]) == 0);
    return {};
  }

  Failure setPriority() {
    if (shadow_.nextHandle == 0) return {};
    const uint32_t count = random_.below(20);
    std::vector<double> handles(count);
    std::vector<int32_t> positions(count);
    std::vector<double> priorities(count);
    uint32_t live = 0;
    for (uint32_t index = 0; index < count; ++index) {
      const double choices[] = {0, 1e-300, 1e300, 1, random_.uniform(), 100 * random_.uniform()};
      priorities[index] = choices[random_.below(6)];
      handles[index] = shadow_.anyHandle();
      positions[index] = static_cast<int32_t>(random_.below(8));
      if (!shadow_.mirror.empty() && random_.below(4) != 0) {
        const Shadow::Pick& pick = shadow_.mirror[random_.below(static_cast<uint32_t>(shadow_.mirror.size()))];
        handles[index] = pick.first;
        positions[index] = pick.second;
      }
      for (const Shadow::Pick& pick : shadow_.mirror) live += pick == Shadow::Pick(handles[index], positions[index]);
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

  Failure trim() {
    if (shadow_.nextHandle == 0) return begin();
    if (random_.below(2) == 0) {
      double handle = 7;
      double first = 7;
      EXRP_REQUIRE(exrp_open_trim(replay_, &handle, &first) == 0);
      const auto trimmed = shadow_.episodes.find(handle);
      if (trimmed == shadow_.episodes.end()) {
        EXRP_REQUIRE(handle == -1 && first == 0);
        for (const auto& [other, episode] : shadow_.episodes) EXRP_REQUIRE(episode.state != EXRP_EPISODE_OPEN || episode.isEmpty());
        return {};
      }
      EXRP_REQUIRE(trimmed->second.state == EXRP_EPISODE_OPEN && first > trimmed->second.first);
      return beginsAt(handle, first);
    }
    const double handle = shadow_.lateHandle();
    const auto found = shadow_.episodes.find(handle);
    const uint32_t count = found == shadow_.episodes.end() ? 0 : found->second.count();
    const uint32_t position = random_.below(count + 2);
    const int32_t status = exrp_episode_trim(replay_, handle, position);
    const bool isOrphan = shadow_.orphans.count(handle) != 0;
    if (found == shadow_.episodes.end()) EXRP_REQUIRE(status == (isOrphan ? EXRP_STATUS_EPISODE_UNKNOWN : EXRP_STATUS_EPISODE_ENDED));
    else if (found->second.state != EXRP_EPISODE_OPEN) EXRP_REQUIRE(status == EXRP_STATUS_EPISODE_ENDED);
    else EXRP_REQUIRE(status == (position > count ? EXRP_STATUS_RECORD_UNKNOWN : 0));
    if (status != 0) return {};
    const uint32_t first = position > found->second.first ? position : found->second.first;
    return beginsAt(handle, first);
  }
  /// An open episode lost the records before `first`. One that holds none may have gone, where there were many such ones.
  Failure beginsAt(double handle, double first) {
    const uint32_t count = shadow_.episodes.at(handle).count();
    EXRP_CARRY(shadow_.forgetEvicted(replay_));
    const auto left = shadow_.episodes.find(handle);
    EXRP_REQUIRE(left == shadow_.episodes.end() ? first == count : left->second.first == first);
    return {};
  }

  Failure evict() {
    const double handle = shadow_.anyHandle();
    const bool live = shadow_.episodes.count(handle) != 0;
    EXRP_REQUIRE(exrp_episode_evict(replay_, handle) == (live ? 0 : EXRP_STATUS_EPISODE_UNKNOWN));
    return shadow_.forgetEvicted(replay_);
  }

  /// Calls that must be refused; sound() then finds all as it was.
  Failure refused() {
    std::vector<uint8_t> bytes;
    std::vector<double> offsets;
    EXRP_CARRY(setup_.makeBatch(replay_, 0, 4, &bytes, &offsets));
    const double size = offsets[EXRP_BATCH_BYTES];
    uint8_t* batch = bytes.data();
    EXRP_REQUIRE(exrp_batch_get(replay_, 99, 0, 4, 4, 0, batch, size) == EXRP_STATUS_SELECTOR_UNKNOWN);
    EXRP_REQUIRE(exrp_batch_check(replay_, 99, 4) == EXRP_STATUS_SELECTOR_UNKNOWN);
    EXRP_REQUIRE(exrp_batch_check(replay_, 0, EXRP_LIMIT_BATCH + 1) == EXRP_STATUS_BATCH_SIZE);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 0, 0, 4, 0, batch, size) == EXRP_STATUS_BATCH_SIZE);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 0, EXRP_LIMIT_BATCH + 1, EXRP_LIMIT_BATCH + 1, 0, batch, size) == EXRP_STATUS_BATCH_SIZE);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 1, 4, 4, 0, batch, size) == EXRP_STATUS_BATCH_SIZE);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 5, 4, 4, 0, batch, size) == EXRP_STATUS_BATCH_SIZE);
    uint32_t table = 0;
    EXRP_REQUIRE(exrp_selector_create(replay_, 16, EXRP_SELECTOR_UNIFORM, &size, 0, &table) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_pick_view_create(replay_, &size, 1, &table) == EXRP_STATUS_ARGUMENT);
    Policy policy = setup_.policies[0];
    policy[random_.below(2)] = 0.5;
    EXRP_REQUIRE(exrp_pick_view_create(replay_, policy.data(), EXRP_POLICY_COUNT, &table) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 0, 4, 4, -1, batch, size) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 0, 4, 4, __builtin_nan(""), batch, size) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(exrp_batch_get(replay_, 0, 0, 4, 4, 0, batch, size - 1) == EXRP_STATUS_BUFFER_SIZE);
    const auto pickCount = static_cast<uint32_t>(shadow_.mirror.size());
    const uint32_t index = pickCount;
    const double probability = 1;
    EXRP_REQUIRE(exrp_batch_gather(replay_, 0, &index, &probability, 0, 1, 4, 0, 0, 0, batch, size) ==
                 (pickCount == 0 ? EXRP_STATUS_EMPTY : EXRP_STATUS_PICK_INDEX));
    double handle = shadow_.nextHandle;
    int32_t position = 0;
    uint32_t found = 7;
    EXRP_REQUIRE(exrp_pick_find(replay_, 0, &handle, &position, 1, &found) == EXRP_STATUS_EPISODE_UNKNOWN && found == 7);
    EXRP_REQUIRE(exrp_pick_list(replay_, 0, pickCount, 1, &handle, &position) == EXRP_STATUS_PICK_INDEX);
    EXRP_REQUIRE(exrp_pick_list(replay_, 0, 0, pickCount + 1, &handle, &position) == EXRP_STATUS_PICK_INDEX);
    std::vector<uint8_t> row(static_cast<size_t>(shadow_.rowOffsets[EXRP_ROW_BYTES]));
    const double handles[] = {shadow_.nextHandle, -1, 0.5, __builtin_nan(""), __builtin_inf(), 1e300};
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
    other.config[EXRP_CONFIG_COMPRESSION] = random_.below(3);
    uint32_t twin = 0;
    EXRP_CARRY(other.make(&twin));
    EXRP_REQUIRE(loadSnapshot(twin, snapshot) == 0);
    Snapshot again;
    EXRP_CARRY(takeSnapshot(twin, setup_.selectorCount(), &again));
    EXRP_REQUIRE(snapshot == again);
    if (!shadow_.mirror.empty()) {
      for (uint32_t selector = 0; selector < setup_.selectorCount(); ++selector) {
        std::vector<uint8_t> one;
        std::vector<uint8_t> two;
        std::vector<double> offsets;
        EXRP_CARRY(setup_.makeBatch(replay_, setup_.selectors[selector].table, 33, &one, &offsets));
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
    EXRP_CARRY(shadow_.readLayout(replay_));
    EXRP_REQUIRE(exrp_journal_open(replay_, 0) == 0);
    // No snapshot has what was released.
    for (auto& [handle, episode] : shadow_.episodes) episode.released = 0;
    return {};
  }

  Random random_;
  Setup setup_;
  uint32_t replay_ = 0;
  // These refer to what stands before them.
  Shadow shadow_{setup_, random_};
  ManySteps steps_{setup_, random_, shadow_};
  DamagedSnapshots damaged_{setup_, random_, shadow_};
};

}  // namespace exrp::test
