#include "kernel/replay/saved_rows.hpp"

#include <cstdlib>
#include <cstring>

namespace exrp {
namespace {

/// Writes a row as a snapshot has it. Of a final state there is only the state.
uint8_t* writeRow(const Store& store, uint32_t slot, bool isFinal, uint8_t* to) {
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (store.isKept(column)) continue;
    const uint32_t bytes = store.column(column).bytes;
    if (isFinal && column > 0) memset(to, 0, bytes);
    else memcpy(to, store.at(column, slot), bytes);
    to += bytes;
  }
  return to;
}

}  // namespace

Status SavedRows::take(const StoredEpisodes& stored) {
  release();
  const Store& store = stored.store();
  const EpisodeList& episodes = stored.episodes();
  uint32_t blockCount = 0;
  for (uint32_t block = 0; block < store.highWater(); ++block) blockCount += store.isTaken(block) ? 1 : 0;
  if (!pieces_.commit(blockCount) || !pieceOf_.commit(store.highWater())) {
    release();
    return fail(Status::memory, double{sizeof(Piece)} * blockCount + 4.0 * store.highWater());
  }
  blockEnd_ = store.highWater();
  for (uint32_t block = 0; block < blockEnd_; ++block) pieceOf_[block] = none;
  for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) {
    const Episode& entry = episodes[episode];
    const uint32_t end = stored.stateRows(entry);
    uint32_t position = episodes.first(episode);
    // The block that an episode without rows keeps is not asked for.
    for (uint32_t block = entry.firstBlock; position < end; block = store.block(block).next) {
      const uint32_t room = store.blockLength() - store.within(position);
      const uint32_t count = room < end - position ? room : end - position;
      position += count;
      pieceOf_[block] = pieceCount_;
      pieces_[pieceCount_++] = {nullptr, block, store.within(position - count), count, position == end && entry.ended() ? 1u : 0u};
    }
  }
  isTaken_ = true;
  return Status::ok;
}

Status SavedRows::read(const Store& store, uint32_t count, uint8_t* items) {
  if (hasFailed_) return fail(Status::memory, static_cast<double>(store.blockLength()) * store.recordBytes());
  for (; count > 0; --count) {
    Piece& piece = pieces_[piece_];
    const bool isLast = row_ + 1 == piece.count;
    if (piece.copied != nullptr) {
      memcpy(items, piece.copied + size_t{row_} * store.recordBytes(), store.recordBytes());
      items += store.recordBytes();
    } else {
      items = writeRow(store, store.firstSlot(piece.block) + piece.first + row_, isLast && piece.hasFinal == 1, items);
    }
    pass(store);
  }
  return Status::ok;
}

void SavedRows::write(Store& store, uint32_t count, const uint8_t* items) {
  for (; count > 0; --count, pass(store)) {
    const uint32_t slot = store.firstSlot(pieces_[piece_].block) + pieces_[piece_].first + row_;
    for (uint32_t column = 0; column < store.columnCount(); ++column) {
      if (store.isKept(column)) continue;
      const uint32_t bytes = store.column(column).bytes;
      memcpy(store.at(column, slot), items, bytes);
      items += bytes;
    }
  }
}

/// Goes on to the next row. A piece that was read is not kept any longer.
void SavedRows::pass(const Store& store) {
  Piece& piece = pieces_[piece_];
  ++readCount_;
  if (++row_ < piece.count) return;
  if (piece.copied == nullptr) {
    pieceOf_[piece.block] = none;
  } else {
    std::free(piece.copied);
    copiedBytes_ -= size_t{piece.count} * store.recordBytes();
  }
  ++piece_;
  row_ = 0;
}

void SavedRows::copyAside(const Store& store, uint32_t block) {
  if (block >= blockEnd_ || pieceOf_[block] == none) return;
  Piece& piece = pieces_[pieceOf_[block]];
  pieceOf_[block] = none;
  const size_t bytes = size_t{piece.count} * store.recordBytes();
  piece.copied = hasFailed_ ? nullptr : static_cast<uint8_t*>(resizeMemory(nullptr, bytes));
  if (piece.copied == nullptr) {
    hasFailed_ = true;
    return;
  }
  copiedBytes_ += bytes;
  uint8_t* to = piece.copied;
  for (uint32_t row = 0; row < piece.count; ++row) {
    to = writeRow(store, store.firstSlot(block) + piece.first + row, row + 1 == piece.count && piece.hasFinal == 1, to);
  }
}

void SavedRows::release() {
  for (; piece_ < pieceCount_; ++piece_) std::free(pieces_[piece_].copied);
  Scratch<Piece>().swap(pieces_);
  Scratch<uint32_t>().swap(pieceOf_);
  pieceCount_ = blockEnd_ = piece_ = row_ = 0;
  readCount_ = copiedBytes_ = 0;
  isTaken_ = hasFailed_ = false;
}

}  // namespace exrp
