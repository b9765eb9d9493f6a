#include "kernel/store/block_index.hpp"

namespace exrp {

Status BlockIndex::create(uint32_t blockCountMax, uint32_t blockCount) {
  blockCountMax_ = blockCountMax;
  blockCount_ = blockCount;
  numberBits_ = 10;
  return makeTable(bucketCountMin);
}

Status BlockIndex::prepare(const Store& store, uint32_t count) {
  // A call can ask for more blocks than there are: eviction makes room for the others first.
  // Each block has an entry. A trimmed episode has one more, which it took over from a block that went, and it has a block at least.
  const size_t most = 2 * size_t{blockCountMax_};
  const size_t needed = size_t{count_} + count < most ? size_t{count_} + count : most;
  const size_t enough = bucketsFor(needed);
  const uint32_t numberEnd = store.preparedCount(count);  // of the blocks that may be there by then
  if (enough <= bucketCount_ && numberEnd >> numberBits_ == 0) return Status::ok;

  // Some blocks more than full episodes would need: their last ones are not full.
  const size_t expected = bucketsFor(size_t{blockCount_} + blockCount_ / 64 + 16);
  size_t ample = enough <= expected && expected < 2 * bucketCount_ ? expected : 2 * bucketCount_;
  if (bucketCount_ >= expected && expected > 16 * bucketCountMin) ample = bucketCount_ == expected ? expected + expected / 8 : bucketCount_ + bucketCount_ / 2;
  if (enough <= bucketCount_) ample = bucketCount_;
  ReservedArray<Bucket> old;
  table_.swap(old);
  if (const Status status = makeTable(ample > enough ? ample : enough); status != Status::ok) {
    table_.swap(old);
    return status;
  }
  // A new number comes when all blocks are taken and have their entries. So the table most often grows before numbers need more bits.
  const size_t numberMax = 12 * bucketCount_ < blockCountMax_ ? 12 * bucketCount_ : blockCountMax_;
  numberBits_ = 64 - static_cast<uint32_t>(__builtin_clzll(numberMax > numberEnd ? numberMax : numberEnd));
  for (uint32_t block = 0; block < store.highWater(); ++block) {
    if (!store.isTaken(block)) continue;
    const uint32_t ahead = block + 16;
    if (ahead < store.highWater() && store.isTaken(ahead)) prefetchTable(store.handleOf(ahead), store.head(ahead).ordinal());
    const uint32_t ordinal = store.head(block).ordinal();
    insert(hashOf(store.handleOf(block), ordinal), block);
    if (ordinal != 0 && store.block(block).previous == blockNone) insert(hashOf(store.handleOf(block), 0), block);
  }
  return Status::ok;
}

/// Makes an empty table, or changes nothing where there is no memory for it.
Status BlockIndex::makeTable(size_t bucketCount) {
  if (!table_.create(bucketCount) || !table_.commit(bucketCount)) {
    return fail(Status::memory, double{sizeof(Bucket)} * static_cast<double>(bucketCount));
  }
  bucketCount_ = bucketCount;
  return Status::ok;
}

/// Where the entry of a key is. Takes `passes` off the count of each bucket that it passed.
uint32_t* BlockIndex::findEntry(uint32_t hash, uint32_t block, uint32_t passes) {
  const uint32_t wanted = entryOf(hash, block);
  for (size_t at = home(hash);; at = after(at)) {
    if (const uint32_t found = matches(table_[at], wanted, ~uint32_t{0}); found != 0) return &table_[at].entries[__builtin_ctz(found)];
    table_[at].passes -= passes;
  }
}

void BlockIndex::moveFirst(uint64_t handle, uint32_t ordinal, uint32_t block, uint32_t next) {
  // The entry under 0 is the block's own, and becomes the one more; or it is that already.
  if (ordinal == 0) ++firstCount_;
  else remove(handle, ordinal, block);
  const uint32_t hash = hashOf(handle, 0);
  *findEntry(hash, block, 0) = entryOf(hash, next);
}

void BlockIndex::removeEntry(uint32_t hash, uint32_t block) {
  *findEntry(hash, block, 1) = 0;
  --count_;
}

int32_t BlockIndex::check(const Store& store) const {
  uint32_t takenCount = 0;
  uint32_t firstCount = 0;
  uint64_t passed = 0;
  const auto passesOf = [&](uint32_t hash, uint32_t block) {
    size_t at = home(hash);
    for (; matches(table_[at], entryOf(hash, block), ~uint32_t{0}) == 0; at = after(at)) ++passed;
  };
  for (uint32_t block = 0; block < store.highWater(); ++block) {
    if (!store.isTaken(block)) continue;
    ++takenCount;
    const uint32_t ahead = block + 16;
    if (ahead < store.highWater() && store.isTaken(ahead)) prefetchTable(store.handleOf(ahead), store.head(ahead).ordinal());
    const uint64_t handle = store.handleOf(block);
    const uint32_t ordinal = store.head(block).ordinal();
    if (find(store, handle, ordinal) != block) return 1;
    passesOf(hashOf(handle, ordinal), block);
    // The others of an episode have its handle.
    if (store.block(block).previous != blockNone) continue;
    if (findEpisode(store, handle) != store.head(block).episode) return 1;
    if (ordinal == 0) continue;
    ++firstCount;
    passesOf(hashOf(handle, 0), block);
  }
  size_t used = 0;
  for (size_t at = 0; at < bucketCount_; ++at) {
    used += entryCount - static_cast<size_t>(__builtin_popcount(matches(table_[at], 0, ~uint32_t{0})));
    passed -= table_[at].passes;
  }
  if (used != count_ || count_ != takenCount + firstCount || firstCount_ != firstCount || passed != 0) return 1;
  return used <= 12 * bucketCount_ ? 0 : 2;
}

}  // namespace exrp
