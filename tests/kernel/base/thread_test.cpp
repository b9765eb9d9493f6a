// Thread: what it ran for is done, and seen, once join() returns. Condition: a wait of some milliseconds ends by itself, and by a notice.
#include "kernel/base/thread.hpp"

#include <csignal>
#include <thread>  // for the tests under TSan

#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

struct Shared {
  Mutex mutex;
  Condition changed;
  bool isReady = false;
  int steps = 0;
  bool isSignalBlocked = false;
};

void body(void* context) {
  Shared& shared = *static_cast<Shared*>(context);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  shared.isSignalBlocked = sigismember(&blocked, SIGTERM) == 1;
  ++shared.steps;
  Lock lock(shared.mutex);
  shared.isReady = true;
  shared.changed.notify_all();
}

}  // namespace

int main() {
  Shared shared;
  Thread thread;
  CHECK(!thread.isStarted());
  thread.join();
  for (int turn = 1; turn <= 20; ++turn) {
    {
      Lock lock(shared.mutex);
      shared.isReady = false;
    }
    CHECK(thread.start(body, &shared));
    CHECK(!thread.start(body, &shared));
    {
      Lock lock(shared.mutex);
      while (!shared.isReady) lock.waitFor(shared.changed, turn % 2 == 0 ? 1 : 60'000);
    }
    thread.join();
    CHECK(!thread.isStarted());
    CHECK_EQUAL(shared.steps, turn);
    CHECK(shared.isSignalBlocked);
  }
  const uint64_t before = steadyMilliseconds();
  Lock lock(shared.mutex);
  while (steadyMilliseconds() < before + 3) lock.waitFor(shared.changed, 1);
  CHECK(steadyMilliseconds() >= before + 3);
  return test::checkResult("thread");
}
