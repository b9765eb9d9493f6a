// ItemMessage: a PrioritizedItem, as far as it is read. The bytes of its parts stay where they are.
//
// Thread safety: none of its own. Cost: about 1 ns a field of one byte.
#pragma once

#include <cmath>

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
  bool hasOwn = false;  // a priority of its own for the remover
  double removerPriority = NAN;

  /// False where the message is damaged.
  bool read(ByteSpan message) {
    using Fields = reverb::PrioritizedItem;
    *this = {};
    ProtoReader from(message);
    while (from.next()) {
      if (from.is(Fields::key, Wire::varint)) key = from.varint();
      else if (from.is(Fields::table, Wire::bytes)) table = from.bytes();
      else if (from.is(Fields::priority, Wire::fixed64)) priority = from.real();
      else if (from.is(Fields::flatTrajectory, Wire::bytes)) trajectory = from.bytes();
      else if (from.is(Fields::timesSampled, Wire::varint)) timesSampled = from.varint();
      else if (from.is(Fields::insertedAt, Wire::bytes)) insertedAt = from.bytes();
      else if (from.is(Fields::removerPriority, Wire::fixed64)) {
        removerPriority = from.real();
        hasOwn = true;
      } else from.skip();
    }
    return from.isGood();
  }
};

}  // namespace exrp
