// ScoreTournament: which pick has the largest score q + c sqrt(ln T / n), as T and the largest priority grow.
//
// A pick's q is its priority p divided by the largest so far, P. So the scores' order is that of the lines p + a L, with a = c / sqrt(n)
// and L = P sqrt(ln T), which never falls. The picks are the leaves of a binary tree of matches. Each node
// keeps the winner of its subtree, and the L until which that winner can't change. (This is a kinetic tournament: Basch, Guibas and
// Hershberger, "Data structures for mobile data", 1999.) L grows slower and slower, so few matches need to be played again. A changed
// pick, or an L that was reached, replays the matches above it.
//
// A pick that was never drawn wins; of two the older. Of equal scores the smaller n wins, then the larger priority, then the older pick.
//
// It is exact. Lines decide a match only where they differ by more than rounding could. Otherwise the scores are computed in double, as the
// rule says. Such a match is played again at every question with a larger L, until the lines are apart. Lines of equal n or of equal
// priorities never cross, and every step of a score rounds monotonically, so nothing has to be computed for them.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. A node's limit is at most those of its children; a node above a changed pick has limit `changed`.
//   2. A node whose limit is not below the L of the last question has as winner the best of its children's winners.
// Cost: O(log N) a change and O(1) a question, amortised. 12 bytes a pick, and up to twice that while the view fills.
#pragma once

#include <limits>

#include "kernel/base/memory.hpp"
#include "kernel/base/prefetch.hpp"

namespace exrp {

/// What the UCB selector keeps of a pick.
struct UcbPick {
  uint64_t birth;  // picks that were pushed before it, ever
  uint32_t n;      // how often it was drawn; at its largest value it stays
  float priority;  // finite, >= 0
};

/// What of a score is the same for all picks.
struct UcbScale {
  double lnT;
  double priorityMax;
};

class ScoreTournament {
 public:
  static constexpr uint32_t none = 0xffffffffu;

  /// For some of `picks`: for those that were never drawn, if `isForNew`.
  ScoreTournament(const ReservedArray<UcbPick>& picks, double c, bool isForNew) : picks_(picks), c_(c), isForNew_(isForNew) {}

  bool create(uint32_t countMax) {
    countMax_ = countMax;
    return limits_.create(countMax) && winners_.create(countMax);
  }
  /// Takes memory for picks below `count`. False for want of it.
  bool prepare(uint32_t count) {
    if (count <= leafCount_) return true;
    const uint32_t twice = leafCount_ < countMax_ / 2 ? 2 * leafCount_ : countMax_;
    const uint32_t leaves = count > twice ? count : twice;
    if (!limits_.commit(leaves) || !winners_.commit(leaves)) return false;
    leafCount_ = leaves;
    playAllAgain();
    return true;
  }
  /// After it best() may be asked with a smaller scale than before.
  void playAllAgain() {
    for (uint32_t node = 1; node < leafCount_; ++node) limits_[node] = changed;
    length_ = 0.0;
  }
  /// There are `count` picks now. The one at the end that came or went has changed.
  void resize(uint32_t count) { count_ = count; }
  /// The pick has changed.
  void change(uint32_t index) {
    for (uint32_t node = (leafCount_ + index) / 2; node >= 1 && limits_[node] != changed; node /= 2) {
      limits_[node] = changed;
      const uint32_t other = node > 1 ? winnerOf(node ^ 1) : none;
      if (other != none) prefetchLine(&picks_[other]);  // it will be played against
    }
  }

  double score(const UcbPick& pick, const UcbScale& scale) const {
    const double quality = scale.priorityMax > 0.0 ? static_cast<double>(pick.priority) / scale.priorityMax : 0.0;
    return quality + c_ * __builtin_sqrt(scale.lnT / pick.n);
  }

  /// The pick with the largest score, or none. Neither number of the scale, lnT >= 0, may be less than the last time, unless playAllAgain()
  /// came in between.
  uint32_t best(const UcbScale& scale) {
    if (leafCount_ == 1) return winnerOf(1);
    scale_ = scale;
    length_ = scale.priorityMax * __builtin_sqrt(scale.lnT);
    if (limits_[1] >= length_) return winners_[1];
    // Down to the matches to be played, and back up from each.
    for (uint32_t node = 1;;) {
      const uint32_t child = 2 * node;
      if (limitOf(child) < length_) {
        node = child;
      } else if (limitOf(child + 1) < length_) {
        node = child + 1;
      } else {
        play(node);
        if (node == 1) return winners_[1];
        node /= 2;
      }
    }
  }

