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

  /// False where the message is damaged.
  bool read(ByteSpan message) {
    using Fields = reverb::ChunkSlice;
    *this = {};
    return readFields(message, Field{Fields::chunkKey, chunk}, Field{Fields::offset, offset}, Field{Fields::length, length},
                      Field{Fields::index, tensor});
  }
  /// Whether no number is negative.
  bool isPossible() const { return (offset | length | tensor) >> 31 == 0; }
};

}  // namespace exrp
