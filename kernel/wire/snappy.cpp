#include "kernel/wire/snappy.hpp"

#include <bit>
#include <cstring>

#include "kernel/base/repeats.hpp"

namespace exrp {

namespace {

// The two low bits of an element's first byte.
constexpr uint32_t literalTag = 0;
constexpr uint32_t nearCopyTag = 1;    // 4..11 bytes, a distance of 11 bits
constexpr uint32_t middleCopyTag = 2;  // 1..64 bytes, a distance of 16 bits
constexpr uint32_t farCopyTag = 3;     // 1..64 bytes, a distance of 32 bits

/// The encoder looks for repetitions within pieces of this size, so that distances and the table's entries have 16 bits.
constexpr uint64_t pieceBytes = 65536;
/// The search reads 8 bytes from any place that it looks at, so it stops this far from a piece's end.
constexpr uint64_t searchMargin = 15;
constexpr int tableBitsMax = 14;

uint8_t* writeVarint(uint8_t* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<uint8_t>(value | 0x80);
  *out++ = static_cast<uint8_t>(value);
  return out;
}

uint8_t* writeLittleEndian(uint8_t* out, uint64_t value, uint32_t bytes) {
  for (uint32_t k = 0; k < bytes; ++k) *out++ = static_cast<uint8_t>(value >> (8 * k));
  return out;
}

/// Writes the first bytes of a literal of `bytes` bytes, at least 1.
uint8_t* writeLiteralHead(uint8_t* out, uint64_t bytes) {
  const uint64_t rest = bytes - 1;
  if (rest < 60) {
    *out++ = static_cast<uint8_t>(rest << 2 | literalTag);
    return out;
  }
  const uint32_t lengthBytes = static_cast<uint32_t>(std::bit_width(rest) + 7) / 8;
  *out++ = static_cast<uint8_t>((59 + lengthBytes) << 2 | literalTag);
  return writeLittleEndian(out, rest, lengthBytes);
}

uint8_t* writeLiteral(uint8_t* out, const uint8_t* from, uint64_t bytes) {
  if (bytes == 0) return out;
  out = writeLiteralHead(out, bytes);
  memcpy(out, from, static_cast<size_t>(bytes));
  return out + bytes;
}

/// A literal whose bytes are followed by at least searchMargin others of the input. Room after `out` is ample: see snappyCapacity.
uint8_t* writeShortLiteral(uint8_t* out, const uint8_t* from, uint64_t bytes) {
  if (bytes == 0 || bytes > 16) return writeLiteral(out, from, bytes);
  *out++ = static_cast<uint8_t>((bytes - 1) << 2 | literalTag);
  copy16(out, from);
  return out + bytes;
}

uint8_t* writeMiddleCopy(uint8_t* out, uint64_t distance, uint64_t bytes) {
  *out++ = static_cast<uint8_t>((bytes - 1) << 2 | middleCopyTag);
  return writeLittleEndian(out, distance, 2);
}

/// A copy of at least 4 bytes, from a distance below pieceBytes.
uint8_t* writeCopy(uint8_t* out, uint64_t distance, uint64_t bytes) {
  for (; bytes >= 68; bytes -= 64) out = writeMiddleCopy(out, distance, 64);
  // At least 4 bytes stay for the last element, as the short form needs.
  if (bytes > 64) {
    out = writeMiddleCopy(out, distance, 60);
    bytes -= 60;
  }
  if (bytes >= 12 || distance >= 2048) return writeMiddleCopy(out, distance, bytes);
  *out++ = static_cast<uint8_t>((distance >> 8) << 5 | (bytes - 4) << 2 | nearCopyTag);
  *out++ = static_cast<uint8_t>(distance);
  return out;
}

/// Encodes one piece. The table remembers, for the hash of four bytes, where they stood last.
uint8_t* encodePiece(const uint8_t* piece, uint64_t bytes, uint16_t* table, int bits, uint8_t* out) {
  const uint8_t* const end = piece + bytes;
  const uint8_t* literal = piece;  // what is not written yet begins here
  const uint8_t* const limit = end - searchMargin;
  const uint8_t* at = piece + 1;
  const auto remember = [&](uint32_t fourBytes, const uint8_t* place) {
    uint16_t& entry = table[placeOf(fourBytes, bits)];
    const uint8_t* const earlier = piece + entry;
    entry = static_cast<uint16_t>(place - piece);
    return earlier;
  };
  while (true) {
    // Searches. The longer nothing is found, the larger its steps, so that noise costs little.
    const uint8_t* earlier = nullptr;
    for (uint32_t effort = 32;; effort += effort >> 5) {
      if (at > limit) return writeLiteral(out, literal, static_cast<uint64_t>(end - literal));
      const uint32_t fourBytes = load32(at);
      earlier = remember(fourBytes, at);
      if (load32(earlier) == fourBytes) break;
      at += effort >> 5;
    }
    out = writeShortLiteral(out, literal, static_cast<uint64_t>(at - literal));
    // Repetitions often follow each other.
    while (true) {
      const uint64_t equal = 4 + countEqual(earlier + 4, at + 4, end);
      out = writeCopy(out, static_cast<uint64_t>(at - earlier), equal);
      at += equal;
      literal = at;
      if (at > limit) return writeLiteral(out, literal, static_cast<uint64_t>(end - literal));
      const uint64_t around = load64(at - 1);
      remember(static_cast<uint32_t>(around), at - 1);
      const auto fourBytes = static_cast<uint32_t>(around >> 8);
      earlier = remember(fourBytes, at);
      if (load32(earlier) != fourBytes) break;
    }
    ++at;
  }
}

/// A copy element by its first byte.
struct CopyHead {
  uint8_t length;
  uint8_t distanceBytes;  // those that follow
  uint16_t distanceHigh;
};

constexpr CopyHead copyHeadOf(uint32_t first) {
  const auto length = static_cast<uint8_t>((first >> 2) + 1);
  switch (first & 3) {
    case nearCopyTag:
      return {static_cast<uint8_t>((first >> 2 & 7) + 4), 1, static_cast<uint16_t>((first >> 5) << 8)};
    case middleCopyTag: return {length, 2, 0};
    case farCopyTag: return {length, 4, 0};
    default: return {};
  }
}

struct CopyHeads {
  CopyHead of[256];
};

constexpr CopyHeads makeCopyHeads() {
  CopyHeads made = {};
  for (uint32_t first = 0; first < 256; ++first) made.of[first] = copyHeadOf(first);
  return made;
}

constexpr CopyHeads copyHeads = makeCopyHeads();
/// The bits of a distance in so many bytes.
constexpr uint32_t distanceMasks[5] = {0, 0xFF, 0xFFFF, 0, 0xFFFFFFFF};

}  // namespace

uint64_t snappyEncode(const uint8_t* in, uint64_t bytes, uint8_t* out) {
  uint16_t table[1 << tableBitsMax];
  uint8_t* to = writeVarint(out, bytes);
  while (bytes > 0) {
    const uint64_t piece = bytes < pieceBytes ? bytes : pieceBytes;
    if (piece <= searchMargin) {
      to = writeLiteral(to, in, piece);
    } else {
      // A small piece gets a small table, because clearing it costs time too.
      int bits = 8;
      while (bits < tableBitsMax && uint64_t{1} << bits < piece) ++bits;
      memset(table, 0, sizeof(uint16_t) << bits);
      to = encodePiece(in, piece, table, bits, to);
    }
    in += piece;
    bytes -= piece;
  }
  return static_cast<uint64_t>(to - out);
}

namespace {

/// Reads the varint at the head of a block; null where it is damaged.
const uint8_t* readLength(const uint8_t* in, const uint8_t* inEnd, uint64_t* bytes) {
  uint64_t value = 0;
  for (uint32_t shift = 0; shift < 35 && in < inEnd; shift += 7) {
    const uint8_t byte = *in++;
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) {
      *bytes = value;
      return value <= snappyBytesMax ? in : nullptr;
    }
  }
  return nullptr;
}

}  // namespace

