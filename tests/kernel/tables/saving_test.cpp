// Snapshots of tables: a loaded set goes on exactly as the saved one does, a set may change while it is read, and damaged pieces are refused.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "kernel/base/random.hpp"
#include "tests/kernel/tables/messages.hpp"

using namespace exrp::test;
using exrp::Random;

namespace {

const std::vector<std::string> names = {"a", "b", "c"};

std::vector<double> config(double maxSize = 40) {
  std::vector<double> made = {11, 3};
  addTable(made, maxSize, minSize(1), power(0.6), fifo);
  addTable(made, maxSize, {2, 3, 0, 40}, {EXRP_SELECTOR_RANK_BASED, 0.7, 1, 0, 0}, lifo, 3);
  addTable(made, maxSize, minSize(2), uniform, minHeap, 0, 5000);
  return made;
}

void feedSome(TablesUnderTest& tables, uint32_t inserter, Random& random, int count) {
  for (int k = 0; k < count; ++k) {
    Insert insert;
    std::vector<uint64_t> keys;
    for (uint32_t c = 1 + random.below(3); c > 0; --c) {
      keys.push_back(random.next());
      insert.chunks.push_back(chunkOf(keys.back(), random.below(5), random.below(300)));
    }
    for (const std::string& name : names) {
      if (random.below(3) == 0) continue;
      Item item = {random.next(), name, static_cast<double>(random.below(9)), {keys[0], keys[keys.size() / 2]}};
      if (name != "a" && random.below(3) == 0) item.own = random.below(9);
      insert.items.push_back(item);
    }
    CHECK_EQUAL(tables.feed(inserter, insert, 1000.0 + k), EXRP_STATUS_OK);
  }
}

/// Pieces of `room` bytes, and larger ones where a part needs it.
std::vector<Message> readPieces(TablesUnderTest& tables, size_t room) {
  std::vector<Message> pieces;
  double info[EXRP_TABLES_SAVE_COUNT] = {};
  while (info[EXRP_TABLES_SAVE_ENDED] < 1) {
    std::vector<uint8_t> bytes(std::max(room, static_cast<size_t>(info[EXRP_TABLES_SAVE_NEEDED])) + 1);
    const auto size = static_cast<double>(bytes.size() - 1);
    CHECK_EQUAL(exrp_tables_save_read(tables.id, bytes.data(), size, info, EXRP_TABLES_SAVE_COUNT), EXRP_STATUS_OK);
    CHECK(info[EXRP_TABLES_SAVE_NEEDED] <= 0 || info[EXRP_TABLES_SAVE_NEEDED] > size);
    pieces.push_back(Message(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(info[EXRP_TABLES_SAVE_BYTES])));
  }
  return pieces;
}

std::vector<Message> save(TablesUnderTest& tables, size_t room) {
  CHECK_EQUAL(exrp_tables_save_begin(tables.id), EXRP_STATUS_OK);
  const std::vector<Message> pieces = readPieces(tables, room);
  CHECK_EQUAL(exrp_tables_save_end(tables.id), EXRP_STATUS_OK);
  return pieces;
}

int32_t load(TablesUnderTest& tables, const std::vector<Message>& pieces) {
  for (const Message& piece : pieces) {
    // Memory of exactly this size: the sanitizer sees a byte too many.
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[piece.size()]);
    if (!piece.empty()) memcpy(exact.get(), piece.data(), piece.size());
    const int32_t status = exrp_tables_load(tables.id, exact.get(), static_cast<double>(piece.size()));
    if (status != EXRP_STATUS_OK) return status;
  }
  return exrp_tables_load_end(tables.id);
}

