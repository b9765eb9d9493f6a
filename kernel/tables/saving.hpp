// Saving and loading of a set of tables: items, priorities, what the rate limiters and the selectors know, and chunks.
//
// A snapshot is of one moment, for all tables. Taking it copies what may change, and keeps the rest by reference: chunks and bodies of items
// never change. So clients go on while the snapshot is read, in pieces. It has no streams, nor what waits: no client was told that those
// items are in.
//
// A piece is a protobuf message; a snapshot is its pieces one after another:
//   1 table {1 name, 2 rules, 3 inserts, 4 samples, 5 deletes, 6 unique samples, 7 episodes deleted, 8 sampler, 9 remover}
//   2 chunk {1 ChunkData, 2 its CRC-32C}: before the first item that refers to it; chunks are numbered 0, 1, ... in this order
//   3 item  {1 PrioritizedItem, 2 chunks, 3 sampler, 4 remover}: after its table
// It is loaded into a set that has tables of these names and rules, in any order, which are empty and have room for the items. Tables that
// the snapshot lacks stay empty.
//
// The records of a checkpoint of Reverb's are loaded as well. Its tables have no rules: the selectors meet the items in their order, because
// Reverb saves nothing that its selectors know. Its chunks have no CRC-32C: they are known by their keys, and one that comes again with the same
// bytes counts as one. Its items have no numbers of chunks.
//
// What is wrong with a record is Status::dataCorrupt, with the field, the number of records of this field before it, and a rule:
//   1 the message is damaged   2 its key or name was there before, for a chunk with other bytes   3 its table was not there before
//   4 it names a chunk that is not there   5 it names no chunk   6 a priority is not finite, or negative   7 its time or a count is not possible
//   8 its table has more items than its counts say, or fewer (then the number is that of the table)
//   9 its trajectory has steps that a chunk lacks   10 a selector refuses what is saved of it   11 a chunk is not what was inserted, by its CRC-32C
//
// Thread safety: none of its own.
// Cost: taking it copies 32 to 40 bytes an item and what the selectors keep; reading and loading some 100 ns an item and chunk, and their bytes.
#pragma once

#include "kernel/tables/held_chunks.hpp"
#include "kernel/tables/item_table.hpp"

namespace exrp {

/// One table at the moment of a snapshot.
struct SavedTable {
  Scratch<ItemRow> rows;
  Scratch<double> own;  // priorities for the remover alone, or empty
  Scratch<uint8_t> sampler;  // header, then items
  Scratch<uint8_t> remover;
  uint32_t size = 0;
  uint64_t batch = 0;
  double rateLimiter[EXRP_RATE_LIMITER_RULE_COUNT] = {};
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
  struct Piece;

  Status putItem(Piece& piece);
  void releaseChunks(size_t most);

  std::unique_ptr<ItemTable>* tables_;
  const uint32_t tableCount_;
  ChunkStore& store_;
  /// Those from table_ on, and of that one the items from item_ on: what was written is let go.
  std::unique_ptr<SavedTable> saved_[EXRP_LIMIT_TABLES];
  bool isTableOpen_ = false;
  uint32_t table_ = 0;
  uint32_t item_ = 0;
  Queue<Chunk*> chunks_;  // by number; each is kept until the end, so that no other chunk gets its address
  size_t released_ = 0;   // so many of them were let go
  KeyMap numberOf_;       // by address
  Queue<uint32_t> numbers_;  // of the item that is being written
};

class Loader {
 public:
  Loader(std::unique_ptr<ItemTable>* tables, uint32_t tableCount, ChunkStore& store, uint64_t secret)
      : tables_(tables), tableCount_(tableCount), store_(store), known_(secret), named_(secret) {}
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  Status load(ByteSpan piece);
  Status end();
  double insertedAtMax() const { return insertedAtMax_; }

 private:
  struct Numbered {
    uint64_t key;
    Chunk* chunk;
  };

  Status wrong(uint32_t field, uint32_t rule) const { return fail(Status::dataCorrupt, field, static_cast<double>(counts_[field]), rule); }
  Status loadTable(ByteSpan record);
  Status loadChunk(ByteSpan record);
  Status loadItem(ByteSpan record);
  bool isBegun(uint32_t number) const { return (begun_ >> number & 1) != 0; }
  bool hasRules(uint32_t number) const { return (ruled_ >> number & 1) != 0; }
  /// How many items the counts of a table say that there are.
  int64_t sizeOf(uint32_t number) const { return tables_[number]->rateLimiter().counts().stored(); }

  std::unique_ptr<ItemTable>* tables_;
  const uint32_t tableCount_;
  ChunkStore& store_;
  uint64_t begun_ = 0;  // a bit for each table that came
  uint64_t ruled_ = 0;  // and of those with rules
  uint64_t counts_[4] = {};  // records, by field
  double insertedAtMax_ = 0;
  Queue<Numbered> chunks_;  // by number; each is kept
  HeldChunks known_;        // those of a checkpoint of Reverb's
  HeldChunks named_;        // those that the item which is being loaded names by number
  Queue<Chunk*> own_;       // of that item, as its trajectory names them
};

}  // namespace exrp
