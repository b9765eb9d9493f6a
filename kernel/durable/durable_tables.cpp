#include "kernel/durable/durable_tables.hpp"

#include <cstring>
#include <new>

#include "kernel/base/padded.hpp"
#include "kernel/log/compaction.hpp"

namespace exrp {
namespace {

constexpr uint32_t pieceBytes = 1 << 16;  // of a checkpoint's frame of items

size_t itemBytes(const ItemBody& body) { return sizeof(LoggedItem) + body.chunkCount * sizeof(LoggedChunk) + body.trajectoryBytes; }

}  // namespace

// ---- beginning and ending ----

Status DurableTables::create(const DurableOptions& options) {
  if (!tables_.store().keepPlaces()) return exrp::fail(Status::order);
  options_ = options;
  const Status status = createLog();
  if (status == Status::ok) begin();
  return status;
}

Status DurableTables::close() {
  tables_.setListener(nullptr);
  const Status status = log_.isOpen() ? closeLog() : Status::ok;
  dropCheckpoint();
  return status;
}

void DurableTables::abandon() {
  tables_.setListener(nullptr);
  dropCheckpoint();
  abandonLog();
}

double DurableTables::memoryBytes() const {
  double bytes = sizeof(*this) + state_.memoryBytes();
  for (const std::unique_ptr<SavedTable>& saved : saved_) {
    if (saved == nullptr) continue;
    bytes += sizeof *saved + saved->rows.memoryBytes() + saved->own.memoryBytes() + saved->sampler.memoryBytes() + saved->remover.memoryBytes();
  }
  return bytes;
}

// ---- changes ----

bool DurableTables::mayBe(const Queue<Chunk*>& chunks, size_t trajectoryBytes) const {
  for (size_t k = 0; k < chunks.count(); ++k) {
    if (chunks[k]->bytes > frameBytesMax) return false;
  }
  // So that a frame of a checkpoint has room for it, too.
  return sizeof(LoggedItem) + chunks.count() * sizeof(LoggedChunk) + trajectoryBytes <= frameBytesMax - (1 << 16);
}

bool DurableTables::writeChunk(Chunk* chunk) {
  LogPlace place;
  if (!append(chunkFrame, {{chunk->data(), chunk->bytes}}, &place)) return false;
  if (!tables_.store().prepareSegment(place.segment)) return fail(LogStatus::memory), false;
  tables_.store().setLogged(chunk, place.position());
  return true;
}

LoggedChunk DurableTables::loggedChunk(const Chunk* chunk) const {
  const LogPosition place = tables_.store().logged(chunk);
  return {tables_.store().episodeId(chunk->episode), place.segment, place.offset, chunk->bytes, 0};
}

/// Writes an item, and returns its end.
uint8_t* DurableTables::writeItem(uint8_t* to, const LoggedItem& head, const ItemBody& body) const {
  memcpy(to, &head, sizeof head);
  to += sizeof head;
  for (uint32_t k = 0; k < body.chunkCount; ++k, to += sizeof(LoggedChunk)) {
    const LoggedChunk chunk = loggedChunk(body.chunks()[k]);
    memcpy(to, &chunk, sizeof chunk);
  }
  memcpy(to, body.trajectory(), body.trajectoryBytes);
  return to + body.trajectoryBytes;
}

void DurableTables::inserting(ItemTable& table, const WaitingItem& item, double now) {
  if (hasFailed_) return;
  const uint32_t known = table.find(item.key);
  if (known != KeyMap::none) return settingPriority(table, known, item.priority, item.removerPriority);
  const ItemBody& body = *item.body;
  for (uint32_t k = 0; k < body.chunkCount; ++k) {
    Chunk* const chunk = body.chunks()[k];
    if (tables_.store().logged(chunk).segment == 0 && !writeChunk(chunk)) return;
  }
  const LoggedItem head = {item.key, item.priority, item.removerPriority, now, table.number(), 0, body.chunkCount, body.trajectoryBytes};
  appendWritten(insertFrame, itemBytes(body), [&](uint8_t* payload) { writeItem(payload, head, body); });
}

void DurableTables::removing(const ItemTable& table, uint32_t index) {
  const ItemChange change = {table.number(), index, 0, 0};
  append(removeFrame, {{&change, sizeof change}});
}

void DurableTables::settingPriority(const ItemTable& table, uint32_t index, double priority, double own) {
  const ItemChange change = {table.number(), index, priority, own};
  append(priorityFrame, {{&change, sizeof change}});
}

void DurableTables::resetting(const ItemTable& table) {
  const ItemChange change = {table.number(), 0, 0, 0};
  append(resetFrame, {{&change, sizeof change}});
}

void DurableTables::settingRateLimiter(const ItemTable& table, const double* numbers) {
  LoggedRateLimiter change = {table.number(), {}};
  memcpy(change.numbers, numbers, sizeof change.numbers);
  append(rateLimiterFrame, {{&change, sizeof change}});
}

void DurableTables::drawn(const ItemTable& table, uint32_t count, uint64_t batch) {
  const LoggedDraw draw = {table.number(), count, batch};
  append(drawFrame, {{&draw, sizeof draw}});
}

void DurableTables::endingBatch(const ItemTable& table) {
  const LoggedDraw draw = {table.number(), 0, table.batch()};
  append(batchEndFrame, {{&draw, sizeof draw}});
}

Status DurableTables::setState(const uint8_t* state, uint32_t bytes) {
  noteFailure();
  if (!isState(state, bytes) && append(stateFrame, {{state, bytes}}) && !keepState(state, bytes)) fail(LogStatus::memory);
  settled();
  return hasFailed_ ? failure() : Status::ok;
}

void DurableTables::settled() {
  noteFailure();
  if (hasFailed_) return;
  // While the disk is behind, a checkpoint waits, and not the caller.
  if (checkpoint_ == Checkpoint::writing && log_.counts().queuedBytes > options_.log.queueBytes / 4) return;
  if (checkpoint_ != Checkpoint::none) return pumpCheckpoint(pieceBytes);
  if (wantsCheckpoint()) beginCheckpoint();
}

// ---- checkpoints ----

/// Writes the chunks of the oldest segments again, if that lets them go. False where the log has failed.
bool DurableTables::rewriteSparse() {
  LogSegments segments;
  if (log_.segments(&segments) != LogStatus::ok) return true;
  ChunkStore& store = tables_.store();
  const auto needed = [&](size_t at) { return store.loggedBytes(segments.segments[at].segment); };
  const uint32_t emptied = sparseFrontOf(segments, rewrittenMax, options_.log.segmentBytes, options_.log.leastBytes(), needed);
  if (emptied == 0) return true;
  for (uint32_t number = 0; number < tables_.tableCount(); ++number) {
    const ItemTable& table = *tables_.findTable(number);
    for (uint32_t index = 0; index < table.size(); ++index) {
      const ItemBody& body = table.body(index);
      for (uint32_t k = 0; k < body.chunkCount; ++k) {
        Chunk* const chunk = body.chunks()[k];
        const LogPosition before = store.logged(chunk);
        if (before.segment == 0 || before.segment >= emptied) continue;
        if (!writeChunk(chunk)) return false;
        const LogPosition after = store.logged(chunk);
        const ChunkMove move = {before.segment, before.offset, after.segment, after.offset};
        if (!append(movedFrame, {{&move, sizeof move}})) return false;
      }
    }
  }
  return true;
}

/// Keeps the moment.
void DurableTables::beginCheckpoint() {
  if (!rewriteSparse()) return;
  for (uint32_t number = 0; number < tables_.tableCount(); ++number) {
    ItemTable& table = *tables_.findTable(number);
    // What a sampler knows of a batch is not saved, so none is under way.
    endingBatch(table);
    table.endBatch(table.batch());
    saved_[number].reset(new (std::nothrow) SavedTable);
    if (!hasFailed_ && saved_[number] != nullptr && table.save(saved_[number].get())) continue;
    saved_[number].reset();
    dropCheckpoint();
    writtenBytes_ = 0;  // tries again later
    return;
  }
  const TablesCheckpointHead head = {tablesVersion, tables_.tableCount()};
  LogPlace place;
  if (!append(checkpointFrame, {{&head, sizeof head}, {state(), stateBytes()}}, &place)) return;
  uint32_t needed = 1;
  while (needed < place.segment && tables_.store().loggedBytes(needed) == 0) ++needed;
  beginCheckpointAt(place.position(), needed);
}

bool DurableTables::writeTable(const SavedTable& saved, const ItemTable& table) {
  const RateCounts& rate = saved.counts.rate;
  LoggedTable head = {table.number(), saved.size, rate.inserts, rate.samples, rate.deletes, saved.counts.uniqueSamples, saved.counts.episodesDeleted,
                      saved.batch, {}, table.sampler().headerBytes(), table.remover().headerBytes()};
  memcpy(head.rateLimiter, saved.rateLimiter, sizeof head.rateLimiter);
  return append(tableFrame, {{&head, sizeof head}, {saved.sampler.data(), head.samplerBytes}, {saved.remover.data(), head.removerBytes}});
}

/// Writes a frame of items, and returns its bytes.
uint64_t DurableTables::writeItems(const SavedTable& saved, ItemTable& table) {
  const PickSelector& sampler = table.sampler();
  const PickSelector& remover = table.remover();
  const auto bytesAt = [&](uint32_t index) {
    return padded(itemBytes(*saved.rows[index].body)) + padded(size_t{sampler.itemBytes()} + remover.itemBytes());
  };
  size_t bytes = bytesAt(item_);
  uint32_t end = item_ + 1;
  for (; end < saved.size && bytes + bytesAt(end) <= pieceBytes; ++end) bytes += bytesAt(end);
  uint8_t* payload = beginFrame(bytes);
  if (payload == nullptr) return 0;
  memset(payload, 0, bytes);
  for (; item_ < end; ++item_) {
    const ItemRow& row = saved.rows[item_];
    const double own = saved.own.committed() > 0 ? saved.own[item_] : NAN;
    const ItemBody& body = *row.body;
    writeItem(payload, {row.key, row.priority, own, body.insertedAt, table.number(), row.timesSampled, body.chunkCount, body.trajectoryBytes}, body);
    payload += padded(itemBytes(body));
    memcpy(payload, saved.sampler.data() + sampler.headerBytes() + size_t{item_} * sampler.itemBytes(), sampler.itemBytes());
    memcpy(payload + sampler.itemBytes(), saved.remover.data() + remover.headerBytes() + size_t{item_} * remover.itemBytes(), remover.itemBytes());
    payload += padded(size_t{sampler.itemBytes()} + remover.itemBytes());
    table.release(row.body);
  }
  return endFrame(itemsFrame, static_cast<uint32_t>(bytes)) ? bytes : 0;
}

/// Writes so much of the checkpoint that is under way, or finishes it once it is on the disk.
void DurableTables::pumpCheckpoint(uint64_t budget) {
  if (checkpoint_ == Checkpoint::flushing) return finishFlushed();
  uint64_t written = 0;
  while (!hasFailed_ && written < budget && table_ < tables_.tableCount()) {
    const SavedTable& saved = *saved_[table_];
    ItemTable& table = *tables_.findTable(table_);
    if (!isTableOpen_) {
      if (!writeTable(saved, table)) return;
      isTableOpen_ = true;
    }
    if (item_ < saved.size) {
      written += writeItems(saved, table);
      continue;
    }
    saved_[table_++].reset();
    item_ = 0;
    isTableOpen_ = false;
  }
  checkpointSize_ += written;
  if (hasFailed_ || table_ < tables_.tableCount()) return;
  table_ = 0;
  endCheckpoint();
}

/// Lets go what is kept for a checkpoint.
void DurableTables::dropCheckpoint() {
  for (uint32_t number = table_; number < EXRP_LIMIT_TABLES; ++number) {
    if (saved_[number] == nullptr) continue;
    for (uint32_t k = number == table_ ? item_ : 0; k < saved_[number]->size; ++k) tables_.findTable(number)->release(saved_[number]->rows[k].body);
    saved_[number].reset();
  }
  table_ = item_ = 0;
  isTableOpen_ = false;
  checkpoint_ = Checkpoint::none;
}

}  // namespace exrp