/// All that a table shows.
std::vector<double> shown(TablesUnderTest& tables) {
  std::vector<double> all;
  for (uint32_t t = 0; t < 3; ++t) {
    double info[EXRP_TABLES_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_tables_info(tables.id, t, info, EXRP_TABLES_INFO_COUNT), EXRP_STATUS_OK);
    all.insert(all.end(), info, info + EXRP_TABLES_INFO_COUNT);
    const auto count = static_cast<uint32_t>(info[EXRP_TABLES_INFO_SIZE]);
    std::vector<uint8_t> keys(8 * count + 1);
    std::vector<double> numbers(EXRP_ITEM_COUNT * count + 1);
    CHECK_EQUAL(exrp_tables_items(tables.id, t, 0, count, keys.data(), 8 * count, numbers.data(), EXRP_ITEM_COUNT * count), EXRP_STATUS_OK);
    all.insert(all.end(), keys.begin(), keys.end());
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

void aLoadedSetGoesOnAsTheSavedOne(uint64_t seed) {
  Random random(seed, 0);
  TablesUnderTest first(config(), names);
  const uint32_t inserter = first.inserter();
  feedSome(first, inserter, random, 70);
  for (uint32_t t = 0; t < 3; ++t) {
    const uint32_t sampler = first.sampler(t);
    (void)first.sample(sampler, 20);
    CHECK_EQUAL(exrp_stream_close(first.id, sampler), EXRP_STATUS_OK);  // what it still wants is not saved
  }
  const std::vector<Message> pieces = save(first, 1 + random.below(3000));
  TablesUnderTest second(config(), names);
  CHECK_EQUAL(load(second, pieces), EXRP_STATUS_OK);
  CHECK_EQUAL(second.check(), 0);
  // What waits is not in the snapshot: no client was told of it. So it goes in later on one side only, and is let go here.
  const double waiting = first.info(1, EXRP_TABLES_INFO_INSERTS_WAITING);
  if (waiting <= 0) CHECK(shown(first) == shown(second));
  CHECK(save(second, 4096) == save(first, 4096));
  if (waiting > 0) return;
  Random one(seed, 1);
  Random other(seed, 1);
  for (int round = 0; round < 5; ++round) {
    const uint32_t firstInserter = first.inserter();
    const uint32_t secondInserter = second.inserter();
    feedSome(first, firstInserter, one, 5);
    feedSome(second, secondInserter, other, 5);
    for (uint32_t t = 0; t < 3; ++t) {
      const std::vector<Sample> a = first.sample(first.sampler(t), 30);
      const std::vector<Sample> b = second.sample(second.sampler(t), 30);
      CHECK_EQUAL(a.size(), b.size());
      for (size_t k = 0; k < a.size() && k < b.size(); ++k) {
        CHECK_EQUAL(a[k].key, b[k].key);
        CHECK_EQUAL(a[k].probability, b[k].probability);
        CHECK_EQUAL(a[k].timesSampled, b[k].timesSampled);
        CHECK(a[k].chunks == b[k].chunks);
        CHECK(a[k].trajectory == b[k].trajectory);
      }
    }
  }
  CHECK_EQUAL(second.check(), 0);
}

void theSetMayChangeWhileItIsRead() {
  Random random(3, 0);
  TablesUnderTest tables(config(), names);
  const uint32_t inserter = tables.inserter();
  feedSome(tables, inserter, random, 60);
  const std::vector<Message> still = save(tables, 500);
  CHECK_EQUAL(exrp_tables_save_begin(tables.id), EXRP_STATUS_OK);
  std::vector<uint8_t> bytes(500);
  double info[EXRP_TABLES_SAVE_COUNT] = {};
  CHECK_EQUAL(exrp_tables_save_read(tables.id, bytes.data(), 500, info, EXRP_TABLES_SAVE_COUNT), EXRP_STATUS_OK);
  std::vector<Message> pieces = {Message(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(info[EXRP_TABLES_SAVE_BYTES]))};
  feedSome(tables, inserter, random, 60);
  for (uint32_t t = 0; t < 3; ++t) CHECK_EQUAL(exrp_tables_reset(tables.id, t), EXRP_STATUS_OK);
  for (const Message& piece : readPieces(tables, 500)) pieces.push_back(piece);
  CHECK(pieces == still);
  CHECK_EQUAL(exrp_tables_save_end(tables.id), EXRP_STATUS_OK);
  CHECK_EQUAL(exrp_stream_close(tables.id, inserter), EXRP_STATUS_OK);
  const std::vector<double> open = minSize(1);
  CHECK_EQUAL(exrp_tables_rate_limiter_set(tables.id, 1, open.data(), EXRP_RATE_LIMITER_RULE_COUNT), EXRP_STATUS_OK);  // what waits goes in
  for (uint32_t t = 0; t < 3; ++t) CHECK_EQUAL(exrp_tables_reset(tables.id, t), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 0.0);
}

void whatWasKeptGoesInPieces() {
  Random random(8, 0);
  std::vector<double> one = {11, 1};
  addTable(one, 10'000, minSize(1), uniform, fifo);
  TablesUnderTest tables(one, {"a"});
  const uint32_t inserter = tables.inserter();
  constexpr uint64_t count = 10'000;
  for (uint64_t key = 1; key <= count; ++key) {
    CHECK_EQUAL(tables.feed(inserter, Insert{{chunkOf(key, 1, 10)}, {{key, "a", 1, {key}}}, {}}), EXRP_STATUS_OK);
  }
  CHECK_EQUAL(exrp_tables_save_begin(tables.id), EXRP_STATUS_OK);
  CHECK_EQUAL(exrp_stream_close(tables.id, inserter), EXRP_STATUS_OK);
  CHECK_EQUAL(exrp_tables_reset(tables.id, 0), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), static_cast<double>(count));
  std::vector<uint8_t> bytes(1 << 16);
  double info[EXRP_TABLES_SAVE_COUNT] = {};
  double left = static_cast<double>(count);
  int reads = 0;
  while (info[EXRP_TABLES_SAVE_ENDED] < 1) {
    CHECK_EQUAL(exrp_tables_save_read(tables.id, bytes.data(), static_cast<double>(bytes.size()), info, EXRP_TABLES_SAVE_COUNT), EXRP_STATUS_OK);
    const double now = tables.store(EXRP_TABLES_STORE_CHUNKS);
    CHECK(left - now <= 4096);
    if (now < left) ++reads;
    left = now;
  }
  CHECK_EQUAL(reads, 3);
  CHECK_EQUAL(left, 0.0);
  CHECK_EQUAL(exrp_tables_save_end(tables.id), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.check(), 0);
}

void aSnapshotThatIsNotReadToItsEndIsLetGo() {
  Random random(9, 0);
  TablesUnderTest tables(config(), names);
  const uint32_t inserter = tables.inserter();
  feedSome(tables, inserter, random, 60);
  CHECK_EQUAL(exrp_stream_close(tables.id, inserter), EXRP_STATUS_OK);
  const std::vector<double> open = minSize(1);
  CHECK_EQUAL(exrp_tables_rate_limiter_set(tables.id, 1, open.data(), EXRP_RATE_LIMITER_RULE_COUNT), EXRP_STATUS_OK);
  const size_t all = save(tables, 500).size();
  for (size_t some = 0; some <= all; ++some) {
    CHECK_EQUAL(exrp_tables_save_begin(tables.id), EXRP_STATUS_OK);
    std::vector<uint8_t> bytes(500);
    double info[EXRP_TABLES_SAVE_COUNT] = {};
    for (size_t k = 0; k < some; ++k) {
      CHECK_EQUAL(exrp_tables_save_read(tables.id, bytes.data(), 500, info, EXRP_TABLES_SAVE_COUNT), EXRP_STATUS_OK);
    }
    CHECK_EQUAL(exrp_tables_save_end(tables.id), EXRP_STATUS_OK);
    CHECK_EQUAL(tables.check(), 0);
  }
  for (uint32_t t = 0; t < 3; ++t) CHECK_EQUAL(exrp_tables_reset(tables.id, t), EXRP_STATUS_OK);
  CHECK_EQUAL(tables.store(EXRP_TABLES_STORE_CHUNKS), 0.0);
}

void otherTablesAreRefused() {
  Random random(4, 0);
  TablesUnderTest tables(config(), names);
  feedSome(tables, tables.inserter(), random, 60);
  const std::vector<Message> pieces = save(tables, 1000);
  {
    std::vector<double> other = config();
    other[EXRP_TABLES_FIRST + EXRP_TABLES_RULES + 2] = 0.7;  // another exponent
    TablesUnderTest second(other, names);
    CHECK_EQUAL(load(second, pieces), EXRP_STATUS_DATA_MISMATCH);
    CHECK_EQUAL(exrp_tables_load_end(second.id), EXRP_STATUS_ORDER);
    CHECK_EQUAL(second.feed(second.inserter(), Insert{{chunkOf(1, 1)}, {}, {}}), EXRP_STATUS_ORDER);
  }
  {
    TablesUnderTest second(config(), {"a", "c", "b"});
    CHECK_EQUAL(load(second, pieces), EXRP_STATUS_DATA_MISMATCH);
  }
  {
    TablesUnderTest second(config(5), names);  // no room
    CHECK_EQUAL(load(second, pieces), EXRP_STATUS_DATA_MISMATCH);
  }
  {
    TablesUnderTest second(config(100), names);  // more room
    CHECK_EQUAL(load(second, pieces), EXRP_STATUS_OK);
    CHECK_EQUAL(second.check(), 0);
    CHECK_EQUAL(load(second, pieces), EXRP_STATUS_ORDER);  // it has items now
    CHECK_EQUAL(second.check(), 0);
  }
  TablesUnderTest half(config(), names);
  CHECK_EQUAL(exrp_tables_load(half.id, bytesOf(pieces[0]), static_cast<double>(pieces[0].size())), EXRP_STATUS_OK);
  CHECK_EQUAL(exrp_tables_load_end(half.id), EXRP_STATUS_DATA_CORRUPT);
  CHECK_EQUAL(exrp_tables_load_end(half.id), EXRP_STATUS_ORDER);
  CHECK_EQUAL(exrp_tables_save_begin(half.id), EXRP_STATUS_ORDER);
  double info[EXRP_TABLES_SAVE_COUNT] = {};
  uint8_t byte = 0;
  CHECK_EQUAL(exrp_tables_save_read(half.id, &byte, 1, info, EXRP_TABLES_SAVE_COUNT), EXRP_STATUS_ORDER);
}

void tablesAreFoundByTheirNames() {
  Random random(6, 0);
  TablesUnderTest tables(config(), names);
  feedSome(tables, tables.inserter(), random, 30);
  const std::vector<Message> pieces = save(tables, 1000);
  std::vector<double> other = {11, 4};
  addTable(other, 40, minSize(2), uniform, minHeap, 0, 5000);
  addTable(other, 7, minSize(1), fifo, lifo);
  addTable(other, 40, minSize(1), power(0.6), fifo);
  addTable(other, 40, {2, 3, 0, 40}, {EXRP_SELECTOR_RANK_BASED, 0.7, 1, 0, 0}, lifo, 3);
  TablesUnderTest second(other, {"c", "new", "a", "b"});
  CHECK_EQUAL(load(second, pieces), EXRP_STATUS_OK);
  CHECK_EQUAL(second.check(), 0);
  const uint32_t places[] = {2, 3, 0};
  for (uint32_t t = 0; t < 3; ++t) {
    for (const uint32_t what : {uint32_t{EXRP_TABLES_INFO_SIZE}, uint32_t{EXRP_TABLES_INFO_BYTES}, uint32_t{EXRP_TABLES_INFO_INSERTS}}) {
      CHECK_EQUAL(second.info(places[t], what), tables.info(t, what));
    }
  }
  CHECK_EQUAL(second.info(1, EXRP_TABLES_INFO_SIZE), 0.0);

  std::vector<double> one = {11, 1};
  addTable(one, 40, minSize(1), power(0.6), fifo);
  TablesUnderTest fewer(one, {"a"});
  CHECK_EQUAL(load(fewer, pieces), EXRP_STATUS_DATA_MISMATCH);

  // A table that comes twice, in place of another one.
  TablesUnderTest empty(config(), names);
  std::vector<Message> parts = save(empty, 1);
  CHECK_EQUAL(parts.size(), size_t{6});  // each part comes after an empty piece that says how much it needs
  parts[5] = parts[3];
  TablesUnderTest third(config(), names);
  CHECK_EQUAL(load(third, parts), EXRP_STATUS_DATA_CORRUPT);
}

/// A snapshot whose checksums are right may name other steps than its chunks have.
void slicesBeyondTheirChunksAreRefused() {
  std::vector<double> one = {11, 1};
  addTable(one, 10, minSize(1), uniform, fifo);
  const auto saved = [&](const Message& trajectory) {
    TablesUnderTest tables(one, {"t"});
    const std::vector<Message> chunks = {chunkOfSteps(3, 2), chunkOfSteps(4, 5)};
    const Insert insert = {chunks, {{8, "t", 1, {4}}, {9, "t", 1, {}, trajectory}}, {}};
    CHECK_EQUAL(tables.feed(tables.inserter(), insert), EXRP_STATUS_OK);
    Message whole;
    for (const Message& piece : save(tables, 10'000)) whole += piece;
    return whole;
  };
  const auto loading = [&](const Message& whole) {
    TablesUnderTest second(one, {"t"});
    const int32_t status = load(second, {whole});
    if (status == EXRP_STATUS_OK) CHECK_EQUAL(second.check(), 0);
    return status;
  };
  const auto replaced = [&](const std::vector<std::vector<uint64_t>>& right, const std::vector<std::vector<uint64_t>>& wrong) {
    Message whole = saved(slicesOf(right));
    const Message from = slicesOf(right);
    const Message to = slicesOf(wrong);
    const size_t at = whole.find(from);
    CHECK(at != Message::npos && from.size() == to.size());
    return whole.replace(at, from.size(), to);
  };
  const auto refused = [&](const std::vector<std::vector<uint64_t>>& right, const std::vector<std::vector<uint64_t>>& wrong, double rule) {
    CHECK_EQUAL(loading(saved(slicesOf(right))), EXRP_STATUS_OK);
    CHECK_EQUAL(loading(replaced(right, wrong)), EXRP_STATUS_DATA_CORRUPT);
    double detail[4] = {};
    CHECK_EQUAL(exrp_error_detail(detail, 4), EXRP_STATUS_OK);
    CHECK_EQUAL(detail[0], 3.0);
    CHECK_EQUAL(detail[1], 1.0);
    CHECK_EQUAL(detail[2], rule);
  };
  const std::vector<std::vector<uint64_t>> right = {{3, 0, 2, 0}};
  refused(right, {{3, 1, 2, 0}}, 9);
  refused(right, {{3, 0, 3, 0}}, 9);
  refused(right, {{3, 0, 2, 1}}, 9);
  refused(right, {{4, 0, 2, 0}}, 4);  // a chunk of another item
  refused({{3, 0, 2, 0}, {4, 1, 4, 0}}, {{3, 0, 2, 0}, {4, 2, 4, 0}}, 9);
  CHECK_EQUAL(loading(replaced({{3, 0, 2, 0}, {4, 1, 4, 0}}, {{3, 0, 2, 0}, {3, 1, 1, 0}})), EXRP_STATUS_OK);  // it needs one chunk fewer
  CHECK_EQUAL(loading(replaced({{3, 0, 2, 0}, {4, 1, 4, 0}}, {{4, 0, 5, 0}, {3, 1, 1, 0}})), EXRP_STATUS_OK);
}

/// A chunk's own checksum was made when it was inserted. So it finds what went wrong before the snapshot was written, too.
void chunksThatChangedAreRefused() {
  std::vector<double> one = {11, 1};
  addTable(one, 10, minSize(1), uniform, fifo);
  TablesUnderTest tables(one, {"t"});
  const Message chunk = chunkOf(3, 1, 200);
  CHECK_EQUAL(tables.feed(tables.inserter(), Insert{{chunk}, {{8, "t", 1, {3}}}, {}}), EXRP_STATUS_OK);
  Message whole;
  for (const Message& piece : save(tables, 10'000)) whole += piece;
  const auto loading = [&](const Message& snapshot) {
    TablesUnderTest second(one, {"t"});
    return load(second, {snapshot});
  };
  const size_t begin = whole.find(chunk);
  const size_t end = begin + chunk.size();
  constexpr char sumTag = 0x10;
  CHECK(begin != Message::npos && whole[end] == sumTag);
  for (size_t at = begin; at < end; ++at) {
    Message wrong = whole;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x10);
    CHECK_EQUAL(loading(wrong), EXRP_STATUS_DATA_CORRUPT);
  }
  double detail[4] = {};
  CHECK_EQUAL(exrp_error_detail(detail, 4), EXRP_STATUS_OK);
  CHECK_EQUAL(detail[0], 2.0);
  CHECK_EQUAL(detail[1], 0.0);
  CHECK_EQUAL(detail[2], 11.0);
}

void damagedPiecesAreRefusedOrGiveATableThatHolds(uint64_t seed, int rounds) {
  Random random(seed, 2);
  TablesUnderTest tables(config(), names);
  feedSome(tables, tables.inserter(), random, 25);
  const std::vector<Message> pieces = save(tables, 3000);
  damagedIsRefusedOrHolds(config(), names, rounds, [&](TablesUnderTest& second) {
    std::vector<Message> damaged = pieces;
    damage(damaged[random.below(static_cast<uint32_t>(damaged.size()))], random, 1 + random.below(3));
    return load(second, damaged);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20261122;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 1500;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (uint64_t k = 0; k < 12; ++k) aLoadedSetGoesOnAsTheSavedOne(seed + k);
  theSetMayChangeWhileItIsRead();
  whatWasKeptGoesInPieces();
  aSnapshotThatIsNotReadToItsEndIsLetGo();
  otherTablesAreRefused();
  tablesAreFoundByTheirNames();
  slicesBeyondTheirChunksAreRefused();
  chunksThatChangedAreRefused();
  damagedPiecesAreRefusedOrGiveATableThatHolds(seed, rounds);
  CHECK_EQUAL(exrp_tables_count(), 0u);
  return checkResult("tables/saving");
}
