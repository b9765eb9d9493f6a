// The sections of a snapshot: everything that decides the future, as arrays of fixed-size items that can be read and written a
// piece at a time. What is written is logical (episodes by age, picks by episode and position), so it does not depend on block
// lengths, and everything read is checked: a hostile file gets a status, never a crash.

#include <cstring>

#include "kernel/replay.hpp"

namespace exrp {
namespace {

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
};
struct EpisodeItem {
  uint64_t handle;
  uint32_t count;
  uint32_t state;
};
struct PickItem {
  uint32_t episode;  // ordinal by age
  uint32_t position;
};
// With a limit of age, an episode's item is followed by its birth.
constexpr uint32_t birthBytes = sizeof(uint64_t);
static_assert(sizeof(CountersItem) == 64 && sizeof(EpisodeItem) == 16 && sizeof(PickItem) == 8 && sizeof(EvictionItem) == 8);

template <typename Item>
Item itemAt(const uint8_t* items, size_t index) {
  Item item;
  memcpy(&item, items + index * sizeof(Item), sizeof(Item));
  return item;
}

// Rules that a snapshot can break, as the third number of Status::dataCorrupt.
enum Rule : uint32_t {
  ruleCounts = 1,      // counts that no replay of this configuration can have
  ruleHandles = 2,     // handles that do not rise, or are not below the next
  ruleEpisode = 3,     // an episode's count or state that can't be
  rulePick = 4,        // a pick that the policy does not allow, or twice
  ruleEviction = 5,    // an item of the eviction policy that can't be
  ruleSelector = 6,    // an item of a selector that can't be
  ruleWhole = 7,       // the parts do not fit together
};

Status corrupt(uint32_t section, double item, Rule rule) { return fail(Status::dataCorrupt, section, item, rule); }

}  // namespace

Replay::Section Replay::section(uint32_t section) const {
  // While loading, counts come from the counters that were loaded.
  const bool loading = loadSection_ > 0;
  const double episodeCount = loading ? static_cast<double>(loadExpected_[0]) : episodes_.count();
  switch (section) {
    case EXRP_SECTION_COUNTERS: return {1, sizeof(CountersItem)};
    case EXRP_SECTION_EPISODES: return {episodeCount, uint32_t{sizeof(EpisodeItem)} + (ages_.isSet() ? birthBytes : 0)};
    case EXRP_SECTION_RECORDS: {
      double rows = 0;
      for (uint32_t index = episodes_.oldest(); index != episodeNone; index = episodes_[index].newer) {
        rows += storedRows(episodes_[index]);
      }
      return {rows, store_.recordBytes()};
    }
    case EXRP_SECTION_EVICTION: return {eviction_ == nullptr ? 0 : evictionHeaderItems() + episodeCount, sizeof(EvictionItem)};
    case EXRP_SECTION_PRIORITIES: return {initial_.inUse() ? static_cast<double>(recordCount_) : 0, sizeof(double)};
    default: break;
  }
  if (section >= EXRP_SECTION_KEPT && section < EXRP_SECTION_PICKS) {
    const uint32_t index = section - EXRP_SECTION_KEPT;
    if (index >= store_.keptCount()) return {0, 0};
    const Column& column = store_.column(store_.keptColumn(index));
    double rows = 0;
    for (uint32_t at = episodes_.oldest(); at != episodeNone; at = episodes_[at].newer) {
      rows += episodes_[at].count / column.every + (episodes_[at].count % column.every != 0 ? 1 : 0);
    }
    return {rows, column.bytes};
  }
  // Loaded or not, a table has the picks that its policy says.
  const auto pickCount = [&](const Table& table) {
    return loading ? validPicks(table.picks.policy()) : static_cast<double>(table.picks.count());
  };
  if (section < EXRP_SECTION_SELECTOR) {
    const bool isTable = section >= EXRP_SECTION_PICKS && section < EXRP_SECTION_PICKS + tableCount_;
    return {isTable ? pickCount(*tables_[section - EXRP_SECTION_PICKS]) : 0, sizeof(PickItem)};
  }
  const uint32_t index = (section - EXRP_SECTION_SELECTOR) / 2;
  const PickSelector& selector = *selectors_[index];
  if ((section - EXRP_SECTION_SELECTOR) % 2 == 0) return {1, selector.headerBytes()};
  return {selector.itemBytes() == 0 ? 0 : pickCount(*selectorTables_[index]), selector.itemBytes()};
}

