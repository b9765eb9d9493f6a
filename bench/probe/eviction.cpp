// What the native eviction policies cost: a probe beside the tests, no test.
//
//   g++ -std=c++20 -O3 -fno-exceptions -fno-rtti -I. -o eviction bench/probe/eviction.cpp kernel/memory.cpp && ./eviction
//
// For E episodes: ns a pick of sampled(5000), episodes drawn evenly or skewed (the fourth power of a uniform number: a few come
// much more often), and the whole call in us; then ns of a turn, which is victim() + removed() + created(): a hundred turns after
// a batch of 5000 (which isn't timed), one turn after a batch of 5000; and the worst victim(): after a batch of every episode
// once. Bytes an episode. Each: minimum and median of the repeats. check() must say 0 before and after.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "eviction/fifo.hpp"
#include "eviction/lfu.hpp"
#include "eviction/lru.hpp"
#include "eviction/second_chance.hpp"
#include "kernel/random.hpp"

namespace {

constexpr uint32_t batchCount = 5000;
constexpr uint32_t repeatCount = 400;

double nowNs() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<uint32_t> draw(exrp::Random& random, uint32_t episodeCount, uint32_t count, bool skewed) {
  std::vector<uint32_t> episodes(count);
  for (uint32_t& episode : episodes) {
    const double u = random.uniform();
    episode = static_cast<uint32_t>((skewed ? u * u * u * u : u) * episodeCount);
  }
  return episodes;
}

struct Times {
  double least;
  double median;
};

Times summary(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return Times{times[0], times[times.size() / 2]};
}

void mustHold(const exrp::EvictionPolicy& policy, const char* name) {
  if (const int32_t broken = policy.check(); broken != 0) {
    std::fprintf(stderr, "%s: invariant %d\n", name, broken);
    std::exit(1);
  }
}

/// ns of one victim() + removed() + created(), `turnCount` of them after each batch.
Times evictions(exrp::EvictionPolicy& rule, exrp::Random& random, uint32_t episodeCount, uint32_t turnCount) {
  std::vector<double> times;
  for (uint32_t repeat = 0; repeat < repeatCount; ++repeat) {
    const std::vector<uint32_t> batch = draw(random, episodeCount, batchCount, false);
    rule.sampled(batch.data(), batchCount);
    const double begin = nowNs();
    for (uint32_t turn = 0; turn < turnCount; ++turn) {
      const uint32_t episode = rule.victim();
      rule.removed(episode);
      rule.created(episode);
    }
    times.push_back((nowNs() - begin) / turnCount);
  }
  return summary(times);
}

/// ns of victim() when every episode was sampled once since the last one, in any order.
template <typename Policy>
Times worst(uint32_t episodeCount) {
  Policy policy(episodeCount);
  exrp::EvictionPolicy& rule = policy;
  exrp::Random random(8, episodeCount);
  std::vector<uint32_t> batch(episodeCount);
  for (uint32_t episode = 0; episode < episodeCount; ++episode) rule.created(batch[episode] = episode);
  std::vector<double> times;
  for (uint32_t repeat = 0; repeat < 20; ++repeat) {
    for (uint32_t item = episodeCount; item > 1; --item) std::swap(batch[item - 1], batch[random.below(item)]);
    rule.sampled(batch.data(), episodeCount);
    const double begin = nowNs();
    if (rule.victim() >= episodeCount) std::exit(1);
    times.push_back(nowNs() - begin);
  }
  return summary(times);
}

template <typename Policy>
void measure(const char* name, uint32_t episodeCount) {
  Policy policy(episodeCount);
  if (!policy.valid()) std::exit(1);
  exrp::Random random(7, episodeCount);
  exrp::EvictionPolicy& rule = policy;
  for (uint32_t episode = 0; episode < episodeCount; ++episode) rule.created(episode);

  Times picks[2];
  for (int skewed = 0; skewed < 2; ++skewed) {
    std::vector<double> times;
    for (uint32_t repeat = 0; repeat < repeatCount; ++repeat) {
      const std::vector<uint32_t> batch = draw(random, episodeCount, batchCount, skewed != 0);
      const double begin = nowNs();
      rule.sampled(batch.data(), batchCount);
      times.push_back((nowNs() - begin) / batchCount);
    }
    picks[skewed] = summary(times);
    mustHold(rule, name);
  }

  const Times turns = evictions(rule, random, episodeCount, 100);
  const Times alone = evictions(rule, random, episodeCount, 1);
  const Times equal = worst<Policy>(episodeCount);
  mustHold(rule, name);
  std::printf("%-12s %8u | %6.2f %6.2f | %6.2f %6.2f | %7.1f | %7.1f %7.1f | %8.1f %8.1f | %8.1f %8.1f | %5.1f\n", name, episodeCount,
              picks[0].least, picks[0].median, picks[1].least, picks[1].median, picks[0].median * batchCount / 1000, turns.least,
              turns.median, alone.least, alone.median, equal.least, equal.median, rule.memoryBytes() / episodeCount);
}

}  // namespace

int main() {
  std::printf("%-12s %8s | %13s | %13s | %7s | %15s | %17s | %17s | %5s\n", "", "", "ns/pick even", "ns/pick skewed", "5000, us",
              "100 turns, ns", "1 turn, ns", "worst victim, ns", "bytes");
  for (const uint32_t episodeCount : {1000u, 5000u, 100000u, 1000000u}) {
    measure<exrp::Fifo>("fifo", episodeCount);
    measure<exrp::SecondChance>("secondChance", episodeCount);
    measure<exrp::Lru>("lru", episodeCount);
    measure<exrp::Lfu>("lfu", episodeCount);
  }
  return 0;
}
