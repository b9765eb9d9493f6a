// How Tables takes items in: an ItemReader reads what a call brings, and it ends in the lines of the tables.
#include <bit>

#include "kernel/tables/tables.hpp"
#include "kernel/wire/proto_writer.hpp"
#include "kernel/wire/reverb_fields.hpp"

namespace exrp {

Status Tables::feed(uint32_t id, Inserter& inserter, ByteSpan message, double now) {
  Status status = mayTake();
  if (status == Status::ok) status = reader_.readMessage(inserter, message, listener_);
  if (status == Status::ok) enter(id, inserter, now);
  return status;
}

Status Tables::insert(uint32_t id, Inserter& inserter, Numbers numbers, ByteSpan rows, double now) {
  Status status = mayTake();
  if (status == Status::ok) status = reader_.readRows(inserter, numbers, rows, listener_);
  if (status == Status::ok) enter(id, inserter, now);
  return status;
}

/// Puts the items that were read into the lines of their tables, and lets in what the rate limiters allow.
void Tables::enter(uint32_t id, Inserter& inserter, double now) {
  // A clock that was set back does not make later items older.
  if (now > now_) now_ = now;
  const Queue<ItemReader::NewItem>& items = reader_.items();
  uint64_t touched = 0;
  for (size_t k = 0; k < items.count(); ++k) {
    WaitingItem item = items[k].item;
    item.inserter = id;
    tables_[items[k].table]->inserts().push(item);
    ++inserter.waiting;
    inserter.waitingBytes += item.bytes;
    touched |= uint64_t{1} << items[k].table;
  }
  inserter.tables |= touched;
  streams_.beginCall(id);
  for (; touched != 0; touched &= touched - 1) run(*tables_[static_cast<uint32_t>(std::countr_zero(touched))]);
  streams_.endCall();
}

void Tables::countWaiting(uint32_t id, Inserter& inserter, bool isWithdrawn, double* counts) {
  for (uint32_t number = 0; number < tableCount_; ++number) {
    ItemTable& table = *tables_[number];
    counts[number] = inserter.waiting == 0 ? 0 : static_cast<double>(table.inserts().countOf(id));
    if (!isWithdrawn || counts[number] == 0) continue;
    table.inserts().withdraw(id, [&](const WaitingItem& item) {
      --inserter.waiting;
      inserter.waitingBytes -= item.bytes;
      table.release(item.body);
    });
  }
}

void Tables::inserterInfo(const Inserter& inserter, double* info) const {
  bool isFull = false;
  for (uint64_t left = inserter.waiting > 0 ? inserter.tables : 0; left != 0; left &= left - 1) {
    ItemTable& table = *tables_[static_cast<uint32_t>(std::countr_zero(left))];
    isFull = isFull || table.inserts().count() >= table.waitingMax();
  }
  info[EXRP_INSERTER_WAITING] = static_cast<double>(inserter.waiting);
  info[EXRP_INSERTER_BYTES_WAITING] = static_cast<double>(inserter.waitingBytes);
  info[EXRP_INSERTER_CONFIRMED] = static_cast<double>(inserter.confirmed.count());
  info[EXRP_INSERTER_CHUNKS] = static_cast<double>(inserter.held.count());
  info[EXRP_INSERTER_PAUSE] = isFull ? 1 : 0;
  info[EXRP_INSERTER_BYTES] = 0;
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