bool snappyLength(const uint8_t* in, uint64_t inBytes, uint64_t* bytes) {
  return readLength(in, in + inBytes, bytes) != nullptr;
}

bool snappyDecode(const uint8_t* in, uint64_t inBytes, uint8_t* out, uint64_t bytes) {
  const uint8_t* const inEnd = in + inBytes;
  uint64_t whole = 0;
  in = readLength(in, inEnd, &whole);
  if (in == nullptr || bytes > whole) return false;
  const bool isWhole = bytes == whole;
  const uint8_t* const outBegin = out;
  const uint8_t* const outEnd = out + bytes;
  while (in < inEnd && (isWhole || out < outEnd)) {
    const auto inLeft = static_cast<uint64_t>(inEnd - in);
    const auto outLeft = static_cast<uint64_t>(outEnd - out);
    const uint32_t first = *in;
    if ((first & 3) == literalTag) {
      uint64_t length = (first >> 2) + 1;
      if (length <= 16 && inLeft >= 17 && outLeft >= 16) {
        copy16(out, in + 1);
        in += 1 + length;
        out += length;
        continue;
      }
      uint64_t head = 1;
      if (length > 60) {
        head += length - 60;
        if (inLeft < head) return false;
        length = 1;
        for (uint64_t k = 1; k < head; ++k) length += uint64_t{in[k]} << (8 * (k - 1));
      }
      if (inLeft - head < length || (isWhole && outLeft < length)) return false;
      const uint64_t taken = length < outLeft ? length : outLeft;
      memcpy(out, in + head, static_cast<size_t>(taken));
      in += head + length;
      out += taken;
      continue;
    }
    const CopyHead head = copyHeads.of[first];
    uint64_t distance = head.distanceHigh;
    if (inLeft >= 5) {
      distance += load32(in + 1) & distanceMasks[head.distanceBytes];
    } else {
      if (inLeft < 1u + head.distanceBytes) return false;
      for (uint32_t k = 0; k < head.distanceBytes; ++k) distance += uint64_t{in[1 + k]} << (8 * k);
    }
    in += 1 + head.distanceBytes;
    uint64_t length = head.length;
    if (distance - 1 >= static_cast<uint64_t>(out - outBegin)) return false;
    if (outLeft >= length + copyMargin) {
      copyRepeated(out, static_cast<size_t>(distance), static_cast<size_t>(length));
    } else {
      if (outLeft < length) {
        if (isWhole) return false;
        length = outLeft;
      }
      for (uint64_t k = 0; k < length; ++k) out[k] = (out - distance)[k];
    }
    out += length;
  }
  return out == outEnd;
}

}  // namespace exrp
