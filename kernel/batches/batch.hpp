// BatchMaker: the Gatherer (kernel/batches/gatherer.hpp) that copies picks of one view from the store into a batch.
//
// create() chooses a route once, by the pick policy and the columns:
//
// | route   | how picks are looked up             | how a pick is copied |
// |---------|-------------------------------------|----------------------|
// | flights | kernel/batches/pipelined_copier.hpp | a flight of picks at once, column by column; where it is not whole, as on the other route |
// | window  | the ring, one pick after another    | kernel/batches/window_copier.hpp |
//
// - flights: the state and the reward are small, and a pick with what lies ahead of it is not very long. A batch holds only records, next
//   states in any form, ends, and n-step returns of at most 64 steps.
// - window: everything else (large states, very long picks, stacks, rows before the pick, masks, rows backwards, longer returns,
//   returns to go).
//
// The ring overlaps the cache misses of many picks. Each of its steps does one stage of each of four picks, `stageDistance` apart:
// (1) ask for a pick's entry in the pick view; (2) read its slot, ask for its block; (3) read the block, ask for its episode and
// rows; (4) copy. docs/internals/performance.md says what was tried and what it gave.
//
// Thread safety: after create() a BatchMaker never changes, so many threads may share it. What a call changes is in its BatchScratch.
// Invariants:
//   1. Every byte of every part of the batch is written: positions past a pick's end are zero.
//   2. Both routes write the same bytes.
// Cost: near that of moving the bytes; no allocation.
// It checks nothing: everything in the pick view is valid.
#pragma once

#include <memory>

#include "kernel/batches/gatherer.hpp"
#include "kernel/batches/pipelined_copier.hpp"
#include "kernel/batches/window_copier.hpp"

namespace exrp {

/// What a thread needs to make batches of one view.
struct BatchScratch {
  BatchLayout layout = {};   // the last one: it is what the next batch most often needs
  uint32_t layoutCount = 0;  // picks of a batch with that layout; 0 where there is none
  WindowScratch window;
  Scratch<uint8_t> joined;  // rows of torn picks
  // For views with transforms.
  Scratch<uint8_t> stored;         // rows as they are stored
  CopyQueue large;                 // large rows, which are converted from where they are stored
  Scratch<uint8_t> isConverted;    // whether a row of `stored` is
  Scratch<float> scales;           // means and factors of the elements that are normalized
  uint64_t scaledAt = UINT64_MAX;  // records of the statistics that they are of
  std::unique_ptr<BatchScratch> second;  // for the second thread; null before it takes part

  double memoryBytes() const {
    const double bytes = window.slots.memoryBytes() + joined.memoryBytes() + stored.memoryBytes() + large.memoryBytes() +
                         isConverted.memoryBytes() + scales.memoryBytes() + window.packed.memoryBytes();
    return second == nullptr ? bytes : bytes + double{sizeof(BatchScratch)} + second->memoryBytes();
  }
};

class BatchMaker final : public Gatherer {
 public:
  /// No episode has more than `recordCountMax` records.
  void create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax) {
    create(store, policy, recordCountMax, PipelinedCopier::tuningFor(policy));
  }
  /// Returns are of rewards after `reward`, if that is not null. With `canQueue`, large copies may wait until the lock of a shared replay is given back.
  /// Of `addressed` columns, the batch gets addresses.
  void create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax, const PipelinedCopier::Tuning& tuning,
              const ColumnTransform* reward = nullptr, bool canQueue = true, const AddressedColumns& addressed = {});
  Status createScratch(uint32_t count, BatchScratch* scratch) const override;
  void gather(const GatherJob& job) const override;
  /// Asks for the lines of a pick that is gathered soon.
  void prefetch(uint32_t slot) const { prefetchWindow(slot); }

 private:
  static constexpr uint32_t stageDistance = 8;
  static constexpr uint32_t ringCount = 32;  // a power of two, above three distances

  struct Pick {
    uint32_t slot;
    uint32_t episode;
    uint32_t position;
  };

  void copyFlights(const GatherJob& job) const;
  void copyRing(const GatherJob& job) const;

  void copyKept(const GatherJob& job, uint32_t slot, uint32_t position, size_t index) const;
  void copyLargeColumns(uint32_t slot, size_t index, const BatchTarget& target, WindowScratch& scratch) const;
  void follow(const EpisodeList& episodes, Pick* pick) const;
  void prefetchWindow(uint32_t slot) const;
  void prefetchRows(uint32_t slot, uint32_t rowCount, uint64_t groupsLeft) const;

  const Store* store_ = nullptr;
  PickPolicy policy_;
  PipelinedCopier pipelined_;
  WindowCopier window_;
  LargeCopier large_;
};

}  // namespace exrp
