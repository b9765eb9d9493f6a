// SumTree against the plain recursive definition: the same bits for sums, minima and draws, whatever the capacity.
#include "selectors/sum_tree.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"
#include "tests/selectors/_plain_tree.hpp"

using namespace exrp;

namespace {

using PlainTree = test::PlainTree<float>;

float randomWeight(Random& random) {
  switch (random.below(6)) {
    case 0: return 0.0f;
    case 1: return 0x1p-126f;
    case 2: return 0x1.fffffep127f;
    case 3: return 1.0f;
    default: return static_cast<float>(random.uniform() * (random.below(2) == 0 ? 1e-20 : 1e3)) + 0x1p-126f;
  }
}

/// Points at random, and at the very ends of leaves and one float64 to either side of them, where rounding decides.
std::vector<double> pointsFor(const PlainTree& plain, Random& random) {
  const double total = plain.total();
  std::vector<double> points = {0.0, total, std::nextafter(total, 0.0)};
  for (int k = 0; k < 34; ++k) points.push_back(random.uniform() * total);
  double end = 0.0;
  const uint32_t every = 1 + static_cast<uint32_t>(plain.weights.size()) / 24;
  for (uint32_t i = 0; i < plain.weights.size(); ++i) {
    end += static_cast<double>(plain.weights[i]);
    if (random.below(every) != 0 || end > total) continue;
    for (double point : {end, std::nextafter(end, 0.0), std::nextafter(end, total)}) points.push_back(point);
  }
  return points;
}

void compare(SumTree<float>& tree, const PlainTree& plain, Random& random) {
  tree.sumUp();
  CHECK_EQUAL(tree.total(), plain.total());
  CHECK_EQUAL(tree.minPositive(), plain.minPositive());
  if (!(plain.total() > 0.0)) return;
  std::vector<double> points = pointsFor(plain, random);
  const auto count = static_cast<uint32_t>(points.size());
  std::vector<uint32_t> index(count);
  std::vector<double> weight(count);
  for (const bool ascending : {false, true}) {
    if (ascending) std::sort(points.begin(), points.end());
    tree.findMany(points.data(), count, ascending, index.data(), weight.data());
    for (uint32_t k = 0; k < count; ++k) {
      CHECK_EQUAL(uint64_t{index[k]}, plain.find(points[k]));
      CHECK_EQUAL(index[k], tree.find(points[k]));
      CHECK_EQUAL(weight[k], static_cast<double>(plain.weights[index[k]]));
      CHECK(weight[k] > 0.0);
    }
  }
}

void treeEqualsTheDefinition(uint64_t seed, uint32_t countMax, uint32_t countTop) {
  Random random(seed, 1);
  SumTree<float> tree;
  CHECK(tree.create(countMax, true, seed % 2 == 0 && hasAvx2()) && tree.commit(countMax));
  PlainTree plain;
  const bool sparse = random.below(2) == 0;  // nearly all weights 0
  for (int step = 0; step < 400; ++step) {
    const uint32_t count = static_cast<uint32_t>(plain.weights.size());
    const uint32_t kind = random.below(10);
    const float weight = sparse && random.below(20) != 0 ? 0.0f : randomWeight(random);
    if (kind < 5 && count < countTop) {
      plain.weights.push_back(weight);
      tree.set(count, weight);
    } else if (kind < 7 && count > 0) {  // swap-delete
      const uint32_t index = random.below(count);
      tree.set(index, tree.get(count - 1));
      tree.set(count - 1, 0.0f);
      plain.weights[index] = plain.weights.back();
      plain.weights.pop_back();
    } else if (count > 0) {
      const uint32_t index = random.below(count);
      plain.weights[index] = weight;
      tree.set(index, weight);
    }
    if (random.below(8) == 0) {
      compare(tree, plain, random);
      CHECK_EQUAL(tree.check(), 0);
    } else if (random.below(8) == 0) {
      CHECK_EQUAL(tree.check(), 0);
    }
  }
}

void countsAroundPowersOfTwo() {
  for (uint32_t count : {1u, 2u, 3u, 15u, 16u, 17u, 255u, 256u, 257u, 1000u, 4095u, 4096u, 4097u, 65537u}) {
    Random random(count, 2);
    SumTree<float> tree;
    SumTree<float> larger;  // the same bits with another capacity
    CHECK(tree.create(count, true) && tree.commit(count));
    CHECK(larger.create(1u << 20, true) && larger.commit(1u << 20));
    PlainTree plain;
    for (uint32_t i = 0; i < count; ++i) {
      const float weight = randomWeight(random);
      plain.weights.push_back(weight);
      tree.set(i, weight);
      larger.set(i, weight);
    }
    tree.sumUp();
    larger.sumUp();
    CHECK_EQUAL(tree.total(), larger.total());
    CHECK_EQUAL(tree.total(), plain.total());
    CHECK_EQUAL(tree.minPositive(), larger.minPositive());
    for (int k = 0; k < 50 && tree.total() > 0.0; ++k) {
      const double r = random.uniform() * tree.total();
      CHECK_EQUAL(tree.find(r), larger.find(r));
      if (count < 5000) CHECK_EQUAL(uint64_t{tree.find(r)}, plain.find(r));
    }
    CHECK_EQUAL(tree.check(), 0);
    CHECK_EQUAL(larger.check(), 0);
  }
}

// More nodes are noted than the list holds: all are added up all the same, whichever they are.
void manyNotedNodes() {
  constexpr uint32_t count = 300'017;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Random random(seed, 5);
    SumTree<float> tree;
    CHECK(tree.create(count, true, seed % 2 == 0 && hasAvx2()) && tree.commit(count));
    PlainTree plain;
    for (uint32_t i = 0; i < count; ++i) plain.weights.push_back(randomWeight(random));
    for (uint32_t i = 0; i < count; ++i) tree.set(i, plain.weights[i]);
    for (uint32_t every : {1u, 20u, 3u, 1000u}) {
      CHECK_EQUAL(tree.check(), 0);
      tree.sumUp();
      CHECK(tree.isSummedUp());
      CHECK_EQUAL(tree.total(), plain.total());
      CHECK_EQUAL(tree.minPositive(), plain.minPositive());
      CHECK_EQUAL(tree.check(), 0);
      for (uint32_t k = 0; k < count; ++k) {
        if (random.below(every) != 0) continue;
        const uint32_t i = seed < 3 ? k : random.below(count);
        plain.weights[i] = randomWeight(random);
        tree.set(i, plain.weights[i]);
      }
    }
  }
}

