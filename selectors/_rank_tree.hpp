// RankTree: keys in order, each with a value; which value is the n-th, while keys come and go.
//
// A B+ tree with counts: a node has up to 31 entries in order of key, in a leaf the keys with their values, above it the children
// with the smallest key each had when it was linked or less, and how many values are below. Going down to put a key in splits a
// full child first, going down to take one out fills up a poor child first (from a neighbour, or both become one), so that the
// way back up is never needed.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Keys rise within a node, and lie between the bounds that the nodes above give.
//   2. A count is that of the values below.
//   3. Every node but the root has at least 8 entries and at most 31; all leaves are at the same depth.
// Cost: O(log N) each. Memory: at most 73 bytes a key, about 26 after many changes (bench/probe/selectors.cpp).
// It doesn't check its arguments: a key put in is not there, one taken out or changed is.
#pragma once

#include <cstring>

#include "kernel/memory.hpp"
#include "kernel/prefetch.hpp"

namespace exrp {

class RankTree {
 public:
  bool create(uint32_t countMax) {
    // Leaves hold 8 or more, but for a root; each level above has at most an eighth as many nodes.
    const size_t nodeMax = size_t{countMax} / 7 + 16;
    if (!nodes_.create(nodeMax) || !nodes_.commit(nodeMax) || !free_.create(nodeMax) || !free_.commit(nodeMax)) return false;
    clear();
    return true;
  }
  void clear() {
    freeCount_ = 0;
    nodeEnd_ = 0;
    count_ = 0;
    depth_ = 0;
    root_ = newNode();
  }

  uint32_t count() const { return count_; }

  void insert(uint64_t key, uint32_t value) {
    if (nodes_[root_].used == width) {
      const uint32_t above = newNode();
      putEntry(above, 0, {0, root_, count_}, false);
      root_ = above;
      ++depth_;
      split(root_, 0, depth_ == 1);
    }
    ++count_;
    uint32_t node = root_;
    for (uint32_t level = depth_; level > 0; --level) {
      uint32_t at = childFor(node, key);
      if (nodes_[nodes_[node].value[at]].used == width) {
        split(node, at, level == 1);
        if (nodes_[node].key[at + 1] <= key) ++at;
      }
      ++nodes_[node].below[at];
      node = nodes_[node].value[at];
    }
    putEntry(node, place(node, key), {key, value, 1}, true);
  }

  void erase(uint64_t key) {
    --count_;
    uint32_t node = root_;
    for (uint32_t level = depth_; level > 0; --level) {
      uint32_t at = childFor(node, key);
      if (nodes_[nodes_[node].value[at]].used <= poor) at = enrich(node, at, key, level == 1);
      --nodes_[node].below[at];
      node = nodes_[node].value[at];
    }
    takeEntry(node, place(node, key), true);
    while (depth_ > 0 && nodes_[root_].used == 1) {
      const uint32_t gone = root_;
      root_ = nodes_[root_].value[0];
      free_[freeCount_++] = gone;
      --depth_;
    }
  }

  bool has(uint64_t key, uint32_t value) const {
    const uint32_t leaf = leafFor(key);
    const uint32_t at = place(leaf, key);
    return at < nodes_[leaf].used && nodes_[leaf].key[at] == key && nodes_[leaf].value[at] == value;
  }

  /// Gives the key's value another.
  void change(uint64_t key, uint32_t value) {
    const uint32_t leaf = leafFor(key);
    nodes_[leaf].value[place(leaf, key)] = value;
  }

  /// The values of the ranks, each below count(), in their place; the cache misses of 16 at a time overlap.
  void nthMany(uint32_t* ranks, uint32_t count) const {
    constexpr uint32_t flight = 16;
    for (uint32_t first = 0; first < count; first += flight) {
      const uint32_t n = count - first < flight ? count - first : flight;
      uint32_t node[flight];
      uint32_t* rank = ranks + first;
      for (uint32_t k = 0; k < n; ++k) node[k] = root_;
      for (uint32_t level = depth_; level > 0; --level)
        for (uint32_t k = 0; k < n; ++k) {
          const Node& each = nodes_[node[k]];
          uint32_t at = 0;
          for (; rank[k] >= each.below[at]; ++at) rank[k] -= each.below[at];
          node[k] = each.value[at];
          if (level > 1)
            prefetchCounts(node[k]);
          else
            prefetchLine(&nodes_[node[k]].value[rank[k]]);
        }
      for (uint32_t k = 0; k < n; ++k) rank[k] = nodes_[node[k]].value[rank[k]];
    }
  }

