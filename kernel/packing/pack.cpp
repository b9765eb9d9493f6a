// packRows(): finds the key of a block, and where each row differs from it.
#include <bit>

#include "kernel/base/repeats.hpp"
#include "kernel/packing/lz4_block.hpp"
#include "kernel/packing/packed_form.hpp"
#include "kernel/packing/packed_rows.hpp"

namespace exrp {
namespace {

/// A patch costs as much as this many bytes that are equal, so shorter gaps do not end one.
constexpr size_t gapBytesMax = 2;
/// The rows of a group may have the first of them as their base.
constexpr uint32_t groupRows = 4;
/// A row with fewer bytes of patches does not look for a better base: that took a quarter of the time, and gained 0.3 %.
constexpr size_t patchesWell = 128;
/// A base in its group must save so many bytes, because it takes longer to unpack.
constexpr size_t baseGainMin = 24;
/// The first look is at so many bytes of each row, in pieces.
constexpr size_t lookBytes = 1024;
constexpr size_t pieceBytes = 64;
/// Rows up to this size get places of 16 bits, where they do.
constexpr size_t narrowRowBytesMax = 16384;

typedef uint8_t Bytes __attribute__((vector_size(16), may_alias, aligned(1)));

Bytes bytesAt(const uint8_t* at) { return *reinterpret_cast<const Bytes*>(at); }

#if defined(__SSE2__)
/// A bit for each byte that is equal.
uint32_t equalBits(Bytes a, Bytes b) {
  typedef char Chars __attribute__((vector_size(16)));
  return static_cast<uint32_t>(__builtin_ia32_pmovmskb128((Chars)(a == b)));
}
bool isZero(Bytes bytes) { return equalBits(bytes, Bytes{}) == 0xFFFF; }
#else
bool isZero(Bytes bytes) {
  typedef uint64_t Words __attribute__((vector_size(16)));
  const auto words = (Words)bytes;
  return (words[0] | words[1]) == 0;
}
#endif

/// A bit for each of 8 bytes that differs.
uint64_t bitsOf8(const uint8_t* a, const uint8_t* b) {
  const uint64_t x = load64(a) ^ load64(b);
  constexpr uint64_t low = 0x7F7F7F7F7F7F7F7F;
  const uint64_t high = (((x & low) + low) | x) & ~low;
  return (high >> 7) * 0x0102040810204080 >> 56;
}

/// Whether 64 bytes are equal.
bool areEqual64(const uint8_t* a, const uint8_t* b) {
  const Bytes differing = (bytesAt(a) ^ bytesAt(b)) | (bytesAt(a + 16) ^ bytesAt(b + 16)) | (bytesAt(a + 32) ^ bytesAt(b + 32)) |
                          (bytesAt(a + 48) ^ bytesAt(b + 48));
  return isZero(differing);
}

/// A bit for each byte that differs, of 64.
uint64_t bitsOf64(const uint8_t* a, const uint8_t* b) {
#if defined(__SSE2__)
  uint64_t bits = 0;
  for (int k = 0; k < 4; ++k) bits |= uint64_t{equalBits(bytesAt(a + 16 * k), bytesAt(b + 16 * k))} << (16 * k);
  return ~bits;
#else
  uint64_t bits = 0;
  for (int k = 0; k < 8; ++k) bits |= bitsOf8(a + 8 * k, b + 8 * k) << (8 * k);
  return bits;
#endif
}

/// The same of fewer bytes.
uint64_t bitsOfRest(const uint8_t* a, const uint8_t* b, size_t bytes) {
  uint64_t bits = 0;
  size_t at = 0;
  for (; at + 8 <= bytes; at += 8) bits |= bitsOf8(a + at, b + at) << at;
  for (; at < bytes; ++at) bits |= uint64_t{a[at] != b[at]} << at;
  return bits;
}

/// Fills gaps of at most gapBytesMax between bits.
uint64_t closed(uint64_t bits) {
  const uint64_t wide = bits | bits << 1 | bits << 2;
  return bits | (wide & wide >> 1 & wide >> 2);
}

/// Writes the patches of a row, two bytes each. Neighbouring runs of bytes become one patch; long ones may have fills in them.
class PatchWriter {
 public:
  PatchWriter(const uint8_t* row, uint8_t* to) : row_(row), begin_(to), to_(to) {}

