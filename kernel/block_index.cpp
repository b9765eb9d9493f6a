#include "kernel/block_index.hpp"

namespace exrp {

Status BlockIndex::create(uint32_t blockCount) {
  size_t tableCount = 16;
  while (tableCount * 5 / 8 < blockCount) tableCount *= 2;
  if (!table_.create(tableCount) || !table_.commit(tableCount)) return fail(Status::memory, double{4} * static_cast<double>(tableCount));
  mask_ = tableCount - 1;
  shift_ = static_cast<uint32_t>(64 - __builtin_ctzll(tableCount));
  return Status::ok;
}

Status BlockIndex::prepare(const Store& store, uint32_t count) {
  size_t tableCount = mask_ + 1;
  while (tableCount * 5 / 8 < size_t{count_} + count) tableCount *= 2;
  if (tableCount == mask_ + 1) return Status::ok;
  return grow(store, tableCount) ? Status::ok : fail(Status::memory, double{4} * static_cast<double>(tableCount));
}

bool BlockIndex::grow(const Store& store, size_t tableCount) {
  ReservedArray<uint32_t> larger;
  if (!larger.create(tableCount) || !larger.commit(tableCount)) return false;
  const size_t oldCount = mask_ + 1;
  table_.swap(larger);
  mask_ = tableCount - 1;
  shift_ = static_cast<uint32_t>(64 - __builtin_ctzll(tableCount));
  for (size_t index = 0; index < oldCount; ++index) {
    if (larger[index] != 0) place(store, larger[index] - 1);
  }
  return true;
}

void BlockIndex::place(const Store& store, uint32_t block) {
  const Block& key = store.block(block);
  size_t at = home(key.handle, key.ordinal);
  while (table_[at] != 0) at = (at + 1) & mask_;
  table_[at] = block + 1;
}

void BlockIndex::add(const Store& store, uint32_t block) {
  place(store, block);
  ++count_;
}

void BlockIndex::remove(const Store& store, uint32_t block) {
  const Block& key = store.block(block);
  size_t hole = home(key.handle, key.ordinal);
  while (table_[hole] != block + 1) hole = (hole + 1) & mask_;
  // Shift back whatever may move into the hole: entries whose home is not between the hole and themselves.
  for (size_t at = (hole + 1) & mask_; table_[at] != 0; at = (at + 1) & mask_) {
    const Block& other = store.block(table_[at] - 1);
    const size_t wanted = home(other.handle, other.ordinal);
    if (((at - wanted) & mask_) >= ((at - hole) & mask_)) {
      table_[hole] = table_[at];
      hole = at;
    }
  }
  table_[hole] = 0;
  --count_;
}

int32_t BlockIndex::check(const Store& store) const {
  uint32_t takenCount = 0;
  for (uint32_t block = 0; block < store.highWater(); ++block) {
    if (!store.block(block).taken()) continue;
    ++takenCount;
    if (find(store, store.block(block).handle, store.block(block).ordinal) != block) return 1;
  }
  size_t used = 0;
  for (size_t at = 0; at <= mask_; ++at) used += table_[at] != 0;
  if (used != takenCount || count_ != takenCount) return 1;
  return used * 8 <= (mask_ + 1) * 5 ? 0 : 2;
}

}  // namespace exrp
