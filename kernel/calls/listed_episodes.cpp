#include "kernel/calls/listed_episodes.hpp"

#include "kernel/base/prefetch.hpp"
#include "kernel/base/typed_number.hpp"
#include "kernel/base/whole_number.hpp"

namespace exrp {
namespace {

constexpr uint32_t piece = 32;  // episodes whose cache misses overlap
constexpr uint32_t allEnds = 7;

uint32_t endOf(const Episode& episode) { return episode.state - uint32_t{EXRP_EPISODE_OPEN}; }

/// Asks for the lines of the rewards in one block.
void prefetchRewards(const Store& store, uint32_t block) {
  const uint32_t column = store.rewardColumn();
  prefetchSpan(store.at(column, store.firstSlot(block)), size_t{store.blockLength()} * store.stride(column));
}

/// The return of an episode, whose rewards `read` gives.
template <typename Read>
double returnOf(const StoredEpisodes& stored, uint32_t episode, double discount, Read read) {
  const Store& store = stored.store();
  const uint32_t column = store.rewardColumn();
  const size_t stride = store.stride(column);
  double sum = 0;
  double factor = 1;
  uint32_t position = stored.episodes().first(episode);
  for (uint32_t block = stored.episodes()[episode].firstBlock, left = stored.episodes().recordCount(episode); left > 0;) {
    const uint32_t slot = store.slotAt(block, position);
    const uint32_t room = store.blockLength() - store.within(slot);
    const uint32_t run = room < left ? room : left;
    const uint8_t* reward = store.at(column, slot);
    for (uint32_t at = 0; at < run; ++at, reward += stride, factor *= discount) sum += factor * read(reward);
    position += run;
    left -= run;
    block = store.block(block).next;
  }
  return sum;
}

/// How many records were written since the newest one of an episode.
double ageOf(const StoredEpisodes& stored, uint32_t episode) {
  if (!stored.holdsRecords(episode)) return __builtin_nan("");
  const Store& store = stored.store();
  const Episode& entry = stored.episodes()[episode];
  const uint32_t newest = entry.count - 1;
  // The final state may have the last block for itself.
  const bool isLast = store.head(entry.lastBlock).ordinal() == store.ordinalOf(newest);
  const uint32_t block = isLast ? entry.lastBlock : store.block(entry.lastBlock).previous;
  return static_cast<double>(stored.recordedCount() - store.births().at(store.slotAt(block, newest)) - 1);
}

}  // namespace

Status EpisodeFilter::parse(const Replay& replay, const double* numbers, uint32_t count, EpisodeFilter* parsed) {
  if (count != EXRP_EPISODES_COUNT) return fail(Status::argument, 3, count);
  EpisodeFilter& to = *parsed;
  const auto whole = [&](uint32_t index, double largest, uint32_t* number) {
    if (!isWhole(numbers[index], 0, largest)) return fail(Status::argument, 2, numbers[index]);
    *number = static_cast<uint32_t>(numbers[index]);
    return Status::ok;
  };
  Status status = whole(EXRP_EPISODES_ENDS, allEnds, &to.ends);
  if (status == Status::ok) status = whole(EXRP_EPISODES_LENGTH_MIN, UINT32_MAX, &to.lengthMin);
  if (status == Status::ok) status = whole(EXRP_EPISODES_LENGTH_MAX, UINT32_MAX, &to.lengthMax);
  if (status == Status::ok) status = whole(EXRP_EPISODES_TAG_COUNT, EXRP_LIMIT_TAGS, &to.tagCount);
  if (status == Status::ok) status = whole(EXRP_EPISODES_REWARD_TYPE, EXRP_TYPE_INT32, &to.rewardType);
  if (status != Status::ok) return status;
  for (uint32_t at = 0; at < to.tagCount; ++at) {
    const double tag = numbers[EXRP_EPISODES_TAG + at];
    if (!isWhole(tag, INT32_MIN, INT32_MAX)) return fail(Status::argument, 2, tag);
    to.tags[at] = static_cast<int32_t>(tag);
  }
  to.discount = numbers[EXRP_EPISODES_DISCOUNT];
  if (!(to.discount >= 0 && to.discount <= 1)) return fail(Status::argument, 2, to.discount);
  const Column& reward = replay.book().store().reward();
  const bool canSum = to.rewardType == EXRP_TYPE_OTHER || (reward.itemCount == 1 && isTypeOf(to.rewardType, reward.itemBytes));
  return canSum ? Status::ok : fail(Status::argument, 2, to.rewardType);
}

bool EpisodeFilter::takes(const EpisodeList& episodes, uint32_t episode) const {
  const uint32_t length = episodes.recordCount(episode);
  if ((ends >> endOf(episodes[episode]) & 1) == 0 || length < lengthMin || length > lengthMax) return false;
  uint32_t at = 0;
  while (at < tagCount && tags[at] != episodes.tag(episode)) ++at;
  return at < tagCount || tagCount == 0;
}

namespace {

template <typename Read>
uint32_t fillArrays(const StoredEpisodes& stored, const EpisodeFilter& filter, const EpisodeArrays& arrays, Read read) {
  const EpisodeList& episodes = stored.episodes();
  const bool sums = filter.rewardType != EXRP_TYPE_OTHER;
  uint32_t row = 0;
  for (uint32_t episode = episodes.oldest(); episode != episodeNone;) {
    uint32_t taken[piece];
    uint32_t count = 0;
    for (; episode != episodeNone && count < piece; episode = episodes[episode].newer) {
      if (!filter.takes(episodes, episode)) continue;
      taken[count++] = episode;
      if (sums) prefetchRewards(stored.store(), episodes[episode].firstBlock);
    }
    for (uint32_t at = 0; at < count; ++at, ++row) {
      const uint32_t each = taken[at];
      arrays.handles[row] = stored.handleAt(each);
      arrays.recordCounts[row] = episodes.recordCount(each);
      arrays.firstPositions[row] = episodes.first(each);
      arrays.tags[row] = episodes.tag(each);
      arrays.ends[row] = static_cast<uint8_t>(endOf(episodes[each]));
      arrays.ages[row] = ageOf(stored, each);
      if (sums) arrays.returns[row] = returnOf(stored, each, filter.discount, read);
    }
  }
  return row;
}

/// Reads the unread blocks of those episodes whose rewards are to be summed. Rewards stay in memory then.
Status readRewards(const StoredEpisodes& stored, const EpisodeFilter& filter) {
  const Store& store = stored.store();
  const EpisodeList& episodes = stored.episodes();
  RowSource* const source = store.source();
  if (source == nullptr || filter.rewardType == EXRP_TYPE_OTHER) return Status::ok;
  Status status = Status::ok;
  for (uint32_t episode = episodes.oldest(); episode != episodeNone && status == Status::ok; episode = episodes[episode].newer) {
    if (!filter.takes(episodes, episode)) continue;
    for (uint32_t block = episodes[episode].firstBlock; block != blockNone && status == Status::ok; block = store.block(block).next) {
      if (source->isUnread(block)) status = source->fetchOne(block);
    }
  }
  source->begin();
  return status;
}

}  // namespace

Status listEpisodes(const Replay& replay, const EpisodeFilter& filter, const EpisodeArrays& arrays, uint32_t* listed) {
  const uint32_t count = replay.book().episodes().count();
  if (arrays.rowCount < count) return fail(Status::bufferSize, arrays.rowCount, count);
  if (const Status status = readRewards(replay.book(), filter); status != Status::ok) return status;
  *listed = withNumbers(filter.rewardType, [&](auto read) { return fillArrays(replay.book(), filter, arrays, read); });
  return Status::ok;
}

}  // namespace exrp
