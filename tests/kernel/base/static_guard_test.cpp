// StaticGuard: of threads that come at once, one makes the object and the others see it whole; who gives up leaves it to the next.
#include "kernel/base/static_guard.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/kernel/check.hpp"

using exrp::StaticGuard;

namespace {

constexpr int threadCount = 4;

void oneMakesIt() {
  for (int round = 0; round < 500; ++round) {
    alignas(8) uint8_t guard[8] = {};
    uint64_t object = 0;  // plain, so that TSan sees a reader that nothing parts from the maker
    std::atomic<int> makers = 0;
    std::atomic<int> ready = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < threadCount; ++thread) {
      threads.emplace_back([&] {
        for (++ready; ready < threadCount;) std::this_thread::yield();
        if (StaticGuard made(guard); made.begin()) {
          ++makers;
          for (int step = 0; step < 7; ++step) ++object;
          made.end();
        }
        CHECK_EQUAL(object, uint64_t{7});
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(makers.load(), 1);
    // Compiled code asks for the first byte alone.
    CHECK_EQUAL(guard[0], uint8_t{1});
    CHECK(!StaticGuard(guard).begin());
  }
}

void whoGivesUpLeavesItToTheNext() {
  alignas(8) uint8_t guard[8] = {};
  CHECK(StaticGuard(guard).begin());
  bool isMade = false;
  std::thread other([&] {
    CHECK(StaticGuard(guard).begin());
    isMade = true;
    StaticGuard(guard).end();
  });
  StaticGuard(guard).giveUp();
  other.join();
  CHECK(isMade);
  CHECK(!StaticGuard(guard).begin());
}

}  // namespace

int main() {
  oneMakesIt();
  whoGivesUpLeavesItToTheNext();
  return exrp::test::checkResult("kernel/base/static_guard_test");
}
