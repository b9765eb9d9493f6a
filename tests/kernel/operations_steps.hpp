// Many steps at once (exrp_record_many, exrp_record_batch) beside the same steps one by one. A twin, loaded from the replay's snapshot,
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

  /// Many steps of one episode, or one of each of many, must leave what single records leave in a twin: the same snapshot.
  Failure run(uint32_t replay, bool many) {
    const auto call = many ? exrp_record_many : exrp_record_batch;
    const uint32_t count = 1 + random_.below(many ? 24 : 8);
    std::vector<double> handles;
    for (uint32_t at = 0; at < (many ? 1 : count); ++at) handles.push_back(shadow_.lateHandle());
    Staged staged;
    EXRP_CARRY(stage(replay, count, many, &staged));
    const uint32_t flags = many ? staged.flags.back() : 0;

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
      EXRP_REQUIRE(call(replay, handles.data(), staged.bytes.data(), staged.size(), count, flags, &done) == refused);
      EXRP_REQUIRE(done == 0 && handles == given);
      return {};
    }
    EXRP_REQUIRE(call(replay, handles.data(), staged.bytes.data(), staged.size() - 8, count, flags, &done) == EXRP_STATUS_BUFFER_SIZE);
    EXRP_REQUIRE(call(replay, handles.data(), staged.bytes.data(), staged.size(), count, 2, &done) == EXRP_STATUS_ARGUMENT);
    EXRP_REQUIRE(call(replay, handles.data(), staged.bytes.data(), staged.size(), 0, flags, &done) == EXRP_STATUS_BATCH_SIZE);
    EXRP_REQUIRE(done == 0 && handles == given);

    Snapshot snapshot;
    EXRP_CARRY(takeSnapshot(replay, setup_.selectorCount(), &snapshot));
    uint32_t twin = 0;
    EXRP_CARRY(setup_.make(&twin));
    EXRP_REQUIRE(loadSnapshot(twin, snapshot) == 0);
    shadow_.victims.clear();
    const Failure failure = recordTwice(replay, twin, many, flags, staged, handles);
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
    double size() const { return static_cast<double>(bytes.size()); }
  };

  Failure stage(uint32_t replay, uint32_t count, bool many, Staged* staged) {
    std::vector<double> offsets(EXRP_STEPS_COLUMN + setup_.columnCount());
    EXRP_REQUIRE(exrp_steps_layout(replay, count, offsets.data(), static_cast<uint32_t>(offsets.size())) == 0);
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
    const size_t stateBytes = shadow_.shape.columnBytes[0];
    staged->bytes.assign(finalAt + finalCount * stateBytes, 0);
    uint8_t* bytes = staged->bytes.data();
    for (uint32_t step = 0; step < count; ++step) {
      bytes[static_cast<size_t>(offsets[EXRP_STEPS_FLAGS]) + step] = static_cast<uint8_t>(staged->flags[step]);
      staged->stamps.push_back(++shadow_.lastStamp);
      for (size_t column = 0; column < shadow_.shape.columnBytes.size(); ++column) {
        const size_t size = shadow_.shape.columnBytes[column];
        Shadow::fill(bytes + static_cast<size_t>(offsets[EXRP_STEPS_COLUMN + column]) + step * size, size, shadow_.lastStamp, column);
      }
      staged->finalStamps.push_back(++shadow_.lastStamp);
      if (finalCount > 0) Shadow::fill(bytes + finalAt + (many ? 0 : step * stateBytes), stateBytes, shadow_.lastStamp, 0);
    }
    return {};
  }

  Failure recordTwice(uint32_t replay, uint32_t twin, bool many, uint32_t flags, const Staged& staged, std::vector<double> handles) {
    const auto count = static_cast<uint32_t>(staged.stamps.size());
    std::vector<double> expected = handles;
    for (uint32_t step = 0; step < count; ++step) {
      double& handle = expected[many ? 0 : step];
      const uint32_t own = staged.flags[step] & ~uint32_t{EXRP_RECORD_BEGINS};
      EXRP_CARRY(shadow_.recordOn(twin, &handle, own, staged.stamps[step], staged.finalStamps[step]));
      if (own == staged.flags[step]) continue;
      int32_t tag = 0;  // the next episode has that of the one before
      EXRP_REQUIRE(exrp_episode_tags(twin, &handle, 1, &tag) == 0);
      EXRP_CARRY(shadow_.beginOn(twin, &handle, tag));
    }
    const auto call = many ? exrp_record_many : exrp_record_batch;
    auto victim = shadow_.victims.begin();
    uint32_t done = 0;
    while (done < count) {
      const uint32_t before = done;
      const int32_t status = call(replay, handles.data(), staged.bytes.data(), staged.size(), count, flags, &done);
      if (status == 0) {
        EXRP_REQUIRE(done > before);
        continue;
      }
      EXRP_REQUIRE(status == EXRP_STATUS_FULL && done == before && victim != shadow_.victims.end());
      EXRP_REQUIRE(exrp_episode_evict(replay, *victim++) == 0);
    }
    EXRP_REQUIRE(handles == expected && victim == shadow_.victims.end());
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
};

}  // namespace exrp::test
