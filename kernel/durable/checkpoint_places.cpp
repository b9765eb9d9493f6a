#include "kernel/durable/checkpoint_places.hpp"

#include "kernel/durable/payload.hpp"
#include "kernel/store/logged_rows.hpp"

namespace exrp {

bool CheckpointPlaces::take(const EpisodeBook& book) {
  const LoggedRows& logged = book.part<LoggedRows>();
  const ReleasedRecords& released = book.part<ReleasedRecords>();
  const EpisodeList& episodes = book.episodes();
  placeCount = headCount = 0;
  firstSegment = UINT32_MAX;
  writer = book.writer();
  if (!places.commit(book.store().highWater())) return false;
  for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) {
    for (uint32_t block = episodes[episode].firstBlock; block != blockNone; block = book.store().block(block).next) {
      if (book.rowsOf(block).count == 0) continue;
      const LogPlace& place = places[placeCount++] = logged.place(block);
      if (!logged.isLost(block) && place.segment < firstSegment) firstSegment = place.segment;
    }
    const uint32_t to = released.until(episode) > episodes.first(episode) ? released.until(episode) : 0;
    if (to == 0 && episodes[episode].ended()) continue;
    if (!heads.commit(headCount + 1)) return false;
    heads[headCount++] = {book.handleAt(episode), to, episodes[episode].writer};
  }
  return true;
}

Status CheckpointPlaces::give(Replay& replay) const {
  EpisodeBook& book = replay.book();
  LoggedRows& logged = book.part<LoggedRows>();
  logged.takeUnwritten([](uint32_t) {}, [](uint32_t) {});
  uint32_t at = 0;
  for (uint32_t episode = book.episodes().oldest(); episode != episodeNone; episode = book.episodes()[episode].newer) {
    for (uint32_t block = book.episodes()[episode].firstBlock; block != blockNone; block = book.store().block(block).next) {
      if (book.rowsOf(block).count == 0) continue;
      if (at == placeCount) return unfit();
      logged.setPlace(block, places[at++], false);
    }
  }
  if (at != placeCount) return unfit();
  for (uint32_t k = 0; k < headCount; ++k) {
    const EpisodeHead& head = heads[k];
    if (book.checkHandle(head.handle) != Status::ok) return unfit();
    const uint32_t episode = book.findEpisode(head.handle);
    if (episode == episodeNone || head.writer > UINT16_MAX) return unfit();
    book.episodes()[episode].writer = static_cast<uint16_t>(head.writer);
    const Status status = head.releasedTo > 0 ? replay.releaseRecords(head.handle, head.releasedTo) : Status::ok;
    if (status != Status::ok) return status;
  }
  book.setWriter(writer);
  return Status::ok;
}

}  // namespace exrp
