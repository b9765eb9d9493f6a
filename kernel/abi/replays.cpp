// The C ABI of replays. Each function finds its replay, checks the sizes of the buffers, and calls the replay. exrp.h has the contract.
// The file is long because it has a function for each of exrp.h, but for those of tables and messages.
#define EXRP_BUILD 1

#include <memory>
#include <new>
#include <type_traits>

#include "kernel/abi/replay_calls.hpp"
#include "kernel/abi/threads.hpp"
#include "kernel/base/checksum.hpp"
#include "kernel/base/process.hpp"
#include "kernel/base/whole_number.hpp"
#include "kernel/calls/listed_episodes.hpp"
#include "kernel/calls/rows.hpp"
#include "kernel/packing/sixteens.hpp"

using namespace exrp;

namespace {

/// Whether rows that are packed fit into their buffers.
Status checkRows(double rowsSize, uint32_t rowBytes, uint32_t count, double packedSize) {
  const double needed = static_cast<double>(rowBytes) * count;
  if (rowBytes == 0 || count == 0) return fail(Status::argument, rowBytes == 0 ? 3 : 4, 0);
  if (!isWhole(packedSize, 0, 0x1p32)) return fail(Status::argument, 6, packedSize);
  return rowsSize >= needed ? Status::ok : fail(Status::bufferSize, rowsSize, needed);
}

/// One user of the replay less; the last one frees it.
void release(ReplayInstance& instance) {
  if (registry()->release(instance)) delete &instance;
}

/// Frees a seat that the registry has no more, and the replay with its last seat.
void vacate(Seat* seat, bool threadEnded) {
  ReplayInstance& instance = seat->instance;
  instance.dismiss(*seat, threadEnded);
  delete seat;
  release(instance);
}

/// Frees the seats and the tables of a thread that ends. Its isolate is gone, and a terminated Worker runs no finalizer.
void threadEnded(uint64_t thread) {
  endTablesOf(thread);
  while (Seat* left = registry()->removeOwned(thread)) vacate(left, true);
}

/// A seat of the calling thread; null where there is no memory for it.
std::unique_ptr<Seat> newSeat(ReplayInstance& instance) {
  std::unique_ptr<Seat> made(new (std::nothrow) Seat(instance));
  if (made != nullptr) made->owner = callingOwner();
  return made;
}

/// Puts a seat whose place is made into the registry. On failure it is freed.
Status enroll(std::unique_ptr<Seat> made, uint32_t* id) {
  const Status status = registry()->add(made.get(), id);
  Seat* const kept = made.release();
  if (status != Status::ok) vacate(kept, false);
  return status;
}

/// Like withWhole(), for calls that store records, as far as the rate limiter allows it. `count` says how many a call asks for, of the seat's instance.
template <typename Count, typename Use>
int32_t withRecords(uint32_t id, Count count, Use use) {
  const auto call = onceWhole(use);
  return withSeat(id, [&](Seat& seat) {
    if (seat.flags.areClear()) return call(seat);
    const auto limited = [&](Seat& at) {
      const Status status = at.instance.allows(EXRP_ALLOW_INSERTS, count());
      return status == Status::ok ? call(at) : status;
    };
    // A learner waits for each of its calls, and writers are many.
    return inTurn(seat, limited, ShortLock::longPatience);
  });
}

/// Notes a call that has changed a durable replay.
Status noted(Status status, ReplayInstance& instance, Command command, std::initializer_list<LogPiece> pieces) {
  if (status == Status::ok && instance.isDurable()) [[unlikely]] instance.durable->note(command, pieces);
  return status;
}
Status noted(Status status, ReplayInstance& instance, Command command, double handle, uint32_t number = 0) {
  if (status == Status::ok && instance.isDurable()) [[unlikely]] instance.durable->noteHandle(command, handle, number);
  return status;
}

/// Records one step, and notes it. It is apart, so that a replay in memory only pays for nothing but the question.
[[gnu::noinline]] Status recordNoted(ReplayInstance& instance, uint8_t* row, uint32_t flags) {
  double before = 0;
  memcpy(&before, row, sizeof before);
  Status status = instance.durable->mayTake();
  if (status == Status::ok) status = instance.recording.record(row, flags);
  if (status == Status::ok) instance.durable->noteRecord(before, flags, row + Recording::rowPriority, row + instance.recording.rowTag());
  return status;
}

/// Records many steps, and notes it. `handles` are written over: one, or one for each step.
template <typename Use>
Status recordNoted(ReplayInstance& instance, Command command, const double* handles, const uint8_t* steps, uint32_t count, uint32_t flags,
                   const uint32_t* done, Use use) {
  if (!instance.isDurable()) [[likely]] return use();
  Durable* const durable = instance.durable.get();
  Status status = durable->mayTake();
  if (status != Status::ok) return status;
  const uint32_t first = *done;
  const bool isBatch = command == Command::recordBatch;
  const double* const before = durable->keepHandles(handles, isBatch && count <= EXRP_LIMIT_BATCH ? count : 1);
  status = use();
  if (status == Status::ok) durable->noteSteps(command, before, steps, first, *done, count, flags);
  return status;
}

/// How many records a call of many steps asks for: all in its first call, and none in those that go on with it.
uint32_t recordsAsked(uint32_t count, const uint32_t* done) { return *done == 0 ? count : 0; }

/// What a call says of a batch: EXRP_BATCH_ADDRESSES may be added to its size.
BatchRange rangeOf(uint32_t first, uint32_t count, uint32_t total) {
  const bool addresses = total >= EXRP_BATCH_ADDRESSES;
  return {first, count, addresses ? total - EXRP_BATCH_ADDRESSES : total, addresses};
}

/// Calls `use` with the replay, the seat's scratch and one of the views.
template <typename Use>
int32_t withView(uint32_t id, uint32_t view, Use use) {
  return withReplay(id, [&](ReplayInstance& instance, ThreadScratch& thread) {
    PickView* found = instance.replay.picks().findView(view);
    return found == nullptr ? Status::argument : statusOf(use, instance, thread, *found);
  });
}

}  // namespace

