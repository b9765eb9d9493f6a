// KeyHeap: entries that move up and down stay a heap, and come out in the order of their keys. namesEach() accepts only items that name
// each member once.
#include <vector>

#include "eviction/_key_heap.hpp"
#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

namespace {

using exrp::KeyHeap;

struct Item {
  uint32_t episode;
};

/// Heaps of up to `countMax` entries with few different values, so that times decide often.
void checkOrder(uint32_t countMax, uint64_t seed) {
  exrp::Random random(seed, countMax);
  std::vector<KeyHeap::Entry> heap(KeyHeap::root + countMax);
  const auto put = [&](uint32_t at, const KeyHeap::Entry& entry) { heap[at] = entry; };
  uint32_t end = KeyHeap::root;
  for (uint32_t episode = 0; episode < countMax; ++episode) {
    const KeyHeap::Entry entry = {episode + 1, random.below(7), episode};
    put(KeyHeap::up(heap.data(), end, entry, put), entry);
    ++end;
  }
  for (uint32_t at = KeyHeap::root + 1; at < end; ++at) CHECK(KeyHeap::less(heap[KeyHeap::parentOf(at)], heap[at]));
  KeyHeap::Entry before = {0, 0, 0};
  while (end > KeyHeap::root) {
    const KeyHeap::Entry least = heap[KeyHeap::root];
    CHECK(KeyHeap::less(before, least));
    before = least;
    const KeyHeap::Entry last = heap[--end];
    if (end == KeyHeap::root) break;
    put(KeyHeap::down(heap.data(), KeyHeap::root, end, last, put), last);
  }
}

void checkNames() {
  std::vector<uint32_t> notes = {3, 0, 4, 5};  // episode 1 is no member
  const std::vector<uint32_t> notesBefore = notes;
  const auto standing = [&](uint32_t episode) { return episode < notes.size() && notes[episode] != 0 ? &notes[episode] : nullptr; };
  const auto names = [&](std::vector<Item> items) {
    const bool each = KeyHeap::namesEach(items.data(), static_cast<uint32_t>(items.size()), 3, standing);
    CHECK(notes == notesBefore);
    return each;
  };
  CHECK(names({{3}, {0}, {2}}));
  CHECK(!names({{3}, {0}, {3}}));  // one twice
  CHECK(!names({{3}, {0}, {1}}));  // one that is no member
  CHECK(!names({{3}, {0}, {9}}));
  CHECK(!names({{3}, {0}}));
}

}  // namespace

int main() {
  for (const uint32_t countMax : {1u, 2u, 5u, 6u, 64u, 1000u}) checkOrder(countMax, 20261122);
  checkNames();
  return exrp::test::checkResult("_key_heap");
}
