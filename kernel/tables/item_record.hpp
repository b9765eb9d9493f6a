// ItemRecord: an item as the message PrioritizedItem, as clients get it and snapshots have it.
//
// Thread safety: none of its own; it refers to the item's body. Cost: its sizes are added up once.
#pragma once

#include "kernel/tables/item_table.hpp"
#include "kernel/wire/proto_writer.hpp"
#include "kernel/wire/reverb_fields.hpp"

namespace exrp {

class ItemRecord {
 public:
  /// `own` is its own priority for the remover, or NaN.
  ItemRecord(const ItemRow& row, ByteSpan table, double own = NAN)
      : row_(row),
        table_(table),
        own_(own),
        seconds_(static_cast<uint64_t>(row.body->insertedAt / 1000)),
        nanos_(static_cast<uint32_t>((row.body->insertedAt - static_cast<double>(seconds_) * 1000) * 1e6)),
        bytes_(sizeOfFields([this](auto& out) { this->fill(out); })) {}

  /// Writes it as a field of a message.
  template <typename Out>
  void write(Out& out, uint32_t field) const {
    out.message(field, bytes_, [this](auto& to) { this->fill(to); });
  }

 private:
  template <typename Out>
  void fill(Out& out) const {
    using Fields = reverb::PrioritizedItem;
    out.varintField(Fields::key, row_.key);
    out.bytesField(Fields::table, table_.data, table_.size);
    out.realField(Fields::priority, row_.priority);
    out.varintField(Fields::timesSampled, row_.timesSampled);
    out.message(Fields::insertedAt, [this](auto& time) {
      time.presentField(reverb::Timestamp::seconds, seconds_);
      time.presentField(reverb::Timestamp::nanos, nanos_);
    });
    out.bytesField(Fields::flatTrajectory, row_.body->trajectory(), row_.body->trajectoryBytes);
    if (!std::isnan(own_)) out.realField(Fields::removerPriority, own_);
  }

  const ItemRow& row_;
  const ByteSpan table_;
  const double own_;
  const uint64_t seconds_;
  const uint32_t nanos_;
  const size_t bytes_;
};

}  // namespace exrp
