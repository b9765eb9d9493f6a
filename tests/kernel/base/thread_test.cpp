// Thread: what it ran for is done, and seen, once join() returns. Condition: a wait of some milliseconds ends by itself, and by a notice.
// leaveCore: the thread may run on the other cores only.
#include "kernel/base/thread.hpp"

#include <atomic>
#include <csignal>
#include <thread>  // for the tests under TSan

#include "kernel/base/process.hpp"
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

struct Waiting {
  std::atomic<uint32_t> thread = 0;
  std::atomic<bool> isOver = false;
};

/// On Linux, a thread may run on each core that its maker may use but the one that it left. The last core is left by nobody.
void leavesCores() {
#if defined(__linux__)
  Waiting waiting;
  Thread thread;
  const auto wait = [](void* context) {
    Waiting& self = *static_cast<Waiting*>(context);
    self.thread = threadOfCaller();
    while (!self.isOver) sleepThread(100);
  };
  CHECK(thread.start(wait, &waiting));
  while (waiting.thread == 0) sleepThread(100);
  cpu_set_t own;
  CHECK_EQUAL(sched_getaffinity(0, sizeof own, &own), 0);
  CHECK(coreOfCaller() < CPU_SETSIZE && CPU_ISSET(coreOfCaller(), &own));
  for (uint32_t core = 0; core < CPU_SETSIZE; ++core) {
    leaveCore(waiting.thread, core);
    cpu_set_t expected = own;
    if (CPU_COUNT(&own) > 1) CPU_CLR(core, &expected);
    cpu_set_t found;
    CHECK_EQUAL(sched_getaffinity(static_cast<pid_t>(waiting.thread.load()), sizeof found, &found), 0);
    CHECK(CPU_EQUAL(&expected, &found));
  }
  leaveCore(waiting.thread, noCore - 1);
  waiting.isOver = true;
  thread.join();
#endif
}

}  // namespace

int main() {
  leavesCores();
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
