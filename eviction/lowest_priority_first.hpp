// LowestPriorityFirst: forgets the ended episode whose priority is the lowest (as Reverb's MinHeap remover does with items). Of
// several, it forgets the one that was created or given its priority longest ago.
//
// An episode's priority is a mean: of the priorities that the last call gave its picks. A pick that came twice counts twice.
// - The mean does not favour a long episode, of which a batch draws more picks. The largest priority would.
// - The last call says what the learner thinks now. A caller who sets all picks at once decides the priority.
// - Before the first call, an episode has the largest priority that any episode has had (1 at first). So it is not forgotten before the
//   learner saw it.
// - An episode that ended without a pick has priority 0, as it can never be drawn.
//
// Thread safety: none of its own; the replay's caller serialises.
// Invariants:
//   1 to 3. Those of EpisodeHeap, in which open episodes wait; its value is the priority's bits (the order of floats that are not negative is that of their bits).
//   4. Priorities are 0 or portable weights, at most the largest so far, which is at least 1.
//   5. Between calls every sum and count is 0.
// Cost: prioritized() O(1) a pick and O(log E) an episode in it; created, ended, removed O(log E); victim O(1). 36 bytes an episode.
// A saved item's value is the priority's bits; the header is the largest so far and 4 bytes of zero.
// It does not know which selector a priority was set for, nor single picks' priorities, nor those that came with records.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "eviction/_episode_heap.hpp"
#include "kernel/base/portable_math.hpp"

namespace exrp {

/// The priorities that one call has set for an episode.
struct PriorityNote {
  double sum;
  uint32_t count;
};

class LowestPriorityFirst final : public NotedPolicy<PriorityNote> {
 public:
  using NotedPolicy::NotedPolicy;

  void created(uint32_t episode) override { heap_.add(episode, largest_, ++now_); }
  void ended(uint32_t episode, uint32_t pickCount) override {
    if (pickCount == 0) heap_.set(episode, 0, ++now_);
    heap_.file(episode);
  }
  bool wantsPriorities() const override { return true; }

  void prioritized(const uint32_t* episode, const double* priority, uint32_t count) override {
    for (uint32_t pick = 0; pick < count; ++pick) {
      PriorityNote& note = notes_[episode[pick]];
      note.sum += priority[pick];
      ++note.count;
    }
    // In order of their first picks: the order in which equal ones go.
    for (uint32_t pick = 0; pick < count; ++pick) {
      PriorityNote& note = notes_[episode[pick]];
      if (note.count == 0) continue;
      const auto value = std::bit_cast<uint32_t>(portableWeight(note.sum / note.count));
      note = {0, 0};
      if (value > largest_) largest_ = value;
      heap_.set(episode[pick], value, ++now_);
    }
  }

  uint32_t headerBytes() const override { return 8; }
  void saveHeader(uint8_t* bytes) const override {
    const uint32_t words[2] = {largest_, 0};
    memcpy(bytes, words, sizeof words);
  }
  Status loadHeader(const uint8_t* bytes) override {
    uint32_t words[2] = {0, 0};
    memcpy(words, bytes, sizeof words);
    if (words[0] < one || words[0] > largestFinite || words[1] != 0) return Status::dataCorrupt;
    largest_ = words[0];
    return Status::ok;
  }

  Status load(const EvictionItem* items, uint32_t count) override {
    for (uint32_t item = 0; item < count; ++item)
      if (!isPriority(items[item].value)) return Status::dataCorrupt;
    return take(items, count);
  }

  int32_t check() const override {
    if (const int32_t broken = heap_.check(); broken != 0) return broken;
    if (largest_ < one || largest_ > largestFinite) return 4;
    for (uint32_t episode = 0; episode < heap_.indexCount(); ++episode) {
      if (heap_.contains(episode) && !isPriority(heap_.value(episode))) return 4;
      if (notes_[episode].sum != 0 || notes_[episode].count != 0) return 5;
    }
    return 0;
  }

 private:
  static constexpr uint32_t one = std::bit_cast<uint32_t>(1.0f);
  static constexpr uint32_t smallestNormal = std::bit_cast<uint32_t>(0x1p-126f);
  static constexpr uint32_t largestFinite = std::bit_cast<uint32_t>(0x1.fffffep127f);

  bool isPriority(uint32_t value) const { return value == 0 || (value >= smallestNormal && value <= largest_); }

  uint32_t largest_ = one;
};

}  // namespace exrp
