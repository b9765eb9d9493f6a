// A durable replay that is larger than memory: the limit holds at every moment, blocks that can't be read are told with their place, and only what is on the disk
// leaves memory. A mirror reads what is on the disk only. The file is long because all of it needs the same replay and the same disk.
#include <cerrno>

#include "kernel/durable/verify.hpp"
#include "kernel/store/logged_rows.hpp"
#include "tests/kernel/durable/durable_side.hpp"
#include "tests/kernel/log/simulated_disk.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

constexpr uint32_t width = 200;
constexpr uint32_t rowBytes = 4 * width;
constexpr uint32_t capacity = 640;  // 40 blocks of 12,800 bytes
constexpr double limit = 256000;

TestSetup setupOf(double resident, double compression = EXRP_COMPRESSION_NONE) {
  TestSetup setup = {.capacity = capacity, .seed = 7, .columns = {4, width, 1, 4, 1, 1, 4, 1, 1}};
  setup.compression = compression;
  setup.residentBytes = resident;
  return setup;
}

DurableOptions optionsOf() {
  DurableOptions options;
  options.log.isThreaded = false;
  options.log.flushIntervalMs = 0;
  options.log.segmentBytes = 64 << 10;
  options.log.bufferBytes = 16 << 10;
  options.checkpointBytes = 100000;
  return options;
}

Side opened(Disk& disk, bool isNew, const TestSetup& setup, const DurableOptions& options = optionsOf(), RecoveryReport* report = nullptr) {
  RecoveryReport ignored;
  Side side = {{setup.create()}};
  const Status status = openDurable(side, disk, options, isNew, report == nullptr ? &ignored : report);
  CHECK_EQUAL(status, Status::ok);
  if (status != Status::ok) std::exit(checkResult("durable/resident"));
  return side;
}

const ResidentRows& residentOf(const Side& side) { return side.instance().durable->resident(); }

void checkLimit(const Side& side) { CHECK(!residentOf(side).isOn() || residentOf(side).rowBytes() <= residentOf(side).limit()); }

/// Records an episode, whose states say which it is. Rewards do, too.
int32_t record(const Side& side, uint32_t count, uint32_t number, uint32_t columns = 3, bool isOpen = false) {
  double handle = -1;
  const int32_t begun = exrp_episode_create(side.id(), &handle);
  if (begun != 0) return begun;
  TestSteps steps(side.id(), count, columns, rowBytes);
  for (size_t k = 0; k < size_t{count} * width; ++k) steps.part<float>(EXRP_STEPS_COLUMN)[k] = static_cast<float>(1000 * number + k / width);
  const int32_t recorded = steps.recordMany(side.id(), &handle);
  if (recorded != 0 || isOpen) return recorded;
  const std::vector<uint8_t> final(rowBytes, 1);
  uint32_t ended = 0;
  return exrp_episode_end(side.id(), handle, final.data(), rowBytes, 0, &ended);
}

int32_t flush(const Side& side) {
  double ticket = 0;
  const int32_t status = exrp_durable_group(side.id(), nullptr, 0, 0, &ticket);
  return status == 0 ? exrp_durable_wait(side.id(), ticket, UINT32_MAX) : status;
}

/// Asks for more room than there can be, so that all leaves memory that may.
void leave(const Side& side) { CHECK(side.instance().replay.book().store().source()->makeRoom(uint64_t{1} << 40) != Status::ok); }

/// Fills it, and lets all leave memory that may.
void fill(const Side& side) {
  for (uint32_t episode = 0; episode < 20; ++episode) {
    CHECK_EQUAL(record(side, 30, episode), 0);
    checkLimit(side);
  }
  CHECK_EQUAL(flush(side), 0);
  leave(side);
}

/// The states of an episode.
int32_t readStates(const Side& side, double episode, std::vector<float>* states) {
  states->assign(size_t{30} * width, -1);
  const int32_t first = 0;
  return exrp_rows_get(side.id(), 0, &episode, &first, 1, 30, reinterpret_cast<uint8_t*>(states->data()), static_cast<double>(states->size() * 4));
}

/// The place of a block of an episode.
LogPlace placeOf(const Side& side, double episode) {
  const EpisodeBook& book = side.instance().replay.book();
  const uint32_t block = book.episodes()[book.findEpisode(episode)].firstBlock;
  CHECK(book.store().packed().isAway(block));
  return book.part<LoggedRows>().place(block);
}

