// Drawing: batches of picks, and the priorities by which they are drawn.
//
// A batch comes about in three steps (batches/gatherer.hpp). A selector chooses its picks, or the caller does. They are weighed, and the view's
// gatherer locates them and copies their rows. Then the eviction policy is told which episodes were drawn from.
//
// Thread safety: none of its own; calls on one replay are the caller's to serialise. Two threads need two scratches.
// Cost: batches near that of moving their bytes; setPriority() what the selector takes, and about one miss of the cache for a pick whose
// index has to be searched. The picks of the last batch are not searched while nothing has changed. It keeps nothing.
#pragma once

#include "kernel/base/cpu.hpp"
#include "kernel/calls/statistics.hpp"
#include "kernel/calls/thread_scratch.hpp"
#include "kernel/replay/replay.hpp"

namespace exrp {

class Drawing {
 public:
  Drawing(Replay& replay, Statistics& statistics) : replay_(replay), statistics_(statistics) {}

  /// Parts that batches of a view have.
  uint32_t partCount(const PickView& view) const { return batchPartCount(replay_.book().store(), view.picks.policy()); }
  Status batchLayout(ThreadScratch& thread, const PickView& view, uint32_t count, bool addresses, double* offsets) const;
  /// Whether getBatch() of `count` picks would succeed; it draws nothing. A count of 0 asks for any pick in the view.
  Status checkDraw(ThreadScratch& thread, uint32_t selector, uint32_t count) const;
  /// Where the rows of the picks can't be read, they count as drawn, as the selector has gone on: thread.isChosen.
  Status getBatch(ThreadScratch& thread, uint32_t selector, BatchRange range, double beta, uint8_t* batch, double batchBytes);
  Status gatherBatch(ThreadScratch& thread, PickView& view, const uint32_t* indices, const double* probabilities, BatchRange range, double beta,
                     double probabilityMin, bool weighted, uint8_t* batch, double batchBytes);

  /// Draws as getBatch() does, and copies nothing: for a log that is read again.
  Status redraw(ThreadScratch& thread, uint32_t selector, uint32_t count);
  /// The same of gatherBatch().
  Status regather(ThreadScratch& thread, PickView& view, const uint32_t* indices, uint32_t count);

  /// Reads the priorities of picks; NaN for picks that are gone, or whose priority the rule does not know.
  Status getPriority(ThreadScratch& thread, uint32_t selector, const double* handles, const int32_t* positions, uint32_t count,
                     double* priorities) const;
  /// Sets the priorities, floats or doubles, of those of the picks that are still there; `applied` counts them.
  Status setPriority(ThreadScratch& thread, uint32_t selector, const double* handles, const int32_t* positions, const uint8_t* priorities,
                     uint32_t prioritySize, uint32_t count, uint32_t* applied);

  /// The picks that begin at these positions, or pickNone. It refuses handles that no episode ever had, and positions below 0. `indices` holds
  /// guesses, whatever they are. Most often they are those of the last draw, whose picks' slots and blocks were just read. What the guesses
  /// don't tell, the block index does.
  Status findPicks(const PickIndex& picks, const double* handles, const int32_t* positions, uint32_t count, uint32_t* indices) const;
  Status listPicks(const PickIndex& picks, uint32_t first, uint32_t count, double* handles, int32_t* positions) const;
  Status listPriorities(const PickIndex& picks, uint32_t first, uint32_t count, double* priorities) const;

 private:
  Status checkAddresses(const ThreadScratch& thread) const;
  Status layOut(ThreadScratch& thread, const PickView& view, uint32_t count, bool addresses) const;
  Status takeScratch(ThreadScratch& thread, uint32_t count) const;
  Status checkBatch(ThreadScratch& thread, const PickView& view, const BatchRange& range, double beta, double batchBytes) const;
  Status choose(ThreadScratch& thread, uint32_t selector, uint32_t count, ChosenPicks* chosen);
  Status gather(ThreadScratch& thread, PickView& view, const ChosenPicks& chosen, const BatchRange& range, double beta, uint8_t* batch);
  Status checkMirrored(const PickView& view, const GatherJob& job) const;
  Status gatherInParts(const PickView& view, const Gatherer& gatherer, const GatherJob& job);
  void remember(DrawnPicks* drawn, const PickView& view, const uint32_t* indices, const BatchRange& range, const uint8_t* batch,
                const BatchLayout& layout) const;
  bool areDrawn(const DrawnPicks& drawn, uint32_t view, const double* handles, const int32_t* positions, uint32_t count) const;

  Replay& replay_;
  Statistics& statistics_;
  bool avx2_ = hasAvx2();
  const LargeCopier copier_;
};

}  // namespace exrp
