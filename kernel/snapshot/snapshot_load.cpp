// Loading a snapshot into a replay that was just made: section by section, item by item. Everything is checked.
#include <cstddef>

#include "kernel/base/whole_number.hpp"
#include "kernel/snapshot/snapshot_items.hpp"

namespace exrp {
namespace {

// Rules that a snapshot can break, as the third number of Status::dataCorrupt.
enum Rule : uint32_t {
  ruleCounts = 1,    // counts that no replay of this configuration can have
  ruleHandles = 2,   // handles that do not rise, or are not below the next
  ruleEpisode = 3,   // an episode's count or state that can't be
  rulePick = 4,      // a pick that the policy does not allow, or twice
  ruleEviction = 5,  // an item of the eviction policy that can't be
  ruleSelector = 6,  // an item of a selector that can't be
  ruleWhole = 7,     // the parts do not fit together
  ruleCount = 8,     // a count of batches or records that can't be
};

Status corrupt(uint32_t section, double item, Rule rule) { return fail(Status::dataCorrupt, section, item, rule); }

}  // namespace

Status Snapshot::write(uint32_t section, double first, uint32_t count, const uint8_t* items, double itemsBytes) {
  if (section >= sectionCount()) return fail(Status::argument, 2, section);
  const bool isNew = replay_.book().episodes().count() == 0 && replay_.book().nextHandle() == 0;
  if (loadSection_ == 0 && (section != 0 || !isNew)) return fail(Status::order, section, 0, first);
  if (loadSection_ == 0) beginSection(1);
  // A section that is complete makes way for the next that has items.
  while (loadSection_ - 1 < section && isLoaded()) beginSection(loadSection_ + 1);
  if (loadSection_ - 1 != section || first != loadItem_) return fail(Status::order, section, loadItem_, first);
  if (first + count > loadShape_.itemCount) return corrupt(section, first, ruleCounts);
  const double needed = double{1} * count * loadShape_.itemBytes;
  if (itemsBytes < needed) return fail(Status::bufferSize, itemsBytes, needed);
  if (count == 0) return Status::ok;
  const Status status = writePiece(section, first, count, items);
  if (status == Status::ok) loadItem_ += count;
  return status;
}

void Snapshot::beginSection(uint32_t number) {
  loadSection_ = number;
  loadItem_ = 0;
  loadShape_ = number <= sectionCount() ? shapeOf(number - 1) : Shape{};
}

Status Snapshot::writePiece(uint32_t section, double first, uint32_t count, const uint8_t* items) {
  Status status = Status::ok;
  if (belongsToEpisodes(section)) {
    double at = first;
    visitItems(section, first, count, [&, bytes = itemBytesOf(section)](uint32_t episode, uint32_t begin, uint32_t end) {
      uint32_t slot = UINT32_MAX;
      for (uint32_t item = begin; status == Status::ok && item < end; ++item, ++at, items += bytes) {
        if (!writeItem(section, episode, item, slot, items)) status = corrupt(section, at, ruleSelector);
      }
    });
    // Who tries again looks for the place from the beginning.
    if (status != Status::ok) visited_ = replay_.book().episodes().oldest();
    if (status != Status::ok) visitedBefore_ = 0;
    return status;
  }
  switch (section) {
    case EXRP_SECTION_COUNTERS: return writeCounters(items);
    case EXRP_SECTION_EPISODES: return writeEpisodes(count, items);
    case EXRP_SECTION_RECORDS:
      // The rows' places are those that a snapshot of this replay would have.
      if (first == 0) status = replay_.book().part<SavedRows>().take(replay_.book());
      if (status == Status::ok) status = replay_.book().part<SavedRows>().prepareWrite(replay_.book().store(), count);
      if (status != Status::ok) return status;
      replay_.book().part<SavedRows>().write(replay_.book().store(), count, items, [&](uint32_t block) { replay_.book().filled(block); });
      return status;
    case EXRP_SECTION_EVICTION: return writeEviction(first, count, items);
    case EXRP_SECTION_ORPHANS: return writeOrphans(first, count, items);
    default: break;
  }
  if (section == transformSection()) return writeTransforms(first, count, items);
  if (section < EXRP_SECTION_SELECTOR) {
    return writePicks(replay_.picks().view(section - EXRP_SECTION_PICKS).picks, section, first, count, items);
  }
  PickSelector& selector = replay_.picks().selector((section - EXRP_SECTION_SELECTOR) / 2);
  const bool isHeader = (section - EXRP_SECTION_SELECTOR) % 2 == 0;
  status = isHeader ? selector.loadHeader(items) : selector.loadItems(static_cast<uint32_t>(first), count, items);
  return status == Status::dataCorrupt ? corrupt(section, first, ruleSelector) : status;
}

Status Snapshot::writeCounters(const uint8_t* items) {
  const auto item = itemAt<CountersItem>(items, 0);
  const uint32_t capacity = replay_.config().capacity;
  const auto mismatch = [](double expected, double found) {
    return fail(Status::dataMismatch, EXRP_SECTION_COUNTERS, expected, found);
  };
  if (item.capacity != capacity) return mismatch(capacity, static_cast<double>(item.capacity));
  const uint32_t recordBytes = replay_.book().store().recordBytes();
  if (item.recordBytes != recordBytes) return mismatch(recordBytes, static_cast<double>(item.recordBytes));
  if (item.tableCount != replay_.picks().viewCount()) return mismatch(replay_.picks().viewCount(), item.tableCount);
  constexpr uint64_t countEnd = uint64_t{1} << 53;
  const bool possible = item.recordCount <= capacity && item.episodeCount <= replay_.book().store().blockCountMax() &&
                        item.nextHandle < countEnd && item.evictedCount <= item.nextHandle &&
                        item.episodeCount <= item.nextHandle - item.evictedCount && item.recordCount <= item.recordedCount &&
                        item.recordedCount < countEnd && item.hasPriorities <= 1 &&
                        item.orphanCount <= OrphanHandles::countMax;
  if (!possible) return corrupt(EXRP_SECTION_COUNTERS, 0, ruleCounts);
  if (item.hasPriorities == 1) {
    const Status status = replay_.picks().reservePriorities(replay_.book().store());
    if (status != Status::ok) return status;
    replay_.picks().initialPriorities().begin();
  }
  const Status status = replay_.book().restoreCounts(item.nextHandle, item.recordedCount, item.evictedCount, static_cast<uint32_t>(item.recordCount));
  if (status != Status::ok) return status;
  loadExpected_[0] = item.episodeCount;
  loadExpected_[1] = item.recordCount;
  loadExpected_[2] = item.orphanCount;
  return Status::ok;
}

Status Snapshot::writeEpisodes(uint32_t count, const uint8_t* items) {
  const EpisodeList& episodes = replay_.book().episodes();
  for (uint32_t at = 0; at < count; ++at) {
    const auto item = itemAt<EpisodeItem>(items, at);
    const double number = loadItem_ + at;
    const uint64_t handleMin = episodes.count() == 0 ? 0 : episodes[episodes.newest()].handle + 1;
    if (item.handle < handleMin || item.handle >= replay_.book().nextHandle()) return corrupt(EXRP_SECTION_EPISODES, number, ruleHandles);
    const bool open = item.state == EXRP_EPISODE_OPEN;
    const bool ended = item.state == EXRP_EPISODE_TERMINATED || item.state == EXRP_EPISODE_TRUNCATED;
    const bool rises = item.first <= item.count && item.count <= replay_.config().segmentLength && item.count <= replay_.book().recordedCount();
    const bool fits = rises && replay_.book().recordCount() + (item.count - item.first) <= loadExpected_[1] && item.unused == 0;
    const bool nextState = item.hasNextState == 0 || (item.hasNextState == 1 && open && item.count > 0);
    if (!(open || ended) || (ended && item.count == item.first) || !fits || !nextState) {
      return corrupt(EXRP_SECTION_EPISODES, number, ruleEpisode);
    }
    const Status status = replay_.restoreEpisode(item.handle, item.first, item.count, item.state, item.tag);
    if (status == Status::dataCorrupt) return corrupt(EXRP_SECTION_EPISODES, number, ruleCounts);
    if (status != Status::ok) return status;
    const uint32_t episode = replay_.book().episodes().newest();
    replay_.book().episodes().setActor(episode, item.actor);
    if (item.hasNextState == 1) {
      const Status reserved = replay_.restoreNextState(episode);
      if (reserved != Status::ok) return reserved;
    }
  }
  return Status::ok;
}

Status Snapshot::writePicks(PickIndex& picks, uint32_t section, double first, uint32_t count, const uint8_t* items) {
  const Store& store = replay_.book().store();
  Status status = numberEpisodes();
  if (status == Status::ok) status = picks.prepare(count, store.highWater() << store.blockShift());
  if (status != Status::ok) return status;
  const EpisodeBook& book = replay_.book();
  const PickPolicy& policy = picks.policy();
  uint32_t known = episodeNone;  // the ordinal of the episode that the next four belong to
  uint32_t episode = episodeNone;
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t block = blockNone;
  for (uint32_t at = 0, run = 1; at < count; at += run) {
    const auto item = itemAt<PickItem>(items, at);
    if (item.episode >= book.episodes().count()) return corrupt(section, first + at, rulePick);
    if (item.episode != known) {
      known = item.episode;
      episode = numbered_[known];
      const Episode& entry = book.episodes()[episode];
      begin = policy.validBegin(book.episodes().first(episode));
      end = book.hasPicks(policy, episode) ? policy.validEnd(entry.count, entry.ended()) : 0;
      block = blockNone;
    }
    if (item.position < begin || item.position >= end || item.position % policy.stride != 0) {
      return corrupt(section, first + at, rulePick);
    }
    // Mostly picks come in the order in which their records came.
    const uint32_t ordinal = store.ordinalOf(item.position);
    if (block != blockNone && store.head(block).ordinal() + 1 == ordinal) block = store.block(block).next;
    else if (block == blockNone || store.head(block).ordinal() != ordinal) block = book.blockAt(book.episodes()[episode], item.position);
    const uint32_t slot = store.slotAt(block, item.position);
    const uint32_t inBlock = store.blockLength() - store.within(item.position);
    uint32_t most = policy.stride > 1 ? 1 : inBlock < end - item.position ? inBlock : end - item.position;
    if (most > count - at) most = count - at;
    const auto goesOn = [&](uint32_t by) {
      const auto next = itemAt<PickItem>(items, at + by);
      return next.episode == item.episode && next.position == item.position + by;
    };
    for (run = 1; run < most && goesOn(run);) ++run;
    for (uint32_t k = 0; k < run; ++k) {
      if (picks.indexOf(slot + k) != pickNone) return corrupt(section, first + at + k, rulePick);
    }
    if (run == 1) picks.push(slot);
    else picks.pushRun(slot, run);
  }
  return Status::ok;
}

/// What is no count is refused here. Whether means and squares can be, check() says in the end.
Status Snapshot::writeTransforms(double first, uint32_t count, const uint8_t* items) {
  PickViews& picks = replay_.picks();
  auto& statistics = replay_.book().part<ColumnStatistics>();
  const auto end = static_cast<uint32_t>(first) + count;
  auto at = static_cast<uint32_t>(first);
  Status status = Status::ok;
  // Takes the items before `last` of a part that begins at `begin`.
  const auto take = [&](uint32_t begin, uint32_t last, auto use) {
    for (; at < last && at < end && status == Status::ok; ++at, items += sizeof(double)) {
      if (!use(at - begin, itemAt<double>(items, 0))) status = corrupt(transformSection(), at, ruleCount);
    }
    return last;
  };
  uint32_t begin = take(0, picks.viewCount(), [&](uint32_t view, double value) {
    if (!isWhole(value, 0, 0x1p53)) return false;
    picks.view(view).drawnCount = static_cast<uint64_t>(value);
    return true;
  });
  statistics.forEach([&](uint32_t column) {
    ColumnStatistics::Of& of = *statistics.find(column);
    begin = take(begin, begin + 1, [&](uint32_t, double value) {
      if (!isWhole(value, 0, static_cast<double>(replay_.book().recordedCount()))) return false;
      of.records = static_cast<uint64_t>(value);
      return true;
    });
    begin = take(begin, begin + 2 * of.count, [&](uint32_t item, double value) {
      of.numbers[item] = value;
      return true;
    });
  });
  return status;
}

/// `slot` is that of an item before, where one is known. False for a priority that can't be. Whether births can be, check() says in the end.
bool Snapshot::writeItem(uint32_t section, uint32_t episode, uint32_t item, uint32_t& slot, const uint8_t* from) {
  Store& store = replay_.book().store();
  const EpisodeList& episodes = replay_.book().episodes();
  if (section == EXRP_SECTION_PRIORITIES) {
    const auto priority = itemAt<double>(from, 0);
    if (priority != InitialPriorities::none && !isPriority(priority)) return false;
    slot = slotAfter(slot, episode, episodes.first(episode) + item);
    replay_.picks().initialPriorities().set(slot, priority);
  } else if (section == EXRP_SECTION_BIRTHS) {
    // Slots share births in runs that may be shorter.
    const auto birth = itemAt<uint64_t>(from, 0);
    const uint32_t length = store.births().length();
    const uint32_t run = replay_.book().trimLength();
    const uint32_t position = birthPositionOf(episode, item);
    const uint32_t next = (position & ~(run - 1)) + run;
    const uint32_t end = next < episodes[episode].count ? next : episodes[episode].count;
    for (uint32_t to = position; to < end; to = (to & ~(length - 1)) + length) {
      slot = slotAfter(slot, episode, to);
      store.births().set(slot, birth + (to - position));
    }
  } else if (section == EXRP_SECTION_NEXT_STATES) {
    memcpy(replay_.book().part<NextStates>().reserve(episode, episodes[episode].count), from, itemBytesOf(section));
  } else {
    memcpy(keptRowOf(section, episode, item), from, itemBytesOf(section));
  }
  return true;
}

Status Snapshot::writeOrphans(double first, uint32_t count, const uint8_t* items) {
  OrphanHandles& orphans = replay_.book().part<OrphanHandles>();
  const Status status = orphans.prepare(loadExpected_[2] + replay_.book().episodes().count());
  if (status != Status::ok) return status;
  for (uint32_t at = 0; at < count; ++at) {
    const auto item = itemAt<OrphanItem>(items, at);
    // Whether it has an episode, check() says in the end.
    if (item.handle >= replay_.book().nextHandle() || orphans.contains(item.handle)) {
      return corrupt(EXRP_SECTION_ORPHANS, first + at, ruleHandles);
    }
    orphans.add(item.handle, item.tag);
  }
  return Status::ok;
}

Status Snapshot::writeEviction(double first, uint32_t count, const uint8_t* items) {
  if (first == 0) {
    const Status status = numberEpisodes();
    if (status != Status::ok) return status;
    numberedAt_ = never;  // what follows takes ordinals away
  }
  const auto from = static_cast<uint32_t>(first);
  const uint32_t headerItems = evictionHeaderItems();
  const uint32_t episodeCount = replay_.book().episodes().count();
  for (uint32_t at = 0; at < count; ++at) {
    auto item = itemAt<EvictionItem>(items, at);
    if (from + at < headerItems) {
      evictionItems_[from + at] = item;
      continue;
    }
    if (item.episode >= episodeCount) return corrupt(EXRP_SECTION_EVICTION, first + at, ruleEviction);
    item.episode = numbered_[item.episode];
    // Each episode once: its ordinal is taken away when it is named.
    if (ordinals_[item.episode] == episodeNone) return corrupt(EXRP_SECTION_EVICTION, first + at, ruleEviction);
    ordinals_[item.episode] = episodeNone;
    evictionItems_[from + at] = item;
  }
  if (from + count < headerItems + episodeCount) return Status::ok;
  EvictionPolicy& policy = *replay_.eviction();
  Status status = policy.loadHeader(reinterpret_cast<const uint8_t*>(evictionItems_.data()));
  if (status == Status::ok) status = policy.load(evictionItems_.data() + headerItems, episodeCount);
  return status == Status::dataCorrupt ? corrupt(EXRP_SECTION_EVICTION, first, ruleEviction) : status;
}

void Snapshot::setCapacity(uint8_t* counters, uint64_t capacity) { memcpy(counters + offsetof(CountersItem, capacity), &capacity, sizeof capacity); }

Status Snapshot::skipRecords() {
  const Status status = write(EXRP_SECTION_RECORDS, 0, 0, nullptr, 0);
  if (status == Status::ok) loadItem_ = loadShape_.itemCount;
  return status;
}

Status Snapshot::end() {
  while (loadSection_ > 0 && loadSection_ - 1 < sectionCount() && isLoaded()) beginSection(loadSection_ + 1);
  if (loadSection_ - 1 != sectionCount()) return fail(Status::order, sectionCount(), loadItem_, loadSection_);
  const bool whole = replay_.book().episodes().count() == loadExpected_[0] && replay_.book().recordCount() == loadExpected_[1];
  if (!whole) return corrupt(sectionCount(), 0, ruleWhole);
  for (uint32_t selector = 0; selector < replay_.picks().selectorCount(); ++selector) {
    const Status status = replay_.picks().selector(selector).loadEnd();
    if (status == Status::dataCorrupt) return corrupt(EXRP_SECTION_SELECTOR + 2 * selector, 0, ruleSelector);
    if (status != Status::ok) return status;
  }
  replay_.book().part<SavedRows>().release();
  replay_.book().endRestoring();
  if (replay_.check() != 0) return corrupt(sectionCount(), 0, ruleWhole);
  loadSection_ = 0;
  loadItem_ = 0;
  return Status::ok;
}

}  // namespace exrp
