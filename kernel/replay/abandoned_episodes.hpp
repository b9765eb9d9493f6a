// Ends the open episodes of a writer that is gone: a Worker that ended, or whose ticket was revoked.
//
// Thread safety: none of its own.
// Cost: O(episodes), and what each end takes.
#pragma once

#include "kernel/replay/replay.hpp"

namespace exrp {

/// Ends the open episodes that a writer recorded into last, as truncated. An episode whose end finds no memory stays open.
void endEpisodesOf(Replay& replay, uint16_t writer);

}  // namespace exrp
