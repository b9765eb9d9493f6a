// SecondThread: a thread that takes part of the work of a call, such as the copies of a batch of images.
//
// The process has one. It begins with the first call that has enough work, sleeps between calls, and ends with the process. Work comes in pieces,
// and both threads take the next piece from one counter. So where the other core is busy, the caller does what nobody takes. It waits at most
// for the one piece that the second thread is at.
//
// On Linux the second thread keeps off the caller's core. Left to itself, the system wakes it there on a virtual machine whose other cores
// sleep, because it takes them for cores that the host has lent to others. Then the threads take turns in place of working at once.
//
// The second thread touches nothing once share() has returned. So it never outlives what a caller gave it: a Worker that is terminated first
// finishes the call that it is in.
//
// Thread safety: any thread may call. While one is served, the others do their pieces alone.
// Invariants:
//   1. Each piece is done once, before share() returns.
//   2. The second thread is in a job only while the caller of that job is in share().
// Cost: some microseconds to wake it. In WebAssembly, on one core, and where EXRP_SECOND_THREAD is 0 in the environment, there is none.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernel/base/process.hpp"
#include "kernel/base/sync.hpp"
#include "kernel/base/thread.hpp"

namespace exrp {

class SecondThread {
 public:
  /// Work that share() divides: it does one piece, by its number. `thread` is 0 on the caller's thread and 1 on the second, for what each needs alone.
  using Work = void (*)(const void* context, uint32_t piece, uint32_t thread);

  /// Whether there may be a second thread. The environment and the cores are looked at once.
  static bool isAllowed();
  /// Calls work(context, piece, thread) for each piece below `count`, on this thread and where possible on the second.
  static void share(uint32_t count, Work work, const void* context);
#if defined(EXRP_TEST_MEMORY)
  /// For tests: how many pieces the second thread did.
  static uint64_t helpedCount();
#endif

 private:
  struct Job {
    const uint32_t count;
    const Work work;
    const void* const context;
    std::atomic<uint32_t> next = 0;

    uint32_t run(uint32_t thread);
  };

  /// About 10 us, which a piece takes: the caller looks so often whether it is done, and sleeps then.
  static constexpr uint32_t looksMax = 250;

  void serve();
  bool begin(Job* job);
  void keepOff(uint32_t core);
  void end();

  Mutex mutex_;
  Condition wanted_;
  Condition left_;
  Job* job_ = nullptr;                    // under the mutex
  Thread thread_;                         // it never ends; started under the mutex
  uint32_t number_ = 0;                   // under the mutex: the system's of the thread, 0 until it runs
  uint32_t leftCore_ = noCore;            // under the mutex
  std::atomic<bool> isTaken_ = false;     // by a caller
  std::atomic<bool> isInside_ = false;    // the second thread is in the job
  std::atomic<uint64_t> helpedCount_ = 0;  // pieces
};

}  // namespace exrp
