// The list of native rules: one line for each selector and each eviction policy, and the include of its file.
//
// To add a rule, write its .hpp and its .ts, its two tests, a number in exrp.h, and its include and its line here. No other file of the
// kernel names it.
#include "kernel/rules/native_rules.hpp"

#include <new>
#include <utility>

#include "eviction/after_draws.hpp"
#include "eviction/fifo.hpp"
#include "eviction/lfu.hpp"
#include "eviction/lowest_priority_first.hpp"
#include "eviction/lru.hpp"
#include "eviction/reservoir.hpp"
#include "eviction/second_chance.hpp"
#include "kernel/base/error.hpp"
#include "selectors/age_end.hpp"
#include "selectors/curious.hpp"
#include "selectors/power.hpp"
#include "selectors/prioritized.hpp"
#include "selectors/priority_end.hpp"
#include "selectors/pser.hpp"
#include "selectors/rank_based.hpp"
#include "selectors/recent.hpp"
#include "selectors/ucb.hpp"
#include "selectors/uniform.hpp"
#include "selectors/without_replacement.hpp"

namespace exrp {
namespace {

/// What a selector is made with; there are as many options as its line says.
struct SelectorMaking {
  const double* options;
  Random random;
  uint32_t countMax;
  Draws draws;
  std::unique_ptr<PickSelector>* made;

  double operator()(uint32_t index) const { return options[index]; }
  bool flag(uint32_t index) const { return options[index] != 0.0; }

  /// Makes a selector, and lets it check its options and take its memory.
  template <typename Selector, typename... Arguments>
  Status make(Arguments&&... arguments) const {
    std::unique_ptr<Selector> selector(new (std::nothrow) Selector(std::forward<Arguments>(arguments)...));
    const Status status = selector == nullptr ? Status::memory : selector->create();
    if (status == Status::memory) return fail(status, 64.0 * countMax);
    if (status == Status::argument) return fail(status, 3);
    if (status == Status::ok) *made = std::move(selector);
    return status;
  }
};

/// What an eviction policy is made with; its option is within the bounds of its line.
struct EvictionMaking {
  uint32_t option;
  Random random;
  uint32_t countMax;
  std::unique_ptr<EvictionPolicy>* made;

  /// Makes a policy and takes its memory.
  template <typename Policy, typename... Arguments>
  Status make(Arguments&&... arguments) const {
    std::unique_ptr<Policy> policy(new (std::nothrow) Policy(countMax, std::forward<Arguments>(arguments)...));
    if (policy == nullptr || !policy->valid()) return fail(Status::memory, 32.0 * countMax);
    *made = std::move(policy);
    return Status::ok;
  }
};

struct SelectorRule {
  uint32_t kind;
  uint32_t optionCount;
  Status (*make)(const SelectorMaking& with);
};

struct EvictionRule {
  uint32_t kind;
  uint32_t optionMin;
  uint32_t optionMax;
  Status (*make)(const EvictionMaking& with);
};

using S = const SelectorMaking&;
using E = const EvictionMaking&;

// One line a rule, however long it gets: s(k) is option k.
constexpr SelectorRule selectorRules[] = {
  {EXRP_SELECTOR_UNIFORM, 0, [](S s) { return s.make<UniformSelector>(s.random); }},
  {EXRP_SELECTOR_PRIORITIZED, 5, [](S s) { return s.make<PrioritizedSelector>(ProportionalOptions{s(0), s(1), s(2), s.flag(3), s.flag(4)}, s.random, s.countMax); }},
  {EXRP_SELECTOR_UCB, 3, [](S s) { return s.make<UcbSelector>(UcbOptions{s(0), s.flag(1), s(2)}, s.random, s.countMax); }},
  {EXRP_SELECTOR_AGE_END, 2, [](S s) { return s.make<AgeEndSelector>(s.flag(0), s.flag(1), s.countMax); }},
  {EXRP_SELECTOR_PRIORITY_END, 2, [](S s) { return s.make<PriorityEndSelector>(s.flag(0), s(1), s.countMax); }},
  {EXRP_SELECTOR_RECENT, 4, [](S s) { return s.make<RecentSelector>(RecentOptions{s(0), s(1), s(2), s(3)}, s.random, s.countMax); }},
  {EXRP_SELECTOR_WITHOUT_REPLACEMENT, 0, [](S s) { return s.draws == Draws::inStreams ? s.make<EpochSelector>(s.random, s.countMax) : s.make<WithoutReplacementSelector>(s.random, s.countMax); }},
  {EXRP_SELECTOR_RANK_BASED, 4, [](S s) { return s.make<RankBasedSelector>(RankBasedOptions{s(0), s(1), s.flag(2), s.flag(3)}, s.random, s.countMax); }},
  {EXRP_SELECTOR_PSER, 8, [](S s) { return s.make<PserSelector>(PserOptions{{s(0), s(1), s(2), s.flag(3), s.flag(4)}, s(5), s(6), s(7)}, s.random, s.countMax); }},
  {EXRP_SELECTOR_CURIOUS, 7, [](S s) { return s.make<CuriousSelector>(CuriousOptions{s(0), s(1), s(2), s(3), s(4), s.flag(5), s.flag(6)}, s.random, s.countMax); }},
  {EXRP_SELECTOR_POWER, 2, [](S s) { return s.make<PowerSelector>(s(0), s(1), s.random, s.countMax); }},
};

// Each with the smallest and the largest option.
constexpr EvictionRule evictionRules[] = {
  {EXRP_EVICTION_EXTERNAL, 0, 0, [](E) { return Status::ok; }},
  {EXRP_EVICTION_FIFO, 0, 0, [](E e) { return e.make<Fifo>(); }},
  {EXRP_EVICTION_SECOND_CHANCE, 0, 0, [](E e) { return e.make<SecondChance>(); }},
  {EXRP_EVICTION_LRU, 0, 0, [](E e) { return e.make<Lru>(); }},
  {EXRP_EVICTION_LFU, 0, 0, [](E e) { return e.make<Lfu>(); }},
  {EXRP_EVICTION_LOWEST_PRIORITY_FIRST, 0, 0, [](E e) { return e.make<LowestPriorityFirst>(); }},
  {EXRP_EVICTION_AFTER_DRAWS, 1, AfterDraws::countLargest, [](E e) { return e.make<AfterDraws>(e.option); }},
  {EXRP_EVICTION_RESERVOIR, 0, 0, [](E e) { return e.make<Reservoir>(e.random); }},
};

}  // namespace

Status createPickSelector(uint32_t kind, const double* options, uint32_t optionCount, Random random, uint32_t countMax, Draws draws,
                          std::unique_ptr<PickSelector>* made) {
  for (const SelectorRule& rule : selectorRules) {
    if (rule.kind != kind) continue;
    if (optionCount != rule.optionCount) return fail(Status::argument, 4, optionCount);
    return rule.make({options, random, countMax, draws, made});
  }
  return fail(Status::argument, 2, kind);
}

Status createEvictionPolicy(uint32_t kind, uint32_t option, Random random, uint32_t countMax,
                            std::unique_ptr<EvictionPolicy>* made) {
  for (const EvictionRule& rule : evictionRules) {
    if (rule.kind != kind) continue;
    if (option < rule.optionMin || option > rule.optionMax) return fail(Status::argument, 1, option);
    return rule.make({option, random, countMax, made});
  }
  return fail(Status::argument, 1, kind);
}

}  // namespace exrp
