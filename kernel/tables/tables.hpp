// Tables: a set of tables on shared chunks, and the streams by which clients write to them and sample from them.
//
//   InsertStreamRequest, or plain rows → Inserter → waiting items → ItemTable → drawn samples → Sampler → SampleStreamResponse
//
// Items and samples that a rate limiter refuses wait in their table, each kind in its order. No call ever blocks: each call that may
// make progress possible also does it, for whoever waits (run()). Streams for which that made something ready are listed: takeAwake().
//
// A message, or a call with rows, changes nothing until all of it was read, found right, and its memory was taken.
//
// Thread safety: none of its own; one thread uses a set.
// Invariants (check() returns the number of the one that broke):
//   1. While an item waits in a table, the rate limiter refuses it; while a sampler waits, the rate limiter refuses it, or the table is empty;
//      and no returned sample is there.
//   2. An inserter's counts of waiting items and bytes are those of the tables' queues.
//   3. 1000 x (table + 1) + the number that the table gives; 100000 + the number that the chunks give.
// Cost: a message is read once for its chunks and once for its items; nothing is allocated but what stays.
#pragma once

#include <memory>

#include "kernel/base/numbers.hpp"
#include "kernel/tables/held_chunks.hpp"
#include "kernel/tables/item_table.hpp"
#include "kernel/tables/saving.hpp"
#include "kernel/tables/tables_listener.hpp"

namespace exrp {

/// One InsertStream.
struct Inserter {
  explicit Inserter(uint64_t secret) : held(secret) {}

  HeldChunks held;
  Queue<uint64_t> confirmed;   // keys that were inserted, and not yet read
  uint64_t waiting = 0;        // items that wait
  uint64_t waitingBytes = 0;
  uint64_t tables = 0;         // a bit for each table that it wrote to
  uint64_t heldBytes = 0;      // of the chunks that it holds
};

/// One SampleStream.
struct Sampler {
  explicit Sampler(uint32_t tableNumber) : table(tableNumber) {}

  const uint32_t table;
  uint64_t wanted = 0;  // samples asked for that were not drawn
  uint64_t batch = 0;   // number of the batch that they are for
  uint64_t drawnBytes = 0;
  Queue<DrawnSample> drawn;
  bool isInLine = false;
  bool isWhole = false;    // nothing is read before all is drawn
  bool isLimited = false;  // the rate limiter made it wait since it asked
};

class Tables {
 public:
  Tables() = default;
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
  ~Tables();

  /// Makes the tables of exrp_tables_create's numbers.
  Status create(const double* config, uint32_t count);

  uint32_t tableCount() const { return tableCount_; }
  ItemTable* findTable(uint32_t number) { return number < tableCount_ ? tables_[number].get() : nullptr; }
  Status setName(ItemTable& table, ByteSpan name);
  Status setRateLimiter(ItemTable& table, const double* numbers);
  Status reset(ItemTable& table);
  Status mutate(ByteSpan message);
  void storeInfo(double* info) const;

  Status openInserter(uint32_t* id);
  Status openSampler(uint32_t table, uint32_t* id);
  Status close(uint32_t id);
  Inserter* findInserter(uint32_t id);
  Sampler* findSampler(uint32_t id);

  Status feed(uint32_t id, Inserter& inserter, ByteSpan message, double now);
  /// Inserts items of this process: `numbers` and `rows` are as exrp_inserter_insert has them.
  Status insert(uint32_t id, Inserter& inserter, Numbers numbers, ByteSpan rows, double now);
  /// Counts the inserter's items that wait in each table, and takes them out if wanted.
  void countWaiting(uint32_t id, Inserter& inserter, bool isWithdrawn, double* counts);
  void inserterInfo(const Inserter& inserter, double* info) const;
  /// Writes what fits of an InsertStreamResponse, and returns its bytes.
  size_t readConfirmed(Inserter& inserter, uint8_t* to, size_t room);

  Status ask(uint32_t id, Sampler& sampler, uint32_t count, uint32_t how);
  /// Writes what fits of a SampleStreamResponse, and draws more.
  void readSamples(uint32_t id, Sampler& sampler, uint8_t* to, size_t room, double* info);

  /// Takes a snapshot, in the place of one that was not read to its end.
  Status saveBegin();
  Saver* saver() { return saver_.get(); }
  void saveEnd() { saver_.reset(); }
  /// Loads the pieces of a snapshot one after another. Until loadEnd() has succeeded, calls that insert, sample or change anything are refused.
  /// After a failure, the set can only be destroyed.
  Status load(ByteSpan piece);
  Status loadEnd();

