// RecentSelector against the table's own numbers, sorted anew for each draw: picks are numbered as they come.
#include "selectors/recent.hpp"

#include <algorithm>
#include <cstring>

#include "tests/selectors/_table.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

RecentOptions randomOptions(Random& random) {
  RecentOptions options;
  const double fractions[] = {0.0, 0.1, 0.5, 1.0};
  const double etas[] = {0.0, 0.99, 0.996, 1.0};
  options.newest = 1 + random.below(20);
  options.fraction = fractions[random.below(4)];
  options.eta = etas[random.below(4)];
  options.updates = 1 + random.below(10);
  return options;
}

struct Plain {
  RecentOptions options;
  Random random;
  uint32_t k = 1;

  void compareSelect(RecentSelector& selector, const Table& table, uint32_t count) {
    std::vector<uint32_t> byAge(table.count());
    for (uint32_t i = 0; i < table.count(); ++i) byAge[i] = i;
    std::sort(byAge.begin(), byAge.end(), [&](uint32_t a, uint32_t b) { return table.picks[a] > table.picks[b]; });
    const double n = table.count();
    const double share = options.fraction * n * portablePow(options.eta, 1000.0 * k / options.updates);
    const auto window = static_cast<uint32_t>(std::fmin(std::fmax(std::floor(share), options.newest), n));
    k = k == static_cast<uint32_t>(options.updates) ? 1 : k + 1;
    std::vector<uint32_t> index(count);
    std::vector<double> probability(count);
    CHECK_EQUAL(selector.select(count, index.data(), probability.data()), Status::ok);
    for (uint32_t i = 0; i < count; ++i) {
      CHECK_EQUAL(index[i], byAge[random.below(window)]);
      CHECK_EQUAL(probability[i], 1.0 / window);
    }
  }
};

/// `order`: 0 any pick goes, 1 mostly the oldest, 2 mostly the newest.
void drawsAreFromTheNewest(uint64_t seed, uint32_t countMax, int steps, uint32_t order) {
  Random random(seed, 9);
  const RecentOptions options = randomOptions(random);
  RecentSelector selector(options, Random(seed, 1), countMax);
  CHECK_EQUAL(selector.create(), Status::ok);
  Table table(selector);
  Plain plain{options, Random(seed, 1)};
  for (int step = 0; step < steps; ++step) {
    // Phases in which the table grows, keeps its size, or is nearly emptied.
    const uint32_t phase = static_cast<uint32_t>(step) * 7 / static_cast<uint32_t>(steps) % 3;
    for (uint32_t k = 1 + random.below(countMax / 8 + 1); k > 0; --k) {
      if (random.below(10) < (phase == 0 ? 8u : phase == 1 ? 5u : 3u)) {
        if (table.count() == countMax) table.remove(0);
        table.push();
      } else if (table.count() > 0) {
        uint32_t index = random.below(table.count());
        for (uint32_t tries = order == 0 ? 0 : 20; tries > 0; --tries) {
          const uint32_t other = random.below(table.count());
          if ((table.picks[other] < table.picks[index]) == (order == 1)) index = other;
        }
        table.remove(index);
      }
    }
    if (table.count() > 0 && random.below(3) > 0) plain.compareSelect(selector, table, 1 + random.below(30));
    if (random.below(10) == 0) CHECK_EQUAL(selector.check(), 0);
  }
  CHECK_EQUAL(selector.check(), 0);
}

void fill(RecentSelector& selector, uint32_t count, uint64_t seed) {
  Random random(seed, 3);
  Table table(selector);
  for (uint32_t k = 0; k < 40 * count; ++k) {
    if (table.count() == count) table.remove(random.below(count));
    table.push();
  }
  CHECK_EQUAL(selector.check(), 0);
}

