// Statistics: numbers about a replay that people look at: the ages of its records, the weights that its selectors draw by, and what was drawn of late.
//
// A histogram has edges in rising order: count 0 is of the values below the first edge, count k of those from edge k - 1 up to edge k, and the
// last of those from the last edge on. The caller chooses the edges, so that its bins are exactly those that it shows.
//
// Thread safety: none of its own; calls on one replay are the caller's to serialise.
// Cost: O(records) or O(picks) a call. Only note() belongs to draws: a few ns a batch.
// It changes nothing that is saved.
#pragma once

#include "kernel/calls/draw_statistics.hpp"
#include "kernel/calls/thread_scratch.hpp"
#include "kernel/replay/replay.hpp"

namespace exrp {

/// The edges of a histogram, and its counts, of which there is one more.
struct Histogram {
  const double* edges;
  uint32_t edgeCount;
  double* counts;
};

class Statistics {
 public:
  explicit Statistics(const Replay& replay) : replay_(replay) {}

  /// The ages of all records: how many records were written after each. `summary` gets the EXRP_SUMMARY_* numbers.
  Status recordAges(const Histogram& histogram, double* summary) const;
  /// The weights or priorities (EXRP_SUMS_*) of all picks that a selector draws from. `summary` says whether the rule has any.
  Status sums(ThreadScratch& thread, uint32_t selector, uint32_t what, const Histogram& histogram, double* summary) const;

  /// Notes a batch that selector `log` drew.
  void note(uint32_t log, const PickIndex& picks, const uint32_t* indices, uint32_t count);
  /// The same by episodes and positions; picks that are gone are left out.
  Status noteAt(uint32_t log, const double* handles, const int32_t* positions, uint32_t count);
  /// How many picks a log counted. A log that is read again adds those of before.
  uint64_t drawnCount(uint32_t log) const { return logs_[log].drawnCount(); }
  void addDrawn(uint32_t log, uint64_t count) { logs_[log].count(count); }
  /// The EXRP_DRAWS_* numbers of a log.
  Status info(uint32_t log, double* info) const;
  /// The noted picks of a log, as NotedPick: `drawsCount` numbers fit.
  Status read(uint32_t log, uint32_t* draws, uint32_t drawsCount) const;

  double memoryBytes() const;

 private:
  const Replay& replay_;
  DrawStatistics logs_[EXRP_LIMIT_LOGS];
};

}  // namespace exrp
