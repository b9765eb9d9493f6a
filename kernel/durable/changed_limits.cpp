// Recovery: a replay gets other limits. It is made anew with them, as many of its parts are made for a number of records, and then it gets all that it had.
//
// What does not fit goes before, as if the replay were full. The rest goes the way of a checkpoint: the sections of a snapshot without records. Where the rows
// are in the log is known, and they are read from there in the end.
#include <cstring>
#include <memory>

#include "kernel/base/padded.hpp"
#include "kernel/durable/recovery.hpp"
#include "kernel/store/logged_rows.hpp"

namespace exrp {
namespace {

struct BirthItems {
  Scratch<uint64_t> all;
  uint32_t count = 0;
};

/// The births that a replay of another trim length keeps: one for each run of so many positions. Where fewer were kept, they count on from those, which is never
/// too late.
Status takeBirths(const StoredEpisodes& stored, uint32_t trimLength, BirthItems* births) {
  const EpisodeList& episodes = stored.episodes();
  const Store& store = stored.store();
  for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) {
    const Episode& entry = episodes[episode];
    for (uint32_t at = episodes.first(episode); at < entry.count; at = (at & ~(trimLength - 1)) + trimLength) {
      if (!births->all.commit(size_t{births->count} + 1)) return fail(Status::memory, 8.0 * births->count);
      births->all[births->count++] = store.births().at(store.slotAt(stored.blockAt(entry, at), at));
    }
  }
  return Status::ok;
}

/// Gives what a snapshot has but for its records to a replay that was just made, with these births.
Status give(Snapshot& snapshot, Snapshot::Sections& sections, const BirthItems& births, uint32_t capacity) {
  for (uint32_t number = 0; number < sections.count; ++number) {
    const Snapshot::SavedSection& section = sections.all[number];
    const bool areBirths = number == EXRP_SECTION_BIRTHS;
    auto count = static_cast<uint32_t>(section.shape.itemCount);
    Status status = Status::ok;
    if (number == EXRP_SECTION_RECORDS) {
      status = snapshot.skipRecords();
    } else if (count > 0) {
      uint8_t* const items = sections.items.data() + section.at;
      if (number == EXRP_SECTION_COUNTERS) Snapshot::setCapacity(items, capacity);
      if (areBirths) count = births.count;
      const auto* const from = areBirths ? reinterpret_cast<const uint8_t*>(births.all.data()) : items;
      status = snapshot.write(number, 0, count, from, double{1} * count * section.shape.itemBytes);
    }
    if (status != Status::ok) return status;
  }
  return snapshot.end();
}

}  // namespace

/// Evicts what does not fit other limits. Which records go follows from what is stored, so that it is the same whenever the log is read.
Status Recovery::shrink(const ReplayConfig& to) {
  Status status = replay_.prepareRecord();
  if (status == Status::ok) status = replay_.picks().prepareRemoval();
  if (status != Status::ok) return status;
  const uint64_t before = replay_.book().recordCount();
  replay_.book().part<ByteLimit>().change(to.capacity, to.capacityBytes);
  status = replay_.forgetting().shrink(to.blockCountMax(), to.emptyMax(), to.ageMax);
  evictedCount_ += before - replay_.book().recordCount();
  return status;
}

/// Blocks are as long as when the log began.
Status Recovery::takeBlockLength(uint32_t length, ReplayConfig* config) {
  const bool isEmpty = replay_.book().nextHandle() == 0;
  const bool isLength = length >= 2 && length <= 1024 && (length & (length - 1)) == 0;
  if (length != config->blockLength && (!isEmpty || !isLength)) return fail(Status::log, EXRP_LOG_UNFIT);
  config->blockLength = length;
  return Status::ok;
}

/// Makes the replay anew with other limits, and with all that fits. A failure leaves nothing of it. `isPassing`: others may follow. Until rows are read, those
/// of a checkpoint take no memory.
Status Recovery::changeLimits(const LimitsHead& limits, bool isPassing) {
  PickView& first = replay_.picks().view(0);
  PickPolicy pick = first.picks.policy();
  ReplayConfig config = replay_.config();
  if (!config.differs(limits.capacity, limits.capacityBytes, limits.ageMax) && limits.blockLength == config.blockLength) return Status::ok;
  Status status = takeBlockLength(limits.blockLength, &config);
  if (status == Status::ok) status = config.change(limits.capacity, limits.capacityBytes, limits.ageMax, pick);
  if (status == Status::ok) status = shrink(config);
  Snapshot::Sections sections;
  BirthItems births;
  if (status == Status::ok) status = durable_.snapshot_.begin(this, false);
  if (status == Status::ok) status = takeBirths(replay_.book(), config.trimLength(), &births);
  durable_.snapshot_.endFor(this, &sections);
  if (status != Status::ok) return status;
  CheckpointPlaces places;
  if (!places.take(replay_.book())) return fail(Status::memory, config.capacity);
  Scratch<double> transforms;
  transforms.swap(first.transforms);
  if (pick.transformCount > 0) pick.transforms = transforms.data();
  thread_.drawn.count = 0;

  std::destroy_at(&replay_);
  std::construct_at(&replay_);
  status = replay_.create(config, pick, isPassing);
  if (status == Status::ok) status = durable_.beginRows();
  replay_.book().store().setRowsComeLater(leavesRows_);
  if (status == Status::ok) status = makeAgain();
  if (status == Status::ok) status = give(durable_.snapshot_, sections, births, config.capacity);
  return status == Status::ok ? places.give(replay_) : status;
}

/// Makes the pick views and selectors that had been made.
Status Recovery::makeAgain() {
  Status status = Status::ok;
  for (uint32_t at = 0; status == Status::ok && at < durable_.commands_.madeBytes();) {
    const uint8_t* const made = durable_.commands_.made() + at;
    CommandHead head;
    memcpy(&head, made, sizeof head);
    status = make(static_cast<Command>(head.command), made + sizeof head, head.bytes);
    at += static_cast<uint32_t>(sizeof head) + padded(head.bytes);
  }
  return status;
}

/// Takes the limits that are asked for, where they are others.
Status Recovery::takeWanted(const WantedLimits& wanted, bool* isChanged) {
  const ReplayConfig& config = replay_.config();
  const auto choose = [](double value, uint64_t now) { return value == EXRP_DURABLE_KEEP ? now : static_cast<uint64_t>(value); };
  const LimitsHead limits = {choose(wanted.capacityBytes, config.capacityBytes), choose(wanted.ageMax, config.ageMax),
                             static_cast<uint32_t>(choose(wanted.capacity, config.capacity)), config.blockLength};
  *isChanged = config.differs(limits.capacity, limits.capacityBytes, limits.ageMax);
  return changeLimits(limits, false);
}

}  // namespace exrp
