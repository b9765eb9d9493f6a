// copyRow, copyRows: for every size against memcpy, of one row and of several, with places apart; no byte beside the rows is written.
#include <cstring>
#include <vector>

#include "kernel/base/copy_row.hpp"
#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

namespace {

constexpr size_t guardBytes = 64;
constexpr uint8_t guard = 0xa5;
constexpr uint32_t rowCountMax = 5;

std::vector<uint8_t> randomBytes(size_t count, uint64_t seed) {
  exrp::Random random(seed, count);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
  return bytes;
}

/// Copies rows of `bytes` that lie `fromGap` bytes apart to places `toGap` bytes apart, and compares all memory around them.
void checkSize(size_t bytes, uint32_t count, size_t fromGap, size_t toGap) {
  const size_t fromStride = bytes + fromGap;
  const size_t toStride = bytes + toGap;
  // Each source has exactly the rows' bytes, so that a sanitizer sees a read before or after them.
  const std::vector<uint8_t> from = randomBytes(fromStride * (count - 1) + bytes, 11);
  std::vector<uint8_t> to(toStride * count + 2 * guardBytes, guard);
  std::vector<uint8_t> expected = to;
  for (uint32_t row = 0; row < count; ++row) memcpy(expected.data() + guardBytes + row * toStride, from.data() + row * fromStride, bytes);
  exrp::copyRows(to.data() + guardBytes, toStride, from.data(), fromStride, bytes, count);
  CHECK(to == expected);
  to.assign(to.size(), guard);
  for (uint32_t row = 0; row < count; ++row) {
    exrp::copyRow(to.data() + guardBytes + row * toStride, from.data() + row * fromStride, bytes);
  }
  CHECK(to == expected);
}

}  // namespace

int main() {
  for (size_t bytes = 1; bytes <= exrp::smallRowBytesMax + 40; ++bytes) {
    for (uint32_t count = 1; count <= rowCountMax; ++count) {
      checkSize(bytes, count, 0, 0);
      checkSize(bytes, count, 7, 0);
      checkSize(bytes, count, 0, 3);
    }
  }
  return exrp::test::checkResult("copy_row");
}
