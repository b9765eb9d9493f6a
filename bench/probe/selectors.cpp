// Probe: what the native selectors cost at 2^20 picks, each line the minimum and the median of repeats. Not a test.
// g++ -std=c++20 -O3 -fno-exceptions -fno-rtti -ffp-contract=off -I. bench/probe/selectors.cpp kernel/base/memory.cpp -o /tmp/selectors
#include <cstdio>
#include <vector>

#include "bench/probe/_times.hpp"
#include "selectors/curious.hpp"
#include "selectors/prioritized.hpp"
#include "selectors/rank_based.hpp"
#include "selectors/ucb.hpp"
#include "selectors/uniform.hpp"

using namespace exrp;
using probe::nowUs;

namespace {

template <typename Before, typename Body>
void measure(const char* name, int repeats, double per, const char* unit, Before before, Body body) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    before();
    const double start = nowUs();
    body();
    times.push_back((nowUs() - start) / per);
  }
  const auto [least, median] = probe::summary(times);
  std::printf("%-58s %9.3f min %9.3f median %s\n", name, least, median, unit);
}

constexpr uint32_t pool = 1u << 20;
const auto nothing = [] {};

void prioritizedProbe(bool table) {
  PrioritizedOptions options;
  options.normalizeTable = table;
  options.epsilon = 1e-6;
  PrioritizedSelector selector(options, Random(1, 0), pool);
  if (selector.create() != Status::ok || !selector.prepare(pool)) return;
  std::printf("prioritized, normalize %s, N = 2^20\n", table ? "table" : "batch");
  const double start = nowUs();
  for (uint32_t i = 0; i < pool; ++i) selector.pushed(i);
  std::printf("%-58s %9.3f first time, page faults included, ns\n", "push", (nowUs() - start) * 1e3 / pool);
  std::vector<uint32_t> index(5000);
  std::vector<double> value(5000);
  Random random(2, 0);
  selector.select(1, index.data(), value.data());
  measure("push 4096, ns each", 50, 4.096, "ns", nothing, [&] {
    for (uint32_t i = pool - 4096; i < pool; ++i) selector.pushed(i);
  });
  for (uint32_t i = 0; i < pool; ++i) {
    const double priority = random.uniform() + 0.01;
    selector.setPriority(&i, &priority, 1);
  }
  selector.select(1, index.data(), value.data());
  const auto shuffle = [&] {
    for (uint32_t k = 0; k < 256; ++k) {
      index[k] = random.below(pool);
      value[k] = random.uniform();
    }
  };
  const auto drawn = [&] {  // the indices a learner would update: those it has just drawn
    selector.select(256, index.data(), value.data());
    for (double& x : value) x = random.uniform();
  };
  measure("setPriority 256 random", 400, 1, "us", shuffle, [&] { selector.setPriority(index.data(), value.data(), 256); });
  measure("setPriority 256 just drawn", 400, 1, "us", drawn, [&] { selector.setPriority(index.data(), value.data(), 256); });
  const auto setRandom = [&] {
    shuffle();
    selector.setPriority(index.data(), value.data(), 256);
  };
  measure("sums after 256 random (by probabilityMin)", table ? 400 : 1, 1, "us", setRandom,
          [&] { selector.probabilityMin(); });
  const auto setDrawn = [&] {
    drawn();
    selector.setPriority(index.data(), value.data(), 256);
  };
  measure("sums after 256 random, and select 1", 400, 1, "us", setRandom,
          [&] { selector.select(1, index.data(), value.data()); });
  measure("sums after 256 just drawn, and select 1", 400, 1, "us", setDrawn,
          [&] { selector.select(1, index.data(), value.data()); });
  for (uint32_t batch : {32u, 256u, 5000u}) {
    char name[64];
    std::snprintf(name, sizeof name, "select %u, summed up", batch);
    measure(name, 400, 1, "us", nothing, [&] { selector.select(batch, index.data(), value.data()); });
  }
  measure("setPriority 256 + select 256", 400, 1, "us", drawn, [&] {
    selector.setPriority(index.data(), value.data(), 256);
    selector.select(256, index.data(), value.data());
  });
  std::printf("%-58s %9.3f bytes\n", "memory a pick", selector.memoryBytes(pool) / pool);
}