double Replay::validPicks(const PickPolicy& policy) const {
  double count = 0;
  for (uint32_t index = episodes_.oldest(); index != episodeNone; index = episodes_[index].newer) {
    count += policy.validCount(episodes_[index].count, episodes_[index].ended());
  }
  return count;
}

/// The policy's header in items; there is a policy.
uint32_t Replay::evictionHeaderItems() const { return eviction_->headerBytes() / uint32_t{sizeof(EvictionItem)}; }

Status Replay::sectionInfo(uint32_t section, double* info) {
  if (section >= EXRP_SECTION_SELECTOR + 2 * selectorCount_) return fail(Status::argument, 2, section);
  const Section found = this->section(section);
  info[0] = found.itemCount;
  info[1] = found.itemBytes;
  return Status::ok;
}

/// Numbers the episodes by age, for items that name them by ordinal.
Status Replay::numberEpisodes() {
  const size_t countMax = episodes_.highWater();
  const size_t headerItems = eviction_ == nullptr ? 0 : evictionHeaderItems();
  if (ordinals_.data() == nullptr) {
    const uint32_t reserved = store_.blockCountMax();
    if (!ordinals_.create(reserved, Pages::small) || !numbered_.create(reserved, Pages::small) ||
        !evictionItems_.create(headerItems + reserved, Pages::small)) {
      return fail(Status::memory, 16.0 * reserved);
    }
  }
  if (!ordinals_.commit(countMax) || !numbered_.commit(countMax) || !evictionItems_.commit(headerItems + countMax)) {
    return fail(Status::memory, 16.0 * static_cast<double>(countMax));
  }
  uint32_t ordinal = 0;
  for (uint32_t index = episodes_.oldest(); index != episodeNone; index = episodes_[index].newer) {
    ordinals_[index] = ordinal;
    numbered_[ordinal++] = index;
  }
  return Status::ok;
}

/// Puts the cursor on stored row `row`: records and final states in order of episode and time.
Status Replay::seekRow(double row) {
  if (row == cursorRow_ && cursorRecorded_ == recordedCount_) return Status::ok;
  cursorRecorded_ = recordedCount_;
  cursorRow_ = 0;
  cursorEpisode_ = episodes_.oldest();
  while (cursorEpisode_ != episodeNone && cursorRow_ + storedRows(episodes_[cursorEpisode_]) <= row) {
    cursorRow_ += storedRows(episodes_[cursorEpisode_]);
    cursorEpisode_ = episodes_[cursorEpisode_].newer;
  }
  if (cursorEpisode_ == episodeNone) {
    cursorRow_ = -1;
    return fail(Status::argument, 3, row);
  }
  cursorPosition_ = static_cast<uint32_t>(row - cursorRow_);
  cursorBlock_ = index_.find(store_, episodes_[cursorEpisode_].handle, store_.ordinalOf(cursorPosition_));
  cursorRow_ = row;
  return Status::ok;
}

namespace {

/// One step of a walk over stored rows.
void advanceRow(const Store& store, const EpisodeTable& episodes, uint32_t* index, uint32_t* block, uint32_t* position) {
  const auto rowsOf = [&](uint32_t at) { return episodes[at].count + (episodes[at].ended() ? 1 : 0); };
  if (++*position < rowsOf(*index)) {
    if (store.within(*position) == 0) *block = store.block(*block).next;
    return;
  }
  do {
    *index = episodes[*index].newer;
  } while (*index != episodeNone && rowsOf(*index) == 0);
  *position = 0;
  *block = *index == episodeNone ? blockNone : episodes[*index].firstBlock;
}

}  // namespace

