// Registry: the replays of the process by integer id. An id is never a pointer.
//
// An id is (generation << 16) | place. Each use of a place raises its generation, so a stale id gives a status.
// The owner of a replay is the number of the thread that made it. removeOwned() takes out the replays of one thread, one per call.
//
// Thread safety: any thread may add, find and remove. The caller makes calls on one replay one at a time.
// Invariants:
//   1. A place is free exactly when its replay is null.
// Cost: find is two loads and one comparison. The registry lives as long as the process and has no destructor, because the
// library may be unloaded before exit() runs destructors.
#pragma once

#include <atomic>

#include "kernel/base/sync.hpp"
#include "kernel/instance.hpp"

namespace exrp {

class Registry {
 public:
  Status add(Instance* replay, uint32_t* id) {
    const Guard lock(mutex_);
    for (uint32_t tried = 0; tried < placeCount; ++tried) {
      const uint32_t place = (next_ + tried) % placeCount;
      if (places_[place].load(std::memory_order_relaxed) != nullptr) continue;
      next_ = place + 1;
      const uint16_t generation = ++generations_[place];
      ids_[place].store(uint32_t{generation} << 16 | place, std::memory_order_relaxed);
      // Release: a thread that finds the replay sees it whole.
      places_[place].store(replay, std::memory_order_release);
      count_.fetch_add(1, std::memory_order_relaxed);
      *id = uint32_t{generation} << 16 | place;
      return Status::ok;
    }
    return fail(Status::limit, placeCount);
  }

  /// The replay, or null.
  Instance* find(uint32_t id) const {
    const uint32_t place = id & 0xFFFF;
    // Acquire: pairs with add's release.
    Instance* replay = places_[place].load(std::memory_order_acquire);
    return ids_[place].load(std::memory_order_relaxed) == id ? replay : nullptr;
  }

  /// The replay, for a thread other than the caller's. remove() waits until that thread leaves. Null where there is no such replay.
  Instance* enter(uint32_t id) {
    const Guard lock(mutex_);
    Instance* replay = find(id);
    if (replay != nullptr) ++replay->runnerCount;
    return replay;
  }
  void leave(Instance* replay) {
    const Guard lock(mutex_);
    --replay->runnerCount;
    left_.notify_all();
  }

  /// Takes the replay out once no other thread is in it. Null where there is no such replay.
  Instance* remove(uint32_t id) {
    Lock lock(mutex_);
    Instance* replay = find(id);
    if (replay != nullptr) takeOut(id & 0xFFFF, replay, lock);
    return replay;
  }

  /// Takes out one replay of this owner, like remove(). Null where it has none left.
  Instance* removeOwned(uint64_t owner) {
    Lock lock(mutex_);
    for (uint32_t place = 0; place < placeCount; ++place) {
      Instance* replay = places_[place].load(std::memory_order_relaxed);
      if (replay == nullptr || replay->owner != owner) continue;
      takeOut(place, replay, lock);
      return replay;
    }
    return nullptr;
  }

  uint32_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  void takeOut(uint32_t place, Instance* replay, Lock& lock) {
    places_[place].store(nullptr, std::memory_order_relaxed);
    count_.fetch_sub(1, std::memory_order_relaxed);
    // The wait lasts at most as long as the batch that is being drawn.
    replay->closeOrders();
    left_.wait(lock, [&] { return replay->runnerCount == 0; });
  }

  static constexpr uint32_t placeCount = EXRP_LIMIT_REPLAYS;

  Mutex mutex_;
  Condition left_;
  std::atomic<Instance*> places_[placeCount] = {};
  std::atomic<uint32_t> ids_[placeCount] = {};
  uint16_t generations_[placeCount] = {};
  std::atomic<uint32_t> count_ = 0;
  uint32_t next_ = 0;
};

}  // namespace exrp
