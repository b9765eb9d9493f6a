// UcbSelector: upper-confidence-bound experience sampling. score_i = q_i + c sqrt(ln T / n_i): q_i is the pick's priority divided
// by the largest set so far (0 while that is 0), and n_i how often it was drawn. T counts all draws of this selector so far, those of
// evicted picks included. Each draw of a batch sees the counts that the ones before it left.
//
// Picks that were never drawn come first, oldest first. Then:
// - greedy draws the pick with the largest score; of equal scores the smaller n, then the larger priority, then the older pick;
// - proportional draws with P(i) = score_i / sum of scores, as a mixture. The share of q is drawn by a SumTree over the priorities. The
//   share of the bonus is drawn as a group of equal n by count / sqrt(n), then any of its members. If all scores are 0, draws are uniform.
// The result is exact at every draw, and no draw looks at all picks: among equal n the order doesn't depend on T.
//
// A new pick gets the largest priority set so far, a running maximum that begins at initialPriority and only rises; priorities are
// kept as float32. Probability reported: greedy 1 (importance weights are all 1); proportional P(i), and 1 / N for a draw that was
// forced because the pick was never drawn, or uniform: so it has the importance weight of a uniform draw.
//
// select() may want memory at any draw. It notes what each draw does, and undoes all of the batch when there is no memory.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Every pick waits or is in one group; the line and the groups together have all picks, the line in order of birth.
//   2. 0 <= priority <= the running maximum; births are below the next one.
//   3. Proportional: the trees' weights are the priorities, and count / sqrt(n) of each group.
//   4. Greedy: the tournament has each group's head, unless the maximum has risen since the last draw.
//   Those of the parts: 10 + DrawGroups', 20 and 30 + the trees', 40 + the tournament's.
// Cost: see bench/probe/selectors.cpp. pushed, moved, popped O(1) or, of a drawn pick, O(log N); a draw O(log N).
// Memory: 24 bytes a pick, 8 to 32 more once it was drawn (10 measured), 5.1 more if proportional, about 90 a group, and 12 a draw of the
// largest batch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernel/base/portable_math.hpp"
#include "kernel/base/priority.hpp"
#include "kernel/base/scratch.hpp"
#include "kernel/sockets/pick_selector.hpp"
#include "selectors/_draw_groups.hpp"
#include "selectors/_score_tournament.hpp"
#include "selectors/sum_tree.hpp"

namespace exrp {

struct UcbOptions {
  double c = 1.0;                // 0..10^100
  bool proportional = false;     // else greedy
  double initialPriority = 1.0;  // >= 0, finite
};

class UcbSelector final : public PickSelector {
 public:
  UcbSelector(const UcbOptions& options, Random random, uint32_t countMax)
      : options_(options),
        random_(random),
        countMax_(countMax),
        priorityMax_(portableWeight(options.initialPriority)),
        waiting_(picks_),
        groups_(picks_) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() {
    if (!(options_.c >= 0.0 && options_.c <= 1e100)) return Status::argument;
    if (!isPriority(options_.initialPriority)) return Status::argument;
    if (!picks_.create(countMax_)) return Status::memory;
    if (!groups_.create(countMax_, !options_.proportional)) return Status::memory;
    const uint32_t slotMax = countMax_ + 2;
    if (!options_.proportional) return tournament_.create(slotMax, options_.c) ? Status::ok : Status::memory;
    if (!priorities_.create(countMax_)) return Status::memory;
    return bonuses_.create(slotMax) ? Status::ok : Status::memory;
  }

  bool prepare(uint32_t count) override {
    return picks_.commit(count) && (!options_.proportional || priorities_.commit(count));
  }

