#include "kernel/durable/resident_rows.hpp"

#include <algorithm>
#include <cstring>

#include "kernel/base/second_thread.hpp"
#include "kernel/durable/durable_format.hpp"
#include "kernel/store/logged_rows.hpp"

namespace exrp {
namespace {

/// Blocks that there is room for, at least: two that are read, those that are recorded, and some that are drawn.
constexpr uint64_t blocksMin = 8;

Status tooSmall(uint64_t needed, uint64_t limit) {
  return fail(Status::log, EXRP_LOG_RESIDENT, static_cast<double>(needed), static_cast<double>(limit));
}

}  // namespace

void ResidentRows::create(uint64_t limit, uint32_t capacity) {
  Store& store = book_.store();
  end();
  // What stays in memory, where the blocks are full, and some blocks.
  uint64_t recordBytes = 0;
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (!store.isPacked(column)) recordBytes += (store.column(column).bytes + store.column(column).every - 1) / store.column(column).every;
  }
  needed_ = recordBytes * capacity + blocksMin * loggedBlockBytesMax(store);
  reader_.create();
  limit_ = isReading_ ? std::max(limit, needed_) : limit;
  isOpen_ = false;
  hand_ = 0;
  changedBytes_ = 0;
  if (marks_.committed() > 0) memset(marks_.data(), 0, marks_.committed());
  begin();
  store.setSource(this, true);
}

Status ResidentRows::checkLimit() const { return limit_ < needed_ && isOn() ? tooSmall(needed_, limit_) : Status::ok; }

void ResidentRows::end() {
  unread_.stop();
  endLean();
  if (book_.store().source() == this) book_.store().setSource(nullptr, false);
  limit_ = 0;
}

void ResidentRows::beginUnread() {
  if (unread_.count() > 0) book_.store().setSource(this, isOn());
}

void ResidentRows::freed(uint32_t block) {
  if (block < marks_.committed()) forgetChange(block);
  if (!unread_.is(block)) return;
  unread_.lock();
  unread_.done(block);
  unread_.unlock();
}

/// Takes the memory for what is known of a block.
bool ResidentRows::prepare(uint32_t block) { return stamps_.commit(size_t{block} + 1) && marks_.commit(size_t{block} + 1); }

/// A block has no change any more that is not on the disk.
void ResidentRows::forgetChange(uint32_t block) {
  if ((marks_[block] & changed) == 0) return;
  marks_[block] &= static_cast<uint8_t>(~changed);
  changedBytes_ -= std::min(changedBytes_, book_.store().packed().pieceBytes());
}

void ResidentRows::written(uint32_t block) {
  if (!isOn() || !prepare(block)) return;
  forgetChange(block);
  marks_[block] |= used;
}

void ResidentRows::changing(uint32_t block) {
  if (!isOn()) return;
  if (!prepare(block)) return book_.part<LoggedRows>().pin(block);
  if ((marks_[block] & changed) != 0) return;
  marks_[block] |= changed;
  changedBytes_ += book_.store().packed().pieceBytes();
}

// ---- sets ----

void ResidentRows::begin() {
  // All is in memory, and stays there.
  if (!isOn() && unread_.count() == 0) {
    unread_.stop();
    book_.store().setSource(nullptr, false);
    reader_.free();
    Scratch<uint8_t>().swap(marks_);
    Scratch<uint32_t>().swap(stamps_);
  }
  if (++set_ == 0) {
    memset(stamps_.data(), 0, stamps_.committed() * sizeof(uint32_t));
    set_ = 1;
  }
  setBytes_ = missingBytes_ = 0;
  missingCount_ = 0;
  setMax_ = 0;
  isMemoryShort_ = false;
}

/// At most what reading a block back takes. Rows that were trimmed since leave their room.
uint64_t ResidentRows::readCost(uint32_t block) const {
  const Store& store = book_.store();
  const uint64_t trimmed = book_.rowsOf(block).first * (store.packed().pieceBytes() / store.blockLength());
  return book_.part<LoggedRows>().place(block).bytes + trimmed + store.packed().count() * PackedColumn::takenBytes(0);
}

bool ResidentRows::add(uint32_t block, bool isFirst) {
  const PackedColumns& packed = book_.store().packed();
  if (!prepare(block)) {
    isMemoryShort_ = true;
    return isFirst;
  }
  if (stamps_[block] == set_) return true;
  const bool isAbsent = isMissing(block);
  const uint64_t bytes = isAbsent ? readCost(block) : packed.blockBytes(block);
  if (isOn() && !takes(bytes, isFirst)) return false;
  if (isAbsent && isOpen_) {
    if (!missing_.commit(missingCount_ + 1)) {
      isMemoryShort_ = true;
      return isFirst;
    }
    missing_[missingCount_++] = {block, book_.part<LoggedRows>().place(block), LogStatus::ok, 0, {}};
    missingBytes_ += bytes;
  }
  stamps_[block] = set_;
  marks_[block] |= used;
  setBytes_ += bytes;
  return true;
}

