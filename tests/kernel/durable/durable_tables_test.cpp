// Durable tables: what was flushed is found again, bit for bit, at any moment, with checkpoints and chunks that are written again; what is damaged is found.
//
// Each round makes seeded calls on durable tables and on a twin in memory. EXRP_DURABLE_TABLES_SEED sets the first seed, EXRP_DURABLE_TABLES_ROUNDS how many.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>

#include "kernel/durable/tables_format.hpp"
#include "kernel/log/log.hpp"
#include "tests/kernel/log/test_folder.hpp"
#include "tests/kernel/tables/messages.hpp"

using namespace exrp::test;
using exrp::Random;

namespace {

const std::vector<std::string> names = {"a", "b", "c", "d"};

std::vector<double> config() {
  std::vector<double> made = {11, 4};
  addTable(made, 60, minSize(1), power(0.6), fifo);
  addTable(made, 40, {2, 3, 0, 40}, {EXRP_SELECTOR_RANK_BASED, 0.7, 1, 0, 0}, lifo, 3);
  addTable(made, 40, minSize(2), {EXRP_SELECTOR_WITHOUT_REPLACEMENT}, minHeap, 0, 5000);
  addTable(made, 30, minSize(1), fifo, uniform, 1);
  return made;
}

struct Tables : TablesUnderTest {
  Tables() : TablesUnderTest(config(), names) {}

  int32_t open(const std::string& path, bool isNew, double* report, double checkpointBytes = 3000) {
    double options[EXRP_DURABLE_OPTION_COUNT] = {};
    options[EXRP_DURABLE_IS_NEW] = isNew ? 1 : 0;
    options[EXRP_DURABLE_SEGMENT_BYTES] = 4096;
    options[EXRP_DURABLE_QUEUE_BYTES] = 1 << 20;
    options[EXRP_DURABLE_CHECKPOINT_BYTES] = checkpointBytes;
    return exrp_tables_durable_open(id, bytesOf(path), static_cast<uint32_t>(path.size()), options, EXRP_DURABLE_OPTION_COUNT, report, EXRP_RECOVERY_COUNT);
  }
  void flush(const Message& state = "state") {
    double ticket = 0;
    CHECK_EQUAL(exrp_tables_durable_note(id, bytesOf(state), static_cast<uint32_t>(state.size()), &ticket), EXRP_STATUS_OK);
    CHECK_EQUAL(exrp_tables_durable_wait(id, ticket, 60'000), EXRP_STATUS_OK);
  }
  double segmentCount() {
    double numbers[EXRP_DURABLE_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_tables_durable_info(id, numbers, EXRP_DURABLE_INFO_COUNT), EXRP_STATUS_OK);
    return numbers[EXRP_DURABLE_INFO_SEGMENTS];
  }
  /// All that decides the future, and the rate limiters.
  Message whole() {
    CHECK_EQUAL(check(), 0);
    Message all;
    CHECK_EQUAL(exrp_tables_save_begin(id), EXRP_STATUS_OK);
    double info[EXRP_TABLES_SAVE_COUNT] = {};
    std::vector<uint8_t> bytes(1 << 16);
    while (info[EXRP_TABLES_SAVE_ENDED] < 1) {
      CHECK_EQUAL(exrp_tables_save_read(id, bytes.data(), static_cast<double>(bytes.size()), info, EXRP_TABLES_SAVE_COUNT), EXRP_STATUS_OK);
      all.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(info[EXRP_TABLES_SAVE_BYTES]));
    }
    CHECK_EQUAL(exrp_tables_save_end(id), EXRP_STATUS_OK);
    for (uint32_t t = 0; t < names.size(); ++t) {
      double numbers[EXRP_TABLES_INFO_COUNT] = {};
      CHECK_EQUAL(exrp_tables_info(id, t, numbers, EXRP_TABLES_INFO_COUNT), EXRP_STATUS_OK);
      numbers[EXRP_TABLES_INFO_INSERTS_WAITING] = numbers[EXRP_TABLES_INFO_BYTES_WAITING] = numbers[EXRP_TABLES_INFO_SAMPLERS_WAITING] = 0;
      all.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
    }
    return all;
  }
};

/// A client of each kind, whose calls are the same on each set.
struct Clients {
  explicit Clients(Tables& of) : tables(of), inserter(of.inserter()) {}

