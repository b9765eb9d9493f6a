// AfterDraws: forgets an ended episode once it is spent: once it was drawn from `draws` times for each of its picks. Of several spent
// episodes, the first to be spent goes. While none is spent, the ended episode that was created first goes. (Reverb's max_times_sampled
// removes an item after so many draws; an episode of n picks stands for n items. Known here from Reverb's documentation and behaviour.)
//
// The draws of all picks count together: an episode is spent when they are draws * pickCount, whichever picks were drawn. An open episode
// still gets picks, so it is not spent before it ends. An episode that ends without a pick is spent at once, as it can never be drawn.
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants:
//   1 to 5. Those of EpisodeList, for the list of spent episodes, in the order in which they were spent, and for that of the others,
//      in the order of creation.
//   6. Every member is in one list: in that of the spent exactly when its draws are not fewer than those it needs.
//   7. No more draws are counted or needed than `countLargest`, unless it is open: then `unknown` are needed.
//   8. Marks are 0.
// Cost: all O(1), but that victim() takes a step for each open episode before it where none is spent; sampled one count a pick. 27 bytes an
// episode. A saved item's value is the count of draws.
// It does not forget anything by itself: a spent episode stays, and can be drawn, until room is needed.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "eviction/_episode_list.hpp"

namespace exrp {

class AfterDraws final : public EvictionPolicy {
 public:
  /// Draws beyond this are not counted.
  static constexpr uint32_t countLargest = UINT32_MAX - 1;

  /// `draws` is 1..countLargest.
  AfterDraws(uint32_t countMax, uint32_t draws) : spent_(countMax), others_(countMax), draws_(draws) {
    if (spent_.valid() && others_.valid() && uses_.create(countMax)) marks_.create(countMax);
  }
  bool valid() const { return marks_.data() != nullptr; }

  bool prepare(uint32_t count) override {
    return spent_.prepare(count) && others_.prepare(count) && uses_.commit(count) && marks_.commit(count);
  }

  void created(uint32_t episode) override {
    if (episode >= indexCount_) indexCount_ = episode + 1;
    uses_[episode] = Use{0, unknown};
    others_.pushBack(EpisodeList::nodeOf(episode));
  }

  void sampled(const uint32_t* episode, uint32_t count) override {
    Use* const uses = uses_.data();
    for (uint32_t pick = 0; pick < count; ++pick) {
      Use& use = uses[episode[pick]];
      if (use.draws == countLargest) continue;
      if (++use.draws == use.needed) spend(episode[pick]);
    }
  }

  void ended(uint32_t episode, uint32_t pickCount) override {
    others_.noteEnded(EpisodeList::nodeOf(episode));
    needFor(episode, pickCount);
  }
  /// Fewer picks need fewer draws. All draws still count, those of the picks that went among them.
  void trimmed(uint32_t episode, uint32_t pickCount) override { needFor(episode, pickCount); }

  void removed(uint32_t episode) override {
    const uint32_t node = EpisodeList::nodeOf(episode);
    (isSpent(episode) ? spent_ : others_).remove(node);
    uses_[episode] = Use{0, 0};
  }

  uint32_t victim() override { return (spent_.count() > 0 ? spent_ : others_).firstEnded(); }

  double memoryBytes() const override {
    return static_cast<double>(spent_.memoryBytes() + others_.memoryBytes()) + uses_.takenBytes(indexCount_);
  }

  /// In the order in which they would go, were nothing drawn any more and all ended.
  void save(EvictionItem* items) const override {
    spent_.save(items);
    others_.save(items + spent_.count());
    for (uint32_t item = 0; item < spent_.count() + others_.count(); ++item) items[item].value = uses_[items[item].episode].draws;
  }

