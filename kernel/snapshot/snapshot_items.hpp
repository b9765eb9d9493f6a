// The items of a snapshot's sections, and walks over rows in the order of the sections. For snapshot.cpp and snapshot_load.cpp.
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

/// Calls `visit` with the slot of each of the records `first`..first + count - 1, in order of episode and time.
template <typename Visit>
void Snapshot::visitRecords(double first, uint32_t count, Visit visit) const {
  const Store& store = replay_.book().store();
  const EpisodeList& episodes = replay_.book().episodes();
  uint32_t episode = episodes.oldest();
  double before = 0;
  while (episode != episodeNone && before + episodes.recordCount(episode) <= first) {
    before += episodes.recordCount(episode);
    episode = episodes[episode].newer;
  }
  auto skipped = static_cast<uint32_t>(first - before);
  while (count > 0 && episode != episodeNone) {
    const Episode& from = episodes[episode];
    uint32_t block = blockNone;
    for (uint32_t position = episodes.first(episode) + skipped; position < from.count && count > 0; ++position, --count) {
      if (block == blockNone) block = replay_.book().blocks().find(store, from.handle, store.ordinalOf(position));
      else if (store.within(position) == 0) block = store.block(block).next;
      visit(store.slotAt(block, position));
    }
    skipped = 0;
    episode = from.newer;
  }
}

/// The rows of a column that an episode's records use: those kept for some of them, and one from before where the oldest needs it.
inline uint32_t Snapshot::keptRowsOf(uint32_t column, uint32_t episode) const {
  const uint32_t every = replay_.book().store().column(column).every;
  const uint32_t count = replay_.book().episodes()[episode].count;
  return count / every + (count % every != 0 ? 1 : 0) - replay_.book().episodes().first(episode) / every;
}

/// Calls `visit` with each of the rows `first`..first + count - 1 that are kept of a column.
template <typename Visit>
void Snapshot::visitKept(uint32_t column, double first, uint32_t count, Visit visit) {
  Store& store = replay_.book().store();
  const EpisodeList& episodes = replay_.book().episodes();
  const uint32_t every = store.column(column).every;
  double before = 0;
  for (uint32_t episode = episodes.oldest(); episode != episodeNone && count > 0; episode = episodes[episode].newer) {
    const Episode& entry = episodes[episode];
    const uint32_t rows = keptRowsOf(column, episode);
    const uint32_t skipped = before + rows <= first ? rows : before < first ? static_cast<uint32_t>(first - before) : 0;
    before += rows;
    for (uint32_t row = skipped; row < rows && count > 0; ++row, --count) {
      const uint32_t position = (episodes.first(episode) / every + row) * every;
      const uint32_t block = replay_.book().blocks().find(store, entry.handle, store.ordinalOf(position));
      visit(block == blockNone ? store.kept().carriedAt(column, episode) : store.kept().at(column, block, position));
    }
  }
}

/// The births that are kept of an episode: those of its runs of trimLength() positions, from that of its oldest record on.
inline uint32_t Snapshot::birthsOf(uint32_t episode) const {
  const uint32_t length = replay_.book().trimLength();
  const EpisodeList& episodes = replay_.book().episodes();
  const Episode& entry = episodes[episode];
  const uint32_t first = episodes.first(episode);
  if (first == entry.count) return 0;
  return (entry.count - 1) / length - first / length + 1;
}

/// Calls `visit` with the episode and the first position of each of the births `first`..first + count - 1, in order of episode and time.
template <typename Visit>
void Snapshot::visitBirths(double first, uint32_t count, Visit visit) const {
  const uint32_t length = replay_.book().trimLength();
  const EpisodeList& episodes = replay_.book().episodes();
  double before = 0;
  for (uint32_t episode = episodes.oldest(); episode != episodeNone && count > 0; episode = episodes[episode].newer) {
    const uint32_t runs = birthsOf(episode);
    const uint32_t skipped = before + runs <= first ? runs : before < first ? static_cast<uint32_t>(first - before) : 0;
    before += runs;
    for (uint32_t run = skipped; run < runs && count > 0; ++run, --count) {
      const uint32_t begin = episodes.first(episode);
      visit(episode, run == 0 ? begin : (begin / length + run) * length);
    }
  }
}

/// Calls `visit` with the episodes `first`..first + count - 1 of those that have a next state, in order of age.
template <typename Visit>
void Snapshot::visitNextStates(double first, uint32_t count, Visit visit) const {
  const EpisodeList& episodes = replay_.book().episodes();
  double before = 0;
  for (uint32_t episode = episodes.oldest(); episode != episodeNone && count > 0; episode = episodes[episode].newer) {
    if (replay_.book().part<NextStates>().find(episode, episodes[episode].count) == nullptr || before++ < first) continue;
    visit(episode);
    --count;
  }
}

}  // namespace exrp
