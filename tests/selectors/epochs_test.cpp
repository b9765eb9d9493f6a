// EpochSelector against what it promises, kept as plain sets; by statistics; and saved and loaded.
#include "selectors/without_replacement.hpp"

#include <memory>
#include <set>

#include "tests/selectors/_table.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

std::unique_ptr<PickSelector> made(uint64_t seed, uint32_t countMax) {
  auto selector = std::make_unique<EpochSelector>(Random(seed, 1), countMax);
  CHECK_EQUAL(selector->create(), Status::ok);
  return selector;
}

/// What may be drawn next, by plain sets of the picks' numbers.
struct Twin {
  std::set<uint64_t> left;   // of the epoch
  std::set<uint64_t> batch;  // what the batch has

  std::vector<uint64_t> open(const std::vector<uint64_t>& picks) {
    if (left.empty()) {
      left.insert(picks.begin(), picks.end());
      if (batch.size() == picks.size()) batch.clear();
    }
    std::vector<uint64_t> all = withoutBatch();
    if (all.empty()) batch.clear();
    return all.empty() ? withoutBatch() : all;
  }
  std::vector<uint64_t> withoutBatch() const {
    std::vector<uint64_t> all;
    for (const uint64_t pick : left) {
      if (batch.count(pick) == 0) all.push_back(pick);
    }
    return all;
  }
};

/// Counts which of the picks that may be drawn is drawn, by its rank among them, where there are `observed.size()`.
void drawsAreThoseThatMayBe(uint64_t seed, std::vector<double>& observed) {
  Random random(seed, 9);
  const uint32_t countMax = 1 + random.below(30);
  const std::unique_ptr<PickSelector> selector = made(seed, countMax);
  Table table(*selector);
  Twin twin;
  for (int step = 0; step < 2000; ++step) {
    const uint32_t what = random.below(10);
    if (what < 2 && table.count() < countMax) {
      twin.left.insert(table.next);
      table.push();
    } else if (what == 2 && table.count() > 0) {
      const uint32_t at = random.below(table.count());
      twin.left.erase(table.picks[at]);
      twin.batch.erase(table.picks[at]);
      table.remove(at);
    } else if (what == 3) {
      selector->beginBatch();
      twin.batch.clear();
    } else if (table.count() > 0) {
      uint32_t index[40];
      double probability[40];
      const uint32_t count = 1 + random.below(40);
      CHECK_EQUAL(selector->select(count, index, probability), Status::ok);
      for (uint32_t k = 0; k < count; ++k) {
        CHECK(index[k] < table.count());
        CHECK_EQUAL(probability[k], 1.0 / table.count());
        const uint64_t pick = table.picks[index[k]];
        const std::vector<uint64_t> open = twin.open(table.picks);
        size_t rank = 0;
        while (rank < open.size() && open[rank] != pick) ++rank;
        CHECK(rank < open.size());
        if (open.size() == observed.size()) ++observed[rank];
        twin.left.erase(pick);
        twin.batch.insert(pick);
      }
    }
    CHECK_EQUAL(selector->check(), 0);
  }
}

void drawsAreUniformAmongThoseThatMayBe() {
  for (const uint32_t size : {2u, 5u, 11u}) {
    std::vector<double> observed(size);
    for (uint64_t seed = 1; seed <= 12; ++seed) drawsAreThoseThatMayBe(seed, observed);
    double sum = 0;
    for (const double each : observed) sum += each;
    CHECK(sum > 2000);
    const std::vector<double> expected(size, sum / size);
    CHECK(std::fabs(chiSquareDeviation(observed, expected)) < 4.0);
    observed[0] += sum / 5;  // the twin: the oldest comes too often
    CHECK(chiSquareDeviation(observed, expected) > 6.0);
  }
}

constexpr uint64_t drawCount = 6000;

/// How often each order of 4 picks came, over seeds; one that comes in the midst may stand at the last two places only.
std::vector<double> orders(bool isLate, double tilt) {
  std::vector<double> observed(isLate ? 12 : 24);
  Random random(3, 3);
  for (uint64_t seed = 0; seed < drawCount; ++seed) {
    const std::unique_ptr<PickSelector> selector = made(seed, 4);
    for (uint32_t index = 0; index < (isLate ? 3u : 4u); ++index) push(*selector, index);
    uint32_t drawn[4];
    double probability[4];
    CHECK_EQUAL(selector->select(2, drawn, probability), Status::ok);
    if (isLate) push(*selector, 3);
    CHECK_EQUAL(selector->select(2, drawn + 2, probability), Status::ok);
    if (drawn[2] > drawn[3] && random.uniform() < tilt) std::swap(drawn[2], drawn[3]);
    uint32_t number = 0;  // of the order, among those that may be
    for (uint32_t k = 0; k < 3; ++k) {
      uint32_t smaller = 0;
      for (uint32_t l = k + 1; l < 4; ++l) smaller += drawn[l] < drawn[k] ? 1 : 0;
      number = number * (4 - k) + smaller;
    }
    if (isLate) number = drawn[0] * 4 + (drawn[1] - (drawn[1] > drawn[0] ? 1 : 0)) * 2 + (drawn[2] > drawn[3] ? 1 : 0);
    if (number < observed.size()) ++observed[number];
  }
  return observed;
}

void eachOrderIsAlike() {
  for (const bool isLate : {false, true}) {
    const size_t count = isLate ? 12 : 24;
    const std::vector<double> expected(count, static_cast<double>(drawCount) / static_cast<double>(count));
    CHECK(std::fabs(chiSquareDeviation(orders(isLate, 0.0), expected)) < 4.0);
    CHECK(chiSquareDeviation(orders(isLate, 0.2), expected) > 6.0);  // the twin: a few pairs in order
  }
}

void savedAndLoadedItGoesOn() {
  const auto withFew = [] { return made(3, 50).release(); };
  const std::unique_ptr<PickSelector> a = made(2, 50);
  for (uint32_t index = 0; index < 50; ++index) push(*a, index);
  uint32_t drawn[50];
  double probability[50];
  CHECK_EQUAL(a->select(30, drawn, probability), Status::ok);
  const std::vector<uint8_t> bytes = save(*a, 50);
  const std::unique_ptr<PickSelector> b = made(3, 80);
  CHECK_EQUAL(load(*b, 50, bytes), Status::ok);
  std::set<uint32_t> seen(drawn, drawn + 30);
  a->beginBatch();
  CHECK_EQUAL(b->select(20, drawn, probability), Status::ok);
  seen.insert(drawn, drawn + 20);
  CHECK_EQUAL(seen.size(), size_t{50});
  CHECK_EQUAL(a->select(20, drawn, probability), Status::ok);
  drawsAreEqual(*a, *b, 50, 4);
  CHECK_EQUAL(load(*made(3, 50), 50, std::vector<uint8_t>(bytes.size())), Status::dataCorrupt);
  CHECK_EQUAL(load(*made(3, 50), 20, bytes), Status::dataCorrupt);
  hostileBytesAreSafe(withFew, 50, bytes, 8);
}

}  // namespace

int main() {
  drawsAreUniformAmongThoseThatMayBe();
  eachOrderIsAlike();
  savedAndLoadedItGoesOn();
  return checkResult("epochs");
}
