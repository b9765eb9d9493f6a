// NewChunk: a ChunkData of Reverb's, made of plain rows: what a writer sends, and what an insert in process stores. So equal rows give equal bytes.
//
// Thread safety: none of its own; it refers to the caller's numbers and rows.
// Invariants: what read() accepted, write() can write into capacity() bytes.
// Cost: some ns a number, and what Snappy takes. No memory is allocated.
// A failure is Status::argument with the number that is wrong.
#pragma once

#include "kernel/base/numbers.hpp"
#include "kernel/base/status.hpp"
#include "kernel/exrp.h"
#include "kernel/wire/proto_reader.hpp"

namespace exrp {

class NewChunk {
 public:
  /// Takes the chunk's numbers (EXRP_CHUNK_*), which are argument `which` of the call, and the rows of its columns.
  Status read(Numbers& numbers, ByteSpan& rows, uint32_t which);

  uint64_t key() const { return keyOfHalves(head_ + EXRP_CHUNK_KEY); }
  uint64_t episode() const { return keyOfHalves(head_ + EXRP_CHUNK_EPISODE); }
  /// Rows of each column.
  uint32_t length() const { return static_cast<uint32_t>(columns_[EXRP_COLUMN_HEAD]); }
  uint32_t columnCount() const { return static_cast<uint32_t>(head_[EXRP_CHUNK_COLUMNS]); }
  /// Room for write().
  uint64_t capacity() const { return capacity_; }
  /// Writes the message somewhere into `out`, and says where.
  ByteSpan write(uint8_t* out) const;

 private:
  bool isDelta() const { return (static_cast<uint32_t>(head_[EXRP_CHUNK_FLAGS]) & EXRP_ROWS_DELTA) != 0; }

  const double* head_ = nullptr;
  const double* columns_ = nullptr;
  const uint8_t* rows_ = nullptr;
  uint64_t capacity_ = 0;
  uint64_t plainBytes_ = 0;
};

}  // namespace exrp
