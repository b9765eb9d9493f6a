// Makes and reads Reverb's messages for the tests of tables: plainly, with strings and vectors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/base/memory.hpp"
#include "kernel/base/random.hpp"
#include "kernel/exrp.h"
#include "kernel/wire/proto_reader.hpp"
#include "kernel/wire/proto_writer.hpp"
#include "tests/kernel/check.hpp"

namespace exrp::test {

using Message = std::string;

inline void putVarint(Message& to, uint32_t field, uint64_t value) {
  uint8_t bytes[20];
  ProtoWriter out(bytes);
  out.varintField(field, value);
  to.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(out.at() - bytes));
}
inline void putReal(Message& to, uint32_t field, double value) {
  uint8_t bytes[20];
  ProtoWriter out(bytes);
  out.realField(field, value);
  to.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(out.at() - bytes));
}
inline void putBytes(Message& to, uint32_t field, const Message& value) {
  uint8_t bytes[20];
  ProtoWriter out(bytes);
  out.bytesBegin(field, value.size());
  to.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(out.at() - bytes));
  to += value;
}

inline const uint8_t* bytesOf(const Message& message) { return reinterpret_cast<const uint8_t*>(message.data()); }

/// A chunk with `size` bytes of content that follow from its key.
inline Message chunkOf(uint64_t key, uint64_t episode, size_t size = 20) {
  Message range;
  putVarint(range, 1, episode);
  putVarint(range, 2, 3);
  Message chunk;
  putVarint(chunk, 1, key);
  putBytes(chunk, 2, range);
  putBytes(chunk, 5, Message(size, static_cast<char>('a' + key % 26)));
  return chunk;
}

inline Message trajectoryOf(const std::vector<uint64_t>& chunks) {
  Message trajectory;
  for (const uint64_t key : chunks) {
    Message slice;
    putVarint(slice, 1, key);
    putVarint(slice, 3, 1);
    Message column;
    putBytes(column, 1, slice);
    putBytes(trajectory, 1, column);
  }
  return trajectory;
}

/// A chunk that says that it has so many steps, of one tensor.
inline Message chunkOfSteps(uint64_t key, uint64_t steps) {
  Message range;
  putVarint(range, 1, 1);
  putVarint(range, 3, steps - 1);
  Message chunk;
  putVarint(chunk, 1, key);
  putBytes(chunk, 2, range);
  putVarint(chunk, 6, 1);
  return chunk;
}

/// A trajectory of one column, whose slices are {key, offset, length, tensor}. All numbers are written, so that those of the same length can
/// take each other's place.
inline Message slicesOf(const std::vector<std::vector<uint64_t>>& slices) {
  Message column;
  for (const std::vector<uint64_t>& each : slices) {
    Message slice;
    for (uint32_t k = 0; k < each.size(); ++k) putVarint(slice, 1 + k, each[k]);
    putBytes(column, 1, slice);
  }
  Message trajectory;
  putBytes(trajectory, 1, column);
  return trajectory;
}

/// Damages a message at up to `times` places.
inline void damage(Message& message, Random& random, uint32_t times) {
  for (; times > 0 && !message.empty(); --times) {
    const size_t at = random.below(static_cast<uint32_t>(message.size()));
    switch (random.below(4)) {
      case 0: message[at] = static_cast<char>(message[at] ^ (1 << random.below(8))); break;
      case 1: message[at] = static_cast<char>(random.next()); break;
      case 2: message.erase(at, 1 + random.below(3)); break;
      default: message.resize(at); break;
    }
  }
}

struct Item {
  uint64_t key;
  std::string table;
  double priority;
  std::vector<uint64_t> chunks;
  Message trajectory = {};  // where it is not simply that of its chunks
  std::optional<double> own = {};  // its own priority for the remover
};

inline Message itemOf(const Item& item) {
  Message made;
  putVarint(made, 1, item.key);
  putBytes(made, 2, item.table);
  putReal(made, 5, item.priority);
  putBytes(made, 8, item.trajectory.empty() ? trajectoryOf(item.chunks) : item.trajectory);
  if (item.own) putReal(made, 100, *item.own);
  return made;
}