/// Everything is read back as it was, however often, and in a fourth of the memory.
void readsBack() {
  for (const double compression : {EXRP_COMPRESSION_NONE, EXRP_COMPRESSION_FAST, EXRP_COMPRESSION_SMALL}) {
    SimulatedDisk disk(1);
    Side side = opened(disk, true, setupOf(limit, compression));
    fill(side);
    std::vector<float> states;
    for (int round = 0; round < 3; ++round) {
      for (uint32_t episode = 0; episode < 20; ++episode) {
        CHECK_EQUAL(readStates(side, episode, &states), 0);
        bool isRight = true;
        for (size_t k = 0; k < states.size(); ++k) isRight = isRight && states[k] == static_cast<float>(1000 * episode + k / width);
        CHECK(isRight);
        checkLimit(side);
      }
    }
    CHECK(residentOf(side).readBlocks() >= 40);
    // Opened again, all of it is looked at, and no more than the limit is kept.
    CHECK_EQUAL(flush(side), 0);
    side.destroy();
    disk.kill();
    Side again = opened(disk, false, setupOf(limit, compression));
    checkLimit(again);
    CHECK_EQUAL(readStates(again, 3, &states), 0);
    CHECK_EQUAL(states[0], 3000.0f);
    again.destroy();
  }
}

/// A disk that can't be read now: the call says what and where, nothing else is concerned, and later it works.
void failsOnce() {
  SimulatedDisk disk(2);
  Side side = opened(disk, true, setupOf(limit));
  fill(side);
  const LogPlace place = placeOf(side, 5);
  std::vector<float> states;
  disk.failReadAt(0, EIO);
  CHECK_EQUAL(readStates(side, 5, &states), EXRP_STATUS_LOG);
  CHECK_EQUAL(errorDetail[0], double{EXRP_LOG_ROWS});
  CHECK_EQUAL(errorDetail[1], double(place.segment));
  CHECK_EQUAL(errorDetail[2], double(place.offset));
  CHECK_EQUAL(errorDetail[3], double{EIO});
  disk.failReadAt(UINT64_MAX, 0);
  CHECK_EQUAL(readStates(side, 5, &states), 0);
  CHECK_EQUAL(states[0], 5000.0f);
  CHECK(!side.instance().durable->stream().hasFailed());
  CHECK_EQUAL(record(side, 30, 20), 0);
  side.destroy();
}

/// A draw that fails counts as drawn: the next one draws other picks, and so does the log when it is read again.
void failedDraws() {
  SimulatedDisk disk(3);
  Side side = opened(disk, true, setupOf(limit));
  addSelector(side.id(), uniform());
  fill(side);
  Side twin = {{setupOf(0).create()}};
  addSelector(twin.id(), uniform());
  for (uint32_t episode = 0; episode < 20; ++episode) CHECK_EQUAL(record(twin, 30, episode), 0);
  uint32_t failures = 0;
  for (uint32_t n = 0; n < 40; ++n) {
    leave(side);
    if (n % 3 == 0) disk.failReadAt(n % 7, EIO);
    TestBatch batch(side.id(), 16);
    TestBatch same(twin.id(), 16);
    const int32_t status = batch.draw(side.id());
    disk.failReadAt(UINT64_MAX, 0);
    CHECK_EQUAL(same.draw(twin.id()), 0);
    failures += status != 0;
    if (status != 0) CHECK_EQUAL(errorDetail[0], double{EXRP_LOG_ROWS});
    else CHECK(batch.bytes == same.bytes);
    checkLimit(side);
  }
  CHECK(failures > 5);
  CHECK_EQUAL(flush(side), 0);
  side.destroy();
  disk.kill();
  Side again = opened(disk, false, setupOf(limit));
  const char* const what = difference(again, twin);
  if (what != nullptr) std::printf("%s\n", what);
  CHECK(what == nullptr);
  again.destroy();
  twin.destroy();
}