  double memoryBytes() const { return leafCount_ < 2 ? 0.0 : limits_.takenBytes(leafCount_) + winners_.takenBytes(leafCount_); }

  int32_t check() const {
    for (uint32_t node = 1; node < leafCount_; ++node) {
      if (limitOf(2 * node) < limits_[node] || limitOf(2 * node + 1) < limits_[node]) return 1;
      if (limits_[node] < length_) continue;
      const uint32_t a = winnerOf(2 * node);
      const uint32_t b = winnerOf(2 * node + 1);
      if (winners_[node] != (a == none ? b : b == none || wins(a, b) ? a : b)) return 2;
    }
    return 0;
  }

 private:
  static constexpr double changed = -1.0;
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr double rounding = 64.0 * 0x1p-53;  // 64 roundings are more than happen

  // Node 1 is the root, 2k and 2k + 1 are below k, and leafCount_ + index is a leaf, which is not stored.
  uint32_t winnerOf(uint32_t node) const {
    if (node < leafCount_) return winners_[node];
    const uint32_t index = node - leafCount_;
    return index < count_ && (!isForNew_ || picks_[index].n == 0) ? index : none;
  }
  double slopeOf(uint32_t n) const { return c_ / __builtin_sqrt(n); }
  double limitOf(uint32_t node) const { return node < leafCount_ ? limits_[node] : never; }

  /// The rule itself: whether pick a comes before pick b.
  bool wins(uint32_t a, uint32_t b) const {
    const UcbPick& x = picks_[a];
    const UcbPick& y = picks_[b];
    if (x.n == y.n) return x.n == 0 || x.priority == y.priority ? x.birth < y.birth : x.priority > y.priority;
    if (x.n == 0 || y.n == 0 || x.priority == y.priority) return x.n < y.n;
    const double scoreX = score(x, scale_);
    const double scoreY = score(y, scale_);
    return scoreX != scoreY ? scoreX > scoreY : x.n < y.n;
  }

  void play(uint32_t node) {
    const uint32_t a = winnerOf(2 * node);
    const uint32_t b = winnerOf(2 * node + 1);
    double limit = never;
    winners_[node] = a == none ? b : a;
    if (a != none && b != none) {
      const UcbPick& x = picks_[a];
      const UcbPick& y = picks_[b];
      const bool cross = x.n != y.n && x.n != 0 && y.n != 0 && x.priority != y.priority;
      if (cross) limit = playLines(node, a, b);
      else if (!wins(a, b)) winners_[node] = b;
    }
    const double below = limitOf(2 * node) < limitOf(2 * node + 1) ? limitOf(2 * node) : limitOf(2 * node + 1);
    limits_[node] = below < limit ? below : limit;
  }

  /// Lets the higher line win, and returns an L until which it surely stays above: by more than the rounding of the scores, which grows with L.
  /// That of the slopes' difference is in it.
  double playLines(uint32_t node, uint32_t a, uint32_t b) {
    const double priorityA = picks_[a].priority;
    const double priorityB = picks_[b].priority;
    const double steeper = slopeOf(picks_[a].n) - slopeOf(picks_[b].n);
    const double gap = (priorityA - priorityB) + steeper * length_;
    const double apart = (gap < 0.0 ? -gap : gap) - rounding * ((priorityA > priorityB ? priorityA : priorityB) + c_ * length_);
    if (!(apart > 0.0)) {
      winners_[node] = wins(a, b) ? a : b;
      return length_;
    }
    winners_[node] = gap > 0.0 ? a : b;
    const double closing = gap > 0.0 ? -steeper : steeper;
    return closing > 0.0 ? length_ + apart / (closing * (1.0 + 0x1p-10) + rounding * c_) : never;
  }

  const ReservedArray<UcbPick>& picks_;
  const double c_;
  const bool isForNew_;
  ReservedArray<double> limits_;     // by node
  ReservedArray<uint32_t> winners_;  // by node
  uint32_t countMax_ = 0;
  uint32_t count_ = 0;
  uint32_t leafCount_ = 0;
  UcbScale scale_ = {0.0, 0.0};  // of the last question
  double length_ = 0.0;          // its L
};

}  // namespace exrp
