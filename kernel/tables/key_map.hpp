// KeyMap: from keys of 64 bits, which strangers choose, to numbers below 2^32 - 1.
//
// A hash table with open addressing. An entry is 32 bits of the key's hash and the number; the key itself stands with the owner, who says by
// `keyOf(number)` what it is. So most searches look at one entry and one key, and neither growing nor removing reads any key.
// The hash is mixed with a secret, so that nobody can choose keys that all fall together.
//
// It grows without a pause. When the places run short, prepare() takes twice as many, which are the newer part. From then on each add()
// moves a few places of the older part. Keys are added to the newer part only. A search looks there, and then in the older part unless the
// key's own place there was moved already.
//
//   older part, a ring:  [ moved | moved | left | left | left | left | free ]      It begins behind a free place, and what is moved ends
//                        start             start + moved_                          behind one, so that no entry's way crosses the border.
//
// Thread safety: none of its own.
// Invariants:
//   1. At most three quarters of the newer part's places are taken, those of the older part's entries counted.
//   2. From an entry's own place on, no place before it is free.
//   3. The older part is empty before the newer one is full.
// Cost: one or two cache misses a search, twice as many while it grows. add() moves at most 16 places of the older part, and on to the next
// free place. Memory: 11 to 21 bytes an entry, half as much again while it grows.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "kernel/base/memory.hpp"
#include "kernel/base/scratch.hpp"

namespace exrp {

class KeyMap {
 public:
  static constexpr uint32_t none = 0xffffffffu;
  /// Places that one add() moves, and those up to the next free one.
  static constexpr size_t movedAtOnce = 16;

  explicit KeyMap(uint64_t secret) : secret_(secret) {}

  /// Makes room for `count` numbers in all. False for want of memory: nothing has changed then.
  bool prepare(uint64_t count) {
    if (count <= room_) return true;
    const uint64_t wanted = std::bit_ceil(count + count / 3 + 8);
    if (wanted >> 32 != 0) return false;
    Part made;
    if (!made.create(static_cast<size_t>(wanted))) return false;
    while (older_.entries != nullptr) moveSome();  // only where one call asks for very many more
    older_.swap(newer_);
    newer_.swap(made);
    room_ = wanted / 4 * 3;
    start_ = 0;
    moved_ = 0;
    if (count_ == 0) {
      older_.destroy();
    } else {
      while (older_.entries[start_] != 0) ++start_;
      start_ = (start_ + 1) & older_.mask;
    }
    return true;
  }

  /// The number of a key, or `none`.
  template <typename KeyOf>
  uint32_t find(uint64_t key, KeyOf keyOf) const {
    if (count_ == 0) return none;
    const uint32_t hash = hashOf(key);
    const auto isThis = [&](uint64_t entry) { return entry >> 32 == hash && keyOf(numberOf(entry)) == key; };
    const uint64_t found = *newer_.find(hash, isThis);
    if (found != 0 || !isLeft(hash)) return numberOf(found);
    return numberOf(*older_.find(hash, isThis));
  }
  /// Asks for the cache line at which find() begins.
  void prefetch(uint64_t key) const {
    if (count_ > 0) __builtin_prefetch(&newer_.entries[hashOf(key) >> newer_.shift]);
  }

  /// Adds a key that is not there; prepare() has made room.
  void add(uint64_t key, uint32_t number) {
    newer_.put(entryOf(hashOf(key), number));
    ++count_;
    if (older_.entries != nullptr) moveSome();
  }
  /// The key has another number from now on.
  void renumber(uint64_t key, uint32_t from, uint32_t to) {
    const uint32_t hash = hashOf(key);
    const Place place = placeOf(entryOf(hash, from));
    *place.at = entryOf(hash, to);
  }
  void remove(uint64_t key, uint32_t number) {
    const Place place = placeOf(entryOf(hashOf(key), number));
    place.part->take(static_cast<size_t>(place.at - place.part->entries));
    --count_;
  }

  /// Forgets all keys; the memory stays.
  void clear() {
    older_.destroy();
    for (size_t at = 0; count_ > 0 && at <= newer_.mask; ++at) newer_.entries[at] = 0;
    count_ = 0;
  }

