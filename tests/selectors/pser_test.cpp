// PserSelector against plain lists of weights and of priorities, one update after the other.
#include "selectors/pser.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "selectors/prioritized.hpp"
#include "tests/selectors/_plain_tree.hpp"
#include "tests/selectors/_table.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

/// A table of picks of episodes, and the order of them; an episode goes as a whole.
struct Episodes final : PickOrder {
  explicit Episodes(PickSelector& selector) : table(selector) {}

  void push(uint32_t episode) {
    table.push();
    who.push_back({episode, lengths[episode]++});
  }
  /// The indices of the episode's picks, which remove() takes out, in the order of that.
  uint32_t anyOf(uint32_t episode) const {
    for (uint32_t index = 0; index < who.size(); ++index)
      if (who[index].first == episode) return index;
    return none;
  }
  void remove(uint32_t index) {
    table.remove(index);
    who[index] = who.back();
    who.pop_back();
  }
  uint32_t find(uint32_t episode, uint32_t position) const {
    for (uint32_t index = 0; index < who.size(); ++index)
      if (who[index].first == episode && who[index].second == position) return index;
    return none;
  }
  uint32_t back(uint32_t index, uint32_t steps) const {
    return steps > who[index].second ? none : find(who[index].first, who[index].second - steps);
  }
  void before(const uint32_t* index, uint32_t count, uint32_t window, uint32_t* before) const override {
    for (uint32_t k = 0; k < count; ++k)
      for (uint32_t i = 0; i < window; ++i) before[size_t{k} * window + i] = back(index[k], i + 1);
  }

  Table table;
  std::map<uint32_t, uint32_t> lengths;
  std::vector<std::pair<uint32_t, uint32_t>> who;  // by index: the episode and the position
};

struct Plain {
  PserOptions options;
  Random random;
  std::vector<float> weights;
  double priorityMax;

  float weightOf(double priority) const {
    const double alpha = options.draw.alpha;
    if (alpha == 0.0) return 1.0f;
    const double base = priority + options.draw.epsilon;
    return base == 0.0 ? 0.0f : std::fmax(portableWeight(portablePow32(base, alpha)), 0x1p-126f);
  }
  void setPriority(const std::vector<uint32_t>& index, const std::vector<double>& priority, const Episodes& episodes) {
    std::map<uint32_t, double> last;
    for (size_t k = 0; k < index.size(); ++k) {
      last[index[k]] = priority[k];
      priorityMax = std::fmax(priorityMax, priority[k]);
    }
    std::map<uint32_t, float> own;
    for (const auto& [pick, value] : last) {
      const float least = portableWeight(static_cast<double>(weights[pick]) * portablePow(options.retain, options.draw.alpha));
      own[pick] = std::fmax(weightOf(value), least);
    }
    for (const auto& [pick, weight] : own) weights[pick] = weight;
    for (const auto& [pick, weight] : own) {
      double share = 1.0;
      for (uint32_t i = 1; i <= static_cast<uint32_t>(options.window); ++i) {
        share *= options.decay;
        const uint32_t earlier = episodes.back(pick, i);
        if (earlier == PickOrder::none) break;
        const float decayed = portableWeight(static_cast<double>(weight) * portablePow(share, options.draw.alpha));
        weights[earlier] = std::fmax(weights[earlier], decayed);
      }
    }
  }
  void compareSelect(PserSelector& selector, uint32_t count) {
    std::vector<uint32_t> index(count);
    std::vector<double> probability(count);
    CHECK_EQUAL(selector.select(count, index.data(), probability.data()), Status::ok);
    const PlainTree<float> tree{weights};
    const double total = tree.total();
    const auto n = static_cast<uint32_t>(weights.size());
    for (uint32_t k = 0; k < count; ++k) {
      if (!(total > 0.0)) {
        CHECK_EQUAL(index[k], random.below(n));
        continue;
      }
      const double u = random.uniform();
      const double r = options.draw.independent ? u * total : ((k + u) / count) * total;
      CHECK_EQUAL(uint64_t{index[k]}, tree.find(r));
      CHECK_EQUAL(probability[k], static_cast<double>(weights[index[k]]) / total);
    }
  }
};

PserOptions randomOptions(Random& random) {
  PserOptions options;
  const double alphas[] = {0.0, 0.5, 0.6, 1.0, 2.5};
  const double shares[] = {0.0, 0.4, 0.7, 1.0};
  const double windows[] = {1.0, 5.0, 5.0, 70.0, 1024.0};
  options.draw.alpha = alphas[random.below(5)];
  options.draw.epsilon = random.below(2) == 0 ? 0.0 : 1e-6;
  options.draw.initialPriority = random.below(4) == 0 ? 0.0 : 1.0;
  options.draw.normalizeTable = random.below(2) == 0;
  options.draw.independent = random.below(2) == 0;
  options.decay = shares[random.below(4)];
  options.window = windows[random.below(5)];
  options.retain = shares[random.below(4)];
  return options;
}

