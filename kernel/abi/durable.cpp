// The C ABI of durable replays. exrp.h has the contract.
#define EXRP_BUILD 1

#include <new>

#include "kernel/abi/durable_calls.hpp"
#include "kernel/abi/replay_calls.hpp"
#include "kernel/durable/recovery.hpp"
#include "kernel/durable/verify.hpp"

using namespace exrp;

namespace {

/// Reads the options of exrp_durable_open().
Status parse(const double* options, uint32_t count, DurableOptions* parsed, WantedLimits* wanted) {
  if (count != EXRP_DURABLE_OPTION_COUNT) return fail(Status::argument, 5, count);
  const Status status = parseDurable(options, count, parsed);
  if (status != Status::ok) return status;
  *wanted = {options[EXRP_DURABLE_CAPACITY], options[EXRP_DURABLE_CAPACITY_BYTES], options[EXRP_DURABLE_AGE_MAX]};
  parsed->groupBytes = static_cast<uint32_t>(options[EXRP_DURABLE_GROUP_BYTES]);
  parsed->hasState = options[EXRP_DURABLE_HAS_STATE] == 1;
  // Without threads, nobody would read later. Who only reads wants to know what is damaged.
  if (hasThreads && options[EXRP_DURABLE_IS_NEW] != EXRP_DURABLE_READS) parsed->readNowBytes = EXRP_READ_NOW_BYTES;
  return Status::ok;
}

Status open(ReplayInstance& found, ThreadScratch& thread, const char* path, const double* numbers, uint32_t count, double* report) {
  DurableOptions options;
  WantedLimits wanted;
  Status status = parse(numbers, count, &options, &wanted);
  if (status != Status::ok) return status;
  if (found.durable != nullptr) return fail(Status::log, EXRP_LOG_TAKEN);
  std::unique_ptr<Durable> made(new (std::nothrow) Durable(found.replay, found.snapshot, found.statistics));
  if (made == nullptr) return fail(Status::memory, sizeof(Durable));
  const bool isNew = numbers[EXRP_DURABLE_IS_NEW] == 1;
  status = made->openFolder(path, howToOpen(numbers));
  RecoveryReport found_;
  if (status == Status::ok && isNew) status = made->create(options);
  if (status == Status::ok && !isNew) status = Recovery(*made, found.recording, found.drawing, thread).open(options, &found_, wanted);
  if (status != Status::ok) return status;
  tellRecovery(found_, report);
  report[EXRP_RECOVERY_EVICTED] = static_cast<double>(found_.evictedRecords);
  report[EXRP_RECOVERY_CAPACITY] = found.replay.config().capacity;
  report[EXRP_RECOVERY_CAPACITY_BYTES] = static_cast<double>(found.replay.config().capacityBytes);
  report[EXRP_RECOVERY_AGE_MAX] = static_cast<double>(found.replay.config().ageMax);
  found.durable = std::move(made);
  return Status::ok;
}

/// Makes a copy of the folder, and says what came of it.
Status copyFolder(Durable& durable, const char* path, double* copy) {
  SealedFolder sealed;
  sealed.logId = durable.stream().id();
  sealed.count = durable.sealedCount();
  sealed.first = static_cast<uint32_t>(copy[EXRP_COPY_FIRST]);
  sealed.next = static_cast<uint32_t>(copy[EXRP_COPY_NEXT]);
  sealed.checkpoint = {static_cast<uint32_t>(copy[EXRP_COPY_CHECKPOINT_SEGMENT]), static_cast<uint32_t>(copy[EXRP_COPY_CHECKPOINT_OFFSET])};
  Disk* opened = nullptr;
  FolderCopy made;
  made.error = openDisk(path, false, &opened);
  const std::unique_ptr<Disk> to(opened);
  if (to != nullptr) made = copyFolder(durable.disk(), *to, path, sealed);
  copy[EXRP_COPY_LINKED_BYTES] = static_cast<double>(made.linkedBytes);
  copy[EXRP_COPY_COPIED_BYTES] = static_cast<double>(made.copiedBytes);
  copy[EXRP_COPY_FAILED] = made.error.isError() ? EXRP_LOG_DISK : made.missingBytes > 0 ? EXRP_LOG_SPACE : 0;
  copy[EXRP_COPY_CALL] = made.error.isError() ? static_cast<double>(made.error.call) : static_cast<double>(made.missingBytes);
  copy[EXRP_COPY_SYSTEM] = made.error.system;
  return Status::ok;
}

/// The numbers of a flaw are those of the kernel.
static_assert(EXRP_FLAW_KIND_MISSING == static_cast<int>(LogDamageKind::missing) && EXRP_FLAW_COST_ALL == static_cast<int>(FlawCost::all));

Status verify(const char* path, bool isOfTables, double* report, double* flaws, size_t flawMax) {
  Disk* opened = nullptr;
  const DiskError error = openDisk(path, false, &opened);
  const std::unique_ptr<Disk> disk(opened);
  for (uint32_t at = 0; at < EXRP_VERIFY_COUNT; ++at) report[at] = 0;
  LogStatus status = LogStatus::disk;
  Verify verify(isOfTables);
  if (disk != nullptr) status = verify.run(*disk);
  if (status != LogStatus::ok) {
    const DiskError failed = disk == nullptr ? error : verify.failure().error;
    report[EXRP_VERIFY_FAILED] = static_cast<double>(status);
    report[EXRP_VERIFY_CALL] = static_cast<double>(failed.call);
    report[EXRP_VERIFY_SYSTEM] = failed.system;
    return Status::ok;
  }
  report[EXRP_VERIFY_SEGMENTS] = static_cast<double>(verify.segmentCount());
  report[EXRP_VERIFY_BYTES] = static_cast<double>(verify.bytes());
  report[EXRP_VERIFY_GROUPS] = static_cast<double>(verify.groupCount());
  report[EXRP_VERIFY_TAIL_BYTES] = static_cast<double>(verify.tailBytes());
  report[EXRP_VERIFY_CHECKPOINT] = static_cast<double>(verify.checkpointFile());
  report[EXRP_VERIFY_FLAWS] = static_cast<double>(verify.flawCount());
  for (size_t k = 0; k < verify.flawCount() && k < flawMax; ++k, flaws += EXRP_FLAW_COUNT) {
    const Flaw& flaw = verify.flaw(k);
    flaws[EXRP_FLAW_SEGMENT] = flaw.at.segment;
    flaws[EXRP_FLAW_OFFSET] = flaw.at.offset;
    flaws[EXRP_FLAW_BYTES] = static_cast<double>(flaw.bytes);
    flaws[EXRP_FLAW_KIND] = static_cast<double>(flaw.kind);
    flaws[EXRP_FLAW_COST] = static_cast<double>(flaw.cost);
  }
  return Status::ok;
}

}  // namespace

