#include "kernel/calls/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace exrp {
namespace {

/// Adds up values, and counts them into bins.
class Summary {
 public:
  explicit Summary(const Histogram& histogram) : histogram_(histogram) {
    std::fill(histogram.counts, histogram.counts + histogram.edgeCount + 1, 0.0);
  }

  void add(double value) {
    count_ += 1;
    sum_ += value;
    squares_ += value * value;
    if (value > 0 && (smallest_ == 0 || value < smallest_)) smallest_ = value;
    if (value > largest_) largest_ = value;
    const double* const end = histogram_.edges + histogram_.edgeCount;
    histogram_.counts[std::upper_bound(histogram_.edges, end, value) - histogram_.edges] += 1;
  }

  void write(double* summary) const {
    summary[EXRP_SUMMARY_COUNT] = count_;
    summary[EXRP_SUMMARY_SUM] = sum_;
    summary[EXRP_SUMMARY_SQUARES] = squares_;
    summary[EXRP_SUMMARY_SMALLEST] = smallest_;
    summary[EXRP_SUMMARY_LARGEST] = largest_;
  }

 private:
  Histogram histogram_;
  double count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
  double smallest_ = 0;
  double largest_ = 0;
};

Status checkEdges(const Histogram& histogram) {
  for (uint32_t k = 1; k < histogram.edgeCount; ++k) {
    if (!(histogram.edges[k - 1] < histogram.edges[k])) return fail(Status::argument, 3, histogram.edges[k]);
  }
  return Status::ok;
}

}  // namespace

Status Statistics::recordAges(const Histogram& histogram, double* summary) const {
  if (const Status status = checkEdges(histogram); status != Status::ok) return status;
  Summary ages(histogram);
  const Store& store = replay_.book().store();
  const EpisodeList& episodes = replay_.book().episodes();
  for (uint32_t at = episodes.oldest(); at != episodeNone; at = episodes[at].newer) {
    const Episode& episode = episodes[at];
    uint32_t position = episodes.first(at);
    for (uint32_t block = episode.firstBlock; block != blockNone; block = store.block(block).next) {
      for (uint32_t k = store.within(position); k < store.blockLength() && position < episode.count; ++k, ++position) {
        ages.add(static_cast<double>(replay_.book().recordedCount() - store.births().at(store.firstSlot(block) + k) - 1));
      }
    }
  }
  ages.write(summary);
  summary[EXRP_SUMMARY_EXISTS] = 1;
  return Status::ok;
}

Status Statistics::sums(ThreadScratch& thread, uint32_t selector, uint32_t what, const Histogram& histogram, double* summary) const {
  Status status = replay_.picks().checkSelector(selector);
  if (status == Status::ok) status = checkEdges(histogram);
  if (status != Status::ok) return status;
  constexpr uint32_t piece = 1024;
  if (!thread.numbers.commit(piece) || !thread.indices.commit(piece)) return fail(Status::memory, 12.0 * piece);
  Summary sums(histogram);
  PickSelector& rule = replay_.picks().selector(selector);
  double* const values = thread.numbers.data();
  uint32_t* const indices = thread.indices.data();
  const bool ofWeights = what != EXRP_SUMS_PRIORITIES;
  const bool exists = ofWeights ? rule.drawsByWeights() : rule.getPriority(indices, 0, values);
  if (what == EXRP_SUMS_TOTAL) {
    const uint32_t count = replay_.picks().viewOf(selector).picks.count();
    sums.write(summary);
    summary[EXRP_SUMMARY_COUNT] = count;
    summary[EXRP_SUMMARY_SUM] = exists ? rule.weightSum(count) : count;
    summary[EXRP_SUMMARY_EXISTS] = exists ? 1 : 0;
    return Status::ok;
  }
  const uint32_t pickCount = exists ? replay_.picks().viewOf(selector).picks.count() : 0;
  for (uint32_t first = 0; first < pickCount; first += piece) {
    const uint32_t count = std::min(piece, pickCount - first);
    if (ofWeights) {
      rule.weights(first, count, values);
    } else {
      for (uint32_t k = 0; k < count; ++k) indices[k] = first + k;
      rule.getPriority(indices, count, values);
    }
    for (uint32_t k = 0; k < count; ++k) {
      if (!std::isnan(values[k])) sums.add(values[k]);
    }
  }
  sums.write(summary);
  summary[EXRP_SUMMARY_EXISTS] = exists ? 1 : 0;
  return Status::ok;
}

void Statistics::note(uint32_t log, const PickIndex& picks, const uint32_t* indices, uint32_t count) {
  DrawStatistics& draws = logs_[log];
  const uint32_t noted = draws.begin(count);
  const uint64_t step = DrawStatistics::stepOf(noted, count);
  const Store& store = replay_.book().store();
  for (uint32_t k = 0; k < noted; ++k) {
    const uint32_t slot = picks.slot(indices[k * step >> DrawStatistics::stepShift]);
    draws.add(slot, store.births().at(slot), replay_.book().recordedCount());
  }
}

Status Statistics::noteAt(uint32_t log, const double* handles, const int32_t* positions, uint32_t count) {
  if (log < EXRP_LIMIT_SELECTORS || log >= EXRP_LIMIT_LOGS) return fail(Status::argument, 2, log);
  for (uint32_t k = 0; k < count; ++k) {
    if (const Status status = replay_.book().checkHandle(handles[k]); status != Status::ok) return status;
    if (positions[k] < 0) return fail(Status::argument, 4, positions[k]);
  }
  DrawStatistics& draws = logs_[log];
  const uint32_t noted = draws.begin(count);
  const uint64_t step = DrawStatistics::stepOf(noted, count);
  const Store& store = replay_.book().store();
  const auto positionOf = [&](uint32_t k) { return static_cast<uint32_t>(positions[k * step >> DrawStatistics::stepShift]); };
  replay_.book().blocks().findMany(
      store, noted, [&](uint32_t k) { return static_cast<uint64_t>(handles[k * step >> DrawStatistics::stepShift]); },
      [&](uint32_t k) { return store.ordinalOf(positionOf(k)); },
      [&](uint32_t k, uint32_t block) {
        if (block == blockNone) return;
        const uint32_t slot = store.slotAt(block, positionOf(k));
        draws.add(slot, store.births().at(slot), replay_.book().recordedCount());
      });
  return Status::ok;
}

Status Statistics::info(uint32_t log, double* info) const {
  if (log >= EXRP_LIMIT_LOGS) return fail(Status::argument, 2, log);
  info[EXRP_DRAWS_DRAWN_COUNT] = static_cast<double>(logs_[log].drawnCount());
  info[EXRP_DRAWS_NOTED_COUNT] = logs_[log].count();
  return Status::ok;
}

Status Statistics::read(uint32_t log, uint32_t* draws, uint32_t drawsCount) const {
  static_assert(sizeof(NotedPick) == 3 * sizeof(uint32_t));
  if (log >= EXRP_LIMIT_LOGS) return fail(Status::argument, 2, log);
  const uint32_t count = logs_[log].count();
  if (drawsCount < 3 * count) return fail(Status::bufferSize, drawsCount, 3 * count);
  if (count > 0) memcpy(draws, logs_[log].picks(), sizeof(NotedPick) * count);
  return Status::ok;
}

double Statistics::memoryBytes() const {
  double bytes = 0;
  for (const DrawStatistics& log : logs_) bytes += log.memoryBytes();
  return bytes;
}

}  // namespace exrp
