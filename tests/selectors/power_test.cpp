// PowerSelector against plain sums of powers: probabilities to 1e-14, zeros, and numbers near the ends of double.
#include "selectors/power.hpp"

#include "tests/selectors/_table.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

void probabilitiesArePowersOfPriorities(uint64_t seed) {
  Random random(seed, 9);
  const double exponent = std::vector<double>{0, 0.3, 1, 1.7}[seed % 4];
  constexpr uint32_t countMax = 300;
  PowerSelector selector(exponent, 1.0, Random(seed, 1), countMax);
  CHECK_EQUAL(selector.create(), Status::ok);
  Table table(selector);
  std::vector<double> priorities;  // by index
  double largest = 1;
  for (int step = 0; step < 400; ++step) {
    if (random.below(3) > 0 && table.count() < countMax) {
      table.push();
      priorities.push_back(largest);
    } else if (table.count() > 0) {
      const uint32_t index = random.below(table.count());
      table.remove(index);
      priorities[index] = priorities.back();
      priorities.pop_back();
    }
    if (table.count() == 0) continue;
    const uint32_t index = random.below(table.count());
    const double priority = random.below(3) == 0 ? 0.0 : 10 * random.uniform();
    selector.setPriority(&index, &priority, 1);
    priorities[index] = priority;
    largest = priority > largest ? priority : largest;
    double total = 0;
    std::vector<double> weights;
    for (const double each : priorities) weights.push_back(each > 0 ? std::pow(each, exponent) : 0.0);
    for (const double weight : weights) total += weight;
    uint32_t drawn[20];
    double probability[20];
    CHECK_EQUAL(selector.select(20, drawn, probability), Status::ok);
    for (int k = 0; k < 20; ++k) {
      CHECK(drawn[k] < table.count());
      if (total > 0) CHECK(weights[drawn[k]] > 0);
      const double expected = total > 0 ? weights[drawn[k]] / total : 1.0 / table.count();
      CHECK(std::fabs(probability[k] - expected) <= 1e-13 * expected);
    }
    CHECK_EQUAL(selector.check(), 0);
  }
}

void hugeAndTinyPrioritiesGiveFiniteSums() {
  PowerSelector selector(2.0, 1.0, Random(1, 1), 10);
  CHECK_EQUAL(selector.create(), Status::ok);
  for (uint32_t index = 0; index < 10; ++index) push(selector, index);
  const uint32_t index[3] = {0, 1, 2};
  const double priority[3] = {0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023, 5e-324};
  selector.setPriority(index, priority, 3);
  uint32_t drawn[100];
  double probability[100];
  CHECK_EQUAL(selector.select(100, drawn, probability), Status::ok);
  for (int k = 0; k < 100; ++k) {
    CHECK(drawn[k] < 2);
    CHECK_EQUAL(probability[k], 0.5);
  }
  CHECK_EQUAL(selector.check(), 0);
  for (uint32_t at = 0; at < 10; ++at) {
    const double tiny = at == 7 ? 5e-324 : 0.0;
    selector.setPriority(&at, &tiny, 1);
  }
  CHECK_EQUAL(selector.select(100, drawn, probability), Status::ok);
  for (int k = 0; k < 100; ++k) CHECK_EQUAL(drawn[k], 7u);
}

void wrongOptionsAreRefused() {
  CHECK_EQUAL(PowerSelector(-1.0, 1.0, Random(1, 1), 10).create(), Status::argument);
  CHECK_EQUAL(PowerSelector(1.0, -1.0, Random(1, 1), 10).create(), Status::argument);
  CHECK_EQUAL(PowerSelector(std::nan(""), 1.0, Random(1, 1), 10).create(), Status::argument);
}

}  // namespace

int main() {
  const uint64_t seed = 20261122;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (uint64_t k = 0; k < 12; ++k) probabilitiesArePowersOfPriorities(seed + k);
  hugeAndTinyPrioritiesGiveFiniteSums();
  wrongOptionsAreRefused();
  return checkResult("selectors/power");
}
