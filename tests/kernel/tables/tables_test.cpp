// Tables by the C ABI: the semantics of Reverb, one case each, and what we do better: nothing changes where a message is refused.
// The file is long because each rule of Reverb has its case here.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tests/kernel/tables/messages.hpp"

using namespace exrp::test;

namespace {

/// One table "t".
std::vector<double> oneTable(double maxSize, const std::vector<double>& limiter, const std::vector<double>& sampler,
                             const std::vector<double>& remover, double maxTimesSampled = 0, double maxBytes = 0) {
  std::vector<double> config = {7, 1};
  addTable(config, maxSize, limiter, sampler, remover, maxTimesSampled, maxBytes);
  return config;
}

/// One item on one chunk of its own, of an episode of its own; nothing is kept.
Insert single(uint64_t key, double priority, const std::string& table = "t", size_t size = 20) {
  return {{chunkOf(key, key, size)}, {{key, table, priority, {key}}}, {}};
}

std::vector<uint64_t> keysOf(TablesUnderTest& tables, uint32_t table) {
  const auto count = static_cast<uint32_t>(tables.info(table, EXRP_TABLES_INFO_SIZE));
  std::vector<uint8_t> keys(8 * count + 1);
  std::vector<double> numbers(EXRP_ITEM_COUNT * count + 1);
  CHECK_EQUAL(exrp_tables_items(tables.id, table, 0, count, keys.data(), 8 * count, numbers.data(), EXRP_ITEM_COUNT * count), EXRP_STATUS_OK);
  std::vector<uint64_t> found(count);
  for (uint32_t k = 0; k < count; ++k) memcpy(&found[k], keys.data() + 8 * k, 8);
  std::sort(found.begin(), found.end());
  return found;
}

void anItemComesBackAsItWent() {
  TablesUnderTest tables(oneTable(10, minSize(1), uniform, fifo), {"t"});
  const uint32_t inserter = tables.inserter();
  const Insert insert = {{chunkOf(5, 77, 300), chunkOf(6, 77, 1)}, {{0xfedcba9876543210u, "t", 2.5, {6, 5, 6}}}, {5}};
  CHECK_EQUAL(tables.feed(inserter, insert, 1234567890123.5), EXRP_STATUS_OK);
  CHECK((tables.confirmed(inserter) == std::vector<uint64_t>{0xfedcba9876543210u}));
  CHECK(tables.confirmed(inserter).empty());
  const std::vector<Sample> samples = tables.sample(tables.sampler(0), 2);
  CHECK_EQUAL(samples.size(), size_t{2});
  for (size_t k = 0; k < samples.size(); ++k) {
    const Sample& sample = samples[k];
    CHECK_EQUAL(sample.key, 0xfedcba9876543210u);
    CHECK(sample.table == "t");
    CHECK_EQUAL(sample.priority, 2.5);
    CHECK_EQUAL(sample.timesSampled, k + 1);
    CHECK_EQUAL(sample.seconds, uint64_t{1234567890});
    CHECK_EQUAL(sample.nanos, uint64_t{123500000});
    CHECK(sample.trajectory == trajectoryOf({6, 5, 6}));
    CHECK_EQUAL(sample.probability, 1.0);
    CHECK_EQUAL(sample.tableSize, uint64_t{1});
    CHECK(!sample.isLimited);
    CHECK(sample.isWhole);
    // Each chunk once, in the order in which the trajectory names them.
    CHECK((sample.chunks == std::vector<Message>{chunkOf(6, 77, 1), chunkOf(5, 77, 300)}));
  }
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_EPISODES), 1.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_UNIQUE_SAMPLES), 1.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_BYTES), static_cast<double>(chunkOf(5, 77, 300).size() + chunkOf(6, 77, 1).size()));
  CHECK_EQUAL(tables.check(), 0);
}

void aKnownKeyIsOnlyAChangeOfPriority() {
  TablesUnderTest tables(oneTable(10, minSize(1), maxHeap, fifo), {"t"});
  const uint32_t inserter = tables.inserter();
  CHECK_EQUAL(tables.feed(inserter, single(1, 1)), EXRP_STATUS_OK);
  Insert again = single(1, 9);
  again.chunks = {chunkOf(2, 2)};
  again.items[0].chunks = {2};
  CHECK_EQUAL(tables.feed(inserter, again), EXRP_STATUS_OK);
  CHECK((tables.confirmed(inserter) == std::vector<uint64_t>{1, 1}));
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_SIZE), 1.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_INSERTS), 1.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_PRIORITY_MAX), 9.0);
  const std::vector<Sample> samples = tables.sample(tables.sampler(0), 1);
  CHECK_EQUAL(samples[0].priority, 9.0);
  CHECK((samples[0].chunks == std::vector<Message>{chunkOf(1, 1)}));
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 1.0);
}

void theNewItemMayBeTheOneThatGoes() {
  TablesUnderTest tables(oneTable(2, minSize(1), uniform, minHeap), {"t"});
  const uint32_t inserter = tables.inserter();
  for (const auto& [key, priority] : std::vector<std::pair<uint64_t, double>>{{1, 5}, {2, 6}, {3, 1}, {4, 7}}) {
    CHECK_EQUAL(tables.feed(inserter, single(key, priority)), EXRP_STATUS_OK);
  }
  CHECK((keysOf(tables, 0) == std::vector<uint64_t>{2, 4}));
  CHECK((tables.confirmed(inserter) == std::vector<uint64_t>{1, 2, 3, 4}));
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_INSERTS), 4.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_DELETES), 2.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_EPISODES_DELETED), 2.0);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 2.0);
}

