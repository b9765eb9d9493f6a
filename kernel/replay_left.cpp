// Replay: ends the open episodes of a writer that is gone: a Worker that ended, or whose ticket was revoked.
#include "kernel/replay.hpp"

namespace exrp {

void Replay::writeAll() {
  for (uint32_t episode = episodes_.oldest(); episode != episodeNone; episode = episodes_[episode].newer) {
    episodes_.setWriter(episode, writer_);
  }
}

void Replay::endEpisodesOf(uint16_t writer) {
  // The end of one may evict others, so handles are kept, and not indices.
  constexpr uint32_t pieceLength = 64;
  double handles[pieceLength];
  double from = 0;
  uint32_t begin = episodes_.oldest();
  for (uint32_t count = pieceLength; count == pieceLength;) {
    count = 0;
    for (uint32_t episode = begin; episode != episodeNone && count < pieceLength; episode = episodes_[episode].newer) {
      const bool isLeft = !episodes_[episode].ended() && episodes_.writer(episode) == writer && handleAt(episode) >= from;
      if (isLeft) handles[count++] = handleAt(episode);
    }
    for (uint32_t at = 0; at < count; ++at) {
      const uint32_t episode = findEpisode(handles[at]);
      if (episode != episodeNone) endLeftEpisode(episode);
      from = handles[at] + 1;
    }
    // The last one mostly stays. So the next piece begins there, and a writer of very many episodes takes no time squared.
    const uint32_t last = count > 0 ? findEpisode(handles[count - 1]) : episodeNone;
    begin = last == episodeNone ? episodes_.oldest() : last;
  }
}

/// With the next state that came with its last record, where one did.
void Replay::endLeftEpisode(uint32_t episode) {
  if (const uint8_t* const state = nextStates_.find(episode, episodes_[episode].count)) {
    uint32_t ended = 0;
    endEpisode(handleAt(episode), state, EXRP_RECORD_TRUNCATED, &ended);
  } else if (prepareRecord() == Status::ok) {
    if (episodes_.recordCount(episode) > 1) endAtLastState(episode);
    else removeEpisode(episode, false);  // a record without a next state is all that it holds, if anything
  }
}

/// Nobody knows what came after the last record, so it goes. Its state, which is there already, becomes the final state.
void Replay::endAtLastState(uint32_t episode) {
  Episode& entry = episodes_[episode];
  const uint32_t first = episodes_.first(episode);
  uint32_t pushFrom[EXRP_LIMIT_TABLES];
  for (uint32_t table = 0; table < tableCount_; ++table) {
    PickTable& picks = tables_[table]->picks;
    const PickPolicy& policy = picks.policy();
    const uint32_t before = policy.validEnd(entry.count, false);
    const uint32_t after = policy.validEnd(entry.count - 1, true);
    pushFrom[table] = before;
    const uint32_t oldest = policy.validBegin(first);
    const uint32_t begin = after < oldest ? oldest : after;
    for (uint32_t position = before; position > begin; --position) {
      picks.remove(store_.slotAt(blockAt(entry, position - 1), position - 1));
    }
  }
  bytes_.lastRecordRemoved(first, entry.count);
  --entry.count;
  --recordCount_;
  released_.shortened(episode, entry.count);
  entry.state = EXRP_EPISODE_TRUNCATED;
  bytes_.finalStateAdded();
  nextStates_.release(episode);
  open_.remove(episode);
  ++endedCount_;
  for (uint32_t table = 0; table < tableCount_; ++table) pushPicksOf(tables_[table]->picks, episode, pushFrom[table]);
  if (eviction_ != nullptr) eviction_->ended(episode, endedPickCount(episode));
  ++changeCount_;
}

}  // namespace exrp