// Many ascending points in a tree of several levels, where the search doesn't begin at the top; with and without AVX2, beside the
// search of each point by itself, which does.
void ascendingPointsAreFoundAsSingleOnes() {
  constexpr uint32_t count = 70000;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed, 3);
    SumTree<float> plain;
    SumTree<float> fast;
    CHECK(plain.create(count, false, false) && plain.commit(count));
    CHECK(fast.create(count) && fast.commit(count));
    const bool zeros = seed % 3 == 0;  // long stretches of them
    for (uint32_t i = 0; i < count; ++i) {
      const float weight = zeros && i / 1000 % 2 == 1 ? 0.0f : randomWeight(random) * (seed % 2 == 0 ? 0x1p-100f : 1.0f);
      plain.set(i, weight < 0x1p-126f ? 0.0f : weight);
      fast.set(i, plain.get(i));
    }
    plain.sumUp();
    fast.sumUp();
    std::vector<double> points(5000);
    for (uint32_t k = 0; k < 5000; ++k) points[k] = (k + random.uniform()) / 5000 * fast.total();
    points[4999] = fast.total();
    std::vector<uint32_t> found[3];
    std::vector<double> weight(5000);
    for (auto& index : found) index.resize(5000);
    fast.findMany(points.data(), 5000, true, found[0].data(), weight.data());
    fast.findMany(points.data(), 5000, false, found[1].data(), weight.data());
    plain.findMany(points.data(), 5000, true, found[2].data(), weight.data());
    for (uint32_t k = 0; k < 5000; ++k) {
      CHECK_EQUAL(found[0][k], found[1][k]);
      CHECK_EQUAL(found[0][k], found[2][k]);
      CHECK_EQUAL(found[0][k], plain.find(points[k]));
      CHECK_EQUAL(weight[k], static_cast<double>(fast.get(found[0][k])));
      CHECK(weight[k] > 0.0);
    }
    // In place: the weights take the points' place.
    fast.findMany(points.data(), 5000, true, found[1].data(), points.data());
    CHECK(found[1] == found[0] && points == weight);
  }
}

// Weights whose sums are beyond float32, or far below its normal numbers, ones that a sum in float32 would lose, and ones at the
// beginning of nodes that are tiny beside what is before them: the search isn't sure of them, and must say so.
void extremeWeights() {
  const float scales[] = {0x1.fffffep127f, 0x1p-126f, 1.0f, 1.0f};
  for (const bool avx2 : {false, hasAvx2()})
    for (uint64_t kind = 0; kind < 4; ++kind) {
      Random random(kind, 4);
      SumTree<float> tree;
      CHECK(tree.create(1000, true, avx2) && tree.commit(1000));
      PlainTree plain;
      for (uint32_t i = 0; i < 1000; ++i) {
        const bool tiny = kind == 0 ? random.below(20) != 0 : kind == 2 ? random.below(3) != 0 : kind == 3 && i % 256 < 16;
        const float odd = kind == 1 ? 1.0f : 0.5f + 0.5f * static_cast<float>(random.uniform());
        plain.weights.push_back(scales[kind] * odd * (tiny ? 0x1p-42f : 1.0f));
        tree.set(i, plain.weights[i]);
      }
      for (int k = 0; k < 20; ++k) compare(tree, plain, random);
    }
}

