#include "kernel/tables/saving.hpp"

#include <cmath>
#include <cstring>
#include <new>

#include "kernel/base/priority.hpp"
#include "kernel/wire/proto_writer.hpp"

namespace exrp {
namespace {

constexpr uint32_t version = 1;
/// Chunks that one read lets go, in less than a millisecond.
constexpr size_t releasedAtOnce = 4096;
enum Field : uint32_t { beginField = 1, tableField, chunkField, itemField, endField };

uint64_t addressOf(const Chunk* chunk) { return reinterpret_cast<uintptr_t>(chunk); }

}  // namespace

// ---- saving ----

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
  double bytes = sizeof(*this) + chunks_.memoryBytes() + numberOf_.memoryBytes();
  for (uint32_t number = table_; number < tableCount_; ++number) {
    const SavedTable& saved = *saved_[number];
    bytes += sizeof saved + saved.rows.memoryBytes() + saved.own.memoryBytes() + saved.sampler.memoryBytes() + saved.remover.memoryBytes();
  }
  return bytes;
}

Status Saver::read(uint8_t* to, size_t room, double* info) {
  uint8_t* at = to;
  size_t left = room;
  needed_ = 0;
  const auto put = [&](uint32_t field, size_t size, auto write) {
    const size_t whole = bytesFieldBytes(field, size);
    if (whole > left) {
      needed_ = whole;
      return false;
    }
    ProtoWriter out(at);
    out.bytesBegin(field, size);
    write(out);
    at = out.at();
    left -= whole;
    return true;
  };
  while (!hasEnded_) {
    if (!hasBegun_) {
      const size_t size = varintFieldBytes(1, version) + varintFieldBytes(2, tableCount_);
      hasBegun_ = put(beginField, size, [&](ProtoWriter& out) {
        out.varintField(1, version);
        out.varintField(2, tableCount_);
      });
      if (!hasBegun_) break;
    } else if (table_ == tableCount_) {
      const size_t size = varintFieldBytes(1, chunks_.count()) + varintFieldBytes(2, itemCount_);
      hasEnded_ = put(endField, size, [&](ProtoWriter& out) {
        out.varintField(1, chunks_.count());
        out.varintField(2, itemCount_);
      });
      if (!hasEnded_) break;
    } else if (!isTableOpen_) {
      const SavedTable& saved = *saved_[table_];
      const ItemTable& table = *tables_[table_];
      const ByteSpan name = table.name();
      const ByteSpan rules = table.rules();
      const uint32_t samplerBytes = table.sampler().headerBytes();
      const uint32_t removerBytes = table.remover().headerBytes();
      const uint64_t numbers[] = {saved.size, static_cast<uint64_t>(saved.counts.rate.inserts), static_cast<uint64_t>(saved.counts.rate.samples),
                                  static_cast<uint64_t>(saved.counts.rate.deletes), saved.counts.uniqueSamples, saved.counts.episodesDeleted};
      size_t size = bytesFieldBytes(1, name.size) + bytesFieldBytes(2, rules.size) + bytesFieldBytes(9, samplerBytes) + bytesFieldBytes(10, removerBytes);
      for (uint32_t k = 0; k < 6; ++k) size += varintFieldBytes(3 + k, numbers[k]);
      isTableOpen_ = put(tableField, size, [&](ProtoWriter& out) {
        out.bytesField(1, name.data, name.size);
        out.bytesField(2, rules.data, rules.size);
        for (uint32_t k = 0; k < 6; ++k) out.varintField(3 + k, numbers[k]);
        out.bytesField(9, saved.sampler.data(), samplerBytes);
        out.bytesField(10, saved.remover.data(), removerBytes);
      });
      if (!isTableOpen_) break;
    } else if (item_ == saved_[table_]->size) {
      saved_[table_].reset();
      isTableOpen_ = false;
      item_ = 0;
      ++table_;
    } else {
      bool isDone = false;
      if (const Status status = readItem(at, left, &isDone); status != Status::ok) return status;
      if (!isDone) break;
    }
  }
  if (hasEnded_) releaseChunks(releasedAtOnce);
  info[EXRP_TABLES_SAVE_BYTES] = static_cast<double>(room - left);
  info[EXRP_TABLES_SAVE_NEEDED] = room == left && !hasEnded_ ? static_cast<double>(needed_) : 0;
  info[EXRP_TABLES_SAVE_ENDED] = hasEnded_ && released_ == chunks_.count() ? 1 : 0;
  return Status::ok;
}

