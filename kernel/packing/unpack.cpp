// unpackRow(), unpackRows(), checkPacked(): every number is checked before it is used, as it may come from a damaged disk.
#include "kernel/base/copy_row.hpp"
#include "kernel/base/prefetch.hpp"
#include "kernel/packing/lz4_block.hpp"
#include "kernel/packing/packed_form.hpp"
#include "kernel/packing/packed_rows.hpp"

namespace exrp {
namespace {

typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef uint64_t Words __attribute__((vector_size(16), may_alias, aligned(1)));

Words wordsAt(const uint8_t* at) { return *reinterpret_cast<const Words*>(at); }

void store(uint8_t* at, Words words) { *reinterpret_cast<Words*>(at) = words; }

/// The first bytes of a vector, by how many: those at 16 less so many.
constexpr uint8_t firstBytes[32] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

/// What a row's bytes say.
struct RowParts {
  const uint8_t* patches;
  const uint8_t* fresh;
  const uint8_t* end;
  size_t count;    // patches
  int32_t base;    // a row; -1: the key
  bool isPlain;    // the row stands there as it is, from `fresh` on
};

/// Packed rows that are not plain.
class Block {
 public:
  explicit Block(const PackedRows& packed) : packed_(packed) {}

  /// False where the head is damaged.
  bool open() {
    if (packed_.bytes < packedHeadBytes) return false;
    keyForm_ = packed_.data[0];
    placeBytes_ = packed_.data[1];
    if ((placeBytes_ != 2 && placeBytes_ != 4) || packed_.data[2] != 0 || packed_.data[3] != 0) return false;
    rowsBegin_ = packedHeadBytes + uint64_t{packed_.count} * placeBytes_;
    if (rowsBegin_ > packed_.bytes) return false;
    keyBegin_ = place(packed_.count - 1);
    if (keyBegin_ < rowsBegin_ || keyBegin_ > packed_.bytes) return false;
    if (keyForm_ == packedKeyPlain) return keyBytes() == packed_.rowBytes;
    return keyForm_ == packedKeyLz4;
  }

  bool isKeyPlain() const { return keyForm_ == packedKeyPlain; }
  const uint8_t* key() const { return packed_.data + keyBegin_; }
  size_t keyBytes() const { return packed_.bytes - static_cast<size_t>(keyBegin_); }
  size_t rowBytes() const { return packed_.rowBytes; }

  /// Finds the parts of a row. False where they are damaged.
  bool find(uint32_t row, RowParts& parts) const {
    const uint64_t begin = row == 0 ? rowsBegin_ : place(row - 1);
    const uint64_t end = place(row);
    if (begin < rowsBegin_ || begin > end || end > keyBegin_) return false;
    const uint8_t* at = packed_.data + begin;
    parts = {at, at, packed_.data + end, 0, -1, false};
    if (begin == end) return true;
    if (end - begin < placeBytes_ + 1) return false;
    const uint32_t onRow = packedOnRow(placeBytes_);
    const uint32_t first = loadPlace(at, placeBytes_);
    at += placeBytes_;
    parts.count = first & ~onRow;
    if (first == 0) {
      parts.isPlain = true;
      parts.fresh = at;
      return static_cast<size_t>(parts.end - at) == packed_.rowBytes;
    }
    if ((first & onRow) != 0) {
      parts.base = *at++;
      if (static_cast<uint32_t>(parts.base) >= packed_.count) return false;
    }
    if (parts.count > static_cast<size_t>(parts.end - at) / 2) return false;
    parts.patches = at;
    parts.fresh = at + 2 * parts.count;
    return true;
  }

  /// Finds the parts of the row that another one is based on. It has no such base itself.
  bool findBase(const RowParts& of, RowParts& parts) const {
    return find(static_cast<uint32_t>(of.base), parts) && parts.base < 0;
  }

