// AgeEndSelector against the table's own numbers: picks are numbered as they come.
#include "selectors/age_end.hpp"

#include <algorithm>
#include <cstring>

#include "tests/selectors/_table.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

void drawsAreTheEnd(bool newest, uint64_t seed) {
  Random random(seed, 9);
  const uint32_t countMax = 1 + random.below(60);
  AgeEndSelector selector(newest, false, countMax);
  CHECK_EQUAL(selector.create(), Status::ok);
  Table table(selector);
  for (int step = 0; step < 600; ++step) {
    // Phases in which the table grows, shrinks or is emptied.
    const uint32_t pushes = (step / 100) % 3 == 2 ? 3 : 6;
    if (random.below(10) < pushes) {
      if (table.count() < countMax) table.push();
    } else if (table.count() > 0) {
      table.remove(random.below(table.count()));
    }
    CHECK_EQUAL(selector.check(), 0);
    if (table.count() == 0) continue;
    uint32_t index[3];
    double probability[3];
    CHECK_EQUAL(selector.select(3, index, probability), Status::ok);
    const auto end = newest ? std::max_element(table.picks.begin(), table.picks.end())
                            : std::min_element(table.picks.begin(), table.picks.end());
    for (int k = 0; k < 3; ++k) {
      CHECK_EQUAL(static_cast<long>(index[k]), static_cast<long>(end - table.picks.begin()));
      CHECK_EQUAL(probability[k], 1.0);
    }
  }
}

void fill(AgeEndSelector& selector, uint32_t count, uint64_t seed) {
  Random random(seed, 3);
  Table table(selector);
  for (uint32_t k = 0; k < 3 * count; ++k) {
    if (table.count() == count) table.remove(random.below(count));
    table.push();
  }
}

void savedAndLoadedItDrawsTheSame() {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    AgeEndSelector a(seed % 2 == 0, false, 50);
    AgeEndSelector b(seed % 2 == 0, false, 70);
    CHECK_EQUAL(a.create(), Status::ok);
    CHECK_EQUAL(b.create(), Status::ok);
    fill(a, 50, seed);
    CHECK_EQUAL(load(b, 50, save(a, 50)), Status::ok);
    drawsAreEqual(a, b, 50, seed);
  }
}

void hostileBytes() {
  AgeEndSelector a(true, false, 20);
  CHECK_EQUAL(a.create(), Status::ok);
  fill(a, 20, 1);
  const auto make = [] {
    auto* selector = new AgeEndSelector(true, false, 20);
    CHECK_EQUAL(selector->create(), Status::ok);
    return selector;
  };
  const std::vector<uint8_t> good = save(a, 20);
  hostileBytesAreSafe(make, 20, good, 1);
  // A ring, two ways in, and an end too soon.
  for (uint32_t item = 0; item < 20; ++item)
    for (uint32_t wrong : {0u, 7u, 0xffffffffu}) {
      std::vector<uint8_t> bytes = good;
      uint8_t* place = bytes.data() + a.headerBytes() + 4 * item;
      if (std::memcmp(place, &wrong, 4) == 0) continue;
      std::memcpy(place, &wrong, 4);
      auto* selector = make();
      CHECK_EQUAL(load(*selector, 20, bytes), Status::dataCorrupt);
      delete selector;
    }
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    drawsAreTheEnd(false, seed);
    drawsAreTheEnd(true, seed);
  }
  savedAndLoadedItDrawsTheSame();
  hostileBytes();
  return checkResult("age end");
}
