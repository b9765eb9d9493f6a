// conforms: the whole contract of a native eviction policy, checked against a twin that is slow and obvious.
//
// A twin is made of vectors and has created, sampled(vector), removed and items(), which is what save() must write; where the policy
// listens, ended, prioritized(vector, vector) and header() too. Its victim is the first of items() that has ended, or what its own
// victim(ended) says. A policy that takes more than a count is made by its own make().
// The operations are seeded; a failure prints the seed and the step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/rules/eviction_policy.hpp"
#include "tests/kernel/check.hpp"

namespace exrp::test {

constexpr uint32_t seedCount = 200;
constexpr uint32_t stepCount = 500;

using Items = std::vector<EvictionItem>;

inline bool equal(const Items& a, const Items& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const EvictionItem& x, const EvictionItem& y) {
    return x.episode == y.episode && x.value == y.value;
  });
}

inline Items saved(const EvictionPolicy& policy, size_t count) {
  Items items(count + 1, EvictionItem{0xABCDu, 0xABCDu});
  policy.save(items.data());
  CHECK_EQUAL(items[count].episode, 0xABCDu);  // it writes no more than there are
  items.pop_back();
  return items;
}

inline Status loaded(EvictionPolicy& policy, const Items& items) {
  return policy.load(items.data(), static_cast<uint32_t>(items.size()));
}

inline std::vector<uint8_t> savedHeader(const EvictionPolicy& policy) {
  std::vector<uint8_t> bytes(policy.headerBytes() + 1, 0xAB);
  CHECK_EQUAL(policy.headerBytes() % sizeof(EvictionItem), size_t{0});
  policy.saveHeader(bytes.data());
  CHECK_EQUAL(bytes.back(), 0xAB);
  bytes.pop_back();
  return bytes;
}

template <typename Policy>
std::unique_ptr<Policy> make(uint32_t countMax) {
  return std::make_unique<Policy>(countMax);
}

/// The episodes that have ended, and how many picks they have.
using Ended = std::map<uint32_t, uint32_t>;

/// The episodes a store would hold: members by age, and the indices that are free, in any order.
struct Members {
  explicit Members(uint32_t countMax) {
    for (uint32_t index = 0; index < countMax; ++index) free.push_back(index);
  }
  uint32_t take(Random& random) {
    std::swap(free[random.below(static_cast<uint32_t>(free.size()))], free.back());
    age.push_back(free.back());
    free.pop_back();
    return age.back();
  }
  void give(uint32_t episode) {
    age.erase(std::find(age.begin(), age.end(), episode));
    ended.erase(episode);
    free.push_back(episode);
  }
  uint32_t any(Random& random) const { return age[random.below(static_cast<uint32_t>(age.size()))]; }
  /// Ends an open episode, the youngest sooner; its picks are few, now and then none. False when all have ended.
  bool end(Random& random) {
    for (uint32_t tries = 8; tries > 0 && !age.empty(); --tries) {
      const uint32_t episode = random.below(2) == 0 ? age.back() : any(random);
      if (ended.count(episode) != 0) continue;
      ended[episode] = random.below(4);
      last = episode;
      return true;
    }
    return false;
  }
  /// Up to 30 picks, evenly or mostly of the oldest few.
  std::vector<uint32_t> draw(Random& random) const {
    std::vector<uint32_t> picks(age.empty() ? 0 : random.below(31));
    const bool skewed = random.below(2) == 0;
    for (uint32_t& pick : picks) {
      const double u = random.uniform();
      pick = age[static_cast<size_t>((skewed ? u * u * u : u) * static_cast<double>(age.size()))];
    }
    return picks;
  }
  std::vector<uint32_t> age;
  std::vector<uint32_t> free;
  Ended ended;
  uint32_t last = 0;  // the one that ended last
};

/// The victim by a twin, or none.
template <typename Twin>
uint32_t victimOf(Twin& twin, const Ended& ended) {
  if (ended.empty()) return EvictionPolicy::none;
  if constexpr (requires { twin.victim(ended); }) return twin.victim(ended);
  const Items items = twin.items();
  const auto first = std::find_if(items.begin(), items.end(), [&](const EvictionItem& item) { return ended.count(item.episode) != 0; });
  return first->episode;
}

/// A policy of its own with the same members, as loading finds it.
template <typename Policy>
std::unique_ptr<Policy> fresh(const Members& members, uint32_t countMax) {
  auto policy = make<Policy>(countMax);
  CHECK(policy->valid());
  CHECK(policy->prepare(countMax));
  for (const uint32_t episode : members.age) {
    policy->created(episode);
    if (const auto end = members.ended.find(episode); end != members.ended.end()) policy->ended(episode, end->second);
  }
  return policy;
}

/// Tells a policy of episodes that begin and end at once, with a pick each.
inline void createEnded(EvictionPolicy& policy, const std::vector<uint32_t>& episodes) {
  for (const uint32_t episode : episodes) {
    policy.created(episode);
    policy.ended(episode, 1);
  }
}

