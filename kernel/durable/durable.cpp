#include "kernel/durable/durable.hpp"

#include <algorithm>
#include <cstring>

#include "kernel/log/compaction.hpp"
#include "kernel/store/logged_block.hpp"
#include "kernel/store/logged_rows.hpp"

namespace exrp {
namespace {

constexpr uint64_t flushedPart = 8;  // of what rows may take in memory: more is flushed at once, as nothing else may leave

}  // namespace

// ---- beginning and ending ----

/// What a new log and one that is read again have in common.
Status Durable::openLog(const DurableOptions& options) {
  options_ = options;
  // The log says nothing of what was there before it.
  if (replay_.book().nextHandle() > 0 || replay_.picks().viewCount() > 1 || replay_.picks().selectorCount() > 0) {
    return exrp::fail(Status::argument, 1, static_cast<double>(replay_.book().nextHandle()));
  }
  const Store& store = replay_.book().store();
  const uint64_t blockBytes = loggedBlockBytesMax(store);
  if (blockBytes > frameBytesMax) {
    return exrp::fail(Status::log, static_cast<double>(LogStatus::argument), static_cast<double>(blockBytes), static_cast<double>(frameBytesMax));
  }
  commands_.create(store.recordBytes());
  return beginRows();
}

/// Once the replay was made: it hears where rows are.
Status Durable::beginRows() {
  const Status status = replay_.book().part<LoggedRows>().begin(replay_.book());
  replay_.book().store().setLateCopies(log_.late());
  const ReplayConfig& config = replay_.config();
  if (status != Status::ok || config.residentBytes == 0) return status;
  // Rows stay in memory until their group is written.
  const uint64_t groupMax = config.residentBytes / flushedPart;
  if (options_.groupBytes > groupMax) options_.groupBytes = static_cast<uint32_t>(groupMax);
  resident_.create(config.residentBytes, config.capacity);
  return Status::ok;
}

Status Durable::create(const DurableOptions& options) {
  Status status = openLog(options);
  if (status == Status::ok) status = resident_.checkLimit();
  if (status == Status::ok) status = createLog();
  if (status != Status::ok) return status;
  resident_.open();
  putLimits();
  return hasFailed_ ? failure() : Status::ok;
}

Status Durable::close() {
  if (!log_.isOpen()) return Status::ok;
  resident_.stop();
  options_.checkpointBytes = UINT64_MAX;  // nobody would finish one that begins now
  if (!hasFailed_ && !options_.hasState) endGroup(nullptr, 0, false);
  snapshot_.endFor(this);
  commands_.drop();
  return closeLog();
}

void Durable::abandon() {
  resident_.stop();
  fail(LogStatus::closed);
  abandonLog();
}

/// Nobody finishes the checkpoint, and the replay may be saved otherwise.
void Durable::failed() {
  snapshot_.endFor(this);
  commands_.drop();
}

LimitsCommand Durable::limitsCommand() const {
  const ReplayConfig& config = replay_.config();
  return {{static_cast<uint32_t>(Command::setLimits), sizeof(LimitsHead)}, {config.capacityBytes, config.ageMax, config.capacity, config.blockLength}};
}

/// Says what the limits are from here on.
void Durable::putLimits() {
  const LimitsHead limits = limitsCommand().limits;
  commands_.put(Command::setLimits, {{&limits, sizeof limits}});
}

/// After a call was noted: whether its group is to end.
void Durable::goOn() {
  if (options_.hasState || hasFailed_ || holdCount_ > 0) return;
  const LoggedRows& rows = replay_.book().part<LoggedRows>();
  const uint64_t recordBytes = replay_.book().store().recordBytes();
  const uint64_t fresh = commands_.pendingBytes() + rows.newRows() * recordBytes;
  // Blocks are written whole. Where many are half full, a group waits until it writes at most twice what came.
  const uint64_t groupBytes = resident_.isOn() ? std::min<uint64_t>(options_.groupBytes, resident_.keptBytes() / flushedPart) : options_.groupBytes;
  const bool isWorth = fresh >= groupBytes && 2 * fresh >= rows.unwrittenRows() * recordBytes;
  // The log's thread counts the intervals, so that no call looks at a clock.
  const bool isOver = intervalsSeen_ != log_.intervalCount();
  if (!isOver && !isWorth && !resident_.isPressed()) return;
  endGroup(nullptr, 0, false);
  if (isOver && !hasFailed_) log_.requestFlush();
}

// ---- groups ----

/// Reads the rows of a block that is to be written, unless they are in memory. What can't be read stays where it is. What is damaged is lost, whatever changes it.
bool Durable::readBack(uint32_t block) {
  const Status status = resident_.isMissing(block) ? resident_.fetchOne(block) : Status::ok;
  LoggedRows& logged = replay_.book().part<LoggedRows>();
  const bool isDamaged = status == Status::log && errorDetail[0] == EXRP_LOG_ROWS && errorDetail[3] == 0;
  if (isDamaged) logged.lose(block);
  logged.setPutOff(block, status != Status::ok && !isDamaged);
  return status == Status::ok;
}

void Durable::writeBlock(uint32_t block) {
  // Until it was written, it stays in memory.
  if (hasFailed_) return resident_.changing(block);
  EpisodeBook& book = replay_.book();
  const Store& store = book.store();
  if (!readBack(block)) {
    // Until it can be read, its changes are in the log only.
    const LoggedRows& logged = book.part<LoggedRows>();
    hasLeftOut_ = hasLeftOut_ || (logged.isPutOff(block) && logged.isStale(block));
    return;
  }
  LoggedBlockHead head = loggedBlockHead(book, block);
  const uint32_t episode = store.head(block).episode;
  const Episode& entry = book.episodes()[episode];
  const uint8_t* const nextState = entry.lastBlock == block && !entry.ended() ? book.part<NextStates>().find(episode, entry.count) : nullptr;
  // One whose rows were all trimmed may have what its episode needs later.
  if (head.rowCount == 0 && store.kept().count() == 0 && nextState == nullptr) return;
  resident_.changing(block);
  head.hasNextState = nextState == nullptr ? 0 : 1;
  const uint64_t bytes = loggedBlockBytes(store, block, head) + (nextState == nullptr ? 0 : store.leaves().bytes());
  const auto write = [&](uint8_t* payload) {
    uint8_t* const end = writeLoggedBlock(store, block, head, payload, isRecovering_ ? nullptr : log_.late());
    if (nextState != nullptr) memcpy(end, nextState, store.leaves().bytes());
  };
  LogPlace place;
  if (!appendWritten(isLoggedPacked(store, block, head) ? packedRowsFrame : rowsFrame, bytes, write, &place)) return;
  book.part<LoggedRows>().setPlace(block, place, true);
  resident_.written(block);
}

/// For rows that take too much memory. Between two calls of a program, groups do more (endGroup).
bool Durable::writeForRoom() {
  if (isRecovering_) {
    commands_.end();
    resident_.forEachChanged([&](uint32_t block) {
      writeBlock(block);
      hasWrittenEarly_ = true;
    });
  }
  return !hasFailed_ && log_.flush() == LogStatus::ok;
}

void Durable::writeCarried(uint32_t episode) {
  const EpisodeBook& book = replay_.book();
  const KeptColumns& kept = book.store().kept();
  if (hasFailed_ || episode >= book.episodes().highWater() || book.episodes()[episode].state == EXRP_EPISODE_EVICTED) return;
  uint64_t bytes = sizeof(double);
  for (uint32_t k = 0; k < kept.count(); ++k) bytes += book.store().column(kept.column(k)).bytes;
  appendWritten(carriedFrame, bytes, [&](uint8_t* to) {
    const double handle = book.handleAt(episode);
    memcpy(to, &handle, sizeof handle);
    to += sizeof handle;
    for (uint32_t k = 0; k < kept.count(); ++k) {
      const uint32_t columnBytes = book.store().column(kept.column(k)).bytes;
      memcpy(to, kept.carriedAt(kept.column(k), episode), columnBytes);
      to += columnBytes;
    }
  });
}

void Durable::writeStatistics() {
  auto& statistics = replay_.book().part<ColumnStatistics>();
  statistics.forEach([&](uint32_t column) {
    const ColumnStatistics::Of& of = *statistics.find(column);
    const StatisticsHead head = {of.records, column, of.count};
    append(statisticsFrame, {{&head, sizeof head}, {of.numbers.data(), 2 * of.count * uint32_t{sizeof(double)}}});
  });
}

Status Durable::endGroup(const uint8_t* state, uint32_t stateBytes, bool hasState) {
  const bool isSame = !hasState || (hasState_ && isState(state, stateBytes));
  noteFailure();
  evictLost();
  const bool wants = !hasFailed_ && checkpoint_ == Checkpoint::none && wantsCheckpoint();
  hasLeftOut_ = false;
  if (wants) freshenBlocks();
  LoggedRows& rows = replay_.book().part<LoggedRows>();
  if (resident_.isPressed()) resident_.forEachChanged([&](uint32_t block) { rows.note(block); });
  intervalsSeen_ = log_.intervalCount();
  if (!hasFailed_ && (commands_.pendingBytes() > 0 || hasWrittenEarly_ || !isSame || rows.unwrittenCount() > 0)) {
    commands_.end();
    rows.takeUnwritten([&](uint32_t block) { writeBlock(block); }, [&](uint32_t episode) { writeCarried(episode); });
    writeStatistics();
    const GroupHead head = {groupCount_, isSame ? 0u : 1u, 0};
    if (append(groupFrame, {{&head, sizeof head}, {state, isSame ? 0 : stateBytes}})) ++groupCount_;
    if (!hasFailed_ && !isSame) {
      if (!keepState(state, stateBytes)) fail(LogStatus::memory);
      hasState_ = true;
    }
    commands_.beginGroup();
    hasWrittenEarly_ = false;
    if (!hasFailed_ && resident_.isOn() && log_.position().packed() - log_.flushed().packed() > resident_.keptBytes() / flushedPart) log_.requestFlush();
  }
  // The log before a checkpoint goes, with the changes of rows in it.
  if (!hasFailed_ && wants && !hasLeftOut_) beginCheckpoint();
  // Not with each group: what can be read was written again.
  if (wants && hasLeftOut_) writtenBytes_ = 0;
  if (!hasFailed_) pumpCheckpoint(options_.pumpBytes);
  return hasFailed_ ? failure() : Status::ok;
}

/// Episodes of blocks that were found damaged when they were read first go, open ones, too: nobody may ever end them.
void Durable::evictLost() {
  const EpisodeBook& book = replay_.book();
  resident_.unread().takeLost([&](uint32_t block) {
    const double handle = book.handleAt(book.store().head(block).episode);
    if (replay_.evictEpisode(handle) == Status::ok) commands_.put(Command::evictEpisode, handle);
  });
}

// ---- checkpoints ----

/// Blocks whose rows have changed since they were written are written again, and so are those of the oldest segments, if that lets them go.
void Durable::freshenBlocks() {
  LoggedRows& logged = replay_.book().part<LoggedRows>();
  const Store& store = replay_.book().store();
  const uint32_t emptied = sparseFront();
  for (uint32_t block = 0; block < store.highWater(); ++block) {
    if (!store.isTaken(block) || logged.isLost(block)) continue;
    const uint32_t segment = logged.place(block).segment;
    if ((segment > 0 && segment < emptied) || logged.isStale(block)) logged.note(block);
  }
}

/// The segment below which blocks are to be written again; 0: none is. So too while one of them can't be read: no segment behind it could go.
uint32_t Durable::sparseFront() {
  const LoggedRows& logged = replay_.book().part<LoggedRows>();
  const Store& store = replay_.book().store();
  LogSegments segments;
  Scratch<uint64_t> live;
  if (log_.segments(&segments) != LogStatus::ok || segments.count == 0 || !live.commit(segments.count)) return 0;
  for (uint32_t block = 0; block < store.highWater(); ++block) {
    if (!store.isTaken(block)) continue;
    if (logged.isPutOff(block) && !readBack(block) && logged.isPutOff(block)) return 0;
    if (logged.isLost(block)) continue;
    const LogPlace& place = logged.place(block);
    if (const size_t at = segments.find(place.segment); at < segments.count) live[at] += wholeFrameBytes(place.bytes);
  }
  return sparseFrontOf(segments, rewrittenMax, options_.log.segmentBytes, options_.log.leastBytes(), [&](size_t at) { return live[at]; });
}

/// Keeps the moment. Where a snapshot is being saved, a later group tries again.
void Durable::beginCheckpoint() {
  if (snapshot_.begin(this, false) != Status::ok) return;
  if (!places_.take(replay_.book())) return snapshot_.endFor(this);
  const LimitsCommand limits = limitsCommand();
  const auto commandBytes = static_cast<uint32_t>(sizeof limits) + commands_.madeBytes();
  const CheckpointHead head = {groupCount_, durableVersion, hasState_ ? 1u : 0u, stateBytes(), commandBytes, commands_.writer(), 0};
  uint64_t drawn[EXRP_LIMIT_LOGS];
  for (uint32_t log = 0; log < EXRP_LIMIT_LOGS; ++log) drawn[log] = statistics_.drawnCount(log);
  LogPlace place;
  const bool isBegun = append(checkpointFrame,
                              {{&head, sizeof head},
                               {state(), stateBytes()},
                               {&limits, sizeof limits},
                               {commands_.made(), commands_.madeBytes()},
                               {drawn, sizeof drawn},
                               {places_.heads.data(), static_cast<uint32_t>(places_.headCount * sizeof(EpisodeHead))}},
                              &place);
  if (!isBegun) return;
  beginCheckpointAt(place.position(), places_.firstSegment);
  section_ = 0;
  sectionItem_ = 0;
  placeAt_ = 0;
}

/// Writes so much of the checkpoint that is under way, or finishes it once it is on the disk.
void Durable::pumpCheckpoint(uint64_t budget) {
  if (checkpoint_ == Checkpoint::flushing) return finishFlushed();
  for (uint64_t written = 0; checkpoint_ == Checkpoint::writing && written < budget;) {
    double info[2] = {};
    const uint64_t bytes = snapshot_.info(section_, info) == Status::ok ? writeSection(info) : writePlaces();
    written += bytes;
    checkpointSize_ += bytes;
  }
}

/// Writes the next items of a section of the snapshot, and returns their bytes. `info` is that of the section.
uint64_t Durable::writeSection(const double* info) {
  if (section_ == EXRP_SECTION_RECORDS || sectionItem_ >= info[0]) {
    ++section_;
    sectionItem_ = 0;
    return 0;
  }
  const double most = info[1] >= options_.pieceBytes ? 1 : static_cast<double>(static_cast<uint32_t>(options_.pieceBytes / info[1]));
  const auto count = static_cast<uint32_t>(info[0] - sectionItem_ < most ? info[0] - sectionItem_ : most);
  const auto bytes = static_cast<uint32_t>(count * info[1]);
  appendWritten(sectionFrame, sizeof(SectionHead) + bytes, [&](uint8_t* payload) {
    const SectionHead head = {sectionItem_, section_, count};
    memcpy(payload, &head, sizeof head);
    if (snapshot_.read(section_, sectionItem_, count, payload + sizeof head, bytes) != Status::ok) fail(LogStatus::memory);
  });
  sectionItem_ += count;
  return bytes;
}

/// Writes where the rows of the next blocks are, and returns the bytes. Behind the last ones, the checkpoint ends.
uint64_t Durable::writePlaces() {
  const auto most = static_cast<uint32_t>(options_.pieceBytes < sizeof(LogPlace) ? 1 : options_.pieceBytes / sizeof(LogPlace));
  const uint32_t count = std::min(places_.placeCount - placeAt_, most);
  if (count > 0) append(placesFrame, {{places_.places.data() + placeAt_, count * uint32_t{sizeof(LogPlace)}}});
  placeAt_ += count;
  if (placeAt_ == places_.placeCount) {
    snapshot_.endFor(this);
    endCheckpoint();
  }
  return uint64_t{count} * sizeof(LogPlace);
}

void Durable::finishCheckpoint() {
  if (checkpoint_ != Checkpoint::writing) return;
  commands_.end();
  pumpCheckpoint(UINT64_MAX);
}

}  // namespace exrp
