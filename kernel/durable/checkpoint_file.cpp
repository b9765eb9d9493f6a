#include "kernel/durable/checkpoint_file.hpp"

#include <cstddef>

#include "kernel/durable/durable_format.hpp"
#include "kernel/log/log_format.hpp"
#include "kernel/log/log_scan.hpp"

namespace exrp {
namespace {

constexpr uint8_t fileMagic[8] = {'E', 'X', 'R', 'P', 'C', 'H', 'E', 'K'};

/// Finds the newest whole checkpoint, whatever lies between.
class CheckpointSearch final : public LogVisitor {
 public:
  LogPosition found;

 private:
  bool frame(const LogFrame& frame) override {
    if (frame.type == checkpointFrame) begun_ = frame.place.position();
    if (frame.type == checkpointEndFrame && begun_.segment != 0) found = begun_;
    return true;
  }
  bool damage(const LogDamage&) override { return true; }

  LogPosition begun_;
};

}  // namespace

DiskError writeCheckpointFile(Disk& disk, uint64_t logId, LogPosition checkpoint) {
  CheckpointFile file = {{}, logId, durableVersion, checkpoint.segment, checkpoint.offset, 0};
  memcpy(file.magic, fileMagic, sizeof fileMagic);
  file.sum = checksum(0, reinterpret_cast<const uint8_t*>(&file), offsetof(CheckpointFile, sum));
  FileId id = noFile;
  DiskError error = disk.open(newCheckpointName, OpenFile::fresh, &id);
  if (error.isError()) {
    // One that a crash left.
    disk.remove(newCheckpointName);
    error = disk.open(newCheckpointName, OpenFile::fresh, &id);
  }
  if (error.isError()) return error;
  error = disk.write(id, 0, reinterpret_cast<const uint8_t*>(&file), sizeof file);
  if (!error.isError()) error = disk.sync(id);
  const DiskError closed = disk.close(id);
  if (!error.isError()) error = closed;
  if (!error.isError()) error = disk.rename(newCheckpointName, checkpointName);
  if (!error.isError()) error = disk.syncFolder();
  return error;
}

LogStatus readCheckpointFile(Disk& disk, CheckpointFileState* state, LogPosition* said, LogFailure* failure) {
  *state = CheckpointFileState::none;
  *said = {};
  DiskFiles files;
  DiskError error = disk.list(&files);
  bool isThere = false;
  for (size_t k = 0; !error.isError() && k < files.count; ++k) isThere |= strcmp(files.files[k].name, checkpointName) == 0;
  CheckpointFile file = {};
  auto* const bytes = reinterpret_cast<uint8_t*>(&file);
  size_t readBytes = 0;
  if (isThere) {
    FileId id = noFile;
    error = disk.open(checkpointName, OpenFile::read, &id);
    if (!error.isError()) {
      error = disk.read(id, 0, bytes, sizeof file, &readBytes);
      disk.close(id);
    }
  }
  if (error.isError()) {
    *failure = LogFailure(error, isThere ? checkpointName : "");
    return LogStatus::disk;
  }
  if (!isThere) return LogStatus::ok;
  *state = CheckpointFileState::damaged;
  if (readBytes < sizeof file) return LogStatus::ok;
  const uint64_t bit = repairHead(bytes, sizeof file, checksum(0, bytes, offsetof(CheckpointFile, sum)));
  if (file.sum != checksum(0, bytes, offsetof(CheckpointFile, sum))) return LogStatus::ok;
  *state = bit == noBit ? CheckpointFileState::whole : CheckpointFileState::repaired;
  *said = {file.segment, file.offset};
  return LogStatus::ok;
}

LogStatus findCheckpoint(Disk& disk, LogPosition* found, CheckpointFileState* state, LogFailure* failure) {
  LogStatus status = readCheckpointFile(disk, state, found, failure);
  if (status != LogStatus::ok || found->segment != 0) return status;
  LogSegments segments;
  status = listSegments(disk, &segments, failure);
  // A log that has its beginning needs no checkpoint.
  if (status != LogStatus::ok || segments.hasBeginning()) return status;
  CheckpointSearch search;
  LogScan scan;
  status = scanLog(disk, {}, search, &scan);
  *failure = scan.failure;
  if (status == LogStatus::disk || status == LogStatus::memory) return status;
  *found = search.found;
  return LogStatus::ok;
}

}  // namespace exrp