void heapsTakeTheLeastRecentlyInsertedOrUpdatedOfEqualPriorities() {
  TablesUnderTest tables(oneTable(10, minSize(1), maxHeap, fifo), {"t"});
  const uint32_t inserter = tables.inserter();
  for (uint64_t key = 1; key <= 3; ++key) CHECK_EQUAL(tables.feed(inserter, single(key, 4)), EXRP_STATUS_OK);
  const uint32_t sampler = tables.sampler(0);
  CHECK_EQUAL(tables.sample(sampler, 1)[0].key, uint64_t{1});
  CHECK_EQUAL(tables.mutate(mutateOf("t", {{1, 4}}, {})), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.sample(sampler, 1)[0].key, uint64_t{2});
  CHECK_EQUAL(tables.mutate(mutateOf("t", {{2, 4}, {3, 5}}, {})), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.sample(sampler, 1)[0].key, uint64_t{3});
  CHECK_EQUAL(tables.mutate(mutateOf("t", {}, {3})), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.sample(sampler, 1)[0].key, uint64_t{1});
}

void fifoAndLifoGoByInsertion() {
  std::vector<double> config = {7, 2};
  addTable(config, 3, minSize(1), fifo, fifo);
  addTable(config, 3, minSize(1), lifo, lifo);
  TablesUnderTest tables(config, {"first", "last"});
  const uint32_t inserter = tables.inserter();
  for (uint64_t key = 1; key <= 4; ++key) {
    CHECK_EQUAL(tables.feed(inserter, Insert{{chunkOf(key, 1)}, {{key, "first", 1, {key}}, {key, "last", 1, {key}}}, {}}), EXRP_STATUS_OK);
  }
  CHECK((keysOf(tables, 0) == std::vector<uint64_t>{2, 3, 4}));
  CHECK((keysOf(tables, 1) == std::vector<uint64_t>{1, 2, 3}));  // the newest goes at once
  CHECK_EQUAL(tables.mutate(mutateOf("first", {{2, 100}}, {})), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.sample(tables.sampler(0), 1)[0].key, uint64_t{2});
  CHECK_EQUAL(tables.sample(tables.sampler(1), 1)[0].key, uint64_t{3});
  CHECK_EQUAL(tables.info(1, EXRP_TABLES_INFO_EPISODES), 1.0);
}

void prioritizedIsReverbs() {
  for (const double exponent : {0.0, 0.5, 1.0, 2.0}) {
    TablesUnderTest tables(oneTable(10, minSize(1), power(exponent), fifo), {"t"});
    const uint32_t inserter = tables.inserter();
    const std::vector<double> priorities = {0, 1, 2, 5};
    for (uint64_t key = 0; key < 4; ++key) CHECK_EQUAL(tables.feed(inserter, single(key, 0)), EXRP_STATUS_OK);
    const uint32_t sampler = tables.sampler(0);
    // All weights are 0: uniform.
    std::set<uint64_t> seen;
    for (const Sample& sample : tables.sample(sampler, 100)) {
      CHECK_EQUAL(sample.probability, 0.25);
      seen.insert(sample.key);
    }
    CHECK_EQUAL(seen.size(), size_t{4});
    for (uint64_t key = 0; key < 4; ++key) CHECK_EQUAL(tables.mutate(mutateOf("t", {{key, priorities[key]}}, {})), EXRP_STATUS_OK);
    double total = 0;
    std::vector<double> weights;
    for (const double priority : priorities) weights.push_back(priority > 0 ? std::pow(priority, exponent) : 0);
    for (const double weight : weights) total += weight;
    std::map<uint64_t, int> counts;
    for (const Sample& sample : tables.sample(sampler, 3000)) {
      ++counts[sample.key];
      CHECK(std::fabs(sample.probability - weights[sample.key] / total) < 1e-14);
    }
    CHECK_EQUAL(counts[0], 0);
    // Five standard deviations of each count.
    for (uint64_t key = 1; key < 4; ++key) {
      const double p = weights[key] / total;
      CHECK(std::fabs(counts[key] - 3000 * p) < 5 * std::sqrt(3000 * p * (1 - p)));
    }
  }
}

void anItemGoesAtItsLastSample() {
  TablesUnderTest tables(oneTable(10, {1, 1, 0, 10}, fifo, fifo, 1), {"t"});  // queue(10)
  const uint32_t inserter = tables.inserter();
  for (uint64_t key = 1; key <= 3; ++key) CHECK_EQUAL(tables.feed(inserter, single(key, 1)), EXRP_STATUS_OK);
  const uint32_t sampler = tables.sampler(0);
  const std::vector<Sample> samples = tables.sample(sampler, 5);
  CHECK_EQUAL(samples.size(), size_t{3});
  for (size_t k = 0; k < samples.size(); ++k) {
    CHECK_EQUAL(samples[k].key, k + 1);
    CHECK_EQUAL(samples[k].tableSize, 3 - k);
    CHECK((samples[k].chunks == std::vector<Message>{chunkOf(k + 1, k + 1)}));
  }
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 0.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_SAMPLERS_WAITING), 1.0);
  CHECK(tables.awake().empty());
  CHECK_EQUAL(tables.feed(inserter, single(4, 1)), EXRP_STATUS_OK);
  CHECK((tables.awake() == std::vector<uint32_t>{sampler}));
  const std::vector<Sample> late = tables.read(sampler);
  CHECK_EQUAL(late.size(), size_t{1});
  CHECK(late[0].isLimited);
  CHECK_EQUAL(tables.check(), 0);
}