  void pushed(uint32_t index) override {
    picks_[index].birth = birthNext_++;
    picks_[index].priority = priorityMax_;
    waiting_.append(index);
    if (options_.proportional) priorities_.set(index, priorityMax_);
    count_ = index + 1;
  }
  void moved(uint32_t from, uint32_t to) override {
    takeOut(to);
    picks_[to] = picks_[from];
    if (picks_[to].group == UcbPick::waiting)
      waiting_.relocated(to);
    else
      groups_.relocated(to);
    picks_[from].group = UcbPick::gone;
    if (options_.proportional) priorities_.set(to, picks_[to].priority);
  }
  void popped(uint32_t index) override {
    if (picks_[index].group != UcbPick::gone) takeOut(index);
    if (options_.proportional) priorities_.set(index, 0.0f);
    count_ = index;
  }

  bool getPriority(const uint32_t* index, uint32_t count, double* priority) const override {
    for (uint32_t k = 0; k < count; ++k) priority[k] = static_cast<double>(picks_[index[k]].priority);
    return true;
  }

  void setPriority(const uint32_t* index, const double* priority, uint32_t count) override {
    for (uint32_t k = 0; k < count; ++k) {
      UcbPick& pick = picks_[index[k]];
      pick.priority = portableWeight(priority[k]);
      if (pick.priority > priorityMax_) {
        priorityMax_ = pick.priority;
        scaleChanged_ = true;
      }
      if (options_.proportional) priorities_.set(index[k], pick.priority);
      if (pick.group == UcbPick::waiting) continue;
      groups_.reprioritized(index[k]);
      refresh(pick.group);
    }
  }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    if (!removals_.commit(count)) return Status::memory;
    if (scaleChanged_) refreshAll();
    scaleChanged_ = false;
    if (options_.proportional) priorities_.settle();
    const Random before = random_;
    for (uint32_t k = 0; k < count; ++k) {
      if (!waiting_.empty()) {
        index[k] = waiting_.head();
        probability[k] = options_.proportional ? 1.0 / count_ : 1.0;
      } else {
        const double lnT = portableLog(static_cast<double>(drawCount_));
        if (options_.proportional)
          drawProportional(lnT, index + k, probability + k);
        else
          drawGreedy(lnT, index + k, probability + k);
      }
      if (!advance(index[k], &removals_[k])) {
        undo(k, index);
        random_ = before;
        return Status::memory;
      }
      ++drawCount_;
    }
    uint32_t last = UcbPick::waiting;
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t slot = removals_[k].slot;
      if (slot != last && slot != UcbPick::waiting) groups_.trim(slot);
      last = slot;  // mostly runs of one slot
    }
    return Status::ok;
  }

  bool weighted() const override { return options_.proportional; }
  double memoryBytes(uint32_t countHighWater) const override {
    double bytes = sizeof(*this) + picks_.takenBytes(countHighWater) + groups_.memoryBytes();
    bytes += static_cast<double>(removals_.committed() * sizeof(DrawGroups::Removal));
    if (!options_.proportional) return bytes + tournament_.memoryBytes();
    return bytes + priorities_.memoryBytes() + bonuses_.memoryBytes();
  }

  uint32_t headerBytes() const override { return Random::stateBytes + 20; }
  uint32_t itemBytes() const override { return sizeof(Item); }
  void saveHeader(uint8_t* bytes) const override {
    random_.save(bytes);
    std::memcpy(bytes + Random::stateBytes, &drawCount_, 8);
    std::memcpy(bytes + Random::stateBytes + 8, &birthNext_, 8);
    std::memcpy(bytes + Random::stateBytes + 16, &priorityMax_, 4);
  }
  void saveItems(uint32_t first, uint32_t count, uint8_t* bytes) const override {
    for (uint32_t k = 0; k < count; ++k) {
      const UcbPick& pick = picks_[first + k];
      const bool drawn = pick.group != UcbPick::waiting;
      const uint64_t n = drawn ? groups_.at(pick.group).n : 0;
      const Item item = {{static_cast<uint32_t>(n), static_cast<uint32_t>(n >> 32)},
                         {static_cast<uint32_t>(pick.birth), static_cast<uint32_t>(pick.birth >> 32)},
                         pick.priority,
                         pick.group,
                         drawn ? pick.position : 0};
      std::memcpy(bytes + sizeof(Item) * k, &item, sizeof(Item));
    }
  }
  Status loadHeader(const uint8_t* bytes) override;
  Status loadItems(uint32_t first, uint32_t count, const uint8_t* bytes) override;
  Status loadEnd() override;
  int32_t check() const override;

 private:
  struct Item {  // 28 bytes, without padding
    uint32_t n[2];
    uint32_t birth[2];
    float priority;
    uint32_t slot;      // UcbPick::waiting: never drawn
    uint32_t position;  // in the group
  };
  static_assert(sizeof(Item) == 28);
  static constexpr uint64_t countLimit = uint64_t{1} << 53;  // draws and births: exact in a double, and never reached

  double quality(float priority) const {
    return priorityMax_ > 0.0f ? static_cast<double>(priority) / static_cast<double>(priorityMax_) : 0.0;
  }
  static double bonusWeight(const DrawGroups::Group& group) {
    return static_cast<double>(group.count) / __builtin_sqrt(static_cast<double>(group.n));
  }

  void drawGreedy(double lnT, uint32_t* index, double* probability) {
    *index = groups_.at(tournament_.best(lnT)).members[0].index;
    *probability = 1.0;
  }

  void drawProportional(double lnT, uint32_t* index, double* probability) {
    bonuses_.settle();
    const double prioritySum = priorities_.total();
    const double bonusSum = bonuses_.total();
    const double qualityShare = priorityMax_ > 0.0f ? prioritySum / static_cast<double>(priorityMax_) : 0.0;
    const double bonusShare = options_.c * __builtin_sqrt(lnT) * bonusSum;
    const double sum = qualityShare + bonusShare;
    if (!(sum > 0.0)) {
      *index = random_.below(count_);
      *probability = 1.0 / count_;
      return;
    }
    const double x = random_.uniform() * sum;
    const double y = random_.uniform();
    if (bonusShare <= 0.0 || x < qualityShare) {
      *index = priorities_.find(y * prioritySum);
    } else {
      const DrawGroups::Group& group = groups_.at(bonuses_.find(y * bonusSum));
      *index = group.members[random_.below(group.count)].index;
    }
    const UcbPick& pick = picks_[*index];
    *probability = (quality(pick.priority) + ucbBonus(options_.c, lnT, groups_.at(pick.group).n)) / sum;
  }

  /// Counts a draw of the pick: it goes to the next group. False for want of memory, with nothing changed.
  bool advance(uint32_t index, DrawGroups::Removal* removal) {
    const uint32_t slots = groups_.slotEnd() + 1;
    if (!(options_.proportional ? bonuses_.commit(slots) : tournament_.commit(slots))) return false;
    const uint32_t from = picks_[index].group;
    const bool first = from == UcbPick::waiting;
    uint32_t to = 0;
    if (!groups_.prepare(first ? DrawGroups::none : from, &to)) return false;
    if (first) {
      waiting_.remove(index);
      *removal = {UcbPick::waiting, 0, 0};
    } else {
      *removal = groups_.remove(index);
      refresh(from);
    }
    groups_.add(to, index);
    refresh(to);
    return true;
  }

  /// Undoes the first `count` draws of the batch, the last one first.
  void undo(uint32_t count, const uint32_t* index) {
    for (uint32_t k = count; k-- > 0;) {
      const uint32_t to = picks_[index[k]].group;
      const uint32_t from = removals_[k].slot;
      groups_.undoMove(index[k], removals_[k]);
      if (from == UcbPick::waiting)
        waiting_.prepend(index[k]);
      else
        refresh(from);
      refresh(to);
      --drawCount_;
    }
    groups_.trimAll();
    if (!options_.proportional) tournament_.replayAll();
  }

  void takeOut(uint32_t index) {
    const uint32_t slot = picks_[index].group;
    if (slot == UcbPick::waiting) return waiting_.remove(index);
    groups_.remove(index);
    groups_.trim(slot);
    refresh(slot);
  }

  /// Tells the tournament, or the tree of bonuses, what has become of the group.
  void refresh(uint32_t slot) {
    const bool used = groups_.used(slot);
    const DrawGroups::Group& group = groups_.at(slot);
    if (options_.proportional)
      bonuses_.set(slot, used ? bonusWeight(group) : 0.0);
    else if (used)
      tournament_.set(slot, quality(group.members[0].priority), group.n);
    else
      tournament_.clear(slot);
  }
  void refreshAll() {
    for (uint32_t slot = groups_.first(); slot != DrawGroups::none; slot = groups_.at(slot).next) refresh(slot);
  }

  Status lineUp();
  bool groupsRefreshed() const;

  UcbOptions options_;
  Random random_;
  uint32_t countMax_;
  uint32_t count_ = 0;
  float priorityMax_;
  bool scaleChanged_ = false;  // the maximum has risen: the qualities in the tournament are of the old one
  uint64_t drawCount_ = 0;     // T
  uint64_t birthNext_ = 0;
  ReservedArray<UcbPick> picks_;
  WaitingLine waiting_;
  DrawGroups groups_;
  ScoreTournament tournament_;   // greedy: the groups' heads
  SumTree<float> priorities_;    // proportional: of all picks
  SumTree<double> bonuses_;      // proportional: count / sqrt(n) by slot
  Scratch<DrawGroups::Removal> removals_;  // what each draw of a batch took out, so that a failed batch can be undone
};

