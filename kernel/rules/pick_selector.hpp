// PickSelector: the rule that chooses picks from a pick view, as the kernel sees it.
//
// A selector knows dense indices 0..count-1 only; what they stand for is the pick view's business. The view tells it of every change,
// in order: pushed(count) when a pick is added at the end, moved(from, to) when the last pick takes the index of a removed one. popped(last)
// comes right after that, or alone. Runs of them come in one call. A selector never fails on those three: prepare() took what
// they need before.
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants a selector keeps:
//   1. It knows exactly the indices 0..count-1 that were pushed and not popped.
//   2. select() returns indices below count, and only ones that its rule can draw.
//   3. The same seed and the same calls give the same draws on every platform (IEEE double arithmetic without contraction;
//      logarithms and powers only from portable_math.hpp).
//   4. save*() and load*() carry everything that decides the future, the random state included.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/base/random.hpp"
#include "kernel/base/status.hpp"
#include "kernel/rules/pick_order.hpp"

namespace exrp {

class PickSelector {
 public:
  PickSelector() = default;
  PickSelector(const PickSelector&) = delete;
  PickSelector& operator=(const PickSelector&) = delete;
  virtual ~PickSelector() = default;

  /// Takes the memory for picks below `count`, of which there were never so many before. False for want of memory: nothing has changed then.
  virtual bool prepare(uint32_t count) {
    (void)count;
    return true;
  }

  /// A pick was added at `index`, which is the count before the call.
  virtual void pushed(uint32_t index) = 0;
  /// The pick at `from` (the last) now stands at `to`; what stood at `to` is gone. popped(from) follows.
  virtual void moved(uint32_t from, uint32_t to) = 0;
  /// The last pick, at `index`, is gone.
  virtual void popped(uint32_t index) = 0;

  /// Does what pushed() of `first` and of each that follows would do, for `count` picks. A rule that can do it faster overrides it.
  virtual void pushedRun(uint32_t first, uint32_t count) {
    for (uint32_t k = 0; k < count; ++k) pushed(first + k);
  }
  /// Does what moved(last, to + count - 1), popped(last), moved(last - 1, to + count - 2), popped(last - 1), ... would do, for `count` picks:
  /// they keep their order.
  virtual void movedBlock(uint32_t last, uint32_t to, uint32_t count) {
    for (uint32_t k = 0; k < count; ++k) {
      moved(last - k, to + count - 1 - k);
      popped(last - k);
    }
  }

  /// Sets priorities of picks that are in the view now. Every priority is finite and >= 0: the caller has checked it. The same index may
  /// come twice: the last wins. A rule that ignores priorities does nothing.
  virtual void setPriority(const uint32_t* index, const double* priority, uint32_t count) {
    (void)index;
    (void)priority;
    (void)count;
  }
  /// The same for priorities that a user sets, with an order that says which picks come before each in its episode. Priorities that come
  /// with records are set by setPriority(). For a rule that knows single picks only, both are the same. What `priority` holds afterwards
  /// is undefined.
  virtual void setPriorityInOrder(const uint32_t* index, double* priority, uint32_t count, const PickOrder&) {
    setPriority(index, priority, count);
  }

  /// Reads priorities back: what was set last, or what a new pick began with, as well as the rule keeps it. NaN where the rule does not
  /// know it. False, and nothing is written, for a rule that keeps no priorities.
  virtual bool getPriority(const uint32_t* index, uint32_t count, double* priority) const {
    (void)index;
    (void)count;
    (void)priority;
    return false;
  }

  /// Whether select() can draw `count` picks; Status::batchSize with its detail where the rule can't. The view is not empty.
  virtual Status checkCount(uint32_t count) const {
    (void)count;
    return Status::ok;
  }

  /// Whether the draws of one select() depend on one another, so that a batch should be drawn by one call.
  virtual bool drawsTogether() const { return false; }

  /// The draws from now on are for another batch than those before. A table of items says so; a replay draws a batch by one select(), and
  /// says nothing.
  virtual void beginBatch() {}

  /// Draws `count` picks into `index` and the probability of each draw into `probability`; the view is not empty.
  /// It fails for want of memory, or as checkCount() does. Then nothing has changed that is saved or that later draws depend on.
  virtual Status select(uint32_t count, uint32_t* index, double* probability) = 0;

  /// The smallest probability that a pick of the view had in the last select(), where importance weights are scaled by the view's
  /// largest. 0 where they are scaled by the batch's largest, or are all 1.
  virtual double probabilityMin() { return 0.0; }

  /// True when importance weights are (N P)^-beta; false when the rule defines none and they are 1.
  virtual bool weighted() const = 0;

  /// Whether each pick has a weight, and is drawn with the probability weight / sum of all weights.
  virtual bool drawsByWeights() const { return false; }
  /// The weights of `count` picks from `first` on. A rule that weighs ranks may give the weights in the order of the ranks. Only where
  /// drawsByWeights().
  virtual void weights(uint32_t, uint32_t count, double* weight) {
    for (uint32_t k = 0; k < count; ++k) weight[k] = 1.0;
  }

  /// The sum of the weights of all picks, of which there are `count`, without looking at each. Only where drawsByWeights().
  virtual double weightSum(uint32_t count) { return count; }

  /// Bytes of the pages of memory in use, index structures included. `countHighWater` is the most picks that there ever were: what was
  /// used once stays.
  virtual double memoryBytes(uint32_t countHighWater) const = 0;

  // Saving: a header of headerBytes(), then one item of itemBytes() for each index in order, all little-endian.
  // Loading happens into a selector made with the same options that already saw `count` pushes.
  // Rules derive from SavedSelector, which has the next six of plain data (saved_selector.hpp).
  virtual uint32_t headerBytes() const = 0;
  virtual uint32_t itemBytes() const = 0;
  virtual void saveHeader(uint8_t* bytes) const = 0;
  virtual void saveItems(uint32_t first, uint32_t count, uint8_t* bytes) const = 0;
  virtual Status loadHeader(const uint8_t* bytes) = 0;
  /// Items arrive in order of index, in pieces of any size. A value that can't be is Status::dataCorrupt.
  virtual Status loadItems(uint32_t first, uint32_t count, const uint8_t* bytes) = 0;
  /// Called after the last item: builds what is derived, checks what only the whole shows.
  virtual Status loadEnd() = 0;

  /// 0, or the number of the first invariant of the file's head that does not hold. O(count); for tests and after loading.
  virtual int32_t check() const = 0;
};

}  // namespace exrp
