// Durable: commands, groups and checkpoints. The file is long because each of them shares the frame that is open.
#include "kernel/durable/durable.hpp"

#include <algorithm>
#include <cstring>

#include "kernel/durable/payload.hpp"
#include "kernel/store/logged_block.hpp"
#include "kernel/store/logged_rows.hpp"

namespace exrp {
namespace {

constexpr uint32_t firstRoom = 4096;          // of a frame of commands
constexpr uint32_t runBytesMax = 1 << 22;     // of the rows that one command speaks of, as recovery makes room for them
constexpr uint32_t rowsBytesMax = 1 << 20;    // of the rows that one command changes, unless one row has more
constexpr uint64_t rewrittenMax = 64 << 20;   // rows that are written again for a checkpoint, so that old segments can go
constexpr uint64_t flushedPart = 8;           // of what rows may take in memory: more is flushed at once, as nothing else may leave

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
  const uint32_t recordBytes = store.recordBytes();
  runMax_ = recordBytes < runBytesMax ? runBytesMax / recordBytes : 1;
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
  if (status != Status::ok) return status;
  const LogStatus made = log_.create(disk_.get(), options.log);
  if (made != LogStatus::ok) {
    fail(made);
    return failure();
  }
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
  frame_ = nullptr;
  cleaner_.wait();
  // One that waits for the disk only: the next opening has less to read.
  if (checkpoint_ == Checkpoint::flushing && log_.flush() == LogStatus::ok) finishFlushed();
  cleaner_.wait();
  const LogStatus closed = log_.close();
  if (closed != LogStatus::ok) fail(closed);
  return hasFailed_ ? failure() : Status::ok;
}

void Durable::abandon() {
  resident_.stop();
  cleaner_.wait();
  fail(LogStatus::closed);
  log_.abandon();
}

void Durable::fail(LogStatus status) {
  if (hasFailed_) return;
  hasFailed_ = true;
  // Nobody finishes the checkpoint, and the replay may be saved otherwise.
  snapshot_.endFor(this);
  checkpoint_ = Checkpoint::none;
  failedBy_ = status;
  if (frame_ != nullptr) log_.drop();
  frame_ = nullptr;
  lastRun_ = 0;
}

Status Durable::failure() const {
  return logStatus(failedBy_ == LogStatus::ok ? LogStatus::disk : failedBy_, const_cast<Log&>(log_).failure().error);
}

// ---- commands ----

/// Room for so many bytes in a frame of commands; null where the log has failed.
uint8_t* Durable::room(uint32_t bytes) {
  if (hasFailed_) return nullptr;
  if (frame_ != nullptr && frameBytes_ + bytes > frameRoom_) {
    const uint32_t ample = frameBytes_ + bytes + frameRoom_;
    if (log_.extend(ample)) frameRoom_ = ample;
    else if (log_.extend(frameBytes_ + bytes)) frameRoom_ = frameBytes_ + bytes;
    else endCommands();
  }
  if (hasFailed_) return nullptr;
  if (frame_ == nullptr) {
    frameRoom_ = bytes < firstRoom ? firstRoom : bytes;
    frameBytes_ = 0;
    if (const LogStatus status = log_.begin(frameRoom_, &frame_); status != LogStatus::ok) {
      frame_ = nullptr;
      fail(status);
      return nullptr;
    }
  }
  uint8_t* const place = frame_ + frameBytes_;
  frameBytes_ += bytes;
  pendingBytes_ += bytes;
  isPending_ = true;
  return place;
}

void Durable::endCommands() {
  lastRun_ = 0;
  if (frame_ == nullptr) return;
  LogPlace place;
  frame_ = nullptr;
  writtenBytes_ += frameBytes_;
  if (const LogStatus status = log_.end(commandsFrame, frameBytes_, &place); status != LogStatus::ok) fail(status);
}

/// Says which seat's calls follow, where it is another one.
void Durable::noteWriter() {
  if (replay_.book().writer() == writer_) return;
  writer_ = replay_.book().writer();
  uint8_t* const to = room(sizeof(CommandHead) + 8);
  if (to == nullptr) return;
  const CommandHead head = {static_cast<uint32_t>(Command::writer), 8};
  const uint64_t number = writer_;
  memcpy(to, &head, sizeof head);
  memcpy(to + sizeof head, &number, sizeof number);
  lastRun_ = 0;
}

void Durable::note(Command command, std::initializer_list<LogPiece> pieces) {
  put(command, pieces);
  goOn();
}

/// Notes a command that may be one of several of a call. No group ends before all of them are noted: the rows at its end are those after the call.
void Durable::put(Command command, std::initializer_list<LogPiece> pieces) {
  noteWriter();
  uint64_t bytes = 0;
  for (const LogPiece& piece : pieces) bytes += piece.size;
  if (bytes > frameBytesMax - sizeof(CommandHead) - 8) return fail(LogStatus::argument);
  const auto whole = static_cast<uint32_t>(sizeof(CommandHead) + padded(bytes));
  uint8_t* to = room(whole);
  if (to == nullptr) return;
  uint8_t* const begin = to;
  const CommandHead head = {static_cast<uint32_t>(command), static_cast<uint32_t>(bytes)};
  memcpy(to, &head, sizeof head);
  to += sizeof head;
  for (const LogPiece& piece : pieces) {
    if (piece.size > 0) memcpy(to, piece.bytes, piece.size);
    to += piece.size;
  }
  memset(to, 0, static_cast<size_t>(padded(bytes) - bytes));
  lastRun_ = 0;
  const bool isMade = command == Command::createView || command == Command::createSelector;
  if (isMade && !keepMade(command, begin + sizeof head, static_cast<uint32_t>(bytes))) return fail(LogStatus::memory);
}

/// Keeps a command that made a view or a selector, for checkpoints.
bool Durable::keepMade(Command command, const uint8_t* arguments, uint32_t bytes) {
  const auto whole = static_cast<uint32_t>(sizeof(CommandHead) + padded(bytes));
  if (!made_.commit(madeBytes_ + whole)) return false;
  const CommandHead head = {static_cast<uint32_t>(command), bytes};
  memcpy(&made_[madeBytes_], &head, sizeof head);
  memcpy(&made_[madeBytes_ + sizeof head], arguments, bytes);
  madeBytes_ += whole;
  return true;
}

LimitsCommand Durable::limitsCommand() const {
  const ReplayConfig& config = replay_.config();
  return {{static_cast<uint32_t>(Command::setLimits), sizeof(LimitsHead)}, {config.capacityBytes, config.ageMax, config.capacity, config.blockLength}};
}

/// Says what the limits are from here on.
void Durable::putLimits() {
  const LimitsHead limits = limitsCommand().limits;
  put(Command::setLimits, {{&limits, sizeof limits}});
}

void Durable::noteRecord(double handle, uint32_t flags, const uint8_t* priority, const uint8_t* tag) {
  if (hasFailed_) return;
  const bool isPlain = flags == 0;
  if (isPlain && lastRun_ != 0 && replay_.book().writer() == writer_) {
    RecordsHead run;
    memcpy(&run, frame_ + lastRun_, sizeof run);
    if (run.handle == handle && run.count < runMax_) {
      ++run.count;
      memcpy(frame_ + lastRun_, &run, sizeof run);
      return goOn();
    }
  }
  const RecordsHead head = {handle, flags, 1};
  const LogPiece own = {&head, sizeof head};
  const LogPiece priorities = {priority, (flags & EXRP_RECORD_PRIORITY) != 0 ? 8u : 0u};
  const LogPiece tags = {tag, (flags & EXRP_RECORD_TAG) != 0 ? 4u : 0u};
  if ((flags & EXRP_RECORD_NEXT_STATE) != 0) {
    const auto step = static_cast<uint8_t>(flags & ~uint32_t{EXRP_RECORD_NEXT_STATE | EXRP_RECORD_PRIORITY | EXRP_RECORD_TAG});
    const LogPiece handles = {&handle, sizeof handle};
    const uint64_t flagsOfStep = step;
    const RecordsHead batch = {0, flags & (EXRP_RECORD_NEXT_STATE | EXRP_RECORD_PRIORITY | EXRP_RECORD_TAG), 1};
    return note(Command::recordBatch, {{&batch, sizeof batch}, handles, {&flagsOfStep, 8}, priorities, tags});
  }
  note(Command::recordMany, {own, priorities, tags});
  if (isPlain && frame_ != nullptr) lastRun_ = frameBytes_ - static_cast<uint32_t>(sizeof head);
}

const double* Durable::keepHandles(const double* handles, uint32_t count) {
  if (!handles_.commit(count)) {
    fail(LogStatus::memory);
    return handles;
  }
  memcpy(handles_.data(), handles, size_t{count} * sizeof(double));
  return handles_.data();
}

void Durable::noteSteps(Command command, const double* handles, const uint8_t* steps, uint32_t first, uint32_t end, uint32_t count,
                        uint32_t flags) {
  const uint8_t* const own = steps;
  const uint8_t* const priorities = steps + padded(count);
  const uint8_t* const tags = priorities + size_t{count} * sizeof(double);
  constexpr uint32_t with = EXRP_RECORD_PRIORITY | EXRP_RECORD_TAG;
  const bool hasOwn = command != Command::recordMany;
  // Only the last step of the call may end an episode, or have a next state.
  uint32_t at = first;
  double handle = command == Command::recordBatch ? 0 : handles[0];
  while (at < end && !hasFailed_) {
    const uint32_t most = command == Command::recordMany && end - at > runMax_ ? runMax_ : end - at;
    const bool isLast = at + most == count;
    uint32_t said = flags;
    if (!isLast && command != Command::recordBatch) said &= with;
    const RecordsHead head = {handle, said, most};
    const uint64_t zero = 0;
    const auto flagBytes = hasOwn ? most : 0;
    const LogPiece pieces[] = {
        {&head, sizeof head},
        {handles + at, command == Command::recordBatch ? most * uint32_t{sizeof(double)} : 0},
        {own + at, flagBytes},
        {&zero, static_cast<uint32_t>(padded(flagBytes) - flagBytes)},
        {priorities + size_t{at} * sizeof(double), (flags & EXRP_RECORD_PRIORITY) != 0 ? most * uint32_t{sizeof(double)} : 0},
        {tags + size_t{at} * sizeof(int32_t), (flags & EXRP_RECORD_TAG) != 0 ? most * uint32_t{sizeof(int32_t)} : 0},
    };
    put(command, {pieces[0], pieces[1], pieces[2], pieces[3], pieces[4], pieces[5]});
    at += most;
    handle = handleBefore;
  }
  goOn();
}

void Durable::notePicks(Command command, uint32_t number, const double* handles, const int32_t* positions, const uint8_t* items,
                        uint32_t itemBytes, uint32_t count) {
  putPicks(command, number, handles, positions, items, itemBytes, count);
  goOn();
}

void Durable::putPicks(Command command, uint32_t number, const double* handles, const int32_t* positions, const uint8_t* items,
                       uint32_t itemBytes, uint32_t count) {
  const PicksHead head = {number, count, itemBytes, 0};
  const uint64_t zero = 0;
  put(command, {{&head, sizeof head},
                {handles, count * uint32_t{sizeof(double)}},
                {positions, count * uint32_t{sizeof(int32_t)}},
                {&zero, count % 2 * 4},
                {items, count * itemBytes}});
}

void Durable::noteRows(uint32_t column, const double* handles, const int32_t* positions, const uint8_t* rows, uint32_t rowBytes, uint32_t count) {
  const EpisodeBook& book = replay_.book();
  const bool isKept = book.store().isKept(column);
  // Recovery changes rows in the end. Then nobody knows any more which records were gone already, while the row that they had is still there.
  const auto isGone = [&](uint32_t at) {
    const uint32_t episode = isKept ? book.findEpisode(handles[at]) : 0;
    return isKept && (episode == episodeNone || static_cast<uint32_t>(positions[at]) < book.episodes().first(episode));
  };
  const uint32_t most = rowBytes < rowsBytesMax ? rowsBytesMax / rowBytes : 1;
  for (uint32_t at = 0; at < count && !hasFailed_;) {
    uint32_t end = at;
    while (end < count && end - at < most && !isGone(end)) ++end;
    if (end > at) putPicks(Command::setRows, column, handles + at, positions + at, rows + size_t{at} * rowBytes, rowBytes, end - at);
    at = end > at ? end : at + 1;
  }
  goOn();
}

/// After a call was noted: whether its group is to end.
void Durable::goOn() {
  if (options_.hasState || hasFailed_ || holdCount_ > 0) return;
  const LoggedRows& rows = replay_.book().part<LoggedRows>();
  const uint64_t recordBytes = replay_.book().store().recordBytes();
  const uint64_t fresh = pendingBytes_ + rows.newRows() * recordBytes;
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

void Durable::append(uint32_t type, std::initializer_list<LogPiece> pieces) {
  if (hasFailed_) return;
  LogPlace place;
  uint64_t bytes = 0;
  for (const LogPiece& piece : pieces) bytes += piece.size;
  const LogStatus status = log_.append(type, pieces.begin(), static_cast<uint32_t>(pieces.size()), &place);
  writtenBytes_ += bytes;
  if (status != LogStatus::ok) fail(status);
}

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
  if (bytes > frameBytesMax) return fail(LogStatus::argument);
  uint8_t* payload = nullptr;
  LogStatus status = log_.begin(static_cast<uint32_t>(bytes), &payload);
  if (status != LogStatus::ok) return fail(status);
  uint8_t* const end = writeLoggedBlock(store, block, head, payload, isRecovering_ ? nullptr : log_.late());
  if (nextState != nullptr) memcpy(end, nextState, store.leaves().bytes());
  LogPlace place;
  status = log_.end(isLoggedPacked(store, block, head) ? packedRowsFrame : rowsFrame, static_cast<uint32_t>(bytes), &place);
  if (status != LogStatus::ok) return fail(status);
  writtenBytes_ += bytes;
  book.part<LoggedRows>().setPlace(block, place, true);
  resident_.written(block);
}

/// For rows that take too much memory. Between two calls of a program, groups do more (endGroup).
bool Durable::writeForRoom() {
  if (isRecovering_) {
    endCommands();
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
  uint8_t* payload = nullptr;
  LogStatus status = log_.begin(static_cast<uint32_t>(bytes), &payload);
  if (status != LogStatus::ok) return fail(status);
  const double handle = book.handleAt(episode);
  memcpy(payload, &handle, sizeof handle);
  payload += sizeof handle;
  for (uint32_t k = 0; k < kept.count(); ++k) {
    const uint32_t columnBytes = book.store().column(kept.column(k)).bytes;
    memcpy(payload, kept.carriedAt(kept.column(k), episode), columnBytes);
    payload += columnBytes;
  }
  LogPlace place;
  status = log_.end(carriedFrame, static_cast<uint32_t>(bytes), &place);
  if (status != LogStatus::ok) fail(status);
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
  const bool isSame = !hasState || (hasState_ && stateBytes == stateBytes_ && (stateBytes == 0 || memcmp(state, state_.data(), stateBytes) == 0));
  // The log's own thread may have met it.
  if (!hasFailed_ && log_.hasFailed()) fail(LogStatus::disk);
  evictLost();
  const bool wants = !hasFailed_ && checkpoint_ == Checkpoint::none && wantsCheckpoint();
  hasLeftOut_ = false;
  if (wants) freshenBlocks();
  LoggedRows& rows = replay_.book().part<LoggedRows>();
  if (resident_.isPressed()) resident_.forEachChanged([&](uint32_t block) { rows.note(block); });
  intervalsSeen_ = log_.intervalCount();
  if (!hasFailed_ && (isPending_ || !isSame || rows.unwrittenCount() > 0)) {
    endCommands();
    rows.takeUnwritten([&](uint32_t block) { writeBlock(block); }, [&](uint32_t episode) { writeCarried(episode); });
    writeStatistics();
    const GroupHead head = {groupCount_, isSame ? 0u : 1u, 0};
    append(groupFrame, {{&head, sizeof head}, {state, isSame ? 0 : stateBytes}});
    if (!hasFailed_) ++groupCount_;
    if (!hasFailed_ && !isSame) {
      if (!state_.commit(stateBytes)) fail(LogStatus::memory);
      else if (stateBytes > 0) memcpy(state_.data(), state, stateBytes);
      stateBytes_ = hasFailed_ ? 0 : stateBytes;
      hasState_ = true;
    }
    isPending_ = false;
    pendingBytes_ = 0;
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
    const HandleHead head = {book.handleAt(book.store().head(block).episode), 0, 0};
    if (replay_.evictEpisode(head.handle) == Status::ok) put(Command::evictEpisode, {{&head, sizeof head}});
  });
}

Status Durable::waitFlushed(uint64_t ticket, uint32_t timeoutMs) {
  const LogStatus status = log_.waitFlushed(ticket, timeoutMs);
  if (status == LogStatus::ok) {
    // So that who copies the folder behind a flush finds it at rest.
    if (timeoutMs > 0) cleaner_.wait();
    // What was flushed before is lost where somebody has removed the folder since.
    const DiskError error = disk_->findFolder();
    if (error.isError()) log_.fail(error);  // so that the next call says it, too
    return error.isError() ? logStatus(LogStatus::disk, error) : Status::ok;
  }
  return logStatus(status, log_.failure().error);
}

// ---- checkpoints ----

bool Durable::wantsCheckpoint() { return writtenBytes_ >= options_.checkpointBytes && writtenBytes_ >= 4 * checkpointSize_; }

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
  return segments.sparseFront(rewrittenMax, options_.log.segmentBytes, options_.log.leastBytes(), [&](size_t at) { return live[at]; });
}

