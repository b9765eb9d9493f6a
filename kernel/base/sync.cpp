#include "kernel/base/sync.hpp"

#if defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace exrp {
namespace {

static_assert(sizeof(SRWLOCK) == sizeof(void*) && sizeof(CONDITION_VARIABLE) == sizeof(void*));

// Both are one pointer, and null is what their static initializers give.
SRWLOCK* lockAt(void** place) { return reinterpret_cast<SRWLOCK*>(place); }
CONDITION_VARIABLE* conditionAt(void** place) { return reinterpret_cast<CONDITION_VARIABLE*>(place); }

}  // namespace

void yieldThread() { SwitchToThread(); }
void sleepThread(uint32_t microseconds) { Sleep((microseconds + 999) / 1000); }

uint64_t steadyMilliseconds() { return GetTickCount64(); }

void Mutex::lock() { AcquireSRWLockExclusive(lockAt(&lock_)); }
void Mutex::unlock() { ReleaseSRWLockExclusive(lockAt(&lock_)); }

void Condition::notify_all() { WakeAllConditionVariable(conditionAt(&waiting_)); }
void Condition::wait(Mutex& mutex) { SleepConditionVariableSRW(conditionAt(&waiting_), lockAt(&mutex.lock_), INFINITE, 0); }
void Condition::waitFor(Mutex& mutex, uint32_t milliseconds) {
  SleepConditionVariableSRW(conditionAt(&waiting_), lockAt(&mutex.lock_), milliseconds, 0);
}

}  // namespace exrp

#endif  // defined(_WIN32)
