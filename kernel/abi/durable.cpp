// The C ABI of durable replays. exrp.h has the contract.
#define EXRP_BUILD 1

#include <new>
#include <string.h>

#include "kernel/abi/replay_calls.hpp"
#include "kernel/base/whole_number.hpp"
#include "kernel/durable/recovery.hpp"

using exrp::Durable;
using exrp::DurableOptions;
using exrp::fail;
using exrp::Instance;
using exrp::number;
using exrp::registry;
using exrp::Seat;
using exrp::Status;
using exrp::ThreadScratch;
using exrp::withReplay;
using exrp::withRoom;
using exrp::withWhole;

namespace {

constexpr uint32_t pathMax = 4096;

Status closed() { return fail(Status::log, EXRP_LOG_CLOSED); }

/// Reads the options of exrp_durable_open().
Status parse(const double* options, uint32_t count, DurableOptions* parsed) {
  if (count != EXRP_DURABLE_OPTION_COUNT) return fail(Status::argument, 5, count);
  for (uint32_t at = 0; at < count; ++at) {
    const bool isFlag = at == EXRP_DURABLE_IS_NEW || at == EXRP_DURABLE_HAS_STATE || at == EXRP_DURABLE_GOES_ON;
    const bool isWide = at == EXRP_DURABLE_QUEUE_BYTES || at == EXRP_DURABLE_CHECKPOINT_BYTES;
    if (!exrp::isWhole(options[at], 0, isFlag ? 1 : isWide ? 0x1p53 : UINT32_MAX)) return fail(Status::argument, 4, options[at]);
  }
  parsed->log.flushIntervalMs = static_cast<uint32_t>(options[EXRP_DURABLE_FLUSH_INTERVAL_MS]);
  parsed->log.segmentBytes = static_cast<uint32_t>(options[EXRP_DURABLE_SEGMENT_BYTES]);
  parsed->log.queueBytes = static_cast<uint64_t>(options[EXRP_DURABLE_QUEUE_BYTES]);
  parsed->groupBytes = static_cast<uint32_t>(options[EXRP_DURABLE_GROUP_BYTES]);
  parsed->checkpointBytes = static_cast<uint64_t>(options[EXRP_DURABLE_CHECKPOINT_BYTES]);
  parsed->hasState = options[EXRP_DURABLE_HAS_STATE] == 1;
  parsed->goesOn = options[EXRP_DURABLE_GOES_ON] == 1;
  return Status::ok;
}

Status open(Instance& found, ThreadScratch& thread, const char* path, const double* numbers, uint32_t count, double* report) {
  if (!exrp::hasDisk) return closed();
  DurableOptions options;
  Status status = parse(numbers, count, &options);
  if (status != Status::ok) return status;
  if (found.durable != nullptr) return fail(Status::log, EXRP_LOG_TAKEN);
  std::unique_ptr<Durable, exrp::EndDurable> made(new (std::nothrow) Durable(found.replay, found.snapshot, found.statistics));
  if (made == nullptr) return fail(Status::memory, sizeof(Durable));
  const bool isNew = numbers[EXRP_DURABLE_IS_NEW] == 1;
  status = made->openFolder(path, isNew);
  exrp::RecoveryReport found_;
  if (status == Status::ok && isNew) status = made->create(options);
  if (status == Status::ok && !isNew) status = exrp::Recovery(*made, found.recording, found.drawing, thread).open(options, &found_);
  if (status != Status::ok) return status;
  report[EXRP_RECOVERY_GROUPS] = static_cast<double>(found_.groupCount);
  report[EXRP_RECOVERY_TAIL_BYTES] = static_cast<double>(found_.tailBytes);
  report[EXRP_RECOVERY_REPAIRED] = static_cast<double>(found_.repairedCount);
  report[EXRP_RECOVERY_LOST_BLOCKS] = static_cast<double>(found_.lostBlocks);
  report[EXRP_RECOVERY_DAMAGE_SEGMENT] = found_.damage.segment;
  report[EXRP_RECOVERY_DAMAGE_OFFSET] = found_.damage.offset;
  report[EXRP_RECOVERY_STATE_BYTES] = found_.stateBytes;
  found.durable = std::move(made);
  return Status::ok;
}

}  // namespace

