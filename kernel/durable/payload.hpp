// Payload: what the frames of a log have in them, taken from the front.
//
// Thread safety: none of its own.
// Invariants:
//   1. Asked for more than there is, it has nothing more from then on, and every take() gives null.
// Cost: all O(1).
#pragma once

#include <cstdint>
#include <cstring>

#include "kernel/base/error.hpp"
#include "kernel/base/padded.hpp"
#include "kernel/exrp.h"

namespace exrp {

/// A log that is of another replay or of other tables, or of another library.
inline Status unfit() { return fail(Status::log, EXRP_LOG_UNFIT); }

class Payload {
 public:
  Payload(const uint8_t* bytes, uint64_t count) : at_(bytes), left_(count) {}
  /// The next `count` bytes, or null where there are not so many.
  const uint8_t* take(uint64_t count) {
    if (count > left_ || isShort_) {
      left_ = 0;
      isShort_ = true;
      return nullptr;
    }
    const uint8_t* const taken = at_;
    at_ += count;
    left_ -= count;
    return taken;
  }
  template <typename Head>
  bool head(Head* head) {
    const uint8_t* const from = take(sizeof(Head));
    if (from != nullptr) memcpy(head, from, sizeof(Head));
    return from != nullptr;
  }
  uint64_t left() const { return left_; }
  bool isShort() const { return isShort_; }

 private:
  const uint8_t* at_;
  uint64_t left_;
  bool isShort_ = false;
};

}  // namespace exrp