uint64_t exrp::callingOwner() { return callingThread(threadEnded); }

extern "C" {

uint32_t exrp_abi_version(void) { return EXRP_ABI_VERSION; }

int32_t exrp_error_detail(double* detail, uint32_t detail_count) {
  for (uint32_t index = 0; index < detail_count; ++index) {
    detail[index] = index < errorDetailCount ? errorDetail[index] : 0;
  }
  return EXRP_STATUS_OK;
}

int32_t exrp_rows_pack(const uint8_t* rows, double rows_size, uint32_t row_size, uint32_t count, uint8_t* packed, double packed_size,
                       double* packed_bytes) {
  if (const Status status = checkRows(rows_size, row_size, count, packed_size); status != Status::ok) return number(status);
  *packed_bytes = static_cast<double>(packSixteens(rows, row_size, count, packed, static_cast<size_t>(packed_size)));
  return number(Status::ok);
}

int32_t exrp_rows_unpack(const uint8_t* packed, double packed_size, uint32_t row_size, uint32_t count, uint8_t* rows, double rows_size) {
  if (const Status status = checkRows(rows_size, row_size, count, packed_size); status != Status::ok) return number(status);
  uint32_t bad = 0;
  if (unpackSixteens(packed, static_cast<size_t>(packed_size), row_size, count, rows, &bad)) return number(Status::ok);
  return number(fail(Status::dataCorrupt, 0, bad));
}

uint32_t exrp_checksum(uint32_t seed, const uint8_t* bytes, uint32_t bytes_size) { return checksum(seed, bytes, bytes_size); }

int32_t exrp_replay_create(const double* config, uint32_t config_count, const double* policy, uint32_t policy_count,
                           const uint32_t* columns, uint32_t column_count, uint32_t* replay) {
  if (registry() == nullptr) return number(fail(Status::memory, sizeof(ReplayRegistry)));
  const std::unique_ptr<ReplayConfig> parsed(new (std::nothrow) ReplayConfig);
  std::unique_ptr<ReplayInstance> made(new (std::nothrow) ReplayInstance(registry()->nextSerial()));
  std::unique_ptr<Seat> first = made == nullptr ? nullptr : newSeat(*made);
  if (parsed == nullptr || first == nullptr) return number(fail(Status::memory, sizeof(ReplayInstance) + sizeof(Seat)));
  PickPolicy pick;
  Status status = PickPolicy::parse(policy, policy_count, 3, &pick);
  if (status == Status::ok) status = ReplayConfig::parse(config, config_count, pick, columns, column_count, parsed.get());
  if (status == Status::ok) status = made->create(*parsed, pick);
  if (status != Status::ok) return number(status);
  made.release();  // the seat's now
  return number(enroll(std::move(first), replay));
}

int32_t exrp_replay_destroy(uint32_t replay) {
  Seat* const removed = registry() == nullptr ? nullptr : registry()->remove(replay);
  if (removed == nullptr) return number(fail(Status::replayUnknown, replay));
  vacate(removed, false);
  return EXRP_STATUS_OK;
}

uint32_t exrp_replay_count(void) { return registry() == nullptr ? 0 : registry()->count(); }

int32_t exrp_replay_info(uint32_t replay, double* info, uint32_t info_count) {
  return withRoom(replay, info_count, EXRP_INFO_COUNT, [&](Seat& seat) {
    const ReplayInstance& found = seat.instance;
    found.replay.info(info);
    info[EXRP_INFO_INDEX_BYTES] += found.statistics.memoryBytes();
    info[EXRP_INFO_MEMORY_BYTES] += found.memoryBytes(seat);
  });
}

int32_t exrp_replay_check(uint32_t replay, int32_t* broken) {
  return withReplay(replay, [&](ReplayInstance& found) { *broken = found.replay.check(); });
}

int32_t exrp_replay_share(uint32_t replay, double* ticket, uint32_t ticket_count) {
  if (ticket_count < EXRP_TICKET_COUNT) return number(fail(Status::bufferSize, ticket_count, EXRP_TICKET_COUNT));
  return withWhole(replay, [&](Seat& at) {
    uint32_t serial = 0;
    const Status status = at.instance.share(at, &serial);
    if (status != Status::ok) return status;
    ticket[EXRP_TICKET_KERNEL] = registry()->kernel;
    ticket[EXRP_TICKET_REPLAY] = static_cast<double>(at.instance.serial);
    ticket[EXRP_TICKET_SERIAL] = serial;
    return Status::ok;
  });
}

int32_t exrp_replay_attach(const double* ticket, uint32_t ticket_count, uint32_t* replay) {
  if (ticket_count < EXRP_TICKET_COUNT) return number(fail(Status::bufferSize, ticket_count, EXRP_TICKET_COUNT));
  if (registry() == nullptr || ticket[EXRP_TICKET_KERNEL] != registry()->kernel) {
    return number(fail(Status::ticket, EXRP_TICKET_OTHER_KERNEL));
  }
  ReplayInstance* const found = registry()->keep(ticket[EXRP_TICKET_REPLAY]);
  const double serial = ticket[EXRP_TICKET_SERIAL];
  if (found == nullptr) return number(fail(Status::ticket, EXRP_TICKET_GONE));
  std::unique_ptr<Seat> made = newSeat(*found);
  Status status = made == nullptr ? fail(Status::memory, sizeof(Seat)) : Status::ok;
  if (status == Status::ok && !(serial >= 0 && serial < EXRP_LIMIT_TICKETS)) status = fail(Status::ticket, EXRP_TICKET_GONE);
  if (status == Status::ok) {
    made->ticket = static_cast<uint32_t>(serial);
    made->isGuest = true;
    status = found->admit(*made);
  }
  if (status == Status::ok) return number(enroll(std::move(made), replay));
  release(*found);
  return number(status);
}

int32_t exrp_ticket_revoke(uint32_t replay, uint32_t serial) {
  return withReplay(replay, [&](Seat& at) { return at.instance.revoke(at, serial); });
}

int32_t exrp_hold_begin(uint32_t replay) {
  return withSeat(replay, [&](Seat& at) {
    at.instance.finishOrders(at);
    return at.instance.hold(at);
  });
}

int32_t exrp_hold_end(uint32_t replay) {
  return withSeat(replay, [&](Seat& at) {
    at.instance.finishOrders(at);
    return at.instance.endHold(at);
  });
}

int32_t exrp_share_info(uint32_t replay, double* info, uint32_t info_count) {
  return withRoom(replay, info_count, EXRP_SHARE_INFO_COUNT, [&](Seat& at) {
    const Sharing& sharing = at.instance.sharing;
    const bool isShared = at.flags.isShared();
    info[EXRP_SHARE_INFO_SHARED] = isShared ? 1 : 0;
    info[EXRP_SHARE_INFO_SEATS] = isShared ? sharing.seatCount() : 1;
    info[EXRP_SHARE_INFO_ENDED] = sharing.endedCount;
    info[EXRP_SHARE_INFO_NOTE] = sharing.noteSize();
  });
}

int32_t exrp_share_reap(uint32_t replay, uint32_t* reaped) {
  return withReplay(replay, [&](ReplayInstance& found) {
    *reaped = found.sharing.endedCount;
    found.sharing.endedCount = 0;
  });
}

int32_t exrp_share_note_set(uint32_t replay, const uint8_t* note, uint32_t note_size) {
  return withReplay(replay, [&](ReplayInstance& found) { return found.sharing.setNote(note, note_size); });
}

int32_t exrp_share_note_get(uint32_t replay, uint8_t* note, uint32_t note_size) {
  return withReplay(replay, [&](ReplayInstance& found) {
    const Sharing& sharing = found.sharing;
    if (note_size < sharing.noteSize()) return fail(Status::bufferSize, note_size, sharing.noteSize());
    if (sharing.noteSize() > 0) memcpy(note, sharing.note(), sharing.noteSize());
    return Status::ok;
  });
}

int32_t exrp_row_layout(uint32_t replay, double* offsets, uint32_t offset_count) {
  return withReplay(replay, [&](ReplayInstance& found) {
    const Store& store = found.replay.book().store();
    const uint32_t needed = EXRP_ROW_COLUMN + store.columnCount() + store.leaves().count() - 1;
    if (offset_count < needed) return fail(Status::bufferSize, offset_count, needed);
    found.recording.rowLayout(offsets);
    return Status::ok;
  });
}

int32_t exrp_episode_create(uint32_t replay, double* episode) {
  return withWhole(replay, [&](ReplayInstance& found) { return noted(found.replay.createEpisode(episode), found, Command::createEpisode, {}); });
}

int32_t exrp_episode_tag(uint32_t replay, double episode, int32_t tag) {
  return withWhole(replay, [&](ReplayInstance& found) {
    return noted(found.replay.tagEpisode(episode, tag), found, Command::tagEpisode, episode, static_cast<uint32_t>(tag));
  });
}

int32_t exrp_record(uint32_t replay, uint8_t* row, uint32_t row_size, uint32_t flags) {
  return withRecords(replay, [] { return 1u; }, [&](ReplayInstance& found) {
    if (row_size < found.recording.rowBytes()) return fail(Status::bufferSize, row_size, found.recording.rowBytes());
    return found.isDurable() ? recordNoted(found, row, flags) : found.recording.record(row, flags);
  });
}

int32_t exrp_steps_layout(uint32_t replay, uint32_t count, double* offsets, uint32_t offset_count) {
  return withReplay(replay, [&](ReplayInstance& found) {
    const uint32_t needed = EXRP_STEPS_COLUMN + found.replay.book().store().columnCount();
    if (offset_count < needed) return fail(Status::bufferSize, offset_count, needed);
    return found.recording.stepsLayout(count, offsets);
  });
}

int32_t exrp_record_many(uint32_t replay, double* episode, const uint8_t* steps, double steps_size, uint32_t count, uint32_t flags,
                         uint32_t* done) {
  return withRecords(replay, [&] { return recordsAsked(count, done); },
                     [&](ReplayInstance& found) {
                       return recordNoted(found, Command::recordMany, episode, steps, count, flags, done,
                                          [&] { return found.recording.recordMany(episode, steps, steps_size, count, flags, done); });
                     });
}

int32_t exrp_record_batch(uint32_t replay, double* episodes, const uint8_t* steps, double steps_size, uint32_t count,
                          uint32_t flags, uint32_t* done) {
  return withRecords(replay, [&] { return recordsAsked(count, done); }, [&](ReplayInstance& found, ThreadScratch& thread) {
    return recordNoted(found, Command::recordBatch, episodes, steps, count, flags, done,
                       [&] { return found.recording.recordBatch(thread, episodes, steps, steps_size, count, flags, done); });
  });
}

int32_t exrp_record_flat(uint32_t replay, double* episode, const uint8_t* steps, double steps_size, uint32_t count, uint32_t flags,
                         uint32_t* done, double* episodes, uint32_t episode_count) {
  // A step that only ends an episode is no record.
  const auto records = [&] {
    uint32_t asked = recordsAsked(count, done);
    for (uint32_t step = 0; asked > 0 && step < count && step < steps_size; ++step) asked -= steps[step] == EXRP_RECORD_FINAL ? 1 : 0;
    return asked;
  };
  return withRecords(replay, records, [&](ReplayInstance& found) {
    if (episode_count < count) return fail(Status::bufferSize, episode_count, count);
    return recordNoted(found, Command::recordFlat, episode, steps, count, flags, done,
                       [&] { return found.recording.recordFlat(episode, steps, steps_size, count, flags, done, episodes); });
  });
}

int32_t exrp_episode_end(uint32_t replay, double episode, const uint8_t* final_state, uint32_t final_state_size, uint32_t flags,
                         uint32_t* ended) {
  return withWhole(replay, [&](ReplayInstance& found) {
    uint64_t leaves[leafMax];
    const auto needed = static_cast<double>(found.replay.book().store().leaves().layOut(0, 1, leaves));
    if (final_state_size < needed) return fail(Status::bufferSize, final_state_size, needed);
    return noted(found.replay.endEpisode(episode, {final_state, leaves, 0}, flags, ended), found, Command::endEpisode, episode, flags);
  });
}

int32_t exrp_episode_evict(uint32_t replay, double episode) {
  return withWhole(replay, [&](ReplayInstance& found) { return noted(found.replay.evictEpisode(episode), found, Command::evictEpisode, episode); });
}

int32_t exrp_replay_clear(uint32_t replay) {
  return withWhole(replay, [&](ReplayInstance& found) { return noted(found.replay.clear(), found, Command::clear, {}); });
}

int32_t exrp_episode_trim(uint32_t replay, double episode, uint32_t position) {
  return withWhole(replay, [&](ReplayInstance& found) {
    return noted(found.replay.trimEpisode(episode, position), found, Command::trimEpisode, episode, position);
  });
}

int32_t exrp_open_trim(uint32_t replay, double* episode, double* first_position) {
  return withWhole(replay, [&](ReplayInstance& found) { return noted(found.replay.trimOpen(episode, first_position), found, Command::trimOpen, {}); });
}

int32_t exrp_records_release(uint32_t replay, double episode, uint32_t position) {
  return withWhole(replay, [&](ReplayInstance& found) {
    return noted(found.replay.releaseRecords(episode, position), found, Command::release, episode, position);
  });
}

int32_t exrp_episode_info(uint32_t replay, double episode, double* info, uint32_t info_count) {
  return withRoom(replay, info_count, EXRP_EPISODE_INFO_COUNT, [&](ReplayInstance& found) { return found.replay.episodeInfo(episode, info); });
}

int32_t exrp_episode_list(uint32_t replay, const double* filter, uint32_t filter_count, double* episodes, uint32_t* record_counts,
                           uint32_t* first_positions, int32_t* tags, uint8_t* ends, double* ages, double* returns, uint32_t row_count,
                           uint32_t* listed) {
  return withReplay(replay, [&](ReplayInstance& found) {
    EpisodeFilter parsed;
    const Status status = EpisodeFilter::parse(found.replay, filter, filter_count, &parsed);
    const EpisodeArrays arrays = {episodes, record_counts, first_positions, tags, ends, ages, returns, row_count};
    return status == Status::ok ? listEpisodes(found.replay, parsed, arrays, listed) : status;
  });
}

int32_t exrp_episode_counts(uint32_t replay, const double* episodes, uint32_t count, uint32_t* record_counts, uint32_t* first_positions,
                            uint32_t* states) {
  return withReplay(replay, [&](ReplayInstance& found) {
    return countRecords(found.replay, episodes, count, record_counts, first_positions, states);
  });
}

int32_t exrp_rows_get(uint32_t replay, uint32_t column, const double* episodes, const int32_t* positions, uint32_t count,
                      uint32_t run_length, uint8_t* rows, double rows_size) {
  return withReplay(replay, [&](ReplayInstance& found, ThreadScratch& thread) {
    return getRows(found.replay, thread, column, episodes, positions, count, run_length, rows, rows_size);
  });
}

int32_t exrp_rows_set(uint32_t replay, uint32_t column, const double* episodes, const int32_t* positions, uint32_t count, const uint8_t* rows,
                      double rows_size, uint32_t* updated) {
  return withWhole(replay, [&](ReplayInstance& found, ThreadScratch& thread) {
    const Status status = setRows(found.replay, thread, column, episodes, positions, count, rows, rows_size, updated);
    if (status == Status::ok && found.isDurable()) [[unlikely]] {
      found.durable->noteRows(column, episodes, positions, rows, found.replay.book().store().column(column).bytes, count);
    }
    return status;
  });
}

int32_t exrp_rows_prepare(uint32_t replay, uint32_t column, const double* episodes, const int32_t* positions, uint32_t count) {
  return withWhole(replay, [&](ReplayInstance& found, ThreadScratch& thread) {
    return prepareRows(found.replay, thread, column, episodes, positions, count);
  });
}

int32_t exrp_next_states_get(uint32_t replay, const double* episodes, uint32_t count, uint8_t* there, uint8_t* next_states,
                             double next_states_size) {
  return withReplay(replay, [&](ReplayInstance& found) {
    return getNextStates(found.replay, episodes, count, there, next_states, next_states_size);
  });
}

int32_t exrp_episode_actors(uint32_t replay, const double* episodes, uint32_t count, uint32_t* actors) {
  return withReplay(replay, [&](ReplayInstance& found) { return listActors(found.replay, episodes, count, actors); });
}

int32_t exrp_pick_view_create(uint32_t replay, const double* policy, uint32_t policy_count, uint32_t* view) {
  return withWhole(replay, [&](ReplayInstance& found) {
    PickPolicy parsed;
    const Status status = PickPolicy::parse(policy, policy_count, 2, &parsed);
    if (status != Status::ok) return status;
    return noted(found.replay.createView(parsed, view), found, Command::createView, {{policy, policy_count * uint32_t{sizeof(double)}}});
  });
}

int32_t exrp_pick_view_info(uint32_t replay, uint32_t view, double* info, uint32_t info_count) {
  return withRoom(replay, info_count, EXRP_PICK_VIEW_INFO_COUNT, [&](ReplayInstance& found) { return found.replay.picks().info(view, info); });
}

int32_t exrp_column_statistics(uint32_t replay, uint32_t column, double* numbers, uint32_t number_count, uint32_t* count) {
  return withReplay(replay, [&](ReplayInstance& found) {
    const ColumnStatistics& statistics = found.replay.book().part<ColumnStatistics>();
    if (column >= found.replay.book().store().columnCount()) return fail(Status::argument, 2, column);
    const ColumnStatistics::Of* const of = statistics.find(column);
    const uint32_t needed = of == nullptr ? 0 : 1 + 2 * of->count;
    if (number_count > 0 && number_count < needed) return fail(Status::bufferSize, number_count, needed);
    if (number_count > 0 && of != nullptr) {
      numbers[0] = static_cast<double>(of->records);
      for (uint32_t item = 0; item < of->count; ++item) {
        numbers[1 + item] = of->mean(item);
        numbers[1 + of->count + item] = of->variance(item);
      }
    }
    *count = needed;
    return Status::ok;
  });
}

int32_t exrp_selector_create(uint32_t replay, uint32_t view, uint32_t kind, const double* options, uint32_t option_count,
                             uint32_t* selector) {
  return withWhole(replay, [&](ReplayInstance& found) { 
    const SelectorHead head = {view, kind};
    return noted(found.replay.createSelector(view, kind, options, option_count, selector), found, Command::createSelector,
                 {{&head, sizeof head}, {options, option_count * uint32_t{sizeof(double)}}});
  });
}

int32_t exrp_priority_set(uint32_t replay, uint32_t selector, const double* episodes, const int32_t* positions,
                          const uint8_t* priorities, uint32_t priority_size, uint32_t count, uint32_t* applied) {
  return withWhole(replay, [&](ReplayInstance& found, ThreadScratch& thread) {
    const Status status = found.drawing.setPriority(thread, selector, episodes, positions, priorities, priority_size, count, applied);
    if (status == Status::ok && found.isDurable()) [[unlikely]] {
      found.durable->notePicks(Command::setPriority, selector, episodes, positions, priorities, priority_size, count);
    }
    return status;
  });
}

int32_t exrp_priority_get(uint32_t replay, uint32_t selector, const double* episodes, const int32_t* positions, uint32_t count,
                          double* priorities) {
  return withWhole(replay, [&](ReplayInstance& found, ThreadScratch& thread) {
    return found.drawing.getPriority(thread, selector, episodes, positions, count, priorities);
  });
}

int32_t exrp_batch_layout(uint32_t replay, uint32_t view, uint32_t count, double* offsets, uint32_t offset_count) {
  return withView(replay, view, [&](ReplayInstance& found, ThreadScratch& thread, PickView& at) {
    const uint32_t needed = found.drawing.partCount(at);
    if (offset_count < needed) return fail(Status::bufferSize, offset_count, needed);
    const auto [first, picks, total, addresses] = rangeOf(0, 0, count);
    return found.drawing.batchLayout(thread, at, total, addresses, offsets);
  });
}

int32_t exrp_batch_check(uint32_t replay, uint32_t selector, uint32_t count) {
  return withWhole(replay, [&](ReplayInstance& found, ThreadScratch& thread) { return found.drawing.checkDraw(thread, selector, count); });
}

int32_t exrp_batch_get(uint32_t replay, uint32_t selector, uint32_t first, uint32_t count, uint32_t total, double beta,
                       uint8_t* batch, double batch_size) {
  return withWhole(replay, [&](Seat& at) {
    return at.instance.getBatch(at, selector, rangeOf(first, count, total), beta, batch, batch_size);
  });
}

int32_t exrp_batch_gather(uint32_t replay, uint32_t view, const uint32_t* indices, const double* probabilities, uint32_t first,
                          uint32_t count, uint32_t total, double beta, double probability_min, uint32_t weighted, uint8_t* batch,
                          double batch_size) {
  return withView(replay, view, [&](ReplayInstance& found, ThreadScratch& thread, PickView& at) {
    Status status = found.snapshot.checkWhole();
    if (status != Status::ok) return status;
    status = found.drawing.gatherBatch(thread, at, indices, probabilities, rangeOf(first, count, total), beta, probability_min, weighted != 0, batch,
                                       batch_size);
    const DrawHead head = {view, count};
    return noted(status, found, Command::gather, {{&head, sizeof head}, {indices, count * uint32_t{sizeof(uint32_t)}}});
  });
}

int32_t exrp_mirror_begin(uint32_t replay, const uint32_t* columns, uint32_t column_count, uint32_t* packed, uint32_t host_copy) {
  return withWhole(replay, [&](Seat& at) {
    const Store& store = at.instance.replay.book().store();
    uint64_t bits = 0;
    for (uint32_t k = 0; k < column_count; ++k) {
      if (columns[k] >= store.columnCount() || store.isKept(columns[k])) return fail(Status::argument, 2, columns[k]);
      bits |= uint64_t{1} << columns[k];
      packed[k] = MirroredRows::comesPacked(store, columns[k]) ? 1 : 0;
    }
    return bits == 0 ? fail(Status::argument, 3, 0) : at.instance.beginMirror(at, bits, host_copy != 0);
  });
}

int32_t exrp_mirror_end(uint32_t replay) {
  return withReplay(replay, [&](Seat& at) { at.instance.endMirror(at); });
}

int32_t exrp_mirror_read(uint32_t replay, uint8_t* rows, uint32_t rows_size, uint32_t* runs, uint32_t run_count, uint32_t* info) {
  return withWhole(replay, [&](Seat& at) {
    if (!at.hasMirror) return fail(Status::order);
    MirroredRows& mirrored = at.instance.replay.book().part<MirroredRows>();
    const Store& store = at.instance.replay.book().store();
    static_assert(sizeof(MirroredRows::Run) == EXRP_MIRROR_RUN_COUNT * sizeof(uint32_t));
    uint32_t made = run_count;
    const Status status = mirrored.read(at.instance.replay.book(), rows, rows_size, reinterpret_cast<MirroredRows::Run*>(runs), &made);
    if (status != Status::ok) return status;
    if (at.instance.isDurable()) at.instance.durable->resident().mirrored(reinterpret_cast<const MirroredRows::Run*>(runs), made);
    info[EXRP_MIRROR_RUNS] = made;
    info[EXRP_MIRROR_MORE] = mirrored.isCurrent() ? 0 : 1;
    info[EXRP_MIRROR_SLOTS] = store.highWater() << store.blockShift();
    info[EXRP_MIRROR_BLOCK] = store.blockLength();
    return status;
  });
}

int32_t exrp_mirror_scales(uint32_t replay, uint32_t view, uint32_t column, float* scales, uint32_t scale_count) {
  return withView(replay, view, [&](ReplayInstance& found, ThreadScratch& thread, PickView& at) {
    const Store& store = found.replay.book().store();
    if (thread.addressed == nullptr || at.addressed == nullptr) return fail(Status::order);
    if (column >= store.columnCount()) return fail(Status::argument, 3, column);
    const uint32_t needed = 3 * store.column(column).itemCount;
    if (scale_count < needed) return fail(Status::bufferSize, scale_count, needed);
    return at.addressed->copyScales(thread.addressed[view], column, scales) ? Status::ok : fail(Status::argument, 3, column);
  });
}

int32_t exrp_batch_order(uint32_t replay, uint32_t selector, uint32_t count, double beta, uint8_t* batch, double batch_size,
                         double* order) {
  return withSeat(replay, [&](Seat& at) { return at.instance.orderBatch(at, selector, count, beta, batch, batch_size, order); });
}

int32_t exrp_batch_run(uint32_t replay, double order, uint8_t* batch, double) {
  return fromAnyThread(replay, [&](Seat& at) { return at.instance.runOrder(at, order, batch); });
}

int32_t exrp_batch_take(uint32_t replay, double order) {
  return withSeat(replay, [&](Seat& at) { return at.instance.takeBatch(at, order); });
}

int32_t exrp_pick_find(uint32_t replay, uint32_t view, const double* episodes, const int32_t* positions, uint32_t count,
                       uint32_t* indices) {
  return withView(replay, view, [&](ReplayInstance& found, ThreadScratch&, PickView& at) {
    return found.drawing.findPicks(at.picks, episodes, positions, count, indices);
  });
}

int32_t exrp_pick_list(uint32_t replay, uint32_t view, uint32_t first, uint32_t count, double* episodes, int32_t* positions) {
  return withView(replay, view, [&](ReplayInstance& found, ThreadScratch&, PickView& at) {
    return found.drawing.listPicks(at.picks, first, count, episodes, positions);
  });
}

int32_t exrp_pick_priorities(uint32_t replay, uint32_t view, uint32_t first, uint32_t count, double* priorities) {
  return withView(replay, view,
                   [&](ReplayInstance& found, ThreadScratch&, PickView& at) { return found.drawing.listPriorities(at.picks, first, count, priorities); });
}

int32_t exrp_journal_open(uint32_t replay, uint32_t view) {
  return withReplay(replay, [&](Seat& seat) {
    PickView* const at = seat.instance.replay.picks().findView(view);
    if (at == nullptr) return Status::argument;
    return seat.flags.isShared() ? fail(Status::notSharable, EXRP_SHARE_JOURNAL) : at->picks.openJournal();
  });
}

int32_t exrp_journal_count(uint32_t replay, uint32_t view, uint32_t* count) {
  return withView(replay, view, [&](ReplayInstance&, ThreadScratch&, PickView& at) { *count = static_cast<uint32_t>(at.picks.journal().count()); });
}

int32_t exrp_journal_read(uint32_t replay, uint32_t view, uint32_t* events, uint32_t event_count, uint32_t* read_count) {
  return withView(replay, view,
                  [&](ReplayInstance&, ThreadScratch&, PickView& at) { *read_count = at.picks.journal().read(events, event_count); });
}

int32_t exrp_rate_limiter_set(uint32_t replay, const double* numbers, uint32_t number_count) {
  return withReplay(replay, [&](Seat& at) { return at.instance.setRateLimiter(at, numbers, number_count); });
}

int32_t exrp_rate_limiter_info(uint32_t replay, double* info, uint32_t info_count) {
  return withRoom(replay, info_count, EXRP_RATE_LIMITER_COUNT, [&](ReplayInstance& found) { return found.rateLimiter().info(info); });
}

int32_t exrp_rate_limiter_grant(uint32_t replay, uint32_t count) {
  return withWhole(replay, [&](Seat& at) { return at.instance.grantSamples(at, count); });
}

int32_t exrp_rate_limiter_grant_end(uint32_t replay, uint32_t count) {
  return withReplay(replay, [&](Seat& at) { return at.instance.endGrant(at, count); });
}

int32_t exrp_record_ages(uint32_t replay, const double* edges, uint32_t edge_count, double* counts, double* summary,
                         uint32_t summary_count) {
  return withWhole(replay, [&](ReplayInstance& found) {
    if (summary_count < EXRP_SUMMARY_NUMBERS) return fail(Status::bufferSize, summary_count, EXRP_SUMMARY_NUMBERS);
    return found.statistics.recordAges({edges, edge_count, counts}, summary);
  });
}

int32_t exrp_selector_sums(uint32_t replay, uint32_t selector, uint32_t what, const double* edges, uint32_t edge_count, double* counts,
                           double* summary, uint32_t summary_count) {
  return withWhole(replay, [&](ReplayInstance& found, ThreadScratch& thread) {
    if (what > EXRP_SUMS_TOTAL) return fail(Status::argument, 3, what);
    if (summary_count < EXRP_SUMMARY_NUMBERS) return fail(Status::bufferSize, summary_count, EXRP_SUMMARY_NUMBERS);
    return found.statistics.sums(thread, selector, what, {edges, edge_count, counts}, summary);
  });
}

int32_t exrp_draws_note(uint32_t replay, uint32_t log, const double* episodes, const int32_t* positions, uint32_t count) {
  return withWhole(replay, [&](ReplayInstance& found) {
    const DrawHead head = {log, count};
    return noted(found.statistics.noteAt(log, episodes, positions, count), found, Command::noteDraws, {{&head, sizeof head}});
  });
}

int32_t exrp_draws_info(uint32_t replay, uint32_t log, double* info, uint32_t info_count) {
  return withRoom(replay, info_count, EXRP_DRAWS_INFO_COUNT, [&](ReplayInstance& found) { return found.statistics.info(log, info); });
}

int32_t exrp_draws_read(uint32_t replay, uint32_t log, uint32_t* draws, uint32_t draws_count) {
  return withReplay(replay, [&](ReplayInstance& found) { return found.statistics.read(log, draws, draws_count); });
}

int32_t exrp_section_info(uint32_t replay, uint32_t section, double* info, uint32_t info_count) {
  return withRoom(replay, info_count, 2, [&](ReplayInstance& found) { return found.snapshot.info(section, info); });
}

int32_t exrp_replay_save_begin(uint32_t replay) {
  return withReplay(replay, [&](Seat& at) {
    if (at.instance.isDurable()) at.instance.durable->finishCheckpoint();
    return at.instance.snapshot.begin(&at);
  });
}

int32_t exrp_replay_save_end(uint32_t replay) {
  return withReplay(replay, [&](Seat& at) { at.instance.snapshot.endFor(&at); });
}

int32_t exrp_section_read(uint32_t replay, uint32_t section, double first, uint32_t count, uint8_t* items, double items_size) {
  return withReplay(replay, [&](ReplayInstance& found) {
    return found.snapshot.read(section, first, count, items, items_size);
  });
}

int32_t exrp_section_write(uint32_t replay, uint32_t section, double first, uint32_t count, const uint8_t* items,
                           double items_size) {
  return withReplay(replay, [&](Seat& at) {
    return at.flags.isShared() ? fail(Status::notSharable, EXRP_SHARE_LOADING) : at.instance.snapshot.write(section, first, count, items, items_size);
  });
}

int32_t exrp_snapshot_end(uint32_t replay) {
  return withReplay(replay, [&](Seat& at) {
    return at.flags.isShared() ? fail(Status::notSharable, EXRP_SHARE_LOADING) : at.instance.snapshot.end();
  });
}

}  // extern "C"
