// LargeCopier: copies to one destination and to two, with vectors and without, for many sizes and addresses. The bytes must be equal,
// and no byte outside may change. A queue of copies, which a second thread shares, must write what single copies write. Packed rows must be unpacked to
// where they belong.
#include "kernel/batches/large_copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>  // so that TSan runs this test: the second thread is the kernel's own
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/packing/made_rows.hpp"

using namespace exrp;

namespace {

constexpr uint8_t untouched = 0xA5;

/// A place for `bytes` at `offset` of memory that is full of one value; whole() says that the rest is full of it still.
class Place {
 public:
  Place(size_t offset, size_t bytes) : offset_(offset), bytes_(bytes), memory_(offset + bytes + 128, untouched) {}
  uint8_t* data() { return memory_.data() + offset_; }
  bool holds(const uint8_t* expected) const { return bytes_ == 0 || memcmp(memory_.data() + offset_, expected, bytes_) == 0; }
  bool whole() const {
    const auto isUntouched = [](uint8_t value) { return value == untouched; };
    const auto begin = memory_.begin();
    return std::all_of(begin, begin + static_cast<ptrdiff_t>(offset_), isUntouched) &&
           std::all_of(begin + static_cast<ptrdiff_t>(offset_ + bytes_), memory_.end(), isUntouched);
  }

 private:
  size_t offset_;
  size_t bytes_;
  std::vector<uint8_t> memory_;
};

void copies(const LargeCopier& copier, Random& random, size_t bytes) {
  const size_t shift = random.below(64);
  // No byte more than is copied: a read past it is one that the sanitizer sees.
  std::vector<uint8_t> memory(shift + bytes);
  for (uint8_t& byte : memory) byte = static_cast<uint8_t>(random.below(256));
  const uint8_t* const from = memory.data() + shift;
  Place single(random.below(64), bytes);
  copier.copy(single.data(), from, bytes);
  CHECK(single.holds(from));
  CHECK(single.whole());
  Place one(random.below(64), bytes);
  Place two(random.below(64), bytes);
  copier.copyTwice(one.data(), two.data(), from, bytes);
  CHECK(one.holds(from) && two.holds(from));
  CHECK(one.whole() && two.whole());
}

/// Copies of all sizes, some of them of 300 kB, from random places to one or two places that follow one another.
void queued(const LargeCopier& copier, Random& random, size_t wantedBytes) {
  std::vector<uint8_t> memory(400'000);
  for (uint8_t& byte : memory) byte = static_cast<uint8_t>(random.below(256));
  const size_t room = wantedBytes + 2 * memory.size();
  std::vector<uint8_t> expected(room, untouched);
  std::vector<uint8_t> written(room, untouched);
  CopyQueue queue;
  size_t end = 0;
  while (end < wantedBytes) {
    const size_t most = random.below(20) == 0 ? 300'000 : 30'000;
    const size_t bytes = CopyQueue::bytesMin + random.below(static_cast<uint32_t>(most - CopyQueue::bytesMin));
    const uint8_t* const from = memory.data() + random.below(static_cast<uint32_t>(memory.size() - bytes));
    const bool twice = random.below(2) == 0;
    memcpy(expected.data() + end, from, bytes);
    if (twice) memcpy(expected.data() + end + bytes, from, bytes);
    CHECK(queue.add(written.data() + end, twice ? written.data() + end + bytes : nullptr, from, bytes));
    end += (twice ? 2 : 1) * bytes + random.below(3);
  }
  copier.run(queue);
  CHECK(written == expected);
}

/// Packed rows go to one place, to another one, or to both, as the frames of a stack and of the next one.
void unpacked(const LargeCopier& copier, Random& random, bool isQueued) {
  constexpr uint32_t blockRows = 16;
  struct Expected {
    std::vector<uint8_t> rows, bytes;
    Place to, also;
    std::vector<uint8_t> expectedTo, expectedAlso;
  };
  std::vector<std::unique_ptr<Expected>> all;
  CopyQueue queue;
  for (uint32_t k = 0; k < 100; ++k) {
    const size_t rowBytes = 129 + random.below(3000);
    std::vector<uint8_t> rows = test::makeRows(random, static_cast<test::RowKind>(random.below(test::rowKinds)), rowBytes, blockRows);
    const uint32_t first = random.below(blockRows);
    const uint32_t count = 1 + random.below(blockRows - first);
    const bool hasAlso = random.below(3) > 0;
    const uint32_t skipped = hasAlso ? random.below(count + 1) : 0;
    // Each row goes somewhere.
    const uint32_t toCount = hasAlso ? skipped + random.below(count - skipped + 1) : count;
    const auto part = [&](uint32_t begin, uint32_t end) {
      const auto at = rows.begin() + static_cast<ptrdiff_t>((first + begin) * rowBytes);
      return std::vector<uint8_t>(at, at + static_cast<ptrdiff_t>((end - begin) * rowBytes));
    };
    std::vector<uint8_t> expectedTo = part(0, toCount);
    std::vector<uint8_t> expectedAlso = part(skipped, hasAlso ? count : skipped);
    std::vector<uint8_t> bytes = test::packed(rows, rowBytes, blockRows, random.below(2) == 0 ? PackedKey::plain : PackedKey::lz4);
    Place to(random.below(64), expectedTo.size());
    Place also(random.below(64), expectedAlso.size());
    all.push_back(std::make_unique<Expected>(
        Expected{std::move(rows), std::move(bytes), std::move(to), std::move(also), std::move(expectedTo), std::move(expectedAlso)}));
    Expected& last = *all.back();
    const PackedRows packedRows = {last.bytes.data(), last.bytes.size(), rowBytes, blockRows};
    const CopyQueue::Unpacking unpacking = {packedRows, first, count, last.to.data(), toCount, skipped, hasAlso ? last.also.data() : nullptr};
    CHECK_EQUAL(unpacking.writtenBytes(), last.expectedTo.size() + last.expectedAlso.size());
    if (isQueued) CHECK(queue.add(unpacking));
    else copier.copy(unpacking, queue);
  }
  if (isQueued) copier.run(queue);
  else copier.finish(queue);
  CHECK_EQUAL(queue.isEmpty(), !isQueued);
  for (const auto& each : all) {
    CHECK(each->to.holds(each->expectedTo.data()) && each->to.whole());
    CHECK(each->also.holds(each->expectedAlso.data()) && each->also.whole());
  }
}

}  // namespace

int main() {
  const uint64_t seed = 20261121;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::printf("this processor %s\n", LargeCopier::hasVectors() ? "has vectors of 256 bits" : "has no vectors of 256 bits");
  Random random(seed, 0);
  for (const bool vectors : {false, true}) {
    if (vectors && !LargeCopier::hasVectors()) continue;
    const LargeCopier copier(vectors);
    for (size_t bytes = LargeCopier::bytesMin; bytes < 400; ++bytes) copies(copier, random, bytes);
    for (int turn = 0; turn < 200; ++turn) copies(copier, random, LargeCopier::bytesMin + random.below(60000));
    // Below and above what a second thread takes part in.
    for (int turn = 0; turn < 12; ++turn) queued(copier, random, size_t{1} << (12 + turn));
    for (int turn = 0; turn < 20; ++turn) unpacked(copier, random, turn % 2 == 0);
  }
  return exrp::test::checkResult("large_copy_test");
}
