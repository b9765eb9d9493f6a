#include "kernel/tables/restoring.hpp"

#include <bit>

#include "kernel/base/priority.hpp"
#include "kernel/wire/item_message.hpp"

namespace exrp {
namespace {

/// What is wrong with a record.
enum Rule : uint32_t { damaged = 1, again, tableLacks, noChunk, noChunkNamed, badPriority, badNumber, badSize, badSlice };

}  // namespace

Restorer::~Restorer() {
  held_.sweep([](const HeldChunks::Held&) { return true; }, [this](Chunk* chunk) { store_.release(chunk); });
}

Status Restorer::take(uint32_t field, ByteSpan record) {
  hasBegun_ = true;
  switch (field) {
    case chunkField: return takeChunk(record);
    case tableField: return takeTable(record);
    default: return takeItem(record);
  }
}

/// How many items the counts say that there are.
int64_t Restorer::sizeOf(uint32_t number) const {
  return tables_[number]->rateLimiter().counts().stored();
}

Status Restorer::takeChunk(ByteSpan record) {
  const auto wrong = [this](Rule rule) { return fail(Status::dataCorrupt, chunkField, static_cast<double>(chunkCount_), rule); };
  ChunkHead head;
  if (!head.read(record)) return wrong(damaged);
  if (const HeldChunks::Held* const known = held_.find(head.key)) {
    const ByteSpan before = {known->chunk->data(), known->chunk->bytes};
    if (before != record) return wrong(again);
    ++chunkCount_;
    return Status::ok;
  }
  if (!held_.prepare(1)) return fail(Status::memory, held_.memoryBytes());
  Chunk* const chunk = store_.add(record, head.episode);
  if (chunk == nullptr) return fail(Status::memory, static_cast<double>(record.size));
  held_.add(head.key, chunk);
  ++chunkCount_;
  return Status::ok;
}

Status Restorer::takeTable(ByteSpan record) {
  const auto wrong = [this](Rule rule) { return fail(Status::dataCorrupt, tableField, std::popcount(known_), rule); };
  constexpr uint32_t first = 4;
  ByteSpan name;
  uint64_t counts[5] = {};
  ProtoReader from(record);
  while (from.next()) {
    if (from.is(1, Wire::bytes)) name = from.bytes();
    else if (from.wire() == Wire::varint && from.field() >= first && from.field() < first + 5) counts[from.field() - first] = from.varint();
    else from.skip();
  }
  if (!from.isGood()) return wrong(damaged);
  const uint32_t number = findTable(tables_, tableCount_, name);
  if (number == noTable) return wrong(tableLacks);
  const uint64_t bit = uint64_t{1} << number;
  if ((known_ & bit) != 0) return wrong(again);
  for (const uint64_t count : counts) {
    if (count > uint64_t{1} << 53) return wrong(badNumber);
  }
  if (counts[2] > counts[0]) return wrong(badNumber);
  ItemTable& table = *tables_[number];
  const uint64_t size = counts[0] - counts[2];
  if (size > table.config().maxSize) return fail(Status::dataMismatch, tableField, table.config().maxSize, static_cast<double>(size));
  table.restoreCounts({{static_cast<int64_t>(counts[0]), static_cast<int64_t>(counts[1]), static_cast<int64_t>(counts[2])}, counts[3], counts[4]});
  known_ |= bit;
  return Status::ok;
}

Status Restorer::takeItem(ByteSpan record) {
  const auto wrong = [this](Rule rule) { return fail(Status::dataCorrupt, itemField, static_cast<double>(itemCount_), rule); };
  ItemMessage from;
  if (!from.read(record) || from.trajectory.size > UINT32_MAX) return wrong(damaged);
  int64_t seconds = 0;
  int32_t nanos = 0;
  ProtoReader time(from.insertedAt);
  while (time.next()) {
    if (time.is(reverb::Timestamp::seconds, Wire::varint)) seconds = time.int64();
    else if (time.is(reverb::Timestamp::nanos, Wire::varint)) nanos = time.int32();
    else time.skip();
  }
  if (!time.isGood()) return wrong(damaged);
  ItemRow row = {from.key, from.priority, nullptr, 0};
  const uint32_t number = findTable(tables_, tableCount_, from.table);
  if (number == noTable || (known_ & uint64_t{1} << number) == 0) return wrong(tableLacks);
  uint64_t lacking = 0;
  switch (held_.collect(from.trajectory, own_, &lacking)) {
    case Status::ok: break;
    case Status::memory: return fail(Status::memory, own_.memoryBytes());
    case Status::chunkUnknown: return wrong(noChunk);
    case Status::itemSlice: return wrong(badSlice);
    default: return wrong(damaged);
  }
  if (own_.isEmpty()) return wrong(noChunkNamed);
  if (!isPriority(row.priority)) return wrong(badPriority);
  row.priority += 0.0;  // a negative zero becomes 0
  const double insertedAt = static_cast<double>(seconds) * 1e3 + nanos / 1e6;
  if (from.timesSampled > INT32_MAX || nanos < 0 || nanos > 999'999'999 || !(insertedAt >= 0 && insertedAt <= 0x1p53)) return wrong(badNumber);
  row.timesSampled = static_cast<uint32_t>(from.timesSampled);
  ItemTable& table = *tables_[number];
  if (table.find(row.key) != KeyMap::none) return wrong(again);
  if (table.size() >= sizeOf(number)) return wrong(badSize);
  if (!table.prepare(1)) return fail(Status::memory, table.memoryBytes());
  row.body = newBody(store_, own_, from.trajectory);
  if (row.body == nullptr) return fail(Status::memory, static_cast<double>(from.trajectory.size));
  row.body->insertedAt = insertedAt;
  if (insertedAt > insertedAtMax_) insertedAtMax_ = insertedAt;
  table.restoreItem(row);
  ++itemCount_;
  return Status::ok;
}

Status Restorer::end() {
  for (uint32_t number = 0; number < tableCount_; ++number) {
    const ItemTable& table = *tables_[number];
    if (table.size() != sizeOf(number)) return fail(Status::dataCorrupt, tableField, number, badSize);
    if (const Status status = table.checkBytes(); status != Status::ok) return status;
  }
  return Status::ok;
}

}  // namespace exrp
