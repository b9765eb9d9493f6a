// Records of a checkpoint of Reverb's: they become tables whose items stand in the order of the records, and wrong records are refused with the rule.
#include <cstdlib>
#include <memory>

#include "kernel/base/random.hpp"
#include "tests/kernel/tables/messages.hpp"

using namespace exrp::test;
using exrp::Random;

namespace {

enum Field : uint32_t { tableRecord = 1, chunkRecord, itemRecord };

const std::vector<std::string> names = {"fifo", "heap", "new"};

std::vector<double> config(double maxBytes = 0) {
  std::vector<double> made = {11, 3};
  addTable(made, 10, {2, 1, 0, 100}, fifo, fifo, 3, maxBytes);
  addTable(made, 10, minSize(1), maxHeap, minHeap);
  addTable(made, 10, minSize(1), uniform, fifo);
  return made;
}

Message tableOf(const std::string& name, const std::vector<uint64_t>& counts) {
  Message table;
  putBytes(table, 1, name);
  for (uint32_t k = 0; k < counts.size(); ++k) putVarint(table, 3 + k, counts[k]);
  return table;
}

Message itemAt(const Item& item, uint64_t timesSampled, uint64_t seconds, uint64_t nanos = 0) {
  Message made = itemOf(item);
  putVarint(made, 6, timesSampled);
  Message time;
  putVarint(time, 1, seconds);
  putVarint(time, 2, nanos);
  putBytes(made, 7, time);
  return made;
}

struct Record {
  uint32_t field;
  Message message;
};

std::vector<Record> goodRecords() {
  return {{tableRecord, tableOf("heap", {5, 7, 2, 4, 1})},
          {tableRecord, tableOf("fifo", {2, 1, 0, 1})},
          {chunkRecord, chunkOf(UINT64_MAX, 1)},
          {chunkRecord, chunkOf(2, 1)},
          {chunkRecord, chunkOfSteps(3, 2)},
          {itemRecord, itemAt({UINT64_MAX - 1, "heap", 1, {2, 3}}, 0, 100)},
          {itemRecord, itemAt({12, "heap", 3, {UINT64_MAX}}, 4, 101, 500'000'000)},
          {itemRecord, itemAt({13, "heap", 2, {3}}, 0, 102)},
          {itemRecord, itemAt({12, "fifo", 0, {2}}, 2, 99)},
          {itemRecord, itemAt({14, "fifo", 7, {2, UINT64_MAX, 2}}, 0, 98)}};
}

int32_t restore(TablesUnderTest& tables, const std::vector<Record>& records) {
  for (const Record& record : records) {
    Message piece;
    Message wrapped;
    putBytes(wrapped, 1, record.message);
    putBytes(piece, record.field, record.field == tableRecord ? record.message : wrapped);
    // Memory of exactly this size: the sanitizer sees a byte too many.
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[piece.size()]);
    memcpy(exact.get(), piece.data(), piece.size());
    const int32_t status = exrp_tables_load(tables.id, exact.get(), static_cast<double>(piece.size()));
    if (status != EXRP_STATUS_OK) return status;
  }
  return exrp_tables_load_end(tables.id);
}

void recordsBecomeTables(bool isTwice) {
  TablesUnderTest tables(config(), names);
  std::vector<Record> records = goodRecords();
  // Reverb may save a chunk twice, side by side or not.
  if (isTwice) records.insert(records.begin() + 5, {records[2], records[2], records[4]});
  CHECK_EQUAL(restore(tables, records), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.check(), 0);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 3.0);
  CHECK_EQUAL(tables.info(1, EXRP_TABLES_INFO_INSERTS), 5.0);
  CHECK_EQUAL(tables.info(1, EXRP_TABLES_INFO_SAMPLES), 7.0);
  CHECK_EQUAL(tables.info(1, EXRP_TABLES_INFO_DELETES), 2.0);
  CHECK_EQUAL(tables.info(1, EXRP_TABLES_INFO_UNIQUE_SAMPLES), 4.0);
  CHECK_EQUAL(tables.info(1, EXRP_TABLES_INFO_EPISODES_DELETED), 1.0);
  CHECK_EQUAL(tables.info(1, EXRP_TABLES_INFO_PRIORITY_MAX), 3.0);
  CHECK_EQUAL(tables.info(2, EXRP_TABLES_INFO_SIZE), 0.0);
  const std::vector<Sample> best = tables.sample(tables.sampler(1), 1);
  CHECK_EQUAL(best[0].key, 12u);
  CHECK_EQUAL(best[0].timesSampled, 5u);
  CHECK_EQUAL(best[0].seconds, 101u);
  CHECK_EQUAL(best[0].nanos, 500'000'000u);
  CHECK(best[0].chunks == std::vector<Message>{chunkOf(UINT64_MAX, 1)});
  // The third sample of the first item is its last; 2 x 2 samples are allowed in all, and one was drawn before.
  const uint32_t sampler = tables.sampler(0);
  const std::vector<Sample> oldest = tables.sample(sampler, 9);
  CHECK_EQUAL(oldest.size(), 3u);
  CHECK_EQUAL(oldest[0].key, 12u);
  CHECK_EQUAL(oldest[1].key, 14u);
  CHECK_EQUAL(oldest[1].chunks.size(), 2u);
  // A new item is newer than all that were loaded, and is inserted no earlier.
  CHECK_EQUAL(tables.feed(tables.inserter(), Insert{{chunkOf(9, 9)}, {{77, "heap", 9, {9}}}, {}}, 5), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.sample(tables.sampler(1), 1)[0].seconds, 102u);
  CHECK_EQUAL(tables.check(), 0);
}

