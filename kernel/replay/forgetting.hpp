// Forgetting: which records go where room is needed.
//
// Records go in one of two ways. An ended episode goes whole: the eviction policy chooses it. An open episode is trimmed: its oldest records
// go, and it keeps its handle, its positions and its other picks. Among open episodes, the one whose oldest record is the oldest gives way. It
// does so when that record is older than a ring of as many records would hold, or when no episode has ended. So actors whose episodes never
// end behave together like one ring, and one of them keeps its share beside episodes that end. Released records, which were handed out, go
// before all others, the oldest first; of an ended episode, too. Records that are too old go whatever the policy says.
//
// Thread safety: none of its own.
// Invariants:
//   1. There are at most emptyMax() episodes that hold no record.
// Cost: where a record fits as it is, a few comparisons. Else a step of a trimmed episode, O(log of the open episodes), or one eviction for
// each episode's length of records. When full it evicts first, so the record that comes finds its room.
#pragma once

#include "kernel/replay/episode_book.hpp"

namespace exrp {

class Forgetting {
 public:
  explicit Forgetting(EpisodeBook& book) : book_(book) {}
  void create(const ReplayConfig& config) {
    capacity_ = config.capacity;
    segmentLength_ = config.segmentLength;
    emptyMax_ = config.emptyMax();
  }

  /// Whether a record fits where its episode is, with nothing to make room for, to cut or to end.
  bool fitsAsItIs(uint32_t episode, uint32_t flags) const {
    return flags == 0 && blocksNeeded(episode, flags) == 0 && hasBytesForOne(episode) && !ages().isDue(book_.recordedCount());
  }
  /// How many of `count` records that follow the next one go where it goes: into its block, with nothing to make room for or to cut.
  uint32_t recordsAlike(uint32_t episode, uint32_t count) const {
    const Store& store = book_.store();
    if (store.kept().count() > 0) return 0;
    const uint32_t position = book_.episodes()[episode].count;
    uint64_t alike = store.blockLength() - 1 - store.within(position);
    const uint64_t limits[] = {count, uint64_t{segmentLength_} - 1 - position, bytes().recordMax() - book_.recordCount() - 1,
                               ages().recordsLeft(book_.recordedCount()) - 1};
    for (const uint64_t limit : limits) alike = limit < alike ? limit : alike;
    return static_cast<uint32_t>(alike);
  }

  /// Evicts what has to go for a record. Where `episode` was gone or had to go, a new one begins, of the same tag.
  Status makeRoomForRecord(double handle, uint32_t flags, uint32_t* episode) {
    return fitsAsItIs(*episode, flags) ? Status::ok : evictForRecord(handle, flags, episode);
  }
  /// Lets records go until `blockCount` blocks, `recordCount` records, and `besideBytes` of what they bring beside themselves fit.
  Status makeRoom(uint32_t blockCount, uint32_t recordCount, uint64_t besideBytes);

  /// Lets records go until what is stored would fit a replay of other limits: the book's byte limit says how many records, and `ageMax` how old they are.
  Status shrink(uint32_t blockCountMax, uint32_t emptyMax, uint64_t ageMax);

  /// An open episode of this tag. There is room for it.
  uint32_t begin(int32_t tag);
  /// The episode that an actor goes on with.
  uint32_t beginAfter(int32_t tag, uint32_t actor);
  /// The records of an episode before `to` go.
  void trim(uint32_t episode, uint32_t to);
  /// Those up to the next multiple of `length`, a power of two.
  void trimStep(uint32_t episode, uint32_t length) { trim(episode, stepEnd(episode, length, book_.episodes()[episode].count)); }

  int32_t check() const { return open().emptyCount() > emptyMax_ ? 1 : 0; }

 private:
  /// The blocks that a record takes: for itself, for the final state of a segment that it cuts, for its own final state, for the episode
  /// that begins after it. Most often that is none, as its episode has a block for it. They are counted exactly, from what is saved with
  /// a replay, so that evictions come at the same records after loading.
  uint32_t blocksNeeded(uint32_t episode, uint32_t flags) const {
    const uint32_t begins = (flags & EXRP_RECORD_BEGINS) != 0 ? 1 : 0;
    if (episode == episodeNone) return 1 + begins;  // a block holds a record and a final state
    const uint32_t own = book_.needsBlock(episode) ? 1 : 0;
    const uint32_t count = book_.episodes()[episode].count;
    if (count == segmentLength_) return 1 + own + begins;
    const bool endNeedsBlock = (flags & EXRP_RECORD_ENDS) != 0 && book_.store().within(count + 1) == 0;
    return own + (endNeedsBlock ? 1 : 0) + begins;
  }
  /// Whether another record of an episode fits, by capacity and bytes.
  bool hasBytesForOne(uint32_t episode) const {
    return book_.recordCount() < bytes().recordMaxWith(bytes().keptBytes(book_.episodes()[episode].count));
  }
  /// Where a step of trimming by `length` ends, which is at most `most`.
  uint32_t stepEnd(uint32_t episode, uint32_t length, uint32_t most) const {
    const uint32_t next = (book_.episodes().first(episode) & ~(length - 1)) + length;
    return next < most ? next : most;
  }
  Status failFull(double handle) const {
    return fail(Status::full, static_cast<double>(book_.recordCount()), capacity_, handle);
  }
  Status evictForRecord(double handle, uint32_t flags, uint32_t* episode);
  Status evictAged();
  Status giveWay(uint32_t length);
  bool giveReleased(uint32_t episode, uint32_t length);
  void pushOutEmpty();

  const AgeLimit& ages() const { return book_.part<AgeLimit>(); }
  const ByteLimit& bytes() const { return book_.part<ByteLimit>(); }
  const OpenEpisodes& open() const { return book_.part<OpenEpisodes>(); }
  const ReleasedRecords& released() const { return book_.part<ReleasedRecords>(); }
  /// Null where the caller chooses what to forget.
  EvictionPolicy* policy() const { return book_.part<Eviction>().policy(); }

  EpisodeBook& book_;
  uint32_t capacity_ = 0;
  uint32_t segmentLength_ = 0;
  uint32_t emptyMax_ = 0;
};

}  // namespace exrp
