// Recovery: frames, the checkpoint, groups, commands and rows. The file is long because each command and each frame has a case.
#include "kernel/durable/recovery.hpp"

#include <cstring>

#include "kernel/calls/rows.hpp"
#include "kernel/replay/abandoned_episodes.hpp"
#include "kernel/store/logged_block.hpp"
#include "kernel/store/logged_rows.hpp"

namespace exrp {
namespace {

bool isUnfit(Status status) { return status == Status::log && errorDetail[0] == EXRP_LOG_UNFIT; }

/// What a call comes to that had succeeded before: where it fails now, the log is of another replay, or of another library.
Status again(Status status) { return status == Status::ok || status == Status::memory || status == Status::log ? status : unfit(); }

}  // namespace

// ---- reading the log ----

Status Recovery::open(const DurableOptions& options, RecoveryReport* report, const WantedLimits& wanted) {
  const Status status = read(options, report, wanted);
  replay_.book().store().setRowsComeLater(false);
  // Nothing of a replay that is not whole gets into the log.
  if (status != Status::ok) durable_.abandon();
  return status;
}

Status Recovery::read(const DurableOptions& options, RecoveryReport* report, const WantedLimits& wanted) {
  Status status = durable_.openLog(options);
  if (status == Status::ok) status = find(report);
  if (status != Status::ok) return status;
  uint64_t bytes = 0;
  for (size_t k = 0; k < segments_.count; ++k) bytes += segments_.segments[k].bytes;
  leavesRows_ = bytes > options.readNowBytes;
  replay_.book().store().setRowsComeLater(leavesRows_);
  status = again(readLog(options));
  return status == Status::ok ? goOn(wanted) : status;
}

/// Once all groups are there: reads the rows, and begins the next group.
Status Recovery::goOn(const WantedLimits& wanted) {
  durable_.remover_.setNewest(from_);
  durable_.groupCount_ = groupCount_;
  durable_.commands_.setWriter(replay_.book().writer());
  evictedCount_ = 0;
  bool isChanged = false;
  Status status = takeWanted(wanted, &isChanged);
  if (status == Status::ok) status = durable_.resident_.checkLimit();
  durable_.resident_.open();
  if (status == Status::ok) status = leaveUnread();
  if (status == Status::ok) status = readOldRows();
  report_->evictedRecords = evictedCount_;
  if (status != Status::ok) return status;
  if (frameCount_ > 0) durable_.append(discardFrame, {});
  for (size_t at = 0; at < frameCount_; ++at) report_->tailBytes += wholeFrameBytes(frames_[at].place.bytes);
  if (isChanged) durable_.putLimits();
  // The program's first seat goes on, whoever wrote last.
  replay_.book().setWriter(1);
  // Lost episodes go, as a part of the next group.
  for (size_t at = 0; status == Status::ok && at < lostCount_; ++at) {
    const double handle = lost_[at];
    if (replay_.book().findEpisode(handle) == episodeNone) continue;
    status = replay_.evictEpisode(handle);
    if (status == Status::ok) durable_.commands_.put(Command::evictEpisode, handle);
  }
  if (status == Status::ok) status = updateRows();
  if (status != Status::ok) return status;
  if (adoptEpisodes(replay_, 1)) durable_.commands_.put(Command::adopt, {});
  report_->groupCount = groupCount_;
  report_->stateBytes = durable_.stateBytes();
  if (durable_.hasFailed_) return durable_.failure();
  countRead();
  durable_.resident_.startReading(durable_.options_.log.isThreaded);
  return Status::ok;
}

/// Makes changes of rows again. Where they change more than may be in memory, what has changed is written meanwhile, and then in a group of its own: no
/// later change of these blocks belongs to it.
Status Recovery::updateRows() {
  durable_.isRecovering_ = true;
  Status status = Status::ok;
  for (Payload left(updates_.data(), updateBytes_); status == Status::ok && left.left() > 0;) {
    CommandHead head = {};
    if (!left.head(&head)) return unfit();
    const uint8_t* const arguments = left.take(padded(uint64_t{head.bytes}));
    status = arguments == nullptr ? unfit() : again(applyPicks(Command::setRows, arguments, head.bytes));
  }
  durable_.isRecovering_ = false;
  return status == Status::ok && durable_.hasWrittenEarly_ ? durable_.endGroup(nullptr, 0, false) : status;
}

bool Recovery::take(const LogFrame& frame) {
  const uint8_t* const payload = frame.payload;
  const uint32_t bytes = frame.place.bytes;
  switch (frame.type) {
    // Only the one that the scan begins with is loaded: later ones were not finished.
    case checkpointFrame: return !isLoading_ || places_.placeCount > 0 || frame.place.position() != from_ || beginCheckpoint(payload, bytes);
    case sectionFrame: return !isLoading_ || loadSection(payload, bytes);
    case placesFrame: {
      if (!isLoading_) return true;
      const uint32_t count = bytes / sizeof(LogPlace);
      if (!places_.places.commit(places_.placeCount + count)) return noMemory(bytes);
      if (count > 0) memcpy(places_.places.data() + places_.placeCount, payload, count * sizeof(LogPlace));
      places_.placeCount += count;
      return true;
    }
    case checkpointEndFrame: return !isLoading_ || endCheckpoint();
    case discardFrame: frameCount_ = byteCount_ = 0; return true;
    case groupFrame: return keepFrame(frame) && (isLoading_ || applyGroup(payload, bytes));
    case commandsFrame:
    case rowsFrame:
    case packedRowsFrame:
    case carriedFrame:
    case statisticsFrame: return keepFrame(frame);
    default: return false;
  }
}

// ---- the checkpoint ----

bool Recovery::beginCheckpoint(const uint8_t* payload, uint32_t bytes) {
  Payload left(payload, bytes);
  CheckpointHead head = {};
  if (!left.head(&head)) return false;
  if (head.version != durableVersion) {
    status_ = fail(Status::log, static_cast<double>(LogStatus::version), head.version);
    return false;
  }
  const uint8_t* const state = left.take(head.stateBytes);
  const uint8_t* const commands = left.take(head.commandBytes);
  for (uint32_t log = 0; log < EXRP_LIMIT_LOGS; ++log) {
    uint64_t drawn = 0;
    if (!left.head(&drawn)) return false;
    durable_.statistics_.addDrawn(log, drawn);
  }
  if (left.isShort() || !giveState(state, head.stateBytes)) return false;
  durable_.hasState_ = head.hasState == 1;
  places_.headCount = static_cast<uint32_t>(left.left() / sizeof(EpisodeHead));
  const size_t headBytes = size_t{places_.headCount} * sizeof(EpisodeHead);
  if (!places_.heads.commit(places_.headCount)) return noMemory(static_cast<double>(headBytes));
  if (headBytes > 0) memcpy(places_.heads.data(), left.take(headBytes), headBytes);
  groupCount_ = head.group;
  places_.writer = static_cast<uint16_t>(head.writer);
  if (!made_.commit(head.commandBytes)) return noMemory(head.commandBytes);
  if (head.commandBytes > 0) memcpy(made_.data(), commands, head.commandBytes);
  return applyCommands(made_.data(), head.commandBytes);
}

bool Recovery::loadSection(const uint8_t* payload, uint32_t bytes) {
  Payload left(payload, bytes);
  SectionHead head = {};
  if (!left.head(&head)) return false;
  Snapshot& snapshot = durable_.snapshot_;
  // The section of records comes after that of episodes, and is not there.
  if (head.section > EXRP_SECTION_RECORDS && status_ == Status::ok && !hasSkippedRecords_) {
    status_ = snapshot.skipRecords();
    hasSkippedRecords_ = true;
  }
  const auto itemBytes = static_cast<double>(left.left());
  if (status_ == Status::ok) status_ = snapshot.write(head.section, head.first, head.count, left.take(left.left()), itemBytes);
  return status_ == Status::ok;
}

bool Recovery::endCheckpoint() {
  if (!hasSkippedRecords_) status_ = durable_.snapshot_.skipRecords();
  if (status_ == Status::ok) status_ = durable_.snapshot_.end();
  if (status_ != Status::ok) return false;
  isLoading_ = false;
  status_ = places_.give(replay_);
  if (status_ != Status::ok) return false;
  // What came between the pieces of the checkpoint.
  Scratch<KeptFrame> frames;
  Scratch<uint8_t> bytes;
  frames.swap(frames_);
  bytes.swap(bytes_);
  const size_t count = frameCount_;
  frameCount_ = byteCount_ = 0;
  for (size_t k = 0; k < count; ++k) {
    const KeptFrame& kept = frames[k];
    const LogFrame frame = {kept.place, kept.type, bytes.data() + kept.at, kept.isRepaired};
    if (!take(frame)) return false;
  }
  return true;
}

// ---- a group ----

bool Recovery::applyGroup(const uint8_t* payload, uint32_t bytes) {
  Payload left(payload, bytes);
  GroupHead head = {};
  if (!left.head(&head) || head.number != groupCount_) return false;
  for (size_t at = 0; at < frameCount_; ++at) {
    const KeptFrame& kept = frames_[at];
    if (kept.type == commandsFrame && !applyCommands(bytes_.data() + kept.at, kept.place.bytes)) return false;
  }
  for (size_t at = 0; at < frameCount_ && status_ == Status::ok; ++at) {
    const KeptFrame& kept = frames_[at];
    const uint8_t* const from = bytes_.data() + kept.at;
    bool isRight = true;
    // A frame that was repaired is read now: else its repair would be told twice.
    if (isOfRows(kept.type)) status_ = applyRows(kept.type, kept.place, from, leavesRows_ && !kept.isRepaired ? Rows::left : Rows::now);
    // More was damaged than the bit that was repaired, so its rows are lost.
    if (kept.isRepaired && isOfRows(kept.type) && isUnfit(status_)) {
      report_->noteDamage(kept.place.position());
      status_ = Status::ok;
    }
    if (kept.type == carriedFrame) isRight = applyCarried(from, kept.place.bytes);
    if (kept.type == statisticsFrame) isRight = applyStatistics(from, kept.place.bytes);
    if (!isRight) return false;
  }
  if (status_ != Status::ok) return false;
  // Blocks whose frames were damaged: what they hold is lost.
  LoggedRows& logged = replay_.book().part<LoggedRows>();
  logged.takeUnwritten(
      [&](uint32_t block) {
        if (replay_.book().rowsOf(block).count > 0) logged.setPlace(block, {}, false);
      },
      [](uint32_t) {});
  const auto stateBytes = static_cast<uint32_t>(left.left());
  if (head.hasState == 1) {
    if (!giveState(left.take(stateBytes), stateBytes)) return false;
    durable_.hasState_ = true;
  }
  ++groupCount_;
  frameCount_ = byteCount_ = 0;
  return true;
}

bool Recovery::applyCommands(const uint8_t* bytes, uint32_t count) {
  for (Payload left(bytes, count); left.left() > 0;) {
    CommandHead head = {};
    if (!left.head(&head)) return false;
    const uint8_t* const arguments = left.take(padded(uint64_t{head.bytes}));
    if (arguments == nullptr) return false;
    status_ = again(apply(static_cast<Command>(head.command), arguments, head.bytes));
    if (status_ != Status::ok) return false;
  }
  return true;
}

Status Recovery::apply(Command command, const uint8_t* bytes, uint32_t count) {
  Payload left(bytes, count);
  HandleHead handle = {};
  EpisodeBook& book = replay_.book();
  switch (command) {
    case Command::writer:
    case Command::abandon: {
      uint64_t number = 0;
      if (!left.head(&number) || number > UINT16_MAX) return unfit();
      if (command == Command::abandon) endEpisodesOf(replay_, static_cast<uint16_t>(number));
      else book.setWriter(static_cast<uint16_t>(number));
      return Status::ok;
    }
    case Command::adopt: adoptEpisodes(replay_, 1); return Status::ok;
    case Command::createEpisode: return replay_.createEpisode(&handle_);
    case Command::clear: return replay_.clear();
    case Command::trimOpen: {
      double trimmed = 0;
      double first = 0;
      return replay_.trimOpen(&trimmed, &first);
    }
    case Command::recordMany:
    case Command::recordBatch:
    case Command::recordFlat: return applyRecords(command, bytes, count);
    case Command::setRows: {
      // Made again once all rows are there.
      const size_t whole = sizeof(CommandHead) + static_cast<size_t>(padded(count));
      if (!updates_.commit(updateBytes_ + whole)) return fail(Status::memory, static_cast<double>(updateBytes_ + whole));
      const CommandHead head = {static_cast<uint32_t>(command), count};
      memcpy(updates_.data() + updateBytes_, &head, sizeof head);
      memcpy(updates_.data() + updateBytes_ + sizeof head, bytes, count);
      updateBytes_ += whole;
      return Status::ok;
    }
    case Command::setPriority: return applyPicks(command, bytes, count);
    case Command::setLimits: {
      LimitsHead head = {};
      return left.head(&head) ? changeLimits(head, true) : unfit();
    }
    case Command::createView:
    case Command::createSelector:
      if (!durable_.commands_.keepMade(command, bytes, count)) return fail(Status::memory, count);
      return make(command, bytes, count);
    case Command::draw: {
      DrawHead head = {};
      return left.head(&head) ? drawing_.redraw(thread_, head.number, head.count) : unfit();
    }
    case Command::noteDraws: {
      DrawHead head = {};
      if (!left.head(&head) || head.number >= EXRP_LIMIT_LOGS) return unfit();
      durable_.statistics_.addDrawn(head.number, head.count);
      return Status::ok;
    }
    case Command::gather: {
      DrawHead head = {};
      if (!left.head(&head)) return unfit();
      const uint8_t* const indices = left.take(uint64_t{head.count} * sizeof(uint32_t));
      PickView* const view = replay_.picks().findView(head.number);
      if (indices == nullptr || view == nullptr) return unfit();
      return drawing_.regather(thread_, *view, reinterpret_cast<const uint32_t*>(indices), head.count);
    }
    default: break;
  }
  if (!left.head(&handle)) return unfit();
  switch (command) {
    case Command::tagEpisode: return replay_.tagEpisode(handle.handle, static_cast<int32_t>(handle.number));
    case Command::evictEpisode: return replay_.evictEpisode(handle.handle);
    case Command::trimEpisode: return replay_.trimEpisode(handle.handle, handle.number);
    case Command::release: return replay_.releaseRecords(handle.handle, handle.number);
    case Command::endEpisode: {
      const StateLeaves& leaves = book.store().leaves();
      uint32_t ended = 0;
      if (!steps_.commit(leaves.bytes())) return fail(Status::memory, leaves.bytes());
      return replay_.endEpisode(handle.handle, leaves.packed(steps_.data()), handle.number, &ended);
    }
    default: return unfit();
  }
}

/// Makes a pick view or a selector.
Status Recovery::make(Command command, const uint8_t* bytes, uint32_t count) {
  Payload left(bytes, count);
  if (command == Command::createView) {
    PickPolicy parsed;
    uint32_t view = 0;
    const Status status = PickPolicy::parse(reinterpret_cast<const double*>(bytes), count / uint32_t{sizeof(double)}, 2, &parsed);
    return status == Status::ok ? replay_.createView(parsed, &view) : status;
  }
  SelectorHead head = {};
  uint32_t selector = 0;
  if (!left.head(&head)) return unfit();
  const auto optionCount = static_cast<uint32_t>(left.left() / sizeof(double));
  return replay_.createSelector(head.view, head.kind, reinterpret_cast<const double*>(left.take(left.left())), optionCount, &selector);
}

Status Recovery::applyRecords(Command command, const uint8_t* bytes, uint32_t size) {
  Payload left(bytes, size);
  RecordsHead head = {};
  if (!left.head(&head) || head.count < 1 || head.count > EXRP_LIMIT_BATCH) return unfit();
  // No few bytes make room for many rows.
  if (command == Command::recordMany && head.count > durable_.commands_.runMax()) return unfit();
  const Store& store = replay_.book().store();
  const uint32_t count = head.count;
  double offsets[EXRP_STEPS_COLUMN + columnMax];
  const Status laidOut = recording_.stepsLayout(count, offsets);
  if (laidOut != Status::ok) return laidOut;
  const bool isBatch = command == Command::recordBatch;
  const uint8_t* const handles = left.take(isBatch ? uint64_t{count} * sizeof(double) : 0);
  const uint8_t* const own = left.take(command == Command::recordMany ? 0 : padded(count));
  const uint8_t* const priorities = left.take((head.flags & EXRP_RECORD_PRIORITY) != 0 ? uint64_t{count} * sizeof(double) : 0);
  const uint8_t* const tags = left.take((head.flags & EXRP_RECORD_TAG) != 0 ? uint64_t{count} * sizeof(int32_t) : 0);
  if (left.isShort()) return unfit();
  const auto at = [&](uint32_t part) { return static_cast<size_t>(offsets[part]); };
  uint64_t leaves[leafMax];
  const uint64_t whole = store.leaves().layOut(at(EXRP_STEPS_FINAL_STATE), uint64_t{count} + 1, leaves);
  const size_t listed = isBatch || command == Command::recordFlat ? size_t{count} * sizeof(double) : 0;
  if (!steps_.commit(static_cast<size_t>(padded(whole)) + listed)) return fail(Status::memory, static_cast<double>(whole));
  uint8_t* const steps = steps_.data();
  if (command == Command::recordMany) memset(steps, 0, count);
  else memcpy(steps + at(EXRP_STEPS_FLAGS), own, count);
  if ((head.flags & EXRP_RECORD_PRIORITY) != 0) memcpy(steps + at(EXRP_STEPS_PRIORITY), priorities, size_t{count} * sizeof(double));
  if ((head.flags & EXRP_RECORD_TAG) != 0) memcpy(steps + at(EXRP_STEPS_TAG), tags, size_t{count} * sizeof(int32_t));
  auto* const list = reinterpret_cast<double*>(steps + padded(whole));
  if (isBatch) memcpy(list, handles, size_t{count} * sizeof(double));
  const auto stepBytes = static_cast<double>(whole);
  if (head.handle != handleBefore) handle_ = head.handle;
  uint32_t done[2] = {};
  Status status = Status::ok;
  while (status == Status::ok && done[0] < count) {
    const uint32_t before = done[0];
    if (command == Command::recordMany) status = recording_.recordMany(&handle_, steps, stepBytes, count, head.flags, done);
    else if (isBatch) status = recording_.recordBatch(thread_, list, steps, stepBytes, count, head.flags, done);
    else status = recording_.recordFlat(&handle_, steps, stepBytes, count, head.flags, done, list);
    if (status == Status::ok && done[0] == before) return unfit();
  }
  return status;
}

Status Recovery::applyPicks(Command command, const uint8_t* bytes, uint32_t count) {
  Payload left(bytes, count);
  PicksHead head = {};
  if (!left.head(&head)) return unfit();
  const uint8_t* const handles = left.take(uint64_t{head.count} * sizeof(double));
  const uint8_t* const positions = left.take(padded(uint64_t{head.count} * sizeof(int32_t)));
  const uint8_t* const items = left.take(uint64_t{head.count} * head.itemBytes);
  if (left.isShort()) return unfit();
  const auto* const from = reinterpret_cast<const double*>(handles);
  const auto* const at = reinterpret_cast<const int32_t*>(positions);
  uint32_t applied = 0;
  if (command == Command::setPriority) {
    return drawing_.setPriority(thread_, head.number, from, at, items, head.itemBytes, head.count, &applied);
  }
  const Store& store = replay_.book().store();
  if (head.number < store.columnCount() && store.isKept(head.number)) {
    if (head.itemBytes != store.column(head.number).bytes) return unfit();
    for (uint32_t k = 0; k < head.count; ++k) setKeptRow(head.number, from[k], static_cast<uint32_t>(at[k]), items + size_t{k} * head.itemBytes);
    return Status::ok;
  }
  Status status = setRows(replay_, thread_, head.number, from, at, head.count, items, double{1} * head.count * head.itemBytes, &applied);
  // One of them may be no record any more.
  for (uint32_t k = 0; k < head.count && (k > 0 || status == Status::recordUnknown); ++k) {
    const uint8_t* const row = items + size_t{k} * head.itemBytes;
    status = setRows(replay_, thread_, head.number, from + k, at + k, 1, row, head.itemBytes, &applied);
    if (status == Status::recordUnknown) status = setFinalState(head.number, from[k], static_cast<uint32_t>(at[k]), row);
    if (status != Status::ok) return status;
  }
  return status;
}

/// Changes a row that only some records keep. Its record may have gone, while later ones still need the row.
void Recovery::setKeptRow(uint32_t column, double handle, uint32_t position, const uint8_t* row) {
  EpisodeBook& book = replay_.book();
  Store& store = book.store();
  if (book.checkHandle(handle) != Status::ok) return;
  const uint32_t episode = book.findEpisode(handle);
  if (episode == episodeNone) return;
  const uint32_t every = store.column(column).every;
  const uint32_t first = book.episodes().first(episode);
  const uint32_t kept = position - position % every;
  if (kept < first - first % every) return;
  const uint32_t block = book.blocks().find(store, static_cast<uint64_t>(handle), store.ordinalOf(kept));
  if (block != blockNone) book.changing(block);
  uint8_t* const to = block == blockNone ? store.kept().carriedAt(column, episode) : store.kept().at(column, block, kept);
  memcpy(to, row, store.column(column).bytes);
}

/// Changes the state of what was the newest record of its episode, until the episode was ended at that state.
Status Recovery::setFinalState(uint32_t column, double handle, uint32_t position, const uint8_t* row) {
  EpisodeBook& book = replay_.book();
  Store& store = book.store();
  const uint32_t episode = book.findEpisode(handle);
  if (episode == episodeNone || !book.episodes()[episode].ended() || position != book.episodes()[episode].count) return unfit();
  const uint32_t block = book.blocks().find(store, static_cast<uint64_t>(handle), store.ordinalOf(position));
  if (block == blockNone) return unfit();
  if (column >= store.leaves().count()) return Status::ok;
  const uint32_t slot = store.slotAt(block, position);
  if (store.isPacked(column)) return setPackedRow(book, column, slot, row);
  book.changing(block);
  memcpy(store.at(column, slot), row, store.column(column).bytes);
  return Status::ok;
}

// ---- rows ----

Status Recovery::applyRows(uint32_t type, const LogPlace& place, const uint8_t* payload, Rows when) {
  const bool isLate = when == Rows::late;
  Payload left(payload, place.bytes);
  LoggedBlockHead head = {};
  if (!left.head(&head)) return unfit();
  EpisodeBook& book = replay_.book();
  Store& store = book.store();
  const uint32_t block = book.blocks().find(store, head.handle, store.ordinalOf(head.position));
  if (block == blockNone) return unfit();
  const LoggedBlockHead now = loggedBlockHead(book, block);
  // One that is read late may have lost rows since. Where it has none, its position is that of the block, and only rows that some records keep matter.
  const bool isEmpty = isLate && now.rowCount == 0;
  const bool isSameEnd = isEmpty || now.position + now.rowCount == head.position + head.rowCount;
  const bool isSameBegin = isEmpty || (isLate ? head.position <= now.position : head.position == now.position);
  if (!isSameEnd || !isSameBegin || now.recordEnd != head.recordEnd) return unfit();
  const uint32_t stateBytes = head.hasNextState == 1 ? store.leaves().bytes() : 0;
  const bool isPacked = type == packedRowsFrame;
  const uint8_t* const next = checkLoggedBlock(store, head, isPacked, payload, place.bytes);
  if (next == nullptr || next + stateBytes != payload + place.bytes) return unfit();
  book.changing(block);
  if (when == Rows::left) {
    readLoggedKept(store, block, head, isPacked, payload);
    // The rows of zeros that the calls left.
    if (book.isFull(block)) store.packed().give(block);
  } else {
    Status read = store.source() == nullptr ? Status::ok : store.source()->makeRoom(place.bytes + 2 * store.packed().pieceBytes());
    if (read == Status::ok) read = readLoggedBlock(store, block, head, isPacked, book.isFull(block), payload);
    if (read != Status::ok) return read;
  }
  if (stateBytes > 0 && !isLate) {
    const uint32_t episode = store.head(block).episode;
    const uint32_t recordCount = book.episodes()[episode].count;
    if (book.part<NextStates>().find(episode, recordCount) == nullptr) return unfit();
    memcpy(book.part<NextStates>().reserve(episode, recordCount), next, stateBytes);
  }
  if (when == Rows::left) book.part<LoggedRows>().setPlace(block, place, false);
  else book.part<LoggedRows>().setWritten(block, place);
  durable_.resident_.written(block);
  return Status::ok;
}

bool Recovery::applyCarried(const uint8_t* payload, uint32_t bytes) {
  Payload left(payload, bytes);
  double handle = 0;
  if (!left.head(&handle)) return false;
  EpisodeBook& book = replay_.book();
  if (book.checkHandle(handle) != Status::ok) return false;
  const uint32_t episode = book.findEpisode(handle);
  if (episode == episodeNone) return false;
  KeptColumns& kept = book.store().kept();
  for (uint32_t k = 0; k < kept.count(); ++k) {
    const uint32_t columnBytes = book.store().column(kept.column(k)).bytes;
    const uint8_t* const row = left.take(columnBytes);
    if (row == nullptr) return false;
    memcpy(kept.carriedAt(kept.column(k), episode), row, columnBytes);
  }
  return left.left() == 0;
}

bool Recovery::applyStatistics(const uint8_t* payload, uint32_t bytes) {
  Payload left(payload, bytes);
  StatisticsHead head = {};
  if (!left.head(&head) || head.column >= replay_.book().store().columnCount()) return false;
  auto& statistics = replay_.book().part<ColumnStatistics>();
  ColumnStatistics::Of* const of = statistics.find(head.column);
  const uint64_t numberBytes = uint64_t{2} * head.count * sizeof(double);
  if (of == nullptr || of->count != head.count || left.left() != numberBytes || head.records > replay_.book().recordedCount()) return false;
  of->records = head.records;
  memcpy(of->numbers.data(), left.take(numberBytes), static_cast<size_t>(numberBytes));
  return statistics.check(replay_.book()) == 0;
}

/// Marks the blocks whose rows are needed at once: the newest one of each open episode, which gets more of them, and those in which rows are to be changed again.
Status Recovery::markNeeded(Scratch<uint8_t>& marks) const {
  const EpisodeBook& book = replay_.book();
  const Store& store = book.store();
  if (!marks.commit(store.highWater())) return fail(Status::memory, store.highWater());
  const EpisodeList& episodes = book.episodes();
  for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) {
    if (!episodes[episode].ended()) marks[episodes[episode].lastBlock] = 1;
  }
  for (Payload left(updates_.data(), updateBytes_); left.left() > 0;) {
    CommandHead command = {};
    if (!left.head(&command)) return unfit();
    Payload arguments(left.take(padded(uint64_t{command.bytes})), command.bytes);
    PicksHead head = {};
    if (left.isShort() || !arguments.head(&head)) return unfit();
    const auto* const handles = reinterpret_cast<const double*>(arguments.take(uint64_t{head.count} * sizeof(double)));
    const auto* const positions = reinterpret_cast<const int32_t*>(arguments.take(uint64_t{head.count} * sizeof(int32_t)));
    if (arguments.isShort()) return unfit();
    for (uint32_t k = 0; k < head.count; ++k) {
      if (book.checkHandle(handles[k]) != Status::ok) continue;
      const uint32_t block = book.blocks().find(store, static_cast<uint64_t>(handles[k]), store.ordinalOf(static_cast<uint32_t>(positions[k])));
      if (block != blockNone) marks[block] = 1;
    }
  }
  return Status::ok;
}