void insertsThatTheLimiterRefusesWaitInOrder() {
  TablesUnderTest tables(oneTable(10, {1, 1, 0, 2}, fifo, fifo, 1), {"t"});  // queue(2)
  const uint32_t one = tables.inserter();
  const uint32_t other = tables.inserter();
  for (uint64_t key = 1; key <= 3; ++key) CHECK_EQUAL(tables.feed(one, single(key, 1)), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.feed(other, single(10, 1)), EXRP_STATUS_OK);
  CHECK((tables.confirmed(one) == std::vector<uint64_t>{1, 2}));
  CHECK(tables.confirmed(other).empty());
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_INSERTS_WAITING), 2.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_BYTES_WAITING), static_cast<double>(chunkOf(3, 3).size() + chunkOf(10, 10).size()));
  double info[EXRP_INSERTER_COUNT] = {};
  CHECK_EQUAL(exrp_inserter_read(tables.id, other, nullptr, 0, info, EXRP_INSERTER_COUNT), EXRP_STATUS_OK);
  CHECK_EQUAL(info[EXRP_INSERTER_WAITING], 1.0);
  CHECK_EQUAL(info[EXRP_INSERTER_PAUSE], 1.0);  // of a table of 10 items, one may wait
  const uint32_t sampler = tables.sampler(0);
  CHECK_EQUAL(tables.sample(sampler, 1)[0].key, uint64_t{1});
  CHECK((tables.awake() == std::vector<uint32_t>{one}));
  CHECK((tables.confirmed(one) == std::vector<uint64_t>{3}));
  // Its client goes; the item that waits still goes in.
  CHECK_EQUAL(exrp_stream_close(tables.id, other), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.sample(sampler, 1)[0].key, uint64_t{2});
  CHECK((keysOf(tables, 0) == std::vector<uint64_t>{3, 10}));
  CHECK(tables.awake().empty());
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_BYTES_WAITING), 0.0);
  // A wider limiter lets the next one in at once.
  CHECK_EQUAL(tables.feed(one, single(4, 1)), EXRP_STATUS_OK);
  CHECK(tables.confirmed(one).empty());
  const double wider[EXRP_RATE_LIMITER_RULE_COUNT] = {1, 1, 0, 3};
  CHECK_EQUAL(exrp_tables_rate_limiter_set(tables.id, 0, wider, EXRP_RATE_LIMITER_RULE_COUNT), EXRP_STATUS_OK);
  CHECK((tables.awake() == std::vector<uint32_t>{one}));
  CHECK((tables.confirmed(one) == std::vector<uint64_t>{4}));
  CHECK_EQUAL(tables.check(), 0);
}

/// Once, an item that waited under the id of a closed stream was counted for a later stream with the same id: its count of waiting items fell
/// below 0, and it confirmed a key that its client had never sent.
void anItemOfAClosedStreamBelongsToNoLaterOne() {
  TablesUnderTest tables(oneTable(10, {1, 1, 0, 1}, fifo, fifo, 1), {"t"});  // queue(1)
  const uint32_t first = tables.inserter();
  for (uint64_t key = 1; key <= 2; ++key) CHECK_EQUAL(tables.feed(first, single(key, 1)), EXRP_STATUS_OK);
  CHECK_EQUAL(exrp_stream_close(tables.id, first), EXRP_STATUS_OK);
  uint32_t again = 0;
  uint32_t round = 0;
  for (; round < 70000; ++round) {
    again = tables.inserter();
    if (again == first) break;
    CHECK_EQUAL(exrp_stream_close(tables.id, again), EXRP_STATUS_OK);
  }
  CHECK(round < 70000);  // else the test tests nothing
  CHECK_EQUAL(tables.check(), 0);
  CHECK_EQUAL(tables.sample(tables.sampler(0), 2).size(), size_t{2});
  double info[EXRP_INSERTER_COUNT] = {};
  CHECK_EQUAL(exrp_inserter_read(tables.id, again, nullptr, 0, info, EXRP_INSERTER_COUNT), EXRP_STATUS_OK);
  CHECK_EQUAL(info[EXRP_INSERTER_WAITING], 0.0);
  CHECK(tables.confirmed(again).empty());
  CHECK_EQUAL(tables.check(), 0);
}