  /// Brings the leaves of the keys near, so that the changes that follow find them there; the ways down overlap.
  void prefetchMany(const uint64_t* keys, uint32_t count) const {
    constexpr uint32_t flight = 64;
    uint32_t node[flight];
    for (uint32_t first = 0; first < count; first += flight) {
      const uint32_t n = count - first < flight ? count - first : flight;
      for (uint32_t k = 0; k < n; ++k) node[k] = root_;
      for (uint32_t level = depth_; level > 0; --level)
        for (uint32_t k = 0; k < n; ++k) {
          node[k] = nodes_[node[k]].value[childFor(node[k], keys[first + k])];
          const Node& next = nodes_[node[k]];
          for (uint32_t line = 0; line < 32; line += 8) prefetchLine(next.key + line);
          prefetchLine(next.value);
          prefetchLine(next.value + 16);
        }
    }
  }

  double memoryBytes() const { return (nodeEnd_ - freeCount_) * double{sizeof(Node)}; }

  int32_t check() const {
    int32_t broken = 0;
    const uint32_t below = checkNode(root_, depth_, 0, ~uint64_t{0}, &broken);
    return broken != 0 ? broken : below == count_ ? 0 : 2;
  }

 private:
  static constexpr uint32_t width = 31;
  static constexpr uint32_t poor = 8;

  // Eight lines of cache: four of keys, two of values, and two that a leaf never touches.
  struct alignas(64) Node {
    uint64_t key[width];
    uint32_t used;
    uint32_t unused;
    uint32_t value[width + 1];  // in a leaf the values, above it the children
    uint32_t below[width + 1];  // above the leaves: how many values each child leads to
  };
  struct Entry {
    uint64_t key;
    uint32_t value;
    uint32_t below;
  };

  uint32_t newNode() {
    const uint32_t made = freeCount_ > 0 ? free_[--freeCount_] : nodeEnd_++;
    nodes_[made].used = 0;
    return made;
  }

  /// How many of the node's keys, the first left out, are at most `key`: the child that it belongs to.
  uint32_t childFor(uint32_t node, uint64_t key) const {
    const Node& each = nodes_[node];
    // Halving would be fewer steps, but each a guess or a wait for the last; these are neither.
    uint32_t low = 0;
    for (uint32_t at = 1; at < each.used; ++at) low += each.key[at] <= key;
    return low;
  }
  /// The first place whose key is not below `key`.
  uint32_t place(uint32_t node, uint64_t key) const {
    const Node& each = nodes_[node];
    if (each.used == 0) return 0;
    const uint32_t at = childFor(node, key);
    return each.key[at] < key ? at + 1 : at;
  }
  uint32_t leafFor(uint64_t key) const {
    uint32_t node = root_;
    for (uint32_t level = depth_; level > 0; --level) node = nodes_[node].value[childFor(node, key)];
    return node;
  }

  void prefetchCounts(uint32_t node) const {
    prefetchLine(&nodes_[node].below[0]);
    prefetchLine(&nodes_[node].below[16]);
    prefetchLine(&nodes_[node].value[0]);
    prefetchLine(&nodes_[node].value[16]);
  }

  /// Moves `count` entries from one place to another, of another node or the same one.
  void copy(uint32_t from, uint32_t fromAt, uint32_t to, uint32_t toAt, uint32_t count, bool leaf) {
    Node& a = nodes_[from];
    Node& b = nodes_[to];
    std::memmove(b.key + toAt, a.key + fromAt, count * sizeof(uint64_t));
    std::memmove(b.value + toAt, a.value + fromAt, count * sizeof(uint32_t));
    if (!leaf) std::memmove(b.below + toAt, a.below + fromAt, count * sizeof(uint32_t));
  }
  void putEntry(uint32_t node, uint32_t at, const Entry& entry, bool leaf) {
    Node& each = nodes_[node];
    copy(node, at, node, at + 1, each.used++ - at, leaf);
    each.key[at] = entry.key;
    each.value[at] = entry.value;
    if (!leaf) each.below[at] = entry.below;
  }
  void takeEntry(uint32_t node, uint32_t at, bool leaf) {
    Node& each = nodes_[node];
    copy(node, at + 1, node, at, --each.used - at, leaf);
  }
  /// How many values are below the node.
  uint32_t belowAll(uint32_t node, bool leaf) const {
    if (leaf) return nodes_[node].used;
    uint32_t sum = 0;
    for (uint32_t at = 0; at < nodes_[node].used; ++at) sum += nodes_[node].below[at];
    return sum;
  }