/// Lists where the rows of blocks are, by episode and time, and the first segment that is needed for them. False without memory for the list.
bool Durable::listPlaces(uint32_t* count, uint32_t* from, Scratch<LogPlace>& places) const {
  const EpisodeBook& book = replay_.book();
  const LoggedRows& logged = book.part<LoggedRows>();
  *count = 0;
  *from = UINT32_MAX;
  if (!places.commit(book.store().highWater())) return false;
  for (uint32_t episode = book.episodes().oldest(); episode != episodeNone; episode = book.episodes()[episode].newer) {
    for (uint32_t block = book.episodes()[episode].firstBlock; block != blockNone; block = book.store().block(block).next) {
      if (book.rowsOf(block).count == 0) continue;
      const LogPlace& place = places[(*count)++] = logged.place(block);
      if (!logged.isLost(block) && place.segment < *from) *from = place.segment;
    }
  }
  return true;
}

/// Lists what a snapshot does not say of episodes. False without memory for the list.
bool Durable::listEpisodes(uint32_t* count, Scratch<EpisodeHead>& heads) const {
  *count = 0;
  const EpisodeList& episodes = replay_.book().episodes();
  const ReleasedRecords& released = replay_.book().part<ReleasedRecords>();
  for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) {
    const uint32_t to = released.until(episode) > episodes.first(episode) ? released.until(episode) : 0;
    if (to == 0 && episodes[episode].ended()) continue;
    if (!heads.commit(*count + 1)) return false;
    heads[(*count)++] = {replay_.book().handleAt(episode), to, episodes[episode].writer};
  }
  return true;
}