void Replay::readRecords(double first, uint32_t count, uint8_t* items) {
  for (uint32_t item = 0; item < count; ++item) {
    const uint32_t slot = store_.slotAt(cursorBlock_, cursorPosition_);
    const bool isFinal = cursorPosition_ == episodes_[cursorEpisode_].count;
    for (uint32_t column = 0; column < store_.columnCount(); ++column) {
      if (store_.isKept(column)) continue;
      const uint32_t bytes = store_.column(column).bytes;
      if (isFinal && column > 0) {
        memset(items, 0, bytes);
      } else {
        memcpy(items, store_.at(column, slot), bytes);
      }
      items += bytes;
    }
    advanceRow(store_, episodes_, &cursorEpisode_, &cursorBlock_, &cursorPosition_);
  }
  cursorRow_ = first + count;
}

void Replay::writeRecords(double first, uint32_t count, const uint8_t* items) {
  for (uint32_t item = 0; item < count; ++item) {
    const uint32_t slot = store_.slotAt(cursorBlock_, cursorPosition_);
    for (uint32_t column = 0; column < store_.columnCount(); ++column) {
      if (store_.isKept(column)) continue;
      const uint32_t bytes = store_.column(column).bytes;
      memcpy(store_.at(column, slot), items, bytes);
      items += bytes;
    }
    advanceRow(store_, episodes_, &cursorEpisode_, &cursorBlock_, &cursorPosition_);
  }
  cursorRow_ = first + count;
}

// ---- reading ----

Status Replay::sectionRead(uint32_t section, double first, uint32_t count, uint8_t* items, double itemsBytes) {
  if (section >= EXRP_SECTION_SELECTOR + 2 * selectorCount_) return fail(Status::argument, 2, section);
  if (loadSection_ > 0) return fail(Status::order, section, 0, first);
  const Section shape = this->section(section);
  if (!(first >= 0) || first != static_cast<double>(static_cast<uint64_t>(first)) || first + count > shape.itemCount) {
    return fail(Status::argument, 3, first);
  }
  const double needed = double{1} * count * shape.itemBytes;
  if (itemsBytes < needed) return fail(Status::bufferSize, itemsBytes, needed);
  if (count == 0) return Status::ok;
  Status status = Status::ok;
  const auto from = static_cast<uint32_t>(section == EXRP_SECTION_RECORDS ? 0 : first);
  switch (section) {
    case EXRP_SECTION_COUNTERS: {
      const CountersItem item = {nextHandle_,  recordedCount_, evictedCount_,    episodes_.count(),
                                 recordCount_, tableCount_,    initial_.inUse(),  config_.capacity,
                                 store_.recordBytes()};
      memcpy(items, &item, sizeof item);
      return Status::ok;
    }
    case EXRP_SECTION_EPISODES: {
      if (from == 0) cursorRow_ = -1;
      status = numberEpisodes();
      if (status != Status::ok) return status;
      for (uint32_t item = 0; item < count; ++item) {
        const Episode& episode = episodes_[numbered_[from + item]];
        const EpisodeItem saved = {episode.handle, episode.count, episode.state};
        memcpy(items, &saved, sizeof saved);
        items += sizeof saved;
        if (!ages_.isSet()) continue;
        const uint64_t birth = ages_.birth(numbered_[from + item]);
        memcpy(items, &birth, birthBytes);
        items += birthBytes;
      }
      return Status::ok;
    }
    case EXRP_SECTION_RECORDS: {
      if (first == 0) cursorRow_ = -1;
      status = seekRow(first);
      if (status == Status::ok) readRecords(first, count, items);
      return status;
    }
    case EXRP_SECTION_EVICTION: {
      if (from == 0 || ordinals_.data() == nullptr) {
        status = numberEpisodes();
        if (status != Status::ok) return status;
        EvictionItem* const saved = evictionItems_.data() + evictionHeaderItems();
        eviction_->saveHeader(reinterpret_cast<uint8_t*>(evictionItems_.data()));
        eviction_->save(saved);
        for (uint32_t item = 0; item < episodes_.count(); ++item) saved[item].episode = ordinals_[saved[item].episode];
      }
      memcpy(items, &evictionItems_[from], size_t{count} * sizeof(EvictionItem));
      return Status::ok;
    }
    case EXRP_SECTION_PRIORITIES:
      visitRecords(first, count, [&](uint32_t slot) {
        const double priority = initial_.get(slot);
        memcpy(items, &priority, sizeof priority);
        items += sizeof priority;
      });
      return Status::ok;
    default: break;
  }
  if (section >= EXRP_SECTION_KEPT && section < EXRP_SECTION_PICKS) {
    const uint32_t column = store_.keptColumn(section - EXRP_SECTION_KEPT);
    visitKept(column, first, count, [&](uint32_t block, uint32_t position) {
      memcpy(items, store_.keptAt(column, block, position), shape.itemBytes);
      items += shape.itemBytes;
    });
    return Status::ok;
  }
  if (section < EXRP_SECTION_SELECTOR) {
    if (from == 0 || ordinals_.data() == nullptr) status = numberEpisodes();
    if (status == Status::ok) readPicks(tables_[section - EXRP_SECTION_PICKS]->picks, from, count, items);
    return status;
  }
  const PickSelector& selector = *selectors_[(section - EXRP_SECTION_SELECTOR) / 2];
  if ((section - EXRP_SECTION_SELECTOR) % 2 == 0) {
    selector.saveHeader(items);
  } else {
    selector.saveItems(from, count, items);
  }
  return Status::ok;
}

