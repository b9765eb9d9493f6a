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

/// The sections of a snapshot but for its records, as bytes.
class Sections {
 public:
  /// Takes them from a replay. The births are those that a replay of another trim length keeps.
  Status take(Snapshot& snapshot, const Replay& replay, uint32_t trimLength) {
    Status status = snapshot.begin(this, false);
    double info[2] = {};
    for (uint32_t section = 0; status == Status::ok && snapshot.info(section, info) == Status::ok; ++section) {
      if (section == EXRP_SECTION_RECORDS || info[0] == 0) continue;
      if (section == EXRP_SECTION_BIRTHS) {
        status = takeBirths(replay, trimLength);
        continue;
      }
      const auto count = static_cast<uint32_t>(info[0]);
      const auto bytes = static_cast<size_t>(info[0] * info[1]);
      status = reserve(section, count, bytes);
      if (status == Status::ok) status = snapshot.read(section, 0, count, bytes_.data() + last().at, static_cast<double>(bytes));
    }
    snapshot.endFor(this);
    return status;
  }
  /// Gives them to a replay that was just made.
  Status give(Snapshot& snapshot, uint32_t capacity) {
    for (size_t k = 0; k < count_; ++k) {
      const Section& section = sections_[k];
      uint8_t* const items = bytes_.data() + section.at;
      if (section.number == EXRP_SECTION_COUNTERS) Snapshot::setCapacity(items, capacity);
      Status status = section.number > EXRP_SECTION_RECORDS && !hasSkippedRecords_ ? skip(snapshot) : Status::ok;
      if (status == Status::ok) status = snapshot.write(section.number, 0, section.count, items, static_cast<double>(section.bytes));
      if (status != Status::ok) return status;
    }
    const Status status = hasSkippedRecords_ ? Status::ok : skip(snapshot);
    return status == Status::ok ? snapshot.end() : status;
  }

 private:
  struct Section {
    uint32_t number;
    uint32_t count;
    size_t at;
    size_t bytes;
  };

  Section& last() { return sections_[count_ - 1]; }

  Status skip(Snapshot& snapshot) {
    hasSkippedRecords_ = true;
    return snapshot.skipRecords();
  }

  Status reserve(uint32_t number, uint32_t count, size_t bytes) {
    const size_t at = padded(used_);
    if (!sections_.commit(count_ + 1) || !bytes_.commit(at + bytes)) return fail(Status::memory, static_cast<double>(at + bytes));
    sections_[count_++] = {number, count, at, bytes};
    used_ = at + bytes;
    return Status::ok;
  }

  /// One for each run of so many positions. Where fewer were kept, they count on from those, which is never too late.
  Status takeBirths(const Replay& replay, uint32_t trimLength) {
    const EpisodeList& episodes = replay.book().episodes();
    const Store& store = replay.book().store();
    const Status status = reserve(EXRP_SECTION_BIRTHS, 0, 0);
    if (status != Status::ok) return status;
    for (uint32_t episode = episodes.oldest(); episode != episodeNone; episode = episodes[episode].newer) {
      const Episode& entry = episodes[episode];
      for (uint32_t at = episodes.first(episode); at < entry.count; at = (at & ~(trimLength - 1)) + trimLength) {
        if (!bytes_.commit(used_ + sizeof(uint64_t))) return fail(Status::memory, static_cast<double>(used_));
        const uint64_t birth = store.births().at(store.slotAt(replay.book().blockAt(entry, at), at));
        memcpy(bytes_.data() + used_, &birth, sizeof birth);
        used_ += sizeof birth;
        last().bytes += sizeof birth;
        ++last().count;
      }
    }
    return Status::ok;
  }

  Scratch<Section> sections_;
  size_t count_ = 0;
  Scratch<uint8_t> bytes_;
  size_t used_ = 0;
  bool hasSkippedRecords_ = false;
};

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
  Sections sections;
  if (status == Status::ok) status = sections.take(durable_.snapshot_, replay_, config.trimLength());
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
  if (status == Status::ok) status = sections.give(durable_.snapshot_, config.capacity);
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
