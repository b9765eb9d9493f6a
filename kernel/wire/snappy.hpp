// Snappy, in its raw form: what fills tensor_content of Reverb's chunks. Written from the public description of the format.
//
// The bytes: the length of the plain data as a varint, then elements. An element is a literal (its bytes follow), or a copy of earlier output
// (a distance and a length). There is no checksum, so damage may also give wrong bytes of the right length.
//
// Thread safety: pure functions. Cost: encoding about 1 ns for 1 to 2 bytes that do not repeat, and less for those that do; decoding about
// 1 ns for 2 or more bytes. No memory is allocated: the encoder has a table of 32 KiB on the stack.
// Invariants:
//   1. The decoder reads no byte outside its input and writes none outside its output, whatever the input holds.
//   2. What the encoder wrote, the decoder gives back.
//   3. The same bytes are encoded alike on every platform.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exrp {

/// The most plain bytes that one block can have: their length is 32 bits.
constexpr uint64_t snappyBytesMax = UINT32_MAX;

/// Room for the encoded form of `bytes` bytes, whatever they are.
constexpr uint64_t snappyCapacity(uint64_t bytes) { return bytes + bytes / 6 + 32; }

/// Encodes `bytes` (at most snappyBytesMax) into `out`, which has snappyCapacity(bytes). Returns how many bytes it wrote.
uint64_t snappyEncode(const uint8_t* in, uint64_t bytes, uint8_t* out);

/// Reads how many plain bytes a block has. False where its beginning is damaged.
bool snappyLength(const uint8_t* in, uint64_t inBytes, uint64_t* bytes);

/// Decodes the first `bytes` plain bytes of a block into `out`. False where the block is damaged or has fewer; `out` then holds anything.
/// Where `bytes` is the block's length, the whole block is checked.
bool snappyDecode(const uint8_t* in, uint64_t inBytes, uint8_t* out, uint64_t bytes);

}  // namespace exrp
