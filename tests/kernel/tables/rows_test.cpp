// Inserts of plain rows: what is stored is what a client would have sent, the line is the same as that of clients, and a refused call changes nothing.
#include <cmath>
#include <limits>
#include <memory>

#include "kernel/wire/tensor.hpp"
#include "tests/kernel/tables/messages.hpp"

using namespace exrp::test;

namespace {

using Numbers = std::vector<double>;

struct Column {
  double dtype;
  Numbers shape;  // rows first
  Message rows;
};

double low(uint64_t key) { return static_cast<double>(key & UINT32_MAX); }
double high(uint64_t key) { return static_cast<double>(key >> 32); }

/// The numbers and the rows of a call.
struct Rows {
  Numbers chunks;
  Numbers items;
  Message rows;
  double chunkCount = 0;
  double itemCount = 0;

  void chunk(uint64_t key, uint64_t episode, const std::vector<Column>& columns, double first = 0, double flags = 0) {
    ++chunkCount;
    chunks.insert(chunks.end(), {low(key), high(key), low(episode), high(episode), first, first + columns[0].shape[0] - 1, flags,
                                 static_cast<double>(columns.size())});
    for (const Column& column : columns) {
      chunks.insert(chunks.end(), {column.dtype, static_cast<double>(column.rows.size()), static_cast<double>(column.shape.size())});
      chunks.insert(chunks.end(), column.shape.begin(), column.shape.end());
      rows += column.rows;
    }
  }
  /// `slices` are EXRP_SLICE_COUNT numbers each.
  void item(double table, uint64_t key, double priority, const std::vector<Numbers>& slices, double own = NAN) {
    ++itemCount;
    items.insert(items.end(), {table, low(key), high(key), priority, own, static_cast<double>(slices.size())});
    for (const Numbers& slice : slices) items.insert(items.end(), slice.begin(), slice.end());
  }
  Numbers numbers() const {
    Numbers all = {chunkCount, itemCount};
    all.insert(all.end(), chunks.begin(), chunks.end());
    all.insert(all.end(), items.begin(), items.end());
    return all;
  }
};

int32_t insert(TablesUnderTest& tables, uint32_t inserter, const Numbers& numbers, const Message& rows, double* waiting = nullptr) {
  // On the heap and not a byte longer, so that the sanitizer sees who reads beyond.
  const std::unique_ptr<double[]> exact(new double[numbers.size()]);
  std::copy(numbers.begin(), numbers.end(), exact.get());
  const std::unique_ptr<uint8_t[]> bytes(new uint8_t[rows.size()]);
  std::copy(rows.begin(), rows.end(), bytes.get());
  double info[EXRP_INSERTER_COUNT] = {};
  const int32_t status = exrp_inserter_insert(tables.id, inserter, exact.get(), static_cast<uint32_t>(numbers.size()), bytes.get(),
                                              static_cast<double>(rows.size()), 1000, info, EXRP_INSERTER_COUNT);
  if (waiting != nullptr) *waiting = info[EXRP_INSERTER_WAITING];
  return status;
}
int32_t insert(TablesUnderTest& tables, uint32_t inserter, const Rows& rows, double* waiting = nullptr) {
  return insert(tables, inserter, rows.numbers(), rows.rows, waiting);
}

/// One item on a row of its own.
Rows single(uint64_t key, double table = 0) {
  Rows rows;
  rows.chunk(key, key, {{EXRP_TENSOR_INT32, {1}, Message(4, '\0')}});
  rows.item(table, key, 1, {{0, 0, 0, 1, 0}});
  return rows;
}

std::vector<double> queueOf(double size, uint32_t tableCount) {
  std::vector<double> config = {7, static_cast<double>(tableCount)};
  for (uint32_t k = 0; k < tableCount; ++k) addTable(config, 10, {1, 1, 0, size}, fifo, fifo, 1);
  return config;
}

/// A TensorProto by the plain way. Strings stand as they are.
Message tensorOf(const Column& column, bool isDelta, const std::vector<Message>& strings) {
  if (strings.empty()) {
    const auto rank = static_cast<uint32_t>(column.shape.size());
    Message out(exrp::tensorCapacity(column.rows.size(), rank, isDelta), '\0');
    out.resize(exrp::encodeTensor(static_cast<uint32_t>(column.dtype), column.shape.data(), rank, bytesOf(column.rows), column.rows.size(), isDelta,
                                  reinterpret_cast<uint8_t*>(out.data())));
    return out;
  }
  Message shape;
  for (const double size : column.shape) {
    Message dim;
    putVarint(dim, 1, static_cast<uint64_t>(size));
    putBytes(shape, 2, dim);
  }
  Message tensor;
  putVarint(tensor, 1, EXRP_TENSOR_STRING);
  putBytes(tensor, 2, shape);
  for (const Message& text : strings) putBytes(tensor, 8, text);
  return tensor;
}

void whatIsStoredIsWhatAClientWouldSend() {
  TablesUnderTest tables(queueOf(10, 1), {"t"});
  Message numbers(24, '\0');
  for (size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<char>(k * 37);
  const std::vector<Message> strings = {"", "snow", Message(300, 'x')};
  Message text;
  for (const Message& each : strings) {
    const auto length = static_cast<uint32_t>(each.size());
    text.append(reinterpret_cast<const char*>(&length), 4);
  }
  for (const Message& each : strings) text += each;
  const std::vector<Column> columns = {{EXRP_TENSOR_INT32, {3, 2}, numbers}, {EXRP_TENSOR_STRING, {3}, text}};
  const uint64_t key = 0xfedcba9876543210u;
  Rows rows;
  rows.chunk(key, 5, columns, 7, EXRP_ROWS_DELTA | EXRP_ROWS_SPARSE);
  rows.chunk(key + 1, 5, {{EXRP_TENSOR_UINT8, {1, 0, 4}, {}}});
  rows.item(0, 9, 2, {{0, 1, 2, 1, 1}, {0, 0, 0, 3, 0}, {1, 0, 0, 1, 0}});
  CHECK_EQUAL(insert(tables, tables.inserter(), rows), EXRP_STATUS_OK);

  Message range;
  putVarint(range, 1, 5);
  putVarint(range, 2, 7);
  putVarint(range, 3, 9);
  putVarint(range, 4, 1);
  Message data;
  putBytes(data, 1, tensorOf(columns[0], true, {}));
  putBytes(data, 1, tensorOf(columns[1], true, strings));
  Message first;
  putVarint(first, 1, key);
  putBytes(first, 2, range);
  putVarint(first, 4, 1);
  putBytes(first, 5, data);
  putVarint(first, 6, 2);
  putVarint(first, 7, 24 + 304);
  Message second;
  putVarint(second, 1, key + 1);
  Message episode;
  putVarint(episode, 1, 5);
  putBytes(second, 2, episode);
  Message empty;
  putBytes(empty, 1, tensorOf({EXRP_TENSOR_UINT8, {1, 0, 4}, {}}, false, {}));
  putBytes(second, 5, empty);
  putVarint(second, 6, 1);
  const std::vector<Sample> samples = tables.sample(tables.sampler(0), 1);
  CHECK_EQUAL(samples.size(), size_t{1});
  CHECK_EQUAL(samples[0].key, uint64_t{9});
  CHECK((samples[0].chunks == std::vector<Message>{first, second}));

  Message trajectory;
  const auto column = [&](uint64_t chunk, const std::vector<uint64_t>& slice, bool isSqueezed) {
    Message one;
    putVarint(one, 1, chunk);
    for (uint32_t k = 0; k < slice.size(); ++k) {
      if (slice[k] > 0) putVarint(one, 2 + k, slice[k]);
    }
    Message whole;
    putBytes(whole, 1, one);
    if (isSqueezed) putVarint(whole, 2, 1);
    putBytes(trajectory, 1, whole);
  };
  column(key, {2, 1, 1}, true);
  column(key, {0, 3, 0}, false);
  column(key + 1, {0, 1, 0}, false);
  CHECK(samples[0].trajectory == trajectory);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 0.0);  // it went at its last sample
  CHECK_EQUAL(tables.check(), 0);
}

Insert fed(uint64_t key) { return {{chunkOf(key, key)}, {{key, "t", 1, {key}}}, {}}; }

void itemsOfThisProcessAndOfClientsStandInOneLine() {
  TablesUnderTest tables(queueOf(1, 1), {"t"});
  const uint32_t client = tables.inserter();
  const uint32_t here = tables.inserter();
  double waiting = -1;
  CHECK_EQUAL(insert(tables, here, single(1), &waiting), EXRP_STATUS_OK);
  CHECK_EQUAL(waiting, 0.0);
  CHECK_EQUAL(tables.feed(client, fed(2)), EXRP_STATUS_OK);
  CHECK_EQUAL(insert(tables, here, single(3), &waiting), EXRP_STATUS_OK);
  CHECK_EQUAL(waiting, 1.0);
  CHECK_EQUAL(tables.feed(client, fed(4)), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_INSERTS_WAITING), 3.0);
  const uint32_t sampler = tables.sampler(0);
  const std::vector<std::vector<uint32_t>> woken = {{client}, {here}, {client}, {}};
  for (uint64_t key = 1; key <= 4; ++key) {
    CHECK_EQUAL(tables.sample(sampler, 1)[0].key, key);
    CHECK((tables.awake() == woken[key - 1]));
    CHECK_EQUAL(tables.check(), 0);
  }
  CHECK((tables.confirmed(client) == std::vector<uint64_t>{2, 4}));
  CHECK(tables.confirmed(here).empty());
}

