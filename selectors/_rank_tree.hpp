// RankTree: values in order of their keys. It finds the n-th value, while many values at once come, go and are renamed.
//
// It is a B+ tree with counts. A leaf (RankLeaf) has up to 32 values with their keys. A node above has up to 32 children, the bounds
// between them. It has for each child the number of values below it and below those before it.
//
// Changes are made in flights. First all ways down are found, so that their cache misses overlap. Then the leaves change one by one. At
// last a full node is split, and a poor one is filled up from a neighbour. So no change makes a way down wrong that was found before.
// A leaf that becomes full ends the flight early. Splitting and filling up goes down once more and does the same with each node on
// the way. So the way back up is never needed.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke); all hold between calls:
//   1. Keys rise, and lie between the bounds that the nodes above give; what is not used in a leaf or a node is empty.
//   2. A count is that of the values below.
//   3. Every leaf has less than 32 values, and every one but the root at least 8; nodes above have 8 to 32 children, the root 2
//      or more.
// Cost: O(log N) each. Memory: at most 58 bytes a value, about 21 after many changes (bench/probe/selectors.cpp).
// It doesn't check its arguments: a new key must not be there yet; a key that goes or is renamed must be there with its value.
#pragma once

#include <cstddef>

#include "kernel/base/memory.hpp"
#include "kernel/base/prefetch.hpp"
#include "selectors/_rank_leaf.hpp"

namespace exrp {

class RankTree {
 public:
  static constexpr uint32_t none = RankLeaf::noValue;

  /// What is `from` under the key is `to` afterwards: one that comes is `none` before, one that goes is `none` after.
  struct Change {
    uint64_t key;
    uint32_t from;
    uint32_t to;
  };

  bool create(uint32_t countMax) {
    const size_t leafMax = leavesFor(countMax);
    const size_t nodeMax = nodesFor(countMax);
    // Half as many leaves as there can be are in use when all are as full as random keys leave them.
    if (!leaves_.create(leafMax, Pages::huge, leafMax / 4) || !nodes_.create(nodeMax, Pages::huge, nodeMax / 4)) return false;
    if (!freeLeaves_.create(leafMax, Pages::small) || !freeNodes_.create(nodeMax, Pages::small)) return false;
    if (!prepare(0)) return false;
    clear();
    return true;
  }
  /// Takes what changes need while there are at most `count` values. False for want of memory.
  bool prepare(uint32_t count) {
    return leaves_.commit(leavesFor(count)) && nodes_.commit(nodesFor(count)) && freeLeaves_.commit(leavesFor(count)) &&
           freeNodes_.commit(nodesFor(count));
  }
  void clear() {
    if (leafEnd_ > leafHighWater_) leafHighWater_ = leafEnd_;
    if (nodeEnd_ > nodeHighWater_) nodeHighWater_ = nodeEnd_;
    leafEnd_ = nodeEnd_ = freeLeafCount_ = freeNodeCount_ = 0;
    count_ = 0;
    depth_ = 0;
    root_ = newLeaf();
    leaves_[root_].wipe(0, width);
  }

  uint32_t count() const { return count_; }

  /// Makes the changes, in their order.
  void change(const Change* changes, uint32_t count) {
    while (count > 0) {
      const uint32_t n = count < flight ? count : flight;
      Ways ways;
      descend(changes, n, &ways);
      uint64_t unfit[flight];
      uint32_t unfitCount = 0;
      uint32_t done = 0;
      RootCounts rootCounts = {};
      for (; done < n; ++done) {
        const Fit fit = apply(changes[done], ways, done, rootCounts);
        if (fit == Fit::tooFull) break;
        if (fit == Fit::no) unfit[unfitCount++] = changes[done].key;
      }
      if (depth_ > 1) countAtRoot(rootCounts);
      for (uint32_t k = 0; k < unfitCount; ++k) mend(unfit[k]);
      changes += done;
      count -= done;
    }
  }

