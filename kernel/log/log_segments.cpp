#include "kernel/log/log_segments.hpp"

#include <algorithm>
#include <cstring>

namespace exrp {
namespace {

constexpr char namePrefix[] = "log-";
constexpr char nameSuffix[] = ".exrp";

/// The number in a segment's name; 0 where it is another file.
uint32_t segmentOf(const char* name) {
  constexpr size_t prefix = sizeof namePrefix - 1;
  if (strncmp(name, namePrefix, prefix) != 0) return 0;
  uint64_t number = 0;
  const char* at = name + prefix;
  for (; *at >= '0' && *at <= '9' && number <= UINT32_MAX; ++at) number = 10 * number + static_cast<uint64_t>(*at - '0');
  if (number == 0 || number > UINT32_MAX) return 0;
  const auto segment = static_cast<uint32_t>(number);
  return strcmp(SegmentName(segment).text, name) == 0 ? segment : 0;
}

}  // namespace

SegmentName::SegmentName(uint32_t segment) {
  char digits[10];
  size_t count = 0;
  for (; count < 8 || segment > 0; segment /= 10) digits[count++] = static_cast<char>('0' + segment % 10);
  char* end = std::copy_n(namePrefix, sizeof namePrefix - 1, text);
  end = std::reverse_copy(digits, digits + count, end);
  std::copy_n(nameSuffix, sizeof nameSuffix, end);
}

size_t LogSegments::find(uint32_t segment) const {
  const LogSegment* const first = segments.data();
  const LogSegment* const end = first + count;
  const LogSegment* const found = std::lower_bound(first, end, segment, [](const LogSegment& a, uint32_t b) { return a.segment < b; });
  return found != end && found->segment == segment ? static_cast<size_t>(found - first) : count;
}

LogStatus listSegments(Disk& disk, LogSegments* segments, LogFailure* failure) {
  segments->count = 0;
  DiskFiles files;
  const DiskError error = disk.list(&files);
  if (error.isError()) {
    if (error.system == 0) return LogStatus::memory;
    *failure = LogFailure(error, "");
    return LogStatus::disk;
  }
  if (!segments->segments.commit(files.count)) return LogStatus::memory;
  for (size_t k = 0; k < files.count; ++k) {
    const uint32_t segment = segmentOf(files.files[k].name);
    if (segment != 0) segments->segments[segments->count++] = {segment, files.files[k].bytes};
  }
  LogSegment* const first = segments->segments.data();
  std::sort(first, first + segments->count, [](const LogSegment& a, const LogSegment& b) { return a.segment < b.segment; });
  return LogStatus::ok;
}

}  // namespace exrp
