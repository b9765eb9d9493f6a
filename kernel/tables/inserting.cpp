// How Tables takes in an InsertStreamRequest: chunks, then items, then the keys of the chunks that the client keeps.
//
// read() changes nothing that can be seen: it adds the message's chunks to those that the inserter holds, and makes the bodies of its items. If
// anything is wrong, both go again.
#include <cmath>

#include "kernel/base/priority.hpp"
#include "kernel/tables/tables.hpp"
#include "kernel/wire/proto_writer.hpp"
#include "kernel/wire/reverb_fields.hpp"

namespace exrp {
namespace {

double high(uint64_t key) { return static_cast<double>(key >> 32); }
double low(uint64_t key) { return static_cast<double>(key & UINT32_MAX); }

Status noMessage(ByteSpan message) { return fail(Status::message, static_cast<double>(message.size)); }

}  // namespace

Status Tables::feed(uint32_t id, Inserter& inserter, ByteSpan message, double now) {
  if (loader_ != nullptr) return fail(Status::order);
  const uint32_t heldBefore = inserter.held.count();
  const uint64_t kept = inserter.held.newMark();
  parsed_.clear();
  const Status status = read(inserter, message, kept);
  const auto release = [this, &inserter](Chunk* chunk) {
    inserter.heldBytes -= chunk->bytes;
    store_->release(chunk);
  };
  if (status != Status::ok) {
    for (size_t k = 0; k < parsed_.count(); ++k) tables_[parsed_[k].table]->release(parsed_[k].item.body);
    inserter.held.cut(heldBefore, release);
    return status;
  }
  // A clock that was set back does not make later items older.
  if (now > now_) now_ = now;
  if (parsed_.isEmpty()) return Status::ok;  // chunks alone say nothing of what is kept
  inserter.held.sweep([kept](const HeldChunks::Held& held) { return held.mark != kept; }, release);
  uint64_t touched = 0;
  for (size_t k = 0; k < parsed_.count(); ++k) {
    WaitingItem item = parsed_[k].item;
    item.inserter = id;
    ItemTable& table = *tables_[parsed_[k].table];
    table.waiting().push(item);
    table.waitingBytes() += item.bytes;
    ++inserter.waiting;
    inserter.waitingBytes += item.bytes;
    touched |= uint64_t{1} << parsed_[k].table;
  }
  inserter.tables |= touched;
  caller_ = id;
  for (; touched != 0; touched &= touched - 1) run(*tables_[static_cast<uint32_t>(std::countr_zero(touched))]);
  caller_ = none;
  return Status::ok;
}

Status Tables::read(Inserter& inserter, ByteSpan message, uint64_t kept) {
  using Fields = reverb::InsertStreamRequest;
  uint64_t chunkCount = 0;
  uint64_t itemCount = 0;
  ProtoReader chunks(message);
  while (chunks.next()) {
    if (chunks.is(Fields::chunks, Wire::bytes)) {
      ++chunkCount;
      if (const Status status = takeChunk(inserter, chunks.bytes()); status != Status::ok) return status;
    } else {
      itemCount += chunks.is(Fields::items, Wire::bytes) ? 1 : 0;
      chunks.skip();
    }
  }
  if (!chunks.isGood()) return noMessage(message);
  if (chunkCount == 0 && itemCount == 0) return fail(Status::messageEmpty);
  if (itemCount == 0) return Status::ok;

  ProtoReader items(message);
  while (items.next()) {
    if (!items.is(Fields::items, Wire::bytes)) {
      items.skip();
    } else if (const Status status = takeItem(inserter, items.bytes()); status != Status::ok) {
      return status;
    }
  }

  uint64_t keyCount = 0;
  uint64_t lacking = 0;
  bool lacks = false;
  ProtoReader keys(message);
  while (keys.next()) {
    if (keys.field() != Fields::keepChunkKeys || (keys.wire() != Wire::bytes && keys.wire() != Wire::varint)) {
      keys.skip();
      continue;
    }
    keys.varints([&](uint64_t key) {
      HeldChunks::Held* const held = inserter.held.find(key);
      ++keyCount;
      if (held != nullptr) {
        held->mark = kept;
      } else if (!lacks) {
        lacks = true;
        lacking = key;
      }
    });
  }
  if (!keys.isGood()) return noMessage(message);
  if (lacks) {
    return fail(Status::chunksKept, static_cast<double>(keyCount), static_cast<double>(inserter.held.count()), high(lacking), low(lacking));
  }
  return prepareItems(inserter);
}

Status Tables::takeChunk(Inserter& inserter, ByteSpan chunk) {
  uint64_t key = 0;
  uint64_t episode = 0;
  if (!readChunkHead(chunk, &key, &episode)) return noMessage(chunk);
  if (inserter.held.find(key) != nullptr) return Status::ok;  // sent again
  if (!inserter.held.prepare(1)) return fail(Status::memory, inserter.held.memoryBytes());
  Chunk* const added = store_->add(chunk, episode);
  if (added == nullptr) return fail(Status::memory, static_cast<double>(chunk.size));
  inserter.held.add(key, added);
  inserter.heldBytes += added->bytes;
  return Status::ok;
}

Status Tables::takeItem(Inserter& inserter, ByteSpan item) {
  using Fields = reverb::PrioritizedItem;
  const auto index = static_cast<double>(parsed_.count());
  ParsedItem made = {{0, 0, NAN, nullptr, 0, 0}, none};
  bool isOwnRight = true;
  ByteSpan name;
  ByteSpan trajectory;
  ProtoReader from(item);
  while (from.next()) {
    if (from.is(Fields::key, Wire::varint)) made.item.key = from.varint();
    else if (from.is(Fields::table, Wire::bytes)) name = from.bytes();
    else if (from.is(Fields::priority, Wire::fixed64)) made.item.priority = from.real();
    else if (from.is(Fields::flatTrajectory, Wire::bytes)) trajectory = from.bytes();
    else if (from.is(Fields::removerPriority, Wire::fixed64)) {
      made.item.removerPriority = from.real();
      isOwnRight = isPriority(made.item.removerPriority);
    } else from.skip();
  }
  if (!from.isGood() || trajectory.size > UINT32_MAX) return noMessage(item);
  const uint64_t key = made.item.key;
  made.table = tableOf(name);
  if (made.table == none) return fail(Status::tableUnknown, index, -1, tableCount_);
  if (!isPriority(made.item.priority) || !isOwnRight) {
    const double wrong = isPriority(made.item.priority) ? made.item.removerPriority : made.item.priority;
    return fail(Status::itemPriority, index, wrong, high(key), low(key));
  }
  made.item.priority += 0.0;  // a negative zero becomes 0
  made.item.removerPriority += 0.0;

  if (const Status status = findChunks(inserter, trajectory, static_cast<uint32_t>(parsed_.count())); status != Status::ok) return status;
  if (chunks_.isEmpty()) return fail(Status::itemEmpty, index, high(key), low(key));
  ItemTable& table = *tables_[made.table];
  for (size_t k = 0; k < chunks_.count(); ++k) made.item.bytes += chunks_[k]->bytes;
  const uint64_t bytesMax = table.config().maxBytes;
  if (bytesMax > 0 && made.item.bytes > bytesMax) {
    return fail(Status::itemBytes, index, static_cast<double>(made.item.bytes), static_cast<double>(bytesMax));
  }
  if (!parsed_.prepare(1)) return fail(Status::memory, sizeof(ParsedItem));
  made.item.body = newBody(*store_, chunks_, trajectory);
  if (made.item.body == nullptr) return fail(Status::memory, static_cast<double>(trajectory.size));
  parsed_.push(made);
  return Status::ok;
}

/// Collects the chunks of the trajectory of item `index`.
Status Tables::findChunks(Inserter& inserter, ByteSpan trajectory, uint32_t index) {
  uint64_t wrong = 0;
  switch (const Status status = inserter.held.collect(trajectory, chunks_, &wrong, *store_)) {
    case Status::chunkUnknown:
    case Status::itemSlice: return fail(status, index, high(wrong), low(wrong));
    case Status::memory: return fail(status, chunks_.memoryBytes());
    case Status::message: return noMessage(trajectory);
    default: return status;
  }
}

/// Takes the memory for the items that were read, in their tables and for their confirmations.
Status Tables::prepareItems(Inserter& inserter) {
  const size_t count = parsed_.count();
  bool hasMemory = inserter.confirmed.prepare(static_cast<size_t>(inserter.waiting) + count);
  uint64_t touched = 0;
  uint64_t own = 0;  // tables that get items with a priority of their own for the remover
  for (size_t k = 0; k < count; ++k) {
    const uint64_t bit = uint64_t{1} << parsed_[k].table;
    touched |= bit;
    if (!std::isnan(parsed_[k].item.removerPriority)) own |= bit;
  }
  for (; touched != 0 && hasMemory; touched &= touched - 1) {
    const auto number = static_cast<uint32_t>(std::countr_zero(touched));
    size_t more = 0;
    for (size_t k = 0; k < count; ++k) more += parsed_[k].table == number ? 1 : 0;
    hasMemory = tables_[number]->prepare(more) && ((own >> number & 1) == 0 || tables_[number]->prepareOwn());
  }
  return hasMemory ? Status::ok : fail(Status::memory, 64.0 * static_cast<double>(count));
}

void Tables::inserterInfo(const Inserter& inserter, double* info) const {
  bool isFull = false;
  for (uint64_t left = inserter.waiting > 0 ? inserter.tables : 0; left != 0; left &= left - 1) {
    ItemTable& table = *tables_[static_cast<uint32_t>(std::countr_zero(left))];
    isFull = isFull || table.waiting().count() >= table.waitingMax();
  }
  info[EXRP_INSERTER_WAITING] = static_cast<double>(inserter.waiting);
  info[EXRP_INSERTER_BYTES_WAITING] = static_cast<double>(inserter.waitingBytes);
  info[EXRP_INSERTER_CONFIRMED] = static_cast<double>(inserter.confirmed.count());
  info[EXRP_INSERTER_CHUNKS] = static_cast<double>(inserter.held.count());
  info[EXRP_INSERTER_PAUSE] = isFull ? 1 : 0;
  constexpr double placeBytes = 64;  // about what a key takes among the held ones
  const double headBytes = static_cast<double>(store_->headBytes()) + placeBytes;
  info[EXRP_INSERTER_CHUNK_BYTES] = static_cast<double>(inserter.heldBytes) + headBytes * static_cast<double>(inserter.held.count());
}

size_t Tables::readConfirmed(Inserter& inserter, uint8_t* to, size_t room) {
  size_t count = 0;
  size_t bytes = 0;
  for (; count < inserter.confirmed.count(); ++count) {
    const size_t more = bytes + varintBytes(inserter.confirmed[count]);
    if (bytesFieldBytes(reverb::InsertStreamResponse::keys, more) > room) break;
    bytes = more;
  }
  if (count == 0) return 0;
  ProtoWriter out(to);
  out.bytesBegin(reverb::InsertStreamResponse::keys, bytes);
  for (size_t k = 0; k < count; ++k) out.varint(inserter.confirmed[k]);
  inserter.confirmed.pop(count);
  return static_cast<size_t>(out.at() - to);
}

}  // namespace exrp
