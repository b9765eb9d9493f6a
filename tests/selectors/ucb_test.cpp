// UcbSelector against an O(N) scan of a plain list: greedy gives the same sequence, proportional the same probabilities.
#include "selectors/ucb.hpp"

#include "tests/selectors/_table.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

constexpr uint32_t none = ScoreTournament::none;

struct Pick {
  float priority;
  uint64_t birth;
  uint64_t n;
};

struct Plain {
  UcbOptions options;
  std::vector<Pick> picks;
  float priorityMax = portableWeight(options.initialPriority);
  uint64_t born = 0;
  uint64_t draws = 0;

  explicit Plain(const UcbOptions& given) : options(given) {}

  double score(uint32_t index) const {
    const Pick& pick = picks[index];
    const double q = priorityMax > 0.0f ? static_cast<double>(pick.priority) / static_cast<double>(priorityMax) : 0.0;
    const double lnT = portableLog(static_cast<double>(draws));
    return q + options.c * std::sqrt(lnT / static_cast<double>(pick.n));
  }
  /// The oldest that was never drawn, or none.
  uint32_t forced() const {
    uint32_t oldest = none;
    for (uint32_t i = 0; i < picks.size(); ++i)
      if (picks[i].n == 0 && (oldest == none || picks[i].birth < picks[oldest].birth)) oldest = i;
    return oldest;
  }
  bool better(uint32_t a, uint32_t b) const {
    const double scoreA = score(a);
    const double scoreB = score(b);
    if (scoreA != scoreB) return scoreA > scoreB;
    if (picks[a].n != picks[b].n) return picks[a].n < picks[b].n;
    if (picks[a].priority != picks[b].priority) return picks[a].priority > picks[b].priority;
    return picks[a].birth < picks[b].birth;
  }
  uint32_t greedy() const {
    uint32_t best = 0;
    for (uint32_t i = 1; i < picks.size(); ++i)
      if (better(i, best)) best = i;
    return best;
  }
  double sum() const {
    double result = 0.0;
    for (uint32_t i = 0; i < picks.size(); ++i) result += score(i);
    return result;
  }

  void push() { picks.push_back({priorityMax, born++, 0}); }
  void remove(uint32_t index) {
    picks[index] = picks.back();
    picks.pop_back();
  }
  void setPriority(uint32_t index, double priority) {
    picks[index].priority = portableWeight(priority);
    if (picks[index].priority > priorityMax) priorityMax = picks[index].priority;
  }
  void draw(uint32_t index) {
    ++picks[index].n;
    ++draws;
  }

  void compareSelect(UcbSelector& selector, uint32_t count) {
    std::vector<uint32_t> index(count);
    std::vector<double> probability(count);
    CHECK_EQUAL(selector.select(count, index.data(), probability.data()), Status::ok);
    const auto n = static_cast<double>(picks.size());
    for (uint32_t k = 0; k < count; ++k) {
      CHECK(index[k] < picks.size());
      if (index[k] >= picks.size()) return;
      const uint32_t first = forced();
      if (first != none) {
        CHECK_EQUAL(index[k], first);
        CHECK_EQUAL(probability[k], options.proportional ? 1.0 / n : 1.0);
      } else if (!options.proportional) {
        CHECK_EQUAL(index[k], greedy());
        CHECK_EQUAL(probability[k], 1.0);
      } else {
        const double total = sum();
        const double expected = total > 0.0 ? score(index[k]) / total : 1.0 / n;
        CHECK(std::fabs(probability[k] / expected - 1.0) < 1e-12);
      }
      draw(index[k]);
    }
  }
};

UcbOptions randomOptions(Random& random, bool proportional) {
  const double cs[] = {0.0, 1e-20, 1e-9, 0.1, 1.0, 3.0, 1e6};
  UcbOptions options;
  options.c = cs[random.below(7)];
  options.proportional = proportional;
  options.initialPriority = random.below(4) == 0 ? 0.0 : 1.0;
  return options;
}

double randomPriority(Random& random, uint32_t manner) {
  if (manner == 0) return 1.0;
  if (manner == 1) return random.below(4);
  if (random.below(50) == 0) return random.below(2) == 0 ? 1e-300 : random.uniform() * 1e9;
  return random.uniform();
}

