// ItemTable: one table: its items, the sampler that chooses which to draw, the remover that chooses which goes, and the rate limiter.
//
// Items stand in a dense array, and to both selectors they are the picks of its indices. An item's body holds what never changes: when it
// was inserted, its trajectory as it came, and the chunks that the trajectory names. Samples that were drawn and not yet sent also refer
// to bodies, so that an item may go in the meantime.
//
// Semantics are those of Reverb 0.14.0 (docs/reverb.md has the differences): a key that the table has is only a change of priority; an item is
// inserted first, and then the remover chooses, so that it may be the one that goes; an item goes at its last allowed sample.
//
// Unlike in Reverb, an item may have a priority of its own for the remover. It keeps that until it is given another one, and changes of its priority
// do not reach the remover. An item without one has the same priority for both.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Each key is in the map with its index.
//   2. Counts of chunks, bytes and episodes are those of the items; inserts - deletes of the rate limiter is the count of items.
//   3. Those of the selectors: 100 + the sampler's, 200 + the remover's.
//   4. The largest priority, where it is known, is the largest.
//   5. A priority of an item's own for the remover is finite and not negative, or NaN: there is none.
//   6. Samples were returned only where items go by being sampled, and none while a sampler waits.
// Cost: some cache misses and the selectors' costs. Memory: 32 bytes an item (24 in WebAssembly), 11 to 21 in the map, the selectors', and a body
// of 24 bytes, 8 for each chunk, and the trajectory. 8 bytes an item more, once one came with a priority of its own for the remover.
// It checks no argument; and where prepare() has taken the memory, nothing fails.
#pragma once

#include <cmath>
#include <memory>

#include "kernel/base/queue.hpp"
#include "kernel/base/rate_limiter.hpp"
#include "kernel/rules/pick_selector.hpp"
#include "kernel/tables/chunk_store.hpp"
#include "kernel/tables/insert_line.hpp"
#include "kernel/tables/largest_priority.hpp"

namespace exrp {

/// What never changes of an item.
struct ItemBody {
  double insertedAt;  // milliseconds since 1970
  uint32_t references;
  uint32_t slab;
  uint32_t chunkCount;
  uint32_t trajectoryBytes;
  // Then the chunks, and the bytes of the trajectory.

  Chunk** chunks() { return reinterpret_cast<Chunk**>(this + 1); }
  Chunk* const* chunks() const { return reinterpret_cast<Chunk* const*>(this + 1); }
  uint8_t* trajectory() { return reinterpret_cast<uint8_t*>(chunks() + chunkCount); }
  const uint8_t* trajectory() const { return reinterpret_cast<const uint8_t*>(chunks() + chunkCount); }
};

/// An item in its table.
struct ItemRow {
  uint64_t key;
  double priority;
  ItemBody* body;
  uint32_t timesSampled;
};

/// A sample that was drawn, and is to be sent.
struct DrawnSample {
  ItemRow item;
  double probability;
  uint32_t tableSize;
  bool isLimited;
};

/// What a table counts, since the last reset.
struct TableCounts {
  RateCounts rate;
  uint64_t uniqueSamples;
  uint64_t episodesDeleted;
};

struct SavedTable;

/// A body with one reference, which refers to these chunks; null for want of memory.
ItemBody* newBody(ChunkStore& store, Queue<Chunk*>& chunks, ByteSpan trajectory);

/// The numbers that a table is made with.
struct TableConfig {
  uint32_t maxSize;
  uint64_t maxBytes;         // 0: no limit
  uint32_t maxTimesSampled;  // 0: no limit
};

class ItemTable {
 public:
  ItemTable(uint32_t number, uint64_t secret, ChunkStore& store) : number_(number), store_(store), indexOf_(secret) {}
  ~ItemTable();
  /// `rules` are the numbers that the two selectors were made with.
  Status create(const TableConfig& config, std::unique_ptr<PickSelector> sampler, std::unique_ptr<PickSelector> remover, ByteSpan rules);

  /// Takes the memory for `more` items beside those that are there and that wait. False for want of memory.
  bool prepare(size_t more);
  /// Takes the memory for priorities of their own for the remover, of all items for which prepare() took it. False for want of memory.
  bool prepareOwn();
  /// Inserts an item, or sets the priority of the one that has this key. Takes the body over.
  void insert(const WaitingItem& item, double now);
  /// Draws `count` >= 1 samples at once, at most drawMax(), into a queue that has room for them. The table is not empty. `batch` is a number of
  /// the batch that they are for.
  Status draw(uint32_t count, uint64_t batch, bool isLimited, Queue<DrawnSample>& drawn);
  /// No more is drawn for a batch. So what is saved says nothing of it, and what is loaded draws on as this does.
  void endBatch(uint64_t batch) {
    if (batch == batch_) sampler_->beginBatch();
  }
  /// The number of the batch that was drawn for last.
  uint64_t batch() const { return batch_; }
  /// Of a table that was just loaded.
  void setBatch(uint64_t batch) { batch_ = batch; }
  /// Whether `count` >= 1 samples would be drawn now, whichever items they are, by one who asks. O(1), but where `count` is larger than the number
  /// of items that may go, and an item may be sampled several times: then some passes through the items.
  bool maySample(uint32_t count) const;
  /// How many samples draw() may draw at once, of `wanted` >= 1.
  uint32_t drawMax(uint32_t wanted) const;
  uint32_t find(uint64_t key) const {
    return indexOf_.find(key, [this](uint32_t index) { return rows_[index].key; });
  }
  /// `own` is the item's own priority for the remover from now on, which prepareOwn() has made room for; NaN: as it was.
  void setPriority(uint32_t index, double priority, double own);
  void removeAt(uint32_t index);
  void reset();

