// ScoreTournament: which slot has the largest score q + c sqrt(ln T / n), as T grows.
//
// With L = sqrt(ln T) and a = c / sqrt(n), a score is a line q + a L. The slots are the leaves of a binary tree of matches. Each node
// keeps the winner of its subtree, and the L until which that winner can't change. (This is a kinetic tournament: Basch, Guibas and
// Hershberger, "Data structures for mobile data", 1999.) L grows slower and slower, so the root nearly always answers a question. A
// changed slot, or an L that was reached, replays the matches above it.
//
// It is exact. Lines decide a match only where they differ by more than rounding could. Otherwise the scores are computed in double, as the
// rule says, and a tie goes to the smaller n. Such a match is replayed at every question until the lines are apart.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. A node's limit is at most those of its children; a node above a changed slot has limit -1.
//   2. A node whose limit is above the L of the last question has as winner the best of its children's winners.
// Cost: O(log slots) a change; a question O(1) + O(log slots) a change since the last, and rarely more. 44 bytes a slot.
// n is different in every slot (else a tie between two would have no rule).
#pragma once

#include <limits>

#include "kernel/base/memory.hpp"

namespace exrp {

/// sqrt(ln T / n) c, the bonus of UCB, in the one order of operations that counts.
inline double ucbBonus(double c, double lnT, uint64_t n) { return c * __builtin_sqrt(lnT / static_cast<double>(n)); }

class ScoreTournament {
 public:
  static constexpr uint32_t none = 0xffffffffu;

  /// Takes address space for `slotMax` slots.
  bool create(uint32_t slotMax, double c) {
    uint64_t leaves = 1;
    while (leaves < slotMax) leaves *= 2;
    c_ = c;
    // |q + a L| <= 1 + 7 c, for L <= sqrt(ln 2^64) < 7; 64 roundings are more than happen.
    margin_ = 64.0 * 0x1p-53 * (1.0 + 7.0 * c);
    return lines_.create(leaves) && nodes_.create(leaves) && scratch_.create(leaves) && commit(1);
  }

  /// Makes slots 0..count-1 settable. False for want of memory.
  bool commit(uint32_t count) {
    if (count <= leafCount_) return true;
    uint32_t leaves = leafCount_ == 0 ? 1 : leafCount_;
    while (leaves < count) leaves *= 2;
    if (!lines_.commit(leaves) || !nodes_.commit(leaves) || !scratch_.commit(leaves)) return false;
    leafCount_ = leaves;
    replayAll();
    return true;
  }
  /// All matches are to be played again. After it best() may be asked with a smaller lnT than before.
  void replayAll() {
    for (uint32_t node = 1; node < leafCount_; ++node) nodes_[node] = {changed, none};
    lastLength_ = 0.0;
  }

  /// Slot takes part with q in [0, 1] and n >= 1.
  void set(uint32_t slot, double q, uint64_t n) {
    Line& line = lines_[slot];
    if (line.n == n && line.q == q) return;
    line = {q, c_ / __builtin_sqrt(static_cast<double>(n)), n};
    mark(slot);
  }
  /// Slot takes no part.
  void clear(uint32_t slot) {
    if (lines_[slot].n == 0) return;
    lines_[slot].n = 0;
    mark(slot);
  }

  /// The slot with the largest score, of equal ones the one with the smallest n; none if no slot takes part. lnT >= 0 must not be
  /// less than the last time, unless replayAll() came in between.
  uint32_t best(double lnT) {
    if (leafCount_ == 1) return winnerOf(1);
    const double length = __builtin_sqrt(lnT);
    if (nodes_[1].limit > length) return nodes_[1].winner;
    // Parents before children into the list, then backwards through it.
    uint32_t count = 0;
    scratch_[count++] = 1;
    for (uint32_t k = 0; k < count; ++k)
      for (uint32_t child = 2 * scratch_[k]; child <= 2 * scratch_[k] + 1 && child < leafCount_; ++child)
        if (nodes_[child].limit <= length) scratch_[count++] = child;
    while (count > 0) play(scratch_[--count], lnT, length);
    lastLength_ = length;
    return nodes_[1].winner;
  }

  double memoryBytes() const {
    if (leafCount_ < 2) return 0.0;
    return lines_.takenBytes(leafCount_) + nodes_.takenBytes(leafCount_) + scratch_.takenBytes(leafCount_);
  }

