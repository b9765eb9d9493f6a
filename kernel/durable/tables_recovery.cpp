#include "kernel/durable/tables_recovery.hpp"

#include <cstring>

#include "kernel/base/priority.hpp"

namespace exrp {
namespace {

constexpr uint32_t drawnMax = 1 << 16;  // far more than any table draws at once

/// A priority for the remover, or none.
bool isOwn(double value) { return std::isnan(value) || isPriority(value); }

}  // namespace

TablesRecovery::~TablesRecovery() {
  for (size_t k = 0; k < known_.count(); ++k) {
    if (known_[k].chunk != nullptr) tables_.store().release(known_[k].chunk);
  }
}

// ---- reading the log ----

Status TablesRecovery::open(const DurableOptions& options, RecoveryReport* report) {
  if (!tables_.store().keepPlaces()) return fail(Status::order);
  durable_.options_ = options;
  Status status = find(report);
  if (status != Status::ok) return status;
  // After a crash, some of those that nothing needs may be there still: what is needed stands at the end, without a gap.
  const auto numberAt = [this](size_t back) { return segments_.segments[segments_.count - 1 - back].segment; };
  while (segmentCount_ < segments_.count && numberAt(segmentCount_) + segmentCount_ == numberAt(0)) ++segmentCount_;
  firstSegment_ = segmentCount_ == 0 ? 1 : numberAt(segmentCount_ - 1);
  tables_.store().beginSegments(firstSegment_);
  status = readLog(options);
  if (status == Status::ok) status = readChunks();
  if (status == Status::ok) {
    tables_.goOnFrom(now_, batchCount_);
    countRead();
    durable_.begin();
    status = removeLost();
  }
  // Tables that are not whole write nothing.
  if (status != Status::ok) durable_.abandon();
  report->groupCount = changeCount_;
  report->stateBytes = durable_.stateBytes();
  return status;
}

bool TablesRecovery::take(const LogFrame& frame) {
  const Payload from(frame.payload, frame.place.bytes);
  switch (frame.type) {
    case chunkFrame: return true;  // those that are left are read in the end
    // Only the one that the scan begins with is loaded: later ones were not finished.
    case checkpointFrame: return !isLoading_ || isBegun_ || (frame.place.position() == from_ && beginCheckpoint(from));
    case tableFrame: return !isLoading_ || loadTable(from);
    case itemsFrame: return !isLoading_ || loadItems(from);
    case checkpointEndFrame: return !isLoading_ || endCheckpoint();
    default: return isLoading_ ? keepFrame(frame) : apply(frame.type, frame.payload, frame.place.bytes);
  }
}

bool TablesRecovery::apply(uint32_t type, const uint8_t* payload, uint32_t bytes) {
  ++changeCount_;
  const Payload from(payload, bytes);
  switch (type) {
    case insertFrame: return insert(from);
    case removeFrame:
    case priorityFrame:
    case resetFrame: return change(type, from);
    case drawFrame:
    case batchEndFrame: return draw(type, from);
    case rateLimiterFrame: return setRateLimiter(from);
    case stateFrame: return giveState(payload, bytes);
    case movedFrame: return move(from);
    default: return false;
  }
}

// ---- the checkpoint ----

bool TablesRecovery::beginCheckpoint(Payload from) {
  isBegun_ = true;
  ++changeCount_;
  TablesCheckpointHead head = {};
  if (!from.head(&head)) return false;
  if (head.version != tablesVersion) {
    status_ = fail(Status::log, static_cast<double>(LogStatus::version), head.version);
    return false;
  }
  const auto stateBytes = static_cast<uint32_t>(from.left());
  return head.tableCount == tables_.tableCount() && giveState(from.take(stateBytes), stateBytes);
}

bool TablesRecovery::loadTable(Payload from) {
  LoggedTable head = {};
  if (!from.head(&head)) return false;
  ItemTable* const table = tables_.findTable(head.table);
  const uint8_t* const sampler = from.take(head.samplerBytes);
  const uint8_t* const remover = from.take(head.removerBytes);
  if (table == nullptr || sampler == nullptr || remover == nullptr || from.left() != 0 || (begun_ >> head.table & 1) != 0) return false;
  constexpr int64_t countMax = int64_t{1} << 53;
  const bool isPossible = head.inserts >= 0 && head.inserts <= countMax && head.deletes >= 0 && head.deletes <= head.inserts && head.samples >= 0 &&
                          head.samples <= countMax && head.inserts - head.deletes == int64_t{head.size} && head.size <= table->config().maxSize;
  if (!isPossible || table->rateLimiter().set(head.rateLimiter, 3, 0) != Status::ok) return false;
  begun_ |= uint64_t{1} << head.table;
  table->loadCounts({{head.inserts, head.samples, head.deletes}, head.uniqueSamples, head.episodesDeleted});
  table->setBatch(head.batch);
  if (head.batch > batchCount_) batchCount_ = head.batch;
  const Status status = table->loadRules({sampler, head.samplerBytes}, {remover, head.removerBytes});
  if (status == Status::memory) status_ = status;
  return status == Status::ok;
}

bool TablesRecovery::loadItems(Payload from) {
  while (from.left() > 0) {
    LoggedItem head = {};
    ItemBody* body = nullptr;
    if (!readItem(from, &head, &body)) return false;
    ItemTable& table = *tables_.findTable(head.table);
    const size_t samplerBytes = table.sampler().itemBytes();
    const size_t removerBytes = table.remover().itemBytes();
    from.take((8 - head.trajectoryBytes % 8) % 8);
    const uint8_t* const rules = from.take(padded(uint64_t{samplerBytes} + removerBytes));
    const bool isRight = rules != nullptr && (begun_ >> head.table & 1) != 0 && int64_t{table.size()} < table.rateLimiter().counts().stored();
    const Status status = !isRight ? Status::dataCorrupt
                                   : table.loadItem({head.key, head.priority, body, head.timesSampled}, head.own, {rules, samplerBytes},
                                                    {rules + samplerBytes, removerBytes});
    if (status == Status::ok) continue;
    table.release(body);
    if (status == Status::memory) status_ = status;
    return false;
  }
  return true;
}

bool TablesRecovery::endCheckpoint() {
  for (uint32_t number = 0; number < tables_.tableCount(); ++number) {
    ItemTable& table = *tables_.findTable(number);
    if ((begun_ >> number & 1) == 0 || int64_t{table.size()} != table.rateLimiter().counts().stored() || table.loadEnd(true) != Status::ok) return false;
  }
  isLoading_ = false;
  for (size_t k = 0; k < frameCount_; ++k) {
    if (!apply(frames_[k].type, bytes_.data() + frames_[k].at, frames_[k].place.bytes)) return false;
  }
  frameCount_ = byteCount_ = 0;
  return true;
}

// ---- chunks and items ----

/// Makes room for one place more, and adds a chunk that has a reference for it.
bool TablesRecovery::addPlace(LogPosition place, Chunk* chunk) {
  if (!known_.prepare(1) || !chunkOf_.prepare(chunkOf_.count() + 1)) return noMemory(known_.memoryBytes());
  // What is no segment of this folder any more has no chunk either: it is lost.
  const bool isThere = place.segment >= firstSegment_;
  if (isThere && !tables_.store().prepareSegment(place.segment)) return noMemory(8.0 * static_cast<double>(segmentCount_));
  tables_.store().setLogged(chunk, isThere ? place : LogPosition{});
  chunkOf_.add(place.packed(), static_cast<uint32_t>(known_.count()));
  known_.push({place, chunk});
  return true;
}

/// The chunk of a place, which has no bytes yet. Null for want of memory, and where there can be none.
Chunk* TablesRecovery::chunkOf(const LoggedChunk& logged) {
  const LogPosition place = {logged.segment, logged.offset};
  if (const uint32_t number = findPlace(place); number != KeyMap::none) {
    Chunk* const chunk = known_[number].chunk;
    return chunk != nullptr && chunk->bytes == logged.bytes ? chunk : nullptr;
  }
  const bool isPossible = place.segment != 0 && (place.segment < firstSegment_ || place.segment - firstSegment_ < segmentCount_) &&
                          place.offset % 8 == 0 && logged.bytes <= frameBytesMax;
  if (!isPossible) return nullptr;
  Chunk* const chunk = tables_.store().addUnwritten(logged.bytes, logged.episode);
  if (chunk == nullptr) return noMemory(logged.bytes), nullptr;
  if (!addPlace(place, chunk)) return tables_.store().release(chunk), nullptr;
  return chunk;
}

/// Reads an item, checks it, and takes all memory for it in its table.
bool TablesRecovery::readItem(Payload& from, LoggedItem* head, ItemBody** body) {
  if (!from.head(head)) return false;
  ItemTable* const table = tables_.findTable(head->table);
  const bool isPossible = table != nullptr && isPriority(head->priority) && isOwn(head->own) && head->insertedAt >= 0 && head->insertedAt <= 0x1p53 &&
                          head->chunkCount > 0 && head->trajectoryBytes > 0 && table->find(head->key) == KeyMap::none;
  if (!isPossible) return false;
  chunks_.clear();
  for (uint32_t k = 0; k < head->chunkCount; ++k) {
    LoggedChunk logged = {};
    if (!from.head(&logged)) return false;
    Chunk* const chunk = chunkOf(logged);
    if (chunk == nullptr) return false;
    if (!chunks_.prepare(1)) return noMemory(chunks_.memoryBytes());
    chunks_.push(chunk);
  }
  const uint8_t* const trajectory = from.take(head->trajectoryBytes);
  if (trajectory == nullptr) return false;
  if (!table->prepare(1) || (!std::isnan(head->own) && !table->prepareOwn())) return noMemory(table->memoryBytes());
  *body = newBody(tables_.store(), chunks_, {trajectory, head->trajectoryBytes});
  if (*body == nullptr) return noMemory(head->trajectoryBytes);
  (*body)->insertedAt = head->insertedAt;
  if (head->insertedAt > now_) now_ = head->insertedAt;
  return true;
}

// ---- changes ----

bool TablesRecovery::insert(Payload from) {
  LoggedItem head = {};
  ItemBody* body = nullptr;
  if (!readItem(from, &head, &body)) return false;
  tables_.findTable(head.table)->insert({head.key, head.priority, head.own, body, 0, WaitingItem::gone, false}, head.insertedAt);
  return from.left() == 0;
}

bool TablesRecovery::change(uint32_t type, Payload from) {
  ItemChange change = {};
  if (!from.head(&change)) return false;
  ItemTable* const table = tables_.findTable(change.table);
  if (table == nullptr) return false;
  if (type == resetFrame) return table->reset(), true;
  if (change.index >= table->size()) return false;
  if (type == removeFrame) return table->removeAt(change.index), true;
  if (!isPriority(change.priority) || !isOwn(change.own)) return false;
  if (!std::isnan(change.own) && !table->prepareOwn()) return noMemory(table->memoryBytes());
  table->setPriority(change.index, change.priority, change.own);
  return true;
}

bool TablesRecovery::draw(uint32_t type, Payload from) {
  LoggedDraw draw = {};
  if (!from.head(&draw)) return false;
  ItemTable* const table = tables_.findTable(draw.table);
  if (table == nullptr || draw.batch > uint64_t{1} << 53) return false;
  if (draw.batch > batchCount_) batchCount_ = draw.batch;
  if (type == batchEndFrame) return table->endBatch(draw.batch), true;
  // How many are drawn at once may differ from version to version.
  const bool isOne = draw.count == 1 || (table->config().maxTimesSampled == 0 && (!table->sampler().drawsTogether() || draw.count <= table->size()));
  if (table->size() == 0 || draw.count == 0 || draw.count > drawnMax || !isOne) return false;
  if (!drawn_.prepare(draw.count)) return noMemory(drawn_.memoryBytes());
  const Status status = table->draw(draw.count, draw.batch, false, drawn_);
  for (; !drawn_.isEmpty(); drawn_.pop()) table->release(drawn_.front().item.body);
  if (status == Status::memory) status_ = status;
  return status == Status::ok;
}

bool TablesRecovery::setRateLimiter(Payload from) {
  LoggedRateLimiter change = {};
  if (!from.head(&change) || change.table >= tables_.tableCount()) return false;
  return tables_.findTable(static_cast<uint32_t>(change.table))->rateLimiter().set(change.numbers, 3, 0) == Status::ok;
}

/// A chunk was written again. Items before name its old place, those behind the new one.
bool TablesRecovery::move(Payload from) {
  ChunkMove move = {};
  if (!from.head(&move)) return false;
  const uint32_t number = findPlace({move.fromSegment, move.fromOffset});
  const LogPosition to = {move.segment, move.offset};
  const bool isPossible = number != KeyMap::none && known_[number].chunk != nullptr && findPlace(to) == KeyMap::none && to.segment >= firstSegment_ &&
                          to.segment - firstSegment_ < segmentCount_;
  if (!isPossible || !addPlace(to, known_[number].chunk)) return false;
  known_[number].chunk = nullptr;
  return true;
}

// ---- the end ----

/// Reads the chunks that items have. Those that are damaged get no place.
Status TablesRecovery::readChunks() {
  ChunkStore& store = tables_.store();
  for (; !known_.isEmpty(); known_.pop()) {
    Chunk* const chunk = known_.front().chunk;
    if (chunk == nullptr) continue;
    const bool isNeeded = chunk->references > 1;
    store.release(chunk);
    if (!isNeeded) continue;
    const LogPlace place = {known_.front().place.segment, known_.front().place.offset, chunk->bytes};
    uint32_t type = 0;
    LogFailure failure;
    const LogStatus read = store.logged(chunk).segment == 0 ? LogStatus::unknown : durable_.log_.read(place, chunk->data(), &type, &failure);
    if (read == LogStatus::ok && type == chunkFrame) continue;
    if (read == LogStatus::memory) return fail(Status::memory, place.bytes);
    if (read != LogStatus::ok && read != LogStatus::damaged && read != LogStatus::unknown) return logStatus(read, failure.error);
    report_->noteDamage(place.position());
    store.setLogged(chunk, {});
  }
  return Status::ok;
}

/// Removes the items whose chunks are damaged.
Status TablesRecovery::removeLost() {
  for (uint32_t number = 0; report_->isDamaged && number < tables_.tableCount(); ++number) {
    ItemTable& table = *tables_.findTable(number);
    for (uint32_t index = table.size(); index-- > 0;) {
      const ItemBody& body = table.body(index);
      bool isLost = false;
      for (uint32_t k = 0; k < body.chunkCount; ++k) isLost = isLost || tables_.store().logged(body.chunks()[k]).segment == 0;
      if (!isLost) continue;
      durable_.removing(table, index);
      table.removeAt(index);
      ++report_->lostBlocks;
    }
  }
  return durable_.hasFailed_ ? durable_.failure() : Status::ok;
}

}  // namespace exrp
