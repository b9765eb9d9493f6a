// ReplayRegistry: the seats of the process by integer id, and how many use each replay.
//
// Thread safety: any thread may call.
// Invariants: 1. ReplayInstance::userCount counts the seats of a replay, and the threads that are in attach() or between remove() and free().
#pragma once

#include "kernel/abi/registry.hpp"
#include "kernel/sharing/replay_instance.hpp"

namespace exrp {

class ReplayRegistry : public Registry<Seat, EXRP_LIMIT_REPLAYS> {
 public:
  /// A number that no other copy of the kernel in the process has.
  const double kernel = numberOfThisCopy();
  uint64_t nextSerial() { return serial_.fetch_add(1, std::memory_order_relaxed) + 1; }

  /// The replay of this serial, kept until release(). Null where it has no seat left.
  ReplayInstance* keep(double serial) {
    const Lock lock(mutex_);
    Seat* const seat = at(first([&](const Seat& each) { return static_cast<double>(each.instance.serial) == serial; }));
    if (seat == nullptr) return nullptr;
    ++seat->instance.userCount;
    return &seat->instance;
  }
  /// One user of the replay less. True where it was the last: the caller frees the replay.
  bool release(ReplayInstance& instance) {
    const Lock lock(mutex_);
    return --instance.userCount == 0;
  }

 private:
  std::atomic<uint64_t> serial_ = 0;
};

}  // namespace exrp