  bool holds(uint32_t slot, double q, uint64_t n) const { return lines_[slot].q == q && lines_[slot].n == n; }
  bool absent(uint32_t slot) const { return slot >= leafCount_ || lines_[slot].n == 0; }

  int32_t check() const {
    for (uint32_t node = 1; node < leafCount_; ++node) {
      for (uint32_t child = 2 * node; child <= 2 * node + 1; ++child)
        if (limitOf(child) < nodes_[node].limit) return 1;
      if (nodes_[node].limit <= lastLength_) continue;
      const uint32_t a = winnerOf(2 * node);
      const uint32_t b = winnerOf(2 * node + 1);
      const uint32_t winner = a == none ? b : b == none || firstWins(a, b, lastLength_ * lastLength_) ? a : b;
      // lastLength_ squared is ln T but for rounding, which a limit above it allows for.
      if (nodes_[node].winner != winner) return 2;
    }
    return 0;
  }

 private:
  static constexpr double changed = -1.0;
  static constexpr double never = std::numeric_limits<double>::infinity();

  struct Line {
    double q;
    double a;
    uint64_t n;  // 0: takes no part
  };
  struct Node {
    double limit;  // the winner stays below this L
    uint32_t winner;
  };

  uint32_t winnerOf(uint32_t node) const {
    if (node < leafCount_) return nodes_[node].winner;
    return lines_[node - leafCount_].n == 0 ? none : node - leafCount_;
  }
  double limitOf(uint32_t node) const { return node < leafCount_ ? nodes_[node].limit : never; }

  void mark(uint32_t slot) {
    for (uint32_t node = (leafCount_ + slot) / 2; node >= 1 && nodes_[node].limit != changed; node /= 2)
      nodes_[node].limit = changed;
  }

  /// The rule itself.
  bool firstWins(uint32_t a, uint32_t b, double lnT) const {
    const double scoreA = lines_[a].q + ucbBonus(c_, lnT, lines_[a].n);
    const double scoreB = lines_[b].q + ucbBonus(c_, lnT, lines_[b].n);
    return scoreA != scoreB ? scoreA > scoreB : lines_[a].n < lines_[b].n;
  }

  void play(uint32_t node, double lnT, double length) {
    const uint32_t a = winnerOf(2 * node);
    const uint32_t b = winnerOf(2 * node + 1);
    const double limitA = limitOf(2 * node);
    const double limitB = limitOf(2 * node + 1);
    const double limit = limitA < limitB ? limitA : limitB;
    if (a == none || b == none) {
      nodes_[node] = {limit, a == none ? b : a};
      return;
    }
    if (lines_[a].q == lines_[b].q) {
      // Every step of a score rounds monotonically, so the smaller n never scores less, whatever T, and it wins a tie.
      nodes_[node] = {limit, lines_[a].n < lines_[b].n ? a : b};
      return;
    }
    const double gap = (lines_[a].q - lines_[b].q) + (lines_[a].a - lines_[b].a) * length;
    if (gap > margin_ || gap < -margin_) {
      const double until = gap > 0.0 ? apartUntil(a, b, gap, length) : apartUntil(b, a, -gap, length);
      nodes_[node] = {limit < until ? limit : until, gap > 0.0 ? a : b};
    } else {
      // Replayed at the next question: its L is not below this one's.
      const double now = limit < length ? limit : length;
      nodes_[node] = {now, firstWins(a, b, lnT) ? a : b};
    }
  }

  /// An L below which the line `high`, now `gap` above `low`, stays above by margin_. The divisor is rounded up generously: the
  /// difference of two slopes that are nearly equal carries their roundings.
  double apartUntil(uint32_t high, uint32_t low, double gap, double length) const {
    const double closing = lines_[low].a - lines_[high].a;
    if (lines_[high].n <= lines_[low].n) return never;
    return length + (gap - margin_) / (closing * (1.0 + 0x1p-10) + lines_[low].a * 0x1p-50);
  }

  ReservedArray<Line> lines_;        // by slot
  ReservedArray<Node> nodes_;        // 1 is the root, 2k and 2k + 1 are below k, leafCount_ + slot is a leaf (not stored)
  ReservedArray<uint32_t> scratch_;  // nodes to be played again
  uint32_t leafCount_ = 0;           // a power of two
  double c_ = 0.0;
  double margin_ = 0.0;
  double lastLength_ = 0.0;
};

}  // namespace exrp
