// portable_math: accuracy against long double, exact cases, saturation, and a hash of the bits that must be the same everywhere.
#include "kernel/base/portable_math.hpp"

#include <cmath>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

double randomBase(Random& random, double low, double high) {  // log-uniform
  return std::exp(std::log(low) + random.uniform() * (std::log(high) - std::log(low)));
}

double ulps(double value, long double truth) {
  const double ulp = std::nextafter(std::fabs(static_cast<double>(truth)), HUGE_VAL) - std::fabs(static_cast<double>(truth));
  return static_cast<double>(std::fabs(static_cast<long double>(value) - truth)) / ulp;
}

void logIsWithinTwoUlps() {
  Random random(1, 0);
  double worst = 0;
  for (int i = 0; i < 2000000; ++i) {
    const double x = i % 2 == 0 ? randomBase(random, 1e-300, 1e300) : 0.5 + 2 * random.uniform();
    const double error = ulps(portableLog(x), std::log(static_cast<long double>(x)));
    if (error > worst) worst = error;
  }
  for (int i = 2; i < 2000000; ++i) {
    const double error = ulps(portableLog(i), std::log(static_cast<long double>(i)));
    if (error > worst) worst = error;
  }
  std::printf("log: worst %.3f ulp\n", worst);
  CHECK(worst <= 2.0);
  CHECK_EQUAL(portableLog(1.0), 0.0);
  CHECK_EQUAL(portableLog(0.0), -HUGE_VAL);
  CHECK(ulps(portableLog(5e-324), std::log(static_cast<long double>(5e-324))) <= 2.0);
}

void powIsAccurate() {
  Random random(2, 0);
  double worst = 0;
  double worstWide = 0;
  for (int i = 0; i < 2000000; ++i) {
    const bool wide = i % 2 == 1;
    const double base = wide ? randomBase(random, 1e-300, 1e300) : randomBase(random, 1e-8, 1e8);
    const double exponent = wide ? 4 * random.uniform() - 2 : 2 * random.uniform() - 1;
    const double result = portablePow(base, exponent);
    const long double truth = std::pow(static_cast<long double>(base), static_cast<long double>(exponent));
    if (truth > 1e307L || truth < 1e-307L) continue;
    const auto error = static_cast<double>(std::fabs(static_cast<long double>(result) / truth - 1.0L));
    if (!wide && error > worst) worst = error;
    const double bound = (2.0 + std::fabs(exponent * std::log2(base))) * 0x1p-53;
    if (wide && error / bound > worstWide) worstWide = error / bound;
  }
  std::printf("pow: worst %.3g relative in 1e-8..1e8, %.3f of the bound elsewhere\n", worst, worstWide);
  CHECK(worst <= 1e-14);
  CHECK(worstWide <= 1.0);
}

void pow32IsAccurate() {
  Random random(5, 0);
  double worst = 0;
  for (int i = 0; i < 2000000; ++i) {
    const double base = i % 2 == 0 ? randomBase(random, 1e-8, 1e8) : randomBase(random, 1e-300, 1e300);
    const double exponent = i % 3 == 0 ? 8 * random.uniform() - 4 : 2 * random.uniform() - 1;
    const double result = portablePow32(base, exponent);
    const long double truth = std::pow(static_cast<long double>(base), static_cast<long double>(exponent));
    if (truth > 1e307L || truth < 1e-307L) continue;
    const auto error = static_cast<double>(std::fabs(static_cast<long double>(result) / truth - 1.0L));
    const double bound = (1.0 + std::fabs(exponent)) * 0x1p-35 + std::fabs(exponent * std::log2(base)) * 0x1p-53;
    if (error / bound > worst) worst = error / bound;
  }
  std::printf("pow32: worst %.3f of the bound\n", worst);
  CHECK(worst <= 1.0);
}

