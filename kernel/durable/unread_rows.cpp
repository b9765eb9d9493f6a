#include "kernel/durable/unread_rows.hpp"

#include <algorithm>
#include <new>

#include "kernel/store/logged_rows.hpp"

namespace exrp {
namespace {

constexpr uint32_t awaitMs = 1000;
/// What could not be read is tried again after so long, then after twice as long, and so on.
constexpr uint32_t retryMs = 1000;
constexpr uint32_t retryMsMax = 60000;

}  // namespace

bool UnreadRows::create(uint32_t blockEnd) {
  marks_.reset(new (std::nothrow) std::atomic<uint8_t>[blockEnd]());
  blockEnd_ = marks_ == nullptr ? 0 : blockEnd;
  return marks_ != nullptr;
}

void UnreadRows::add(uint32_t block) {
  marks_[block].store(unread, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
}

void UnreadRows::done(uint32_t block) {
  if (!is(block)) return;
  // Release: who sees it sees the rows.
  marks_[block].store(read, std::memory_order_release);
  count_.fetch_sub(1, std::memory_order_release);
}

void UnreadRows::lose(uint32_t block, const LogPlace& place) {
  if (isLost(block)) return;
  marks_[block].store(lost, std::memory_order_release);
  const Lock lock(listMutex_);
  if (lostBlocks_.fetch_add(1, std::memory_order_relaxed) == 0) damage_ = place.position();
  // Without memory for the list, it stays, and who needs it is told.
  if (list_.commit(lostCount_ + 1)) list_[lostCount_++] = block;
}

UnreadReport UnreadRows::report() {
  const Lock lock(listMutex_);
  return {count(), lostBlocks_.load(std::memory_order_relaxed), repaired_.load(std::memory_order_relaxed), damage_};
}

// ---- the thread ----

bool UnreadRows::listJobs() {
  const Store& store = book_.store();
  jobCount_ = jobAt_ = 0;
  if (!jobs_.commit(count()) || !payload_.commit(static_cast<size_t>(loggedBlockBytesMax(store)))) return false;
  for (uint32_t block = 0; block < blockEnd_; ++block) {
    if (!is(block)) continue;
    jobs_[jobCount_++] = {book_.part<LoggedRows>().place(block), block, RowRange(book_.rowsOf(block))};
  }
  Job* const first = jobs_.data();
  std::sort(first, first + jobCount_, [](const Job& a, const Job& b) { return a.place.position().packed() < b.place.position().packed(); });
  return true;
}

void UnreadRows::start() {
  if (count() == 0 || !listJobs()) return;
  isEnding_.store(false);
  book_.store().allowHugeRows(false);
  thread_.start([](void* self) { static_cast<UnreadRows*>(self)->run(); }, this);
  if (!thread_.isStarted()) book_.store().allowHugeRows(true);
}

void UnreadRows::stop() {
  {
    const Lock lock(mutex_);
    isEnding_.store(true);
    awaited_.notify_all();
  }
  thread_.join();
  Scratch<Job>().swap(jobs_);
  Scratch<uint8_t>().swap(payload_);
  jobCount_ = jobAt_ = 0;
}

void UnreadRows::run() {
  wait(awaitMs, true);
  {
    const Lock lock(mutex_);
    book_.store().allowHugeRows(true);
  }
  for (uint32_t pause = retryMs; jobCount_ > 0 && !isEnding_.load(std::memory_order_relaxed); pause = std::min(2 * pause, retryMsMax)) {
    for (jobAt_ = 0; jobAt_ < jobCount_ && !isEnding_.load(std::memory_order_relaxed);) readJob(jobs_[jobAt_++]);
    size_t count = 0;
    for (size_t at = 0; at < jobCount_; ++at) {
      if (is(jobs_[at].block) && !isLost(jobs_[at].block)) jobs_[count++] = jobs_[at];
    }
    jobCount_ = count;
    if (count > 0) wait(pause, false);
  }
}

/// Waits so long, or until it is to end, or `untilFetch`.
void UnreadRows::wait(uint32_t milliseconds, bool untilFetch) {
  const uint64_t until = steadyMilliseconds() + milliseconds;
  Lock lock(mutex_);
  for (uint64_t now = 0; !isEnding_.load(std::memory_order_relaxed) && !(untilFetch && hasFetched_) && (now = steadyMilliseconds()) < until;) {
    lock.waitFor(awaited_, static_cast<uint32_t>(until - now));
  }
}

void UnreadRows::readNext(uint32_t count) {
  if (jobCount_ == 0 && !listJobs()) return;
  for (; count > 0 && jobAt_ < jobCount_; --count) readJob(jobs_[jobAt_++]);
}

void UnreadRows::readJob(const Job& job) {
  {
    // Who needs rows now reads first.
    const Lock lock(mutex_);
    if (!is(job.block) || isLost(job.block)) return;
  }
  uint32_t type = 0;
  LogFailure failure;
  bool isRepaired = false;
  LogStatus status = log_.read(job.place, payload_.data(), &type, &failure, &isRepaired);
  const Lock lock(mutex_);
  // Somebody else may have read it, or it has gone, and its segment, too.
  if (!is(job.block) || isLost(job.block)) return;
  if (isRepaired) noteRepair();
  if (status == LogStatus::ok) status = put(job, type);
  if (status == LogStatus::ok) done(job.block);
  else if (status == LogStatus::damaged || status == LogStatus::unknown) lose(job.block, job.place);
}

/// Under the mutex: copies the rows to their place.
LogStatus UnreadRows::put(const Job& job, uint32_t type) {
  Store& store = book_.store();
  const LogStatus status = takeRows(store, job.block, job.rows, true, type, payload_.data(), job.place.bytes, parts_);
  for (uint32_t k = 0; status == LogStatus::ok && k < store.packed().count(); ++k) {
    store.packed().of(store.packed().column(k)).adoptFirst(job.block, parts_[k].data, parts_[k].bytes, parts_[k].count);
  }
  return status;
}

}  // namespace exrp