  bool has(uint64_t key, uint32_t value) const {
    uint32_t node = root_;
    for (uint32_t level = depth_; level > 0; --level) node = nodes_[node].child[childFor(nodes_[node], key)];
    const uint32_t position = leaves_[node].positionOf(value);
    return leaves_[node].value[position] == value && leaves_[node].keyAt(position) == key;
  }

  /// The values of the ranks, each below count(). Each value replaces its rank; the cache misses of 64 at a time overlap.
  void nthMany(uint32_t* ranks, uint32_t count) const {
    constexpr uint32_t many = 64;
    for (uint32_t first = 0; first < count; first += many) {
      const uint32_t n = count - first < many ? count - first : many;
      uint32_t node[many];
      uint32_t* rank = ranks + first;
      for (uint32_t k = 0; k < n; ++k) node[k] = root_;
      for (uint32_t level = depth_; level > 0; --level)
        for (uint32_t k = 0; k < n; ++k) {
          const Node& each = nodes_[node[k]];
          const uint32_t at = childAtRank(each, rank[k]);
          rank[k] -= each.before[at];
          node[k] = each.child[at];
          if (level > 1)
            prefetch(nodes_[node[k]].before, sizeof(Node) - offsetof(Node, before));
          else
            prefetchLineFar(&leaves_[node[k]].value[rank[k]]);
        }
      for (uint32_t k = 0; k < n; ++k) rank[k] = leaves_[node[k]].value[rank[k]];
    }
  }

  double memoryBytes() const {
    const uint32_t leafEnd = leafEnd_ > leafHighWater_ ? leafEnd_ : leafHighWater_;
    const uint32_t nodeEnd = nodeEnd_ > nodeHighWater_ ? nodeEnd_ : nodeHighWater_;
    return leaves_.takenBytes(leafEnd) + nodes_.takenBytes(nodeEnd);
  }

  int32_t check() const {
    int32_t broken = 0;
    const uint32_t below = checkNode(root_, depth_, 0, ~uint64_t{0}, &broken);
    return broken != 0 ? broken : below == count_ ? 0 : 2;
  }

 private:
  static constexpr uint32_t levelBits = 5;
  static constexpr uint32_t width = 1u << levelBits;
  static constexpr uint32_t poor = 8;
  /// Leaves have 8 or more, but for the root and those of one flight.
  static size_t leavesFor(uint32_t count) { return size_t{count} / poor + 2 * flight + 2; }
  /// Each level above has at most an eighth as many nodes.
  static size_t nodesFor(uint32_t count) { return leavesFor(count) / (poor - 1) + 2 * levelMax; }
  static constexpr uint32_t flight = 32;
  static constexpr uint32_t levelMax = 12;  // 8^11 > 2^32
  static constexpr uint64_t noBound = ~uint64_t{0};
  static_assert(RankLeaf::width == width);

  // Eight lines of cache.
  struct alignas(64) Node {
    uint64_t bound[width - 1];   // the smallest key of each child but the first, or less but above all before it; then noBound
    uint32_t used;
    uint32_t before[width + 1];  // values below the children before; behind the last child those below all
    uint32_t child[width];
  };
  /// The ways down of a flight: by level, the node and which of its children.
  struct Ways {
    uint32_t node[levelMax][flight];
    uint32_t at[levelMax][flight];
  };
  /// What a flight changes below each child of the root: it is in all ways, so its counts change once a flight.
  struct RootCounts {
    uint32_t by[width];
  };
  enum class Fit { yes, no, tooFull };