void whoWithdrawsLeavesNothingBehind() {
  TablesUnderTest tables(queueOf(1, 2), {"t", "u"});
  const uint32_t client = tables.inserter();
  const uint32_t here = tables.inserter();
  const uint32_t other = tables.inserter();
  CHECK_EQUAL(insert(tables, here, single(1)), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.feed(client, fed(2)), EXRP_STATUS_OK);
  Rows three;
  three.chunk(50, 50, {{EXRP_TENSOR_UINT8, {3}, "abc"}});
  three.item(0, 3, 1, {{0, 0, 0, 1, 0}});
  three.item(1, 4, 1, {{0, 0, 1, 1, 0}});
  three.item(1, 5, 1, {{0, 0, 2, 1, 0}});
  double waiting = -1;
  CHECK_EQUAL(insert(tables, here, three, &waiting), EXRP_STATUS_OK);
  CHECK_EQUAL(waiting, 2.0);  // one is in u
  CHECK_EQUAL(insert(tables, other, single(6)), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 4.0);
  double counts[2] = {-1, -1};
  CHECK_EQUAL(exrp_inserter_waiting(tables.id, here, 0, counts, 1), EXRP_STATUS_BUFFER_SIZE);
  CHECK_EQUAL(exrp_inserter_waiting(tables.id, here, 2, counts, 2), EXRP_STATUS_ARGUMENT);
  for (const uint32_t withdraw : {0u, 1u}) {
    CHECK_EQUAL(exrp_inserter_waiting(tables.id, here, withdraw, counts, 2), EXRP_STATUS_OK);
    CHECK((counts[0] == 1 && counts[1] == 1));
    CHECK_EQUAL(tables.check(), 0);
  }
  CHECK_EQUAL(exrp_inserter_waiting(tables.id, here, 1, counts, 2), EXRP_STATUS_OK);
  CHECK((counts[0] == 0 && counts[1] == 0));
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_INSERTS_WAITING), 2.0);
  CHECK_EQUAL(tables.info(1, EXRP_TABLES_INFO_INSERTS_WAITING), 0.0);
  CHECK_EQUAL(tables.info(1, EXRP_TABLES_INFO_BYTES_WAITING), 0.0);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 4.0);  // the item in u has one
  CHECK_EQUAL(exrp_stream_close(tables.id, here), EXRP_STATUS_OK);
  // The others keep their order.
  const uint32_t sampler = tables.sampler(0);
  for (const uint64_t key : {1u, 2u, 6u}) CHECK_EQUAL(tables.sample(sampler, 1)[0].key, key);
  CHECK_EQUAL(tables.sample(tables.sampler(1), 1)[0].key, uint64_t{4});
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 0.0);
  CHECK_EQUAL(tables.check(), 0);
}

