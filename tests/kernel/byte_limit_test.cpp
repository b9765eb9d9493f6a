// ByteLimit: final states take the room of records, and only where there is a limit.
#include "kernel/byte_limit.hpp"

#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

void finalStatesTakeTheRoomOfRecords() {
  ByteLimit limit;
  limit.create(10, 12, 8, 10 * 12 + 8);
  CHECK_EQUAL(limit.recordMax(), 10u);
  CHECK_EQUAL(limit.recordMaxWith(1), 10u);
  CHECK_EQUAL(limit.recordMaxWith(2), 9u);  // 8 bytes beyond
  limit.finalStateAdded();
  CHECK_EQUAL(limit.recordMax(), 10u);
  CHECK_EQUAL(limit.recordMaxWith(1), 9u);
  limit.finalStateAdded();
  CHECK_EQUAL(limit.recordMax(), 9u);
  CHECK_EQUAL(limit.storedBytes(9), 9 * 12 + 2 * 8.0);
  for (uint32_t count = 2; count < 20; ++count) limit.finalStateAdded();
  CHECK_EQUAL(limit.recordMax(), 0u);  // more than all: not below nothing
  for (uint32_t count = 0; count < 20; ++count) limit.finalStateRemoved();
  CHECK_EQUAL(limit.recordMax(), 10u);
}

void theSmallerOfCapacityAndBytesWins() {
  ByteLimit limit;
  limit.create(10, 12, 8, 1000);
  for (uint32_t count = 0; count < 110; ++count) {
    const uint32_t left = (1000 - 8 * count) / 12;
    CHECK_EQUAL(limit.recordMax(), left < 10 ? left : 10);
    limit.finalStateAdded();
  }
}

void withoutALimitOnlyTheCapacityCounts() {
  ByteLimit limit;
  limit.create(10, 12, 8, 0);
  for (uint32_t count = 0; count < 1000; ++count) limit.finalStateAdded();
  CHECK_EQUAL(limit.recordMax(), 10u);
  CHECK_EQUAL(limit.recordMaxWith(2), 10u);
  CHECK_EQUAL(limit.storedBytes(3), 36 + 8000.0);
}

}  // namespace

int main() {
  finalStatesTakeTheRoomOfRecords();
  theSmallerOfCapacityAndBytesWins();
  withoutALimitOnlyTheCapacityCounts();
  return test::checkResult("byte_limit");
}