void itemsOfClosedStreamsAreBounded() {
  TablesUnderTest tables(oneTable(1000000, {1, 1, 0, 1}, fifo, fifo, 1), {"t"});  // queue(1)
  const uint32_t stays = tables.inserter();
  CHECK_EQUAL(tables.feed(stays, single(1, 1)), EXRP_STATUS_OK);
  const uint32_t sampler = tables.sampler(0);
  const auto leave = [&](size_t chunkBytes, uint32_t count) {
    const uint32_t goes = tables.inserter();
    CHECK_EQUAL(tables.feed(stays, single(2, 1)), EXRP_STATUS_OK);  // before the others
    Insert many = {{chunkOf(7, 7, chunkBytes)}, {}, {}};
    for (uint64_t key = 10; key < 10 + count; ++key) many.items.push_back({key, "t", 1, {7}});
    CHECK_EQUAL(tables.feed(goes, many), EXRP_STATUS_OK);
    CHECK_EQUAL(tables.feed(stays, single(3, 1)), EXRP_STATUS_OK);  // and behind them
    CHECK_EQUAL(exrp_stream_close(tables.id, goes), EXRP_STATUS_OK);
    CHECK_EQUAL(tables.check(), 0);
    const auto left = static_cast<uint32_t>(tables.info(0, EXRP_TABLES_INFO_INSERTS_WAITING)) - 2;
    // The oldest of them went on waiting, in their order, and those of the open stream too.
    std::vector<uint64_t> keys;
    CHECK_EQUAL(exrp_sampler_ask(tables.id, sampler, left + 3, EXRP_ASK_FLOWING), EXRP_STATUS_OK);
    while (keys.size() < left + 3) {
      for (const Sample& sample : tables.read(sampler, size_t{4} << 20)) keys.push_back(sample.key);
    }
    CHECK_EQUAL(keys[1], uint64_t{2});
    for (uint32_t k = 0; k < left; ++k) CHECK_EQUAL(keys[k + 2], uint64_t{10} + k);
    CHECK_EQUAL(keys.back(), uint64_t{3});
    CHECK_EQUAL(tables.check(), 0);
    CHECK_EQUAL(tables.feed(stays, single(1, 1)), EXRP_STATUS_OK);
    return left;
  };
  CHECK_EQUAL(leave(20, 5000), 5000u);
  CHECK_EQUAL(leave(20, EXRP_LIMIT_TABLES_LEFT_ITEMS + 100), uint32_t{EXRP_LIMIT_TABLES_LEFT_ITEMS});
  CHECK_EQUAL(leave(1 << 20, 300), uint32_t{EXRP_LIMIT_TABLES_LEFT_BYTES >> 20});
  CHECK_EQUAL(exrp_stream_close(tables.id, stays), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 1.0);
}

void heldChunksAreCounted() {
  TablesUnderTest tables(oneTable(10, minSize(1), uniform, fifo), {"t"});
  const uint32_t inserter = tables.inserter();
  const auto held = [&] {
    double info[EXRP_INSERTER_COUNT] = {};
    CHECK_EQUAL(exrp_inserter_read(tables.id, inserter, nullptr, 0, info, EXRP_INSERTER_COUNT), EXRP_STATUS_OK);
    return info[EXRP_INSERTER_CHUNK_BYTES];
  };
  CHECK_EQUAL(held(), 0.0);
  CHECK_EQUAL(tables.feed(inserter, Insert{{chunkOf(1, 1, 5000), chunkOf(2, 1, 1)}, {}, {}}), EXRP_STATUS_OK);
  const double both = held();
  CHECK(both > 5100 && both < 5500);
  CHECK_EQUAL(tables.feed(inserter, Insert{{chunkOf(1, 1, 5000)}, {}, {}}), EXRP_STATUS_OK);  // known
  CHECK_EQUAL(tables.feed(inserter, Insert{{chunkOf(3, 1, 9000)}, {{1, "nobody", 1, {3}}}, {}}), EXRP_STATUS_TABLE_UNKNOWN);
  CHECK_EQUAL(held(), both);
  CHECK_EQUAL(tables.feed(inserter, Insert{{}, {{1, "t", 1, {1}}}, {2}}), EXRP_STATUS_OK);
  CHECK(held() > 60 && held() < 300);
  CHECK_EQUAL(tables.feed(inserter, Insert{{}, {{2, "t", 1, {2}}}, {}}), EXRP_STATUS_OK);
  CHECK_EQUAL(held(), 0.0);
}

void samplersWaitInOrder() {
  TablesUnderTest tables(oneTable(100, {1, 1, 0, 100}, fifo, fifo, 1), {"t"});
  const uint32_t first = tables.sampler(0);
  const uint32_t gone = tables.sampler(0);
  const uint32_t second = tables.sampler(0);
  CHECK(tables.sample(first, 2).empty());
  CHECK(tables.sample(gone, 5).empty());
  CHECK(tables.sample(second, 1).empty());
  CHECK_EQUAL(exrp_stream_close(tables.id, gone), EXRP_STATUS_OK);
  const uint32_t inserter = tables.inserter();
  for (uint64_t key = 1; key <= 3; ++key) CHECK_EQUAL(tables.feed(inserter, single(key, 1)), EXRP_STATUS_OK);
  CHECK((tables.awake() == std::vector<uint32_t>{first, second}));
  const std::vector<Sample> two = tables.read(first);
  CHECK_EQUAL(two.size(), size_t{2});
  CHECK_EQUAL(two[1].key, uint64_t{2});
  CHECK_EQUAL(tables.read(second)[0].key, uint64_t{3});
  CHECK_EQUAL(exrp_sampler_ask(tables.id, gone, 1, EXRP_ASK_FLOWING), EXRP_STATUS_STREAM_UNKNOWN);
  double info[EXRP_INSERTER_COUNT] = {};
  CHECK_EQUAL(exrp_inserter_read(tables.id, first, nullptr, 0, info, EXRP_INSERTER_COUNT), EXRP_STATUS_STREAM_UNKNOWN);
  CHECK_EQUAL(exrp_stream_close(tables.id, gone), EXRP_STATUS_STREAM_UNKNOWN);
  CHECK_EQUAL(tables.check(), 0);
}

