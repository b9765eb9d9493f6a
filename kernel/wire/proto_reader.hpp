// ProtoReader: reads the fields of one protobuf message, in the order in which they stand, without copying.
//
// A message comes from anybody, so nothing in it is believed: each length is compared with what is left. After the first fault, `isGood()` is
// false, next() returns false, and every value is 0 or empty. So a caller may read on, and asks once, at the end.
//
// readFields() says which fields go into which variables:
//
//   uint64_t key = 0;
//   ByteSpan name;
//   if (!readFields(message, Field{1, key}, Field{2, name})) ...
//
// Thread safety: none of its own. Invariants: it reads no byte outside of the message.
// Cost: about 1 ns a field of one byte; nothing is allocated.
// What it does not do: groups (wire types 3 and 4, which no message of proto3 has) are a fault. It does not check UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace exrp {

/// How a field stands on the wire.
enum class Wire : uint32_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// Bytes of somebody else's.
struct ByteSpan {
  const uint8_t* data = nullptr;
  size_t size = 0;

  bool operator==(const ByteSpan& other) const { return size == other.size && (size == 0 || memcmp(data, other.data, size) == 0); }
};

class ProtoReader {
 public:
  ProtoReader(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  explicit ProtoReader(ByteSpan bytes) : ProtoReader(bytes.data, bytes.size) {}

  /// Goes on to the next field; false at the end and after a fault. The field before must have been read or skipped.
  bool next() {
    if (at_ == end_) return false;
    const uint64_t tag = varint();
    field_ = static_cast<uint32_t>(tag >> 3);
    wire_ = static_cast<Wire>(tag & 7);
    if (tag >> 32 != 0 || field_ == 0) fault();
    return isGood_;
  }

  /// The number of the field, from 1.
  uint32_t field() const { return field_; }
  Wire wire() const { return wire_; }
  bool is(uint32_t field, Wire wire) const { return field_ == field && wire_ == wire; }
  /// What is read next.
  const uint8_t* at() const { return at_; }
  bool isAtEnd() const { return at_ == end_; }
  /// False once anything was wrong.
  bool isGood() const { return isGood_; }

  uint64_t varint() {
    if (at_ != end_ && *at_ < 0x80) return *at_++;
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 70 && at_ != end_; shift += 7) {
      const uint8_t byte = *at_++;
      if (shift < 63) value |= uint64_t{byte & 0x7fu} << shift;
      else if (byte > 1) break;  // more than 64 bits
      else value |= uint64_t{byte} << 63;
      if (byte < 0x80) return value;
    }
    fault();
    return 0;
  }

  double real() {
    double value = 0;
    if (left() < sizeof value) return fault(), 0;
    memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  /// The bytes of a field: of a string, a message or packed numbers.
  ByteSpan bytes() {
    const uint64_t size = varint();
    if (size > left()) return fault(), ByteSpan{};
    const ByteSpan span = {at_, static_cast<size_t>(size)};
    at_ += size;
    return span;
  }

  /// Passes over the value of the field.
  void skip() {
    switch (wire_) {
      case Wire::varint: varint(); break;
      case Wire::fixed64: pass(8); break;
      case Wire::bytes: bytes(); break;
      case Wire::fixed32: pass(4); break;
      default: fault();
    }
  }

  /// Calls `use(number)` for each number of a repeated field of varints, whether it is packed or not. The field is a varint or bytes.
  template <typename Use>
  void varints(Use use) {
    if (wire_ == Wire::varint) return use(varint());
    ProtoReader packed(bytes());
    while (!packed.isAtEnd() && packed.isGood_) {
      const uint64_t number = packed.varint();
      if (packed.isGood_) use(number);
    }
    if (!packed.isGood_) fault();
  }

  /// For a caller that finds a value that can't be.
  void fault() {
    isGood_ = false;
    at_ = end_;
  }

 private:
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  void pass(size_t size) {
    if (left() < size) fault();
    else at_ += size;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  uint32_t field_ = 0;
  Wire wire_ = Wire::varint;
  bool isGood_ = true;
};

/// A double that a message may lack.
struct OptionalReal {
  double value = 0;
  bool isThere = false;
};

/// A field that is wanted, and what takes it: a variable, or a function of the bytes of a message or of each number of a repeated field.
template <typename To>
struct Field {
  uint32_t number;
  To to;
};
template <typename To>
Field(uint32_t, To&&) -> Field<To>;

/// Takes the field at which a message stands. False where it is written in another way.
template <typename To>
[[gnu::always_inline]] inline bool takeField(ProtoReader& from, To& to) {
  const Wire wire = from.wire();
  if constexpr (std::is_same_v<To, ByteSpan>) {
    if (wire != Wire::bytes) return false;
    to = from.bytes();
  } else if constexpr (std::is_same_v<To, double> || std::is_same_v<To, OptionalReal>) {
    if (wire != Wire::fixed64) return false;
    if constexpr (std::is_same_v<To, double>) to = from.real();
    else to = {from.real(), true};
  } else if constexpr (std::is_integral_v<To>) {
    // What does not fit is cut, as every parser does: a negative int32 of proto takes ten bytes.
    if (wire != Wire::varint) return false;
    to = static_cast<To>(from.varint());
  } else if constexpr (std::is_invocable_v<To&, ByteSpan>) {
    if (wire != Wire::bytes) return false;
    if (!to(from.bytes())) from.fault();
  } else {
    if (wire != Wire::bytes && wire != Wire::varint) return false;
    from.varints(to);
  }
  return true;
}

/// Reads the fields of a message that are wanted, in the order in which they stand. False where it is damaged, or a function of a message returns
/// false: then nothing behind that is read.
/// It is inlined, with what takes the fields: a column of a sample is then decoded in 110 ns instead of 160.
template <typename... To>
[[gnu::always_inline]] inline bool readFields(ByteSpan message, Field<To>... wanted) {
  ProtoReader from(message);
  while (from.next()) {
    const bool isTaken = (... || (from.field() == wanted.number && takeField(from, wanted.to)));
    if (!isTaken) from.skip();
  }
  return from.isGood();
}

}  // namespace exrp
