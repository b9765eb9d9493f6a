// Tags: which numbers a pick policy takes for them, which it refuses, and which episodes get one.
#include <cmath>

#include "kernel/store/pick_policy.hpp"
#include "tests/kernel/listed_episodes.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

Status parse(const std::vector<double>& tags, double count, PickPolicy* parsed) {
  std::vector<double> policy = policyOf();
  policy[EXRP_POLICY_TAG_COUNT] = count;
  for (size_t at = 0; at < tags.size(); ++at) policy[EXRP_POLICY_TAG + at] = tags[at];
  return PickPolicy::parse(policy.data(), EXRP_POLICY_COUNT, 2, parsed);
}

void policiesTakeTags() {
  PickPolicy policy;
  CHECK(parse({}, 0, &policy) == Status::ok);
  for (const int32_t tag : {INT32_MIN, -1, 0, INT32_MAX}) CHECK(policy.takes(tag));
  CHECK(parse({-0x1p31, -3, 0, 7, 0x1p31 - 1}, 5, &policy) == Status::ok);
  for (const int32_t tag : {INT32_MIN, -3, 0, 7, INT32_MAX}) CHECK(policy.takes(tag));
  for (const int32_t tag : {INT32_MIN + 1, -4, -2, 1, 6, 8, INT32_MAX - 1}) CHECK(!policy.takes(tag));
  std::vector<double> most;
  for (int tag = 0; tag < EXRP_LIMIT_TAGS; ++tag) most.push_back(2 * tag);
  CHECK(parse(most, EXRP_LIMIT_TAGS, &policy) == Status::ok);
  for (int32_t tag = -3; tag < 40; ++tag) CHECK_EQUAL(policy.takes(tag), tag >= 0 && tag <= 30 && tag % 2 == 0);
}

void policiesRefuseWrongTags() {
  const std::vector<double> wrong[] = {{1, 1}, {2, 1}, {0.5}, {NAN}, {INFINITY}, {-INFINITY}, {0x1p31}, {-0x1p31 - 1}, {0, NAN}};
  for (const std::vector<double>& tags : wrong) {
    PickPolicy policy;
    policy.length = 77;
    CHECK(parse(tags, static_cast<double>(tags.size()), &policy) == Status::argument);
    CHECK_EQUAL(policy.length, 77u);
  }
  for (const double count : {17.0, -1.0, 0.5, double{NAN}}) {
    PickPolicy policy;
    CHECK(parse({}, count, &policy) == Status::argument);
  }
}

/// Only an open episode without a record gets a tag; a refused call leaves each as it was.
void episodesTakeTags() {
  TestReplay replay;
  const uint32_t id = replay.id;
  double handles[] = {replay.begin(), replay.begin(), replay.begin()};
  CHECK_EQUAL(exrp_episode_tag(id, handles[0], 5), 0);
  CHECK_EQUAL(exrp_episode_tag(id, handles[0], -5), 0);
  CHECK_EQUAL(exrp_episode_tag(id, handles[1], INT32_MIN), 0);
  CHECK_EQUAL(exrp_episode_tag(id, 3, 1), EXRP_STATUS_EPISODE_UNKNOWN);
  replay.record(handles[0]);
  CHECK_EQUAL(exrp_episode_tag(id, handles[0], 6), EXRP_STATUS_ARGUMENT);
  replay.record(handles[0], EXRP_RECORD_ENDS);
  CHECK_EQUAL(exrp_episode_tag(id, handles[0], 6), EXRP_STATUS_EPISODE_ENDED);
  CHECK_EQUAL(exrp_episode_evict(id, handles[1]), 0);
  CHECK_EQUAL(exrp_episode_tag(id, handles[1], 6), EXRP_STATUS_ARGUMENT);
  const ListedEpisodes list(id, 2);
  CHECK(list.handles == std::vector<double>({handles[0], handles[2]}));
  CHECK(list.tags == std::vector<int32_t>({-5, 0}));
}

}  // namespace

int main() {
  policiesTakeTags();
  policiesRefuseWrongTags();
  episodesTakeTags();
  return checkResult("tags");
}