  /// Puts the patches of a row on `to`, which already has the bytes of `base`; both may be the same.
  bool patch(const RowParts& parts, const uint8_t* base, uint8_t* to) const {
    const size_t rowBytes = packed_.rowBytes;
    const uint8_t* const packedEnd = packed_.data + packed_.bytes;
    const uint8_t* fresh = parts.fresh;
    size_t at = 0;
    const uint8_t* const patchesEnd = parts.patches + 2 * parts.count;
    for (const uint8_t* patch = parts.patches; patch < patchesEnd; patch += 2) {
      at += patch[0];
      size_t length = patch[1];
      // Whole vectors: behind what is new come the bytes of the base again, so that no branch looks at the length.
      if (at + 16 <= rowBytes && packedEnd - fresh >= 16 && length <= 16) [[likely]] {
        const Words mask = wordsAt(firstBytes + 16 - length);
        store(to + at, (wordsAt(fresh) & mask) | (wordsAt(base + at) & ~mask));
        fresh += length;
        // A damaged row may only run on in the packed bytes as far as one vector.
        if (fresh > parts.end) return false;
      } else if (isFill(length)) {
        length = fillBytesOf(length);
        if (at > rowBytes || length > rowBytes - at || fresh >= parts.end) return false;
        const Words line = (Words)(Bytes{} + *fresh++);
        for (size_t done = 0; done + 16 < length; done += 16) store(to + at + done, line);
        store(to + at + length - 16, line);
      } else {
        if (at > rowBytes || length > rowBytes - at || length > static_cast<size_t>(parts.end - fresh)) return false;
        if (length >= 16) {
          for (size_t done = 0; done + 16 < length; done += 16) store(to + at + done, wordsAt(fresh + done));
          store(to + at + length - 16, wordsAt(fresh + length - 16));
        } else {
          for (size_t done = 0; done < length; ++done) to[at + done] = fresh[done];
        }
        fresh += length;
      }
      at += length;
    }
    return fresh == parts.end;
  }

 private:
  uint64_t place(uint32_t row) const {
    return loadPlace(packed_.data + packedHeadBytes + size_t{row} * placeBytes_, placeBytes_);
  }