void wrongNumbersChangeNothing() {
  std::vector<double> config = {7, 1};
  addTable(config, 100, minSize(1), fifo, fifo, 0, 2000);
  TablesUnderTest tables(config, {"t"});
  const uint32_t inserter = tables.inserter();
  Rows rows;
  rows.chunk(1, 1, {{EXRP_TENSOR_INT32, {2, 3}, Message(24, 'a')}, {EXRP_TENSOR_STRING, {2}, Message("\1\0\0\0\2\0\0\0abc", 11)}});
  rows.chunk(2, 1, {{EXRP_TENSOR_FLOAT64, {1}, Message(8, 'b')}});
  rows.item(0, 3, 1, {{0, 0, 0, 2, 0}, {0, 1, 1, 1, 1}});
  rows.item(0, 4, 2, {{1, 0, 0, 1, 0}}, 5);
  const Numbers good = rows.numbers();
  const Numbers before = shown(tables, inserter);
  uint32_t refused = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const double wrong : {-1.0, 0.5, 5.0, 100.0, 4294967296.0, 1e300, -1e300, std::nan(""), std::numeric_limits<double>::infinity()}) {
      TablesUnderTest fresh(config, {"t"});
      const uint32_t own = fresh.inserter();
      Numbers numbers = good;
      numbers[at] = wrong;
      const int32_t status = insert(fresh, own, numbers, rows.rows);
      CHECK_EQUAL(fresh.check(), 0);
      if (status == EXRP_STATUS_OK) continue;
      ++refused;
      CHECK(status == EXRP_STATUS_ARGUMENT || status == EXRP_STATUS_TABLE_UNKNOWN || status == EXRP_STATUS_ITEM_PRIORITY);
      CHECK((shown(fresh, own) == before));
    }
  }
  CHECK(refused > 200);
  for (size_t count = 0; count < good.size(); ++count) {
    CHECK_EQUAL(insert(tables, inserter, Numbers(good.begin(), good.begin() + static_cast<int64_t>(count)), rows.rows), EXRP_STATUS_ARGUMENT);
  }
  Numbers longer = good;
  longer.push_back(0);
  CHECK_EQUAL(insert(tables, inserter, longer, rows.rows), EXRP_STATUS_ARGUMENT);
  for (size_t size = 0; size < rows.rows.size(); ++size) {
    CHECK_EQUAL(insert(tables, inserter, good, rows.rows.substr(0, size)), EXRP_STATUS_ARGUMENT);
  }
  CHECK_EQUAL(insert(tables, inserter, good, rows.rows + "x"), EXRP_STATUS_ARGUMENT);
  Rows large;
  large.chunk(1, 1, {{EXRP_TENSOR_UINT8, {3000}, Message()}});
  exrp::Random random(20261124, 1);  // nothing repeats, so it stays large
  for (int k = 0; k < 3000; ++k) large.rows.push_back(static_cast<char>(random.next()));
  large.chunks[9] = 3000;
  large.item(0, 3, 1, {{0, 0, 0, 1, 0}});
  CHECK_EQUAL(insert(tables, inserter, large), EXRP_STATUS_ITEM_BYTES);
  CHECK((shown(tables, inserter) == before));
  CHECK_EQUAL(tables.check(), 0);
  CHECK_EQUAL(insert(tables, inserter, good, rows.rows), EXRP_STATUS_OK);
}

