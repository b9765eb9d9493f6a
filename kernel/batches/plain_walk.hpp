// PlainWalk: the route "flights" of kernel/batches/batch.hpp. It copies the commonest batches: records, next states in any form, and
// n-step returns.
//
// The state and the reward must lie side by side in one group of the store. Columns beside that group are left to the caller: large
// columns, and those that some records keep.
//
// Picks go through it in flights. Each stage is a loop of its own over the picks of a flight:
// (1) ask for their entries in the pick table;
// (2) read their slots; ask for the heads of their blocks, and for their rows as if these lay together, which is nearly always so;
// (3) read heads and episodes, and copy the parts of the batch one after the other (kernel/batches/copy_runs.hpp).
// While a flight is at stage 1, the one before it is at stage 2 and the one before that at stage 3. create() chooses the pace of the
// flights by the processor: LongFlights, or ShortFlights for single records on Intel. The end of an ended episode may shorten n-step returns; these are mended after stage 3. A pick is left to the caller
// where its rows are torn, or where records or next states are missing.
//
// Thread safety: after create() it changes nothing but the batch, so many threads may share it.
// Invariants:
//   1. It writes what BatchMaker's other routes would write, to the byte.
// Cost: near that of moving the bytes (docs/performance.md, "The plain walk"); no allocation.
#pragma once

#include "kernel/batches/batch_layout.hpp"
#include "kernel/batches/copy_runs.hpp"
#include "kernel/store/episode_table.hpp"
#include "kernel/store/pick_table.hpp"

namespace exrp {

/// Where the picks of a batch come from and go to.
struct WalkJob {
  const EpisodeTable& episodes;
  const PickTable& table;
  const uint32_t* indices;
  BatchRange range;
  const BatchTarget& target;
  uint32_t* pickedEpisodes;
};

/// A pick as it was looked up.
struct WalkedPick {
  uint32_t slot;
  uint32_t position;
};

/// Flights of 32 picks; all that they ask for goes into the second cache.
struct LongFlights {
  static constexpr uint32_t count = 32;
  static void askLookUp(const void* address) { prefetchLineFar(address); }
};

/// Flights of 16 picks. What they look up goes into the first cache, and rows into the second. Intel processors have few buffers for lines
/// that are on their way, and a long flight fills them and waits.
struct ShortFlights {
  static constexpr uint32_t count = 16;
  static void askLookUp(const void* address) { prefetchLine(address); }
};

class PlainWalk {
 public:
  void create(const Store& store, const PickPolicy& policy);
  /// False where the policy or the columns ask for more than it does.
  bool takes() const { return store_ != nullptr; }

  /// Asks for what run() reads first, so that it may come meanwhile.
  static void begin(const PickTable& table, const uint32_t* indices, uint32_t count) {
    ask<LongFlights>(table, indices, smaller(count, flightsAhead * LongFlights::count));
  }

  /// Fills the range, after begin(). `copyAlone(episode, pick, index)` copies the pick that goes to `index` in another way, all its
  /// parts but pickEpisode, pickPosition and columns that are kept for some records only; the discounts of its rows are the policy's
  /// until then. Where there are columns beside the group, `askBeside(slot)` asks for the rows of each pick's, and
  /// `copyBeside(pick, isWhole, index)` copies them later; those of all records only where it is whole.
  template <typename CopyAlone, typename AskBeside, typename CopyBeside>
  void run(const WalkJob& job, CopyAlone copyAlone, AskBeside askBeside, CopyBeside copyBeside) const {
    fill(job);
    if (inShortFlights_) runIn<ShortFlights>(job, copyAlone, askBeside, copyBeside);
    else runIn<LongFlights>(job, copyAlone, askBeside, copyBeside);
  }

 private:
  template <typename Flights, typename CopyAlone, typename AskBeside, typename CopyBeside>
  void runIn(const WalkJob& job, CopyAlone copyAlone, AskBeside askBeside, CopyBeside copyBeside) const {
    constexpr uint32_t flightCount = Flights::count;
    Flight<Flights> ring[flightsAhead];
    const uint32_t count = (job.range.count + flightCount - 1) / flightCount;
    for (uint32_t done = 0, found = 0; done < count; ++done) {
      const uint32_t asked = done + flightsAhead;
      if (asked < count) ask<Flights>(job.table, job.indices + asked * flightCount, sizeOf<Flights>(job, asked));
      for (const uint32_t end = smaller(done + flightsAhead, count); found < end; ++found) {
        Flight<Flights>& flight = ring[found % flightsAhead];
        findBy<Flights>()(*this, job, found, &flight);
        for (uint32_t k = 0; hasBeside_ && k < sizeOf<Flights>(job, found); ++k) askBeside(flight.slots[k]);
      }
      Flight<Flights>& flight = ring[done % flightsAhead];
      locate(job, done, &flight);
      const size_t first = job.range.first + done * flightCount;
      const auto pickAt = [&](uint32_t k) { return WalkedPick{flight.slots[k], flight.positions[k]}; };
      const uint64_t apart = copyWhole(job, done, &flight);
      for (uint64_t bits = apart; bits != 0; bits &= bits - 1) {
        const auto k = static_cast<uint32_t>(__builtin_ctzll(bits));
        copyAlone(job.episodes[flight.episodes[k]], pickAt(k), first + k);
      }
      for (uint32_t k = 0; hasBeside_ && k < sizeOf<Flights>(job, done); ++k) copyBeside(pickAt(k), (apart >> k & 1) == 0, first + k);
    }
  }