  static void prefetch(const void* begin, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 64) prefetchLineFar(static_cast<const char*>(begin) + at);
  }
  /// The child that the key belongs to.
  static uint32_t childFor(const Node& node, uint64_t key) {
    // Shifted rather than chosen: Clang makes branches of choices here, which are guessed wrong half the time.
    uint32_t at = 0;
    for (uint32_t bit = levelBits; bit-- > 0;) at += static_cast<uint32_t>(node.bound[at + (1u << bit) - 1] <= key) << bit;
    return at;
  }
  static uint32_t childAtRank(const Node& node, uint32_t rank) {
    // Counts are below 2^31: compared with a sign, as every platform can in one instruction.
    const auto wanted = static_cast<int32_t>(rank);
    Four at = {};
    for (uint32_t i = 0; i < width; i += 4) at -= loadFour(node.before + 1, i) <= Four{wanted, wanted, wanted, wanted};
    return static_cast<uint32_t>(at[0] + at[1] + at[2] + at[3]);
  }
  static uint32_t below(const Node& node, uint32_t at) { return node.before[at + 1] - node.before[at]; }
  /// `by` more values below the child, modulo 2^32.
  static void count(Node& node, uint32_t at, uint32_t by) {
    const auto each = static_cast<int32_t>(by);
    const Four more = {each, each, each, each};
    // As far as the child, the counts before stay.
    for (uint32_t i = 0; i < width; i += 4) {
      storeFour(node.before + 1, i, loadFour(node.before + 1, i) + (positionsAfter(i + 1, at) & more));
    }
  }

  // ---- changes ----

  void descend(const Change* changes, uint32_t n, Ways* ways) const {
    for (uint32_t k = 0; k < n; ++k) ways->node[depth_][k] = root_;
    for (uint32_t level = depth_; level > 0; --level)
      for (uint32_t k = 0; k < n; ++k) {
        const Node& node = nodes_[ways->node[level][k]];
        const uint32_t at = childFor(node, changes[k].key);
        const uint32_t next = node.child[at];
        ways->at[level][k] = at;
        ways->node[level - 1][k] = next;
        if (level == 1)
          prefetch(&leaves_[next], sizeof(RankLeaf));
        else if (level == 2)
          prefetch(&nodes_[next], sizeof(Node));  // those further up are few, and near anyway
      }
  }

  /// Makes one change in the leaf its way led to; no when the leaf then has to be mended, tooFull when nothing was done.
  Fit apply(const Change& change, const Ways& ways, uint32_t k, RootCounts& rootCounts) {
    RankLeaf& leaf = leaves_[ways.node[0][k]];
    const uint32_t used = depth_ == 0 ? count_ : below(nodes_[ways.node[1][k]], ways.at[1][k]);
    if (change.from == none) {
      if (used == width) return Fit::tooFull;
      leaf.put(leaf.countBelow(change.key), change.key, change.to);
    } else {
      const uint32_t position = leaf.positionOf(change.from);
      if (change.to != none) {
        leaf.value[position] = change.to;
        return Fit::yes;
      }
      leaf.take(position);
    }
    const uint32_t by = change.from == none ? 1 : ~uint32_t{0};
    count_ += by;
    // The counts above leaves are read within a flight; the root's are not, if it isn't that.
    const uint32_t counted = depth_ > 1 ? depth_ - 1 : depth_;
    if (depth_ > 1) rootCounts.by[ways.at[depth_][k]] += by;
    for (uint32_t level = counted; level > 0; --level) count(nodes_[ways.node[level][k]], ways.at[level][k], by);
    return used + by == width || used + by < poor ? Fit::no : Fit::yes;
  }

  void countAtRoot(const RootCounts& rootCounts) {
    Node& root = nodes_[root_];
    uint32_t sum = 0;
    for (uint32_t at = 0; at < width; ++at) {
      sum += rootCounts.by[at];
      root.before[at + 1] += sum;
    }
  }

  // ---- splitting and filling up ----

  /// A node's children, or two nodes', written out.
  struct Children {
    uint64_t low[2 * width + 1];  // smallest keys
    uint32_t child[2 * width + 1];
    uint32_t below[2 * width + 1];
    uint32_t count = 0;

