#include "kernel/durable/log_cleaner.hpp"

#include "kernel/durable/checkpoint_file.hpp"

namespace exrp {

bool LogCleaner::begin(LogPosition checkpoint, uint32_t neededFrom) {
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
void LogCleaner::start() {
  thread_.join();
  {
    const Lock lock(mutex_);
    isBusy_ = true;
  }
  if (!log_.isThreaded() || !thread_.start(clean, this)) clean();
}

void LogCleaner::clean() {
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

void LogCleaner::wait() {
  Lock lock(mutex_);
  while (isBusy_) lock.wait(done_);
}

void LogCleaner::pause() {
  wait();
  isPaused_ = true;
}

void LogCleaner::resume() {
  wait();
  isPaused_ = false;
  if (removeBefore_ != 0) start();
}

}  // namespace exrp