/// Whether a set with a block more has room.
bool ResidentRows::takes(uint64_t bytes, bool isFirst) {
  const PackedColumns& packed = book_.store().packed();
  if (setMax_ == 0) {
    // Half of what there is beside the rows that never leave.
    uint64_t packedBytes = packed.waitingBytes();
    for (uint32_t at = 0; at < packed.count(); ++at) packedBytes += packed.of(packed.column(at)).packedBytes();
    const uint64_t others = rowBytes() - std::min(packedBytes, rowBytes());
    setMax_ = std::max<uint64_t>(1, (limit_ - std::min(others, limit_)) / 2);
  }
  return isFirst || setBytes_ + bytes <= setMax_;
}

Status ResidentRows::fetch() {
  if (missingCount_ == 0 && !isMemoryShort_) [[likely]] return Status::ok;
  const Status status = fetchMissing();
  // Nobody uses a set that was not fetched.
  if (status != Status::ok) begin();
  return status;
}

Status ResidentRows::fetchMissing() {
  unread_.lock();
  // Some may have been read meanwhile.
  uint32_t count = 0;
  for (uint32_t at = 0; at < missingCount_; ++at) {
    if (isMissing(missing_[at].block)) missing_[count++] = missing_[at];
  }
  missingCount_ = count;
  const Status status = readMissing();
  unread_.noteFetch();
  unread_.unlock();
  return status;
}

Status ResidentRows::readMissing() {
  Store& store = book_.store();
  const uint32_t columns = store.packed().count();
  const bool isTaken = !isMemoryShort_ && reader_.prepare() && parts_.commit(size_t{missingCount_} * columns);
  if (!isTaken) return fail(Status::memory, static_cast<double>(missingBytes_));
  Missing* const first = missing_.data();
  std::sort(first, first + missingCount_, [](const Missing& a, const Missing& b) { return a.place.position().packed() < b.place.position().packed(); });
  // What leaves for them gives them its memory.
  store.packed().keepSpare(true);
  const Status status = makeRoom(missingBytes_);
  for (uint32_t at = 0; at < missingCount_ && status == Status::ok; ++at) reader_.takeMemory(missing_[at], parts_.data() + size_t{at} * columns);
  store.packed().keepSpare(false);
  if (status != Status::ok) return status;
  const auto work = [](const void* context, uint32_t piece, uint32_t thread) {
    auto& self = *static_cast<ResidentRows*>(const_cast<void*>(context));
    self.reader_.read(self.missing_[piece], self.parts_.data() + size_t{piece} * self.book_.store().packed().count(), thread);
  };
  SecondThread::share(missingCount_, work, this);
  const Missing* failed = nullptr;
  for (uint32_t at = 0; at < missingCount_; ++at) {
    const Missing& missing = missing_[at];
    if (missing.status != LogStatus::ok) {
      const bool isDamaged = missing.status == LogStatus::damaged || missing.status == LogStatus::unknown;
      if (isDamaged && unread_.is(missing.block)) unread_.lose(missing.block, missing.place);
      if (failed == nullptr) failed = &missing;
      continue;
    }
    for (uint32_t k = 0; k < columns; ++k) {
      const RowPart& part = parts_[size_t{at} * columns + k];
      store.packed().of(store.packed().column(k)).adopt(missing.block, part.data, part.bytes, part.count);
    }
    unread_.done(missing.block);
    if (isLean_) list(missing.block);
    ++readBlocks_;
    readBytes_ += missing.place.bytes;
  }
  missingCount_ = 0;
  missingBytes_ = 0;
  if (failed == nullptr) return Status::ok;
  if (failed->status == LogStatus::memory) return fail(Status::memory, failed->place.bytes);
  if (failed->status == LogStatus::closed) return fail(Status::log, EXRP_LOG_CLOSED);
  return fail(Status::log, EXRP_LOG_ROWS, failed->place.segment, failed->place.offset, failed->system);
}

// ---- room ----

/// Whether a block is sealed, and its rows are on the disk.
bool ResidentRows::mayLeave(uint32_t block) const {
  const Store& store = book_.store();
  if (!store.isTaken(block) || !store.packed().isPacked(block)) return false;
  if (stamps_[block] == set_ || (marks_[block] & changed) != 0) return false;
  const Episode& episode = book_.episodes()[store.head(block).episode];
  // The newest row of an open episode may be looked at by whoever ends it.
  if (block == episode.lastBlock && !episode.ended()) return false;
  const LoggedRows& logged = book_.part<LoggedRows>();
  const LogPlace& place = logged.place(block);
  if (place.segment == 0 || logged.isUnwritten(block) || logged.isPinned(block)) return false;
  // A log that is being read writes and syncs all of it before it goes on.
  return !isOpen_ || LogPosition{place.segment, place.offset + wholeFrameBytes(place.bytes)}.packed() <= log_.flushed().packed();
}

