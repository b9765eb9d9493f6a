// What the native eviction policies cost. This is a probe and not a test.
//
//   g++ -std=c++20 -O3 -fno-exceptions -fno-rtti -I. -o eviction bench/probe/eviction.cpp kernel/base/memory.cpp && ./eviction
//
// For E episodes, it prints the minimum and the median of:
//   - sampled(5000): ns a pick, and us the call. The draws are even or skewed (the fourth power of a uniform number).
//   - a turn: ns of victim() + removed() + created() + ended(), for a hundred turns after a batch of 5000, and for one turn after it.
//   - the worst victim(): the one after a batch that has every episode once.
//   - bytes an episode.
// The batch before a turn is not timed. check() must say 0 before and after.
//
// A policy by priorities ignores draws. For it, prioritized() with as many priorities takes the place of sampled(). Every episode has
// ended, with 200 picks. At the larger E, afterDraws(1) spends few episodes. "afterDraws(1), 2 picks" has episodes of two picks instead,
// so that every batch spends many.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "bench/probe/_times.hpp"
#include "eviction/after_draws.hpp"
#include "eviction/fifo.hpp"
#include "eviction/lfu.hpp"
#include "eviction/lowest_priority_first.hpp"
#include "eviction/lru.hpp"
#include "eviction/reservoir.hpp"
#include "eviction/second_chance.hpp"
#include "kernel/base/random.hpp"

