// The C ABI of durable tables. exrp.h has the contract.
#define EXRP_BUILD 1

#include <new>

#include "kernel/abi/durable_calls.hpp"
#include "kernel/abi/tables_registry.hpp"
#include "kernel/durable/tables_recovery.hpp"

using namespace exrp;

namespace {

constexpr uint32_t optionCount = EXRP_DURABLE_GOES_ON + 1;
constexpr uint32_t reportCount = EXRP_RECOVERY_STATE_BYTES + 1;

Status open(OwnedTables& found, const char* path, const double* numbers, double* report) {
  if (found.durable != nullptr) return fail(Status::log, EXRP_LOG_TAKEN);
  DurableOptions options;
  Status status = parseDurable(numbers, optionCount, &options);
  if (status != Status::ok) return status;
  std::unique_ptr<DurableTables> made(new (std::nothrow) DurableTables(found.tables));
  if (made == nullptr) return fail(Status::memory, sizeof(DurableTables));
  const bool isNew = numbers[EXRP_DURABLE_IS_NEW] == 1;
  status = made->openFolder(path, howToOpen(numbers));
  RecoveryReport told;
  if (status == Status::ok) status = isNew ? made->create(options) : TablesRecovery(*made).open(options, &told);
  if (status != Status::ok) return status;
  tellRecovery(told, report);
  found.durable = std::move(made);
  return Status::ok;
}

template <typename Use>
int32_t withDurable(uint32_t tables, Use use) {
  return withOwnedTables(tables, [&](OwnedTables& found) { return found.durable == nullptr ? closedLog() : use(*found.durable); });
}

}  // namespace

extern "C" {

int32_t exrp_tables_durable_open(uint32_t tables, const uint8_t* path, uint32_t path_size, const double* options, uint32_t option_count,
                                 double* report, uint32_t report_count) {
  return withOwnedTables(tables, [&](OwnedTables& found) {
    if (option_count < optionCount) return fail(Status::argument, 5, option_count);
    if (report_count < reportCount) return fail(Status::bufferSize, report_count, reportCount);
    Path folder;
    const Status status = folder.read(path, path_size, 2);
    return status == Status::ok ? open(found, folder.text, options, report) : status;
  });
}

int32_t exrp_tables_durable_state(uint32_t tables, uint8_t* state, uint32_t state_size) {
  return withDurable(tables, [&](const DurableTables& durable) { return readState(durable, state, state_size); });
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
  const Status status = durable == nullptr ? closedLog() : durable->waitFlushed(static_cast<uint64_t>(ticket), timeout_ms);
  tablesRegistry()->leave(found);
  return static_cast<int32_t>(status);
}

int32_t exrp_tables_durable_info(uint32_t tables, double* info, uint32_t info_count) {
  return withOwnedTables(tables, [&](OwnedTables& found) {
    if (info_count < EXRP_DURABLE_INFO_COUNT) return fail(Status::bufferSize, info_count, EXRP_DURABLE_INFO_COUNT);
    for (uint32_t at = 0; at < EXRP_DURABLE_INFO_COUNT; ++at) info[at] = 0;
    if (found.durable == nullptr) return Status::ok;
    tellLog(*found.durable, info);
    return Status::ok;
  });
}

}  // extern "C"
