// What the kernel needs of the process: to stay loaded, and to hear when a thread ends.
//
// A binding unloads a library when the isolate that opened it ends. Another thread may be in the kernel then, and a Worker that is
// terminated runs no finalizer, so that nobody frees what it made.
//
// Thread safety: any thread may call these.
// It registers nothing that runs when the process ends: neither an exit handler nor a static object with a destructor.
#pragma once

#include <cstdint>

namespace exrp {

/// Keeps this library in memory until the process ends, whoever closes it. Does nothing in a program that is linked with the kernel.
void keepLoaded();

/// A number for the calling thread, never 0 and never used again. `ended` is called with it on that thread when the thread ends; it is
/// the same function in each call. 0 where the system can't tell. The end of the process is no thread's end.
uint64_t callingThread(void (*ended)(uint64_t thread));

}  // namespace exrp
