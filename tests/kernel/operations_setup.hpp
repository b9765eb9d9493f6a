// Makes the replays of the generated operations, with any configuration, pick views, columns and selectors. Everything random comes from
// the generator that is given.
//
// A Failure reports an error, with the line of its EXRP_REQUIRE. Nothing here prints.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "kernel/exrp.h"
#include "kernel/base/random.hpp"
#include "tests/kernel/operations_recording.hpp"
#include "tests/kernel/test_replay.hpp"

namespace exrp::test {

/// Makes the smallest replay, with this eviction policy.
inline int32_t makeSmallest(double eviction, double option, uint32_t* replay) {
  TestSetup setup;
  setup.capacity = 1;
  setup.eviction = eviction;
  setup.evictionOption = option;
  return setup.tryCreate(replay);
}

/// The rules that need no line here: the kernel is asked which it has. Their numbers have no gaps.
struct KernelRules {
  std::vector<bool> evictionTakesOption;  // by number, from 0
  std::vector<uint32_t> plainSelectors;   // those that take no numbers and any size of batch

  KernelRules() {
    uint32_t replay = 0;
    for (uint32_t kind = 0;; ++kind) {
      const bool plain = makeSmallest(kind, 0, &replay) == 0;
      if (!plain && makeSmallest(kind, 1, &replay) != 0) break;
      evictionTakesOption.push_back(!plain);
      exrp_replay_destroy(replay);
    }
    if (makeSmallest(EXRP_EVICTION_FIFO, 0, &replay) != 0) return;
    for (uint32_t kind = 1;; ++kind) {
      const double none = 0;
      uint32_t selector = 0;
      const int32_t status = exrp_selector_create(replay, 0, kind, &none, 0, &selector);
      double detail[4] = {};
      exrp_error_detail(detail, 4);
      if (status != 0 && detail[0] == 2) break;  // no such kind; otherwise it takes numbers
      if (status == 0 && kind != EXRP_SELECTOR_WITHOUT_REPLACEMENT) plainSelectors.push_back(kind);
    }
    exrp_replay_destroy(replay);
  }
  static const KernelRules& all() {
    static const KernelRules rules;
    return rules;
  }
  uint32_t evictionCount() const { return static_cast<uint32_t>(evictionTakesOption.size()); }
};

/// How a replay is made, so that another like it can be.
struct Setup {
  std::array<double, EXRP_CONFIG_COUNT> config = {};
  std::vector<Policy> policies;  // of each pick view; the first is plain
  std::vector<uint32_t> columns;
  std::vector<SelectorSetup> selectors;

  static Setup random(Random& random) {
    Setup setup;
    const uint32_t length = 1 + random.below(9);
    const uint32_t capacity = length + random.below(random.below(4) == 0 ? 400 : 60);
    const auto flags = random.below(4);
    setup.config[EXRP_CONFIG_CAPACITY] = capacity;
    if (random.below(2) == 0) setup.config[EXRP_CONFIG_SEGMENT_LENGTH] = length + random.below(capacity - length + 1);
    setup.config[EXRP_CONFIG_SEED] = random.below(1u << 30);
    Policy policy(EXRP_POLICY_COUNT);
    policy[EXRP_POLICY_LENGTH] = length;
    policy[EXRP_POLICY_STRIDE] = policy[EXRP_POLICY_STACK] = 1;
    policy[EXRP_POLICY_FLAGS] = flags;
    policy[EXRP_POLICY_DISCOUNT] = random.below(3) == 0 ? 1.0 : random.uniform();
    setup.policies.push_back(policy);
    for (uint32_t tables = random.below(3); tables > 0; --tables) setup.policies.push_back(randomPolicy(random, length));
    const uint32_t eviction = random.below(KernelRules::all().evictionCount());
    setup.config[EXRP_CONFIG_EVICTION] = eviction;
    if (KernelRules::all().evictionTakesOption[eviction]) setup.config[EXRP_CONFIG_EVICTION_OPTION] = 1 + random.below(5);
    setup.config[EXRP_CONFIG_BLOCK_LENGTH] = 2u << random.below(5);
    const uint32_t leafCount = random.below(2) == 0 ? 1 : 2 + random.below(2);
    setup.config[EXRP_CONFIG_STATE_COLUMNS] = leafCount;
    const uint32_t stateCounts[] = {1, 1, 3, 4, 17, 200};
    for (uint32_t leaf = 0; leaf < leafCount; ++leaf) {
      const uint32_t itemBytes = leaf == 0 ? 4 : 1u << random.below(4);
      setup.columns.insert(setup.columns.end(), {itemBytes, stateCounts[random.below(6)], 1});
    }
    setup.columns.insert(setup.columns.end(), {4, 1, 1, 4, 1, 1});
    for (uint32_t table = 1; leafCount > 1 && table < setup.policies.size(); ++table) {
      if (random.below(3) > 0) giveLeaves(random, leafCount, &setup.policies[table]);
    }
    for (uint32_t extra = random.below(3); extra > 0; --extra) {
      setup.columns.push_back(1u << random.below(4));
      setup.columns.push_back(1 + random.below(5));
      setup.columns.push_back(random.below(3) == 0 ? 2 + random.below(40) : 1);
    }
    for (uint32_t count = 1 + random.below(3); count > 0; --count) setup.selectors.push_back(randomSelector(random));
    for (uint32_t table = 1; table < setup.policies.size(); ++table) {
      setup.selectors.push_back(randomSelector(random));
      setup.selectors.back().table = table;
    }
    setup.limit(random);
    setup.config[EXRP_CONFIG_COMPRESSION] = random.below(3);
    return setup;
  }

