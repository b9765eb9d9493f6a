// TablesRecovery: makes a set of tables from its log, as it was when the log ended.
//
// It loads the newest checkpoint, and makes each change again. Chunks have no bytes until then: no change depends on these. In the end it reads those of the
// chunks that are left. Items whose chunks are damaged are removed.
//
// Thread safety: none: nobody else has the tables yet.
// Cost: reads the log from the checkpoint on, and all chunks that are left. It takes the memory of all chunks that are named behind the checkpoint.
#pragma once

#include "kernel/durable/durable_tables.hpp"
#include "kernel/durable/log_recovery.hpp"

namespace exrp {

class TablesRecovery final : private LogRecovery {
 public:
  /// The tables were just made.
  explicit TablesRecovery(DurableTables& durable)
      : LogRecovery(durable), durable_(durable), tables_(durable.tables_), chunkOf_(0) {}
  ~TablesRecovery() override;
  TablesRecovery(const TablesRecovery&) = delete;
  TablesRecovery& operator=(const TablesRecovery&) = delete;

  /// Opens the log of the folder, and goes on with it.
  Status open(const DurableOptions& options, RecoveryReport* report);

 private:
  /// A place of the log, and the chunk that is there.
  struct Known {
    LogPosition place;
    Chunk* chunk;  // with one reference more; null: it was written again at another place
  };
  bool take(const LogFrame& frame) override;
  bool mayLack(uint32_t type) const override { return type == chunkFrame; }
  bool isOfCheckpoint(uint32_t type) const override { return type == checkpointFrame || type == tableFrame || type == itemsFrame; }

  bool apply(uint32_t type, const uint8_t* payload, uint32_t bytes);
  bool beginCheckpoint(Payload from);
  bool loadTable(Payload from);
  bool loadItems(Payload from);
  bool endCheckpoint();
  bool readItem(Payload& from, LoggedItem* head, ItemBody** body);
  uint32_t findPlace(LogPosition place) const {
    return chunkOf_.find(place.packed(), [this](uint32_t number) { return known_[number].place.packed(); });
  }
  Chunk* chunkOf(const LoggedChunk& logged);
  bool addPlace(LogPosition place, Chunk* chunk);
  bool insert(Payload from);
  bool change(uint32_t type, Payload from);
  bool draw(uint32_t type, Payload from);
  bool setRateLimiter(Payload from);
  bool move(Payload from);
  Status readChunks();
  Status removeLost();

  DurableTables& durable_;
  Tables& tables_;
  uint32_t firstSegment_ = 1;
  size_t segmentCount_ = 0;
  bool isBegun_ = false;
  uint64_t begun_ = 0;  // a bit for each table of the checkpoint that came
  uint64_t changeCount_ = 0;
  uint64_t batchCount_ = 0;
  double now_ = 0;
  KeyMap chunkOf_;  // by place
  Queue<Known> known_;
  Queue<Chunk*> chunks_;       // of an item
  Queue<DrawnSample> drawn_;
};

}  // namespace exrp
