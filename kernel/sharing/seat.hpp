// Seat: one thread's place at a replay. The id that a binding calls with is a seat's.
//
// A replay that is not shared has one seat, its creator's. Each thread that attaches gets one more, with scratch and orders of its own, so
// that two threads share nothing but the replay. A seat remembers its ticket: revoking the ticket bars the seats that came by it.
//
// Thread safety: calls by one seat come from one thread. Only batch orders are drawn by another, which waits for nothing of the seat's
// (batch_orders.hpp). `isBarred` is written under the replay's lock, and read there. `next` belongs to the instance, under its lock.
// `runnerCount` is the registry's, under its mutex.
#pragma once

#include "kernel/calls/thread_scratch.hpp"
#include "kernel/sharing/batch_orders.hpp"
#include "kernel/sharing/call_flags.hpp"

namespace exrp {

class ReplayInstance;

struct Seat {
  explicit Seat(ReplayInstance& at) : instance(at) {}

  ReplayInstance& instance;
  CallFlags flags;
  ThreadScratch scratch;
  BatchOrders orders{flags};
  /// Marks the episodes that this seat writes; 0 while the replay is not shared.
  uint16_t number = 0;
  uint32_t ticket = 0;     // by which it came
  bool isGuest = false;    // it came by a ticket
  bool isBarred = false;   // its ticket was revoked
  bool hasMirror = false;  // exrp_mirror_begin
  bool isGranted = false;  // the rate limiter allowed a batch of several calls
  uint32_t holdCount = 0;  // how often the seat holds the lock; its own thread's
  uint32_t runnerCount = 0;
  uint64_t owner = 0;  // the thread's number, 0 where the system gives none
  Seat* next = nullptr;

  /// Bytes of memory in use.
  double memoryBytes() const { return static_cast<double>(sizeof(Seat)) + scratch.memoryBytes(); }
};

}  // namespace exrp
