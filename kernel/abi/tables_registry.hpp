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
  uint32_t runnerCount = 0;  // threads that wait for its disk
};

using TablesRegistry = Registry<OwnedTables, EXRP_LIMIT_TABLES_SETS>;

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