void aSampleThatDoesNotFitIsKept() {
  TablesUnderTest tables(oneTable(10, minSize(1), fifo, fifo, 1), {"t"});
  const uint32_t inserter = tables.inserter();
  CHECK_EQUAL(tables.feed(inserter, single(1, 1, "t", 1000)), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.feed(inserter, single(2, 1, "t", 10)), EXRP_STATUS_OK);
  const uint32_t sampler = tables.sampler(0);
  CHECK_EQUAL(exrp_sampler_ask(tables.id, sampler, 2, EXRP_ASK_FLOWING), EXRP_STATUS_OK);
  double info[EXRP_SAMPLER_COUNT] = {};
  CHECK(tables.read(sampler, 200, info).empty());
  CHECK_EQUAL(info[EXRP_SAMPLER_WANTED], 2.0);
  const auto needed = static_cast<size_t>(info[EXRP_SAMPLER_NEEDED]);
  CHECK(needed > 1000 && needed < 1200);
  CHECK(tables.read(sampler, needed - 1, info).empty());
  CHECK_EQUAL(tables.read(sampler, needed, info)[0].key, uint64_t{1});
  CHECK_EQUAL(info[EXRP_SAMPLER_BYTES], static_cast<double>(needed));
  CHECK_EQUAL(info[EXRP_SAMPLER_NEEDED], 0.0);
  CHECK_EQUAL(info[EXRP_SAMPLER_WANTED], 1.0);
  // Its item has gone meanwhile, and what was drawn is still whole.
  CHECK_EQUAL(exrp_tables_reset(tables.id, 0), EXRP_STATUS_OK);
  CHECK((tables.read(sampler)[0].chunks == std::vector<Message>{chunkOf(2, 2, 10)}));
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 0.0);
}

void chunksLiveAsLongAsTheyAreKeptOrUsed() {
  TablesUnderTest tables(oneTable(2, minSize(1), fifo, fifo), {"t"});
  const uint32_t inserter = tables.inserter();
  CHECK_EQUAL(tables.feed(inserter, Insert{{chunkOf(1, 1), chunkOf(2, 1), chunkOf(3, 2)}, {}, {}}), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 3.0);
  CHECK_EQUAL(tables.feed(inserter, Insert{{}, {{1, "t", 1, {1, 2}}}, {2}}), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 2.0);
  CHECK_EQUAL(tables.feed(inserter, Insert{{chunkOf(4, 2)}, {{2, "t", 1, {2, 4}}}, {}}), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_BYTES), static_cast<double>(3 * chunkOf(1, 1).size()));
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_EPISODES), 2.0);
  CHECK_EQUAL(tables.mutate(mutateOf("t", {}, {1})), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 2.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_EPISODES), 2.0);
  CHECK_EQUAL(tables.mutate(mutateOf("t", {}, {2, 2, 99})), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 0.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_EPISODES_DELETED), 2.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_DELETES), 2.0);
  // Another stream's chunks are out of reach, whatever key an item names.
  CHECK_EQUAL(tables.feed(inserter, Insert{{chunkOf(9, 2)}, {}, {}}), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.feed(tables.inserter(), Insert{{}, {{3, "t", 1, {9}}}, {}}), EXRP_STATUS_CHUNK_UNKNOWN);
  CHECK_EQUAL(exrp_stream_close(tables.id, inserter), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 0.0);
  CHECK_EQUAL(tables.check(), 0);
}

void maxBytesHoldsDistinctChunks() {
  const auto each = static_cast<double>(chunkOf(1, 1, 100).size());
  TablesUnderTest tables(oneTable(100, minSize(1), fifo, fifo, 0, 3 * each), {"t"});
  const uint32_t inserter = tables.inserter();
  for (uint64_t key = 1; key <= 3; ++key) CHECK_EQUAL(tables.feed(inserter, single(key, 1, "t", 100)), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_SIZE), 3.0);
  CHECK_EQUAL(tables.feed(inserter, Insert{{chunkOf(4, 4, 100)}, {{4, "t", 1, {4}}, {5, "t", 1, {4}}, {6, "t", 1, {4}}}, {}}), EXRP_STATUS_OK);
  CHECK((keysOf(tables, 0) == std::vector<uint64_t>{2, 3, 4, 5, 6}));
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_BYTES), 3 * each);
  CHECK_EQUAL(tables.feed(inserter, single(7, 1, "t", 1000)), EXRP_STATUS_ITEM_BYTES);
  CHECK((keysOf(tables, 0) == std::vector<uint64_t>{2, 3, 4, 5, 6}));
  CHECK_EQUAL(tables.check(), 0);
}

