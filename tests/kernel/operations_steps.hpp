// Many steps at once (exrp_record_many, exrp_record_batch, exrp_record_flat) beside the same steps one by one. A twin, loaded from the replay's snapshot,
// gets single records. Both must then give the same snapshot and the same handles. Wrong calls come first: they must be refused and
// change nothing.
#pragma once

#include <vector>

#include "tests/kernel/operations_setup.hpp"
#include "tests/kernel/operations_shadow.hpp"

namespace exrp::test {

class ManySteps {
 public:
  ManySteps(const Setup& setup, Random& random, Shadow& shadow) : setup_(setup), random_(random), shadow_(shadow) {}

  enum class Call { many, batch, flat };

  /// Many steps of one episode, of many episodes one after the other, or one of each of many, must leave what single records leave in a
  /// twin: the same snapshot.
  Failure run(uint32_t replay, Call call) {
    const bool isBatch = call == Call::batch;
    const uint32_t count = 1 + random_.below(isBatch ? 8 : 24);
    std::vector<double> handles;
    for (uint32_t at = 0; at < (isBatch ? count : 1); ++at) handles.push_back(shadow_.lateHandle());
    Staged staged;
    EXRP_CARRY(stage(replay, count, call, &staged));
    const uint32_t more = staged.tags.empty() ? 0 : EXRP_RECORD_TAG;
    const uint32_t flags = more | (call == Call::many ? staged.flags.back() : staged.hasNextStates ? EXRP_RECORD_NEXT_STATE : 0);
    episodes_.assign(count, -1);
    episodeCount_ = 0;

    const std::vector<double> given = handles;
    uint32_t done = 0;
    int32_t refused = 0;
    for (size_t at = 0; at < handles.size() && refused == 0; ++at) {
      const auto known = shadow_.episodes.find(handles[at]);
      const bool isOpen = known == shadow_.episodes.end() ? shadow_.orphans.count(handles[at]) != 0 : known->second.state == EXRP_EPISODE_OPEN;
      if (!isOpen) refused = EXRP_STATUS_EPISODE_ENDED;
      for (size_t before = 0; before < at; ++before)
        if (handles[before] == handles[at]) refused = EXRP_STATUS_EPISODE_TWICE;
    }
    if (refused != 0) {
      EXRP_REQUIRE(store(call, replay, handles, staged, staged.size(), count, flags, &done) == refused);
      EXRP_REQUIRE(done == 0 && handles == given);
      return {};
    }
    EXRP_REQUIRE(store(call, replay, handles, staged, staged.size() - 8, count, flags, &done) == EXRP_STATUS_BUFFER_SIZE);
    EXRP_REQUIRE(store(call, replay, handles, staged, staged.size(), count, 2, &done) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(store(call, replay, handles, staged, staged.size(), 0, flags, &done) == EXRP_STATUS_BATCH_SIZE);
    EXRP_REQUIRE(done == 0 && handles == given);

    Snapshot snapshot;
    EXRP_CARRY(takeSnapshot(replay, setup_.selectorCount(), &snapshot));
    uint32_t twin = 0;
    EXRP_CARRY(setup_.make(&twin));
    EXRP_REQUIRE(loadSnapshot(twin, snapshot) == 0);
    for (const auto& [handle, episode] : shadow_.episodes) EXRP_REQUIRE(exrp_records_release(twin, handle, episode.released) == 0);
    shadow_.victims.clear();
    const Failure failure = recordTwice(replay, twin, call, flags, staged, handles);
    EXRP_REQUIRE(exrp_replay_destroy(twin) == 0);
    return failure;
  }

 private:
  /// Staged steps in a buffer of exactly the bytes that are read.
  struct Staged {
    std::vector<uint8_t> bytes;
    std::vector<uint32_t> stamps;
    std::vector<uint32_t> finalStamps;
    std::vector<uint32_t> flags;
    std::vector<int32_t> tags;  // of each step, or none
    bool hasNextStates = false;
    const int32_t* tag(uint32_t step) const { return tags.empty() ? nullptr : &tags[step]; }
    double size() const { return static_cast<double>(bytes.size()); }
  };

  int32_t store(Call call, uint32_t replay, std::vector<double>& handles, const Staged& staged, double size, uint32_t count,
                uint32_t flags, uint32_t* done) {
    const uint8_t* const bytes = staged.bytes.data();
    if (call == Call::many) return exrp_record_many(replay, handles.data(), bytes, size, count, flags, done);
    if (call == Call::batch) return exrp_record_batch(replay, handles.data(), bytes, size, count, flags, done);
    uint32_t both[2] = {*done, episodeCount_};
    const auto room = static_cast<uint32_t>(episodes_.size());
    const int32_t status = exrp_record_flat(replay, handles.data(), bytes, size, count, flags, both, episodes_.data(), room);
    *done = both[0];
    episodeCount_ = both[1];
    return status;
  }

  uint32_t randomFlags(Call call, bool isLast) {
    constexpr uint32_t ends = EXRP_RECORD_ENDS;
    constexpr uint32_t truncates = EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED;
    if (call == Call::flat) {
      const uint32_t kinds[] = {0, 0, 0, 0, 0, ends | EXRP_RECORD_BEGINS, truncates | EXRP_RECORD_BEGINS, EXRP_RECORD_FINAL};
      return kinds[random_.below(8)];
    }
    const uint32_t kinds[] = {0, 0, 0, 0, ends, truncates};
    const uint32_t flags = call == Call::many && !isLast ? 0 : kinds[random_.below(6)];
    return flags != 0 && random_.below(3) > 0 ? flags | EXRP_RECORD_BEGINS : flags;
  }

  Failure stage(uint32_t replay, uint32_t count, Call call, Staged* staged) {
    std::vector<double> offsets(EXRP_STEPS_COLUMN + setup_.columnCount());
    EXRP_REQUIRE(exrp_steps_layout(replay, count, offsets.data(), static_cast<uint32_t>(offsets.size())) == 0);
    staged->hasNextStates = call != Call::many && random_.below(2) == 0;
    uint32_t ends = 0;
    for (uint32_t step = 0; step < count; ++step) {
      staged->flags.push_back(randomFlags(call, step + 1 == count));
      ends += (staged->flags.back() & EXRP_RECORD_ENDS) != 0 ? 1 : 0;
    }
    const auto finalAt = static_cast<size_t>(offsets[EXRP_STEPS_FINAL_STATE]);
    uint32_t finalCount = ends;
    if (call == Call::flat && staged->hasNextStates && staged->flags.back() == 0) ++finalCount;
    if (call == Call::batch && (ends > 0 || staged->hasNextStates)) finalCount = count;
    uint32_t final = 0;
    staged->bytes.assign(finalAt + shadow_.shape.stateOffsets(finalCount).back(), 0);
    uint8_t* bytes = staged->bytes.data();
    const bool hasTags = random_.below(3) == 0;
    for (uint32_t step = 0; hasTags && step < count; ++step) {
      staged->tags.push_back(static_cast<int32_t>(random_.below(6)) - 2);
      memcpy(bytes + static_cast<size_t>(offsets[EXRP_STEPS_TAG]) + step * sizeof(int32_t), &staged->tags[step], sizeof(int32_t));
    }
    for (uint32_t step = 0; step < count; ++step) {
      bytes[static_cast<size_t>(offsets[EXRP_STEPS_FLAGS]) + step] = static_cast<uint8_t>(staged->flags[step]);
      staged->stamps.push_back(++shadow_.lastStamp);
      for (size_t column = 0; column < shadow_.shape.columnBytes.size(); ++column) {
        const size_t size = shadow_.shape.columnBytes[column];
        Shadow::fill(bytes + static_cast<size_t>(offsets[EXRP_STEPS_COLUMN + column]) + step * size, size, shadow_.lastStamp, column);
      }
      staged->finalStamps.push_back(++shadow_.lastStamp);
      // That of each step, or of each that ends, and of the last one, which may have a next state.
      const bool hasOwn = call == Call::batch || (staged->flags[step] & EXRP_RECORD_ENDS) != 0 || step + 1 == count;
      if (hasOwn && final < finalCount) shadow_.fillState(bytes + finalAt, finalCount, final++, shadow_.lastStamp);
    }
    return {};
  }

  /// What a step with FINAL does to an episode that ever had a record: its state ends the episode, and another begins. If all its records
  /// were trimmed, it goes.
  Failure cut(uint32_t twin, double* handle, uint32_t stamp, const int32_t* tag) {
    const auto known = shadow_.episodes.find(*handle);
    if (known == shadow_.episodes.end()) return {};
    if (known->second.count() == 0) {
      if (tag == nullptr) return {};
      shadow_.tags[*handle] = *tag;
      EXRP_REQUIRE(exrp_episode_tag(twin, *handle, *tag) == 0);
      return {};
    }
    const std::vector<uint8_t> state = shadow_.stateOf(stamp);
    const int32_t next = tag == nullptr ? shadow_.tags[*handle] : *tag;
    uint32_t ended = 0;
    const auto end = [&] {
      return exrp_episode_end(twin, *handle, state.data(), static_cast<uint32_t>(state.size()), EXRP_RECORD_TRUNCATED, &ended);
    };
    int32_t status = end();
    for (; status == EXRP_STATUS_FULL; status = end()) EXRP_CARRY(shadow_.evictAny(twin));
    EXRP_REQUIRE(status == 0);
    EXRP_CARRY(shadow_.forgetEvicted(twin));
    if (ended == 0) shadow_.orphans.erase(*handle);
    if (const auto left = shadow_.episodes.find(*handle); left != shadow_.episodes.end()) {
      left->second.state = EXRP_EPISODE_TRUNCATED;
      left->second.finalStamp = stamp;
    }
    return shadow_.beginOn(twin, handle, next);
  }

  Failure recordTwice(uint32_t replay, uint32_t twin, Call call, uint32_t flags, const Staged& staged, std::vector<double> handles) {
    const auto count = static_cast<uint32_t>(staged.stamps.size());
    std::vector<double> expected = handles;
    std::vector<double> recordedTo;
    for (uint32_t step = 0; step < count; ++step) {
      double& handle = expected[call == Call::batch ? step : 0];
      if (staged.flags[step] == EXRP_RECORD_FINAL) {
        EXRP_CARRY(cut(twin, &handle, staged.stamps[step], staged.tag(step)));
        continue;
      }
      const uint32_t own = staged.flags[step] & ~uint32_t{EXRP_RECORD_BEGINS};
      const bool hasNext = staged.hasNextStates && own == 0 && (call == Call::batch || step + 1 == count);
      EXRP_CARRY(shadow_.recordOn(twin, &handle, own, staged.stamps[step], staged.finalStamps[step], hasNext, staged.tag(step)));
      if (recordedTo.empty() || recordedTo.back() != handle) recordedTo.push_back(handle);
      if (own == staged.flags[step]) continue;
      // Without a tag of its own, the next episode has that of the one before.
      const int32_t* const tag = staged.tag(step);
      EXRP_CARRY(shadow_.beginOn(twin, &handle, tag == nullptr ? shadow_.tags[handle] : *tag));
    }
    auto victim = shadow_.victims.begin();
    uint32_t done = 0;
    while (done < count) {
      const uint32_t before = done;
      const int32_t status = store(call, replay, handles, staged, staged.size(), count, flags, &done);
      if (status == 0) {
        EXRP_REQUIRE(done > before);
        continue;
      }
      EXRP_REQUIRE(status == EXRP_STATUS_FULL && done == before && victim != shadow_.victims.end());
      EXRP_REQUIRE(exrp_episode_evict(replay, *victim++) == 0);
    }
    EXRP_REQUIRE(handles == expected && victim == shadow_.victims.end());
    episodes_.resize(episodeCount_);
    EXRP_REQUIRE(call != Call::flat || episodes_ == recordedTo);
    Snapshot one;
    Snapshot other;
    EXRP_CARRY(takeSnapshot(replay, setup_.selectorCount(), &one));
    EXRP_CARRY(takeSnapshot(twin, setup_.selectorCount(), &other));
    // The twin's episodes were begun one by one, each for an actor of its own.
    for (Snapshot* snapshot : {&one, &other}) {
      std::vector<uint8_t>& items = (*snapshot)[EXRP_SECTION_EPISODES];
      constexpr size_t itemBytes = 32;
      constexpr size_t actorAt = 20;
      for (size_t at = actorAt; at < items.size(); at += itemBytes) memset(&items[at], 0, 4);
    }
    EXRP_REQUIRE(one == other);
    return {};
  }

  const Setup& setup_;
  Random& random_;
  Shadow& shadow_;
  std::vector<double> episodes_;  // that exrp_record_flat recorded into
  uint32_t episodeCount_ = 0;
};

}  // namespace exrp::test
