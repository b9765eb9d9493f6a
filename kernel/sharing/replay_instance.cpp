#include "kernel/sharing/replay_instance.hpp"

#include <cstring>

namespace exrp {

Status ReplayInstance::create(const ReplayConfig& config, const PickPolicy& pick) {
  const Status status = replay.create(config, pick);
  if (status == Status::ok) recording.create();
  return status;
}

// ---- calls, and batches ordered ahead ----

Status ReplayInstance::enter(Seat& seat, bool* taken, uint32_t patience) {
  if (!seat.flags.isShared() || sharing.isHeldBy(seat)) return Status::ok;
  Status status = sharing.take(seat, patience);
  if (status != Status::ok) return status;
  if (seat.isBarred) {
    sharing.giveBack();
    return fail(Status::revoked, seat.ticket);
  }
  *taken = true;
  replay.book().setWriter(seat.number);
  seat.scratch.copies.clear();
  replay.book().store().setCopies(&seat.scratch.copies);
  return Status::ok;
}

void ReplayInstance::leave(Seat& seat) {
  replay.book().store().setCopies(nullptr);
  sharing.giveBack();
  if (seat.scratch.copies.isEmpty()) return;
  copier_.run(seat.scratch.copies);
  seat.scratch.copies.unpin();
}

Status ReplayInstance::orderBatch(Seat& seat, uint32_t selector, uint32_t count, double beta, uint8_t* batch, double batchBytes,
                                  double* order) {
  const double id = seat.orders.give({0, selector, count, beta, batch, batchBytes, Status::ok, {}, false, false});
  if (id == 0) return fail(Status::ordersFull, EXRP_LIMIT_ORDERS);
  *order = id;
  return Status::ok;
}

Status ReplayInstance::takeBatch(Seat& seat, double order) {
  Status status = Status::ok;
  if (seat.orders.take(order, &status)) return status;
  finishOrders(seat);
  return seat.orders.take(order, &status) ? status : fail(Status::argument, 2, order);
}

/// Where the seat holds the lock, its own thread waits for this draw before its next call, and before it gives the lock back.
Status ReplayInstance::carryOut(Seat& seat, const BatchOrder& order) {
  const Turn turn(seat);
  Status status = turn.status();
  if (status == Status::ok) status = snapshot.checkWhole();
  if (status != Status::ok) return status;
  return getBatch(seat, order.selector, {0, order.count, order.count}, order.beta, order.batch, order.batchBytes);
}

// ---- the rate limiter ----

/// A new rule begins like a new replay that has just got its first minSize records, or as many as there are.
Status ReplayInstance::setRateLimiter(Seat& seat, const double* numbers, uint32_t count) {
  RateLimiter made;
  const uint64_t recorded = replay.book().recordedCount();
  uint64_t inserts = recorded;
  if (count > 0) {
    if (count != EXRP_RATE_LIMITER_RULE_COUNT && count != EXRP_RATE_LIMITER_SAVED_COUNT) return fail(Status::argument, 3, count);
    const Status status = made.set(numbers, 2, replay.config().capacity);
    if (status != Status::ok) return status;
    const uint64_t stored = replay.book().recordCount();
    const auto minSize = static_cast<uint64_t>(made.minSize());
    inserts = stored < minSize ? stored : minSize;
  }
  if (count == EXRP_RATE_LIMITER_SAVED_COUNT) {
    const double saved = numbers[EXRP_RATE_LIMITER_INSERTS];
    const double samples = numbers[EXRP_RATE_LIMITER_SAMPLES];
    if (!isWhole(saved, 0, static_cast<double>(recorded))) return fail(Status::argument, 2, saved);
    if (!isWhole(samples, 0, 0x1p53)) return fail(Status::argument, 2, samples);
    inserts = static_cast<uint64_t>(saved);
    made.setCounts({.samples = static_cast<int64_t>(samples)});
  }
  rateLimiter_ = made;
  uncounted_ = recorded - inserts;
  // A shared replay's calls come to look anyway.
  if (!seat.flags.isShared()) seat.flags.setLimited(count > 0);
  return Status::ok;
}

RateLimiter& ReplayInstance::rateLimiter() {
  const auto inserts = static_cast<int64_t>(replay.book().recordedCount() - uncounted_);
  rateLimiter_.setCounts({inserts, rateLimiter_.counts().samples, inserts - static_cast<int64_t>(replay.book().recordCount())});
  return rateLimiter_;
}

Status ReplayInstance::getBatch(Seat& seat, uint32_t selector, BatchRange range, double beta, uint8_t* batch, double batchBytes) {
  seat.scratch.isChosen = false;
  Status status = seat.isGranted ? Status::ok : allows(EXRP_ALLOW_SAMPLES, range.count);
  if (status == Status::ok) status = drawing.getBatch(seat.scratch, selector, range, beta, batch, batchBytes);
  if (status == Status::ok && !seat.isGranted) rateLimiter_.sampled(range.count);
  if (isDurable() && seat.scratch.isChosen) [[unlikely]] {
    double detail[errorDetailCount];
    memcpy(detail, errorDetail, sizeof detail);
    const DrawHead head = {selector, range.count};
    durable->note(Command::draw, {{&head, sizeof head}});
    memcpy(errorDetail, detail, sizeof detail);
  }
  return status;
}

// ---- a mirror ----

Status ReplayInstance::beginMirror(Seat& seat, uint64_t columns, bool hostCopy) {
  MirroredRows& mirrored = replay.book().part<MirroredRows>();
  if (mirrored.isOn()) return fail(Status::limit, 1);
  if (!hostCopy) {
    if (!isDurable() || !durable->resident().isOn()) return fail(Status::argument, 5, -1);
    // A block leaves with all its columns, and a batch would read the others from the disk.
    const PackedColumns& packed = replay.book().store().packed();
    for (uint32_t at = 0; at < packed.count(); ++at) {
      if ((columns >> packed.column(at) & 1) == 0) return fail(Status::argument, 5, packed.column(at));
    }
  }
  seat.scratch.addressed.reset(new (std::nothrow) BatchScratch[EXRP_LIMIT_PICK_VIEWS]);
  Status status = seat.scratch.addressed == nullptr ? fail(Status::memory, sizeof(BatchScratch) * EXRP_LIMIT_PICK_VIEWS) : Status::ok;
  if (status == Status::ok) status = replay.picks().beginAddresses(replay.book().store(), replay.book().part<ColumnStatistics>(), columns);
  if (status == Status::ok) status = mirrored.begin(replay.book(), columns);
  seat.hasMirror = true;
  if (status != Status::ok) endMirror(seat);
  else if (!hostCopy) durable->resident().beginLean();
  return status;
}

void ReplayInstance::endMirror(Seat& seat) {
  if (!seat.hasMirror) return;
  seat.hasMirror = false;
  seat.scratch.addressed.reset();
  replay.picks().endAddresses();
  replay.book().part<MirroredRows>().end();
  if (isDurable()) durable->resident().endLean();
}

Status ReplayInstance::grantSamples(Seat& seat, uint32_t count) {
  const Status status = allows(EXRP_ALLOW_SAMPLES, count);
  seat.isGranted = status == Status::ok;
  return status;
}

Status ReplayInstance::endGrant(Seat& seat, uint32_t count) {
  seat.isGranted = false;
  rateLimiter_.sampled(count);
  return Status::ok;
}

// ---- seats ----

Status ReplayInstance::share(Seat& seat, uint32_t* ticket) {
  if (!hasThreads) return fail(Status::notSharable, EXRP_SHARE_NO_THREADS);
  if (replay.eviction() == nullptr) return fail(Status::notSharable, EXRP_SHARE_OWN_EVICTION);
  if (replay.picks().isJournalOpen()) return fail(Status::notSharable, EXRP_SHARE_JOURNAL);
  if (!seat.flags.isShared()) {
    if (const Status status = sharing.admit(seat); status != Status::ok) return status;
    replay.book().store().keepPins(&sharing.pins());
    seat.flags.share();
  }
  return sharing.issue(ticket);
}

Status ReplayInstance::admit(Seat& seat) {
  Status status = sharing.take(seat);
  if (status != Status::ok) return status;
  if (!sharing.isIssued(seat.ticket)) status = fail(Status::ticket, EXRP_TICKET_GONE);
  else if (sharing.isRevoked(seat.ticket)) status = fail(Status::ticket, EXRP_TICKET_REVOKED);
  else status = sharing.admit(seat);
  if (status == Status::ok) seat.flags.share();
  sharing.giveBack();
  return status;
}

/// Ends the open episodes of a seat.
void ReplayInstance::abandon(uint16_t writer) {
  endEpisodesOf(replay, writer);
  const uint64_t number = writer;
  if (isDurable()) durable->note(Command::abandon, {{&number, sizeof number}});
}

void ReplayInstance::dismiss(Seat& seat, bool threadEnded) {
  if (!seat.flags.isShared()) return;
  const bool holds = sharing.isHeldBy(seat);
  // Where the thread holds the lock by another seat, that serves, too.
  const bool taken = holds || sharing.take(seat) == Status::ok;
  snapshot.endFor(&seat);
  endMirror(seat);
  if (!seat.isBarred) abandon(seat.number);
  sharing.dismiss(seat);
  sharing.endedCount += threadEnded ? 1 : 0;
  for (bool isHeld = holds; isHeld; isHeld = !sharing.endHold(seat)) {
    if (isDurable()) durable->endHold();
  }
  if (taken) sharing.giveBack();
}

Status ReplayInstance::revoke(const Seat& seat, uint32_t ticket) {
  if (!sharing.isIssued(ticket)) return fail(Status::argument, 2, ticket);
  sharing.revoke(ticket);
  for (Seat* other = sharing.seats(); other != nullptr; other = other->next) {
    const bool cameByIt = other->isGuest && other->ticket == ticket && other != &seat;
    if (!cameByIt || other->isBarred) continue;
    other->isBarred = true;
    abandon(other->number);
  }
  return Status::ok;
}

Status ReplayInstance::hold(Seat& seat) {
  if (seat.flags.isShared() && !sharing.isHeldBy(seat)) {
    bool taken = false;
    const Status status = enter(seat, &taken);
    if (status != Status::ok) return status;
    // Its calls copy at once from now on.
    replay.book().store().setCopies(nullptr);
  }
  if (seat.flags.isShared()) sharing.hold(seat);
  if (isDurable()) durable->hold();
  return Status::ok;
}

Status ReplayInstance::endHold(Seat& seat) {
  if (seat.flags.isShared() && !sharing.isHeldBy(seat)) return fail(Status::argument, 1, seat.number);
  if (isDurable()) durable->endHold();
  if (seat.flags.isShared() && sharing.endHold(seat)) sharing.giveBack();
  return Status::ok;
}

double ReplayInstance::memoryBytes(const Seat& seat) const {
  double bytes = static_cast<double>(sizeof(ReplayInstance)) + statistics.memoryBytes() + snapshot.memoryBytes() + sharing.noteSize();
  if (isDurable()) bytes += durable->memoryBytes();
  if (!seat.flags.isShared()) return bytes + seat.memoryBytes();
  for (const Seat* each = sharing.seats(); each != nullptr; each = each->next) bytes += each->memoryBytes();
  return bytes;
}

}  // namespace exrp
