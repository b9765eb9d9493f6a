// Verify: reads all files of a durable folder, checks each checksum, and says what is damaged and what that costs. It changes nothing.
//
// Nobody need be kept out: another process may have the folder open. What is on the disk of a log never changes but at its end, and what is not proven to be
// there is no damage. Where segments go meanwhile, it begins anew.
//
// Of tables, nobody but they know which older chunks are needed. So a damaged chunk before the checkpoint counts as one that is.
//
// Thread safety: none of its own.
// Cost: reads each file once, in the memory of scanLog(), and 12 bytes for each block of the newest checkpoint.
#pragma once

#include "kernel/base/scratch.hpp"
#include "kernel/durable/checkpoint_file.hpp"
#include "kernel/log/log_scan.hpp"

namespace exrp {

enum class FlawCost : uint8_t {
  nothing,   // it is repaired whenever it is read, or nothing needs it
  episodes,  // rows of blocks, or chunks, at most: their episodes are evicted, and their items removed
  all,       // the folder can't be opened
};

struct Flaw {
  LogDamageKind kind;
  FlawCost cost;
  LogPosition at;
  uint64_t bytes;
};

class Verify final : private LogVisitor {
 public:
  explicit Verify(bool isOfTables) : isOfTables_(isOfTables) {}

  /// `ok`: all was read. `memory`, `disk`, `version` or `empty`: it could not be, as failure() says.
  LogStatus run(Disk& disk);

  const LogFailure& failure() const { return scan_.failure; }
  const LogScan& scan() const { return scan_; }
  /// Bytes at the end that recovery cuts off: what is torn, and frames without the end of their group.
  uint64_t tailBytes() const { return scan_.tailBytes + openBytes_; }
  uint64_t segmentCount() const { return segmentCount_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t groupCount() const { return groupCount_; }
  CheckpointFileState checkpointFile() const { return checkpointFile_; }
  size_t flawCount() const { return flawCount_; }
  const Flaw& flaw(size_t index) const { return flaws_[index]; }

 private:
  enum class Checkpoint : uint8_t { none, begun, whole };

  bool frame(const LogFrame& frame) override;
  bool damage(const LogDamage& damage) override;
  LogStatus scanOnce(Disk& disk);
  FlawCost costOf(const LogDamage& damage) const;
  bool isNeeded(const Flaw& flaw) const;
  bool addLostSegments(uint32_t first);
  bool add(const Flaw& flaw);

  const bool isOfTables_;
  LogScan scan_;
  LogPosition from_;
  Checkpoint checkpoint_ = Checkpoint::none;
  CheckpointFileState checkpointFile_ = CheckpointFileState::none;
  uint64_t segmentCount_ = 0;
  uint64_t bytes_ = 0;
  uint64_t groupCount_ = 0;
  uint64_t openBytes_ = 0;  // of frames whose group has not ended
  bool isMemoryShort_ = false;
  Scratch<Flaw> flaws_;
  size_t flawCount_ = 0;
  Scratch<LogPlace> places_;  // of the rows that the checkpoint needs
  size_t placeCount_ = 0;
};

}  // namespace exrp
