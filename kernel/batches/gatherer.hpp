// Gatherer: the last of the three steps by which a batch comes about. Each can be taken apart from the others:
//
// | step   | it answers                        | its result                  | who does it |
// |--------|-----------------------------------|-----------------------------|-------------|
// | choose | which picks, and how likely       | ChosenPicks                 | kernel/calls/drawing.cpp: a selector, or the caller |
// | locate | where their rows are              | LocatedPick, and its slots  | kernel/batches/locator.hpp |
// | gather | their bytes                       | the parts of the batch      | a Gatherer |
//
// BatchMaker (kernel/batches/batch.hpp) gathers into memory, and so does TransformedBatches (kernel/batches/transformed_batches.hpp), by means of one. A BatchMaker locates the picks of the commonest batches in a way of its own, while it copies
// others, so that cache misses overlap.
//
// Thread safety: a Gatherer never changes after it was made, so many threads may share it. What a call changes is in its job.
// Cost of the step in between: one virtual call a batch.
#pragma once

#include "kernel/batches/batch_layout.hpp"
#include "kernel/store/block_index.hpp"
#include "kernel/store/episode_list.hpp"
#include "kernel/store/pick_index.hpp"

namespace exrp {

struct BatchScratch;

/// The picks of a batch, or of a part of it, as they were chosen.
struct ChosenPicks {
  const uint32_t* indices;      // in their view
  const double* probabilities;  // of each
  uint32_t count;
  double probabilityMin;  // the smallest of the view; 0 where the smallest of the batch scales importance weights
  bool weighted;          // whether the weights differ from 1
};

/// What is to be gathered, and where to. PickIndex::prefetchFirst() was called before.
struct GatherJob {
  const EpisodeList& episodes;
  const BlockIndex& blocks;
  const PickIndex& picks;
  const uint32_t* indices;  // of range.count picks
  BatchRange range;
  const BatchTarget& target;
  uint32_t* pickedEpisodes;  // gets the index of each pick's episode
  BatchScratch& scratch;
  uint64_t drawn = 0;  // batches, or parts of one, that the view has gathered before
  const float* scales = nullptr;  // of the columns that a PipelinedCopier changes
};

class Gatherer {
 public:
  virtual ~Gatherer() = default;
  /// Takes the memory that gather() needs for `count` picks.
  virtual Status createScratch(uint32_t count, BatchScratch* scratch) const = 0;
  /// Fills the job's range of each part of the batch but probability and importance weight.
  virtual void gather(const GatherJob& job) const = 0;
};

}  // namespace exrp
