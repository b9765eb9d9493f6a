#include "kernel/durable/folder_copy.hpp"

#include <cerrno>

#include "kernel/durable/checkpoint_file.hpp"
#include "kernel/durable/durable_format.hpp"
#include "kernel/log/log_format.hpp"
#include "kernel/log/log_segments.hpp"

namespace exrp {
namespace {

/// Small files, and what a file system keeps beside bytes.
constexpr uint64_t besideBytes = uint64_t{1} << 20;
constexpr size_t pieceBytes = size_t{1} << 20;

/// The first bytes of a file: all, or so many.
DiskError copyFile(Disk& from, Disk& to, const char* name, uint64_t most, uint64_t* copied) {
  Scratch<uint8_t> piece;
  if (!piece.commit(pieceBytes)) return {DiskCall::read, 0};
  FileId source = noFile;
  DiskError error = from.open(name, OpenFile::read, &source);
  if (error.isError()) return error;
  FileId target = noFile;
  error = to.open(name, OpenFile::fresh, &target);
  for (uint64_t at = 0; !error.isError() && at < most;) {
    const size_t wanted = most - at < pieceBytes ? static_cast<size_t>(most - at) : pieceBytes;
    size_t count = 0;
    error = from.read(source, at, piece.data(), wanted, &count);
    if (!error.isError() && count > 0) error = to.write(target, at, piece.data(), count);
    if (error.isError() || count == 0) break;
    at += count;
    *copied += count;
  }
  from.close(source);
  if (target == noFile) return error;
  if (!error.isError()) error = to.sync(target);
  const DiskError closed = to.close(target);
  return error.isError() ? error : closed;
}

/// Says how many bytes are to be written, and how many are missing.
DiskError checkSpace(Disk& to, uint64_t bytes, uint64_t* missing) {
  uint64_t free = 0;
  const DiskError error = to.freeBytes(&free);
  if (!error.isError() && free < bytes + besideBytes) *missing = bytes + besideBytes - free;
  return error;
}

}  // namespace

FolderCopy copyFolder(Disk& from, Disk& to, const char* toPath, const SealedFolder& sealed) {
  FolderCopy copy;
  LogSegments segments;
  LogFailure failure;
  if (listSegments(from, &segments, &failure) != LogStatus::ok) {
    copy.error = failure.error.isError() ? failure.error : DiskError{DiskCall::list, 0};
    return copy;
  }
  copy.error = checkSpace(to, 0, &copy.missingBytes);
  bool areLinked = true;
  uint32_t count = 0;
  for (size_t k = 0; k < segments.count && !copy.error.isError() && copy.missingBytes == 0; ++k) {
    const LogSegment& segment = segments.segments[k];
    if (segment.segment < sealed.first || segment.segment >= sealed.next) continue;
    ++count;
    const SegmentName name(segment.segment);
    if (areLinked && !from.link(name.text, toPath).isError()) {
      copy.linkedBytes += segment.bytes;
      continue;
    }
    if (areLinked) {
      // Another file system, or one without links.
      areLinked = false;
      uint64_t left = 0;
      for (size_t at = k; at < segments.count; ++at) left += segments.segments[at].segment < sealed.next ? segments.segments[at].bytes : 0;
      copy.error = checkSpace(to, left, &copy.missingBytes);
      if (copy.error.isError() || copy.missingBytes > 0) break;
    }
    copy.error = copyFile(from, to, name.text, segment.bytes, &copy.copiedBytes);
  }
  // Somebody has removed a file.
  if (!copy.error.isError() && copy.missingBytes == 0 && count < sealed.count) copy.error = {DiskCall::open, ENOENT};
  if (copy.error.isError() || copy.missingBytes > 0) return copy;
  copy.error = copyFile(from, to, SegmentName(sealed.next).text, segmentHeadBytes + markBytes, &copy.copiedBytes);
  if (copy.error.isError()) return copy;
  if (sealed.checkpoint.segment != 0) {
    copy.error = writeCheckpointFile(to, sealed.logId, sealed.checkpoint);
    copy.copiedBytes += sizeof(CheckpointFile);
  }
  if (!copy.error.isError()) copy.error = to.syncFolder();
  return copy;
}

}  // namespace exrp