/// Lets a block leave. Returns what it took.
uint64_t ResidentRows::drop(uint32_t block) {
  PackedColumns& packed = book_.store().packed();
  const uint64_t bytes = packed.blockBytes(block);
  packed.give(block);
  return bytes;
}

/// Lets the next block leave that was not used for a while. Returns what it took; 0 where none may.
uint64_t ResidentRows::dropOne() {
  Store& store = book_.store();
  const uint32_t end = store.highWater();
  if (end == 0 || !prepare(end - 1)) return 0;
  // Once around to take the marks of use away, and once more.
  for (uint64_t steps = uint64_t{2} * end; steps > 0; --steps) {
    if (hand_ >= end) hand_ = 0;
    const uint32_t block = hand_++;
    if (!mayLeave(block)) continue;
    if ((marks_[block] & used) != 0) {
      marks_[block] &= static_cast<uint8_t>(~used);
      continue;
    }
    return drop(block);
  }
  return 0;
}

// ---- for a mirror ----

void ResidentRows::beginLean() { isLean_ = true; }

void ResidentRows::endLean() {
  for (uint32_t at = 0; at < presentCount_; ++at) marks_[present_[at]] &= static_cast<uint8_t>(~listed);
  Scratch<uint32_t>().swap(present_);
  presentCount_ = 0;
  isLean_ = false;
}

/// Without memory, the block leaves as others do.
void ResidentRows::list(uint32_t block) {
  if (!prepare(block) || (marks_[block] & listed) != 0 || !present_.commit(size_t{presentCount_} + 1)) return;
  marks_[block] |= listed;
  present_[presentCount_++] = block;
}

void ResidentRows::mirrored(const MirroredRows::Run* runs, uint32_t count) {
  if (!isLean_ || !isOn()) return;
  for (uint32_t at = 0; at < count; ++at) {
    if (runs[at].count > 0) list(book_.store().blockOf(runs[at].slot));
  }
  dropMirrored();
}

/// Lets blocks leave that the mirror has, the first ones of the list first.
void ResidentRows::dropMirrored() {
  const Store& store = book_.store();
  const MirroredRows& mirror = book_.part<MirroredRows>();
  book_.store().packed().reclaim();
  // What others still copy from leaves with the copies.
  const uint64_t waiting = store.packed().waitingBytes();
  uint64_t taken = rowBytes() - std::min(waiting, rowBytes());
  if (taken <= keptBytes()) return;
  // Nobody uses the set that was read last.
  begin();
  uint32_t left = 0;
  for (uint32_t at = 0; at < presentCount_; ++at) {
    const uint32_t block = present_[at];
    bool isGone = !store.isTaken(block) || store.packed().isAway(block);
    if (!isGone && taken > keptBytes() && mirror.hasWide(block) && mayLeave(block)) {
      taken -= std::min(taken, drop(block));
      isGone = true;
    }
    if (isGone) marks_[block] &= static_cast<uint8_t>(~listed);
    else present_[left++] = block;
  }
  presentCount_ = left;
}

Status ResidentRows::makeRoom(uint64_t bytes) {
  if (!isOn()) return Status::ok;
  Store& store = book_.store();
  uint64_t taken = rowBytes();
  if (taken + bytes <= limit_) [[likely]] return Status::ok;
  store.packed().reclaim();
  taken = rowBytes();
  // What others still copy from leaves with the copies.
  uint64_t waiting = store.packed().waitingBytes();
  bool hasWritten = false;
  while (taken - waiting + bytes > limit_) {
    const uint64_t dropped = dropOne();
    if (dropped > 0) {
      taken -= dropped;
      continue;
    }
    // While the log is read, a call is made again whose rows were in memory with all others then. It asks for more than it needs.
    if (!isOpen_ || isReading_) return Status::ok;
    if (hasWritten || !writer_.writeForRoom()) return tooSmall(taken - waiting + bytes, limit_);
    hasWritten = true;
  }
  // The copies of this very call are made once it has given the lock back.
  const CopyQueue* const own = *store.copiesPlace();
  const bool mayWait = own == nullptr || own->isEmpty();
  if (mayWait && store.packed().waitingBytes() > 0 && rowBytes() + bytes > limit_) {
    store.waitForCopies();
    store.packed().reclaim();
  }
  return Status::ok;
}

}  // namespace exrp
