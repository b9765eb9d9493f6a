// SumTree: weights of indices 0..countMax-1, their sum, and the index at a given point of the sum. With `trackMin` also the
// smallest positive weight.
//
// The sums are those of a binary tree: sum [lo, hi) = sum [lo, mid) + sum [mid, hi) in double, over ranges whose length is a
// power of two and which begin at a multiple of it; a leaf is its weight, 0 where none was set. It is stored in nodes of 16
// children, every fourth level; of the three levels between only the bounds are kept, which is what going down needs, and right
// above the leaves not even those: they are added up again on the way. Levels above the ones in use would add zeros, so totals
// and draws don't depend on countMax. Sums are always added up from children, never patched by differences.
//
// set() only writes the leaf and notes its node; settle() then adds up each noted node once, level by level.
// Going down at r: to the right if r >= sum of the left and the right isn't 0, taking the left's sum off r; else to the left.
// A subtree that is 0 is never entered while the total isn't 0, whatever the rounding: so a weight of 0 can't be drawn.
// Among the last 16 the fast way leaves out "and the right isn't 0". That differs from the rule only where it enters a subtree
// of sum 0, and then it arrives at a weight of 0: whoever arrives at one goes there again, carefully.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Every stored sum that isn't noted, nor above one that is, is the sum of its 16 children in the order above, to the bit,
//      and so are its bounds.
//   2. Likewise every stored minimum is the smallest positive one of its children, 0 if there is none.
//   3. A node of level 1 is in the list of noted nodes once if its bit is set, else not at all; above level 1 no bit is set.
//   4. Every weight is finite and >= 0.
// Cost and memory: see bench/probe/selectors.cpp; about sizeof(Leaf) + 1.4 bytes an index, 0.3 more with the minimum.
// It doesn't check its arguments: weights are finite and >= 0, r is in [0, total()], and total() is more than 0.
#pragma once

#include <cmath>

#include "kernel/memory.hpp"
#include "kernel/prefetch.hpp"
#include "selectors/_wide_node.hpp"

namespace exrp {

template <typename Leaf>
class SumTree {
 public:
  /// Takes address space for `countMax` weights; all but the leaves is usable at once.
  bool create(uint32_t countMax, bool trackMin = false) {
    trackMin_ = trackMin;
    depth_ = 1;
    used_ = 0;
    notedCount_ = 0;
    uint64_t nodes = countMax < 2 ? 2 : countMax;
    const uint64_t leaves = padded(nodes);
    topLevel_ = 0;
    while (nodes > 1) {
      nodes = (nodes + wideWidth - 1) >> wideBits;
      nodeCount_[++topLevel_] = nodes;
    }
    // The top comes first, so that what a small count uses lies together.
    uint64_t end = 0;
    uint64_t bitEnd = 0;
    for (uint32_t level = topLevel_; level >= 1; --level) {
      offset_[level] = end;
      bitOffset_[level] = bitEnd;
      end += padded(nodeCount_[level]);
      bitEnd += (nodeCount_[level] + 63) / 64;
    }
    const uint64_t boundEnd = offset_[1] * wideWidth;
    if (!leaves_.create(leaves) || !sums_.create(end) || !bounds_.create(boundEnd)) return false;
    if (!bits_.create(bitEnd) || !noted_.create(nodeCount_[1])) return false;
    if (trackMin_ && !(mins_.create(end) && mins_.commit(end))) return false;
    return sums_.commit(end) && bounds_.commit(boundEnd) && bits_.commit(bitEnd) && noted_.commit(nodeCount_[1]);
  }

  /// Makes the weights of indices 0..count-1 settable.
  bool commit(uint32_t count) { return leaves_.commit(padded(count)); }

  Leaf get(uint32_t index) const { return leaves_[index]; }
  void prefetch(uint32_t index) const { prefetchLine(&leaves_[index]); }

  void set(uint32_t index, Leaf weight) {
    leaves_[index] = weight;
    if (index >= used_) grow(index);
    const uint32_t node = index >> wideBits;
    if (note(1, node)) noted_[notedCount_++] = node;
  }