void Replay::readPicks(const PickTable& picks, uint32_t first, uint32_t count, uint8_t* items) const {
  for (uint32_t item = 0; item < count; ++item) {
    const uint32_t slot = picks.slot(first + item);
    const Block& block = store_.block(store_.blockOf(slot));
    const PickItem saved = {ordinals_[block.episode], (block.ordinal << store_.blockShift()) + store_.within(slot)};
    memcpy(items + size_t{item} * sizeof saved, &saved, sizeof saved);
  }
}

// ---- loading ----

Status Replay::sectionWrite(uint32_t section, double first, uint32_t count, const uint8_t* items, double itemsBytes) {
  const uint32_t sectionCount = EXRP_SECTION_SELECTOR + 2 * selectorCount_;
  if (section >= sectionCount) return fail(Status::argument, 2, section);
  if (loadSection_ == 0 && (section != 0 || episodes_.count() > 0 || nextHandle_ > 0)) return fail(Status::order, section, 0, first);
  // loadSection_ is 1 + the section being loaded; one that is complete makes way for the next that has items.
  if (loadSection_ == 0) loadSection_ = 1;
  while (loadSection_ - 1 < section && loadItem_ == this->section(loadSection_ - 1).itemCount) {
    ++loadSection_;
    loadItem_ = 0;
  }
  if (loadSection_ - 1 != section || first != loadItem_) return fail(Status::order, section, loadItem_, first);
  const Section shape = this->section(section);
  if (first + count > shape.itemCount) return corrupt(section, first, ruleCounts);
  const double needed = double{1} * count * shape.itemBytes;
  if (itemsBytes < needed) return fail(Status::bufferSize, itemsBytes, needed);
  if (count == 0) return Status::ok;

  Status status = Status::ok;
  const auto from = static_cast<uint32_t>(section == EXRP_SECTION_RECORDS ? 0 : first);
  switch (section) {
    case EXRP_SECTION_COUNTERS: status = writeCounters(items); break;
    case EXRP_SECTION_EPISODES: status = writeEpisodes(count, items); break;
    case EXRP_SECTION_RECORDS:
      if (first == 0) cursorRow_ = -1;
      status = seekRow(first);
      if (status == Status::ok) writeRecords(first, count, items);
      break;
    case EXRP_SECTION_EVICTION: status = writeEviction(first, count, items); break;
    case EXRP_SECTION_PRIORITIES: status = writePriorities(first, count, items); break;
    default: {
      if (section < EXRP_SECTION_PICKS) {
        const uint32_t column = store_.keptColumn(section - EXRP_SECTION_KEPT);
        visitKept(column, first, count, [&](uint32_t block, uint32_t position) {
          memcpy(store_.keptAt(column, block, position), items, shape.itemBytes);
          items += shape.itemBytes;
        });
        break;
      }
      if (section < EXRP_SECTION_SELECTOR) {
        status = writePicks(tables_[section - EXRP_SECTION_PICKS]->picks, section, first, count, items);
        break;
      }
      PickSelector& selector = *selectors_[(section - EXRP_SECTION_SELECTOR) / 2];
      status = (section - EXRP_SECTION_SELECTOR) % 2 == 0 ? selector.loadHeader(items) : selector.loadItems(from, count, items);
      if (status == Status::dataCorrupt) status = corrupt(section, first, ruleSelector);
      break;
    }
  }
  if (status == Status::ok) loadItem_ += count;
  return status;
}

