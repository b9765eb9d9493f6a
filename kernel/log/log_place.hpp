// Places in a log.
//
// Thread safety: plain data.
#pragma once

#include <cstdint>

namespace exrp {

/// A place in the stream. Places are ordered as the stream is.
struct LogPosition {
  uint32_t segment = 0;
  uint32_t offset = 0;

  friend bool operator==(const LogPosition&, const LogPosition&) = default;
  /// One number, in the same order.
  uint64_t packed() const { return static_cast<uint64_t>(segment) << 32 | offset; }
  static LogPosition unpacked(uint64_t packed) { return {static_cast<uint32_t>(packed >> 32), static_cast<uint32_t>(packed)}; }
};

/// Where a frame is: its head, and the bytes of its payload.
struct LogPlace {
  uint32_t segment = 0;
  uint32_t offset = 0;
  uint32_t bytes = 0;

  LogPosition position() const { return {segment, offset}; }
};

}  // namespace exrp
