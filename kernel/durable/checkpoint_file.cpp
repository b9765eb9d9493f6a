#include "kernel/durable/checkpoint_file.hpp"

#include <cstddef>

#include "kernel/durable/durable_format.hpp"
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

LogPosition readCheckpointFile(Disk& disk, CheckpointFileState* state) {
  *state = CheckpointFileState::none;
  CheckpointFile file = {};
  FileId id = noFile;
  if (disk.open(checkpointName, OpenFile::read, &id).isError()) return {};
  size_t readBytes = 0;
  const DiskError error = disk.read(id, 0, reinterpret_cast<uint8_t*>(&file), sizeof file, &readBytes);
  disk.close(id);
  const bool isWhole = !error.isError() && readBytes == sizeof file &&
                       file.sum == checksum(0, reinterpret_cast<const uint8_t*>(&file), offsetof(CheckpointFile, sum));
  *state = isWhole ? CheckpointFileState::whole : CheckpointFileState::damaged;
  return isWhole ? LogPosition{file.segment, file.offset} : LogPosition{};
}

LogPosition findCheckpoint(Disk& disk) {
  CheckpointFileState state = CheckpointFileState::none;
  const LogPosition said = readCheckpointFile(disk, &state);
  if (state == CheckpointFileState::whole) return said;
  LogSegments segments;
  LogFailure failure;
  // A log that has its beginning needs no checkpoint.
  if (listSegments(disk, &segments, &failure) != LogStatus::ok || segments.count == 0 || segments.segments[0].segment == 1) return {};
  CheckpointSearch search;
  LogScan scan;
  scanLog(disk, {}, search, &scan);
  return search.found;
}

}  // namespace exrp
