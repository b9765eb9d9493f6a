// AgeEndSelector: always the oldest pick of the view, or always the newest: the samplers Fifo and Lifo of Reverb.
//
// A draw takes nothing out of the view, so all draws of a batch are the same pick. With `distinct`, each draw is the next in age after the
// draw before, and after the last pick comes the first again. Age is the order in which picks came into the view, as this selector
// saw it. Picks that were there before the selector count in the view's order. Priorities are ignored.
// Draws are certain: probability 1, importance weights 1; no random numbers.
//
// Picks are a doubly linked list in order of age, the links by index.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. From the oldest on by `newer`, every pick below the count comes once, the last is the newest, and none follows it.
//   2. `older` leads the same way back.
// Cost: every operation O(1), a draw a store. Memory: 8 bytes a pick.
#pragma once

#include "kernel/base/memory.hpp"
#include "kernel/rules/saved_selector.hpp"

namespace exrp {

/// What an AgeEndSelector saves. The pick that is next in age is the Item of each.
struct AgeEndState {
  uint32_t oldest;
};

class AgeEndSelector final : public SavedSelector<AgeEndSelector, AgeEndState, uint32_t> {
 public:
  AgeEndSelector(bool newest, bool distinct, uint32_t countMax)
      : SavedSelector({none}), newest_(newest), distinct_(distinct), countMax_(countMax) {}

  Status create() { return links_.create(countMax_) ? Status::ok : Status::memory; }

  bool prepare(uint32_t count) override { return links_.commit(count); }

  void pushed(uint32_t index) override {
    links_[index] = {newestPick_, none};
    join(newestPick_, index);
    newestPick_ = index;
    count_ = index + 1;
  }
  void moved(uint32_t from, uint32_t to) override {
    takeOut(to);
    links_[to] = links_[from];
    join(links_[to].older, to);
    joinBack(to, links_[to].newer);
    links_[from] = {gone, gone};
  }
  void popped(uint32_t index) override {
    if (links_[index].older != gone) takeOut(index);
    count_ = index;
  }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    const uint32_t end = newest_ ? newestPick_ : state_.oldest;
    uint32_t at = end;
    for (uint32_t k = 0; k < count; ++k) {
      index[k] = at;
      if (!distinct_) continue;
      at = newest_ ? links_[at].older : links_[at].newer;
      if (at == none) at = end;
    }
    for (uint32_t k = 0; k < count; ++k) probability[k] = 1.0;
    return Status::ok;
  }

  bool drawsTogether() const override { return distinct_; }
  bool weighted() const override { return false; }
  double memoryBytes(uint32_t countHighWater) const override { return sizeof(*this) + links_.takenBytes(countHighWater); }

  bool restored() { return isPossible(state_.oldest) && (state_.oldest != none || count_ == 0); }
  uint32_t item(uint32_t index) const { return links_[index].newer; }
  bool isPossible(uint32_t newer) const { return newer < count_ || newer == none; }
  void setItem(uint32_t index, uint32_t newer) { links_[index] = {none, newer}; }
  Status loadEnd() override {
    // As many steps as picks, all new: one that leads to a pick met before would have to be its second way in.
    newestPick_ = none;
    uint32_t steps = 0;
    for (uint32_t index = state_.oldest; index != none; index = links_[index].newer) {
      if (steps++ == count_ || (index == state_.oldest && steps > 1) || links_[index].older != none) return Status::dataCorrupt;
      links_[index].older = newestPick_;
      newestPick_ = index;
    }
    return steps == count_ ? Status::ok : Status::dataCorrupt;
  }

  int32_t check() const override {
    uint32_t before = none;
    uint32_t steps = 0;
    for (uint32_t index = state_.oldest; index != none; before = index, index = links_[index].newer) {
      if (index >= count_ || steps++ == count_) return 1;
      if (links_[index].older != before) return 2;
    }
    return steps == count_ && newestPick_ == before ? 0 : 1;
  }

 private:
  static constexpr uint32_t none = 0xffffffffu;
  static constexpr uint32_t gone = 0xfffffffeu;

  struct Link {
    uint32_t older;  // the pick that is next older, none, or gone: moved away
    uint32_t newer;
  };

  /// `index` comes next after `older`, or is the oldest.
  void join(uint32_t older, uint32_t index) { (older == none ? state_.oldest : links_[older].newer) = index; }
  /// `index` comes right before `newer`, or is the newest.
  void joinBack(uint32_t index, uint32_t newer) { (newer == none ? newestPick_ : links_[newer].older) = index; }
  void takeOut(uint32_t index) {
    const Link link = links_[index];
    join(link.older, link.newer);
    joinBack(link.older, link.newer);
  }

  bool newest_;
  bool distinct_;
  uint32_t countMax_;
  uint32_t newestPick_ = none;
  ReservedArray<Link> links_;
};

}  // namespace exrp
