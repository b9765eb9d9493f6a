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

/// Writes the sum of the children before each child, and returns the sum of the 16 children. Number by number: it takes fewer steps than
/// vectors, whose numbers would have to change places.
inline double nodeBefore(const double* child, double* before) {
  double quad[4];
  for (int i = 0; i < 4; ++i) {
    const double* const four = child + 4 * i;
    const double pair = four[0] + four[1];
    quad[i] = pair + (four[2] + four[3]);
    before[4 * i + 1] = four[0];
    before[4 * i + 2] = pair;
    before[4 * i + 3] = pair + four[2];
  }
  const double left = quad[0] + quad[1];
  const double right = quad[2] + quad[3];
  before[0] = 0;
  before[4] = quad[0];
  before[8] = left;
  before[12] = quad[2] + left;
  for (int i = 1; i < 4; ++i) {
    before[4 + i] += quad[0];
    before[8 + i] += left;
    before[12 + i] = (before[12 + i] + quad[2]) + left;
  }
  return left + right;
}

/// The running sums of 16 values in float32, each with its own value: of four, then of eight, then of all.
inline void nodeEnds(NodeFloats* end) {
  const NodeFloats zero = {};
  for (int i = 0; i < 4; ++i) {
    end[i] += __builtin_shufflevector(zero, end[i], 0, 4, 5, 6);
    end[i] += __builtin_shufflevector(zero, end[i], 0, 1, 4, 5);
  }
  end[1] += __builtin_shufflevector(end[0], end[0], 3, 3, 3, 3);
  end[3] += __builtin_shufflevector(end[2], end[2], 3, 3, 3, 3);
  const NodeFloats half = __builtin_shufflevector(end[1], end[1], 3, 3, 3, 3);
  end[2] += half;
  end[3] += half;
}

/// Writes roughly what is before each child, in float32. It returns the sum of the 16 children, which is exactly nodeSum().
inline double nodeBefore(const double* child, float* before) {
  float value[nodeWidth];
  for (uint32_t i = 0; i < nodeWidth; ++i) value[i] = static_cast<float>(child[i]);
  NodeFloats end[4];
  std::memcpy(end, value, sizeof end);
  nodeEnds(end);
  before[0] = 0;
  std::memcpy(before + 1, end, sizeof end - sizeof(float));
  return nodeSum(child);
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
