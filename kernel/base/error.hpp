// The numbers behind a failure: up to four per thread, read by exrp_error_detail.
//
// Thread safety: each thread has its own. Cost: a call on failure, nothing on success. fail() stands once, out of the way: written out at
// each of its some 300 places, it took a tenth of the kernel.
#pragma once

#include "kernel/base/status.hpp"

namespace exrp {

constexpr uint32_t errorDetailCount = 4;

/// The calling thread's last detail. Plain numbers: nothing to construct or destroy at exit.
inline thread_local double errorDetail[errorDetailCount] = {0, 0, 0, 0};

/// Keeps the numbers that exrp.h lists for `status`, and returns `status`.
[[gnu::cold, gnu::noinline]] inline Status fail(Status status, double first, double second = 0, double third = 0, double fourth = 0) {
  errorDetail[0] = first;
  errorDetail[1] = second;
  errorDetail[2] = third;
  errorDetail[3] = fourth;
  return status;
}
[[gnu::cold, gnu::noinline]] inline Status fail(Status status) { return fail(status, 0); }

}  // namespace exrp
