// SecondThread: each piece is done once, whoever calls; what it wrote is seen; and the second thread does some of the work. A process
// that was forked keeps its cores.
#include "kernel/base/second_thread.hpp"

#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using exrp::Random;
using exrp::SecondThread;

namespace {

/// What pieces write to is plain, so that TSan sees each pair of threads that nothing parts. Each thread has a number of its own.
struct Marks {
  std::vector<uint32_t>& counts;
  uint32_t (&byThread)[2];

  static void mark(const void* context, uint32_t piece, uint32_t thread) {
    const auto& [counts, byThread] = *static_cast<const Marks*>(context);
    ++counts[piece];
    ++byThread[thread];
  }
};

void doneOnce(uint32_t count) {
  std::vector<uint32_t> counts(count);
  uint32_t byThread[2] = {};
  const Marks marks = {counts, byThread};
  SecondThread::share(count, Marks::mark, &marks);
  CHECK_EQUAL(byThread[0] + byThread[1], count);
  uint32_t right = 0;
  for (const uint32_t each : counts) right += each == 1 ? 1 : 0;
  CHECK_EQUAL(right, count);
}

void manyCallers(uint64_t seed) {
  std::vector<std::thread> threads;
  for (uint32_t caller = 0; caller < 4; ++caller) {
    threads.emplace_back([seed, caller] {
      Random random(seed, caller);
      for (int turn = 0; turn < 2000; ++turn) doneOnce(static_cast<uint32_t>(random.below(40)));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// A process that was forked has no second thread. It does all itself, and may still use all cores that it could use before.
void keepsCoresWhenForked() {
#if defined(__linux__) && !defined(__SANITIZE_THREAD__)  // TSan's own threads end with a fork
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    bool isSame = true;
    for (size_t core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &before)) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      // On each core once, so that it is another one than the last caller's.
      sched_setaffinity(0, sizeof one, &one);
      sched_setaffinity(0, sizeof before, &before);
      doneOnce(10);
      cpu_set_t after;
      sched_getaffinity(0, sizeof after, &after);
      isSame = isSame && CPU_EQUAL(&before, &after) != 0;
    }
    _exit(isSame ? 0 : 1);
  }
  int status = -1;
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK_EQUAL(status, 0);
#endif
}

}  // namespace

int main() {
  const uint64_t seed = 20261128;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (const uint32_t count : {0u, 1u, 2u, 3u, 1000u}) doneOnce(count);
  manyCallers(seed);
  // The system may keep it from its core for a while, but not for ever.
  while (SecondThread::isAllowed() && SecondThread::helpedCount() == 0) doneOnce(1000);
  keepsCoresWhenForked();
  std::printf(SecondThread::isAllowed() ? "the second thread took part\n" : "there is no second core\n");
  return exrp::test::checkResult("second_thread_test");
}