/// Leaves the rows of older blocks on the disk, where they are many, but for those that are needed at once.
Status Recovery::leaveUnread() {
  EpisodeBook& book = replay_.book();
  const Store& store = book.store();
  LoggedRows& logged = book.part<LoggedRows>();
  const auto isOld = [&](uint32_t block) {
    return store.isTaken(block) && logged.isUnread(block) && logged.place(block).segment != 0 && book.rowsOf(block).count > 0;
  };
  uint64_t bytes = 0;
  for (uint32_t block = 0; block < store.highWater(); ++block) bytes += isOld(block) ? logged.place(block).bytes : 0;
  if (bytes <= durable_.options_.readNowBytes) return Status::ok;
  UnreadRows& unread = durable_.resident_.unread();
  Scratch<uint8_t> needed;
  const Status status = markNeeded(needed);
  if (status != Status::ok) return status;
  if (!unread.create(store.highWater())) return fail(Status::memory, store.highWater());
  const uint64_t bytesMax = loggedBlockBytesMax(store);
  for (uint32_t block = 0; block < store.highWater(); ++block) {
    if (needed[block] != 0 || !isOld(block)) continue;
    const LogPlace place = logged.place(block);
    if (place.bytes > bytesMax) return unfit();
    book.changing(block);
    logged.setWritten(block, place);
    book.store().packed().give(block);
    unread.add(block);
  }
  durable_.resident_.beginUnread();
  return Status::ok;
}

