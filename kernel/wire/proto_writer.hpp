// ProtoWriter: writes protobuf fields one after another into memory that is large enough. ProtoSizer only adds up their bytes.
//
// A message within a message has its size before it. So message() calls what fills it twice: with a ProtoSizer, and then to write.
//
// Thread safety: none of its own.
// Cost: about 1 ns a field of one byte.
// What it does not do: it checks no room. The caller added the sizes up, and has so many bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernel/wire/proto_reader.hpp"

namespace exrp {

/// The bytes of a varint.
inline size_t varintBytes(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7; }
/// The bytes of a field of `size` bytes, with its tag and its size.
inline size_t bytesFieldBytes(uint32_t field, size_t size) { return varintBytes(uint64_t{field} << 3) + varintBytes(size) + size; }

class ProtoSizer;

/// The bytes of the fields that `fill(sink)` writes.
template <typename Fill, typename Sizer = ProtoSizer>
[[gnu::always_inline]] inline size_t sizeOfFields(Fill fill) {
  Sizer sizer;
  fill(sizer);
  return sizer.bytes();
}

/// What both kinds write, as `To` puts it: varint() and raw().
template <typename To>
class ProtoSink {
 public:
  void tag(uint32_t field, Wire wire) { to().varint(uint64_t{field} << 3 | static_cast<uint32_t>(wire)); }
  void varintField(uint32_t field, uint64_t value) {
    tag(field, Wire::varint);
    to().varint(value);
  }
  /// A number that is left out where it is 0, as proto3 does.
  void presentField(uint32_t field, uint64_t value) {
    if (value != 0) varintField(field, value);
  }
  void realField(uint32_t field, double value) {
    tag(field, Wire::fixed64);
    to().raw(&value, sizeof value);
  }
  /// The beginning of a field of `size` bytes, which follow.
  void bytesBegin(uint32_t field, size_t size) {
    tag(field, Wire::bytes);
    to().varint(size);
  }
  void bytesField(uint32_t field, const void* data, size_t size) {
    bytesBegin(field, size);
    to().raw(data, size);
  }
  /// A message of `size` bytes, with the fields that `fill(sink)` writes.
  template <typename Fill>
  [[gnu::always_inline]] void message(uint32_t field, size_t size, Fill fill) {
    bytesBegin(field, size);
    if constexpr (std::is_same_v<To, ProtoSizer>) to().raw(nullptr, size);
    else fill(to());
  }
  template <typename Fill>
  [[gnu::always_inline]] void message(uint32_t field, Fill fill) {
    message(field, sizeOfFields(fill), fill);
  }

 private:
  To& to() { return static_cast<To&>(*this); }
};

class ProtoSizer : public ProtoSink<ProtoSizer> {
 public:
  size_t bytes() const { return bytes_; }
  void varint(uint64_t value) { bytes_ += varintBytes(value); }
  void raw(const void*, size_t size) { bytes_ += size; }

 private:
  size_t bytes_ = 0;
};

class ProtoWriter : public ProtoSink<ProtoWriter> {
 public:
  explicit ProtoWriter(uint8_t* to) : at_(to) {}

  uint8_t* at() const { return at_; }

  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at_++ = static_cast<uint8_t>(value | 0x80);
    *at_++ = static_cast<uint8_t>(value);
  }
  void raw(const void* data, size_t size) {
    if (size > 0) memcpy(at_, data, size);
    at_ += size;
  }
  /// A field of bytes that `write(at)` writes, at most `most`; it returns how many. So they are written where a size of the longest kind would
  /// end, and moved if the size is shorter.
  template <typename Write>
  void bytesLater(uint32_t field, uint64_t most, Write write) {
    tag(field, Wire::bytes);
    uint8_t* const guess = at_ + varintBytes(most);
    const auto size = static_cast<size_t>(write(guess));
    varint(size);
    if (at_ != guess) memmove(at_, guess, size);
    at_ += size;
  }

 private:
  uint8_t* at_;
};

}  // namespace exrp
