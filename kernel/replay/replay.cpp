#include "kernel/replay/replay.hpp"

#include <utility>

#include "kernel/rules/native_rules.hpp"

namespace exrp {

// ---- creation ----

Status Replay::create(const ReplayConfig& config, const PickPolicy& pick, bool isPassing) {
  config_ = config;
  // Memory comes as it is used: say now what would otherwise end the process when the replay is nearly full.
  // How small compressed columns get, only their rows tell. Rows that may be on the disk need no memory.
  double recordBytes = 0;
  for (uint32_t index = 0; index < config.columnCount; ++index) {
    const bool isWide = config.columns[index].bytes > columnAloneBytes && config.columns[index].every == 1;
    if ((config.compression != EXRP_COMPRESSION_NONE || config.residentBytes > 0) && isWide && index != config.leafCount + 1) continue;
    // A column that not all records keep has at least one row a block.
    const double rows = (config.blockLength + config.columns[index].every - 1) / config.columns[index].every;
    recordBytes += config.columns[index].bytes * rows / config.blockLength;
  }
  const double available = physicalMemoryBytes();
  if (!isPassing && available > 0 && recordBytes * config.capacity > available) {
    return fail(Status::memory, recordBytes * config.capacity, available);
  }
  const uint32_t episodeCountMax = config.blockCountMax();
  forgetting_.create(config);
  Status status = book_.create(config);
  // Selectors draw from streams 1, 2, ...
  const Random random(config.seed, 0);
  std::unique_ptr<EvictionPolicy> policy;
  if (status == Status::ok) status = createEvictionPolicy(config.eviction, config.evictionOption, random, episodeCountMax, &policy);
  book_.part<Eviction>().create(std::move(policy), pick);
  if (status == Status::ok) status = book_.part<AgeLimit>().create(book_.episodes(), episodeCountMax, config.ageMax);
  if (status == Status::ok) status = book_.part<OpenEpisodes>().create(book_.episodes(), episodeCountMax);
  if (status == Status::ok) status = book_.part<OrphanHandles>().create();
  book_.part<ByteLimit>().create(config.columns, config.columnCount, config.leafCount, config.capacity, config.capacityBytes);
  book_.part<NextStates>().create(episodeCountMax, book_.store().leaves());
  book_.part<ReleasedRecords>().create(book_.episodes(), episodeCountMax);
  picks().create(config.capacity, config.episodeMax(), config.seed);
  uint32_t view = 0;
  return status == Status::ok ? createView(pick, &view) : status;
}

Status Replay::createView(const PickPolicy& policy, uint32_t* view) {
  const Status status = picks().createView(book_, policy, book_.part<ColumnStatistics>(), view);
  if (status == Status::ok) book_.noteChange();
  return status;
}

Status Replay::createSelector(uint32_t view, uint32_t kind, const double* options, uint32_t optionCount, uint32_t* selector) {
  const Status status = picks().createSelector(view, kind, options, optionCount, selector);
  if (status == Status::ok) book_.noteChange();
  return status;
}

// ---- what is known of it ----

void Replay::info(double* info) const {
  double indexBytes = book_.indexBytes();
  book_.listeners().forEach([&](const auto& each) { indexBytes += each.memoryBytes(); });
  // Some parts take a bit for each pick: a part of a byte does not count.
  indexBytes = static_cast<double>(static_cast<uint64_t>(indexBytes));
  const double columnBytes = book_.store().columnBytes();
  info[EXRP_INFO_CAPACITY] = config_.capacity;
  info[EXRP_INFO_EPISODE_COUNT] = book_.episodes().count();
  info[EXRP_INFO_RECORD_COUNT] = static_cast<double>(book_.recordCount());
  info[EXRP_INFO_PICK_COUNT] = picks().view(0).picks.count();
  info[EXRP_INFO_MEMORY_BYTES] = columnBytes + indexBytes + picks().viewBytes();
  info[EXRP_INFO_COLUMN_BYTES] = columnBytes;
  info[EXRP_INFO_INDEX_BYTES] = indexBytes;
  info[EXRP_INFO_BLOCK_LENGTH] = config_.blockLength;
  info[EXRP_INFO_SEGMENT_LENGTH] = config_.segmentLength == positionMax ? 0 : config_.segmentLength;
  info[EXRP_INFO_NEXT_HANDLE] = static_cast<double>(book_.nextHandle());
  info[EXRP_INFO_RECORDED_COUNT] = static_cast<double>(book_.recordedCount());
  info[EXRP_INFO_EVICTED_COUNT] = static_cast<double>(book_.evictedCount());
  info[EXRP_INFO_SELECTOR_COUNT] = picks().selectorCount();
  info[EXRP_INFO_RECORD_BYTES] = book_.store().recordBytes();
  info[EXRP_INFO_TABLE_COUNT] = picks().viewCount();
  info[EXRP_INFO_STORED_BYTES] = book_.part<ByteLimit>().storedBytes(book_.recordCount());
}

int32_t Replay::check() const {
  int32_t tens = 0;
  int32_t found = 0;
  const auto checkPart = [&](auto checked) {
    tens += 10;
    if (found != 0) return;
    if (const int32_t broken = checked(); broken != 0) found = tens + broken;
  };
  checkPart([&] { return book_.store().check(); });
  checkPart([&] { return book_.blocks().check(book_.store()); });
  checkPart([&] { return book_.episodes().check(); });
  checkPart([&] { return book_.check(); });
  checkPart([&] { return forgetting_.check(); });
  checkPart([&] { return picks().checkSelectors(); });
  book_.listeners().forEach([&](const auto& each) { checkPart([&] { return each.check(book_); }); });
  return found;
}

Status Replay::episodeInfo(double handle, double* info) const {
  const Status status = book_.checkHandle(handle);
  if (status != Status::ok) return status;
  const EpisodeList& episodes = book_.episodes();
  const uint32_t episode = book_.findEpisode(handle);
  info[EXRP_EPISODE_STATE] = episode == episodeNone ? EXRP_EPISODE_EVICTED : episodes[episode].state;
  info[EXRP_EPISODE_RECORD_COUNT] = episode == episodeNone ? 0 : episodes.recordCount(episode);
  info[EXRP_EPISODE_TAG] = episode == episodeNone ? 0 : episodes.tag(episode);
  info[EXRP_EPISODE_FIRST_POSITION] = episode == episodeNone ? 0 : episodes.first(episode);
  return Status::ok;
}

// ---- episodes begin and end ----

Status Replay::createEpisode(double* handle) {
  Status status = prepareRecord();
  if (status == Status::ok) status = forgetting_.makeRoom(1, 0, 0);
  if (status == Status::ok) *handle = book_.handleAt(forgetting_.begin(0));
  return status;
}

Status Replay::tagEpisode(double handle, int32_t tag) {
  uint32_t episode = episodeNone;
  const Status status = openEpisode(handle, &episode);
  if (status != Status::ok) return status;
  if (episode == episodeNone || book_.episodes()[episode].count > 0) return fail(Status::argument, 2, handle);
  book_.episodes().setTag(episode, tag);
  book_.noteChange();
  return Status::ok;
}

/// The episode that follows on one that is as long as one may be: one with no records, and the same tag.
uint32_t Replay::continueEpisode(uint32_t episode, const StateRef& state) {
  const int32_t tag = book_.episodes().tag(episode);
  const uint32_t actor = book_.episodes().actor(episode);
  if (book_.holdsRecords(episode)) book_.end(episode, state, true);
  else book_.remove(episode, false);  // nothing of it is left: it goes, but as one that has ended
  return forgetting_.beginAfter(tag, actor);
}

/// What the flags of a record ask for once it is there.
void Replay::finishRecord(uint32_t* episode, uint32_t flags, const StateRef& finalState) {
  if ((flags & EXRP_RECORD_ENDS) != 0) book_.end(*episode, finalState, (flags & EXRP_RECORD_TRUNCATED) != 0);
  const EpisodeList& episodes = book_.episodes();
  if ((flags & EXRP_RECORD_BEGINS) != 0) *episode = forgetting_.beginAfter(episodes.tag(*episode), episodes.actor(*episode));
}

Status Replay::endEpisode(double handle, const StateRef& finalState, uint32_t flags, uint32_t* ended) {
  if ((flags & ~uint32_t{EXRP_RECORD_TRUNCATED}) != 0) return fail(Status::argument, 5, flags);
  uint32_t episode = episodeNone;
  Status status = openEpisode(handle, &episode);
  if (status != Status::ok) return status;
  if (episode != episodeNone && book_.holdsRecords(episode)) {
    status = prepareRecord();
    if (status == Status::ok) status = forgetting_.makeRoom(book_.needsBlock(episode) ? 1 : 0, 0, book_.part<ByteLimit>().stateBytes());
    if (status != Status::ok) return status;
    episode = book_.findEpisode(handle);
  }
  if (episode != episodeNone && !book_.holdsRecords(episode)) {
    // No record, so no pick could ever begin in it.
    book_.remove(episode, false);
    episode = episodeNone;
  }
  *ended = episode != episodeNone;
  if (episode != episodeNone) {
    book_.end(episode, finalState, flags != 0);
  } else {
    book_.part<OrphanHandles>().remove(static_cast<uint64_t>(handle));
    book_.noteChange();
  }
  return Status::ok;
}

Status Replay::cutEpisode(double handle, const StateRef& finalState, uint32_t* episode) {
  if (*episode == episodeNone || book_.episodes()[*episode].count == 0) return Status::ok;
  // One whose records were all trimmed takes no final state, and gives its block to the next.
  if (book_.holdsRecords(*episode)) {
    const Status status = forgetting_.makeRoom(book_.needsBlock(*episode) ? 2 : 1, 0, book_.part<ByteLimit>().stateBytes());
    if (status != Status::ok) return status;
  }
  *episode = book_.isLive(*episode, handle) ? continueEpisode(*episode, finalState) : episodeNone;
  return Status::ok;
}

// ---- records go because the caller says so ----

Status Replay::evictEpisode(double handle) {
  Status status = book_.checkHandle(handle);
  if (status != Status::ok) return status;
  const uint32_t episode = book_.findEpisode(handle);
  if (episode == episodeNone) return book_.failUnknown(handle);
  status = picks().prepareRemoval();
  if (status == Status::ok) book_.remove(episode);
  return status;
}

Status Replay::clear() {
  const Status status = picks().prepareRemoval();
  while (status == Status::ok && book_.episodes().oldest() != episodeNone) book_.remove(book_.episodes().oldest());
  return status;
}

Status Replay::releaseRecords(double handle, uint32_t position) {
  Status status = book_.checkHandle(handle);
  if (status != Status::ok) return status;
  const uint32_t episode = book_.findEpisode(handle);
  if (episode == episodeNone) return book_.failUnknown(handle);
  const uint32_t count = book_.episodes()[episode].count;
  if (position > count) return fail(Status::recordUnknown, 0, handle, position, count);
  ReleasedRecords& released = book_.part<ReleasedRecords>();
  if (position <= book_.episodes().first(episode) || position <= released.until(episode)) return Status::ok;
  status = released.begin();
  if (status == Status::ok) released.set(episode, position, book_.birthOf(episode));
  return status;
}

Status Replay::trimEpisode(double handle, uint32_t position) {
  uint32_t episode = episodeNone;
  Status status = openEpisode(handle, &episode);
  if (status != Status::ok) return status;
  if (episode == episodeNone) return book_.failUnknown(handle);
  const uint32_t count = book_.episodes()[episode].count;
  if (position > count) return fail(Status::recordUnknown, 0, handle, position, count);
  if (position <= book_.episodes().first(episode)) return Status::ok;
  status = picks().prepareRemoval();
  if (status == Status::ok) forgetting_.trim(episode, position);
  return status;
}

Status Replay::trimOpen(double* handle, double* first) {
  const uint32_t oldest = book_.part<OpenEpisodes>().oldest();
  if (oldest != episodeNone) {
    const Status status = picks().prepareRemoval();
    if (status != Status::ok) return status;
  }
  *handle = oldest == episodeNone ? -1 : book_.handleAt(oldest);
  *first = 0;
  if (oldest == episodeNone) return Status::ok;
  forgetting_.trimStep(oldest, book_.trimLength());
  *first = book_.episodes().first(oldest);
  return Status::ok;
}

// ---- loading ----

Status Replay::restoreEpisode(uint64_t handle, uint32_t first, uint32_t count, uint32_t state, int32_t tag) {
  const Status status = book_.restore(handle, first, count, state, tag);
  return status == Status::ok && forgetting_.check() != 0 ? Status::dataCorrupt : status;
}

Status Replay::restoreNextState(uint32_t episode) {
  const Status status = reserveNextStates(1, 1);
  if (status == Status::ok) book_.part<NextStates>().reserve(episode, book_.episodes()[episode].count);
  return status;
}

}  // namespace exrp