void aBadMessageChangesNothing() {
  TablesUnderTest tables(oneTable(5, minSize(1), power(1), fifo), {"t"});
  const uint32_t inserter = tables.inserter();
  CHECK_EQUAL(tables.feed(inserter, Insert{{chunkOf(1, 1), chunkOf(2, 1)}, {{1, "t", 3, {1}}}, {1, 2}}), EXRP_STATUS_OK);
  const std::vector<double> before = shown(tables, inserter);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const Item good = {7, "t", 1, {3}};
  const std::vector<Message> chunks = {chunkOf(3, 9)};
  const auto refuse = [&](const Message& message, int32_t status, std::vector<double> detail) {
    CHECK_EQUAL(tables.feed(inserter, message), status);
    double got[4] = {};
    CHECK_EQUAL(exrp_error_detail(got, 4), EXRP_STATUS_OK);
    for (size_t k = 0; k < detail.size(); ++k) CHECK(got[k] == detail[k] || (std::isnan(got[k]) && std::isnan(detail[k])));
    CHECK((shown(tables, inserter) == before));
    CHECK_EQUAL(tables.check(), 0);
  };
  for (const double wrong : {-1.0, nan, infinity, -infinity, -5e-324}) {
    refuse(Insert{chunks, {good, {0x500000006u, "t", wrong, {3}}}, {}}.message(), EXRP_STATUS_ITEM_PRIORITY, {1, wrong, 5, 6});
    refuse(Insert{chunks, {good, {0x500000006u, "t", 1, {3}, {}, wrong}}, {}}.message(), EXRP_STATUS_ITEM_PRIORITY, {1, wrong, 5, 6});
  }
  refuse(Insert{chunks, {good, {8, "u", 1, {3}}}, {}}.message(), EXRP_STATUS_TABLE_UNKNOWN, {1, -1, 1});
  refuse(Insert{chunks, {good, {8, "t", 1, {3, 0x700000004u}}}, {}}.message(), EXRP_STATUS_CHUNK_UNKNOWN, {1, 7, 4});
  refuse(Insert{chunks, {good, {0x900000001u, "t", 1, {}}}, {}}.message(), EXRP_STATUS_ITEM_EMPTY, {1, 9, 1});
  {
    // A chunk of steps 4 to 6 with two tensors: what lies in it is taken, and what reaches beyond is not. -1 has ten bytes.
    Message range;
    putVarint(range, 2, 4);
    putVarint(range, 3, 6);
    Message chunk;
    putVarint(chunk, 1, 0x800000003u);
    putBytes(chunk, 2, range);
    putVarint(chunk, 6, 2);
    const auto slicing = [&](uint64_t offset, uint64_t length, uint64_t index) {
      Message slice;
      putVarint(slice, 1, 0x800000003u);
      putVarint(slice, 2, offset);
      putVarint(slice, 3, length);
      putVarint(slice, 4, index);
      Message column;
      putBytes(column, 1, slice);
      Message trajectory;
      putBytes(trajectory, 1, column);
      Message item;
      putVarint(item, 1, 9);
      putBytes(item, 2, "t");
      putReal(item, 5, 1);
      putBytes(item, 8, trajectory);
      Message message;
      putBytes(message, 1, chunk);
      putBytes(message, 2, item);
      return message;
    };
    const uint64_t below = ~uint64_t{0};
    const uint64_t wrong[][3] = {{3, 1, 0}, {0, 4, 0}, {2, 2, 1}, {0, 1, 2}, {below, 1, 0}, {0, below, 0}, {0, 1, below}, {INT32_MAX, INT32_MAX, 0}};
    for (const auto& [offset, length, index] : wrong) refuse(slicing(offset, length, index), EXRP_STATUS_ITEM_SLICE, {0, 8, 3});
    TablesUnderTest others(oneTable(5, minSize(1), power(1), fifo), {"t"});
    const uint32_t taking = others.inserter();
    const uint64_t right[][3] = {{0, 3, 0}, {2, 1, 1}, {0, 1, 1}};
    for (const auto& [offset, length, index] : right) {
      CHECK_EQUAL(others.feed(taking, slicing(offset, length, index)), EXRP_STATUS_OK);
    }
  }
  refuse(Insert{chunks, {good}, {1, 0x200000004u}}.message(), EXRP_STATUS_CHUNKS_KEPT, {2, 3, 2, 4});
  refuse("", EXRP_STATUS_MESSAGE_EMPTY, {});
  const Message whole = Insert{chunks, {good}, {1}}.message();
  for (size_t size = 1; size < whole.size(); ++size) {
    // Cut between two fields, it is a message.
    const int32_t status = tables.feed(inserter, whole.substr(0, size));
    if (status == EXRP_STATUS_OK) break;
    CHECK_EQUAL(status, EXRP_STATUS_MESSAGE);
    CHECK((shown(tables, inserter) == before));
  }
  // The same for priorities: the update before the wrong one is not applied, and nothing is deleted.
  for (const double wrong : {-1.0, nan, infinity}) {
    CHECK_EQUAL(tables.mutate(mutateOf("t", {{1, 8}, {2, wrong}}, {1})), EXRP_STATUS_ITEM_PRIORITY);
    CHECK_EQUAL(tables.mutate(mutateOf("t", {{1, 8}, {2, 1, wrong}}, {1})), EXRP_STATUS_ITEM_PRIORITY);
  }
  CHECK_EQUAL(tables.mutate(mutateOf("u", {{1, 8}}, {})), EXRP_STATUS_TABLE_UNKNOWN);
  CHECK_EQUAL(tables.mutate("\x0a"), EXRP_STATUS_MESSAGE);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_PRIORITY_MAX), 3.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_SIZE), 1.0);
}

/// Each request for memory is refused in turn, until the call needs no more.
void aCallWithoutMemoryChangesNothing() {
  TablesUnderTest tables(oneTable(3000, {1, 1, -1e9, 1200}, power(0.5), minHeap), {"t"});
  const uint32_t inserter = tables.inserter();
  int refused = 0;
  for (uint64_t key = 1; key < 1500; key += 25) {
    Insert insert;
    for (uint64_t k = key; k < key + 25; ++k) {
      insert.chunks.push_back(chunkOf(k, k, 3000));
      insert.items.push_back({k, "t", 1.0, {k}});
      if (k > 700) insert.items.back().own = 2;
    }
    const Message message = insert.message();
    refused += refusedBefore(tables, inserter, [&] { return tables.feed(inserter, message); });
  }
  CHECK(refused > 50);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_INSERTS_WAITING), 300.0);
}