Status Replay::writeCounters(const uint8_t* items) {
  const auto item = itemAt<CountersItem>(items, 0);
  if (item.capacity != config_.capacity) {
    return fail(Status::dataMismatch, EXRP_SECTION_COUNTERS, config_.capacity, static_cast<double>(item.capacity));
  }
  if (item.recordBytes != store_.recordBytes()) {
    return fail(Status::dataMismatch, EXRP_SECTION_COUNTERS, store_.recordBytes(), static_cast<double>(item.recordBytes));
  }
  if (item.tableCount != tableCount_) {
    return fail(Status::dataMismatch, EXRP_SECTION_COUNTERS, tableCount_, static_cast<double>(item.tableCount));
  }
  const bool possible = item.recordCount <= config_.capacity && item.episodeCount <= store_.blockCountMax() && item.nextHandle < (uint64_t{1} << 53) &&
                        item.evictedCount <= item.nextHandle && item.episodeCount <= item.nextHandle - item.evictedCount &&
                        item.recordCount <= item.recordedCount && item.recordedCount < (uint64_t{1} << 53);
  if (!possible) return corrupt(EXRP_SECTION_COUNTERS, 0, ruleCounts);
  if (item.hasPriorities > 1) return corrupt(EXRP_SECTION_COUNTERS, 0, ruleCounts);
  if (item.hasPriorities == 1) {
    const Status status = beginPriorities();
    if (status != Status::ok) return status;
  }
  recordedCount_ = item.recordedCount;
  evictedCount_ = item.evictedCount;
  nextHandle_ = item.nextHandle;
  loadExpected_[0] = item.episodeCount;
  loadExpected_[1] = item.recordCount;
  return Status::ok;
}

