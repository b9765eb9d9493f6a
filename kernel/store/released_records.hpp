// ReleasedRecords: which records were handed out and may go before any other, though nobody needs their room yet.
//
// They are the first ones of their episode: those before a position. Where room is needed, the oldest of them all goes first.
//
// Thread safety: none of its own.
// Invariants:
//   1. The heap has the episodes that hold a released record, by the birth of the oldest record that they hold.
// Cost: O(log of the episodes with released records); 24 bytes an episode. As long as nothing is released it takes no memory, and
// a question costs one comparison.
#pragma once

#include "kernel/store/birth_heap.hpp"
#include "kernel/store/episode_listener.hpp"

namespace exrp {

class ReleasedRecords final : public EpisodeListener {
 public:
  /// For up to `countMax` episodes of `episodes`.
  void create(const EpisodeList& episodes, uint32_t countMax) {
    episodes_ = &episodes;
    countMax_ = countMax;
  }
  /// Takes the memory for episodes below `count`, from the first release on.
  Status prepare(size_t count) { return inUse_ ? take(count) : Status::ok; }
  /// Takes it for the episodes that there are, before a release.
  Status begin() {
    if (until_.data() == nullptr) {
      if (!until_.create(countMax_, Pages::small)) return fail(Status::memory, double{4} * countMax_);
      const Status status = heap_.create(*episodes_, countMax_);
      if (status != Status::ok) {
        until_.destroy();  // the next call begins anew
        return status;
      }
    }
    const Status status = take(episodes_->highWater());
    inUse_ = inUse_ || status == Status::ok;
    return status;
  }

  /// The episode with the oldest released record, or episodeNone.
  uint32_t first() const { return inUse_ ? heap_.first() : episodeNone; }
  /// The released records of an episode are those before this position.
  uint32_t until(uint32_t episode) const { return inUse_ ? until_[episode] : 0; }

  /// The records before `until` are released. The oldest one that the episode holds has this birth, and it comes before `until`.
  void set(uint32_t episode, uint32_t until, uint64_t birth) {
    until_[episode] = until;
    heap_.set(episode, birth);
  }
  /// The episode lost records. The oldest one that it holds now, at `first`, has this birth. If it holds none, `first` is its count.
  void trimmed(uint32_t episode, uint32_t first, uint64_t birth) {
    if (!contains(episode)) return;
    if (first < until_[episode]) heap_.set(episode, birth);
    else remove(episode);
  }
  /// The episode lost its newest record, and has `count` now, at least one of which it holds.
  void shortened(uint32_t episode, uint32_t count) {
    if (inUse_ && until_[episode] > count) until_[episode] = count;
  }
  /// The episode goes, or holds no record.
  void remove(uint32_t episode) {
    if (!inUse_) return;
    until_[episode] = 0;
    heap_.remove(episode);
  }

  uint32_t count() const { return inUse_ ? heap_.count() : 0; }
  bool contains(uint32_t episode) const { return inUse_ && heap_.contains(episode); }

  // ---- what it hears ----

  Status prepare(const StoredEpisodes&, const Growth& growth) { return prepare(growth.episodeEnd); }
  void shortening(const StoredEpisodes& stored, uint32_t episode) { shortened(episode, stored.episodes()[episode].count - 1); }
  void trimmed(const StoredEpisodes& stored, uint32_t episode, uint32_t) {
    if (contains(episode)) trimmed(episode, stored.episodes().first(episode), stored.birthOf(episode));
  }
  void removing(const StoredEpisodes&, uint32_t episode, bool) { remove(episode); }
  double memoryBytes() const { return inUse_ ? until_.takenBytes(episodes_->highWater()) + heap_.memoryBytes() : 0; }
  int32_t check(const StoredEpisodes& stored) const {
    if (!inUse_) return 0;
    const auto isMember = [&](uint32_t episode) { return until_[episode] > 0; };
    bool areRight = heap_.holds(isMember, [&](uint32_t episode) { return stored.birthOf(episode); });
    for (uint32_t episode = episodes_->oldest(); episode != episodeNone; episode = (*episodes_)[episode].newer) {
      const uint32_t until = until_[episode];
      areRight &= until == 0 || (until <= (*episodes_)[episode].count && until > episodes_->first(episode));
    }
    return areRight ? 0 : 1;
  }

 private:
  Status take(size_t count) {
    const size_t bounded = count < countMax_ ? count : countMax_;
    if (!until_.commit(bounded)) return fail(Status::memory, 4.0 * static_cast<double>(bounded));
    return heap_.prepare(bounded);
  }

  const EpisodeList* episodes_ = nullptr;
  uint32_t countMax_ = 0;
  bool inUse_ = false;
  ReservedArray<uint32_t> until_;  // by episode
  BirthHeap heap_;
};

}  // namespace exrp
