// SegmentRemover: says in the folder where the newest checkpoint is, and removes the segments that nothing needs any more.
//
// A thread of its own does both, as a sync and the removal of a large file take some 20 ms each. Meanwhile the caller records, and the log's thread writes. Where the log
// has no thread, the caller does it.
//
// Thread safety: any thread may call wait(). The rest belongs to the owner of the log.
// Invariants:
//   1. A segment goes only once the folder names a checkpoint that does not need it.
//   2. Between pause() and resume(), no segment goes.
// What can't be written or removed stays, without a word: the checkpoint before still counts, and the next one tries again.
#pragma once

#include <memory>

#include "kernel/base/sync.hpp"
#include "kernel/base/thread.hpp"
#include "kernel/log/log.hpp"

namespace exrp {

class SegmentRemover {
 public:
  SegmentRemover(Log& log, const std::unique_ptr<Disk>& disk) : log_(log), disk_(disk) {}
  SegmentRemover(const SegmentRemover&) = delete;
  SegmentRemover& operator=(const SegmentRemover&) = delete;

  /// A checkpoint is on the disk, and needs segments from `neededFrom` on. False while the one before is being said: nothing was done, so try again.
  bool begin(LogPosition checkpoint, uint32_t neededFrom);
  /// Returns once nothing is being done. Before the log and its disk are closed, too.
  void wait();

  void pause();
  void resume();
  /// The checkpoint that the folder names; {}: there is none. Only while this is paused.
  LogPosition newest() const { return newest_; }
  /// What the folder named when it was opened.
  void setNewest(LogPosition newest) { newest_ = newest; }

 private:
  void start();
  static void clean(void* cleaner) { static_cast<SegmentRemover*>(cleaner)->clean(); }
  void clean();

  Log& log_;
  const std::unique_ptr<Disk>& disk_;
  // Of the owner, and of the thread while it is busy.
  LogPosition newest_;
  uint32_t removeBefore_ = 0;  // 0: no segment is to go
  LogPosition begun_;          // a checkpoint that is to be named; {}: none
  uint32_t begunFrom_ = 0;     // what it needs
  bool isPaused_ = false;

  Mutex mutex_;
  Condition done_;
  bool isBusy_ = false;  // under the mutex
  Thread thread_;        // the last one: its end waits for the thread
};

}  // namespace exrp
