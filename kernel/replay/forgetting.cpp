#include "kernel/replay/forgetting.hpp"

namespace exrp {

Status Forgetting::makeRoom(uint32_t blockCount, uint32_t recordCount, uint64_t besideBytes) {
  const Store& store = book_.store();
  while (true) {
    const bool isShortOfBlocks = store.availableCount() < blockCount;
    if (!isShortOfBlocks && book_.recordCount() + recordCount <= bytes().recordMaxWith(besideBytes)) return Status::ok;
    if (book_.episodes().count() == 0) return Status::ok;
    const Status status = giveWay(isShortOfBlocks ? store.blockLength() : book_.trimLength());
    if (status != Status::ok) return status;
  }
}

/// Lets the records go that are next, in steps of `length`. There is an episode.
Status Forgetting::giveWay(uint32_t length) {
  if (const uint32_t first = released().first(); first != episodeNone) {
    return giveReleased(first, length) ? Status::ok : failFull(book_.handleAt(first));
  }
  const uint32_t oldest = open().oldest();
  // Older than a ring of as many records would hold.
  const bool isOld = oldest != episodeNone && book_.recordedCount() - open().oldestBirth() >= book_.recordCount();
  if (isOld || (oldest != episodeNone && book_.endedCount() == 0)) {
    trimStep(oldest, length);
  } else if (book_.endedCount() > 0) {
    if (policy() == nullptr) return failFull(-1);
    book_.remove(policy()->victim());
  } else {
    book_.remove(book_.episodes().oldest());  // all are open and hold no record: only their blocks are in the way
  }
  return Status::ok;
}

Status Forgetting::shrink(uint32_t blockCountMax, uint32_t emptyMax, uint64_t ageMax) {
  const Store& store = book_.store();
  const EpisodeList& episodes = book_.episodes();
  const auto isTooOld = [&](uint32_t episode) { return book_.holdsRecords(episode) && book_.recordedCount() - book_.birthOf(episode) > ageMax; };
  for (uint32_t episode = episodes.oldest(); ageMax != 0 && episode != episodeNone;) {
    const uint32_t newer = episodes[episode].newer;
    if (episodes[episode].ended()) {
      if (isTooOld(episode)) book_.remove(episode);
    } else {
      while (isTooOld(episode)) book_.trim(episode, stepEnd(episode, book_.trimLength(), episodes[episode].count));
    }
    episode = newer;
  }
  emptyMax_ = emptyMax;
  pushOutEmpty();
  while (true) {
    const bool isShortOfBlocks = store.blockCountMax() - store.availableCount() > blockCountMax;
    if ((!isShortOfBlocks && book_.recordCount() <= bytes().recordMax()) || episodes.count() == 0) return Status::ok;
    const Status status = giveWay(isShortOfBlocks ? store.blockLength() : book_.trimLength());
    if (status != Status::ok) return status;
  }
}

/// Lets the records go that are too old for another one.
Status Forgetting::evictAged() {
  while (ages().isDue(book_.recordedCount())) {
    const uint32_t oldest = ages().oldest();
    if (!book_.episodes()[oldest].ended()) {
      trimStep(oldest, book_.trimLength());
    } else if (policy() == nullptr) {
      return failFull(book_.handleAt(oldest));
    } else {
      book_.remove(oldest);
    }
  }
  return Status::ok;
}

Status Forgetting::evictForRecord(double handle, uint32_t flags, uint32_t* episode) {
  const EpisodeList& episodes = book_.episodes();
  if (ages().isDue(book_.recordedCount())) {
    const Status status = evictAged();
    if (status != Status::ok) return status;
    if (*episode != episodeNone && !book_.isLive(*episode, handle)) *episode = episodeNone;
  }
  while (true) {
    const uint32_t blockCount = blocksNeeded(*episode, flags);
    // A record that cuts a segment takes a block.
    if (blockCount == 0 && flags == 0 && hasBytesForOne(*episode)) return Status::ok;
    const bool cuts = *episode != episodeNone && episodes[*episode].count == segmentLength_;
    const uint64_t finalStateCount = ((flags & EXRP_RECORD_ENDS) != 0 ? 1u : 0u) + (cuts ? 1u : 0u);
    const uint32_t position = *episode == episodeNone || cuts ? 0 : episodes[*episode].count;
    const Status status = makeRoom(blockCount, 1, finalStateCount * bytes().stateBytes() + bytes().keptBytes(position));
    if (status != Status::ok) return status;
    if (*episode == episodeNone) break;
    if (book_.isLive(*episode, handle)) return Status::ok;
    // Making room took this very episode, when it held no record. The one that begins in its place needs room of another size.
    *episode = episodeNone;
  }
  *episode = begin(book_.part<OrphanHandles>().remove(static_cast<uint64_t>(handle)));
  return Status::ok;
}

uint32_t Forgetting::begin(int32_t tag) {
  const uint32_t episode = book_.begin(tag);
  pushOutEmpty();
  return episode;
}

uint32_t Forgetting::beginAfter(int32_t tag, uint32_t actor) {
  const uint32_t episode = begin(tag);
  book_.episodes().setActor(episode, actor);
  return episode;
}

void Forgetting::trim(uint32_t episode, uint32_t to) {
  book_.trim(episode, to);
  if (!book_.holdsRecords(episode)) pushOutEmpty();
}

/// An actor that was given up leaves an open episode, which is trimmed until it holds nothing. Such ones must not take all blocks.
void Forgetting::pushOutEmpty() {
  while (open().emptyCount() > emptyMax_) book_.remove(open().oldestEmpty());
}

/// Lets released records of an episode go: all of an ended one, where all are released, else those up to the next multiple of `length`.
/// False where the caller has to evict the episode.
bool Forgetting::giveReleased(uint32_t episode, uint32_t length) {
  const Episode& entry = book_.episodes()[episode];
  const uint32_t until = released().until(episode);
  if (!entry.ended() || until < entry.count) {
    trim(episode, stepEnd(episode, length, until));
    return true;
  }
  if (policy() != nullptr) book_.remove(episode);
  return policy() != nullptr;
}

}  // namespace exrp
