// Packed rows: what was packed comes back, one row or many; what gains little stays as it is; and the form never changes.
#include "kernel/packing/packed_rows.hpp"

#include <cstring>

#include "kernel/base/checksum.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/packing/golden_rows.hpp"
#include "tests/kernel/packing/made_rows.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

Random stream(20261128, 0);

PackedRows viewOf(const Bytes& bytes, size_t rowBytes, uint32_t count) { return {bytes.data(), bytes.size(), rowBytes, count}; }

void comesBack(const Bytes& rows, size_t rowBytes, uint32_t count, PackedKey key) {
  const Bytes bytes = packed(rows, rowBytes, count, key);
  CHECK(bytes.size() <= rows.size());
  const PackedRows view = viewOf(bytes, rowBytes, count);
  CHECK(checkPacked(view));
  Bytes row(rowBytes);
  for (uint32_t k = 0; k < count; k += count > 40 ? 1 + stream.below(40) : 1) {
    CHECK(unpackRow(view, k, row.data()));
    CHECK_EQUAL(memcmp(row.data(), rows.data() + k * rowBytes, rowBytes), 0);
  }
  Bytes all(rows.size());
  CHECK(unpackRows(view, 0, count, all.data(), rowBytes));
  CHECK(all == rows);
  // Some rows, with gaps between them that stay as they are.
  const uint32_t first = stream.below(count);
  const uint32_t some = 1 + stream.below(count - first);
  const size_t stride = rowBytes + stream.below(20);
  Bytes apart(stride * (some - 1) + rowBytes, 0xA5);
  prefetchPackedHead(view);
  prefetchPacked(view, first, some);
  CHECK(unpackRows(view, first, some, apart.data(), stride));
  // The same in two places, some rows in both.
  const uint32_t skipped = stream.below(some + 1);
  const uint32_t outCount = skipped + stream.below(some - skipped + 1);
  Bytes out(outCount * rowBytes);
  Bytes also((some - skipped) * rowBytes);
  CHECK(unpackRows(view, first, some, {out.data(), rowBytes, outCount, also.data(), skipped}));
  CHECK(out.empty() || memcmp(out.data(), rows.data() + first * rowBytes, out.size()) == 0);
  CHECK(also.empty() || memcmp(also.data(), rows.data() + (first + skipped) * rowBytes, also.size()) == 0);
  for (size_t at = 0; at < apart.size(); ++at) {
    const size_t inRow = at % stride;
    const uint8_t expected = inRow < rowBytes ? rows[(first + at / stride) * rowBytes + inRow] : uint8_t{0xA5};
    if (apart[at] != expected) return CHECK(false);
  }
}

void allSizesComeBack() {
  for (uint32_t kind = 0; kind < rowKinds; ++kind) {
    for (const PackedKey key : {PackedKey::plain, PackedKey::lz4}) {
      const auto check = [&](size_t rowBytes, uint32_t count) {
        comesBack(makeRows(stream, static_cast<RowKind>(kind), rowBytes, count), rowBytes, count, key);
      };
      for (size_t rowBytes = 1; rowBytes <= 150; ++rowBytes) check(rowBytes, 1 + stream.below(20));
      for (const size_t rowBytes : {255, 256, 1000, 1023, 1024, 1025, 4097, 7056, 16384, 16385, 21168, 65537}) check(rowBytes, 16);
      for (const uint32_t count : {1, 2, 3, 5, 255, 256, 257, 300, 1000}) check(500 + stream.below(100), count);
      check(size_t{1} << 20, 3);
    }
  }
}

/// One by one, they make whole patches, and the last ones of a row end with it.
void allRunsComeBack() {
  for (size_t run = 1; run <= 600; ++run) {
    for (const size_t at : {size_t{0}, size_t{1}, size_t{254}, size_t{255}, size_t{256}, size_t{257}, 1024 - run}) {
      Bytes rows(16 * 1024);
      for (size_t k = 0; k < run; ++k) rows[3 * 1024 + at + k] = run % 2 == 0 ? 9 : static_cast<uint8_t>(1 + k % 7);
      comesBack(rows, 1024, 16, PackedKey::plain);
    }
  }
}

void compresses() {
  const auto sizeOf = [](RowKind kind, PackedKey key) { return packed(makeRows(stream, kind, 7056, 16), 7056, 16, key).size(); };
  CHECK(sizeOf(RowKind::constant, PackedKey::plain) == 7056 + 36);
  CHECK(sizeOf(RowKind::moving, PackedKey::plain) < 7056 + 36 + 16 * 150);
  // Rows that are equal take no bytes but those of their places.
  const Bytes black(16 * 7056);
  CHECK(packed(black, 7056, 16, PackedKey::lz4).size() < 100);
  // One that appears once costs itself, and no more.
  Bytes rows(16 * 7056);
  noise(stream, rows.data() + 5 * 7056, 7056);
  CHECK(packed(rows, 7056, 16, PackedKey::lz4).size() < 7056 + 100);
}

void leavesWhatGainsLittle() {
  CHECK(packed(makeRows(stream, RowKind::noise, 7056, 16), 7056, 16, PackedKey::lz4).size() == 16 * 7056);
  Bytes out(packedBytesMax(7056, 16));
  const Bytes rows = makeRows(stream, RowKind::noise, 7056, 16);
  CHECK_EQUAL(packRows(rows.data(), 7056, 16, PackedKey::plain, out.data()), size_t{0});
  // A key as it is gains nothing for one row.
  CHECK_EQUAL(packRows(Bytes(7056).data(), 7056, 1, PackedKey::plain, out.data()), size_t{0});
  CHECK(packRows(Bytes(7056).data(), 7056, 1, PackedKey::lz4, out.data()) > 0);
}

