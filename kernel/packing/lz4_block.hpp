// LZ4, in its block format: the short form of the keys of packed rows (packed_rows.hpp). Written from the public description of the format.
//
// The bytes are sequences: a token with two lengths of four bits, the rest of the first length, so many literal bytes, a distance of 16 bits,
// and the rest of the second length. The last sequence ends with its literals. Neither a length of the whole nor a checksum is in it.
//
// Thread safety: pure functions. Cost: encoding about 1 ns for 1 to 2 bytes, decoding about 1 ns for 3 to 4. No memory is allocated: the
// encoder has a table of 16 KiB on the stack.
// Invariants:
//   1. The decoder reads no byte outside its input and writes none outside its output, whatever the input holds.
//   2. What the encoder wrote, this decoder and every other one of LZ4 blocks give back.
//   3. The same bytes are encoded alike on every platform.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exrp {

/// The most plain bytes that one block can have here.
constexpr size_t lz4BytesMax = 0x7E000000;

/// Room for the encoded form of `bytes` bytes, whatever they are.
constexpr size_t lz4Capacity(size_t bytes) { return bytes + bytes / 255 + 32; }

/// Encodes `bytes` (at most lz4BytesMax) into `out`, which has lz4Capacity(bytes). Returns how many bytes it wrote.
size_t lz4Encode(const uint8_t* in, size_t bytes, uint8_t* out);

/// Decodes a block that has exactly `bytes` plain bytes. False where it is damaged or has another length; `out` then holds anything.
bool lz4Decode(const uint8_t* in, size_t inBytes, uint8_t* out, size_t bytes);

/// Whether lz4Decode() would say true.
bool lz4Check(const uint8_t* in, size_t inBytes, size_t bytes);

}  // namespace exrp
