#include "kernel/durable/command_writer.hpp"

#include <cstring>

#include "kernel/base/padded.hpp"

namespace exrp {
namespace {

constexpr uint32_t firstRoom = 4096;        // of a frame of commands
constexpr uint32_t rowsBytesMax = 1 << 20;  // of the rows that one command changes, unless one row has more

}  // namespace

// ---- frames ----

/// Room for so many bytes in the frame; null where the log has failed.
uint8_t* CommandWriter::room(uint32_t bytes) {
  if (frame_ != nullptr && frameBytes_ + bytes > frameRoom_) {
    const uint32_t ample = frameBytes_ + bytes + frameRoom_;
    if (log_.stream().extend(ample)) frameRoom_ = ample;
    else if (log_.stream().extend(frameBytes_ + bytes)) frameRoom_ = frameBytes_ + bytes;
    else end();
  }
  if (frame_ == nullptr) {
    frameRoom_ = bytes < firstRoom ? firstRoom : bytes;
    frameBytes_ = 0;
    frame_ = log_.beginFrame(frameRoom_);
    if (frame_ == nullptr) return nullptr;
  }
  uint8_t* const place = frame_ + frameBytes_;
  frameBytes_ += bytes;
  pendingBytes_ += bytes;
  return place;
}

void CommandWriter::end() {
  lastRun_ = 0;
  if (frame_ == nullptr) return;
  frame_ = nullptr;
  log_.endFrame(commandsFrame, frameBytes_);
}

void CommandWriter::drop() {
  lastRun_ = 0;
  if (frame_ != nullptr) log_.stream().drop();
  frame_ = nullptr;
}

// ---- commands ----

/// Says which seat's calls follow, where it is another one.
void CommandWriter::putWriter() {
  if (book_.writer() == writer_) return;
  writer_ = book_.writer();
  const uint64_t number = writer_;
  put(Command::writer, {{&number, sizeof number}});
}

void CommandWriter::put(Command command, std::initializer_list<LogPiece> pieces) {
  putWriter();
  uint64_t bytes = 0;
  for (const LogPiece& piece : pieces) bytes += piece.size;
  if (bytes > frameBytesMax - sizeof(CommandHead) - 8) return log_.fail(LogStatus::argument);
  uint8_t* to = room(static_cast<uint32_t>(sizeof(CommandHead) + padded(bytes)));
  if (to == nullptr) return;
  const CommandHead head = {static_cast<uint32_t>(command), static_cast<uint32_t>(bytes)};
  memcpy(to, &head, sizeof head);
  to += sizeof head;
  const uint8_t* const arguments = to;
  for (const LogPiece& piece : pieces) {
    if (piece.size > 0) memcpy(to, piece.bytes, piece.size);
    to += piece.size;
  }
  memset(to, 0, static_cast<size_t>(padded(bytes) - bytes));
  lastRun_ = 0;
  const bool isMade = command == Command::createView || command == Command::createSelector;
  if (isMade && !keepMade(command, arguments, head.bytes)) log_.fail(LogStatus::memory);
}

void CommandWriter::putRecord(double handle, uint32_t flags, const uint8_t* priority, const uint8_t* tag) {
  constexpr uint32_t ofCall = EXRP_RECORD_NEXT_STATE | EXRP_RECORD_PRIORITY | EXRP_RECORD_TAG;
  const LogPiece priorities = {priority, (flags & EXRP_RECORD_PRIORITY) != 0 ? 8u : 0u};
  const LogPiece tags = {tag, (flags & EXRP_RECORD_TAG) != 0 ? 4u : 0u};
  if ((flags & EXRP_RECORD_NEXT_STATE) != 0) {
    const uint64_t flagsOfStep = flags & ~ofCall;
    const RecordsHead batch = {0, flags & ofCall, 1};
    return put(Command::recordBatch, {{&batch, sizeof batch}, {&handle, sizeof handle}, {&flagsOfStep, 8}, priorities, tags});
  }
  const RecordsHead head = {handle, flags, 1};
  put(Command::recordMany, {{&head, sizeof head}, priorities, tags});
  if (flags == 0 && frame_ != nullptr) lastRun_ = frameBytes_ - static_cast<uint32_t>(sizeof head);
}

void CommandWriter::putSteps(Command command, const double* handles, const uint8_t* steps, uint32_t first, uint32_t end, uint32_t count,
                             uint32_t flags) {
  const uint8_t* const own = steps;
  const uint8_t* const priorities = steps + padded(count);
  const uint8_t* const tags = priorities + size_t{count} * sizeof(double);
  constexpr uint32_t with = EXRP_RECORD_PRIORITY | EXRP_RECORD_TAG;
  const bool hasOwn = command != Command::recordMany;
  const bool isBatch = command == Command::recordBatch;
  // Only the last step of the call may end an episode, or have a next state.
  uint32_t at = first;
  double handle = isBatch ? 0 : handles[0];
  while (at < end) {
    const uint32_t most = command == Command::recordMany && end - at > runMax_ ? runMax_ : end - at;
    const bool isLast = at + most == count;
    uint32_t said = flags;
    if (!isLast && !isBatch) said &= with;
    const RecordsHead head = {handle, said, most};
    const uint64_t zero = 0;
    const auto flagBytes = hasOwn ? most : 0;
    put(command, {{&head, sizeof head},
                  {handles + at, isBatch ? most * uint32_t{sizeof(double)} : 0},
                  {own + at, flagBytes},
                  {&zero, static_cast<uint32_t>(padded(flagBytes) - flagBytes)},
                  {priorities + size_t{at} * sizeof(double), (flags & EXRP_RECORD_PRIORITY) != 0 ? most * uint32_t{sizeof(double)} : 0},
                  {tags + size_t{at} * sizeof(int32_t), (flags & EXRP_RECORD_TAG) != 0 ? most * uint32_t{sizeof(int32_t)} : 0}});
    at += most;
    handle = handleBefore;
  }
}

void CommandWriter::putPicks(Command command, uint32_t number, const double* handles, const int32_t* positions, const uint8_t* items,
                             uint32_t itemBytes, uint32_t count) {
  const PicksHead head = {number, count, itemBytes, 0};
  const uint64_t zero = 0;
  put(command, {{&head, sizeof head},
                {handles, count * uint32_t{sizeof(double)}},
                {positions, count * uint32_t{sizeof(int32_t)}},
                {&zero, count % 2 * 4},
                {items, count * itemBytes}});
}

void CommandWriter::putRows(uint32_t column, const double* handles, const int32_t* positions, const uint8_t* rows, uint32_t rowBytes, uint32_t count) {
  const bool isKept = book_.store().isKept(column);
  // Recovery changes rows in the end. Then nobody knows any more which records were gone already, while the row that they had is still there.
  const auto isGone = [&](uint32_t at) {
    const uint32_t episode = isKept ? book_.findEpisode(handles[at]) : 0;
    return isKept && (episode == episodeNone || static_cast<uint32_t>(positions[at]) < book_.episodes().first(episode));
  };
  const uint32_t most = rowBytes < rowsBytesMax ? rowsBytesMax / rowBytes : 1;
  for (uint32_t at = 0; at < count;) {
    uint32_t end = at;
    while (end < count && end - at < most && !isGone(end)) ++end;
    if (end > at) putPicks(Command::setRows, column, handles + at, positions + at, rows + size_t{at} * rowBytes, rowBytes, end - at);
    at = end > at ? end : at + 1;
  }
}

const double* CommandWriter::keepHandles(const double* handles, uint32_t count) {
  if (!handles_.commit(count)) {
    log_.fail(LogStatus::memory);
    return handles;
  }
  memcpy(handles_.data(), handles, size_t{count} * sizeof(double));
  return handles_.data();
}

bool CommandWriter::keepMade(Command command, const uint8_t* arguments, uint32_t bytes) {
  const auto whole = static_cast<uint32_t>(sizeof(CommandHead) + padded(bytes));
  if (!made_.commit(madeBytes_ + whole)) return false;
  const CommandHead head = {static_cast<uint32_t>(command), bytes};
  memcpy(&made_[madeBytes_], &head, sizeof head);
  memcpy(&made_[madeBytes_ + sizeof head], arguments, bytes);
  madeBytes_ += whole;
  return true;
}

}  // namespace exrp
