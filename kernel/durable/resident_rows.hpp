// ResidentRows: the rows of a durable replay that are on the disk only, as the replay is larger than memory, or was just opened (UnreadRows). It has blocks
// read from their places in the log (block_reader.hpp), and lets them leave memory again where that has a limit.
//
// With one, all that rows take in memory stays below a limit: the narrow columns, and those that some records keep, which never leave; the pieces of open blocks; the rows of
// sealed blocks; and what reads and packs them. A block may leave once it is sealed, and the rows that it has now are on the disk. Then the log is its only place, and each
// time its rows are wanted they are read and their checksum is verified. What can't be read is an error with its place; other rows are not concerned.
//
// Which block leaves, a clock says: its hand passes those that were used since it came by.
//
// While a mirror is to have the only copy beside the disk, it is *lean*: whenever the mirror has read, the blocks leave that it has, those first that it had first,
// until rows take no more than they need at least. What is not on the disk yet, and what the mirror lacks, still may take up to the limit. So nothing is refused that
// would not be without.
//
// Thread safety: that of the replay: one call at a time. It reads by the second thread, too, while a call waits for that.
// Invariants:
//   1. A block without rows here has a place in the log, and its rows there are those that it has.
//   2. Without a word, the limit is exceeded by nobody but a call whose own rows take more, and where a folder is only read.
//   3. While it is lean, each block with rows that the mirror has is in the list of those that may leave, unless there was no memory for the list.
// Cost: 5 bytes a block, and 4 for each that is in memory while it is lean, which a read of the mirror looks at; a comparison for each call that records; for each
// block that is read back, one read of its frame and its checksum, and a copy where its layout was not foreseen. Where nothing may leave, the caller waits for the
// log's next sync.
#pragma once

#include <algorithm>

#include "kernel/base/scratch.hpp"
#include "kernel/durable/block_reader.hpp"
#include "kernel/store/mirrored_rows.hpp"

namespace exrp {

/// Writes blocks for a ResidentRows that has nothing left that may leave.
class RowWriter {
 public:
  /// Writes what has changed and can be written now, and returns once it is on the disk. False where the disk fails.
  virtual bool writeForRoom() = 0;

 protected:
  ~RowWriter() = default;
};

class ResidentRows final : public RowSource {
 public:
  ResidentRows(EpisodeBook& book, Log& log, RowWriter& writer) : book_(book), log_(log), writer_(writer) {}
  ResidentRows(const ResidentRows&) = delete;
  ResidentRows& operator=(const ResidentRows&) = delete;
  ~ResidentRows() override { end(); }

  /// For a replay that was just made, of this capacity.
  void create(uint64_t limit, uint32_t capacity);
  /// Status::log with EXRP_LOG_RESIDENT where the limit is too small for the replay. While a log is read, the replay may have another capacity for a while.
  Status checkLimit() const;
  /// Whether there is a limit.
  bool isOn() const { return limit_ > 0; }
  /// The folder is only read, so what has changed can't be written. Then rows take more than the limit where they need it.
  void setReading(bool isReading) { isReading_ = isReading; }
  /// From now on, blocks can be read. Before, those that are not in memory have no rows yet.
  void open() { isOpen_ = true; }
  void end();

  /// Blocks that nobody needed yet. Once they were added, beginUnread() lets who needs them read them.
  UnreadRows& unread() { return unread_; }
  void beginUnread();
  /// Where memory has no limit, lets a thread read the others, until stop().
  void startReading(bool isThreaded) {
    if (isThreaded && !isOn()) unread_.start();
  }
  void stop() { unread_.stop(); }

  /// A block was written as it is.
  void written(uint32_t block);
  /// Whether so much has changed since it was written that it should be written again. While it is lean, too: each of these blocks is written as a whole.
  bool isPressed() const { return isOn() && changedBytes_ > limit_ / 8; }
  /// Calls `use` with each block that is in memory only because it has changed since it was written.
  template <typename Use>
  void forEachChanged(Use use) {
    for (uint32_t block = 0; changedBytes_ > 0 && block < marks_.committed(); ++block) {
      if ((marks_[block] & changed) != 0 && book_.store().isTaken(block)) use(block);
    }
  }

