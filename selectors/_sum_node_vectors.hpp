// What is done most in sum nodes, in two ways with the same results: NodePlain uses vectors of 16 bytes, which every platform has, and
// NodeAvx2 uses vectors of 32 bytes.
//
// - sum() and before() are nodeSum() and nodeBefore() of _sum_node.hpp, to the bit.
// - child() finds where a point r lies by running sums: the last child whose sum before it is at most r. All 16 are compared at once,
//   and no branch depends on where r lies.
// - leaf() does the same among leaves, whose running sums are not stored but added up in float32. Rounding makes these sums wrong by a
//   little, so the answer says whether it is sure. It is sure where r keeps two distances from both ends of the leaf. One is `slack`, the
//   error of r itself. The other is 2^-21 of the leaf's end, which is more than the rounding here: four sums, and float32 from a
//   double where the leaves are doubles, 2^-24 each.
//
// Thread safety: pure functions. Cost: 2-5 ns when the node is in the cache.
// They don't check their arguments: before[0] is 0, and r is finite and >= 0.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernel/base/cpu.hpp"
#include "selectors/_sum_node.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace exrp {

/// A leaf, and whether it is surely the one at r. Where it isn't sure the index may be 16.
struct NodeLeaf {
  uint32_t index;
  bool sure;
};

/// Whether r lies well within [start, end).
inline bool nodeWithin(float r, float start, float end, float slack) {
  const float beyond = r - start;
  const float ahead = end - r;
  return (beyond < ahead ? beyond : ahead) >= slack + end * 0x1p-21f;
}

struct NodePlain {
  template <typename T>
  static double sum(const T* child) {
    return nodeSum(child);
  }
  template <typename T>
  static double before(const double* child, T* before) {
    return nodeBefore(child, before);
  }

  static uint32_t child(const float* before, float r) {
    NodeInts count = {};
    for (int i = 0; i < 4; ++i) {
      NodeFloats value;
      std::memcpy(&value, before + 4 * i, sizeof value);
      count += value <= NodeFloats{r, r, r, r};  // a lane that is true is -1
    }
    return trueCount(count) - 1;
  }

  static uint32_t child(const double* before, double r) {
    NodeLongs count = {};
    for (int i = 0; i < 8; ++i) {
      NodeDoubles value;
      std::memcpy(&value, before + 2 * i, sizeof value);
      count += value <= NodeDoubles{r, r};
    }
    return static_cast<uint32_t>(-(count[0] + count[1])) - 1;
  }

  template <typename T>
  static NodeLeaf leaf(const T* child, float r, float slack) {
    NodeFloats end[4];
    for (int i = 0; i < 4; ++i) {
      if constexpr (sizeof(T) == sizeof(float)) {
        std::memcpy(&end[i], child + 4 * i, sizeof end[i]);
      } else {
        for (int k = 0; k < 4; ++k) end[i][k] = static_cast<float>(child[4 * i + k]);
      }
    }
    nodeEnds(end);
    NodeInts count = {};
    for (const NodeFloats& each : end) count += each <= NodeFloats{r, r, r, r};
    const uint32_t index = trueCount(count);
    alignas(16) float bound[24];
    bound[3] = 0.0f;
    std::memcpy(bound + 4, end, sizeof end);
    bound[20] = -1.0f;  // past the last leaf nothing is sure
    return {index, nodeWithin(r, bound[3 + index], bound[4 + index], slack)};
  }

 private:
  using NodeInts = NodeVector<int32_t>::type;
  using NodeLongs = NodeVector<int64_t>::type;

  static uint32_t trueCount(NodeInts count) {
    count += __builtin_shufflevector(count, count, 2, 3, 0, 1);
    return static_cast<uint32_t>(-(count[0] + count[1]));
  }
};

#if defined(__x86_64__)
struct NodeAvx2 {
  EXRP_AVX2 static double sum(const float* child) {
    __m256d quad[4];
    for (int i = 0; i < 4; ++i) quad[i] = _mm256_cvtps_pd(_mm_loadu_ps(child + 4 * i));
    return sums(quad).all;
  }
  EXRP_AVX2 static double sum(const double* child) {
    __m256d quad[4];
    for (int i = 0; i < 4; ++i) quad[i] = _mm256_loadu_pd(child + 4 * i);
    return sums(quad).all;
  }

  EXRP_AVX2 static double before(const double* child, float* before) {
    __m256d quad[4];
    for (int i = 0; i < 4; ++i) quad[i] = _mm256_loadu_pd(child + 4 * i);
    __m256 low = _mm256_set_m128(_mm256_cvtpd_ps(quad[1]), _mm256_cvtpd_ps(quad[0]));
    __m256 high = _mm256_set_m128(_mm256_cvtpd_ps(quad[3]), _mm256_cvtpd_ps(quad[2]));
    ends(&low, &high);
    const __m256i back = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    low = _mm256_permutevar8x32_ps(low, back);
    high = _mm256_permutevar8x32_ps(high, back);
    _mm256_storeu_ps(before, _mm256_blend_ps(low, _mm256_setzero_ps(), 1));
    _mm256_storeu_ps(before + 8, _mm256_blend_ps(high, low, 1));
    return sums(quad).all;
  }