void equalsTheScan(uint64_t seed, bool proportional) {
  Random random(seed, 11);
  const UcbOptions options = randomOptions(random, proportional);
  const uint32_t countMax = 1 + random.below(200);
  const uint32_t manner = random.below(4);
  UcbSelector selector(options, Random(seed, 1), countMax);
  CHECK_EQUAL(selector.create(), Status::ok);
  Table table(selector);
  Plain plain(options);
  for (int step = 0; step < 700; ++step) {
    const uint32_t kind = random.below(20);
    if (kind < 6 && table.count() < countMax) {
      table.push();
      plain.push();
    } else if (kind < 8 && table.count() > 0) {
      const uint32_t index = random.below(table.count());
      table.remove(index);
      plain.remove(index);
    } else if (kind < 14 && table.count() > 0) {
      uint32_t index[20];
      double priority[20];
      const uint32_t count = 1 + random.below(20);
      for (uint32_t k = 0; k < count; ++k) {
        index[k] = random.below(table.count());
        priority[k] = randomPriority(random, manner);
        plain.setPriority(index[k], priority[k]);
      }
      selector.setPriority(index, priority, count);
    } else if (table.count() > 0) {
      plain.compareSelect(selector, 1 + random.below(40));
    }
    if (step % 25 == 0) CHECK_EQUAL(selector.check(), 0);
  }
  CHECK_EQUAL(selector.check(), 0);
}

// Many draws of few picks: n runs far apart, and nearly every pick is a group of its own.
void greedyEqualsTheScanWhenGroupsAreMany(double c, uint32_t count, uint32_t rounds) {
  UcbOptions options;
  options.c = c;
  UcbSelector selector(options, Random(1, 1), count);
  CHECK_EQUAL(selector.create(), Status::ok);
  Plain plain(options);
  Random random(12, static_cast<uint64_t>(c * 1000));
  for (uint32_t i = 0; i < count; ++i) {
    push(selector, i);
    plain.push();
  }
  for (uint32_t round = 0; round < rounds; ++round) {
    plain.compareSelect(selector, 100);
    if (round % 8 != 0) continue;
    for (uint32_t i = 0; i < count; i += 1 + random.below(5)) {
      const double priority = random.uniform();
      selector.setPriority(&i, &priority, 1);
      plain.setPriority(i, priority);
    }
  }
  CHECK_EQUAL(selector.check(), 0);
}

// Priorities one float apart and a bonus as small as that: as T grows lines cross so slowly that for many draws their scores differ
// by a rounding or not at all.
void greedyEqualsTheScanWhereScoresNearlyTie(uint64_t seed) {
  Random random(seed, 15);
  UcbOptions options;
  options.c = 2e-6 * (1.0 + 9.0 * random.uniform());
  constexpr uint32_t count = 8;
  UcbSelector selector(options, Random(1, 1), count);
  CHECK_EQUAL(selector.create(), Status::ok);
  Plain plain(options);
  for (uint32_t i = 0; i < count; ++i) {
    push(selector, i);
    plain.push();
    const double priority = 1.0 - random.below(8) * 0x1p-24;
    selector.setPriority(&i, &priority, 1);
    plain.setPriority(i, priority);
  }
  for (int round = 0; round < 400; ++round) plain.compareSelect(selector, 100);
  CHECK_EQUAL(selector.check(), 0);
}

// Draws of a changing distribution: in each bin the surplus over the sum of probabilities, divided by its standard deviation.
double proportionalDeviation(double cAssumed) {
  UcbOptions options;
  options.c = 0.5;
  options.proportional = true;
  constexpr uint32_t count = 64;
  UcbSelector selector(options, Random(13, 1), count);
  CHECK_EQUAL(selector.create(), Status::ok);
  options.c = cAssumed;
  Plain plain(options);
  for (uint32_t i = 0; i < count; ++i) {
    push(selector, i);
    plain.push();
    const double priority = (i % 8) / 7.0;
    selector.setPriority(&i, &priority, 1);
    plain.setPriority(i, priority);
  }
  double surplus[8] = {};
  double variance[8] = {};
  for (int draw = 0; draw < 60000; ++draw) {
    uint32_t index = 0;
    double probability = 0.0;
    CHECK_EQUAL(selector.select(1, &index, &probability), Status::ok);
    if (plain.forced() == none) {
      const double total = plain.sum();
      for (uint32_t bin = 0; bin < 8; ++bin) {
        double share = 0.0;
        for (uint32_t i = bin; i < count; i += 8) share += plain.score(i) / total;
        surplus[bin] += (index % 8 == bin ? 1.0 : 0.0) - share;
        variance[bin] += share * (1.0 - share);
      }
    }
    plain.draw(index);
  }
  double worst = 0.0;
  for (int bin = 0; bin < 8; ++bin) worst = std::fmax(worst, std::fabs(surplus[bin]) / std::sqrt(variance[bin]));
  return worst;
}

void proportionalDrawsHaveTheirProbabilities() {
  const double deviation = proportionalDeviation(0.5);
  const double twin = proportionalDeviation(0.25);
  std::printf("proportional: worst bin %.2f standard deviations off, with the wrong c %.2f\n", deviation, twin);
  CHECK(deviation < 4.0);
  CHECK(twin > 5.0);
}

