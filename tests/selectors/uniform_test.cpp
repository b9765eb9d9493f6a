// UniformSelector: every pick alike, reproducible, saved whole.
#include "selectors/uniform.hpp"

#include "tests/selectors/_table.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

std::vector<double> histogram(UniformSelector& selector, uint32_t count, int batches, double lastDropped) {
  std::vector<double> observed(count);
  std::vector<uint32_t> index(500);
  std::vector<double> probability(500);
  Random random(5, 5);
  for (int i = 0; i < batches; ++i) {
    CHECK_EQUAL(selector.select(500, index.data(), probability.data()), Status::ok);
    for (int k = 0; k < 500; ++k) {
      CHECK_EQUAL(probability[static_cast<size_t>(k)], 1.0 / count);
      uint32_t at = index[static_cast<size_t>(k)];
      if (at == count - 1 && random.uniform() < lastDropped) at = 0;
      ++observed[at];
    }
  }
  return observed;
}

void everyPickAlike() {
  constexpr uint32_t count = 101;
  UniformSelector selector(Random(1, 0));
  for (uint32_t i = 0; i < count; ++i) push(selector, i);
  const std::vector<double> expected(count, 2000.0 * 500 / count);
  CHECK(std::fabs(chiSquareDeviation(histogram(selector, count, 2000, 0.0), expected)) < 4.0);
  CHECK(chiSquareDeviation(histogram(selector, count, 2000, 0.1), expected) > 6.0);  // the twin: one pick 10 % too rare
  CHECK(!selector.weighted());
}

void savedAndLoadedItDrawsTheSame() {
  UniformSelector a(Random(2, 0));
  for (uint32_t i = 0; i < 50; ++i) push(a, i);
  uint32_t index[10];
  double probability[10];
  CHECK_EQUAL(a.select(10, index, probability), Status::ok);
  UniformSelector b(Random(3, 0));
  CHECK_EQUAL(load(b, 50, save(a, 50)), Status::ok);
  drawsAreEqual(a, b, 50, 4);
  std::vector<uint8_t> zero(a.headerBytes() + 1);
  UniformSelector c(Random(3, 0));
  CHECK_EQUAL(load(c, 50, zero), Status::dataCorrupt);
}

}  // namespace

int main() {
  everyPickAlike();
  savedAndLoadedItDrawsTheSame();
  return checkResult("uniform");
}
