// CuriousSelector against a plain list of counts and losses, and by statistics.
#include "selectors/curious.hpp"

#include "tests/selectors/_plain_tree.hpp"
#include "tests/selectors/_table.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

struct Plain {
  struct Pick {
    uint64_t draws;
    double term;  // below 0: no loss yet
  };
  CuriousOptions options;
  Random random;
  std::vector<Pick> picks;

  float weightOf(const Pick& pick) const {
    if (pick.term < 0.0) return portableWeight(options.pMax);
    double novelty = options.c * portablePow(options.beta, static_cast<double>(pick.draws));
    if (options.c > 0.0 && (options.beta > 0.0 || pick.draws == 0)) novelty = std::fmax(novelty, 0x1p-126);
    return portableWeight(novelty + pick.term);
  }
  double termOf(double loss) const {
    if (options.alpha == 0.0) return 1.0;
    const double base = loss + options.epsilon;
    return base == 0.0 ? 0.0 : static_cast<double>(std::fmax(portableWeight(portablePow32(base, options.alpha)), 0x1p-126f));
  }
  void compareSelect(CuriousSelector& selector, uint32_t count) {
    std::vector<uint32_t> index(count);
    std::vector<double> probability(count);
    CHECK_EQUAL(selector.select(count, index.data(), probability.data()), Status::ok);
    PlainTree<float> tree;
    for (const Pick& pick : picks) tree.weights.push_back(weightOf(pick));
    const double total = tree.total();
    const auto n = static_cast<uint32_t>(picks.size());
    for (uint32_t k = 0; k < count; ++k) {
      if (total > 0.0) {
        const double u = random.uniform();
        CHECK_EQUAL(uint64_t{index[k]}, tree.find(options.independent ? u * total : ((k + u) / count) * total));
        CHECK_EQUAL(probability[k], static_cast<double>(tree.weights[index[k]]) / total);
      } else {
        CHECK_EQUAL(index[k], random.below(n));
        CHECK_EQUAL(probability[k], 1.0 / n);
      }
    }
    const double minimum = total > 0.0 ? static_cast<double>(tree.minPositive()) / total : 1.0 / n;
    CHECK_EQUAL(selector.probabilityMin(), options.normalizeTable ? minimum : 0.0);
    for (const uint32_t each : index) ++picks[each].draws;
  }
};

CuriousOptions randomOptions(Random& random) {
  CuriousOptions options;
  const double alphas[] = {0.0, 0.5, 0.7, 1.0, 2.5};
  const double betas[] = {0.0, 0.3, 0.7, 0.999, 1.0};
  const double cs[] = {0.0, 1.0, 1e4, 1e-300, 1.7e308};
  const double pMaxs[] = {1e5, 1.0, 1e-300, 1.7e308};
  options.c = cs[random.below(5)];
  options.beta = betas[random.below(5)];
  options.alpha = alphas[random.below(5)];
  options.epsilon = random.below(2) == 0 ? 0.0 : 0.01;
  options.pMax = pMaxs[random.below(4)];
  options.normalizeTable = random.below(2) == 0;
  options.independent = random.below(2) == 0;
  return options;
}

double randomLoss(Random& random) {
  switch (random.below(8)) {
    case 0: return 0.0;
    case 1: return 1e-300;
    case 2: return 1.7e308;
    default: return random.uniform() * 5.0;
  }
}

void drawsAreThoseOfTheDefinition(uint64_t seed) {
  Random random(seed, 9);
  const CuriousOptions options = randomOptions(random);
  const uint32_t countMax = 1 + random.below(random.below(2) == 0 ? 300 : 3);
  CuriousSelector selector(options, Random(seed, 1), countMax);
  CHECK_EQUAL(selector.create(), Status::ok);
  Table table(selector);
  Plain plain{options, Random(seed, 1), {}};
  for (int step = 0; step < 500; ++step) {
    const uint32_t kind = random.below(10);
    if (kind < 4 && table.count() < countMax) {
      table.push();
      plain.picks.push_back({0, -1.0});
    } else if (kind < 5 && table.count() > 0 && random.below(3) == 0) {
      const uint32_t index = random.below(table.count());
      table.remove(index);
      plain.picks[index] = plain.picks.back();
      plain.picks.pop_back();
    } else if (kind < 7 && table.count() > 0) {
      uint32_t index[150];
      double loss[150];
      const uint32_t count = 1 + random.below(150);
      for (uint32_t k = 0; k < count; ++k) {
        index[k] = random.below(table.count());
        loss[k] = randomLoss(random);
        plain.picks[index[k]].term = plain.termOf(loss[k]);
      }
      selector.setPriority(index, loss, count);
    } else if (table.count() > 0) {
      plain.compareSelect(selector, 1 + random.below(random.below(8) == 0 ? 400 : 40));
    }
    if (step % 50 == 0) CHECK_EQUAL(selector.check(), 0);
  }
  CHECK_EQUAL(selector.check(), 0);
}

