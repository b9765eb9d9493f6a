// Restorer: takes the records of a checkpoint of Reverb's, one by one: of its tables, then of its chunks and items as they are.
//
// Pieces of a snapshot (saving.hpp) have them between their begin and their end, as
//   6 chunk of Reverb's: ChunkData
//   7 table of Reverb's {1 name, 4 inserts, 5 samples, 6 deletes, 7 unique samples, 8 episodes deleted}
//   8 item of Reverb's: PrioritizedItem, after its table and its chunks
// Items come in the order in which they were inserted. The selectors meet them in this order, because Reverb saves nothing that its selectors
// know. A table that no record names stays empty, as a new one is.
//
// Reverb may save a chunk several times. The same bytes count as one chunk.
//
// What is wrong with a record is Status::dataCorrupt, with the field, the number of records of this field before it, and a rule:
//   1 the message is damaged, or not of this kind   2 its key or name was there before, for a chunk with other bytes   3 its table is not known
//   4 a chunk is not there   5 it names no chunk   6 the priority is not finite, or negative   7 its time or its count is not possible
//   8 its table has more items than its counts say, or fewer (then the number is that of the table)
//   9 its trajectory has steps that a chunk lacks
//
// Thread safety: none of its own.
// Cost: about 1 us an item and chunk with its bytes. Memory: 64 bytes a chunk while it is in use.
#pragma once

#include <memory>

#include "kernel/tables/held_chunks.hpp"
#include "kernel/tables/item_table.hpp"

namespace exrp {

class Restorer {
 public:
  Restorer(std::unique_ptr<ItemTable>* tables, uint32_t tableCount, ChunkStore& store, uint64_t secret)
      : tables_(tables), tableCount_(tableCount), store_(store), held_(secret) {}
  Restorer(const Restorer&) = delete;
  Restorer& operator=(const Restorer&) = delete;
  ~Restorer();

  /// Whether a field is a record.
  static bool takes(uint32_t field) { return field >= chunkField && field <= itemField; }
  /// Whether any record came.
  bool hasBegun() const { return hasBegun_; }
  Status take(uint32_t field, ByteSpan record);
  Status end();
  double insertedAtMax() const { return insertedAtMax_; }

 private:
  static constexpr uint32_t chunkField = 6, tableField = 7, itemField = 8;

  Status takeChunk(ByteSpan record);
  Status takeTable(ByteSpan record);
  Status takeItem(ByteSpan record);
  int64_t sizeOf(uint32_t number) const;

  std::unique_ptr<ItemTable>* tables_;
  const uint32_t tableCount_;
  ChunkStore& store_;
  HeldChunks held_;      // each is kept until all items have come
  Queue<Chunk*> own_;    // of the item that comes now
  uint64_t known_ = 0;   // a bit for each table that a record named
  uint64_t chunkCount_ = 0;  // records
  uint64_t itemCount_ = 0;
  double insertedAtMax_ = 0;
  bool hasBegun_ = false;
};

}  // namespace exrp
