// OrphanHandles: the handles of episodes that went while they were open, and their tags.
//
// The actor of such an episode did not end it, so a record with its handle begins a new one, with the same tag. This works once: then
// the actor has the new handle. Every other handle without an episode is that of one that has ended, and stays refused for ever.
//
// Thread safety: none of its own.
// Invariants:
//   1. Each handle is here at most once, in the order in which their episodes went.
//   2. There are at most `countMax`. One more pushes out the oldest, which then is refused, too.
// (That none of them has an episode, and that all were given out, the replay checks.)
// Cost: O(count) a look-up. Only a handle without an episode is looked up. It takes no memory but its own, 12 KiB.
#pragma once

#include <cstdint>
#include <cstring>

namespace exrp {

class OrphanHandles {
 public:
  static constexpr uint32_t countMax = 1024;
  static constexpr uint32_t none = UINT32_MAX;

  uint32_t count() const { return count_; }
  /// The handles, oldest first.
  const uint64_t* handles() const { return handles_; }
  /// The tag of the episode whose handle stands at `at`.
  int32_t tag(uint32_t at) const { return tags_[at]; }
  /// Where a handle stands, or none.
  uint32_t find(uint64_t handle) const {
    uint32_t at = 0;
    while (at < count_ && handles_[at] != handle) ++at;
    return at < count_ ? at : none;
  }
  bool contains(uint64_t handle) const { return find(handle) != none; }

  /// The open episode of this handle and this tag has gone.
  void add(uint64_t handle, int32_t tag) {
    if (count_ == countMax) removeAt(0);
    handles_[count_] = handle;
    tags_[count_++] = tag;
  }
  /// The handle is used up; it need not be here. Returns its tag.
  int32_t remove(uint64_t handle) {
    const uint32_t at = find(handle);
    if (at == none) return 0;
    const int32_t tag = tags_[at];
    removeAt(at);
    return tag;
  }

  int32_t check() const {
    if (count_ > countMax) return 2;
    for (uint32_t at = 0; at < count_; ++at) {
      if (find(handles_[at]) != at) return 1;
    }
    return 0;
  }

 private:
  void removeAt(uint32_t at) {
    --count_;
    memmove(&handles_[at], &handles_[at + 1], (count_ - at) * sizeof handles_[0]);
    memmove(&tags_[at], &tags_[at + 1], (count_ - at) * sizeof tags_[0]);
  }

  uint64_t handles_[countMax];  // the first count_ of them
  int32_t tags_[countMax];      // likewise
  uint32_t count_ = 0;
};

}  // namespace exrp