  /// Tells somebody of all changes from now on; null: nobody. It must stay until then.
  void setListener(TablesListener* listener) { listener_ = listener; }
  /// For a listener's own work.
  ChunkStore& store() { return *store_; }
  /// For who has loaded what happened until a moment: later items are no older, and later batches have other numbers.
  void goOnFrom(double now, uint64_t batchCount) {
    if (now > now_) now_ = now;
    if (batchCount > batchCount_) batchCount_ = batchCount;
  }

  uint32_t takeAwake(uint32_t* streams, uint32_t count);
  int32_t check();

 private:
  static constexpr uint32_t tableMax = EXRP_LIMIT_TABLES;
  static constexpr uint32_t streamMax = EXRP_LIMIT_TABLES_STREAMS;
  static constexpr uint32_t none = 0xffffffffu;  // no stream has this id
  static_assert(none == WaitingItem::gone);

  struct Stream {
    Inserter* inserter;
    Sampler* sampler;
    uint16_t generation;
    bool isAwake;  // listed
    uint32_t nextFree;
  };
  /// An item as a call brings it.
  struct NewItem {
    uint64_t key;
    uint32_t table;
    double priority;
    OptionalReal own;  // for the remover
    bool isConfirmed;
  };
  struct ParsedItem {
    WaitingItem item;
    uint32_t table;
  };
  /// A chunk that a call has made of rows.
  struct MadeChunk {
    Chunk* chunk;
    uint64_t key;
    uint32_t length;   // rows
    uint32_t columns;
    uint32_t item;     // the last item of the call that is made of it
  };
  struct Change {
    uint64_t key;
    double priority;
    double removerPriority;  // its own for the remover from now on; NaN: as it was
  };

  Stream* findStream(uint32_t id);
  Status enroll(Inserter* inserter, Sampler* sampler, uint32_t* id);
  uint32_t tableOf(ByteSpan name) const { return exrp::findTable(tables_, tableCount_, name); }

  /// Reads and checks a whole message, and takes all its memory. The chunks that it keeps get the mark `kept`.
  Status read(Inserter& inserter, ByteSpan message, uint64_t kept);
  Status addChunk(Inserter& inserter, ByteSpan chunk);
  Status readItem(Inserter& inserter, ByteSpan message);
  Status readRows(Inserter& inserter, Numbers numbers, ByteSpan rows);
  Status readNewItem(Numbers& numbers);
  Status addItem(const NewItem& item, ByteSpan trajectory);
  static Status checkPriorities(size_t index, uint64_t key, double priority, OptionalReal own);
  Status prepareItems(Inserter& inserter);
  void dropParsed();
  void enter(uint32_t id, Inserter& inserter, double now);
  Status readChanges(ByteSpan message, ItemTable** table);

  /// Does what the table's rate limiter allows, for all that wait.
  void run(ItemTable& table);
  bool insertOne(ItemTable& table);
  bool serveOne(ItemTable& table);
  uint32_t drawFor(ItemTable& table, Sampler& sampler);
  void endBatch(ItemTable& table, uint64_t batch);
  Status mayTake() const;
  void wake(uint32_t id);

  uint32_t tableCount_ = 0;
  std::unique_ptr<ChunkStore> store_;
  std::unique_ptr<ItemTable> tables_[tableMax];
  std::unique_ptr<Saver> saver_;
  std::unique_ptr<Loader> loader_;  // while a snapshot is loaded
  bool isBroken_ = false;           // a piece could not be loaded
  TablesListener* listener_ = nullptr;
  uint64_t secret_ = 0;
  double now_ = 0;
  Scratch<Stream> streams_;
  uint32_t streamCount_ = 0;  // places ever used
  uint32_t streamFree_ = none;
  uint32_t inserterCount_ = 0;
  uint32_t samplerCount_ = 0;
  uint64_t batchCount_ = 0;   // batches that samplers ever asked for
  uint32_t caller_ = none;  // the stream whose call this is
  Queue<uint32_t> awake_;
  // Of the message or the rows that are being read.
  Queue<ParsedItem> parsed_;
  Queue<Chunk*> chunks_;
  Queue<MadeChunk> made_;
  Scratch<uint8_t> packed_;
  Queue<Change> changes_;
  Queue<uint64_t> deletes_;
};

}  // namespace exrp