double randomPriority(Random& random) {
  switch (random.below(8)) {
    case 0: return 0.0;
    case 1: return 1e-300;
    case 2: return 1e-38;
    case 3: return 1.7e308;
    default: return random.uniform() * 5.0;
  }
}

void setBoth(PserSelector& selector, Plain& plain, const Episodes& episodes, uint32_t count, Random& random) {
  std::vector<uint32_t> index(count);
  std::vector<double> priority(count);
  const uint32_t from = random.below(episodes.table.count());
  const uint32_t range = random.below(2) == 0 ? episodes.table.count() - from : 1;  // now and then one pick many times
  for (uint32_t k = 0; k < count; ++k) {
    index[k] = from + random.below(range);
    priority[k] = randomPriority(random);
  }
  plain.setPriority(index, priority, episodes);
  selector.setPriorityInOrder(index.data(), priority.data(), count, episodes);
}

void drawsAreThoseOfTheDefinition(uint64_t seed) {
  Random random(seed, 9);
  const PserOptions options = randomOptions(random);
  const uint32_t countMax = 1 + random.below(200);
  PserSelector selector(options, Random(seed, 1), countMax);
  CHECK_EQUAL(selector.create(), Status::ok);
  Episodes episodes(selector);
  Plain plain{options, Random(seed, 1), {}, options.draw.initialPriority};
  for (int step = 0; step < 300; ++step) {
    const uint32_t kind = random.below(10);
    if (kind < 4) {
      for (uint32_t n = random.below(6), episode = random.below(5); n > 0 && episodes.table.count() < countMax; --n) {
        episodes.push(episode);
        plain.weights.push_back(plain.weightOf(plain.priorityMax));
      }
    } else if (kind < 5) {
      const uint32_t episode = random.below(5);
      for (uint32_t index; (index = episodes.anyOf(episode)) != PickOrder::none;) {
        episodes.remove(index);
        plain.weights[index] = plain.weights.back();
        plain.weights.pop_back();
      }
      episodes.lengths.erase(episode);
    } else if (episodes.table.count() > 0 && kind < 9) {
      setBoth(selector, plain, episodes, random.below(150), random);
    } else if (episodes.table.count() > 0) {
      plain.compareSelect(selector, 1 + random.below(64));
    }
    if (step % 25 == 0) CHECK_EQUAL(selector.check(), 0);
  }
  CHECK_EQUAL(selector.check(), 0);
}

/// Weights of all picks, as they are saved.
std::vector<float> weightsOf(const PserSelector& selector, uint32_t count) {
  std::vector<float> weights(count);
  selector.saveItems(0, count, reinterpret_cast<uint8_t*>(weights.data()));
  return weights;
}

/// The order of what a call names makes no difference, and one call for each pick in order of time is the same.
void orderMakesNoDifference(uint64_t seed) {
  Random random(seed, 11);
  PserOptions options = randomOptions(random);
  constexpr uint32_t count = 40;
  std::vector<uint32_t> index(count);
  std::vector<double> priority(count);
  for (double& each : priority) each = randomPriority(random);
  std::vector<float> expected;
  for (int way = 0; way < 4; ++way) {
    PserSelector selector(options, Random(1, 1), count);
    CHECK_EQUAL(selector.create(), Status::ok);
    Episodes episodes(selector);
    for (uint32_t k = 0; k < count; ++k) episodes.push(k / 15);
    for (uint32_t k = 0; k < count; ++k) index[k] = k;
    if (way == 1) std::reverse(index.begin(), index.end());
    if (way == 2)
      for (uint32_t k = count - 1; k > 0; --k) std::swap(index[k], index[random.below(k + 1)]);
    std::vector<double> values(count);
    for (uint32_t k = 0; k < count; ++k) values[k] = priority[index[k]];
    if (way == 3) {
      for (uint32_t k = 0; k < count; ++k) selector.setPriorityInOrder(&index[k], &values[k], 1, episodes);
    } else {
      selector.setPriorityInOrder(index.data(), values.data(), count, episodes);
    }
    if (way == 0) expected = weightsOf(selector, count);
    CHECK(weightsOf(selector, count) == expected);
  }
}

