#include "kernel/tables/item_reader.hpp"

#include <cmath>
#include <utility>

#include "kernel/base/priority.hpp"
#include "kernel/base/whole_number.hpp"
#include "kernel/wire/item_message.hpp"
#include "kernel/wire/new_chunk.hpp"
#include "kernel/wire/proto_writer.hpp"
#include "kernel/wire/reverb_fields.hpp"

namespace exrp {
namespace {

double highOf(uint64_t key) { return static_cast<double>(key >> 32); }
double lowOf(uint64_t key) { return static_cast<double>(key & UINT32_MAX); }

Status noMessage(ByteSpan message) { return fail(Status::message, static_cast<double>(message.size)); }

}  // namespace

/// Lets the bodies of items go that were read.
void ItemReader::drop() {
  for (size_t k = 0; k < items_.count(); ++k) tables_[items_[k].table]->release(items_[k].item.body);
  items_.clear();
}

// ---- messages ----

Status ItemReader::readMessage(Inserter& inserter, ByteSpan message, const TablesListener* listener) {
  listener_ = listener;
  items_.clear();
  const uint32_t heldBefore = inserter.held.count();
  const uint64_t kept = inserter.held.newMark();
  const Status status = readFieldsOf(inserter, message, kept);
  const auto release = [this, &inserter](Chunk* chunk) {
    inserter.heldBytes -= chunk->bytes;
    store_->release(chunk);
  };
  if (status != Status::ok) {
    drop();
    inserter.held.cut(heldBefore, release);
  } else if (!items_.isEmpty()) {
    // Chunks alone say nothing of what is kept.
    inserter.held.sweep([kept](const HeldChunks::Held& held) { return held.mark != kept; }, release);
  }
  return status;
}

/// Reads and checks a whole message, and takes all its memory. The chunks that it keeps get the mark `kept`.
Status ItemReader::readFieldsOf(Inserter& inserter, ByteSpan message, uint64_t kept) {
  using Fields = reverb::InsertStreamRequest;
  uint64_t count = 0;
  Status status = Status::ok;
  const auto takeChunk = [&](ByteSpan chunk) { return ++count, (status = addChunk(inserter, chunk)) == Status::ok; };
  const auto takeItem = [&](ByteSpan item) { return ++count, (status = readItem(inserter, item)) == Status::ok; };
  bool isGood = readFields(message, Field{Fields::chunks, takeChunk}) && readFields(message, Field{Fields::items, takeItem});
  if (status != Status::ok) return status;
  if (!isGood) return noMessage(message);
  if (count == 0) return fail(Status::messageEmpty);
  if (items_.isEmpty()) return Status::ok;

  uint64_t keyCount = 0;
  uint64_t lacking = 0;
  bool lacks = false;
  const auto keepChunk = [&](uint64_t key) {
    HeldChunks::Held* const held = inserter.held.find(key);
    ++keyCount;
    if (held != nullptr) held->mark = kept;
    else if (!std::exchange(lacks, true)) lacking = key;
  };
  isGood = readFields(message, Field{Fields::keepChunkKeys, keepChunk});
  if (!isGood) return noMessage(message);
  if (lacks) {
    return fail(Status::chunksKept, static_cast<double>(keyCount), static_cast<double>(inserter.held.count()), highOf(lacking), lowOf(lacking));
  }
  return prepare(inserter);
}

Status ItemReader::addChunk(Inserter& inserter, ByteSpan chunk) {
  ChunkHead head;
  if (!head.read(chunk)) return noMessage(chunk);
  if (inserter.held.find(head.key) != nullptr) return Status::ok;  // sent again
  if (!inserter.held.prepare(1)) return fail(Status::memory, inserter.held.memoryBytes());
  Chunk* const added = store_->add(chunk, head.episode);
  if (added == nullptr) return fail(Status::memory, static_cast<double>(chunk.size));
  inserter.held.add(head.key, added);
  inserter.heldBytes += added->bytes;
  return Status::ok;
}

Status ItemReader::readItem(Inserter& inserter, ByteSpan message) {
  ItemMessage item;
  if (!item.read(message) || item.trajectory.size > UINT32_MAX) return noMessage(message);
  uint64_t wrong = 0;
  switch (const Status status = inserter.held.collect(item.trajectory, chunks_, &wrong)) {
    case Status::ok: return addItem({item.key, findTable(tables_, tableCount_, item.table), item.priority, item.removerPriority, true}, item.trajectory);
    case Status::memory: return fail(status, chunks_.memoryBytes());
    case Status::message: return noMessage(item.trajectory);
    default: return fail(status, static_cast<double>(items_.count()), highOf(wrong), lowOf(wrong));
  }
}

// ---- plain rows ----

Status ItemReader::readRows(Inserter& inserter, Numbers numbers, ByteSpan rows, const TablesListener* listener) {
  listener_ = listener;
  items_.clear();
  const Status status = readNumbers(inserter, numbers, rows);
  // What is in use has references of its own.
  for (; !made_.isEmpty(); made_.pop()) store_->release(made_.front().chunk);
  if (status != Status::ok) drop();
  return status;
}

Status ItemReader::readNumbers(Inserter& inserter, Numbers numbers, ByteSpan rows) {
  if (!numbers.has(EXRP_INSERT_HEAD)) return fail(Status::argument, 2, numbers.left);
  const double* const head = numbers.take(EXRP_INSERT_HEAD);
  const double chunkCount = head[EXRP_INSERT_CHUNKS];
  const double itemCount = head[EXRP_INSERT_ITEMS];
  if (!isWhole(chunkCount, 1, numbers.left)) return fail(Status::argument, 2, chunkCount);
  if (!isWhole(itemCount, 1, numbers.left)) return fail(Status::argument, 2, itemCount);
  if (!made_.prepare(static_cast<size_t>(chunkCount))) return fail(Status::memory, chunkCount * sizeof(MadeChunk));
  for (double left = chunkCount; left > 0; --left) {
    NewChunk chunk;
    if (const Status status = chunk.read(numbers, rows, 2); status != Status::ok) return status;
    if (chunk.capacity() > SIZE_MAX || !packed_.commit(static_cast<size_t>(chunk.capacity()))) {
      return fail(Status::memory, static_cast<double>(chunk.capacity()));
    }
    const ByteSpan message = chunk.write(packed_.data());
    Chunk* const added = message.size > UINT32_MAX ? nullptr : store_->add(message, chunk.episode());
    if (added == nullptr) return fail(Status::memory, static_cast<double>(message.size));
    made_.push({added, chunk.key(), chunk.length(), chunk.columnCount(), UINT32_MAX});
  }
  if (rows.size != 0) return fail(Status::argument, 4, static_cast<double>(rows.size));
  for (double left = itemCount; left > 0; --left) {
    if (const Status status = readNewItem(numbers); status != Status::ok) return status;
  }
  return numbers.left == 0 ? prepare(inserter) : fail(Status::argument, 2, numbers.left);
}

Status ItemReader::readNewItem(Numbers& numbers) {
  using Fields = reverb::ChunkSlice;
  const auto wrong = [](double number) { return fail(Status::argument, 2, number); };
  if (!numbers.has(EXRP_NEW_ITEM_HEAD)) return wrong(numbers.left);
  const double* const item = numbers.take(EXRP_NEW_ITEM_HEAD);
  for (const int k : {EXRP_NEW_ITEM_TABLE, EXRP_NEW_ITEM_KEY, EXRP_NEW_ITEM_KEY + 1}) {
    if (!isWhole(item[k], 0, UINT32_MAX)) return wrong(item[k]);
  }
  const double columnCount = item[EXRP_NEW_ITEM_COLUMNS];
  if (!isWhole(columnCount, 1, UINT32_MAX) || !numbers.has(columnCount * EXRP_SLICE_COUNT)) return wrong(columnCount);
  constexpr size_t columnBytesMax = 48;
  const auto columns = static_cast<size_t>(columnCount);
  if (!packed_.commit(columns * columnBytesMax) || !chunks_.prepare(made_.count())) return fail(Status::memory, columnCount * columnBytesMax);
  chunks_.clear();
  ProtoWriter out(packed_.data());
  for (size_t k = 0; k < columns; ++k) {
    const double* const slice = numbers.take(EXRP_SLICE_COUNT);
    if (!isWhole(slice[EXRP_SLICE_CHUNK], 0, static_cast<double>(made_.count()) - 1)) return wrong(slice[EXRP_SLICE_CHUNK]);
    MadeChunk& chunk = made_[static_cast<size_t>(slice[EXRP_SLICE_CHUNK])];
    if (!isWhole(slice[EXRP_SLICE_COLUMN], 0, chunk.columns - 1.0)) return wrong(slice[EXRP_SLICE_COLUMN]);
    if (!isWhole(slice[EXRP_SLICE_OFFSET], 0, chunk.length)) return wrong(slice[EXRP_SLICE_OFFSET]);
    if (!isWhole(slice[EXRP_SLICE_LENGTH], 0, chunk.length - slice[EXRP_SLICE_OFFSET])) return wrong(slice[EXRP_SLICE_LENGTH]);
    if (!isWhole(slice[EXRP_SLICE_SQUEEZED], 0, 1)) return wrong(slice[EXRP_SLICE_SQUEEZED]);
    const auto offset = static_cast<uint64_t>(slice[EXRP_SLICE_OFFSET]);
    const auto length = static_cast<uint64_t>(slice[EXRP_SLICE_LENGTH]);
    const auto index = static_cast<uint64_t>(slice[EXRP_SLICE_COLUMN]);
    const auto squeeze = static_cast<uint64_t>(slice[EXRP_SLICE_SQUEEZED]);
    out.message(reverb::FlatTrajectory::columns, [&](auto& column) {
      column.message(reverb::Column::chunkSlices, [&](auto& part) {
        part.varintField(Fields::chunkKey, chunk.key);
        part.presentField(Fields::offset, offset);
        part.presentField(Fields::length, length);
        part.presentField(Fields::index, index);
      });
      column.presentField(reverb::Column::squeeze, squeeze);
    });
    const auto number = static_cast<uint32_t>(items_.count());
    if (chunk.item != number) chunks_.push(chunk.chunk);
    chunk.item = number;
  }
  const double own = item[EXRP_NEW_ITEM_REMOVER_PRIORITY];
  return addItem({keyOfHalves(item + EXRP_NEW_ITEM_KEY), static_cast<uint32_t>(item[EXRP_NEW_ITEM_TABLE]), item[EXRP_NEW_ITEM_PRIORITY],
                  {own, !std::isnan(own)}, false},
                 {packed_.data(), static_cast<size_t>(out.at() - packed_.data())});
}

// ---- items ----

Status checkPriorities(size_t index, uint64_t key, double priority, OptionalReal own) {
  const bool isRight = isPriority(priority);
  if (isRight && (!own.isThere || isPriority(own.value))) return Status::ok;
  return fail(Status::itemPriority, static_cast<double>(index), isRight ? own.value : priority, highOf(key), lowOf(key));
}

/// Adds an item on chunks_ to those that were read, if it is right.
Status ItemReader::addItem(const Head& item, ByteSpan trajectory) {
  const auto index = static_cast<double>(items_.count());
  if (item.table >= tableCount_) return fail(Status::tableUnknown, index, item.table == noTable ? -1.0 : item.table, tableCount_);
  if (const Status status = checkPriorities(items_.count(), item.key, item.priority, item.own); status != Status::ok) return status;
  if (chunks_.isEmpty()) return fail(Status::itemEmpty, index, highOf(item.key), lowOf(item.key));
  // A negative zero becomes 0.
  WaitingItem made = {item.key, item.priority + 0.0, item.own.isThere ? item.own.value + 0.0 : NAN, nullptr, 0, 0, item.isConfirmed};
  for (size_t k = 0; k < chunks_.count(); ++k) made.bytes += chunks_[k]->bytes;
  if (listener_ != nullptr && !listener_->mayBe(chunks_, trajectory.size)) {
    return fail(Status::itemBytes, index, static_cast<double>(made.bytes), EXRP_LIMIT_TABLES_LOGGED_BYTES);
  }
  const uint64_t bytesMax = tables_[item.table]->config().maxBytes;
  if (bytesMax > 0 && made.bytes > bytesMax) {
    return fail(Status::itemBytes, index, static_cast<double>(made.bytes), static_cast<double>(bytesMax));
  }
  if (!items_.prepare(1)) return fail(Status::memory, sizeof(NewItem));
  made.body = newBody(*store_, chunks_, trajectory);
  if (made.body == nullptr) return fail(Status::memory, static_cast<double>(trajectory.size));
  items_.push({made, item.table});
  return Status::ok;
}

/// Takes the memory for the items that were read, in their tables and for their confirmations.
Status ItemReader::prepare(Inserter& inserter) {
  const size_t count = items_.count();
  const bool isConfirmed = count > 0 && items_[0].item.isConfirmed;
  bool hasMemory = !isConfirmed || inserter.confirmed.prepare(static_cast<size_t>(inserter.waiting) + count);
  for (uint32_t number = 0; number < tableCount_ && hasMemory; ++number) {
    size_t more = 0;
    bool hasOwn = false;  // a priority of its own for the remover
    for (size_t k = 0; k < count; ++k) {
      if (items_[k].table != number) continue;
      ++more;
      hasOwn = hasOwn || !std::isnan(items_[k].item.removerPriority);
    }
    hasMemory = more == 0 || (tables_[number]->prepare(more) && (!hasOwn || tables_[number]->prepareOwn()));
  }
  return hasMemory ? Status::ok : fail(Status::memory, 64.0 * static_cast<double>(count));
}

}  // namespace exrp
