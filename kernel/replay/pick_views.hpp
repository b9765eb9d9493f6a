// PickViews: the picks of a replay as its pick views see them, and the selectors that draw from them.
//
// Each view has a pick view of its own policy, and makes batches of its picks. A selector draws from one view; they are numbered over all. The
// priorities that came with records hold for all views.
//
// Thread safety: none of its own.
// Invariants:
//   1. Those of each PickIndex.
//   2. Each pick view holds each pick of each episode that is valid by its policy, tags included, and nothing else.
// Cost: a record O(1) for each view. What goes takes O(picks) of it.
#pragma once

#include <memory>

#include "kernel/batches/addressed_batches.hpp"
#include "kernel/store/episode_listener.hpp"
#include "kernel/store/initial_priorities.hpp"
#include "kernel/store/pick_index.hpp"

namespace exrp {

/// One pick view, and what makes batches of its picks.
struct PickView {
  PickIndex picks;
  BatchMaker maker;
  std::unique_ptr<TransformedBatches> transformed;  // null in a view without transforms
  Scratch<double> transforms;                       // the numbers that they were made from
  uint32_t number = 0;  // 0, 1, ... in order of creation
  uint32_t selectorCount = 0;
  uint64_t drawnCount = 0;  // batches, or parts of one, that were gathered with transforms
  std::unique_ptr<AddressedBatches> addressed;  // null while no column is mirrored

  const Gatherer& gatherer(bool addresses = false) const {
    if (addresses) [[unlikely]] return *addressed;
    return transformed == nullptr ? static_cast<const Gatherer&>(maker) : *transformed;
  }
  const uint32_t* shownBytes(bool addresses = false) const {
    if (addresses) [[unlikely]] return addressed->shownBytes();
    return transformed == nullptr ? nullptr : transformed->shownBytes();
  }
};

class PickViews final : public EpisodeListener {
 public:
  /// For a replay of so many records, of which one episode holds at most `episodeMax`.
  void create(uint32_t capacity, uint32_t episodeMax, uint64_t seed) {
    capacity_ = capacity;
    episodeMax_ = episodeMax;
    seed_ = seed;
  }

  // ---- views ----

  /// The statistics are those of the replay: the view begins those that it needs.
  Status createView(const StoredEpisodes& stored, const PickPolicy& policy, ColumnStatistics& statistics, uint32_t* number);
  uint32_t viewCount() const { return viewCount_; }
  PickView& view(uint32_t number) const { return *views_[number]; }
  /// Null when there is no such view, which is then the call's failure.
  PickView* findView(uint32_t number) const;
  Status info(uint32_t number, double* info) const;
  /// Bytes that the views themselves take, beside those of memoryBytes().
  double viewBytes() const {
    double bytes = static_cast<double>(viewCount_ * sizeof(PickView));
    for (uint32_t view = 0; view < viewCount_; ++view) {
      const PickView& at = *views_[view];
      if (at.transformed != nullptr) bytes += at.transformed->memoryBytes() + at.transforms.memoryBytes();
      if (at.addressed != nullptr) bytes += at.addressed->memoryBytes();
    }
    return bytes;
  }
  /// Whether a view has transforms.
  bool anyTransformed() const {
    bool found = false;
    for (uint32_t view = 0; view < viewCount_; ++view) found = found || views_[view]->transformed != nullptr;
    return found;
  }

  // ---- columns that are mirrored elsewhere ----

  /// From now on, the views can also make batches with addresses of the columns whose bits are in `columns`. Status::memory leaves none that can.
  Status beginAddresses(const Store& store, const ColumnStatistics& statistics, uint64_t columns);
  void endAddresses();

  // ---- selectors ----

