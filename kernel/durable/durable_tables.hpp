// DurableTables: writes what happens to a set of tables into a log, so that a process that was killed finds it again (tables_recovery.hpp).
//
// Each change is a frame. A chunk is written once, before the first item that needs it; a chunk that no item has needed is not in the log. What waits, and the
// streams of clients, are not either. The log is a stream without gaps, so what is found after a crash is what the tables were at some moment.
//
// A checkpoint says now and then what the tables are, but for the bytes of chunks: it says where these are. Chunks of segments that hold little else than what
// has gone are written again first. Then older segments can go. A checkpoint is written piece by piece, with the changes that follow.
//
// Where the disk fails, the tables go on in memory (durable_log.hpp). Then no item is taken, unless `goesOn`.
//
// Thread safety: that of the set. waitFlushed() may come from any thread, while the object is there.
// Invariants:
//   1. The log has all changes since it was opened, or it has failed.
//   2. Each chunk of an item has a place in the log.
// Cost: some 20 ns a change, and a copy of the bytes of a new chunk. A checkpoint stops the caller while 32 bytes an item are copied, what the
// selectors know, and up to 64 MiB of chunks that are written again. Its other parts are written piece by piece.
#pragma once

#include <memory>

#include "kernel/durable/durable_log.hpp"
#include "kernel/durable/tables_format.hpp"
#include "kernel/tables/tables.hpp"

namespace exrp {

class DurableTables final : public DurableLog, public TablesListener {
 public:
  explicit DurableTables(Tables& tables) : tables_(tables) {}
  ~DurableTables() override { close(); }

  /// Begins a log for empty tables. Status::log where the folder has one.
  Status create(const DurableOptions& options);
  /// Hears of nothing more, and writes nothing more.
  void abandon();
  /// Flushes, and hears of nothing more. What had failed stays failed, and is told.
  Status close();

  /// Writes the caller's state, where it has changed.
  Status setState(const uint8_t* state, uint32_t bytes);

  // ---- changes ----

  Status mayInsert() const override { return mayTake(); }
  bool mayBe(const Queue<Chunk*>& chunks, size_t trajectoryBytes) const override;
  void inserting(ItemTable& table, const WaitingItem& item, double now) override;
  void removing(const ItemTable& table, uint32_t index) override;
  void settingPriority(const ItemTable& table, uint32_t index, double priority, double own) override;
  void resetting(const ItemTable& table) override;
  void settingRateLimiter(const ItemTable& table, const double* numbers) override;
  void drawn(const ItemTable& table, uint32_t count, uint64_t batch) override;
  void endingBatch(const ItemTable& table) override;
  void settled() override;
  double memoryBytes() const override;

 private:
  friend class TablesRecovery;

  void begin() { tables_.setListener(this); }
  void failed() override { dropCheckpoint(); }
  bool writeChunk(Chunk* chunk);
  LoggedChunk loggedChunk(const Chunk* chunk) const;
  uint8_t* writeItem(uint8_t* to, const LoggedItem& head, const ItemBody& body) const;
  bool rewriteSparse();
  void beginCheckpoint();
  void pumpCheckpoint(uint64_t budget);
  bool writeTable(const SavedTable& saved, const ItemTable& table);
  uint64_t writeItems(const SavedTable& saved, ItemTable& table);
  void dropCheckpoint();

  Tables& tables_;
  /// Those from table_ on, and of that one the items from item_ on: what was written is let go.
  std::unique_ptr<SavedTable> saved_[EXRP_LIMIT_TABLES];
  uint32_t table_ = 0;
  uint32_t item_ = 0;
  bool isTableOpen_ = false;
};

}  // namespace exrp
