// sealBlock: a chunk has the rows of its block as they were written, also those that few records keep, and has them after the block has gone.
#include "kernel/store/sealed_block.hpp"

#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/replay/replay.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp;
using test::TestSetup;

namespace {

constexpr uint32_t blockLength = 16;
constexpr uint32_t trimLength = 4;
constexpr uint32_t every = 3;
constexpr uint32_t stateBytes = 8;
constexpr uint32_t keptBytes = 2;

constexpr double recordCountMax = 400;

TestSetup setup() {
  TestSetup made = {.capacity = recordCountMax, .blockLength = blockLength};
  made.columns = {4, 2, 1, 2, 1, 1, 4, 1, 1, 1, 2, every};
  return made;
}

/// A replay that keeps what it is told until it is told otherwise.
class Kept {
 public:
  explicit Kept(const TestSetup& made = setup()) {
    double config[EXRP_CONFIG_COUNT] = {};
    config[EXRP_CONFIG_CAPACITY] = config[EXRP_CONFIG_SEGMENT_LENGTH] = made.capacity;
    config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;
    config[EXRP_CONFIG_STATE_COLUMNS] = made.leafCount;
    config[EXRP_CONFIG_BLOCK_LENGTH] = made.blockLength;
    PickPolicy policy = {};
    ReplayConfig parsed = {};
    CHECK_EQUAL(PickPolicy::parse(made.policy.data(), EXRP_POLICY_COUNT, 3, &policy), Status::ok);
    CHECK_EQUAL(ReplayConfig::parse(config, EXRP_CONFIG_COUNT, policy, made.columns.data(), made.columnCount(), &parsed), Status::ok);
    CHECK_EQUAL(replay_.create(parsed, policy), Status::ok);
    CHECK_EQUAL(book().trimLength(), trimLength);
  }
  EpisodeBook& book() { return replay_.book(); }

