// BatchOrders: batches that were asked for ahead, to be drawn by another thread while the caller's does something else.
//
// An order counts as carried out at the moment at which it was given: every call that asks or changes the replay first draws what is
// still waiting, in order, so that the same calls give the same draws however fast the other thread is. Giving an order and taking one
// that is done ask and change nothing but the orders, and wait for no draw: else each batch would wait for the next one's.
//
// Thread safety: run() may be called from any thread, and while the caller's thread is in any call on the replay; all else is the
// caller's thread's. Whoever draws holds drawing_, and nobody else touches the replay then: the caller's thread comes here first
// (settle), and waits no longer than the batches take. placing_ guards the places, for a moment; it is locked after drawing_. No lock
// is held between two calls.
// Invariants:
//   1. waiting() is the number of orders that were given and are not carried out; it falls only when one is wholly done.
//   2. A place that is given and not done is changed by nobody but who draws.
// Cost: for calls when nothing waits, one load.
#pragma once

#include <atomic>
#include <mutex>

#include "kernel/base/error.hpp"

namespace exrp {

struct BatchOrder {
  double id;  // 0: the place is free
  uint32_t selector;
  uint32_t count;
  double beta;
  uint8_t* batch;
  double batchBytes;
  Status status;
  double detail[errorDetailCount];
  bool isDone;
};

class BatchOrders {
 public:
  /// Acquire: who sees none waiting sees all that was drawn.
  uint32_t waiting() const { return waiting_.load(std::memory_order_acquire); }

  /// Takes an order, by the caller's thread; its number, or 0 where there are too many.
  double give(const BatchOrder& order) {
    const std::scoped_lock lock(placing_);
    for (BatchOrder& place : places_) {
      if (place.id != 0) continue;
      place = order;
      place.id = ++given_;
      place.isDone = false;
      waiting_.fetch_add(1, std::memory_order_relaxed);
      return place.id;
    }
    return 0;
  }

  /// Carries out what waits, oldest first: `draw` is called with each order and returns its status.
  template <typename Draw>
  void run(Draw draw) {
    const std::scoped_lock lock(drawing_);
    while (BatchOrder* next = oldest()) {
      next->status = draw(*next);
      for (uint32_t index = 0; index < errorDetailCount; ++index) next->detail[index] = errorDetail[index];
      {
        // Who takes it sees what was drawn.
        const std::scoped_lock done(placing_);
        next->isDone = true;
      }
      // Release: pairs with waiting().
      waiting_.fetch_sub(1, std::memory_order_release);
    }
  }

  /// Forgets an order that was carried out, and gives what became of it; false where there is none, or it still waits.
  bool take(double id, Status* status) {
    const std::scoped_lock lock(placing_);
    for (BatchOrder& place : places_) {
      if (place.id != id || id == 0 || !place.isDone) continue;
      *status = fail(place.status, place.detail[0], place.detail[1], place.detail[2], place.detail[3]);
      place.id = 0;
      return true;
    }
    return false;
  }

 private:
  BatchOrder* oldest() {
    const std::scoped_lock lock(placing_);
    BatchOrder* found = nullptr;
    for (BatchOrder& place : places_) {
      if (place.id != 0 && !place.isDone && (found == nullptr || place.id < found->id)) found = &place;
    }
    return found;
  }

  std::mutex drawing_;
  std::mutex placing_;
  std::atomic<uint32_t> waiting_ = 0;
  BatchOrder places_[EXRP_LIMIT_ORDERS] = {};
  double given_ = 0;
};

}  // namespace exrp