  /// Brings all sums up to date with the weights.
  void settle() {
    uint32_t count = notedCount_;
    notedCount_ = 0;
    for (uint32_t level = 1; count > 0; ++level) {
      uint32_t parents = 0;  // they overwrite the list in place: never more than what was read
      for (uint32_t k = 0; k < count; ++k) {
        if (k + 8 < count) prefetchChildren(level, noted_[k + 8]);
        const uint32_t node = noted_[k];
        addUp(level, node);
        const uint32_t parent = node >> wideBits;
        if (level < depth_ && note(level + 1, parent)) noted_[parents++] = parent;
      }
      count = parents;
    }
  }

  bool settled() const { return notedCount_ == 0; }
  /// The sum of all weights; settled.
  double total() const { return sums_[offset_[depth_]]; }
  /// The smallest positive weight, 0 if there is none; settled, with trackMin.
  Leaf minPositive() const { return mins_[offset_[depth_]]; }

  /// The index at r; settled, total() > 0.
  uint32_t find(double r) const {
    WideDoubles rest = {r, 0.0};
    uint32_t node = 0;
    for (uint32_t level = depth_; level >= 2; --level) node = (node << wideBits) + wideDescend(boundsOf(level, node), rest);
    return leafAt(node, rest);
  }

  /// find() for each of `count` points; the cache misses of 16 at a time overlap.
  void findMany(const double* points, uint32_t count, uint32_t* index) const {
    constexpr uint32_t flight = 16;
    for (uint32_t first = 0; first < count; first += flight) {
      const uint32_t n = count - first < flight ? count - first : flight;
      uint32_t node[flight] = {};
      WideDoubles rest[flight] = {};
      for (uint32_t k = 0; k < n; ++k) rest[k][0] = points[first + k];
      for (uint32_t level = depth_; level >= 2; --level)
        for (uint32_t k = 0; k < n; ++k) {
          node[k] = (node[k] << wideBits) + wideDescend(boundsOf(level, node[k]), rest[k]);
          prefetchWayDown(level - 1, node[k]);
        }
      for (uint32_t k = 0; k < n; ++k) index[first + k] = leafAt(node[k], rest[k]);
    }
  }

  /// Bytes in use for `count` weights.
  double memoryBytes(uint32_t count) const {
    const double nodes = static_cast<double>(count) / (wideWidth - 1);
    const double nodeBytes = 2 * sizeof(double) + sizeof(uint32_t) + 0.125 + (trackMin_ ? sizeof(Leaf) : 0);
    return static_cast<double>(count) * sizeof(Leaf) + nodes * nodeBytes;
  }

  int32_t check() const {
    if (!notedConsistent()) return 3;
    for (uint32_t index = 0; index < used_; ++index)
      if (!std::isfinite(leaves_[index]) || leaves_[index] < 0) return 4;
    uint64_t span = used_;
    for (uint32_t level = 1; level <= depth_; ++level) {
      span = (span + wideWidth - 1) >> wideBits;
      for (uint32_t node = 0; node < span; ++node) {
        if (aboveNoted(level, node)) continue;
        if (!sumsRight(level, node)) return 1;
        if (trackMin_ && mins_[offset_[level] + node] != minBelow(level, node)) return 2;
      }
    }
    return 0;
  }

 private:
  static constexpr uint32_t levelMax = 8;  // 16^8 = 2^32
  static uint64_t padded(uint64_t count) { return (count + wideWidth - 1) / wideWidth * wideWidth; }

  const Leaf* leavesBelow(uint32_t node) const { return &leaves_[size_t{node} << wideBits]; }
  const double* sumsBelow(uint32_t level, uint32_t node) const {
    return &sums_[offset_[level - 1] + (size_t{node} << wideBits)];
  }
  const Leaf* minsBelow(uint32_t level, uint32_t node) const {
    return level == 1 ? leavesBelow(node) : &mins_[offset_[level - 1] + (size_t{node} << wideBits)];
  }
  double* boundsOf(uint32_t level, uint32_t node) { return &bounds_[(offset_[level] + node) << wideBits]; }
  const double* boundsOf(uint32_t level, uint32_t node) const { return &bounds_[(offset_[level] + node) << wideBits]; }
  Leaf minBelow(uint32_t level, uint32_t node) const { return wideMinPositive(minsBelow(level, node)); }