  // ---- for a mirror ----

  /// From now on it is lean, for a mirror that has just begun. The owner sees to it that the mirror has all packed columns.
  void beginLean();
  void endLean();
  bool isLean() const { return isLean_; }
  /// The mirror has read these rows.
  void mirrored(const MirroredRows::Run* runs, uint32_t count);
  /// How much rows take that may leave memory, once all has left that may: the limit, or less while it is lean.
  uint64_t keptBytes() const { return isLean_ ? std::min(limit_, needed_) : limit_; }

  // ---- RowSource ----

  void begin() override;
  bool add(uint32_t block, bool isFirst) override;
  Status fetch() override;
  bool isMissing(uint32_t block) const override { return unread_.is(block) || book_.store().packed().isAway(block); }
  bool isUnread(uint32_t block) const override { return unread_.is(block); }
  bool hasUnread() const override { return unread_.count() > 0; }
  void freed(uint32_t block) override;
  void pause() override { unread_.lock(); }
  void resume() override { unread_.unlock(); }
  void changing(uint32_t block) override;
  Status makeRoom(uint64_t bytes) override;

  uint64_t limit() const { return limit_; }
  /// All that rows take in memory now.
  uint64_t rowBytes() const { return static_cast<uint64_t>(book_.store().columnBytes()) + static_cast<uint64_t>(ownBytes()); }
  /// Beside the columns of the store.
  double ownBytes() const { return reader_.memoryBytes(); }
  double memoryBytes() const {
    return ownBytes() + stamps_.memoryBytes() + marks_.memoryBytes() + missing_.memoryBytes() + parts_.memoryBytes() + unread_.memoryBytes() + present_.memoryBytes();
  }
  uint64_t readBlocks() const { return readBlocks_; }
  uint64_t readBytes() const { return readBytes_; }

 private:
  static constexpr uint8_t used = 1;     // since the hand came by
  static constexpr uint8_t changed = 2;  // since it was written
  static constexpr uint8_t listed = 4;   // in the list of those that are to leave

  using Missing = BlockReader::Missing;

  bool prepare(uint32_t block);
  void forgetChange(uint32_t block);
  bool takes(uint64_t bytes, bool isFirst);
  Status fetchMissing();
  Status readMissing();
  uint64_t readCost(uint32_t block) const;
  bool mayLeave(uint32_t block) const;
  uint64_t drop(uint32_t block);
  uint64_t dropOne();
  void list(uint32_t block);
  void dropMirrored();

  EpisodeBook& book_;
  Log& log_;
  RowWriter& writer_;
  UnreadRows unread_{book_, log_};
  BlockReader reader_{book_, log_, unread_};
  uint64_t limit_ = 0;
  uint64_t needed_ = 0;      // at least, by the capacity
  bool isOpen_ = false;
  bool isReading_ = false;
  bool isLean_ = false;
  uint32_t hand_ = 0;
  uint32_t set_ = 1;  // its number
  uint64_t setBytes_ = 0;
  uint64_t setMax_ = 0;
  uint64_t missingBytes_ = 0;
  uint64_t changedBytes_ = 0;  // about; 0 where no block has changed
  uint64_t readBlocks_ = 0;
  uint64_t readBytes_ = 0;
  Scratch<uint32_t> stamps_;  // by block: the last set that it was in
  Scratch<uint8_t> marks_;    // by block
  Scratch<uint32_t> present_;  // while it is lean: blocks that are to leave
  uint32_t presentCount_ = 0;
  Scratch<Missing> missing_;  // of the set
  uint32_t missingCount_ = 0;
  bool isMemoryShort_ = false;
  Scratch<RowPart> parts_;  // of each of them, one for each packed column
};

}  // namespace exrp
