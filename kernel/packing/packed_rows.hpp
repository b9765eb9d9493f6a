// packRows, unpackRow, unpackRows, checkPacked: the rows of a wide column of a block, as short bytes from which single rows are read quickly.
//
// Rows of one block are often alike, as the frames of a game are. So a block has a key, which no row needs to be: in each place, the byte that
// most rows have. Of each row there are the places where it differs from the key, or from another row that has this form. One form serves in
// memory, on disk and on the wire: docs/internals/packing_format.md has every byte of it. Rows that gain little stay as they are; then the
// packed bytes are the plain ones, and only their size says so.
//
// Thread safety: pure functions.
// Cost, a frame of 84 x 84 bytes: docs/internals/packing_format.md has the measured table. No memory is allocated.
// Invariants:
//   1. What was packed comes back, to the bit.
//   2. Whatever the packed bytes are, no byte outside them is read, and none outside the rows asked for is written.
//   3. Where checkPacked() is true, all rows can be unpacked.
//   4. The same rows are packed alike on every platform.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exrp {

/// How the key of a block is kept: as it is, or in the shorter LZ4 form, which takes longer to unpack.
enum class PackedKey : uint32_t { plain, lz4 };

/// Rows as packRows() left them, or plain ones.
struct PackedRows {
  const uint8_t* data;
  size_t bytes;
  size_t rowBytes;  // at least 1
  uint32_t count;   // rows, at least 1
};

/// The most rows that a block can have here.
constexpr uint32_t packedRowsMax = 65535;
/// The most plain bytes of a block; more stay as they are.
constexpr uint64_t packedPlainMax = uint64_t{1} << 30;

/// Room for packRows(), whatever the rows are.
uint64_t packedBytesMax(size_t rowBytes, uint32_t count);

/// Packs `count` rows (1 to packedRowsMax) of `rowBytes` (at least 1), which follow one another, into `out`, which has packedBytesMax() bytes.
/// Returns how many bytes it wrote, always fewer than the rows have. 0: the rows gain little, so they should stay as they are.
size_t packRows(const uint8_t* rows, size_t rowBytes, uint32_t count, PackedKey key, uint8_t* out);

/// Writes one row, below the count. False where the bytes are damaged; `out` then holds anything.
bool unpackRow(const PackedRows& packed, uint32_t row, uint8_t* out);

/// Where rows go, all `stride` bytes apart: the first `outCount` to `out`, and those from `skipped` on to `also`. Each goes somewhere.
struct RowsOut {
  uint8_t* out;
  size_t stride;
  uint32_t outCount = UINT32_MAX;
  uint8_t* also = nullptr;
  uint32_t skipped = UINT32_MAX;

  bool isTwice(uint32_t row) const { return row >= skipped && row < outCount; }
  uint8_t* alsoAt(uint32_t row) const { return also + size_t{row - skipped} * stride; }
  uint8_t* at(uint32_t row) const { return row < outCount ? out + size_t{row} * stride : alsoAt(row); }
};

/// Writes `count` rows, at least 1, from `first` on; all are below the packed count. The key is read once. False where the bytes are damaged; the rows
/// then hold anything.
bool unpackRows(const PackedRows& packed, uint32_t first, uint32_t count, const RowsOut& to);
inline bool unpackRows(const PackedRows& packed, uint32_t first, uint32_t count, uint8_t* out, size_t stride) {
  return unpackRows(packed, first, count, RowsOut{out, stride});
}

/// Whether the bytes are the rows themselves, one after another.
inline bool arePlain(const PackedRows& packed) { return packed.bytes == uint64_t{packed.rowBytes} * packed.count; }

/// The bytes of packed rows whose key is as it is, whatever the form of theirs. 0 where they are plain, or damaged.
size_t plainKeyBytes(const PackedRows& packed);
/// Writes these bytes. False where the key is damaged; `out` then holds anything.
bool copyWithPlainKey(const PackedRows& packed, uint8_t* out);

/// Asks for the head of packed rows, and once that is there, for what some of the rows need. So a batch does not wait for memory: it asks for the
/// heads of some picks ahead, and for the rows of the next.
void prefetchPackedHead(const PackedRows& packed);
void prefetchPacked(const PackedRows& packed, uint32_t first, uint32_t count);

/// Whether every row can be unpacked. It looks at all that steers unpacking, and not at the rows' own bytes: only a checksum finds damage
/// in those.
bool checkPacked(const PackedRows& packed);

}  // namespace exrp
