// EpisodeListener: what hears of every change of the stored episodes. A listener derives from it, and has those of its functions that it needs.
//
// The book tells each listener by its own type (kernel/replay/listeners.hpp). So what a listener leaves out costs nothing.
//
// Thread safety: none of its own.
// Invariants, which the book keeps:
//   1. An episode begins, is filled when it gets its first record, gets more, may be trimmed until it holds none and filled again, ends at most
//      once, and goes.
//   2. A block is sealed at most once, and freed once. No row of a sealed block changes until it is freed, but after changing().
// Nothing but prepare() fails: it takes what the others need.
#pragma once

#include "kernel/store/stored_episodes.hpp"

namespace exrp {

/// What the next changes may bring, at most.
struct Growth {
  uint32_t records;     // that come
  uint32_t episodes;    // that begin
  uint32_t episodeEnd;  // the indices of episodes will be below this
  uint32_t slotEnd;     // slots likewise
};

class EpisodeListener {
 public:
  /// Takes the memory that such changes need, whatever else goes meanwhile.
  Status prepare(const StoredEpisodes&, const Growth&) { return Status::ok; }

  /// A new open episode, the youngest, which holds no record.
  void begun(const StoredEpisodes&, uint32_t /*episode*/) {}
  /// An episode that held no record gets its oldest one, of this birth. Loading calls it for each episode that holds a record.
  void filled(const StoredEpisodes&, uint32_t /*episode*/, uint64_t /*birth*/) {}
  /// Records came, all in one block, from position `from` on. Their priorities are doubles, or null.
  void appended(const StoredEpisodes&, uint32_t /*episode*/, uint32_t /*from*/, const uint8_t* /*priorities*/) {}
  /// An open episode is about to lose its newest record, whose state becomes its final state. It holds another one. Then it ends.
  void shortening(const StoredEpisodes&, uint32_t /*episode*/) {}
  /// An episode has ended. While it was open it had `openCount` records.
  void ended(const StoredEpisodes&, uint32_t /*episode*/, uint32_t /*openCount*/) {}
  /// The records of an episode before `to` are about to go.
  void trimming(const StoredEpisodes&, uint32_t /*episode*/, uint32_t /*to*/) {}
  /// Those from `from` on, which was its first position, have gone.
  void trimmed(const StoredEpisodes&, uint32_t /*episode*/, uint32_t /*from*/) {}
  /// An episode is about to go. A record with the handle of an open one may begin another in its place, if it `mayGoOn`.
  void removing(const StoredEpisodes&, uint32_t /*episode*/, bool /*mayGoOn*/) {}
  /// Loading: an episode that has begun has its count, its first position and its state now, but no row yet.
  void restored(const StoredEpisodes&, uint32_t /*episode*/) {}

  /// A block gets no more rows: it is full, or its episode has ended.
  void sealed(const StoredEpisodes&, uint32_t /*block*/) {}
  /// The rows of a sealed block were packed, where that gains.
  void packed(const StoredEpisodes&, uint32_t /*block*/) {}
  /// A row of a block is about to get other values in the columns whose bits are set. It may be told for each row.
  void changing(const StoredEpisodes&, uint32_t /*block*/, uint64_t /*columns*/) {}
  /// A block of an episode goes. Its rows are still there.
  void freed(const StoredEpisodes&, uint32_t /*block*/) {}

  /// Bytes of the pages in use.
  double memoryBytes() const { return 0; }
  /// 0, or the number of the first invariant that does not hold.
  int32_t check(const StoredEpisodes&) const { return 0; }
};

}  // namespace exrp
