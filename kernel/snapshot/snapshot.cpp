// Saving a replay: what its sections are, and the items of each, as they were when the snapshot was begun.
#include "kernel/snapshot/snapshot_items.hpp"

namespace exrp {

// ---- what there is ----

Snapshot::Shape Snapshot::shapeOf(uint32_t section) const {
  const Store& store = replay_.book().store();
  const EpisodeList& episodes = replay_.book().episodes();
  // While loading, counts come from the counters that were loaded.
  const bool loading = loadSection_ > 0;
  const double episodeCount = loading ? static_cast<double>(loadExpected_[0]) : episodes.count();
  switch (section) {
    case EXRP_SECTION_COUNTERS: return {1, sizeof(CountersItem)};
    case EXRP_SECTION_EPISODES: return {episodeCount, sizeof(EpisodeItem)};
    case EXRP_SECTION_RECORDS: {
      double rows = 0;
      for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) {
        rows += replay_.book().storedRows(episode);
      }
      return {rows, store.recordBytes()};
    }
    case EXRP_SECTION_EVICTION:
      return {replay_.eviction() == nullptr ? 0 : evictionHeaderItems() + episodeCount, sizeof(EvictionItem)};
    case EXRP_SECTION_PRIORITIES:
      return {replay_.picks().initialPriorities().inUse() ? static_cast<double>(replay_.book().recordCount()) : 0, sizeof(double)};
    case EXRP_SECTION_ORPHANS:
      return {loading ? static_cast<double>(loadExpected_[2]) : replay_.book().part<OrphanHandles>().count(), sizeof(OrphanItem)};
    case EXRP_SECTION_BIRTHS: {
      double births = 0;
      for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) {
        births += birthsOf(episode);
      }
      return {births, sizeof(uint64_t)};
    }
    case EXRP_SECTION_NEXT_STATES: {
      double count = 0;
      visitNextStates(0, UINT32_MAX, [&](uint32_t) { ++count; });
      return {count, store.column(0).bytes};
    }
    default: break;
  }
  if (section < EXRP_SECTION_KEPT) return {0, 0};
  if (section >= EXRP_SECTION_KEPT && section < EXRP_SECTION_PICKS) {
    const uint32_t index = section - EXRP_SECTION_KEPT;
    if (index >= store.kept().count()) return {0, 0};
    const Column& column = store.column(store.kept().column(index));
    double rows = 0;
    for (uint32_t at = episodes.oldest(); at != episodeNone; at = episodes[at].newer) rows += keptRowsOf(store.kept().column(index), at);
    return {rows, column.bytes};
  }
  // Loaded or not, a view has the picks that its policy says.
  const auto pickCount = [&](const PickView& view) {
    return loading ? validPicks(view.picks.policy()) : static_cast<double>(view.picks.count());
  };
  if (section < EXRP_SECTION_SELECTOR) {
    const bool isTable = section >= EXRP_SECTION_PICKS && section < EXRP_SECTION_PICKS + replay_.picks().viewCount();
    return {isTable ? pickCount(replay_.picks().view(section - EXRP_SECTION_PICKS)) : 0, sizeof(PickItem)};
  }
  const uint32_t selector = (section - EXRP_SECTION_SELECTOR) / 2;
  const PickSelector& rule = replay_.picks().selector(selector);
  if ((section - EXRP_SECTION_SELECTOR) % 2 == 0) return {1, rule.headerBytes()};
  return {rule.itemBytes() == 0 ? 0 : pickCount(replay_.picks().viewOf(selector)), rule.itemBytes()};
}

double Snapshot::validPicks(const PickPolicy& policy) const {
  const EpisodeList& episodes = replay_.book().episodes();
  double count = 0;
  for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) {
    if (!replay_.book().hasPicks(policy, episode)) continue;
    count += policy.validCount(episodes.first(episode), episodes[episode].count, episodes[episode].ended());
  }
  return count;
}

/// The policy's header in items; there is a policy.
uint32_t Snapshot::evictionHeaderItems() const { return replay_.eviction()->headerBytes() / uint32_t{sizeof(EvictionItem)}; }

Status Snapshot::info(uint32_t section, double* info) const {
  if (section >= (saver_ == nullptr ? sectionCount() : savedCount_)) return fail(Status::argument, 2, section);
  const Shape shape = saver_ == nullptr ? shapeOf(section) : saved_[section].shape;
  info[0] = shape.itemCount;
  info[1] = shape.itemBytes;
  return Status::ok;
}

// ---- saving ----