inline Status UcbSelector::loadHeader(const uint8_t* bytes) {
  uint64_t counts[2] = {};
  float priorityMax = 0.0f;
  std::memcpy(counts, bytes + Random::stateBytes, 16);
  std::memcpy(&priorityMax, bytes + Random::stateBytes + 16, 4);
  if (counts[0] > countLimit || counts[1] > countLimit || counts[1] < count_) return Status::dataCorrupt;
  if (!(priorityMax >= portableWeight(options_.initialPriority) && std::isfinite(priorityMax))) return Status::dataCorrupt;
  if (!random_.load(bytes)) return Status::dataCorrupt;
  drawCount_ = counts[0];
  birthNext_ = counts[1];
  priorityMax_ = priorityMax;
  waiting_.clear();
  groups_.clear();
  return Status::ok;
}

inline Status UcbSelector::loadItems(uint32_t first, uint32_t count, const uint8_t* bytes) {
  if (first > count_ || count > count_ - first) return Status::dataCorrupt;
  for (uint32_t k = 0; k < count; ++k) {
    Item item;
    std::memcpy(&item, bytes + sizeof(Item) * k, sizeof(Item));
    const uint64_t n = uint64_t{item.n[1]} << 32 | item.n[0];
    const uint64_t birth = uint64_t{item.birth[1]} << 32 | item.birth[0];
    const bool drawn = item.slot != UcbPick::waiting;
    if (n > drawCount_ || birth >= birthNext_ || (n > 0) != drawn) return Status::dataCorrupt;
    if (drawn ? item.slot > countMax_ || item.position >= count_ : item.position != 0) return Status::dataCorrupt;
    if (!(item.priority <= priorityMax_) || portableWeight(static_cast<double>(item.priority)) != item.priority)
      return Status::dataCorrupt;
    picks_[first + k] = {birth, item.priority, item.slot, item.position, UcbPick::none};
    if (options_.proportional) priorities_.set(first + k, item.priority);
    bool memory = false;
    if (drawn && !groups_.loadMember(item.slot, n, &memory)) return memory ? Status::memory : Status::dataCorrupt;
  }
  return Status::ok;
}

