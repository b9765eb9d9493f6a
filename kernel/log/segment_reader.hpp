// SegmentReader: reads one segment in pieces, and finds frames in it. For scanLog() (log_scan.hpp).
//
// Thread safety: none.
// Invariants:
//   1. It never takes more memory than a piece, or than the file has behind the place that is read.
// Cost: a piece of 1 MiB is read at a time. What lies in it is not read again.
#pragma once

#include "kernel/log/disk.hpp"
#include "kernel/log/log_format.hpp"

namespace exrp {

enum class FrameState : uint8_t {
  whole,
  headDamaged,     // no head is here, or none that fits into the file
  payloadDamaged,  // the head is whole, the payload is not
  failed,          // the file can't be read, or there is no memory
};

struct FoundFrame {
  FrameState state;
  FrameHead head;          // where it is whole
  const uint8_t* payload;  // until the next call of the reader
  uint64_t flippedBit;     // that was repaired, from the frame's first byte on; noBit where none was
};

class SegmentReader {
 public:
  static constexpr size_t usualPieceBytes = size_t{1} << 20;

  explicit SegmentReader(Disk& disk, size_t pieceBytes = usualPieceBytes) : disk_(disk), pieceBytes_(pieceBytes) {}
  SegmentReader(const SegmentReader&) = delete;
  SegmentReader& operator=(const SegmentReader&) = delete;
  ~SegmentReader();

  bool open(uint32_t segment);
  uint64_t bytes() const { return bytes_; }
  const char* name() const { return name_; }
  const DiskError& error() const { return error_; }
  bool isMemoryShort() const { return isMemoryShort_; }
  bool hasFailed() const { return isMemoryShort_ || error_.isError(); }

  /// Bytes of the file, until the next call; null where the file is shorter, and where it fails.
  uint8_t* at(uint64_t offset, size_t size);

  /// The frame at a place of the segment, which ends at `end`.
  FoundFrame look(uint32_t seed, uint32_t offset, uint32_t end);
  /// The same, of a frame that is not whole: whole where one flipped bit was all. The bit is right in `payload` only.
  FoundFrame repair(uint32_t seed, uint32_t offset, uint32_t end);
  /// The first place from `offset` on, in steps of 8 bytes, where there is the head of a frame; `until` where there is none before. A head whose payload
  /// is damaged counts only where another head, `until` or the end is right behind its frame.
  uint32_t findHead(uint32_t seed, uint32_t offset, uint32_t until, uint32_t end);

 private:
  /// Whether a whole head is at `bytes`, of a frame that ends before `end`.
  static bool isHead(uint32_t seed, uint32_t offset, uint32_t end, const uint8_t* bytes);

  Disk& disk_;
  const size_t pieceBytes_;
  FileId file_ = noFile;
  uint64_t bytes_ = 0;
  Scratch<uint8_t> piece_;
  uint64_t pieceOffset_ = 0;
  size_t pieceSize_ = 0;
  DiskError error_;
  bool isMemoryShort_ = false;
  char name_[32] = {};
};

}  // namespace exrp