/// With the paper's numbers: how many draws go to picks that were drawn 0, 1, 2, ... times before.
void probabilitiesAreThoseOfThePaper() {
  constexpr uint32_t count = 300;
  constexpr uint32_t bins = 40;  // the last one for all above
  CuriousOptions options;
  options.independent = true;
  std::vector<double> observed(bins);
  std::vector<double> expected(bins);
  std::vector<double> wrong(bins);
  for (uint64_t round = 0; round < 20; ++round) {
    CuriousSelector selector(options, Random(3, round), count);
    CHECK_EQUAL(selector.create(), Status::ok);
    std::vector<double> loss(count);
    std::vector<uint32_t> draws(count);
    for (uint32_t i = 0; i < count; ++i) {
      push(selector, i);
      loss[i] = (i % 37) * 0.1;
      selector.setPriority(&i, &loss[i], 1);
    }
    uint32_t index[20];
    double probability[20];
    const auto bin = [&](size_t i) { return draws[i] < bins ? draws[i] : bins - 1; };
    for (int batch = 0; batch < 1000; ++batch) {
      CHECK_EQUAL(selector.select(20, index, probability), Status::ok);
      for (const double beta : {0.7, 0.72}) {
        std::vector<double> p(count);
        double total = 0.0;
        for (size_t i = 0; i < count; ++i) total += p[i] = 1e4 * std::pow(beta, draws[i]) + std::pow(loss[i] + 0.01, 0.7);
        for (size_t i = 0; i < count; ++i) (beta == 0.7 ? expected : wrong)[bin(i)] += 20 * p[i] / total;
        for (int k = 0; beta == 0.7 && k < 20; ++k) CHECK(std::fabs(probability[k] / (p[index[k]] / total) - 1.0) < 1e-6);
      }
      for (const uint32_t each : index) ++observed[bin(each)];
      for (const uint32_t each : index) ++draws[each];
    }
  }
  const double deviation = chiSquareDeviation(observed, expected);
  const double twin = chiSquareDeviation(observed, wrong);
  std::printf("chi-square %.2f standard deviations off, with the wrong beta %.2f\n", deviation, twin);
  CHECK(std::fabs(deviation) < 4.0);
  CHECK(twin > 6.0);
}

void savedAndLoadedItDrawsTheSame() {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, 10);
    const CuriousOptions options = randomOptions(random);
    CuriousSelector a(options, Random(seed, 1), 100);
    CuriousSelector b(options, Random(seed + 100, 1), 200);
    CHECK_EQUAL(a.create(), Status::ok);
    CHECK_EQUAL(b.create(), Status::ok);
    const uint32_t count = 1 + random.below(100);
    uint32_t index[25];
    double probability[25];
    for (uint32_t i = 0; i < count; ++i) {
      push(a, i);
      const double loss = randomLoss(random);
      if (random.below(3) > 0) a.setPriority(&i, &loss, 1);
      CHECK_EQUAL(a.select(25, index, probability), Status::ok);
    }
    CHECK_EQUAL(load(b, count, save(a, count)), Status::ok);
    drawsAreEqual(a, b, count, seed);
  }
}

void countsStayAtTheirLargest() {
  CuriousOptions options;
  options.pMax = 7.0;
  CuriousSelector selector(options, Random(1, 1), 1);
  CHECK_EQUAL(selector.create(), Status::ok);
  push(selector, 0);
  std::vector<uint8_t> bytes = save(selector, 1);
  const uint32_t draws = UINT32_MAX - 1;
  std::memcpy(bytes.data() + selector.headerBytes(), &draws, 4);
  CuriousSelector old(options, Random(1, 1), 1);
  CHECK_EQUAL(old.create(), Status::ok);
  CHECK_EQUAL(load(old, 1, bytes), Status::ok);
  uint32_t index[5];
  double probability[5];
  CHECK_EQUAL(old.select(5, index, probability), Status::ok);
  uint32_t saved = 0;
  std::memcpy(&saved, save(old, 1).data() + old.headerBytes(), 4);
  CHECK_EQUAL(saved, UINT32_MAX);
}

void hostileBytes() {
  const CuriousOptions options;
  CuriousSelector a(options, Random(1, 1), 20);
  CHECK_EQUAL(a.create(), Status::ok);
  for (uint32_t i = 0; i < 20; ++i) push(a, i);
  for (uint32_t i = 0; i < 10; ++i) {
    const double loss = i;
    a.setPriority(&i, &loss, 1);
  }
  const auto make = [&] {
    auto* selector = new CuriousSelector(options, Random(1, 1), 20);
    CHECK_EQUAL(selector->create(), Status::ok);
    return selector;
  };
  hostileBytesAreSafe(make, 20, save(a, 20), 1);
  for (float wrong : {-2.0f, std::nanf(""), HUGE_VALF, 1e-40f, -0.0f, 0.0f}) {
    std::vector<uint8_t> bytes = save(a, 20);
    std::memcpy(bytes.data() + a.headerBytes() + 12, &wrong, 4);
    auto* selector = make();
    CHECK_EQUAL(load(*selector, 20, bytes), Status::dataCorrupt);
    delete selector;
  }
}

void wrongOptionsAreRefused() {
  for (double wrong : {-1.0, static_cast<double>(HUGE_VAL), std::nan("")}) {
    CuriousOptions options[5];
    options[0].c = wrong;
    options[1].beta = wrong;
    options[2].alpha = wrong;
    options[3].epsilon = wrong;
    options[4].pMax = wrong;
    for (const CuriousOptions& each : options) {
      CuriousSelector selector(each, Random(1, 1), 10);
      CHECK_EQUAL(selector.create(), Status::argument);
    }
  }
  CuriousOptions options[2];
  options[0].beta = 1.5;
  options[1].pMax = 0.0;
  for (const CuriousOptions& each : options) {
    CuriousSelector selector(each, Random(1, 1), 10);
    CHECK_EQUAL(selector.create(), Status::argument);
  }
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const int before = failureCount;
    drawsAreThoseOfTheDefinition(seed);
    if (failureCount != before) std::printf("seed %d\n", static_cast<int>(seed));
  }
  probabilitiesAreThoseOfThePaper();
  savedAndLoadedItDrawsTheSame();
  countsStayAtTheirLargest();
  hostileBytes();
  wrongOptionsAreRefused();
  return checkResult("curious");
}