/// Numbers the episodes by age, for items that name them by ordinal. Does nothing where nothing has changed since.
Status Snapshot::numberEpisodes() {
  if (numberedAt_ == replay_.book().changeCount()) return Status::ok;
  const EpisodeList& episodes = replay_.book().episodes();
  const size_t countMax = episodes.highWater();
  const size_t headerItems = replay_.eviction() == nullptr ? 0 : evictionHeaderItems();
  if (ordinals_.data() == nullptr) {
    const uint32_t reserved = replay_.book().store().blockCountMax();
    if (!ordinals_.create(reserved, Pages::small) || !numbered_.create(reserved, Pages::small) ||
        !evictionItems_.create(headerItems + reserved, Pages::small)) {
      ordinals_.destroy();
      return fail(Status::memory, 16.0 * reserved);
    }
  }
  if (!ordinals_.commit(countMax) || !numbered_.commit(countMax) || !evictionItems_.commit(headerItems + countMax)) {
    return fail(Status::memory, 16.0 * static_cast<double>(countMax));
  }
  uint32_t ordinal = 0;
  for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) {
    ordinals_[episode] = ordinal;
    numbered_[ordinal++] = episode;
  }
  numberedAt_ = replay_.book().changeCount();
  return Status::ok;
}

Status Snapshot::begin(const void* saver) {
  if (loadSection_ > 0 || saver_ != nullptr) return fail(Status::order, 0, 0, 0);
  Status status = numberEpisodes();
  if (status == Status::ok) status = copySections();
  if (status == Status::ok) status = replay_.book().part<SavedRows>().take(replay_.book());
  saver_ = saver;
  if (status != Status::ok) endFor(saver);
  return status;
}

void Snapshot::endFor(const void* saver) {
  if (saver_ == nullptr || saver_ != saver) return;
  saver_ = nullptr;
  replay_.book().part<SavedRows>().release();
  Scratch<SavedSection>().swap(saved_);
  Scratch<uint8_t>().swap(items_);
  ordinals_.destroy();
  numbered_.destroy();
  evictionItems_.destroy();
  numberedAt_ = never;
}

Status Snapshot::copySections() {
  savedCount_ = sectionCount();
  if (!saved_.commit(savedCount_)) return fail(Status::memory, double{sizeof(SavedSection)} * savedCount_);
  double bytes = 0;
  for (uint32_t section = 0; section < savedCount_; ++section) {
    const Shape shape = shapeOf(section);
    saved_[section] = {shape, static_cast<size_t>(bytes)};
    if (section == EXRP_SECTION_RECORDS) continue;
    bytes += shape.itemCount * shape.itemBytes;
    bytes = (static_cast<double>(static_cast<uint64_t>(bytes / 8)) + 1) * 8;
  }
  if (bytes > static_cast<double>(SIZE_MAX) || !items_.commit(static_cast<size_t>(bytes))) return fail(Status::memory, bytes);
  for (uint32_t section = 0; section < savedCount_; ++section) {
    const auto count = static_cast<uint32_t>(saved_[section].shape.itemCount);
    if (section != EXRP_SECTION_RECORDS && count > 0) copySection(section, count, &items_[saved_[section].at]);
  }
  return Status::ok;
}

Status Snapshot::read(uint32_t section, double first, uint32_t count, uint8_t* items, double itemsBytes) {
  if (saver_ == nullptr) return fail(Status::order, section, 0, first);
  if (section >= savedCount_) return fail(Status::argument, 2, section);
  const SavedSection& saved = saved_[section];
  const double itemBytes = saved.shape.itemBytes;
  if (!(first >= 0) || first != static_cast<double>(static_cast<uint64_t>(first)) || first + count > saved.shape.itemCount) {
    return fail(Status::argument, 3, first);
  }
  const double needed = count * itemBytes;
  if (itemsBytes < needed) return fail(Status::bufferSize, itemsBytes, needed);
  if (count == 0) return Status::ok;
  SavedRows& rows = replay_.book().part<SavedRows>();
  if (section != EXRP_SECTION_RECORDS) {
    memcpy(items, &items_[saved.at + static_cast<size_t>(first * itemBytes)], static_cast<size_t>(needed));
    return Status::ok;
  }
  return first == rows.readCount() ? rows.read(replay_.book().store(), count, items) : fail(Status::order, section, rows.readCount(), first);
}