void ucbProbe(bool proportional, bool prioritiesSet, uint32_t picks, uint32_t warmUp) {
  UcbOptions options;
  options.proportional = proportional;
  UcbSelector selector(options, Random(1, 0), picks);
  if (selector.create() != Status::ok || !selector.prepare(picks)) return;
  std::printf("ucb %s, priorities %s, N = %u, after %u batches more than one draw each\n", proportional ? "proportional" : "greedy",
              prioritiesSet ? "random" : "equal", picks, warmUp);
  Random random(2, 0);
  double start = nowUs();
  for (uint32_t i = 0; i < picks; ++i) selector.pushed(i);
  std::printf("%-58s %9.3f first time, page faults included, ns\n", "push", (nowUs() - start) * 1e3 / picks);
  std::vector<uint32_t> index(256);
  std::vector<double> value(256);
  const auto batch = [&] { selector.select(256, index.data(), value.data()); };
  const auto update = [&] {
    for (double& x : value) x = random.uniform();
    selector.setPriority(index.data(), value.data(), 256);
  };
  start = nowUs();
  for (uint32_t i = 0; i < picks / 256 + warmUp; ++i) {
    batch();
    if (prioritiesSet) update();
  }
  std::printf("%-58s %9.3f us a batch of 256\n", "warm-up, with setPriority", (nowUs() - start) / (picks / 256 + warmUp));
  measure("select 256", 400, 1, "us", [&] { if (prioritiesSet) update(); }, batch);
  measure("setPriority 256 just drawn", 400, 1, "us", batch, update);
  measure("push and pop 4096, ns each pair", 50, 4.096, "ns", nothing, [&] {
    for (uint32_t k = 0; k < 4096; ++k) {
      selector.popped(picks - 1);
      selector.pushed(picks - 1);
    }
  });
  std::printf("%-58s %9.3f bytes\n", "memory a pick", selector.memoryBytes(picks) / picks);
}

void rankBasedProbe() {
  RankBasedSelector selector({}, Random(1, 0), pool);
  if (selector.create() != Status::ok || !selector.prepare(pool)) return;
  std::printf("rank-based, N = 2^20\n");
  double start = nowUs();
  for (uint32_t i = 0; i < pool; ++i) selector.pushed(i);
  std::printf("%-58s %9.3f first time, page faults included, ns\n", "push", (nowUs() - start) * 1e3 / pool);
  std::vector<uint32_t> index(256);
  std::vector<double> value(256);
  Random random(2, 0);
  start = nowUs();
  for (uint32_t i = 0; i < pool; ++i) {
    const double priority = random.uniform() + 0.01;
    selector.setPriority(&i, &priority, 1);
  }
  std::printf("%-58s %9.3f ns\n", "setPriority, one by one", (nowUs() - start) * 1e3 / pool);
  const auto draw = [&] { selector.select(256, index.data(), value.data()); };
  const auto update = [&] {
    for (double& x : value) x = random.uniform();
    selector.setPriority(index.data(), value.data(), 256);
  };
  draw();
  measure("setPriority 256 just drawn", 400, 1, "us", draw, update);
  measure("select 256", 400, 1, "us", update, draw);
  measure("setPriority 256 + select 256", 400, 1, "us", nothing, [&] {
    update();
    draw();
  });
  measure("push and pop 4096, ns each pair", 50, 4.096, "ns", nothing, [&] {
    for (uint32_t k = 0; k < 4096; ++k) {
      selector.popped(pool - 1);
      selector.pushed(pool - 1);
    }
  });
  std::printf("%-58s %9.3f bytes\n", "memory a pick", selector.memoryBytes(pool) / pool);
}

