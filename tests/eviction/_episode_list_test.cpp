// EvictionList: membership at the edges, flags, and its order.
#include "eviction/_episode_list.hpp"

#include <vector>

#include "tests/eviction/conforms.hpp"

using namespace exrp;

namespace {

std::vector<uint32_t> episodesOf(const EvictionList& list) {
  std::vector<uint32_t> episodes;
  for (uint32_t node = list.first(); episodes.size() < list.count(); node = list.nextAround(node))
    episodes.push_back(EvictionList::episodeOf(node));
  return episodes;
}

EvictionList& push(EvictionList& list, std::vector<uint32_t> episodes) {
  for (const uint32_t episode : episodes) list.pushBack(EvictionList::nodeOf(episode));
  return list;
}

void knowsItsMembers() {
  EvictionList list(4);
  CHECK(list.prepare(4));
  CHECK(list.valid());
  CHECK_EQUAL(list.first(), EvictionList::end);
  CHECK(!list.contains(EvictionList::end));
  push(list, {2});
  CHECK(list.contains(3));  // alone: both its links are the end
  CHECK(!list.contains(1) && !list.contains(2) && !list.contains(4) && !list.contains(0xFFFFFFFFu));
  CHECK_EQUAL(list.nextAround(3), 3u);
  list.remove(3);
  CHECK(!list.contains(3));
  CHECK_EQUAL(list.count(), 0u);
  CHECK_EQUAL(list.indexCount(), 3u);
  CHECK_EQUAL(list.check(), 0);
}

void movesToTheBackInOrder() {
  EvictionList list(4);
  CHECK(list.prepare(4));
  push(list, {0, 1, 2, 3});
  const uint32_t used[] = {3, 1, 1, 0, 1};
  list.moveToBack(used, 5);
  CHECK(episodesOf(list) == (std::vector<uint32_t>{2, 3, 0, 1}));
  list.moveToBack(used, 0);
  CHECK(episodesOf(list) == (std::vector<uint32_t>{2, 3, 0, 1}));
  CHECK_EQUAL(list.check(), 0);
}

void findsTheFirstThatHasEnded() {
  EvictionList list(4);
  CHECK_EQUAL(list.firstEnded(), EvictionPolicy::none);
  push(list, {0, 1, 2, 3});
  CHECK_EQUAL(list.firstEnded(), EvictionPolicy::none);
  for (const uint32_t episode : {2u, 1u}) list.noteEnded(EvictionList::nodeOf(episode));
  CHECK_EQUAL(list.firstEnded(), 1u);
  const uint32_t used[] = {1};
  list.moveToBack(used, 1);
  CHECK_EQUAL(list.firstEnded(), 2u);
  CHECK_EQUAL(list.endedCount(), 2u);
  list.remove(EvictionList::nodeOf(2));
  push(list, {2});  // a new one, and open
  CHECK_EQUAL(list.firstEnded(), 1u);
  CHECK_EQUAL(list.check(), 0);
}

void flagsGoWithTheirMember() {
  EvictionList list(4);
  CHECK(list.prepare(4));
  push(list, {0, 1});
  const uint32_t used[] = {1, 1};
  list.flag(used, 2);
  list.noteEnded(2);
  CHECK(!list.isFlagged(1) && list.isFlagged(2));
  list.unflag(2);
  CHECK(!list.isFlagged(2) && list.hasEnded(2));
  list.flag(used, 1);
  list.remove(2);
  push(list, {1});
  CHECK(!list.isFlagged(2) && !list.hasEnded(2));
  CHECK_EQUAL(list.check(), 0);
}

}  // namespace

int main() {
  knowsItsMembers();
  movesToTheBackInOrder();
  findsTheFirstThatHasEnded();
  flagsGoWithTheirMember();
  return test::checkResult("_episode_list");
}
