// The items of a snapshot's sections, and the walk over those that belong to episodes. For snapshot.cpp and snapshot_load.cpp.
#pragma once

#include <cstring>

#include "kernel/snapshot/snapshot.hpp"

namespace exrp {

struct CountersItem {
  uint64_t nextHandle;
  uint64_t recordedCount;
  uint64_t evictedCount;
  uint64_t episodeCount;
  uint64_t recordCount;
  uint32_t tableCount;
  uint32_t hasPriorities;
  uint64_t capacity;
  uint64_t recordBytes;
  uint64_t orphanCount;
};
struct EpisodeItem {
  uint64_t handle;
  uint32_t count;
  uint16_t state;
  uint16_t hasNextState;  // 1 or 0
  int32_t tag;
  uint32_t actor;
  uint32_t first;
  uint32_t unused;  // 0
};
struct OrphanItem {
  uint64_t handle;
  int32_t tag;
  uint32_t unused;  // 0
};
struct PickItem {
  uint32_t episode;  // ordinal by age
  uint32_t position;
};
static_assert(sizeof(CountersItem) == 72 && sizeof(EpisodeItem) == 32 && sizeof(OrphanItem) == 16 && sizeof(PickItem) == 8 && sizeof(EvictionItem) == 8);

template <typename Item>
Item itemAt(const uint8_t* items, size_t index) {
  Item item;
  memcpy(&item, items + index * sizeof(Item), sizeof(Item));
  return item;
}

/// Writes an item, and goes on behind it.
template <typename Item>
void putItem(uint8_t*& to, const Item& item) {
  memcpy(to, &item, sizeof item);
  to += sizeof item;
}

/// Whether each item of a section belongs to an episode, and a look at the episode says how many it has.
inline bool belongsToEpisodes(uint32_t section) {
  return section == EXRP_SECTION_PRIORITIES || section == EXRP_SECTION_BIRTHS || section == EXRP_SECTION_NEXT_STATES ||
         (section >= EXRP_SECTION_KEPT && section < EXRP_SECTION_PICKS);
}

/// The sum of a number over all episodes.
template <typename NumberOf>
double Snapshot::sumOf(NumberOf numberOf) const {
  const EpisodeList& episodes = replay_.book().episodes();
  double sum = 0;
  for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) sum += numberOf(episode);
  return sum;
}

/// Calls `visit` with each episode that has some of the items `first`..first + count - 1, and with the numbers in it of the first one and of
/// that behind the last one. They come in order of episode and time. Where `first` is not 0, it goes on behind the call before.
template <typename Visit>
void Snapshot::visitItems(uint32_t section, double first, uint32_t count, Visit visit) {
  const EpisodeList& episodes = replay_.book().episodes();
  uint32_t episode = first == 0 ? episodes.oldest() : visited_;
  double before = first == 0 ? 0 : visitedBefore_;
  for (; episode != episodeNone && count > 0; episode = episodes[episode].newer) {
    visited_ = episode;
    visitedBefore_ = before;
    const uint32_t items = itemsOf(section, episode);
    const uint32_t skipped = before + items <= first ? items : before < first ? static_cast<uint32_t>(first - before) : 0;
    const uint32_t taken = items - skipped < count ? items - skipped : count;
    before += items;
    count -= taken;
    if (taken > 0) visit(episode, skipped, skipped + taken);
  }
}

}  // namespace exrp
