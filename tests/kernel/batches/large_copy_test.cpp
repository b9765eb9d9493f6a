// LargeCopier: copies to one destination and to two, with vectors and without, for many sizes and addresses. The bytes must be equal,
// and no byte outside may change. A queue of copies, which a second thread shares, must write what single copies write.
#include "kernel/batches/large_copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>  // so that TSan runs this test: the second thread is the kernel's own
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

constexpr uint8_t untouched = 0xA5;

/// A place for `bytes` at `offset` of memory that is full of one value; whole() says that the rest is full of it still.
class Place {
 public:
  Place(size_t offset, size_t bytes) : offset_(offset), bytes_(bytes), memory_(offset + bytes + 128, untouched) {}
  uint8_t* data() { return memory_.data() + offset_; }
  bool holds(const uint8_t* expected) const { return memcmp(memory_.data() + offset_, expected, bytes_) == 0; }
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
  }
  return exrp::test::checkResult("large_copy_test");
}
