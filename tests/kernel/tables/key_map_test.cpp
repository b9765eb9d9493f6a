// KeyMap against a plain map, with keys that fall together as well as scattered ones.
#include "kernel/tables/key_map.hpp"

#include <map>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

/// `range` is how many low and how many high keys there may be.
void holdsWhatAMapHolds(uint64_t seed, uint32_t range, int steps) {
  Random random(seed, 0);
  KeyMap map(random.next());
  std::vector<uint64_t> keys;  // by number
  const auto keyOf = [&](uint32_t number) { return keys[number]; };
  std::map<uint64_t, uint32_t> plain;
  bool hasGrownLong = false;
  for (int step = 0; step < steps; ++step) {
    const uint64_t key = random.below(2) == 0 ? random.below(range) : uint64_t{random.below(range)} << 40;
    const uint32_t found = map.find(key, keyOf);
    CHECK_EQUAL(found, plain.count(key) == 1 ? plain[key] : KeyMap::none);
    if (found == KeyMap::none) {
      CHECK(map.prepare(keys.size() + 1));
      map.add(key, static_cast<uint32_t>(keys.size()));
      plain[key] = static_cast<uint32_t>(keys.size());
      keys.push_back(key);
    } else if (random.below(3) > 0) {
      // As a dense array: the last one takes the place of the one that goes.
      const auto last = static_cast<uint32_t>(keys.size()) - 1;
      map.remove(key, found);
      plain.erase(key);
      if (found != last) {
        map.renumber(keys[last], last, found);
        keys[found] = keys[last];
        plain[keys[found]] = found;
      }
      keys.pop_back();
    }
    CHECK_EQUAL(map.count(), uint64_t{plain.size()});
    hasGrownLong = hasGrownLong || map.leftToMove() > 8 * KeyMap::movedAtOnce;
    if (step == steps / 3 * 2) {
      map.clear();
      plain.clear();
      keys.clear();
    }
  }
  for (const auto& [key, number] : plain) CHECK_EQUAL(map.find(key, keyOf), number);
  CHECK(range < 1000 || hasGrownLong);
}

/// Once, one key of a million moved all others: 6 to 26 ms. Now each key moves a few places and what follows up to the next free one.
void aKeyNeverMovesMany(uint64_t seed) {
  constexpr uint32_t count = 1 << 20;
  Random random(seed, 0);
  KeyMap map(random.next());
  std::vector<uint64_t> keys;
  keys.reserve(count);
  const auto keyOf = [&](uint32_t number) { return keys[number]; };
  size_t movedMost = 0;
  uint32_t grown = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const size_t before = map.leftToMove();
    CHECK(map.prepare(k + 1));
    size_t left = map.leftToMove();
    if (left != before) {
      // It has grown: nothing was left of the last time, and nothing has moved yet.
      CHECK_EQUAL(before, size_t{0});
      ++grown;
    }
    keys.push_back(random.next());
    map.add(keys.back(), k);
    left -= map.leftToMove();
    if (left > movedMost) movedMost = left;
    const uint32_t any = random.below(k + 1);
    CHECK_EQUAL(map.find(keys[any], keyOf), any);
  }
  CHECK_EQUAL(grown, 17u);  // from 16 places to 2^21
  CHECK(movedMost >= KeyMap::movedAtOnce);
  // Runs of taken places are short: 3 of 4 places are taken at most.
  CHECK(movedMost < KeyMap::movedAtOnce + 300);
}

}  // namespace

int main() {
  const uint64_t seed = 20261122;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (uint64_t k = 0; k < 40; ++k) holdsWhatAMapHolds(seed + k, 200, 3000);
  for (uint64_t k = 0; k < 4; ++k) holdsWhatAMapHolds(seed + 40 + k, 20'000, 60'000);
  aKeyNeverMovesMany(seed);
  return exrp::test::checkResult("tables/key_map");
}
