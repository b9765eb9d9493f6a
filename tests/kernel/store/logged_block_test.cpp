// The rows of a block in a log: each replay reads what each other one of the same columns wrote, packed or not, and damaged bytes are refused, or read within
// their bounds.
//
// EXRP_FUZZ_COUNT sets how many damaged blocks are tried, and EXRP_FUZZ_SEED which ones.
#include "kernel/store/logged_block.hpp"

#include <vector>

#include "kernel/replay/replay.hpp"
#include "tests/kernel/packing/made_rows.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

constexpr uint32_t blockLength = 16;
constexpr uint32_t every = 3;
constexpr uint32_t columnCount = 5;

/// A wide state, a small action, a wide reward, a wide extra, and one that few records keep.
struct Made {
  Replay replay;

  explicit Made(uint32_t compression) {
    double config[EXRP_CONFIG_COUNT] = {};
    config[EXRP_CONFIG_CAPACITY] = config[EXRP_CONFIG_SEGMENT_LENGTH] = 1000;
    config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;
    config[EXRP_CONFIG_STATE_COLUMNS] = 1;
    config[EXRP_CONFIG_BLOCK_LENGTH] = blockLength;
    config[EXRP_CONFIG_COMPRESSION] = compression;
    const std::vector<uint32_t> columns = {1, 600, 1, 4, 1, 1, 4, 50, 1, 4, 60, 1, 1, 300, every};
    const std::vector<double> numbers = policyOf();
    PickPolicy policy = {};
    ReplayConfig parsed = {};
    CHECK_EQUAL(PickPolicy::parse(numbers.data(), EXRP_POLICY_COUNT, 3, &policy), Status::ok);
    CHECK_EQUAL(ReplayConfig::parse(config, EXRP_CONFIG_COUNT, policy, columns.data(), columnCount, &parsed), Status::ok);
    CHECK_EQUAL(replay.create(parsed, policy), Status::ok);
  }
  EpisodeBook& book() { return replay.book(); }

  /// An episode of `count` records, whose rows are those of `rows` by column, or zero. Ended or not, it has one block.
  uint32_t record(uint32_t count, bool ends, const std::vector<Bytes>* rows) {
    CHECK_EQUAL(book().prepare(count + 1, 1, 2), Status::ok);
    const uint32_t episode = book().begin(0);
    Store& store = book().store();
    const auto put = [&](uint32_t column, uint32_t position, uint8_t* to) {
      const size_t bytes = store.column(column).bytes;
      if (rows == nullptr) memset(to, 0, bytes);
      else memcpy(to, (*rows)[column].data() + position * bytes, bytes);
    };
    for (uint32_t position = 0; position < count; ++position) {
      const uint32_t slot = book().takeSlot(episode);
      for (uint32_t column = 0; column < columnCount - 1; ++column) put(column, position, store.rowAt(column, slot));
      if (position % every == 0) put(columnCount - 1, position, store.kept().at(columnCount - 1, store.blockOf(slot), position));
      book().append(episode, 1, nullptr);
    }
    Bytes final(store.column(0).bytes);
    put(0, count, final.data());
    if (ends) book().end(episode, store.leaves().packed(final.data()), true);
    return book().episodes()[episode].firstBlock;
  }
  Bytes log(uint32_t block) {
    const LoggedBlockHead head = loggedBlockHead(book(), block);
    Bytes bytes(static_cast<size_t>(loggedBlockBytes(book().store(), block, head)));
    CHECK(writeLoggedBlock(book().store(), block, head, bytes.data(), nullptr) == bytes.data() + bytes.size());
    return bytes;
  }
  bool isPacked(uint32_t block) { return isLoggedPacked(book().store(), block, loggedBlockHead(book(), block)); }
  /// The status of reading such bytes into a block; Status::dataCorrupt where they are refused.
  Status read(uint32_t block, const Bytes& bytes, bool isPacked) {
    LoggedBlockHead head = {};
    if (bytes.size() < sizeof head) return Status::dataCorrupt;
    memcpy(&head, bytes.data(), sizeof head);
    const uint8_t* const end = checkLoggedBlock(book().store(), head, isPacked, bytes.data(), bytes.size());
    if (end != bytes.data() + bytes.size()) return Status::dataCorrupt;
    // As recovery does.
    const LoggedBlockHead own = loggedBlockHead(book(), block);
    if (head.position != own.position || head.rowCount != own.rowCount || head.recordEnd != own.recordEnd) return Status::dataCorrupt;
    return readLoggedBlock(book().store(), block, head, isPacked, book().isFull(block), bytes.data());
  }
};