void aCallWithoutMemoryChangesNothing() {
  std::vector<double> config = {7, 1};
  addTable(config, 3000, {1, 1, -1e9, 1200}, fifo, fifo);
  TablesUnderTest tables(config, {"t"});
  const uint32_t inserter = tables.inserter();
  int refused = 0;
  for (uint64_t key = 1; key < 1500; key += 25) {
    Rows rows;
    for (uint64_t k = 0; k < 25; ++k) {
      rows.chunk(key + k, key, {{EXRP_TENSOR_UINT8, {3000}, Message(3000, static_cast<char>(k))}});
      rows.item(0, key + k, 1, {{static_cast<double>(k), 0, 0, 3000, 0}}, key > 700 ? 2 : NAN);
    }
    refused += refusedBefore(tables, inserter, [&] { return insert(tables, inserter, rows); });
  }
  CHECK(refused > 20);
  CHECK_EQUAL(tables.info(0, EXRP_TABLES_INFO_INSERTS_WAITING), 300.0);
}

void aChunkIsWrittenForAClientToo() {
  const Numbers numbers = {3, 0, 5, 0, 0, 1, 0, 1, EXRP_TENSOR_UINT8, 4, 2, 2, 2};
  double place[2] = {};
  uint8_t small[10];
  CHECK_EQUAL(exrp_chunk_encode(numbers.data(), 13, bytesOf("abcd"), 4, small, 10, place, 2), EXRP_STATUS_BUFFER_SIZE);
  double needed[4] = {};
  CHECK_EQUAL(exrp_error_detail(needed, 4), EXRP_STATUS_OK);
  std::vector<uint8_t> room(static_cast<size_t>(needed[1]));
  CHECK_EQUAL(exrp_chunk_encode(numbers.data(), 13, bytesOf("abcd"), 4, room.data(), needed[1], place, 2), EXRP_STATUS_OK);
  CHECK_EQUAL(exrp_chunk_encode(numbers.data(), 12, bytesOf("abcd"), 4, room.data(), needed[1], place, 2), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_chunk_encode(numbers.data(), 13, bytesOf("abcd"), 3, room.data(), needed[1], place, 2), EXRP_STATUS_ARGUMENT);
  const Message made(reinterpret_cast<const char*>(room.data()) + static_cast<size_t>(place[0]), static_cast<size_t>(place[1]));
  TablesUnderTest tables(queueOf(10, 1), {"t"});
  CHECK_EQUAL(tables.feed(tables.inserter(), Insert{{made}, {{1, "t", 1, {3}}}, {}}), EXRP_STATUS_OK);
  CHECK((tables.sample(tables.sampler(0), 1)[0].chunks == std::vector<Message>{made}));
}

}  // namespace

int main() {
  whatIsStoredIsWhatAClientWouldSend();
  itemsOfThisProcessAndOfClientsStandInOneLine();
  whoWithdrawsLeavesNothingBehind();
  wrongNumbersChangeNothing();
  aCallWithoutMemoryChangesNothing();
  aChunkIsWrittenForAClientToo();
  return checkResult("tables/rows");
}