inline Status UcbSelector::loadEnd() {
  uint64_t draws = 0;
  for (uint32_t slot = 0; slot < groups_.slotEnd(); ++slot) {
    if (!groups_.used(slot)) continue;
    const DrawGroups::Group& group = groups_.at(slot);
    if (group.n > (drawCount_ - draws) / group.count) return Status::dataCorrupt;
    draws += group.n * group.count;
  }
  if (const Status status = lineUp(); status != Status::ok) return status;
  if (const Status status = groups_.loadEnd(count_); status != Status::ok) return status;
  const uint32_t slots = groups_.slotEnd();
  if (!(options_.proportional ? bonuses_.commit(slots) : tournament_.commit(slots))) return Status::memory;
  refreshAll();
  return Status::ok;
}

/// Puts the picks that wait into the line by birth. No two picks may have the same.
inline Status UcbSelector::lineUp() {
  struct Entry {
    uint64_t birth;
    uint32_t index;
  };
  auto* entries = static_cast<Entry*>(resizeMemory(nullptr, (size_t{count_} + 1) * sizeof(Entry)));
  if (entries == nullptr) return Status::memory;
  for (uint32_t index = 0; index < count_; ++index) entries[index] = {picks_[index].birth, index};
  std::sort(entries, entries + count_, [](const Entry& a, const Entry& b) { return a.birth < b.birth; });
  Status status = Status::ok;
  for (uint32_t k = 0; k < count_; ++k) {
    if (k > 0 && entries[k].birth == entries[k - 1].birth) status = Status::dataCorrupt;
    if (picks_[entries[k].index].group == UcbPick::waiting) waiting_.append(entries[k].index);
  }
  std::free(entries);
  return status;
}

