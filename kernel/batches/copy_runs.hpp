// CopyRuns: copies one column of several picks' rows into a batch, where the rows of one pick follow those of the pick before.
//
// One unit covers a column's width (1, 2, 4, 8, 16, 32 bytes). Or several units of one size cover it, of which the last two may overlap
// (kernel/base/copy_row.hpp). So few functions do for all widths up to columnAloneBytes, and none has a branch on the width.
//
// Thread safety: they keep nothing.
// Invariants:
//   1. They read and write the column's bytes only.
//   2. With and without AVX2 they write the same bytes.
// Cost: a load and a store a unit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exrp {

/// The rows of some picks; the rows of one pick lie one after another.
struct Runs {
  const uint8_t* const* rows;  // each pick's first
  uint32_t count;              // picks
  uint32_t length;             // rows a pick; not looked at where it is known to be 1
  size_t stride;               // bytes from row to row
};

/// Copies the column of `bytes` at `offset` of each row to `to`; where `next` is not null, also that of the row after each to `next`.
using CopyRuns = void (*)(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to, uint8_t* next);

/// What copies a column of `bytes`; null if no function fits. `single`: every run has one row; `avx2`: with vectors of 256 bits, which the processor then must have.
CopyRuns copyRunsOf(uint32_t bytes, bool single, bool avx2);

}  // namespace exrp