/// One flipped bit is repaired. Several are damage, of one block: other rows can be read, a checkpoint leaves it where it is, and opening the folder evicts its episode.
void damaged() {
  SimulatedDisk disk(4);
  Side side = opened(disk, true, setupOf(limit));
  fill(side);
  std::vector<float> states;
  const LogPlace place = placeOf(side, 5);
  const std::string name = SegmentName(place.segment).text;
  disk.flip(name, place.offset + frameHeadBytes + 3000, 3);
  CHECK_EQUAL(readStates(side, 5, &states), 0);
  CHECK_EQUAL(states[0], 5000.0f);
  leave(side);
  disk.flip(name, place.offset + frameHeadBytes + 5000, 1);
  disk.flip(name, place.offset + frameHeadBytes + 7000, 2);
  CHECK_EQUAL(readStates(side, 5, &states), EXRP_STATUS_LOG);
  CHECK_EQUAL(errorDetail[0], double{EXRP_LOG_ROWS});
  CHECK_EQUAL(errorDetail[1], double(place.segment));
  CHECK_EQUAL(errorDetail[2], double(place.offset));
  CHECK_EQUAL(errorDetail[3], 0.0);
  CHECK_EQUAL(readStates(side, 4, &states), 0);
  Verify verify(false);
  CHECK(verify.run(disk) == LogStatus::ok);
  CHECK(verify.flawCount() == 1 && verify.flaw(0).at == place.position() && verify.flaw(0).cost == FlawCost::episodes);
  // Its rewards are in memory, and may change. The next checkpoint wants to write it again.
  const double episode = 5;
  const int32_t position = 0;
  const float reward = 77;
  uint32_t updated = 0;
  CHECK_EQUAL(exrp_rows_set(side.id(), 2, &episode, &position, 1, reinterpret_cast<const uint8_t*>(&reward), 4, &updated), 0);
  for (uint32_t n = 0; n < 6; ++n) {
    const float state[width] = {1, 2, 3};
    const double other = 6 + n;
    CHECK_EQUAL(exrp_rows_set(side.id(), 0, &other, &position, 1, reinterpret_cast<const uint8_t*>(state), rowBytes, &updated), 0);
    CHECK_EQUAL(flush(side), 0);
    checkLimit(side);
  }
  side.destroy();
  disk.kill();
  RecoveryReport report;
  Side again = opened(disk, false, setupOf(limit), optionsOf(), &report);
  CHECK_EQUAL(report.lostBlocks, uint64_t{1});
  CHECK(report.damage == place.position());
  CHECK(again.instance().replay.book().findEpisode(5) == episodeNone);
  CHECK_EQUAL(readStates(again, 6, &states), 0);
  CHECK_EQUAL(states[1], 2.0f);
  again.destroy();
}

/// What never gets to the disk never leaves memory: once the limit is reached, records are refused, and what was on the disk can still be read.
void diskFails() {
  SimulatedDisk disk(5);
  DurableOptions options = optionsOf();
  options.goesOn = true;
  Side side = opened(disk, true, setupOf(limit), options);
  fill(side);
  int32_t status = 0;
  for (uint32_t n = 0; n < 20 && status == 0; ++n) {
    disk.failAt(0, ENOSPC);
    status = record(side, 30, 100 + n);
    checkLimit(side);
  }
  CHECK_EQUAL(status, EXRP_STATUS_LOG);
  CHECK_EQUAL(errorDetail[0], double{EXRP_LOG_RESIDENT});
  CHECK_EQUAL(errorDetail[2], limit);
  std::vector<float> states;
  // Room for others.
  for (double episode = 20; episode < 25; ++episode) CHECK_EQUAL(exrp_episode_evict(side.id(), episode), 0);
  CHECK_EQUAL(readStates(side, 19, &states), 0);
  CHECK_EQUAL(states[0], 19000.0f);
  side.destroy();
}

