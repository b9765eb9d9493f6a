// Column: one field of all records, and where its rows lie.
#pragma once

#include <cstdint>

namespace exrp {

struct Column {
  uint32_t itemBytes;  // of one element
  uint32_t itemCount;  // elements of one record
  uint32_t bytes;      // of one record
  uint32_t every;      // it is kept for every nth record of an episode; 1: for all
  uint32_t group;      // of one that is not kept for all: its place among these
  uint32_t offset;     // in the group's row
};

}  // namespace exrp
