// BatchOrders: batches that were asked for ahead, to be drawn by another thread while the caller's does something else.
//
// An order counts as carried out at the moment at which it was given: every call that asks or changes the replay first draws what
// is still waiting, in order. So the same calls give the same draws however fast the other thread is. Giving an order and taking one
// that is done ask and change nothing but the orders, and wait for no draw: else each batch would wait for the next one's.
//
// Whose memory is written: an order names memory of the caller's, who may end at any moment, as a Worker does. Another thread writes
// to an order's memory only while that order's own runFor() is under way, as its caller keeps the memory for as long. The caller's
// thread may write to it in any call of its own.
//
// Where threads share a replay, each seat has its own orders. A seat's calls come after its own orders, not after those of other seats.
//
// Thread safety: runFor() may be called from any thread, and while the caller's thread is in any call on the replay; all else is the
// caller's thread's. Whoever draws has set isDrawing_, and nobody else of the seat touches the replay then: the caller's thread comes here
// first (ReplayInstance::finishOrders), and waits no longer than the batches take. guard_ guards everything else, for a moment. No lock is held
// between two calls. guard_ is open while `draw` is called, so that `draw` may take the lock of a shared replay.
// Invariants:
//   1. The flags count the orders that were given and are not carried out; the count falls only when one is wholly done.
//   2. A place that is given and not done is changed by nobody but who draws, isHeld aside.
//   3. At most one thread draws, and always the oldest order.
// Cost: for calls when nothing waits, one load.
#pragma once

#include "kernel/base/error.hpp"
#include "kernel/base/sync.hpp"
#include "kernel/sharing/call_flags.hpp"

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
  bool isHeld;  // its runFor() is under way
};

class BatchOrders {
 public:
  explicit BatchOrders(CallFlags& flags) : flags_(flags) {}
  uint32_t waiting() const { return flags_.waiting(); }

  /// Takes an order without a number, by the caller's thread; its number, or 0 where there are too many.
  double give(const BatchOrder& order) {
    const Lock lock(guard_);
    for (BatchOrder& place : places_) {
      if (place.id != 0) continue;
      place = order;
      place.id = ++given_;
      flags_.orderGiven();
      return place.id;
    }
    return 0;
  }

  /// Carries out what waits, oldest first, by the caller's thread: `draw` is called with each order and returns its status.
  template <typename Draw>
  void run(Draw draw) {
    Lock lock(guard_);
    while (true) {
      while (isDrawing_) lock.wait(changed_);
      BatchOrder* const next = oldest();
      if (next == nullptr) return;
      carryOut(*next, lock, draw);
    }
  }

  /// From another thread, whose caller keeps the memory at `batch` until this returns: carries out the order, and before it those older
  /// ones whose runFor() is under way too. Returns when the order is done, or close() was called; false where there is no such order.
  template <typename Draw>
  bool runFor(double id, const uint8_t* batch, Draw draw) {
    Lock lock(guard_);
    BatchOrder* const mine = find(id);
    if (mine == nullptr || mine->batch != batch) return false;
    mine->isHeld = true;
    changed_.notify_all();
    // Its place may be taken and given again: the number tells.
    while (mine->id == id && !mine->isDone) {
      if (isDrawing_) {
        // It may be this one that is drawn, and even while closing its memory is wanted until that is done.
        lock.wait(changed_);
        continue;
      }
      if (isClosing_) break;
      BatchOrder* const next = oldest();
      if (next->isHeld || !hasThreads) {
        carryOut(*next, lock, draw);
      } else {
        lock.wait(changed_);
      }
    }
    if (mine->id == id) mine->isHeld = false;
    return true;
  }

  /// Lets every runFor() return, once nothing is being drawn.
  void close() {
    const Lock lock(guard_);
    isClosing_ = true;
    changed_.notify_all();
  }

  /// Forgets an order that was carried out, and gives what became of it; false where there is none, or it still waits.
  bool take(double id, Status* status) {
    const Lock lock(guard_);
    BatchOrder* const found = find(id);
    if (found == nullptr || !found->isDone) return false;
    *status = fail(found->status, found->detail[0], found->detail[1], found->detail[2], found->detail[3]);
    found->id = 0;
    return true;
  }

 private:
  /// Draws an order; the lock is open meanwhile.
  template <typename Draw>
  void carryOut(BatchOrder& order, Lock& lock, Draw draw) {
    isDrawing_ = true;
    lock.unlock();
    const Status status = draw(order);
    lock.lock();
    order.status = status;
    for (uint32_t index = 0; index < errorDetailCount; ++index) order.detail[index] = errorDetail[index];
    order.isDone = true;
    isDrawing_ = false;
    flags_.orderDone();
    changed_.notify_all();
  }

  BatchOrder* find(double id) {
    for (BatchOrder& place : places_) {
      if (place.id == id && id != 0) return &place;
    }
    return nullptr;
  }

  BatchOrder* oldest() {
    BatchOrder* found = nullptr;
    for (BatchOrder& place : places_) {
      if (place.id != 0 && !place.isDone && (found == nullptr || place.id < found->id)) found = &place;
    }
    return found;
  }

  CallFlags& flags_;
  Mutex guard_;
  Condition changed_;
  bool isDrawing_ = false;
  bool isClosing_ = false;
  BatchOrder places_[EXRP_LIMIT_ORDERS] = {};
  double given_ = 0;
};

}  // namespace exrp