std::vector<Bytes> someRows(Random& random, const Store& store) {
  std::vector<Bytes> rows;
  for (uint32_t column = 0; column < columnCount; ++column) {
    rows.push_back(makeRows(random, static_cast<RowKind>(random.below(rowKinds)), store.column(column).bytes, blockLength + 1));
  }
  return rows;
}

void eachReadsWhatEachWrote(uint64_t seed) {
  Random random(seed, 0);
  for (uint32_t from = 0; from < 3; ++from) {
    for (uint32_t to = 0; to < 3; ++to) {
      Made writer(from);
      Made reader(to);
      const std::vector<Bytes> rows = someRows(random, writer.book().store());
      const uint32_t count = 1 + random.below(blockLength);
      const bool ends = random.below(2) == 0 && count < blockLength;
      const uint32_t block = writer.record(count, ends, &rows);
      const uint32_t other = reader.record(count, ends, nullptr);
      const Bytes bytes = writer.log(block);
      CHECK_EQUAL(reader.read(other, bytes, writer.isPacked(block)), Status::ok);
      const BlockRows held = writer.book().rowsOf(block);
      SealedChunk* const one = sealBlock(writer.book().store(), block, held);
      SealedChunk* const two = sealBlock(reader.book().store(), other, held);
      CHECK_EQUAL(one->bytes, two->bytes);
      // Not the handle, which is the same by chance.
      CHECK(memcmp(one->data(), two->data(), one->bytes) == 0);
      releaseBlock(one);
      releaseBlock(two);
      // What it wrote again reads as well.
      CHECK_EQUAL(writer.read(block, reader.log(other), reader.isPacked(other)), Status::ok);
    }
  }
}

void damagedBytesAreRefused(uint64_t count, uint64_t seed) {
  Random random(seed, 0);
  uint64_t refused = 0;
  uint64_t tried = 0;
  while (tried < count) {
    Made writer(1 + random.below(2));
    const std::vector<Bytes> rows = someRows(random, writer.book().store());
    const uint32_t block = writer.record(blockLength, false, &rows);
    const Bytes good = writer.log(block);
    const bool isPacked = writer.isPacked(block);
    Made reader(random.below(3));
    const uint32_t other = reader.record(blockLength, false, nullptr);
    for (uint32_t k = 0; k < 200 && tried < count; ++k, ++tried) {
      Bytes bytes = good;
      for (uint32_t hits = 1 + random.below(3); hits > 0; --hits) {
        // Half of it at the beginning.
        const size_t most = random.below(2) == 0 ? 64 : bytes.size();
        bytes[random.below(static_cast<uint32_t>(most < bytes.size() ? most : bytes.size()))] = static_cast<uint8_t>(random.next());
      }
      if (random.below(8) == 0) bytes.resize(random.below(static_cast<uint32_t>(bytes.size()) + 1));
      const Bytes exact(bytes.begin(), bytes.end());
      refused += reader.read(other, exact, random.below(8) == 0 ? !isPacked : isPacked) == Status::ok ? 0 : 1;
      // Whatever was read, all rows can be unpacked.
      Bytes out(reader.book().store().recordBytes() * size_t{blockLength});
      writeRows(reader.book().store(), reader.book().store().firstSlot(other), blockLength, false, out.data());
    }
  }
  CHECK(refused > count / 20);
  CHECK(refused < count);
}

}  // namespace

int main() {
  const uint64_t count = fromEnvironment("EXRP_FUZZ_COUNT", 4000);
  const uint64_t seed = fromEnvironment("EXRP_FUZZ_SEED", 20261128);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (uint64_t k = 0; k < 20; ++k) eachReadsWhatEachWrote(seed + k);
  damagedBytesAreRefused(count, seed);
  return checkResult("logged_block_test");
}
