// What becomes of the open episodes of a writer that is gone. They end where a Worker ended, or its ticket was revoked. They stay open where a
// durable replay is opened again: then the program goes on with them, or lets them be.
//
// Thread safety: none of its own.
// Cost: O(episodes), and what each end takes.
#pragma once

#include "kernel/replay/replay.hpp"

namespace exrp {

/// Ends the open episodes that a writer recorded into last, as truncated. An episode whose end finds no memory stays open.
void endEpisodesOf(Replay& replay, uint16_t writer);

/// Gives all open episodes to this writer, as the others are gone with their process. False where all were its own.
bool adoptEpisodes(Replay& replay, uint16_t writer);

}  // namespace exrp
