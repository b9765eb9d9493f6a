// Listeners: all that hear of a replay's episodes, in the order in which they hear.
//
// To add one, write it after EpisodeListener, and name it in the list below. It hears of everything from then on, its memory is counted, and
// its check() belongs to the replay's. `get<It>()` gives it to those that ask it.
//
// Cost: each is called by its own type, so what a listener leaves out costs nothing.
#pragma once

#include <tuple>

#include "kernel/replay/eviction.hpp"
#include "kernel/replay/pick_views.hpp"
#include "kernel/replay/saved_rows.hpp"
#include "kernel/store/age_limit.hpp"
#include "kernel/store/byte_limit.hpp"
#include "kernel/store/column_statistics.hpp"
#include "kernel/store/logged_rows.hpp"
#include "kernel/store/mirrored_rows.hpp"
#include "kernel/store/next_states.hpp"
#include "kernel/store/open_episodes.hpp"
#include "kernel/store/orphan_handles.hpp"
#include "kernel/store/released_records.hpp"
#if defined(EXRP_TEST_LISTENERS)
#include EXRP_TEST_LISTENERS  // the file of one more, tests/kernel/block_witness.hpp
#endif

namespace exrp {

class Listeners {
 public:
  template <typename Listener>
  Listener& get() {
    return std::get<Listener>(all_);
  }
  template <typename Listener>
  const Listener& get() const {
    return std::get<Listener>(all_);
  }

  /// Calls `use` with each.
  template <typename Use>
  void forEach(Use use) {
    std::apply([&](auto&... each) { (use(each), ...); }, all_);
  }
  template <typename Use>
  void forEach(Use use) const {
    std::apply([&](const auto&... each) { (use(each), ...); }, all_);
  }

 private:
  std::tuple<
#if defined(EXRP_TEST_LISTENERS)
      BlockWitness,
#endif
      Eviction,
      AgeLimit,
      ByteLimit,
      OpenEpisodes,
      ReleasedRecords,
      OrphanHandles,
      NextStates,
      PickViews,
      SavedRows,
      LoggedRows,
      MirroredRows,
      ColumnStatistics>
      all_;
};

}  // namespace exrp
