// AgeLimit: the oldest record of all is due with the record that would make it too old.
#include "kernel/store/age_limit.hpp"

#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

void theOldestIsDueWithTheRecordThatMakesItTooOld() {
  EpisodeList episodes;
  AgeLimit ages;
  CHECK_EQUAL(episodes.create(4), Status::ok);
  CHECK_EQUAL(episodes.prepare(4), Status::ok);
  CHECK_EQUAL(ages.create(episodes, 4, 10), Status::ok);
  CHECK_EQUAL(ages.prepare(4), Status::ok);
  CHECK(ages.isSet());
  CHECK(!ages.isDue(uint64_t{1} << 53));  // no record
  CHECK_EQUAL(ages.oldest(), episodeNone);
  CHECK_EQUAL(ages.recordsLeft(5), uint64_t{10});  // the next record is then too old for another
  const uint64_t births[] = {3, 3, 7};
  uint32_t index[3];
  for (uint32_t handle = 0; handle < 3; ++handle) {
    index[handle] = episodes.add(handle, 0);
    ages.set(index[handle], births[handle]);
  }
  CHECK(!ages.isDue(12));
  CHECK_EQUAL(ages.recordsLeft(12), uint64_t{1});
  CHECK(ages.isDue(13));
  CHECK_EQUAL(ages.oldest(), index[0]);
  ages.set(index[0], 5);  // it was trimmed
  CHECK_EQUAL(ages.oldest(), index[1]);
  CHECK(ages.isDue(13));
  ages.remove(index[1]);
  CHECK_EQUAL(ages.oldest(), index[0]);
  CHECK(!ages.isDue(14));
  CHECK(ages.isDue(15));
  ages.remove(index[0]);
  ages.remove(index[0]);  // which it does not know any more
  CHECK(!ages.isDue(16));
  CHECK(ages.isDue(17));
  CHECK_EQUAL(ages.oldest(), index[2]);
  CHECK(ages.memoryBytes() > 0);
  CHECK(ages.allows(10, 20));
  CHECK(!ages.allows(9, 20));
}

void withoutALimitNothingIsEverDue() {
  EpisodeList episodes;
  AgeLimit ages;
  CHECK_EQUAL(episodes.create(1), Status::ok);
  CHECK_EQUAL(episodes.prepare(1), Status::ok);
  CHECK_EQUAL(ages.create(episodes, 1, 0), Status::ok);
  CHECK_EQUAL(ages.prepare(1), Status::ok);
  ages.set(episodes.add(0, 0), 0);
  CHECK(!ages.isSet() && !ages.isDue(uint64_t{1} << 53));
  CHECK(ages.allows(0, uint64_t{1} << 53));
  CHECK_EQUAL(ages.memoryBytes(), 0.0);
  ages.remove(0);
}

}  // namespace

int main() {
  theOldestIsDueWithTheRecordThatMakesItTooOld();
  withoutALimitNothingIsEverDue();
  return test::checkResult("age_limit");
}
