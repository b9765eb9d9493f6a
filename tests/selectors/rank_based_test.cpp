// RankBasedSelector against a plain list that is sorted anew for each batch, and by statistics.
#include "selectors/rank_based.hpp"

#include <algorithm>

#include "tests/selectors/_plain_tree.hpp"
#include "tests/selectors/_table.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

struct Plain {
  struct Pick {
    float priority;
    uint64_t birth;
  };
  RankBasedOptions options;
  Random random;
  std::vector<Pick> picks;
  float priorityMax;
  uint64_t born = 0;

  std::vector<uint32_t> byRank() const {
    std::vector<uint32_t> order(picks.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (picks[a].priority < picks[b].priority || picks[a].priority > picks[b].priority)
        return picks[a].priority > picks[b].priority;
      return picks[a].birth < picks[b].birth;
    });
    return order;
  }
  double weight(uint64_t rank) const {
    return rank < picks.size() ? portablePow32(static_cast<double>(rank) + 1.0, -options.alpha) : 0.0;
  }
  void compareSelect(RankBasedSelector& selector, uint32_t count) {
    std::vector<uint32_t> index(count);
    std::vector<double> probability(count);
    CHECK_EQUAL(selector.select(count, index.data(), probability.data()), Status::ok);
    PlainTree<double> tree;
    for (uint64_t rank = 0; rank < picks.size(); ++rank) tree.weights.push_back(weight(rank));
    const double total = tree.total();
    const std::vector<uint32_t> order = byRank();
    for (uint32_t k = 0; k < count; ++k) {
      const double u = random.uniform();
      const double r = options.independent ? u * total : ((k + u) / count) * total;
      const uint64_t rank = tree.find(r);
      CHECK_EQUAL(index[k], order[rank]);
      CHECK_EQUAL(probability[k], weight(rank) / total);
    }
    double least = 1.0;
    for (uint64_t rank = 0; rank < picks.size(); ++rank)
      if (weight(rank) > 0.0) least = std::fmin(least, weight(rank));
    CHECK_EQUAL(selector.probabilityMin(), options.normalizeTable ? least / total : 0.0);
  }
};

RankBasedOptions randomOptions(Random& random) {
  RankBasedOptions options;
  const double alphas[] = {0.0, 0.5, 0.7, 1.0, 2.5, 1e9};
  options.alpha = alphas[random.below(6)];
  options.initialPriority = random.below(4) == 0 ? 0.0 : 1.0;
  options.normalizeTable = random.below(2) == 0;
  options.independent = random.below(2) == 0;
  return options;
}

double randomPriority(Random& random, uint32_t style) {
  if (style == 0) return random.below(3);
  if (style == 1) return random.uniform();
  switch (random.below(6)) {
    case 0: return 0.0;
    case 1: return 1e-300;
    case 2: return 1.7e308;
    default: return random.uniform() * 5.0;
  }
}

void drawsAreThoseOfTheDefinition(uint64_t seed, uint32_t countMax, int steps) {
  Random random(seed, 9);
  const RankBasedOptions options = randomOptions(random);
  RankBasedSelector selector(options, Random(seed, 1), countMax);
  CHECK_EQUAL(selector.create(), Status::ok);
  Table table(selector);
  Plain plain{options, Random(seed, 1), {}, portableWeight(options.initialPriority)};
  const uint32_t style = random.below(3);
  for (int step = 0; step < steps; ++step) {
    const uint32_t kind = random.below(10);
    const bool shrinks = step * 6 / steps % 3 == 2;
    if (kind < 5) {
      for (uint32_t n = 1 + random.below(countMax / 10 + 1); n > 0; --n) {
        if (!shrinks && table.count() < countMax) {
          table.push();
          plain.picks.push_back({plain.priorityMax, plain.born++});
        } else if (shrinks && table.count() > 0) {
          const uint32_t index = random.below(table.count());
          table.remove(index);
          plain.picks[index] = plain.picks.back();
          plain.picks.pop_back();
        }
      }
    } else if (kind < 8 && table.count() > 0) {
      uint32_t index[150];
      double priority[150];
      const uint32_t count = 1 + random.below(150);
      for (uint32_t k = 0; k < count; ++k) {
        index[k] = random.below(table.count());
        priority[k] = randomPriority(random, style);
        plain.picks[index[k]].priority = portableWeight(priority[k]);
        plain.priorityMax = std::fmax(plain.priorityMax, portableWeight(priority[k]));
      }
      selector.setPriority(index, priority, count);
    } else if (table.count() > 0) {
      plain.compareSelect(selector, 1 + random.below(40));
    }
    if (step % 20 == 0) CHECK_EQUAL(selector.check(), 0);
  }
  CHECK_EQUAL(selector.check(), 0);
}

void fill(RankBasedSelector& selector, uint32_t count, uint64_t seed) {
  Random random(seed, 3);
  for (uint32_t i = 0; i < count; ++i) {
    push(selector, i);
    const double priority = random.below(2) == 0 ? random.below(3) : random.uniform() * 3;
    selector.setPriority(&i, &priority, 1);
  }
}

