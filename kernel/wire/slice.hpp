// Slice: some rows of one tensor of a chunk, as a message has them.
//
// Thread safety: none of its own. Cost: about 1 ns a field of one byte.
#pragma once

#include "kernel/wire/proto_reader.hpp"
#include "kernel/wire/reverb_fields.hpp"

namespace exrp {

struct Slice {
  uint64_t chunk = 0;
  uint32_t offset = 0;
  uint32_t length = 0;
  uint32_t tensor = 0;
  bool isPossible = true;  // no number was negative

  /// False where the message is damaged.
  bool read(ByteSpan message) {
    using Fields = reverb::ChunkSlice;
    *this = {};
    ProtoReader from(message);
    const auto number = [&] {
      const int32_t value = from.int32();
      isPossible = isPossible && value >= 0;
      return static_cast<uint32_t>(value);
    };
    while (from.next()) {
      if (from.is(Fields::chunkKey, Wire::varint)) chunk = from.varint();
      else if (from.is(Fields::offset, Wire::varint)) offset = number();
      else if (from.is(Fields::length, Wire::varint)) length = number();
      else if (from.is(Fields::index, Wire::varint)) tensor = number();
      else from.skip();
    }
    return from.isGood();
  }
};

}  // namespace exrp