 private:
  Replay replay_;
};

/// The byte that each byte of a column's row has.
uint8_t byteOf(uint32_t column, uint32_t episode, uint32_t position) { return static_cast<uint8_t>(1 + 50 * column + 17 * episode + position); }

void record(EpisodeBook& book, uint32_t episode, uint32_t number) {
  CHECK_EQUAL(book.prepare(1, 0, 1), Status::ok);
  const uint32_t slot = book.takeSlot(episode);
  const uint32_t position = book.episodes()[episode].count;
  Store& store = book.store();
  for (uint32_t column = 0; column < 3; ++column) memset(store.at(column, slot), byteOf(column, number, position), store.column(column).bytes);
  if (position % every == 0) memset(store.kept().at(3, store.blockOf(slot), position), byteOf(3, number, position), keptBytes);
  book.append(episode, 1, nullptr);
}

struct Expected {
  SealedChunk* chunk;
  uint32_t number;
  uint64_t handle;
  uint32_t position;
  uint32_t rowCount;
  bool hasFinal;
};

void checkChunk(const Expected& expected, const Store& store) {
  SealedChunk* const chunk = expected.chunk;
  CHECK(chunk != nullptr);
  CHECK_EQUAL(chunk->references, 1u);
  BlockChunkHead head = {};
  memcpy(&head, chunk->data(), sizeof head);
  CHECK_EQUAL(head.handle, expected.handle);
  CHECK_EQUAL(head.position, expected.position);
  CHECK_EQUAL(head.rowCount, expected.rowCount);
  CHECK_EQUAL(head.hasFinal, expected.hasFinal ? 1u : 0u);
  CHECK_EQUAL(head.schema, store.schema());
  std::vector<uint8_t> bytes(chunk->data(), chunk->data() + sizeof head);
  const auto put = [&](uint32_t column, uint32_t position, bool isThere) {
    bytes.insert(bytes.end(), store.column(column).bytes, isThere ? byteOf(column, expected.number, position) : uint8_t{0});
  };
  const uint32_t recordCount = expected.rowCount - (expected.hasFinal ? 1 : 0);
  for (uint32_t row = 0; row < expected.rowCount; ++row) {
    for (uint32_t column = 0; column < 3; ++column) put(column, expected.position + row, column == 0 || row < recordCount);
  }
  for (uint32_t row = 0; row < recordCount; ++row) {
    if ((expected.position + row) % every == 0) put(3, expected.position + row, true);
  }
  CHECK_EQUAL(chunk->bytes, bytes.size());
  if (chunk->bytes == bytes.size()) CHECK(memcmp(chunk->data(), bytes.data(), bytes.size()) == 0);
  CHECK_EQUAL(chunk->checksum(), checksum(0, bytes.data(), bytes.size()));
}

void hasTheRowsOfItsBlock(uint64_t seed) {
  Random random(seed, 0);
  Kept kept;
  EpisodeBook& book = kept.book();
  std::vector<Expected> chunks;
  for (uint32_t number = 0; number < 8; ++number) {
    CHECK_EQUAL(book.prepare(0, 1, 1), Status::ok);
    const uint32_t episode = book.begin(0);
    const uint64_t handle = book.episodes()[episode].handle;
    const uint32_t count = 1 + random.below(60);
    for (uint32_t k = 0; k < count; ++k) record(book, episode, number);
    // Trims leave a part of a block.
    const uint32_t first = random.below(count) / trimLength * trimLength;
    if (first > 0) book.trim(episode, first);
    CHECK_EQUAL(book.prepare(1, 0, 1), Status::ok);
    const bool ends = random.below(3) > 0;
    std::vector<uint8_t> state(stateBytes, byteOf(0, number, count));
    if (ends) book.end(episode, book.store().leaves().packed(state.data()), random.below(2) == 0);
    uint32_t position = first;
    const uint32_t end = count + (ends ? 1 : 0);
    for (uint32_t block = book.episodes()[episode].firstBlock; block != blockNone; block = book.store().block(block).next) {
      const uint32_t whole = blockLength - position % blockLength;
      const uint32_t rowCount = whole < end - position ? whole : end - position;
      SealedChunk* const chunk = sealBlock(book.store(), block, book.rowsOf(block));
      chunks.push_back({chunk, number, handle, position, rowCount, ends && position + rowCount == end});
      checkChunk(chunks.back(), book.store());
      position += rowCount;
    }
    CHECK_EQUAL(position, end);
    // Its blocks are used again by those that follow.
    book.remove(episode);
  }
  CHECK_EQUAL(book.check(), 0);
  for (const Expected& expected : chunks) {
    checkChunk(expected, book.store());
    ++expected.chunk->references;
    releaseBlock(expected.chunk);
    CHECK_EQUAL(expected.chunk->references, 1u);
    releaseBlock(expected.chunk);
  }
}

/// An open episode that holds no record keeps its block, which has no row.
void anEmptyEpisodeHasNoRows() {
  Kept kept;
  EpisodeBook& book = kept.book();
  CHECK_EQUAL(book.prepare(0, 1, 1), Status::ok);
  const uint32_t episode = book.begin(0);
  CHECK_EQUAL(book.rowsOf(book.episodes()[episode].firstBlock).count, 0u);
  for (uint32_t k = 0; k < blockLength; ++k) record(book, episode, 0);
  book.trim(episode, blockLength);
  CHECK_EQUAL(book.rowsOf(book.episodes()[episode].firstBlock).count, 0u);
}

void theSchemaSaysWhatColumnsThereAre() {
  const auto schemaOf = [](const TestSetup& made) { return Kept(made).book().store().schema(); };
  const uint32_t schema = schemaOf(setup());
  CHECK_EQUAL(schemaOf(setup()), schema);
  TestSetup other = setup();
  other.blockLength = 8;  // where rows lie is not part of it
  CHECK_EQUAL(schemaOf(other), schema);
  other.columns[11] = 2;
  CHECK(schemaOf(other) != schema);
  other = setup();
  other.columns[0] = 8;
  other.columns[1] = 1;
  CHECK(schemaOf(other) != schema);
  other = setup();
  other.columns.resize(9);
  CHECK(schemaOf(other) != schema);
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 20; ++seed) hasTheRowsOfItsBlock(seed);
  anEmptyEpisodeHasNoRows();
  theSchemaSaysWhatColumnsThereAre();
  return test::checkResult("sealed_block");
}
