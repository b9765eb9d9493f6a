// The bytes of a log: the head of a segment, the head of a frame, and their checksums. docs/internals/log_format.md describes each byte.
//
// A frame's head has a checksum that begins with the log's id, the segment's number and the frame's offset. So bytes of another log, of another
// segment or of another place are never taken for a frame, and neither are zeros.
//
// CRC-32C finds every change of one bit, and also says which bit it was: flippedBit(). Nothing tells one flipped bit from damage that happens
// to look like it, which is one case in 2^32 for each bit of the frame.
//
// Thread safety: plain data and functions without state.
// Cost: a head is 16 bytes, and frames begin at multiples of 8.
#pragma once

#include <cstring>

#include "kernel/base/checksum.hpp"
#include "kernel/base/padded.hpp"
#include "kernel/log/log_place.hpp"

namespace exrp {

constexpr uint32_t logVersion = 1;
constexpr uint32_t segmentHeadBytes = 32;
constexpr uint32_t frameHeadBytes = 16;
/// A segment is at most so long before its last frame, and a frame's payload has at most so many bytes: all offsets have 32 bits.
constexpr uint32_t segmentBytesMax = uint32_t{1} << 31;
constexpr uint32_t frameBytesMax = uint32_t{1} << 30;

/// The log's own frames. Their payload says how far the log was on the disk when they were written (SyncedMark).
constexpr uint32_t markType = 0;

struct SegmentHead {
  uint8_t magic[8];
  uint32_t version;
  uint32_t segment;
  uint64_t logId;
  uint32_t previousBytes;  // where the segment before ends; 0 for the first
  uint32_t sum;            // CRC-32C of the 28 bytes before
};
static_assert(sizeof(SegmentHead) == segmentHeadBytes);

struct FrameHead {
  uint32_t bytes;  // of the payload
  uint32_t type;
  uint32_t payloadSum;  // CRC-32C of the payload, and of the zeros behind it up to a multiple of 8 bytes
  uint32_t sum;         // CRC-32C of the seed, the offset and the 12 bytes before
};
static_assert(sizeof(FrameHead) == frameHeadBytes);

/// All frames before this place were on the disk when the mark was written.
struct SyncedMark {
  uint32_t segment;
  uint32_t offset;
};
constexpr uint32_t markBytes = frameHeadBytes + sizeof(SyncedMark);

/// The mark that close() writes. A log that ends with it was closed.
struct ClosingMark {
  SyncedMark synced;
  uint64_t isClosed;  // 1
};
constexpr uint32_t closingMarkBytes = frameHeadBytes + sizeof(ClosingMark);

constexpr uint8_t logMagic[8] = {'E', 'X', 'R', 'P', 'S', 'L', 'O', 'G'};

// The numbers of a log are little-endian, and so is every processor that the kernel is built for.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

/// Of a frame with so much payload, all in all.
constexpr uint32_t wholeFrameBytes(uint32_t payloadBytes) { return frameHeadBytes + padded(payloadBytes); }

/// What the checksums of a segment's heads begin with.
inline uint32_t frameSeed(uint64_t logId, uint32_t segment) {
  uint8_t bytes[16] = {};
  memcpy(bytes, &logId, 8);
  memcpy(bytes + 8, &segment, 4);
  return checksum(0, bytes, sizeof bytes);
}

inline uint32_t frameHeadSum(uint32_t seed, uint32_t offset, const FrameHead& head) {
  uint8_t bytes[16];
  memcpy(bytes, &offset, 4);
  memcpy(bytes + 4, &head, 12);
  return checksum(seed, bytes, sizeof bytes);
}

/// Of a payload, with the zeros behind it, which need not be there.
inline uint32_t payloadSum(const uint8_t* payload, uint32_t bytes) {
  constexpr uint8_t zeros[8] = {};
  return checksum(checksum(0, payload, bytes), zeros, padded(bytes) - bytes);
}

inline SegmentHead segmentHead(uint64_t logId, uint32_t segment, uint32_t previousBytes) {
  SegmentHead head = {{}, logVersion, segment, logId, previousBytes, 0};
  memcpy(head.magic, logMagic, sizeof head.magic);
  head.sum = checksum(0, reinterpret_cast<const uint8_t*>(&head), segmentHeadBytes - 4);
  return head;
}

constexpr uint64_t noBit = UINT64_MAX;

/// Which bit of `bytes` was flipped, where the checksum of these is `sum` ^ `syndrome` instead of `sum`; noBit where it was not one bit. Bits count
/// from the lowest of the first byte. Cost: about 1 ns a bit.
uint64_t flippedBit(uint32_t syndrome, uint64_t bytes);

/// Makes a head whole that has one flipped bit, and says which. `bytes` is the head, its last 4 bytes the checksum, whose right value for the
/// bytes as they are is `sum`.
uint64_t repairHead(uint8_t* head, uint32_t headBytes, uint32_t sum);

}  // namespace exrp