  void step(Random& random, double now) {
    const uint32_t table = random.below(static_cast<uint32_t>(names.size()));
    switch (random.below(12)) {
      case 0:
      case 1: {
        const uint32_t sampler = tables.sampler(table);
        CHECK_EQUAL(exrp_sampler_ask(tables.id, sampler, 1 + random.below(12), EXRP_ASK_NOW), EXRP_STATUS_OK);
        (void)tables.read(sampler);
        CHECK_EQUAL(exrp_stream_close(tables.id, sampler), EXRP_STATUS_OK);
        break;
      }
      case 2: {
        // One who gets what the rate limiter allows, and goes.
        const uint32_t sampler = tables.sampler(table);
        (void)tables.sample(sampler, 1 + random.below(12));
        CHECK_EQUAL(exrp_stream_close(tables.id, sampler), EXRP_STATUS_OK);
        break;
      }
      case 3:
      case 4: {
        std::vector<Update> updates;
        std::vector<uint64_t> deletes;
        for (uint32_t k = random.below(6); k > 0; --k) {
          Update update = {1 + random.below(lastKey + 1), static_cast<double>(random.below(9))};
          if (random.below(3) == 0) update.own = random.below(9);
          updates.push_back(update);
        }
        for (uint32_t k = random.below(3); k > 0; --k) deletes.push_back(1 + random.below(lastKey + 1));
        CHECK_EQUAL(tables.mutate(mutateOf(names[table], updates, deletes)), EXRP_STATUS_OK);
        break;
      }
      case 5: {
        const bool isReset = random.below(8) == 0;
        const double numbers[] = {1.0 + random.below(3), 1.0 + random.below(3), -1e300, random.below(2) == 0 ? 40.0 : 1e300};
        if (isReset) CHECK_EQUAL(exrp_tables_reset(tables.id, table), EXRP_STATUS_OK);
        else if (random.below(3) == 0) CHECK_EQUAL(exrp_tables_rate_limiter_set(tables.id, table, numbers, 4), EXRP_STATUS_OK);
        break;
      }
      default: insert(random, now); break;
    }
  }

  void insert(Random& random, double now) {
    Insert insert;
    std::vector<uint64_t> keys = kept;
    for (uint32_t c = 1 + random.below(2); c > 0; --c) {
      keys.push_back(++lastChunk);
      insert.chunks.push_back(chunkOf(lastChunk, random.below(5), random.below(20) == 0 ? 5000 : random.below(300)));
      if (random.below(2) == 0) kept.push_back(lastChunk);
    }
    for (const std::string& name : names) {
      if (random.below(3) == 0) continue;
      Item item = {random.below(6) == 0 && lastKey > 0 ? 1 + random.below(lastKey) : ++lastKey, name, static_cast<double>(random.below(9)),
                   {keys.back(), keys[random.below(static_cast<uint32_t>(keys.size()))]}};
      if (name != "a" && random.below(3) == 0) item.own = random.below(9);
      // One that is larger than its table allows is refused.
      if (name != "c" || insert.chunks.back().size() < 2000) insert.items.push_back(item);
    }
    while (kept.size() > 3 || (!kept.empty() && random.below(4) == 0)) kept.erase(kept.begin());
    insert.keep = kept;
    const int32_t status = tables.feed(inserter, insert, now);
    if (status == EXRP_STATUS_OK) {
      if (insert.items.empty()) return;
    } else {
      CHECK_EQUAL(status, EXRP_STATUS_ITEM_BYTES);
      renew();
    }
  }

  /// The client goes, with what it holds and what waits, and another one comes.
  void renew() {
    double counts[EXRP_LIMIT_TABLES] = {};
    CHECK_EQUAL(exrp_inserter_waiting(tables.id, inserter, 1, counts, EXRP_LIMIT_TABLES), EXRP_STATUS_OK);
    CHECK_EQUAL(exrp_stream_close(tables.id, inserter), EXRP_STATUS_OK);
    inserter = tables.inserter();
    kept.clear();
  }

