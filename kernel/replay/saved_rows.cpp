#include "kernel/replay/saved_rows.hpp"

#include <cstring>

namespace exrp {

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
    for (uint32_t block = episodes[episode].firstBlock; block != blockNone; block = store.block(block).next) {
      const BlockRows rows = stored.rowsOf(block);
      if (rows.count == 0) continue;
      pieceOf_[block] = pieceCount_;
      pieces_[pieceCount_++] = {nullptr, block, rows};
    }
  }
  isTaken_ = true;
  return Status::ok;
}

Status SavedRows::read(const Store& store, uint32_t count, uint8_t* items) {
  if (hasFailed_) return fail(Status::memory, static_cast<double>(store.blockLength()) * store.recordBytes());
  for (; count > 0; --count) {
    Piece& piece = pieces_[piece_];
    const bool isFinal = row_ + 1 == piece.rows.count && piece.rows.hasFinal == 1;
    if (piece.copied != nullptr) {
      memcpy(items, piece.copied->data() + sizeof(BlockChunkHead) + size_t{row_} * store.recordBytes(), store.recordBytes());
      items += store.recordBytes();
    } else {
      items = writeRow(store, store.firstSlot(piece.block) + piece.rows.first + row_, isFinal, items);
    }
    pass();
  }
  return Status::ok;
}

void SavedRows::write(Store& store, uint32_t count, const uint8_t* items) {
  for (; count > 0; --count, pass()) {
    const uint32_t slot = store.firstSlot(pieces_[piece_].block) + pieces_[piece_].rows.first + row_;
    for (uint32_t column = 0; column < store.columnCount(); ++column) {
      if (store.isKept(column)) continue;
      const uint32_t bytes = store.column(column).bytes;
      memcpy(store.at(column, slot), items, bytes);
      items += bytes;
    }
  }
}

/// Goes on to the next row. A piece that was read is not kept any longer.
void SavedRows::pass() {
  Piece& piece = pieces_[piece_];
  ++readCount_;
  if (++row_ < piece.rows.count) return;
  if (piece.copied == nullptr) {
    pieceOf_[piece.block] = none;
  } else {
    copiedBytes_ -= sizeof(SealedChunk) + piece.copied->bytes;
    releaseBlock(piece.copied);
  }
  ++piece_;
  row_ = 0;
}

void SavedRows::copyAside(const Store& store, uint32_t block) {
  if (block >= blockEnd_ || pieceOf_[block] == none) return;
  Piece& piece = pieces_[pieceOf_[block]];
  pieceOf_[block] = none;
  piece.copied = hasFailed_ ? nullptr : sealBlock(store, block, piece.rows);
  if (piece.copied == nullptr) hasFailed_ = true;
  else copiedBytes_ += sizeof(SealedChunk) + piece.copied->bytes;
}

void SavedRows::release() {
  for (; piece_ < pieceCount_; ++piece_) {
    if (pieces_[piece_].copied != nullptr) releaseBlock(pieces_[piece_].copied);
  }
  Scratch<Piece>().swap(pieces_);
  Scratch<uint32_t>().swap(pieceOf_);
  pieceCount_ = blockEnd_ = piece_ = row_ = 0;
  readCount_ = copiedBytes_ = 0;
  isTaken_ = hasFailed_ = false;
}

}  // namespace exrp