void savedAndLoadedItDrawsTheSame() {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, 10);
    const RecentOptions options = randomOptions(random);
    RecentSelector a(options, Random(seed, 1), 100);
    RecentSelector b(options, Random(seed + 100, 1), 2000);
    CHECK_EQUAL(a.create(), Status::ok);
    CHECK_EQUAL(b.create(), Status::ok);
    fill(a, 100, seed);
    uint32_t index[3];
    double probability[3];
    for (uint32_t k = random.below(12); k > 0; --k) CHECK_EQUAL(a.select(3, index, probability), Status::ok);
    CHECK_EQUAL(load(b, 100, save(a, 100)), Status::ok);
    drawsAreEqual(a, b, 100, seed);
  }
}

void hostileBytes() {
  const RecentOptions options{3.0, 0.5, 0.99, 10.0};
  RecentSelector a(options, Random(1, 1), 20);
  CHECK_EQUAL(a.create(), Status::ok);
  fill(a, 20, 1);
  const auto make = [&] {
    auto* selector = new RecentSelector(options, Random(1, 1), 20);
    CHECK_EQUAL(selector->create(), Status::ok);
    return selector;
  };
  const std::vector<uint8_t> good = save(a, 20);
  hostileBytesAreSafe(make, 20, good, 1);
  for (uint32_t wrong : {0u, 1u, 20u, 0xffffffffu}) {  // ranks that another has, or that can't be
    std::vector<uint8_t> bytes = good;
    uint8_t* place = bytes.data() + a.headerBytes() + 4 * 7;
    if (std::memcmp(place, &wrong, 4) == 0) continue;
    std::memcpy(place, &wrong, 4);
    auto* selector = make();
    CHECK_EQUAL(load(*selector, 20, bytes), Status::dataCorrupt);
    delete selector;
  }
}

std::vector<double> ages(uint32_t window, double oneDropped) {
  constexpr uint32_t count = 4000;
  RecentSelector selector({double(window), 0.0, 1.0, 1.0}, Random(3, 0), count);
  CHECK_EQUAL(selector.create(), Status::ok);
  for (uint32_t i = 0; i < count; ++i) push(selector, i);
  std::vector<double> observed(window);
  std::vector<uint32_t> index(500);
  std::vector<double> probability(500);
  Random random(5, 5);
  for (int batch = 0; batch < 2000; ++batch) {
    CHECK_EQUAL(selector.select(500, index.data(), probability.data()), Status::ok);
    for (uint32_t i : index) {
      CHECK(i >= count - window);
      const uint32_t age = count - 1 - i;
      ++observed[age == window - 1 && random.uniform() < oneDropped ? 0 : age];
    }
  }
  return observed;
}

void everyPickOfTheWindowAlike() {
  const std::vector<double> expected(101, 2000.0 * 500 / 101);
  CHECK(std::fabs(chiSquareDeviation(ages(101, 0.0), expected)) < 4.0);
  CHECK(chiSquareDeviation(ages(101, 0.1), expected) > 6.0);  // the twin: the oldest 10 % too rare
}

void wrongOptionsAreRefused() {
  const RecentOptions wrong[] = {{0.5, 1, 1, 1},  {1, -0.1, 1, 1},          {1, 1.1, 1, 1}, {1, 1, 1.1, 1},
                                 {1, 1, -0.1, 1}, {1, 1, std::nan(""), 1}, {1, 1, 1, 0},   {1, 1, 1, 1.5}};
  for (const RecentOptions& options : wrong) {
    RecentSelector selector(options, Random(1, 1), 10);
    CHECK_EQUAL(selector.create(), Status::argument);
  }
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const auto order = static_cast<uint32_t>(seed % 3);
    drawsAreFromTheNewest(seed, 1 + static_cast<uint32_t>(seed * 13 % 90), 400, order);
    drawsAreFromTheNewest(seed, 1200, 100, order);
  }
  savedAndLoadedItDrawsTheSame();
  hostileBytes();
  everyPickOfTheWindowAlike();
  wrongOptionsAreRefused();
  return checkResult("recent");
}
