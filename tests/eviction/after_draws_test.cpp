// AfterDraws, against two vectors: of what is spent, and of the rest.
#include "eviction/after_draws.hpp"

#include <algorithm>
#include <vector>

#include "tests/eviction/conforms.hpp"

using namespace exrp;

namespace exrp::test {

constexpr uint32_t drawsTested = 3;

template <>
inline std::unique_ptr<AfterDraws> make<AfterDraws>(uint32_t countMax) {
  return std::make_unique<AfterDraws>(countMax, drawsTested);
}

}  // namespace exrp::test

namespace {

struct AfterDrawsTwin {
  struct Member {
    uint32_t episode;
    uint32_t draws;
    bool ended;
    uint32_t pickCount;
  };
  static auto findIn(std::vector<Member>& list, uint32_t episode) {
    return std::find_if(list.begin(), list.end(), [episode](const Member& member) { return member.episode == episode; });
  }
  /// Puts what is spent by now behind what was before.
  void look(uint32_t episode) {
    const auto found = findIn(others, episode);
    if (found == others.end() || !found->ended || found->draws < test::drawsTested * found->pickCount) return;
    const Member member = *found;
    others.erase(found);
    spent.push_back(member);
  }
  void created(uint32_t episode) { others.push_back(Member{episode, 0, false, 0}); }
  void sampled(const std::vector<uint32_t>& picks) {
    for (const uint32_t episode : picks) {
      const auto waiting = findIn(others, episode);
      ++(waiting != others.end() ? waiting : findIn(spent, episode))->draws;
      look(episode);
    }
  }
  void ended(uint32_t episode, uint32_t pickCount) {
    const auto found = findIn(others, episode);
    found->ended = true;
    found->pickCount = pickCount;
    look(episode);
  }
  void removed(uint32_t episode) {
    for (std::vector<Member>* list : {&spent, &others})
      if (const auto found = findIn(*list, episode); found != list->end()) list->erase(found);
  }
  test::Items items() const {
    test::Items all;
    for (const std::vector<Member>* list : {&spent, &others})
      for (const Member& member : *list) all.push_back(EvictionItem{member.episode, member.draws});
    return all;
  }
  std::vector<Member> spent;   // by when they were
  std::vector<Member> others;  // by age
};

void sample(AfterDraws& policy, std::vector<uint32_t> picks) { policy.sampled(picks.data(), static_cast<uint32_t>(picks.size())); }

void theFirstSpentGoesFirstAndThenTheOldest() {
  AfterDraws policy(4, 2);
  CHECK(policy.prepare(4));
  for (const uint32_t episode : {0u, 1u, 2u, 3u}) policy.created(episode);
  for (const uint32_t episode : {3u, 1u, 2u}) policy.ended(episode, 1);
  CHECK_EQUAL(policy.victim(), 1u);  // 0 is older, but open
  sample(policy, {3, 1, 1, 3, 2, 0, 0, 0});
  for (const uint32_t episode : {1u, 3u, 2u}) {
    CHECK_EQUAL(policy.victim(), episode);
    policy.removed(episode);
    CHECK_EQUAL(policy.check(), 0);
  }
  CHECK_EQUAL(policy.victim(), EvictionPolicy::none);
}

void longEpisodesMustBeDrawnMore() {
  AfterDraws policy(3, 2);
  CHECK(policy.prepare(3));
  for (const uint32_t episode : {0u, 1u}) {
    policy.created(episode);
    policy.ended(episode, 3 - episode);
  }
  sample(policy, {0, 1, 0, 1, 0, 1, 0, 1});
  CHECK_EQUAL(policy.victim(), 1u);  // 4 of 4; the other 4 of 6
  policy.removed(1);
  CHECK(test::equal(test::saved(policy, 1), {{0, 4}}));
}

void drawsWhileOpenCountAtTheEnd() {
  AfterDraws policy(3, 2);
  CHECK(policy.prepare(3));
  for (const uint32_t episode : {0u, 1u, 2u}) policy.created(episode);
  sample(policy, {1, 1, 1, 1});
  CHECK_EQUAL(policy.victim(), EvictionPolicy::none);  // an open one is not spent
  policy.ended(0, 1);
  CHECK_EQUAL(policy.victim(), 0u);
  policy.ended(1, 2);
  CHECK_EQUAL(policy.victim(), 1u);
  policy.ended(2, 0);  // of no use, but later
  policy.removed(1);
  CHECK_EQUAL(policy.victim(), 2u);
}

void countsStayAtTheirLargest() {
  AfterDraws policy(2, AfterDraws::countLargest);
  CHECK(policy.prepare(2));
  policy.created(0);
  policy.created(1);
  policy.ended(1, 1000);
  CHECK_EQUAL(test::loaded(policy, {{0, AfterDraws::countLargest}, {1, AfterDraws::countLargest - 1}}), Status::ok);
  sample(policy, {0, 0, 1, 1, 1});
  CHECK_EQUAL(policy.check(), 0);
  CHECK(test::equal(test::saved(policy, 2), {{1, AfterDraws::countLargest}, {0, AfterDraws::countLargest}}));
}

void loadRefusesWhatIsSpentAmongTheRest() {
  AfterDraws policy(3, 2);
  CHECK(policy.prepare(3));
  for (const uint32_t episode : {0u, 1u, 2u}) policy.created(episode);
  policy.ended(1, 1);
  policy.ended(2, 1);
  CHECK_EQUAL(test::loaded(policy, {{2, 2}, {1, 5}, {0, 9}}), Status::ok);
  CHECK_EQUAL(policy.victim(), 2u);
  CHECK_EQUAL(test::loaded(policy, {{2, 2}, {0, 9}, {1, 5}}), Status::dataCorrupt);
  CHECK_EQUAL(test::loaded(policy, {{2, 2}, {1, 0xFFFFFFFFu}, {0, 9}}), Status::dataCorrupt);
  CHECK_EQUAL(test::loaded(policy, {{2, 2}, {1, 2}, {0, 0xFFFFFFFFu}}), Status::dataCorrupt);
  CHECK_EQUAL(policy.victim(), 2u);
  CHECK_EQUAL(policy.check(), 0);
}

}  // namespace

int main() {
  theFirstSpentGoesFirstAndThenTheOldest();
  longEpisodesMustBeDrawnMore();
  drawsWhileOpenCountAtTheEnd();
  countsStayAtTheirLargest();
  loadRefusesWhatIsSpentAmongTheRest();
  test::conforms<AfterDraws, AfterDrawsTwin>();
  return test::checkResult("after_draws");
}
