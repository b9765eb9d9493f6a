// CRC-32C: the processor's instructions, the tables and the definition, bit by bit, give the same number, for any length, place and seed.
#include "kernel/base/checksum.hpp"

#include <memory>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

uint32_t byDefinition(uint32_t seed, const uint8_t* bytes, size_t size) {
  uint32_t crc = ~seed;
  for (size_t at = 0; at < size; ++at) {
    crc ^= bytes[at];
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82F63B78u : crc >> 1;
  }
  return ~crc;
}

void agrees(Random& random, size_t size) {
  const size_t before = random.below(16);
  // Memory of exactly this size: the sanitizer sees a byte too many.
  const std::unique_ptr<uint8_t[]> memory(new uint8_t[before + size + 1]);
  uint8_t* const bytes = memory.get() + before + 1;
  for (size_t at = 0; at < size; ++at) bytes[at] = static_cast<uint8_t>(random.below(256));
  const auto seed = static_cast<uint32_t>(random.next());
  const uint32_t expected = byDefinition(seed, bytes, size);
  CHECK_EQUAL(checksum(seed, bytes, size), expected);
  CHECK_EQUAL(checksumByTables(seed, bytes, size), expected);
#if defined(EXRP_CRC32)
  if (hasCrc32()) CHECK_EQUAL(checksumFast(seed, bytes, size), expected);
#endif
#if defined(EXRP_WIDE_PRODUCTS)
  if (hasWideProducts() && size >= 256) CHECK_EQUAL(checksumWide(seed, bytes, size), expected);
#endif
  const size_t cut = random.below(static_cast<uint32_t>(size + 1));
  CHECK_EQUAL(checksum(checksum(seed, bytes, cut), bytes + cut, size - cut), expected);
}

}  // namespace

int main() {
  CHECK_EQUAL(checksum(0, reinterpret_cast<const uint8_t*>("123456789"), 9), 0xE3069283u);  // RFC 3720's check value
  Random random(20261124, 0);
  for (size_t size = 0; size < 1200; ++size) agrees(random, size);
  for (int round = 0; round < 50; ++round) agrees(random, random.below(20000));
#if defined(EXRP_CRC32)
  std::printf("the processor has instructions: %d\n", hasCrc32() ? 1 : 0);
#endif
#if defined(EXRP_WIDE_PRODUCTS)
  std::printf("it multiplies wide vectors: %d\n", hasWideProducts() ? 1 : 0);
#endif
  return test::checkResult("checksum");
}