/// An InsertStreamRequest.
struct Insert {
  std::vector<Message> chunks;
  std::vector<Item> items;
  std::vector<uint64_t> keep;

  Message message() const {
    Message made;
    for (const Message& chunk : chunks) putBytes(made, 1, chunk);
    for (const Item& item : items) putBytes(made, 2, itemOf(item));
    Message keys;
    for (const uint64_t key : keep) {
      uint8_t bytes[20];
      ProtoWriter out(bytes);
      out.varint(key);
      keys.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(out.at() - bytes));
    }
    if (!keys.empty()) putBytes(made, 3, keys);
    return made;
  }
};

struct Update {
  uint64_t key;
  double priority;
  std::optional<double> own = {};
};

inline Message mutateOf(const std::string& table, const std::vector<Update>& updates, const std::vector<uint64_t>& deletes) {
  Message made;
  putBytes(made, 1, table);
  for (const Update& update : updates) {
    Message one;
    putVarint(one, 1, update.key);
    putReal(one, 2, update.priority);
    if (update.own) putReal(one, 100, *update.own);
    putBytes(made, 2, one);
  }
  for (const uint64_t key : deletes) putVarint(made, 3, key);
  return made;
}

/// A sample as a client sees it.
struct Sample {
  uint64_t key = 0;
  std::string table;
  double priority = -1;
  uint64_t timesSampled = 0;
  uint64_t seconds = 0;
  uint64_t nanos = 0;
  Message trajectory;
  double probability = -1;
  uint64_t tableSize = 0;
  bool isLimited = false;
  bool isWhole = false;
  std::vector<Message> chunks;
};

inline Message textOf(ByteSpan bytes) { return Message(reinterpret_cast<const char*>(bytes.data), bytes.size); }

inline std::vector<Sample> samplesOf(const uint8_t* data, size_t size) {
  std::vector<Sample> samples;
  ProtoReader response(data, size);
  while (response.next()) {
    CHECK(response.is(1, Wire::bytes));
    Sample sample;
    ProtoReader entry(response.bytes());
    while (entry.next()) {
      if (entry.is(1, Wire::bytes)) {
        ProtoReader info(entry.bytes());
        while (info.next()) {
          if (info.is(1, Wire::bytes)) {
            ProtoReader item(info.bytes());
            while (item.next()) {
              if (item.is(1, Wire::varint)) sample.key = item.varint();
              else if (item.is(2, Wire::bytes)) sample.table = textOf(item.bytes());
              else if (item.is(5, Wire::fixed64)) sample.priority = item.real();
              else if (item.is(6, Wire::varint)) sample.timesSampled = item.varint();
              else if (item.is(7, Wire::bytes)) {
                ProtoReader time(item.bytes());
                while (time.next()) (time.field() == 1 ? sample.seconds : sample.nanos) = time.varint();
                CHECK(time.isGood());
              } else if (item.is(8, Wire::bytes)) sample.trajectory = textOf(item.bytes());
              else item.fault();
            }
            CHECK(item.isGood());
          } else if (info.is(2, Wire::fixed64)) sample.probability = info.real();
          else if (info.is(3, Wire::varint)) sample.tableSize = info.varint();
          else if (info.is(4, Wire::varint)) sample.isLimited = info.varint() != 0;
          else info.fault();
        }
        CHECK(info.isGood());
      } else if (entry.is(2, Wire::bytes)) sample.chunks.push_back(textOf(entry.bytes()));
      else if (entry.is(3, Wire::varint)) sample.isWhole = entry.varint() != 0;
      else entry.fault();
    }
    CHECK(entry.isGood());
    samples.push_back(sample);
  }
  CHECK(response.isGood());
  return samples;
}

/// A set of tables by the C ABI. Calls that must succeed are checked.
struct TablesUnderTest {
  uint32_t id = 0;