  // Measured: docs/performance.md, "The plain walk".
  static constexpr uint32_t flightsAhead = 2;
  static constexpr uint32_t laneCount = 8;     // picks that are reckoned with at once
  static constexpr uint32_t nStepsMax = 64;    // steps of a return
  static_assert(LongFlights::count <= 64 && LongFlights::count % laneCount == 0);
  static_assert(ShortFlights::count <= 64 && ShortFlights::count % laneCount == 0);

  typedef uint32_t Lanes __attribute__((vector_size(4 * laneCount), may_alias));
  /// What is known of the picks of a flight. Up to a multiple of the lanes the first stands in for those that are not there.
  template <typename Flights>
  struct alignas(sizeof(Lanes)) Flight {
    uint32_t slots[Flights::count];
    uint32_t episodes[Flights::count];
    uint32_t positions[Flights::count];
    uint32_t torn[Flights::count];  // all bits, or none
    const uint8_t* rows[Flights::count];
  };
  /// A part that is one column of a pick's rows, `offset` bytes from its first row.
  struct Part {
    CopyRuns copy;
    uint32_t column;
    uint32_t offset;
    uint32_t bytes;
  };

  static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
  /// Picks of a flight: the last may have less than the others.
  template <typename Flights>
  static uint32_t sizeOf(const WalkJob& job, uint32_t flight) {
    return smaller(Flights::count, job.range.count - flight * Flights::count);
  }

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
  template <typename Flights>
  static void ask(const PickTable& table, const uint32_t* indices, uint32_t count) {
    const uint32_t* const slots = table.slots();
    for (uint32_t k = 0; k < count; ++k) Flights::askLookUp(slots + indices[k]);
  }
  template <typename Flights>
  using Find = void (*)(const PlainWalk& walk, const WalkJob& job, uint32_t number, Flight<Flights>* flight);
  template <typename Flights>
  Find<Flights> findBy() const;
  template <typename Flights>
  static Find<Flights> findOf(uint32_t lines);
  template <uint32_t lines, typename Flights>
  static void find(const PlainWalk& walk, const WalkJob& job, uint32_t number, Flight<Flights>* flight);
  template <typename Flights>
  void locate(const WalkJob& job, uint32_t number, Flight<Flights>* flight) const;
  template <typename Flights>
  uint64_t copyWhole(const WalkJob& job, uint32_t number, Flight<Flights>* flight) const;
  template <typename Flights>
  uint64_t copyCut(const WalkJob& job, uint32_t number, const uint32_t* cut, Flight<Flights>* flight) const;

  void fill(const WalkJob& job) const;
  void copyParts(const WalkJob& job, const uint8_t* const* rows, uint32_t first, uint32_t count) const;
  void copyReturns(const uint8_t* const* rows, uint32_t count, uint32_t length, uint32_t n, float* to) const;
  void mendEnd(const WalkJob& job, const uint8_t* row, uint32_t left, bool terminated, size_t index) const;
  void prefetchTorn(uint32_t slot) const;

  const Store* store_ = nullptr;
  PickPolicy policy_;
  uint32_t reach_ = 0;     // the last row that is looked at, counted from a pick's first
  size_t stride_ = 0;
  bool inShortFlights_ = false;
  Find<LongFlights> findLong_ = nullptr;
  Find<ShortFlights> findShort_ = nullptr;
  uint32_t lines_ = 0;     // of a pick's rows, asked for
  size_t lastByte_ = 0;    // of a pick's rows
  uint32_t stateBytes_ = 0;
  size_t stateOffset_ = 0;
  CopyBoth copyBoth_ = nullptr;
  CopyRuns copyStates_ = nullptr;
  bool hasBeside_ = false;
  Part parts_[columnMax] = {};  // the columns of the group after the state
  uint32_t partCount_ = 0;
  double powers_[nStepsMax] = {};                  // of the discount
  float nStepDiscounts_[EXRP_LIMIT_N_STEPS] = {};
};

template <>
inline PlainWalk::Find<LongFlights> PlainWalk::findBy<LongFlights>() const {
  return findLong_;
}
template <>
inline PlainWalk::Find<ShortFlights> PlainWalk::findBy<ShortFlights>() const {
  return findShort_;
}

}  // namespace exrp