  /// Which are spent follows from the draws; the order of the others is known from the creations already.
  Status load(const EvictionItem* items, uint32_t count) override {
    if (count != spent_.count() + others_.count()) return Status::dataCorrupt;
    uint32_t spentCount = 0;
    while (spentCount < count && markSpent(items[spentCount])) ++spentCount;
    const bool fits = othersAre(items + spentCount, count - spentCount);
    for (uint32_t item = 0; item < spentCount; ++item) marks_[items[item].episode] = 0;
    if (!fits) return Status::dataCorrupt;
    for (uint32_t item = 0; item < count; ++item) {
      uses_[items[item].episode].draws = items[item].value;
      if (item >= spentCount) continue;
      (spent_.contains(EpisodeList::nodeOf(items[item].episode)) ? spent_ : others_).remove(EpisodeList::nodeOf(items[item].episode));
      addSpent(items[item].episode);
    }
    return Status::ok;
  }

  int32_t check() const override {
    if (const int32_t broken = spent_.check(); broken != 0) return broken;
    if (const int32_t broken = others_.check(); broken != 0) return broken;
    for (uint32_t episode = 0; episode < indexCount_; ++episode) {
      const uint32_t node = EpisodeList::nodeOf(episode);
      const bool isMember = spent_.contains(node) || others_.contains(node);
      if (isMember && (spent_.contains(node) != isSpent(episode) || others_.contains(node) == isSpent(episode))) return 6;
      const bool hasEnded = spent_.hasEnded(node) || others_.hasEnded(node);
      if (isMember && hasEnded == (uses_[episode].needed == unknown)) return 7;
      if (uses_[episode].draws > countLargest) return 7;
      if (marks_[episode] != 0) return 8;
    }
    return 0;
  }

 private:
  struct Use {
    uint32_t draws;
    uint32_t needed;  // to be spent
  };
  /// What an open episode needs: more than can be counted.
  static constexpr uint32_t unknown = UINT32_MAX;

  bool isSpent(uint32_t episode) const { return uses_[episode].draws >= uses_[episode].needed; }

  /// The episode has ended, and has so many picks now.
  void needFor(uint32_t episode, uint32_t pickCount) {
    const bool wasSpent = isSpent(episode);
    const uint64_t needed = uint64_t{draws_} * pickCount;
    uses_[episode].needed = needed < countLargest ? static_cast<uint32_t>(needed) : countLargest;
    if (!wasSpent && isSpent(episode)) spend(episode);
  }

  void spend(uint32_t episode) {
    const uint32_t node = EpisodeList::nodeOf(episode);
    others_.remove(node);
    addSpent(episode);
  }

  void addSpent(uint32_t episode) {
    spent_.pushBack(EpisodeList::nodeOf(episode));
    spent_.noteEnded(EpisodeList::nodeOf(episode));
  }

  /// True when the item is a spent episode's that was not marked before; it is now.
  bool markSpent(const EvictionItem& item) {
    if (item.episode >= indexCount_ || item.value > countLargest || marks_[item.episode] != 0) return false;
    const uint32_t node = EpisodeList::nodeOf(item.episode);
    if (!spent_.contains(node) && !others_.contains(node)) return false;
    if (item.value < uses_[item.episode].needed) return false;
    marks_[item.episode] = 1;
    return true;
  }

  /// True when the items are all episodes that are not marked, in order, and none of them is spent.
  bool othersAre(const EvictionItem* items, uint32_t count) const {
    uint32_t item = 0;
    for (uint32_t node = others_.first(); node != EpisodeList::end; node = others_.next(node)) {
      const uint32_t episode = EpisodeList::episodeOf(node);
      if (marks_[episode] != 0) continue;
      if (item == count || items[item].episode != episode) return false;
      if (items[item].value > countLargest || items[item].value >= uses_[episode].needed) return false;
      ++item;
    }
    return item == count;
  }

  EpisodeList spent_;
  EpisodeList others_;
  ReservedArray<Use> uses_;       // by episode
  ReservedArray<uint8_t> marks_;  // by episode, while loading
  uint32_t draws_;
  uint32_t indexCount_ = 0;       // one more than the largest index ever a member
};

}  // namespace exrp