  /// Now and then a limit of bytes, which final states use up too, and one of age.
  void limit(Random& random) {
    const auto capacity = static_cast<uint32_t>(config[EXRP_CONFIG_CAPACITY]);
    if (random.below(3) == 0) {
      const double room = stateBytes() * random.below(capacity);
      config[EXRP_CONFIG_CAPACITY_BYTES] = episodeBytes(0, capacity) + stateBytes() + (random.below(2) == 0 ? 0 : room);
    }
    if (random.below(3) > 0) return;
    const double segment = config[EXRP_CONFIG_SEGMENT_LENGTH];
    const double smallest = segment > length() ? segment : length();
    config[EXRP_CONFIG_AGE_MAX] = smallest + random.below(2 * capacity);
  }

  /// Gives a policy some of the tags -2 to 3.
  static void takeTags(Random& random, Policy* policy) {
    uint32_t count = 0;
    for (int tag = -2; tag < 4; ++tag) {
      if (random.below(2) == 0) (*policy)[EXRP_POLICY_TAG + count++] = tag;
    }
    (*policy)[EXRP_POLICY_TAG_COUNT] = count;
  }
  /// Gives each leaf numbers of its own, which go with the policy's.
  static void giveLeaves(Random& random, uint32_t leafCount, Policy* policy) {
    const bool isReversed = (static_cast<uint32_t>((*policy)[EXRP_POLICY_FLAGS]) & EXRP_PICK_REVERSED) != 0;
    for (uint32_t leaf = 0; leaf < leafCount; ++leaf) {
      const uint32_t kinds[] = {EXRP_NEXT_STATE_COPY, EXRP_NEXT_STATE_NONE, EXRP_NEXT_STATE_OVERLAP};
      const uint32_t nextState = kinds[random.below(isReversed ? 2 : 3)];
      uint32_t flags = random.below(EXRP_LEAF_FLAGS_ALL + 1);
      if (isReversed || nextState == EXRP_NEXT_STATE_COPY) flags &= ~uint32_t{EXRP_LEAF_COMPACT};
      policy->insert(policy->end(), {double(1 + random.below(5)), double(nextState), double(flags)});
    }
  }
  /// A policy for a second table, with every part of a batch.
  static Policy randomPolicy(Random& random, uint32_t lengthMax) {
    Policy policy(EXRP_POLICY_COUNT);
    policy[EXRP_POLICY_LENGTH] = 1 + random.below(lengthMax);
    policy[EXRP_POLICY_STRIDE] = 1 + random.below(4);
    policy[EXRP_POLICY_STACK] = 1 + random.below(5);
    policy[EXRP_POLICY_DISCOUNT] = random.uniform();
    policy[EXRP_POLICY_REWARD_TYPE] = EXRP_TYPE_FLOAT32;
    uint32_t flags = random.below(EXRP_PICK_TRANSFORMS);  // all below it
    uint32_t nextState = random.below(3);
    if ((flags & EXRP_PICK_COMPACT) != 0 && nextState == EXRP_NEXT_STATE_COPY) nextState = EXRP_NEXT_STATE_NONE;
    if ((flags & EXRP_PICK_COMPACT) != 0 || nextState == EXRP_NEXT_STATE_OVERLAP) flags &= ~uint32_t{EXRP_PICK_REVERSED};
    if ((flags & EXRP_PICK_REVERSED) != 0) flags &= ~uint32_t{EXRP_PICK_ALLOW_OPEN_END};
    else policy[EXRP_POLICY_BEFORE] = random.below(20);
    policy[EXRP_POLICY_FLAGS] = flags;
    policy[EXRP_POLICY_NEXT_STATE] = nextState;
    for (uint32_t index = random.below(4); index > 0; --index) policy[EXRP_POLICY_N_STEP + index - 1] = 1 + random.below(12);
    if (random.below(2) == 0) takeTags(random, &policy);
    return policy;
  }

