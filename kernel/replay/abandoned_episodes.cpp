#include "kernel/replay/abandoned_episodes.hpp"

namespace exrp {
namespace {

/// With the next state that came with its last record, where one did.
void endAbandoned(Replay& replay, uint32_t episode) {
  EpisodeBook& book = replay.book();
  if (const uint8_t* const state = replay.part<NextStates>().find(episode, book.episodes()[episode].count)) {
    uint32_t ended = 0;
    replay.endEpisode(book.handleAt(episode), state, EXRP_RECORD_TRUNCATED, &ended);
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
  // The end of one may evict others, so handles are kept, and not indices.
  constexpr uint32_t pieceLength = 64;
  double handles[pieceLength];
  double from = 0;
  uint32_t begin = episodes.oldest();
  for (uint32_t count = pieceLength; count == pieceLength;) {
    count = 0;
    for (uint32_t episode = begin; episode != episodeNone && count < pieceLength; episode = episodes[episode].newer) {
      const bool isLeft = !episodes[episode].ended() && episodes.writer(episode) == writer && book.handleAt(episode) >= from;
      if (isLeft) handles[count++] = book.handleAt(episode);
    }
    for (uint32_t at = 0; at < count; ++at) {
      const uint32_t episode = book.findEpisode(handles[at]);
      if (episode != episodeNone) endAbandoned(replay, episode);
      from = handles[at] + 1;
    }
    // The last one mostly stays. So the next piece begins there, and a writer of very many episodes takes no time squared.
    const uint32_t last = count > 0 ? book.findEpisode(handles[count - 1]) : episodeNone;
    begin = last == episodeNone ? episodes.oldest() : last;
  }
}

}  // namespace exrp
