// KeyMap against a plain map, with keys that fall together as well as scattered ones.
#include "kernel/tables/key_map.hpp"

#include <map>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

void holdsWhatAMapHolds(uint64_t seed) {
  Random random(seed, 0);
  KeyMap map(random.next());
  std::vector<uint64_t> keys;  // by number
  const auto keyOf = [&](uint32_t number) { return keys[number]; };
  std::map<uint64_t, uint32_t> plain;
  for (int step = 0; step < 3000; ++step) {
    const uint64_t key = random.below(2) == 0 ? random.below(200) : uint64_t{random.below(200)} << 40;
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
    if (step == 2000) {
      map.clear();
      plain.clear();
      keys.clear();
    }
  }
  for (const auto& [key, number] : plain) CHECK_EQUAL(map.find(key, keyOf), number);
}

}  // namespace

int main() {
  const uint64_t seed = 20261122;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (uint64_t k = 0; k < 40; ++k) holdsWhatAMapHolds(seed + k);
  return exrp::test::checkResult("tables/key_map");
}
