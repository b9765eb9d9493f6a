// BlockReader: reads the rows of blocks that are on the disk only, from their places in the log into memory of their own.
//
// Most often it can tell how a frame lies before it reads it. Then the rows are read straight to where they belong; else, the frame is read as a whole and its rows are
// copied.
//
// Thread safety: prepare() and takeMemory() are the owner's. Two threads may read two blocks at the same time, while nobody frees these blocks.
// Cost: for each block, one read of its frame and its checksum, and a copy where its layout was not foreseen.
#pragma once

#include "kernel/base/scratch.hpp"
#include "kernel/durable/unread_rows.hpp"
#include "kernel/log/log.hpp"
#include "kernel/replay/episode_book.hpp"
#include "kernel/store/logged_block.hpp"

namespace exrp {

class BlockReader {
 public:
  /// How a frame lies in the log, as far as that can be told before it was read: the head with the narrow columns, the rows of each packed column, and what is behind.
  struct Layout {
    uint32_t leadBytes = 0;  // 0: nobody can tell
    uint32_t rowCount = 0;
    uint32_t within = 0;       // where the rows begin in the block
    uint32_t packedBytes = 0;  // of the only packed column; 0: rows are plain
    uint32_t tailBytes = 0;
  };
  /// A block that is to be read.
  struct Missing {
    uint32_t block;
    LogPlace place;
    LogStatus status;
    int32_t system;  // where the disk failed
    Layout layout;
  };

  BlockReader(EpisodeBook& book, Log& log, UnreadRows& unread) : book_(book), log_(log), unread_(unread) {}

  /// For a replay that was just made.
  void create();
  /// Takes the memory that reads need, but for the rows. False for want of it.
  bool prepare();
  void free() {
    for (Scratch<uint8_t>& each : buffers_) Scratch<uint8_t>().swap(each);
  }
  double memoryBytes() const { return buffers_[0].memoryBytes() + buffers_[1].memoryBytes(); }

  /// Takes the memory for the rows of a block whose layout can be told; `parts` has one for each packed column.
  void takeMemory(Missing& missing, RowPart* parts);
  /// Reads the rows of a block, as one of two threads. Its status says what came of it. Where that is no success, no part has memory.
  void read(Missing& missing, RowPart* parts, uint32_t thread);

 private:
  Layout guess(const Missing& missing) const;
  LogStatus readGuessed(const Missing& missing, RowPart* parts, Scratch<uint8_t>& buffer, LogFailure* failure) const;

  EpisodeBook& book_;
  Log& log_;
  UnreadRows& unread_;
  uint32_t plainBytes_ = 0;      // of a row in a frame; 0 where frames have more than narrow and packed columns
  Scratch<uint8_t> buffers_[2];  // of a thread
};

}  // namespace exrp