/// The paper's rule on priorities, in double, gives the same weights but for rounding.
void weightsAreThoseOfPriorities() {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed, 12);
    PserOptions options;
    options.draw.epsilon = 0.01;
    options.decay = 0.3 + 0.6 * random.uniform();
    options.window = 1 + random.below(8);
    options.retain = random.uniform();
    constexpr uint32_t count = 60;
    PserSelector selector(options, Random(1, 1), count);
    CHECK_EQUAL(selector.create(), Status::ok);
    Episodes episodes(selector);
    for (uint32_t k = 0; k < count; ++k) episodes.push(k / 25);
    std::vector<double> p(count, 1.01);
    for (int round = 0; round < 200; ++round) {
      uint32_t t = random.below(count);
      double delta = random.below(4) == 0 ? random.uniform() * 100 : random.uniform();
      p[t] = std::fmax(delta + options.draw.epsilon, options.retain * p[t]);
      for (uint32_t i = 1; i <= static_cast<uint32_t>(options.window) && i <= t % 25; ++i)
        p[t - i] = std::fmax(p[t - i], std::pow(options.decay, i) * p[t]);
      selector.setPriorityInOrder(&t, &delta, 1, episodes);
    }
    const std::vector<float> weights = weightsOf(selector, count);
    for (uint32_t k = 0; k < count; ++k) {
      const double expected = std::pow(p[k], options.draw.alpha);
      CHECK(std::fabs(weights[k] / expected - 1.0) < 1e-4);  // a share is rounded each time it is retained
    }
  }
}

/// With nothing decayed and nothing retained it is PrioritizedSelector; and so it is for priorities that come with records.
void withoutDecayItIsPrioritized() {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, 13);
    PserOptions options = randomOptions(random);
    const bool ordered = seed % 2 == 0;
    if (ordered) options.decay = options.retain = 0.0;
    PserSelector pser(options, Random(seed, 1), 100);
    PrioritizedSelector prioritized(options.draw, Random(seed, 1), 100);
    CHECK_EQUAL(pser.create(), Status::ok);
    CHECK_EQUAL(prioritized.create(), Status::ok);
    Episodes episodes(pser);
    for (uint32_t i = 0; i < 100; ++i) {
      episodes.push(i / 30);
      push(prioritized, i);
    }
    for (int round = 0; round < 20; ++round) {
      uint32_t index[70];
      double priority[70];
      for (uint32_t k = 0; k < 70; ++k) {
        index[k] = random.below(100);
        priority[k] = randomPriority(random);
      }
      prioritized.setPriority(index, priority, 70);
      if (ordered) pser.setPriorityInOrder(index, priority, 70, episodes);
      else pser.setPriority(index, priority, 70);
      CHECK_EQUAL(pser.check(), 0);
    }
    drawsAreEqual(pser, prioritized, 100, seed);
  }
}

void savedAndLoadedItDrawsTheSame() {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, 10);
    const PserOptions options = randomOptions(random);
    PserSelector a(options, Random(seed, 1), 100);
    PserSelector b(options, Random(seed + 100, 1), 200);
    CHECK_EQUAL(a.create(), Status::ok);
    CHECK_EQUAL(b.create(), Status::ok);
    Episodes episodes(a);
    for (uint32_t i = 0; i < 100; ++i) episodes.push(i / 30);
    for (uint32_t i = 0; i < 100; ++i) {
      double priority = randomPriority(random);
      a.setPriorityInOrder(&i, &priority, 1, episodes);
    }
    CHECK_EQUAL(load(b, 100, save(a, 100)), Status::ok);
    drawsAreEqual(a, b, 100, seed);
  }
}

void hostileBytes() {
  const PserOptions options;
  PserSelector a(options, Random(1, 1), 20);
  CHECK_EQUAL(a.create(), Status::ok);
  for (uint32_t i = 0; i < 20; ++i) push(a, i);
  const auto make = [&] {
    auto* selector = new PserSelector(options, Random(1, 1), 20);
    CHECK_EQUAL(selector->create(), Status::ok);
    return selector;
  };
  hostileBytesAreSafe(make, 20, save(a, 20), 1);
}

void wrongOptionsAreRefused() {
  for (double wrong : {-1.0, 1.5, 1025.0, static_cast<double>(HUGE_VAL), std::nan("")}) {
    PserOptions options[3];
    options[0].decay = wrong;
    options[1].retain = wrong;
    options[2].window = wrong;
    for (const PserOptions& each : options) {
      PserSelector selector(each, Random(1, 1), 10);
      CHECK_EQUAL(selector.create(), Status::argument);
    }
  }
  PserOptions options;
  options.window = 0.0;
  PserSelector none(options, Random(1, 1), 10);
  CHECK_EQUAL(none.create(), Status::argument);
  options.window = 5.0;
  options.draw.alpha = -1.0;
  PserSelector negative(options, Random(1, 1), 10);
  CHECK_EQUAL(negative.create(), Status::argument);
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const int before = failureCount;
    drawsAreThoseOfTheDefinition(seed);
    orderMakesNoDifference(seed);
    if (failureCount != before) std::printf("seed %d\n", static_cast<int>(seed));
  }
  weightsAreThoseOfPriorities();
  withoutDecayItIsPrioritized();
  savedAndLoadedItDrawsTheSame();
  hostileBytes();
  wrongOptionsAreRefused();
  return checkResult("pser");
}
