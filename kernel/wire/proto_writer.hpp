// ProtoWriter: writes protobuf fields one after another into memory that is large enough.
//
// A message within a message has its size before it. So sizes are added up first, by the functions below; then everything is written once.
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
/// The bytes of a field's tag.
inline size_t tagBytes(uint32_t field) { return varintBytes(uint64_t{field} << 3); }
/// The bytes of fields, with their tags.
inline size_t varintFieldBytes(uint32_t field, uint64_t value) { return tagBytes(field) + varintBytes(value); }
/// The same of a number that is left out where it is 0, as proto3 does.
inline size_t presentFieldBytes(uint32_t field, uint64_t value) { return value == 0 ? 0 : varintFieldBytes(field, value); }
inline size_t fixed64FieldBytes(uint32_t field) { return tagBytes(field) + sizeof(uint64_t); }
inline size_t bytesFieldBytes(uint32_t field, size_t size) { return tagBytes(field) + varintBytes(size) + size; }

class ProtoWriter {
 public:
  explicit ProtoWriter(uint8_t* to) : at_(to) {}

  uint8_t* at() const { return at_; }

  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at_++ = static_cast<uint8_t>(value | 0x80);
    *at_++ = static_cast<uint8_t>(value);
  }
  void tag(uint32_t field, Wire wire) { varint(uint64_t{field} << 3 | static_cast<uint32_t>(wire)); }

  void varintField(uint32_t field, uint64_t value) {
    tag(field, Wire::varint);
    varint(value);
  }
  /// A number that is left out where it is 0.
  void presentField(uint32_t field, uint64_t value) {
    if (value != 0) varintField(field, value);
  }
  void realField(uint32_t field, double value) {
    tag(field, Wire::fixed64);
    memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  /// The beginning of a field of `size` bytes, which follow.
  void bytesBegin(uint32_t field, size_t size) {
    tag(field, Wire::bytes);
    varint(size);
  }
  void raw(const void* data, size_t size) {
    if (size > 0) memcpy(at_, data, size);
    at_ += size;
  }
  void bytesField(uint32_t field, const void* data, size_t size) {
    bytesBegin(field, size);
    raw(data, size);
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
