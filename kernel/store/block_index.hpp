// BlockIndex: finds a block by its episode's handle and its ordinal in it. So an episode and a position lead to a slot in one step,
// however long the episode is.
//
// A trimmed episode has no block of ordinal 0 any more. Then its first block is also found under that ordinal, so that a handle alone leads
// to the episode in one step.
//
// A hash table of buckets. A bucket is a cache line of 15 entries. A key's entry lies in its home, the bucket that its hash chooses, or, where
// that was full, in the next one that was not. Each bucket counts the entries that passed it in this way. So a search ends at the first bucket
// that none has passed, an entry is removed without a look at any other, and the table does not get slower with time.
// An entry is the number of a block, and bits of the key's hash in what the number leaves of 32 bits. The keys themselves stand in the blocks.
// Most often only the one that is looked for is read, as the others differ in those bits.
// Thread safety: none of its own.
// Invariants:
//   1. Every taken block is found by its key; nothing else is. An episode whose first block has another ordinal than 0 has one entry more,
//      under 0, for that block. A bucket's count of passes is that of the entries that passed it.
//   2. At most 12 of 15 entries are used, over all buckets.
// Cost: O(1): one miss of the cache in the table and, for find(), one in the block's head and one in its handle. An entry has 4 bytes. The
// table doubles when needed, up to what the expected blocks need; from there on it grows by an eighth (amortised O(1)).
#pragma once

#include "kernel/store/store.hpp"

namespace exrp {

class BlockIndex {
 public:
  /// There are never more than `blockCountMax` blocks; `blockCount` are expected one day.
  Status create(uint32_t blockCountMax, uint32_t blockCount = 0);
  /// Makes sure that the next `count` add() calls cannot fail, whatever is removed between them. The index knows all blocks of `store`.
  Status prepare(const Store& store, uint32_t count);

  /// The block of this ordinal in the episode of this handle is found from now on.
  void add(uint64_t handle, uint32_t ordinal, uint32_t block) {
    insert(hashOf(handle, ordinal), block);
    ++count_;
  }
  void remove(uint64_t handle, uint32_t ordinal, uint32_t block) { removeEntry(hashOf(handle, ordinal), block); }

  /// The first block of an episode, `block` of this ordinal, is about to be given back: `next` is the first from now on.
  void moveFirst(uint64_t handle, uint32_t ordinal, uint32_t block, uint32_t next);
  /// An episode's first block, of another ordinal than 0, is not found under 0 any more.
  void removeFirst(uint64_t handle, uint32_t block) {
    removeEntry(hashOf(handle, 0), block);
    --firstCount_;
  }
  /// Loading: an episode's first block, of another ordinal than 0, is found under 0, too.
  void addFirst(uint64_t handle, uint32_t block) {
    add(handle, 0, block);
    ++firstCount_;
  }

  /// The block, or blockNone.
  uint32_t find(const Store& store, uint64_t handle, uint32_t ordinal) const {
    return search(hashOf(handle, ordinal), [&](uint32_t block) { return isKey(store, block, handle, ordinal); });
  }
  /// The index of the episode of this handle, or UINT32_MAX. (A block of that handle says it, whatever its ordinal.)
  uint32_t findEpisode(const Store& store, uint64_t handle) const {
    const uint32_t block = search(hashOf(handle, 0), [&](uint32_t found) { return store.handleOf(found) == handle; });
    return block == blockNone ? UINT32_MAX : store.head(block).episode;
  }
  /// Calls `use(k, block)` for each k below `count`, in order, with the block of ordinal `ordinalAt(k)` in episode `handleAt(k)`, or
  /// blockNone. It goes in passes, so that the cache misses of all overlap: give it pieces of up to findPiece.
  template <typename HandleAt, typename OrdinalAt, typename Use>
  void findMany(const Store& store, uint32_t count, HandleAt handleAt, OrdinalAt ordinalAt, Use use) const {
    uint32_t likely[findPiece];  // the block that a search for each key would look at first, or blockNone
    uint32_t hash[findPiece];
    for (uint32_t k = 0; k < count; ++k) {
      hash[k] = hashOf(handleAt(k), ordinalAt(k));
      prefetchLineFar(&table_[home(hash[k])]);
    }
    for (uint32_t k = 0; k < count; ++k) {
      const Bucket& bucket = table_[home(hash[k])];
      const uint32_t first = likelyIn(bucket, hash[k]);
      likely[k] = first == 0 ? blockNone : blockIn(bucket.entries[__builtin_ctz(first)]);
      if (likely[k] != blockNone) prefetchLineFar(&store.head(likely[k]));
    }
    for (uint32_t k = 0; k < count; ++k) {
      if (likely[k] != blockNone) store.prefetchHandle(likely[k]);
    }
    for (uint32_t k = 0; k < count; ++k) {
      const bool isRight = likely[k] != blockNone && isKey(store, likely[k], handleAt(k), ordinalAt(k));
      use(k, isRight ? likely[k] : find(store, handleAt(k), ordinalAt(k)));
    }
  }
  static constexpr uint32_t findPiece = 64;