template <typename Twin>
void tellEnd(Twin& twin, uint32_t episode, uint32_t pickCount) {
  if constexpr (requires { twin.ended(episode, pickCount); }) twin.ended(episode, pickCount);
}

/// Priorities, equal ones among them, zeros, and now and then some that no float can hold.
inline std::vector<double> somePriorities(size_t count, Random& random) {
  std::vector<double> priorities(count);
  for (double& priority : priorities) {
    const double choices[] = {0, 1, 2, 1e-300, 1e300, 1.7e308, 3 * random.uniform()};
    priority = choices[random.below(random.below(8) == 0 ? 7 : 3)];
  }
  return priorities;
}

template <typename Policy, typename Twin>
class Trial {
 public:
  explicit Trial(uint64_t seed)
      : random_(seed, 0), countMax_(1 + random_.below(seed % 4 == 0 ? 120 : 24)), members_(countMax_),
        kept_(fresh<Policy>(members_, countMax_)), reloaded_(fresh<Policy>(members_, countMax_)) {}

  void step() {
    const uint32_t choice = random_.below(14);
    if (choice < 3) create();
    else if (choice < 6) sample();
    else if (choice < 7) remove();
    else if (choice < 9) evict();
    else if (choice < 10) reload();
    else if (choice < 12) end();
    else prioritize();
    same();
  }

  /// Evicts to the end: the victims of a policy that was loaded are those of the one that was not.
  void drain() {
    while (!members_.age.empty()) forget(victimOrAny());
    same();
  }

 private:
  void create() {
    if (members_.free.empty()) forget(victimOrAny());
    const uint32_t episode = members_.take(random_);
    kept_->created(episode);
    reloaded_->created(episode);
    twin_.created(episode);
  }
  void sample() {
    const std::vector<uint32_t> picks = members_.draw(random_);
    kept_->sampled(picks.data(), static_cast<uint32_t>(picks.size()));
    reloaded_->sampled(picks.data(), static_cast<uint32_t>(picks.size()));
    twin_.sampled(picks);
  }
  void end() {
    if (!members_.end(random_)) return;
    const uint32_t episode = members_.last;
    const uint32_t pickCount = members_.ended[episode];
    kept_->ended(episode, pickCount);
    reloaded_->ended(episode, pickCount);
    tellEnd(twin_, episode, pickCount);
  }
  void prioritize() {
    if (!kept_->wantsPriorities()) return sample();
    if constexpr (requires { twin_.prioritized(std::vector<uint32_t>(), std::vector<double>()); }) {
      const std::vector<uint32_t> picks = members_.draw(random_);
      const std::vector<double> priorities = somePriorities(picks.size(), random_);
      kept_->prioritized(picks.data(), priorities.data(), static_cast<uint32_t>(picks.size()));
      reloaded_->prioritized(picks.data(), priorities.data(), static_cast<uint32_t>(picks.size()));
      twin_.prioritized(picks, priorities);
    }
  }
  void remove() {
    if (members_.age.empty()) return;
    forget(members_.any(random_));
  }
  void evict() {
    const uint32_t episode = victim();
    CHECK_EQUAL(episode == EvictionPolicy::none, members_.ended.empty());
    CHECK_EQUAL(victim(), episode);  // asking twice changes nothing
    if (episode != EvictionPolicy::none && random_.below(3) != 0) forget(episode);
  }
  void reload() {
    const Items items = saved(*reloaded_, members_.age.size());
    const std::vector<uint8_t> header = savedHeader(*reloaded_);
    reloaded_ = fresh<Policy>(members_, countMax_);
    CHECK_EQUAL(reloaded_->loadHeader(header.data()), Status::ok);
    CHECK_EQUAL(loaded(*reloaded_, items), Status::ok);
  }
  uint32_t victim() {
    const uint32_t episode = victimOf(twin_, members_.ended);
    CHECK_EQUAL(kept_->victim(), episode);
    CHECK_EQUAL(reloaded_->victim(), episode);
    return episode;
  }
  uint32_t victimOrAny() {
    const uint32_t episode = victim();
    return episode != EvictionPolicy::none ? episode : members_.any(random_);
  }
  void forget(uint32_t episode) {
    members_.give(episode);
    kept_->removed(episode);
    reloaded_->removed(episode);
    twin_.removed(episode);
  }
  void same() {
    CHECK_EQUAL(kept_->check(), 0);
    CHECK_EQUAL(reloaded_->check(), 0);
    const Items items = twin_.items();
    CHECK(equal(saved(*kept_, members_.age.size()), items));
    CHECK(equal(saved(*reloaded_, members_.age.size()), items));
    CHECK(savedHeader(*kept_) == savedHeader(*reloaded_));
    if constexpr (requires { twin_.header(); }) CHECK(savedHeader(*kept_) == twin_.header());
  }

  Random random_;
  uint32_t countMax_;
  Members members_;
  Twin twin_;
  std::unique_ptr<Policy> kept_;      // never saved and loaded
  std::unique_ptr<Policy> reloaded_;  // replaced by what it saved, now and then
};

