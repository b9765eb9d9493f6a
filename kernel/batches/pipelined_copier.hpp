// PipelinedCopier: the route "flights" of kernel/batches/batch.hpp. It copies the commonest batches: records, next states in any form, ends, and
// n-step returns. Columns beside the group of the small ones are left to the caller: large columns, and those that some records keep.
//
// All leaves of the state and the reward must lie side by side in one group of the store, and a pick with what lies ahead of it must have at most pickBytesMax
// there. A pick is *whole* where all rows lie one after another. Where they don't, or where an ended episode has fewer, they are first copied
// together. Picks of which an open episode has too few rows are left to the caller, and with transforms those that an episode's end shortens. That end may
// also shorten a pick or its n-step returns; mendEnd() puts these right.
//
// Picks go through it in flights. Each stage is a loop of its own over the picks of a flight:
// (1) ask: ask for their entries in the pick view;
// (2) find: read their slots; ask for the heads of their blocks, and for their rows as if these lay together, which is nearly always so;
// (3) look up: read heads and episodes; then copy the parts of the batch one after the other (kernel/batches/copy_runs.hpp).
// While a flight is at stage 1, the one before it is at stage 2 and the one before that at stage 3. Rows are asked for into the second
// cache.
//
// WebAssembly can't ask for anything, and each access of memory costs more there. So the three stages have two versions:
// pipelined_copier_native.cpp, and pipelined_copier_wasm.cpp.
//
// Thread safety: after create() it changes nothing but the batch, so many threads may share it.
// Invariants:
//   1. It writes what the window route would write, to the byte.
//   2. The size of its flights, and the cache for look-ups, change the speed alone.
// Cost: near that of moving the bytes (docs/internals/performance.md, "The pipelined copier"); no allocation.
#pragma once

#include <memory>

#include "kernel/batches/column_transform.hpp"
#include "kernel/batches/copy_runs.hpp"
#include "kernel/batches/gatherer.hpp"

namespace exrp {

/// A pick as it was looked up.
struct FlightPick {
  uint32_t slot;
  uint32_t position;
};

class PipelinedCopier {
 public:
  /// How it looks picks up.
  struct Tuning {
    uint32_t flightCount;  // picks that are worked on together: a multiple of 8, at most flightMax
    bool isNear;           // whether what look-ups read comes into the first cache, and not the second
  };
  /// The fastest for such picks on this processor.
  static Tuning tuningFor(const PickPolicy& policy);

  /// The transforms of columns, and where their numbers begin among a batch's scales.
  struct Transforms {
    std::unique_ptr<ColumnTransform> of[columnMax];
    size_t scaleAt[columnMax] = {};
  };

  /// With `transforms`, it changes rows while it copies them. It keeps them.
  void create(const Store& store, const PickPolicy& policy, const Tuning& tuning, const Transforms* transforms = nullptr);
  /// False where the policy or the columns ask for more than it does.
  bool takes() const { return store_ != nullptr; }

  /// Bytes that run() needs for the rows of torn picks.
  size_t joinedBytes() const { return tuning_.flightCount * pickBytes_; }

