// Locator: where the rows of a pick are: its episode and position, its window, and the slots of all records that a batch shows of it or reads
// for it. It is the second of the three steps of kernel/batches/gatherer.hpp.
//
// A pick's window begins with `before` records, or fewer near the episode's start. The pick's own records follow, fewer near the episode's
// end. Around the window lie the frames of its stacks and the records of its n-step returns. The slots are in order of time:
//
//   frames before the window      the window                      ahead of it
//   +---+---+                     +---+---+---+---+               +---+---+
//   |  back |                     |context|  own  |  (real)       |       |   next state, n-step returns
//   +---+---+                     +---+---+---+---+               +---+---+
//   slots[0]                      slots[back]                     slots[back + real]
//
// The state of record `at` of the window is the stack of frames that ends at slots[back + at]. Its next state ends at the slot after that, and
// is known where at < known.
//
// Thread safety: after create() it never changes, so many threads may share it.
// Invariants:
//   1. All slots are of records, or of the final state, of the pick's episode.
// Cost: locate() O(1); listSlots() 4 bytes a slot.
#pragma once

#include "kernel/store/episode_list.hpp"
#include "kernel/store/pick_policy.hpp"
#include "kernel/store/pick_index.hpp"

namespace exrp {

struct LocatedPick {
  uint64_t handle;    // of its episode
  uint32_t episode;   // the same episode's index
  uint32_t position;  // of its first record, in the episode
  uint32_t slot;      // of the same record
  uint32_t lead;      // rows of the batch before the window's first record
  uint32_t context;   // records before the pick's position
  uint32_t real;      // records shown, those included
  uint32_t known;     // records whose next state is known, from the window's first on and beyond its last
  uint32_t back;      // frames before the window's first record, as many as the largest stack needs
  uint32_t slotCount;
  uint32_t state;   // EXRP_EPISODE_*

  /// Records that a batch shows with a next state.
  uint32_t shownKnown() const { return real < known ? real : known; }
  /// Whether the last record with a next state ended the episode by the task's rule.
  bool terminates() const { return state == EXRP_EPISODE_TERMINATED; }
  /// Whether the episode has ended, and its last record is among those that a batch shows.
  bool showsEnd() const { return state != EXRP_EPISODE_OPEN && known <= real; }
};

class Locator {
 public:
  /// No episode has more than `recordCountMax` records.
  void create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax);
  /// The most slots of a pick.
  size_t slotCountMax() const { return slotCountMax_; }

  /// The pick that begins at a slot.
  LocatedPick locate(const EpisodeList& episodes, uint32_t slot) const;
  /// Lists a pick's slots. True where they stand one after another.
  bool listSlots(const LocatedPick& pick, uint32_t* slots) const;
  /// The row of the batch that shows record `at` of the window, counted from the pick's first row.
  uint32_t rowOf(const LocatedPick& pick, uint32_t at) const {
    return policy_.reversed ? pick.real - 1 - at : pick.lead + at;
  }

 private:
  static uint32_t smaller(uint64_t a, uint64_t b) { return static_cast<uint32_t>(a < b ? a : b); }

  const Store* store_ = nullptr;
  PickPolicy policy_;
  size_t slotCountMax_ = 0;
};

}  // namespace exrp
