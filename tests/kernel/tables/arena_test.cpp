// Arena: blocks never overlap, their bytes stay, and the memory of what was given back goes to the system or is used again.
#include "kernel/tables/arena.hpp"

#include <cstring>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

struct Taken {
  Arena::Block block;
  size_t bytes;
  uint8_t mark;
};

bool holds(const Taken& taken) {
  // Both ends and the middle: to look at every byte of large blocks takes long.
  const uint8_t* const at = taken.block.at;
  return at[0] == taken.mark && at[taken.bytes / 2] == taken.mark && at[taken.bytes - 1] == taken.mark;
}

size_t randomSize(Random& random) {
  switch (random.below(8)) {
    case 0: return 1 + random.below(1 << 20);
    case 1:
    case 2: return 1 + random.below(20000);
    default: return 1 + random.below(1500);
  }
}

void blocksKeepTheirBytes(uint64_t seed) {
  Random random(seed, 0);
  Arena arena;
  std::vector<Taken> all;
  for (int step = 0; step < 4000; ++step) {
    if (random.below(5) < (step / 500 % 2 == 0 ? 4u : 1u) || all.empty()) {
      Taken taken = {{}, randomSize(random), static_cast<uint8_t>(random.next())};
      CHECK(arena.take(taken.bytes, &taken.block));
      CHECK_EQUAL(reinterpret_cast<uintptr_t>(taken.block.at) % 8, uintptr_t{0});
      memset(taken.block.at, taken.mark, taken.bytes);
      all.push_back(taken);
    } else {
      const size_t at = random.below(static_cast<uint32_t>(all.size()));
      CHECK(holds(all[at]));
      arena.give(all[at].block);
      all[at] = all.back();
      all.pop_back();
    }
    if (step % 200 == 0) CHECK_EQUAL(arena.check(), 0);
  }
  for (const Taken& taken : all) {
    CHECK(holds(taken));
    arena.give(taken.block);
  }
  CHECK_EQUAL(arena.check(), 0);
}

void memoryGoesBack() {
  Arena arena;
  std::vector<Arena::Block> blocks(40000);
  for (int round = 0; round < 3; ++round) {
    for (Arena::Block& block : blocks) CHECK(arena.take(400, &block));
    // Below a hundredth more than what was asked for.
    CHECK(arena.memoryBytes() >= 400.0 * 40000 && arena.memoryBytes() < 1.01 * 400 * 40000);
    for (const Arena::Block& block : blocks) arena.give(block);
    CHECK(arena.memoryBytes() < 300000);  // one slab stays
  }
  Arena::Block large = {};
  CHECK(arena.take(size_t{5} << 20, &large));
  CHECK(arena.memoryBytes() > 5e6);
  arena.give(large);
  CHECK(arena.memoryBytes() < 300000);
}

void aRefusedSlabChangesNothing() {
  Arena arena;
  Arena::Block block = {};
  uint64_t granted = 0;
  for (bool isTaken = false; !isTaken; ++granted) {
    grantMemory(granted);
    isTaken = arena.take(100, &block);
    grantMemory(UINT64_MAX);
    CHECK_EQUAL(arena.check(), 0);
  }
  CHECK(granted > 2);
}

}  // namespace

int main() {
  const uint64_t seed = 20261122;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (uint64_t k = 0; k < 5; ++k) blocksKeepTheirBytes(seed + k);
  memoryGoesBack();
  aRefusedSlabChangesNothing();
  return exrp::test::checkResult("tables/arena");
}
