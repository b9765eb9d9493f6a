// AgeOrder: the picks of a view in order of age. It finds the n-th pick at any time, while any pick may be removed.
//
// Picks stand in a row of slots, each new pick after the newest. A removed pick leaves its slot dead. When no slot is left, the living picks
// move together to the beginning. There are half as many slots again as there were ever picks. So that happens at most once in half as
// many pushes. A bit a slot says whether it lives. A Fenwick tree over blocks of 512 slots counts the living ones.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Every pick below the count has a living slot, which has it; no other slot lives.
//   2. Living slots are among the first `used_`.
//   3. The tree's sums are those of the blocks' living slots.
// Cost: push O(1) amortised, O(count) where the living move; erase, nth and rankOf O(log N). Memory: 10.2 bytes a pick.
#pragma once

#include <bit>

#include "kernel/base/memory.hpp"

namespace exrp {

class AgeOrder {
 public:
  bool create(uint32_t countMax) {
    const uint32_t spanMax = blocksFor(countMax) * blockLength;
    return slots_.create(spanMax) && slotOf_.create(countMax) && live_.create(spanMax / 64) && sums_.create(blocksFor(countMax) + 1) && prepare(0);
  }
  /// Takes what `count` picks need. False for want of memory.
  bool prepare(uint32_t count) {
    const uint32_t blocks = blocksFor(count);
    const uint32_t span = blocks * blockLength;
    if (span <= span_) return slotOf_.commit(count);
    if (!slots_.commit(span) || !slotOf_.commit(count) || !live_.commit(span / 64) || !sums_.commit(blocks + 1)) return false;
    // In the new blocks nothing lives, so a new sum is one of blocks that were there.
    for (uint32_t block = blockCount_ + 1; block <= blocks; ++block) {
      const uint32_t before = block - (block & (0u - block));
      sums_[block] = before < blockCount_ ? count_ - sumBefore(before) : 0;
    }
    blockCount_ = blocks;
    while (topStep_ * 2 <= blockCount_) topStep_ *= 2;
    span_ = span;
    return true;
  }

  /// The pick is the newest now.
  void push(uint32_t index) {
    if (used_ == span_) moveTogether();
    const uint32_t slot = used_++;
    slots_[slot] = index;
    slotOf_[index] = slot;
    if (used_ > usedHighWater_) usedHighWater_ = used_;
    live_[slot / 64] |= uint64_t{1} << (slot % 64);
    add(slot / blockLength, 1);
    ++count_;
  }

  /// Takes the pick out.
  void erase(uint32_t index) {
    const uint32_t slot = slotOf_[index];
    live_[slot / 64] &= ~(uint64_t{1} << (slot % 64));
    add(slot / blockLength, ~uint32_t{0});  // one less, modulo 2^32
    if (--count_ == 0) used_ = 0;
  }

  /// The pick at `from` stands at `to` now. The pick that was there has been taken out.
  void relocate(uint32_t from, uint32_t to) {
    slotOf_[to] = slotOf_[from];
    slots_[slotOf_[to]] = to;
  }

  /// The slot of the pick that `rank` others are older than; there is one.
  uint32_t nth(uint32_t rank) const {
    uint32_t block = 0;
    for (uint32_t step = topStep_; step > 0; step /= 2)
      if (step <= blockCount_ - block && sums_[block + step] <= rank) {
        block += step;
        rank -= sums_[block];
      }
    uint32_t word = block * (blockLength / 64);
    for (uint32_t living = livingIn(word); rank >= living; living = livingIn(++word)) rank -= living;
    return word * 64 + nthBit(live_[word], rank);
  }
  uint32_t at(uint32_t slot) const { return slots_[slot]; }

  /// How many picks are older.
  uint32_t rankOf(uint32_t index) const {
    const uint32_t slot = slotOf_[index];
    uint32_t sum = sumBefore(slot / blockLength);
    for (uint32_t word = slot / blockLength * (blockLength / 64); word < slot / 64; ++word) sum += livingIn(word);
    return sum + static_cast<uint32_t>(std::popcount(live_[slot / 64] & ((uint64_t{1} << (slot % 64)) - 1)));
  }

  // Loading, for `count` picks: loadBegin(); loadRank() for each pick, below the count; loadEnd().

  void loadBegin(uint32_t count) {
    for (uint32_t slot = 0; slot < count; ++slot) slots_[slot] = none;
  }
  void loadRank(uint32_t index, uint32_t rank) {
    slots_[rank] = index;
    slotOf_[index] = rank;
  }
  /// False where two picks have one rank.
  bool loadEnd() {
    for (uint32_t slot = 0; slot < count_; ++slot)
      if (slots_[slot] == none) return false;
    standTogether();
    return true;
  }

