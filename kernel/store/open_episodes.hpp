// OpenEpisodes: the open episodes by the birth of their oldest record, and those that hold none by their handle.
//
// Thread safety: none of its own.
// Invariants:
//   1. One heap has the open episodes that hold records, by the birth of the oldest. The other one has the episodes that hold none.
// Cost: oldest() and oldestEmpty() O(1), the others O(log E). 40 bytes an episode.
#pragma once

#include "kernel/store/birth_heap.hpp"
#include "kernel/store/episode_listener.hpp"

namespace exrp {

class OpenEpisodes final : public EpisodeListener {
 public:
  /// For up to `countMax` episodes.
  Status create(const EpisodeList& episodes, uint32_t countMax) {
    const Status status = filled_.create(episodes, countMax);
    return status == Status::ok ? empty_.create(episodes, countMax) : status;
  }

  /// The one whose oldest record is the oldest, or episodeNone.
  uint32_t oldest() const { return filled_.first(); }
  /// The birth of its oldest record. There is one.
  uint64_t oldestBirth() const { return filled_.firstBirth(); }
  /// The oldest one that holds no record, or episodeNone.
  uint32_t oldestEmpty() const { return empty_.first(); }
  uint32_t emptyCount() const { return empty_.count(); }

  // ---- what it hears ----

  Status prepare(const StoredEpisodes&, const Growth& growth) {
    const Status status = filled_.prepare(growth.episodeEnd);
    return status == Status::ok ? empty_.prepare(growth.episodeEnd) : status;
  }
  void begun(const StoredEpisodes& stored, uint32_t episode) { empty_.set(episode, stored.episodes()[episode].handle); }
  void filled(const StoredEpisodes& stored, uint32_t episode, uint64_t birth) {
    empty_.remove(episode);
    if (!stored.episodes()[episode].ended()) filled_.set(episode, birth);
  }
  void trimmed(const StoredEpisodes& stored, uint32_t episode, uint32_t) {
    if (!stored.holdsRecords(episode)) {
      filled_.remove(episode);
      begun(stored, episode);
    } else if (!stored.episodes()[episode].ended()) {
      filled_.set(episode, stored.birthOf(episode));
    }
  }
  void ended(const StoredEpisodes&, uint32_t episode, uint32_t) { filled_.remove(episode); }
  void removing(const StoredEpisodes&, uint32_t episode, bool) {
    filled_.remove(episode);
    empty_.remove(episode);
  }
  void restored(const StoredEpisodes& stored, uint32_t episode) {
    if (stored.holdsRecords(episode)) empty_.remove(episode);
  }
  double memoryBytes() const { return filled_.memoryBytes() + empty_.memoryBytes(); }
  int32_t check(const StoredEpisodes& stored) const {
    const EpisodeList& episodes = stored.episodes();
    const auto isEmpty = [&](uint32_t episode) { return !stored.holdsRecords(episode); };
    const auto isFilled = [&](uint32_t episode) { return stored.holdsRecords(episode) && !episodes[episode].ended(); };
    const bool areRight = filled_.holds(isFilled, [&](uint32_t episode) { return stored.birthOf(episode); }) &&
                          empty_.holds(isEmpty, [&](uint32_t episode) { return episodes[episode].handle; });
    return areRight ? 0 : 1;
  }

 private:
  BirthHeap filled_;
  BirthHeap empty_;
};

}  // namespace exrp
