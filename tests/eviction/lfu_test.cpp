// Lfu, against a vector in order of the last use, searched for the least count.
#include "eviction/lfu.hpp"

#include <algorithm>
#include <vector>

#include "tests/eviction/conforms.hpp"

using namespace exrp;

namespace {

struct LfuTwin {
  struct Member {
    uint32_t episode;
    uint32_t count;
  };
  auto find(uint32_t episode) {
    return std::find_if(order.begin(), order.end(), [episode](const Member& member) { return member.episode == episode; });
  }
  void created(uint32_t episode) { order.push_back(Member{episode, 0}); }
  void sampled(const std::vector<uint32_t>& picks) {
    for (const uint32_t episode : picks) {
      const Member used{episode, find(episode)->count + 1};
      removed(episode);
      order.push_back(used);
    }
  }
  void removed(uint32_t episode) { order.erase(find(episode)); }
  test::Items items() const {
    std::vector<Member> sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Member& a, const Member& b) { return a.count < b.count; });
    test::Items all;
    for (const Member& member : sorted) all.push_back(EvictionItem{member.episode, member.count});
    return all;
  }
  std::vector<Member> order;  // by last use
};

void sample(Lfu& lfu, std::vector<uint32_t> picks) { lfu.sampled(picks.data(), static_cast<uint32_t>(picks.size())); }

void equalCountsGoInOrderOfTheirLastUse() {
  Lfu lfu(4);
  CHECK(lfu.prepare(4));
  test::createEnded(lfu, {0, 1, 2, 3});
  sample(lfu, {0, 3, 3, 1, 0, 2});  // counts 2 1 1 2; 0 came to 2 after 3
  for (const uint32_t episode : {1u, 2u, 3u, 0u}) {
    CHECK_EQUAL(lfu.victim(), episode);
    lfu.removed(episode);
  }
}

void reusedIndexCountsFromZero() {
  Lfu lfu(2);
  CHECK(lfu.prepare(2));
  test::createEnded(lfu, {0, 1});
  sample(lfu, {0, 0, 0, 1, 1});
  lfu.removed(0);
  test::createEnded(lfu, {0});
  CHECK_EQUAL(lfu.victim(), 0u);
  sample(lfu, {0});
  CHECK_EQUAL(lfu.victim(), 0u);
}

void picksFromBeforeTheEndCount() {
  Lfu lfu(3);
  CHECK(lfu.prepare(3));
  lfu.created(0);
  lfu.created(1);
  CHECK_EQUAL(lfu.victim(), EvictionPolicy::none);
  sample(lfu, {0, 0, 1});
  lfu.ended(0, 1);
  test::createEnded(lfu, {2});
  sample(lfu, {2, 2});
  CHECK_EQUAL(lfu.victim(), 0u);  // 1 was picked less often, but it is open
  lfu.ended(1, 1);
  CHECK_EQUAL(lfu.victim(), 1u);
}

void countStaysAtItsLargest() {
  Lfu lfu(3);
  CHECK(lfu.prepare(3));
  test::createEnded(lfu, {0, 1, 2});
  CHECK_EQUAL(test::loaded(lfu, {{0, 0xFFFFFFFEu}, {1, 0xFFFFFFFFu}, {2, 0xFFFFFFFFu}}), Status::ok);
  sample(lfu, {1, 0, 0});
  CHECK_EQUAL(lfu.check(), 0);
  CHECK(test::equal(test::saved(lfu, 3), {{2, 0xFFFFFFFFu}, {1, 0xFFFFFFFFu}, {0, 0xFFFFFFFFu}}));
  CHECK_EQUAL(lfu.victim(), 2u);
}

void atTheLargestCountTheLeastRecentlyUsedGoes() {
  constexpr uint32_t episodeCount = 64;
  Lfu lfu(episodeCount);
  CHECK(lfu.prepare(episodeCount));
  test::Items items;
  for (uint32_t episode = 0; episode < episodeCount; ++episode) {
    test::createEnded(lfu, {episode});
    items.push_back(EvictionItem{episode, 0xFFFFFFFFu});
  }
  CHECK_EQUAL(test::loaded(lfu, items), Status::ok);
  sample(lfu, {0, 1});
  CHECK_EQUAL(lfu.victim(), 2u);
  sample(lfu, {2, 5});
  for (const uint32_t episode : {3u, 4u, 6u}) {
    CHECK_EQUAL(lfu.victim(), episode);
    lfu.removed(episode);
    CHECK_EQUAL(lfu.check(), 0);
  }
}

/// Many episodes, all sampled between two victims: each is filed again, and the answers stay exact.
void manyEpisodesSampledBetweenTwoVictims() {
  constexpr uint32_t episodeCount = 3000;
  Random random(5, 0);
  Lfu lfu(episodeCount);
  CHECK(lfu.prepare(episodeCount));
  std::vector<uint32_t> batch(episodeCount);
  for (uint32_t episode = 0; episode < episodeCount; ++episode) test::createEnded(lfu, {batch[episode] = episode});
  for (uint32_t round = 0; round < 20; ++round) {
    for (uint32_t item = episodeCount; item > 1; --item) std::swap(batch[item - 1], batch[random.below(item)]);
    lfu.sampled(batch.data(), episodeCount);
    CHECK_EQUAL(lfu.victim(), batch[0]);
    CHECK_EQUAL(lfu.check(), 0);
  }
  for (const uint32_t episode : batch) {
    CHECK_EQUAL(lfu.victim(), episode);
    lfu.removed(episode);
  }
}

void loadRefusesCountsThatFall() {
  Lfu lfu(3);
  CHECK(lfu.prepare(3));
  test::createEnded(lfu, {0, 1, 2});
  CHECK_EQUAL(test::loaded(lfu, {{2, 3}, {0, 3}, {1, 7}}), Status::ok);
  CHECK_EQUAL(lfu.victim(), 2u);
  CHECK_EQUAL(test::loaded(lfu, {{0, 1}, {1, 0}, {2, 2}}), Status::dataCorrupt);
  CHECK_EQUAL(lfu.victim(), 2u);
}

}  // namespace

int main() {
  equalCountsGoInOrderOfTheirLastUse();
  reusedIndexCountsFromZero();
  picksFromBeforeTheEndCount();
  countStaysAtItsLargest();
  atTheLargestCountTheLeastRecentlyUsedGoes();
  manyEpisodesSampledBetweenTwoVictims();
  loadRefusesCountsThatFall();
  test::conforms<Lfu, LfuTwin>();
  return test::checkResult("lfu");
}
