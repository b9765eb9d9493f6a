// What the calls of durable replays and of durable tables have in common: paths, options, and what is told of a log.
//
// Thread safety: plain functions.
#pragma once

#include <string.h>

#include "kernel/base/whole_number.hpp"
#include "kernel/durable/log_recovery.hpp"

namespace exrp {

inline Status closedLog() { return fail(Status::log, EXRP_LOG_CLOSED); }

/// The text of a path, which is not longer than there is room for.
struct Path {
  static constexpr uint32_t max = 4096;

  char text[max] = {};
  Status read(const uint8_t* path, uint32_t size, uint32_t argument) {
    if (size >= max) return fail(Status::argument, argument, size);
    memcpy(text, path, size);
    return Status::ok;
  }
};

/// Reads the options before `count`, all of which both kinds may have, or are limits.
inline Status parseDurable(const double* options, uint32_t count, DurableOptions* parsed) {
  for (uint32_t at = 0; at < count; ++at) {
    const bool isFlag = at == EXRP_DURABLE_HAS_STATE || at == EXRP_DURABLE_GOES_ON;
    const bool isLimit = at == EXRP_DURABLE_CAPACITY_BYTES || at == EXRP_DURABLE_AGE_MAX;
    const bool isWide = at == EXRP_DURABLE_QUEUE_BYTES || at == EXRP_DURABLE_CHECKPOINT_BYTES || isLimit;
    if ((isLimit || at == EXRP_DURABLE_CAPACITY) && options[at] == EXRP_DURABLE_KEEP) continue;
    if (!isWhole(options[at], 0, isFlag ? 1 : at == EXRP_DURABLE_IS_NEW ? EXRP_DURABLE_READS : isWide ? 0x1p53 : UINT32_MAX)) return fail(Status::argument, 4, options[at]);
  }
  parsed->log.flushIntervalMs = static_cast<uint32_t>(options[EXRP_DURABLE_FLUSH_INTERVAL_MS]);
  parsed->log.segmentBytes = static_cast<uint32_t>(options[EXRP_DURABLE_SEGMENT_BYTES]);
  parsed->log.queueBytes = static_cast<uint64_t>(options[EXRP_DURABLE_QUEUE_BYTES]);
  parsed->checkpointBytes = static_cast<uint64_t>(options[EXRP_DURABLE_CHECKPOINT_BYTES]);
  parsed->goesOn = options[EXRP_DURABLE_GOES_ON] == 1;
  return Status::ok;
}

inline OpenFolder howToOpen(const double* options) {
  const double isNew = options[EXRP_DURABLE_IS_NEW];
  return isNew == 1 ? OpenFolder::make : isNew == EXRP_DURABLE_READS ? OpenFolder::read : OpenFolder::write;
}

/// Copies the caller's state.
inline Status readState(const DurableLog& log, uint8_t* state, uint32_t stateSize) {
  if (stateSize < log.stateBytes()) return fail(Status::bufferSize, stateSize, log.stateBytes());
  if (log.stateBytes() > 0) memcpy(state, log.state(), log.stateBytes());
  return Status::ok;
}

/// Fills the numbers up to EXRP_RECOVERY_STATE_BYTES.
inline void tellRecovery(const RecoveryReport& found, double* report) {
  report[EXRP_RECOVERY_GROUPS] = static_cast<double>(found.groupCount);
  report[EXRP_RECOVERY_TAIL_BYTES] = static_cast<double>(found.tailBytes);
  report[EXRP_RECOVERY_REPAIRED] = static_cast<double>(found.repairedCount);
  report[EXRP_RECOVERY_LOST_BLOCKS] = static_cast<double>(found.lostBlocks);
  report[EXRP_RECOVERY_DAMAGE_SEGMENT] = found.damage.segment;
  report[EXRP_RECOVERY_DAMAGE_OFFSET] = found.damage.offset;
  report[EXRP_RECOVERY_STATE_BYTES] = found.stateBytes;
}

/// Fills the EXRP_DURABLE_INFO_* of a log that is open.
inline void tellLog(DurableLog& durable, double* info) {
  Log& log = durable.stream();
  const LogCounts counts = log.counts();
  info[EXRP_DURABLE_INFO_OPEN] = 1;
  info[EXRP_DURABLE_INFO_FAILED] = static_cast<double>(durable.failedBy());
  info[EXRP_DURABLE_INFO_WRITTEN_BYTES] = static_cast<double>(counts.writtenBytes);
  info[EXRP_DURABLE_INFO_SYNCS] = static_cast<double>(counts.syncCount);
  info[EXRP_DURABLE_INFO_QUEUED_BYTES] = static_cast<double>(counts.queuedBytes);
  info[EXRP_DURABLE_INFO_LOG_BYTES] = static_cast<double>(counts.logBytes);
  LogSegments segments;
  if (log.segments(&segments) != LogStatus::ok) return;
  info[EXRP_DURABLE_INFO_SEGMENTS] = static_cast<double>(segments.count);
}

}  // namespace exrp