  explicit TablesUnderTest(const std::vector<double>& config, const std::vector<std::string>& names) {
    CHECK_EQUAL(exrp_tables_create(config.data(), static_cast<uint32_t>(config.size()), &id), EXRP_STATUS_OK);
    for (uint32_t table = 0; table < names.size(); ++table) {
      CHECK_EQUAL(exrp_tables_name_set(id, table, bytesOf(names[table]), static_cast<uint32_t>(names[table].size())), EXRP_STATUS_OK);
    }
  }
  TablesUnderTest(const TablesUnderTest&) = delete;
  TablesUnderTest& operator=(const TablesUnderTest&) = delete;
  ~TablesUnderTest() { CHECK_EQUAL(exrp_tables_destroy(id), EXRP_STATUS_OK); }

  uint32_t inserter() {
    uint32_t made = 0;
    CHECK_EQUAL(exrp_inserter_open(id, &made), EXRP_STATUS_OK);
    return made;
  }
  uint32_t sampler(uint32_t table) {
    uint32_t made = 0;
    CHECK_EQUAL(exrp_sampler_open(id, table, &made), EXRP_STATUS_OK);
    return made;
  }
  int32_t feed(uint32_t inserter, const Message& message, double now = 1000) {
    double info[EXRP_INSERTER_COUNT] = {};
    return exrp_inserter_feed(id, inserter, bytesOf(message), static_cast<uint32_t>(message.size()), now, info, EXRP_INSERTER_COUNT);
  }
  int32_t feed(uint32_t inserter, const Insert& insert, double now = 1000) { return feed(inserter, insert.message(), now); }
  int32_t mutate(const Message& message) { return exrp_tables_mutate(id, bytesOf(message), static_cast<uint32_t>(message.size())); }

  std::vector<uint64_t> confirmed(uint32_t inserter, size_t room = 4096) {
    std::vector<uint8_t> bytes(room);
    double info[EXRP_INSERTER_COUNT] = {};
    CHECK_EQUAL(exrp_inserter_read(id, inserter, bytes.data(), static_cast<uint32_t>(room), info, EXRP_INSERTER_COUNT), EXRP_STATUS_OK);
    std::vector<uint64_t> keys;
    ProtoReader from(bytes.data(), static_cast<size_t>(info[EXRP_INSERTER_BYTES]));
    while (from.next()) from.varints([&](uint64_t key) { keys.push_back(key); });
    CHECK(from.isGood());
    return keys;
  }
  std::vector<Sample> read(uint32_t sampler, size_t room = 1 << 16, double* numbers = nullptr) {
    std::vector<uint8_t> bytes(room);
    double info[EXRP_SAMPLER_COUNT] = {};
    CHECK_EQUAL(exrp_sampler_read(id, sampler, bytes.data(), static_cast<double>(room), info, EXRP_SAMPLER_COUNT), EXRP_STATUS_OK);
    for (int k = 0; numbers != nullptr && k < EXRP_SAMPLER_COUNT; ++k) numbers[k] = info[k];
    const std::vector<Sample> samples = samplesOf(bytes.data(), static_cast<size_t>(info[EXRP_SAMPLER_BYTES]));
    CHECK_EQUAL(static_cast<double>(samples.size()), info[EXRP_SAMPLER_SAMPLES]);
    return samples;
  }
  std::vector<Sample> sample(uint32_t sampler, uint32_t count) {
    CHECK_EQUAL(exrp_sampler_ask(id, sampler, count, EXRP_ASK_FLOWING), EXRP_STATUS_OK);
    return read(sampler, 1 << 20);
  }
  double info(uint32_t table, uint32_t which) {
    double info[EXRP_TABLES_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_tables_info(id, table, info, EXRP_TABLES_INFO_COUNT), EXRP_STATUS_OK);
    return info[which];
  }
  double store(uint32_t which) {
    double info[EXRP_TABLES_STORE_COUNT] = {};
    CHECK_EQUAL(exrp_tables_store_info(id, info, EXRP_TABLES_STORE_COUNT), EXRP_STATUS_OK);
    return info[which];
  }
  std::vector<uint32_t> awake() {
    std::vector<uint32_t> ids(1000);
    uint32_t count = 0;
    CHECK_EQUAL(exrp_tables_awake(id, ids.data(), 1000, &count), EXRP_STATUS_OK);
    ids.resize(count);
    return ids;
  }
  int32_t check() {
    int32_t broken = -1;
    CHECK_EQUAL(exrp_tables_check(id, &broken), EXRP_STATUS_OK);
    return broken;
  }
};

