#include "kernel/durable/segment_remover.hpp"

#include "kernel/durable/checkpoint_file.hpp"

namespace exrp {

bool SegmentRemover::begin(LogPosition checkpoint, uint32_t neededFrom) {
  {
    const Lock lock(mutex_);
    if (isBusy_) return false;
  }
  begun_ = checkpoint;
  begunFrom_ = neededFrom;
  start();
  return true;
}

/// The thread of the last time has ended, or is about to.
void SegmentRemover::start() {
  thread_.join();
  {
    const Lock lock(mutex_);
    isBusy_ = true;
  }
  if (!log_.isThreaded() || !thread_.start(clean, this)) clean();
}

void SegmentRemover::clean() {
  if (begun_.segment != 0 && !writeCheckpointFile(*disk_, log_.id(), begun_).isError()) {
    newest_ = begun_;
    removeBefore_ = begunFrom_;
  }
  begun_ = {};
  if (removeBefore_ != 0 && !isPaused_) {
    if (!log_.hasFailed()) log_.removeSegments(removeBefore_);
    removeBefore_ = 0;
  }
  const Lock lock(mutex_);
  isBusy_ = false;
  done_.notify_all();
}

void SegmentRemover::wait() {
  Lock lock(mutex_);
  while (isBusy_) lock.wait(done_);
}

void SegmentRemover::pause() {
  wait();
  isPaused_ = true;
}

void SegmentRemover::resume() {
  wait();
  isPaused_ = false;
  if (removeBefore_ != 0) start();
}

}  // namespace exrp
