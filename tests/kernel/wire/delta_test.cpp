// Delta encoding: rows become differences that wrap around, and come back.
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/wire/delta.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

int main() {
  const uint8_t rows[] = {250, 1, 5, 0, 4, 255};
  uint8_t out[6] = {};
  deltaEncode(rows, 1, 2, 3, out);
  const uint8_t wanted[] = {250, 1, 11, 255, 255, 255};
  CHECK_EQUAL(memcmp(out, wanted, 6), 0);

  const uint32_t wide[] = {7, 1, 6, 0xFFFFFFFF};
  uint32_t wideOut[4] = {};
  deltaEncode(reinterpret_cast<const uint8_t*>(wide), 4, 8, 2, reinterpret_cast<uint8_t*>(wideOut));
  CHECK_EQUAL(wideOut[0], 7u);
  CHECK_EQUAL(wideOut[2], 0xFFFFFFFFu);
  CHECK_EQUAL(wideOut[3], 0xFFFFFFFEu);

  Random stream(7, 0);
  for (uint32_t elementBytes = 1; elementBytes <= 8; elementBytes *= 2) {
    for (uint32_t columns = 0; columns < 9; ++columns) {
      for (uint32_t count = 1; count < 5; ++count) {
        const uint64_t rowBytes = uint64_t{columns} * elementBytes;
        std::vector<uint8_t> data(rowBytes * count + 1);
        for (uint8_t& byte : data) byte = static_cast<uint8_t>(stream.below(256));
        std::vector<uint8_t> encoded(data.size());
        deltaEncode(data.data(), elementBytes, rowBytes, count, encoded.data());
        deltaDecode(encoded.data(), elementBytes, rowBytes, count);
        encoded.back() = data.back();
        CHECK(encoded == data);
      }
    }
  }
  return exrp::test::checkResult("delta");
}