/// Each change makes one record wrong: the status, the field, the number and the rule say which.
void wrongRecordsAreRefused() {
  const auto refused = [](size_t at, Record record, double number, double rule, int32_t wanted = EXRP_STATUS_DATA_CORRUPT) {
    std::vector<Record> records = goodRecords();
    records[at] = record;
    TablesUnderTest tables(config(), names);
    CHECK_EQUAL(restore(tables, records), wanted);
    double detail[4] = {};
    CHECK_EQUAL(exrp_error_detail(detail, 4), EXRP_STATUS_OK);
    CHECK_EQUAL(detail[1], number);
    CHECK_EQUAL(detail[2], rule);
    CHECK_EQUAL(exrp_tables_load_end(tables.id), EXRP_STATUS_ORDER);
    CHECK_EQUAL(tables.feed(tables.inserter(), Insert{{chunkOf(1, 1)}, {}, {}}), EXRP_STATUS_ORDER);
  };
  refused(0, {tableRecord, "\x0a"}, 0, 1);
  refused(1, {tableRecord, tableOf("heap", {5})}, 1, 2);
  refused(0, {tableRecord, tableOf("none", {5})}, 0, 3, EXRP_STATUS_DATA_MISMATCH);
  refused(0, {tableRecord, tableOf("heap", {5, 0, 6})}, 0, 7);
  refused(0, {tableRecord, tableOf("heap", {UINT64_MAX, 0, UINT64_MAX})}, 0, 7);
  refused(0, {tableRecord, tableOf("heap", {11})}, 10, 11, EXRP_STATUS_DATA_MISMATCH);
  refused(3, {chunkRecord, "\x0a\x05"}, 1, 1);
  refused(4, {chunkRecord, chunkOf(2, 2)}, 2, 2);  // the same key with other bytes
  std::vector<Record> doubled = goodRecords();
  doubled.insert(doubled.begin() + 3, {doubled[2], doubled[2], {chunkRecord, chunkOf(2, 2)}});
  TablesUnderTest tables(config(), names);
  CHECK_EQUAL(restore(tables, doubled), EXRP_STATUS_DATA_CORRUPT);
  double found[4] = {};
  CHECK_EQUAL(exrp_error_detail(found, 4), EXRP_STATUS_OK);
  CHECK_EQUAL(found[1], 4.0);  // each record counts
  refused(6, {itemRecord, "\x42\x05"}, 1, 1);
  refused(6, {itemRecord, itemAt({UINT64_MAX - 1, "heap", 1, {2}}, 0, 1)}, 1, 2);
  refused(6, {itemRecord, itemAt({1, "new", 1, {2}}, 0, 1)}, 1, 3);
  refused(6, {itemRecord, itemAt({1, "none", 1, {2}}, 0, 1)}, 1, 3);
  refused(6, {itemRecord, itemAt({1, "heap", 1, {2, 4}}, 0, 1)}, 1, 4);
  refused(6, {itemRecord, itemAt({1, "heap", 1, {}}, 0, 1)}, 1, 5);
  refused(6, {itemRecord, itemAt({1, "heap", 1, {}, slicesOf({{3, 1, 2, 0}})}, 0, 1)}, 1, 9);
  refused(6, {itemRecord, itemAt({1, "heap", -1, {2}}, 0, 1)}, 1, 6);
  refused(6, {itemRecord, itemAt({1, "heap", 1 / 0.0 * 0.0, {2}}, 0, 1)}, 1, 6);
  refused(6, {itemRecord, itemAt({1, "heap", 1, {2}}, uint64_t{1} << 32, 1)}, 1, 7);
  refused(6, {itemRecord, itemAt({1, "heap", 1, {2}}, 0, UINT64_MAX)}, 1, 7);
  refused(6, {itemRecord, itemAt({1, "heap", 1, {2}}, 0, 1, 1'000'000'000)}, 1, 7);
  refused(6, {itemRecord, itemAt({1, "fifo", 1, {2}}, 0, 1)}, 4, 8);                  // then `fifo` has one too many
  refused(6, {tableRecord, tableOf("new", {0})}, 1, 8);                               // `heap`, table 1, has one too few
  TablesUnderTest small(config(30), names);
  CHECK_EQUAL(restore(small, goodRecords()), EXRP_STATUS_DATA_MISMATCH);
}

void damagedRecordsAreRefusedOrGiveATableThatHolds(uint64_t seed, int rounds) {
  Random random(seed, 2);
  damagedIsRefusedOrHolds(config(), names, rounds, [&](TablesUnderTest& tables) {
    std::vector<Record> records = goodRecords();
    Record& record = records[random.below(static_cast<uint32_t>(records.size()))];
    damage(record.message, random, random.below(3));
    if (random.below(8) == 0) std::swap(record, records[random.below(static_cast<uint32_t>(records.size()))]);
    return restore(tables, records);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20261122;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3000;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  recordsBecomeTables(false);
  recordsBecomeTables(true);
  wrongRecordsAreRefused();
  damagedRecordsAreRefusedOrGiveATableThatHolds(seed, rounds);
  CHECK_EQUAL(exrp_tables_count(), 0u);
  return checkResult("tables/restoring");
}