/// Keeps the moment. Where a snapshot is being saved, a later group tries again.
void Durable::beginCheckpoint() {
  if (snapshot_.begin(this, false) != Status::ok) return;
  placeAt_ = 0;
  if (!listPlaces(&placeCount_, &placesFrom_, places_)) return snapshot_.endFor(this);
  const LimitsCommand limits = limitsCommand();
  const auto commandBytes = static_cast<uint32_t>(sizeof limits) + madeBytes_;
  const CheckpointHead head = {groupCount_, durableVersion, hasState_ ? 1u : 0u, stateBytes_, commandBytes, writer_, 0};
  LogPlace place;
  uint64_t drawn[EXRP_LIMIT_LOGS];
  for (uint32_t log = 0; log < EXRP_LIMIT_LOGS; ++log) drawn[log] = statistics_.drawnCount(log);
  uint32_t episodeCount = 0;
  if (!listEpisodes(&episodeCount, episodes_)) return snapshot_.endFor(this);
  const auto episodeBytes = static_cast<uint32_t>(episodeCount * sizeof(EpisodeHead));
  const LogPiece pieces[] = {{&head, sizeof head},         {state_.data(), stateBytes_}, {&limits, sizeof limits},
                             {made_.data(), madeBytes_},   {drawn, sizeof drawn},        {episodes_.data(), episodeBytes}};
  const LogStatus status = log_.append(checkpointFrame, pieces, 6, &place);
  if (status != LogStatus::ok) return fail(status);
  checkpointAt_ = place.position();
  checkpointSize_ = 0;
  writtenBytes_ = 0;
  section_ = 0;
  sectionItem_ = 0;
  checkpoint_ = Checkpoint::sections;
}

