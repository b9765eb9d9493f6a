// packSixteens, unpackSixteens: the rows of a wide column on their way to another machine, sixteen and sixteen packed together.
//
// Each sixteen are their bytes as an uint32, and these bytes. The number is 0 where the rows follow as they are. The last may be fewer than sixteen.
//
// Thread safety: pure functions.
// Cost: that of packRows() and unpackRows(). No memory is allocated.
// Invariants:
//   1. What was packed comes back, to the bit.
//   2. Whatever the packed bytes are, no byte outside them is read, and none outside the rows is written.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exrp {

/// Packs `count` rows of `rowBytes`, both at least 1, into `packed`. Returns how many bytes it wrote; 0 where they did not fit.
size_t packSixteens(const uint8_t* rows, size_t rowBytes, uint32_t count, uint8_t* packed, size_t room);

/// Unpacks `count` rows, which take all of the packed bytes. False where they are damaged: `bad` is the number of the sixteen.
bool unpackSixteens(const uint8_t* packed, size_t bytes, size_t rowBytes, uint32_t count, uint8_t* rows, uint32_t* bad);

}  // namespace exrp
