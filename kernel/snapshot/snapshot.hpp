// Snapshot: the sections of a snapshot. They hold everything that decides the future, as arrays of items of one size, which are read and
// written a piece at a time.
//
// What is written is logical: episodes by age, picks by episode and position. So it does not depend on block lengths. Everything that is
// loaded is checked: a hostile file gets a status, never a crash.
//
// A section is read from its first item on. When the replay changes between two pieces, the next piece is Status::order: what it would
// number its items by has changed.
//
// Thread safety: none of its own; calls on one replay are the caller's to serialise.
// Invariants:
//   1. No number that was made of the replay (ordinals, the eviction policy's items, the cursor) is used after the replay has changed.
// Cost: a section costs what its bytes cost to copy. Episodes are numbered again after each change, in O(episodes).
#pragma once

#include "kernel/replay/replay.hpp"

namespace exrp {

class Snapshot {
 public:
  explicit Snapshot(Replay& replay) : replay_(replay) {}

  Status info(uint32_t section, double* info) const;
  Status read(uint32_t section, double first, uint32_t count, uint8_t* items, double itemsBytes);

  // Loading (snapshot_load.cpp).
  Status write(uint32_t section, double first, uint32_t count, const uint8_t* items, double itemsBytes);
  Status end();
  /// Status::order from the first item that is loaded until end() has succeeded: the parts of the replay do not fit together meanwhile.
  Status checkWhole() const {
    return loadSection_ == 0 ? Status::ok : fail(Status::order, loadSection_ - 1, loadItem_, loadItem_);
  }

  /// Bytes of the pages in use for numbers that were read.
  double memoryBytes() const {
    return ordinals_.takenBytes(ordinals_.committed()) + numbered_.takenBytes(numbered_.committed()) +
           evictionItems_.takenBytes(evictionItems_.committed());
  }

 private:
  struct Shape {
    double itemCount;
    uint32_t itemBytes;
  };
  static constexpr uint32_t sectionMax = EXRP_SECTION_SELECTOR + 2 * EXRP_LIMIT_SELECTORS;
  static constexpr uint64_t never = UINT64_MAX;

  /// Where a walk over the stored rows stands: records and final states in order of episode and time.
  struct Cursor {
    uint32_t episode = episodeNone;
    uint32_t block = blockNone;
    uint32_t position = 0;
    double row = 0;
    uint64_t changeCount = never;  // the replay's when the cursor was put there
  };

  uint32_t sectionCount() const { return EXRP_SECTION_SELECTOR + 2 * replay_.picks().selectorCount(); }
  Shape shapeOf(uint32_t section) const;
  double validPicks(const PickPolicy& policy) const;
  uint32_t evictionHeaderItems() const;
  Status numberEpisodes();
  Status saveEviction();
  Status seekRow(double row);
  void advanceRow();

  Status readPiece(uint32_t section, double first, uint32_t count, uint8_t* items);
  void readCounters(uint8_t* items) const;
  void readEpisodes(uint32_t first, uint32_t count, uint8_t* items) const;
  void readOrphans(uint32_t first, uint32_t count, uint8_t* items) const;
  void readRecords(uint32_t count, uint8_t* items);
  void readBirths(double first, uint32_t count, uint8_t* items) const;
  void readPicks(const PickTable& picks, uint32_t first, uint32_t count, uint8_t* items) const;

  Status writePiece(uint32_t section, double first, uint32_t count, const uint8_t* items);
  Status writeCounters(const uint8_t* items);
  Status writeEpisodes(uint32_t count, const uint8_t* items);
  void writeRecords(uint32_t count, const uint8_t* items);
  void writeBirths(double first, uint32_t count, const uint8_t* items);
  Status writeEviction(double first, uint32_t count, const uint8_t* items);
  Status writePriorities(double first, uint32_t count, const uint8_t* items);
  Status writeOrphans(double first, uint32_t count, const uint8_t* items);
  Status writePicks(PickTable& picks, uint32_t section, double first, uint32_t count, const uint8_t* items);
  bool isLoaded() const { return loadItem_ == shapeOf(loadSection_ - 1).itemCount; }

  template <typename Visit>
  void visitNextStates(double first, uint32_t count, Visit visit) const;
  template <typename Visit>
  void visitRecords(double first, uint32_t count, Visit visit) const;
  uint32_t keptRowsOf(uint32_t column, uint32_t episode) const;
  template <typename Visit>
  void visitKept(uint32_t column, double first, uint32_t count, Visit visit);
  uint32_t birthsOf(uint32_t episode) const;
  template <typename Visit>
  void visitBirths(double first, uint32_t count, Visit visit) const;

  Replay& replay_;
  // Reading.
  uint64_t begunAt_[sectionMax] = {};  // 1 + the replay's changeCount() when the first item of each section was read; 0 for not yet
  uint64_t numberedAt_ = never;
  uint64_t evictionAt_ = never;
  ReservedArray<uint32_t> ordinals_;  // episode -> ordinal by age
  ReservedArray<uint32_t> numbered_;  // ordinal -> episode
  ReservedArray<EvictionItem> evictionItems_;
  Cursor cursor_;
  // Loading.
  uint32_t loadSection_ = 0;       // 1 + the section that is being loaded
  double loadItem_ = 0;            // its next item
  uint64_t loadExpected_[3] = {};  // episodes, records, orphans
};

}  // namespace exrp