void newPicksComeFirstOldestFirst() {
  for (bool proportional : {false, true}) {
    UcbOptions options;
    options.proportional = proportional;
    UcbSelector selector(options, Random(1, 1), 10);
    CHECK_EQUAL(selector.create(), Status::ok);
    CHECK_EQUAL(selector.weighted(), proportional);
    for (uint32_t i = 0; i < 6; ++i) push(selector, i);
    selector.moved(5, 0);  // births now 5 1 2 3 4
    selector.popped(5);
    uint32_t index[5];
    double probability[5];
    CHECK_EQUAL(selector.select(5, index, probability), Status::ok);
    const uint32_t expected[5] = {1, 2, 3, 4, 0};
    for (int k = 0; k < 5; ++k) CHECK_EQUAL(index[k], expected[k]);
    CHECK_EQUAL(selector.check(), 0);
  }
}

void savedAndLoadedItDrawsTheSame() {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed, 14);
    const UcbOptions options = randomOptions(random, seed % 2 == 0);
    UcbSelector a(options, Random(seed, 1), 120);
    UcbSelector b(options, Random(seed + 100, 1), 200);
    CHECK_EQUAL(a.create(), Status::ok);
    CHECK_EQUAL(b.create(), Status::ok);
    Table table(a);
    uint32_t index[30];
    double probability[30];
    for (int step = 0; step < 200; ++step) {
      if (table.count() < 100) table.push();
      if (table.count() > 2 && random.below(3) == 0) table.remove(random.below(table.count()));
      if (random.below(2) == 0) {
        CHECK_EQUAL(a.select(30, index, probability), Status::ok);
        for (double& p : probability) p = randomPriority(random, 2);
        a.setPriority(index, probability, 30);
      }
    }
    for (int k = 0; k < 3; ++k) table.push();  // some that were never drawn
    CHECK_EQUAL(load(b, table.count(), save(a, table.count())), Status::ok);
    CHECK_EQUAL(b.check(), 0);
    CHECK(save(a, table.count()) == save(b, table.count()));
    drawsAreEqual(a, b, table.count(), seed);
  }
}

void hostileBytes(bool proportional) {
  UcbOptions options;
  options.proportional = proportional;
  UcbSelector a(options, Random(1, 1), 24);
  CHECK_EQUAL(a.create(), Status::ok);
  for (uint32_t i = 0; i < 20; ++i) push(a, i);
  uint32_t index[90];
  double probability[90];
  CHECK_EQUAL(a.select(90, index, probability), Status::ok);
  for (double& p : probability) p *= 0.01;
  a.setPriority(index, probability, 90);
  for (uint32_t i = 20; i < 24; ++i) push(a, i);
  const auto make = [&] {
    auto* selector = new UcbSelector(options, Random(1, 1), 24);
    CHECK_EQUAL(selector->create(), Status::ok);
    return selector;
  };
  const std::vector<uint8_t> good = save(a, 24);
  hostileBytesAreSafe(make, 24, good, 2);
  // A birth that is still to come, more draws than there were, a priority above the largest, and one that is none.
  const auto with = [&](auto wrong) {
    UcbPick pick = a.item(0);
    wrong(pick);
    std::vector<uint8_t> bytes = good;
    std::memcpy(bytes.data() + a.headerBytes(), &pick, sizeof pick);
    return bytes;
  };
  const std::vector<uint8_t> wrongs[] = {with([](UcbPick& pick) { pick.birth = 24; }), with([](UcbPick& pick) { pick.n += 1; }),
                                         with([](UcbPick& pick) { pick.priority = 2.0f; }),
                                         with([](UcbPick& pick) { pick.priority = std::nanf(""); })};
  for (const std::vector<uint8_t>& bytes : wrongs) {
    auto* selector = make();
    CHECK_EQUAL(load(*selector, 24, bytes), Status::dataCorrupt);
    delete selector;
  }
}

void wrongOptionsAreRefused() {
  for (double wrong : {-1.0, static_cast<double>(HUGE_VAL), std::nan("")}) {
    UcbOptions options[2];
    options[0].c = wrong;
    options[1].initialPriority = wrong;
    for (const UcbOptions& each : options) {
      UcbSelector selector(each, Random(1, 1), 10);
      CHECK_EQUAL(selector.create(), Status::argument);
    }
  }
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const int before = failureCount;
    equalsTheScan(seed, seed % 2 == 0);
    if (failureCount != before) std::printf("seed %d\n", static_cast<int>(seed));
  }
  for (double c : {0.0, 1e-12, 0.01, 0.3, 2.0}) greedyEqualsTheScanWhenGroupsAreMany(c, 60, 600);
  greedyEqualsTheScanWhenGroupsAreMany(0.5, 700, 300);
  for (uint64_t seed = 1; seed <= 20; ++seed) greedyEqualsTheScanWhereScoresNearlyTie(seed);
  proportionalDrawsHaveTheirProbabilities();
  newPicksComeFirstOldestFirst();
  savedAndLoadedItDrawsTheSame();
  hostileBytes(false);
  hostileBytes(true);
  wrongOptionsAreRefused();
  return checkResult("ucb");
}
