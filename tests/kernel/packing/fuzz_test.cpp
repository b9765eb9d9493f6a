// Damaged packed rows, under the sanitizers: whatever comes, unpacking stays within its buffers, and checkPacked() says before what comes of it.
//
// EXRP_FUZZ_COUNT sets how many are tried, and EXRP_FUZZ_SEED which ones. For a million under the sanitizers:
//
//   cmake -S kernel -B build/cmake && cmake --build build/cmake --target address_kernel_packing_fuzz_test --parallel 2
//   EXRP_FUZZ_COUNT=1000000 build/cmake/address_kernel_packing_fuzz_test
#include "tests/kernel/check.hpp"
#include "tests/kernel/packing/made_rows.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

void damage(Random& random, Bytes& bytes, uint32_t count) {
  for (uint32_t k = 1 + random.below(3); k > 0 && !bytes.empty(); --k) {
    // Half of it at the head and the places, which steer the most.
    const size_t steering = bytes.size() < 4 + 2 * count ? bytes.size() : 4 + 2 * count;
    const size_t at = random.below(static_cast<uint32_t>(random.below(2) == 0 ? steering : bytes.size()));
    switch (random.below(6)) {
      case 0: bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1 << random.below(8))); break;
      case 1: bytes[at] = static_cast<uint8_t>(random.next()); break;
      case 2: bytes[at] = static_cast<uint8_t>(bytes[at] + random.below(5) - 2); break;
      case 3: bytes[at] = random.below(2) == 0 ? 255 : 0; break;
      case 4: bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), static_cast<uint8_t>(random.next())); break;
      default: bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at)); break;
    }
  }
  if (random.below(20) == 0) bytes.resize(random.below(static_cast<uint32_t>(bytes.size()) + 1));
}

}  // namespace

int main() {
  const uint64_t count = fromEnvironment("EXRP_FUZZ_COUNT", 40000);
  const uint64_t seed = fromEnvironment("EXRP_FUZZ_SEED", 20261128);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Random random(seed, 0);
  uint64_t taken = 0;
  Bytes good;
  size_t rowBytes = 1;
  uint32_t rows = 1;
  for (uint64_t round = 0; round < count; ++round) {
    if (round % 16 == 0) {
      rowBytes = random.below(8) == 0 ? 1 + random.below(1500) : 1 + random.below(200);
      rows = 1 + random.below(18);
      const auto kind = static_cast<RowKind>(random.below(rowKinds));
      good = packed(makeRows(random, kind, rowBytes, rows), rowBytes, rows, random.below(2) == 0 ? PackedKey::plain : PackedKey::lz4);
    }
    Bytes bytes = good;
    damage(random, bytes, rows);
    const Bytes exact(bytes.begin(), bytes.end());
    // Now and then, what reads them believes in other rows.
    const size_t readBytes = random.below(12) == 0 ? 1 + random.below(300) : rowBytes;
    const uint32_t readRows = random.below(12) == 0 ? 1 + random.below(40) : rows;
    const PackedRows view = {exact.data(), exact.size(), readBytes, readRows};
    const bool isGood = checkPacked(view);
    taken += isGood ? 1 : 0;
    Bytes one(readBytes);
    bool all = true;
    for (uint32_t row = 0; row < readRows; ++row) all = unpackRow(view, row, one.data()) && all;
    CHECK_EQUAL(all, isGood);
    const uint32_t first = random.below(readRows);
    const uint32_t some = 1 + random.below(readRows - first);
    prefetchPackedHead(view);
    prefetchPacked(view, first, some);
    Bytes many(size_t{some} * readBytes);
    const bool areGood = unpackRows(view, first, some, many.data(), readBytes);
    CHECK(areGood || !isGood);
    if (!isGood) continue;
    for (uint32_t k = 0; k < some; ++k) {
      (void)unpackRow(view, first + k, one.data());
      CHECK_EQUAL(memcmp(one.data(), many.data() + size_t{k} * readBytes, readBytes), 0);
    }
  }
  std::printf("%llu of %llu were taken as good\n", static_cast<unsigned long long>(taken), static_cast<unsigned long long>(count));
  // Both ends must be well met, or the damage is too large or too small.
  CHECK(taken > count / 20 && taken < count - count / 20);
  return checkResult("packing/fuzz");
}