/// Random creations, picks, removals of any episode, evictions and reloads: all that can be seen is as in the twin, after each step.
template <typename Policy, typename Twin>
void behavesLikeItsTwin() {
  for (uint64_t seed = 1; seed <= seedCount; ++seed) {
    Trial<Policy, Twin> trial(seed);
    for (uint32_t step = 0; step < stepCount; ++step) {
      const int before = failureCount;
      trial.step();
      if (failureCount != before) {
        std::printf("seed %llu, step %u\n", static_cast<unsigned long long>(seed), step);
        return;
      }
    }
    trial.drain();
  }
}

/// One random lie in what was saved. The caller of load() has checked that each episode is named once, so a lie is another order or value.
inline void corrupt(Items& items, Random& random) {
  const auto count = static_cast<uint32_t>(items.size());
  EvictionItem& item = items[random.below(count)];
  EvictionItem& other = items[random.below(count)];
  const auto any = static_cast<uint32_t>(random.next());
  const uint32_t wild[] = {0, 1, 2, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFEu, 0xFFFFFFFFu, any};
  if (random.below(3) == 0) std::swap(item, other);
  else item.value = wild[random.below(8)];
}

/// Loading whatever it is given answers ok and has taken it, or dataCorrupt and has changed nothing; it never crashes.
template <typename Policy, typename Twin>
void refusesWhatCannotBe() {
  uint32_t refused = 0;
  for (uint64_t seed = 1; seed <= seedCount * 10; ++seed) {
    const int before = failureCount;
    Random random(seed, 1);
    const uint32_t countMax = 2 + random.below(20);
    Members members(countMax);
    Twin twin;
    for (uint32_t episode = 1 + random.below(countMax - 1); episode > 0; --episode) twin.created(members.take(random));
    for (uint32_t ends = random.below(countMax); ends > 0 && members.end(random); --ends) {
      tellEnd(twin, members.last, members.ended[members.last]);
    }
    twin.sampled(members.draw(random));
    if constexpr (requires { twin.prioritized(std::vector<uint32_t>(), std::vector<double>()); }) {
      const std::vector<uint32_t> picks = members.draw(random);
      twin.prioritized(picks, somePriorities(picks.size(), random));
    }
    (void)victimOf(twin, members.ended);
    Items items = twin.items();
    for (uint32_t lie = 1 + random.below(3); lie > 0 && !items.empty(); --lie) corrupt(items, random);

    const auto policy = fresh<Policy>(members, countMax);
    if constexpr (requires { twin.header(); }) CHECK_EQUAL(policy->loadHeader(twin.header().data()), Status::ok);
    policy->sampled(members.age.data(), 1);
    const Items was = saved(*policy, members.age.size());
    const Status status = loaded(*policy, items);
    CHECK(status == Status::ok || status == Status::dataCorrupt);
    CHECK_EQUAL(policy->check(), 0);
    CHECK(equal(saved(*policy, members.age.size()), status == Status::ok ? items : was));
    if (status != Status::ok) ++refused;
    while (!members.age.empty()) {
      uint32_t victim = policy->victim();
      CHECK(members.ended.empty() ? victim == EvictionPolicy::none : members.ended.count(victim) != 0);
      if (failureCount != before) break;
      if (victim == EvictionPolicy::none) victim = members.age.front();
      members.give(victim);
      policy->removed(victim);
    }
    if (failureCount != before) {
      std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
      return;
    }
  }
  CHECK(refused > seedCount);  // the lies are lies
}

/// Memory counts what was used, in whole pages, not what was reserved. A reservation that fails gives a status, and no crash.
template <typename Policy>
void countsItsMemory() {
  // With so few episodes, no array is large enough for huge pages.
  const std::unique_ptr<Policy> made = make<Policy>(1u << 15);
  Policy& policy = *made;
  CHECK(policy.valid());
  constexpr uint32_t episodeCount = 20000;
  CHECK(policy.prepare(episodeCount));
  constexpr double pagesBytes = 4 * 4096;  // a page of each array, used only in part
  const double empty = policy.memoryBytes();
  CHECK(empty < 256 + pagesBytes);
  for (uint32_t episode = 0; episode < episodeCount; ++episode) policy.created(episode);
  const double full = policy.memoryBytes();
  CHECK(full - empty >= 8.0 * episodeCount - pagesBytes && full - empty <= 36.0 * episodeCount + pagesBytes);
  for (uint32_t episode = 0; episode < episodeCount; ++episode) policy.removed(episode);
  CHECK_EQUAL(policy.memoryBytes(), full);
  CHECK_EQUAL(policy.victim(), EvictionPolicy::none);
  CHECK_EQUAL(policy.check(), 0);
  CHECK_EQUAL(policy.load(nullptr, 0), Status::ok);
  CHECK(!make<Policy>(0xFFFFFFFFu)->valid());
}

template <typename Policy, typename Twin>
void conforms() {
  behavesLikeItsTwin<Policy, Twin>();
  refusesWhatCannotBe<Policy, Twin>();
  countsItsMemory<Policy>();
}

}  // namespace exrp::test
