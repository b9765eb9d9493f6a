// LowestPriorityFirst, against a vector of priorities that is searched for the lowest.
#include "eviction/lowest_priority_first.hpp"

#include <algorithm>
#include <vector>

#include "tests/eviction/conforms.hpp"

using namespace exrp;

namespace {

uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }

struct LowestPriorityFirstTwin {
  struct Member {
    uint32_t episode;
    float priority;
  };
  auto find(uint32_t episode) {
    return std::find_if(order.begin(), order.end(), [episode](const Member& member) { return member.episode == episode; });
  }
  void set(uint32_t episode, float priority) {
    removed(episode);
    order.push_back(Member{episode, priority});
    largest = std::max(largest, priority);
  }
  void created(uint32_t episode) { order.push_back(Member{episode, largest}); }
  void sampled(const std::vector<uint32_t>&) {}
  void ended(uint32_t episode, uint32_t pickCount) {
    if (pickCount == 0) set(episode, 0);
  }
  void prioritized(const std::vector<uint32_t>& picks, const std::vector<double>& priorities) {
    for (size_t first = 0; first < picks.size(); ++first) {
      if (std::find(picks.begin(), picks.begin() + static_cast<std::ptrdiff_t>(first), picks[first]) - picks.begin() < static_cast<std::ptrdiff_t>(first)) continue;
      double sum = 0;
      double count = 0;
      for (size_t at = first; at < picks.size(); ++at) {
        if (picks[at] != picks[first]) continue;
        sum += priorities[at];
        count += 1;
      }
      set(picks[first], portableWeight(sum / count));
    }
  }
  void removed(uint32_t episode) { order.erase(find(episode)); }
  test::Items items() const {
    std::vector<Member> sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Member& a, const Member& b) { return a.priority < b.priority; });
    test::Items all;
    for (const Member& member : sorted) all.push_back(EvictionItem{member.episode, bitsOf(member.priority)});
    return all;
  }
  std::vector<uint8_t> header() const {
    std::vector<uint8_t> bytes(8);
    memcpy(bytes.data(), &largest, sizeof largest);
    return bytes;
  }
  std::vector<Member> order;  // by when they were created or given a priority
  float largest = 1;
};

void prioritize(LowestPriorityFirst& policy, std::vector<uint32_t> picks, std::vector<double> priorities) {
  policy.prioritized(picks.data(), priorities.data(), static_cast<uint32_t>(picks.size()));
}

void takesTheMeanOfTheLastCall() {
  LowestPriorityFirst policy(4);
  CHECK(policy.prepare(4));
  test::createEnded(policy, {0, 1, 2});
  prioritize(policy, {0, 1, 0, 2}, {4, 2.5, 2, 0.5});
  CHECK(test::equal(test::saved(policy, 3), {{2, bitsOf(0.5f)}, {1, bitsOf(2.5f)}, {0, bitsOf(3)}}));
  prioritize(policy, {0}, {0.25});  // the 4 and the 2 of before are gone
  CHECK_EQUAL(policy.victim(), 0u);
}

void equalPrioritiesGoInTheOrderInWhichTheyWereGiven() {
  LowestPriorityFirst policy(4);
  CHECK(policy.prepare(4));
  test::createEnded(policy, {3, 1, 2, 0});
  prioritize(policy, {2, 3}, {1, 1});  // now behind 1 and 0, which have had theirs longer
  for (const uint32_t episode : {1u, 0u, 2u, 3u}) {
    CHECK_EQUAL(policy.victim(), episode);
    policy.removed(episode);
  }
}

void newEpisodesHaveTheLargestPrioritySoFar() {
  LowestPriorityFirst policy(4);
  CHECK(policy.prepare(4));
  test::createEnded(policy, {0});
  prioritize(policy, {0}, {7});
  policy.removed(0);
  test::createEnded(policy, {1, 0});
  prioritize(policy, {1}, {6});
  CHECK(test::equal(test::saved(policy, 2), {{1, bitsOf(6)}, {0, bitsOf(7)}}));
}

void episodesWithoutAPickGoFirst() {
  LowestPriorityFirst policy(4);
  CHECK(policy.prepare(4));
  test::createEnded(policy, {0});
  for (const uint32_t episode : {1u, 2u}) policy.created(episode);
  prioritize(policy, {0}, {1e-30});
  policy.ended(1, 0);
  policy.ended(2, 1);
  CHECK_EQUAL(policy.victim(), 1u);
}

void prioritiesGivenWhileOpenCountAtTheEnd() {
  LowestPriorityFirst policy(4);
  CHECK(policy.prepare(4));
  for (const uint32_t episode : {0u, 1u, 2u}) policy.created(episode);
  CHECK_EQUAL(policy.victim(), EvictionPolicy::none);
  prioritize(policy, {0, 1, 2}, {3, 2, 1});
  for (const uint32_t episode : {0u, 1u}) policy.ended(episode, 1);
  CHECK_EQUAL(policy.victim(), 1u);
  policy.ended(2, 1);
  CHECK_EQUAL(policy.victim(), 2u);
}

void loadRefusesWhatIsNoPriorityOrNotInOrder() {
  LowestPriorityFirst policy(3);
  CHECK(policy.prepare(3));
  test::createEnded(policy, {0, 1, 2});
  CHECK_EQUAL(test::loaded(policy, {{2, 0}, {0, bitsOf(0.5f)}, {1, bitsOf(1)}}), Status::ok);
  CHECK_EQUAL(policy.victim(), 2u);
  CHECK_EQUAL(test::loaded(policy, {{2, bitsOf(0.5f)}, {0, 0}, {1, bitsOf(1)}}), Status::dataCorrupt);
  CHECK_EQUAL(test::loaded(policy, {{2, 0}, {0, bitsOf(0.5f)}, {1, bitsOf(1.5f)}}), Status::dataCorrupt);  // above the largest
  CHECK_EQUAL(test::loaded(policy, {{2, 1}, {0, bitsOf(0.5f)}, {1, bitsOf(1)}}), Status::dataCorrupt);  // no weight is that small
  CHECK_EQUAL(test::loaded(policy, {{2, 0}, {0, bitsOf(0.5f)}, {1, 0x7FC00000u}}), Status::dataCorrupt);
  CHECK_EQUAL(policy.victim(), 2u);
  for (const uint32_t wrong : {0u, bitsOf(0.5f), 0x7F800000u, 0x7FC00000u, 0x80000000u, bitsOf(-2)}) {
    const uint32_t words[] = {wrong, 0};
    CHECK_EQUAL(policy.loadHeader(reinterpret_cast<const uint8_t*>(words)), Status::dataCorrupt);
  }
  const uint32_t padded[] = {bitsOf(2), 1};
  CHECK_EQUAL(policy.loadHeader(reinterpret_cast<const uint8_t*>(padded)), Status::dataCorrupt);
}

}  // namespace

int main() {
  takesTheMeanOfTheLastCall();
  equalPrioritiesGoInTheOrderInWhichTheyWereGiven();
  newEpisodesHaveTheLargestPrioritySoFar();
  episodesWithoutAPickGoFirst();
  prioritiesGivenWhileOpenCountAtTheEnd();
  loadRefusesWhatIsNoPriorityOrNotInOrder();
  test::conforms<LowestPriorityFirst, LowestPriorityFirstTwin>();
  return test::checkResult("lowest_priority_first");
}
