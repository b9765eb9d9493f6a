#include "kernel/log/disk.hpp"

#include <cstring>

namespace exrp {

bool DiskFiles::add(const char* name, uint64_t bytes) {
  if (!files.commit(count + 1)) return false;
  DiskFile& file = files[count];
  file.bytes = bytes;
  strncpy(file.name, name, diskNameMax);
  file.name[diskNameMax] = 0;
  ++count;
  return true;
}

}  // namespace exrp
