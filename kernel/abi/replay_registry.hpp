// Registry: the seats of the process by integer id. An id is never a pointer.
//
// An id is (generation << 16) | place. Each use of a place raises its generation, so a stale id gives a status.
// The owner of a seat is the number of the thread that made it. removeOwned() takes out the seats of one thread, one per call.
//
// Thread safety: any thread may add, attach, find and remove. Calls by one seat come one at a time.
// Invariants:
//   1. A place is free exactly when its seat is null.
//   2. Instance::userCount counts the seats of a replay, and the threads that are in attach() or between remove() and free().
// Cost: find is two loads and one comparison. The registry lives as long as the process and has no destructor, because the
// library may be unloaded before exit() runs destructors.
#pragma once

#include <atomic>

#include "kernel/base/sync.hpp"
#include "kernel/sharing/instance.hpp"

namespace exrp {

class Registry {
 public:
  /// `kernel` is a number that no other copy of the kernel in the process has.
  explicit Registry(double kernel) : kernel_(kernel) {}
  double kernel() const { return kernel_; }
  uint64_t nextSerial() { return serial_.fetch_add(1, std::memory_order_relaxed) + 1; }

  Status add(Seat* seat, uint32_t* id) {
    const Guard lock(mutex_);
    for (uint32_t tried = 0; tried < placeCount; ++tried) {
      const uint32_t place = (next_ + tried) % placeCount;
      if (places_[place].load(std::memory_order_relaxed) != nullptr) continue;
      next_ = place + 1;
      const uint16_t generation = ++generations_[place];
      ids_[place].store(uint32_t{generation} << 16 | place, std::memory_order_relaxed);
      // Release: a thread that finds the seat sees it whole.
      places_[place].store(seat, std::memory_order_release);
      count_.fetch_add(1, std::memory_order_relaxed);
      *id = uint32_t{generation} << 16 | place;
      return Status::ok;
    }
    return fail(Status::limit, placeCount);
  }

  /// The seat, or null.
  Seat* find(uint32_t id) const {
    const uint32_t place = id & 0xFFFF;
    // Acquire: pairs with add's release.
    Seat* seat = places_[place].load(std::memory_order_acquire);
    return ids_[place].load(std::memory_order_relaxed) == id ? seat : nullptr;
  }

  /// The seat, for a thread other than the caller's. remove() waits until that thread leaves. Null where there is no such seat.
  Seat* enter(uint32_t id) {
    const Guard lock(mutex_);
    Seat* seat = find(id);
    if (seat != nullptr) ++seat->runnerCount;
    return seat;
  }
  void leave(Seat* seat) {
    const Guard lock(mutex_);
    --seat->runnerCount;
    left_.notify_all();
  }

  /// Takes the seat out once no other thread is in it. Null where there is no such seat.
  Seat* remove(uint32_t id) {
    Lock lock(mutex_);
    Seat* seat = find(id);
    if (seat != nullptr) takeOut(id & 0xFFFF, seat, lock);
    return seat;
  }

  /// Takes out one seat of this owner, like remove(). Null where it has none left.
  Seat* removeOwned(uint64_t owner) {
    Lock lock(mutex_);
    for (uint32_t place = 0; place < placeCount; ++place) {
      Seat* seat = places_[place].load(std::memory_order_relaxed);
      if (seat == nullptr || seat->owner != owner) continue;
      takeOut(place, seat, lock);
      return seat;
    }
    return nullptr;
  }

  /// The replay of this serial, kept until release(). Null where it has no seat left.
  Instance* keep(double serial) {
    const Guard lock(mutex_);
    for (uint32_t place = 0; place < placeCount; ++place) {
      Seat* seat = places_[place].load(std::memory_order_relaxed);
      if (seat == nullptr || static_cast<double>(seat->instance.serial) != serial) continue;
      ++seat->instance.userCount;
      return &seat->instance;
    }
    return nullptr;
  }
  /// One user of the replay less. True where it was the last: the caller frees the replay.
  bool release(Instance& instance) {
    const Guard lock(mutex_);
    return --instance.userCount == 0;
  }

  uint32_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  void takeOut(uint32_t place, Seat* seat, Lock& lock) {
    places_[place].store(nullptr, std::memory_order_relaxed);
    count_.fetch_sub(1, std::memory_order_relaxed);
    // The wait lasts at most as long as the batch that is being drawn.
    seat->orders.close();
    while (seat->runnerCount != 0) lock.wait(left_);
  }

  static constexpr uint32_t placeCount = EXRP_LIMIT_REPLAYS;

  Mutex mutex_;
  Condition left_;
  std::atomic<Seat*> places_[placeCount] = {};
  std::atomic<uint32_t> ids_[placeCount] = {};
  uint16_t generations_[placeCount] = {};
  std::atomic<uint32_t> count_ = 0;
  std::atomic<uint64_t> serial_ = 0;
  const double kernel_;
  uint32_t next_ = 0;
};

}  // namespace exrp
