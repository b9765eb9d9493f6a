// The C ABI of tables. Each function finds its set, its table and its stream, checks the sizes of buffers, and calls kernel/tables/.
// exrp.h has the contract.
#include <memory>
#include <new>

#include "kernel/abi/tables_registry.hpp"
#include "kernel/abi/threads.hpp"

using namespace exrp;

namespace {

int32_t number(Status status) { return static_cast<int32_t>(status); }

template <typename Use>
int32_t withTable(uint32_t id, uint32_t table, Use use) {
  return withTables(id, [&](Tables& tables) {
    ItemTable* const found = tables.findTable(table);
    return found == nullptr ? fail(Status::tableUnknown, -1, table, tables.tableCount()) : use(tables, *found);
  });
}

template <typename Stream, typename Use>
int32_t withStream(uint32_t id, uint32_t stream, Stream* (Streams::*find)(uint32_t) const, Use use) {
  return withTables(id, [&](Tables& tables) {
    Stream* const found = (tables.streams().*find)(stream);
    return found == nullptr ? fail(Status::streamUnknown, stream) : use(tables, *found);
  });
}

template <typename Use>
int32_t withInserter(uint32_t id, uint32_t inserter, Use use) {
  return withStream(id, inserter, &Streams::inserter, use);
}

template <typename Use>
int32_t withSampler(uint32_t id, uint32_t sampler, Use use) {
  return withStream(id, sampler, &Streams::sampler, use);
}

Status checkSize(double given, double needed) { return given < needed ? fail(Status::bufferSize, given, needed) : Status::ok; }

}  // namespace

void exrp::endTablesOf(uint64_t owner) {
  // A thread that never made a set must not make the registry.
  if (tablesRegistry() == nullptr) return;
  while (OwnedTables* left = tablesRegistry()->removeOwned(owner)) delete left;
}

