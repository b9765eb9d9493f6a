// ItemMessage: a PrioritizedItem, as far as it is read. The bytes of its parts stay where they are.
//
// Thread safety: none of its own. Cost: about 1 ns a field of one byte.
#pragma once

#include "kernel/wire/proto_reader.hpp"
#include "kernel/wire/reverb_fields.hpp"

namespace exrp {

struct ItemMessage {
  uint64_t key = 0;
  ByteSpan table;
  double priority = 0;
  uint64_t timesSampled = 0;
  ByteSpan insertedAt;
  ByteSpan trajectory;
  OptionalReal removerPriority;  // its own for the remover

  /// False where the message is damaged.
  bool read(ByteSpan message) {
    using Fields = reverb::PrioritizedItem;
    *this = {};
    return readFields(message, Field{Fields::key, key}, Field{Fields::table, table}, Field{Fields::priority, priority},
                      Field{Fields::flatTrajectory, trajectory}, Field{Fields::timesSampled, timesSampled},
                      Field{Fields::insertedAt, insertedAt}, Field{Fields::removerPriority, removerPriority});
  }
};

}  // namespace exrp
