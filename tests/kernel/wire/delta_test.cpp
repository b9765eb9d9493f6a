// Delta encoding: rows become differences that wrap around, and come back.
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/wire/delta.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

int main() {
  uint8_t rows[] = {250, 1, 5, 0, 4, 255};
  deltaCode(rows, 1, 2, 3, true);
  const uint8_t wanted[] = {250, 1, 11, 255, 255, 255};
  CHECK_EQUAL(memcmp(rows, wanted, 6), 0);

  uint32_t wide[] = {7, 1, 6, 0xFFFFFFFF};
  deltaCode(reinterpret_cast<uint8_t*>(wide), 4, 8, 2, true);
  CHECK_EQUAL(wide[0], 7u);
  CHECK_EQUAL(wide[2], 0xFFFFFFFFu);
  CHECK_EQUAL(wide[3], 0xFFFFFFFEu);

  Random stream(7, 0);
  for (uint32_t elementBytes = 1; elementBytes <= 8; elementBytes *= 2) {
    for (uint32_t columns = 0; columns < 9; ++columns) {
      for (uint32_t count = 1; count < 5; ++count) {
        const uint64_t rowBytes = uint64_t{columns} * elementBytes;
        std::vector<uint8_t> data(rowBytes * count + 1);
        for (uint8_t& byte : data) byte = static_cast<uint8_t>(stream.below(256));
        std::vector<uint8_t> encoded = data;
        deltaCode(encoded.data(), elementBytes, rowBytes, count, true);
        deltaCode(encoded.data(), elementBytes, rowBytes, count, false);
        CHECK(encoded == data);
      }
    }
  }
  return exrp::test::checkResult("delta");
}