/// Writes the next item's chunks that were not written yet, and then the item. Not done where one has no room.
Status Saver::readItem(uint8_t*& to, size_t& left, bool* isDone) {
  const SavedTable& saved = *saved_[table_];
  const ItemTable& table = *tables_[table_];
  const ItemRow& row = saved.rows[item_];
  ItemBody& body = *row.body;
  const auto addressOfNumber = [this](uint32_t number) { return addressOf(chunks_[number]); };
  size_t numbersBytes = 0;
  for (uint32_t k = 0; k < body.chunkCount; ++k) {
    Chunk* const chunk = body.chunks()[k];
    uint32_t number = numberOf_.find(addressOf(chunk), addressOfNumber);
    if (number == KeyMap::none) {
      const uint64_t episode = store_.episodeId(chunk->episode);
      const size_t size = varintFieldBytes(1, episode) + bytesFieldBytes(2, chunk->bytes) + varintFieldBytes(3, chunk->checksum());
      needed_ = bytesFieldBytes(chunkField, size);
      if (needed_ > left) return Status::ok;
      if (!chunks_.prepare(1) || !numberOf_.prepare(numberOf_.count() + 1)) return fail(Status::memory, numberOf_.memoryBytes());
      ProtoWriter out(to);
      out.bytesBegin(chunkField, size);
      out.varintField(1, episode);
      out.bytesField(2, chunk->data(), chunk->bytes);
      out.varintField(3, chunk->checksum());
      to = out.at();
      left -= needed_;
      number = static_cast<uint32_t>(chunks_.count());
      store_.keep(chunk);
      chunks_.push(chunk);
      numberOf_.add(addressOf(chunk), number);
    }
    numbersBytes += varintBytes(number);
  }
  const uint32_t samplerBytes = table.sampler().itemBytes();
  const uint32_t removerBytes = table.remover().itemBytes();
  const double own = saved.own.committed() > 0 ? saved.own[item_] : NAN;
  const size_t size = varintFieldBytes(1, row.key) + 2 * fixed64FieldBytes(2) + varintFieldBytes(3, row.timesSampled) +
                      bytesFieldBytes(5, numbersBytes) + bytesFieldBytes(6, body.trajectoryBytes) + bytesFieldBytes(7, samplerBytes) +
                      bytesFieldBytes(8, removerBytes) + (std::isnan(own) ? 0 : fixed64FieldBytes(9));
  needed_ = bytesFieldBytes(itemField, size);
  if (needed_ > left) return Status::ok;
  ProtoWriter out(to);
  out.bytesBegin(itemField, size);
  out.varintField(1, row.key);
  out.realField(2, row.priority);
  out.varintField(3, row.timesSampled);
  out.realField(4, body.insertedAt);
  out.bytesBegin(5, numbersBytes);
  for (uint32_t k = 0; k < body.chunkCount; ++k) out.varint(numberOf_.find(addressOf(body.chunks()[k]), addressOfNumber));
  out.bytesField(6, body.trajectory(), body.trajectoryBytes);
  out.bytesField(7, saved.sampler.data() + table.sampler().headerBytes() + size_t{item_} * samplerBytes, samplerBytes);
  out.bytesField(8, saved.remover.data() + table.remover().headerBytes() + size_t{item_} * removerBytes, removerBytes);
  if (!std::isnan(own)) out.realField(9, own);
  to = out.at();
  left -= needed_;
  tables_[table_]->release(&body);
  ++item_;
  ++itemCount_;
  *isDone = true;
  return Status::ok;
}

// ---- loading ----

Loader::~Loader() {
  for (size_t k = 0; k < chunks_.count(); ++k) store_.release(chunks_[k]);
}

Status Loader::corrupt(uint32_t field, uint32_t rule) const {
  return fail(Status::dataCorrupt, field, static_cast<double>(itemCount_), rule);
}

