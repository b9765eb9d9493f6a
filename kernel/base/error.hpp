// The numbers behind a failure: up to four per thread, read by exrp_error_detail.
//
// Thread safety: each thread has its own. Cost: four stores on failure, nothing on success.
#pragma once

#include "kernel/base/status.hpp"

namespace exrp {

constexpr uint32_t errorDetailCount = 4;

/// The calling thread's last detail. Plain numbers: nothing to construct or destroy at exit.
inline thread_local double errorDetail[errorDetailCount] = {0, 0, 0, 0};

/// Keeps the numbers that exrp.h lists for `status`, and returns `status`.
inline Status fail(Status status, double first = 0, double second = 0, double third = 0, double fourth = 0) {
  errorDetail[0] = first;
  errorDetail[1] = second;
  errorDetail[2] = third;
  errorDetail[3] = fourth;
  return status;
}

}  // namespace exrp
