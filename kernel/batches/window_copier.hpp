// WindowCopier: copies one pick's window into a batch, whatever the batch holds.
//
// The copier first lists the slots of the pick's window and of what lies around it (kernel/batches/locator.hpp). Then it copies every part
// by walking that list.
//
// Where a batch has next states, each frame is read once and written to the stack that it is in and to the next one.
//
// n-step returns (Sutton and Barto, "Reinforcement Learning", 2nd edition, section 7.1; Hessel et al., "Rainbow", section 2): of
// the record at t, with m = min(n, records from t on whose next state is known):
//   return = sum over j < m of discount^j reward[t + j];  state = that after m records;
//   discount = discount^m, but 0 where the episode terminated within the m.
// The newest record of an open episode has m = 0: its return is its own reward, its state and discount are zero.
//
// Returns to go (Chen et al., "Decision Transformer", section 3): of the record at t, the sum of reward[t], ..., reward[count - 1] of its episode.
//
// Where rewards are transformed, both are sums of the transformed ones.
//
// Of a column that is on a device (kernel/batches/addressed_batches.hpp), a batch gets addresses in place of rows: where each row is, one of
// EXRP_ADDRESS_*. They are copied by the same walk, as rows of a few bytes.
//
// Thread safety: after create() it never changes, so many threads may share it. What a call changes is the batch and its WindowScratch.
// Invariants:
//   1. Every byte of the window's rows in every part is written, at the latest by finish(): rows that stand for no record are zero.
//   2. Nothing outside the pick's episode is read.
// Cost: one copy of the bytes, and 4 bytes a row. Returns to go: O(records from the window's first to the episode's last).
#pragma once

#include <cstring>

#include "kernel/base/scratch.hpp"
#include "kernel/batches/batch_layout.hpp"
#include "kernel/batches/column_transform.hpp"
#include "kernel/batches/large_copy.hpp"
#include "kernel/batches/locator.hpp"

namespace exrp {

/// What a thread needs while it copies windows.
struct WindowScratch {
  /// A window of which a leaf of the states is not copied yet.
  struct Waiting {
    uint32_t leaf;
    uint32_t slot;  // of its first frame
    size_t row;     // of the batch
  };
  static constexpr uint32_t waitingMax = 32;

  Scratch<uint32_t> slots;  // of one window, in order of time
  Waiting waiting[waitingMax] = {};
  uint32_t waitingCount = 0;
  const float* rewardScales = nullptr;  // for rewards that are normalized
  CopyQueue* queue = nullptr;           // takes large copies in place of the store's queue, where it is not null
  CopyQueue packed;                     // copies of packed rows that wait for finish(), where the store has no queue
};

/// Columns of which a batch gets addresses: as bits, and the bytes that a batch has of each for a row.
struct AddressedColumns {
  uint64_t columns = 0;
  const uint32_t* bytes = nullptr;  // by column; not needed without columns

  bool has(uint32_t column) const { return (columns >> column & 1) != 0; }
};

class WindowCopier {
 public:
  /// No episode has more than `recordCountMax` records.
  void create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax, const ColumnTransform* reward, bool canQueue,
              const AddressedColumns& addressed = {});
  /// Takes the memory that copy() needs.
  Status createScratch(WindowScratch* scratch) const;
  /// The groups of those leaves that wait for finish() where a window lies in one piece, as bits.
  uint64_t waitingGroups() const { return waitingGroups_; }
  /// The groups of which a batch gets addresses only, as bits.
  uint64_t addressedGroups() const { return addressedGroups_; }

  /// Copies the pick that begins at `slot`, as pick `index` of the batch.
  void copy(const EpisodeList& episodes, uint32_t slot, size_t index, const BatchTarget& target, WindowScratch& scratch) const;
  /// Copies a column's rows that stand in the slots from `slot` on, `count` in all, of a pick whose slots stand one after another.
  void copyPackedRows(uint32_t column, uint32_t slot, uint32_t count, uint8_t* to, WindowScratch& scratch) const;
  /// To be called after the last copy to a batch: some rows may wait until then.
  void finish(const BatchTarget& target, WindowScratch& scratch) const;

