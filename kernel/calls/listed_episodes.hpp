// The episodes of a replay as a list: what is known of each, and its return, for those that a filter takes.
//
// Thread safety: none of its own; calls on one replay are the caller's to serialise.
// Invariants:
//   1. A return is the sum of its terms in order of time, in doubles, so it is the same on every platform.
// Cost: one walk through the list of episodes, and for returns one pass over the rewards of those that the filter takes. The cache misses of
// many episodes overlap.
#pragma once

#include "kernel/replay/replay.hpp"

namespace exrp {

/// Which episodes are wanted, and their returns: EXRP_EPISODES_* of a call, checked.
struct EpisodeFilter {
  uint32_t ends = 0;  // bits
  uint32_t lengthMin = 0;
  uint32_t lengthMax = 0;
  int32_t tags[EXRP_LIMIT_TAGS] = {};
  uint32_t tagCount = 0;
  uint32_t rewardType = EXRP_TYPE_OTHER;  // OTHER: no returns
  double discount = 1;

  static Status parse(const Replay& replay, const double* numbers, uint32_t count, EpisodeFilter* parsed);
  bool takes(const EpisodeList& episodes, uint32_t episode) const;
};

/// Columns of `rowCount` elements; `returns` may be empty where no returns are wanted.
struct EpisodeArrays {
  double* handles;
  uint32_t* recordCounts;
  uint32_t* firstPositions;
  int32_t* tags;
  uint8_t* ends;
  double* ages;
  double* returns;
  uint32_t rowCount;
};

/// Fills the first rows of the arrays, oldest episode first. It needs a row for each episode of the replay.
Status listEpisodes(const Replay& replay, const EpisodeFilter& filter, const EpisodeArrays& arrays, uint32_t* listed);

}  // namespace exrp