  /// Gives a reference to a body back.
  void release(ItemBody* body);
  /// Whether the chunks of a body alone are more than the table may have.
  uint64_t bytesOf(const ItemBody* body) const;

  /// Copies what may change, and keeps each body once more. False for want of memory: nothing has changed then.
  bool save(SavedTable* saved);
  /// Loads an empty table: first its counts, the headers of its selectors where they were saved, then its items in order, then the end.
  void loadCounts(const TableCounts& counts);
  Status loadRules(ByteSpan sampler, ByteSpan remover);
  /// Takes the body over, where it succeeds. prepare() has made room for the item, prepareOwn() for a priority of its own, and its key is not there.
  Status loadItem(const ItemRow& row, double own, ByteSpan sampler, ByteSpan remover);
  /// The same where selectors know nothing of it: as if it came now, but that nothing is removed.
  void restoreItem(const ItemRow& row, double own);
  Status loadEnd(bool hasRules);
  const PickSelector& sampler() const { return *sampler_; }
  const PickSelector& remover() const { return *remover_; }
  ByteSpan rules() const { return {rules_.data(), rulesBytes_}; }

  uint32_t size() const { return size_; }
  const ItemBody& body(uint32_t index) const { return *rows_[index].body; }
  const TableConfig& config() const { return config_; }
  uint32_t number() const { return number_; }
  RateLimiter& rateLimiter() { return rateLimiter_; }
  const RateLimiter& rateLimiter() const { return rateLimiter_; }
  /// The items that wait to be inserted.
  InsertLine& inserts() { return inserts_; }
  /// Samples whose items may have gone by them, and which nobody got: the next that asks gets them first, without another draw.
  Queue<DrawnSample>& returned() { return returned_; }
  /// The samplers that wait, in order.
  Queue<uint32_t>& line() { return line_; }
  /// How many items may wait before clients should be paused, as in Reverb.
  size_t waitingMax() const;

  ByteSpan name() const { return {name_.data(), nameBytes_}; }
  bool setName(ByteSpan name);

  void info(double* info) const;
  void items(uint32_t first, uint32_t count, uint8_t* keys, double* numbers) const;
  double memoryBytes() const;
  int32_t check() const;

 private:
  void push(const WaitingItem& item);
  bool hasOwn(uint32_t index) const { return keepsOwn_ && !std::isnan(own_[index]); }
  double removerPriority(uint32_t index) const { return hasOwn(index) ? own_[index] : rows_[index].priority; }
  void useChunks(ItemBody& body);
  void disuseChunks(ItemBody& body);
  void removeOne();
  uint64_t drawsToRemove(uint32_t count) const;

  const uint32_t number_;
  ChunkStore& store_;
  ChunkUse used_ = {};
  TableConfig config_ = {};
  RateLimiter rateLimiter_;
  std::unique_ptr<PickSelector> sampler_;
  std::unique_ptr<PickSelector> remover_;
  ReservedArray<ItemRow> rows_;
  ReservedArray<double> own_;  // by index, where keepsOwn_
  bool keepsOwn_ = false;      // an item came with a priority of its own for the remover
  KeyMap indexOf_;
  uint32_t size_ = 0;
  uint32_t sizeMax_ = 0;  // most items that there ever were
  uint64_t uniqueSamples_ = 0;
  uint64_t batch_ = 0;  // that of the last draw
  mutable LargestPriority priorityMax_;
  InsertLine inserts_;
  Queue<uint32_t> line_;
  Queue<DrawnSample> returned_;
  Scratch<uint32_t> drawnIndex_;
  Scratch<double> drawnProbability_;
  Scratch<uint8_t> name_;
  size_t nameBytes_ = 0;
  Scratch<uint8_t> rules_;
  size_t rulesBytes_ = 0;
};

constexpr uint32_t noTable = 0xffffffffu;
/// The number of the table of this name, or noTable.
inline uint32_t findTable(const std::unique_ptr<ItemTable>* tables, uint32_t count, ByteSpan name) {
  for (uint32_t number = 0; number < count; ++number) {
    if (tables[number]->name() == name) return number;
  }
  return noTable;
}

}  // namespace exrp
