// BlockHeap: memory for objects and small arrays, out of the same pages as the large arrays (PageRuns).
//
// It is for WebAssembly, where the C library's own heap and PageRuns would both make the module's memory longer, and neither could use what
// the other got back.
//
// Thread safety: none.
// Invariants:
//   1. A block begins headBytes behind its head, which says how many bytes both have. Both lie at multiples of headBytes.
//   2. Head and block have a power of two of bytes, from leastBytes to smallBytes, and share a page with others of that size; or they have
//      a run of pages for themselves.
//   3. free_[k] lists the small blocks of 2^k bytes that nobody has. Their pages stay with that size.
// Cost: a small block takes a few instructions; a large one a walk through the free runs.
// A failure is null, and changes nothing.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace exrp {

template <typename Runs>
class BlockHeap {
 public:
  static constexpr size_t headBytes = 16;
  static constexpr size_t leastBytes = 32;
  static constexpr size_t smallBytes = 2048;

  explicit BlockHeap(Runs& runs) : runs_(runs) {}

  /// A block of at least `bytes`. They hold anything.
  void* take(size_t bytes) {
    if (bytes > SIZE_MAX - headBytes - Runs::pageBytes) return nullptr;
    const size_t whole = wholeBytes(bytes);
    Head* const head = whole <= smallBytes ? takeSmall(whole) : static_cast<Head*>(runs_.take(whole));
    if (head == nullptr) return nullptr;
    head->bytes = whole;
    return reinterpret_cast<uint8_t*>(head) + headBytes;
  }

  /// Gives a block back; null is no block.
  void give(void* block) {
    if (block == nullptr) return;
    Head* const head = headOf(block);
    if (head->bytes > smallBytes) {
      runs_.give(head, head->bytes);
    } else {
      Head*& list = free_[listOf(head->bytes)];
      head->next = list;
      list = head;
    }
  }

  /// Makes a block `bytes` long and keeps what it held, as far as that fits. The block may move.
  void* resize(void* block, size_t bytes) {
    if (block == nullptr) return take(bytes);
    if (bytes > SIZE_MAX - headBytes - Runs::pageBytes) return nullptr;
    Head* const head = headOf(block);
    const size_t before = head->bytes;
    const size_t whole = wholeBytes(bytes);
    if (whole == before) return block;
    if (whole > before && before > smallBytes && runs_.extend(head, before, whole)) {
      head->bytes = whole;
      return block;
    }
    void* const moved = take(bytes);
    if (moved == nullptr) return nullptr;
    memcpy(moved, block, (before < whole ? before : whole) - headBytes);
    give(block);
    return moved;
  }

 private:
  struct Head {
    size_t bytes;  // of head and block
    Head* next;    // while nobody has the block
  };
  static_assert(sizeof(Head) <= headBytes);

  static Head* headOf(void* block) { return reinterpret_cast<Head*>(static_cast<uint8_t*>(block) - headBytes); }
  static size_t listOf(size_t whole) { return static_cast<size_t>(std::bit_width(whole)) - 1; }

  /// Of head and block.
  static size_t wholeBytes(size_t bytes) {
    const size_t both = bytes + headBytes;
    if (both > smallBytes) return Runs::whole(both);
    return both < leastBytes ? leastBytes : std::bit_ceil(both);
  }

  Head* takeSmall(size_t whole) {
    Head*& list = free_[listOf(whole)];
    if (list == nullptr) {
      auto* const page = static_cast<uint8_t*>(runs_.take(Runs::pageBytes));
      if (page == nullptr) return nullptr;
      for (size_t at = Runs::pageBytes; at > 0; at -= whole) {
        auto* const head = reinterpret_cast<Head*>(page + at - whole);
        head->next = list;
        list = head;
      }
    }
    Head* const head = list;
    list = head->next;
    return head;
  }

  Runs& runs_;
  Head* free_[12] = {};
};

}  // namespace exrp
