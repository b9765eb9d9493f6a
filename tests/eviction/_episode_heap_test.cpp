// EpisodeHeap, against a vector that is sorted anew for each question; and that an order it refuses leaves it as it was.
#include "eviction/_episode_heap.hpp"

#include <vector>

#include "tests/eviction/conforms.hpp"

using namespace exrp;

namespace {

struct Member {
  uint32_t episode;
  uint32_t value;
  uint64_t time;
  bool filed;
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
    CHECK(heap.valid() && heap.prepare(countMax));
    std::vector<Member> members;
    for (uint64_t time = countMax + 1; time <= 460; ++time) {
      const uint32_t episode = random.below(countMax);
      const auto found = std::find_if(members.begin(), members.end(), [&](const Member& member) { return member.episode == episode; });
      CHECK_EQUAL(heap.contains(episode), found != members.end());
      if (found != members.end()) CHECK_EQUAL(heap.value(episode), found->value);
      if (found != members.end()) CHECK_EQUAL(heap.isFiled(episode), found->filed);
      // Few values, so that times decide.
      const uint32_t value = random.below(2) == 0 ? random.below(4) : 0xFFFFFFFFu - random.below(4);
      if (found == members.end()) {
        members.push_back(Member{episode, value, time, false});
        heap.add(episode, value, time);
      } else if (random.below(4) == 0) {
        members.erase(found);
        heap.remove(episode);
      } else if (!found->filed && random.below(2) == 0) {
        found->filed = true;
        heap.file(episode);
      } else {
        *found = Member{episode, value, time, found->filed};
        heap.set(episode, value, time);
      }
      CHECK_EQUAL(heap.check(), 0);
      const test::Items order = sorted(members);
      CHECK(test::equal(saved(heap), order));
      const auto first = std::find_if(order.begin(), order.end(), [&](const EvictionItem& item) { return heap.isFiled(item.episode); });
      CHECK_EQUAL(heap.first(), first == order.end() ? EvictionPolicy::none : first->episode);
      if (random.below(8) > 0) continue;
      CHECK(heap.load(order.data(), static_cast<uint32_t>(order.size())));
      for (size_t item = 0; item < order.size(); ++item) {
        const auto at = std::find_if(members.begin(), members.end(), [&](const Member& member) { return member.episode == order[item].episode; });
        CHECK_EQUAL(heap.isFiled(at->episode), at->filed);
        at->time = item + 1;
      }
      CHECK_EQUAL(heap.check(), 0);
    }
    if (test::failureCount != before) {
      std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
      return;
    }
  }
}

void refusedOrderLeavesTheHeapAsItWas() {
  EpisodeHeap heap(5);
  CHECK(heap.prepare(5));
  const uint32_t episodes[] = {4, 0, 2};
  for (uint32_t time = 1; time <= 3; ++time) heap.add(episodes[time - 1], 7, time);
  heap.file(0);
  CHECK(!heap.contains(1) && !heap.contains(5) && !heap.contains(0xFFFFFFFFu));
  const test::Items wrong{{2, 1}, {4, 0}, {0, 2}};
  CHECK(!heap.load(wrong.data(), 3));
  CHECK_EQUAL(heap.check(), 0);
  CHECK(test::equal(saved(heap), {{4, 7}, {0, 7}, {2, 7}}));
  const test::Items right{{2, 3}, {4, 3}, {0, 9}};
  CHECK(heap.load(right.data(), 3));
  CHECK(test::equal(saved(heap), right));
  CHECK_EQUAL(heap.first(), 0u);
  CHECK_EQUAL(heap.check(), 0);
}

}  // namespace

int main() {
  keepsTheOrderOfKeysThatChange();
  refusedOrderLeavesTheHeapAsItWas();
  return test::checkResult("_episode_heap");
}