 private:
  /// One pick's window, and its slots.
  struct Window : LocatedPick {
    bool joined;  // the slots stand one after another
    size_t row;   // of the batch
    const uint32_t* slots;
    CopyQueue* queue;  // that of the scratch
    CopyQueue* packed;
  };
  /// Where rows go that follow one another in time: the first `toCount` to `to`, and those from `skipped` on to `also`, if that is not null.
  struct Places {
    uint8_t* to;
    uint32_t toCount;
    uint8_t* also = nullptr;
    uint32_t skipped = 0;
  };

  static uint32_t smaller(uint64_t a, uint64_t b) { return static_cast<uint32_t>(a < b ? a : b); }
  size_t rowOf(const Window& window, uint32_t at) const { return window.row + locator_.rowOf(window, at); }
  static constexpr uint32_t askedAhead = 2;

  void copyRun(uint8_t* to, uint8_t* also, uint32_t column, const uint32_t* slots, uint32_t count, const Window& window) const;
  void copyPacked(uint32_t column, const uint32_t* slots, uint32_t count, Places places, CopyQueue& waiting) const;
  void copyColumn(uint32_t column, const Window& window, uint8_t* part) const;
  bool isAddressed(uint32_t column) const { return (addressed_ >> column & 1) != 0; }
  void writeAddresses(uint8_t* to, uint32_t column, const uint32_t* slots, uint32_t count) const;
  bool waits(uint32_t leaf) const { return policy_.leaves[leaf].hasNext() && store_->isAlone(leaf) && !isAddressed(leaf); }
  /// Frames of one leaf before the window's first record, and the slot of the first of them.
  uint32_t backOf(uint32_t leaf, const Window& window) const { return smaller(policy_.leaves[leaf].stack - 1, window.back); }
  const uint32_t* slotsOf(uint32_t leaf, const Window& window) const { return window.slots + (window.back - backOf(leaf, window)); }
  size_t stackBytes(uint32_t leaf) const { return size_t{policy_.leaves[leaf].stack} * bytes_[leaf]; }

  void copyStack(uint32_t leaf, uint8_t* state, uint8_t* next, const Window& window, uint32_t at) const;
  void pad(uint32_t leaf, uint8_t* to, uint32_t slot, uint32_t frameCount, const Window& window) const;
  void copyBothStates(uint32_t leaf, const Window& window, const BatchTarget& target, WindowScratch& scratch) const;
  void copyWhole(const WindowScratch::Waiting& waiting, const BatchTarget& target, CopyQueue* queue) const;
  void copyStates(uint32_t leaf, const Window& window, size_t index, uint8_t* part) const;
  void copyFrames(uint32_t leaf, const Window& window, size_t index, uint8_t* part) const;
  void writeDiscounts(const Window& window, float* part) const;
  void writeMasks(const Window& window, const BatchTarget& target) const;
  void copyNStepStates(uint32_t leaf, const Window& window, uint32_t n, uint8_t* part) const;
  void writeEnds(const Window& window, const BatchTarget& target) const;
  void writeReturnsToGo(const Episode& episode, const Window& window, float* part, const float* scales) const;
  template <typename Read>
  void addUp(const Episode& episode, const Window& window, float* part, Read read) const;
  void writeNStep(const Window& window, uint32_t n, const BatchTarget::NStep& part, const float* scales) const;
  /// Zeros the rows of a part that stand for no record.
  void zeroAround(uint8_t* part, size_t rowBytes, const Window& window) const {
    const auto rows = static_cast<size_t>(policy_.rows());
    if (window.real == rows) return;
    uint8_t* const from = part + window.row * rowBytes;
    const size_t end = size_t{window.lead} + window.real;
    memset(from, 0, window.lead * rowBytes);
    memset(from + end * rowBytes, 0, (rows - end) * rowBytes);
  }

  const Store* store_ = nullptr;
  PickPolicy policy_;
  uint32_t bytes_[columnMax] = {};  // of a row of each column in a batch
  uint64_t addressed_ = 0;          // columns
  uint64_t apart_ = 0;              // columns whose rows are not copied as they are: those, and packed ones
  uint64_t addressedGroups_ = 0;
  uint64_t waitingGroups_ = 0;
  const ColumnTransform* reward_ = nullptr;
  Locator locator_;
  LargeCopier large_;
};

}  // namespace exrp