extern "C" {

int32_t exrp_tables_create(const double* config, uint32_t config_count, uint32_t* tables) {
  if (tablesRegistry() == nullptr) return number(fail(Status::memory, sizeof(TablesRegistry)));
  std::unique_ptr<OwnedTables> made(new (std::nothrow) OwnedTables);
  if (made == nullptr) return number(fail(Status::memory, sizeof(OwnedTables)));
  Status status = made->tables.create(config, config_count);
  if (status != Status::ok) return number(status);
  made->owner = callingOwner();
  status = tablesRegistry()->add(made.get(), tables);
  if (status == Status::ok) made.release();  // the registry's now
  return number(status);
}

int32_t exrp_tables_destroy(uint32_t tables) {
  OwnedTables* const removed = tablesRegistry() == nullptr ? nullptr : tablesRegistry()->remove(tables);
  if (removed == nullptr) return number(fail(Status::tablesUnknown, tables));
  delete removed;
  return EXRP_STATUS_OK;
}

uint32_t exrp_tables_count(void) { return tablesRegistry() == nullptr ? 0 : tablesRegistry()->count(); }

int32_t exrp_tables_name_set(uint32_t tables, uint32_t table, const uint8_t* name, uint32_t name_size) {
  return withTable(tables, table, [&](Tables& set, ItemTable& found) { return set.setName(found, {name, name_size}); });
}

int32_t exrp_tables_rate_limiter_set(uint32_t tables, uint32_t table, const double* numbers, uint32_t number_count) {
  return withTable(tables, table, [&](Tables& set, ItemTable& found) {
    const Status status = checkSize(number_count, EXRP_RATE_LIMITER_RULE_COUNT);
    return status == Status::ok ? set.setRateLimiter(found, numbers) : status;
  });
}

int32_t exrp_tables_info(uint32_t tables, uint32_t table, double* info, uint32_t info_count) {
  return withTable(tables, table, [&](Tables&, ItemTable& found) {
    const Status status = checkSize(info_count, EXRP_TABLES_INFO_COUNT);
    if (status == Status::ok) found.info(info);
    return status;
  });
}

int32_t exrp_tables_store_info(uint32_t tables, double* info, uint32_t info_count) {
  return withTables(tables, [&](Tables& set) {
    const Status status = checkSize(info_count, EXRP_TABLES_STORE_COUNT);
    if (status == Status::ok) set.storeInfo(info);
    return status;
  });
}

int32_t exrp_tables_allow(uint32_t tables, uint32_t table, uint32_t what, uint32_t count, uint32_t* allowed) {
  return withTable(tables, table, [&](Tables&, ItemTable& found) {
    if (what > EXRP_ALLOW_SAMPLES) return fail(Status::argument, 3, what);
    *allowed = (what == EXRP_ALLOW_INSERTS ? found.rateLimiter().mayInsert(count) : found.maySample(count)) ? 1 : 0;
    return Status::ok;
  });
}

int32_t exrp_tables_items(uint32_t tables, uint32_t table, uint32_t first, uint32_t count, uint8_t* keys, uint32_t keys_size,
                          double* numbers, uint32_t numbers_count) {
  return withTable(tables, table, [&](Tables&, ItemTable& found) {
    if (first > found.size()) return fail(Status::argument, 3, first);
    if (count > found.size() - first) return fail(Status::argument, 4, count);
    Status status = checkSize(keys_size, 8.0 * count);
    if (status == Status::ok) status = checkSize(numbers_count, double{EXRP_ITEM_COUNT} * count);
    if (status == Status::ok) found.items(first, count, keys, numbers);
    return status;
  });
}

int32_t exrp_tables_reset(uint32_t tables, uint32_t table) {
  return withTable(tables, table, [&](Tables& set, ItemTable& found) { return set.reset(found); });
}

int32_t exrp_tables_mutate(uint32_t tables, const uint8_t* message, uint32_t message_size) {
  return withTables(tables, [&](Tables& set) { return set.mutate({message, message_size}); });
}

int32_t exrp_tables_check(uint32_t tables, int32_t* broken) {
  return withTables(tables, [&](Tables& set) {
    *broken = set.check();
    return Status::ok;
  });
}

int32_t exrp_inserter_open(uint32_t tables, uint32_t* inserter) {
  return withTables(tables, [&](Tables& set) { return set.openInserter(inserter); });
}

int32_t exrp_inserter_feed(uint32_t tables, uint32_t inserter, const uint8_t* message, uint32_t message_size, double now, double* info,
                           uint32_t info_count) {
  return withInserter(tables, inserter, [&](Tables& set, Inserter& found) {
    Status status = checkSize(info_count, EXRP_INSERTER_COUNT);
    if (status == Status::ok && !(now >= 0 && now <= 0x1p53)) status = fail(Status::argument, 5, now);
    if (status == Status::ok) status = set.feed(inserter, found, {message, message_size}, now);
    if (status == Status::ok) set.inserterInfo(found, info);
    return status;
  });
}

int32_t exrp_inserter_insert(uint32_t tables, uint32_t inserter, const double* numbers, uint32_t numbers_count, const uint8_t* rows,
                             double rows_size, double now, double* info, uint32_t info_count) {
  return withInserter(tables, inserter, [&](Tables& set, Inserter& found) {
    Status status = checkSize(info_count, EXRP_INSERTER_COUNT);
    if (status == Status::ok && !(rows_size >= 0 && rows_size < 0x1p53)) status = fail(Status::argument, 5, rows_size);
    if (status == Status::ok && !(now >= 0 && now <= 0x1p53)) status = fail(Status::argument, 6, now);
    if (status == Status::ok) status = set.insert(inserter, found, {numbers, numbers_count}, {rows, static_cast<size_t>(rows_size)}, now);
    if (status == Status::ok) set.inserterInfo(found, info);
    return status;
  });
}

int32_t exrp_inserter_waiting(uint32_t tables, uint32_t inserter, uint32_t withdraw, double* counts, uint32_t counts_count) {
  return withInserter(tables, inserter, [&](Tables& set, Inserter& found) {
    if (withdraw > 1) return fail(Status::argument, 2, withdraw);
    const Status status = checkSize(counts_count, set.tableCount());
    if (status == Status::ok) set.countWaiting(inserter, found, withdraw == 1, counts);
    return status;
  });
}

int32_t exrp_inserter_read(uint32_t tables, uint32_t inserter, uint8_t* message, uint32_t message_size, double* info, uint32_t info_count) {
  return withInserter(tables, inserter, [&](Tables& set, Inserter& found) {
    const Status status = checkSize(info_count, EXRP_INSERTER_COUNT);
    if (status != Status::ok) return status;
    const size_t bytes = set.readConfirmed(found, message, message_size);
    set.inserterInfo(found, info);
    info[EXRP_INSERTER_BYTES] = static_cast<double>(bytes);
    return status;
  });
}

int32_t exrp_sampler_open(uint32_t tables, uint32_t table, uint32_t* sampler) {
  return withTable(tables, table, [&](Tables& set, ItemTable&) { return set.openSampler(table, sampler); });
}

int32_t exrp_sampler_ask(uint32_t tables, uint32_t sampler, uint32_t count, uint32_t how) {
  return withSampler(tables, sampler, [&](Tables& set, Sampler& found) { return set.ask(sampler, found, count, how); });
}

int32_t exrp_sampler_read(uint32_t tables, uint32_t sampler, uint8_t* message, double message_size, double* info, uint32_t info_count) {
  return withSampler(tables, sampler, [&](Tables& set, Sampler& found) {
    Status status = checkSize(info_count, EXRP_SAMPLER_COUNT);
    if (status == Status::ok && !(message_size >= 0 && message_size < 0x1p53)) status = fail(Status::argument, 4, message_size);
    if (status == Status::ok) set.readSamples(sampler, found, message, static_cast<size_t>(message_size), info);
    return status;
  });
}

int32_t exrp_stream_close(uint32_t tables, uint32_t stream) {
  return withTables(tables, [&](Tables& set) { return set.close(stream); });
}

int32_t exrp_tables_awake(uint32_t tables, uint32_t* streams, uint32_t streams_count, uint32_t* count) {
  return withTables(tables, [&](Tables& set) {
    *count = set.streams().takeAwake(streams, streams_count);
    return Status::ok;
  });
}

int32_t exrp_tables_save_begin(uint32_t tables) {
  return withTables(tables, [&](Tables& set) { return set.saveBegin(); });
}

int32_t exrp_tables_save_read(uint32_t tables, uint8_t* piece, double piece_size, double* info, uint32_t info_count) {
  return withTables(tables, [&](Tables& set) {
    Status status = checkSize(info_count, EXRP_TABLES_SAVE_COUNT);
    if (status == Status::ok && !(piece_size >= 0 && piece_size < 0x1p53)) status = fail(Status::argument, 3, piece_size);
    if (status == Status::ok && set.saver() == nullptr) status = fail(Status::order);
    return status == Status::ok ? set.saver()->read(piece, static_cast<size_t>(piece_size), info) : status;
  });
}

int32_t exrp_tables_save_end(uint32_t tables) {
  return withTables(tables, [&](Tables& set) {
    set.saveEnd();
    return Status::ok;
  });
}

int32_t exrp_tables_load(uint32_t tables, const uint8_t* piece, double piece_size) {
  return withTables(tables, [&](Tables& set) {
    if (!(piece_size >= 0 && piece_size < 0x1p53)) return fail(Status::argument, 3, piece_size);
    return set.load({piece, static_cast<size_t>(piece_size)});
  });
}

int32_t exrp_tables_load_end(uint32_t tables) {
  return withTables(tables, [&](Tables& set) { return set.loadEnd(); });
}

}  // extern "C"