Status Replay::writeEpisodes(uint32_t count, const uint8_t* items) {
  const uint64_t nextHandle = nextHandle_;
  const size_t itemBytes = section(EXRP_SECTION_EPISODES).itemBytes;
  for (uint32_t at = 0; at < count; ++at) {
    const auto item = itemAt<EpisodeItem>(items + at * itemBytes, 0);
    const double place = loadItem_ + at;
    const bool isFirst = episodes_.count() == 0;
    const uint64_t handleMin = isFirst ? 0 : episodes_[episodes_.newest()].handle + 1;
    if (item.handle < handleMin || item.handle >= nextHandle) return corrupt(EXRP_SECTION_EPISODES, place, ruleHandles);
    const bool open = item.state == EXRP_EPISODE_OPEN;
    const bool ended = item.state == EXRP_EPISODE_TERMINATED || item.state == EXRP_EPISODE_TRUNCATED;
    const bool fits = item.count <= config_.segmentLength && recordCount_ + item.count <= loadExpected_[1];
    if (!(open || ended) || (ended && item.count == 0) || !fits) return corrupt(EXRP_SECTION_EPISODES, place, ruleEpisode);

    const uint32_t rows = item.count + (ended ? 1 : 0);
    const uint32_t blockCount = rows == 0 ? 1 : store_.ordinalOf(rows - 1) + 1;
    if (blockCount > store_.availableCount()) return corrupt(EXRP_SECTION_EPISODES, place, ruleCounts);
    const Status status = prepareRecords(0, 1, blockCount);
    if (status != Status::ok) return status;
    nextHandle_ = item.handle;  // addEpisode gives this one out
    const uint32_t index = addEpisode();
    Episode& episode = episodes_[index];
    for (uint32_t ordinal = 1; ordinal < blockCount; ++ordinal) {
      const uint32_t block = store_.takeBlock(item.handle, ordinal, index);
      store_.link(episode.lastBlock, block);
      episode.lastBlock = block;
      index_.add(store_.block(block), block);
    }
    episode.count = item.count;
    episode.state = item.state;
    recordCount_ += item.count;
    if (ages_.isSet()) {
      // check() says in the end whether it can be.
      ages_.begin(index, itemAt<uint64_t>(items + at * itemBytes + sizeof(EpisodeItem), 0));
      ages_.follow(episodes_);
    }
    bytes_.episodeAdded(item.count, ended);
    if (ended && eviction_ != nullptr) eviction_->ended(index, endedPickCount(item.count));
  }
  nextHandle_ = nextHandle;
  return Status::ok;
}

Status Replay::writePicks(PickTable& picks, uint32_t section, double first, uint32_t count, const uint8_t* items) {
  Status status = first == 0 ? numberEpisodes() : Status::ok;
  const uint32_t slotCount = store_.highWater() << store_.blockShift();
  if (status == Status::ok) status = picks.prepare(count, slotCount);
  if (status != Status::ok) return status;
  for (uint32_t at = 0; at < count; ++at) {
    const auto item = itemAt<PickItem>(items, at);
    if (item.episode >= episodes_.count()) return corrupt(section, first + at, rulePick);
    const Episode& episode = episodes_[numbered_[item.episode]];
    const PickPolicy& policy = picks.policy();
    if (item.position >= policy.validEnd(episode.count, episode.ended()) || item.position % policy.stride != 0) {
      return corrupt(section, first + at, rulePick);
    }
    const uint32_t block = index_.find(store_, episode.handle, store_.ordinalOf(item.position));
    const uint32_t slot = store_.slotAt(block, item.position);
    if (picks.place(slot) != pickNone) return corrupt(section, first + at, rulePick);
    picks.push(slot);
  }
  return Status::ok;
}

/// Calls `visit` with the slot of each of the records `first`..first + count - 1, in order of episode and time.
template <typename Visit>
void Replay::visitRecords(double first, uint32_t count, Visit visit) const {
  uint32_t episode = episodes_.oldest();
  double before = 0;
  while (episode != episodeNone && before + episodes_[episode].count <= first) {
    before += episodes_[episode].count;
    episode = episodes_[episode].newer;
  }
  auto position = static_cast<uint32_t>(first - before);
  while (count > 0 && episode != episodeNone) {
    const Episode& from = episodes_[episode];
    uint32_t block = blockNone;
    for (; position < from.count && count > 0; ++position, --count) {
      if (block == blockNone) block = index_.find(store_, from.handle, store_.ordinalOf(position));
      else if (store_.within(position) == 0) block = store_.block(block).next;
      visit(store_.slotAt(block, position));
    }
    position = 0;
    episode = from.newer;
  }
}

