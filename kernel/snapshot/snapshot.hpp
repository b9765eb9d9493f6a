// Snapshot: the sections of a snapshot. They hold everything that decides the future, as arrays of items of one size, which are read and
// written a piece at a time.
//
// What is written is logical: episodes by age, picks by episode and position. So it does not depend on block lengths. Everything that is
// loaded is checked: a hostile file gets a status, never a crash.
//
// A snapshot is of the moment at which it was begun. begin() copies what may change, and keeps the records by reference (saved_rows.hpp).
// So the replay may change between two pieces.
//
// Thread safety: none of its own; calls on one replay are the caller's to serialise.
// Invariants:
//   1. No ordinal is used after the replay has changed.
// Cost: begin() copies 8 bytes a pick of each view, what the selectors and the policy keep, births, priorities, and the columns that only
// some records keep. Reading costs what the bytes cost to copy.
#pragma once

#include "kernel/replay/replay.hpp"

namespace exrp {

class Snapshot {
  struct Shape {
    double itemCount;
    uint32_t itemBytes;
  };

 public:
  /// A section whose items were copied.
  struct SavedSection {
    Shape shape;
    size_t at;  // in the items of all
  };
  /// All sections of a moment. That of records has no items here.
  struct Sections {
    uint32_t count = 0;
    Scratch<SavedSection> all;
    Scratch<uint8_t> items;  // of each from a multiple of 8 on
  };

  explicit Snapshot(Replay& replay) : replay_(replay) {}

  /// Keeps the moment for `saver`, with or without its records. Status::order where another one is kept, or while the replay is being loaded.
  Status begin(const void* saver, bool hasRecords = true);
  /// Lets go what is kept for `saver`, read or not.
  void endFor(const void* saver);
  /// Lets go likewise, and gives the sections that were kept.
  void endFor(const void* saver, Sections* sections);
  /// Of the moment that is kept; without one, of now.
  Status info(uint32_t section, double* info) const;
  /// Records are read in order, once. Status::order without a moment that is kept.
  Status read(uint32_t section, double first, uint32_t count, uint8_t* items, double itemsBytes);

  // Loading (snapshot_load.cpp).
  Status write(uint32_t section, double first, uint32_t count, const uint8_t* items, double itemsBytes);
  /// In place of all items of the section of records: their rows are written otherwise.
  Status skipRecords();
  Status end();
  /// Status::order from the first item that is loaded until end() has succeeded: the parts of the replay do not fit together meanwhile.
  Status checkWhole() const {
    return loadSection_ == 0 ? Status::ok : fail(Status::order, loadSection_ - 1, loadItem_, loadItem_);
  }

  /// Writes another capacity into the items of the section of counters.
  static void setCapacity(uint8_t* counters, uint64_t capacity);

  /// Bytes of memory in use, beside that of the listener that keeps the records.
  double memoryBytes() const {
    return ordinals_.takenBytes(ordinals_.committed()) + numbered_.takenBytes(numbered_.committed()) +
           evictionItems_.takenBytes(evictionItems_.committed()) + saved_.items.memoryBytes() + saved_.all.memoryBytes();
  }

 private:
  static constexpr uint64_t never = UINT64_MAX;

  /// The section of transforms is the last.
  uint32_t transformSection() const { return EXRP_SECTION_SELECTOR + 2 * replay_.picks().selectorCount(); }
  uint32_t sectionCount() const { return transformSection() + 1; }
  Shape shapeOf(uint32_t section) const;
  double validPicks(const PickPolicy& policy) const;
  uint32_t evictionHeaderItems() const;
  Status numberEpisodes();

  Status copySections();
  void copySection(uint32_t section, uint32_t count, uint8_t* items);
  void readCounters(uint8_t* items) const;
  void readEpisodes(uint32_t count, uint8_t* items) const;
  void readOrphans(uint32_t count, uint8_t* items) const;
  void readEviction(uint32_t count, uint8_t* items) const;
  void readPicks(const PickIndex& picks, uint32_t count, uint8_t* items) const;
  void readTransforms(uint8_t* items) const;

  Status writePiece(uint32_t section, double first, uint32_t count, const uint8_t* items);
  Status writeCounters(const uint8_t* items);
  Status writeEpisodes(uint32_t count, const uint8_t* items);
  Status writeEviction(double first, uint32_t count, const uint8_t* items);
  Status writeOrphans(double first, uint32_t count, const uint8_t* items);
  Status writePicks(PickIndex& picks, uint32_t section, double first, uint32_t count, const uint8_t* items);
  Status writeTransforms(double first, uint32_t count, const uint8_t* items);
  void beginSection(uint32_t number);
  bool isLoaded() const { return loadItem_ == loadShape_.itemCount; }

  // Items that belong to episodes: how many there are, where each is, and how it is copied.
  uint32_t itemBytesOf(uint32_t section) const;
  uint32_t itemsOf(uint32_t section, uint32_t episode) const;
  uint32_t slotOf(uint32_t episode, uint32_t position) const;
  uint32_t slotAfter(uint32_t before, uint32_t episode, uint32_t position) const;
  uint32_t birthPositionOf(uint32_t episode, uint32_t item) const;
  uint8_t* keptRowOf(uint32_t section, uint32_t episode, uint32_t item) const;
  void readItems(uint32_t section, uint32_t episode, uint32_t begin, uint32_t end, uint8_t*& to) const;
  bool writeItem(uint32_t section, uint32_t episode, uint32_t item, uint32_t& slot, const uint8_t* from);
  template <typename NumberOf>
  double sumOf(NumberOf numberOf) const;
  template <typename Visit>
  void visitItems(uint32_t section, double first, uint32_t count, Visit visit);

  Replay& replay_;
  // Saving.
  const void* saver_ = nullptr;  // null while no moment is kept
  Sections saved_;
  // Both.
  uint64_t numberedAt_ = never;
  uint32_t visited_ = episodeNone;  // the episode that visitItems() came to,
  double visitedBefore_ = 0;        // and how many items those before it have
  ReservedArray<uint32_t> ordinals_;  // episode -> ordinal by age
  ReservedArray<uint32_t> numbered_;  // ordinal -> episode
  ReservedArray<EvictionItem> evictionItems_;
  // Loading.
  uint32_t loadSection_ = 0;       // 1 + the section that is being loaded
  double loadItem_ = 0;            // its next item
  Shape loadShape_ = {};           // what it has: counting that goes through all episodes
  uint64_t loadExpected_[3] = {};  // episodes, records, orphans
};

}  // namespace exrp