void deletesComeBeforeUpdates() {
  TablesUnderTest tables(oneTable(5, minSize(1), maxHeap, fifo), {"t"});
  const uint32_t inserter = tables.inserter();
  for (uint64_t key = 1; key <= 2; ++key) CHECK_EQUAL(tables.feed(inserter, single(key, 1)), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.mutate(mutateOf("t", {{1, 9}, {2, 4}, {55, 2}}, {1, 77})), EXRP_STATUS_OK);
  CHECK((keysOf(tables, 0) == std::vector<uint64_t>{2}));
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_PRIORITY_MAX), 4.0);
}

void resetClearsItemsAndCountsAndLetsWaitersIn() {
  TablesUnderTest tables(oneTable(5, {1, 1, 0, 1}, fifo, fifo), {"t"});
  const uint32_t inserter = tables.inserter();
  for (uint64_t key = 1; key <= 2; ++key) CHECK_EQUAL(tables.feed(inserter, single(key, 1)), EXRP_STATUS_OK);
  CHECK((tables.confirmed(inserter) == std::vector<uint64_t>{1}));
  CHECK_EQUAL(exrp_tables_reset(tables.id, 0), EXRP_STATUS_OK);
  CHECK((tables.confirmed(inserter) == std::vector<uint64_t>{2}));
  CHECK((keysOf(tables, 0) == std::vector<uint64_t>{2}));
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_INSERTS), 1.0);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_DELETES), 0.0);
  CHECK_EQUAL(tables.check(), 0);
}

void theRemoverMayHavePrioritiesOfItsOwn() {
  TablesUnderTest tables(oneTable(2, minSize(1), maxHeap, minHeap), {"t"});
  const uint32_t inserter = tables.inserter();
  // For the sampler 1 is the best; the remover would let 3 go first.
  const std::vector<std::vector<double>> priorities = {{9, 5}, {8, 6}, {7, 1}};
  for (uint64_t key = 1; key <= 3; ++key) {
    const Item item = {key, "t", priorities[key - 1][0], {key}, {}, priorities[key - 1][1]};
    CHECK_EQUAL(tables.feed(inserter, Insert{{chunkOf(key, 1)}, {item}, {}}), EXRP_STATUS_OK);
  }
  CHECK((keysOf(tables, 0) == std::vector<uint64_t>{1, 2}));
  CHECK_EQUAL(tables.sample(tables.sampler(0), 1)[0].key, uint64_t{1});
}

/// An update without such a priority gave the remover the sampler's.
void anItemKeepsItsOwnPriorityForTheRemover() {
  TablesUnderTest tables(oneTable(3, minSize(1), power(1), minHeap), {"t"});
  const uint32_t inserter = tables.inserter();
  CHECK_EQUAL(tables.feed(inserter, single(9, 15)), EXRP_STATUS_OK);  // it came before the first that has one
  for (const auto& [key, own] : std::vector<std::pair<uint64_t, double>>{{1, 10}, {2, 20}}) {
    Insert insert = single(key, 1);
    insert.items[0].own = own;
    CHECK_EQUAL(tables.feed(inserter, insert), EXRP_STATUS_OK);
  }
  CHECK_EQUAL(tables.mutate(mutateOf("t", {{2, 0.5}}, {})), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.feed(inserter, single(2, 0.25)), EXRP_STATUS_OK);  // its key is there
  CHECK_EQUAL(tables.feed(inserter, single(3, 30)), EXRP_STATUS_OK);
  CHECK((keysOf(tables, 0) == std::vector<uint64_t>{2, 3, 9}));
  CHECK_EQUAL(tables.mutate(mutateOf("t", {{2, 0.5, 16}, {9, 17}}, {})), EXRP_STATUS_OK);  // 9 has the same for both
  CHECK_EQUAL(tables.feed(inserter, single(4, 40)), EXRP_STATUS_OK);
  CHECK((keysOf(tables, 0) == std::vector<uint64_t>{3, 4, 9}));
  CHECK_EQUAL(tables.check(), 0);
}

void samplingWithoutReplacementTakesEachItemOnceInABatch() {
  TablesUnderTest tables(oneTable(200, minSize(1), {EXRP_SELECTOR_WITHOUT_REPLACEMENT}, fifo), {"t"});
  const uint32_t inserter = tables.inserter();
  for (uint64_t key = 0; key < 200; ++key) CHECK_EQUAL(tables.feed(inserter, single(key, 1)), EXRP_STATUS_OK);
  std::set<uint64_t> seen;
  for (const Sample& sample : tables.sample(tables.sampler(0), 200)) seen.insert(sample.key);
  CHECK_EQUAL(seen.size(), size_t{200});
}

