// BirthHeap: episodes in the order of their oldest stored record. So the one whose oldest record is the oldest of all is at hand.
//
// The birth of a record is the number of records that were written to the replay before it. Of two episodes with equal births, the one
// with the smaller handle comes first. So the order does not depend on indices, and is the same after loading.
//
// Thread safety: none of its own.
// Invariants:
//   1. Entries 1..count() hold each member once, and a member's note says which entry holds it. The note is 0 for an index that is no member.
//   2. No entry comes before its parent.
// Cost: first() O(1); set() and remove() O(log E), and set() O(1) where the episode is the youngest. 20 bytes an episode.
// It does not know what an episode holds.
#pragma once

#include "kernel/store/episode_list.hpp"

namespace exrp {

class BirthHeap {
 public:
  /// For up to `countMax` episodes of `episodes`.
  Status create(const EpisodeList& episodes, uint32_t countMax) {
    episodes_ = &episodes;
    if (notes_.create(countMax, Pages::huge, 0) && entries_.create(size_t{countMax} + 1, Pages::huge, 0)) return Status::ok;
    return fail(Status::memory, double{20} * countMax);
  }
  /// Takes the memory for episodes below `count`.
  Status prepare(size_t count) {
    const size_t bounded = count < notes_.countMax() ? count : notes_.countMax();
    return notes_.commit(bounded) && entries_.commit(bounded + 1) ? Status::ok : fail(Status::memory, 20.0 * static_cast<double>(bounded));
  }

  uint32_t count() const { return count_; }
  bool contains(uint32_t episode) const { return notes_[episode] != 0; }
  /// The episode whose oldest record is the oldest, or episodeNone.
  uint32_t first() const { return count_ == 0 ? episodeNone : entries_[1].episode; }
  /// The birth of its oldest record. There is one.
  uint64_t firstBirth() const { return entries_[1].birth; }
  /// Whether its members are the episodes of which `isMember(episode)` says so, by `birthOf(episode)`, and its invariants hold.
  template <typename IsMember, typename BirthOf>
  bool holds(IsMember isMember, BirthOf birthOf) const {
    uint32_t members = 0;
    uint32_t notes = 0;
    for (uint32_t episode = 0; episode < episodes_->highWater(); ++episode) notes += contains(episode) ? 1u : 0u;
    for (uint32_t episode = episodes_->oldest(); episode != episodeNone; episode = (*episodes_)[episode].newer) {
      if (!isMember(episode)) continue;
      ++members;
      if (!contains(episode) || entries_[notes_[episode]].birth != birthOf(episode)) return false;
    }
    for (uint32_t entry = 1; entry <= count_; ++entry) {
      if (entries_[entry].episode >= episodes_->highWater() || notes_[entries_[entry].episode] != entry) return false;
      if (entry > 1 && isBefore(entries_[entry], entries_[entry / 2])) return false;
    }
    return members == count_ && notes == count_;
  }

  /// The oldest record of `episode`, a member or not, has this birth.
  void set(uint32_t episode, uint64_t birth) {
    if (notes_[episode] == 0) {
      notes_[episode] = ++count_;
      if (count_ >= countHighWater_) countHighWater_ = count_ + 1;
    }
    file(notes_[episode], {birth, episode});
  }
  /// The episode, a member or not, holds no record any more.
  void remove(uint32_t episode) {
    const uint32_t entry = notes_[episode];
    if (entry == 0) return;
    notes_[episode] = 0;
    const Entry last = entries_[count_--];
    if (entry <= count_) file(entry, last);
  }

  double memoryBytes() const { return notes_.takenBytes(episodes_->highWater()) + entries_.takenBytes(countHighWater_); }

 private:
  struct Entry {
    uint64_t birth;
    uint32_t episode;
  };

  bool isBefore(const Entry& a, const Entry& b) const {
    if (a.birth != b.birth) return a.birth < b.birth;
    return (*episodes_)[a.episode].handle < (*episodes_)[b.episode].handle;
  }
  void put(uint32_t at, const Entry& entry) {
    entries_[at] = entry;
    notes_[entry.episode] = at;
  }
  /// Puts `entry` at `at`, which is free, or where its order wants it above or below.
  void file(uint32_t at, const Entry entry) {
    for (; at > 1 && isBefore(entry, entries_[at / 2]); at /= 2) put(at, entries_[at / 2]);
    for (uint32_t child = 2 * at; child <= count_; child = 2 * at) {
      if (child < count_ && isBefore(entries_[child + 1], entries_[child])) ++child;
      if (!isBefore(entries_[child], entry)) break;
      put(at, entries_[child]);
      at = child;
    }
    put(at, entry);
  }

  const EpisodeList* episodes_ = nullptr;
  ReservedArray<uint32_t> notes_;  // by episode: its entry, 0 for none
  ReservedArray<Entry> entries_;   // from 1 on
  uint32_t count_ = 0;
  uint32_t countHighWater_ = 0;  // of entries
};

}  // namespace exrp
