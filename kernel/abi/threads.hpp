// What the files of the ABI tell one another about threads: whose an object is, and what goes when a thread ends.
#pragma once

#include <cstdint>

namespace exrp {

/// The number of the calling thread, for what it makes. When that thread ends, all that has the number goes.
uint64_t callingOwner();

/// Frees the sets of tables of a thread that ended.
void endTablesOf(uint64_t owner);

}  // namespace exrp
