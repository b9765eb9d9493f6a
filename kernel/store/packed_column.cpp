#include "kernel/store/packed_column.hpp"

#include <cstdlib>
#include <cstring>

namespace exrp {

PackedColumn::~PackedColumn() {
  keepSpare(false);
  for (size_t block = 0; block < places_.committed(); ++block) {
    if (places_[block].data != nullptr) std::free(headOf(places_[block].data));
  }
  while (waiting_ != nullptr) {
    Head* const next = waiting_->next;
    std::free(waiting_);
    waiting_ = next;
  }
}

Status PackedColumn::create(const BlockPool& pool, const SealedForm& form, uint32_t rowBytes, uint32_t blockLength, uint32_t blockCountMax, uint32_t blockCount) {
  pool_ = &pool;
  form_ = form;
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
  if (form_.packs && !room_.commit(static_cast<size_t>(packedBytesMax(rowBytes_, blockLength_)))) return;
  const uint8_t* const rows = row(block, 0);
  auto bytes = static_cast<uint32_t>(form_.packs ? packRows(rows, rowBytes_, count, form_.key, room_.data()) : 0);
  const bool isPlain = bytes == 0;
  if (isPlain && count == blockLength_ && !form_.leavesPiece) return;
  // Few rows take less than a piece, also as they are.
  if (isPlain) bytes = count * rowBytes_;
  uint8_t* const data = newBytes(bytes);
  if (data == nullptr) return;
  memcpy(data, isPlain ? rows : room_.data(), bytes);
  adopt(block, data, bytes, count);
}

Status PackedColumn::replace(uint32_t block, const uint8_t* packed, uint32_t bytes, uint32_t count) {
  uint8_t* const data = newBytes(bytes);
  if (data == nullptr) return fail(Status::memory, bytes);
  memcpy(data, packed, bytes);
  adopt(block, data, bytes, count);
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

void PackedColumn::adopt(uint32_t block, const uint8_t* data, uint32_t bytes, uint32_t count) {
  reclaim();
  packedBytes_ += takenBytes(bytes);
  give(block);
  places_[block] = {data, bytes, count};
}

// ---- the memory of packed rows ----

uint8_t* PackedColumn::newBytes(uint32_t bytes) {
  void* const taken = resizeMemory(nullptr, sizeof(Head) + size_t{bytes});
  return taken == nullptr ? nullptr : static_cast<uint8_t*>(taken) + sizeof(Head);
}

void PackedColumn::freeBytes(uint8_t* bytes) { std::free(headOf(bytes)); }

uint8_t* PackedColumn::takeBytes(uint32_t bytes) {
  while (spare_ != nullptr) {
    Head* const head = spare_;
    spare_ = head->next;
    if (head->bytes == takenBytes(bytes)) return reinterpret_cast<uint8_t*>(head) + sizeof(Head);
    std::free(head);
  }
  return newBytes(bytes);
}

void PackedColumn::keepSpare(bool keeps) {
  keepsSpare_ = keeps;
  while (!keeps && spare_ != nullptr) {
    Head* const head = spare_;
    spare_ = head->next;
    std::free(head);
  }
}

void PackedColumn::giveBytes(const uint8_t* data, uint32_t bytes) {
  const CopyPins* const pins = pool_->pins();
  Head* const head = headOf(data);
  if (pins == nullptr || pins->areDone(pins->count())) {
    packedBytes_ -= takenBytes(bytes);
    if (!keepsSpare_) return std::free(head);
    *head = {spare_, 0, takenBytes(bytes)};
    spare_ = head;
    return;
  }
  *head = {nullptr, pins->count(), takenBytes(bytes)};
  waitingBytes_ += head->bytes;
  if (waiting_ == nullptr) waiting_ = head;
  else lastWaiting_->next = head;
  lastWaiting_ = head;
}

void PackedColumn::reclaim() {
  while (waiting_ != nullptr && pool_->pins()->areDone(waiting_->until)) {
    Head* const next = waiting_->next;
    packedBytes_ -= waiting_->bytes;
    waitingBytes_ -= waiting_->bytes;
    std::free(waiting_);
    waiting_ = next;
  }
}

double PackedColumn::memoryBytes(uint32_t blockCount) const {
  return places_.takenBytes(blockCount) + pieces_.memoryBytes() + room_.memoryBytes() + static_cast<double>(packedBytes());
}

}  // namespace exrp
