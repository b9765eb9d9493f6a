// BatchPool: a block is had by one at a time, comes back as it was, and all blocks together stay within the limit.
#include "kernel/base/batch_pool.hpp"

#include <cstring>
#include <thread>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using exrp::BatchPool;
using exrp::Random;

namespace {

constexpr size_t grain = size_t{2} << 20;
constexpr size_t smallGrain = size_t{64} << 10;

void comesBack() {
  BatchPool pool;
  BatchPool::Block* const first = pool.take(5'000'000);
  CHECK(first != nullptr && first->bytes == 3 * grain);
  first->memory[4'999'999] = 7;
  BatchPool::Block* const second = pool.take(5'000'000);
  CHECK(second != first);
  pool.giveBack(first);
  BatchPool::Block* const small = pool.take(100);
  CHECK(small != first);  // less than half of it
  CHECK_EQUAL(small->bytes, smallGrain);
  CHECK(pool.take(3'500'000) == first);
  CHECK_EQUAL(uint32_t{first->memory[4'999'999]}, 7u);
  CHECK_EQUAL(pool.bytes(), 6 * grain + smallGrain);
  for (BatchPool::Block* const block : {first, second, small}) pool.giveBack(block);
}

void staysWithin() {
  BatchPool pool(10 * grain);
  CHECK(pool.take(10 * grain + 1) == nullptr);
  BatchPool::Block* const one = pool.take(4 * grain);
  BatchPool::Block* const two = pool.take(3 * grain);
  BatchPool::Block* const three = pool.take(3 * grain);
  CHECK(one != nullptr && two != nullptr && three != nullptr);
  CHECK(pool.take(1) == nullptr);
  pool.giveBack(two);
  pool.giveBack(three);
  // Both are too large for it. The spare that was given back first gives way, the other one stays.
  BatchPool::Block* const four = pool.take(1);
  CHECK(four != three);
  CHECK_EQUAL(pool.bytes(), 7 * grain + smallGrain);
  CHECK(pool.take(3 * grain) == three);
  CHECK(pool.take(3 * grain) == nullptr);
  for (BatchPool::Block* const block : {one, three, four}) pool.giveBack(block);
}

/// Of sizes that nobody asks for any more, 128 MiB of spares stay.
void freesOldSizes() {
  BatchPool pool(200 * grain);
  std::vector<BatchPool::Block*> blocks;
  for (int count = 0; count < 5; ++count) blocks.push_back(pool.take(20 * grain));
  for (BatchPool::Block* const block : blocks) pool.giveBack(block);
  CHECK_EQUAL(pool.bytes(), 100 * grain);
  // A spare fits, so no other is freed.
  BatchPool::Block* const same = pool.take(20 * grain);
  CHECK(same == blocks.back());
  pool.giveBack(same);
  CHECK_EQUAL(pool.bytes(), 100 * grain);
  BatchPool::Block* const other = pool.take(200'000);
  CHECK_EQUAL(pool.bytes(), 60 * grain + 4 * smallGrain);
  pool.giveBack(other);
  CHECK(pool.take(150'000) == other);
  pool.giveBack(other);
}

/// Threads take, mark and give back blocks, which another thread may have next.
void hadByOne(uint64_t seed) {
  BatchPool pool(10 * grain);
  std::vector<std::thread> threads;
  for (uint32_t caller = 1; caller <= 4; ++caller) {
    threads.emplace_back([&pool, seed, caller] {
      Random random(seed, caller);
      for (int turn = 0; turn < 500; ++turn) {
        const size_t bytes = 1 + random.below(static_cast<uint32_t>(turn % 2 == 0 ? grain / 4 : 3 * grain));
        BatchPool::Block* const block = pool.take(bytes);
        if (block == nullptr) continue;
        CHECK(block->bytes >= bytes);
        block->memory[0] = static_cast<uint8_t>(caller);
        block->memory[bytes - 1] = static_cast<uint8_t>(caller);
        std::this_thread::yield();
        CHECK(block->memory[0] == caller && block->memory[bytes - 1] == caller);
        pool.giveBack(block);
        CHECK(pool.bytes() <= 10 * grain);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(pool.bytes() > 0);
}

}  // namespace

int main() {
  const uint64_t seed = 20261129;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  comesBack();
  staysWithin();
  freesOldSizes();
  hadByOne(seed);
  return exrp::test::checkResult("batch_pool_test");
}