void exactCasesOf(double (*pow)(double, double)) {
  for (double x : {0.0, 5e-324, 1e-20, 0.3, 1.0, 2.0, 7.25, 1e300, 1.7976931348623157e308}) {
    CHECK_EQUAL(pow(x, 0.0), 1.0);
    CHECK_EQUAL(pow(x, 1.0), x);
    CHECK_EQUAL(pow(x, 0.5), std::sqrt(x));
  }
  for (double a : {1e-3, 0.3, 0.6, 1.5, 100.0}) {
    CHECK_EQUAL(pow(0.0, a), 0.0);
    CHECK_EQUAL(pow(0.0, -a), HUGE_VAL);
    CHECK_EQUAL(pow(1.0, a), 1.0);
    CHECK_EQUAL(pow(1.0, -a), 1.0);
  }
  CHECK_EQUAL(pow(1e300, 2.0), HUGE_VAL);
  CHECK_EQUAL(pow(1e-300, 2.0), 0.0);
  CHECK_EQUAL(pow(1e300, 1e9), HUGE_VAL);
  CHECK_EQUAL(pow(1e-300, 1e9), 0.0);
  CHECK_EQUAL(pow(2.0, 10.0), 1024.0);
  CHECK(pow(5e-324, 0.25) > 0.0);
}

void weightsStayDrawable() {
  CHECK_EQUAL(portableWeight(0.0), 0.0f);
  CHECK_EQUAL(portableWeight(1e-300), 0x1p-126f);
  CHECK_EQUAL(portableWeight(1e300), 0x1.fffffep127f);
  CHECK_EQUAL(portableWeight(HUGE_VAL), 0x1.fffffep127f);
  CHECK_EQUAL(portableWeight(0.25), 0.25f);
}

void manyIsTheSameToTheBit() {
  Random random(3, 0);
  for (double exponent : {0.0, 0.5, 1.0, 0.6, -0.4, 3.7}) {
    std::vector<double> base(1001);
    for (double& x : base) x = random.below(10) == 0 ? 0.0 : randomBase(random, 1e-310, 1e300);
    std::vector<double> result(base.size());
    for (const bool avx2 : {false, hasAvx2()}) {
      portablePow32Many(base.data(), exponent, result.data(), static_cast<uint32_t>(base.size()), avx2);
      for (size_t i = 0; i < base.size(); ++i) CHECK_EQUAL(result[i], portablePow32(base[i], exponent));
    }
  }
}

// Every compiler, optimisation level and platform must give the same number, and the TypeScript port too. Bases are (next() >> 11) *
// 2^(k - 53) with k = i % 61 - 30. Exponents are uniform() * 2 - 1. hash = hash * 0x100000001b3 ^ bits.
void bitsAreThoseOfEveryPlatform() {
  Random random(4, 0);
  uint64_t hash = 0xcbf29ce484222325u;
  for (int i = 0; i < 100000; ++i) {
    const double base = random.uniform() * std::bit_cast<double>(static_cast<uint64_t>(1023 + i % 61 - 30) << 52);
    const double exponent = random.uniform() * 2.0 - 1.0;
    hash = (hash * 0x100000001b3u) ^ std::bit_cast<uint64_t>(portableLog(base));
    hash = (hash * 0x100000001b3u) ^ std::bit_cast<uint64_t>(portablePow(base, exponent));
    hash = (hash * 0x100000001b3u) ^ std::bit_cast<uint64_t>(portablePow32(base, exponent));
  }
  std::printf("hash %016llx\n", static_cast<unsigned long long>(hash));
  CHECK_EQUAL(hash, uint64_t{0x88b0e7e207ffbe69});
}

}  // namespace

int main() {
  logIsWithinTwoUlps();
  powIsAccurate();
  pow32IsAccurate();
  exactCasesOf(portablePow);
  exactCasesOf(portablePow32);
  weightsStayDrawable();
  manyIsTheSameToTheBit();
  bitsAreThoseOfEveryPlatform();
  return exrp::test::checkResult("portable_math");
}
