// AfterDraws: forgets an ended episode once it is spent: once it was drawn from `draws` times for each of its picks. Of several spent
// episodes, the first to be spent goes. While none is spent, the ended episode that was created first goes. (Reverb's max_times_sampled
// removes an item after so many draws; an episode of n picks stands for n items. Known here from Reverb's documentation and behaviour.)
//
// The draws of all picks count together: an episode is spent when they are draws * pickCount, whichever picks were drawn. An open episode
// still gets picks, so it is not spent before it ends. An episode that ends without a pick is spent at once, as it can never be drawn.
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants:
//   1 to 3. Those of EpisodeHeap, in which open episodes wait; a value is 0 for a spent episode and 1 for another, and its time that at
//      which it was spent or created.
//   4. A value is 0 exactly when the episode's draws are not fewer than those it needs.
//   5. No more draws are counted or needed than `countLargest`, unless it is open: then `unknown` are needed.
// Cost: created, victim O(1); ended, removed O(log E); sampled one count a pick, and O(log E) for one that is spent by it. 28 bytes an
// episode. A saved item's value is the count of draws.
// It does not forget anything by itself: a spent episode stays, and can be drawn, until room is needed.
#pragma once

#include <cstdint>

#include "eviction/_episode_heap.hpp"

namespace exrp {

/// What an AfterDraws keeps of an episode.
struct DrawsNote {
  uint32_t draws;
  uint32_t needed;  // to be spent
};

class AfterDraws final : public NotedPolicy<DrawsNote> {
 public:
  /// Draws beyond this are not counted.
  static constexpr uint32_t countLargest = UINT32_MAX - 1;

  /// `draws` is 1..countLargest.
  AfterDraws(uint32_t countMax, uint32_t draws) : NotedPolicy(countMax), draws_(draws) {}

  void created(uint32_t episode) override {
    notes_[episode] = {0, unknown};
    heap_.add(episode, 1, ++now_);
  }

  void sampled(const uint32_t* episode, uint32_t count) override {
    DrawsNote* const notes = notes_.data();
    for (uint32_t pick = 0; pick < count; ++pick) {
      DrawsNote& note = notes[episode[pick]];
      if (note.draws == countLargest) continue;
      if (++note.draws == note.needed) heap_.set(episode[pick], 0, ++now_);
    }
  }

  void ended(uint32_t episode, uint32_t pickCount) override {
    heap_.file(episode);
    needFor(episode, pickCount);
  }
  /// Fewer picks need fewer draws. All draws still count, those of the picks that went among them.
  void trimmed(uint32_t episode, uint32_t pickCount) override { needFor(episode, pickCount); }

  /// In the order in which they would go, were nothing drawn any more and all ended.
  void save(EvictionItem* items) const override {
    heap_.save(items);
    for (uint32_t item = 0; item < heap_.count(); ++item) items[item].value = notes_[items[item].episode].draws;
  }

  /// Which are spent follows from the draws.
  Status load(const EvictionItem* items, uint32_t count) override {
    for (uint32_t item = 0; item < count; ++item)
      if (items[item].value > countLargest) return Status::dataCorrupt;
    const auto value = [this](const EvictionItem& item) { return item.value >= notes_[item.episode].needed ? 0u : 1u; };
    const Status status = take(items, count, value);
    for (uint32_t item = 0; status == Status::ok && item < count; ++item) notes_[items[item].episode].draws = items[item].value;
    return status;
  }

  int32_t check() const override {
    if (const int32_t broken = heap_.check(); broken != 0) return broken;
    for (uint32_t episode = 0; episode < heap_.indexCount(); ++episode) {
      if (!heap_.contains(episode)) continue;
      if (heap_.value(episode) != (isSpent(episode) ? 0 : 1)) return 4;
      if (heap_.isFiled(episode) == (notes_[episode].needed == unknown) || notes_[episode].draws > countLargest) return 5;
    }
    return 0;
  }

 private:
  /// What an open episode needs: more than can be counted.
  static constexpr uint32_t unknown = UINT32_MAX;

  bool isSpent(uint32_t episode) const { return notes_[episode].draws >= notes_[episode].needed; }

  /// The episode has ended, and has so many picks now.
  void needFor(uint32_t episode, uint32_t pickCount) {
    const bool wasSpent = isSpent(episode);
    const uint64_t needed = uint64_t{draws_} * pickCount;
    notes_[episode].needed = needed < countLargest ? static_cast<uint32_t>(needed) : countLargest;
    if (!wasSpent && isSpent(episode)) heap_.set(episode, 0, ++now_);
  }

  uint32_t draws_;
};

}  // namespace exrp
