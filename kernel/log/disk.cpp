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

DiskError Disk::readParts(FileId file, uint64_t offset, const DiskPart* parts, uint32_t count, size_t* readBytes) {
  *readBytes = 0;
  for (uint32_t k = 0; k < count; ++k) {
    size_t partBytes = 0;
    if (const DiskError error = read(file, offset + *readBytes, parts[k].bytes, parts[k].size, &partBytes); error.isError()) return error;
    *readBytes += partBytes;
    if (partBytes < parts[k].size) break;
  }
  return {};
}

}  // namespace exrp
