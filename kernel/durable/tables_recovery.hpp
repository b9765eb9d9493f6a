// TablesRecovery: makes a set of tables from its log, as it was when the log ended.
//
// It loads the newest checkpoint, and makes each change again. Chunks have no bytes until then: no change depends on these. In the end it reads those of the
// chunks that are left. Items whose chunks are damaged are removed.
//
// Thread safety: none: nobody else has the tables yet.
// Cost: reads the log from the checkpoint on, and all chunks that are left. It takes the memory of all chunks that are named behind the checkpoint.
#pragma once

#include "kernel/durable/durable_tables.hpp"
#include "kernel/durable/payload.hpp"
#include "kernel/durable/recovery.hpp"

namespace exrp {

class TablesRecovery final : private LogVisitor {
 public:
  /// The tables were just made.
  explicit TablesRecovery(DurableTables& durable)
      : durable_(durable), tables_(durable.tables_), chunkOf_(0) {}
  ~TablesRecovery() override;
  TablesRecovery(const TablesRecovery&) = delete;
  TablesRecovery& operator=(const TablesRecovery&) = delete;

  /// Opens the log of the folder, and goes on with it. `groupCount` of the report counts changes, and `lostBlocks` items.
  Status open(const DurableOptions& options, RecoveryReport* report);

 private:
  /// A place of the log, and the chunk that is there.
  struct Known {
    LogPosition place;
    Chunk* chunk;  // with one reference more; null: it was written again at another place
  };
  struct KeptFrame {
    uint32_t type;
    uint32_t bytes;
    size_t at;  // in bytes_
  };

  bool frame(const LogFrame& frame) override;
  bool damage(const LogDamage& damage) override;

  bool apply(uint32_t type, const uint8_t* payload, uint32_t bytes);
  bool keep(const LogFrame& frame);
  bool beginCheckpoint(Payload from);
  bool loadTable(Payload from);
  bool loadItems(Payload from);
  bool endCheckpoint();
  bool giveState(Payload from);
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
  Status readChunks(RecoveryReport* report);
  Status removeLost(RecoveryReport* report);
  bool noMemory(double bytes);

  DurableTables& durable_;
  Tables& tables_;
  Status status_ = Status::ok;  // why the scan was ended
  uint64_t checkpointBytes_ = 0;
  uint64_t writtenBytes_ = 0;  // since it began
  RecoveryReport* report_ = nullptr;
  LogPosition from_;
  uint32_t firstSegment_ = 1;
  size_t segmentCount_ = 0;
  bool isLoading_ = false;  // a checkpoint, whose end has not come
  bool isBegun_ = false;
  uint64_t begun_ = 0;  // a bit for each table of the checkpoint that came
  uint64_t changeCount_ = 0;
  uint64_t batchCount_ = 0;
  double now_ = 0;
  Scratch<KeptFrame> frames_;  // changes that came between the pieces of the checkpoint
  size_t frameCount_ = 0;
  Scratch<uint8_t> bytes_;
  size_t byteCount_ = 0;
  KeyMap chunkOf_;  // by place
  Queue<Known> known_;
  Queue<Chunk*> chunks_;       // of an item
  Queue<DrawnSample> drawn_;
};

}  // namespace exrp
