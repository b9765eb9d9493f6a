// listEpisodes: each row must be what its episode is known to be, by whatever filter; a return must be the sum of the plain definition, to the
// bit. A call that is refused writes nothing.
#include <cmath>
#include <string>

#include "kernel/base/random.hpp"
#include "tests/kernel/listed_episodes.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp::test;

namespace {

struct Recorded {
  std::vector<double> rewards;  // of each record that it ever had
  uint32_t end = 0;             // 1 terminated, 2 truncated
  int32_t tag = 0;
  uint64_t newest = 0;  // how many records the replay had written before its newest one
};

struct RewardType {
  uint32_t type;
  uint32_t bytes;
};

/// A replay of one writer, whose rewards have this type.
class Subject : public TestReplay {
 public:
  Subject(const RewardType& type, double blockLength, uint64_t seed)
      : TestReplay({.capacity = 300, .blockLength = blockLength, .columns = {4, 3, 1, 2, 1, 1, type.bytes, 1, 1}}), type_(type), random_(seed, 0) {
    for (uint32_t k = 0; k < 40; ++k) recordEpisode();
    begin();
    episodes_.emplace_back();
  }

  void checkAll() {
    std::vector<double> filter = allEpisodes();
    check(filter);
    for (uint32_t bits = 0; bits < 8; ++bits) {
      filter[EXRP_EPISODES_ENDS] = bits;
      filter[EXRP_EPISODES_LENGTH_MIN] = random_.below(10);
      filter[EXRP_EPISODES_LENGTH_MAX] = 10 + random_.below(20);
      filter[EXRP_EPISODES_TAG_COUNT] = random_.below(3);
      filter[EXRP_EPISODES_TAG] = -1;
      filter[EXRP_EPISODES_TAG + 1] = 2;
      filter[EXRP_EPISODES_REWARD_TYPE] = bits % 2 == 0 ? type_.type : EXRP_TYPE_OTHER;
      filter[EXRP_EPISODES_DISCOUNT] = bits % 4 == 0 ? 1 : random_.uniform();
      check(filter);
    }
    filter = allEpisodes();
    filter[EXRP_EPISODES_REWARD_TYPE] = type_.type;
    for (const double discount : {1.0, 0.99, 0.0}) {
      filter[EXRP_EPISODES_DISCOUNT] = discount;
      check(filter);
    }
  }

  uint32_t trimmed() const { return trimmed_; }
  uint32_t missing() const { return missing_; }

 private:
  double nextReward(uint8_t* to) {
    const double whole = static_cast<double>(random_.below(200)) - 100;
    const auto put = [&](auto value) {
      memcpy(to, &value, sizeof value);
      return static_cast<double>(value);
    };
    switch (type_.type) {
      case EXRP_TYPE_FLOAT32: return put(static_cast<float>(random_.uniform() - 0.5));
      case EXRP_TYPE_FLOAT64: return put(random_.uniform() - 0.5);
      case EXRP_TYPE_FLOAT16: {
        const auto bits = static_cast<uint16_t>(random_.below(0x7c00));
        const double exponent = bits >> 10;
        put(bits);
        return exponent == 0 ? std::ldexp(bits & 1023, -24) : std::ldexp(1024 + (bits & 1023), static_cast<int>(exponent) - 25);
      }
      case EXRP_TYPE_UINT8: return put(static_cast<uint8_t>(whole + 100));
      case EXRP_TYPE_INT8: return put(static_cast<int8_t>(whole));
      case EXRP_TYPE_INT16: return put(static_cast<int16_t>(whole * 100));
      default: return put(static_cast<int32_t>(whole * 10000000));
    }
  }

  void recordEpisode() {
    Recorded episode;
    episode.tag = static_cast<int32_t>(random_.below(4)) - 1;
    double handle = begin();
    CHECK_EQUAL(exrp_episode_tag(id, handle, episode.tag), 0);
    const uint32_t count = 1 + random_.below(40);
    episode.end = random_.below(3);
    for (uint32_t step = 0; step < count; ++step) {
      episode.rewards.push_back(nextReward(nextRow.part(EXRP_ROW_COLUMN + 2)));
      const bool ends = step + 1 == count && episode.end > 0;
      const uint32_t flags = ends ? EXRP_RECORD_ENDS | (episode.end == 2 ? EXRP_RECORD_TRUNCATED : 0) : 0;
      CHECK(record(handle, flags) == handle);
      episode.newest = written_++;
    }
    episodes_.push_back(episode);
  }

