// portable_math: logarithm and power from + - * / and bit operations only, so that they give the same bits on every platform.
//
// The log and pow of C libraries differ in the last bit between platforms, and a draw that depends on that bit differs too. These
// functions give the same bits everywhere, provided that the compiler never fuses a product and a sum (-ffp-contract=off).
// The TypeScript model has the same functions, operation for operation: change both or none.
//
// Thread safety: pure functions.
// Accuracy (measured in tests/kernel/base/portable_math_test.cpp), relative: log within about 1 ulp; pow within
//   (2 + |exponent * log2(base)|) * 2^-53; pow32 within (1 + |exponent|) * 2^-35 + |exponent * log2(base)| * 2^-53.
// Cost: log 8 ns; pow 27 ns; pow32Many 5.4 ns an element, 2.9 with AVX2. Clang computes two or four
// elements at a time; GCC 12 does not.
// They do not set errno, do not handle NaN, and flush results below 2^-1022 to 0.
#pragma once

#include <bit>
#include <cstdint>

#include "kernel/base/cpu.hpp"

// Loops over many elements inline these functions, also loops in vectors of 256 bits.
#define EXRP_IN_LOOPS inline __attribute__((always_inline))

namespace exrp {

/// x = mantissa * 2^exponent, mantissa in [sqrt(1/2), sqrt(2)), for finite x > 0.
struct PortableSplit {
  double mantissa;
  double exponent;
};

EXRP_IN_LOOPS PortableSplit portableSplit(double x) {
  const bool subnormal = x < 0x1p-1022;
  const double normal = subnormal ? x * 0x1p54 : x;
  // 0x3fe6a09e is the upper half of sqrt(1/2). Adding it moves the step of the exponent field from a power of two to sqrt(1/2).
  constexpr uint64_t half = uint64_t{0x3fe6a09e} << 32;
  constexpr uint64_t one = uint64_t{0x3ff00000} << 32;
  const uint64_t bits = std::bit_cast<uint64_t>(normal) + (one - half);
  const uint64_t mantissa = (bits & 0x000fffffffffffffu) + half;
  // The exponent field as the low bits of 2^52 + field: an exact conversion that vectorises under SSE2.
  const double field = std::bit_cast<double>((bits >> 52) | 0x4330000000000000u) - 0x1p52;
  return {std::bit_cast<double>(mantissa), field - 1023.0 - (subnormal ? 54.0 : 0.0)};
}

/// ln(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)): with s = f / (2 + f), ln(1 + f) = 2 s + 2/3 s^3 + 2/5 s^5 + ..., and
/// 2 s = f - s f, so that the large term, f, is exact. The first term left out is below 2^-60.
EXRP_IN_LOOPS double portableLogRest(double f) {
  const double halfSquare = 0.5 * f * f;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double series = 2.0 / 21.0;
  series = series * z + 2.0 / 19.0;
  series = series * z + 2.0 / 17.0;
  series = series * z + 2.0 / 15.0;
  series = series * z + 2.0 / 13.0;
  series = series * z + 2.0 / 11.0;
  series = series * z + 2.0 / 9.0;
  series = series * z + 2.0 / 7.0;
  series = series * z + 2.0 / 5.0;
  series = series * z + 2.0 / 3.0;
  return s * (halfSquare + series * z) - halfSquare;
}

/// The natural logarithm of a finite x >= 0; -infinity at 0.
inline double portableLog(double x) {
  if (x <= 0.0) return -__builtin_inf();
  constexpr double ln2High = 0x1.62e42fee00000p-1;  // its last 21 bits are 0, so that exponent * ln2High is exact
  constexpr double ln2Low = 0x1.a39ef35793c76p-33;
  const PortableSplit split = portableSplit(x);
  const double f = split.mantissa - 1.0;
  const double rest = portableLogRest(f) + split.exponent * ln2Low;
  return split.exponent * ln2High + (f + rest);
}

/// base^exponent without the exact cases: exp(t) * 2^n with exponent * log2(base) = n + t / ln 2, n an integer. No branches.
EXRP_IN_LOOPS double portablePowGeneral(double base, double exponent) {
  constexpr double ln2 = 0x1.62e42fefa39efp-1;
  constexpr double log2e = 0x1.71547652b82fep+0;
  constexpr double magic = 0x1.8p52;  // adding and subtracting it rounds to the nearest integer
  const PortableSplit split = portableSplit(base);
  const double f = split.mantissa - 1.0;
  const double large = exponent * split.exponent;
  const double small = exponent * (f + portableLogRest(f));
  const double shifted = (large + small * log2e) + magic;
  const double n = shifted - magic;
  const double t = (large - n) * ln2 + small;
  double e = 1.0 / 6227020800.0;  // Taylor's series of exp up to t^13 / 13!; |t| <= 0.35, so the next term is below 2^-57
  e = e * t + 1.0 / 479001600.0;
  e = e * t + 1.0 / 39916800.0;
  e = e * t + 1.0 / 3628800.0;
  e = e * t + 1.0 / 362880.0;
  e = e * t + 1.0 / 40320.0;
  e = e * t + 1.0 / 5040.0;
  e = e * t + 1.0 / 720.0;
  e = e * t + 1.0 / 120.0;
  e = e * t + 1.0 / 24.0;
  e = e * t + 1.0 / 6.0;
  e = e * t + 0.5;
  e = e * t + 1.0;
  e = e * t + 1.0;
  const double power = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023) << 52);  // 2^n
  double result = e * power;
  result = n > 1023.0 ? __builtin_inf() : result;
  result = n < -1022.0 ? 0.0 : result;
  return result;
}