void knowsTheForm() {
  // Three rows of 20 bytes on a key of zeros: a patch, a fill with a row as its base, and the key itself.
  Bytes bytes = {1, 2, 0, 0, 16, 0, 22, 0, 22, 0};
  bytes.insert(bytes.end(), {1, 0, 3, 2, 7, 8});
  bytes.insert(bytes.end(), {0x01, 0x80, 0, 2, 192, 9});
  bytes.resize(bytes.size() + 20);
  const PackedRows view = viewOf(bytes, 20, 3);
  CHECK(checkPacked(view));
  Bytes out(20);
  CHECK(unpackRow(view, 0, out.data()));
  CHECK((out == Bytes{0, 0, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  CHECK(unpackRow(view, 1, out.data()));
  CHECK((out == Bytes{0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0}));
  CHECK(unpackRow(view, 2, out.data()));
  CHECK(out == Bytes(20));
  // In LZ4: a literal of 1, 14 from 1 back, and 5 literals.
  Bytes shorter(bytes.begin(), bytes.end() - 20);
  shorter[0] = 2;
  shorter.insert(shorter.end(), {0x1A, 0, 1, 0, 0x50, 0, 0, 0, 0, 1});
  CHECK(checkPacked(viewOf(shorter, 20, 3)));
  CHECK(unpackRow(viewOf(shorter, 20, 3), 1, out.data()));
  CHECK((out == Bytes{0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 1}));
}

void refusesDamage() {
  // Three rows of 4 bytes: a patch, nothing, and a plain row.
  const Bytes good = {1, 2, 0, 0, 15, 0, 15, 0, 21, 0, 1, 0, 1, 1, 9, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0};
  Bytes out(4);
  const auto allRows = [&](const Bytes& bytes, size_t rowBytes, uint32_t count) {
    out.resize(rowBytes);
    bool areGood = true;
    for (uint32_t row = 0; row < count; ++row) areGood = unpackRow(viewOf(bytes, rowBytes, count), row, out.data()) && areGood;
    CHECK_EQUAL(areGood, checkPacked(viewOf(bytes, rowBytes, count)));
    return areGood;
  };
  CHECK(allRows(good, 4, 3));
  CHECK((out == Bytes{5, 6, 7, 8}));
  const auto refused = [&](size_t at, uint8_t value) {
    Bytes bytes = good;
    bytes[at] = value;
    CHECK(!allRows(bytes, 4, 3));
  };
  refused(0, 0);     // no form of a key
  refused(0, 2);     // not LZ4
  refused(1, 3);     // no bytes of a place
  refused(1, 4);     // others than there are
  refused(2, 1);     // not zero
  refused(4, 9);     // ends before it begins
  refused(4, 16);    // rows overlap
  refused(8, 22);    // the key is too short
  refused(10, 2);    // more patches than there is room for
  refused(11, 0x80); // on a row, with the rest one byte short
  refused(12, 4);    // behind the row's end
  refused(13, 2);    // more new bytes than there are
  refused(13, 0);    // fewer
  refused(13, 200);  // a fill longer than the row
  CHECK(!allRows(good, 5, 3));
  CHECK(!allRows(good, 4, 4));
  CHECK(!allRows({}, 4, 3));
  CHECK(!allRows({1, 2, 0}, 4, 3));
  CHECK(!checkPacked(viewOf(good, 0, 3)));
  CHECK(!checkPacked(viewOf(good, 4, 0)));
  CHECK(!checkPacked(viewOf(good, 4, packedRowsMax + 1)));
  // A base that has a base itself, that is the row itself, and that is not there.
  Bytes rows = {1, 2, 0, 0, 13, 0, 16, 0, 1, 0, 1, 1, 9, 0x00, 0x80, 0, 0, 0, 0, 0};
  CHECK(allRows(rows, 4, 2));
  rows[15] = 1;
  CHECK(!allRows(rows, 4, 2));
  rows[15] = 2;
  CHECK(!allRows(rows, 4, 2));
}

/// The bytes of this form stay readable for ever, and are the same on every platform.
void readsGoldenRows() {
  for (const GoldenRows& golden : goldenRows) {
    const Bytes rows = goldenPlain(golden.number, golden.rowBytes, golden.count);
    CHECK_EQUAL(checksum(0, rows.data(), rows.size()), golden.plainSum);
    const PackedRows view = {golden.bytes, golden.byteCount, golden.rowBytes, golden.count};
    CHECK(checkPacked(view));
    Bytes out(rows.size());
    CHECK(unpackRows(view, 0, golden.count, out.data(), golden.rowBytes));
    CHECK(out == rows);
  }
}

/// Whoever makes packing better puts the new sums here. All platforms must have the same.
void packsAlikeEverywhere() {
  uint32_t sum = 0;
  for (const GoldenRows& golden : goldenRows) {
    const Bytes rows = goldenPlain(golden.number, golden.rowBytes, golden.count);
    const Bytes bytes = packed(rows, golden.rowBytes, golden.count, golden.number % 2 == 0 ? PackedKey::plain : PackedKey::lz4);
    sum = checksum(sum, bytes.data(), bytes.size());
  }
  CHECK_EQUAL(sum, 0x6af16423u);
}

}  // namespace

int main() {
  allSizesComeBack();
  allRunsComeBack();
  compresses();
  leavesWhatGainsLittle();
  knowsTheForm();
  refusesDamage();
  readsGoldenRows();
  packsAlikeEverywhere();
  return checkResult("packing/packed_rows");
}
