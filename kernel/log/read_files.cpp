#include "kernel/log/read_files.hpp"

#include "kernel/log/log_segments.hpp"

namespace exrp {

DiskError ReadFiles::take(Disk& disk, uint32_t segment, Taken* taken) {
  const Lock lock(mutex_);
  uint32_t oldest = noEntry;
  for (uint32_t k = 0; k < count; ++k) {
    Entry& entry = entries_[k];
    if (entry.file != noFile && entry.segment == segment) {
      ++entry.users;
      entry.lastUse = ++useCount_;
      *taken = {entry.file, k};
      return {};
    }
    if (entry.users == 0 && (oldest == noEntry || entry.lastUse < entries_[oldest].lastUse)) oldest = k;
  }
  FileId file = noFile;
  if (const DiskError error = disk.open(SegmentName(segment).text, OpenFile::read, &file); error.isError()) return error;
  *taken = {file, oldest};
  if (oldest == noEntry) return {};
  Entry& entry = entries_[oldest];
  if (entry.file != noFile) disk.close(entry.file);
  entry.file = file;
  entry.segment = segment;
  entry.users = 1;
  entry.lastUse = ++useCount_;
  return {};
}

void ReadFiles::giveBack(Disk& disk, const Taken& taken) {
  if (taken.entry == noEntry) {
    disk.close(taken.file);
    return;
  }
  const Lock lock(mutex_);
  --entries_[taken.entry].users;
}

void ReadFiles::closeBefore(Disk& disk, uint64_t segment) {
  const Lock lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.file == noFile || entry.segment >= segment || entry.users > 0) continue;
    disk.close(entry.file);
    entry.file = noFile;
    entry.lastUse = 0;
  }
}

}  // namespace exrp
