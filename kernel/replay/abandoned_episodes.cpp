#include "kernel/replay/abandoned_episodes.hpp"

namespace exrp {
namespace {

/// With the next state that came with its last record, where one did.
void endAbandoned(Replay& replay, uint32_t episode) {
  EpisodeBook& book = replay.book();
  if (const uint8_t* const state = replay.book().part<NextStates>().find(episode, book.episodes()[episode].count)) {
    uint32_t ended = 0;
    replay.endEpisode(book.handleAt(episode), book.store().leaves().packed(state), EXRP_RECORD_TRUNCATED, &ended);
  } else if (replay.prepareRecord() == Status::ok) {
    // Nobody knows what came after the last record, so it goes. A record without a next state may be all that it holds, if anything.
    if (book.episodes().recordCount(episode) > 1) book.endAtLastState(episode);
    else book.remove(episode, false);
  }
}

}  // namespace

void endEpisodesOf(Replay& replay, uint16_t writer) {
  const EpisodeBook& book = replay.book();
  const EpisodeList& episodes = book.episodes();
  for (uint32_t episode = episodes.oldest(); episode != episodeNone;) {
    const double handle = book.handleAt(episode);
    const uint32_t older = episodes[episode].older;
    const double olderHandle = older == episodeNone ? 0 : book.handleAt(older);
    if (!episodes[episode].ended() && episodes[episode].writer == writer) endAbandoned(replay, episode);
    // The end of one may evict it, or others. Mostly it stays, or the one before it does.
    if (book.isLive(episode, handle)) episode = episodes[episode].newer;
    else if (older != episodeNone && book.isLive(older, olderHandle)) episode = episodes[older].newer;
    else episode = episodes.oldest();
  }
}

bool adoptEpisodes(Replay& replay, uint16_t writer) {
  EpisodeList& episodes = replay.book().episodes();
  bool hasAdopted = false;
  for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) {
    if (episodes[episode].ended() || episodes[episode].writer == writer) continue;
    episodes[episode].writer = writer;
    hasAdopted = true;
  }
  return hasAdopted;
}

}  // namespace exrp
