// EvictionPolicy: the rule that chooses the ended episode to forget when the store is full, as the kernel sees it.
//
// A policy is never asked for an open episode: those give way by losing their oldest records, which the replay does by itself. But it hears
// of open episodes too, because what they were drawn and what priorities they got count once they have ended.
//
// A policy knows an episode by a small dense index, which is used again after removal and is below the `countMax` given at creation. The
// replay tells it of every change, in order. Nothing but prepare() fails: it takes what the others need.
//
// Thread safety: none of its own. Invariants a policy keeps:
//   1. It knows exactly the episodes that were created and not removed.
//   2. victim() is one of them that has ended, or none where none has. Asking changes later answers only as the rule says (a clock hand
//      may move).
//   3. The same calls give the same victims on every platform.
//   4. save() and load(), with the header where there is one, carry everything that decides the future.
// Cost: created, ended and removed at most O(log E); prioritized O(log E) a pick; sampled O(1) a pick, so that a batch is never more than
// 10 % slower. victim is O(1) where no episode has ended, else at most O(log E), amortised; a rule that keeps a list also takes a step for
// each open episode that stands before its victim.
#pragma once

#include <cstdint>

#include "kernel/base/status.hpp"

namespace exrp {

/// One episode in a saved policy: items are written in the policy's own order.
struct EvictionItem {
  uint32_t episode;  // the episode's index (the snapshot writes its ordinal by age instead)
  uint32_t value;    // what the policy keeps of it: an access flag, a count; 0 where it keeps nothing
};

class EvictionPolicy {
 public:
  /// No episode.
  static constexpr uint32_t none = UINT32_MAX;

  EvictionPolicy() = default;
  EvictionPolicy(const EvictionPolicy&) = delete;
  EvictionPolicy& operator=(const EvictionPolicy&) = delete;
  virtual ~EvictionPolicy() = default;

  /// Takes the memory for episodes below `count`, of which there were never so many before. False for want of memory: nothing has changed.
  virtual bool prepare(uint32_t count) = 0;

  /// A new episode, the youngest of all.
  virtual void created(uint32_t episode) = 0;
  /// The episodes of the picks of one batch, in order of drawing; an episode may come many times.
  virtual void sampled(const uint32_t* episode, uint32_t count) {
    (void)episode;
    (void)count;
  }
  /// An episode has ended, with `pickCount` picks in the first pick view; none will be added. Loading calls it too, before load(), for
  /// each episode that has ended.
  virtual void ended(uint32_t episode, uint32_t pickCount) {
    (void)episode;
    (void)pickCount;
  }
  /// An episode that has ended lost its oldest records, which were released, and has `pickCount` picks left in the first pick view.
  virtual void trimmed(uint32_t episode, uint32_t pickCount) {
    (void)episode;
    (void)pickCount;
  }
  /// Whether it wants to hear of priorities; always the same answer.
  virtual bool wantsPriorities() const { return false; }
  /// The priorities that one call has set for picks of these episodes, in its order; an episode may come many times.
  virtual void prioritized(const uint32_t* episode, const double* priority, uint32_t count) {
    (void)episode;
    (void)priority;
    (void)count;
  }
  virtual void removed(uint32_t episode) = 0;
  /// The ended episode to forget now, or none where no episode has ended.
  virtual uint32_t victim() = 0;

  /// Bytes of the pages of memory in use.
  virtual double memoryBytes() const = 0;

  /// Bytes of what a policy keeps that belongs to no episode: a multiple of an item's. loadHeader() comes before load().
  virtual uint32_t headerBytes() const { return 0; }
  virtual void saveHeader(uint8_t* bytes) const { (void)bytes; }
  virtual Status loadHeader(const uint8_t* bytes) {
    (void)bytes;
    return Status::ok;
  }

  /// Writes one item for each episode, in an order from which load() restores everything; `items` has room for all.
  virtual void save(EvictionItem* items) const = 0;
  /// Restores what save() wrote. All episodes were created before, in order of age, and those that had ended were ended. Each item names a
  /// different one (the caller has checked it). A value that can't be is Status::dataCorrupt.
  virtual Status load(const EvictionItem* items, uint32_t count) = 0;

  /// 0, or the number of the first invariant that does not hold. O(E); for tests and after loading.
  virtual int32_t check() const = 0;
};

}  // namespace exrp
