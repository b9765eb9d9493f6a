// Where a point r lies in a node of 16 children, by running sums: the child is the last one that what is before it is at most r.
// All 16 are compared at once, and no branch hangs on where r lies.
//
// Two ways that find the same: WidePlain in vectors of 16 bytes, which every platform has, and WideAvx2 in those of 32.
// Among leaves the running sums are not stored; they are added up in float32. Rounding makes them wrong by a little, so the answer
// comes with whether it is sure: r keeps away from both ends of the leaf by `slack`, which is what r itself may be off, and by 2^-21
// of the leaf's end, which is more than the rounding here: four sums, and float32 of a double where the leaves are, by 2^-24 each.
//
// Thread safety: pure functions. Cost: 2-5 ns when the node is in the cache.
// It doesn't check its arguments: before[0] is 0, and r is finite and >= 0.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernel/cpu.hpp"
#include "selectors/_wide_node.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace exrp {

/// A leaf, and whether it is surely the one at r. Where it isn't sure the index may be 16.
struct WideLeaf {
  uint32_t index;
  bool sure;
};

/// Whether r lies well within [start, end).
inline bool wideWithin(float r, float start, float end, float slack) {
  const float beyond = r - start;
  const float ahead = end - r;
  return (beyond < ahead ? beyond : ahead) >= slack + end * 0x1p-21f;
}

struct WidePlain {
  static uint32_t child(const float* before, float r) {
    WideInts count = {};
    for (int i = 0; i < 4; ++i) {
      WideFloats value;
      std::memcpy(&value, before + 4 * i, sizeof value);
      count += value <= WideFloats{r, r, r, r};  // a lane that is true is -1
    }
    return trueCount(count) - 1;
  }

  static uint32_t child(const double* before, double r) {
    WideLongs count = {};
    for (int i = 0; i < 8; ++i) {
      WideDoubles value;
      std::memcpy(&value, before + 2 * i, sizeof value);
      count += value <= WideDoubles{r, r};
    }
    return static_cast<uint32_t>(-(count[0] + count[1])) - 1;
  }

  template <typename T>
  static WideLeaf leaf(const T* child, float r, float slack) {
    const WideFloats zero = {};
    WideFloats end[4];
    for (int i = 0; i < 4; ++i) {
      if constexpr (sizeof(T) == sizeof(float)) {
        std::memcpy(&end[i], child + 4 * i, sizeof end[i]);
      } else {
        for (int k = 0; k < 4; ++k) end[i][k] = static_cast<float>(child[4 * i + k]);
      }
      end[i] += __builtin_shufflevector(zero, end[i], 0, 4, 5, 6);
      end[i] += __builtin_shufflevector(zero, end[i], 0, 1, 4, 5);
    }
    WideInts count = {};
    for (int i = 0; i < 4; ++i) {
      if (i > 0) end[i] += __builtin_shufflevector(end[i - 1], end[i - 1], 3, 3, 3, 3);
      count += end[i] <= WideFloats{r, r, r, r};
    }
    const uint32_t index = trueCount(count);
    alignas(16) float bound[24];
    bound[3] = 0.0f;
    std::memcpy(bound + 4, end, sizeof end);
    bound[20] = -1.0f;  // past the last leaf nothing is sure
    return {index, wideWithin(r, bound[3 + index], bound[4 + index], slack)};
  }

 private:
  using WideInts = WideVector<int32_t>::type;
  using WideLongs = WideVector<int64_t>::type;

  static uint32_t trueCount(WideInts count) {
    count += __builtin_shufflevector(count, count, 2, 3, 0, 1);
    return static_cast<uint32_t>(-(count[0] + count[1]));
  }
};

#if defined(__x86_64__)
struct WideAvx2 {
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

  EXRP_AVX2 static WideLeaf leaf(const float* child, float r, float slack) {
    return search(_mm256_loadu_ps(child), _mm256_loadu_ps(child + 8), r, slack);
  }
  EXRP_AVX2 static WideLeaf leaf(const double* child, float r, float slack) {
    __m128 quad[4];
    for (int i = 0; i < 4; ++i) quad[i] = _mm256_cvtpd_ps(_mm256_loadu_pd(child + 4 * i));
    return search(_mm256_set_m128(quad[1], quad[0]), _mm256_set_m128(quad[3], quad[2]), r, slack);
  }

 private:
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

  EXRP_AVX2 static WideLeaf search(__m256 low, __m256 high, float r, float slack) {
    low = runningSums(low);
    high = _mm256_add_ps(runningSums(high), _mm256_permutevar8x32_ps(low, _mm256_set1_epi32(7)));
    const uint32_t index = trueCount(low, high, r);
    alignas(32) float bound[32];
    bound[7] = 0.0f;
    _mm256_store_ps(bound + 8, low);
    _mm256_store_ps(bound + 16, high);
    bound[24] = -1.0f;  // past the last leaf nothing is sure
    return {index, wideWithin(r, bound[7 + index], bound[8 + index], slack)};
  }
};
#else
using WideAvx2 = WidePlain;
#endif

}  // namespace exrp