  uint64_t count() const { return count_; }
  /// Places of the older part that are left to be moved.
  size_t leftToMove() const { return older_.entries == nullptr ? 0 : older_.mask + 1 - moved_; }
  double memoryBytes() const { return newer_.memoryBytes() + older_.memoryBytes(); }

 private:
  /// A power of two of places. The upper bits of the hash are the own place. An entry of 0 is a free place.
  struct Part {
    uint64_t* entries = nullptr;
    size_t mask = 0;
    uint32_t shift = 32;
    // The places stand in one of them. Setting many places to zero at once would take long: the system does it page by page, when each is used.
    Scratch<uint64_t> few;
    ReservedArray<uint64_t> many;

    bool create(size_t places) {
      constexpr size_t fewMax = 4096;
      const bool isFew = places <= fewMax;
      if (isFew ? !few.commit(places) : !many.create(places, Pages::small) || !many.commit(places)) return false;
      entries = isFew ? few.data() : many.data();
      mask = places - 1;
      shift = 32 - static_cast<uint32_t>(std::countr_zero(places));
      return true;
    }
    void swap(Part& other) noexcept {
      std::swap(entries, other.entries);
      std::swap(mask, other.mask);
      std::swap(shift, other.shift);
      few.swap(other.few);
      many.swap(other.many);
    }
    void destroy() {
      Part empty;
      swap(empty);
    }

    /// The place of the first entry from the hash's own place on that `is` is true for; else the first free place.
    template <typename Is>
    uint64_t* find(uint32_t hash, Is is) const {
      size_t at = hash >> shift;
      while (entries[at] != 0 && !is(entries[at])) at = (at + 1) & mask;
      return &entries[at];
    }
    void put(uint64_t entry) {
      *find(static_cast<uint32_t>(entry >> 32), [](uint64_t) { return false; }) = entry;
    }
    /// Empties a place. What follows and may stand in the gap moves there.
    void take(size_t gap) {
      for (size_t at = (gap + 1) & mask; entries[at] != 0; at = (at + 1) & mask) {
        const auto own = static_cast<size_t>(entries[at] >> 32 >> shift);
        if (((at - own) & mask) < ((at - gap) & mask)) continue;
        entries[gap] = entries[at];
        gap = at;
      }
      entries[gap] = 0;
    }
    double memoryBytes() const { return few.memoryBytes() + many.takenBytes(many.committed()); }
  };
  struct Place {
    Part* part;
    uint64_t* at;
  };

  /// The upper half is the hash. The lower is the number and one more, so that no entry is 0; a free place gives `none`.
  static uint64_t entryOf(uint32_t hash, uint32_t number) { return uint64_t{hash} << 32 | (number + 1); }
  static uint32_t numberOf(uint64_t entry) { return static_cast<uint32_t>(entry) - 1; }

  uint32_t hashOf(uint64_t key) const {
    uint64_t z = key ^ secret_;
    z = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93u;
    z = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93u;
    return static_cast<uint32_t>(z >> 32);
  }

  /// Whether an entry of this hash may stand in the older part.
  bool isLeft(uint32_t hash) const {
    return older_.entries != nullptr && (((hash >> older_.shift) - start_) & older_.mask) >= moved_;
  }
  /// Of an entry that is there.
  Place placeOf(uint64_t entry) {
    const auto hash = static_cast<uint32_t>(entry >> 32);
    const auto isThis = [entry](uint64_t each) { return each == entry; };
    uint64_t* const at = newer_.find(hash, isThis);
    if (*at != 0) return {&newer_, at};
    return {&older_, older_.find(hash, isThis)};
  }

  /// Moves some places of the older part. What was moved stays in them, and nobody looks there again.
  void moveSome() {
    const size_t places = older_.mask + 1;
    uint64_t entry = 0;
    for (size_t count = 0; moved_ < places && (count < movedAtOnce || entry != 0); ++count) {
      entry = older_.entries[(start_ + moved_++) & older_.mask];
      if (entry != 0) newer_.put(entry);
    }
    if (moved_ == places) older_.destroy();
  }

  Part newer_;
  Part older_;  // has no places unless the map grows
  const uint64_t secret_;
  uint64_t count_ = 0;
  uint64_t room_ = 0;
  size_t start_ = 0;  // of the older part
  size_t moved_ = 0;  // so many places of it, from start_ on
};

}  // namespace exrp