  const PackedRows& packed_;
  uint32_t keyForm_ = 0;
  uint32_t placeBytes_ = 0;
  uint64_t rowsBegin_ = 0;
  uint64_t keyBegin_ = 0;
};

/// Unpacks a row onto `to`. The key is at `key`, which may be `to` itself.
bool unpackOn(const Block& block, const RowParts& parts, const uint8_t* key, uint8_t* to) {
  if (parts.isPlain) {
    memcpy(to, parts.fresh, block.rowBytes());
    return true;
  }
  if (to != key) memcpy(to, key, block.rowBytes());
  return block.patch(parts, key, to);
}

}  // namespace

bool unpackRow(const PackedRows& packed, uint32_t row, uint8_t* out) { return unpackRows(packed, row, 1, out, packed.rowBytes); }

bool unpackRows(const PackedRows& packed, uint32_t first, uint32_t count, const RowsOut& out) {
  if (arePlain(packed)) {
    const uint8_t* from = packed.data + size_t{first} * packed.rowBytes;
    for (uint32_t k = 0; k < count; ++k, from += packed.rowBytes) {
      memcpy(out.at(k), from, packed.rowBytes);
      if (out.isTwice(k)) memcpy(out.alsoAt(k), from, packed.rowBytes);
    }
    return true;
  }
  Block block(packed);
  if (!block.open()) return false;
  const uint8_t* key = block.key();
  if (!block.isKeyPlain()) {
    // The key goes where the last row will be, so that it needs no memory of its own.
    uint8_t* const last = out.at(count - 1);
    if (!lz4Decode(key, block.keyBytes(), last, packed.rowBytes)) return false;
    key = last;
  }
  const auto unpackOne = [&](uint32_t k, uint8_t* to) {
    RowParts parts;
    if (!block.find(first + k, parts)) return false;
    if (parts.base < 0) return unpackOn(block, parts, key, to);
    const uint32_t base = static_cast<uint32_t>(parts.base);
    const uint8_t* from = to;
    if (base >= first && base < first + k) {
      from = out.at(base - first);
      memcpy(to, from, packed.rowBytes);
    } else {
      RowParts baseParts;
      if (!block.findBase(parts, baseParts) || !unpackOn(block, baseParts, key, to)) return false;
    }
    return block.patch(parts, from, to);
  };
  for (uint32_t k = 0; k < count; ++k) {
    uint8_t* const to = out.at(k);
    if (!unpackOne(k, to)) return false;
    // At once, while the row is in the first cache.
    if (out.isTwice(k)) memcpy(out.alsoAt(k), to, packed.rowBytes);
  }
  return true;
}

size_t plainKeyBytes(const PackedRows& packed) {
  if (arePlain(packed)) return 0;
  Block block(packed);
  return block.open() ? packed.bytes - block.keyBytes() + packed.rowBytes : 0;
}

bool copyWithPlainKey(const PackedRows& packed, uint8_t* out) {
  Block block(packed);
  if (!block.open()) return false;
  if (block.isKeyPlain()) {
    memcpy(out, packed.data, packed.bytes);
    return true;
  }
  const size_t keyBegin = packed.bytes - block.keyBytes();
  memcpy(out, packed.data, keyBegin);
  out[0] = packedKeyPlain;
  return lz4Decode(block.key(), block.keyBytes(), out + keyBegin, packed.rowBytes);
}

void prefetchPackedHead(const PackedRows& packed) {
  prefetchLineFar(packed.data);
  prefetchLineFar(packed.data + (packed.bytes < lineBytes ? 0 : lineBytes - 1));
}

void prefetchPacked(const PackedRows& packed, uint32_t first, uint32_t count) {
  // Of long runs only the beginning of each page: the processor's own prefetcher does the rest.
  const auto ask = [](const uint8_t* from, size_t bytes) {
    constexpr size_t shortRun = 8192;
    constexpr size_t longest = size_t{16} * 4096;
    const size_t step = bytes <= shortRun ? lineBytes : 4096;
    for (size_t at = 0; at < bytes && at < longest; at += step) prefetchLineFar(from + at);
  };
  if (arePlain(packed)) return ask(packed.data + size_t{first} * packed.rowBytes, size_t{count} * packed.rowBytes);
  Block block(packed);
  if (!block.open()) return;
  RowParts begin;
  RowParts end;
  if (!block.find(first, begin) || !block.find(first + count - 1, end) || end.end < begin.patches) return;
  ask(begin.patches, static_cast<size_t>(end.end - begin.patches));
  ask(block.key(), block.keyBytes());
}

bool checkPacked(const PackedRows& packed) {
  if (packed.rowBytes == 0 || packed.count == 0 || packed.count > packedRowsMax) return false;
  if (uint64_t{packed.rowBytes} * packed.count > packedPlainMax) return false;
  if (arePlain(packed)) return true;
  Block block(packed);
  if (!block.open()) return false;
  if (!block.isKeyPlain() && !lz4Check(block.key(), block.keyBytes(), packed.rowBytes)) return false;
  for (uint32_t row = 0; row < packed.count; ++row) {
    RowParts parts;
    RowParts baseParts;
    if (!block.find(row, parts)) return false;
    if (parts.base >= 0 && !block.findBase(parts, baseParts)) return false;
    if (parts.isPlain) continue;
    uint64_t fresh = 0;
    uint64_t covered = 0;
    for (size_t k = 0; k < parts.count; ++k) {
      const size_t code = parts.patches[2 * k + 1];
      covered += parts.patches[2 * k] + (isFill(code) ? fillBytesOf(code) : code);
      fresh += isFill(code) ? 1 : code;
    }
    if (fresh != static_cast<uint64_t>(parts.end - parts.fresh) || covered > packed.rowBytes) return false;
  }
  return true;
}

}  // namespace exrp