Status Loader::load(ByteSpan piece) {
  ProtoReader from(piece);
  while (from.next()) {
    if (hasEnded_) return corrupt(endField, 1);
    if (from.wire() != Wire::bytes) return corrupt(from.field(), 1);
    const ByteSpan message = from.bytes();
    Status status = Status::ok;
    if (!hasBegun_ || from.field() == beginField) {
      uint64_t found = 0;
      uint64_t tableCount = 0;
      ProtoReader begin(message);
      while (begin.next()) {
        if (begin.is(1, Wire::varint)) found = begin.varint();
        else if (begin.is(2, Wire::varint)) tableCount = begin.varint();
        else begin.skip();
      }
      if (hasBegun_ || from.field() != beginField || !begin.isGood()) return corrupt(beginField, 1);
      if (found != version) return fail(Status::dataMismatch, beginField, version, static_cast<double>(found));
      if (tableCount > tableCount_) return fail(Status::dataMismatch, beginField, tableCount_, static_cast<double>(tableCount));
      tablesInSnapshot_ = static_cast<uint32_t>(tableCount);
      hasBegun_ = true;
    } else if (Restorer::takes(from.field())) {
      if (tablesBegun_ > 0 || chunks_.count() > 0) return corrupt(from.field(), 1);
      status = restorer_.take(from.field(), message);
    } else if (restorer_.hasBegun()) {
      if (from.field() != endField) return corrupt(from.field(), 1);
      status = restorer_.end();
      hasEnded_ = status == Status::ok;
    } else if (from.field() == tableField) {
      status = endTable();
      if (status == Status::ok) status = loadTable(message);
    } else if (from.field() == chunkField) {
      status = loadChunk(message);
    } else if (from.field() == itemField) {
      status = loadItem(message);
    } else if (from.field() == endField) {
      uint64_t chunkCount = UINT64_MAX;
      uint64_t itemCount = UINT64_MAX;
      ProtoReader end(message);
      while (end.next()) {
        if (end.is(1, Wire::varint)) chunkCount = end.varint();
        else if (end.is(2, Wire::varint)) itemCount = end.varint();
        else end.skip();
      }
      status = endTable();
      if (status != Status::ok) return status;
      if (!end.isGood() || tablesBegun_ != tablesInSnapshot_ || chunkCount != chunks_.count() || itemCount != itemCount_) return corrupt(endField, 2);
      hasEnded_ = true;
    } else {
      return corrupt(from.field(), 1);
    }
    if (status != Status::ok) return status;
  }
  return from.isGood() ? Status::ok : corrupt(0, 1);
}

Status Loader::loadTable(ByteSpan message) {
  if (tablesBegun_ == tablesInSnapshot_) return corrupt(tableField, 1);
  ByteSpan name;
  ByteSpan rules;
  ByteSpan sampler;
  ByteSpan remover;
  uint64_t numbers[6] = {};
  ProtoReader from(message);
  while (from.next()) {
    if (from.is(1, Wire::bytes)) name = from.bytes();
    else if (from.is(2, Wire::bytes)) rules = from.bytes();
    else if (from.wire() == Wire::varint && from.field() >= 3 && from.field() <= 8) numbers[from.field() - 3] = from.varint();
    else if (from.is(9, Wire::bytes)) sampler = from.bytes();
    else if (from.is(10, Wire::bytes)) remover = from.bytes();
    else from.skip();
  }
  if (!from.isGood()) return corrupt(tableField, 1);
  const uint32_t number = findTable(tables_, tableCount_, name);
  if (number == noTable) return fail(Status::dataMismatch, tableField, tablesBegun_, 1);
  if ((isBegun_ >> number & 1) != 0) return corrupt(tableField, 7);
  ItemTable& table = *tables_[number];
  if (!(rules == table.rules())) return fail(Status::dataMismatch, tableField, number, 2);
  if (numbers[0] > table.config().maxSize) return fail(Status::dataMismatch, tableField, table.config().maxSize, static_cast<double>(numbers[0]));
  for (const uint64_t count : numbers) {
    if (count > uint64_t{1} << 53) return corrupt(tableField, 2);
  }
  if (numbers[1] - numbers[3] != numbers[0]) return corrupt(tableField, 3);
  size_ = static_cast<uint32_t>(numbers[0]);
  const TableCounts counts = {{static_cast<int64_t>(numbers[1]), static_cast<int64_t>(numbers[2]), static_cast<int64_t>(numbers[3])}, numbers[4], numbers[5]};
  const Status status = table.loadBegin(size_, counts, sampler, remover);
  if (status == Status::dataCorrupt) return corrupt(tableField, 4);
  table_ = &table;
  isBegun_ |= uint64_t{1} << number;
  ++tablesBegun_;
  return status;
}

Status Loader::endTable() {
  if (table_ == nullptr) return Status::ok;
  if (table_->size() != size_) return corrupt(tableField, 5);
  const Status status = table_->loadEnd();
  table_ = nullptr;
  return status == Status::dataCorrupt ? corrupt(tableField, 6) : status;
}

