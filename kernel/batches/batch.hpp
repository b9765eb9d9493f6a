// BatchMaker: copies picks of one table from the store into a batch.
//
// Select -> look up -> copy, as a rolling pipeline so that the cache misses of many picks overlap. Each step does one stage of each
// of four picks, `stageDistance` apart: (1) ask for a pick's entry in the pick table; (2) read its slot, ask for its block;
// (3) read the block, ask for its episode and rows; (4) copy. The state, its next states and two more small columns are written
// in one pass over a pick's rows; a state that stands alone goes in runs to state and next state at once (batch_wide.cpp). Where the
// policy asks for more than records and next states (stacks, n-step returns, rows before the pick, masks, rows backwards) stage 4 is
// kernel/batches/window.hpp's. Where state and reward are small, of those only n-step returns of n up to 64 are asked for, and a pick with what
// lies ahead of it is shorter than two blocks, the whole pipeline is the tighter one of kernel/batches/plain_walk.hpp. What was tried and what it gave:
// docs/performance.md.
// Nothing is checked here: everything in the pick table is valid.
//
// Thread safety: none of its own; it writes nothing but the batch.
// Invariants:
//   1. Every byte of every part of the batch is written: positions past a pick's end are zero.
// Cost: near that of moving the bytes; no allocation.
#pragma once

#include "kernel/store/block_index.hpp"
#include "kernel/store/episode_table.hpp"
#include "kernel/store/pick_table.hpp"
#include "kernel/batches/plain_walk.hpp"
#include "kernel/batches/window.hpp"

namespace exrp {

constexpr uint32_t batchPartMax = EXRP_BATCH_COLUMN + columnMax + EXRP_BATCH_N_STEP_PARTS * EXRP_LIMIT_N_STEPS;

/// Byte offsets of a batch's parts, by EXRP_BATCH_*; each a multiple of 64.
struct BatchLayout {
  size_t offsets[batchPartMax];
};

class BatchMaker {
 public:
  /// No episode has more than `recordCountMax` records.
  Status create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax);

  /// Parts a layout has.
  uint32_t partCount() const { return EXRP_BATCH_COLUMN + store_->columnCount() + EXRP_BATCH_N_STEP_PARTS * policy_.nStepCount; }
  /// Bytes of a batch of `count`, give or take what parts are rounded up by; whatever the numbers, it does not wrap.
  double bytes(uint32_t count) const;
  /// Needs bytes(count) far below 2^64. The last one is kept: it is what the next batch most often needs.
  const BatchLayout& layout(uint32_t count);
  /// Whether that is the last one.
  bool hasLayout(uint32_t count) const { return layoutCount_ == count; }

  /// Asks for what copy() will read first.
  void begin(const PickTable& table, const uint32_t* indices, uint32_t count) const {
    if (walk_.takes()) PlainWalk::begin(table, indices, count);
  }
  /// Copies the picks at `indices`, after begin(), to their place in `batch`, which is laid out as `at`, layout(place.total), and writes
  /// the index of each pick's episode to `episodes`. Everything but probability and importance weight.
  void copy(const EpisodeTable& episodeTable, const BlockIndex& blocks, const PickTable& table, const uint32_t* indices, const BatchPlace& place,
            const BatchLayout& at, uint8_t* batch, uint32_t* episodes);

 private:
  static constexpr uint32_t stageDistance = 8;
  static constexpr uint32_t ringCount = 32;  // a power of two, above three distances
  static constexpr uint32_t fusedMax = 2;

  struct Pick {
    uint32_t slot;
    uint32_t episode;
    uint32_t position;
    uint32_t joined;  // 1 when all its rows stand one after another
  };
  /// A pick's rows: where they are, how many of them are records and next states, and where each part goes.
  struct Rows {
    uint32_t slot;
    uint32_t count;
    uint32_t seqLen;
    uint32_t nextSeqLen;
    bool whole;  // joined, and neither end is cut: `length` records and as many next states
    size_t to;   // row of the batch
  };
  using CopyFused = void (*)(const BatchMaker& maker, const Rows& rows, const BatchTarget& target);

  void copyKept(const BlockIndex& blocks, uint32_t slot, uint32_t position, size_t index, const BatchTarget& target) const;
  void copyWideRuns(uint32_t slot, size_t index, const BatchTarget& target) const;
  void lookUp(const PickTable& table, uint32_t index, Pick* pick) const;
  void follow(const EpisodeTable& episodeTable, Pick* pick) const;
  void prefetchWindow(uint32_t slot) const;
  void prefetchRows(uint32_t slot, uint32_t rowCount, uint32_t groupLeft) const;
  void prefetchChain(uint32_t slot, uint32_t next) const;
  void copyPick(const Episode& episode, uint32_t slot, uint32_t position, bool joined, size_t index, const BatchTarget& target) const;
  void copyColumn(uint32_t column, const Rows& rows, uint8_t* part) const;
  void copyStateAlone(const Rows& rows, const BatchTarget& target) const;
  void copyStateWide(const Rows& rows, const BatchTarget& target) const;
  void zeroPast(const Rows& rows, const BatchTarget& target) const;
  uint32_t runAt(uint32_t slot, uint32_t rowCountMax, uint32_t* nextSlot) const;

  template <uint32_t stateBytes, uint32_t fusedCount>
  static void copyFused(const BatchMaker& maker, const Rows& rows, const BatchTarget& target);
  template <uint32_t... words>
  static CopyFused copierOf(uint32_t stateBytes, uint32_t fusedCount);

  const Store* store_ = nullptr;
  PickPolicy policy_;
  WindowCopier window_;
  PlainWalk walk_;
  WideCopier wide_;
  CopyFused copyFused_ = nullptr;  // null where the state stands alone or has an unusual width
  uint32_t fused_[fusedMax] = {};
  uint32_t rest_[columnMax] = {};  // columns that the fused pass leaves
  uint32_t restCount_ = 0;
  BatchLayout layout_ = {};
  uint32_t layoutCount_ = 0;  // none
};

}  // namespace exrp
