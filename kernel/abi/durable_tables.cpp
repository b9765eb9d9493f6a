// The C ABI of durable tables. exrp.h has the contract.
#define EXRP_BUILD 1

#include <new>
#include <string.h>

#include "kernel/abi/tables_registry.hpp"
#include "kernel/base/whole_number.hpp"
#include "kernel/durable/tables_recovery.hpp"

using exrp::DurableOptions;
using exrp::DurableTables;
using exrp::fail;
using exrp::OwnedTables;
using exrp::Status;
using exrp::tablesRegistry;
using exrp::withOwnedTables;

namespace {

constexpr uint32_t pathMax = 4096;
constexpr uint32_t optionCount = EXRP_DURABLE_GOES_ON + 1;
constexpr uint32_t reportCount = EXRP_RECOVERY_STATE_BYTES + 1;

Status closed() { return fail(Status::log, EXRP_LOG_CLOSED); }

Status parse(const double* options, DurableOptions* parsed) {
  for (uint32_t at = 0; at < optionCount; ++at) {
    const bool isFlag = at == EXRP_DURABLE_IS_NEW || at == EXRP_DURABLE_HAS_STATE || at == EXRP_DURABLE_GOES_ON;
    const bool isWide = at == EXRP_DURABLE_QUEUE_BYTES || at == EXRP_DURABLE_CHECKPOINT_BYTES;
    if (!exrp::isWhole(options[at], 0, isFlag ? 1 : isWide ? 0x1p53 : UINT32_MAX)) return fail(Status::argument, 4, options[at]);
  }
  parsed->log.flushIntervalMs = static_cast<uint32_t>(options[EXRP_DURABLE_FLUSH_INTERVAL_MS]);
  parsed->log.segmentBytes = static_cast<uint32_t>(options[EXRP_DURABLE_SEGMENT_BYTES]);
  parsed->log.queueBytes = static_cast<uint64_t>(options[EXRP_DURABLE_QUEUE_BYTES]);
  parsed->checkpointBytes = static_cast<uint64_t>(options[EXRP_DURABLE_CHECKPOINT_BYTES]);
  parsed->goesOn = options[EXRP_DURABLE_GOES_ON] == 1;
  return Status::ok;
}

Status open(OwnedTables& found, const char* path, const double* numbers, double* report) {
  if (!exrp::hasDisk) return closed();
  if (found.durable != nullptr) return fail(Status::log, EXRP_LOG_TAKEN);
  DurableOptions options;
  Status status = parse(numbers, &options);
  if (status != Status::ok) return status;
  std::unique_ptr<DurableTables, exrp::EndDurableTables> made(new (std::nothrow) DurableTables(found.tables));
  if (made == nullptr) return fail(Status::memory, sizeof(DurableTables));
  const bool isNew = numbers[EXRP_DURABLE_IS_NEW] == 1;
  status = made->openFolder(path, isNew);
  exrp::RecoveryReport told;
  if (status == Status::ok) status = isNew ? made->create(options) : exrp::TablesRecovery(*made).open(options, &told);
  if (status != Status::ok) return status;
  report[EXRP_RECOVERY_GROUPS] = static_cast<double>(told.groupCount);
  report[EXRP_RECOVERY_TAIL_BYTES] = static_cast<double>(told.tailBytes);
  report[EXRP_RECOVERY_REPAIRED] = static_cast<double>(told.repairedCount);
  report[EXRP_RECOVERY_LOST_BLOCKS] = static_cast<double>(told.lostBlocks);
  report[EXRP_RECOVERY_DAMAGE_SEGMENT] = told.damage.segment;
  report[EXRP_RECOVERY_DAMAGE_OFFSET] = told.damage.offset;
  report[EXRP_RECOVERY_STATE_BYTES] = told.stateBytes;
  found.durable = std::move(made);
  return Status::ok;
}

template <typename Use>
int32_t withDurable(uint32_t tables, Use use) {
  return withOwnedTables(tables, [&](OwnedTables& found) { return !exrp::hasDisk || found.durable == nullptr ? closed() : use(*found.durable); });
}

}  // namespace