Status Loader::loadChunk(ByteSpan message) {
  uint64_t episode = 0;
  ByteSpan bytes;
  uint64_t sum = UINT64_MAX;
  ProtoReader from(message);
  while (from.next()) {
    if (from.is(1, Wire::varint)) episode = from.varint();
    else if (from.is(2, Wire::bytes)) bytes = from.bytes();
    else if (from.is(3, Wire::varint)) sum = from.varint();
    else from.skip();
  }
  ChunkHead head;
  if (!from.isGood() || chunks_.count() == UINT32_MAX || !head.read(bytes)) return corrupt(chunkField, 1);
  if (!chunks_.prepare(1) || !keys_.prepare(1)) return fail(Status::memory, chunks_.memoryBytes());
  Chunk* const chunk = store_.add(bytes, episode);
  if (chunk == nullptr) return fail(Status::memory, static_cast<double>(bytes.size));
  chunks_.push(chunk);
  keys_.push(head.key);
  return sum == UINT64_MAX || sum == chunk->checksum() ? Status::ok : corrupt(chunkField, 2);
}

/// Puts the chunks of an item that its trajectory names into own_, in the order in which it names them.
Status Loader::findChunks(ByteSpan trajectory) {
  uint64_t wrong = 0;
  const Status status = named_.collect(trajectory, own_, &wrong);
  const bool isEach = own_.count() == named_.count();
  named_.cut(0, [](Chunk*) {});
  if (status == Status::memory) return fail(Status::memory, own_.memoryBytes());
  return status == Status::ok && isEach ? Status::ok : corrupt(itemField, status == Status::itemSlice ? 6 : 5);
}

Status Loader::loadItem(ByteSpan message) {
  if (table_ == nullptr || table_->size() == size_) return corrupt(itemField, 1);
  ItemRow row = {0, -1, nullptr, 0};
  double insertedAt = -1;
  double own = NAN;
  bool isOwnRight = true;
  ByteSpan trajectory;
  ByteSpan sampler;
  ByteSpan remover;
  bool isRight = true;
  bool hasMemory = true;
  named_.cut(0, [](Chunk*) {});
  ProtoReader from(message);
  while (from.next()) {
    if (from.is(1, Wire::varint)) row.key = from.varint();
    else if (from.is(2, Wire::fixed64)) row.priority = from.real();
    else if (from.is(3, Wire::varint)) row.timesSampled = static_cast<uint32_t>(from.varint());
    else if (from.is(4, Wire::fixed64)) insertedAt = from.real();
    else if (from.is(5, Wire::bytes)) {
      from.varints([&](uint64_t number) {
        isRight = isRight && number < chunks_.count() && named_.find(keys_[static_cast<size_t>(number)]) == nullptr;
        hasMemory = hasMemory && named_.prepare(1);
        if (isRight && hasMemory) named_.add(keys_[static_cast<size_t>(number)], chunks_[static_cast<size_t>(number)]);
      });
    } else if (from.is(6, Wire::bytes)) trajectory = from.bytes();
    else if (from.is(7, Wire::bytes)) sampler = from.bytes();
    else if (from.is(8, Wire::bytes)) remover = from.bytes();
    else if (from.is(9, Wire::fixed64)) {
      own = from.real();
      isOwnRight = isPriority(own) && !std::signbit(own);
    } else from.skip();
  }
  if (!hasMemory) return fail(Status::memory, named_.memoryBytes());
  if (!from.isGood() || !isRight || named_.count() == 0 || trajectory.size == 0 || trajectory.size > UINT32_MAX) return corrupt(itemField, 2);
  if (!isPriority(row.priority) || std::signbit(row.priority) || !isOwnRight || !(insertedAt >= 0 && insertedAt <= 0x1p53)) return corrupt(itemField, 3);
  if (const Status found = findChunks(trajectory); found != Status::ok) return found;
  row.body = newBody(store_, own_, trajectory);
  if (row.body == nullptr) return fail(Status::memory, static_cast<double>(trajectory.size));
  row.body->insertedAt = insertedAt;
  if (insertedAt > insertedAtMax_) insertedAtMax_ = insertedAt;
  const Status status = table_->loadItem(row, own, sampler, remover);
  if (status != Status::ok) {
    table_->release(row.body);
    return status == Status::dataCorrupt ? corrupt(itemField, 4) : status;
  }
  ++itemCount_;
  return Status::ok;
}

}  // namespace exrp