  Tables& tables;
  uint32_t inserter;
  uint32_t lastKey = 0;
  uint64_t lastChunk = 0;
  std::vector<uint64_t> kept;
};

std::vector<std::string> logsOf(const TestFolder& folder) {
  const std::unique_ptr<exrp::Disk> disk(folder.disk());
  exrp::DiskFiles files;
  CHECK(!disk->list(&files).isError());
  std::vector<std::string> found;
  for (size_t k = 0; k < files.count; ++k) {
    const std::string name = files.files[k].name;
    if (name.rfind("log-", 0) == 0) found.push_back(folder.path() + "/" + name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Message contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Message(std::istreambuf_iterator<char>(file), {});
}
void write(const std::string& path, const Message& content) { std::ofstream(path, std::ios::binary) << content; }

/// The folder as a crash of the process leaves it.
void copyFolder(const TestFolder& from, const TestFolder& to) {
  const std::unique_ptr<exrp::Disk> disk(from.disk());
  exrp::DiskFiles files;
  CHECK(!disk->list(&files).isError());
  for (size_t k = 0; k < files.count; ++k) {
    const std::string name = files.files[k].name;
    if (name != exrp::lockName) write(to.path() + "/" + name, contentOf(from.path() + "/" + name));
  }
}

void whatWasFlushedIsThere(uint64_t seed) {
  Random random(seed, 0);
  TestFolder folder;
  Tables twin;
  Clients others(twin);
  auto durable = std::make_unique<Tables>();
  auto clients = std::make_unique<Clients>(*durable);
  double report[EXRP_RECOVERY_COUNT] = {};
  CHECK_EQUAL(durable->open(folder.path(), true, report), EXRP_STATUS_OK);
  for (int round = 0; round < 12; ++round) {
    for (uint32_t k = 5 + random.below(40); k > 0; --k) {
      const uint64_t of = random.next();
      Random one(of, 1);
      Random other(of, 1);
      const double now = 1000.0 + round;
      clients->step(one, now);
      others.step(other, now);
    }
    const Message state(random.below(40), static_cast<char>('a' + round));
    durable->flush(state);
    const Message whole = twin.whole();
    CHECK(durable->whole() == whole);
    {
      TestFolder crashed;
      copyFolder(folder, crashed);
      Tables found;
      CHECK_EQUAL(found.open(crashed.path(), false, report), EXRP_STATUS_OK);
      CHECK(found.whole() == whole);
      CHECK_EQUAL(report[EXRP_RECOVERY_LOST_BLOCKS], 0.0);
      CHECK_EQUAL(report[EXRP_RECOVERY_STATE_BYTES], static_cast<double>(state.size()));
      std::vector<uint8_t> read(state.size() + 1);
      CHECK_EQUAL(exrp_tables_durable_state(found.id, read.data(), static_cast<uint32_t>(read.size())), EXRP_STATUS_OK);
      CHECK(Message(reinterpret_cast<char*>(read.data()), state.size()) == state);
    }
    if (random.below(2) == 0) continue;
    // The program ends, and another one goes on.
    others.renew();
    const Clients before = *clients;
    clients.reset();
    durable = std::make_unique<Tables>();
    CHECK_EQUAL(durable->open(folder.path(), false, report), EXRP_STATUS_OK);
    CHECK(durable->whole() == twin.whole());
    clients = std::make_unique<Clients>(*durable);
    clients->lastKey = before.lastKey;
    clients->lastChunk = before.lastChunk;
  }
}

/// A folder with a closed log, and what its tables are.
Message makeLog(uint64_t seed, const TestFolder& folder, double checkpointBytes) {
  Random random(seed, 2);
  Tables tables;
  double report[EXRP_RECOVERY_COUNT] = {};
  CHECK_EQUAL(tables.open(folder.path(), true, report, checkpointBytes), EXRP_STATUS_OK);
  Clients clients(tables);
  for (int k = 0; k < 60; ++k) clients.step(random, 1000.0 + k);
  tables.flush();
  return tables.whole();
}

void aFlippedBitIsRepaired(uint64_t seed) {
  Random random(seed, 3);
  TestFolder folder;
  const Message whole = makeLog(seed, folder, random.below(2) == 0 ? 3000 : 1e9);
  for (int round = 0; round < 8; ++round) {
    TestFolder damaged;
    copyFolder(folder, damaged);
    const std::vector<std::string> logs = logsOf(damaged);
    const std::string& log = logs[random.below(static_cast<uint32_t>(logs.size()))];
    Message content = contentOf(log);
    const size_t at = random.below(static_cast<uint32_t>(content.size()));
    content[at] = static_cast<char>(content[at] ^ (1 << random.below(8)));
    write(log, content);
    Tables found;
    double report[EXRP_RECOVERY_COUNT] = {};
    CHECK_EQUAL(found.open(damaged.path(), false, report), EXRP_STATUS_OK);
    CHECK(found.whole() == whole);
  }
}

double lostSeen = 0;
double refusedSeen = 0;

void moreDamageIsFound(uint64_t seed) {
  Random random(seed, 4);
  TestFolder folder;
  const Message whole = makeLog(seed, folder, random.below(2) == 0 ? 3000 : 1e9);
  for (int round = 0; round < 8; ++round) {
    TestFolder damaged;
    copyFolder(folder, damaged);
    const std::vector<std::string> logs = logsOf(damaged);
    const std::string& log = logs[random.below(static_cast<uint32_t>(logs.size()))];
    Message content = contentOf(log);
    const size_t at = random.below(static_cast<uint32_t>(content.size()));
    if (random.below(4) == 0) content.resize(at);
    else for (size_t k = at; k < at + 9 && k < content.size(); ++k) content[k] = static_cast<char>(random.next());
    write(log, content);
    Tables found;
    double report[EXRP_RECOVERY_COUNT] = {};
    const int32_t status = found.open(damaged.path(), false, report);
    if (status != EXRP_STATUS_OK) {
      CHECK_EQUAL(status, EXRP_STATUS_LOG);
      ++refusedSeen;
      continue;
    }
    CHECK_EQUAL(found.check(), 0);
    // Something is told, or all is there.
    const bool isTold = report[EXRP_RECOVERY_LOST_BLOCKS] > 0 || report[EXRP_RECOVERY_TAIL_BYTES] > 0 || report[EXRP_RECOVERY_DAMAGE_SEGMENT] > 0;
    const bool isLast = &log == &logs.back();
    CHECK(isTold || isLast || found.whole() == whole);
    lostSeen += report[EXRP_RECOVERY_LOST_BLOCKS];
    // The lost items stay away.
    const Message left = found.whole();
    found.flush();
    TestFolder again;
    copyFolder(damaged, again);
    Tables reopened;
    CHECK_EQUAL(reopened.open(again.path(), false, report), EXRP_STATUS_OK);
    CHECK(reopened.whole() == left);
  }
}

/// Keeps all frames of a log.
struct Frames final : exrp::LogVisitor {
  struct Frame {
    uint32_t type;
    Message payload;
  };
  std::vector<Frame> frames;
  bool frame(const exrp::LogFrame& found) override {
    frames.push_back({found.type, Message(reinterpret_cast<const char*>(found.payload), found.place.bytes)});
    return true;
  }
  bool damage(const exrp::LogDamage&) override { return true; }
};

/// Reads all frames of a folder.
void readFrames(const TestFolder& folder, Frames& frames) {
  const std::unique_ptr<exrp::Disk> disk(folder.disk());
  exrp::LogScan scan;
  CHECK_EQUAL(static_cast<int>(exrp::scanLog(*disk, {}, frames, &scan)), 0);
}

/// A log that is written for long stays small, also where a few old items stay.
void oldSegmentsGo(uint64_t seed) {
  Random random(seed, 6);
  TestFolder folder;
  Tables tables;
  double report[EXRP_RECOVERY_COUNT] = {};
  CHECK_EQUAL(tables.open(folder.path(), true, report), EXRP_STATUS_OK);
  Clients clients(tables);
  for (int k = 0; k < 4000; ++k) clients.step(random, 1000.0 + k);
  tables.flush();
  const std::vector<std::string> logs = logsOf(folder);
  const std::string& last = logs.back();
  CHECK(std::stoul(last.substr(last.size() - 13, 8)) > 300);
  // Twice what the chunks take, and five checkpoints: one that counts, and what came until the next one was begun.
  CHECK(logs.size() < 200);
  TestFolder crashed;
  copyFolder(folder, crashed);
  Frames frames;
  readFrames(crashed, frames);
  CHECK(std::any_of(frames.frames.begin(), frames.frames.end(), [](const Frames::Frame& frame) { return frame.type == exrp::movedFrame; }));
  Tables found;
  CHECK_EQUAL(found.open(crashed.path(), false, report), EXRP_STATUS_OK);
  CHECK(found.whole() == tables.whole());
  CHECK_EQUAL(report[EXRP_RECOVERY_LOST_BLOCKS], 0.0);
}

/// Frames that lie, with right checksums, lead to an error or to tables that hold.
void liesAreRefusedOrHold(uint64_t seed) {
  Random random(seed, 5);
  TestFolder folder;
  (void)makeLog(seed, folder, random.below(2) == 0 ? 3000 : 1e9);
  Frames all;
  readFrames(folder, all);
  for (int round = 0; round < 8; ++round) {
    TestFolder forged;
    {
      const std::unique_ptr<exrp::Disk> disk(forged.disk());
      exrp::Log log;
      exrp::LogOptions options;
      options.segmentBytes = 4096;
      CHECK_EQUAL(static_cast<int>(log.create(disk.get(), options)), 0);
      for (const Frames::Frame& frame : all.frames) {
        Message payload = frame.payload;
        uint32_t type = frame.type;
        if (random.below(20) == 0) damage(payload, random, 1 + random.below(3));
        if (random.below(60) == 0) type = 1 + random.below(15);
        exrp::LogPlace place;
        CHECK_EQUAL(static_cast<int>(log.append(type, payload.data(), static_cast<uint32_t>(payload.size()), &place)), 0);
      }
      CHECK_EQUAL(static_cast<int>(log.close()), 0);
    }
    Tables found;
    double report[EXRP_RECOVERY_COUNT] = {};
    if (found.open(forged.path(), false, report) != EXRP_STATUS_OK) continue;
    CHECK_EQUAL(found.check(), 0);
  }
}

/// Chunks that came before the log have no room for their places in it.
void tablesWithChunksGetNoLog() {
  TestFolder folder;
  Tables tables;
  Random random(1, 0);
  Clients clients(tables);
  for (int k = 0; k < 40; ++k) clients.step(random, k);
  double report[EXRP_RECOVERY_COUNT] = {};
  CHECK_EQUAL(tables.open(folder.path(), true, report), EXRP_STATUS_ORDER);
}

void oneAtATime() {
  TestFolder folder;
  Tables first;
  Tables second;
  double report[EXRP_RECOVERY_COUNT] = {};
  CHECK_EQUAL(second.open(folder.path(), false, report), EXRP_STATUS_LOG);  // there is no log
  Tables third;
  CHECK_EQUAL(first.open(folder.path(), true, report), EXRP_STATUS_OK);
  CHECK_EQUAL(third.open(folder.path(), false, report), EXRP_STATUS_LOG);  // it is taken
  CHECK_EQUAL(first.open(folder.path(), false, report), EXRP_STATUS_LOG);
  // What it could not hear of is refused.
  uint8_t byte = 0;
  CHECK_EQUAL(exrp_tables_load(first.id, &byte, 0), EXRP_STATUS_ORDER);
}

}  // namespace

int main() {
  const uint64_t first = fromEnvironment("EXRP_DURABLE_TABLES_SEED", 1);
  const uint64_t rounds = fromEnvironment("EXRP_DURABLE_TABLES_ROUNDS", 4);
  for (uint64_t seed = first; seed < first + rounds; ++seed) {
    const int before = failureCount;
    whatWasFlushedIsThere(seed);
    aFlippedBitIsRepaired(seed);
    moreDamageIsFound(seed);
    liesAreRefusedOrHold(seed);
    if (failureCount > before) std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  }
  oldSegmentsGo(first);
  oneAtATime();
  tablesWithChunksGetNoLog();
  CHECK(rounds < 4 || lostSeen > 0);
  CHECK(rounds < 4 || refusedSeen > 0);
  CHECK_EQUAL(exrp_tables_count(), 0u);
  return checkResult("durable_tables_test");
}
