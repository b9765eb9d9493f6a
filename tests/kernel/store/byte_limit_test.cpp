// ByteLimit: final states and kept columns take the room of records, and only where there is a limit.
#include "kernel/store/byte_limit.hpp"

#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

/// Columns with these byte counts; the first is the state.
constexpr Column column(uint32_t bytes, uint32_t every = 1) { return Column{1, bytes, bytes, every, 0, 0}; }
constexpr Column plain[] = {column(8), column(3), column(1)};
constexpr Column kept[] = {column(8), column(3), column(1), column(100, 4), column(10, 3)};

void finalStatesTakeTheRoomOfRecords() {
  ByteLimit limit;
  limit.create(plain, 3, 1, 10, 10 * 12 + 8);
  CHECK_EQUAL(limit.recordMax(), 10u);
  CHECK_EQUAL(limit.recordMaxWith(8), 10u);
  CHECK_EQUAL(limit.recordMaxWith(16), 9u);  // 8 bytes beyond
  limit.add(0, 0, true);
  CHECK_EQUAL(limit.recordMax(), 10u);
  CHECK_EQUAL(limit.recordMaxWith(8), 9u);
  limit.add(0, 0, true);
  CHECK_EQUAL(limit.recordMax(), 9u);
  CHECK_EQUAL(limit.storedBytes(9), 9 * 12 + 2 * 8.0);
  for (uint32_t count = 2; count < 20; ++count) limit.add(0, 0, true);
  CHECK_EQUAL(limit.recordMax(), 0u);  // more than all: not below nothing
  for (uint32_t count = 0; count < 20; ++count) limit.remove(0, 1, true);
  CHECK_EQUAL(limit.recordMax(), 10u);
}

void keptColumnsTakeItWhereTheyAreKept() {
  CHECK_EQUAL(ByteLimit::episodeBytes(kept, 5, 1, 5), 5 * 12 + 2 * 100 + 2 * 10 + 8.0);
  ByteLimit limit;
  limit.create(kept, 5, 1, 100, 1000);
  const uint64_t keptAt[] = {110, 0, 0, 10, 100, 0, 10};
  double bytes = 0;
  for (uint32_t position = 0; position < 7; ++position) {
    CHECK_EQUAL(limit.keptBytes(position), keptAt[position]);
    limit.recordAdded(position);
    bytes += static_cast<double>(12 + keptAt[position]);
    CHECK_EQUAL(limit.storedBytes(position + 1), bytes);
  }
  CHECK_EQUAL(limit.recordMax(), (1000u - 230) / 12);
  limit.add(0, 0, true);
  limit.remove(0, 7, true);
  CHECK_EQUAL(limit.storedBytes(0), 0.0);
  limit.add(0, 7, true);
  CHECK_EQUAL(limit.storedBytes(7), bytes + 8);
}

void allLeavesOfAFinalStateCount() {
  CHECK_EQUAL(ByteLimit::episodeBytes(plain, 3, 2, 5), 5 * 12 + 11.0);
  ByteLimit limit;
  limit.create(plain, 3, 2, 10, 10 * 12 + 11);
  CHECK_EQUAL(limit.stateBytes(), uint64_t{11});
  limit.add(0, 0, true);
  CHECK_EQUAL(limit.recordMax(), 10u);
  CHECK_EQUAL(limit.storedBytes(10), 10 * 12 + 11.0);
  CHECK_EQUAL(limit.recordMaxWith(1), 9u);
}

void aTrimmedEpisodeKeepsTheRowsThatItsRecordsUse() {
  // Rows of 100 bytes at 0, 4, 8, and of 10 bytes at 0, 3, 6, 9.
  ByteLimit limit;
  limit.create(kept, 5, 1, 100, 10000);
  for (uint32_t position = 0; position < 10; ++position) limit.recordAdded(position);
  CHECK_EQUAL(limit.storedBytes(10), 120 + 340.0);
  limit.remove(0, 3, false);
  limit.add(3, 3, false);  // record 3 uses the rows of 0 and of 3
  CHECK_EQUAL(limit.storedBytes(7), 84 + 330.0);
  limit.remove(3, 8, false);
  limit.add(8, 8, false);  // record 8 uses the rows of 8 and of 6
  CHECK_EQUAL(limit.storedBytes(2), 24 + 120.0);
  limit.remove(8, 10, false);
  limit.add(10, 10, false);  // the next record would use the rows of 8 and of 9
  CHECK_EQUAL(limit.storedBytes(0), 110.0);
  limit.recordAdded(10);
  CHECK_EQUAL(limit.storedBytes(1), 12 + 110.0);
  limit.recordAdded(11);
  limit.recordAdded(12);
  CHECK_EQUAL(limit.storedBytes(3), 36 + 220.0);
  limit.remove(10, 13, false);
  CHECK_EQUAL(limit.storedBytes(0), 0.0);
  limit.add(10, 13, false);
  CHECK_EQUAL(limit.storedBytes(3), 36 + 220.0);
}

void theSmallerOfCapacityAndBytesWins() {
  ByteLimit limit;
  limit.create(plain, 3, 1, 10, 1000);
  for (uint32_t count = 0; count < 110; ++count) {
    const uint32_t left = (1000 - 8 * count) / 12;
    CHECK_EQUAL(limit.recordMax(), left < 10 ? left : 10);
    limit.add(0, 0, true);
  }
}

void withoutALimitOnlyTheCapacityCounts() {
  ByteLimit limit;
  limit.create(kept, 5, 1, 10, 0);
  for (uint32_t count = 0; count < 1000; ++count) limit.add(0, 0, true);
  limit.recordAdded(0);
  CHECK_EQUAL(limit.recordMax(), 10u);
  CHECK_EQUAL(limit.recordMaxWith(500), 10u);
  CHECK_EQUAL(limit.storedBytes(3), 36 + 8000 + 110.0);
}

}  // namespace

int main() {
  finalStatesTakeTheRoomOfRecords();
  keptColumnsTakeItWhereTheyAreKept();
  allLeavesOfAFinalStateCount();
  aTrimmedEpisodeKeepsTheRowsThatItsRecordsUse();
  theSmallerOfCapacityAndBytesWins();
  withoutALimitOnlyTheCapacityCounts();
  return test::checkResult("byte_limit");
}
