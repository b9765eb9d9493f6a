// AgeLimit: an episode is due with the record that would make it too old, the oldest first.
#include "kernel/store/age_limit.hpp"

#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

void theOldestIsDueWithTheRecordThatMakesItTooOld() {
  EpisodeTable episodes;
  AgeLimit ages;
  CHECK_EQUAL(episodes.create(4), Status::ok);
  CHECK_EQUAL(episodes.prepare(4), Status::ok);
  CHECK_EQUAL(ages.create(4, 10), Status::ok);
  CHECK_EQUAL(ages.prepare(4), Status::ok);
  CHECK(ages.isSet());
  ages.follow(episodes);
  CHECK(!ages.isDue(uint64_t{1} << 53));  // no episode
  const uint64_t births[] = {3, 3, 7};
  uint32_t index[3];
  for (uint32_t handle = 0; handle < 3; ++handle) {
    index[handle] = episodes.add(handle, 0);
    ages.begin(index[handle], births[handle]);
    ages.follow(episodes);
  }
  CHECK(!ages.isDue(12));
  CHECK(ages.isDue(13));
  episodes.remove(index[1]);
  ages.follow(episodes);
  CHECK(ages.isDue(13));
  episodes.remove(index[0]);
  ages.follow(episodes);
  CHECK(!ages.isDue(16));
  CHECK(ages.isDue(17));
  CHECK_EQUAL(ages.birth(index[2]), uint64_t{7});
  CHECK(ages.memoryBytes(3) >= 24.0);
}

void withoutALimitNothingIsEverDue() {
  EpisodeTable episodes;
  AgeLimit ages;
  CHECK_EQUAL(episodes.create(1), Status::ok);
  CHECK_EQUAL(episodes.prepare(1), Status::ok);
  CHECK_EQUAL(ages.create(1, 0), Status::ok);
  CHECK_EQUAL(ages.prepare(1), Status::ok);
  ages.begin(episodes.add(0, 0), 0);
  ages.follow(episodes);
  CHECK(!ages.isSet() && !ages.isDue(uint64_t{1} << 53));
  CHECK_EQUAL(ages.memoryBytes(1), 0.0);
}

void birthsThatCannotBeAreFound() {
  AgeLimit ages;
  CHECK_EQUAL(ages.create(1, 10), Status::ok);
  CHECK_EQUAL(ages.prepare(1), Status::ok);
  CHECK(ages.isPossible(20, 20, 10, 30));
  CHECK(!ages.isPossible(19, 0, 0, 30));   // too old
  CHECK(!ages.isPossible(20, 21, 0, 30));  // older than the one before it
  CHECK(!ages.isPossible(31, 20, 0, 30));  // not born yet
  CHECK(!ages.isPossible(25, 20, 6, 30));  // more records than were written since
}

}  // namespace

int main() {
  theOldestIsDueWithTheRecordThatMakesItTooOld();
  withoutALimitNothingIsEverDue();
  birthsThatCannotBeAreFound();
  return test::checkResult("age_limit");
}