void savedAndLoadedItDrawsTheSame() {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, 10);
    const RankBasedOptions options = randomOptions(random);
    RankBasedSelector a(options, Random(seed, 1), 400);
    RankBasedSelector b(options, Random(seed + 100, 1), 600);
    CHECK_EQUAL(a.create(), Status::ok);
    CHECK_EQUAL(b.create(), Status::ok);
    fill(a, 400, seed);
    CHECK_EQUAL(load(b, 400, save(a, 400)), Status::ok);
    drawsAreEqual(a, b, 400, seed);
  }
}

/// Loaded with births that are about to run out, it draws as one whose births are not.
void birthsThatRunOutChangeNothing() {
  RankBasedSelector a({}, Random(1, 1), 300);
  RankBasedSelector b({}, Random(1, 1), 300);
  CHECK_EQUAL(a.create(), Status::ok);
  CHECK_EQUAL(b.create(), Status::ok);
  fill(a, 300, 5);
  std::vector<uint8_t> bytes = save(a, 300);
  const uint32_t shift = 0xffffffffu - 10 - 300;
  for (uint32_t k = 0; k <= 300; ++k) {
    uint8_t* place = k == 300 ? bytes.data() + Random::stateBytes : bytes.data() + a.headerBytes() + 8 * k;
    uint32_t birth = 0;
    std::memcpy(&birth, place, 4);
    birth += shift;
    std::memcpy(place, &birth, 4);
  }
  CHECK_EQUAL(load(b, 300, bytes), Status::ok);
  drawsAreEqual(a, b, 300, 5);
  std::vector<uint8_t> after = save(b, 300);
  uint32_t birthNext = 0;
  std::memcpy(&birthNext, after.data() + Random::stateBytes, 4);
  CHECK(birthNext < 1000);
}

void hostileBytes() {
  RankBasedSelector a({}, Random(1, 1), 20);
  CHECK_EQUAL(a.create(), Status::ok);
  fill(a, 20, 1);
  const auto make = [] {
    auto* selector = new RankBasedSelector({}, Random(1, 1), 20);
    CHECK_EQUAL(selector->create(), Status::ok);
    return selector;
  };
  const std::vector<uint8_t> good = save(a, 20);
  hostileBytesAreSafe(make, 20, good, 1);
  std::vector<uint8_t> twice = good;  // two picks of one birth
  std::memcpy(twice.data() + a.headerBytes(), twice.data() + a.headerBytes() + 8, 4);
  auto* selector = make();
  CHECK_EQUAL(load(*selector, 20, twice), Status::dataCorrupt);
  delete selector;
}

void probabilitiesAreThoseOfThePaper() {
  RankBasedOptions options;
  options.independent = true;
  RankBasedSelector selector(options, Random(3, 0), 1000);
  CHECK_EQUAL(selector.create(), Status::ok);
  std::vector<uint32_t> rank(1000);
  for (uint32_t i = 0; i < 1000; ++i) {
    rank[i] = (i * 387) % 1000 + 1;
    push(selector, i);
    const double priority = 1.0 / rank[i];
    selector.setPriority(&i, &priority, 1);
  }
  std::vector<double> observed(1000);
  std::vector<double> expected(1000);
  std::vector<double> wrong(1000);
  std::vector<uint32_t> index(1000);
  std::vector<double> probability(1000);
  double total = 0.0;
  double wrongTotal = 0.0;
  for (uint32_t i = 0; i < 1000; ++i) {
    total += expected[i] = std::pow(rank[i], -0.7);
    wrongTotal += wrong[i] = std::pow(rank[i], -0.72);
  }
  for (int batch = 0; batch < 2000; ++batch) {
    CHECK_EQUAL(selector.select(1000, index.data(), probability.data()), Status::ok);
    for (size_t k = 0; k < 1000; ++k) {
      CHECK(std::fabs(probability[k] / (std::pow(rank[index[k]], -0.7) / total) - 1.0) < 1e-10);
      ++observed[index[k]];
    }
  }
  for (size_t i = 0; i < 1000; ++i) {
    expected[i] *= 2e6 / total;
    wrong[i] *= 2e6 / wrongTotal;
  }
  const double deviation = chiSquareDeviation(observed, expected);
  const double twin = chiSquareDeviation(observed, wrong);
  std::printf("chi-square %.2f standard deviations off, with the wrong alpha %.2f\n", deviation, twin);
  CHECK(std::fabs(deviation) < 4.0);
  CHECK(twin > 6.0);
}

void wrongOptionsAreRefused() {
  for (double wrong : {-1.0, static_cast<double>(HUGE_VAL), std::nan("")}) {
    RankBasedOptions options[2];
    options[0].alpha = wrong;
    options[1].initialPriority = wrong;
    for (const RankBasedOptions& each : options) {
      RankBasedSelector selector(each, Random(1, 1), 10);
      CHECK_EQUAL(selector.create(), Status::argument);
    }
  }
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const int before = failureCount;
    drawsAreThoseOfTheDefinition(seed, 1 + static_cast<uint32_t>(seed * 37 % 120), 200);
    drawsAreThoseOfTheDefinition(seed, 1500, 80);
    if (failureCount != before) std::printf("seed %d\n", static_cast<int>(seed));
  }
  savedAndLoadedItDrawsTheSame();
  birthsThatRunOutChangeNothing();
  hostileBytes();
  probabilitiesAreThoseOfThePaper();
  wrongOptionsAreRefused();
  return checkResult("rank-based");
}