void samplersWithoutReplacementShareAnEpoch() {
  TablesUnderTest tables(oneTable(200, minSize(1), {EXRP_SELECTOR_WITHOUT_REPLACEMENT}, fifo), {"t"});
  const uint32_t inserter = tables.inserter();
  for (uint64_t key = 0; key < 200; ++key) CHECK_EQUAL(tables.feed(inserter, single(key, 1)), EXRP_STATUS_OK);
  const uint32_t samplers[] = {tables.sampler(0), tables.sampler(0), tables.sampler(0)};
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::set<uint64_t> seen;
    for (uint32_t k = 0; k < 40; ++k) {
      for (const Sample& sample : tables.sample(samplers[k % 3], 5)) seen.insert(sample.key);
    }
    CHECK_EQUAL(seen.size(), size_t{200});
  }
  // A batch may be larger than the table.
  CHECK_EQUAL(tables.sample(samplers[0], 310).size(), size_t{310});
  // A batch that is larger than one turn is whole, also where an epoch ends in it.
  for (uint64_t key = 0; key < 200; ++key) {
    CHECK_EQUAL(tables.mutate(mutateOf("t", {}, {key})), EXRP_STATUS_OK);
    Insert large;
    large.chunks = {chunkOf(key, 1, 100'000)};
    large.items = {{key, "t", 1, {key}}};
    CHECK_EQUAL(tables.feed(inserter, large), EXRP_STATUS_OK);
  }
  for (int round = 0; round < 4; ++round) {
    CHECK_EQUAL(exrp_sampler_ask(tables.id, samplers[1], 130, EXRP_ASK_FLOWING), EXRP_STATUS_OK);
    std::set<uint64_t> seen;
    for (const Sample& sample : tables.read(samplers[1], 20 << 20)) seen.insert(sample.key);
    CHECK_EQUAL(seen.size(), size_t{130});
  }
  CHECK_EQUAL(tables.check(), 0);
}

void wrongArgumentsAreRefused() {
  uint32_t id = 0;
  const std::vector<double> good = oneTable(5, minSize(1), uniform, fifo);
  const auto status = [&](size_t index, double value) {
    std::vector<double> config = good;
    config[index] = value;
    return exrp_tables_create(config.data(), static_cast<uint32_t>(config.size()), &id);
  };
  const size_t table = EXRP_TABLES_FIRST;
  for (const double wrong : {0.0, 0.5, -1.0, 1e300, std::nan("")}) CHECK_EQUAL(status(table + EXRP_TABLES_MAX_SIZE, wrong), EXRP_STATUS_ARGUMENT);
  for (const double wrong : {0.0, 2.0, 65.0}) CHECK_EQUAL(status(EXRP_TABLES_COUNT, wrong), EXRP_STATUS_ARGUMENT);
  for (const double wrong : {0.0, -1.0, std::nan("")}) CHECK_EQUAL(status(table + EXRP_TABLES_RATE_LIMITER, wrong), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(status(table + EXRP_TABLES_RULES, 999), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(status(table + EXRP_TABLES_RULES + 1, 1), EXRP_STATUS_ARGUMENT);
  for (uint32_t count = 0; count < good.size(); ++count) CHECK_EQUAL(exrp_tables_create(good.data(), count, &id), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(id, 0u);
  TablesUnderTest tables(good, {"t"});
  CHECK_EQUAL(exrp_tables_count(), 1u);
  double info[EXRP_TABLES_INFO_COUNT] = {};
  CHECK_EQUAL(exrp_tables_info(tables.id, 1, info, EXRP_TABLES_INFO_COUNT), EXRP_STATUS_TABLE_UNKNOWN);
  CHECK_EQUAL(exrp_tables_info(tables.id, 0, info, EXRP_TABLES_INFO_COUNT - 1), EXRP_STATUS_BUFFER_SIZE);
  CHECK_EQUAL(exrp_tables_info(tables.id + 1, 0, info, EXRP_TABLES_INFO_COUNT), EXRP_STATUS_TABLES_UNKNOWN);
  CHECK_EQUAL(exrp_tables_destroy(0), EXRP_STATUS_TABLES_UNKNOWN);
  uint32_t allowed = 9;
  CHECK_EQUAL(exrp_tables_allow(tables.id, 0, EXRP_ALLOW_SAMPLES, 1, &allowed), EXRP_STATUS_OK);
  CHECK_EQUAL(allowed, 0u);
  CHECK_EQUAL(exrp_tables_allow(tables.id, 0, EXRP_ALLOW_INSERTS, 100, &allowed), EXRP_STATUS_OK);
  CHECK_EQUAL(allowed, 1u);
}

}  // namespace

int main() {
  anItemComesBackAsItWent();
  aKnownKeyIsOnlyAChangeOfPriority();
  theNewItemMayBeTheOneThatGoes();
  heapsTakeTheLeastRecentlyInsertedOrUpdatedOfEqualPriorities();
  fifoAndLifoGoByInsertion();
  prioritizedIsReverbs();
  anItemGoesAtItsLastSample();
  insertsThatTheLimiterRefusesWaitInOrder();
  anItemOfAClosedStreamBelongsToNoLaterOne();
  itemsOfClosedStreamsAreBounded();
  heldChunksAreCounted();
  samplersWaitInOrder();
  aSampleThatDoesNotFitIsKept();
  chunksLiveAsLongAsTheyAreKeptOrUsed();
  maxBytesHoldsDistinctChunks();
  aBadMessageChangesNothing();
  aCallWithoutMemoryChangesNothing();
  deletesComeBeforeUpdates();
  resetClearsItemsAndCountsAndLetsWaitersIn();
  theRemoverMayHavePrioritiesOfItsOwn();
  anItemKeepsItsOwnPriorityForTheRemover();
  samplingWithoutReplacementTakesEachItemOnceInABatch();
  samplersWithoutReplacementShareAnEpoch();
  wrongArgumentsAreRefused();
  CHECK_EQUAL(exrp_tables_count(), 0u);
  return checkResult("tables/tables");
}