  static SelectorSetup randomSelector(Random& random) {
    const double alphas[] = {0, 0.5, 0.6, 1, 2.5};
    const double epsilons[] = {0, 1e-6, 0.1};
    const double cs[] = {0, 0.3, 1, 5};
    switch (random.below(9)) {
      case 0: {
        const std::vector<uint32_t>& plain = KernelRules::all().plainSelectors;
        return {plain[random.below(static_cast<uint32_t>(plain.size()))], {}};
      }
      case 1:
        return {EXRP_SELECTOR_PRIORITIZED,
                {alphas[random.below(5)], epsilons[random.below(3)], 1.0, double(random.below(2)), double(random.below(2))}};
      case 2: return {EXRP_SELECTOR_AGE_END, {double(random.below(2)), double(random.below(2))}};
      case 3: return {EXRP_SELECTOR_PRIORITY_END, {double(random.below(2)), 1.0}};
      case 4:
        return {EXRP_SELECTOR_RECENT, {1.0 + random.below(9), 0.5 * random.below(3), random.below(2) == 0 ? 0.996 : 1.0, 5}};
      case 5: return {EXRP_SELECTOR_RANK_BASED, {alphas[random.below(5)], 1.0, double(random.below(2)), double(random.below(2))}};
      case 6:
        return {EXRP_SELECTOR_PSER,
                {alphas[random.below(5)], epsilons[random.below(3)], 1.0, double(random.below(2)), double(random.below(2)),
                 0.25 * random.below(5), 1.0 + random.below(30), 0.25 * random.below(5)}};
      case 7:
        return {EXRP_SELECTOR_CURIOUS,
                {cs[random.below(4)], 0.25 * random.below(5), alphas[random.below(5)], epsilons[random.below(3)], 5.0,
                 double(random.below(2)), double(random.below(2))}};
      default: return {EXRP_SELECTOR_UCB, {cs[random.below(4)], double(random.below(2)), 1.0}};
    }
  }

  Failure make(uint32_t* replay) const {
    EXRP_REQUIRE(exrp_replay_create(config.data(), EXRP_CONFIG_COUNT, policies[0].data(), static_cast<uint32_t>(policies[0].size()), columns.data(),
                                    columnCount(), replay) == 0);
    uint32_t made = 0;
    for (uint32_t table = 1; table < policies.size(); ++table) {
      const auto policyCount = static_cast<uint32_t>(policies[table].size());
      EXRP_REQUIRE(exrp_pick_view_create(*replay, policies[table].data(), policyCount, &made) == 0 && made == table);
    }
    for (const SelectorSetup& selector : selectors) {
      EXRP_REQUIRE(exrp_selector_create(*replay, selector.table, selector.kind, selector.options.data(),
                                        static_cast<uint32_t>(selector.options.size()), &made) == 0);
    }
    return {};
  }

  /// Room for a batch of one of the replay's tables, and where its parts lie.
  Failure makeBatch(uint32_t replay, uint32_t table, uint32_t count, std::vector<uint8_t>* bytes, std::vector<double>* offsets) const {
    offsets->resize(batchPartCount(shape(replay), table));
    EXRP_REQUIRE(exrp_batch_layout(replay, table, count, offsets->data(), static_cast<uint32_t>(offsets->size())) == 0);
    // The call must overwrite these old contents.
    bytes->assign(static_cast<size_t>((*offsets)[EXRP_BATCH_BYTES]), 0xA5);
    return {};
  }

  uint32_t columnCount() const { return static_cast<uint32_t>(columns.size() / 3); }
  uint32_t selectorCount() const { return static_cast<uint32_t>(selectors.size()); }
  uint32_t leafCount() const { return static_cast<uint32_t>(config[EXRP_CONFIG_STATE_COLUMNS]); }
  double stateBytes() const {
    double bytes = 0;
    for (uint32_t leaf = 0; leaf < leafCount(); ++leaf) bytes += double{1} * columns[3 * leaf] * columns[3 * leaf + 1];
    return bytes;
  }
  /// Of the records `first`..count - 1 of one episode.
  double episodeBytes(uint32_t first, uint32_t count) const {
    double bytes = 0;
    for (uint32_t column = 0; column < columnCount(); ++column) {
      const uint32_t every = columns[3 * column + 2];
      bytes += double{1} * columns[3 * column] * columns[3 * column + 1] * ((count + every - 1) / every - first / every);
    }
    return bytes;
  }
  uint32_t length() const { return static_cast<uint32_t>(policies[0][EXRP_POLICY_LENGTH]); }
  bool external() const { return config[EXRP_CONFIG_EVICTION] == EXRP_EVICTION_EXTERNAL; }
  ReplayShape shape(uint32_t replay) const {
    ReplayShape shape{replay, {}, {}, leafCount(), 1, policies, {}};
    for (uint32_t column = 0; column < columnCount(); ++column) {
      shape.columnBytes.push_back(columns[3 * column] * columns[3 * column + 1]);
      shape.every.push_back(columns[3 * column + 2]);
    }
    return shape;
  }
};

}  // namespace exrp::test
