// TablesListener: hears of each change of the tables of a set, in order. The same changes in the same order make the same tables.
//
// It hears of what happened, not of what clients sent: an item that waits is no change, and one that a rate limiter lets in is.
//
// Thread safety: that of the set: one thread.
// Cost: one call for each change, and none where nobody listens.
#pragma once

#include "kernel/base/error.hpp"
#include "kernel/base/queue.hpp"

namespace exrp {

class ItemTable;
struct Chunk;
struct WaitingItem;

class TablesListener {
 public:
  TablesListener() = default;
  TablesListener(const TablesListener&) = delete;
  TablesListener& operator=(const TablesListener&) = delete;
  virtual ~TablesListener() = default;

  /// Status::ok, or why no item is taken.
  virtual Status mayInsert() const = 0;
  /// Whether an item is small enough.
  virtual bool mayBe(const Queue<Chunk*>& chunks, size_t trajectoryBytes) const = 0;

  // Each of these comes before its change, but for draws.
  virtual void inserting(ItemTable& table, const WaitingItem& item, double now) = 0;
  virtual void removing(const ItemTable& table, uint32_t index) = 0;
  virtual void settingPriority(const ItemTable& table, uint32_t index, double priority, double own) = 0;
  virtual void resetting(const ItemTable& table) = 0;
  virtual void settingRateLimiter(const ItemTable& table, const double* numbers) = 0;
  virtual void drawn(const ItemTable& table, uint32_t count, uint64_t batch) = 0;
  virtual void endingBatch(const ItemTable& table) = 0;

  /// A change is whole, with all that followed from it.
  virtual void settled() = 0;

  virtual double memoryBytes() const = 0;
};

}  // namespace exrp
