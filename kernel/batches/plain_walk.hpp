// PlainWalk: the route "flights" of kernel/batches/batch.hpp. It copies plain picks (kernel/batches/plain_picks.hpp). Columns beside the
// group of the state are left to the caller: large columns, and those that some records keep.
//
// Picks go through it in flights. Each stage is a loop of its own over the picks of a flight:
// (1) ask for their entries in the pick table;
// (2) read their slots; ask for the heads of their blocks, and for their rows as if these lay together, which is nearly always so;
// (3) read heads and episodes, and copy the parts of the batch one after the other (kernel/batches/copy_runs.hpp).
// While a flight is at stage 1, the one before it is at stage 2 and the one before that at stage 3. What is asked for goes into the
// second cache. The end of an ended episode may shorten n-step returns; these are mended after stage 3. A pick is left to the caller
// where its rows are torn, or where records or next states are missing.
//
// WebAssembly can't ask for anything, and each access of memory costs more there. So it has no stage 1, and lookUp() reads heads and
// episodes. A flight is long there: the processor reads ahead by itself, but hardly beyond the end of a loop.
//
// Thread safety: after create() it changes nothing but the batch, so many threads may share it.
// Invariants:
//   1. It writes what BatchMaker's other routes would write, to the byte.
// Cost: near that of moving the bytes (docs/internals/performance.md, "The plain walk"); no allocation.
#pragma once

#include "kernel/batches/copy_runs.hpp"
#include "kernel/batches/plain_picks.hpp"

namespace exrp {

class PlainWalk : public PlainPicks {
 public:
  void create(const Store& store, const PickPolicy& policy);

  /// Asks for what run() reads first, so that it may come meanwhile.
  static void begin(const PickTable& table, const uint32_t* indices, uint32_t count) {
    if constexpr (canPrefetch) ask(table, indices, smaller(count, flightsAhead * flightCount));
  }

  /// Fills the range, after begin(). `copyAlone(episode, pick, index)` copies the pick that goes to `index` in another way, all its
  /// parts but pickEpisode, pickPosition and columns that are kept for some records only; the discounts of its rows are the policy's
  /// until then. Where there are columns beside the group, `askBeside(slot)` asks for the rows of each pick's, and
  /// `copyBeside(pick, isWhole, index)` copies them later; those of all records only where it is whole.
  template <typename CopyAlone, typename AskBeside, typename CopyBeside>
  void run(const WalkJob& job, CopyAlone copyAlone, AskBeside askBeside, CopyBeside copyBeside) const {
    fill(job);
    Flight ring[flightsAhead];
    const uint32_t count = (job.range.count + flightCount - 1) / flightCount;
    for (uint32_t done = 0, found = 0; done < count; ++done) {
      const uint32_t asked = done + flightsAhead;
      if (canPrefetch && asked < count) ask(job.table, job.indices + asked * flightCount, sizeOf(job, asked));
      for (const uint32_t end = smaller(done + flightsAhead, count); found < end; ++found) {
        Flight& flight = ring[found % flightsAhead];
        find_(*this, job, found, &flight);
        for (uint32_t k = 0; hasBeside_ && k < sizeOf(job, found); ++k) askBeside(flight.slots[k]);
      }
      Flight& flight = ring[done % flightsAhead];
      const size_t first = job.range.first + done * flightCount;
      const int32_t* const positions = job.target.pickPosition + first;
      const auto pickAt = [&](uint32_t k) { return WalkedPick{flight.slots[k], static_cast<uint32_t>(positions[k])}; };
      const uint32_t apartCount = canPrefetch ? copyWhole(job, done, &flight) : copyLookedUp(job, done, &flight);
      for (uint32_t at = 0; at < apartCount; ++at) {
        const uint32_t k = flight.apart[at];
        copyAlone(job.episodes[job.pickedEpisodes[done * flightCount + k]], pickAt(k), first + k);
      }
      uint32_t at = 0;
      for (uint32_t k = 0; hasBeside_ && k < sizeOf(job, done); ++k) {
        const bool isApart = at < apartCount && flight.apart[at] == k;
        if (isApart) ++at;
        copyBeside(pickAt(k), !isApart, first + k);
      }
    }
  }

 private:
  // Measured: docs/internals/performance.md, "The plain walk", and webassembly.md beside it for WebAssembly.
  static constexpr uint32_t flightCount = canPrefetch ? 32 : 256;  // picks that are worked on together
  static constexpr uint32_t flightsAhead = canPrefetch ? 2 : 1;
  static constexpr uint32_t commonShift = 4;  // of a store's blocks
  static constexpr uint32_t laneCount = 8;  // picks that are reckoned with at once
  static_assert(flightCount % laneCount == 0);

  typedef uint32_t Lanes __attribute__((vector_size(4 * laneCount), may_alias));
  /// What is known of the picks of a flight. Up to a multiple of the lanes the first stands in for those that are not there.
  struct alignas(sizeof(Lanes)) Flight {
    uint32_t slots[flightCount];
    uint32_t episodes[flightCount];
    uint32_t positions[flightCount];
    uint32_t torn[flightCount];  // all bits, or none
    const uint8_t* rows[flightCount];
    uint32_t cuts[flightCount];   // rising: picks that are torn, or so near their episodes' ends that it matters
    uint32_t apart[flightCount];  // rising: those of them that are left to the caller
  };
  /// Picks of a flight: the last may have less than the others.
  static uint32_t sizeOf(const WalkJob& job, uint32_t flight) { return smaller(flightCount, job.range.count - flight * flightCount); }

  static Lanes* lanes(uint32_t* numbers) { return static_cast<Lanes*>(static_cast<void*>(numbers)); }
  /// Whether any bit is set.
  static bool anyOf(const Lanes& lanes) {
    uint64_t words[sizeof(Lanes) / sizeof(uint64_t)];
    __builtin_memcpy(words, &lanes, sizeof words);
    uint64_t any = 0;
    for (const uint64_t word : words) any |= word;
    return any != 0;
  }

  // The stages, of a flight.
  static void ask(const PickTable& table, const uint32_t* indices, uint32_t count);
  using Find = void (*)(const PlainWalk& walk, const WalkJob& job, uint32_t number, Flight* flight);
  template <uint32_t lines>
  static void find(const PlainWalk& walk, const WalkJob& job, uint32_t number, Flight* flight);
  void locate(const WalkJob& job, uint32_t number, Flight* flight) const;
  uint32_t copyWhole(const WalkJob& job, uint32_t number, Flight* flight) const;
  // In WebAssembly, instead of the two before it.
  using LookUp = uint32_t (*)(const PlainWalk& walk, const WalkJob& job, uint32_t number, Flight* flight);
  template <uint32_t shift>
  static uint32_t lookUp(const PlainWalk& walk, const WalkJob& job, uint32_t number, Flight* flight);
  uint32_t copyLookedUp(const WalkJob& job, uint32_t number, Flight* flight) const;
  uint32_t copyCut(const WalkJob& job, uint32_t number, uint32_t cutCount, Flight* flight) const;

  bool isTorn(uint32_t slot) const;
  void copyParts(const WalkJob& job, const uint8_t* const* rows, uint32_t first, uint32_t count) const;

  Find find_ = nullptr;
  LookUp lookUp_ = nullptr;
  CopyBoth copyBoth_ = nullptr;
  CopyRuns copyStates_ = nullptr;
  CopyRuns copyParts_[columnMax] = {};
};

}  // namespace exrp
