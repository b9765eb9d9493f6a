// ThreadScratch: the scratch memory of one thread that calls on a replay. Between calls it keeps only guesses, which are checked, and the picks
// of the last batch.
//
// A replay itself has no scratch: each call that needs some is given it. Two threads that call at the same time need two.
//
// Thread safety: none of its own; one thread uses it at a time.
#pragma once

#include <memory>

#include "kernel/base/scratch.hpp"
#include "kernel/batches/batch.hpp"
#include "kernel/store/copy_queue.hpp"

namespace exrp {

/// The picks of the last batch, so that their priorities can be set without a search. It is the last of a selector with importance weights.
/// There are none where that batch was drawn in parts.
struct DrawnPicks {
  Scratch<double> handles;
  Scratch<int32_t> positions;
  Scratch<uint32_t> indices;
  uint64_t changeCount = 0;  // the replay's after the draw, or after their priorities were set: while it is the same, they are there
  uint32_t view = 0;
  uint32_t count = 0;

  double memoryBytes() const { return handles.memoryBytes() + positions.memoryBytes() + indices.memoryBytes(); }
};

struct ThreadScratch {
  Scratch<uint32_t> indices;   // of picks in their view, or slots
  Scratch<uint32_t> episodes;
  Scratch<double> numbers;     // probabilities or priorities
  /// The episode of each environment of a recordBatch(). The next call tries them first, which spares it most searches.
  Scratch<uint32_t> environments;
  DrawnPicks drawn;
  bool isChosen = false;  // the last getBatch() has chosen picks, also where their rows could not be read
  BatchScratch batches[EXRP_LIMIT_PICK_VIEWS];  // by the number of the view
  std::unique_ptr<BatchScratch[]> addressed;    // the same for batches with addresses; null for a thread that has no mirror
  CopyQueue copies;

  /// For batches of a view. Those with addresses are for a thread that has a mirror.
  BatchScratch& batchOf(uint32_t view, bool addresses) { return addresses ? addressed[view] : batches[view]; }

  /// Bytes beside the object itself.
  double memoryBytes() const {
    double bytes = indices.memoryBytes() + episodes.memoryBytes() + numbers.memoryBytes() + environments.memoryBytes() +
                   drawn.memoryBytes() + copies.memoryBytes();
    for (const BatchScratch& batch : batches) bytes += batch.memoryBytes();
    for (uint32_t view = 0; addressed != nullptr && view < EXRP_LIMIT_PICK_VIEWS; ++view) {
      bytes += double{sizeof(BatchScratch)} + addressed[view].memoryBytes();
    }
    return bytes;
  }
};

}  // namespace exrp