/// More rows are changed than may be in memory, also when the folder is opened again without a checkpoint.
void manyUpdates() {
  SimulatedDisk disk(6);
  DurableOptions options = optionsOf();
  options.checkpointBytes = uint64_t{1} << 40;
  Side side = opened(disk, true, setupOf(limit), options);
  fill(side);
  std::vector<float> states(width);
  for (uint32_t episode = 0; episode < 20; ++episode) {
    for (const int32_t position : {3, 20}) {
      const double handle = episode;
      states.assign(width, static_cast<float>(episode) + static_cast<float>(position));
      uint32_t updated = 0;
      CHECK_EQUAL(exrp_rows_set(side.id(), 0, &handle, &position, 1, reinterpret_cast<const uint8_t*>(states.data()), rowBytes, &updated), 0);
      CHECK_EQUAL(updated, 1u);
      checkLimit(side);
    }
  }
  CHECK_EQUAL(flush(side), 0);
  const auto check = [](const Side& at) {
    std::vector<float> found;
    for (uint32_t episode = 0; episode < 20; ++episode) {
      CHECK_EQUAL(readStates(at, episode, &found), 0);
      for (const size_t position : {3, 20}) CHECK_EQUAL(found[position * width + 5], static_cast<float>(episode) + static_cast<float>(position));
      CHECK_EQUAL(found[4 * width], static_cast<float>(1000 * episode + 4));
      checkLimit(at);
    }
  };
  check(side);
  side.instance().durable->abandon();
  side.destroy();
  disk.kill();
  for (int round = 0; round < 3; ++round) {
    Side again = opened(disk, false, setupOf(limit), options);
    checkLimit(again);
    check(again);
    CHECK_EQUAL(record(again, 30, 50), 0);
    CHECK_EQUAL(exrp_episode_evict(again.id(), 20 + round), 0);
    CHECK_EQUAL(flush(again), 0);
    again.destroy();
    disk.kill();
  }
}

/// Too little for a block or two is refused before anything is made.
void refusals() {
  SimulatedDisk disk(7);
  Side side = {{setupOf(50000).create()}};
  CHECK_EQUAL(openDurable(side, disk, optionsOf(), true, nullptr), Status::log);
  CHECK_EQUAL(errorDetail[0], double{EXRP_LOG_RESIDENT});
  CHECK(errorDetail[1] > 100000 && errorDetail[1] < limit);
  CHECK_EQUAL(errorDetail[2], 50000.0);
  side.destroy();
  CHECK(disk.fileNames().empty());
}

/// Where several wide columns of the same records were prepared, all of them can be set, however little memory there is.
void setsWhatWasPrepared() {
  const uint32_t columns[] = {0, 3, 4};
  uint32_t prepared = 0, refused = 0;
  for (double bytes = 200000; bytes < 600000; bytes += 4000) {
    SimulatedDisk disk(8);
    TestSetup setup = setupOf(bytes);
    setup.columns.insert(setup.columns.end(), {1, rowBytes, 1, 1, 500, 1});
    Side side = {{setup.create()}};
    auto status = static_cast<int32_t>(openDurable(side, disk, optionsOf(), true, nullptr));
    for (uint32_t episode = 0; status == 0 && episode < 20; ++episode) {
      status = record(side, 30, episode, 5, episode == 19);
      if (status == 0) status = flush(side);
    }
    if (status == 0) leave(side);
    const double handles[] = {1, 3, 5, 7, 9, 11};
    const int32_t positions[] = {1, 1, 1, 20, 20, 20};
    const std::vector<uint8_t> rows(size_t{6} * rowBytes, 7);
    for (const uint32_t column : columns) {
      if (status == 0) status = exrp_rows_prepare(side.id(), column, handles, positions, 6);
    }
    ++(status == 0 ? prepared : refused);
    for (const uint32_t column : columns) {
      uint32_t updated = 0;
      if (status == 0) CHECK_EQUAL(exrp_rows_set(side.id(), column, handles, positions, 6, rows.data(), static_cast<double>(rows.size()), &updated), 0);
    }
    if (status == 0) checkLimit(side);
    side.destroy();
  }
  CHECK(prepared > 10 && refused > 10);
}

/// Begins a mirror of columns, with the only copy of their rows in memory.
int32_t beginLean(const Side& side, const std::vector<uint32_t>& columns) {
  std::vector<uint32_t> packed(columns.size());
  return exrp_mirror_begin(side.id(), columns.data(), static_cast<uint32_t>(columns.size()), packed.data(), 0);
}

const MirroredRows& mirrorOf(const Side& side) { return side.instance().replay.book().part<MirroredRows>(); }

/// Changes the state of one record in each of the first episodes, by one call.
void updateStates(const Side& side, uint32_t episodes, int32_t position, float number) {
  const std::vector<float> rows(size_t{width} * episodes, number);
  const std::vector<int32_t> positions(episodes, position);
  std::vector<double> handles;
  for (uint32_t episode = 0; episode < episodes; ++episode) handles.push_back(episode);
  uint32_t updated = 0;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(rows.data());
  CHECK_EQUAL(exrp_rows_set(side.id(), 0, handles.data(), positions.data(), episodes, bytes, rowBytes * episodes, &updated), 0);
  CHECK_EQUAL(updated, episodes);
}