    void add(uint64_t lowest, uint32_t each, uint32_t values) {
      low[count] = lowest;
      child[count] = each;
      below[count++] = values;
    }
    /// Those of a node from `first` to before `end`; `lowest` stands for the bound that the first child has above.
    void add(const Node& node, uint32_t first, uint32_t end, uint64_t lowest = 0) {
      for (uint32_t at = first; at < end; ++at) add(at == 0 ? lowest : node.bound[at - 1], node.child[at], RankTree::below(node, at));
    }
    /// `number` of them from `first` on become the node's; how many values that are.
    uint32_t write(Node& node, uint32_t first, uint32_t number) const {
      node.used = number;
      node.before[0] = 0;
      for (uint32_t at = 0; at < width; ++at) {
        const bool there = at < number;
        if (at > 0) node.bound[at - 1] = there ? low[first + at] : noBound;
        node.child[at] = there ? child[first + at] : 0;
        node.before[at + 1] = node.before[at] + (there ? below[first + at] : 0);
      }
      return node.before[width];
    }
  };

  uint32_t newLeaf() { return freeLeafCount_ > 0 ? freeLeaves_[--freeLeafCount_] : leafEnd_++; }
  uint32_t newNode() { return freeNodeCount_ > 0 ? freeNodes_[--freeNodeCount_] : nodeEnd_++; }

  /// Goes down to the key's leaf, and makes what is full or poor on the way fit.
  void mend(uint64_t key) {
    if (depth_ == 0 ? count_ == width : nodes_[root_].used == width) {
      const uint32_t above = newNode();
      Children one;
      one.add(0, root_, count_);
      one.write(nodes_[above], 0, 1);
      root_ = above;
      ++depth_;
    }
    uint32_t node = root_;
    for (uint32_t level = depth_; level > 0; --level) {
      uint32_t at = childFor(nodes_[node], key);
      const bool leaf = level == 1;
      const uint32_t used = leaf ? below(nodes_[node], at) : nodes_[nodes_[node].child[at]].used;
      if (used == width) {
        split(node, at, leaf);
      } else if (used < poor + (leaf ? 0 : 1) && nodes_[node].used > 1) {  // a node above leaves may lose one more
        enrich(node, at > 0 ? at - 1 : at, leaf);
      }
      at = childFor(nodes_[node], key);
      node = nodes_[node].child[at];
    }
    while (depth_ > 0 && nodes_[root_].used == 1) {
      const uint32_t gone = root_;
      root_ = nodes_[gone].child[0];
      freeNodes_[freeNodeCount_++] = gone;
      --depth_;
    }
  }

  /// The full child at `at` becomes two.
  void split(uint32_t node, uint32_t at, bool leaf) {
    Node& each = nodes_[node];
    Children children;
    children.add(each, 0, at);
    share(each.child[at], leaf ? newLeaf() : newNode(), width, 0, at == 0 ? 0 : each.bound[at - 1], width / 2, leaf, &children);
    children.add(each, at + 1, each.used);
    children.write(each, 0, children.count);
  }

  /// The children at `first` and after it share what they have, or become one.
  void enrich(uint32_t node, uint32_t first, bool leaf) {
    Node& each = nodes_[node];
    const uint32_t right = each.child[first + 1];
    const uint32_t a = leaf ? below(each, first) : nodes_[each.child[first]].used;
    const uint32_t b = leaf ? below(each, first + 1) : nodes_[right].used;
    const uint32_t kept = a + b <= width * 3 / 4 ? a + b : (a + b) / 2;
    Children children;
    children.add(each, 0, first);
    // The second's bound is needed where it has children.
    share(each.child[first], right, a, b, first == 0 ? 0 : each.bound[first - 1], kept, leaf, &children, each.bound[first]);
    children.add(each, first + 2, each.used);
    children.write(each, 0, children.count);
    if (kept < a + b) return;
    if (leaf)
      freeLeaves_[freeLeafCount_++] = right;
    else
      freeNodes_[freeNodeCount_++] = right;
  }

