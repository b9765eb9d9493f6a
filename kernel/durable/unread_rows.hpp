// UnreadRows: the blocks of a replay that was just opened whose rows are still on the disk only. Who needs one reads it first (ResidentRows). Meanwhile, a thread of
// its own reads one after the other, in order of their places in the log, until all are in memory. It begins once somebody has read what the first call needs, or after
// a second. Until then, memory for rows comes in small pages: the first draw needs few rows that lie far apart, and a huge page is cleared for each of them.
//
// A block whose rows are damaged, by whomever that is found, is told by lost(), and its episode goes with the next group. One that can't be read for now stays
// unread, and the thread comes back to it.
//
// Thread safety: the owner makes one call at a time, as those of a replay are. Its own thread only writes rows of unread blocks, and only under the mutex. So the owner holds it
// while it reads such a block itself, frees one, or lets the memory of rows move. Who sees that a block is not unread sees its rows.
// Invariants:
//   1. An unread block is taken, and its place in the log has all the rows that it has.
//   2. A block that is read or freed is never unread again.
// Cost: 25 bytes a block while the thread runs, and 1 before and after; a lock for each block that goes meanwhile. The thread holds the mutex while it copies the rows
// of one block.
#pragma once

#include <atomic>
#include <memory>

#include "kernel/base/scratch.hpp"
#include "kernel/base/sync.hpp"
#include "kernel/base/thread.hpp"
#include "kernel/durable/frame_rows.hpp"
#include "kernel/log/log.hpp"
#include "kernel/replay/episode_book.hpp"

namespace exrp {

/// What was found since a replay was opened, in blocks that were unread then.
struct UnreadReport {
  uint64_t unreadBlocks = 0;
  uint64_t lostBlocks = 0;
  uint64_t repairedCount = 0;  // flipped bits
  LogPosition damage;          // the first that was not repaired
};

class UnreadRows {
 public:
  UnreadRows(EpisodeBook& book, Log& log) : book_(book), log_(log) {}
  UnreadRows(const UnreadRows&) = delete;
  UnreadRows& operator=(const UnreadRows&) = delete;
  ~UnreadRows() { stop(); }

  /// For blocks below this one; none is unread. False without memory.
  bool create(uint32_t blockEnd);
  /// A block has its rows at the place that LoggedRows has.
  void add(uint32_t block);
  /// Lets the thread begin. Where there is none, or no memory, blocks are read when they are needed.
  void start();
  /// Ends it. Blocks that are unread stay so.
  void stop();
  /// Without a thread: reads the next blocks as it would, so many at most.
  void readNext(uint32_t count);

  bool is(uint32_t block) const { return block < blockEnd_ && marks_[block].load(std::memory_order_acquire) != read; }
  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  UnreadReport report();
  double memoryBytes() const { return double{1} * blockEnd_ + jobs_.memoryBytes() + payload_.memoryBytes(); }

  /// To be held by the owner, as said above. Nothing where no thread was started.
  void lock() {
    if (thread_.isStarted()) mutex_.lock();
  }
  void unlock() {
    if (thread_.isStarted()) mutex_.unlock();
  }
  /// Under the mutex: an unread block was read, or has gone.
  void done(uint32_t block);
  /// Under the mutex: its rows, which are at this place, are damaged.
  void lose(uint32_t block, const LogPlace& place);
  /// Under the mutex: somebody has read what a call needs. The thread may begin.
  void noteFetch() {
    if (!hasFetched_) awaited_.notify_all();
    hasFetched_ = true;
  }
  void noteRepair() { repaired_.fetch_add(1, std::memory_order_relaxed); }
  /// Whether it is known that a block is damaged.
  bool isLost(uint32_t block) const { return block < blockEnd_ && marks_[block].load(std::memory_order_acquire) == lost; }
  /// The owner: calls use(block) for each that was lost and has not gone.
  template <typename Use>
  void takeLost(Use use) {
    if (lostBlocks_.load(std::memory_order_relaxed) == 0) [[likely]] return;
    for (size_t at = 0;; ++at) {
      uint32_t block = blockNone;
      {
        const Lock lock(listMutex_);
        while (at < lostCount_ && !isLost(list_[at])) list_[at] = list_[--lostCount_];
        if (at == lostCount_) return;
        block = list_[at];
      }
      use(block);
    }
  }

 private:
  static constexpr uint8_t read = 0;
  static constexpr uint8_t unread = 1;
  static constexpr uint8_t lost = 2;

  /// What the thread needs to know of a block, so that it looks at nothing that changes.
  struct Job {
    LogPlace place;
    uint32_t block;
    RowRange rows;
  };

  bool listJobs();
  void readJob(const Job& job);
  LogStatus put(const Job& job, uint32_t type);
  void run();
  void wait(uint32_t milliseconds, bool untilFetch);

  EpisodeBook& book_;
  Log& log_;
  std::unique_ptr<std::atomic<uint8_t>[]> marks_;  // by block
  uint32_t blockEnd_ = 0;
  std::atomic<uint32_t> count_ = 0;
  std::atomic<uint64_t> repaired_ = 0;
  std::atomic<uint64_t> lostBlocks_ = 0;

  Mutex mutex_;
  Condition awaited_;  // the first fetch, or the end
  bool hasFetched_ = false;  // under the mutex
  Mutex listMutex_;
  // Under listMutex_.
  Scratch<uint32_t> list_;
  size_t lostCount_ = 0;
  LogPosition damage_;

  // Of the thread, while it runs.
  Thread thread_;
  std::atomic<bool> isEnding_ = false;
  Scratch<Job> jobs_;  // in order of places
  size_t jobCount_ = 0;
  size_t jobAt_ = 0;
  Scratch<uint8_t> payload_;
  RowPart parts_[columnMax] = {};
};

}  // namespace exrp