/// Bytes that the log got.
double writtenBytes(const Side& side) {
  double info[EXRP_DURABLE_INFO_COUNT] = {};
  CHECK_EQUAL(exrp_durable_info(side.id(), info, EXRP_DURABLE_INFO_COUNT), 0);
  return info[EXRP_DURABLE_INFO_WRITTEN_BYTES];
}

/// Reads all that the mirror lacks.
int32_t readMirror(const Side& side) {
  std::vector<uint8_t> bytes(size_t{50000});
  uint32_t runs[8 * EXRP_MIRROR_RUN_COUNT];
  uint32_t info[EXRP_MIRROR_COUNT] = {0, 1, 0, 0};
  int32_t status = 0;
  while (status == 0 && info[EXRP_MIRROR_MORE] == 1) status = exrp_mirror_read(side.id(), bytes.data(), 50000, runs, 8, info);
  return status;
}

/// A mirror has all rows, and memory as few as may be: those leave that are on the disk and in the mirror, and no sooner, although there is room for all.
void leansOnMirror() {
  constexpr double ample = 2000000;  // an eighth is less than 20 blocks
  SimulatedDisk disk(8);
  DurableOptions options = optionsOf();
  options.goesOn = true;
  Side side = opened(disk, true, setupOf(ample, EXRP_COMPRESSION_NONE), options);
  const ResidentRows& rows = residentOf(side);
  for (uint32_t episode = 0; episode < 20; ++episode) CHECK_EQUAL(record(side, 30, episode), 0);
  CHECK_EQUAL(flush(side), 0);
  const uint64_t all = rows.rowBytes();
  CHECK_EQUAL(rows.keptBytes(), rows.limit());
  CHECK_EQUAL(beginLean(side, {0}), 0);
  const uint64_t kept = rows.keptBytes();
  CHECK(kept < all / 3);
  CHECK_EQUAL(rows.rowBytes(), all);
  CHECK_EQUAL(readMirror(side), 0);
  CHECK(rows.rowBytes() <= kept);
  CHECK_EQUAL(rows.readBlocks(), uint64_t{0});
  // Others read the disk. What they read stays until the mirror reads.
  std::vector<float> states;
  for (int round = 0; round < 2; ++round) {
    for (uint32_t episode = 0; episode < 20; ++episode) {
      CHECK_EQUAL(readStates(side, episode, &states), 0);
      CHECK(states[0] == static_cast<float>(1000 * episode) && states[29 * width] == static_cast<float>(1000 * episode + 29));
    }
    CHECK(rows.rowBytes() > kept);
    CHECK_EQUAL(readMirror(side), 0);
    CHECK(rows.rowBytes() <= kept);
  }
  // A few that have changed are not written as whole blocks for that, as they would not be without a mirror.
  const double before = writtenBytes(side);
  updateStates(side, 8, 3, 6);
  CHECK_EQUAL(flush(side), 0);
  CHECK(!rows.isPressed());
  CHECK(writtenBytes(side) - before < 2 * 8 * rowBytes);
  // Many are. They stay until they are on the disk again and in the mirror, whichever comes first.
  for (const bool isFlushed : {false, true}) {
    const float row = isFlushed ? 8 : 7;
    updateStates(side, 20, 3, row);
    // A checkpoint may read others.
    if (isFlushed) CHECK_EQUAL(flush(side), 0);
    const uint64_t read = rows.readBlocks();
    CHECK_EQUAL(readMirror(side), 0);
    CHECK_EQUAL(rows.readBlocks(), read);
    CHECK_EQUAL(flush(side), 0);
    CHECK_EQUAL(readMirror(side), 0);
    CHECK(rows.rowBytes() <= kept);
    CHECK_EQUAL(readStates(side, 4, &states), 0);
    CHECK(states[3 * width] == row && states[4 * width] == 4004.0f);
  }
  // A mirror that begins anew reads the disk. Where that fails, it lacks a block until the next read.
  CHECK_EQUAL(exrp_mirror_end(side.id()), 0);
  CHECK_EQUAL(rows.keptBytes(), rows.limit());
  CHECK_EQUAL(beginLean(side, {0}), 0);
  disk.failReadAt(0, EIO);
  CHECK_EQUAL(readMirror(side), 0);
  CHECK(mirrorOf(side).unreadableCount() == 1 && mirrorOf(side).unreadableError() == EIO);
  CHECK_EQUAL(readMirror(side), 0);
  CHECK_EQUAL(mirrorOf(side).unreadableCount(), 0u);
  CHECK(rows.rowBytes() <= kept);
  // What goes leaves nothing behind in the list.
  for (uint32_t n = 20; n < 60; ++n) {
    CHECK_EQUAL(record(side, 30, n), 0);
    if (n % 3 > 0) continue;
    CHECK_EQUAL(flush(side), 0);
    CHECK_EQUAL(readMirror(side), 0);
    CHECK(rows.rowBytes() <= kept);
  }
  // What never gets to the disk never leaves memory.
  disk.failAt(0, ENOSPC);
  for (uint32_t n = 60; n < 80; ++n) CHECK_EQUAL(record(side, 30, n), 0);
  CHECK_EQUAL(readMirror(side), 0);
  CHECK(rows.rowBytes() > kept);
  for (uint32_t episode = 62; episode < 80; ++episode) {
    CHECK_EQUAL(readStates(side, episode, &states), 0);
    CHECK_EQUAL(states[0], static_cast<float>(1000 * episode));
  }
  side.destroy();
}