/// Writes so much of the checkpoint that is under way, or finishes it once it is on the disk.
void Durable::pumpCheckpoint(uint64_t budget) {
  if (checkpoint_ == Checkpoint::flushing) return finishFlushed();
  uint64_t written = 0;
  while (checkpoint_ == Checkpoint::sections && written < budget && !hasFailed_) {
    double info[2] = {};
    if (snapshot_.info(section_, info) != Status::ok) {
      checkpoint_ = Checkpoint::places;
      break;
    }
    const bool isDone = section_ == EXRP_SECTION_RECORDS || sectionItem_ >= info[0];
    if (isDone) {
      ++section_;
      sectionItem_ = 0;
      continue;
    }
    const double most = info[1] >= options_.pieceBytes ? 1 : static_cast<double>(static_cast<uint32_t>(options_.pieceBytes / info[1]));
    const auto count = static_cast<uint32_t>(info[0] - sectionItem_ < most ? info[0] - sectionItem_ : most);
    const auto bytes = static_cast<uint32_t>(count * info[1]);
    uint8_t* payload = nullptr;
    LogStatus status = log_.begin(sizeof(SectionHead) + bytes, &payload);
    if (status != LogStatus::ok) return fail(status);
    const SectionHead head = {sectionItem_, section_, count};
    memcpy(payload, &head, sizeof head);
    if (snapshot_.read(section_, sectionItem_, count, payload + sizeof head, bytes) != Status::ok) {
      log_.drop();
      return fail(LogStatus::memory);
    }
    LogPlace place;
    status = log_.end(sectionFrame, sizeof(SectionHead) + bytes, &place);
    if (status != LogStatus::ok) return fail(status);
    sectionItem_ += count;
    written += bytes;
  }
  while (checkpoint_ == Checkpoint::places && written < budget && !hasFailed_) {
    const auto most = static_cast<uint32_t>(options_.pieceBytes < sizeof(LogPlace) ? 1 : options_.pieceBytes / sizeof(LogPlace));
    const uint32_t count = placeCount_ - placeAt_ < most ? placeCount_ - placeAt_ : most;
    if (count > 0) append(placesFrame, {{places_.data() + placeAt_, count * uint32_t{sizeof(LogPlace)}}});
    placeAt_ += count;
    written += uint64_t{count} * sizeof(LogPlace);
    if (placeAt_ < placeCount_) continue;
    append(checkpointEndFrame, {});
    snapshot_.endFor(this);
    // The log syncs soon by itself: with its interval, or at the end of the segment. Nobody waits for this.
    checkpointTicket_ = log_.position().packed();
    checkpoint_ = Checkpoint::flushing;
  }
  checkpointSize_ += written;
}

