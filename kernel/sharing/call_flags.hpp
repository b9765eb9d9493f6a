// CallFlags: one word that is 0 when a call may go straight to the replay.
//
// It is 0 for a replay of one thread that has ordered no batch and has no rate limiter. So such a replay pays one load and one branch for all that
// sharing needs. Each seat has its own flags: other threads touch them only to draw an order of that seat.
//
// Thread safety: any thread may call.
// Invariants:
//   1. areClear() is false while an order of the seat waits or is being drawn, while a replay of one thread has a rate limiter, and once the replay
//      is shared.
#pragma once

#include <atomic>
#include <cstdint>

namespace exrp {

class CallFlags {
 public:
  /// Acquire: who sees no order waiting sees all that was drawn.
  bool areClear() const { return word_.load(std::memory_order_acquire) == 0; }

  /// Orders that were given and are not carried out.
  uint32_t waiting() const { return word_.load(std::memory_order_acquire) & countMask; }
  void orderGiven() { word_.fetch_add(1, std::memory_order_relaxed); }
  /// Release: pairs with the loads.
  void orderDone() { word_.fetch_sub(1, std::memory_order_release); }

  /// By the seat's own thread. It is never taken back.
  void share() { word_.fetch_or(sharedBit, std::memory_order_relaxed); }
  /// By the seat's own thread, on a replay that is not shared: whether it has a rate limiter.
  void setLimited(bool isLimited) {
    if (isLimited) word_.fetch_or(limitedBit, std::memory_order_relaxed);
    else word_.fetch_and(~limitedBit, std::memory_order_relaxed);
  }
  bool isShared() const { return (word_.load(std::memory_order_relaxed) & sharedBit) != 0; }

 private:
  static constexpr uint32_t sharedBit = uint32_t{1} << 31;
  static constexpr uint32_t limitedBit = uint32_t{1} << 30;
  static constexpr uint32_t countMask = (uint32_t{1} << 16) - 1;

  std::atomic<uint32_t> word_ = 0;
};

}  // namespace exrp
