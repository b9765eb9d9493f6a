// AgeRing: the picks of a view in order of age. It finds the n-th pick at any time, while any pick may be removed.
//
// Picks stand in a ring of slots, each new pick after the newest. A removed pick leaves its slot dead; dead slots at the old end are given
// up at once. When no slot is left, the living picks move together. There are half as many slots again as picks there is memory for.
// So that happens at most once in half as many pushes, and never where the oldest picks go first. The ring grows by doubling.
// A bit a slot says whether it lives. A Fenwick tree over blocks of 512 slots counts the living ones.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Every pick below the count has a living slot, which has it; no other slot lives.
//   2. Living slots are among the `used_` from `tail_` on, and that one lives.
//   3. The tree's sums are those of the blocks' living slots.
// Cost: push O(1) amortised, O(count) where the living move; erase, nth and rankOf O(log N). Memory: 10.2 bytes a pick.
#pragma once

#include <bit>

#include "kernel/base/memory.hpp"

namespace exrp {

class AgeRing {
 public:
  static constexpr uint32_t none = 0xffffffffu;

  bool create(uint32_t countMax) {
    blockCountMax_ = blocksFor(countMax);
    const uint32_t spanMax = blockCountMax_ * blockLength;
    return slots_.create(spanMax) && slotOf_.create(countMax) && live_.create(spanMax / 64) && sums_.create(blockCountMax_ + 1) &&
           prepare(0);
  }

  /// Takes what `count` picks need. False for want of memory. The ring is made twice as long, so that this is rare: the picks from the
  /// tail on move up where others have gone round to the beginning.
  bool prepare(uint32_t count) {
    if (blocksFor(count) <= blockCount_) return slotOf_.commit(count);
    const uint32_t twice = blockCount_ < blockCountMax_ / 2 ? 2 * blockCount_ : blockCountMax_;
    const uint32_t blocks = blocksFor(count) > twice ? blocksFor(count) : twice;
    const uint32_t span = blocks * blockLength;
    if (!slots_.commit(span) || !slotOf_.commit(count) || !live_.commit(span / 64) || !sums_.commit(blocks + 1)) return false;
    const uint32_t further = span - span_;
    if (used_ > span_ - tail_) {
      for (uint32_t slot = span_; slot-- > tail_;) moveUp(slot, slot + further);
      tail_ += further;
    }
    blockCount_ = blocks;
    span_ = span;
    while (topStep_ * 2 <= blockCount_) topStep_ *= 2;
    addUp();
    return true;
  }

  uint32_t count() const { return count_; }

  /// The pick is the newest now.
  void push(uint32_t index) {
    if (used_ == span_) moveTogether();
    const uint32_t slot = slotAfter(used_++);
    slots_[slot] = index;
    slotOf_[index] = slot;
    if (slot >= slotHighWater_) slotHighWater_ = slot + 1;
    live_[slot / 64] |= uint64_t{1} << (slot % 64);
    add(slot / blockLength, 1);
    ++count_;
  }

  /// Takes the pick out.
  void erase(uint32_t index) {
    const uint32_t slot = slotOf_[index];
    live_[slot / 64] &= ~(uint64_t{1} << (slot % 64));
    add(slot / blockLength, none);  // one less, modulo 2^32
    --count_;
    if (slot == tail_) giveUpDead();
  }

  /// The pick at `from` stands at `to` now. The pick that was there has been taken out.
  void relocate(uint32_t from, uint32_t to) {
    slotOf_[to] = slotOf_[from];
    slots_[slotOf_[to]] = to;
  }

  /// How many living slots come first in the ring's memory though they are the newest; for nth(), good until the next change.
  uint32_t wrapped() const { return used_ > span_ - tail_ ? livingBelow(used_ - (span_ - tail_)) : 0; }

  /// The slot of the pick that `rank` others are older than, rank < count().
  uint32_t nth(uint32_t rank, uint32_t wrapped) const {
    const uint32_t old = count_ - wrapped;
    uint32_t rest = rank < old ? rank + wrapped : rank - old;
    uint32_t block = 0;
    for (uint32_t step = topStep_; step > 0; step /= 2)
      if (step <= blockCount_ - block && sums_[block + step] <= rest) {
        block += step;
        rest -= sums_[block];
      }
    uint32_t word = block * (blockLength / 64);
    for (uint32_t living = livingIn(word); rest >= living; living = livingIn(++word)) rest -= living;
    return word * 64 + nthBit(live_[word], rest);
  }
  uint32_t at(uint32_t slot) const { return slots_[slot]; }

  /// How many picks are older.
  uint32_t rankOf(uint32_t index, uint32_t wrapped) const {
    const uint32_t below = livingBelow(slotOf_[index]);
    return slotOf_[index] >= tail_ ? below - wrapped : below + (count_ - wrapped);
  }

  // Loading, for `count` picks: loadBegin(); loadRank() for each pick; loadEnd().

  void loadBegin(uint32_t count) {
    tail_ = 0;
    used_ = count_ = count;
    if (count > slotHighWater_) slotHighWater_ = count;
    for (uint32_t slot = 0; slot < count; ++slot) slots_[slot] = none;
  }
  /// False if the rank can't be, or another pick has it.
  bool loadRank(uint32_t index, uint32_t rank) {
    if (rank >= count_ || slots_[rank] != none) return false;
    slots_[rank] = index;
    slotOf_[index] = rank;
    return true;
  }
  bool loadEnd() {
    for (uint32_t slot = 0; slot < count_; ++slot)
      if (slots_[slot] == none) return false;
    markTogether();
    return true;
  }

