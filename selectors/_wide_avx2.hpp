#pragma once
#include "kernel/cpu.hpp"
#include "selectors/_wide_node.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
namespace exrp {
struct WideAvx2 {
  EXRP_AVX2 static inline uint32_t child(const float* before, float r) {
    const __m256 point = _mm256_set1_ps(r);
    const __m256i low = _mm256_castps_si256(_mm256_cmp_ps(_mm256_loadu_ps(before), point, _CMP_LE_OQ));
    const __m256i high = _mm256_castps_si256(_mm256_cmp_ps(_mm256_loadu_ps(before + 8), point, _CMP_LE_OQ));
    const auto bits = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_packs_epi32(low, high)));
    return static_cast<uint32_t>(__builtin_popcount(bits)) / 2 - 1;
  }
  EXRP_AVX2 static inline uint32_t child(const double* before, double r) {
    const __m256d point = _mm256_set1_pd(r);
    __m256i le[4];
    for (int i = 0; i < 4; ++i) le[i] = _mm256_castpd_si256(_mm256_cmp_pd(_mm256_loadu_pd(before + 4 * i), point, _CMP_LE_OQ));
    const __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(le[0], le[1]), _mm256_packs_epi32(le[2], le[3]));
    const auto bits = static_cast<uint32_t>(_mm256_movemask_epi8(packed));
    return static_cast<uint32_t>(__builtin_popcount(bits)) / 2 - 1;
  }
  EXRP_AVX2 static inline WideLeaf leaf(const float* child, float r, float slack) {
    __m256 a = _mm256_loadu_ps(child);
    __m256 b = _mm256_loadu_ps(child + 8);
    return search(a, b, r, slack);
  }
  EXRP_AVX2 static inline WideLeaf leaf(const double* child, float r, float slack) {
    const __m256 a = _mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(child + 4)), _mm256_cvtpd_ps(_mm256_loadu_pd(child)));
    const __m256 b = _mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(child + 12)), _mm256_cvtpd_ps(_mm256_loadu_pd(child + 8)));
    return search(a, b, r, slack);
  }
  EXRP_AVX2 static inline __m256 running(__m256 a) {
    a = _mm256_add_ps(a, _mm256_castsi256_ps(_mm256_slli_si256(_mm256_castps_si256(a), 4)));
    a = _mm256_add_ps(a, _mm256_castsi256_ps(_mm256_slli_si256(_mm256_castps_si256(a), 8)));
    const __m256 half = _mm256_permute2f128_ps(a, a, 0x08);
    return _mm256_add_ps(a, _mm256_shuffle_ps(half, half, 0xff));
  }
  EXRP_AVX2 static inline WideLeaf search(__m256 a, __m256 b, float r, float slack) {
    a = running(a);
    b = running(b);
    b = _mm256_add_ps(b, _mm256_permutevar8x32_ps(a, _mm256_set1_epi32(7)));
    const __m256 point = _mm256_set1_ps(r);
    const __m256i low = _mm256_castps_si256(_mm256_cmp_ps(a, point, _CMP_LE_OQ));
    const __m256i high = _mm256_castps_si256(_mm256_cmp_ps(b, point, _CMP_LE_OQ));
    const auto bits = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_packs_epi32(low, high)));
    const uint32_t past = static_cast<uint32_t>(__builtin_popcount(bits)) / 2;
    const uint32_t index = past < 16 ? past : 15;
    alignas(32) float bound[24];
    bound[7] = 0.0f;
    _mm256_store_ps(bound + 8, a);
    _mm256_store_ps(bound + 16, b);
    const float from = r - bound[7 + index];
    const float to = bound[8 + index] - r;
    const float least = from < to ? from : to;
    return {index, least >= slack + bound[8 + index] * 0x1p-21f};
  }
};
}  // namespace exrp
#endif