void curiousProbe() {
  CuriousSelector selector({}, Random(1, 0), pool);
  if (selector.create() != Status::ok || !selector.prepare(pool)) return;
  std::printf("curious, N = 2^20\n");
  double start = nowUs();
  for (uint32_t i = 0; i < pool; ++i) selector.pushed(i);
  std::printf("%-58s %9.3f first time, page faults included, ns\n", "push", (nowUs() - start) * 1e3 / pool);
  std::vector<uint32_t> index(256);
  std::vector<double> value(256);
  Random random(2, 0);
  for (uint32_t i = 0; i < pool; ++i) {
    const double loss = random.uniform();
    selector.setPriority(&i, &loss, 1);
  }
  const auto draw = [&] { selector.select(256, index.data(), value.data()); };
  const auto update = [&] {
    for (double& x : value) x = random.uniform();
    selector.setPriority(index.data(), value.data(), 256);
  };
  draw();
  measure("setPriority 256 just drawn", 400, 1, "us", draw, update);
  measure("select 256", 400, 1, "us", update, draw);
  measure("setPriority 256 + select 256", 400, 1, "us", nothing, [&] {
    update();
    draw();
  });
  std::printf("%-58s %9.3f bytes\n", "memory a pick", selector.memoryBytes(pool) / pool);
}

/// A learner's turn, 256 draws and as many updates of what was drawn, with one selector and the other in turn.
void turnsProbe() {
  std::vector<uint32_t> index(256);
  std::vector<double> value(256);
  Random random(3, 0);
  const auto turn = [&](PickSelector& selector) {
    selector.select(256, index.data(), value.data());
    for (double& x : value) x = random.uniform();
    selector.setPriority(index.data(), value.data(), 256);
  };
  PrioritizedSelector proportional({}, Random(1, 0), pool);
  RankBasedSelector ranks({}, Random(1, 0), pool);
  if (proportional.create() != Status::ok || ranks.create() != Status::ok) return;
  if (!proportional.prepare(pool) || !ranks.prepare(pool)) return;
  PickSelector* const selectors[] = {&proportional, &ranks};
  for (PickSelector* selector : selectors) {
    for (uint32_t i = 0; i < pool; ++i) selector->pushed(i);
    for (uint32_t i = 0; i < 16384; ++i) turn(*selector);
  }
  std::vector<double> times[2];
  for (int block = 0; block < 100; ++block)
    for (int which = 0; which < 2; ++which)
      for (int i = 0; i < 40; ++i) {
        const double start = nowUs();
        turn(*selectors[which]);
        times[which].push_back(nowUs() - start);
      }
  const probe::Times proportionalTimes = probe::summary(times[0]);
  const probe::Times ranksTimes = probe::summary(times[1]);
  std::printf("select 256 and setPriority of them, N = 2^20: prioritized %.1f min %.1f median us, rank-based %.1f and %.1f: %.2f, %.2f times\n",
              proportionalTimes.least, proportionalTimes.median, ranksTimes.least, ranksTimes.median,
              ranksTimes.least / proportionalTimes.least, ranksTimes.median / proportionalTimes.median);
}

void uniformProbe() {
  UniformSelector selector(Random(1, 0));
  for (uint32_t i = 0; i < pool; ++i) selector.pushed(i);
  std::vector<uint32_t> index(5000);
  std::vector<double> value(5000);
  std::printf("uniform, N = 2^20\n");
  uint32_t sum = 0;  // printed, so that the draws can't be left out
  measure("select 5000", 400, 1, "us", nothing, [&] {
    selector.select(5000, index.data(), value.data());
    for (const uint32_t i : index) sum += i;
  });
  std::printf("(sum of all draws %u)\n", sum);
}

}  // namespace

int main() {
  turnsProbe();
  uniformProbe();
  rankBasedProbe();
  curiousProbe();
  prioritizedProbe(false);
  prioritizedProbe(true);
  ucbProbe(false, true, pool, 0);
  ucbProbe(false, true, pool, 20000);
  ucbProbe(false, false, pool, 0);
  ucbProbe(false, true, 1u << 12, 100000);
  ucbProbe(true, true, pool, 20000);
  return 0;
}
