// PlainPicks: what the routes "flights" and "rolling" of kernel/batches/batch.hpp share. They copy the commonest batches: records, next
// states in any form, and n-step returns.
//
// The state and the reward must lie side by side in one group of the store, and a pick with what lies ahead of it must be shorter than
// two blocks. A pick is *whole* where its rows lie one after another, and all are there. The routes copy whole picks, and leave others to
// the caller. The end of an ended episode may shorten n-step returns; mendEnd() puts these right.
//
// Thread safety: after createPicks() it never changes, so many threads may share it.
// Invariants: none beyond the types.
// Cost: as said at each function.
#pragma once

#include "kernel/batches/batch_layout.hpp"
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

class PlainPicks {
 public:
  /// False where the policy or the columns ask for more than the routes do.
  bool takes() const { return store_ != nullptr; }

 protected:
  static constexpr uint32_t nStepsMax = 64;  // steps of a return

  /// A part that is one column of a pick's rows, `offset` bytes from its first row.
  struct Part {
    uint32_t column;
    uint32_t offset;
    uint32_t bytes;
  };

  static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

  /// Says what takes() says from now on.
  bool createPicks(const Store& store, const PickPolicy& policy);

  void fill(const WalkJob& job) const;
  void copyReturns(const uint8_t* const* rows, uint32_t count, uint32_t length, uint32_t n, float* to) const;
  void mendEnd(const WalkJob& job, const uint8_t* row, uint32_t left, bool terminated, size_t index) const;
  void prefetchTorn(uint32_t slot) const;

  const Store* store_ = nullptr;
  PickPolicy policy_;
  uint32_t reach_ = 0;   // the last row that is looked at, counted from a pick's first
  size_t stride_ = 0;    // bytes from row to row
  uint32_t lines_ = 0;   // of a pick's rows, asked for
  size_t lastByte_ = 0;  // of a pick's rows
  uint32_t stateBytes_ = 0;
  size_t stateOffset_ = 0;
  bool hasBeside_ = false;
  Part parts_[columnMax] = {};  // the columns of the group after the state
  uint32_t partCount_ = 0;
  double powers_[nStepsMax] = {};  // of the discount
  float nStepDiscounts_[EXRP_LIMIT_N_STEPS] = {};
};

}  // namespace exrp
