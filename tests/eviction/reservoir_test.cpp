// Reservoir, against a vector of keys that is sorted anew.
#include "eviction/reservoir.hpp"

#include <algorithm>
#include <vector>

#include "tests/eviction/conforms.hpp"

using namespace exrp;

namespace exrp::test {

template <>
inline std::unique_ptr<Reservoir> make<Reservoir>(uint32_t countMax) {
  return std::make_unique<Reservoir>(countMax, Random(41, 0));
}

}  // namespace exrp::test

namespace {

struct ReservoirTwin {
  void created(uint32_t episode) { open.push_back(episode); }
  void sampled(const std::vector<uint32_t>&) {}
  void ended(uint32_t episode, uint32_t) {
    removed(episode);
    keyed.push_back(EvictionItem{episode, static_cast<uint32_t>(random.next() >> 32)});
  }
  void removed(uint32_t episode) {
    open.erase(std::remove(open.begin(), open.end(), episode), open.end());
    keyed.erase(std::remove_if(keyed.begin(), keyed.end(), [=](const EvictionItem& item) { return item.episode == episode; }),
                keyed.end());
  }
  uint32_t victim(uint32_t spared) { return test::firstBut(items(), spared); }
  test::Items items() const {
    test::Items all = keyed;
    std::stable_sort(all.begin(), all.end(), [](const EvictionItem& a, const EvictionItem& b) { return a.value < b.value; });
    for (const uint32_t episode : open) all.push_back(EvictionItem{episode, 0});
    return all;
  }
  std::vector<uint8_t> header() const {
    std::vector<uint8_t> bytes(Random::stateBytes);
    random.save(bytes.data());
    return bytes;
  }
  Random random{41, 0};
  test::Items keyed;           // by when they ended
  std::vector<uint32_t> open;  // by age
};

void openEpisodesStayWhileAnEndedOneIsThere() {
  Reservoir policy(4, Random(1, 0));
  for (const uint32_t episode : {0u, 1u, 2u, 3u}) policy.created(episode);
  policy.ended(2, 1);
  CHECK_EQUAL(policy.victim(), 2u);
  CHECK_EQUAL(policy.victim(3), 2u);
  CHECK_EQUAL(policy.victim(2), 0u);
  policy.removed(2);
  CHECK_EQUAL(policy.victim(), 0u);
  CHECK_EQUAL(policy.victim(0), 1u);
  for (const uint32_t episode : {0u, 1u}) policy.removed(episode);
  CHECK_EQUAL(policy.victim(3), 3u);  // the only one
}

void loadRefusesAKeyOfAnOpenEpisodeAndARandomStateOfZeros() {
  Reservoir policy(3, Random(1, 0));
  for (const uint32_t episode : {0u, 1u, 2u}) policy.created(episode);
  policy.ended(2, 1);
  policy.ended(1, 1);
  CHECK_EQUAL(test::loaded(policy, {{1, 3}, {2, 3}, {0, 0}}), Status::ok);
  CHECK_EQUAL(policy.victim(), 1u);
  CHECK_EQUAL(test::loaded(policy, {{1, 3}, {2, 3}, {0, 1}}), Status::dataCorrupt);
  CHECK_EQUAL(test::loaded(policy, {{1, 3}, {0, 3}, {2, 0}}), Status::dataCorrupt);
  CHECK_EQUAL(test::loaded(policy, {{1, 4}, {2, 3}, {0, 0}}), Status::dataCorrupt);
  CHECK_EQUAL(policy.victim(), 1u);
  const uint8_t zeros[Random::stateBytes] = {};
  const std::vector<uint8_t> before = test::savedHeader(policy);
  CHECK_EQUAL(policy.loadHeader(zeros), Status::dataCorrupt);
  CHECK(test::savedHeader(policy) == before);
}

}  // namespace

int main() {
  openEpisodesStayWhileAnEndedOneIsThere();
  loadRefusesAKeyOfAnOpenEpisodeAndARandomStateOfZeros();
  test::conforms<Reservoir, ReservoirTwin>();
  return test::checkResult("reservoir");
}
