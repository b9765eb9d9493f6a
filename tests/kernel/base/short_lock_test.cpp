// ShortLock: threads that add to a plain number lose none, who has waited for long comes next, and who gives up stands in nobody's way.
#include "kernel/base/short_lock.hpp"

#include <thread>
#include <vector>

#include "tests/kernel/check.hpp"

using exrp::ShortLock;

namespace {

void yieldUntilReserved(const ShortLock& lock) {
  while (!lock.isReserved()) std::this_thread::yield();
}

void countsWhole() {
  ShortLock lock;
  uint64_t count = 0;  // plain, so that TSan sees each pair of threads that the lock does not part
  constexpr uint64_t turns = 20'000;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (uint64_t turn = 0; turn < turns; ++turn) {
        lock.lock();
        ++count;
        lock.unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(count, 4 * turns);
  CHECK(!lock.isReserved());
}

/// The thread that has the lock gives it back, and wants it again at once, as a busy writer does. A sleeper gets the turn between.
void sleeperComesNext() {
  ShortLock lock;
  for (int round = 0; round < 20; ++round) {
    bool served = false;  // under the lock
    lock.lock();
    std::thread sleeper([&] {
      lock.lock();
      served = true;
      lock.unlock();
    });
    yieldUntilReserved(lock);
    lock.unlock();
    lock.lock();
    CHECK(served);
    CHECK(!lock.isReserved());
    lock.unlock();
    sleeper.join();
  }
}

/// While another thread comes next, nobody else may take the lock, free as it is.
void reservedIsTaken() {
  ShortLock lock;
  lock.lock();
  std::atomic<bool> isStill = false;
  std::atomic<bool> mayGo = false;
  std::thread sleeper([&] {
    // Once its turn is reserved, it holds still, and does not look at the lock.
    const bool taken = lock.lock([&] {
      if (!lock.isReserved()) return true;
      isStill.store(true, std::memory_order_release);
      while (!mayGo.load(std::memory_order_acquire)) std::this_thread::yield();
      return true;
    });
    CHECK(taken);
    lock.unlock();
  });
  while (!isStill.load(std::memory_order_acquire)) std::this_thread::yield();
  lock.unlock();
  const bool taken = lock.tryLock();
  CHECK(!taken);
  if (taken) lock.unlock();
  mayGo.store(true, std::memory_order_release);
  sleeper.join();
  CHECK(lock.tryLock());
  lock.unlock();
}

void givingUpEndsReservation() {
  ShortLock lock;
  lock.lock();
  uint32_t asked = 0;
  std::thread sleeper([&] {
    const bool taken = lock.lock([&] {
      ++asked;
      return !lock.isReserved();
    });
    CHECK(!taken);
  });
  sleeper.join();
  CHECK(asked > 1);
  CHECK(!lock.isReserved());
  lock.unlock();
  CHECK(lock.tryLock());
  lock.unlock();
}

}  // namespace

int main() {
  countsWhole();
  sleeperComesNext();
  reservedIsTaken();
  givingUpEndsReservation();
  return exrp::test::checkResult("kernel/base/short_lock_test");
}
