// Registry: what the process has of one kind, by integer id: the seats of replays, and the sets of tables. An id is never a pointer.
//
// An id is (generation << 16) | place. Each use of a place raises its generation, so a stale id gives a status.
// The owner of an entry is the number of the thread that made it. removeOwned() takes out those of one thread, one per call.
//
// Thread safety: any thread may add, find and remove. Calls by one entry come one at a time, but for those of threads between enter() and leave(), which it counts
// in its `runnerCount`.
// Invariants: 1. A place is free exactly when its entry is null.
// Cost: find is two loads and one comparison. A registry lives as long as the process.
#pragma once

#include <atomic>

#include "kernel/base/error.hpp"
#include "kernel/base/process.hpp"
#include "kernel/base/sync.hpp"

namespace exrp {

template <typename Entry, uint32_t placeCount>
class Registry {
 public:
  Status add(Entry* entry, uint32_t* id) {
    const Lock lock(mutex_);
    for (uint32_t tried = 0; tried < placeCount; ++tried) {
      const uint32_t place = (next_ + tried) % placeCount;
      if (places_[place].load(std::memory_order_relaxed) != nullptr) continue;
      next_ = place + 1;
      if (++generations_[place] == 0) ++generations_[place];
      *id = uint32_t{generations_[place]} << 16 | place;
      ids_[place].store(*id, std::memory_order_relaxed);
      // Release: a thread that finds the entry sees it whole.
      places_[place].store(entry, std::memory_order_release);
      count_.fetch_add(1, std::memory_order_relaxed);
      return Status::ok;
    }
    return fail(Status::limit, placeCount);
  }

  /// The entry, or null.
  Entry* find(uint32_t id) const {
    const uint32_t place = id & 0xffff;
    if (place >= placeCount) return nullptr;
    // Acquire: pairs with add's release.
    Entry* const entry = places_[place].load(std::memory_order_acquire);
    return ids_[place].load(std::memory_order_relaxed) == id ? entry : nullptr;
  }

  /// The entry, for a thread other than the caller's, until leave(). Null where there is none.
  Entry* enter(uint32_t id) {
    const Lock lock(mutex_);
    Entry* const entry = find(id);
    if (entry != nullptr) ++entry->runnerCount;
    return entry;
  }
  void leave(Entry* entry) {
    const Lock lock(mutex_);
    --entry->runnerCount;
    left_.notify_all();
  }

  /// Takes the entry out, once no other thread is in it. Null where there is no such entry.
  Entry* remove(uint32_t id) {
    Lock lock(mutex_);
    return find(id) == nullptr ? nullptr : takeOut(id & 0xffff, lock);
  }
  /// Takes out one entry of this owner, like remove(). Null where it has none left.
  Entry* removeOwned(uint64_t owner) {
    Lock lock(mutex_);
    return takeOut(first([&](const Entry& each) { return each.owner == owner; }), lock);
  }

  uint32_t count() const { return count_.load(std::memory_order_relaxed); }

 protected:
  /// The place of the first entry for which `is` holds; placeCount for none. Under the mutex.
  template <typename Is>
  uint32_t first(Is is) const {
    uint32_t place = 0;
    while (place < placeCount && !(at(place) != nullptr && is(*at(place)))) ++place;
    return place;
  }
  Entry* at(uint32_t place) const { return place < placeCount ? places_[place].load(std::memory_order_relaxed) : nullptr; }

  Mutex mutex_;

 private:
  Entry* takeOut(uint32_t place, Lock& lock) {
    Entry* const entry = at(place);
    if (entry == nullptr) return nullptr;
    places_[place].store(nullptr, std::memory_order_relaxed);
    count_.fetch_sub(1, std::memory_order_relaxed);
    // With its orders closed, a thread stays at most as long as the batch that is being drawn, or as it waits for the disk.
    if constexpr (requires { entry->orders; }) entry->orders.close();
    while (entry->runnerCount != 0) lock.wait(left_);
    return entry;
  }

  Condition left_;  // another thread left an entry
  std::atomic<Entry*> places_[placeCount] = {};
  std::atomic<uint32_t> ids_[placeCount] = {};
  uint16_t generations_[placeCount] = {};
  std::atomic<uint32_t> count_ = 0;
  uint32_t next_ = 0;
};

}  // namespace exrp
