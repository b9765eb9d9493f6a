#include "kernel/log/segment_reader.hpp"

#include <algorithm>

#include "kernel/log/log_segments.hpp"

namespace exrp {
namespace {

/// Whether a payload is what its head says, with zeros behind.
bool isWholePayload(const FrameHead& head, const uint8_t* payload) {
  for (uint32_t k = head.bytes; k < padded(head.bytes); ++k) {
    if (payload[k] != 0) return false;
  }
  return checksum(0, payload, padded(head.bytes)) == head.payloadSum;
}

}  // namespace

SegmentReader::~SegmentReader() {
  if (file_ != noFile) disk_.close(file_);
}

bool SegmentReader::open(uint32_t segment) {
  memcpy(name_, SegmentName(segment).text, sizeof name_);
  error_ = disk_.open(name_, OpenFile::read, &file_);
  if (!error_.isError()) error_ = disk_.size(file_, &bytes_);
  return !error_.isError();
}

uint8_t* SegmentReader::at(uint64_t offset, size_t size) {
  if (hasFailed() || size > bytes_ || offset > bytes_ - size) return nullptr;
  if (offset < pieceOffset_ || offset + size > pieceOffset_ + pieceSize_) {
    const auto left = static_cast<size_t>(std::min<uint64_t>(bytes_ - offset, SIZE_MAX));
    const size_t wanted = std::max(size, std::min(pieceBytes_, left));
    pieceSize_ = 0;
    if (!piece_.commit(wanted)) {
      isMemoryShort_ = true;
      return nullptr;
    }
    error_ = disk_.read(file_, offset, piece_.data(), wanted, &pieceSize_);
    pieceOffset_ = offset;
    if (error_.isError()) return nullptr;
    // Somebody else made the file shorter.
    if (pieceSize_ < size) return nullptr;
  }
  return piece_.data() + (offset - pieceOffset_);
}

bool SegmentReader::isHead(uint32_t seed, uint32_t offset, uint32_t end, const uint8_t* bytes) {
  FrameHead head;
  memcpy(&head, bytes, sizeof head);
  return head.bytes <= frameBytesMax && end - offset >= wholeFrameBytes(head.bytes) && head.sum == frameHeadSum(seed, offset, head);
}

FoundFrame SegmentReader::look(uint32_t seed, uint32_t offset, uint32_t end) {
  FoundFrame found = {FrameState::headDamaged, {}, nullptr, noBit};
  if (end - offset < frameHeadBytes) return found;
  const uint8_t* bytes = at(offset, frameHeadBytes);
  if (bytes == nullptr) {
    if (hasFailed()) found.state = FrameState::failed;
    return found;
  }
  if (!isHead(seed, offset, end, bytes)) return found;
  memcpy(&found.head, bytes, frameHeadBytes);
  bytes = at(offset, wholeFrameBytes(found.head.bytes));
  if (bytes == nullptr) {
    found.state = hasFailed() ? FrameState::failed : FrameState::headDamaged;
    return found;
  }
  found.payload = bytes + frameHeadBytes;
  found.state = isWholePayload(found.head, found.payload) ? FrameState::whole : FrameState::payloadDamaged;
  return found;
}

FoundFrame SegmentReader::repair(uint32_t seed, uint32_t offset, uint32_t end) {
  FoundFrame found = look(seed, offset, end);
  if (found.state == FrameState::whole || found.state == FrameState::failed) return found;
  if (found.state == FrameState::payloadDamaged) {
    const uint32_t whole = wholeFrameBytes(found.head.bytes);
    const uint32_t summed = padded(found.head.bytes);
    const uint64_t bit = flippedBit(checksum(0, found.payload, summed) ^ found.head.payloadSum, summed);
    if (bit == noBit) return found;
    // Only in memory, and the piece is read again for what comes later.
    uint8_t* const bytes = at(offset, whole);
    bytes[frameHeadBytes + bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    pieceSize_ = 0;
    if (!isWholePayload(found.head, found.payload)) return found;
    found.state = FrameState::whole;
    found.flippedBit = 8 * frameHeadBytes + bit;
    return found;
  }
  if (end - offset < frameHeadBytes) return found;
  const uint8_t* bytes = at(offset, frameHeadBytes);
  if (bytes == nullptr) return found;
  FrameHead head;
  memcpy(&head, bytes, sizeof head);
  const uint64_t bit = repairHead(reinterpret_cast<uint8_t*>(&head), frameHeadBytes, frameHeadSum(seed, offset, head));
  if (bit == noBit || head.bytes > frameBytesMax || end - offset < wholeFrameBytes(head.bytes)) return found;
  bytes = at(offset, wholeFrameBytes(head.bytes));
  if (bytes == nullptr) {
    if (hasFailed()) found.state = FrameState::failed;
    return found;
  }
  if (!isWholePayload(head, bytes + frameHeadBytes)) return found;
  return {FrameState::whole, head, bytes + frameHeadBytes, bit};
}

uint32_t SegmentReader::findHead(uint32_t seed, uint32_t offset, uint32_t until, uint32_t end) {
  while (offset < until && end - offset >= frameHeadBytes) {
    // As much as is in the piece, or in a new one.
    const uint8_t* bytes = at(offset, frameHeadBytes);
    if (bytes == nullptr) return until;
    const uint64_t inPiece = pieceOffset_ + pieceSize_ - offset;
    const auto last = static_cast<uint32_t>(std::min<uint64_t>({offset + inPiece - frameHeadBytes, end - frameHeadBytes, until - 1}));
    bool isCandidate = false;
    for (; offset <= last; offset += 8, bytes += 8) {
      if (!isHead(seed, offset, end, bytes)) continue;
      isCandidate = true;
      break;
    }
    if (!isCandidate) continue;
    const FoundFrame found = look(seed, offset, end);
    if (found.state == FrameState::failed) return until;
    if (found.state == FrameState::whole) return offset;
    if (found.state == FrameState::payloadDamaged) {
      const uint32_t next = offset + wholeFrameBytes(found.head.bytes);
      if (next == end || next == until) return offset;
      const uint8_t* const behind = end - next < frameHeadBytes ? nullptr : at(next, frameHeadBytes);
      if (behind != nullptr && isHead(seed, next, end, behind)) return offset;
    }
    offset += 8;
  }
  return until;
}

}  // namespace exrp
