// SumTree: weights of indices 0..countMax-1, their sum, and the index at a given point of the sum. With `trackMin` also the
// smallest positive weight.
//
// The sums are those of a binary tree: sum [lo, hi) = sum [lo, mid) + sum [mid, hi) in double. The length of a range is a power of two,
// and a range begins at a multiple of its length. A leaf is its weight, 0 where none was set. Only every fourth level is stored: the sums of
// nodes of 16 children. Levels above those in use would add zeros, so totals and draws don't depend on countMax. Sums are always
// added up from children, never patched by differences.
//
// set() only writes the leaf and notes its node; sumUp() then adds up each noted node once, level by level.
//
// The rule of going down at r: go to the right if r >= the left's sum and the right's sum isn't 0, and take the left's sum off r; else go
// to the left. A subtree of sum 0 is never entered while the total isn't 0, whatever the rounding. So a weight of 0 can't be drawn.
//
// The rule takes four steps a node, and each waits for the one before. So a search among the running sums of each node comes first: it
// takes the last child whose sum before it is at most r (_sum_node_vectors.hpp). The search ends at the same leaf as the rule, unless r
// is so close to one of the leaf's ends that rounding decides. Only then is the rule followed. So draws are the rule's, to the bit,
// however the search adds up. The search may therefore be coarse: right above the leaves, where most memory is, running sums are float32.
//
// How close is too close? Let u = 2^-24, and y the point's rest within its node of level 2. As a float32, y is off by u y; what is taken
// off it is off by 5 u y (a value and four sums), and their difference by u y. That makes 7 u y, and 8 are kept. Doubles, in the levels
// above and on the rule's way, are off by less than 2^-45 of the total, and 2^-44 is kept. For the leaf's own ends see
// _sum_node_vectors.hpp. Up to 2^28 weights, whatever they are, fewer than one point in 3,000 is too close, on average. Sums near the
// largest float32 go by the rule.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Every stored sum that isn't noted, nor above one that is, is the sum of its 16 children in the order above, to the bit,
//      and the running sums are those of nodeBefore().
//   2. Likewise every stored minimum is the smallest positive one of its children, 0 if there is none.
//   3. A node of level 1 is noted where its bit is set; above level 1 no bit is. The list has the nodes that were noted first, each once:
//      all of them, unless they are more than it holds.
//   4. Every weight is finite and >= 0.
// Cost and memory: see bench/probe/selectors.cpp; about sizeof(Leaf) + 0.8 bytes an index, 0.3 more with the minimum.
// It doesn't check its arguments: weights are finite and >= 0, r is in [0, total()], and total() is more than 0.
#pragma once

#include <cassert>
#include <cmath>
#include <limits>

#include "kernel/base/memory.hpp"
#include "kernel/base/prefetch.hpp"
#include "selectors/_sum_node.hpp"
#include "selectors/_sum_node_vectors.hpp"

