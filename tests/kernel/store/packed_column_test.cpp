// PackedColumn: the rows of a block come back whatever form they have, noise keeps its piece and a few rows leave it, rows that are replaced stay until the
// copies from them are done, and refused memory changes nothing.
#include "kernel/store/packed_column.hpp"

#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/packing/made_rows.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

constexpr uint32_t rowBytes = 2000;
constexpr uint32_t blockLength = 16;
constexpr uint32_t blockMax = 100;
constexpr uint32_t seat = 3;

Random stream(20261128, 0);

/// A column of a pool of blocks, which others may copy from.
struct Made {
  BlockPool pool;
  CopyPins pins;
  PackedColumn column;
  uint32_t blocks = 0;

  explicit Made(PackedKey key) {
    CHECK_EQUAL(pool.create(blockMax, blockMax), Status::ok);
    CHECK_EQUAL(column.create(pool, {true, key, false}, rowBytes, blockLength, blockMax, blockMax), Status::ok);
    pool.keepPins(&pins);
  }
  /// A block that has these rows, from its first slot on.
  uint32_t fill(const Bytes& rows) {
    const uint32_t block = blocks++;
    CHECK_EQUAL(column.prepare(blocks, 1), Status::ok);
    column.open(block);
    memcpy(column.row(block, 0), rows.data(), rows.size());
    return block;
  }
  Bytes read(uint32_t block, uint32_t count) const {
    Bytes rows(size_t{count} * rowBytes);
    CHECK(unpackRows(column.rowsOf(block), 0, count, rows.data(), rowBytes));
    return rows;
  }
};

Bytes someRows(RowKind kind, uint32_t count = blockLength) { return makeRows(stream, kind, rowBytes, count); }

void rowsComeBack(PackedKey key) {
  Made made(key);
  std::vector<Bytes> expected;
  for (uint32_t block = 0; block < blockMax; ++block) {
    const uint32_t count = stream.below(3) == 0 ? 1 + stream.below(blockLength) : blockLength;
    expected.push_back(someRows(static_cast<RowKind>(stream.below(rowKinds)), count));
    CHECK_EQUAL(made.fill(expected.back()), block);
    CHECK(made.column.isOpen(block));
    made.column.pack(block, count);
    made.column.pack(block, count);
  }
  for (uint32_t block = 0; block < blockMax; ++block) {
    const auto count = static_cast<uint32_t>(expected[block].size() / rowBytes);
    CHECK(made.read(block, count) == expected[block]);
    if (stream.below(2) == 0) continue;
    // A row changes.
    CHECK_EQUAL(made.column.prepare(blockMax, 1), Status::ok);
    made.column.reopen(block);
    const uint32_t row = stream.below(count);
    noise(stream, made.column.row(block, row), rowBytes);
    memcpy(expected[block].data() + row * rowBytes, made.column.row(block, row), rowBytes);
    if (stream.below(2) == 0) made.column.pack(block, count);
    CHECK(made.read(block, count) == expected[block]);
  }
  for (uint32_t block = 0; block < blockMax; ++block) made.column.give(block);
}

void whatGainsNothingKeepsItsPiece() {
  Made made(PackedKey::lz4);
  const uint32_t noisy = made.fill(someRows(RowKind::noise));
  made.column.pack(noisy, blockLength);
  CHECK(made.column.isOpen(noisy));
  // Few rows take less than a piece.
  const Bytes few = someRows(RowKind::noise, 2);
  const uint32_t cut = made.fill(few);
  made.column.pack(cut, 2);
  CHECK(made.column.isPacked(cut));
  CHECK_EQUAL(made.column.packedCount(cut), 2u);
  CHECK(made.read(cut, 2) == few);
  const uint32_t alike = made.fill(someRows(RowKind::constant));
  made.column.pack(alike, blockLength);
  CHECK(made.column.isPacked(alike));
  CHECK(made.column.rowsOf(alike).bytes < blockLength * rowBytes / 4);
}

void piecesAreUsedAgain() {
  Made made(PackedKey::plain);
  const Bytes rows = someRows(RowKind::moving);
  const uint32_t first = made.fill(rows);
  const double one = made.column.memoryBytes(1);
  made.column.pack(first, blockLength);
  const double packedBytes = static_cast<double>(made.column.rowsOf(first).bytes);
  for (uint32_t k = 1; k < blockMax; ++k) made.column.pack(made.fill(rows), blockLength);
  const double all = made.column.memoryBytes(blockMax);
  CHECK(all < one + blockMax * (packedBytes + 64) + 2 * static_cast<double>(packedBytesMax(rowBytes, blockLength)));
  for (uint32_t block = 0; block < blockMax; ++block) made.column.give(block);
  CHECK(made.column.memoryBytes(blockMax) < all - blockMax * packedBytes + 1);
}

/// What another seat copies from stays as it is, until it is done.
void replacedRowsWaitForCopies() {
  Made made(PackedKey::lz4);
  const Bytes rows = someRows(RowKind::moving);
  const uint32_t block = made.fill(rows);
  const PackedRows open = made.column.rowsOf(block);
  // All memory before, as who takes more waits for the copies, too.
  CHECK_EQUAL(made.column.prepare(blockMax, 50), Status::ok);
  made.pins.set(seat);
  made.column.pack(block, blockLength);
  const PackedRows packedRows = made.column.rowsOf(block);
  // Others come and go meanwhile: none gets the piece, nor the memory of what was replaced.
  made.column.give(block);
  const auto usesThePiece = [&] {
    const uint32_t other = made.fill(someRows(RowKind::noise));
    const bool isIt = made.column.rowsOf(other).data == open.data;
    made.column.pack(other, blockLength);
    made.column.give(other);
    return isIt;
  };
  for (uint32_t k = 0; k < 10; ++k) CHECK(!usesThePiece());
  Bytes read(rows.size());
  CHECK(unpackRows(open, 0, blockLength, read.data(), rowBytes) && read == rows);
  CHECK(unpackRows(packedRows, 0, blockLength, read.data(), rowBytes) && read == rows);
  made.pins.clear(seat);
  // Then it is used again.
  bool isUsed = false;
  for (uint32_t k = 0; k < 20; ++k) isUsed |= made.column.rowsOf(made.fill(rows)).data == open.data;
  CHECK(isUsed);
}

void refusedMemoryChangesNothing() {
  Made made(PackedKey::lz4);
  const Bytes rows = someRows(RowKind::moving);
  const uint32_t block = made.fill(rows);
  grantMemory(0);
  made.column.pack(block, blockLength);
  CHECK(made.column.isOpen(block));
  CHECK_EQUAL(made.column.prepare(blockMax, blockMax), Status::memory);
  CHECK_EQUAL(made.column.replace(block, rows.data(), 100, 1), Status::memory);
  CHECK(made.column.isOpen(block));
  grantMemory(UINT64_MAX);
  CHECK(made.read(block, blockLength) == rows);
  made.column.pack(block, blockLength);
  CHECK(made.column.isPacked(block));
}

}  // namespace

int main() {
  for (const PackedKey key : {PackedKey::plain, PackedKey::lz4}) rowsComeBack(key);
  whatGainsNothingKeepsItsPiece();
  piecesAreUsedAgain();
  replacedRowsWaitForCopies();
  refusedMemoryChangesNothing();
  return checkResult("packed_column_test");
}
