// Lru, against a vector whose used episode is taken out and put at the end.
#include "eviction/lru.hpp"

#include <algorithm>
#include <vector>

#include "tests/eviction/conforms.hpp"

using namespace exrp;

namespace {

struct LruTwin {
  void created(uint32_t episode) { order.push_back(episode); }
  void sampled(const std::vector<uint32_t>& picks) {
    for (const uint32_t episode : picks) {
      removed(episode);
      created(episode);
    }
  }
  void removed(uint32_t episode) { order.erase(std::find(order.begin(), order.end(), episode)); }
  test::Items items() const {
    test::Items all;
    for (const uint32_t episode : order) all.push_back(EvictionItem{episode, 0});
    return all;
  }
  std::vector<uint32_t> order;
};

void drawsOfOneBatchCountInTheirOrder() {
  Lru lru(4);
  CHECK(lru.prepare(4));
  test::createEnded(lru, {0, 1, 2, 3});
  const uint32_t picks[] = {1, 0, 3, 1, 1, 2, 0};
  lru.sampled(picks, 7);
  for (const uint32_t episode : {3u, 1u, 2u, 0u}) {
    CHECK_EQUAL(lru.victim(), episode);
    lru.removed(episode);
  }
}

/// Large enough that sampled() prefetches: the order is the one of the last draws, and the undrawn come first.
void manyEpisodesAreInOrderOfTheirLastDraw() {
  constexpr uint32_t episodeCount = 40000;
  Random random(3, 0);
  Lru lru(episodeCount);
  CHECK(lru.prepare(episodeCount));
  std::vector<uint32_t> lastUse(episodeCount);
  uint32_t now = 0;
  for (uint32_t episode = 0; episode < episodeCount; ++episode) {
    test::createEnded(lru, {episode});
    lastUse[episode] = ++now;
  }
  for (uint32_t batch = 0; batch < 20; ++batch) {
    std::vector<uint32_t> picks(random.below(5001));
    for (uint32_t& pick : picks) lastUse[pick = random.below(batch % 2 == 0 ? episodeCount : 50)] = ++now;
    lru.sampled(picks.data(), static_cast<uint32_t>(picks.size()));
    CHECK_EQUAL(lru.check(), 0);
  }
  const test::Items items = test::saved(lru, episodeCount);
  for (uint32_t item = 1; item < episodeCount; ++item) CHECK(lastUse[items[item - 1].episode] < lastUse[items[item].episode]);
}

void loadRefusesAValue() {
  Lru lru(3);
  CHECK(lru.prepare(3));
  test::createEnded(lru, {0, 1, 2});
  CHECK_EQUAL(test::loaded(lru, {{2, 0}, {0, 0}, {1, 0}}), Status::ok);
  CHECK_EQUAL(lru.victim(), 2u);
  CHECK_EQUAL(test::loaded(lru, {{0, 0}, {1, 0}, {2, 1}}), Status::dataCorrupt);
  CHECK_EQUAL(lru.victim(), 2u);
}

}  // namespace

int main() {
  drawsOfOneBatchCountInTheirOrder();
  manyEpisodesAreInOrderOfTheirLastDraw();
  loadRefusesAValue();
  test::conforms<Lru, LruTwin>();
  return test::checkResult("lru");
}