  /// Asks for the cache line of the table that a key leads to.
  void prefetchTable(uint64_t handle, uint32_t ordinal) const { prefetchLineFar(&table_[home(hashOf(handle, ordinal))]); }

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
  static constexpr uint32_t entryCount = 15;
  struct alignas(64) Bucket {
    uint32_t entries[entryCount];  // a block + 1 in the low bits, bits of its key's hash in the others; 0 is free
    uint32_t passes;               // entries whose home is this bucket or one before it, and which lie behind it
  };
  static_assert(sizeof(Bucket) == 64);

  static constexpr size_t bucketCountMin = 32;  // half a page

  size_t home(uint32_t hash) const { return static_cast<size_t>(uint64_t{hash} * bucketCount_ >> 32); }
  size_t after(size_t bucket) const { return bucket + 1 == bucketCount_ ? 0 : bucket + 1; }
  static size_t bucketsFor(size_t entries) { return entries / 12 + 1; }
  /// The low bits of the hash: the high ones choose the bucket.
  uint32_t entryOf(uint32_t hash, uint32_t block) const { return hash << numberBits_ | (block + 1); }
  uint32_t blockIn(uint32_t entry) const { return (entry & ((1u << numberBits_) - 1)) - 1; }

  /// Bit k for each entry k of a bucket that is `wanted` under `mask`.
  static uint32_t matches(const Bucket& bucket, uint32_t wanted, uint32_t mask) {
    uint32_t found = 0;
    for (uint32_t k = 0; k < entryCount; ++k) found |= ((bucket.entries[k] & mask) == wanted ? 1u : 0u) << k;
    return found;
  }
  uint32_t likelyIn(const Bucket& bucket, uint32_t hash) const {
    return matches(bucket, hash << numberBits_, ~uint32_t{0} << numberBits_);
  }
  static bool isKey(const Store& store, uint32_t block, uint64_t handle, uint32_t ordinal) {
    return store.head(block).ordinal() == ordinal && store.handleOf(block) == handle;
  }
  /// The block of an entry of this hash that `isIt(block)`, or blockNone.
  template <typename IsIt>
  uint32_t search(uint32_t hash, IsIt isIt) const {
    for (size_t at = home(hash);; at = after(at)) {
      const Bucket& bucket = table_[at];
      for (uint32_t left = likelyIn(bucket, hash); left != 0; left &= left - 1) {
        const uint32_t block = blockIn(bucket.entries[__builtin_ctz(left)]);
        if (block != blockNone && isIt(block)) return block;
      }
      if (bucket.passes == 0) return blockNone;
    }
  }
  Status makeTable(size_t bucketCount);
  uint32_t* findEntry(uint32_t hash, uint32_t block, uint32_t passes);
  void removeEntry(uint32_t hash, uint32_t block);
  void insert(uint32_t hash, uint32_t block) {
    size_t at = home(hash);
    uint32_t free = matches(table_[at], 0, ~uint32_t{0});
    for (; free == 0; free = matches(table_[at], 0, ~uint32_t{0})) {
      ++table_[at].passes;
      at = after(at);
    }
    table_[at].entries[__builtin_ctz(free)] = entryOf(hash, block);
  }

  ReservedArray<Bucket> table_;
  size_t bucketCount_ = 0;
  uint32_t numberBits_ = 0;  // that a block's number takes of an entry
  uint32_t count_ = 0;       // entries
  uint32_t firstCount_ = 0;  // of those, the ones more of episodes whose first block has another ordinal than 0
  uint32_t blockCountMax_ = 0;
  uint32_t blockCount_ = 0;
};

}  // namespace exrp