extern "C" {

int32_t exrp_durable_open(uint32_t replay, const uint8_t* path, uint32_t path_size, const double* options, uint32_t option_count, double* report,
                          uint32_t report_count) {
  return withWhole(replay, [&](Seat& at) {
    if (at.flags.isShared()) return fail(Status::notSharable, EXRP_SHARE_LOADING);
    if (report_count < EXRP_RECOVERY_COUNT) return fail(Status::bufferSize, report_count, EXRP_RECOVERY_COUNT);
    Path folder;
    const Status status = folder.read(path, path_size, 2);
    return status == Status::ok ? open(at.instance, at.scratch, folder.text, options, option_count, report) : status;
  });
}

int32_t exrp_durable_state(uint32_t replay, uint8_t* state, uint32_t state_size) {
  return withReplay(replay, [&](ReplayInstance& found) {
    return found.isDurable() ? readState(*found.durable, state, state_size) : closedLog();
  });
}

int32_t exrp_durable_group(uint32_t replay, const uint8_t* state, uint32_t state_size, uint32_t has_state, double* ticket) {
  return withWhole(replay, [&](ReplayInstance& found) {
    if (!found.isDurable()) return closedLog();
    const Status status = found.durable->endGroup(state, state_size, has_state != 0);
    if (status == Status::ok && has_state == 2) found.durable->leaveGroupsToCaller();
    if (status == Status::ok) *ticket = static_cast<double>(found.durable->requestFlush());
    return status;
  });
}

int32_t exrp_durable_wait(uint32_t replay, double ticket, uint32_t timeout_ms) {
  return fromAnyThread(replay, [&](const Seat& at) {
    return at.instance.isDurable() ? at.instance.durable->waitFlushed(static_cast<uint64_t>(ticket), timeout_ms) : closedLog();
  });
}

int32_t exrp_durable_seal(uint32_t replay, const uint8_t* state, uint32_t state_size, uint32_t has_state, double* copy, uint32_t copy_count) {
  return withWhole(replay, [&](ReplayInstance& found) {
    if (!found.isDurable()) return closedLog();
    if (copy_count < EXRP_COPY_COUNT) return fail(Status::bufferSize, copy_count, EXRP_COPY_COUNT);
    SealedFolder sealed;
    Status status = found.durable->endGroup(state, state_size, has_state != 0);
    if (status == Status::ok) status = found.durable->seal(&sealed);
    if (status != Status::ok) return status;
    copy[EXRP_COPY_TICKET] = static_cast<double>(sealed.ticket);
    copy[EXRP_COPY_FIRST] = sealed.first;
    copy[EXRP_COPY_NEXT] = sealed.next;
    copy[EXRP_COPY_CHECKPOINT_SEGMENT] = sealed.checkpoint.segment;
    copy[EXRP_COPY_CHECKPOINT_OFFSET] = sealed.checkpoint.offset;
    return Status::ok;
  });
}

int32_t exrp_durable_copy(uint32_t replay, const uint8_t* path, uint32_t path_size, double* copy, uint32_t copy_count) {
  if (copy_count < EXRP_COPY_COUNT) return number(fail(Status::bufferSize, copy_count, EXRP_COPY_COUNT));
  Path folder;
  if (const Status status = folder.read(path, path_size, 2); status != Status::ok) return number(status);
  return fromAnyThread(replay, [&](const Seat& at) {
    if (!at.instance.isDurable()) return closedLog();
    Durable& durable = *at.instance.durable;
    const Status status = durable.waitFlushed(static_cast<uint64_t>(copy[EXRP_COPY_TICKET]), 0);
    return status == Status::ok ? copyFolder(durable, folder.text, copy) : status;
  });
}

int32_t exrp_durable_unseal(uint32_t replay) {
  return withWhole(replay, [&](ReplayInstance& found) {
    if (!found.isDurable()) return closedLog();
    found.durable->unseal();
    return Status::ok;
  });
}

int32_t exrp_folder_verify(const uint8_t* path, uint32_t path_size, uint32_t of_tables, double* report, uint32_t report_count, double* flaws,
                           uint32_t flaws_count) {
  if (report_count < EXRP_VERIFY_COUNT) return number(fail(Status::bufferSize, report_count, EXRP_VERIFY_COUNT));
  Path folder;
  Status status = folder.read(path, path_size, 1);
  if (status == Status::ok) status = verify(folder.text, of_tables != 0, report, flaws, flaws_count / EXRP_FLAW_COUNT);
  return number(status);
}

int32_t exrp_durable_info(uint32_t replay, double* info, uint32_t info_count) {
  return withRoom(replay, info_count, EXRP_DURABLE_INFO_COUNT, [&](ReplayInstance& found) {
    for (uint32_t at = 0; at < EXRP_DURABLE_INFO_COUNT; ++at) info[at] = 0;
    if (!found.isDurable()) return;
    tellLog(*found.durable, info);
    ResidentRows& resident = found.durable->resident();
    info[EXRP_DURABLE_INFO_RESIDENT_BYTES] = static_cast<double>(resident.limit());
    info[EXRP_DURABLE_INFO_KEPT_BYTES] = static_cast<double>(resident.keptBytes());
    info[EXRP_DURABLE_INFO_LEAN] = resident.isLean() ? 1 : 0;
    info[EXRP_DURABLE_INFO_ROW_BYTES] = static_cast<double>(resident.rowBytes());
    info[EXRP_DURABLE_INFO_READ_BLOCKS] = static_cast<double>(resident.readBlocks());
    info[EXRP_DURABLE_INFO_READ_BYTES] = static_cast<double>(resident.readBytes());
    const UnreadReport unread = resident.unread().report();
    info[EXRP_DURABLE_INFO_UNREAD_BLOCKS] = static_cast<double>(unread.unreadBlocks);
    info[EXRP_DURABLE_INFO_LOST_BLOCKS] = static_cast<double>(unread.lostBlocks);
    info[EXRP_DURABLE_INFO_REPAIRED] = static_cast<double>(unread.repairedCount);
    info[EXRP_DURABLE_INFO_DAMAGE_SEGMENT] = unread.damage.segment;
    info[EXRP_DURABLE_INFO_DAMAGE_OFFSET] = unread.damage.offset;
  });
}

}  // extern "C"
