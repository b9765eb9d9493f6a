// EpisodeHeap, against a vector that is sorted anew for each question; and that what does not fit leaves it as it was.
#include "eviction/_episode_heap.hpp"

#include <vector>

#include "tests/eviction/conforms.hpp"

using namespace exrp;

namespace {

struct Member {
  uint32_t episode;
  uint32_t value;
  uint64_t time;
};

test::Items sorted(std::vector<Member> members) {
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return a.value != b.value ? a.value < b.value : a.time < b.time;
  });
  test::Items items;
  for (const Member& member : members) items.push_back(EvictionItem{member.episode, member.value});
  return items;
}

test::Items saved(const EpisodeHeap& heap) {
  test::Items items(heap.count());
  heap.save(items.data());
  return items;
}

void keepsTheOrderOfKeysThatChange() {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const int before = test::failureCount;
    Random random(seed, 0);
    const uint32_t countMax = 1 + random.below(60);
    EpisodeHeap heap(countMax);
    CHECK(heap.valid());
    std::vector<Member> members;
    for (uint64_t time = 1; time <= 400; ++time) {
      const uint32_t episode = random.below(countMax);
      const auto found = std::find_if(members.begin(), members.end(), [&](const Member& member) { return member.episode == episode; });
      CHECK_EQUAL(heap.contains(episode), found != members.end());
      if (found != members.end()) CHECK_EQUAL(heap.value(episode), found->value);
      if (found != members.end()) members.erase(found);
      if (random.below(3) > 0) {
        // Few values, so that times decide.
        const uint32_t value = random.below(2) == 0 ? random.below(4) : 0xFFFFFFFFu - random.below(4);
        members.push_back(Member{episode, value, time});
        heap.set(episode, value, time);
      } else if (heap.contains(episode)) {
        heap.remove(episode);
      }
      CHECK_EQUAL(heap.check(), 0);
      const test::Items order = sorted(members);
      CHECK(test::equal(saved(heap), order));
      if (order.empty()) continue;
      CHECK_EQUAL(heap.first(), order[0].episode);
      for (const EvictionItem& item : order) CHECK_EQUAL(heap.firstBut(item.episode), test::firstBut(order, item.episode));
    }
    if (test::failureCount != before) {
      std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
      return;
    }
  }
}

void fitsLeavesTheHeapAsItWas() {
  EpisodeHeap heap(5);
  const uint32_t episodes[] = {4, 0, 2};
  for (uint32_t time = 1; time <= 3; ++time) heap.set(episodes[time - 1], 7, time);
  CHECK(!heap.contains(1) && !heap.contains(5) && !heap.contains(0xFFFFFFFFu));
  const test::Items right{{2, 3}, {4, 3}, {0, 9}};
  CHECK(heap.fits(right.data(), 3));
  for (const test::Items& wrong : {test::Items{{2, 0}, {2, 0}, {0, 0}}, test::Items{{2, 0}, {4, 0}, {1, 0}}, test::Items{{2, 1}, {4, 0}, {0, 2}},
                                   test::Items{{2, 0}, {4, 0}, {0xFFFFFFFFu, 0}}, test::Items{{2, 0}, {4, 0}}}) {
    CHECK(!heap.fits(wrong.data(), static_cast<uint32_t>(wrong.size())));
    CHECK_EQUAL(heap.check(), 0);
    CHECK(test::equal(saved(heap), {{4, 7}, {0, 7}, {2, 7}}));
  }
  heap.load(right.data(), 3);
  CHECK(test::equal(saved(heap), right));
  CHECK_EQUAL(heap.check(), 0);
}

}  // namespace

int main() {
  keepsTheOrderOfKeysThatChange();
  fitsLeavesTheHeapAsItWas();
  return test::checkResult("_episode_heap");
}
