#include "kernel/tables/saving.hpp"

#include <bit>
#include <new>

#include "kernel/base/priority.hpp"
#include "kernel/tables/item_record.hpp"
#include "kernel/wire/item_message.hpp"

namespace exrp {
namespace {

/// Chunks that one read lets go, in less than a millisecond.
constexpr size_t releasedAtOnce = 4096;
enum RecordField : uint32_t { tableField = 1, chunkField, itemField };
/// What is wrong with a record.
enum Rule : uint32_t { damaged = 1, again, tableLacks, noChunk, noChunkNamed, badPriority, badNumber, badSize, badSlice, badRule, badSum };

uint64_t addressOf(const Chunk* chunk) { return reinterpret_cast<uintptr_t>(chunk); }

}  // namespace

// ---- saving ----

/// The piece that is being written.
struct Saver::Piece {
  ProtoWriter out;
  size_t left;
  size_t needed;  // by what had no room, or 0

  /// Writes a record that `fill(sink)` fills, if it has room.
  template <typename Fill>
  bool put(RecordField field, Fill fill) {
    const size_t size = sizeOfFields(fill);
    const size_t whole = bytesFieldBytes(field, size);
    if (whole > left) return needed = whole, false;
    out.message(field, size, fill);
    left -= whole;
    return true;
  }
};

Saver::~Saver() {
  for (uint32_t number = table_; number < tableCount_; ++number) {
    if (saved_[number] == nullptr) continue;
    for (uint32_t k = number == table_ ? item_ : 0; k < saved_[number]->size; ++k) tables_[number]->release(saved_[number]->rows[k].body);
  }
  releaseChunks(chunks_.count());
}

void Saver::releaseChunks(size_t most) {
  for (; most > 0 && released_ < chunks_.count(); --most) store_.release(chunks_[released_++]);
}

Status Saver::take() {
  for (uint32_t number = 0; number < tableCount_; ++number) {
    saved_[number].reset(new (std::nothrow) SavedTable);
    if (saved_[number] == nullptr || !tables_[number]->save(saved_[number].get())) {
      return fail(Status::memory, 64.0 * tables_[number]->size());
    }
  }
  return Status::ok;
}

double Saver::memoryBytes() const {
  double bytes = sizeof(*this) + chunks_.memoryBytes() + numberOf_.memoryBytes() + numbers_.memoryBytes();
  for (uint32_t number = table_; number < tableCount_; ++number) {
    const SavedTable& saved = *saved_[number];
    bytes += sizeof saved + saved.rows.memoryBytes() + saved.own.memoryBytes() + saved.sampler.memoryBytes() + saved.remover.memoryBytes();
  }
  return bytes;
}

Status Saver::read(uint8_t* to, size_t room, double* info) {
  Piece piece = {ProtoWriter(to), room, 0};
  while (piece.needed == 0 && table_ < tableCount_) {
    const SavedTable& saved = *saved_[table_];
    if (!isTableOpen_) {
      const ItemTable& table = *tables_[table_];
      const RateCounts& rate = saved.counts.rate;
      isTableOpen_ = piece.put(tableField, [&](auto& out) {
        out.bytesField(1, table.name().data, table.name().size);
        out.bytesField(2, table.rules().data, table.rules().size);
        out.varintField(3, static_cast<uint64_t>(rate.inserts));
        out.varintField(4, static_cast<uint64_t>(rate.samples));
        out.varintField(5, static_cast<uint64_t>(rate.deletes));
        out.varintField(6, saved.counts.uniqueSamples);
        out.varintField(7, saved.counts.episodesDeleted);
        out.bytesField(8, saved.sampler.data(), table.sampler().headerBytes());
        out.bytesField(9, saved.remover.data(), table.remover().headerBytes());
      });
    } else if (item_ < saved.size) {
      if (const Status status = putItem(piece); status != Status::ok) return status;
    } else {
      saved_[table_++].reset();
      isTableOpen_ = false;
      item_ = 0;
    }
  }
  const bool hasEnded = table_ == tableCount_;
  if (hasEnded) releaseChunks(releasedAtOnce);
  info[EXRP_TABLES_SAVE_BYTES] = static_cast<double>(room - piece.left);
  info[EXRP_TABLES_SAVE_NEEDED] = room == piece.left ? static_cast<double>(piece.needed) : 0;
  info[EXRP_TABLES_SAVE_ENDED] = hasEnded && released_ == chunks_.count() ? 1 : 0;
  return Status::ok;
}

/// Writes the next item's chunks that were not written yet, and then the item, as far as there is room.
Status Saver::putItem(Piece& piece) {
  const SavedTable& saved = *saved_[table_];
  ItemTable& table = *tables_[table_];
  const ItemRow& row = saved.rows[item_];
  numbers_.clear();
  if (!numbers_.prepare(row.body->chunkCount)) return fail(Status::memory, numbers_.memoryBytes());
  for (uint32_t k = 0; k < row.body->chunkCount; ++k) {
    Chunk* const chunk = row.body->chunks()[k];
    uint32_t number = numberOf_.find(addressOf(chunk), [this](uint32_t known) { return addressOf(chunks_[known]); });
    if (number == KeyMap::none) {
      number = static_cast<uint32_t>(chunks_.count());
      if (!chunks_.prepare(1) || !numberOf_.prepare(numberOf_.count() + 1)) return fail(Status::memory, numberOf_.memoryBytes());
      const bool isPut = piece.put(chunkField, [chunk](auto& out) {
        out.bytesField(1, chunk->data(), chunk->bytes);
        out.varintField(2, chunk->checksum());
      });
      if (!isPut) return Status::ok;
      store_.keep(chunk);
      chunks_.push(chunk);
      numberOf_.add(addressOf(chunk), number);
    }
    numbers_.push(number);
  }
  const ItemRecord record(row, table.name(), saved.own.committed() > 0 ? saved.own[item_] : NAN);
  const auto bytesOfItem = [this](auto& out, uint32_t field, const PickSelector& rule, const Scratch<uint8_t>& bytes) {
    out.bytesField(field, bytes.data() + rule.headerBytes() + size_t{item_} * rule.itemBytes(), rule.itemBytes());
  };
  const bool isPut = piece.put(itemField, [&](auto& out) {
    record.write(out, 1);
    out.message(2, [this](auto& numbers) {
      for (size_t k = 0; k < numbers_.count(); ++k) numbers.varint(numbers_[k]);
    });
    bytesOfItem(out, 3, table.sampler(), saved.sampler);
    bytesOfItem(out, 4, table.remover(), saved.remover);
  });
  if (!isPut) return Status::ok;
  table.release(row.body);
  ++item_;
  return Status::ok;
}

// ---- loading ----

Loader::~Loader() {
  for (size_t k = 0; k < chunks_.count(); ++k) store_.release(chunks_[k].chunk);
}

Status Loader::load(ByteSpan piece) {
  ProtoReader from(piece);
  while (from.next()) {
    const uint32_t field = from.field();
    if (from.wire() != Wire::bytes || field > itemField) return fail(Status::dataCorrupt, field, 0, damaged);
    const ByteSpan record = from.bytes();
    if (!from.isGood()) break;
    const Status status = field == tableField ? loadTable(record) : field == chunkField ? loadChunk(record) : loadItem(record);
    if (status != Status::ok) return status;
    ++counts_[field];
  }
  return from.isGood() ? Status::ok : fail(Status::dataCorrupt, 0, 0, damaged);
}

Status Loader::loadTable(ByteSpan record) {
  ByteSpan name;
  ByteSpan rules;
  ByteSpan sampler;
  ByteSpan remover;
  uint64_t counts[5] = {};
  const bool isGood = readFields(record, Field{1, name}, Field{2, rules}, Field{3, counts[0]}, Field{4, counts[1]}, Field{5, counts[2]},
                                 Field{6, counts[3]}, Field{7, counts[4]}, Field{8, sampler}, Field{9, remover});
  if (!isGood) return wrong(tableField, damaged);
  const uint32_t number = findTable(tables_, tableCount_, name);
  if (number == noTable) return fail(Status::dataMismatch, tableField, static_cast<double>(counts_[tableField]), tableLacks);
  if (isBegun(number)) return wrong(tableField, again);
  ItemTable& table = *tables_[number];
  if (rules.size > 0 && !(rules == table.rules())) return fail(Status::dataMismatch, tableField, number, badRule);
  for (const uint64_t count : counts) {
    if (count > uint64_t{1} << 53) return wrong(tableField, badNumber);
  }
  if (counts[2] > counts[0]) return wrong(tableField, badNumber);
  const uint64_t size = counts[0] - counts[2];
  if (size > table.config().maxSize) return fail(Status::dataMismatch, tableField, table.config().maxSize, static_cast<double>(size));
  table.loadCounts({{static_cast<int64_t>(counts[0]), static_cast<int64_t>(counts[1]), static_cast<int64_t>(counts[2])}, counts[3], counts[4]});
  begun_ |= uint64_t{1} << number;
  if (rules.size == 0) return Status::ok;
  ruled_ |= uint64_t{1} << number;
  const Status status = table.loadRules(sampler, remover);
  return status == Status::dataCorrupt ? wrong(tableField, badRule) : status;
}

Status Loader::loadChunk(ByteSpan record) {
  ByteSpan bytes;
  constexpr uint64_t none = UINT64_MAX;
  uint64_t sum = none;
  ChunkHead head;
  if (!readFields(record, Field{1, bytes}, Field{2, sum}) || chunks_.count() == UINT32_MAX || !head.read(bytes)) return wrong(chunkField, damaged);
  const HeldChunks::Held* const known = sum == none ? known_.find(head.key) : nullptr;
  if (known != nullptr) {
    const ByteSpan before = {known->chunk->data(), known->chunk->bytes};
    return before == bytes ? Status::ok : wrong(chunkField, again);
  }
  if (!chunks_.prepare(1) || (sum == none && !known_.prepare(1))) return fail(Status::memory, chunks_.memoryBytes());
  Chunk* const chunk = store_.add(bytes, head.episode);
  if (chunk == nullptr) return fail(Status::memory, static_cast<double>(bytes.size));
  chunks_.push({head.key, chunk});
  if (sum == none) known_.add(head.key, chunk);
  return sum == none || sum == chunk->checksum() ? Status::ok : wrong(chunkField, badSum);
}

Status Loader::loadItem(ByteSpan record) {
  ByteSpan message;
  ByteSpan sampler;
  ByteSpan remover;
  bool isRight = true;
  bool hasMemory = true;
  named_.cut(0, [](Chunk*) {});
  const auto nameChunk = [&](uint64_t number) {
    isRight = isRight && number < chunks_.count() && named_.find(chunks_[static_cast<size_t>(number)].key) == nullptr;
    hasMemory = hasMemory && named_.prepare(1);
    if (isRight && hasMemory) named_.add(chunks_[static_cast<size_t>(number)].key, chunks_[static_cast<size_t>(number)].chunk);
  };
  ItemMessage item;
  const bool isGood = readFields(record, Field{1, message}, Field{2, nameChunk}, Field{3, sampler}, Field{4, remover}) && item.read(message);
  if (!hasMemory) return fail(Status::memory, named_.memoryBytes());
  uint64_t seconds = 0;
  uint64_t nanos = 0;
  if (!isGood || !isRight || item.trajectory.size > UINT32_MAX ||
      !readFields(item.insertedAt, Field{reverb::Timestamp::seconds, seconds}, Field{reverb::Timestamp::nanos, nanos})) {
    return wrong(itemField, damaged);
  }
  const uint32_t number = findTable(tables_, tableCount_, item.table);
  if (number == noTable || !isBegun(number)) return wrong(itemField, tableLacks);
  HeldChunks& held = hasRules(number) ? named_ : known_;
  uint64_t lacking = 0;
  switch (held.collect(item.trajectory, own_, &lacking)) {
    case Status::ok: break;
    case Status::memory: return fail(Status::memory, own_.memoryBytes());
    case Status::chunkUnknown: return wrong(itemField, noChunk);
    case Status::itemSlice: return wrong(itemField, badSlice);
    default: return wrong(itemField, damaged);
  }
  if (own_.isEmpty()) return wrong(itemField, noChunkNamed);
  const OptionalReal own = item.removerPriority;
  if (!isPriority(item.priority) || (own.isThere && !isPriority(own.value))) return wrong(itemField, badPriority);
  if (item.timesSampled > UINT32_MAX || seconds > uint64_t{1} << 43 || nanos > 999'999'999) return wrong(itemField, badNumber);
  ItemTable& table = *tables_[number];
  if (table.find(item.key) != KeyMap::none) return wrong(itemField, again);
  if (table.size() >= sizeOf(number)) return wrong(itemField, badSize);
  if (!table.prepare(1) || (own.isThere && !table.prepareOwn())) return fail(Status::memory, table.memoryBytes());
  // A negative zero becomes 0.
  const ItemRow row = {item.key, item.priority + 0.0, newBody(store_, own_, item.trajectory), static_cast<uint32_t>(item.timesSampled)};
  if (row.body == nullptr) return fail(Status::memory, static_cast<double>(item.trajectory.size));
  row.body->insertedAt = static_cast<double>(seconds) * 1e3 + static_cast<double>(nanos) / 1e6;
  if (row.body->insertedAt > insertedAtMax_) insertedAtMax_ = row.body->insertedAt;
  const double forRemover = own.isThere ? own.value + 0.0 : NAN;
  if (!hasRules(number)) return table.restoreItem(row, forRemover), Status::ok;
  const Status status = table.loadItem(row, forRemover, sampler, remover);
  if (status != Status::ok) table.release(row.body);
  return status == Status::dataCorrupt ? wrong(itemField, badRule) : status;
}

Status Loader::end() {
  for (uint32_t number = 0; number < tableCount_; ++number) {
    if (!isBegun(number)) continue;
    if (tables_[number]->size() != sizeOf(number)) return fail(Status::dataCorrupt, tableField, number, badSize);
    const Status status = tables_[number]->loadEnd(hasRules(number));
    if (status != Status::ok) return status == Status::dataCorrupt ? fail(status, tableField, number, badRule) : status;
  }
  return Status::ok;
}

}  // namespace exrp