  void add(size_t first, size_t end) {
    if (first - end_ > gapBytesMax) {
      flush();
      first_ = first;
    }
    end_ = end;
  }
  void flush() {
    if (end_ == first_) return;
    if (end_ - first_ < fillBytesMin) putFresh(first_, end_);
    else flushLong();
    first_ = end_;
  }
  size_t count() const { return static_cast<size_t>(to_ - begin_) / 2; }
  size_t bytes() const { return static_cast<size_t>(to_ - begin_) + freshBytes_; }

 private:
  void flushLong() {
    size_t first = first_;  // what is not written yet begins here
    // A fill has 9 equal bytes from some multiple of 8 on.
    for (size_t at = first_; at + fillBytesMin <= end_;) {
      if (load64(row_ + at) != load64(row_ + at + 1)) {
        at += 8;
        continue;
      }
      size_t begin = at;
      size_t end = at + 9;
      while (begin > first && row_[begin - 1] == row_[at]) --begin;
      while (end < end_ && row_[end] == row_[at]) ++end;
      if (end - begin >= fillBytesMin) {
        putFresh(first, begin);
        for (first = begin; end - first >= fillBytesMin;) first = putFill(first, end - first < fillBytesMax ? end : first + fillBytesMax);
      }
      at = end;
    }
    putFresh(first, end_);
  }
  void putFresh(size_t first, size_t end) {
    for (; end - first > freshBytesMax; first += freshBytesMax) put(first, first + freshBytesMax, freshBytesMax, freshBytesMax);
    if (end > first) put(first, end, end - first, end - first);
  }
  size_t putFill(size_t first, size_t end) {
    put(first, end, fillCodeOf(end - first), 1);
    return end;
  }
  void put(size_t first, size_t end, size_t code, size_t freshBytes) {
    size_t skipped = first - written_;
    for (; skipped > skippedBytesMax; skipped -= skippedBytesMax) put(skippedBytesMax, 0);
    put(skipped, code);
    written_ = end;
    freshBytes_ += freshBytes;
  }
  void put(size_t skipped, size_t code) {
    to_[0] = static_cast<uint8_t>(skipped);
    to_[1] = static_cast<uint8_t>(code);
    to_ += 2;
  }

  const uint8_t* const row_;
  uint8_t* const begin_;
  uint8_t* to_;
  size_t first_ = 0;  // of the patch that is not written yet
  size_t end_ = 0;
  size_t written_ = 0;  // where the last one ended
  size_t freshBytes_ = 0;
};

/// The pieces of 64 bytes that are not the same in all rows: their first bytes, as u32 at any address.
struct ChangingPieces {
  const uint8_t* firsts;
  size_t count;