  /// Of the `a` and `b` entries of two neighbours the left gets `kept`, the right the others; both go into `children`.
  void share(uint32_t left, uint32_t right, uint32_t a, uint32_t b, uint64_t lowLeft, uint32_t kept, bool leaf, Children* children,
             uint64_t lowRight = 0) {
    const uint32_t rest = a + b - kept;
    if (!leaf) {
      Children both;
      both.add(nodes_[left], 0, a, lowLeft);
      both.add(nodes_[right], 0, b, lowRight);
      children->add(lowLeft, left, both.write(nodes_[left], 0, kept));
      if (rest > 0) children->add(both.low[kept], right, both.write(nodes_[right], kept, rest));
      return;
    }
    RankLeaf& first = leaves_[left];
    RankLeaf& second = leaves_[right];
    if (kept < a) {
      second.copy(a - kept, second, 0, b);
      second.copy(0, first, kept, a - kept);
    } else {
      first.copy(a, second, 0, kept - a);
      second.copy(0, second, kept - a, rest);
    }
    first.wipe(kept, width);
    second.wipe(rest, width);
    children->add(lowLeft, left, kept);
    if (rest > 0) children->add(second.keyAt(0), right, rest);
  }

  // ---- invariants ----

  /// The values below the node, whose keys have to be low..high; `broken` gets the number of an invariant that is.
  uint32_t checkNode(uint32_t node, uint32_t level, uint64_t low, uint64_t high, int32_t* broken) const {
    if (level == 0) return checkLeaf(leaves_[node], low, high, broken);
    const Node& each = nodes_[node];
    if (each.used > width || each.used < (node == root_ && level == depth_ ? 2 : poor)) *broken = 3;
    for (uint32_t at = 0; at < each.used && *broken == 0; ++at) {
      const uint64_t from = at == 0 ? low : each.bound[at - 1];
      const uint64_t to = at + 1 < each.used ? each.bound[at] - 1 : high;
      if (from < low || from > to || to > high) *broken = 1;
      const uint32_t values = checkNode(each.child[at], level - 1, from, to, broken);
      if (*broken == 0 && values != below(each, at)) *broken = 2;
    }
    for (uint32_t at = each.used; at < width && *broken == 0; ++at) {
      if (each.bound[at - 1] != noBound) *broken = 1;
      if (below(each, at) != 0) *broken = 2;
    }
    return each.before[width];
  }
  uint32_t checkLeaf(const RankLeaf& leaf, uint64_t low, uint64_t high, int32_t* broken) const {
    uint32_t used = 0;
    while (used < width && leaf.value[used] != none) ++used;
    if (used == width || (depth_ > 0 && used < poor)) *broken = 3;
    for (uint32_t at = used; at < width; ++at)
      if (leaf.value[at] != none || leaf.upper[at] != RankLeaf::noHalf || leaf.lower[at] != RankLeaf::noHalf) *broken = 1;
    for (uint32_t at = 0; at < used; ++at) {
      const uint64_t key = leaf.keyAt(at);
      if (key < low || key > high || (at > 0 && key <= leaf.keyAt(at - 1))) *broken = 1;
    }
    return used;
  }

  ReservedArray<RankLeaf> leaves_;
  ReservedArray<Node> nodes_;
  ReservedArray<uint32_t> freeLeaves_;
  ReservedArray<uint32_t> freeNodes_;
  uint32_t root_ = 0;   // a leaf where depth_ is 0
  uint32_t depth_ = 0;  // levels above the leaves
  uint32_t count_ = 0;
  uint32_t leafEnd_ = 0;
  uint32_t leafHighWater_ = 0;  // of leafEnd_, before clear()
  uint32_t nodeHighWater_ = 0;
  uint32_t nodeEnd_ = 0;
  uint32_t freeLeafCount_ = 0;
  uint32_t freeNodeCount_ = 0;
};

}  // namespace exrp
