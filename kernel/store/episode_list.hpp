// EpisodeList: what is known of each episode, at a small dense index that is reused after removal.
//
// An open episode can be trimmed: its oldest records go, and the others keep their positions. So it has a first position, that of its
// oldest record. This stands apart from the rest, as batches read the rest at random and have no use for it.
//
// Thread safety: none of its own.
// Invariants:
//   1. The list oldest()..newer() holds every live episode once, handles strictly rising.
//   2. count() is its length.
//   3. No episode's first position is above its count.
// An episode also has the number of its actor: the chain of episodes that follow one on another, as an environment goes through them.
// Cost: all O(1); 12 bytes an episode for its first position, tag and actor, beside the episode itself, which batches read at random.
#pragma once

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"

namespace exrp {

constexpr uint32_t episodeNone = UINT32_MAX;
/// The most records that an episode ever has: their positions, and that of the final state, are numbers of an int32.
constexpr uint32_t positionMax = 0x7fffffffu;

struct Episode {
  uint64_t handle;
  uint32_t firstBlock;
  uint32_t lastBlock;
  uint32_t count;  // the position of its next record: of the records ever in it, those before the first position are gone
  uint16_t state;  // EXRP_EPISODE_*; EVICTED while nothing has this index
  uint16_t writer;  // the seat that recorded into it last
  uint32_t older;
  uint32_t newer;  // or the next unused index

  bool ended() const { return state != EXRP_EPISODE_OPEN; }
};

class EpisodeList {
 public:
  Status create(uint32_t countMax) {
    const bool made = episodes_.create(countMax, Pages::huge, 0) && firsts_.create(countMax, Pages::small) && origins_.create(countMax, Pages::small);
    return made ? Status::ok : fail(Status::memory, double{1} * countMax * bytesEach);
  }
  /// Takes the memory that the next `count` add() calls need, for as many episodes as there can be.
  Status prepare(uint32_t count) {
    const uint32_t needed = preparedCount(count);
    const bool taken = episodes_.commit(needed) && firsts_.commit(needed) && origins_.commit(needed);
    return taken ? Status::ok : fail(Status::memory, double{1} * needed * bytesEach);
  }
  /// Episodes below this index have memory after prepare(count).
  uint32_t preparedCount(uint32_t count) const {
    const size_t needed = size_t{highWater_} + count;
    return static_cast<uint32_t>(needed < episodes_.countMax() ? needed : episodes_.countMax());
  }

  /// An open, empty episode with tag 0 and an actor of its own, the youngest. `handle` is larger than that of any other.
  uint32_t add(uint64_t handle, uint32_t firstBlock) {
    uint32_t index = unused_;
    if (index != episodeNone) {
      unused_ = episodes_[index].newer;
    } else {
      index = highWater_++;
    }
    episodes_[index] = Episode{handle, firstBlock, firstBlock, 0, EXRP_EPISODE_OPEN, 0, newest_, episodeNone};
    firsts_[index] = 0;
    origins_[index] = {0, static_cast<uint32_t>(handle)};
    (newest_ == episodeNone ? oldest_ : episodes_[newest_].newer) = index;
    newest_ = index;
    ++count_;
    return index;
  }

  void remove(uint32_t index) {
    const Episode& episode = episodes_[index];
    (episode.older == episodeNone ? oldest_ : episodes_[episode.older].newer) = episode.newer;
    (episode.newer == episodeNone ? newest_ : episodes_[episode.newer].older) = episode.older;
    episodes_[index].state = EXRP_EPISODE_EVICTED;
    episodes_[index].newer = unused_;
    unused_ = index;
    --count_;
  }

  Episode& operator[](uint32_t index) { return episodes_[index]; }
  const Episode& operator[](uint32_t index) const { return episodes_[index]; }
  int32_t tag(uint32_t index) const { return origins_[index].tag; }
  void setTag(uint32_t index, int32_t tag) { origins_[index].tag = tag; }
  /// The low half of the handle of the actor's first episode.
  uint32_t actor(uint32_t index) const { return origins_[index].actor; }
  void setActor(uint32_t index, uint32_t actor) { origins_[index].actor = actor; }
  /// The position of an episode's oldest record; where it holds none, of its next.
  uint32_t first(uint32_t index) const { return firsts_[index]; }
  void setFirst(uint32_t index, uint32_t position) { firsts_[index] = position; }
  /// The records that an episode holds.
  uint32_t recordCount(uint32_t index) const { return episodes_[index].count - firsts_[index]; }
  uint32_t oldest() const { return oldest_; }
  uint32_t newest() const { return newest_; }
  uint32_t count() const { return count_; }
  uint32_t highWater() const { return highWater_; }
  double memoryBytes() const {
    return episodes_.takenBytes(highWater_) + firsts_.takenBytes(highWater_) + origins_.takenBytes(highWater_);
  }

  int32_t check() const {
    uint32_t count = 0;
    uint64_t handleMin = 0;
    for (uint32_t index = oldest_; index != episodeNone; index = episodes_[index].newer) {
      if (++count > count_ || episodes_[index].handle < handleMin) return 1;
      handleMin = episodes_[index].handle + 1;
      if (firsts_[index] > episodes_[index].count) return 3;
    }
    return count == count_ ? 0 : 2;
  }

 private:
  struct Origin {
    int32_t tag;
    uint32_t actor;
  };
  static constexpr uint32_t bytesEach = sizeof(Episode) + sizeof(uint32_t) + sizeof(Origin);

  ReservedArray<Episode> episodes_;
  ReservedArray<uint32_t> firsts_;  // by the same index
  ReservedArray<Origin> origins_;   // likewise
  uint32_t oldest_ = episodeNone;
  uint32_t newest_ = episodeNone;
  uint32_t unused_ = episodeNone;
  uint32_t count_ = 0;
  uint32_t highWater_ = 0;
};

}  // namespace exrp
