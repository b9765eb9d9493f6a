// The memory of arrays in WebAssembly: runs of pages of the module's one memory, which can only grow.
//
// There is no address space to reserve: an address has 32 bits, and arrays together may have 4 GiB. So an array has a room, a run of
// pages. An array that moves leaves pages behind, which the module can't give back to the system: it can only use them again. So arrays have wide
// rooms as long as these lie in the first 1.5 GiB: pages take memory only once they are touched. Otherwise an array moves to a larger room when it is
// full:
// - Where it is known how much will be used one day, the room is that large from the start, and an eighth larger where it can be: blocks of
//   records are seldom quite full. Its pages take memory only once they are touched, and a replay that can't have its memory is refused when
//   it is created, not when it is nearly full.
// - Else the room doubles, and from 16 MiB on it grows by a quarter.
// All that is committed is set to zero, as the run may have been used before.
//
// malloc() and its kin, which objects and scratch memory come from, take their pages from the same place. So all that a replay gives back
// can be used again for anything.
#include "kernel/base/memory.hpp"

#if defined(__wasm__)

#include <cstdlib>
#include <cstring>

#include "kernel/base/block_heap.hpp"
#include "kernel/base/page_runs.hpp"

namespace exrp {
namespace {

/// The module's memory.
struct ModuleMemory {
  static constexpr size_t grainBytes = size_t{64} << 10;

  /// A run's end must be an address. So the last grain of all is never given: the linker sets that limit.
  uintptr_t more(size_t bytes) {
    const size_t before = __builtin_wasm_memory_grow(0, bytes / grainBytes);
    return before == SIZE_MAX ? 0 : before * grainBytes;
  }
};

using Runs = PageRuns<ModuleMemory>;
static_assert(Runs::grainBytes == ModuleMemory::grainBytes);

Runs& runs() {
  static ModuleMemory memory;
  static Runs made(memory);
  return made;
}

BlockHeap<Runs>& heap() {
  static BlockHeap<Runs> made(runs());
  return made;
}

/// An array has all the room that it may ever need from the start, or this much, as long as that lies below wideRoomsEnd.
constexpr size_t wideRoomMax = size_t{512} << 20;
/// So large replays find most of the module's memory as it was.
constexpr size_t wideRoomsEnd = size_t{3} << 29;

/// The room for an array that needs `bytes` now.
size_t ampleRoom(size_t bytes, size_t most) {
  constexpr size_t large = size_t{16} << 20;
  const size_t more = bytes < large ? bytes : bytes / 4;
  const size_t room = more < most - bytes ? bytes + more : most;
  return room < SIZE_MAX - Runs::pageBytes ? Runs::whole(room) : bytes;
}

/// A room so wide that the array will hardly move; null where there is none, where the array needs a larger one anyway, and for an array that may
/// be larger and of which nobody knows how much it needs.
void* reserveWide(Reservation* reservation, size_t needed) {
  const size_t bytes = reservation->reservedBytes < wideRoomMax ? reservation->reservedBytes : wideRoomMax;
  const size_t room = Runs::whole(bytes);
  const bool isOpen = !reservation->isExpected && reservation->reservedBytes > wideRoomMax;
  if (isOpen || needed > bytes || runs().endOf(room) > wideRoomsEnd) return nullptr;
  void* const base = runs().take(room);
  if (base != nullptr) reservation->roomBytes = room;
  return base;
}

}  // namespace

void* resizeMemory(void* old, size_t bytes) { return std::realloc(old, bytes); }

void* reserveMemory(Reservation* reservation) {
  const size_t bytes = reservation->isExpected && reservation->expectedBytes > 0 ? reservation->expectedBytes : 1;
  if (bytes > SIZE_MAX - Runs::pageBytes) return nullptr;
  if (void* const base = reserveWide(reservation, bytes); base != nullptr) return base;
  const size_t ample = bytes / 8 < reservation->reservedBytes - bytes ? bytes + bytes / 8 : reservation->reservedBytes;
  size_t& room = reservation->roomBytes;
  if (reservation->isExpected && ample < SIZE_MAX - Runs::pageBytes) {
    room = Runs::whole(ample);
    void* const base = runs().take(room);
    if (base != nullptr) return base;
  }
  room = Runs::whole(bytes);
  return runs().take(room);
}

void* commitMemory(void* base, size_t from, size_t to, Reservation* reservation) {
  size_t& room = reservation->roomBytes;
  if (to > SIZE_MAX - Runs::pageBytes) return nullptr;
  if (to > room) {
    size_t larger = ampleRoom(to, reservation->reservedBytes);
    const size_t enough = Runs::whole(to);
    if (runs().extend(base, room, larger) || runs().extend(base, room, larger = enough)) {
      room = larger;
    } else {
      larger = ampleRoom(to, reservation->reservedBytes);
      void* moved = runs().take(larger);
      if (moved == nullptr) moved = runs().take(larger = enough);
      if (moved == nullptr) return nullptr;
      memcpy(moved, base, from);
      runs().give(base, room);
      base = moved;
      room = larger;
    }
  }
  memset(static_cast<uint8_t*>(base) + from, 0, to - from);
  return base;
}

void allowHugePages(void*, size_t, const Reservation&, bool) {}

void releaseMemory(void* base, const Reservation& reservation) { runs().give(base, reservation.roomBytes); }

/// What is committed was set to zero, and so takes memory.
double pagesBytes(size_t, size_t committed, const Reservation&) { return static_cast<double>(Runs::whole(committed)); }

double physicalMemoryBytes() { return 0x1p32; }
double groupMemoryBytes(const char*) { return 0.0; }

}  // namespace exrp

extern "C" {

void* malloc(size_t bytes) { return exrp::heap().take(bytes); }
void free(void* block) { exrp::heap().give(block); }
void* realloc(void* block, size_t bytes) { return exrp::heap().resize(block, bytes); }
void* calloc(size_t count, size_t each) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, each, &bytes)) return nullptr;
  void* const block = malloc(bytes);
  return block == nullptr ? nullptr : memset(block, 0, bytes);
}

}  // extern "C"

#endif  // defined(__wasm__)