  EXRP_AVX2 static double before(const double* child, double* before) { return nodeBefore(child, before); }

  EXRP_AVX2 static uint32_t child(const float* before, float r) {
    return trueCount(_mm256_loadu_ps(before), _mm256_loadu_ps(before + 8), r) - 1;
  }

  EXRP_AVX2 static uint32_t child(const double* before, double r) {
    const __m256d point = _mm256_set1_pd(r);
    __m256i atMost[4];
    for (int i = 0; i < 4; ++i)
      atMost[i] = _mm256_castpd_si256(_mm256_cmp_pd(_mm256_loadu_pd(before + 4 * i), point, _CMP_LE_OQ));
    const __m256i left = _mm256_packs_epi32(atMost[0], atMost[1]);
    const __m256i right = _mm256_packs_epi32(atMost[2], atMost[3]);
    return bitCount(_mm256_packs_epi16(left, right)) / 2 - 1;
  }

  EXRP_AVX2 static NodeLeaf leaf(const float* child, float r, float slack) {
    return search(_mm256_loadu_ps(child), _mm256_loadu_ps(child + 8), r, slack);
  }
  EXRP_AVX2 static NodeLeaf leaf(const double* child, float r, float slack) {
    __m128 quad[4];
    for (int i = 0; i < 4; ++i) quad[i] = _mm256_cvtpd_ps(_mm256_loadu_pd(child + 4 * i));
    return search(_mm256_set_m128(quad[1], quad[0]), _mm256_set_m128(quad[3], quad[2]), r, slack);
  }

 private:
  struct Sums {
    double quad0;  // of children 0..3
    double quad2;  // of 8..11
    double left;   // of 0..7
    double all;
  };
  EXRP_AVX2 static Sums sums(const __m256d* quad) {
    const __m256d left = _mm256_hadd_pd(quad[0], quad[1]);  // the first pair of each, then the second of each
    const __m256d right = _mm256_hadd_pd(quad[2], quad[3]);
    const __m128d leftQuads = _mm_add_pd(_mm256_castpd256_pd128(left), _mm256_extractf128_pd(left, 1));
    const __m128d rightQuads = _mm_add_pd(_mm256_castpd256_pd128(right), _mm256_extractf128_pd(right, 1));
    const __m128d halves = _mm_hadd_pd(leftQuads, rightQuads);
    return {_mm_cvtsd_f64(leftQuads), _mm_cvtsd_f64(rightQuads), _mm_cvtsd_f64(halves), _mm_cvtsd_f64(_mm_hadd_pd(halves, halves))};
  }
  EXRP_AVX2 static uint32_t bitCount(__m256i bytes) {
    return static_cast<uint32_t>(__builtin_popcount(static_cast<uint32_t>(_mm256_movemask_epi8(bytes))));
  }

  /// How many of 16 are at most r.
  EXRP_AVX2 static uint32_t trueCount(__m256 low, __m256 high, float r) {
    const __m256 point = _mm256_set1_ps(r);
    const __m256i left = _mm256_castps_si256(_mm256_cmp_ps(low, point, _CMP_LE_OQ));
    const __m256i right = _mm256_castps_si256(_mm256_cmp_ps(high, point, _CMP_LE_OQ));
    return bitCount(_mm256_packs_epi32(left, right)) / 2;
  }

  EXRP_AVX2 static __m256 runningSums(__m256 value) {
    value = _mm256_add_ps(value, _mm256_castsi256_ps(_mm256_slli_si256(_mm256_castps_si256(value), 4)));
    value = _mm256_add_ps(value, _mm256_castsi256_ps(_mm256_slli_si256(_mm256_castps_si256(value), 8)));
    const __m256 lowHalf = _mm256_permute2f128_ps(value, value, 0x08);  // in the place of the upper one
    return _mm256_add_ps(value, _mm256_shuffle_ps(lowHalf, lowHalf, 0xff));
  }

  /// nodeEnds().
  EXRP_AVX2 static void ends(__m256* low, __m256* high) {
    *low = runningSums(*low);
    *high = _mm256_add_ps(runningSums(*high), _mm256_permutevar8x32_ps(*low, _mm256_set1_epi32(7)));
  }

  EXRP_AVX2 static NodeLeaf search(__m256 low, __m256 high, float r, float slack) {
    ends(&low, &high);
    const uint32_t index = trueCount(low, high, r);
    alignas(32) float bound[32];
    bound[7] = 0.0f;
    _mm256_store_ps(bound + 8, low);
    _mm256_store_ps(bound + 16, high);
    bound[24] = -1.0f;  // past the last leaf nothing is sure
    return {index, nodeWithin(r, bound[7 + index], bound[8 + index], slack)};
  }
};
#else
using NodeAvx2 = NodePlain;
#endif

}  // namespace exrp
