// WindowCopier: copies one pick's window into a batch, where a batch holds more than each record and its next state.
//
// The window of a pick begins with `before` records, or fewer near the episode's start. The pick's own records follow, fewer near the
// episode's end. Around the window lie the frames of its stacks and the records of its n-step returns. The copier first lists the slots
// of all of them, in order of time. Then it copies every part by walking that list.
//
// Large states (frames) are copied in their own way: each is read once and written to all stacks that it is in (window_large.cpp).
//
// n-step returns (Sutton and Barto, "Reinforcement Learning", 2nd edition, section 7.1; Hessel et al., "Rainbow", section 2): of
// the record at t, with m = min(n, records from t on whose next state is known):
//   return = sum over j < m of discount^j reward[t + j];  state = that after m records;
//   discount = discount^m, but 0 where the episode terminated within the m.
// The newest record of an open episode has m = 0: its return is its own reward, its state and discount are zero.
//
// Thread safety: after create() it never changes, so many threads may share it. What a call changes is the batch and its WindowScratch.
// Invariants:
//   1. Every byte of the window's rows in every part is written, at the latest by finish(): rows that stand for no record are zero.
//   2. Nothing outside the pick's episode is read.
// Cost: one copy of the bytes, and 4 bytes a row.
#pragma once

#include "kernel/base/scratch.hpp"
#include "kernel/batches/batch_layout.hpp"
#include "kernel/batches/large_copy.hpp"
#include "kernel/store/episode_table.hpp"

namespace exrp {

/// What a thread needs while it copies windows.
struct WindowScratch {
  /// A window whose states are not copied yet.
  struct Waiting {
    uint32_t slot;  // of its first frame
    size_t row;     // of the batch
  };
  static constexpr uint32_t waitingMax = 32;

  Scratch<uint32_t> slots;  // of one window, in order of time
  Waiting waiting[waitingMax] = {};
  uint32_t waitingCount = 0;
};

class WindowCopier {
 public:
  /// No episode has more than `recordCountMax` records.
  void create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax);
  /// Takes the memory that copy() needs.
  Status createScratch(WindowScratch* scratch) const;
  /// True where windows reach to slots before the pick's.
  bool looksBack() const { return policy_.before > 0 || policy_.stack > 1; }
  /// True where the states of a window that lies in one piece wait for finish().
  bool statesWait() const { return policy_.nextState == EXRP_NEXT_STATE_COPY && store_->isAlone(0); }

  /// Copies the pick at `slot`, `position` of `episode`, as pick `index` of the batch.
  void copy(const Episode& episode, uint32_t slot, uint32_t position, size_t index, const BatchTarget& target, WindowScratch& scratch) const;
  /// To be called after the last copy to a batch: some states may wait until then.
  void finish(const BatchTarget& target, WindowScratch& scratch) const;

 private:
  /// One pick's window. Rows are counted within it; `slots_` begins `back` rows before its first.
  struct Window {
    uint32_t lead;    // rows of the batch before the window's first record
    uint32_t context; // records before the pick's position
    uint32_t real;    // records shown, those included
    uint32_t known;   // records whose next state is known, from the window's first on and beyond its last
    uint32_t back;    // frames listed before the window's first
    uint32_t listed;  // slots listed in all
    bool joined;      // those slots stand one after another
    bool terminates;  // the last record with a next state ended the episode by the task's rule
    size_t row;       // of the batch
    const uint32_t* slots;  // those listed
  };

  static uint32_t smaller(uint64_t a, uint64_t b) { return static_cast<uint32_t>(a < b ? a : b); }
  bool listSlots(uint32_t slot, uint32_t position, uint32_t start, uint32_t count, uint32_t* list) const;
  size_t rowOf(const Window& window, uint32_t at) const {
    return window.row + (policy_.reversed ? window.real - 1 - at : window.lead + at);
  }
  void copyOne(uint8_t* to, uint32_t column, uint32_t slot) const;
  void copyColumn(uint32_t column, const Window& window, uint8_t* part) const;
  void copyStates(const Window& window, size_t index, uint8_t* part) const;
  static constexpr uint32_t askedAhead = 2;

  void copyStatesOnce(const Window& window, uint32_t shownKnown, const BatchTarget& target, WindowScratch& scratch) const;
  void copyStatesOf(const Window& window, uint32_t shownKnown, const BatchTarget& target) const;
  void copyWhole(const WindowScratch::Waiting& waiting, const BatchTarget& target) const;
  void copyStackTwice(uint8_t* state, uint8_t* next, const Window& window, uint32_t at) const;
  void copyRunTwice(uint8_t* to, uint8_t* also, const uint32_t* slots, uint32_t count) const;
  void copyFrames(const Window& window, size_t index, uint8_t* part) const;
  void copyStack(uint8_t* to, const Window& window, uint32_t at) const;
  void copyRun(uint8_t* to, uint32_t column, const uint32_t* slots, uint32_t count) const;
  void writeDiscounts(const Window& window, float* part) const;
  void writeMasks(const Window& window, const BatchTarget& target) const;
  void writeNStep(const Window& window, uint32_t n, const BatchTarget::NStep& part) const;
  double reward(const uint8_t* from) const;
  void zeroAround(uint8_t* part, size_t rowBytes, const Window& window) const;

  const Store* store_ = nullptr;
  PickPolicy policy_;
  LargeCopier large_;
  size_t slotCountMax_ = 0;  // of a window
};

}  // namespace exrp
