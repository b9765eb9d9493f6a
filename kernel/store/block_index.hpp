// BlockIndex: finds a block by its episode's handle and its ordinal in it. So an episode and a position lead to a slot in one step,
// however long the episode is.
//
// A trimmed episode has no block of ordinal 0 any more. Then its first block is also found under that ordinal, so that a handle alone leads
// to the episode in one step.
//
// Open addressing with linear probing. An entry of the table holds a block and 32 bits of its key's hash. The keys themselves stand in
// the blocks. Only the one that is looked for is read, as any other differs in its hash (but for one in 2^32). Removal shifts entries
// back, so there are no tombstones, and the table does not get slower with time.
// Thread safety: none of its own.
// Invariants:
//   1. Every taken block is found by its key; nothing else is. The bits of the hash are its key's. An episode whose first block has
//      another ordinal than 0 has one entry more, under 0, for that block.
//   2. At most 5/8 of the table is used, and the table is no larger than all blocks need.
// Cost: O(1): one miss of the cache in the table and, for find(), one in the block. An entry has 8 bytes. The table doubles when needed
// (amortised O(1)): the order of the old table is that of the new one, so both are gone through once from end to end.
#pragma once

#include "kernel/store/store.hpp"

namespace exrp {

class BlockIndex {
 public:
  /// There are never more than `blockCountMax` blocks.
  Status create(uint32_t blockCountMax);
  /// Makes sure that the next `count` add() calls cannot fail, whatever is removed between them.
  Status prepare(uint32_t count);

  void add(const Block& key, uint32_t block) {
    insert({block + 1, hashOf(key.handle, key.ordinal)});
    ++count_;
  }
  void remove(const Block& key, uint32_t block) { removeEntry(hashOf(key.handle, key.ordinal), block); }

  /// The first block of an episode, `block`, is about to be given back: `next` is the first from now on.
  void moveFirst(const Block& key, uint32_t block, uint32_t next);
  /// An episode's first block, of another ordinal than 0, is not found under 0 any more.
  void removeFirst(uint64_t handle, uint32_t block) {
    removeEntry(hashOf(handle, 0), block);
    --firstCount_;
  }
  /// Loading: an episode's first block, of another ordinal than 0, is found under 0, too.
  void addFirst(uint64_t handle, uint32_t block) {
    insert({block + 1, hashOf(handle, 0)});
    ++count_;
    ++firstCount_;
  }

  /// The block, or blockNone.
  uint32_t find(const Store& store, uint64_t handle, uint32_t ordinal) const {
    const uint32_t hash = hashOf(handle, ordinal);
    for (size_t at = home(hash);; at = (at + 1) & mask_) {
      const Entry entry = table_[at];
      if (entry.number == 0) return blockNone;
      if (entry.hash != hash) continue;
      const Block& block = store.block(entry.number - 1);
      if (block.handle == handle && block.ordinal == ordinal) return entry.number - 1;
    }
  }
  /// The index of the episode of this handle, or UINT32_MAX. (A block of that handle says it, whatever its ordinal.)
  uint32_t findEpisode(const Store& store, uint64_t handle) const {
    const uint32_t hash = hashOf(handle, 0);
    for (size_t at = home(hash);; at = (at + 1) & mask_) {
      const Entry entry = table_[at];
      if (entry.number == 0) return UINT32_MAX;
      if (entry.hash != hash) continue;
      const Block& block = store.block(entry.number - 1);
      if (block.handle == handle) return block.episode;
    }
  }
  /// Calls `use(k, block)` for each k below `count`, in order, with the block of ordinal `ordinalAt(k)` in episode `handleAt(k)`, or
  /// blockNone. It goes in three passes, so that the cache misses of all overlap: give it pieces of up to findPiece.
  template <typename HandleAt, typename OrdinalAt, typename Use>
  void findMany(const Store& store, uint32_t count, HandleAt handleAt, OrdinalAt ordinalAt, Use use) const {
    for (uint32_t k = 0; k < count; ++k) prefetchTable(handleAt(k), ordinalAt(k));
    for (uint32_t k = 0; k < count; ++k) prefetchBlock(store, handleAt(k), ordinalAt(k));
    for (uint32_t k = 0; k < count; ++k) use(k, find(store, handleAt(k), ordinalAt(k)));
  }
  /// The same with episodes: calls `use(k, findEpisode(store, handleAt(k)))`.
  template <typename HandleAt, typename Use>
  void findEpisodes(const Store& store, uint32_t count, HandleAt handleAt, Use use) const {
    for (uint32_t k = 0; k < count; ++k) prefetchTable(handleAt(k), 0);
    for (uint32_t k = 0; k < count; ++k) prefetchBlock(store, handleAt(k), 0);
    for (uint32_t k = 0; k < count; ++k) use(k, findEpisode(store, handleAt(k)));
  }
  static constexpr uint32_t findPiece = 64;

  /// Asks for the cache lines that find() reads first, in two steps.
  void prefetchTable(uint64_t handle, uint32_t ordinal) const { prefetchLineFar(&table_[home(hashOf(handle, ordinal))]); }
  void prefetchBlock(const Store& store, uint64_t handle, uint32_t ordinal) const {
    const Entry entry = table_[home(hashOf(handle, ordinal))];
    if (entry.number != 0) prefetchLineFar(&store.block(entry.number - 1));
  }

  /// What the table knows of a key. Several keys may have the same.
  static uint32_t hashOf(uint64_t handle, uint32_t ordinal) {
    const uint64_t mixed = handle * 0x9E3779B97F4A7C15u + ordinal * 0xC2B2AE3D27D4EB4Fu;
    return static_cast<uint32_t>((mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9u >> 32);
  }

  /// Entries.
  uint32_t count() const { return count_; }
  /// Entries lie anywhere in the table, so all its pages are in use.
  double memoryBytes() const { return table_.takenBytes(table_.committed()); }
  int32_t check(const Store& store) const;

 private:
  struct Entry {
    uint32_t number;  // the block + 1; 0 is free
    uint32_t hash;    // of its key
  };

  static constexpr size_t entryCountMin = 256;  // half a page

  size_t home(uint32_t hash) const { return hash >> shift_; }
  Status makeTable(size_t tableCount);
  size_t entryOf(uint32_t hash, uint32_t block) const {
    size_t at = home(hash);
    while (table_[at].number != block + 1 || table_[at].hash != hash) at = (at + 1) & mask_;
    return at;
  }
  void removeEntry(uint32_t hash, uint32_t block);
  void insert(Entry entry) {
    size_t at = home(entry.hash);
    while (table_[at].number != 0) at = (at + 1) & mask_;
    table_[at] = entry;
  }

  ReservedArray<Entry> table_;
  size_t mask_ = 0;
  uint32_t shift_ = 0;
  uint32_t count_ = 0;       // entries
  uint32_t firstCount_ = 0;  // of those, the ones more of episodes whose first block has another ordinal than 0
  uint32_t blockCountMax_ = 0;
};

}  // namespace exrp
