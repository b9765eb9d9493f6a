// RankTree against a plain list that is sorted for each query. Changes come in groups of any size, and many keys have equal upper
// halves. Leaves and nodes fill up, run empty and are removed.
#include "selectors/_rank_tree.hpp"

#include <algorithm>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

struct Plain {
  std::vector<uint64_t> keys;  // by value
  std::vector<bool> there;

  std::vector<uint32_t> inOrder() const {
    std::vector<uint32_t> values;
    for (uint32_t value = 0; value < keys.size(); ++value)
      if (there[value]) values.push_back(value);
    std::sort(values.begin(), values.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    return values;
  }
};

void compare(const RankTree& tree, const Plain& plain) {
  const std::vector<uint32_t> order = plain.inOrder();
  CHECK_EQUAL(tree.check(), 0);
  CHECK_EQUAL(tree.count(), order.size());
  if (tree.count() != order.size()) return;
  std::vector<uint32_t> ranks(order.size());
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) ranks[rank] = rank;
  tree.nthMany(ranks.data(), static_cast<uint32_t>(ranks.size()));
  for (size_t rank = 0; rank < ranks.size(); ++rank) CHECK_EQUAL(ranks[rank], order[rank]);
  for (uint32_t value = 0; value < plain.keys.size(); ++value) CHECK_EQUAL(tree.has(plain.keys[value], value), plain.there[value]);
}

/// Upper halves 0x80000000..0xffffffff, as those of inverted floats; `kinds` of them, or all.
uint64_t randomKey(Random& random, uint32_t kinds, uint32_t lower) {
  const uint32_t upper = kinds == 0 ? static_cast<uint32_t>(random.next()) | 0x80000000u : ~random.below(kinds);
  return uint64_t{upper} << 32 | lower;
}

void changesAreThoseOfTheList(uint64_t seed, uint32_t countMax, uint32_t kinds) {
  Random random(seed, 5);
  Plain plain{std::vector<uint64_t>(countMax), std::vector<bool>(countMax)};
  uint32_t lowerNext = 0;
  RankTree tree;
  CHECK(tree.create(countMax) && tree.prepare(countMax));
  for (int turn = 0; turn < 100; ++turn) {
    const uint32_t coming = turn % 30 < 12 ? 9 : turn % 30 < 20 ? 5 : 1;  // of 10 of those not there, and 10 - it of those there
    std::vector<RankTree::Change> changes;
    std::vector<bool> touched(countMax);
    for (uint32_t n = random.below(countMax / 6 + 40); n > 0; --n) {
      const uint32_t value = random.below(countMax);
      if (touched[value]) continue;
      touched[value] = true;
      uint64_t& key = plain.keys[value];
      if (!plain.there[value]) {
        if (random.below(10) >= coming) continue;
        // Among equal upper halves after all others, or between them.
        const uint32_t lower = turn % 2 == 0 ? (0x20000000u + lowerNext++) << 1 : (lowerNext++ * 2654435761u) << 1 | 1;
        key = randomKey(random, kinds, lower);
        changes.push_back({key, RankTree::none, value});
      } else if (random.below(3) == 0) {  // as a new priority does: the lower half stays
        changes.push_back({key, value, RankTree::none});
        key = randomKey(random, kinds, static_cast<uint32_t>(key));
        changes.push_back({key, RankTree::none, value});
        continue;
      } else {
        if (random.below(10) < coming) continue;
        const uint32_t from = random.below(countMax);
        if (plain.there[from] && !touched[from]) {  // another takes its name, as in a table that removes by swapping
          touched[from] = true;
          const RankTree::Change swap[] = {{key, value, RankTree::none}, {plain.keys[from], from, value}};
          key = plain.keys[from];
          plain.there[from] = false;
          tree.change(swap, 2);
          continue;
        }
        changes.push_back({key, value, RankTree::none});
      }
      plain.there[value] = !plain.there[value];
    }
    tree.change(changes.data(), static_cast<uint32_t>(changes.size()));
    compare(tree, plain);
  }
}

/// A flight that empties whole leaves, one that fills one leaf alone, and all of it away again.
void leavesRunEmptyAndOverflow() {
  constexpr uint32_t countMax = 5000;
  std::vector<uint64_t> keys(countMax);
  RankTree tree;
  CHECK(tree.create(countMax) && tree.prepare(countMax));
  std::vector<RankTree::Change> come;
  std::vector<RankTree::Change> go;
  for (uint32_t value = 0; value < countMax; ++value) {
    keys[value] = uint64_t{0x80000000u + value / 1000} << 32 | (value % 2 == 0 ? value : countMax * 2 - value);
    come.push_back({keys[value], RankTree::none, value});
    go.push_back({keys[value], value, RankTree::none});
  }
  for (uint32_t piece : {1u, 7u, 32u, 33u, 5000u}) {
    for (uint32_t first = 0; first < countMax; first += piece) tree.change(&come[first], std::min(piece, countMax - first));
    CHECK_EQUAL(tree.check(), 0);
    CHECK_EQUAL(tree.count(), countMax);
    const double full = tree.memoryBytes();
    CHECK(full < 58.0 * countMax + 2 * 4096.0);
    for (uint32_t first = 0; first < countMax; first += piece) {
      tree.change(&go[first], std::min(piece, countMax - first));
      if (first % 500 == 0) CHECK_EQUAL(tree.check(), 0);
    }
    CHECK_EQUAL(tree.check(), 0);
    CHECK_EQUAL(tree.count(), 0u);
    CHECK_EQUAL(tree.memoryBytes(), full);  // what was used once stays
  }
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const int before = failureCount;
    for (uint32_t kinds : {1u, 3u, 200u, 0u}) {
      changesAreThoseOfTheList(seed, static_cast<uint32_t>(1 + seed * 41 % 300), kinds);
      if (seed % 8 == 0) changesAreThoseOfTheList(seed, 3000, kinds);
    }
    if (failureCount != before) std::printf("seed %d\n", static_cast<int>(seed));
  }
  leavesRunEmptyAndOverflow();
  return checkResult("rank tree");
}
