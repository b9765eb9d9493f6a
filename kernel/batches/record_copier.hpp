// RecordCopier: copies one pick into a batch that holds nothing but each record and its next state.
//
// A pick's rows lie in runs: parts of the store in which one record follows another, across neighbouring blocks too. Each run is copied
// column by column. Row k of a pick is state k and next state k - 1, so a run's states are read once for both.
// Small columns go through kernel/batches/copy_runs.hpp, large ones through kernel/batches/large_copy.hpp.
//
// Thread safety: after create() it changes nothing but the batch, so many threads may share it.
// Invariants:
//   1. Every byte of the pick's rows is written, in every part but pickEpisode, pickPosition and columns that are kept for some records
//      only. Rows past the pick's end become zero.
//   2. Nothing outside the pick's episode is read.
// Cost: one copy of the bytes, and a look at the block a run.
#pragma once

#include "kernel/batches/batch_layout.hpp"
#include "kernel/batches/copy_runs.hpp"
#include "kernel/batches/large_copy.hpp"
#include "kernel/store/episode_list.hpp"

namespace exrp {

class RecordCopier {
 public:
  /// Needs policy.plain().
  void create(const Store& store, const PickPolicy& policy);
  /// Writes what most picks have alike. To be called before the first copy to the range.
  void begin(const BatchRange& range, const BatchTarget& target) const;
  /// Copies the pick at `slot`, `position` of `episode`, as pick `index` of the batch.
  void copy(const Episode& episode, uint32_t slot, uint32_t position, size_t index, const BatchTarget& target) const;

 private:
  /// Some rows of a pick that lie one after another.
  struct Run {
    uint32_t slot;     // of the first
    uint32_t begin;    // counted from the pick's first row
    uint32_t end;
    uint32_t seqLen;   // of the pick
    size_t row;        // of the batch, of the pick's first
  };
  struct Part {
    CopyRuns copy;  // null for a large column
    uint32_t column;
    uint32_t bytes;
    size_t stride;
  };

  uint32_t runAt(uint32_t slot, uint32_t rowCountMax, uint32_t* nextSlot) const;
  void copySmallStates(const Run& run, const BatchTarget& target) const;
  void copyLargeStates(const Run& run, const BatchTarget& target) const;
  void zeroPast(size_t row, uint32_t seqLen, uint32_t nextSeqLen, const BatchTarget& target) const;

  const Store* store_ = nullptr;
  PickPolicy policy_;
  LargeCopier large_;
  CopyBoth copyBoth_ = nullptr;  // of small states; null where states are large
  Part parts_[columnMax] = {};   // the columns after the state that all records have
  uint32_t partCount_ = 0;
};

}  // namespace exrp