  /// Fills the range; `joined` is memory for torn picks. `copyAlone(pick, index)` copies the pick that goes to `index` in another way, all its
  /// parts but pickEpisode, pickPosition and columns that are kept for some records only; the discounts of its rows are the policy's
  /// until then. Where there are columns beside the group, `askBeside(slot)` asks for the rows of each pick's, and
  /// `copyBeside(pick, isWhole, index)` copies them later; those of all records only where it is whole.
  template <typename CopyAlone, typename AskBeside, typename CopyBeside>
  void run(const GatherJob& job, uint8_t* joined, CopyAlone copyAlone, AskBeside askBeside, CopyBeside copyBeside) const {
    Flight ring[flightsAhead];
    const uint32_t flightCount = tuning_.flightCount;
    fill(job);
    const uint32_t count = (job.range.count + flightCount - 1) / flightCount;
    for (uint32_t done = 0, found = 0; done < count; ++done) {
      const uint32_t asked = done + flightsAhead;
      if (asked < count) ask(job.picks, job.indices + asked * flightCount, sizeOf(job, asked));
      for (const uint32_t end = smaller(done + flightsAhead, count); found < end; ++found) {
        Flight& flight = ring[found % flightsAhead];
        find(job, found, &flight);
        for (uint32_t k = 0; hasBeside_ && k < sizeOf(job, found); ++k) askBeside(flight.slots[k]);
      }
      Flight& flight = ring[done % flightsAhead];
      const size_t first = job.range.first + done * flightCount;
      const int32_t* const positions = job.target.pickPosition + first;
      const auto pickAt = [&](uint32_t k) { return FlightPick{flight.slots[k], static_cast<uint32_t>(positions[k])}; };
      const uint32_t cutCount = lookUp(job, done, &flight);
      const uint32_t apartCount = copy(job, done, cutCount, &flight, joined);
      for (uint32_t at = 0; at < apartCount; ++at) {
        const uint32_t k = flight.apart[at];
        copyAlone(pickAt(k), first + k);
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
  // Measured: docs/internals/performance.md, "The pipelined copier", and webassembly.md beside it for WebAssembly.
  static constexpr uint32_t flightMax = canPrefetch ? 32 : 256;
  static constexpr uint32_t flightsAhead = canPrefetch ? 2 : 1;
  static constexpr uint32_t laneCount = 8;  // picks that a vector holds a number of
  static constexpr uint32_t nStepsMax = 64;  // steps of a return
  static constexpr size_t pickBytesMax = size_t{32} << 10;
  static constexpr size_t flightBytesMax = size_t{64} << 10;  // of a flight of more than laneCount picks

  /// What is known of the picks of a flight. Up to a multiple of laneCount the first stands in for those that are not there.
  struct Flight {
    alignas(4 * laneCount) uint32_t slots[flightMax];
    const uint8_t* rows[flightMax];
    uint32_t cuts[flightMax];   // rising: picks that are torn, or so near their episodes' ends that it matters
    uint32_t apart[flightMax];  // rising: those of them that are left to the caller
  };
  /// A part that is one column of a pick's rows, `offset` bytes from its first row.
  struct Part {
    uint32_t column;
    uint32_t offset;
    uint32_t bytes;
    CopyRuns copy;
    uint32_t shownBytes;               // of a row in the batch
    const ColumnTransform* transform;  // takes the place of `copy` where it is not null
    size_t scaleAt;
  };

  /// A leaf of the state.
  struct Leaf : Part {
    uint32_t nextState;  // EXRP_NEXT_STATE_*
    bool nStep;
  };

  static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
  /// Picks of a flight: the last may have less than the others.
  uint32_t sizeOf(const GatherJob& job, uint32_t flight) const {
    return smaller(tuning_.flightCount, job.range.count - flight * tuning_.flightCount);
  }

  // The stages, of a flight. lookUp() writes the picks' handles, positions and episodes, and returns how many are cut.
  void ask(const PickIndex& view, const uint32_t* indices, uint32_t count) const;
  void find(const GatherJob& job, uint32_t number, Flight* flight) const { find_(*this, job, number, flight); }
  uint32_t lookUp(const GatherJob& job, uint32_t number, Flight* flight) const { return lookUp_(*this, job, number, flight); }

  struct Stages;  // their versions
  void chooseStages();

  void fill(const GatherJob& job) const;
  uint32_t copy(const GatherJob& job, uint32_t number, uint32_t cutCount, Flight* flight, uint8_t* joined) const;
  void join(uint32_t slot, uint32_t left, uint8_t* to) const;
  void copyParts(const GatherJob& job, const uint8_t* const* rows, uint32_t first, uint32_t count) const;
  void copyReturns(const uint8_t* const* rows, uint32_t count, uint32_t length, uint32_t n, float* to) const;
  static Part partOf(const Store& store, uint32_t index, bool single, const Transforms* transforms);
  void copyColumn(const GatherJob& job, const Part& part, const Runs& runs, size_t offset, uint8_t* to, uint8_t* next) const;
  void copyLeaf(const GatherJob& job, const Leaf& leaf, const Runs& runs, size_t first) const;
  void mendEnd(const GatherJob& job, const uint8_t* row, uint32_t left, bool terminated, size_t index) const;
  bool isTorn(uint32_t slot) const;

  Tuning tuning_ = {};
  const Store* store_ = nullptr;
  PickPolicy policy_;
  uint32_t reach_ = 0;   // the last row that is looked at, counted from a pick's first
  size_t stride_ = 0;    // bytes from row to row
  size_t pickBytes_ = 0;
  uint32_t lines_ = 0;   // of a pick's rows, asked for
  size_t lastByte_ = 0;  // of a pick's rows
  Leaf leaves_[leafMax] = {};
  uint32_t leafCount_ = 0;
  bool hasBeside_ = false;
  bool isChanged_ = false;  // whether a column has a transform
  Part parts_[columnMax] = {};  // the other columns of the group
  uint32_t partCount_ = 0;
  double powers_[nStepsMax] = {};  // of the discount
  float nStepDiscounts_[EXRP_LIMIT_N_STEPS] = {};
  void (*find_)(const PipelinedCopier& copier, const GatherJob& job, uint32_t number, Flight* flight) = nullptr;
  uint32_t (*lookUp_)(const PipelinedCopier& copier, const GatherJob& job, uint32_t number, Flight* flight) = nullptr;
};

}  // namespace exrp