inline int32_t UcbSelector::check() const {
  uint64_t members = 0;
  uint32_t before = UcbPick::none;
  for (uint32_t index = waiting_.head(); index != UcbPick::none; before = index, index = picks_[index].next) {
    if (index >= count_ || ++members > count_ || picks_[index].group != UcbPick::waiting) return 1;
    if (picks_[index].position != before) return 1;
    if (before != UcbPick::none && picks_[before].birth >= picks_[index].birth) return 1;
  }
  if (const int32_t broken = groups_.check(); broken != 0) return 10 + broken;
  for (uint32_t slot = groups_.first(); slot != DrawGroups::none; slot = groups_.at(slot).next)
    members += groups_.at(slot).count;
  if (members != count_) return 1;
  for (uint32_t index = 0; index < count_; ++index) {
    const UcbPick& pick = picks_[index];
    if (pick.group != UcbPick::waiting && !groups_.used(pick.group)) return 1;
    if (!(pick.priority >= 0.0f && pick.priority <= priorityMax_) || pick.birth >= birthNext_) return 2;
    if (options_.proportional && priorities_.get(index) != pick.priority) return 3;
  }
  if (!groupsRefreshed()) return options_.proportional ? 3 : 4;
  if (!options_.proportional) return tournament_.check() == 0 ? 0 : 40 + tournament_.check();
  if (const int32_t broken = priorities_.check(); broken != 0) return 20 + broken;
  if (const int32_t broken = bonuses_.check(); broken != 0) return 30 + broken;
  return 0;
}

/// Invariants 3 and 4, of every slot.
inline bool UcbSelector::groupsRefreshed() const {
  for (uint32_t slot = 0; slot < groups_.slotEnd(); ++slot) {
    const bool used = groups_.used(slot);
    const DrawGroups::Group& group = groups_.at(slot);
    if (options_.proportional) {
      if (bonuses_.get(slot) != (used ? bonusWeight(group) : 0.0)) return false;
    } else if (!used) {
      if (!tournament_.absent(slot)) return false;
    } else if (!scaleChanged_ && !tournament_.holds(slot, quality(group.members[0].priority), group.n)) {
      return false;
    }
  }
  return true;
}

}  // namespace exrp