/// Narrow columns never leave memory. So where one changes, a mirror gets that column of the block, or nothing where it lacks the column, and nobody reads the disk.
void narrowUpdates() {
  SimulatedDisk disk(14);
  Side side = opened(disk, true, setupOf(limit));
  fill(side);
  CHECK_EQUAL(beginLean(side, {0, 2}), 0);
  CHECK_EQUAL(readMirror(side), 0);
  leave(side);
  disk.failReadAt(0, EIO);
  std::vector<uint8_t> bytes(50000);
  uint32_t runs[8][EXRP_MIRROR_RUN_COUNT];
  uint32_t info[EXRP_MIRROR_COUNT] = {};
  const auto read = [&] { return exrp_mirror_read(side.id(), bytes.data(), 50000, &runs[0][0], 8, info); };
  const double handle = 3;
  const int32_t position = 4;
  const float number = 77;
  uint32_t updated = 0;
  for (const uint32_t column : {1u, 2u}) {
    CHECK_EQUAL(exrp_rows_set(side.id(), column, &handle, &position, 1, reinterpret_cast<const uint8_t*>(&number), sizeof number, &updated), 0);
    CHECK_EQUAL(read(), 0);
    CHECK_EQUAL(info[EXRP_MIRROR_RUNS], column - 1);
    CHECK_EQUAL(info[EXRP_MIRROR_MORE], 0u);
  }
  CHECK(runs[0][EXRP_MIRROR_RUN_COLUMN] == 2 && runs[0][EXRP_MIRROR_RUN_SLOTS] == info[EXRP_MIRROR_BLOCK]);
  float came = 0;
  memcpy(&came, bytes.data() + runs[0][EXRP_MIRROR_RUN_BYTE] + size_t{4} * position, sizeof came);
  CHECK_EQUAL(came, number);
  CHECK(!disk.hasFailed());
  disk.failReadAt(UINT64_MAX, 0);
  // With both, each column comes once.
  updateStates(side, 4, position, 5);
  CHECK_EQUAL(exrp_rows_set(side.id(), 2, &handle, &position, 1, reinterpret_cast<const uint8_t*>(&number), sizeof number, &updated), 0);
  CHECK_EQUAL(readMirror(side), 0);
  CHECK_EQUAL(read(), 0);
  CHECK_EQUAL(info[EXRP_MIRROR_RUNS], 0u);
  side.destroy();
}

