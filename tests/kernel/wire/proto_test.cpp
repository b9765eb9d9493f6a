// ProtoReader and ProtoWriter: what is written is read back, sizes are those that are written, and no damaged message is read past its end.
#include "kernel/wire/proto_reader.hpp"

#include <cstdlib>
#include <memory>

#include "kernel/base/random.hpp"
#include "kernel/wire/proto_writer.hpp"
#include "tests/kernel/check.hpp"

namespace {

using exrp::ByteSpan;
using exrp::Field;
using exrp::ProtoReader;
using exrp::ProtoWriter;
using exrp::Random;
using exrp::Wire;

uint64_t randomNumber(Random& random) { return random.next() >> random.below(64); }

void whatIsWrittenIsReadBack() {
  Random random(1, 0);
  for (int round = 0; round < 2000; ++round) {
    const uint64_t number = randomNumber(random);
    const auto field = static_cast<uint32_t>(1 + (randomNumber(random) & 0x1fffffff) % 0x1fffffff);
    const double real = random.uniform();
    uint8_t bytes[100];
    ProtoWriter to(bytes);
    const auto put = [&to](auto fill) {
      const uint8_t* const before = to.at();
      fill(to);
      CHECK_EQUAL(static_cast<size_t>(to.at() - before), exrp::sizeOfFields(fill));
    };
    put([&](auto& out) { out.varintField(field, number); });
    put([&](auto& out) { out.realField(field, real); });
    put([&](auto& out) { out.bytesField(field, "abcde", 5); });
    CHECK_EQUAL(exrp::sizeOfFields([&](auto& out) { out.bytesField(field, "abcde", 5); }), exrp::bytesFieldBytes(field, 5));
    put([&](auto& out) { out.message(field, [&](auto& part) { part.presentField(field, number & 1); }); });

    ProtoReader from(bytes, static_cast<size_t>(to.at() - bytes));
    CHECK(from.next() && from.is(field, Wire::varint));
    CHECK_EQUAL(from.varint(), number);
    CHECK(from.next() && from.is(field, Wire::fixed64));
    CHECK_EQUAL(from.real(), real);
    CHECK(from.next() && from.is(field, Wire::bytes));
    const ByteSpan span = from.bytes();
    CHECK((span == ByteSpan{reinterpret_cast<const uint8_t*>("abcde"), 5}));
    CHECK(from.next() && from.is(field, Wire::bytes));
    uint64_t within = 0;
    CHECK(readFields(from.bytes(), Field{field, within}));
    CHECK_EQUAL(within, number & 1);
    CHECK(!from.next());
    CHECK(from.isGood());
  }
}

/// Numbers of each kind, the last of several, and what is written in another way or not wanted.
void fieldsThatAreWantedAreRead() {
  uint8_t bytes[100];
  ProtoWriter to(bytes);
  to.varintField(1, 7);
  to.varintField(1, UINT64_MAX);
  to.realField(2, 0.5);
  to.varintField(3, 5);
  to.bytesField(4, "abc", 3);
  to.varintField(4, 9);
  to.varintField(5, 11);
  to.bytesBegin(5, 2);
  to.varint(12);
  to.varint(13);
  to.varintField(6, 1);
  const ByteSpan message = {bytes, static_cast<size_t>(to.at() - bytes)};
  int32_t cut = 0;
  double real = 0;
  exrp::OptionalReal none;
  exrp::OptionalReal some;
  bool isTrue = false;
  uint64_t sum = 0;
  size_t size = 0;
  CHECK(readFields(message, Field{1, cut}, Field{2, real}, Field{3, none}, Field{5, [&](uint64_t each) { sum += each; }}, Field{6, isTrue},
                   Field{4, [&](ByteSpan part) { return size = part.size, true; }}));
  CHECK_EQUAL(cut, -1);
  CHECK_EQUAL(real, 0.5);
  CHECK(!none.isThere && isTrue);
  CHECK_EQUAL(sum, uint64_t{36});
  CHECK_EQUAL(size, size_t{3});
  CHECK(readFields(message, Field{2, some}));
  CHECK(some.isThere && some.value >= 0.5);
  // A function that returns false ends it.
  CHECK(!readFields(message, Field{4, [](ByteSpan) { return false; }}, Field{6, sum}));
  CHECK_EQUAL(sum, uint64_t{36});
  CHECK(!readFields({bytes, message.size - 1}, Field{1, cut}));
}

void packedAndSingleNumbersAreTheSame() {
  uint8_t bytes[64];
  ProtoWriter to(bytes);
  to.varintField(3, 300);
  to.bytesBegin(3, 1 + 2 + 10);
  to.varint(1);
  to.varint(200);
  to.varint(UINT64_MAX);
  uint64_t sum = 0;
  int count = 0;
  ProtoReader from(bytes, static_cast<size_t>(to.at() - bytes));
  while (from.next()) {
    from.varints([&](uint64_t number) {
      sum += number;
      ++count;
    });
  }
  CHECK(from.isGood());
  CHECK_EQUAL(count, 4);
  CHECK_EQUAL(sum, uint64_t{500});
}

bool isRefused(std::initializer_list<uint8_t> list) {
  // Memory of exactly this size, so that the sanitizer sees a byte too many.
  const std::unique_ptr<uint8_t[]> bytes(new uint8_t[list.size() + 1]);
  std::unique_ptr<uint8_t[]> exact(new uint8_t[list.size()]);
  size_t size = 0;
  for (const uint8_t byte : list) exact[size++] = byte;
  ProtoReader from(exact.get(), size);
  while (from.next()) from.skip();
  return !from.isGood();
}

void damagedMessagesAreRefused() {
  CHECK(!isRefused({}));
  CHECK(!isRefused({0x08, 0x01}));
  CHECK(isRefused({0x08}));                                                                    // no number
  CHECK(isRefused({0x08, 0x80}));                                                              // half a number
  CHECK(isRefused({0x00, 0x01}));                                                              // field 0
  CHECK(isRefused({0x0b, 0x0c}));                                                              // a group
  CHECK(isRefused({0x0f}));                                                                    // wire type 7
  CHECK(isRefused({0x09, 1, 2, 3, 4, 5, 6, 7}));                                               // seven of eight bytes
  CHECK(isRefused({0x0d, 1, 2, 3}));                                                           // three of four
  CHECK(isRefused({0x0a, 0x02, 0x01}));                                                        // one of two
  CHECK(isRefused({0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}));        // 2^64 - 1 bytes
  CHECK(!isRefused({0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}));       // the largest number
  CHECK(isRefused({0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}));        // 65 bits
  CHECK(isRefused({0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80, 0x00}));  // eleven bytes
  CHECK(isRefused({0x88, 0x80, 0x80, 0x80, 0x80, 0x01, 0x01}));                                // a field above 2^29
}

void randomBytesAreReadToTheirEndOrRefused(uint64_t seed) {
  Random random(seed, 1);
  for (int round = 0; round < 100000; ++round) {
    const size_t size = random.below(40);
    std::unique_ptr<uint8_t[]> bytes(new uint8_t[size]);
    for (size_t k = 0; k < size; ++k) bytes[k] = static_cast<uint8_t>(random.next() >> random.below(8));
    ProtoReader from(bytes.get(), size);
    while (from.next()) {
      if (from.wire() == Wire::bytes && random.below(2) == 0) from.varints([](uint64_t) {});
      else from.skip();
    }
    CHECK(from.isAtEnd());
    CHECK_EQUAL(from.varint(), uint64_t{0});
  }
}

}  // namespace

int main() {
  const uint64_t seed = 20261122;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  whatIsWrittenIsReadBack();
  fieldsThatAreWantedAreRead();
  packedAndSingleNumbersAreTheSame();
  damagedMessagesAreRefused();
  randomBytesAreReadToTheirEndOrRefused(seed);
  return exrp::test::checkResult("wire/proto");
}
