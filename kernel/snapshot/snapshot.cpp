// Writing a replay as a snapshot: its sections, and the items of each, as the caller asks for them.
#include "kernel/snapshot/snapshot_items.hpp"

namespace exrp {

// ---- what there is ----

Snapshot::Shape Snapshot::shapeOf(uint32_t section) const {
  const Store& store = replay_.book().store();
  const EpisodeTable& episodes = replay_.book().episodes();
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
      return {loading ? static_cast<double>(loadExpected_[2]) : replay_.part<OrphanHandles>().count(), sizeof(OrphanItem)};
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
  // Loaded or not, a table has the picks that its policy says.
  const auto pickCount = [&](const PickView& table) {
    return loading ? validPicks(table.picks.policy()) : static_cast<double>(table.picks.count());
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
  const EpisodeTable& episodes = replay_.book().episodes();
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
  if (section >= sectionCount()) return fail(Status::argument, 2, section);
  const Shape shape = shapeOf(section);
  info[0] = shape.itemCount;
  info[1] = shape.itemBytes;
  return Status::ok;
}

// ---- what is made of the replay for items: ordinals, the policy's items, a cursor ----

/// Numbers the episodes by age, for items that name them by ordinal. Does nothing where nothing has changed since.
Status Snapshot::numberEpisodes() {
  if (numberedAt_ == replay_.book().changeCount()) return Status::ok;
  const EpisodeTable& episodes = replay_.book().episodes();
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

/// Asks the eviction policy for its items. Does nothing where nothing has changed since.
Status Snapshot::saveEviction() {
  if (evictionAt_ == replay_.book().changeCount()) return Status::ok;
  const Status status = numberEpisodes();
  if (status != Status::ok) return status;
  EvictionItem* const saved = evictionItems_.data() + evictionHeaderItems();
  replay_.eviction()->saveHeader(reinterpret_cast<uint8_t*>(evictionItems_.data()));
  replay_.eviction()->save(saved);
  for (uint32_t item = 0; item < replay_.book().episodes().count(); ++item) saved[item].episode = ordinals_[saved[item].episode];
  evictionAt_ = replay_.book().changeCount();
  return Status::ok;
}

/// Puts the cursor on stored row `row`.
Status Snapshot::seekRow(double row) {
  if (row == cursor_.row && cursor_.changeCount == replay_.book().changeCount()) return Status::ok;
  const EpisodeTable& episodes = replay_.book().episodes();
  Cursor to;
  to.episode = episodes.oldest();
  while (to.episode != episodeNone && to.row + replay_.book().storedRows(to.episode) <= row) {
    to.row += replay_.book().storedRows(to.episode);
    to.episode = episodes[to.episode].newer;
  }
  if (to.episode == episodeNone) return fail(Status::argument, 3, row);
  to.position = episodes.first(to.episode) + static_cast<uint32_t>(row - to.row);
  to.block = replay_.book().blocks().find(replay_.book().store(), episodes[to.episode].handle, replay_.book().store().ordinalOf(to.position));
  to.row = row;
  to.changeCount = replay_.book().changeCount();
  cursor_ = to;
  return Status::ok;
}

/// Takes the cursor to the next row.
void Snapshot::advanceRow() {
  const Store& store = replay_.book().store();
  const EpisodeTable& episodes = replay_.book().episodes();
  ++cursor_.row;
  if (++cursor_.position < replay_.book().stateRows(episodes[cursor_.episode])) {
    if (store.within(cursor_.position) == 0) cursor_.block = store.block(cursor_.block).next;
    return;
  }
  do {
    cursor_.episode = episodes[cursor_.episode].newer;
  } while (cursor_.episode != episodeNone && replay_.book().storedRows(cursor_.episode) == 0);
  cursor_.position = cursor_.episode == episodeNone ? 0 : episodes.first(cursor_.episode);
  cursor_.block = cursor_.episode == episodeNone ? blockNone : episodes[cursor_.episode].firstBlock;
}

// ---- reading ----

Status Snapshot::read(uint32_t section, double first, uint32_t count, uint8_t* items, double itemsBytes) {
  if (section >= sectionCount()) return fail(Status::argument, 2, section);
  if (loadSection_ > 0) return fail(Status::order, section, 0, first);
  const Shape shape = shapeOf(section);
  if (!(first >= 0) || first != static_cast<double>(static_cast<uint64_t>(first)) || first + count > shape.itemCount) {
    return fail(Status::argument, 3, first);
  }
  const double needed = double{1} * count * shape.itemBytes;
  if (itemsBytes < needed) return fail(Status::bufferSize, itemsBytes, needed);
  if (count == 0) return Status::ok;
  const uint64_t now = replay_.book().changeCount() + 1;
  if (first > 0 && begunAt_[section] != now) return fail(Status::order, section, 0, first);
  const Status status = readPiece(section, first, count, items);
  if (status == Status::ok) begunAt_[section] = now;
  return status;
}

Status Snapshot::readPiece(uint32_t section, double first, uint32_t count, uint8_t* items) {
  Status status = Status::ok;
  // Of records there may be more than 32 bits count; of no other items.
  const auto from = static_cast<uint32_t>(section == EXRP_SECTION_RECORDS ? 0 : first);
  switch (section) {
    case EXRP_SECTION_COUNTERS: readCounters(items); return Status::ok;
    case EXRP_SECTION_EPISODES:
      status = numberEpisodes();
      if (status == Status::ok) readEpisodes(from, count, items);
      return status;
    case EXRP_SECTION_RECORDS:
      status = seekRow(first);
      if (status == Status::ok) readRecords(count, items);
      return status;
    case EXRP_SECTION_EVICTION:
      status = saveEviction();
      if (status == Status::ok) memcpy(items, &evictionItems_[from], size_t{count} * sizeof(EvictionItem));
      return status;
    case EXRP_SECTION_BIRTHS: readBirths(first, count, items); return Status::ok;
    case EXRP_SECTION_PRIORITIES:
      visitRecords(first, count, [&](uint32_t slot) {
        const double priority = replay_.picks().initialPriorities().get(slot);
        memcpy(items, &priority, sizeof priority);
        items += sizeof priority;
      });
      return Status::ok;
    case EXRP_SECTION_ORPHANS:
      readOrphans(from, count, items);
      return Status::ok;
    case EXRP_SECTION_NEXT_STATES:
      visitNextStates(first, count, [&](uint32_t episode) {
        const NextStates& kept = replay_.part<NextStates>();
        memcpy(items, kept.find(episode, replay_.book().episodes()[episode].count), kept.stateBytes());
        items += kept.stateBytes();
      });
      return Status::ok;
    default: break;
  }
  if (section < EXRP_SECTION_PICKS) {
    const Store& store = replay_.book().store();
    const uint32_t column = store.kept().column(section - EXRP_SECTION_KEPT);
    const uint32_t bytes = store.column(column).bytes;
    visitKept(column, first, count, [&](const uint8_t* row) {
      memcpy(items, row, bytes);
      items += bytes;
    });
    return Status::ok;
  }
  if (section < EXRP_SECTION_SELECTOR) {
    status = numberEpisodes();
    if (status == Status::ok) readPicks(replay_.picks().view(section - EXRP_SECTION_PICKS).picks, from, count, items);
    return status;
  }
  const PickSelector& selector = replay_.picks().selector((section - EXRP_SECTION_SELECTOR) / 2);
  if ((section - EXRP_SECTION_SELECTOR) % 2 == 0) selector.saveHeader(items);
  else selector.saveItems(from, count, items);
  return Status::ok;
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
                             replay_.part<OrphanHandles>().count()};
  memcpy(items, &item, sizeof item);
}

void Snapshot::readOrphans(uint32_t first, uint32_t count, uint8_t* items) const {
  const OrphanHandles& orphans = replay_.part<OrphanHandles>();
  for (uint32_t item = 0; item < count; ++item) {
    const OrphanItem saved = {orphans.handles()[first + item], orphans.tag(first + item), 0};
    memcpy(items + size_t{item} * sizeof saved, &saved, sizeof saved);
  }
}

void Snapshot::readEpisodes(uint32_t first, uint32_t count, uint8_t* items) const {
  for (uint32_t item = 0; item < count; ++item) {
    const uint32_t episode = numbered_[first + item];
    const Episode& entry = replay_.book().episodes()[episode];
    const bool hasNextState = replay_.part<NextStates>().find(episode, entry.count) != nullptr;
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

void Snapshot::readBirths(double first, uint32_t count, uint8_t* items) const {
  const Store& store = replay_.book().store();
  visitBirths(first, count, [&](uint32_t episode, uint32_t position) {
    const uint32_t block = replay_.book().blocks().find(store, replay_.book().episodes()[episode].handle, store.ordinalOf(position));
    const uint64_t birth = store.births().at(store.slotAt(block, position));
    memcpy(items, &birth, sizeof birth);
    items += sizeof birth;
  });
}

void Snapshot::readRecords(uint32_t count, uint8_t* items) {
  const Store& store = replay_.book().store();
  for (uint32_t item = 0; item < count; ++item, advanceRow()) {
    const uint32_t slot = store.slotAt(cursor_.block, cursor_.position);
    const bool isFinal = cursor_.position == replay_.book().episodes()[cursor_.episode].count;
    for (uint32_t column = 0; column < store.columnCount(); ++column) {
      if (store.isKept(column)) continue;
      const uint32_t bytes = store.column(column).bytes;
      if (isFinal && column > 0) memset(items, 0, bytes);
      else memcpy(items, store.at(column, slot), bytes);
      items += bytes;
    }
  }
}

void Snapshot::readPicks(const PickTable& picks, uint32_t first, uint32_t count, uint8_t* items) const {
  const Store& store = replay_.book().store();
  for (uint32_t item = 0; item < count; ++item) {
    const uint32_t slot = picks.slot(first + item);
    const PickItem saved = {ordinals_[store.head(store.blockOf(slot)).episode], store.positionOf(slot)};
    memcpy(items + size_t{item} * sizeof saved, &saved, sizeof saved);
  }
}

}  // namespace exrp
