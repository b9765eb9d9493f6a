// ReleasedRecords: the oldest released record comes first, and an episode without one is no member.
#include "kernel/store/released_records.hpp"

#include "tests/kernel/check.hpp"

using namespace exrp;

int main() {
  constexpr uint32_t countMax = 8;
  EpisodeList episodes;
  CHECK_EQUAL(episodes.create(countMax), Status::ok);
  CHECK_EQUAL(episodes.prepare(countMax), Status::ok);
  for (uint64_t handle = 0; handle < 4; ++handle) episodes.add(handle, 0);
  ReleasedRecords released;
  released.create(episodes, countMax);
  // As long as nothing is released it takes no memory, and every question has an answer.
  CHECK_EQUAL(released.prepare(countMax), Status::ok);
  CHECK(released.memoryBytes() == 0);
  CHECK_EQUAL(released.first(), episodeNone);
  CHECK_EQUAL(released.until(2), 0u);
  released.trimmed(2, 5, 50);
  released.remove(2);

  CHECK_EQUAL(released.begin(), Status::ok);
  CHECK(released.memoryBytes() > 0);
  released.set(2, 10, 30);
  released.set(1, 4, 20);
  CHECK_EQUAL(released.first(), 1u);
  released.set(1, 8, 20);
  CHECK_EQUAL(released.until(1), 8u);
  released.trimmed(1, 7, 40);
  CHECK_EQUAL(released.first(), 2u);
  CHECK_EQUAL(released.count(), 2u);
  released.trimmed(1, 8, 41);  // the last released one went
  CHECK(!released.contains(1));
  CHECK_EQUAL(released.until(1), 0u);
  released.trimmed(3, 1, 5);  // of an episode without a released record
  CHECK_EQUAL(released.count(), 1u);
  released.shortened(2, 10);  // the record that went was not released
  CHECK_EQUAL(released.until(2), 10u);
  released.shortened(2, 9);
  CHECK_EQUAL(released.until(2), 9u);
  released.shortened(3, 4);
  CHECK_EQUAL(released.until(3), 0u);
  released.remove(2);
  CHECK_EQUAL(released.first(), episodeNone);
  return test::checkResult("released_records");
}
