// Saving and loading of a set of tables: items, priorities, what the rate limiters and the selectors know, and chunks.
//
// A snapshot is of one moment, for all tables. Taking it copies what may change, and keeps the rest by reference: chunks and bodies of items
// never change. So clients go on while the snapshot is read, in pieces. It has no streams, nor what waits: no client was told that those
// items are in.
//
// A piece is a protobuf message, with fields in this order; a snapshot is its pieces one after another:
//   1 begin {1 version, 2 tables}
//   2 table {1 name, 2 rules, 3 size, 4 inserts, 5 samples, 6 deletes, 7 unique samples, 8 episodes deleted, 9 sampler, 10 remover}, then its items:
//   3 chunk {1 episode, 2 bytes, 3 their CRC-32C}: before the first item that refers to it; chunks are numbered 0, 1, ... in this order
//   4 item  {1 key, 2 priority, 3 times sampled, 4 inserted at, 5 chunks, 6 trajectory, 7 sampler, 8 remover,
//          9 its own priority for the remover, where it has one}
//   5 end   {1 chunks, 2 items}
// It is loaded into a set that has tables of these names and rules, in any order, which are empty and have room for the items. Tables that
// the snapshot lacks stay empty.
// A chunk whose CRC-32C differs from that which it had when it was inserted is Status::dataCorrupt, with the field, the number of items before it,
// and 2. Snapshots of before have none.
// What is wrong with an item is Status::dataCorrupt, with the field, the number of items before it, and a rule:
//   1 it is of no table   2 it is damaged, or has no chunk   3 a priority or its time is not possible   4 a selector refuses it
//   5 its trajectory does not name its chunks   6 its trajectory has steps that a chunk lacks
// In the place of 2, 3 and 4 there may be the records of a checkpoint of Reverb's (restoring.hpp).
//
// Thread safety: none of its own.
// Cost: taking it copies 32 to 40 bytes an item and what the selectors keep; reading and loading some 100 ns an item and chunk, and their bytes.
#pragma once

#include "kernel/tables/item_table.hpp"
#include "kernel/tables/restoring.hpp"

namespace exrp {

/// One table at the moment of a snapshot.
struct SavedTable {
  Scratch<ItemRow> rows;
  Scratch<double> own;  // priorities for the remover alone, or empty
  Scratch<uint8_t> sampler;  // header, then items
  Scratch<uint8_t> remover;
  uint32_t size = 0;
  TableCounts counts = {};
};

class Saver {
 public:
  Saver(std::unique_ptr<ItemTable>* tables, uint32_t tableCount, ChunkStore& store, uint64_t secret)
      : tables_(tables), tableCount_(tableCount), store_(store), numberOf_(secret) {}
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  ~Saver();

  /// Takes the snapshot.
  Status take();
  /// Writes the next piece, as much as fits. After the last one, each read writes nothing and lets some chunks go, so that others are served
  /// between two of them. `info` gets EXRP_TABLES_SAVE_COUNT numbers.
  Status read(uint8_t* to, size_t room, double* info);
  double memoryBytes() const;

 private:
  Status readItem(uint8_t*& to, size_t& left, bool* isDone);
  void releaseChunks(size_t most);

  std::unique_ptr<ItemTable>* tables_;
  const uint32_t tableCount_;
  ChunkStore& store_;
  /// Those from table_ on, and of that one the items from item_ on: what was written is let go.
  std::unique_ptr<SavedTable> saved_[EXRP_LIMIT_TABLES];
  bool hasBegun_ = false;
  bool isTableOpen_ = false;
  bool hasEnded_ = false;
  uint32_t table_ = 0;
  uint32_t item_ = 0;
  uint64_t itemCount_ = 0;
  size_t needed_ = 0;
  Queue<Chunk*> chunks_;  // by number; each is kept until the end, so that no other chunk gets its address
  size_t released_ = 0;   // so many of them were let go
  KeyMap numberOf_;       // by address
};

class Loader {
 public:
  Loader(std::unique_ptr<ItemTable>* tables, uint32_t tableCount, ChunkStore& store, uint64_t secret)
      : tables_(tables), tableCount_(tableCount), store_(store), named_(secret), restorer_(tables, tableCount, store, secret) {}
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  Status load(ByteSpan piece);
  bool hasEnded() const { return hasEnded_; }
  double insertedAtMax() const { return restorer_.hasBegun() ? restorer_.insertedAtMax() : insertedAtMax_; }

 private:
  Status corrupt(uint32_t field, uint32_t rule) const;
  Status loadTable(ByteSpan message);
  Status loadChunk(ByteSpan message);
  Status loadItem(ByteSpan message);
  Status findChunks(ByteSpan trajectory);
  Status endTable();

  std::unique_ptr<ItemTable>* tables_;
  const uint32_t tableCount_;
  ChunkStore& store_;
  bool hasBegun_ = false;
  bool hasEnded_ = false;
  uint32_t tablesInSnapshot_ = 0;
  uint32_t tablesBegun_ = 0;
  uint64_t isBegun_ = 0;  // a bit for each table
  ItemTable* table_ = nullptr;
  uint32_t size_ = 0;  // items that the table has in the snapshot
  uint64_t itemCount_ = 0;
  double insertedAtMax_ = 0;
  Queue<Chunk*> chunks_;  // by number; each is kept
  Queue<uint64_t> keys_;  // theirs
  HeldChunks named_;      // of the item that is being loaded
  Queue<Chunk*> own_;     // the same, as its trajectory names them
  Restorer restorer_;
};

}  // namespace exrp