  /// Bytes of the pages in use, when there were `countHighWater` picks at most: the ring goes round through all it has.
  double memoryBytes(uint32_t countHighWater) const {
    return slotOf_.takenBytes(countHighWater) + slots_.takenBytes(slotHighWater_) + live_.takenBytes(span_ / 64) +
           sums_.takenBytes(blockCount_ + 1);
  }

  int32_t check() const {
    uint32_t living = 0;
    for (uint32_t slot = 0; slot < span_; ++slot) {
      if (!lives(slot)) continue;
      ++living;
      if (slots_[slot] >= count_ || slotOf_[slots_[slot]] != slot) return 1;
      if ((slot >= tail_ ? slot - tail_ : slot + (span_ - tail_)) >= used_) return 2;
    }
    if (living != count_) return 1;
    if (used_ > 0 && !lives(tail_)) return 2;
    for (uint32_t block = 1; block <= blockCount_; ++block) {
      uint32_t sum = 0;
      for (uint32_t k = block - (block & (0u - block)); k < block; ++k)
        for (uint32_t word = 0; word < blockLength / 64; ++word) sum += livingIn(k * (blockLength / 64) + word);
      if (sums_[block] != sum) return 3;
    }
    return 0;
  }

 private:
  static constexpr uint32_t blockLength = 512;

  static uint32_t blocksFor(uint32_t count) { return (count + count / 2) / blockLength + 1; }

  bool lives(uint32_t slot) const { return (live_[slot / 64] >> (slot % 64) & 1) != 0; }
  uint32_t livingIn(uint32_t word) const { return static_cast<uint32_t>(std::popcount(live_[word])); }
  uint32_t slotAfter(uint32_t steps) const { return steps < span_ - tail_ ? tail_ + steps : steps - (span_ - tail_); }

  void add(uint32_t block, uint32_t difference) {
    for (uint32_t k = block + 1; k <= blockCount_; k += k & (0u - k)) sums_[k] += difference;
  }

  /// Living slots below `slot` in memory.
  uint32_t livingBelow(uint32_t slot) const {
    uint32_t sum = 0;
    for (uint32_t k = slot / blockLength; k > 0; k -= k & (0u - k)) sum += sums_[k];
    for (uint32_t word = slot / blockLength * (blockLength / 64); word < slot / 64; ++word) sum += livingIn(word);
    if (slot % 64 == 0) return sum;
    return sum + static_cast<uint32_t>(std::popcount(live_[slot / 64] << (64 - slot % 64)));
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

  /// Moves the tail to the next living slot.
  void giveUpDead() {
    if (count_ == 0) used_ = 0;
    while (used_ > 0 && !lives(tail_)) {
      const uint64_t rest = live_[tail_ / 64] >> (tail_ % 64);
      const uint32_t dead = rest != 0 ? static_cast<uint32_t>(std::countr_zero(rest)) : 64 - tail_ % 64;
      used_ -= dead;  // a living one is still ahead: never more than there are
      tail_ = tail_ + dead == span_ ? 0 : tail_ + dead;
    }
  }

  /// The living take the slots from the tail on, in their order.
  void moveTogether() {
    uint32_t to = 0;
    for (uint32_t step = 0; step < used_; ++step) {
      const uint32_t slot = slotAfter(step);
      if (!lives(slot)) continue;
      const uint32_t target = slotAfter(to++);
      slots_[target] = slots_[slot];
      slotOf_[slots_[target]] = target;
    }
    used_ = count_;
    markTogether();
  }

  /// The slot's pick, if it has one that lives, goes to `to`, a free slot further up.
  void moveUp(uint32_t slot, uint32_t to) {
    slots_[to] = slots_[slot];
    if (!lives(slot)) return;
    live_[slot / 64] &= ~(uint64_t{1} << (slot % 64));
    live_[to / 64] |= uint64_t{1} << (to % 64);
    slotOf_[slots_[to]] = to;
    if (to >= slotHighWater_) slotHighWater_ = to + 1;
  }

  /// Sets bits and sums anew: the slots in use live, all of them.
  void markTogether() {
    for (uint32_t word = 0; word < span_ / 64; ++word) live_[word] = 0;
    for (uint32_t step = 0; step < used_; ++step) {
      const uint32_t slot = slotAfter(step);
      live_[slot / 64] |= uint64_t{1} << (slot % 64);
    }
    addUp();
  }
  /// Makes the sums anew from the bits.
  void addUp() {
    for (uint32_t block = 0; block <= blockCount_; ++block) sums_[block] = 0;
    for (uint32_t word = 0; word < span_ / 64; ++word) sums_[word * 64 / blockLength + 1] += livingIn(word);
    for (uint32_t block = 1; block <= blockCount_; ++block) {
      const uint32_t above = block + (block & (0u - block));
      if (above <= blockCount_) sums_[above] += sums_[block];
    }
  }

  ReservedArray<uint32_t> slots_;   // the pick of each slot
  ReservedArray<uint32_t> slotOf_;  // the slot of each pick
  ReservedArray<uint64_t> live_;    // a bit a slot
  ReservedArray<uint32_t> sums_;    // Fenwick tree over blocks, from 1
  uint32_t blockCountMax_ = 0;
  uint32_t blockCount_ = 0;
  uint32_t slotHighWater_ = 0;  // no slot at or above it was ever used
  uint32_t span_ = 0;     // slots there are
  uint32_t topStep_ = 1;  // the largest power of two that is at most blockCount_
  uint32_t tail_ = 0;     // the oldest living slot
  uint32_t used_ = 0;     // slots from the tail on that live or died since
  uint32_t count_ = 0;
};

}  // namespace exrp
