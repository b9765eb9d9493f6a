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
  if (hasFailed_) {
    if (failure_ != Status::ok) return fail(failure_, detail_[0], detail_[1], detail_[2], detail_[3]);
    return fail(Status::memory, static_cast<double>(store.blockLength()) * store.recordBytes());
  }
  while (count > 0) {
    const Piece& piece = pieces_[piece_];
    const uint32_t left = piece.rows.count - row_;
    const uint32_t run = count < left ? count : left;
    if (piece.copied != nullptr) {
      const size_t bytes = size_t{run} * store.recordBytes();
      memcpy(items, piece.copied->data() + sizeof(BlockChunkHead) + size_t{row_} * store.recordBytes(), bytes);
      items += bytes;
    } else {
      if (const Status status = readBlock(store, piece.block); status != Status::ok) return status;
      items = writeRows(store, store.firstSlot(piece.block) + piece.rows.first + row_, run, run == left && piece.rows.hasFinal == 1, items);
    }
    pass(run);
    count -= run;
  }
  return Status::ok;
}

Status SavedRows::prepareWrite(Store& store, uint32_t count) const {
  uint32_t end = piece_;
  for (uint64_t rows = 0; rows < uint64_t{row_} + count && end < pieceCount_; ++end) rows += pieces_[end].rows.count;
  return store.packed().prepare(store.highWater(), end - piece_);
}

void SavedRows::writeOne(Store& store, const uint8_t* item) {
  const uint32_t slot = store.firstSlot(pieces_[piece_].block) + pieces_[piece_].rows.first + row_;
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (store.isKept(column)) continue;
    const uint32_t bytes = store.column(column).bytes;
    memcpy(store.rowAt(column, slot), item, bytes);
    item += bytes;
  }
}

/// Goes on by `count` rows of a piece. A piece that was read is not kept any longer.
void SavedRows::pass(uint32_t count) {
  Piece& piece = pieces_[piece_];
  readCount_ += count;
  row_ += count;
  if (row_ < piece.rows.count) return;
  if (piece.copied == nullptr) {
    pieceOf_[piece.block] = none;
  } else {
    copiedBytes_ -= sizeof(SealedChunk) + piece.copied->bytes;
    releaseBlock(piece.copied);
  }
  ++piece_;
  row_ = 0;
}

/// Reads the rows of a block from the disk, where they are there only.
Status SavedRows::readBlock(const Store& store, uint32_t block) {
  return store.source() != nullptr && store.source()->isMissing(block) ? store.source()->fetchOne(block) : Status::ok;
}

void SavedRows::copyAside(const Store& store, uint32_t block) {
  if (block >= blockEnd_ || pieceOf_[block] == none) return;
  Piece& piece = pieces_[pieceOf_[block]];
  pieceOf_[block] = none;
  if (const Status status = hasFailed_ ? Status::ok : readBlock(store, block); status != Status::ok) {
    hasFailed_ = true;
    failure_ = status;
    memcpy(detail_, errorDetail, sizeof detail_);
  }
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
  failure_ = Status::ok;
}

}  // namespace exrp