  Status createSelector(uint32_t view, uint32_t kind, const double* options, uint32_t optionCount, uint32_t* selector);
  Status checkSelector(uint32_t selector) const {
    return selector < selectorCount_ ? Status::ok : fail(Status::selectorUnknown, selector, selectorCount_);
  }
  uint32_t selectorCount() const { return selectorCount_; }
  PickSelector& selector(uint32_t selector) const { return *selectors_[selector]; }
  /// The view that a selector draws from.
  PickView& viewOf(uint32_t selector) const { return *selectorViews_[selector]; }
  /// 0, or the number of the first invariant of a selector that does not hold.
  int32_t checkSelectors() const;

  // ---- priorities that come with records ----

  InitialPriorities& initialPriorities() { return initial_; }
  const InitialPriorities& initialPriorities() const { return initial_; }
  /// Takes the memory for them. From initialPriorities().begin() on they are noted.
  Status reservePriorities(const Store& store) {
    const uint32_t shift = store.blockShift();
    return initial_.reserve(size_t{store.blockCountMax()} << shift, size_t{store.highWater()} << shift);
  }

  // ---- room ----

  /// Whether one more record finds the memory for its picks.
  bool hasRoomForOne() const {
    for (uint32_t view = 0; view < viewCount_; ++view) {
      if (!views_[view]->picks.hasRoomForOne()) return false;
    }
    return true;
  }
  /// Takes the memory that the journals need if every pick goes.
  Status prepareRemoval();
  /// Whether the changes of any view are kept in a journal.
  bool isJournalOpen() const;

  // ---- what it hears ----

  Status prepare(const StoredEpisodes& stored, const Growth& growth);
  void appended(const StoredEpisodes& stored, uint32_t episode, uint32_t from, const uint8_t* priorities) {
    if (initial_.inUse()) notePriorities(stored, episode, from, priorities);
    push(stored, episode, from);
  }
  void shortening(const StoredEpisodes& stored, uint32_t episode);
  void ended(const StoredEpisodes& stored, uint32_t episode, uint32_t openCount) { push(stored, episode, openCount); }
  void trimming(const StoredEpisodes& stored, uint32_t episode, uint32_t to) { remove(stored, episode, to); }
  void removing(const StoredEpisodes& stored, uint32_t episode, bool) { remove(stored, episode, positionMax); }
  double memoryBytes() const;
  int32_t check(const StoredEpisodes& stored) const;

 private:
  static Status readNormalized(const StoredEpisodes& stored, const TransformedBatches& batches, const ColumnStatistics& statistics);
  Status makeAddressed(const Store& store, const ColumnStatistics& statistics, PickView* view) const;
  Status createTransformed(const Store& store, const PickPolicy& policy, ColumnStatistics& statistics, PickView* view);
  void notePriorities(const StoredEpisodes& stored, uint32_t episode, uint32_t from, const uint8_t* priorities);
  /// Pushes the picks of each view that became valid since the episode was open and had `countBefore` records.
  void push(const StoredEpisodes& stored, uint32_t episode, uint32_t countBefore) {
    for (uint32_t view = 0; view < viewCount_; ++view) {
      PickIndex& picks = views_[view]->picks;
      pushTo(picks, stored, episode, picks.policy().validEnd(countBefore, false));
    }
  }
  void pushTo(PickIndex& picks, const StoredEpisodes& stored, uint32_t episode, uint32_t validBefore);
  void pushRun(PickIndex& picks, uint32_t slot, uint32_t count);
  void remove(const StoredEpisodes& stored, uint32_t episode, uint32_t to);

  std::unique_ptr<PickView> views_[EXRP_LIMIT_PICK_VIEWS];
  uint32_t viewCount_ = 0;
  std::unique_ptr<PickSelector> selectors_[EXRP_LIMIT_SELECTORS];
  PickView* selectorViews_[EXRP_LIMIT_SELECTORS] = {};
  uint32_t selectorCount_ = 0;
  InitialPriorities initial_;
  uint32_t capacity_ = 0;
  uint32_t episodeMax_ = 0;
  uint64_t seed_ = 0;
  uint64_t addressedColumns_ = 0;
};

}  // namespace exrp
