// CommandWriter: writes the calls that have changed a replay into its log, as commands. Those of a group stand one behind the other in a frame, which stays
// open meanwhile.
//
// Thread safety: that of the log.
// Invariants:
//   1. A command is whole in one frame.
// Cost: a few ns for a record that continues a run; a copy of the numbers of other calls.
#pragma once

#include "kernel/durable/durable_format.hpp"
#include "kernel/durable/durable_log.hpp"
#include "kernel/replay/episode_book.hpp"

namespace exrp {

class CommandWriter {
 public:
  CommandWriter(DurableLog& log, const EpisodeBook& book) : log_(log), book_(book) {}

  /// For a replay whose records have so many bytes.
  void create(uint32_t recordBytes) { runMax_ = recordBytes < runBytesMax ? runBytesMax / recordBytes : 1; }
  /// The most records of one command of recordMany.
  uint32_t runMax() const { return runMax_; }

  // ---- commands ----

  void put(Command command, std::initializer_list<LogPiece> pieces);
  void put(Command command, double handle, uint32_t number = 0) {
    const HandleHead head = {handle, number, 0};
    put(command, {{&head, sizeof head}});
  }
  /// A record without flags, where it continues the run of the last one. Else false.
  bool continueRun(double handle) {
    if (lastRun_ == 0 || book_.writer() != writer_) return false;
    RecordsHead run;
    memcpy(&run, frame_ + lastRun_, sizeof run);
    if (run.handle != handle || run.count >= runMax_) return false;
    ++run.count;
    memcpy(frame_ + lastRun_, &run, sizeof run);
    return true;
  }
  /// One record, of recordMany() but for its next state. `priority` is a double, `tag` an int32, each where the flags say so.
  void putRecord(double handle, uint32_t flags, const uint8_t* priority, const uint8_t* tag);
  /// Steps `first` to `end` of `count`, as the layout of many steps has them. `handles` are those before the call: of each step, or one.
  void putSteps(Command command, const double* handles, const uint8_t* steps, uint32_t first, uint32_t end, uint32_t count, uint32_t flags);
  void putPicks(Command command, uint32_t number, const double* handles, const int32_t* positions, const uint8_t* items, uint32_t itemBytes,
                uint32_t count);
  /// A call that changed rows. It is written in pieces, as it may have more bytes than a frame.
  void putRows(uint32_t column, const double* handles, const int32_t* positions, const uint8_t* rows, uint32_t rowBytes, uint32_t count);
  /// The handles of a call that writes over them.
  const double* keepHandles(const double* handles, uint32_t count);

  // ---- frames ----

  /// Ends the frame.
  void end();
  /// Drops the frame, as the log has failed.
  void drop();
  /// Bytes of the commands since beginGroup().
  uint64_t pendingBytes() const { return pendingBytes_; }
  void beginGroup() { pendingBytes_ = 0; }
  /// The seat that made the last call.
  uint16_t writer() const { return writer_; }
  void setWriter(uint16_t writer) { writer_ = writer; }

  // ---- the commands that made views and selectors, for checkpoints ----

  /// False without memory.
  bool keepMade(Command command, const uint8_t* arguments, uint32_t bytes);
  const uint8_t* made() const { return made_.data(); }
  uint32_t madeBytes() const { return madeBytes_; }
  double memoryBytes() const { return made_.memoryBytes() + handles_.memoryBytes(); }

 private:
  static constexpr uint32_t runBytesMax = 1 << 22;  // of the rows that one command speaks of, as recovery makes room for them

  uint8_t* room(uint32_t bytes);
  void putWriter();

  DurableLog& log_;
  const EpisodeBook& book_;
  uint8_t* frame_ = nullptr;  // while it is open
  uint32_t frameRoom_ = 0;
  uint32_t frameBytes_ = 0;
  uint32_t lastRun_ = 0;  // where the records that may be continued are in the frame; 0: nowhere
  uint32_t runMax_ = 1;
  uint16_t writer_ = 1;
  uint64_t pendingBytes_ = 0;
  Scratch<uint8_t> made_;
  uint32_t madeBytes_ = 0;
  Scratch<double> handles_;
};

}  // namespace exrp
