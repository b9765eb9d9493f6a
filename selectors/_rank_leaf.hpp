// RankLeaf: up to 32 values of a RankTree in order of key, with their keys; and the changes of one entry in it.
//
// A key is kept as two int32 of the same order, because one instruction compares 16 bytes of these on every platform.
// To find, make or close an entry, it goes over all 32, whatever is in them. So there is no branch to guess wrong, and the work on
// one leaf overlaps with the wait for the next.
//
// Thread safety: none of its own. Invariant: positions that are not used hold `noHalf` and `noValue`.
// Cost: about 10 ns a change when its six lines of cache are near.
// It doesn't know how many of its positions are used, and checks no argument.
#pragma once

#include <cstdint>
#include <cstring>

namespace exrp {

/// 16 bytes of numbers, which GCC and Clang keep in one vector register on every platform. Loops over 32 numbers are written with it:
/// Clang unrolls them at -O3 before it would make vectors of them.
typedef int32_t Four __attribute__((vector_size(16)));

inline Four loadFour(const void* numbers, uint32_t at) {
  Four four;
  std::memcpy(&four, static_cast<const char*>(numbers) + size_t{4} * at, sizeof four);
  return four;
}
inline void storeFour(void* numbers, uint32_t at, Four four) {
  std::memcpy(static_cast<char*>(numbers) + size_t{4} * at, &four, sizeof four);
}
/// All ones in the lanes of the four from `at` whose position is after `position`, else 0.
inline Four positionsAfter(uint32_t at, uint32_t position) {
  const auto first = static_cast<int32_t>(at);
  const auto last = static_cast<int32_t>(position);
  return Four{first, first + 1, first + 2, first + 3} > Four{last, last, last, last};
}

struct alignas(64) RankLeaf {
  static constexpr uint32_t width = 32;
  static constexpr int32_t noHalf = INT32_MAX;
  static constexpr uint32_t noValue = UINT32_MAX;

  int32_t upper[width];
  int32_t lower[width];
  uint32_t value[width];

  static int32_t upperOf(uint64_t key) { return static_cast<int32_t>(static_cast<uint32_t>(key >> 32) ^ 0x80000000u); }
  static int32_t lowerOf(uint64_t key) { return static_cast<int32_t>(static_cast<uint32_t>(key) ^ 0x80000000u); }
  uint64_t keyAt(uint32_t position) const {
    return uint64_t{static_cast<uint32_t>(upper[position]) ^ 0x80000000u} << 32 | (static_cast<uint32_t>(lower[position]) ^ 0x80000000u);
  }

  /// How many keys are below this one, whose halves are not both all ones.
  uint32_t countBelow(uint64_t key) const {
    const int32_t high = upperOf(key);
    const int32_t low = lowerOf(key);
    int32_t count = 0;
    for (uint32_t at = 0; at < width; ++at) count += (upper[at] < high) | ((upper[at] == high) & (lower[at] < low));
    return static_cast<uint32_t>(count);
  }
  /// The position of a value that is there; 0 for one that isn't.
  uint32_t positionOf(uint32_t valueWanted) const {
    uint32_t position = 0;
    for (uint32_t at = 0; at < width; ++at) position |= value[at] == valueWanted ? at : 0;
    return position;
  }
  /// Moves what stands at `position` and after it one on, and puts these there. The last position is not used.
  void put(uint32_t position, uint64_t newKey, uint32_t newValue) {
    moveOn(upper, position);
    moveOn(lower, position);
    moveOn(value, position);
    upper[position] = upperOf(newKey);
    lower[position] = lowerOf(newKey);
    value[position] = newValue;
  }
  /// Moves what stands after `position` one back over it.
  void take(uint32_t position) {
    moveBack(upper, position);
    moveBack(lower, position);
    moveBack(value, position);
    wipe(width - 1, width);
  }
  /// Empties the positions from `first` to before `end`.
  void wipe(uint32_t first, uint32_t end) {
    for (uint32_t at = first; at < end; ++at) {
      upper[at] = noHalf;
      lower[at] = noHalf;
      value[at] = noValue;
    }
  }
  /// Copies `count` entries from `first` on, of another leaf or this one, to the positions from `to` on.
  void copy(uint32_t to, const RankLeaf& from, uint32_t first, uint32_t count) {
    std::memmove(upper + to, from.upper + first, count * sizeof *upper);
    std::memmove(lower + to, from.lower + first, count * sizeof *lower);
    std::memmove(value + to, from.value + first, count * sizeof *value);
  }

 private:
  // In the array itself, and in the order in which nothing is overwritten before it is read.
  static void moveOn(void* numbers, uint32_t position) {
    for (uint32_t at = width - 4; at > 0; at -= 4) {
      const Four mask = positionsAfter(at, position);
      storeFour(numbers, at, (loadFour(numbers, at - 1) & mask) | (loadFour(numbers, at) & ~mask));
    }
    const Four old = loadFour(numbers, 0);
    const Four mask = positionsAfter(0, position);
    storeFour(numbers, 0, (Four{old[0], old[0], old[1], old[2]} & mask) | (old & ~mask));
  }
  static void moveBack(void* numbers, uint32_t position) {
    for (uint32_t at = 0; at < width - 4; at += 4) {
      const Four mask = positionsAfter(at + 1, position);
      storeFour(numbers, at, (loadFour(numbers, at + 1) & mask) | (loadFour(numbers, at) & ~mask));
    }
    const Four old = loadFour(numbers, width - 4);
    const Four mask = positionsAfter(width - 3, position);
    storeFour(numbers, width - 4, (Four{old[1], old[2], old[3], old[3]} & mask) | (old & ~mask));
  }
};

}  // namespace exrp
