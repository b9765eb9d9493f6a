// BirthHeap against a list of births: the first is the oldest, and of equal births that of the smaller handle.
#include "kernel/store/birth_heap.hpp"

#include <map>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

void followsAList(uint64_t seed) {
  constexpr uint32_t countMax = 64;
  Random random(seed, 1);
  EpisodeList episodes;
  BirthHeap heap;
  CHECK_EQUAL(episodes.create(countMax), Status::ok);
  CHECK_EQUAL(episodes.prepare(countMax), Status::ok);
  CHECK_EQUAL(heap.create(episodes, countMax), Status::ok);
  CHECK_EQUAL(heap.prepare(countMax), Status::ok);
  uint64_t nextHandle = 0;
  std::map<uint64_t, uint32_t> live;       // handle -> index
  std::map<uint32_t, uint64_t> members;    // index -> birth
  for (int step = 0; step < 3000; ++step) {
    const uint32_t kind = random.below(4);
    if (kind == 0 && live.size() < countMax) {
      live[nextHandle] = episodes.add(nextHandle, 0);
      ++nextHandle;
    } else if (!live.empty()) {
      auto chosen = live.begin();
      std::advance(chosen, random.below(static_cast<uint32_t>(live.size())));
      const uint32_t index = chosen->second;
      if (kind < 3) {
        const uint64_t birth = random.below(50);  // many are equal
        heap.set(index, birth);
        members[index] = birth;
      } else {
        heap.remove(index);
        members.erase(index);
        if (random.below(2) == 0) {
          episodes.remove(index);
          live.erase(chosen);
        }
      }
    }
    uint32_t first = episodeNone;
    for (const auto& [handle, index] : live) {
      const auto member = members.find(index);
      CHECK_EQUAL(heap.contains(index), member != members.end());
      if (member == members.end()) continue;
      if (first == episodeNone || member->second < members[first]) first = index;  // in order of handles
    }
    CHECK_EQUAL(heap.first(), first);
    if (first != episodeNone) CHECK_EQUAL(heap.firstBirth(), members[first]);
    CHECK_EQUAL(heap.count(), static_cast<uint32_t>(members.size()));
    CHECK(heap.holds([&](uint32_t index) { return members.contains(index); }, [&](uint32_t index) { return members.at(index); }));
  }
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const int before = test::failureCount;
    followsAList(seed);
    if (test::failureCount != before) std::printf("with seed %llu\n", static_cast<unsigned long long>(seed));
  }
  return test::checkResult("birth_heap");
}
