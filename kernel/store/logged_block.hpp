// The rows of a block as a log has them. They lie as in the store, so that they are copied as they are: of the small columns, which are one group, and then of
// each wide one, all rows, one behind the other; and then the block's rows of each column that only some records keep, also those of records that were trimmed.
//
// Packed rows are copied packed. Then a number stands before the rows of each wide column: how many bytes they have, or 0 where they are plain. Any replay of
// these columns reads either form, with compression or without.
//
// Numbers are little-endian, as on all platforms that the kernel runs on. docs/internals/durable_format.md says how columns lie in groups.
//
// Thread safety: none of its own.
// Cost: a copy of the bytes.
#pragma once

#include "kernel/log/late_copies.hpp"
#include "kernel/store/stored_episodes.hpp"

namespace exrp {

/// What the bytes begin with.
struct LoggedBlockHead {
  uint64_t handle;
  uint32_t position;  // of the first row, or of the block where it has none
  uint32_t rowCount;
  uint32_t recordEnd;     // the block's records have positions below this; a row there is a final state
  uint32_t hasNextState;  // 1 where the next state of the episode is behind the rows, packed
};

/// Bytes of a row of the small columns, which are the first group.
uint32_t joinedRowBytes(const Store& store);
/// The head for the rows of a block as they are now.
LoggedBlockHead loggedBlockHead(const StoredEpisodes& stored, uint32_t block);
/// Whether any rows of the block are packed.
bool isLoggedPacked(const Store& store, uint32_t block, const LoggedBlockHead& head);
/// How many bytes head and rows take, as they are now.
uint64_t loggedBlockBytes(const Store& store, uint32_t block, const LoggedBlockHead& head);
/// The most that any block takes, with the next state behind its rows.
uint64_t loggedBlockBytesMax(const Store& store);
/// Writes them, and returns where they end. Large ones may be copied later, where `late` is not null: those that stay as they are until the block is freed, or until
/// Store::waitForCopies().
uint8_t* writeLoggedBlock(const Store& store, uint32_t block, const LoggedBlockHead& head, uint8_t* to, LateCopies* late);
/// Calls use(column, rows, packedBytes) with where the rows of each wide column are in such bytes, which were checked. `packedBytes` is 0 where they are plain. Returns
/// where they end.
template <typename Use>
const uint8_t* forEachLoggedColumn(const Store& store, const LoggedBlockHead& head, bool isPacked, const uint8_t* from, Use use) {
  from += sizeof head + size_t{head.rowCount} * joinedRowBytes(store);
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (!store.isWide(column)) continue;
    uint32_t packedBytes = 0;
    if (isPacked) {
      __builtin_memcpy(&packedBytes, from, sizeof packedBytes);
      from += sizeof packedBytes;
    }
    use(column, from, packedBytes);
    from += packedBytes > 0 ? packedBytes : size_t{head.rowCount} * store.column(column).bytes;
  }
  return from;
}
/// Where such rows end, of `size` bytes with the head, in the form of packed ones or not. Null where they are no rows of such a block.
const uint8_t* checkLoggedBlock(const Store& store, const LoggedBlockHead& head, bool isPacked, const uint8_t* from, uint64_t size);
/// Reads such rows, which were checked, into a block, which has their episode and positions. `isSealed`: no more rows come to the block. Status::memory may
/// leave it with some of them.
Status readLoggedBlock(Store& store, uint32_t block, const LoggedBlockHead& head, bool isPacked, bool isSealed, const uint8_t* from);
/// Reads only those of columns that some records keep.
void readLoggedKept(Store& store, uint32_t block, const LoggedBlockHead& head, bool isPacked, const uint8_t* from);

}  // namespace exrp
