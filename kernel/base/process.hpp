// keepLoaded, callingThread: keep the library loaded, and call a function when a thread ends. numberOfThisCopy: tells copies of it apart.
// coreCount, threadOfCaller, coreOfCaller, leaveCore: how many cores there are, and which one a thread has.
//
// A binding unloads a library when the isolate that opened it ends, but another thread may still run kernel code then. A terminated
// Worker runs no finalizer, so the kernel itself frees the replays of a thread that ends.
//
// Thread safety: any thread may call these.
// Nothing here runs when the process ends: there is no exit handler, and no static object with a destructor.
#pragma once

#include <cstdint>
#include <new>

namespace exrp {

/// Keeps this library in memory until the process ends, even after its last close. Does nothing in a program that is linked with the kernel.
void keepLoaded();

/// The one object of its kind that the process has: made at the first use and never freed, as the library may be unloaded before exit() runs
/// destructors. Null only where there was no memory for it.
template <typename Kind>
Kind* onlyOne() {
  static Kind* const made = [] {
    keepLoaded();
    return new (std::nothrow) Kind;
  }();
  return made;
}

/// A whole number below 2^52 that another copy of this library, in this process or another, hardly has: from the time and an address.
double numberOfThisCopy();

/// The number of the calling thread, never used for another thread; 0 where the system gives none. When the thread ends, it calls
/// `ended` with that number. Pass the same function in each call. The end of the process is not the end of a thread.
uint64_t callingThread(void (*ended)(uint64_t thread));

/// A function that the program itself exports, by its name; null where it exports none.
void* functionOfProgram(const char* name);

/// The cores that this process may use; 1 in WebAssembly.
uint32_t coreCount();

/// The core that the caller runs on now; noCore where the system does not tell. Only Linux does.
constexpr uint32_t noCore = UINT32_MAX;
uint32_t coreOfCaller();
/// The system's number of the calling thread, for leaveCore().
uint32_t threadOfCaller();
/// From now on, a thread of this process runs on any core that the caller may use but `core`. Where there is no other, or no such thread, nothing changes.
void leaveCore(uint32_t thread, uint32_t core);

}  // namespace exrp
