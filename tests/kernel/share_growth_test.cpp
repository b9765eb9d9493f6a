// The memory of large rows grows while other threads copy from it and to it, without the lock. As it passes 1 MiB, Linux gives its first bytes
// another page (kernel/base/memory.cpp): such a copy read zeros, or was lost. Here all of it moves each time that it grows.
#include <atomic>
#include <thread>
#include <vector>

#include "kernel/base/memory.hpp"
#include "tests/kernel/share_rows.hpp"

namespace {

using namespace exrp::test;
using exrp::Random;

void test(uint32_t compression) {
  stateCount = 400;
  Options options;
  options.capacity = 4000;
  options.compression = compression;
  const uint32_t replay = make(options);
  const Ticket ticket(replay);
  constexpr uint32_t writerCount = 2;
  std::atomic<uint32_t> writing = writerCount;
  std::atomic<uint32_t> drawn = 0;
  std::vector<std::thread> threads;
  for (uint32_t writer = 1; writer <= writerCount; ++writer) {
    threads.emplace_back([&, writer] {
      exrp::moveMemory(true);
      Random random(17, writer);
      const uint32_t id = ticket.attach();
      double handle = 0;
      CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
      for (uint32_t position = 0; position < 1600; position += 40) {
        CHECK_EQUAL(Steps(id, 40).record(id, &handle, writer, 0, position, 0, random), 0);
        // So the learner is drawing its next batch when more is recorded.
        for (const uint32_t before = drawn.load(); drawn.load() == before;) std::this_thread::yield();
      }
      exrp::moveMemory(false);
      --writing;
    });
  }
  threads.emplace_back([&] {
    const uint32_t id = ticket.attach();
    Batch batch(id, 1000);
    while (writing.load() > 0) {
      // It copies most of the time: a check takes as long as many batches.
      const bool isChecked = ++drawn % 16 == 0;
      const int32_t status = batch.draw(id, 1);
      if (status == EXRP_STATUS_EMPTY) continue;
      CHECK_EQUAL(status, 0);
      if (isChecked) batch.check();
    }
  });
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(broken(replay), 0);
  // What the writers wrote meanwhile is there, too.
  Batch last(replay, 4000);
  CHECK_EQUAL(last.draw(replay, 1), 0);
  last.check();
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
}

}  // namespace

int main() {
  test(EXRP_COMPRESSION_NONE);
  test(EXRP_COMPRESSION_SMALL);
  return checkResult("share_growth_test");
}
