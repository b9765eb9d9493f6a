// Saving a replay: what its sections are, and the items of each, as they were when the snapshot was begun.
#include "kernel/snapshot/snapshot_items.hpp"

namespace exrp {

// ---- what there is ----

Snapshot::Shape Snapshot::shapeOf(uint32_t section) const {
  // While loading, counts come from the counters that were loaded.
  const bool loading = loadSection_ > 0;
  const double episodeCount = loading ? static_cast<double>(loadExpected_[0]) : replay_.book().episodes().count();
  switch (section) {
    case EXRP_SECTION_COUNTERS: return {1, sizeof(CountersItem)};
    case EXRP_SECTION_EPISODES: return {episodeCount, sizeof(EpisodeItem)};
    case EXRP_SECTION_EVICTION:
      return {replay_.eviction() == nullptr ? 0 : evictionHeaderItems() + episodeCount, sizeof(EvictionItem)};
    case EXRP_SECTION_ORPHANS:
      return {loading ? static_cast<double>(loadExpected_[2]) : replay_.book().part<OrphanHandles>().count(), sizeof(OrphanItem)};
    default: break;
  }
  if (section == transformSection()) {
    if (!replay_.picks().anyTransformed()) return {0, 0};
    const auto& statistics = replay_.book().part<ColumnStatistics>();
    double numbers = replay_.picks().viewCount();
    statistics.forEach([&](uint32_t column) { numbers += 1 + 2.0 * statistics.find(column)->count; });
    return {numbers, sizeof(double)};
  }
  if (section < EXRP_SECTION_PICKS) {
    const uint32_t bytes = itemBytesOf(section);
    return {bytes == 0 ? 0.0 : sumOf([&](uint32_t episode) { return itemsOf(section, episode); }), bytes};
  }
  // Loaded or not, a view has the picks that its policy says.
  const auto pickCount = [&](const PickView& view) {
    return loading ? validPicks(view.picks.policy()) : static_cast<double>(view.picks.count());
  };
  if (section < EXRP_SECTION_SELECTOR) {
    const bool isView = section < EXRP_SECTION_PICKS + replay_.picks().viewCount();
    return {isView ? pickCount(replay_.picks().view(section - EXRP_SECTION_PICKS)) : 0, sizeof(PickItem)};
  }
  const uint32_t selector = (section - EXRP_SECTION_SELECTOR) / 2;
  const PickSelector& rule = replay_.picks().selector(selector);
  if ((section - EXRP_SECTION_SELECTOR) % 2 == 0) return {1, rule.headerBytes()};
  return {rule.itemBytes() == 0 ? 0 : pickCount(replay_.picks().viewOf(selector)), rule.itemBytes()};
}

double Snapshot::validPicks(const PickPolicy& policy) const {
  const EpisodeList& episodes = replay_.book().episodes();
  return sumOf([&](uint32_t episode) {
    if (!replay_.book().hasPicks(policy, episode)) return uint32_t{0};
    return policy.validCount(episodes.first(episode), episodes[episode].count, episodes[episode].ended());
  });
}

/// 0 for a section that this replay has not.
uint32_t Snapshot::itemBytesOf(uint32_t section) const {
  const Store& store = replay_.book().store();
  switch (section) {
    case EXRP_SECTION_RECORDS: return store.recordBytes();
    case EXRP_SECTION_PRIORITIES: return sizeof(double);
    case EXRP_SECTION_BIRTHS: return sizeof(uint64_t);
    case EXRP_SECTION_NEXT_STATES: return store.leaves().bytes();
    default: break;
  }
  const uint32_t index = section - EXRP_SECTION_KEPT;
  return index < store.kept().count() ? store.column(store.kept().column(index)).bytes : 0;
}

uint32_t Snapshot::itemsOf(uint32_t section, uint32_t episode) const {
  const auto& book = replay_.book();
  const uint32_t first = book.episodes().first(episode);
  const uint32_t count = book.episodes()[episode].count;
  // The runs of so many positions that records are in, or would be where there are none.
  const auto runs = [&](uint32_t length) { return count / length + (count % length != 0 ? 1 : 0) - first / length; };
  switch (section) {
    case EXRP_SECTION_RECORDS: return book.storedRows(episode);
    case EXRP_SECTION_PRIORITIES: return replay_.picks().initialPriorities().inUse() ? count - first : 0;
    case EXRP_SECTION_BIRTHS: return first == count ? 0 : runs(book.trimLength());
    case EXRP_SECTION_NEXT_STATES: return replay_.book().part<NextStates>().find(episode, count) != nullptr ? 1 : 0;
    default: return runs(book.store().column(book.store().kept().column(section - EXRP_SECTION_KEPT)).every);
  }
}

uint32_t Snapshot::slotOf(uint32_t episode, uint32_t position) const {
  const Store& store = replay_.book().store();
  const uint32_t block = replay_.book().blocks().find(store, replay_.book().episodes()[episode].handle, store.ordinalOf(position));
  return store.slotAt(block, position);
}

/// The slot of `position`, where `before` is that of an earlier position of the episode, or UINT32_MAX. Mostly it is in the same block, or in the next one.
uint32_t Snapshot::slotAfter(uint32_t before, uint32_t episode, uint32_t position) const {
  const Store& store = replay_.book().store();
  if (before == UINT32_MAX) return slotOf(episode, position);
  const uint32_t block = store.blockOf(before);
  const uint32_t blocks = store.ordinalOf(position) - store.head(block).ordinal();
  return blocks == 0 ? store.slotAt(block, position) : blocks == 1 ? store.slotAt(store.block(block).next, position) : slotOf(episode, position);
}

/// The first position of a run of trimLength(), or the oldest of the episode.
uint32_t Snapshot::birthPositionOf(uint32_t episode, uint32_t item) const {
  const uint32_t length = replay_.book().trimLength();
  const uint32_t first = replay_.book().episodes().first(episode);
  return item == 0 ? first : (first / length + item) * length;
}

/// A row of a column that only some records keep, or the one from before that the oldest record needs.
uint8_t* Snapshot::keptRowOf(uint32_t section, uint32_t episode, uint32_t item) const {
  Store& store = replay_.book().store();
  const uint32_t column = store.kept().column(section - EXRP_SECTION_KEPT);
  const uint32_t every = store.column(column).every;
  const uint32_t position = (replay_.book().episodes().first(episode) / every + item) * every;
  const uint32_t block = replay_.book().blocks().find(store, replay_.book().episodes()[episode].handle, store.ordinalOf(position));
  return block == blockNone ? store.kept().carriedAt(column, episode) : store.kept().at(column, block, position);
}

void Snapshot::readItems(uint32_t section, uint32_t episode, uint32_t begin, uint32_t end, uint8_t*& to) const {
  const EpisodeList& episodes = replay_.book().episodes();
  const Store& store = replay_.book().store();
  const uint32_t bytes = itemBytesOf(section);
  uint32_t slot = UINT32_MAX;
  for (uint32_t item = begin; item < end; ++item) {
    if (section == EXRP_SECTION_PRIORITIES) {
      slot = slotAfter(slot, episode, episodes.first(episode) + item);
      putItem(to, double{replay_.picks().initialPriorities().get(slot)});
    } else if (section == EXRP_SECTION_BIRTHS) {
      slot = slotAfter(slot, episode, birthPositionOf(episode, item));
      putItem(to, uint64_t{store.births().at(slot)});
    } else {
      const bool isNext = section == EXRP_SECTION_NEXT_STATES;
      memcpy(to, isNext ? replay_.book().part<NextStates>().find(episode, episodes[episode].count) : keptRowOf(section, episode, item), bytes);
      to += bytes;
    }
  }
}

/// The policy's header in items; there is a policy.
uint32_t Snapshot::evictionHeaderItems() const { return replay_.eviction()->headerBytes() / uint32_t{sizeof(EvictionItem)}; }

Status Snapshot::info(uint32_t section, double* info) const {
  if (section >= (saver_ == nullptr ? sectionCount() : saved_.count)) return fail(Status::argument, 2, section);
  const Shape shape = saver_ == nullptr ? shapeOf(section) : saved_.all[section].shape;
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

Status Snapshot::begin(const void* saver, bool hasRecords) {
  if (loadSection_ > 0 || saver_ != nullptr) return fail(Status::order, 0, 0, 0);
  Status status = numberEpisodes();
  if (status == Status::ok) status = copySections();
  if (status == Status::ok && hasRecords) status = replay_.book().part<SavedRows>().take(replay_.book());
  saver_ = saver;
  if (status != Status::ok) endFor(saver);
  return status;
}

void Snapshot::endFor(const void* saver) {
  if (saver_ == nullptr || saver_ != saver) return;
  saver_ = nullptr;
  replay_.book().part<SavedRows>().release();
  Scratch<SavedSection>().swap(saved_.all);
  Scratch<uint8_t>().swap(saved_.items);
  ordinals_.destroy();
  numbered_.destroy();
  evictionItems_.destroy();
  numberedAt_ = never;
}

void Snapshot::endFor(const void* saver, Sections* sections) {
  if (saver_ != saver) return;
  sections->count = saved_.count;
  sections->all.swap(saved_.all);
  sections->items.swap(saved_.items);
  endFor(saver);
}

Status Snapshot::copySections() {
  saved_.count = sectionCount();
  if (!saved_.all.commit(saved_.count)) return fail(Status::memory, double{sizeof(SavedSection)} * saved_.count);
  double bytes = 0;
  for (uint32_t section = 0; section < saved_.count; ++section) {
    const Shape shape = shapeOf(section);
    saved_.all[section] = {shape, static_cast<size_t>(bytes)};
    if (section == EXRP_SECTION_RECORDS) continue;
    bytes += shape.itemCount * shape.itemBytes;
    bytes = (static_cast<double>(static_cast<uint64_t>(bytes / 8)) + 1) * 8;
  }
  if (bytes > static_cast<double>(SIZE_MAX) || !saved_.items.commit(static_cast<size_t>(bytes))) return fail(Status::memory, bytes);
  for (uint32_t section = 0; section < saved_.count; ++section) {
    const auto count = static_cast<uint32_t>(saved_.all[section].shape.itemCount);
    if (section != EXRP_SECTION_RECORDS && count > 0) copySection(section, count, &saved_.items[saved_.all[section].at]);
  }
  return Status::ok;
}

Status Snapshot::read(uint32_t section, double first, uint32_t count, uint8_t* items, double itemsBytes) {
  if (saver_ == nullptr) return fail(Status::order, section, 0, first);
  if (section >= saved_.count) return fail(Status::argument, 2, section);
  const SavedSection& saved = saved_.all[section];
  const double itemBytes = saved.shape.itemBytes;
  if (!(first >= 0) || first != static_cast<double>(static_cast<uint64_t>(first)) || first + count > saved.shape.itemCount) {
    return fail(Status::argument, 3, first);
  }
  const double needed = count * itemBytes;
  if (itemsBytes < needed) return fail(Status::bufferSize, itemsBytes, needed);
  if (count == 0) return Status::ok;
  SavedRows& rows = replay_.book().part<SavedRows>();
  if (section != EXRP_SECTION_RECORDS) {
    memcpy(items, &saved_.items[saved.at + static_cast<size_t>(first * itemBytes)], static_cast<size_t>(needed));
    return Status::ok;
  }
  return first == rows.readCount() ? rows.read(replay_.book().store(), count, items) : fail(Status::order, section, rows.readCount(), first);
}

/// Copies all items of a section that is not that of the records.
void Snapshot::copySection(uint32_t section, uint32_t count, uint8_t* items) {
  if (belongsToEpisodes(section)) {
    return visitItems(section, 0, count, [&](uint32_t episode, uint32_t begin, uint32_t end) { readItems(section, episode, begin, end, items); });
  }
  switch (section) {
    case EXRP_SECTION_COUNTERS: return readCounters(items);
    case EXRP_SECTION_EPISODES: return readEpisodes(count, items);
    case EXRP_SECTION_EVICTION: return readEviction(count, items);
    case EXRP_SECTION_ORPHANS: return readOrphans(count, items);
    default: break;
  }
  if (section == transformSection()) return readTransforms(items);
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
  putItem(items, CountersItem{replay_.book().nextHandle(),
                              replay_.book().recordedCount(),
                              replay_.book().evictedCount(),
                              replay_.book().episodes().count(),
                              replay_.book().recordCount(),
                              replay_.picks().viewCount(),
                              replay_.picks().initialPriorities().inUse(),
                              replay_.config().capacity,
                              replay_.book().store().recordBytes(),
                              replay_.book().part<OrphanHandles>().count()});
}

void Snapshot::readOrphans(uint32_t count, uint8_t* items) const {
  const OrphanHandles& orphans = replay_.book().part<OrphanHandles>();
  for (uint32_t item = 0; item < count; ++item) putItem(items, OrphanItem{orphans.handles()[item], orphans.tag(item), 0});
}

void Snapshot::readEpisodes(uint32_t count, uint8_t* items) const {
  const EpisodeList& episodes = replay_.book().episodes();
  for (uint32_t item = 0; item < count; ++item) {
    const uint32_t episode = numbered_[item];
    const Episode& entry = episodes[episode];
    putItem(items, EpisodeItem{entry.handle,
                               entry.count,
                               static_cast<uint16_t>(entry.state),
                               static_cast<uint16_t>(itemsOf(EXRP_SECTION_NEXT_STATES, episode)),
                               episodes.tag(episode),
                               episodes.actor(episode),
                               episodes.first(episode),
                               0});
  }
}

void Snapshot::readTransforms(uint8_t* items) const {
  const PickViews& picks = replay_.picks();
  for (uint32_t view = 0; view < picks.viewCount(); ++view) putItem(items, static_cast<double>(picks.view(view).drawnCount));
  const auto& statistics = replay_.book().part<ColumnStatistics>();
  statistics.forEach([&](uint32_t column) {
    const ColumnStatistics::Of& of = *statistics.find(column);
    putItem(items, static_cast<double>(of.records));
    memcpy(items, of.numbers.data(), size_t{2} * of.count * sizeof(double));
    items += size_t{2} * of.count * sizeof(double);
  });
}

void Snapshot::readPicks(const PickIndex& picks, uint32_t count, uint8_t* items) const {
  const Store& store = replay_.book().store();
  for (uint32_t item = 0; item < count; ++item) {
    const uint32_t slot = picks.slot(item);
    putItem(items, PickItem{ordinals_[store.head(store.blockOf(slot)).episode], store.positionOf(slot)});
  }
}

}  // namespace exrp
