// PlainWalk: the pipeline of kernel/batch.hpp for the commonest batches: records and next states, all columns small, side by side in
// one group of the store. What it reads stands in local constants, as nothing else keeps the compiler from reading members again after
// every byte written; and a pick whose rows all stand together, which is nearly every one, is copied without a look at anything but
// its first row.
//
// Thread safety: none of its own; it writes nothing but the batch.
// Invariants:
//   1. It writes what BatchMaker's other ways would have, to the byte.
// Cost: about half of the general way (docs/performance.md, "The plain walk").
#pragma once

#include <cstring>

#include "kernel/episode_table.hpp"
#include "kernel/pick_table.hpp"
#include "kernel/store.hpp"

namespace exrp {

/// A column beside the state.
struct SmallColumn {
  uint32_t offset;  // in the record
  uint32_t bytes;   // isSmall()
  uint8_t* to;
};

/// Widths that copySmall() knows.
inline bool isSmall(uint32_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || (bytes >= 8 && bytes <= 32); }

/// Copies `rowCount` rows of a column; to[0] is where the first goes.
inline void copySmall(uint8_t* to, const uint8_t* from, uint32_t bytes, size_t stride, uint32_t rowCount) {
  const auto eachRow = [&](auto copyRow) {
    for (uint32_t row = 0; row < rowCount; ++row, from += stride, to += bytes) copyRow();
  };
  // Two copies of 8 or 16 bytes cover all widths between: they may overlap.
  switch (bytes) {
    case 1: return eachRow([&] { *to = *from; });
    case 2: return eachRow([&] { __builtin_memcpy(to, from, 2); });
    case 4: return eachRow([&] { __builtin_memcpy(to, from, 4); });
    case 8: return eachRow([&] { __builtin_memcpy(to, from, 8); });
    case 12: return eachRow([&] { __builtin_memcpy(to, from, 12); });
    default: break;
  }
  if (bytes < 16) {
    return eachRow([&] {
      __builtin_memcpy(to, from, 8);
      __builtin_memcpy(to + bytes - 8, from + bytes - 8, 8);
    });
  }
  return eachRow([&] {
    __builtin_memcpy(to, from, 16);
    __builtin_memcpy(to + bytes - 16, from + bytes - 16, 16);
  });
}

/// The state of `rowCount` records and of those after them, rows that stand together.
template <uint32_t stateBytes>
inline void copyStates(uint8_t* state, uint8_t* nextState, const uint8_t* from, size_t stride, uint32_t rowCount) {
  __builtin_memcpy(state, from, stateBytes);
  for (uint32_t row = 1; row < rowCount; ++row) {
    from += stride;
    state += stateBytes;
    __builtin_memcpy(state, from, stateBytes);
    __builtin_memcpy(nextState, from, stateBytes);
    nextState += stateBytes;
  }
  __builtin_memcpy(nextState, from + stride, stateBytes);
}

}  // namespace exrp
