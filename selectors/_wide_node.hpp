// The arithmetic of one node of 16 children of a SumTree: its sum, its smallest positive value, and the child at a point r.
//
// The way down is: to the right if r >= the left's sum and the right's isn't 0, taking the left's off r; else to the left.
// A node is a binary tree of its own. Its bounds lie in heap order in 16 doubles: at 1 the one between the halves, at 2 and 3
// between quarters, at 4..7 between pairs, at 8..15 between children; index 0 is unused. A bound is the left's sum, or infinity
// where the right's is 0, so that "right if r >= bound" is the whole rule.
// Thread safety: pure functions. Invariant: sums are added pairwise, (0 + 1), (2 + 3), ..., then pairs of pairs; the compiler must
// not reorder or contract them (no -ffast-math, -ffp-contract=off).
// Cost: 5-15 ns when the node is in the cache; no branch depends on the data.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace exrp {

inline constexpr uint32_t wideBits = 4;
inline constexpr uint32_t wideWidth = 1u << wideBits;

/// 16 bytes of numbers, which GCC and Clang keep in one vector register on every platform.
template <typename T>
struct WideVector {
  typedef T type __attribute__((vector_size(16)));
};
using WideDoubles = WideVector<double>::type;
using WideMask = WideVector<int64_t>::type;

/// The sum of the 16 children.
template <typename T>
inline double wideSum(const T* child) {
  double pair[8];
  for (int i = 0; i < 8; ++i) pair[i] = static_cast<double>(child[2 * i]) + static_cast<double>(child[2 * i + 1]);
  const double left = (pair[0] + pair[1]) + (pair[2] + pair[3]);
  const double right = (pair[4] + pair[5]) + (pair[6] + pair[7]);
  return left + right;
}

/// Adds neighbours: sum of 2 vectors into 1, and the bound between each two. Explicit, because left to itself the compiler goes
/// through memory.
inline WideDoubles wideFold(WideDoubles low, WideDoubles high, double* bound) {
  const WideDoubles left = __builtin_shufflevector(low, high, 0, 2);
  const WideDoubles right = __builtin_shufflevector(low, high, 1, 3);
  const WideDoubles bounds = right > WideDoubles{} ? left : WideDoubles{} + std::numeric_limits<double>::infinity();
  std::memcpy(bound, &bounds, sizeof bounds);
  return left + right;
}

/// Writes all bounds, and returns the sum of the 16 children.
inline double wideBounds(const double* child, double* bound) {
  WideDoubles sum[8];
  std::memcpy(sum, child, sizeof sum);
  for (int i = 0; i < 4; ++i) sum[i] = wideFold(sum[2 * i], sum[2 * i + 1], bound + 8 + 2 * i);
  for (int i = 0; i < 2; ++i) sum[i] = wideFold(sum[2 * i], sum[2 * i + 1], bound + 4 + 2 * i);
  sum[0] = wideFold(sum[0], sum[1], bound + 2);
  bound[1] = sum[0][1] > 0.0 ? sum[0][0] : std::numeric_limits<double>::infinity();
  return sum[0][0] + sum[0][1];
}

/// The smallest positive child, 0 if there is none.
template <typename T>
inline T wideMinPositive(const T* child) {
  using Vector = typename WideVector<T>::type;
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

/// One step down from place `at` of the heap order: right if r >= bound, and then bound is taken off r (the lower lane).
inline void wideStep(double bound, WideDoubles& r, uint32_t& at) {
  const WideDoubles bounds = {bound, 0.0};
  const WideMask right = r >= bounds;
  r -= reinterpret_cast<WideDoubles>(reinterpret_cast<WideMask>(bounds) & right);
  at = 2 * at - static_cast<uint32_t>(right[0]);
}

/// The child at r; r becomes the rest within it.
inline uint32_t wideDescend(const double* bound, WideDoubles& r) {
  uint32_t at = 1;
  for (int step = 0; step < 4; ++step) wideStep(bound[at], r, at);
  return at - wideWidth;
}

/// The child at r among leaves, whose bounds are not stored. It doesn't look whether the right is 0: if it was once, and mattered,
/// the leaf it returns is 0.
template <typename T>
inline uint32_t wideDescendLeaves(const T* child, WideDoubles r) {
  double pair[8];
  double left[8];
  for (int i = 0; i < 8; ++i) pair[i] = static_cast<double>(child[2 * i]) + static_cast<double>(child[2 * i + 1]);
  for (int i = 0; i < 4; ++i) left[4 + i] = pair[2 * i];
  left[2] = pair[0] + pair[1];
  left[3] = pair[4] + pair[5];
  left[1] = left[2] + (pair[2] + pair[3]);
  uint32_t at = 1;
  for (int step = 0; step < 3; ++step) wideStep(left[at], r, at);
  wideStep(static_cast<double>(child[2 * (at - 8)]), r, at);
  return at - wideWidth;
}

/// The same by the whole rule. The sum of the children is more than 0.
template <typename T>
inline uint32_t wideDescendCarefully(const T* child, double r) {
  uint32_t low = 0;
  for (uint32_t half = wideWidth / 2; half >= 1; half /= 2) {
    double sum[2][wideWidth / 2];
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