  size_t operator[](size_t piece) const {
    uint32_t first = 0;
    memcpy(&first, firsts + piece * sizeof first, sizeof first);
    return first;
  }
  static constexpr size_t bytesFor(size_t rowBytes) { return rowBytes / pieceBytes * sizeof(uint32_t); }
};

/// The patches from `base` to `row`, at `to`, which has room for rowBytes + 8. It stops where they have more than `bytesMax` bytes.
PatchWriter findPatches(const uint8_t* base, const uint8_t* row, size_t rowBytes, const ChangingPieces& changing, size_t bytesMax, uint8_t* to) {
  PatchWriter writer(row, to);
  const auto addRuns = [&](uint64_t bits, size_t at) {
    bits = closed(bits);
    while (bits != 0) {
      const auto first = static_cast<uint32_t>(std::countr_zero(bits));
      const auto length = static_cast<uint32_t>(std::countr_one(bits >> first));
      writer.add(at + first, at + first + length);
      if (first + length == 64) return;
      bits &= ~uint64_t{0} << (first + length);
    }
  };
  for (size_t piece = 0; piece < changing.count && writer.bytes() <= bytesMax; ++piece) {
    const size_t at = changing[piece];
    if (!areEqual64(base + at, row + at)) addRuns(bitsOf64(base + at, row + at), at);
  }
  const size_t rest = rowBytes % pieceBytes;
  if (rest > 0) addRuns(bitsOfRest(base + rowBytes - rest, row + rowBytes - rest, rest), rowBytes - rest);
  writer.flush();
  return writer;
}

/// Copies what the patches say is new. At least 16 bytes after `to` are free, and 16 of the row are read where it has them.
uint8_t* copyFresh(const uint8_t* patches, size_t count, const uint8_t* row, size_t rowBytes, uint8_t* to) {
  const uint8_t* from = row;
  for (size_t k = 0; k < count; ++k, patches += 2) {
    from += patches[0];
    const size_t code = patches[1];
    if (isFill(code)) {
      *to++ = *from;
      from += fillBytesOf(code);
      continue;
    }
    if (code <= 16 && static_cast<size_t>(from - row) + 16 <= rowBytes) RowValue<RowUnit16, 1>::copy(to, from, 16);
    else memcpy(to, from, code);
    from += code;
    to += code;
  }
  return to;
}

/// One vote of Boyer and Moore: `chosen` is the byte that has most votes so far.
EXRP_INLINE void vote(Bytes seen, Bytes& chosen, Bytes& votes) {
  const auto isFree = (Bytes)(votes == 0);
  chosen = (seen & isFree) | (chosen & ~isFree);
  votes += ((Bytes)(chosen == seen) & 2) - 1;
}

/// In each place, the byte that more than half of the rows have, or else one that many have. Writes the changing pieces at `firsts`.
ChangingPieces findKey(const uint8_t* rows, size_t rowBytes, uint32_t count, uint8_t* key, uint8_t* firsts) {
  ChangingPieces changing = {firsts, 0};
  size_t at = 0;
  for (; at + 64 <= rowBytes; at += 64) {
    // Most pieces are the same in all rows.
    const uint8_t* from = rows + at;
    Bytes chosen[4];
    Bytes differing = {};
    for (int k = 0; k < 4; ++k) chosen[k] = bytesAt(from + 16 * k);
    for (uint32_t row = 1; row < count; ++row) {
      from += rowBytes;
      for (int k = 0; k < 4; ++k) differing |= chosen[k] ^ bytesAt(from + 16 * k);
    }
    if (!isZero(differing)) {
      const auto first = static_cast<uint32_t>(at);
      memcpy(firsts + changing.count++ * sizeof first, &first, sizeof first);
      Bytes votes[4] = {};
      from = rows + at;
      for (uint32_t row = 0; row < count; ++row, from += rowBytes) {
        for (int k = 0; k < 4; ++k) vote(bytesAt(from + 16 * k), chosen[k], votes[k]);
      }
    }
    for (int k = 0; k < 4; ++k) *reinterpret_cast<Bytes*>(key + at + 16 * k) = chosen[k];
  }
  for (; at < rowBytes; ++at) {
    uint8_t chosen = 0;
    uint8_t votes = 0;
    const uint8_t* from = rows + at;
    for (uint32_t row = 0; row < count; ++row, from += rowBytes) {
      if (votes == 0) chosen = *from;
      votes = static_cast<uint8_t>(votes + (chosen == *from ? 1 : -1));
    }
    key[at] = chosen;
  }
  return changing;
}

/// With the short gaps between them, as in floats whose first bytes alone are equal.
uint32_t differingBytes(const uint8_t* a, const uint8_t* b, size_t bytes) {
  uint32_t differing = 0;
  for (; bytes >= pieceBytes; bytes -= pieceBytes, a += pieceBytes, b += pieceBytes) {
    if (!areEqual64(a, b)) differing += static_cast<uint32_t>(std::popcount(closed(bitsOf64(a, b))));
  }
  return differing + static_cast<uint32_t>(std::popcount(closed(bitsOfRest(a, b, bytes))));
}

/// Whether neighbouring rows look so different that the search is not worth its time.
bool looksLikeNoise(const uint8_t* rows, size_t rowBytes, uint32_t count) {
  const size_t pieces = rowBytes <= lookBytes ? 1 : lookBytes / pieceBytes;
  const size_t piece = rowBytes <= lookBytes ? rowBytes : pieceBytes;
  const size_t step = pieces == 1 ? 0 : (rowBytes - pieceBytes) / (pieces - 1);
  uint64_t differing = 0;
  for (uint32_t row = 1; row < count; ++row, rows += rowBytes) {
    for (size_t k = 0; k < pieces; ++k) differing += differingBytes(rows + k * step, rows + rowBytes + k * step, piece);
  }
  return differing > (count - 1) * uint64_t{pieces * piece} * 3 / 4;
}

/// Writes the packed bytes of one block, with places of a given width.
class BlockWriter {
 public:
  BlockWriter(const uint8_t* rows, size_t rowBytes, uint32_t count, const ChangingPieces& changing, uint32_t placeBytes, uint8_t* out)
      : rows_(rows), rowBytes_(rowBytes), count_(count), changing_(changing), placeBytes_(placeBytes), out_(out), to_(out + packedHeadBytes + size_t{count} * placeBytes) {}