/// A block that can't be read is passed over. Batches with its rows say which it is, and others are made.
void passesOver() {
  SimulatedDisk disk(15);
  Side side = opened(disk, true, setupOf(limit));
  addSelector(side.id(), uniform());
  fill(side);
  const LogPlace place = placeOf(side, 5);
  for (uint32_t at = 1000; at < 5000; at += 1000) disk.flip(SegmentName(place.segment).text, place.offset + at, 3);
  CHECK_EQUAL(beginLean(side, {0}), 0);
  constexpr uint32_t picks = 4;
  std::vector<double> offsets(EXRP_BATCH_COLUMN + 3);
  CHECK_EQUAL(exrp_batch_layout(side.id(), 0, picks + EXRP_BATCH_ADDRESSES, offsets.data(), EXRP_BATCH_COLUMN + 3), 0);
  std::vector<uint8_t> batch(static_cast<size_t>(offsets[EXRP_BATCH_BYTES]));
  uint32_t failures = 0, made = 0;
  const auto draw = [&] {
    CHECK_EQUAL(readMirror(side), 0);
    const int32_t status = exrp_batch_get(side.id(), 0, 0, picks, picks + EXRP_BATCH_ADDRESSES, 0, batch.data(), offsets[EXRP_BATCH_BYTES]);
    if (status != 0) {
      ++failures;
      CHECK(status == EXRP_STATUS_LOG && errorDetail[0] == EXRP_LOG_ROWS);
      CHECK(errorDetail[1] == place.segment && errorDetail[2] == place.offset && errorDetail[3] == 0);
      return;
    }
    ++made;
    for (uint32_t pick = 0; pick < picks; ++pick) {
      double handle = 0;
      int32_t position = 0;
      memcpy(&handle, batch.data() + static_cast<size_t>(offsets[EXRP_BATCH_PICK_EPISODE]) + pick * sizeof handle, sizeof handle);
      memcpy(&position, batch.data() + static_cast<size_t>(offsets[EXRP_BATCH_PICK_POSITION]) + pick * sizeof position, sizeof position);
      CHECK(handle != 5 || position >= 16);
    }
  };
  for (uint32_t n = 0; n < 100; ++n) draw();
  CHECK(failures > 2 && made > 50);
  CHECK_EQUAL(mirrorOf(side).unreadableCount(), 1u);
  // Its memory may go to another episode.
  CHECK_EQUAL(exrp_episode_evict(side.id(), 5), 0);
  CHECK_EQUAL(record(side, 30, 20), 0);
  failures = 0;
  for (uint32_t n = 0; n < 50; ++n) draw();
  CHECK_EQUAL(failures, 0u);
  CHECK_EQUAL(mirrorOf(side).unreadableCount(), 0u);
  side.destroy();
}

/// What has changed and goes needs no writing any more.
void forgetsWhatWent() {
  SimulatedDisk disk(16);
  Side side = opened(disk, true, setupOf(limit));
  fill(side);
  const EpisodeBook& book = side.instance().replay.book();
  const auto change = [&](double episode) { book.store().source()->changing(book.episodes()[book.findEpisode(episode)].firstBlock); };
  for (double episode = 0; episode < 20; episode += 2) {
    for (const double each : {episode, episode + 1}) change(each);
    CHECK(!residentOf(side).isPressed());
    for (const double each : {episode, episode + 1}) CHECK_EQUAL(exrp_episode_evict(side.id(), each), 0);
  }
  side.destroy();
}

/// Rows that no disk has, or that may not leave, keep their copy in memory; and so do those of a block with a column that the mirror lacks.
void needsHostCopy() {
  const auto isRefused = [](const Side& side, uint32_t mirrored, double column) {
    CHECK_EQUAL(beginLean(side, {mirrored}), EXRP_STATUS_ARGUMENT);
    CHECK(errorDetail[0] == 5 && errorDetail[1] == column);
    // Nothing has begun.
    CHECK_EQUAL(exrp_mirror_end(side.id()), 0);
    uint32_t packed = 0;
    CHECK_EQUAL(exrp_mirror_begin(side.id(), &mirrored, 1, &packed, 1), 0);
    CHECK_EQUAL(exrp_mirror_end(side.id()), 0);
  };
  Side memory = {{setupOf(limit).create()}};
  isRefused(memory, 0, -1);
  memory.destroy();
  SimulatedDisk disk(9);
  Side plain = opened(disk, true, setupOf(0, EXRP_COMPRESSION_FAST));
  isRefused(plain, 0, -1);
  plain.destroy();
  SimulatedDisk other(10);
  Side side = opened(other, true, setupOf(limit));
  isRefused(side, 1, 0);
  CHECK_EQUAL(residentOf(side).keptBytes(), residentOf(side).limit());
  side.destroy();
}

