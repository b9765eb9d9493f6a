// AgeLimit: says when records must go, because more records were written since the oldest one than the limit allows.
//
// A record's age is the number of records written to the replay since. The oldest record of an episode decides: an ended episode goes whole
// when it is due, an open one is trimmed. With a limit of n, every stored record is among the last n that were written.
//
// Thread safety: none of its own. Without a limit nothing is ever due, and it takes no memory.
// Invariants:
//   1. It knows exactly the episodes that hold a record, by the birth of the oldest one.
//   2. Between calls no record is older than the limit.
// Cost: isDue() O(1); set() and remove() O(log E); 20 bytes an episode. It does not evict.
#pragma once

#include "kernel/store/birth_heap.hpp"
#include "kernel/store/episode_listener.hpp"

namespace exrp {

class AgeLimit final : public EpisodeListener {
 public:
  /// For up to `countMax` episodes; `ageMax` 0 is no limit.
  Status create(const EpisodeList& episodes, uint32_t countMax, uint64_t ageMax) {
    ageMax_ = ageMax;
    return isSet() ? heap_.create(episodes, countMax) : Status::ok;
  }
  /// Takes the memory for episodes below `count`.
  Status prepare(size_t count) { return isSet() ? heap_.prepare(count) : Status::ok; }

  bool isSet() const { return ageMax_ != 0; }
  /// Whether a record is too old for another one, of which `recordedCount` were written so far: that of oldest() is, then.
  bool isDue(uint64_t recordedCount) const { return recordedCount >= due_; }
  /// How many more records can be written before one is too old, the next one among them. Not to be asked when one is.
  uint64_t recordsLeft(uint64_t recordedCount) const {
    const uint64_t left = due_ - recordedCount;
    return isSet() && ageMax_ < left ? ageMax_ : left;
  }
  /// The episode with the oldest record, or episodeNone.
  uint32_t oldest() const { return heap_.first(); }

  /// The oldest record of an episode, known or not, has this birth.
  void set(uint32_t episode, uint64_t birth) {
    if (!isSet()) return;
    heap_.set(episode, birth);
    follow();
  }
  /// An episode, known or not, holds no record.
  void remove(uint32_t episode) {
    if (!isSet()) return;
    heap_.remove(episode);
    follow();
  }

  /// Whether a stored record can have this birth.
  bool allows(uint64_t birth, uint64_t recordedCount) const { return !isSet() || recordedCount - birth <= ageMax_; }

  // ---- what it hears ----

  Status prepare(const StoredEpisodes&, const Growth& growth) { return prepare(growth.episodeEnd); }
  void filled(const StoredEpisodes&, uint32_t episode, uint64_t birth) { set(episode, birth); }
  void trimmed(const StoredEpisodes& stored, uint32_t episode, uint32_t) {
    if (!isSet()) return;
    if (stored.holdsRecords(episode)) set(episode, stored.birthOf(episode));
    else remove(episode);
  }
  void removing(const StoredEpisodes&, uint32_t episode, bool) { remove(episode); }
  double memoryBytes() const { return isSet() ? heap_.memoryBytes() : 0; }
  int32_t check(const StoredEpisodes& stored) const {
    if (!isSet()) return 0;
    const auto isMember = [&](uint32_t episode) { return stored.holdsRecords(episode); };
    if (!heap_.holds(isMember, [&](uint32_t episode) { return stored.birthOf(episode); })) return 1;
    return heap_.count() == 0 || allows(heap_.firstBirth(), stored.recordedCount()) ? 0 : 2;
  }

 private:
  static constexpr uint64_t never = UINT64_MAX;

  void follow() { due_ = heap_.count() == 0 ? never : heap_.firstBirth() + ageMax_; }

  BirthHeap heap_;
  uint64_t ageMax_ = 0;
  uint64_t due_ = never;
};

}  // namespace exrp
