// Tags: which numbers a pick policy takes for them, which it refuses, and which episodes get one.
#include <cmath>
#include <cstring>
#include <vector>

#include "kernel/store/pick_policy.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

std::vector<double> plainPolicy() {
  std::vector<double> policy(EXRP_POLICY_COUNT);
  policy[EXRP_POLICY_LENGTH] = policy[EXRP_POLICY_STRIDE] = policy[EXRP_POLICY_STACK] = policy[EXRP_POLICY_DISCOUNT] = 1;
  return policy;
}

Status parse(const std::vector<double>& tags, double count, PickPolicy* parsed) {
  std::vector<double> policy = plainPolicy();
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
  double config[EXRP_CONFIG_COUNT] = {};
  config[EXRP_CONFIG_CAPACITY] = 100;
  config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;
  const std::vector<double> policy = plainPolicy();
  const uint32_t columns[] = {4, 1, 1, 4, 1, 1, 4, 1, 1};
  uint32_t id = 0;
  CHECK_EQUAL(exrp_replay_create(config, EXRP_CONFIG_COUNT, policy.data(), EXRP_POLICY_COUNT, columns, 3, &id), 0);
  double handles[3] = {};
  for (double& handle : handles) CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
  CHECK_EQUAL(exrp_episode_tag(id, handles[0], 5), 0);
  CHECK_EQUAL(exrp_episode_tag(id, handles[0], -5), 0);
  CHECK_EQUAL(exrp_episode_tag(id, handles[1], INT32_MIN), 0);
  CHECK_EQUAL(exrp_episode_tag(id, 3, 1), EXRP_STATUS_EPISODE_UNKNOWN);

  double offsets[EXRP_ROW_COLUMN + 3] = {};
  CHECK_EQUAL(exrp_row_layout(id, offsets, EXRP_ROW_COLUMN + 3), 0);
  std::vector<uint8_t> row(static_cast<size_t>(offsets[EXRP_ROW_BYTES]));
  std::memcpy(row.data(), &handles[0], sizeof handles[0]);
  CHECK_EQUAL(exrp_record(id, row.data(), static_cast<uint32_t>(row.size()), 0), 0);
  CHECK_EQUAL(exrp_episode_tag(id, handles[0], 6), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_record(id, row.data(), static_cast<uint32_t>(row.size()), EXRP_RECORD_ENDS), 0);
  CHECK_EQUAL(exrp_episode_tag(id, handles[0], 6), EXRP_STATUS_EPISODE_ENDED);
  CHECK_EQUAL(exrp_episode_evict(id, handles[1]), 0);
  CHECK_EQUAL(exrp_episode_tag(id, handles[1], 6), EXRP_STATUS_ARGUMENT);
  int32_t tags[3] = {9, 9, 9};
  const double unknown[2] = {handles[0], 3};
  CHECK_EQUAL(exrp_episode_tags(id, unknown, 2, tags), EXRP_STATUS_EPISODE_UNKNOWN);
  CHECK_EQUAL(tags[0], 9);
  CHECK_EQUAL(exrp_episode_tags(id, handles, 3, tags), 0);
  CHECK_EQUAL(tags[0], -5);
  CHECK_EQUAL(tags[1], 0);
  CHECK_EQUAL(tags[2], 0);
  CHECK_EQUAL(exrp_replay_destroy(id), 0);
}

}  // namespace

int main() {
  policiesTakeTags();
  policiesRefuseWrongTags();
  episodesTakeTags();
  return test::checkResult("tags");
}