void Durable::finishCheckpoint() {
  while (!hasFailed_ && (checkpoint_ == Checkpoint::sections || checkpoint_ == Checkpoint::places)) {
    endCommands();
    pumpCheckpoint(UINT64_MAX);
  }
}

/// Once the checkpoint is on the disk: has that said there, and the segments removed that nothing needs any more.
void Durable::finishFlushed() {
  if (!log_.isFlushed(checkpointTicket_)) return;
  const uint32_t neededFrom = placesFrom_ < checkpointAt_.segment ? placesFrom_ : checkpointAt_.segment;
  if (cleaner_.begin(checkpointAt_, neededFrom)) checkpoint_ = Checkpoint::none;
}

// ---- copies of the folder ----

Status Durable::seal(SealedFolder* sealed) {
  if (isSealed_) return exrp::fail(Status::log, EXRP_LOG_BUSY);
  if (hasFailed_) return failure();
  cleaner_.pause();
  LogSegments segments;
  LogStatus status = log_.segments(&segments);
  if (status == LogStatus::ok) status = log_.endSegment(&sealed->ticket, &sealed->next);
  if (status != LogStatus::ok) {
    cleaner_.resume();
    fail(status);
    return failure();
  }
  sealed->logId = log_.id();
  sealed->first = segments.count > 0 ? segments.segments[0].segment : sealed->next;
  for (size_t k = 0; k < segments.count; ++k) sealed->count += segments.segments[k].segment < sealed->next ? 1 : 0;
  sealedCount_ = sealed->count;
  sealed->checkpoint = cleaner_.newest();
  isSealed_ = true;
  return Status::ok;
}

void Durable::unseal() {
  isSealed_ = false;
  cleaner_.resume();
}

}  // namespace exrp
