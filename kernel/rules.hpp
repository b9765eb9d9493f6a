// The registry of native rules: one line for each selector and each eviction policy.
//
// Adding one takes its .hpp beside its .ts, its test, a number in exrp.h, and its line here.
#pragma once

#include <memory>
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
#include "selectors/prioritized.hpp"
#include "selectors/priority_end.hpp"
#include "selectors/pser.hpp"
#include "selectors/rank_based.hpp"
#include "selectors/recent.hpp"
#include "selectors/ucb.hpp"
#include "selectors/uniform.hpp"
#include "selectors/without_replacement.hpp"

namespace exrp {

/// A selector of `kind` for up to `countMax` picks; its options are numbers, as exrp.h lists them for each kind.
inline Status createPickSelector(uint32_t kind, const double* options, uint32_t optionCount, Random random, uint32_t countMax,
                                 std::unique_ptr<PickSelector>* made) {
  const auto finish = [&](uint32_t optionCountNeeded, auto* selector) {
    std::unique_ptr<PickSelector> owned(selector);
    if (optionCount != optionCountNeeded) return fail(Status::argument, 4, optionCount);
    if (selector == nullptr) return fail(Status::memory, 64.0 * countMax);
    const Status status = selector->create();
    if (status == Status::ok) *made = std::move(owned);
    return status == Status::memory ? fail(status, 64.0 * countMax) : status == Status::argument ? fail(status, 3) : status;
  };
  const auto option = [&](uint32_t index) { return index < optionCount ? options[index] : 0.0; };
  const auto flag = [&](uint32_t index) { return option(index) != 0.0; };
  switch (kind) {
    case EXRP_SELECTOR_UNIFORM: return finish(0, new (std::nothrow) UniformSelector(random));
    case EXRP_SELECTOR_PRIORITIZED:
      return finish(5, new (std::nothrow) PrioritizedSelector({option(0), option(1), option(2), flag(3), flag(4)}, random, countMax));
    case EXRP_SELECTOR_UCB: return finish(3, new (std::nothrow) UcbSelector({option(0), flag(1), option(2)}, random, countMax));
    case EXRP_SELECTOR_AGE_END: return finish(2, new (std::nothrow) AgeEndSelector(flag(0), flag(1), countMax));
    case EXRP_SELECTOR_PRIORITY_END: return finish(2, new (std::nothrow) PriorityEndSelector(flag(0), option(1), countMax));
    case EXRP_SELECTOR_RECENT:
      return finish(4, new (std::nothrow) RecentSelector({option(0), option(1), option(2), option(3)}, random, countMax));
    case EXRP_SELECTOR_WITHOUT_REPLACEMENT: return finish(0, new (std::nothrow) WithoutReplacementSelector(random, countMax));
    case EXRP_SELECTOR_RANK_BASED:
      return finish(4, new (std::nothrow) RankBasedSelector({option(0), option(1), flag(2), flag(3)}, random, countMax));
    case EXRP_SELECTOR_PSER:
      return finish(8, new (std::nothrow) PserSelector({{option(0), option(1), option(2), flag(3), flag(4)}, option(5), option(6), option(7)},
                                                       random, countMax));
    case EXRP_SELECTOR_CURIOUS:
      return finish(7, new (std::nothrow) CuriousSelector(
                           {option(0), option(1), option(2), option(3), option(4), flag(5), flag(6)}, random, countMax));
    default: return fail(Status::argument, 2, kind);
  }
}

/// An eviction policy of `kind` for up to `countMax` episodes, with its option; none for EXRP_EVICTION_EXTERNAL.
inline Status createEvictionPolicy(uint32_t kind, uint32_t option, Random random, uint32_t countMax,
                                   std::unique_ptr<EvictionPolicy>* made) {
  const auto finish = [&](auto* policy) {
    std::unique_ptr<EvictionPolicy> owned(policy);
    if (policy == nullptr || !policy->valid()) return fail(Status::memory, 32.0 * countMax);
    *made = std::move(owned);
    return Status::ok;
  };
  switch (kind) {
    case EXRP_EVICTION_EXTERNAL: return Status::ok;
    case EXRP_EVICTION_FIFO: return finish(new (std::nothrow) Fifo(countMax));
    case EXRP_EVICTION_SECOND_CHANCE: return finish(new (std::nothrow) SecondChance(countMax));
    case EXRP_EVICTION_LRU: return finish(new (std::nothrow) Lru(countMax));
    case EXRP_EVICTION_LFU: return finish(new (std::nothrow) Lfu(countMax));
    case EXRP_EVICTION_LOWEST_PRIORITY_FIRST: return finish(new (std::nothrow) LowestPriorityFirst(countMax));
    case EXRP_EVICTION_AFTER_DRAWS: return finish(new (std::nothrow) AfterDraws(countMax, option));
    case EXRP_EVICTION_RESERVOIR: return finish(new (std::nothrow) Reservoir(countMax, random));
    default: return fail(Status::argument, 1, kind);
  }
}

}  // namespace exrp