/// Reads the rows of blocks that were written before the checkpoint and not left unread, and lists the episodes of blocks whose rows are lost.
Status Recovery::readOldRows() {
  EpisodeBook& book = replay_.book();
  const LoggedRows& logged = book.part<LoggedRows>();
  const uint64_t bytesMax = loggedBlockBytesMax(book.store());
  Scratch<uint8_t> payload;
  for (uint32_t block = 0; block < book.store().highWater(); ++block) {
    if (!book.store().isTaken(block) || !logged.isUnread(block)) continue;
    // Once all its rows have gone, a block was not written again.
    if (book.store().kept().count() == 0 && book.rowsOf(block).count == 0) continue;
    const LogPlace place = logged.place(block);
    uint32_t type = 0;
    LogStatus read = place.segment == 0 ? LogStatus::damaged : LogStatus::ok;
    if (place.bytes > bytesMax) return unfit();
    if (!payload.commit(place.bytes)) return fail(Status::memory, place.bytes);
    LogFailure failure;
    bool isRepaired = false;
    if (read == LogStatus::ok) read = durable_.log_.read(place, payload.data(), &type, &failure, &isRepaired);
    if (read == LogStatus::ok) {
      Status status = isOfRows(type) ? applyRows(type, place, payload.data(), Rows::late) : unfit();
      // They were another block's.
      if (status == Status::ok && logged.isUnread(block)) status = unfit();
      if (status != Status::ok && !(isRepaired && isUnfit(status))) return status;
      if (status == Status::ok && isRepaired) ++report_->repairedCount;
      if (status == Status::ok) continue;
      // More was damaged than the bit that was repaired.
      read = LogStatus::damaged;
    }
    if (read == LogStatus::memory) return fail(Status::memory, place.bytes);
    if (read != LogStatus::damaged && read != LogStatus::unknown) return logStatus(read, failure.error);
    report_->noteDamage(place.position());
    ++report_->lostBlocks;
    if (!lost_.commit(lostCount_ + 1)) return fail(Status::memory, 8);
    lost_[lostCount_++] = static_cast<double>(book.store().handleOf(block));
  }
  return Status::ok;
}

}  // namespace exrp