/// Reads all that a mirror of the states lacks, and returns how many rows came. Each is what was recorded.
uint32_t readChecked(const Side& side) {
  const Store& store = side.instance().replay.book().store();
  std::vector<uint8_t> bytes(store.blockLength() * size_t{rowBytes} * 3);
  uint32_t runs[8][EXRP_MIRROR_RUN_COUNT];
  uint32_t info[EXRP_MIRROR_COUNT] = {};
  uint32_t count = 0;
  for (info[EXRP_MIRROR_MORE] = 1; info[EXRP_MIRROR_MORE] == 1;) {
    if (exrp_mirror_read(side.id(), bytes.data(), static_cast<uint32_t>(bytes.size()), &runs[0][0], 8, info) != 0) return count;
    checkLimit(side);
    for (uint32_t run = 0; run < info[EXRP_MIRROR_RUNS]; ++run) {
      const uint32_t* const said = runs[run];
      for (uint32_t row = 0; row < said[EXRP_MIRROR_RUN_SLOTS]; ++row, ++count) {
        const uint32_t slot = said[EXRP_MIRROR_RUN_SLOT] + row;
        const uint32_t position = store.positionOf(slot);
        std::vector<float> state(width);
        memcpy(state.data(), bytes.data() + said[EXRP_MIRROR_RUN_BYTE] + size_t{row} * rowBytes, rowBytes);
        std::vector<float> wanted(width, static_cast<float>(1000 * store.handleOf(slot >> store.blockShift()) + position));
        if (position == 30) memset(wanted.data(), 1, rowBytes);
        CHECK(state == wanted);
      }
    }
  }
  return count;
}

/// A mirror reads rows that are on the disk only: those that left memory, and those that nobody has read since the folder was opened.
void mirrored() {
  const uint32_t column = 0;
  uint32_t packed = 1;
  {
    SimulatedDisk disk(11);
    Side side = opened(disk, true, setupOf(limit));
    fill(side);
    const uint64_t before = residentOf(side).readBlocks();
    CHECK_EQUAL(exrp_mirror_begin(side.id(), &column, 1, &packed, 1), 0);
    CHECK_EQUAL(packed, 0u);
    CHECK_EQUAL(readChecked(side), 20u * 31);
    CHECK_EQUAL(residentOf(side).readBlocks() - before, uint64_t{40});
    side.destroy();
  }
  SimulatedDisk disk(12);
  Side side = opened(disk, true, setupOf(0));
  for (uint32_t episode = 0; episode < 20; ++episode) CHECK_EQUAL(record(side, 30, episode), 0);
  for (int turn = 0; turn < 2; ++turn) CHECK_EQUAL(flush(side), 0);
  const EpisodeBook& book = side.instance().replay.book();
  const LogPlace place = book.part<LoggedRows>().place(book.episodes()[book.findEpisode(5)].firstBlock);
  side.destroy();
  for (uint32_t at = 1000; at < 5000; at += 1000) disk.flip(SegmentName(place.segment).text, place.offset + at, 3);
  DurableOptions options = optionsOf();
  options.readNowBytes = 0;
  Side again = opened(disk, false, setupOf(0), options);
  const UnreadRows& unread = again.instance().durable->resident().unread();
  CHECK(unread.count() > 30);
  CHECK_EQUAL(exrp_mirror_begin(again.id(), &column, 1, &packed, 1), 0);
  const uint32_t count = readChecked(again);
  CHECK_EQUAL(errorDetail[0], double{EXRP_LOG_ROWS});
  CHECK_EQUAL(errorDetail[1], double(place.segment));
  CHECK_EQUAL(errorDetail[2], double(place.offset));
  // Its episode goes with the next group. The mirror has all others then, and the whole block of that episode at most.
  CHECK_EQUAL(flush(again), 0);
  const uint32_t others = readChecked(again);
  CHECK(count + others >= 19u * 31 && count + others < 20u * 31);
  CHECK_EQUAL(unread.count(), 0u);
  again.destroy();
}

}  // namespace

int main() {
  readsBack();
  failsOnce();
  failedDraws();
  damaged();
  diskFails();
  manyUpdates();
  refusals();
  setsWhatWasPrepared();
  leansOnMirror();
  narrowUpdates();
  passesOver();
  forgetsWhatWent();
  needsHostCopy();
  mirrored();
  return checkResult("durable/resident");
}