  void check(const std::vector<double>& filter) {
    double info[EXRP_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_replay_info(id, info, EXRP_INFO_COUNT), 0);
    const ListedEpisodes list(id, static_cast<uint32_t>(info[EXRP_INFO_EPISODE_COUNT]), filter);
    CHECK_EQUAL(list.status, 0);
    uint32_t row = 0;
    missing_ = 0;
    for (uint32_t nth = 0; nth < episodes_.size(); ++nth) {
      const Recorded& episode = episodes_[nth];
      double known[EXRP_EPISODE_INFO_COUNT] = {};
      CHECK_EQUAL(exrp_episode_info(id, nth, known, EXRP_EPISODE_INFO_COUNT), 0);
      const bool isGone = known[EXRP_EPISODE_STATE] == EXRP_EPISODE_EVICTED;
      const double length = known[EXRP_EPISODE_RECORD_COUNT];
      missing_ += isGone ? 1 : 0;
      const auto tagCount = static_cast<uint32_t>(filter[EXRP_EPISODES_TAG_COUNT]);
      bool takes = tagCount == 0;
      for (uint32_t at = 0; at < tagCount; ++at) takes |= filter[EXRP_EPISODES_TAG + at] == episode.tag;
      takes &= length >= filter[EXRP_EPISODES_LENGTH_MIN] && length <= filter[EXRP_EPISODES_LENGTH_MAX];
      takes &= (static_cast<uint32_t>(filter[EXRP_EPISODES_ENDS]) & (1u << episode.end)) != 0;
      if (isGone || !takes) continue;
      CHECK(row < list.count && list.handles[row] == nth);
      if (row >= list.count) return;
      const auto first = static_cast<uint32_t>(known[EXRP_EPISODE_FIRST_POSITION]);
      trimmed_ += first > 0 ? 1 : 0;
      CHECK_EQUAL(list.recordCounts[row], static_cast<uint32_t>(length));
      CHECK_EQUAL(list.firsts[row], first);
      CHECK_EQUAL(list.tags[row], episode.tag);
      CHECK_EQUAL(uint32_t{list.ends[row]}, episode.end);
      if (length == 0) CHECK(std::isnan(list.ages[row]));
      else CHECK_EQUAL(list.ages[row], static_cast<double>(written_ - 1 - episode.newest));
      if (!list.returns.empty()) {
        double sum = 0;
        double factor = 1;
        for (size_t at = first; at < episode.rewards.size(); ++at, factor *= filter[EXRP_EPISODES_DISCOUNT]) sum += factor * episode.rewards[at];
        CHECK(memcmp(&sum, &list.returns[row], sizeof sum) == 0);
      }
      ++row;
    }
    CHECK_EQUAL(row, list.count);
  }

  RewardType type_;
  exrp::Random random_;
  std::vector<Recorded> episodes_;
  uint64_t written_ = 0;
  uint32_t trimmed_ = 0;
  uint32_t missing_ = 0;
};

void refuses() {
  const auto refused = [](const TestReplay& replay, uint32_t rows, const std::vector<double>& filter, int32_t status) {
    const ListedEpisodes list(replay.id, rows, filter);
    CHECK_EQUAL(list.status, status);
    CHECK_EQUAL(list.count, 0u);
    for (const double handle : list.handles) CHECK_EQUAL(handle, -7.0);
  };
  const auto with = [](uint32_t index, double value) {
    std::vector<double> filter = allEpisodes();
    filter[index] = value;
    return filter;
  };
  TestReplay replay;
  for (uint32_t k = 0; k < 3; ++k) replay.begin();
  refused(replay, 2, allEpisodes(), EXRP_STATUS_BUFFER_SIZE);
  refused(replay, 3, std::vector<double>(EXRP_EPISODES_COUNT - 1), EXRP_STATUS_ARGUMENT);
  refused(replay, 3, with(EXRP_EPISODES_ENDS, 8), EXRP_STATUS_ARGUMENT);
  refused(replay, 3, with(EXRP_EPISODES_ENDS, NAN), EXRP_STATUS_ARGUMENT);
  refused(replay, 3, with(EXRP_EPISODES_LENGTH_MIN, -1), EXRP_STATUS_ARGUMENT);
  refused(replay, 3, with(EXRP_EPISODES_LENGTH_MAX, 0.5), EXRP_STATUS_ARGUMENT);
  refused(replay, 3, with(EXRP_EPISODES_TAG_COUNT, EXRP_LIMIT_TAGS + 1), EXRP_STATUS_ARGUMENT);
  refused(replay, 3, with(EXRP_EPISODES_DISCOUNT, 1.5), EXRP_STATUS_ARGUMENT);
  refused(replay, 3, with(EXRP_EPISODES_DISCOUNT, NAN), EXRP_STATUS_ARGUMENT);
  refused(replay, 3, with(EXRP_EPISODES_REWARD_TYPE, EXRP_TYPE_FLOAT64), EXRP_STATUS_ARGUMENT);
  refused(replay, 3, with(EXRP_EPISODES_REWARD_TYPE, EXRP_TYPE_INT32 + 1), EXRP_STATUS_ARGUMENT);
  std::vector<double> tags = with(EXRP_EPISODES_TAG_COUNT, 1);
  tags[EXRP_EPISODES_TAG] = 0x1p31;
  refused(replay, 3, tags, EXRP_STATUS_ARGUMENT);
  TestReplay many({.columns = {4, 1, 1, 4, 1, 1, 4, 2, 1}});
  refused(many, 3, with(EXRP_EPISODES_REWARD_TYPE, EXRP_TYPE_FLOAT32), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(ListedEpisodes(replay.id, 3, with(EXRP_EPISODES_REWARD_TYPE, EXRP_TYPE_FLOAT32)).count, 3u);
}

}  // namespace

int main() {
  const RewardType types[] = {{EXRP_TYPE_FLOAT32, 4}, {EXRP_TYPE_FLOAT64, 8}, {EXRP_TYPE_FLOAT16, 2}, {EXRP_TYPE_UINT8, 1},
                              {EXRP_TYPE_INT8, 1},    {EXRP_TYPE_INT16, 2},   {EXRP_TYPE_INT32, 4}};
  uint32_t trimmed = 0;
  for (const RewardType& type : types) {
    for (const double blockLength : {2.0, 4.0, 16.0, 64.0}) {
      Subject subject(type, blockLength, type.type + static_cast<uint64_t>(blockLength));
      subject.checkAll();
      CHECK(subject.missing() > 0);
      trimmed += subject.trimmed();
    }
  }
  CHECK(trimmed > 0);
  refuses();
  return checkResult("listed_episodes_test");
}
