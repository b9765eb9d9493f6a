// The arithmetic of a sum node, which is a node of 16 children of a SumTree: its sum, its smallest positive value, the sum before each
// child, and the child at a point r by the rule. (_sum_node_vectors.hpp has faster ways: AVX2, and a search among running sums.)
//
// Sums are added pairwise: (0 + 1), (2 + 3), ..., then pairs of pairs, and so on. The rule goes down to the right half if r >= the left
// half's sum and the right half's sum isn't 0; it then takes the left half's sum off r. Else it goes to the left.
// The sum before a child is added up of the same sums of 2, 4 and 8, the largest first. So it never falls from child to child, and stays the
// same after a child of 0. After the last child that isn't 0 it is the sum of all, to the bit.
// Thread safety: pure functions. Invariant: the compiler must not reorder or contract sums (no -ffast-math, -ffp-contract=off).
// Cost: 3-15 ns when the node is in the cache; the way down by the rule 20-40.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

namespace exrp {

inline constexpr uint32_t nodeBits = 4;
inline constexpr uint32_t nodeWidth = 1u << nodeBits;

/// 16 bytes of numbers, which GCC and Clang keep in one vector register on every platform.
template <typename T>
struct NodeVector {
  typedef T type __attribute__((vector_size(16)));
};
using NodeDoubles = NodeVector<double>::type;
using NodeFloats = NodeVector<float>::type;

/// The sum of the 16 children.
template <typename T>
inline double nodeSum(const T* child) {
  double pair[8];
  for (int i = 0; i < 8; ++i) pair[i] = static_cast<double>(child[2 * i]) + static_cast<double>(child[2 * i + 1]);
  const double left = (pair[0] + pair[1]) + (pair[2] + pair[3]);
  const double right = (pair[4] + pair[5]) + (pair[6] + pair[7]);
  return left + right;
}

/// Four children: the sum of all, and of those before each.
struct NodeQuad {
  double sum;
  NodeDoubles before[2];
};
/// Explicit, because left to itself the compiler goes through memory.
inline NodeQuad nodeQuad(const double* child) {
  const NodeDoubles zero = {};
  NodeDoubles low;
  NodeDoubles high;
  std::memcpy(&low, child, sizeof low);
  std::memcpy(&high, child + 2, sizeof high);
  const NodeDoubles pairs = __builtin_shufflevector(low, high, 0, 2) + __builtin_shufflevector(low, high, 1, 3);
  const NodeDoubles first = __builtin_shufflevector(pairs, pairs, 0, 0);
  return {pairs[0] + pairs[1],
          {__builtin_shufflevector(zero, low, 0, 2), first + __builtin_shufflevector(zero, high, 0, 2)}};
}

/// Writes the sum of the children before each child, infinity where that is the sum of all, so that nothing is at or after it; and
/// returns the sum of the 16 children.
template <typename T>
inline double nodeBefore(const double* child, T* before) {
  NodeQuad quad[4];
  for (int i = 0; i < 4; ++i) quad[i] = nodeQuad(child + 4 * i);
  const double left = quad[0].sum + quad[1].sum;
  const double sum = left + (quad[2].sum + quad[3].sum);
  for (int i = 0; i < 2; ++i) {
    quad[1].before[i] += quad[0].sum;
    quad[3].before[i] += quad[2].sum;
    quad[2].before[i] += left;
    quad[3].before[i] += left;
  }
  double all[nodeWidth];
  for (int i = 0; i < 4; ++i) std::memcpy(all + 4 * i, quad[i].before, sizeof quad[i].before);
  for (uint32_t i = 0; i < nodeWidth; ++i)
    before[i] = all[i] < sum ? static_cast<T>(all[i]) : std::numeric_limits<T>::infinity();
  before[0] = 0;
  return sum;
}

/// The smallest positive child, 0 if there is none.
template <typename T>
inline T nodeMinPositive(const T* child) {
  using Vector = typename NodeVector<T>::type;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr int lanes = 16 / sizeof(T);
  Vector least = Vector{} + infinity;
  for (int i = 0; i < 16 / lanes; ++i) {
    Vector value;
    std::memcpy(&value, child + i * lanes, sizeof value);
    value = value > Vector{} ? value : Vector{} + infinity;
    least = value < least ? value : least;
  }
  T result = infinity;
  for (int i = 0; i < lanes; ++i) result = least[i] < result ? least[i] : result;
  return result == infinity ? 0 : result;
}

/// The child at r by the rule; r becomes the rest within it. The sum of the children is more than 0.
template <typename T>
inline uint32_t nodeDescend(const T* child, double& r) {
  uint32_t low = 0;
  for (uint32_t half = nodeWidth / 2; half >= 1; half /= 2) {
    double sum[2][nodeWidth / 2];
    for (uint32_t i = 0; i < half; ++i) sum[0][i] = static_cast<double>(child[low + i]);
    for (uint32_t i = 0; i < half; ++i) sum[1][i] = static_cast<double>(child[low + half + i]);
    for (uint32_t count = half / 2; count >= 1; count /= 2)
      for (uint32_t i = 0; i < count; ++i) {
        sum[0][i] = sum[0][2 * i] + sum[0][2 * i + 1];
        sum[1][i] = sum[1][2 * i] + sum[1][2 * i + 1];
      }
    if (r >= sum[0][0] && sum[1][0] > 0.0) {
      r -= sum[0][0];
      low += half;
    }
  }
  return low;
}

}  // namespace exrp
