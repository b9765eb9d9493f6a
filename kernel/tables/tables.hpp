// Tables: a set of tables on shared chunks, and the streams by which clients write to them and sample from them.
//
//   InsertStreamRequest, or plain rows → Inserter → waiting items → ItemTable → drawn samples → Sampler → SampleStreamResponse
//
// Items and samples that a rate limiter refuses wait in their table, each kind in its order. No call ever blocks: each call that may
// make progress possible also does it, for whoever waits (run()). Streams for which that made something ready are listed (streams.hpp).
//
// A message, or a call with rows, changes nothing until all of it was read, found right, and its memory was taken (item_reader.hpp).
//
// Thread safety: none of its own; one thread uses a set.
// Invariants (check() returns the number of the one that broke):
//   1. While an item waits in a table, the rate limiter refuses it; while a sampler waits, the rate limiter refuses it, or the table is empty;
//      and no returned sample is there.
//   2. An inserter's counts of waiting items and bytes are those of the tables' queues.
//   3. 1000 x (table + 1) + the number that the table gives; 100000 + the number that the chunks give.
// Cost: nothing is allocated but what stays.
#pragma once

#include <memory>

#include "kernel/tables/item_reader.hpp"
#include "kernel/tables/saving.hpp"

namespace exrp {

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
  Streams& streams() { return streams_; }

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

  int32_t check();

 private:
  static constexpr uint32_t tableMax = EXRP_LIMIT_TABLES;

  struct Change {
    uint64_t key;
    double priority;
    double removerPriority;  // its own for the remover from now on; NaN: as it was
  };

  void enter(uint32_t id, Inserter& inserter, double now);
  Status readChanges(ByteSpan message, ItemTable** table);

  /// Does what the table's rate limiter allows, for all that wait.
  void run(ItemTable& table);
  bool insertOne(ItemTable& table);
  bool serveOne(ItemTable& table);
  uint32_t drawFor(ItemTable& table, Sampler& sampler);
  void endBatch(ItemTable& table, uint64_t batch);
  Status mayTake() const;

  uint32_t tableCount_ = 0;
  std::unique_ptr<ChunkStore> store_;
  std::unique_ptr<ItemTable> tables_[tableMax];
  std::unique_ptr<Saver> saver_;
  std::unique_ptr<Loader> loader_;  // while a snapshot is loaded
  bool isBroken_ = false;           // a piece could not be loaded
  TablesListener* listener_ = nullptr;
  uint64_t secret_ = 0;
  double now_ = 0;
  Streams streams_;
  uint64_t batchCount_ = 0;   // batches that samplers ever asked for
  ItemReader reader_;
  // Of the message that is being read.
  Queue<Change> changes_;
  Queue<uint64_t> deletes_;
};

}  // namespace exrp