namespace exrp {

template <typename Leaf>
class SumTree {
 public:
  /// Takes address space for `countMax` weights. Results don't depend on `avx2`.
  bool create(uint32_t countMax, bool trackMin = false, bool avx2 = hasAvx2()) {
    trackMin_ = trackMin;
    avx2_ = avx2;
    depth_ = 1;
    used_ = 0;
    notedCount_ = 0;
    uint64_t nodes = countMax < 2 ? 2 : countMax;
    const uint64_t leaves = padded(nodes);
    topLevel_ = 0;
    while (nodes > 1) {
      nodes = (nodes + nodeWidth - 1) >> nodeBits;
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
    listMax_ = listMaxOf(nodeCount_[1]);
    const uint64_t farEnd = topLevel_ > 2 ? offset_[2] * nodeWidth : 0;
    const uint64_t nearEnd = topLevel_ >= 2 ? padded(nodeCount_[2]) * nodeWidth : 0;
    if (!leaves_.create(leaves) || !near_.create(nearEnd) || !noted_.create(listMax_)) return false;
    // Small counts use the beginning of each level: most of a huge page would stay empty.
    if (!sums_.create(end, Pages::small) || !far_.create(farEnd, Pages::small) || !bits_.create(bitEnd, Pages::small)) return false;
    if (trackMin_ && !mins_.create(end, Pages::small)) return false;
    return commit(1);
  }

  /// Makes the weights of indices 0..count-1 settable. False for want of memory.
  bool commit(uint32_t count) {
    if (count == 0) return true;
    const uint64_t sumEnd = offset_[1] + padded(nodesFor(1, count));
    if (!leaves_.commit(padded(count)) || !sums_.commit(sumEnd) || (trackMin_ && !mins_.commit(sumEnd))) return false;
    if (topLevel_ >= 2 && !near_.commit(padded(nodesFor(2, count)) * nodeWidth)) return false;
    if (topLevel_ > 2 && !far_.commit((offset_[3] + nodesFor(3, count)) * nodeWidth)) return false;
    return bits_.commit(bitOffset_[1] + (nodesFor(1, count) + 63) / 64) && noted_.commit(listedOf(nodesFor(1, count)));
  }

  Leaf get(uint32_t index) const { return leaves_[index]; }
  /// Indices below this are settable.
  uint64_t settableCount() const { return leaves_.committed(); }
  /// Asks for what set() of this weight and the sumUp() after it read and write.
  void prefetch(uint32_t index) const {
    prefetchLineFar(&leaves_[index]);
    if (topLevel_ >= 2) prefetchSums(index >> (2 * nodeBits));
  }

  void set(uint32_t index, Leaf weight) {
    leaves_[index] = weight;
    if (index >= used_) grow(index);
    const uint32_t node = index >> nodeBits;
    if (!note(1, node)) return;
    if (notedCount_ < listMax_) noted_[notedCount_] = node;
    ++notedCount_;
  }

  /// Brings all sums up to date with the weights.
  void sumUp() {
    if (avx2_) return sumUpAvx2();
    sumUpBy<NodePlain>();
  }

  bool isSummedUp() const { return notedCount_ == 0; }
  /// The sum of all weights; summed up.
  double total() const { return sums_[offset_[depth_]]; }
  /// The smallest positive weight, 0 if there is none; summed up, with trackMin.
  Leaf minPositive() const { return mins_[offset_[depth_]]; }

  /// The index at r; summed up, total() > 0.
  uint32_t find(double r) const {
    uint32_t index = 0;
    double weight = 0.0;
    findMany(&r, 1, false, &index, &weight);
    return index;
  }

  /// find() for each of `count` points, and the weight of each index; `weight` may be `points`. Cache misses overlap. Where points
  /// are said to be `ascending` they must be; the upper levels are then gone through for a few of them only.
  void findMany(const double* points, uint32_t count, bool ascending, uint32_t* index, double* weight) const {
    const Search search = {points, count, ascending, index, weight};
    if (avx2_) return findAvx2(search);
    findBy<NodePlain>(search);
  }

  /// Bytes of the pages in use.
  double memoryBytes() const {
    if (used_ == 0) return 0.0;
    double bytes = leaves_.takenBytes(used_) + noted_.takenBytes(listedOf(nodesFor(1, used_)));
    if (depth_ >= 2) bytes += near_.takenBytes(nodesFor(2, used_) * nodeWidth);
    double sumEnd = 0;  // the ends of the pages that are counted
    double farEnd = 0;
    for (uint32_t level = depth_; level >= 1; --level) {
      const auto nodes = static_cast<double>(nodesFor(level, used_));
      const auto first = static_cast<double>(offset_[level]);
      const double sums = pagesFrom(sizeof(double) * first, sizeof(double) * (first + nodes), &sumEnd);
      bytes += sums + (trackMin_ ? sums * sizeof(Leaf) / sizeof(double) : 0.0);
      if (level > 2) bytes += pagesFrom(sizeof(double) * nodeWidth * first, sizeof(double) * nodeWidth * (first + nodes), &farEnd);
    }
    return bytes + bits_.takenBytes(nodesFor(1, used_) / 64 + 1);
  }

  int32_t check() const {
    if (!notedConsistent()) return 3;
    for (uint32_t index = 0; index < used_; ++index)
      if (!std::isfinite(leaves_[index]) || leaves_[index] < 0) return 4;
    uint64_t span = used_;
    for (uint32_t level = 1; level <= depth_; ++level) {
      span = (span + nodeWidth - 1) >> nodeBits;
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
  static constexpr uint32_t flight = 64;
  static uint64_t padded(uint64_t count) { return (count + nodeWidth - 1) / nodeWidth * nodeWidth; }

  /// The most noted nodes that are kept in a list, of `count` nodes. Where more are noted, they are at least as many as their words of bits.
  static uint32_t listMaxOf(uint64_t count) {
    const uint64_t most = count / 64 > 4096 ? count / 64 : 4096;
    return static_cast<uint32_t>(most < count ? most : count);
  }
  /// How many of `count` noted nodes are in the list.
  uint64_t listedOf(uint64_t count) const { return count < listMax_ ? count : listMax_; }
  /// How many nodes of a level `count` weights need.
  static uint64_t nodesFor(uint32_t level, uint64_t count) {
    return (count + (uint64_t{1} << (nodeBits * level)) - 1) >> (nodeBits * level);
  }
  /// Bytes of the pages that hold the bytes from `first` to before `last`, but for those up to `*counted`.
  double pagesFrom(double first, double last, double* counted) const {
    const double page = sums_.takenBytes(1);
    const double begin = std::floor(first / page) * page;
    const double end = std::ceil(last / page) * page;
    const double from = begin > *counted ? begin : *counted;
    *counted = end > *counted ? end : *counted;
    return end > from ? end - from : 0.0;
  }

  const Leaf* leavesBelow(uint32_t node) const { return &leaves_[size_t{node} << nodeBits]; }
  const double* sumsBelow(uint32_t level, uint32_t node) const {
    return &sums_[offset_[level - 1] + (size_t{node} << nodeBits)];
  }
  const Leaf* minsBelow(uint32_t level, uint32_t node) const {
    return level == 1 ? leavesBelow(node) : &mins_[offset_[level - 1] + (size_t{node} << nodeBits)];
  }
  const float* nearOf(uint64_t node) const { return &near_[node << nodeBits]; }
  const double* farOf(uint32_t level, uint64_t node) const { return &far_[(offset_[level] + node) << nodeBits]; }
  Leaf minBelow(uint32_t level, uint32_t node) const { return nodeMinPositive(minsBelow(level, node)); }

  /// Asks for the sums below a node of level 2, and for its running sums.
  void prefetchSums(size_t node) const {
    prefetchLineFar(&sums_[offset_[1] + (node << nodeBits)]);
    prefetchLineFar(&sums_[offset_[1] + (node << nodeBits) + 8]);
    prefetchLineFar(nearOf(node));
  }

  void prefetchChildren(uint32_t level, uint32_t node) const {
    if (level == 1) {
      prefetchLine(leavesBelow(node));
      if constexpr (sizeof(Leaf) == 8) prefetchLine(leavesBelow(node) + 8);
    } else {
      prefetchLine(sumsBelow(level, node));
      prefetchLine(sumsBelow(level, node) + 8);
    }
  }

  /// What findMany() is asked for.
  struct Search {
    const double* points;
    uint32_t count;
    bool ascending;
    uint32_t* index;
    double* weight;
  };
  /// Where the search begins: a node, what is before it, and where it ends. Points below its end are taken to lie in it.
  struct Start {
    uint32_t level;
    uint32_t node;
    double first;
    double end;
  };

  EXRP_AVX2 __attribute__((flatten)) void findAvx2(const Search& search) const { findBy<NodeAvx2>(search); }

  template <typename Vectors>
  __attribute__((always_inline)) void findBy(const Search& search) const {
    Start start = {depth_, 0, 0.0, std::numeric_limits<double>::infinity()};
    if (search.ascending) {
      // As low as still has several points a node, so that going on to the next node is rare.
      while (start.level > 2 && uint64_t{8} * nodesAt(start.level - 1) <= search.count) --start.level;
      if (start.level < depth_) start.end = 0.0;
    }
    for (uint32_t first = 0; first < search.count; first += flight) {
      const uint32_t n = search.count - first < flight ? search.count - first : flight;
      findFlight<Vectors>(search.points + first, n, start, search.index + first, search.weight + first);
    }
  }

  /// Up to `flight` points, level by level, so that each waits for its cache lines while the others go on.
  template <typename Vectors>
  __attribute__((always_inline)) void findFlight(const double* points, uint32_t n, Start& start, uint32_t* index, double* weight) const {
    uint32_t node[flight];
    double rest[flight];
    for (uint32_t k = 0; k < n; ++k) {
      if (points[k] >= start.end) start = startAt<Vectors>(start.level, points[k]);
      node[k] = start.node;
      rest[k] = points[k] > start.first ? points[k] - start.first : 0.0;
    }
    uint32_t level = start.level;
    for (; level > 2; --level) {
      const uint32_t last = nodesAt(level - 1) - 1;
      const bool wait = last >= 256;  // else the level below stays in the cache
      for (uint32_t k = 0; k < n; ++k) {
        const double* before = farOf(level, node[k]);
        const uint32_t child = Vectors::child(before, rest[k]);
        const uint32_t below = (node[k] << nodeBits) + child;
        rest[k] -= before[child];
        node[k] = below < last ? below : last;  // rounding may have led beyond it
        if (wait) prefetchSearch(level - 1, node[k]);
      }
    }
    float near[flight];
    float slack[flight];
    const auto slackOfDoubles = static_cast<float>(total() * 0x1p-44) + 0x1p-140f;
    for (uint32_t k = 0; k < n; ++k) {
      constexpr double largest = std::numeric_limits<float>::max();
      near[k] = static_cast<float>(rest[k] < largest ? rest[k] : largest);
      slack[k] = rest[k] < largest ? slackOfDoubles + near[k] * 0x1p-21f : std::numeric_limits<float>::infinity();
    }
    const uint32_t lastNode = nodesAt(1) - 1;
    for (uint32_t k = 0; level == 2 && k < n; ++k) {
      const float* before = nearOf(node[k]);
      const uint32_t child = Vectors::child(before, near[k]);
      const uint32_t below = (node[k] << nodeBits) + child;
      near[k] -= before[child];
      node[k] = below < lastNode ? below : lastNode;  // likewise
      prefetchSearch(1, node[k]);
    }
    for (uint32_t k = 0; k < n; ++k) {
      assert(node[k] < nodesAt(1));
      const NodeLeaf leaf = Vectors::leaf(leavesBelow(node[k]), near[k], slack[k]);
      const uint32_t found = leaf.sure ? (node[k] << nodeBits) + leaf.index : findByRule(points[k]);
      index[k] = found;
      weight[k] = static_cast<double>(leaves_[found]);
    }
  }

  template <typename Vectors>
  __attribute__((always_inline)) Start startAt(uint32_t level, double point) const {
    Start start = {level, 0, 0.0, 0.0};
    for (uint32_t above = depth_; above > level; --above) {
      const double* before = farOf(above, start.node);
      const uint32_t child = Vectors::child(before, point > start.first ? point - start.first : 0.0);
      const uint32_t below = (start.node << nodeBits) + child;
      start.first += before[child];
      start.node = below < nodesAt(above - 1) ? below : nodesAt(above - 1) - 1;
    }
    start.end = start.first + sums_[offset_[level] + start.node];
    return start;
  }

  /// How many nodes of a level are in use.
  uint32_t nodesAt(uint32_t level) const { return ((used_ - 1) >> (nodeBits * level)) + 1; }

  /// Many lines are asked for at once.
  void prefetchSearch(uint32_t level, uint32_t node) const {
    if (level == 1) {
      prefetchLineFar(leavesBelow(node));
      if constexpr (sizeof(Leaf) == 8) prefetchLineFar(leavesBelow(node) + 8);
    } else if (level == 2) {
      prefetchLineFar(nearOf(node));
    } else {
      prefetchLineFar(farOf(level, node));
      prefetchLineFar(farOf(level, node) + 8);
    }
  }

  /// find() by the rule alone.
  __attribute__((noinline)) uint32_t findByRule(double r) const {
    uint32_t node = 0;
    for (uint32_t level = depth_; level >= 2; --level) node = (node << nodeBits) + nodeDescend(sumsBelow(level, node), r);
    return (node << nodeBits) + nodeDescend(leavesBelow(node), r);
  }

  EXRP_AVX2 void sumUpAvx2() { sumUpBy<NodeAvx2>(); }

  template <typename Vectors>
  __attribute__((always_inline)) void sumUpBy() {
    const uint32_t count = notedCount_;
    notedCount_ = 0;
    // Where the list doesn't have all, the bits do, in ascending order.
    const uint64_t wordEnd = count > listMax_ ? (nodesFor(1, used_) + 63) / 64 : 0;
    uint32_t listed = count > listMax_ ? 0 : count;
    uint64_t word = 0;
    do {
      for (; word < wordEnd && listMax_ - listed >= 64; ++word) {
        for (uint64_t left = bits_[bitOffset_[1] + word]; left != 0; left &= left - 1) {
          noted_[listed++] = static_cast<uint32_t>(word * 64) + static_cast<uint32_t>(__builtin_ctzll(left));
        }
      }
      sumUpListed<Vectors>(listed);
      listed = 0;
    } while (word < wordEnd);
  }

  /// Adds up the first `count` nodes of the list, and all above them.
  template <typename Vectors>
  __attribute__((always_inline)) void sumUpListed(uint32_t count) {
    for (uint32_t level = 1; count > 0; ++level) {
      if (trackMin_) {
        for (uint32_t k = 0; k < count; ++k) mins_[offset_[level] + noted_[k]] = minBelow(level, noted_[k]);
      }
      // A loop of its own for each kind of level, so that it has nothing to decide for a node.
      double* const sums = &sums_[offset_[level]];
      constexpr uint32_t ahead = 16;
      if (level == 1) {
        count = sumUpLevel(level, count, ahead, [&](uint32_t node) __attribute__((always_inline)) { prefetchChildren(1, node); prefetchLine(sums + node); },
                            [&](uint32_t node) __attribute__((always_inline)) { sums[node] = Vectors::sum(leavesBelow(node)); });
      } else if (level == 2) {
        float* const near = near_.data();
        count = sumUpLevel(level, count, ahead, [&](uint32_t node) __attribute__((always_inline)) { prefetchChildren(2, node); prefetchLine(near + (size_t{node} << nodeBits)); },
                            [&](uint32_t node) __attribute__((always_inline)) { sums[node] = Vectors::before(sumsBelow(2, node), near + (size_t{node} << nodeBits)); });
      } else {
        double* const far = &far_[offset_[level] << nodeBits];
        count = sumUpLevel(level, count, ahead, [&](uint32_t node) __attribute__((always_inline)) { prefetchChildren(level, node); },
                            [&](uint32_t node) __attribute__((always_inline)) { sums[node] = Vectors::before(sumsBelow(level, node), far + (size_t{node} << nodeBits)); });
      }
    }
  }

  /// Adds up the `count` noted nodes of a level, and notes their parents in the same list: never more than what was read.
  template <typename Ask, typename AddUp>
  __attribute__((always_inline)) uint32_t sumUpLevel(uint32_t level, uint32_t count, uint32_t ahead, Ask ask, AddUp addUp) {
    uint32_t* const noted = noted_.data();
    uint64_t* const own = &bits_[bitOffset_[level]];
    uint64_t* const above = level < depth_ ? &bits_[bitOffset_[level + 1]] : nullptr;
    uint32_t parents = 0;
    for (uint32_t k = 0; k < count; ++k) {
      if (k + ahead < count) ask(noted[k + ahead]);
      const uint32_t node = noted[k];
      addUp(node);
      own[node >> 6] = 0;  // all that are noted are added up here
      if (above == nullptr) continue;
      // Without a branch on whether the parent is there already, which is random in the middle levels.
      const uint32_t parent = node >> nodeBits;
      uint64_t& word = above[parent >> 6];
      const uint64_t bit = uint64_t{1} << (parent & 63);
      noted[parents] = parent;
      parents += (word & bit) == 0 ? 1 : 0;
      word |= bit;
    }
    return parents;
  }

  bool sumsRight(uint32_t level, uint32_t node) const {
    const double sum = sums_[offset_[level] + node];
    if (level == 1) return sum == nodeSum(leavesBelow(node));
    return level == 2 ? beforeRight(sum, sumsBelow(level, node), nearOf(node))
                      : beforeRight(sum, sumsBelow(level, node), farOf(level, node));
  }
  template <typename T>
  static bool beforeRight(double sum, const double* children, const T* stored) {
    T before[nodeWidth];
    if (sum != nodeBefore(children, before)) return false;
    for (uint32_t k = 0; k < nodeWidth; ++k)
      if (before[k] != stored[k]) return false;
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

  /// Takes a level more into use where `index` needs it. Its first node is above the one just set, so sumUp() adds it up.
  void grow(uint32_t index) {
    used_ = index + 1;
    while (depth_ < topLevel_ && (index >> (nodeBits * depth_)) != 0) ++depth_;
  }

  bool aboveNoted(uint32_t level, uint32_t node) const {
    const uint32_t shift = nodeBits * (level - 1);
    const uint64_t end = (uint64_t{node} + 1) << shift;
    const uint64_t used = nodesFor(1, used_);
    for (uint64_t below = uint64_t{node} << shift; notedCount_ > 0 && below < end && below < used; ++below)
      if (noted(1, static_cast<uint32_t>(below))) return true;
    return false;
  }

  bool notedConsistent() const {
    uint64_t bitCount = 0;
    // Bits beyond those that have memory are not set.
    const uint64_t leastCount = (bits_.committed() - bitOffset_[1]) * 64;
    for (uint32_t level = 1; level <= topLevel_; ++level)
      for (uint64_t node = 0; node < nodeCount_[level] && (level > 1 || node < leastCount); ++node)
        if (noted(level, static_cast<uint32_t>(node))) {
          if (level > 1) return false;
          ++bitCount;
        }
    if (bitCount != notedCount_) return false;
    for (uint32_t k = 0; k < notedCount_ && k < listMax_; ++k)
      if (noted_[k] >= nodeCount_[1] || !noted(1, noted_[k])) return false;
    return true;
  }

  ReservedArray<Leaf> leaves_;
  ReservedArray<double> sums_;      // node j of level l is at offset_[l] + j; its children are 16j.. of level l - 1
  ReservedArray<double> far_;       // the running sums of that node, from level 3 up, are at 16 (offset_[l] + j)
  ReservedArray<float> near_;       // and those of node j of level 2 at 16 j
  ReservedArray<Leaf> mins_;        // as sums_, with trackMin
  ReservedArray<uint64_t> bits_;    // bit j of level l, from word bitOffset_[l]: node j is noted
  ReservedArray<uint32_t> noted_;   // nodes of level 1 whose leaves changed since sumUp(): the first listMax_ of them
  uint64_t offset_[levelMax + 1] = {};
  uint64_t bitOffset_[levelMax + 1] = {};
  uint64_t nodeCount_[levelMax + 1] = {};
  uint32_t notedCount_ = 0;  // nodes of level 1 that have their bit
  uint32_t listMax_ = 0;
  uint32_t depth_ = 1;     // levels in use; only grows
  uint32_t topLevel_ = 1;  // levels there is room for
  uint32_t used_ = 0;      // no index at or above it was ever set
  bool trackMin_ = false;
  bool avx2_ = false;
};

}  // namespace exrp
