// TablesRegistry: the sets of tables of the process by integer id, as kernel/abi/replay_registry.hpp has the seats of replays.
//
// An id is (generation << 16) | place, so a stale id gives a status. The owner of a set is the number of the thread that made it:
// removeOwned() takes out the sets of one thread, one a call.
//
// Thread safety: any thread may add, find and remove. Calls for one set come one at a time, from one thread.
// Invariants: 1. A place is free exactly when its set is null.
// Cost: find is two loads and one comparison. The registry lives as long as the process and has no destructor.
#pragma once

#include <atomic>

#include "kernel/base/sync.hpp"
#include "kernel/tables/tables.hpp"

namespace exrp {

/// A set, and the thread that made it.
struct OwnedTables {
  Tables tables;
  uint64_t owner = 0;
};

class TablesRegistry {
 public:
  Status add(OwnedTables* made, uint32_t* id) {
    const Guard lock(mutex_);
    for (uint32_t tried = 0; tried < placeCount; ++tried) {
      const uint32_t place = (next_ + tried) % placeCount;
      if (places_[place].load(std::memory_order_relaxed) != nullptr) continue;
      next_ = place + 1;
      if (++generations_[place] == 0) ++generations_[place];
      const uint32_t number = uint32_t{generations_[place]} << 16 | place;
      ids_[place].store(number, std::memory_order_relaxed);
      // Release: a thread that finds the set sees it whole.
      places_[place].store(made, std::memory_order_release);
      count_.fetch_add(1, std::memory_order_relaxed);
      *id = number;
      return Status::ok;
    }
    return fail(Status::limit, placeCount);
  }

  /// The set, or null.
  OwnedTables* find(uint32_t id) const {
    const uint32_t place = id & 0xffff;
    if (place >= placeCount) return nullptr;
    // Acquire: pairs with add's release.
    OwnedTables* const found = places_[place].load(std::memory_order_acquire);
    return ids_[place].load(std::memory_order_relaxed) == id ? found : nullptr;
  }

  OwnedTables* remove(uint32_t id) {
    const Guard lock(mutex_);
    OwnedTables* const found = find(id);
    if (found != nullptr) takeOut(id & 0xffff);
    return found;
  }
  OwnedTables* removeOwned(uint64_t owner) {
    const Guard lock(mutex_);
    for (uint32_t place = 0; place < placeCount; ++place) {
      OwnedTables* const found = places_[place].load(std::memory_order_relaxed);
      if (found == nullptr || found->owner != owner) continue;
      takeOut(place);
      return found;
    }
    return nullptr;
  }

  uint32_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t placeCount = EXRP_LIMIT_TABLES_SETS;

  void takeOut(uint32_t place) {
    places_[place].store(nullptr, std::memory_order_relaxed);
    count_.fetch_sub(1, std::memory_order_relaxed);
  }

  Mutex mutex_;
  std::atomic<OwnedTables*> places_[placeCount] = {};
  std::atomic<uint32_t> ids_[placeCount] = {};
  uint16_t generations_[placeCount] = {};
  std::atomic<uint32_t> count_ = 0;
  uint32_t next_ = 0;
};

}  // namespace exrp