  void prefetchChildren(uint32_t level, uint32_t node) const {
    if (level == 1) {
      prefetchLine(leavesBelow(node));
      if constexpr (sizeof(Leaf) == 8) prefetchLine(leavesBelow(node) + 8);
    } else {
      prefetchLine(sumsBelow(level, node));
      prefetchLine(sumsBelow(level, node) + 8);
    }
  }

  void prefetchWayDown(uint32_t level, uint32_t node) const {
    if (level == 1) return prefetchChildren(level, node);
    prefetchLine(boundsOf(level, node));
    prefetchLine(boundsOf(level, node) + 8);
  }

  uint32_t leafAt(uint32_t node, WideDoubles rest) const {
    const Leaf* below = leavesBelow(node);
    uint32_t child = wideDescendLeaves(below, rest);
    if (!(below[child] > 0)) child = wideDescendCarefully(below, rest[0]);
    return (node << wideBits) + child;
  }

  void addUp(uint32_t level, uint32_t node) {
    sums_[offset_[level] + node] =
        level == 1 ? wideSum(leavesBelow(node)) : wideBounds(sumsBelow(level, node), boundsOf(level, node));
    if (trackMin_) mins_[offset_[level] + node] = minBelow(level, node);
    bits_[bitOffset_[level] + (node >> 6)] &= ~(uint64_t{1} << (node & 63));
  }

  bool sumsRight(uint32_t level, uint32_t node) const {
    const double sum = sums_[offset_[level] + node];
    if (level == 1) return sum == wideSum(leavesBelow(node));
    double bound[wideWidth];
    if (sum != wideBounds(sumsBelow(level, node), bound)) return false;
    for (uint32_t at = 1; at < wideWidth; ++at)
      if (bound[at] != boundsOf(level, node)[at]) return false;
    return true;
  }

  /// Sets the node's bit; true if it was not set.
  bool note(uint32_t level, uint32_t node) {
    uint64_t& word = bits_[bitOffset_[level] + (node >> 6)];
    const uint64_t bit = uint64_t{1} << (node & 63);
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }
  bool noted(uint32_t level, uint32_t node) const {
    return (bits_[bitOffset_[level] + (node >> 6)] >> (node & 63) & 1) != 0;
  }

  /// Takes a level more into use where `index` needs it. Its first node is above the one just set, so settle() adds it up.
  void grow(uint32_t index) {
    used_ = index + 1;
    while (depth_ < topLevel_ && (index >> (wideBits * depth_)) != 0) ++depth_;
  }

  bool aboveNoted(uint32_t level, uint32_t node) const {
    for (uint32_t k = 0; k < notedCount_; ++k)
      if (noted_[k] >> (wideBits * (level - 1)) == node) return true;
    return false;
  }

  bool notedConsistent() const {
    uint64_t bitCount = 0;
    for (uint32_t level = 1; level <= topLevel_; ++level)
      for (uint64_t node = 0; node < nodeCount_[level]; ++node)
        if (noted(level, static_cast<uint32_t>(node))) {
          if (level > 1) return false;
          ++bitCount;
        }
    if (bitCount != notedCount_) return false;
    for (uint32_t k = 0; k < notedCount_; ++k)
      if (noted_[k] >= nodeCount_[1] || !noted(1, noted_[k])) return false;
    return true;
  }

  ReservedArray<Leaf> leaves_;
  ReservedArray<double> sums_;      // node j of level l is at offset_[l] + j; its children are 16j.. of level l - 1
  ReservedArray<double> bounds_;     // the bounds of that node, from level 2 up, are at 16 (offset_[l] + j)
  ReservedArray<Leaf> mins_;        // as sums_, with trackMin
  ReservedArray<uint64_t> bits_;    // bit j of level l, from word bitOffset_[l]: node j is noted
  ReservedArray<uint32_t> noted_;   // nodes of level 1 whose leaves changed since settle()
  uint64_t offset_[levelMax + 1] = {};
  uint64_t bitOffset_[levelMax + 1] = {};
  uint64_t nodeCount_[levelMax + 1] = {};
  uint32_t notedCount_ = 0;
  uint32_t depth_ = 1;     // levels in use; only grows
  uint32_t topLevel_ = 1;  // levels there is room for
  uint32_t used_ = 0;      // no index at or above it was ever set
  bool trackMin_ = false;
};

}  // namespace exrp