/// Copies all items of a section that is not that of the records.
void Snapshot::copySection(uint32_t section, uint32_t count, uint8_t* items) {
  switch (section) {
    case EXRP_SECTION_COUNTERS: return readCounters(items);
    case EXRP_SECTION_EPISODES: return readEpisodes(count, items);
    case EXRP_SECTION_EVICTION: return readEviction(count, items);
    case EXRP_SECTION_BIRTHS: return readBirths(count, items);
    case EXRP_SECTION_PRIORITIES:
      return visitRecords(0, count, [&](uint32_t slot) {
        const double priority = replay_.picks().initialPriorities().get(slot);
        memcpy(items, &priority, sizeof priority);
        items += sizeof priority;
      });
    case EXRP_SECTION_ORPHANS: return readOrphans(count, items);
    case EXRP_SECTION_NEXT_STATES:
      return visitNextStates(0, count, [&](uint32_t episode) {
        const NextStates& kept = replay_.book().part<NextStates>();
        memcpy(items, kept.find(episode, replay_.book().episodes()[episode].count), kept.stateBytes());
        items += kept.stateBytes();
      });
    default: break;
  }
  if (section < EXRP_SECTION_PICKS) {
    const Store& store = replay_.book().store();
    const uint32_t column = store.kept().column(section - EXRP_SECTION_KEPT);
    const uint32_t bytes = store.column(column).bytes;
    return visitKept(column, 0, count, [&](const uint8_t* row) {
      memcpy(items, row, bytes);
      items += bytes;
    });
  }
  if (section < EXRP_SECTION_SELECTOR) return readPicks(replay_.picks().view(section - EXRP_SECTION_PICKS).picks, count, items);
  const PickSelector& selector = replay_.picks().selector((section - EXRP_SECTION_SELECTOR) / 2);
  if ((section - EXRP_SECTION_SELECTOR) % 2 == 0) selector.saveHeader(items);
  else selector.saveItems(0, count, items);
}

/// The policy's header, and its items with the episodes by age. `items` is at a multiple of 8.
void Snapshot::readEviction(uint32_t count, uint8_t* items) const {
  replay_.eviction()->saveHeader(items);
  auto* const saved = reinterpret_cast<EvictionItem*>(items) + evictionHeaderItems();
  replay_.eviction()->save(saved);
  for (uint32_t item = 0; item < count - evictionHeaderItems(); ++item) saved[item].episode = ordinals_[saved[item].episode];
}

void Snapshot::readCounters(uint8_t* items) const {
  const CountersItem item = {replay_.book().nextHandle(),
                             replay_.book().recordedCount(),
                             replay_.book().evictedCount(),
                             replay_.book().episodes().count(),
                             replay_.book().recordCount(),
                             replay_.picks().viewCount(),
                             replay_.picks().initialPriorities().inUse(),
                             replay_.config().capacity,
                             replay_.book().store().recordBytes(),
                             replay_.book().part<OrphanHandles>().count()};
  memcpy(items, &item, sizeof item);
}

void Snapshot::readOrphans(uint32_t count, uint8_t* items) const {
  const OrphanHandles& orphans = replay_.book().part<OrphanHandles>();
  for (uint32_t item = 0; item < count; ++item) {
    const OrphanItem saved = {orphans.handles()[item], orphans.tag(item), 0};
    memcpy(items + size_t{item} * sizeof saved, &saved, sizeof saved);
  }
}

void Snapshot::readEpisodes(uint32_t count, uint8_t* items) const {
  for (uint32_t item = 0; item < count; ++item) {
    const uint32_t episode = numbered_[item];
    const Episode& entry = replay_.book().episodes()[episode];
    const bool hasNextState = replay_.book().part<NextStates>().find(episode, entry.count) != nullptr;
    const EpisodeItem saved = {entry.handle,
                               entry.count,
                               static_cast<uint16_t>(entry.state),
                               static_cast<uint16_t>(hasNextState ? 1 : 0),
                               replay_.book().episodes().tag(episode),
                               replay_.book().episodes().actor(episode),
                               replay_.book().episodes().first(episode),
                               0};
    memcpy(items, &saved, sizeof saved);
    items += sizeof saved;
  }
}

void Snapshot::readBirths(uint32_t count, uint8_t* items) const {
  const Store& store = replay_.book().store();
  visitBirths(0, count, [&](uint32_t episode, uint32_t position) {
    const uint32_t block = replay_.book().blocks().find(store, replay_.book().episodes()[episode].handle, store.ordinalOf(position));
    const uint64_t birth = store.births().at(store.slotAt(block, position));
    memcpy(items, &birth, sizeof birth);
    items += sizeof birth;
  });
}

void Snapshot::readPicks(const PickIndex& picks, uint32_t count, uint8_t* items) const {
  const Store& store = replay_.book().store();
  for (uint32_t item = 0; item < count; ++item) {
    const uint32_t slot = picks.slot(item);
    const PickItem saved = {ordinals_[store.head(store.blockOf(slot)).episode], store.positionOf(slot)};
    memcpy(items + size_t{item} * sizeof saved, &saved, sizeof saved);
  }
}

}  // namespace exrp
