// WithoutReplacementSelector against Floyd's algorithm with a plain list, and by statistics: each ordered pair alike.
#include "selectors/without_replacement.hpp"

#include <algorithm>

#include "tests/selectors/_table.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

void drawsAreFloyds(uint64_t seed) {
  Random random(seed, 9);
  Random twin(seed, 1);
  const uint32_t countMax = 1 + random.below(200);
  WithoutReplacementSelector selector(Random(seed, 1), countMax);
  CHECK_EQUAL(selector.create(), Status::ok);
  Table table(selector);
  for (int step = 0; step < 300; ++step) {
    if (random.below(5) < 3 && table.count() < countMax)
      table.push();
    else if (table.count() > 0)
      table.remove(random.below(table.count()));
    const uint32_t n = table.count();
    if (n == 0) continue;
    std::vector<uint32_t> index(n + 1);
    std::vector<double> probability(n + 1);
    CHECK_EQUAL(selector.checkCount(n), Status::ok);
    CHECK_EQUAL(selector.checkCount(n + 1), Status::batchSize);
    CHECK_EQUAL(errorDetail[0], double(n + 1));
    errorDetail[1] = 0;
    CHECK_EQUAL(selector.select(n + 1, index.data(), probability.data()), Status::batchSize);
    CHECK_EQUAL(errorDetail[1], double(n));
    const uint32_t count = random.below(4) == 0 ? n : 1 + random.below(n);
    CHECK_EQUAL(selector.select(count, index.data(), probability.data()), Status::ok);
    std::vector<uint32_t> plain;
    for (uint32_t j = n - count; j < n; ++j) {
      const uint32_t one = twin.below(j + 1);
      plain.push_back(std::find(plain.begin(), plain.end(), one) == plain.end() ? one : j);
    }
    for (uint32_t k = count; k > 1; --k) std::swap(plain[k - 1], plain[twin.below(k)]);
    for (uint32_t k = 0; k < count; ++k) {
      CHECK_EQUAL(index[k], plain[k]);
      CHECK_EQUAL(probability[k], 1.0 / n);
    }
    std::sort(plain.begin(), plain.end());
    CHECK(std::adjacent_find(plain.begin(), plain.end()) == plain.end());
    CHECK_EQUAL(selector.check(), 0);
  }
}

double pairDeviation(double tilt) {
  constexpr uint32_t count = 7;
  constexpr uint32_t batch = 4;
  WithoutReplacementSelector selector(Random(4, 0), count);
  CHECK_EQUAL(selector.create(), Status::ok);
  for (uint32_t i = 0; i < count; ++i) push(selector, i);
  Random random(5, 5);
  std::vector<double> observed(count * (count - 1));
  for (int round = 0; round < 200000; ++round) {
    uint32_t index[batch];
    double probability[batch];
    CHECK_EQUAL(selector.select(batch, index, probability), Status::ok);
    uint32_t a = index[round % 4];
    uint32_t b = index[(round / 4 % 3 + 1 + round) % 4];
    if (a > b && random.uniform() < tilt) std::swap(a, b);
    ++observed[a * (count - 1) + (b > a ? b - 1 : b)];
  }
  return chiSquareDeviation(observed, std::vector<double>(observed.size(), 200000.0 / (count * (count - 1))));
}

void savedAndLoadedItDrawsTheSame() {
  WithoutReplacementSelector a(Random(2, 0), 50);
  WithoutReplacementSelector b(Random(3, 0), 80);
  WithoutReplacementSelector c(Random(3, 0), 50);
  for (auto* each : {&a, &b, &c}) CHECK_EQUAL(each->create(), Status::ok);
  for (uint32_t i = 0; i < 50; ++i) push(a, i);
  uint32_t index[10];
  double probability[10];
  CHECK_EQUAL(a.select(10, index, probability), Status::ok);
  CHECK_EQUAL(load(b, 50, save(a, 50)), Status::ok);
  drawsAreEqual(a, b, 50, 4);
  CHECK_EQUAL(load(c, 50, std::vector<uint8_t>(a.headerBytes() + 1)), Status::dataCorrupt);
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 100; ++seed) drawsAreFloyds(seed);
  CHECK(std::fabs(pairDeviation(0.0)) < 4.0);
  CHECK(pairDeviation(0.05) > 6.0);  // the twin: a few pairs in order
  savedAndLoadedItDrawsTheSame();
  return checkResult("without replacement");
}
