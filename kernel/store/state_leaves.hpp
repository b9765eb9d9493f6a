// StateLeaves: what a state is made of. It has one leaf or more, as an image and a speed. Each leaf is a column, and the leaves are the first columns.
//
// A state as a whole stands in three places: in the columns of a record, in a buffer of the ABI, and packed, as its leaves one behind the other.
// StateRef names one in any of these.
//
// Thread safety: after create() it never changes.
// Cost: a copy of the state.
#pragma once

#include <cstddef>

#include "kernel/base/copy_row.hpp"
#include "kernel/base/padded.hpp"
#include "kernel/exrp.h"
#include "kernel/store/column.hpp"

namespace exrp {

constexpr uint32_t leafMax = EXRP_LIMIT_LEAVES;

/// Where one state is, among rows of each leaf that follow one another.
struct StateRef {
  const uint8_t* bytes;
  const uint64_t* leaves;  // where the rows of each leaf begin in these
  size_t row;              // which row of each it is

  const uint8_t* leaf(uint32_t leaf, size_t leafBytes) const { return bytes + leaves[leaf] + row * leafBytes; }
};

class StateLeaves {
 public:
  void create(const Column* columns, uint32_t count) {
    count_ = count;
    for (uint32_t leaf = 0; leaf < count; ++leaf) {
      bytesOf_[leaf] = columns[leaf].bytes;
      packed_[leaf] = bytes_;
      bytes_ += columns[leaf].bytes;
    }
  }

  uint32_t count() const { return count_; }
  /// Of one leaf, and of all.
  uint32_t bytes(uint32_t leaf) const { return bytesOf_[leaf]; }
  uint32_t bytes() const { return bytes_; }

  /// The state that stands packed at `bytes`.
  StateRef packed(const uint8_t* bytes) const { return {bytes, packed_, 0}; }
  /// Copies a state to where it is to stand packed.
  void pack(uint8_t* to, const StateRef& state) const {
    copyRow(to, state.leaf(0, bytesOf_[0]), bytesOf_[0]);
    if (count_ > 1) packOthers(to, state);
  }

  /// Where the rows of each leaf begin in a buffer of the ABI that has `stateCount` states, counted from `begin`. Returns where the buffer ends.
  uint64_t layOut(uint64_t begin, uint64_t stateCount, uint64_t* offsets) const {
    uint64_t end = begin;
    for (uint32_t leaf = 0; leaf < count_; ++leaf) {
      offsets[leaf] = begin + padded(end - begin);
      end = offsets[leaf] + stateCount * bytesOf_[leaf];
    }
    return end;
  }

 private:
  /// Apart, so that a state of one leaf pays nothing for it.
  [[gnu::noinline]] void packOthers(uint8_t* to, const StateRef& state) const {
    for (uint32_t leaf = 1; leaf < count_; ++leaf) copyRow(to + packed_[leaf], state.leaf(leaf, bytesOf_[leaf]), bytesOf_[leaf]);
  }

  uint32_t count_ = 0;
  uint32_t bytes_ = 0;
  uint32_t bytesOf_[leafMax] = {};
  uint64_t packed_[leafMax] = {};
};

}  // namespace exrp
