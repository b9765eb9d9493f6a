// Where the parts of a batch lie in its memory, by EXRP_BATCH_*.
//
// A part has one value, row or stack for each row of the batch, or one for each pick. Rows of one pick stand one after another.
//
// Thread safety: pure functions.
// Invariants:
//   1. Each part begins at a multiple of lineBytes, and no part overlaps another.
// Cost: a few additions a part.
#pragma once

#include "kernel/store/pick_policy.hpp"
#include "kernel/store/store.hpp"

namespace exrp {

constexpr uint32_t batchPartMax =
    EXRP_BATCH_COLUMN + columnMax + EXRP_BATCH_N_STEP_PARTS * EXRP_LIMIT_N_STEPS + (1 + EXRP_LIMIT_N_STEPS) * (leafMax - 1);

/// In WebAssembly the binding copies whole batches out of memory that other calls have used. So there a batch gets zeros between its parts.
#if defined(__wasm__)
constexpr bool clearsPadding = true;
#else
constexpr bool clearsPadding = false;
#endif

/// Byte offsets of a batch's parts, and with clearsPadding where each part ends.
struct BatchLayout {
  uint64_t offsets[batchPartMax];
  uint64_t ends[clearsPadding ? batchPartMax : 1];
};

/// Which picks of a batch a call fills: first..first + count - 1 of `total`. With `addresses`, the batch has addresses of the columns that are mirrored.
struct BatchRange {
  uint32_t first;
  uint32_t count;
  uint32_t total;
  bool addresses = false;
};

/// Where the parts of a batch begin. Probabilities and importance weights are not among them, as no copy writes these.
struct BatchTarget {
  struct NStep {
    float* reward;
    float* discount;
    uint8_t* states[leafMax];
  };
  uint8_t* columns[columnMax];  // the first are the leaves of the state
  uint8_t* nextStates[leafMax];
  float* discount;
  float* learnMask;
  float* contextMask;
  uint8_t* terminated;
  uint8_t* truncated;
  float* returnToGo;
  NStep nSteps[EXRP_LIMIT_N_STEPS];
  int32_t* seqLen;
  int32_t* nextSeqLen;
  double* pickEpisode;
  int32_t* pickPosition;
};

/// Parts that a layout has.
uint32_t batchPartCount(const Store& store, const PickPolicy& policy);
/// Bytes of a batch of `count` picks, not counting the padding between parts. It does not wrap, whatever the numbers are.
/// `shown` has the bytes of a row of each column as a batch shows it; null where it shows what is stored.
double batchBytes(const Store& store, const PickPolicy& policy, uint32_t count, const uint32_t* shown = nullptr);
/// The layout of a batch of `count` picks. Needs batchBytes() far below 2^64.
BatchLayout layoutBatch(const Store& store, const PickPolicy& policy, uint32_t count, const uint32_t* shown = nullptr);
/// Makes the bytes between the first `partCount` parts zero.
void clearPadding(const BatchLayout& layout, uint32_t partCount, uint8_t* batch);
/// The parts of the batch that begins at `batch`.
BatchTarget batchTarget(const Store& store, const PickPolicy& policy, const BatchLayout& layout, uint8_t* batch);

}  // namespace exrp
