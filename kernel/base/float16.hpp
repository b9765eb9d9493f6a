// float16: floats as halves (IEEE 754 binary16) and back, one by one and in loops; on x86-64 also in vectors of eight, by F16C.
//
// Thread safety: pure functions.
// Invariants:
//   1. A float becomes the half nearest to it, ties to even. Every NaN becomes 0x7e00.
//   2. With F16C and without, the bits are the same.
// Cost: some 15 operations a number, which loops do in vectors; with F16C, one conversion for eight.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernel/base/cpu.hpp"
#include "kernel/base/portable_math.hpp"

namespace exrp {

/// The float of a half. Without branches, and with signed comparisons, so that loops can be done in vectors.
EXRP_IN_LOOPS float floatOfHalf(uint16_t bits) {
  const int32_t shifted = (bits & 0x7fff) << 13;
  const int32_t exponent = shifted & 0x0f800000;
  const int32_t normal = shifted + 0x38000000;
  const int32_t special = shifted + 0x70000000;  // infinity and NaN
  // With 1 as the exponent, the float is 2^-14 too large.
  const float small = std::bit_cast<float>(shifted + 0x38800000) - 0x1p-14f;
  const int32_t large = exponent == 0x0f800000 ? special : normal;
  const int32_t value = exponent == 0 ? std::bit_cast<int32_t>(small) : large;
  return std::bit_cast<float>(static_cast<uint32_t>(value) | (bits & 0x8000u) << 16);
}

/// The half nearest to a float, ties to even. Every NaN becomes 0x7e00.
EXRP_IN_LOOPS uint16_t halfOf(float number) {
  const auto bits = std::bit_cast<uint32_t>(number);
  const auto size = static_cast<int32_t>(bits & 0x7fffffffu);
  // The float 0.5 has so large a unit in its last place that the sum is rounded to a multiple of the smallest half.
  const int32_t small = std::bit_cast<int32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000;
  const int32_t normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
  const int32_t finite = size < 0x38800000 ? small : normal;
  const int32_t value = size >= 0x47800000 ? 0x7c00 : finite;
  const auto sign = static_cast<int32_t>(bits >> 16 & 0x8000u);
  return static_cast<uint16_t>(size > 0x7f800000 ? 0x7e00 : value | sign);
}

EXRP_IN_LOOPS void storeHalves(const float* __restrict from, size_t count, uint8_t* __restrict to) {
  for (size_t at = 0; at < count; ++at) {
    const uint16_t half = halfOf(from[at]);
    memcpy(to + at * sizeof half, &half, sizeof half);
  }
}

#if defined(__x86_64__)
// Eight numbers at a time, where halves are made of bytes or floats. The processor's own conversion rounds as halfOf() does.

#define EXRP_EIGHT EXRP_AVX2 EXRP_IN_LOOPS

EXRP_EIGHT __m256 eightOf(const float* from) { return _mm256_loadu_ps(from); }
EXRP_EIGHT __m256 eightOf(const uint8_t* from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}

/// `canBeNan`: whether one of them can be. The conversion would keep bits of it.
template <bool canBeNan>
EXRP_EIGHT void storeEightHalves(__m256 numbers, uint8_t* to) {
  if constexpr (canBeNan) {
    const __m256 isNan = _mm256_cmp_ps(numbers, numbers, _CMP_UNORD_Q);
    numbers = _mm256_blendv_ps(numbers, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)), isNan);
  }
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(numbers, _MM_FROUND_TO_NEAREST_INT));
}

/// The same of four numbers.
EXRP_EIGHT void storeFourHalves(__m128 numbers, uint8_t* to) {
  const __m128 isNan = _mm_cmpunord_ps(numbers, numbers);
  numbers = _mm_blendv_ps(numbers, _mm_castsi128_ps(_mm_set1_epi32(0x7fc00000)), isNan);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_cvtps_ph(numbers, _MM_FROUND_TO_NEAREST_INT));
}

/// Halves of `count` numbers, a multiple of eight.
template <bool canBeNan, typename T>
EXRP_AVX2 void scaledHalves(const T* from, size_t count, float scale, float offset, uint8_t* to) {
  const __m256 scales = _mm256_set1_ps(scale);
  const __m256 offsets = _mm256_set1_ps(offset);
  const bool adds = offset != 0.0f;
  for (size_t at = 0; at < count; at += 8) {
    const __m256 products = _mm256_mul_ps(eightOf(from + at), scales);
    storeEightHalves<canBeNan>(adds ? _mm256_add_ps(products, offsets) : products, to + at * sizeof(uint16_t));
  }
}
template <bool canBeNan, typename T>
EXRP_AVX2 void normalHalves(const T* from, size_t count, const float* means, const float* rests, const float* factors, float limit, uint8_t* to) {
  const __m256 least = _mm256_set1_ps(-limit);
  const __m256 largest = _mm256_set1_ps(limit);
  for (size_t at = 0; at < count; at += 8) {
    const __m256 centred = _mm256_sub_ps(_mm256_sub_ps(eightOf(from + at), eightOf(means + at)), eightOf(rests + at));
    // The second operand stays where one is a NaN.
    const __m256 above = _mm256_max_ps(least, _mm256_mul_ps(centred, eightOf(factors + at)));
    storeEightHalves<canBeNan>(_mm256_min_ps(largest, above), to + at * sizeof(uint16_t));
  }
}
#undef EXRP_EIGHT
#endif

}  // namespace exrp
