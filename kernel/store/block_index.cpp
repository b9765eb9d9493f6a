#include "kernel/store/block_index.hpp"

namespace exrp {

Status BlockIndex::create(uint32_t blockCountMax) {
  blockCountMax_ = blockCountMax;
  return makeTable(entryCountMin);
}

Status BlockIndex::prepare(uint32_t count) {
  size_t tableCount = mask_ + 1;
  // A call can ask for more blocks than there are: eviction makes room for the others first.
  // Each block has an entry. A trimmed episode has one more, which it took over from a block that went, and it has a block at least.
  const size_t most = 2 * size_t{blockCountMax_};
  const size_t needed = size_t{count_} + count < most ? size_t{count_} + count : most;
  while (tableCount * 5 / 8 < needed) tableCount *= 2;
  if (tableCount == mask_ + 1) return Status::ok;
  ReservedArray<Entry> old;
  table_.swap(old);
  const size_t oldCount = mask_ + 1;
  if (const Status status = makeTable(tableCount); status != Status::ok) {
    table_.swap(old);
    return status;
  }
  for (size_t at = 0; at < oldCount; ++at) {
    if (old[at].number != 0) insert(old[at]);
  }
  return Status::ok;
}

/// Makes an empty table, or changes nothing where there is no memory for it. It has at most 2^32 entries, as 32 bits of a hash choose one.
Status BlockIndex::makeTable(size_t tableCount) {
  if (!table_.create(tableCount) || !table_.commit(tableCount)) {
    return fail(Status::memory, double{sizeof(Entry)} * static_cast<double>(tableCount));
  }
  mask_ = tableCount - 1;
  shift_ = static_cast<uint32_t>(32 - __builtin_ctzll(tableCount));
  return Status::ok;
}

void BlockIndex::moveFirst(const Block& key, uint32_t block, uint32_t next) {
  // The entry under 0 is the block's own, and becomes the one more; or it is that already.
  if (key.ordinal == 0) ++firstCount_;
  else remove(key, block);
  table_[entryOf(hashOf(key.handle, 0), block)].number = next + 1;
}

void BlockIndex::removeEntry(uint32_t hash, uint32_t block) {
  size_t hole = entryOf(hash, block);
  // Shift back whatever may move into the hole: entries whose home is not between the hole and themselves.
  for (size_t at = (hole + 1) & mask_; table_[at].number != 0; at = (at + 1) & mask_) {
    if (((at - home(table_[at].hash)) & mask_) >= ((at - hole) & mask_)) {
      table_[hole] = table_[at];
      hole = at;
    }
  }
  table_[hole] = {};
  --count_;
}

int32_t BlockIndex::check(const Store& store) const {
  uint32_t takenCount = 0;
  uint32_t firstCount = 0;
  for (uint32_t block = 0; block < store.highWater(); ++block) {
    if (!store.block(block).taken()) continue;
    ++takenCount;
    const Block& key = store.block(block);
    if (find(store, key.handle, key.ordinal) != block || findEpisode(store, key.handle) != key.episode) return 1;
    if (key.previous == blockNone && key.ordinal != 0) ++firstCount;
  }
  size_t used = 0;
  for (size_t at = 0; at <= mask_; ++at) used += table_[at].number != 0;
  if (used != count_ || count_ != takenCount + firstCount || firstCount_ != firstCount) return 1;
  return used * 8 <= (mask_ + 1) * 5 ? 0 : 2;
}

}  // namespace exrp