extern "C" {

int32_t exrp_tables_durable_open(uint32_t tables, const uint8_t* path, uint32_t path_size, const double* options, uint32_t option_count,
                                 double* report, uint32_t report_count) {
  return withOwnedTables(tables, [&](OwnedTables& found) {
    if (option_count < optionCount) return fail(Status::argument, 5, option_count);
    if (report_count < reportCount) return fail(Status::bufferSize, report_count, reportCount);
    if (path_size >= pathMax) return fail(Status::argument, 2, path_size);
    char text[pathMax] = {};
    memcpy(text, path, path_size);
    return open(found, text, options, report);
  });
}

int32_t exrp_tables_durable_state(uint32_t tables, uint8_t* state, uint32_t state_size) {
  return withDurable(tables, [&](DurableTables& durable) {
    const exrp::ByteSpan has = durable.state();
    if (state_size < has.size) return fail(Status::bufferSize, state_size, static_cast<double>(has.size));
    if (has.size > 0) memcpy(state, has.data, has.size);
    return Status::ok;
  });
}

int32_t exrp_tables_durable_note(uint32_t tables, const uint8_t* state, uint32_t state_size, double* ticket) {
  return withDurable(tables, [&](DurableTables& durable) {
    const Status status = durable.setState(state, state_size);
    if (status == Status::ok) *ticket = static_cast<double>(durable.requestFlush());
    return status;
  });
}

int32_t exrp_tables_durable_wait(uint32_t tables, double ticket, uint32_t timeout_ms) {
  OwnedTables* const found = tablesRegistry() == nullptr ? nullptr : tablesRegistry()->enter(tables);
  if (found == nullptr) return static_cast<int32_t>(fail(Status::tablesUnknown, tables));
  DurableTables* const durable = found->durable.get();
  const Status status = !exrp::hasDisk || durable == nullptr ? closed() : durable->waitFlushed(static_cast<uint64_t>(ticket), timeout_ms);
  tablesRegistry()->leave(found);
  return static_cast<int32_t>(status);
}

int32_t exrp_tables_durable_info(uint32_t tables, double* info, uint32_t info_count) {
  return withOwnedTables(tables, [&](OwnedTables& found) {
    if (info_count < EXRP_DURABLE_INFO_COUNT) return fail(Status::bufferSize, info_count, EXRP_DURABLE_INFO_COUNT);
    for (uint32_t at = 0; at < EXRP_DURABLE_INFO_COUNT; ++at) info[at] = 0;
    if (!exrp::hasDisk || found.durable == nullptr) return Status::ok;
    exrp::Log& log = found.durable->stream();
    const exrp::LogCounts counts = log.counts();
    info[EXRP_DURABLE_INFO_OPEN] = 1;
    info[EXRP_DURABLE_INFO_FAILED] = static_cast<double>(found.durable->failedBy());
    info[EXRP_DURABLE_INFO_WRITTEN_BYTES] = static_cast<double>(counts.writtenBytes);
    info[EXRP_DURABLE_INFO_SYNCS] = static_cast<double>(counts.syncCount);
    info[EXRP_DURABLE_INFO_QUEUED_BYTES] = static_cast<double>(counts.queuedBytes);
    exrp::LogSegments segments;
    if (log.segments(&segments) != exrp::LogStatus::ok) return Status::ok;
    info[EXRP_DURABLE_INFO_SEGMENTS] = static_cast<double>(segments.count);
    for (size_t at = 0; at < segments.count; ++at) info[EXRP_DURABLE_INFO_LOG_BYTES] += static_cast<double>(segments.segments[at].bytes);
    return Status::ok;
  });
}

}  // extern "C"
