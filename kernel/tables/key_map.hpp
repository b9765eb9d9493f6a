// KeyMap: from keys of 64 bits, which strangers choose, to numbers below 2^32 - 1.
//
// A hash table with open addressing. An entry is 32 bits of the key's hash and the number; the key itself stands with the owner, who says by
// `keyOf(number)` what it is. So most searches look at one entry and one key, and neither growing nor removing reads any key.
// The hash is mixed with a secret, so that nobody can choose keys that all fall together.
//
// Thread safety: none of its own.
// Invariants: at most three quarters of the entries are taken; from an entry's own place on, no place before it is free.
// Cost: one or two cache misses a search. Memory: 11 to 21 bytes an entry.
#pragma once

#include <bit>
#include <cstdint>

#include "kernel/base/scratch.hpp"

namespace exrp {

class KeyMap {
 public:
  static constexpr uint32_t none = 0xffffffffu;

  explicit KeyMap(uint64_t secret) : secret_(secret) {}

  /// Makes room for `count` numbers in all. False for want of memory: nothing has changed then.
  bool prepare(uint64_t count) {
    if (count <= room_) return true;
    const uint64_t wanted = std::bit_ceil(count + count / 3 + 8);
    if (wanted >> 32 != 0) return false;
    const auto places = static_cast<size_t>(wanted);
    Scratch<uint64_t> entries;
    if (!entries.commit(places)) return false;
    const uint32_t shift = 32 - static_cast<uint32_t>(std::countr_zero(places));
    const size_t mask = places - 1;
    for (size_t at = 0; count_ > 0 && at <= mask_; ++at) {
      const uint64_t entry = entries_[at];
      if (entry == 0) continue;
      auto to = static_cast<size_t>(entry >> 32 >> shift);
      while (entries[to] != 0) to = (to + 1) & mask;
      entries[to] = entry;
    }
    entries_.swap(entries);
    shift_ = shift;
    mask_ = mask;
    room_ = places / 4 * 3;
    return true;
  }

  /// The number of a key, or `none`.
  template <typename KeyOf>
  uint32_t find(uint64_t key, KeyOf keyOf) const {
    if (count_ == 0) return none;
    const uint32_t hash = hashOf(key);
    for (size_t at = hash >> shift_; entries_[at] != 0; at = (at + 1) & mask_) {
      const uint64_t entry = entries_[at];
      if (entry >> 32 == hash && keyOf(numberOf(entry)) == key) return numberOf(entry);
    }
    return none;
  }
  /// Asks for the cache line at which find() begins.
  void prefetch(uint64_t key) const {
    if (count_ > 0) __builtin_prefetch(&entries_[hashOf(key) >> shift_]);
  }

  /// Adds a key that is not there; prepare() has made room.
  void add(uint64_t key, uint32_t number) {
    const uint32_t hash = hashOf(key);
    size_t at = hash >> shift_;
    while (entries_[at] != 0) at = (at + 1) & mask_;
    entries_[at] = entryOf(hash, number);
    ++count_;
  }
  /// The key has another number from now on.
  void renumber(uint64_t key, uint32_t from, uint32_t to) {
    const uint32_t hash = hashOf(key);
    entries_[placeOf(hash, from)] = entryOf(hash, to);
  }
  void remove(uint64_t key, uint32_t number) {
    size_t gap = placeOf(hashOf(key), number);
    --count_;
    // What follows and may stand in the gap moves there.
    for (size_t at = (gap + 1) & mask_; entries_[at] != 0; at = (at + 1) & mask_) {
      const auto own = static_cast<size_t>(entries_[at] >> 32 >> shift_);
      if (((at - own) & mask_) < ((at - gap) & mask_)) continue;
      entries_[gap] = entries_[at];
      gap = at;
    }
    entries_[gap] = 0;
  }

  /// Forgets all keys; the memory stays.
  void clear() {
    for (size_t at = 0; count_ > 0 && at <= mask_; ++at) entries_[at] = 0;
    count_ = 0;
  }

  uint64_t count() const { return count_; }
  double memoryBytes() const { return entries_.memoryBytes(); }

 private:
  /// The upper half is the hash. The lower is the number and one more, so that no entry is 0.
  static uint64_t entryOf(uint32_t hash, uint32_t number) { return uint64_t{hash} << 32 | (number + 1); }
  static uint32_t numberOf(uint64_t entry) { return static_cast<uint32_t>(entry) - 1; }

  uint32_t hashOf(uint64_t key) const {
    uint64_t z = key ^ secret_;
    z = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93u;
    z = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93u;
    return static_cast<uint32_t>(z >> 32);
  }
  /// Of an entry that is there.
  size_t placeOf(uint32_t hash, uint32_t number) const {
    const uint64_t entry = entryOf(hash, number);
    size_t at = hash >> shift_;
    while (entries_[at] != entry) at = (at + 1) & mask_;
    return at;
  }

  Scratch<uint64_t> entries_;
  const uint64_t secret_;
  uint64_t count_ = 0;
  uint64_t room_ = 0;
  size_t mask_ = 0;
  uint32_t shift_ = 32;
};

}  // namespace exrp
