#include "kernel/store/packed_column.hpp"

#include <cstdlib>
#include <cstring>

namespace exrp {

PackedColumn::~PackedColumn() {
  for (size_t block = 0; block < places_.committed(); ++block) {
    if (places_[block].data != nullptr) std::free(headOf(places_[block].data));
  }
  while (waiting_ != nullptr) {
    Head* const next = waiting_->next;
    std::free(waiting_);
    waiting_ = next;
  }
}

Status PackedColumn::create(const BlockPool& pool, PackedKey key, uint32_t rowBytes, uint32_t blockLength, uint32_t blockCountMax, uint32_t blockCount) {
  pool_ = &pool;
  key_ = key;
  rowBytes_ = rowBytes;
  blockLength_ = blockLength;
  const size_t pieceBytes = size_t{rowBytes} * blockLength;
  if (!pieces_.create(pieceBytes, blockCountMax)) return fail(Status::memory, static_cast<double>(pieceBytes) * blockCountMax);
  const bool isReserved = places_.create(blockCountMax, Pages::huge, blockCount);
  return isReserved ? Status::ok : fail(Status::memory, double{sizeof(Place)} * blockCountMax);
}

Status PackedColumn::prepare(uint32_t blockEnd, uint32_t openCount) {
  const bool isTaken = pieces_.prepare(openCount, [&] { pool_->waitForCopies(); }) && places_.commit(blockEnd);
  return isTaken ? Status::ok : fail(Status::memory, static_cast<double>(size_t{rowBytes_} * blockLength_) * openCount);
}

void PackedColumn::pack(uint32_t block, uint32_t count) {
  if (count == 0 || !isOpen(block)) return;
  if (!room_.commit(static_cast<size_t>(packedBytesMax(rowBytes_, blockLength_)))) return;
  const uint8_t* const rows = row(block, 0);
  auto bytes = static_cast<uint32_t>(packRows(rows, rowBytes_, count, key_, room_.data()));
  const bool isPlain = bytes == 0;
  if (isPlain && count == blockLength_) return;
  // Few rows take less than a piece, also as they are.
  if (isPlain) bytes = count * rowBytes_;
  uint8_t* const data = takeBytes(bytes);
  if (data == nullptr) return;
  memcpy(data, isPlain ? rows : room_.data(), bytes);
  put(block, data, bytes, count);
}

Status PackedColumn::replace(uint32_t block, const uint8_t* packed, uint32_t bytes, uint32_t count) {
  uint8_t* const data = takeBytes(bytes);
  if (data == nullptr) return fail(Status::memory, bytes);
  memcpy(data, packed, bytes);
  put(block, data, bytes, count);
  return Status::ok;
}

void PackedColumn::reopen(uint32_t block) {
  if (isOpen(block)) return;
  if (!hasRows(block)) return open(block);
  const PackedRows rows = rowsOf(block);
  const uint32_t piece = pieces_.take(pool_->pins());
  unpackRows(rows, 0, rows.count, pieces_.at(piece), rowBytes_);
  give(block);
  places_[block] = {nullptr, 0, piece + 1};
}

void PackedColumn::give(uint32_t block) {
  const Place place = places_[block];
  places_[block] = {};
  if (place.data != nullptr) giveBytes(place.data, place.bytes);
  else if (place.number != 0) pieces_.give(place.number - 1, pool_->pins());
}

/// Puts packed rows in the place of what the block has.
void PackedColumn::put(uint32_t block, const uint8_t* data, uint32_t bytes, uint32_t count) {
  give(block);
  places_[block] = {data, bytes, count};
}

// ---- the memory of packed rows ----

uint8_t* PackedColumn::takeBytes(uint32_t bytes) {
  reclaim();
  void* const taken = resizeMemory(nullptr, sizeof(Head) + size_t{bytes});
  if (taken == nullptr) return nullptr;
  packedBytes_ += sizeof(Head) + bytes;
  return static_cast<uint8_t*>(taken) + sizeof(Head);
}

void PackedColumn::giveBytes(const uint8_t* data, uint32_t bytes) {
  packedBytes_ -= sizeof(Head) + bytes;
  const CopyPins* const pins = pool_->pins();
  Head* const head = headOf(data);
  if (pins == nullptr || pins->areDone(pins->count())) return std::free(head);
  *head = {nullptr, pins->count()};
  if (waiting_ == nullptr) waiting_ = head;
  else lastWaiting_->next = head;
  lastWaiting_ = head;
}

/// Frees what nobody copies from any more.
void PackedColumn::reclaim() {
  while (waiting_ != nullptr && pool_->pins()->areDone(waiting_->until)) {
    Head* const next = waiting_->next;
    std::free(waiting_);
    waiting_ = next;
  }
}

double PackedColumn::memoryBytes(uint32_t blockCount) const {
  return places_.takenBytes(blockCount) + pieces_.memoryBytes() + room_.memoryBytes() + static_cast<double>(packedBytes_);
}

}  // namespace exrp
