// Sharing: what several threads at one replay need: its lock, who holds it, who has a seat, and which tickets are good.
//
// A call takes the lock for as long as it lasts. A seat may also hold it over several calls, as for saving. Holding is nested, and the seat's
// own calls go through. A thread that ends in between gives the lock back with its seat.
//
// Thread safety: seats call from their threads. Everything below `lock_` is guarded by it, but for holder_ and holderThread_: those change
// under the lock, and are read without it. A seat can only find itself in holder_ if it put itself there. holderThread_ tells a thread that
// it would wait for itself: another thread's number, however old, never equals its own.
// Invariants:
//   1. holder_ is null, or the seat that has the lock between its calls.
//   2. Each listed seat has a number of its own, from 1 on. A ticket's serial is below issuedCount_.
// Lock order: the registry's mutex is never taken while a replay's lock is held, nor the other way round.
#pragma once

#include <memory>
#include <new>

#include "kernel/base/error.hpp"
#include "kernel/base/short_lock.hpp"
#include "kernel/sharing/seat.hpp"

namespace exrp {

class Sharing {
 public:
  // ---- the lock ----

  /// Waits for the lock. Fails where the seat's own thread holds it by another seat, as that would be for ever.
  Status take(const Seat& seat, uint32_t patience = ShortLock::shortPatience) {
    const bool taken = lock_.lock([&] { return !isHeldByThread(seat.owner); }, patience);
    return taken ? Status::ok : fail(Status::held);
  }
  void giveBack() { lock_.unlock(); }

  bool isHeldBy(const Seat& seat) const { return holder_.load(std::memory_order_relaxed) == &seat; }
  bool isHeldByThread(uint64_t thread) const { return thread != 0 && holderThread_.load(std::memory_order_relaxed) == thread; }
  /// The seat, which has the lock, keeps it after the call; once more where it does already.
  void hold(Seat& seat) {
    ++seat.holdCount;
    holder_.store(&seat, std::memory_order_relaxed);
    holderThread_.store(seat.owner, std::memory_order_relaxed);
  }
  /// The seat holds the lock once less. True where it is to be given back now.
  bool endHold(Seat& seat) {
    if (--seat.holdCount > 0) return false;
    holder_.store(nullptr, std::memory_order_relaxed);
    holderThread_.store(0, std::memory_order_relaxed);
    return true;
  }

  // ---- seats and tickets: the caller has the lock ----

  CopyPins& pins() { return pins_; }
  Seat* seats() const { return seats_; }
  uint32_t seatCount() const { return seatCount_; }
  Status admit(Seat& seat) {
    uint32_t number = 1;
    for (bool isTaken = true; isTaken; number += isTaken ? 1 : 0) {
      isTaken = false;
      for (const Seat* other = seats_; other != nullptr; other = other->next) isTaken |= other->number == number;
    }
    if (number > EXRP_LIMIT_SEATS) return fail(Status::limit, EXRP_LIMIT_SEATS);
    seat.number = static_cast<uint16_t>(number);
    seat.scratch.copies.bind(&pins_, number);
    seat.next = seats_;
    seats_ = &seat;
    ++seatCount_;
    return Status::ok;
  }
  void dismiss(Seat& seat) {
    Seat** at = &seats_;
    while (*at != &seat) at = &(*at)->next;
    *at = seat.next;
    --seatCount_;
  }

  Status issue(uint32_t* serial) {
    if (issuedCount_ == EXRP_LIMIT_TICKETS) return fail(Status::limit, EXRP_LIMIT_TICKETS);
    *serial = issuedCount_++;
    return Status::ok;
  }
  bool isIssued(uint32_t serial) const { return serial < issuedCount_; }
  bool isRevoked(uint32_t serial) const { return (revoked_[serial / 64] >> serial % 64 & 1) != 0; }
  void revoke(uint32_t serial) { revoked_[serial / 64] |= uint64_t{1} << serial % 64; }

  // ---- a note of the binding's, for those who attach ----

  Status setNote(const uint8_t* bytes, uint32_t bytesCount) {
    std::unique_ptr<uint8_t[]> made(new (std::nothrow) uint8_t[bytesCount]);
    if (made == nullptr) return fail(Status::memory, bytesCount);
    memcpy(made.get(), bytes, bytesCount);
    note_ = std::move(made);
    noteSize_ = bytesCount;
    return Status::ok;
  }
  const uint8_t* note() const { return note_.get(); }
  uint32_t noteSize() const { return noteSize_; }

  /// Seats that were taken back as their threads ended.
  uint32_t endedCount = 0;

 private:
  std::atomic<const Seat*> holder_ = nullptr;
  std::atomic<uint64_t> holderThread_ = 0;
  ShortLock lock_;
  Seat* seats_ = nullptr;
  uint32_t seatCount_ = 0;
  uint32_t issuedCount_ = 0;
  uint64_t revoked_[EXRP_LIMIT_TICKETS / 64] = {};
  CopyPins pins_;
  std::unique_ptr<uint8_t[]> note_;
  uint32_t noteSize_ = 0;
};

}  // namespace exrp
