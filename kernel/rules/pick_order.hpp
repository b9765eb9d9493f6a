// PickOrder: which picks come before a pick in its episode, for a selector, which knows picks only as dense indices.
//
// The replay gives one to setPriorityInOrder(); what it says is true during that call.
// Thread safety: none of its own.
// Invariants of what before() writes:
//   1. All are indices of picks that are in the view, or `none`.
//   2. All belong to the pick's own episode, the nearest first; after a `none` only `none` follows.
#pragma once

#include <cstdint>

namespace exrp {

class PickOrder {
 public:
  static constexpr uint32_t none = 0xffffffffu;

  PickOrder() = default;
  PickOrder(const PickOrder&) = delete;
  PickOrder& operator=(const PickOrder&) = delete;

  /// Writes, for each of `count` picks `index[k]`, the `window` picks before it in its episode. The one i picks earlier (from 1) goes to
  /// before[k * window + i - 1]; `none` goes there where the episode begins later than that.
  virtual void before(const uint32_t* index, uint32_t count, uint32_t window, uint32_t* before) const = 0;

 protected:
  ~PickOrder() = default;
};

}  // namespace exrp
