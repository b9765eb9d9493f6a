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
  test::Items items() const {
    test::Items all;
    for (const uint32_t episode : open) all.push_back(EvictionItem{episode, 0});
    all.insert(all.end(), keyed.begin(), keyed.end());
    std::stable_sort(all.begin(), all.end(), [](const EvictionItem& a, const EvictionItem& b) { return a.value < b.value; });
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

void openEpisodesHaveNoKey() {
  Reservoir policy(4, Random(1, 0));
  CHECK(policy.prepare(4));
  for (const uint32_t episode : {0u, 1u, 2u, 3u}) policy.created(episode);
  CHECK_EQUAL(policy.victim(), EvictionPolicy::none);
  policy.ended(2, 1);
  CHECK_EQUAL(policy.victim(), 2u);
  policy.removed(2);
  CHECK_EQUAL(policy.victim(), EvictionPolicy::none);
}

void loadRefusesAKeyOfAnOpenEpisodeAndARandomStateOfZeros() {
  Reservoir policy(3, Random(1, 0));
  CHECK(policy.prepare(3));
  for (const uint32_t episode : {0u, 1u, 2u}) policy.created(episode);
  policy.ended(2, 1);
  policy.ended(1, 1);
  CHECK_EQUAL(test::loaded(policy, {{0, 0}, {1, 3}, {2, 3}}), Status::ok);
  CHECK_EQUAL(policy.victim(), 1u);
  CHECK_EQUAL(test::loaded(policy, {{0, 1}, {1, 3}, {2, 3}}), Status::dataCorrupt);
  CHECK_EQUAL(test::loaded(policy, {{1, 3}, {2, 3}, {0, 3}}), Status::dataCorrupt);
  CHECK_EQUAL(test::loaded(policy, {{0, 0}, {1, 4}, {2, 3}}), Status::dataCorrupt);
  CHECK_EQUAL(policy.victim(), 1u);
  const uint8_t zeros[Random::stateBytes] = {};
  const std::vector<uint8_t> before = test::savedHeader(policy);
  CHECK_EQUAL(policy.loadHeader(zeros), Status::dataCorrupt);
  CHECK(test::savedHeader(policy) == before);
}

}  // namespace

int main() {
  openEpisodesHaveNoKey();
  loadRefusesAKeyOfAnOpenEpisodeAndARandomStateOfZeros();
  test::conforms<Reservoir, ReservoirTwin>();
  return test::checkResult("reservoir");
}
