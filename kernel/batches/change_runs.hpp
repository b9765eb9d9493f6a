// ChangeRuns: copies one column of several picks' rows into a batch, like CopyRuns, and changes its numbers on the way. For short rows of floats, which
// a second pass would take as long for as the copy does.
//
// Vectors of eight or four floats cover a row, of which the last two may overlap. What belongs to an element stands in registers for all rows.
//
// Thread safety: they keep nothing.
// Invariants:
//   1. They read and write the column's bytes only.
//   2. They write the bits that ColumnTransform::runMany() writes.
// Cost: a load, a store and the operations of a vector; nothing for each row. Only with AVX2.
#pragma once

#include "kernel/batches/copy_runs.hpp"

namespace exrp {

/// The numbers of a change. Means, rests and factors are of each element, and only of rows that are normalized.
struct ChangeNumbers {
  const float* means;
  const float* rests;
  const float* factors;
  float limit;   // of rows that are normalized
  float scale;   // of others
  float offset;  // likewise
};
/// What a number becomes.
enum class Change { normalized, scaled, moved };  // moved: scaled, with an offset that is not 0

using ChangeRuns = void (*)(const Runs& runs, size_t offset, uint32_t count, const ChangeNumbers& numbers, uint8_t* to, uint8_t* next);

/// What changes rows of `count` floats, and with `isHalf` shows them as halves; null if no function fits.
ChangeRuns changeRunsOf(uint32_t count, Change change, bool isHalf);

}  // namespace exrp
