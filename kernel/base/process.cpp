#include "kernel/base/process.hpp"

#if defined(__wasm__)

// A module of WebAssembly has one thread, and its memory goes with it.

extern "C" {
/// A random whole number below 2^52.
__attribute__((import_module("host"), import_name("random"))) double hostRandom();
}

namespace exrp {

void keepLoaded() {}
uint64_t callingThread(void (*)(uint64_t thread)) { return 0; }
double numberOfThisCopy() { return hostRandom(); }
uint32_t coreCount() { return 1; }

}  // namespace exrp

#else

#include <atomic>
#include <ctime>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <bit>
#endif

#include "kernel/base/random.hpp"

namespace exrp {

double numberOfThisCopy() {
  static const uint8_t here = 0;
  timespec now = {};
  timespec_get(&now, TIME_UTC);
  const uint64_t nanoseconds = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  Random random(nanoseconds ^ reinterpret_cast<uintptr_t>(&here), 0);
  return static_cast<double>(random.next() >> 12);
}

namespace {

std::atomic<uint64_t> threadCount = 0;
std::atomic<void (*)(uint64_t)> threadEnded = nullptr;

/// The system keeps one pointer per thread. It carries the thread's number here and points nowhere.
uint64_t numberOf(void* kept) { return reinterpret_cast<uintptr_t>(kept); }
void* keptOf(uint64_t number) { return reinterpret_cast<void*>(static_cast<uintptr_t>(number)); }

}  // namespace

#if defined(_WIN32)

namespace {

/// Windows calls fiberEnded() also when the process ends. It has stopped all other threads by then, and any of them may hold a lock.
bool isProcessEnding() {
  using Answer = BOOLEAN(WINAPI*)();
  const HMODULE system = GetModuleHandleW(L"ntdll.dll");
  if (system == nullptr) return true;
  const FARPROC found = GetProcAddress(system, "RtlDllShutdownInProgress");
  return found == nullptr || reinterpret_cast<Answer>(reinterpret_cast<void*>(found))() != 0;
}

void WINAPI fiberEnded(void* kept) {
  if (kept != nullptr && !isProcessEnding()) threadEnded.load()(numberOf(kept));
}

}  // namespace

void keepLoaded() {
  HMODULE ignored = nullptr;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                     reinterpret_cast<LPCWSTR>(reinterpret_cast<void*>(&keepLoaded)), &ignored);
}

uint64_t callingThread(void (*ended)(uint64_t thread)) {
  threadEnded.store(ended);
  static const DWORD key = FlsAlloc(fiberEnded);
  if (key == FLS_OUT_OF_INDEXES) return 0;
  if (const uint64_t known = numberOf(FlsGetValue(key)); known != 0) return known;
  const uint64_t number = threadCount.fetch_add(1) + 1;
  return FlsSetValue(key, keptOf(number)) != 0 ? number : 0;
}

void* functionOfProgram(const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(nullptr), name));
}

uint32_t coreCount() { return GetActiveProcessorCount(ALL_PROCESSOR_GROUPS); }

#else

namespace {

struct Key {
  pthread_key_t key;
  bool isMade;
};

/// Of a set of cores. Where there are more than 4,096, calls that take one fail.
[[maybe_unused]] constexpr uint32_t coreWords = 64;

}  // namespace

void keepLoaded() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(&keepLoaded), &info) == 0 || info.dli_fname == nullptr) return;
  // One more reference, never given back. RTLD_NOLOAD takes the copy already loaded, never a second one.
  dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/// A key's destructor runs when a thread ends. It does not run for the main thread, or when the process ends.
uint64_t callingThread(void (*ended)(uint64_t thread)) {
  threadEnded.store(ended);
  static const Key made = [] {
    Key fresh = {};
    fresh.isMade = pthread_key_create(&fresh.key, [](void* kept) { threadEnded.load()(numberOf(kept)); }) == 0;
    return fresh;
  }();
  if (!made.isMade) return 0;
  if (const uint64_t known = numberOf(pthread_getspecific(made.key)); known != 0) return known;
  const uint64_t number = threadCount.fetch_add(1) + 1;
  return pthread_setspecific(made.key, keptOf(number)) == 0 ? number : 0;
}

void* functionOfProgram(const char* name) { return dlsym(RTLD_DEFAULT, name); }

uint32_t coreCount() {
#if defined(__linux__)
  // As taskset and containers limit it.
  uint64_t mask[coreWords] = {};
  uint32_t count = 0;
  if (sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask)) == 0) {
    for (const uint64_t word : mask) count += static_cast<uint32_t>(std::popcount(word));
    return count;
  }
#endif
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 1 ? static_cast<uint32_t>(online) : 1;
}

#endif

#if defined(__linux__)

uint32_t coreOfCaller() {
  const int core = sched_getcpu();
  return core < 0 ? noCore : static_cast<uint32_t>(core);
}

uint32_t threadOfCaller() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

void leaveCore(uint32_t thread, uint32_t core) {
  uint64_t mask[coreWords] = {};
  auto* const cores = reinterpret_cast<cpu_set_t*>(mask);
  if (core >= 64 * coreWords || sched_getaffinity(0, sizeof mask, cores) != 0) return;
  // A process that was forked has its parent's numbers, but only one thread. The number may be another process's by now.
  if (syscall(SYS_tgkill, getpid(), thread, 0) != 0) return;
  mask[core / 64] &= ~(uint64_t{1} << core % 64);
  // The system refuses an empty set.
  sched_setaffinity(static_cast<pid_t>(thread), sizeof mask, cores);
}

#else

uint32_t coreOfCaller() { return noCore; }
uint32_t threadOfCaller() { return 0; }
void leaveCore(uint32_t, uint32_t) {}

#endif

}  // namespace exrp

#endif  // defined(__wasm__)