/// base^exponent for finite base >= 0 and |exponent| <= 2^40. Exact cases: exponent 0 gives 1 for any base, 1 gives the base, 0.5 its
/// square root. 0 to a positive power is 0, to a negative power infinity. Overflow gives infinity, underflow 0.
inline double portablePow(double base, double exponent) {
  if (exponent == 0.0) return 1.0;
  if (exponent == 1.0) return base;
  if (exponent == 0.5) return __builtin_sqrt(base);
  if (base <= 0.0) return exponent > 0.0 ? 0.0 : __builtin_inf();
  return portablePowGeneral(base, exponent);
}

/// portablePowGeneral() with shorter series, for results that are kept as float32. The terms are added in pairs, so that few of the
/// operations wait for one another.
EXRP_IN_LOOPS double portablePow32General(double base, double exponent) {
  constexpr double ln2 = 0x1.62e42fefa39efp-1;
  constexpr double log2e = 0x1.71547652b82fep+0;
  constexpr double magic = 0x1.8p52;
  const PortableSplit split = portableSplit(base);
  // ln(mantissa) = 2 s + 2/3 s^3 + ...; z <= 0.0295, so the first term left out is below 2^-34 of the sum.
  const double f = split.mantissa - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double z2 = z * z;
  const double series =
      (2.0 + z * (2.0 / 3.0)) + z2 * ((2.0 / 5.0 + z * (2.0 / 7.0)) + z2 * (2.0 / 9.0 + z * (2.0 / 11.0)));
  const double large = exponent * split.exponent;
  const double small = exponent * (s * series);
  const double shifted = (large + small * log2e) + magic;
  const double n = shifted - magic;
  const double t = (large - n) * ln2 + small;
  // Taylor's series of exp up to t^9 / 9!; |t| <= 0.35, so the next term is below 2^-36.
  const double t2 = t * t;
  const double t4 = t2 * t2;
  const double low = (1.0 + t) + t2 * (0.5 + t * (1.0 / 6.0));
  const double high = (1.0 / 24.0 + t * (1.0 / 120.0)) + t2 * (1.0 / 720.0 + t * (1.0 / 5040.0));
  const double e = low + t4 * (high + t4 * (1.0 / 40320.0 + t * (1.0 / 362880.0)));
  const double power = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023) << 52);  // 2^n
  double result = e * power;
  result = n > 1023.0 ? __builtin_inf() : result;
  result = n < -1022.0 ? 0.0 : result;
  return result;
}

/// portablePow() for a result that is kept as float32, with the same exact cases.
inline double portablePow32(double base, double exponent) {
  if (exponent == 0.0) return 1.0;
  if (exponent == 1.0) return base;
  if (exponent == 0.5) return __builtin_sqrt(base);
  if (base <= 0.0) return exponent > 0.0 ? 0.0 : __builtin_inf();
  return portablePow32General(base, exponent);
}

EXRP_IN_LOOPS void portablePow32Loop(const double* base, double exponent, double* result, uint32_t count) {
  const double ofZero = exponent > 0.0 ? 0.0 : __builtin_inf();
  for (uint32_t i = 0; i < count; ++i) {
    const double x = base[i];
    const double power = portablePow32General(x, exponent);
    result[i] = x <= 0.0 ? ofZero : power;
  }
}
EXRP_AVX2 inline void portablePow32LoopAvx2(const double* base, double exponent, double* result, uint32_t count) {
  portablePow32Loop(base, exponent, result, count);
}

/// result[i] = portablePow32(base[i], exponent), to the bit, with or without AVX2. The arrays may be the same, but
/// then it is no faster than a loop of portablePow32.
inline void portablePow32Many(const double* base, double exponent, double* result, uint32_t count, bool avx2) {
  if (exponent == 0.0 || exponent == 1.0 || exponent == 0.5) {
    for (uint32_t i = 0; i < count; ++i) result[i] = portablePow32(base[i], exponent);
  } else if (avx2) {
    portablePow32LoopAvx2(base, exponent, result, count);
  } else {
    portablePow32Loop(base, exponent, result, count);
  }
}

/// A value as a float32 weight: 0 for 0. A positive value becomes at least the smallest normal float and at most the largest, so it can
/// still be drawn.
inline float portableWeight(double value) {
  if (value <= 0.0) return 0.0f;
  if (value < 0x1p-126) return 0x1p-126f;
  if (value > 0x1.fffffep127) return 0x1.fffffep127f;
  return static_cast<float>(value);
}

}  // namespace exrp
