// OrphanHandles: the handles of episodes that went while they were open, and their tags.
//
// The actor of such an episode did not end it, so a record with its handle begins a new one, with the same tag. This works once: then
// the actor has the new handle. Every other handle without an episode is that of one that has ended, and stays refused for ever.
//
// Thread safety: none of its own.
// Invariants:
//   1. Each handle is here at most once, in the order in which their episodes went.
//   2. There are at most `countMax`. One more pushes out the oldest, which then is refused, too. There may be as many open episodes
//      without a record, so all of them may go at once.
//   3. There is memory for one more, or for countMax. prepare() sees to that, whenever an episode may begin.
//   4. All were given out, and none has an episode.
// Cost: O(count) a look-up. Only a handle without an episode is looked up. 12 bytes a handle, in pages, for the most that there were.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/store/episode_listener.hpp"

namespace exrp {

class OrphanHandles final : public EpisodeListener {
 public:
  static constexpr uint32_t countMax = 4096;
  static constexpr uint32_t none = UINT32_MAX;

  Status create() {
    constexpr uint32_t bytesEach = sizeof(uint64_t) + sizeof(int32_t);
    return handles_.create(countMax, Pages::small) && tags_.create(countMax, Pages::small) ? Status::ok
                                                                                          : fail(Status::memory, double{countMax} * bytesEach);
  }
  /// Takes the memory for `most` handles, or for countMax where that is less.
  Status prepare(uint64_t most) {
    const auto needed = static_cast<uint32_t>(most < countMax ? most : countMax);
    return handles_.commit(needed) && tags_.commit(needed) ? Status::ok : fail(Status::memory, 12.0 * needed);
  }

  uint32_t count() const { return count_; }
  /// The handles, oldest first.
  const uint64_t* handles() const { return handles_.data(); }
  /// The tag of the episode whose handle stands at `at`.
  int32_t tag(uint32_t at) const { return tags_[at]; }
  /// Where a handle stands, or none.
  uint32_t find(uint64_t handle) const {
    uint32_t at = 0;
    while (at < count_ && handles_[at] != handle) ++at;
    return at < count_ ? at : none;
  }
  bool contains(uint64_t handle) const { return find(handle) != none; }
  double memoryBytes() const { return handles_.takenBytes(highWater_) + tags_.takenBytes(highWater_); }

  /// The open episode of this handle and this tag has gone.
  void add(uint64_t handle, int32_t tag) {
    if (count_ == countMax) removeAt(0);
    handles_[count_] = handle;
    tags_[count_++] = tag;
    if (count_ > highWater_) highWater_ = count_;
  }
  /// The handle is used up; it need not be here. Returns its tag.
  int32_t remove(uint64_t handle) {
    const uint32_t at = find(handle);
    if (at == none) return 0;
    const int32_t tag = tags_[at];
    removeAt(at);
    return tag;
  }

  // ---- what it hears ----

  /// Any episode may go while it is open.
  Status prepare(const StoredEpisodes& stored, const Growth& growth) {
    return prepare(uint64_t{count_} + stored.episodes().count() + growth.episodes);
  }
  void removing(const StoredEpisodes& stored, uint32_t episode, bool mayGoOn) {
    const Episode& entry = stored.episodes()[episode];
    if (mayGoOn && !entry.ended()) add(entry.handle, stored.episodes().tag(episode));
  }
  int32_t check(const StoredEpisodes& stored) const {
    for (uint32_t at = 0; at < count_; ++at) {
      const auto handle = static_cast<double>(handles_[at]);
      if (handles_[at] >= stored.nextHandle() || stored.findEpisode(handle) != episodeNone) return 4;
    }
    return check();
  }

  int32_t check() const {
    if (count_ > countMax) return 2;
    for (uint32_t at = 0; at < count_; ++at) {
      if (find(handles_[at]) != at) return 1;
    }
    return count_ < countMax && handles_.committed() < count_ ? 3 : 0;
  }

 private:
  void removeAt(uint32_t at) {
    --count_;
    memmove(&handles_[at], &handles_[at + 1], (count_ - at) * sizeof(uint64_t));
    memmove(&tags_[at], &tags_[at + 1], (count_ - at) * sizeof(int32_t));
  }

  ReservedArray<uint64_t> handles_;  // the first count_ of them
  ReservedArray<int32_t> tags_;      // likewise
  uint32_t count_ = 0;
  uint32_t highWater_ = 0;  // the most that there were
};

}  // namespace exrp
