// SecondChance, against a vector in order of creation with a flag each and the hand as a position.
#include "eviction/second_chance.hpp"

#include <vector>

#include "tests/eviction/conforms.hpp"

using namespace exrp;

namespace {

struct SecondChanceTwin {
  struct Member {
    uint32_t episode;
    bool flag;
  };
  size_t find(uint32_t episode) const {
    size_t place = 0;
    while (order[place].episode != episode) ++place;
    return place;
  }
  void created(uint32_t episode) { order.push_back(Member{episode, false}); }
  void sampled(const std::vector<uint32_t>& picks) {
    for (const uint32_t episode : picks) order[find(episode)].flag = true;
  }
  void removed(uint32_t episode) {
    const size_t place = find(episode);
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(place));
    if (place < hand) --hand;
    if (hand == order.size()) hand = 0;
  }
  uint32_t victim(const test::Ended& ended) {
    for (;; hand = (hand + 1) % order.size()) {
      if (ended.count(order[hand].episode) == 0) continue;
      if (!order[hand].flag) return order[hand].episode;
      order[hand].flag = false;
    }
  }
  test::Items items() const {
    test::Items all;
    for (size_t turn = 0; turn < order.size(); ++turn) {
      const Member& member = order[(hand + turn) % order.size()];
      all.push_back(EvictionItem{member.episode, member.flag ? 1u : 0u});
    }
    return all;
  }
  std::vector<Member> order;
  size_t hand = 0;
};

void sample(SecondChance& policy, std::vector<uint32_t> picks) {
  policy.sampled(picks.data(), static_cast<uint32_t>(picks.size()));
}

void sparesOnce() {
  SecondChance policy(4);
  CHECK(policy.prepare(4));
  test::createEnded(policy, {0, 1, 2});
  sample(policy, {0, 0, 0});
  CHECK_EQUAL(policy.victim(), 1u);
  policy.removed(1);
  CHECK_EQUAL(policy.victim(), 2u);
  policy.removed(2);
  CHECK_EQUAL(policy.victim(), 0u);  // sampled three times, spared once
}

void allFlagsSetIsOneRoundAndThenTheOldest() {
  SecondChance policy(4);
  CHECK(policy.prepare(4));
  test::createEnded(policy, {3, 1, 2});
  sample(policy, {1, 2, 3});
  CHECK_EQUAL(policy.victim(), 3u);
  CHECK_EQUAL(policy.victim(), 3u);
}

void handSurvivesRemovalOfAnyEpisode() {
  for (uint32_t gone = 0; gone < 4; ++gone) {
    SecondChance policy(4);
    CHECK(policy.prepare(4));
    test::createEnded(policy, {0, 1, 2, 3});
    sample(policy, {0, 1});
    CHECK_EQUAL(policy.victim(), 2u);  // the hand stands on 2
    policy.removed(gone);
    CHECK_EQUAL(policy.check(), 0);
    CHECK_EQUAL(policy.victim(), gone == 2 ? 3u : 2u);
  }
}

void handGoesFromTheYoungestToTheOldestAtOnce() {
  SecondChance policy(4);
  CHECK(policy.prepare(4));
  test::createEnded(policy, {0, 1, 2});
  sample(policy, {0, 1});
  policy.removed(policy.victim());  // 2, the youngest
  test::createEnded(policy, {3});  // behind the hand
  CHECK_EQUAL(policy.victim(), 0u);
}

void reusedIndexHasAClearFlag() {
  SecondChance policy(2);
  CHECK(policy.prepare(2));
  test::createEnded(policy, {0, 1});
  sample(policy, {0, 1});
  policy.removed(0);
  test::createEnded(policy, {0});
  CHECK_EQUAL(policy.victim(), 0u);  // 1 is spared
}

void handPassesOverOpenEpisodesAndLeavesTheirFlags() {
  SecondChance policy(4);
  CHECK(policy.prepare(4));
  policy.created(0);
  test::createEnded(policy, {1, 2});
  sample(policy, {0, 1});
  CHECK_EQUAL(policy.victim(), 2u);
  policy.removed(2);
  policy.ended(0, 1);
  CHECK_EQUAL(policy.victim(), 1u);  // the flag of 0 is still set
}

void loadRefusesAnotherOrderOrFlag() {
  SecondChance policy(3);
  CHECK(policy.prepare(3));
  test::createEnded(policy, {0, 1, 2});
  CHECK_EQUAL(test::loaded(policy, {{1, 0}, {2, 1}, {0, 0}}), Status::ok);
  CHECK_EQUAL(policy.victim(), 1u);
  policy.removed(1);
  CHECK_EQUAL(policy.victim(), 0u);
  test::createEnded(policy, {1});
  CHECK_EQUAL(test::loaded(policy, {{1, 0}, {2, 0}, {0, 0}}), Status::dataCorrupt);
  CHECK_EQUAL(test::loaded(policy, {{0, 2}, {2, 0}, {1, 0}}), Status::dataCorrupt);
}

}  // namespace

int main() {
  sparesOnce();
  allFlagsSetIsOneRoundAndThenTheOldest();
  handSurvivesRemovalOfAnyEpisode();
  handGoesFromTheYoungestToTheOldestAtOnce();
  reusedIndexHasAClearFlag();
  handPassesOverOpenEpisodesAndLeavesTheirFlags();
  loadRefusesAnotherOrderOrFlag();
  test::conforms<SecondChance, SecondChanceTwin>();
  return test::checkResult("second_chance");
}
