// The episodes of a replay as the C ABI lists them, in columns of exactly the size that it needs.
#pragma once

#include <vector>

#include "kernel/exrp.h"

namespace exrp::test {

/// The numbers that ask for all episodes, without returns.
inline std::vector<double> allEpisodes() {
  std::vector<double> filter(EXRP_EPISODES_COUNT);
  filter[EXRP_EPISODES_ENDS] = 7;
  filter[EXRP_EPISODES_LENGTH_MAX] = EXRP_LIMIT_CAPACITY;
  return filter;
}

struct ListedEpisodes {
  int32_t status = 0;
  uint32_t count = 0;
  std::vector<double> handles;
  std::vector<uint32_t> recordCounts;
  std::vector<uint32_t> firsts;
  std::vector<int32_t> tags;
  std::vector<uint8_t> ends;
  std::vector<double> ages;
  std::vector<double> returns;

  /// The columns have `rowCount` rows before the call, and then as many as it listed.
  ListedEpisodes(uint32_t replay, uint32_t rowCount, const std::vector<double>& filter = allEpisodes()) {
    const bool hasReturns = filter[EXRP_EPISODES_REWARD_TYPE] != EXRP_TYPE_OTHER;
    resize(rowCount, hasReturns);
    uint32_t listed = 0;
    status = exrp_episode_list(replay, filter.data(), static_cast<uint32_t>(filter.size()), handles.data(), recordCounts.data(), firsts.data(),
                                tags.data(), ends.data(), ages.data(), returns.data(), rowCount, &listed);
    count = listed;
    if (status == 0) resize(listed, hasReturns);
  }

 private:
  void resize(uint32_t rows, bool hasReturns) {
    handles.resize(rows, -7);
    recordCounts.resize(rows, 7);
    firsts.resize(rows, 7);
    tags.resize(rows, 7);
    ends.resize(rows, 7);
    ages.resize(rows, -7);
    returns.resize(hasReturns ? rows : 0, -7);
  }
};

}  // namespace exrp::test