  /// Bytes of the pages in use, when there were `countHighWater` picks at most.
  double memoryBytes(uint32_t countHighWater) const {
    return slotOf_.takenBytes(countHighWater) + slots_.takenBytes(usedHighWater_) + live_.takenBytes(usedHighWater_ / 64 + 1) +
           sums_.takenBytes(usedHighWater_ / blockLength + 1);
  }

  int32_t check() const {
    uint32_t living = 0;
    for (uint32_t slot = 0; slot < span_; ++slot) {
      if ((live_[slot / 64] >> (slot % 64) & 1) == 0) continue;
      ++living;
      if (slots_[slot] >= count_ || slotOf_[slots_[slot]] != slot) return 1;
      if (slot >= used_) return 2;
    }
    if (living != count_) return 1;
    for (uint32_t block = 1; block <= blockCount_; ++block) {
      uint32_t sum = 0;
      for (uint32_t word = (block - (block & (0u - block))) * (blockLength / 64); word < block * (blockLength / 64) && word < span_ / 64; ++word)
        sum += livingIn(word);
      if (sums_[block] != sum) return 3;
    }
    return 0;
  }

 private:
  static constexpr uint32_t none = 0xffffffffu;
  static constexpr uint32_t blockLength = 512;

  static uint32_t blocksFor(uint32_t count) { return (count + count / 2) / blockLength + 1; }

  uint32_t livingIn(uint32_t word) const { return static_cast<uint32_t>(std::popcount(live_[word])); }

  /// How many live in the blocks before this one.
  uint32_t sumBefore(uint32_t block) const {
    uint32_t sum = 0;
    for (; block > 0; block -= block & (0u - block)) sum += sums_[block];
    return sum;
  }

  void add(uint32_t block, uint32_t difference) {
    for (uint32_t k = block + 1; k <= blockCount_; k += k & (0u - k)) sums_[k] += difference;
  }

  /// The position of the bit of `word` that `rest` set ones are below.
  static uint32_t nthBit(uint64_t word, uint32_t rest) {
    uint32_t position = 0;
    for (uint32_t width = 32; width >= 8; width /= 2) {
      const auto low = static_cast<uint32_t>(std::popcount(word & ((uint64_t{1} << width) - 1)));
      if (rest < low) continue;
      rest -= low;
      position += width;
      word >>= width;
    }
    for (; rest > 0; --rest) word &= word - 1;
    return position + static_cast<uint32_t>(std::countr_zero(word));
  }

  /// The living take the first slots, in their order.
  void moveTogether() {
    uint32_t to = 0;
    for (uint32_t word = 0; word < span_ / 64; ++word)
      for (uint64_t left = live_[word]; left != 0; left &= left - 1) {
        const uint32_t index = slots_[word * 64 + static_cast<uint32_t>(std::countr_zero(left))];
        slots_[to] = index;
        slotOf_[index] = to++;
      }
    standTogether();
  }
  /// As many slots as there are picks live, the first ones. Bits and sums say so.
  void standTogether() {
    used_ = count_;
    const auto livingBelow = [this](uint32_t slot) { return slot < count_ ? slot : count_; };
    for (uint32_t word = 0; word < span_ / 64; ++word) {
      const uint32_t living = livingBelow(64 * (word + 1)) - livingBelow(64 * word);
      live_[word] = living == 64 ? ~uint64_t{0} : (uint64_t{1} << living) - 1;
    }
    for (uint32_t block = 1; block <= blockCount_; ++block)
      sums_[block] = livingBelow(blockLength * block) - livingBelow(blockLength * (block - (block & (0u - block))));
  }

  ReservedArray<uint32_t> slots_;   // the pick of each slot
  ReservedArray<uint32_t> slotOf_;  // the slot of each pick
  ReservedArray<uint64_t> live_;    // a bit a slot
  ReservedArray<uint32_t> sums_;    // Fenwick tree over blocks, from 1
  uint32_t blockCount_ = 0;
  uint32_t topStep_ = 1;        // the largest power of two that is at most blockCount_
  uint32_t span_ = 0;           // slots there are
  uint32_t used_ = 0;           // slots that live, or died since the living stood together
  uint32_t usedHighWater_ = 0;
  uint32_t count_ = 0;
};

}  // namespace exrp
