// TablesRegistry: the sets of tables of the process by integer id.
//
// Thread safety: one thread uses a set. Another one may only wait for its disk, between enter() and leave().
#pragma once

#include <memory>

#include "kernel/abi/registry.hpp"
#include "kernel/durable/durable_tables.hpp"
#include "kernel/tables/tables.hpp"

namespace exrp {

/// A set, and the thread that made it.
struct OwnedTables {
  Tables tables;
  /// Goes first, as it hears of the tables.
  std::unique_ptr<DurableTables> durable;
  uint64_t owner = 0;
  uint32_t waiterCount = 0;  // threads between enter() and leave()
};

class TablesRegistry : public Registry<OwnedTables, EXRP_LIMIT_TABLES_SETS> {
 public:
  /// The set, for a thread other than the caller's. awaitOthers() waits until that thread leaves. Null where there is none.
  OwnedTables* enter(uint32_t id) {
    const Lock lock(mutex_);
    OwnedTables* const found = find(id);
    if (found != nullptr) ++found->waiterCount;
    return found;
  }
  void leave(OwnedTables* set) {
    const Lock lock(mutex_);
    --set->waiterCount;
    left_.notify_all();
  }
  /// Of a set that was taken out: returns once nobody waits for its disk.
  void awaitOthers(OwnedTables& set) {
    Lock lock(mutex_);
    while (set.waiterCount != 0) lock.wait(left_);
  }
};

inline TablesRegistry* tablesRegistry() { return onlyOne<TablesRegistry>(); }

template <typename Use>
int32_t withOwnedTables(uint32_t id, Use use) {
  OwnedTables* const found = tablesRegistry() == nullptr ? nullptr : tablesRegistry()->find(id);
  return static_cast<int32_t>(found == nullptr ? fail(Status::tablesUnknown, id) : use(*found));
}
template <typename Use>
int32_t withTables(uint32_t id, Use use) {
  return withOwnedTables(id, [&](OwnedTables& found) { return use(found.tables); });
}

}  // namespace exrp