// One weight among zeros at every place: whatever r, even the total and beyond, only it can be drawn.
void zeroIsNeverDrawn() {
  constexpr uint32_t count = 5000;
  SumTree<float> tree;
  CHECK(tree.create(count) && tree.commit(count));
  for (uint32_t i = 0; i < count; ++i) tree.set(i, 0.0f);
  for (uint32_t i = 0; i < count; ++i) {
    const float weight = i % 3 == 0 ? 0x1p-126f : i % 3 == 1 ? 1.0f : 0x1.fffffep127f;
    tree.set(i, weight);
    tree.sumUp();
    for (double r : {0.0, 0.5 * tree.total(), tree.total(), 2.0 * tree.total()}) CHECK_EQUAL(tree.find(r), i);
    tree.set(i, 0.0f);
  }
  // Tiny beside huge: subtracting the left's sum leaves rounding as large as many tiny weights.
  Random random(9, 0);
  for (uint32_t i = 0; i < count; ++i)
    tree.set(i, i % 2 == 1 ? 0.0f : i % 6 == 0 ? 1e38f : i % 6 == 2 ? 1e-38f + 0x1p-126f : static_cast<float>(random.uniform()));
  tree.sumUp();
  for (int k = 0; k < 200000; ++k) CHECK(tree.get(tree.find(random.uniform() * tree.total())) > 0.0f);
}

// A million updates, and the sums are still those of the weights, to the bit: nothing drifts.
void sumsDontDrift() {
  constexpr uint32_t count = 3001;
  Random random(10, 0);
  SumTree<float> tree;
  CHECK(tree.create(count, true) && tree.commit(count));
  PlainTree plain;
  plain.weights.assign(count, 0.0f);
  for (int k = 0; k < 1000000; ++k) {
    const uint32_t index = random.below(count);
    plain.weights[index] = static_cast<float>(random.uniform() * (k % 2 == 0 ? 1e6 : 1e-6)) + 0x1p-126f;
    tree.set(index, plain.weights[index]);
    if (k % 50 == 0) tree.sumUp();
  }
  tree.sumUp();
  CHECK_EQUAL(tree.total(), plain.total());
  CHECK_EQUAL(tree.minPositive(), plain.minPositive());
  CHECK_EQUAL(tree.check(), 0);
}

// A twin of the checks above: check() must see a sum, a minimum or a weight that is wrong.
void checkSeesWhatIsWrong() {
  SumTree<float> tree;
  CHECK(tree.create(300, true) && tree.commit(300));
  for (uint32_t i = 0; i < 300; ++i) tree.set(i, 1.0f);
  tree.sumUp();
  CHECK_EQUAL(tree.check(), 0);
  tree.set(7, -1.0f);
  CHECK_EQUAL(tree.check(), 4);
}

void leavesOfDoubles() {
  for (const bool avx2 : {false, hasAvx2()}) {
    Random random(11, 0);
    SumTree<double> tree;
    CHECK(tree.create(1000, false, avx2));
    test::PlainTree<double> plain;
    std::vector<double>& weights = plain.weights;
    for (uint32_t i = 0; i < 1000; ++i) {
      CHECK(tree.commit(i + 1));
      weights.push_back(i % 7 == 0 ? 0.0 : i % 7 == 1 ? 1e-300 : random.uniform());
      tree.set(i, weights.back());
    }
    tree.sumUp();
    CHECK_EQUAL(tree.check(), 0);
    for (int k = 0; k < 1000; ++k) {
      const double r = random.uniform() * tree.total();
      const uint32_t index = tree.find(r);
      double before = 0;
      for (uint32_t i = 0; i < index; ++i) before += weights[i];
      CHECK(r >= before - 1e-9 && r <= before + weights[index] + 1e-9);
      CHECK_EQUAL(uint64_t{index}, plain.find(r));
      const double end = std::nextafter(before + weights[index], k % 2 == 0 ? 0.0 : 1e9);
      CHECK_EQUAL(uint64_t{tree.find(end)}, plain.find(end));
    }
  }
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const int before = exrp::test::failureCount;
    treeEqualsTheDefinition(seed, seed % 3 == 0 ? 1u << 18 : 300, 300);
    if (exrp::test::failureCount != before) std::printf("seed %d\n", static_cast<int>(seed));
  }
  countsAroundPowersOfTwo();
  manyNotedNodes();
  ascendingPointsAreFoundAsSingleOnes();
  extremeWeights();
  zeroIsNeverDrawn();
  sumsDontDrift();
  checkSeesWhatIsWrong();
  leavesOfDoubles();
  return exrp::test::checkResult("sum_tree");
}
