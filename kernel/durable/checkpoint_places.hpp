// CheckpointPlaces: what a checkpoint says of a replay beside the sections of a snapshot: where the rows of blocks are in the log, and what those sections leave out of
// episodes.
//
// Thread safety: none of its own.
// Cost: O(blocks and episodes); 12 bytes a block, 16 for each episode that is open or has released records.
#pragma once

#include "kernel/base/scratch.hpp"
#include "kernel/durable/durable_format.hpp"
#include "kernel/log/log_place.hpp"
#include "kernel/replay/replay.hpp"

namespace exrp {

struct CheckpointPlaces {
  Scratch<LogPlace> places;  // of the rows of blocks, by episode and time
  uint32_t placeCount = 0;
  uint32_t firstSegment = UINT32_MAX;  // that they need
  Scratch<EpisodeHead> heads;
  uint32_t headCount = 0;
  uint16_t writer = 1;  // of the last call

  /// False without memory.
  bool take(const EpisodeBook& book);
  /// Says it of a replay that was just loaded.
  Status give(Replay& replay) const;
  double memoryBytes() const { return places.memoryBytes() + heads.memoryBytes(); }
};

}  // namespace exrp
