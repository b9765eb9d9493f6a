#include "kernel/base/second_thread.hpp"

#include <cstdlib>

#include "kernel/base/process.hpp"

namespace exrp {

/// Takes pieces until none is left; returns how many it did.
uint32_t SecondThread::Job::run(uint32_t thread) {
  uint32_t done = 0;
  // Relaxed: a piece is taken once, whatever the order. What pieces write is made known by the mutex and by isInside_.
  for (uint32_t piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < count; ++done) work(context, piece, thread);
  return done;
}

#if defined(__wasm__)

bool SecondThread::isAllowed() { return false; }
void SecondThread::share(uint32_t count, Work work, const void* context) { Job{count, work, context}.run(0); }

#else

bool SecondThread::isAllowed() {
  static const bool isAllowed = [] {
    const char* const wish = std::getenv("EXRP_SECOND_THREAD");
    return (wish == nullptr || wish[0] != '0') && coreCount() > 1;
  }();
  return isAllowed;
}

void SecondThread::share(uint32_t count, Work work, const void* context) {
  Job job{count, work, context};
  SecondThread* const second = count > 1 && isAllowed() ? onlyOne<SecondThread>() : nullptr;
  const bool isServed = second != nullptr && second->begin(&job);
  job.run(0);
  if (isServed) second->end();
}

/// Offers a job. False where another caller is served, or where the system gives no thread.
bool SecondThread::begin(Job* job) {
  if (isTaken_.exchange(true, std::memory_order_acquire)) return false;
  {
    const Lock lock(mutex_);
    if (!thread_.isStarted() && !thread_.start([](void* self) { static_cast<SecondThread*>(self)->serve(); }, this)) {
      isTaken_.store(false, std::memory_order_release);
      return false;
    }
    keepOff(coreOfCaller());
    job_ = job;
  }
  // Woken under the mutex, it would sleep once more.
  wanted_.notify_all();
  return true;
}

/// Under the mutex. The system is told only where the caller has come to another core.
void SecondThread::keepOff(uint32_t core) {
  if (number_ == 0 || core == leftCore_) return;
  leaveCore(number_, core);
  leftCore_ = core;
}

/// To be called when no piece is left. Waits until the second thread has done its last.
void SecondThread::end() {
  Lock lock(mutex_);
  job_ = nullptr;
  lock.unlock();
  // Acquire: what the second thread wrote is seen.
  for (uint32_t looks = 0; isInside_.load(std::memory_order_acquire) && looks < looksMax; ++looks) pauseCore();
  lock.lock();
  while (isInside_.load(std::memory_order_acquire)) lock.wait(left_);
  isTaken_.store(false, std::memory_order_release);
}

void SecondThread::serve() {
  Lock lock(mutex_);
  number_ = threadOfCaller();
  while (true) {
    while (job_ == nullptr) lock.wait(wanted_);
    Job* const job = job_;
    job_ = nullptr;
    isInside_.store(true, std::memory_order_relaxed);  // the mutex makes it seen
    lock.unlock();
    helpedCount_.fetch_add(job->run(1), std::memory_order_relaxed);
    // The job may be gone after this.
    isInside_.store(false, std::memory_order_release);
    lock.lock();
    left_.notify_all();
  }
}

#endif  // defined(__wasm__)

#if defined(EXRP_TEST_MEMORY)
uint64_t SecondThread::helpedCount() {
  const SecondThread* const second = onlyOne<SecondThread>();
  return second == nullptr ? 0 : second->helpedCount_.load(std::memory_order_relaxed);
}
#endif

}  // namespace exrp
