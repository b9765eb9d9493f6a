// PackedNumbers against a plain array, in both widths; through growth, at its end and beside other numbers.
#include "kernel/base/packed_numbers.hpp"

#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

void followsAnArray(uint32_t largest, uint64_t seed) {
  constexpr uint32_t countMax = 200'000;
  Random random(seed, 1);
  PackedNumbers numbers;
  CHECK(numbers.create(countMax, largest, countMax));
  CHECK_EQUAL(numbers.width(), largest < 1u << 24 ? 3u : 4u);
  std::vector<uint32_t> plain;
  for (uint32_t count : {1u, 2u, 1000u, 60'000u, countMax}) {
    CHECK(numbers.commit(count));
    plain.resize(count);
    for (int step = 0; step < 3000; ++step) {
      // Often at the end.
      const uint32_t at = random.below(4) == 0 ? count - 1 : random.below(count);
      const uint32_t most = count - at < 40 ? count - at : 40;
      const uint32_t run = random.below(most + 1);
      const uint32_t from = random.below(2) == 0 ? largest - run : random.below(largest - run);
      const uint32_t kind = random.below(3);
      if (kind == 0) {
        numbers.set(at, from);
        plain[at] = from;
      } else if (kind == 1) {
        numbers.setRun(at, run, from);
        for (uint32_t k = 0; k < run; ++k) plain[at + k] = from + k;
      } else {
        numbers.clear(at, run);
        for (uint32_t k = 0; k < run; ++k) plain[at + k] = 0;
      }
    }
    uint32_t wrong = 0;
    for (uint32_t at = 0; at < count; ++at) wrong += numbers.get(at) != plain[at] ? 1 : 0;
    CHECK_EQUAL(wrong, 0u);
  }
  CHECK(!numbers.commit(countMax + 1));
  CHECK(numbers.takenBytes(countMax) >= double{countMax} * numbers.width());
  CHECK(numbers.takenBytes(countMax) < double{countMax} * numbers.width() + 4096);
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const int before = failureCount;
    for (uint32_t largest : {100u, (1u << 24) - 1, 1u << 24, UINT32_MAX}) followsAnArray(largest, seed);
    if (failureCount != before) std::printf("with seed %llu\n", static_cast<unsigned long long>(seed));
  }
  return checkResult("packed_numbers_test");
}