extern "C" {

int32_t exrp_durable_open(uint32_t replay, const uint8_t* path, uint32_t path_size, const double* options, uint32_t option_count, double* report,
                          uint32_t report_count) {
  return withWhole(replay, [&](Seat& at) {
    if (at.flags.isShared()) return fail(Status::notSharable, EXRP_SHARE_LOADING);
    if (report_count < EXRP_RECOVERY_COUNT) return fail(Status::bufferSize, report_count, EXRP_RECOVERY_COUNT);
    if (path_size >= pathMax) return fail(Status::argument, 2, path_size);
    char text[pathMax] = {};
    memcpy(text, path, path_size);
    return open(at.instance, at.scratch, text, options, option_count, report);
  });
}

int32_t exrp_durable_state(uint32_t replay, uint8_t* state, uint32_t state_size) {
  return withReplay(replay, [&](Instance& found) {
    if (!found.isDurable()) return closed();
    if (state_size < found.durable->stateBytes()) return fail(Status::bufferSize, state_size, found.durable->stateBytes());
    if (found.durable->stateBytes() > 0) memcpy(state, found.durable->state(), found.durable->stateBytes());
    return Status::ok;
  });
}

int32_t exrp_durable_group(uint32_t replay, const uint8_t* state, uint32_t state_size, uint32_t has_state, double* ticket) {
  return withWhole(replay, [&](Instance& found) {
    if (!found.isDurable()) return closed();
    const Status status = found.durable->endGroup(state, state_size, has_state != 0);
    if (status == Status::ok) *ticket = static_cast<double>(found.durable->requestFlush());
    return status;
  });
}

int32_t exrp_durable_wait(uint32_t replay, double ticket, uint32_t timeout_ms) {
  Seat* const seat = registry() == nullptr ? nullptr : registry()->enter(replay);
  if (seat == nullptr) return number(fail(Status::replayUnknown, replay));
  Durable* const durable = seat->instance.durable.get();
  const Status status = !seat->instance.isDurable() ? closed() : durable->waitFlushed(static_cast<uint64_t>(ticket), timeout_ms);
  registry()->leave(seat);
  return number(status);
}

int32_t exrp_durable_info(uint32_t replay, double* info, uint32_t info_count) {
  return withRoom(replay, info_count, EXRP_DURABLE_INFO_COUNT, [&](Instance& found) {
    for (uint32_t at = 0; at < EXRP_DURABLE_INFO_COUNT; ++at) info[at] = 0;
    if (!found.isDurable()) return;
    exrp::Log& log = found.durable->stream();
    const exrp::LogCounts counts = log.counts();
    info[EXRP_DURABLE_INFO_OPEN] = 1;
    info[EXRP_DURABLE_INFO_FAILED] = static_cast<double>(found.durable->failedBy());
    info[EXRP_DURABLE_INFO_WRITTEN_BYTES] = static_cast<double>(counts.writtenBytes);
    info[EXRP_DURABLE_INFO_SYNCS] = static_cast<double>(counts.syncCount);
    info[EXRP_DURABLE_INFO_QUEUED_BYTES] = static_cast<double>(counts.queuedBytes);
    exrp::LogSegments segments;
    if (log.segments(&segments) != exrp::LogStatus::ok) return;
    info[EXRP_DURABLE_INFO_SEGMENTS] = static_cast<double>(segments.count);
    for (size_t at = 0; at < segments.count; ++at) info[EXRP_DURABLE_INFO_LOG_BYTES] += static_cast<double>(segments.segments[at].bytes);
  });
}

}  // extern "C"