  /// The full child at `at` becomes two.
  void split(uint32_t node, uint32_t at, bool leaf) {
    const uint32_t left = nodes_[node].value[at];
    const uint32_t right = newNode();
    constexpr uint32_t half = width / 2;
    copy(left, half, right, 0, width - half, leaf);
    nodes_[left].used = half;
    nodes_[right].used = width - half;
    const uint32_t moved = belowAll(right, leaf);
    nodes_[node].below[at] -= moved;
    putEntry(node, at + 1, {nodes_[right].key[0], right, moved}, false);
  }

  /// The poor child at `at` gets entries from a neighbour, or they become one; returns the child that `key` belongs to then.
  uint32_t enrich(uint32_t node, uint32_t at, uint64_t key, bool leaf) {
    Node& each = nodes_[node];
    const uint32_t first = at > 0 ? at - 1 : at;  // it and its right neighbour
    const uint32_t left = each.value[first];
    const uint32_t right = each.value[first + 1];
    Node& a = nodes_[left];
    Node& b = nodes_[right];
    // The first key of an inner node is never looked at, and may be old; among others it has to be the bound.
    if (!leaf) b.key[0] = each.key[first + 1];
    const uint32_t sum = a.used + b.used;
    if (sum <= width - 3) {
      copy(right, 0, left, a.used, b.used, leaf);
      a.used = sum;
      each.below[first] += each.below[first + 1];
      free_[freeCount_++] = right;
      takeEntry(node, first + 1, false);
      return first;
    }
    const uint32_t belowBefore = belowAll(left, leaf);
    if (a.used < sum / 2) {
      const uint32_t count = sum / 2 - a.used;
      copy(right, 0, left, a.used, count, leaf);
      copy(right, count, right, 0, b.used - count, leaf);
    } else {
      const uint32_t count = a.used - sum / 2;
      copy(right, 0, right, count, b.used, leaf);
      copy(left, sum / 2, right, 0, count, leaf);
    }
    a.used = sum / 2;
    b.used = sum - sum / 2;
    const uint32_t difference = belowAll(left, leaf) - belowBefore;  // modulo 2^32
    each.below[first] += difference;
    each.below[first + 1] -= difference;
    each.key[first + 1] = b.key[0];
    return key >= each.key[first + 1] ? first + 1 : first;
  }

  /// The values below the node, whose keys have to be low..high; `broken` gets the number of an invariant that is.
  uint32_t checkNode(uint32_t node, uint32_t level, uint64_t low, uint64_t high, int32_t* broken) const {
    const Node& each = nodes_[node];
    if (each.used > width || (node != root_ && each.used < poor)) *broken = 3;
    for (uint32_t at = level > 0 ? 1 : 0; at < each.used; ++at) {
      if (each.key[at] < low || each.key[at] > high) *broken = 1;
      if (at > (level > 0 ? 1u : 0u) && each.key[at - 1] >= each.key[at]) *broken = 1;
    }
    if (level == 0) return each.used;
    uint32_t sum = 0;
    for (uint32_t at = 0; at < each.used && *broken == 0; ++at) {
      const uint64_t from = at == 0 ? low : each.key[at];
      const uint64_t to = at + 1 < each.used ? each.key[at + 1] - 1 : high;
      if (checkNode(each.value[at], level - 1, from, to, broken) != each.below[at]) *broken = *broken != 0 ? *broken : 2;
      sum += each.below[at];
    }
    return sum;
  }

  ReservedArray<Node> nodes_;
  ReservedArray<uint32_t> free_;
  uint32_t root_ = 0;
  uint32_t depth_ = 0;  // levels above the leaves
  uint32_t count_ = 0;
  uint32_t nodeEnd_ = 0;
  uint32_t freeCount_ = 0;
};

}  // namespace exrp
