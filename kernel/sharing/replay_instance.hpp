// ReplayInstance: one replay as the registry keeps it: its state, the parts that work on it, and what its seats share.
//
// Each call comes by a seat. Where the replay is shared, a Turn takes the lock for the call. Else it costs nothing. Large rows are copied
// after the lock is given back (kernel/store/copy_queue.hpp).
//
// Thread safety: runOrder() may be called from any thread, at any time. All else comes from the seat's thread, within a Turn.
#pragma once

#include "kernel/base/rate_limiter.hpp"
#include "kernel/calls/drawing.hpp"
#include "kernel/calls/recording.hpp"
#include "kernel/calls/statistics.hpp"
#include "kernel/durable/durable.hpp"
#include "kernel/replay/abandoned_episodes.hpp"
#include "kernel/replay/replay.hpp"
#include "kernel/sharing/sharing.hpp"
#include "kernel/snapshot/snapshot.hpp"

namespace exrp {

class ReplayInstance {
 public:
  explicit ReplayInstance(uint64_t number) : serial(number) {}
  Status create(const ReplayConfig& config, const PickPolicy& pick);

  // ---- calls, and batches ordered ahead ----

  /// Waits until the seat may call. `taken` says whether leave() has to follow.
  Status enter(Seat& seat, bool* taken, uint32_t patience = ShortLock::shortPatience);
  /// Gives the lock back, and then does what the call left to copy.
  void leave(Seat& seat);

  /// Orders a batch, to be drawn as of now. Neither this nor takeBatch() waits for a draw, but for that of the order that is taken.
  Status orderBatch(Seat& seat, uint32_t selector, uint32_t count, double beta, uint8_t* batch, double batchBytes, double* order);
  Status takeBatch(Seat& seat, double order);
  /// Draws what the seat ordered before. Every call but those two comes here first.
  void finishOrders(Seat& seat) {
    if (seat.flags.waiting() > 0) seat.orders.run([&](const BatchOrder& order) { return carryOut(seat, order); });
  }
  /// From another thread, whose caller keeps the order's memory at `batch` until this returns.
  Status runOrder(Seat& seat, double order, const uint8_t* batch) {
    const bool isKnown = seat.orders.runFor(order, batch, [&](const BatchOrder& each) { return carryOut(seat, each); });
    return isKnown ? Status::ok : fail(Status::argument, 2, order);
  }

  // ---- the rate limiter ----

  /// `numbers` are those of EXRP_RATE_LIMITER_*: none, the rule, or the rule and its counts.
  Status setRateLimiter(Seat& seat, const double* numbers, uint32_t count);
  /// With the counts of now.
  RateLimiter& rateLimiter();
  /// Whether a call of so many inserts or samples, as EXRP_ALLOW_* says, may go ahead.
  Status allows(uint32_t what, uint32_t count) { return rateLimiter_.isSet() ? rateLimiter().admit(what, count) : Status::ok; }
  /// Draws, if the rate limiter allows it.
  Status getBatch(Seat& seat, uint32_t selector, BatchRange range, double beta, uint8_t* batch, double batchBytes);
  Status grantSamples(Seat& seat, uint32_t count);
  Status endGrant(Seat& seat, uint32_t count);

  // ---- a mirror ----

  /// There is one at a time: of some columns, of which the seat draws addresses from now on. Without `hostCopy`, rows that it has leave memory.
  Status beginMirror(Seat& seat, uint64_t columns, bool hostCopy);
  void endMirror(Seat& seat);

  // ---- seats ----

  /// Lets other threads attach by a new ticket; the first time, `seat` is the only one.
  Status share(Seat& seat, uint32_t* ticket);
  /// Gives a new seat its place. Comes without a Turn.
  Status admit(Seat& seat);
  /// Ends what a seat began: its hold, and its open episodes, as truncated. Comes without a Turn, from the thread that gives the seat up.
  void dismiss(Seat& seat, bool threadEnded);
  /// Nobody attaches by this ticket any more, and those who did are barred. `seat` stays.
  Status revoke(const Seat& seat, uint32_t ticket);
  Status hold(Seat& seat);
  Status endHold(Seat& seat);

  /// Bytes of memory in use beside those of Replay::info(), and of the seats.
  double memoryBytes(const Seat& seat) const;

  Replay replay;
  Recording recording{replay};
  Statistics statistics{replay};
  Drawing drawing{replay, statistics};
  Snapshot snapshot{replay};
  /// Null where the replay is not durable. It ends before what it writes down.
  std::unique_ptr<Durable> durable;
  bool isDurable() const { return durable != nullptr; }
  Sharing sharing;
  /// Its number, never used for another replay of the process.
  const uint64_t serial;
  /// How many seats there are, and threads that attach: the registry's, under its mutex. The last one frees the replay.
  uint32_t userCount = 1;

 private:
  Status carryOut(Seat& seat, const BatchOrder& order);
  void abandon(uint16_t writer);

  RateLimiter rateLimiter_;
  uint64_t uncounted_ = 0;  // records that came before the rate limiter's first
  const LargeCopier copier_;
};

/// A call of a seat. On a replay that is shared it has the lock.
class Turn {
 public:
  explicit Turn(Seat& seat, uint32_t patience = ShortLock::shortPatience)
      : seat_(seat), status_(seat.instance.enter(seat, &taken_, patience)) {}
  ~Turn() {
    if (taken_) seat_.instance.leave(seat_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  /// Unless it is ok, nothing may be called.
  Status status() const { return status_; }

 private:
  Seat& seat_;
  bool taken_ = false;
  Status status_;
};

}  // namespace exrp
