// How a function of the C ABI calls a replay: it finds the seat, draws what that ordered, waits for other seats, and calls.
//
// `use` takes the seat, the instance, or the instance and the seat's scratch, and returns a status, or nothing where it can't fail.
#pragma once

#include <type_traits>

#include "kernel/abi/replay_registry.hpp"

namespace exrp {

inline ReplayRegistry* registry() { return onlyOne<ReplayRegistry>(); }

inline int32_t number(Status status) { return static_cast<int32_t>(status); }

/// What `use` returns; Status::ok where it returns nothing, as it can't fail. This and callWith() are inlined, as each call of the ABI goes through them.
template <typename Use, typename... Arguments>
[[gnu::always_inline]] inline Status statusOf(Use use, Arguments&... arguments) {
  if constexpr (std::is_same_v<std::invoke_result_t<Use, Arguments&...>, Status>) return use(arguments...);
  else return use(arguments...), Status::ok;
}

template <typename Use>
[[gnu::always_inline]] inline Status callWith(Use use, Seat& seat) {
  if constexpr (std::is_invocable_v<Use, Seat&>) return statusOf(use, seat);
  else if constexpr (std::is_invocable_v<Use, ReplayInstance&, ThreadScratch&>) return statusOf(use, seat.instance, seat.scratch);
  else return statusOf(use, seat.instance);
}

/// Calls `use` with the seat while another thread may draw what it ordered. Returns replayUnknown where there is no such seat.
template <typename Use>
int32_t withSeat(uint32_t id, Use use) {
  Seat* found = registry() == nullptr ? nullptr : registry()->find(id);
  if (found == nullptr) return number(fail(Status::replayUnknown, id));
  return number(use(*found));
}

/// The same from a thread that need not be the seat's own. The seat stays until `use` has returned.
template <typename Use>
int32_t fromAnyThread(uint32_t id, Use use) {
  Seat* const seat = registry() == nullptr ? nullptr : registry()->enter(id);
  if (seat == nullptr) return number(fail(Status::replayUnknown, id));
  const Status status = use(*seat);
  registry()->leave(seat);
  return number(status);
}

/// Draws what the seat ordered, waits for other seats, and calls.
template <typename Use>
[[gnu::noinline]] Status inTurn(Seat& seat, Use use, uint32_t patience = ShortLock::shortPatience) {
  seat.instance.finishOrders(seat);
  const Turn turn(seat, patience);
  return turn.status() == Status::ok ? callWith(use, seat) : turn.status();
}

/// Calls `use` with the seat, or with the replay, and the seat's scratch where it asks for one. The seat's ordered batches are drawn first, and other
/// seats' calls do not come in between.
template <typename Use>
int32_t withReplay(uint32_t id, Use use) {
  return withSeat(id, [&](Seat& seat) { return seat.flags.areClear() ? callWith(use, seat) : inTurn(seat, use); });
}

/// The same call, refused where a buffer of `count` elements is too small for `needed`.
template <typename Use>
int32_t withRoom(uint32_t id, uint32_t count, uint32_t needed, Use use) {
  return withReplay(id, [&](Seat& seat) { return count < needed ? fail(Status::bufferSize, count, needed) : callWith(use, seat); });
}

/// The same call, refused while the replay is being loaded, as its parts do not fit yet.
template <typename Use>
auto onceWhole(Use use) {
  return [use](Seat& seat) __attribute__((always_inline)) {
    const Status status = seat.instance.snapshot.checkWhole();
    return status == Status::ok ? callWith(use, seat) : status;
  };
}

/// Like withReplay(), for calls that draw or change something.
template <typename Use>
int32_t withWhole(uint32_t id, Use use) {
  return withReplay(id, onceWhole(use));
}

}  // namespace exrp
