#include "kernel/packing/lz4_block.hpp"

#include <cstring>

#include "kernel/base/repeats.hpp"

namespace exrp {

namespace {

constexpr size_t matchBytesMin = 4;
/// Shorter matches save little, and each takes as long to decode as a long one. With them, keys of frames were as large and took a sixth longer.
constexpr size_t matchBytesWell = 8;
constexpr size_t distanceMax = 65535;
/// Rules of the format: the last bytes are literals, and the last match begins before them.
constexpr size_t lastLiterals = 5;
constexpr size_t matchMargin = 12;
constexpr int tableBits = 12;
/// A length of four bits that goes on in further bytes.
constexpr uint32_t longLength = 15;

uint8_t* writeRest(uint8_t* out, size_t length) {
  if (length < longLength) return out;
  size_t rest = length - longLength;
  for (; rest >= 255; rest -= 255) *out++ = 255;
  *out++ = static_cast<uint8_t>(rest);
  return out;
}

uint8_t shortOf(size_t length) { return static_cast<uint8_t>(length < longLength ? length : longLength); }

uint8_t* writeLiterals(uint8_t* out, const uint8_t* from, size_t bytes, size_t matchCode) {
  *out++ = static_cast<uint8_t>(shortOf(bytes) << 4 | shortOf(matchCode));
  out = writeRest(out, bytes);
  if (bytes > 0) memcpy(out, from, bytes);
  return out + bytes;
}

uint8_t* writeSequence(uint8_t* out, const uint8_t* literals, size_t literalBytes, size_t distance, size_t matchBytes) {
  const size_t code = matchBytes - matchBytesMin;
  out = writeLiterals(out, literals, literalBytes, code);
  *out++ = static_cast<uint8_t>(distance);
  *out++ = static_cast<uint8_t>(distance >> 8);
  return writeRest(out, code);
}

/// Reads the rest of a length. False where the input ends before it, or where it is beyond any output.
bool readRest(const uint8_t*& in, const uint8_t* end, size_t& length) {
  if (length < longLength) return true;
  uint8_t byte = 255;
  while (byte == 255) {
    if (in == end || length > lz4BytesMax) return false;
    byte = *in++;
    length += byte;
  }
  return true;
}

}  // namespace

size_t lz4Encode(const uint8_t* in, size_t bytes, uint8_t* out) {
  uint8_t* to = out;
  const uint8_t* literals = in;  // what is not written yet begins here
  const uint8_t* const end = in + bytes;
  if (bytes > matchMargin) {
    uint32_t table[1 << tableBits] = {};  // for the hash of four bytes, where they stood last
    const uint8_t* const limit = end - matchMargin;
    const uint8_t* at = in + 1;
    const auto remember = [&](const uint8_t* place) {
      uint32_t& entry = table[placeOf(load32(place), tableBits)];
      const uint8_t* const earlier = in + entry;
      entry = static_cast<uint32_t>(place - in);
      return earlier;
    };
    remember(in);
    // The longer nothing is found, the larger the steps, so that noise costs little.
    for (uint32_t effort = 64; at <= limit;) {
      const uint8_t* earlier = remember(at);
      if (load32(earlier) != load32(at) || static_cast<size_t>(at - earlier) > distanceMax) {
        at += effort++ >> 6;
        continue;
      }
      const uint8_t* const foundAt = at;
      while (at > literals && earlier > in && at[-1] == earlier[-1]) --at, --earlier;
      const size_t equal = matchBytesMin + countEqual(earlier + matchBytesMin, at + matchBytesMin, end - lastLiterals);
      if (equal < matchBytesWell) {
        at = foundAt + 1;
        continue;
      }
      to = writeSequence(to, literals, static_cast<size_t>(at - literals), static_cast<size_t>(at - earlier), equal);
      at += equal;
      literals = at;
      if (at <= limit) remember(at - 2);
      effort = 64;
    }
  }
  to = writeLiterals(to, literals, static_cast<size_t>(end - literals), 0);
  return static_cast<size_t>(to - out);
}

bool lz4Decode(const uint8_t* in, size_t inBytes, uint8_t* out, size_t bytes) {
  const uint8_t* const inEnd = in + inBytes;
  const uint8_t* const begin = out;
  const uint8_t* const end = out + bytes;
  while (in < inEnd) {
    const uint32_t token = *in++;
    size_t literals = token >> 4;
    if (!readRest(in, inEnd, literals)) return false;
    if (static_cast<size_t>(inEnd - in) >= literals + copyMargin && static_cast<size_t>(end - out) >= literals + copyMargin) [[likely]] {
      copy16(out, in);
      for (size_t done = 16; done < literals; done += 16) copy16(out + done, in + done);
      in += literals;
      out += literals;
    } else {
      if (literals > static_cast<size_t>(inEnd - in) || literals > static_cast<size_t>(end - out)) return false;
      if (literals > 0) memcpy(out, in, literals);
      in += literals;
      out += literals;
      if (in == inEnd) return out == end && (token & 15) == 0;
      if (inEnd - in < 2) return false;
    }
    const size_t distance = static_cast<size_t>(in[0]) | static_cast<size_t>(in[1]) << 8;
    in += 2;
    size_t length = token & 15;
    if (!readRest(in, inEnd, length)) return false;
    length += matchBytesMin;
    if (distance - 1 >= static_cast<size_t>(out - begin)) return false;
    const auto room = static_cast<size_t>(end - out);
    if (room >= length + copyMargin) [[likely]] {
      copyRepeated(out, distance, length);
    } else {
      if (length > room) return false;
      // Pictures often end with one long match.
      size_t done = 0;
      if (length > copyMargin) copyRepeated(out, distance, done = length - copyMargin);
      for (; done < length; ++done) out[done] = (out - distance)[done];
    }
    out += length;
  }
  return false;
}

bool lz4Check(const uint8_t* in, size_t inBytes, size_t bytes) {
  const uint8_t* const inEnd = in + inBytes;
  size_t made = 0;
  while (in < inEnd) {
    const uint32_t token = *in++;
    size_t literals = token >> 4;
    size_t length = token & 15;
    if (!readRest(in, inEnd, literals)) return false;
    if (literals > static_cast<size_t>(inEnd - in) || literals > bytes - made) return false;
    in += literals;
    made += literals;
    if (in == inEnd) return made == bytes && length == 0;
    if (inEnd - in < 2) return false;
    const size_t distance = static_cast<size_t>(in[0]) | static_cast<size_t>(in[1]) << 8;
    in += 2;
    if (!readRest(in, inEnd, length)) return false;
    length += matchBytesMin;
    if (distance - 1 >= made || length > bytes - made) return false;
    made += length;
  }
  return false;
}

}  // namespace exrp