  /// False as soon as there are more than `bytesMax` bytes.
  bool writeRows(const uint8_t* key, size_t bytesMax) {
    for (uint32_t row = 0; row < count_; ++row) {
      writeRow(row, key);
      if (bytes() > bytesMax) return false;
      storePlace(out_ + packedHeadBytes + size_t{row} * placeBytes_, placeBytes_, static_cast<uint32_t>(bytes()));
    }
    return true;
  }
  void writeKey(const uint8_t* key, PackedKey form) {
    size_t keyBytes = form == PackedKey::lz4 ? lz4Encode(key, rowBytes_, to_) : rowBytes_;
    const bool isShort = keyBytes < rowBytes_ - rowBytes_ / 4;
    if (!isShort) memcpy(to_, key, keyBytes = rowBytes_);
    to_ += keyBytes;
    const uint8_t head[packedHeadBytes] = {isShort ? packedKeyLz4 : packedKeyPlain, static_cast<uint8_t>(placeBytes_), 0, 0};
    memcpy(out_, head, sizeof head);
  }
  size_t bytes() const { return static_cast<size_t>(to_ - out_); }

 private:
  void writeRow(uint32_t row, const uint8_t* key) {
    const uint8_t* const from = rows_ + size_t{row} * rowBytes_;
    uint8_t* const patches = to_ + placeBytes_;
    const PatchWriter onKey = findPatches(key, from, rowBytes_, changing_, rowBytes_, patches);
    if (onKey.bytes() == 0) return;
    const uint32_t base = row - row % groupRows;
    if (base < row && base <= UINT8_MAX && onKey.bytes() > patchesWell) {
      uint8_t* const others = patches + rowBytes_ + 8;
      const PatchWriter onRow = findPatches(rows_ + size_t{base} * rowBytes_, from, rowBytes_, changing_, onKey.bytes() - baseGainMin, others);
      if (onRow.bytes() < onKey.bytes() - baseGainMin && onRow.bytes() < rowBytes_) {
        memmove(patches + 1, others, 2 * onRow.count());
        patches[0] = static_cast<uint8_t>(base);
        storePlace(to_, placeBytes_, static_cast<uint32_t>(onRow.count()) | packedOnRow(placeBytes_));
        to_ = copyFresh(patches + 1, onRow.count(), from, rowBytes_, patches + 1 + 2 * onRow.count());
        return;
      }
    }
    if (onKey.bytes() >= rowBytes_) {
      storePlace(to_, placeBytes_, 0);
      memcpy(patches, from, rowBytes_);
      to_ = patches + rowBytes_;
      return;
    }
    storePlace(to_, placeBytes_, static_cast<uint32_t>(onKey.count()));
    to_ = copyFresh(patches, onKey.count(), from, rowBytes_, patches + 2 * onKey.count());
  }

  const uint8_t* const rows_;
  const size_t rowBytes_;
  const uint32_t count_;
  const ChangingPieces& changing_;
  const uint32_t placeBytes_;
  uint8_t* const out_;
  uint8_t* to_;
};

}  // namespace

uint64_t packedBytesMax(size_t rowBytes, uint32_t count) {
  // Beyond what plain rows take: two searches for patches, the key as it is looked for, and the key as it is written.
  return packedHeadBytes + uint64_t{count} * 12 + (uint64_t{count} + 3) * rowBytes + lz4Capacity(rowBytes) + 64 + ChangingPieces::bytesFor(rowBytes);
}

size_t packRows(const uint8_t* rows, size_t rowBytes, uint32_t count, PackedKey keyForm, uint8_t* out) {
  const uint64_t plainBytes = uint64_t{rowBytes} * count;
  if (plainBytes > packedPlainMax || looksLikeNoise(rows, rowBytes, count)) return 0;
  const auto bytesMax = static_cast<size_t>(plainBytes - plainBytes / 8);
  uint8_t* const firsts = out + (packedBytesMax(rowBytes, count) - ChangingPieces::bytesFor(rowBytes));
  uint8_t* const key = firsts - rowBytes;
  const ChangingPieces changing = findKey(rows, rowBytes, count, key, firsts);
  // Large rows seldom fit into places of 16 bits.
  for (uint32_t placeBytes = 2; placeBytes <= 4; placeBytes += 2) {
    if (placeBytes == 2 && rowBytes > narrowRowBytesMax) continue;
    const bool isNarrow = placeBytes == 2 && bytesMax > UINT16_MAX;
    BlockWriter writer(rows, rowBytes, count, changing, placeBytes, out);
    if (!writer.writeRows(key, isNarrow ? size_t{UINT16_MAX} : bytesMax)) {
      if (isNarrow) continue;
      return 0;
    }
    writer.writeKey(key, keyForm);
    return writer.bytes() <= bytesMax ? writer.bytes() : 0;
  }
  return 0;
}

}  // namespace exrp