/// Calls `visit` with block and position of the rows `first`..first + count - 1 that are kept of a column.
template <typename Visit>
void Replay::visitKept(uint32_t column, double first, uint32_t count, Visit visit) const {
  const uint32_t every = store_.column(column).every;
  double before = 0;
  for (uint32_t index = episodes_.oldest(); index != episodeNone && count > 0; index = episodes_[index].newer) {
    const Episode& episode = episodes_[index];
    const uint32_t rows = episode.count / every + (episode.count % every != 0 ? 1 : 0);
    const uint32_t skipped = before + rows <= first ? rows : before < first ? static_cast<uint32_t>(first - before) : 0;
    before += rows;
    for (uint32_t row = skipped; row < rows && count > 0; ++row, --count) {
      const uint32_t position = row * every;
      visit(index_.find(store_, episode.handle, store_.ordinalOf(position)), position);
    }
  }
}

Status Replay::writePriorities(double first, uint32_t count, const uint8_t* items) {
  for (uint32_t at = 0; at < count; ++at) {
    const auto priority = itemAt<double>(items, at);
    const bool valid = priority == InitialPriorities::none || (priority >= 0 && priority <= 0x1.fffffffffffffp1023);
    if (!valid) return corrupt(EXRP_SECTION_PRIORITIES, first + at, ruleSelector);
  }
  uint32_t at = 0;
  visitRecords(first, count, [&](uint32_t slot) { initial_.set(slot, itemAt<double>(items, at++)); });
  return Status::ok;
}

Status Replay::writeEviction(double first, uint32_t count, const uint8_t* items) {
  Status status = first == 0 ? numberEpisodes() : Status::ok;
  if (status != Status::ok) return status;
  const auto from = static_cast<uint32_t>(first);
  const uint32_t headerItems = evictionHeaderItems();
  for (uint32_t at = 0; at < count; ++at) {
    auto item = itemAt<EvictionItem>(items, at);
    if (from + at < headerItems) {
      evictionItems_[from + at] = item;
      continue;
    }
    if (item.episode >= episodes_.count()) return corrupt(EXRP_SECTION_EVICTION, first + at, ruleEviction);
    item.episode = numbered_[item.episode];
    // Each episode once: its ordinal is taken away when it is named.
    if (ordinals_[item.episode] == episodeNone) return corrupt(EXRP_SECTION_EVICTION, first + at, ruleEviction);
    ordinals_[item.episode] = episodeNone;
    evictionItems_[from + at] = item;
  }
  if (from + count < headerItems + episodes_.count()) return Status::ok;
  status = eviction_->loadHeader(reinterpret_cast<const uint8_t*>(evictionItems_.data()));
  if (status == Status::ok) status = eviction_->load(evictionItems_.data() + headerItems, episodes_.count());
  return status == Status::dataCorrupt ? corrupt(EXRP_SECTION_EVICTION, first, ruleEviction) : status;
}

Status Replay::snapshotEnd() {
  const uint32_t sectionCount = EXRP_SECTION_SELECTOR + 2 * selectorCount_;
  while (loadSection_ > 0 && loadSection_ - 1 < sectionCount && loadItem_ == section(loadSection_ - 1).itemCount) {
    ++loadSection_;
    loadItem_ = 0;
  }
  if (loadSection_ - 1 != sectionCount) return fail(Status::order, sectionCount, loadItem_, loadSection_);
  const bool whole = episodes_.count() == loadExpected_[0] && recordCount_ == loadExpected_[1];
  if (!whole) return corrupt(sectionCount, 0, ruleWhole);
  for (uint32_t index = 0; index < selectorCount_; ++index) {
    const Status status = selectors_[index]->loadEnd();
    if (status == Status::dataCorrupt) return corrupt(EXRP_SECTION_SELECTOR + 2 * index, 0, ruleSelector);
    if (status != Status::ok) return status;
  }
  loadSection_ = 0;
  loadItem_ = 0;
  if (check() != 0) return corrupt(sectionCount, 0, ruleWhole);
  return Status::ok;
}

}  // namespace exrp