/// The numbers of one table.
inline void addTable(std::vector<double>& config, double maxSize, const std::vector<double>& limiter, const std::vector<double>& sampler,
                     const std::vector<double>& remover, double maxTimesSampled = 0, double maxBytes = 0) {
  config.insert(config.end(), {maxSize, maxBytes, maxTimesSampled});
  config.insert(config.end(), limiter.begin(), limiter.end());
  for (const std::vector<double>& rule : {sampler, remover}) {
    config.push_back(rule[0]);
    config.push_back(static_cast<double>(rule.size() - 1));
    config.insert(config.end(), rule.begin() + 1, rule.end());
  }
}

inline const std::vector<double> uniform = {EXRP_SELECTOR_UNIFORM};
inline const std::vector<double> fifo = {EXRP_SELECTOR_AGE_END, 0, 0};
inline const std::vector<double> lifo = {EXRP_SELECTOR_AGE_END, 1, 0};
inline const std::vector<double> maxHeap = {EXRP_SELECTOR_PRIORITY_END, 0, 1};
inline const std::vector<double> minHeap = {EXRP_SELECTOR_PRIORITY_END, 1, 1};
inline std::vector<double> power(double exponent) { return {EXRP_SELECTOR_POWER, exponent, 1}; }
inline std::vector<double> minSize(double size) { return {1, size, -1.7976931348623157e308, 1.7976931348623157e308}; }

/// Loads what is damaged in another way each time: it is refused, or the tables hold what they must.
template <typename Load>
void damagedIsRefusedOrHolds(const std::vector<double>& config, const std::vector<std::string>& names, int rounds, Load load) {
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    TablesUnderTest tables(config, names);
    const int32_t status = load(tables);
    if (status == EXRP_STATUS_OK) {
      CHECK_EQUAL(tables.check(), 0);
      for (uint32_t t = 0; t < names.size(); ++t) (void)tables.sample(tables.sampler(t), 5);
    } else {
      ++refused;
      CHECK(status == EXRP_STATUS_DATA_CORRUPT || status == EXRP_STATUS_DATA_MISMATCH || status == EXRP_STATUS_ORDER);
    }
  }
  CHECK(refused > rounds / 4);
}

/// What a set shows of itself.
inline std::vector<double> shown(TablesUnderTest& tables, uint32_t inserter) {
  std::vector<double> all(EXRP_TABLES_INFO_COUNT + EXRP_INSERTER_COUNT);
  CHECK_EQUAL(exrp_tables_info(tables.id, 0, all.data(), EXRP_TABLES_INFO_COUNT), EXRP_STATUS_OK);
  double* const info = all.data() + EXRP_TABLES_INFO_COUNT;
  CHECK_EQUAL(exrp_inserter_read(tables.id, inserter, nullptr, 0, info, EXRP_INSERTER_COUNT), EXRP_STATUS_OK);
  for (const uint32_t which : {uint32_t{EXRP_TABLES_STORE_CHUNKS}, uint32_t{EXRP_TABLES_STORE_CHUNK_BYTES}}) all.push_back(tables.store(which));
  return all;
}

/// Refuses each request for memory of a call in turn, until it needs no more. Each time, the call must have changed nothing. Returns how often it was
/// refused.
template <typename Call>
int refusedBefore(TablesUnderTest& tables, uint32_t inserter, Call call) {
  const std::vector<double> before = shown(tables, inserter);
  for (int refused = 0;; ++refused) {
    exrp::grantMemory(static_cast<uint64_t>(refused));
    const int32_t status = call();
    exrp::grantMemory(UINT64_MAX);
    if (status == EXRP_STATUS_OK) return refused;
    CHECK_EQUAL(status, EXRP_STATUS_MEMORY);
    CHECK((shown(tables, inserter) == before));
    CHECK_EQUAL(tables.check(), 0);
  }
}

}  // namespace exrp::test