namespace {

using probe::nowNs, probe::summary, probe::Times;

constexpr uint32_t batchCount = 5000;
constexpr uint32_t repeatCount = 400;

std::vector<uint32_t> draw(exrp::Random& random, uint32_t episodeCount, uint32_t count, bool skewed) {
  std::vector<uint32_t> episodes(count);
  for (uint32_t& episode : episodes) {
    const double u = random.uniform();
    episode = static_cast<uint32_t>((skewed ? u * u * u * u : u) * episodeCount);
  }
  return episodes;
}

void mustHold(const exrp::EvictionPolicy& policy, const char* name) {
  if (const int32_t broken = policy.check(); broken != 0) {
    std::fprintf(stderr, "%s: invariant %d\n", name, broken);
    std::exit(1);
  }
}

/// What is drawn, or for a policy that goes by them the priorities of what is drawn.
struct Batch {
  std::vector<uint32_t> episodes;
  std::vector<double> priorities;
};

Batch batchOf(exrp::Random& random, std::vector<uint32_t> episodes) {
  std::vector<double> priorities(episodes.size());
  for (double& priority : priorities) priority = random.uniform();
  return Batch{std::move(episodes), std::move(priorities)};
}

void tell(exrp::EvictionPolicy& rule, const Batch& batch) {
  const auto count = static_cast<uint32_t>(batch.episodes.size());
  if (rule.wantsPriorities()) rule.prioritized(batch.episodes.data(), batch.priorities.data(), count);
  else rule.sampled(batch.episodes.data(), count);
}

void begin(exrp::EvictionPolicy& rule, uint32_t episode, uint32_t pickCount) {
  rule.created(episode);
  rule.ended(episode, pickCount);
}

/// ns of one victim() + removed() + created() + ended(), `turnCount` of them after each batch.
Times evictions(exrp::EvictionPolicy& rule, exrp::Random& random, uint32_t episodeCount, uint32_t pickCount, uint32_t turnCount) {
  std::vector<double> times;
  for (uint32_t repeat = 0; repeat < repeatCount; ++repeat) {
    tell(rule, batchOf(random, draw(random, episodeCount, batchCount, false)));
    const double start = nowNs();
    for (uint32_t turn = 0; turn < turnCount; ++turn) {
      const uint32_t episode = rule.victim();
      rule.removed(episode);
      begin(rule, episode, pickCount);
    }
    times.push_back((nowNs() - start) / turnCount);
  }
  return summary(times);
}

/// ns of victim() when every episode was sampled once since the last one, in any order; `options` come after the count.
template <typename Policy, typename... Options>
Times worst(uint32_t episodeCount, uint32_t pickCount, Options... options) {
  Policy policy(episodeCount, options...);
  if (!policy.valid() || !policy.prepare(episodeCount)) std::exit(1);
  exrp::EvictionPolicy& rule = policy;
  exrp::Random random(8, episodeCount);
  std::vector<uint32_t> episodes(episodeCount);
  for (uint32_t episode = 0; episode < episodeCount; ++episode) begin(rule, episodes[episode] = episode, pickCount);
  std::vector<double> times;
  for (uint32_t repeat = 0; repeat < 20; ++repeat) {
    for (uint32_t item = episodeCount; item > 1; --item) std::swap(episodes[item - 1], episodes[random.below(item)]);
    tell(rule, batchOf(random, episodes));
    const double start = nowNs();
    if (rule.victim() >= episodeCount) std::exit(1);
    times.push_back(nowNs() - start);
  }
  return summary(times);
}

template <typename Policy, typename... Options>
void measure(const char* name, uint32_t episodeCount, uint32_t pickCount, Options... options) {
  Policy policy(episodeCount, options...);
  if (!policy.valid() || !policy.prepare(episodeCount)) std::exit(1);
  exrp::Random random(7, episodeCount);
  exrp::EvictionPolicy& rule = policy;
  for (uint32_t episode = 0; episode < episodeCount; ++episode) begin(rule, episode, pickCount);

  Times picks[2];
  for (int skewed = 0; skewed < 2; ++skewed) {
    std::vector<double> times;
    for (uint32_t repeat = 0; repeat < repeatCount; ++repeat) {
      const Batch batch = batchOf(random, draw(random, episodeCount, batchCount, skewed != 0));
      const double start = nowNs();
      tell(rule, batch);
      times.push_back((nowNs() - start) / batchCount);
    }
    picks[skewed] = summary(times);
    mustHold(rule, name);
  }

  const Times turns = evictions(rule, random, episodeCount, pickCount, 100);
  const Times alone = evictions(rule, random, episodeCount, pickCount, 1);
  const Times equal = worst<Policy>(episodeCount, pickCount, options...);
  mustHold(rule, name);
  std::printf("%-22s %8u | %6.2f %6.2f | %6.2f %6.2f | %7.1f | %7.1f %7.1f | %8.1f %8.1f | %8.1f %8.1f | %5.1f\n", name,
              episodeCount, picks[0].least, picks[0].median, picks[1].least, picks[1].median, picks[0].median * batchCount / 1000,
              turns.least, turns.median, alone.least, alone.median, equal.least, equal.median, rule.memoryBytes() / episodeCount);
}

}  // namespace

int main() {
  std::printf("%-22s %8s | %13s | %13s | %7s | %15s | %17s | %17s | %5s\n", "", "", "ns/pick even", "ns/pick skewed", "5000, us",
              "100 turns, ns", "1 turn, ns", "worst victim, ns", "bytes");
  for (const uint32_t episodeCount : {1000u, 5000u, 100000u, 1000000u}) {
    measure<exrp::Fifo>("fifo", episodeCount, 200);
    measure<exrp::SecondChance>("secondChance", episodeCount, 200);
    measure<exrp::Lru>("lru", episodeCount, 200);
    measure<exrp::Lfu>("lfu", episodeCount, 200);
    measure<exrp::LowestPriorityFirst>("lowestPriorityFirst", episodeCount, 200);
    measure<exrp::AfterDraws>("afterDraws(1)", episodeCount, 200, 1u);
    measure<exrp::AfterDraws>("afterDraws(1), 2 picks", episodeCount, 2, 1u);
    measure<exrp::Reservoir>("reservoir", episodeCount, 200, exrp::Random(9, episodeCount));
  }
  return 0;
}
