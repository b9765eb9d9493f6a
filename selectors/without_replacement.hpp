// WithoutReplacementSelector: uniform, no pick twice in a batch.
//
// Floyd's algorithm (Bentley and Floyd, "Programming pearls: a sample of brilliance", 1987): for j = N - n .. N - 1, it takes one of
// 0..j, or j itself if that one is taken. A bit a pick says which are taken, and is cleared after the batch. Then the n picks are
// shuffled (Fisher and Yates). So draw k alone is uniform too, and a batch can be cut into smaller ones.
// Each draw on its own has probability 1 / N, so importance weights are 1: weighted() is false. Priorities are ignored.
// A batch larger than the table is Status::batchSize, with no random number used.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1. Between calls no bit is set.
// Cost: O(batch), whatever N. Memory: a bit a pick.
#pragma once

#include <utility>

#include "kernel/base/error.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/sockets/pick_selector.hpp"

namespace exrp {

class WithoutReplacementSelector final : public PickSelector {
 public:
  WithoutReplacementSelector(Random random, uint32_t countMax) : random_(random), words_(countMax / 64 + 1) {}
  Status create() { return taken_.create(words_) ? Status::ok : Status::memory; }

  bool prepare(uint32_t count) override { return taken_.commit(count / 64 + 1); }

  void pushed(uint32_t) override { ++count_; }
  void moved(uint32_t, uint32_t) override {}
  void popped(uint32_t) override { --count_; }
  void setPriority(const uint32_t*, const double*, uint32_t) override {}

  Status checkCount(uint32_t count) const override { return count > count_ ? fail(Status::batchSize, count, count_) : Status::ok; }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    if (const Status status = checkCount(count); status != Status::ok) return status;
    isDrawn_ = true;
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t last = count_ - count + k;
      const uint32_t one = random_.below(last + 1);
      index[k] = take(one) ? one : last;
      if (index[k] == last) take(last);
    }
    for (uint32_t k = 0; k < count; ++k) taken_[index[k] / 64] = 0;
    for (uint32_t k = count; k > 1; --k) std::swap(index[k - 1], index[random_.below(k)]);
    const double each = 1.0 / count_;
    for (uint32_t k = 0; k < count; ++k) probability[k] = each;
    return Status::ok;
  }

  bool drawsTogether() const override { return true; }
  bool weighted() const override { return false; }
  bool drawsByWeights() const override { return true; }
  double memoryBytes(uint32_t countHighWater) const override { 
    return sizeof(*this) + (isDrawn_ ? taken_.takenBytes(countHighWater / 64 + 1) : 0.0);
  }

  uint32_t headerBytes() const override { return Random::stateBytes; }
  uint32_t itemBytes() const override { return 0; }
  void saveHeader(uint8_t* bytes) const override { random_.save(bytes); }
  void saveItems(uint32_t, uint32_t, uint8_t*) const override {}
  Status loadHeader(const uint8_t* bytes) override { return random_.load(bytes) ? Status::ok : Status::dataCorrupt; }
  Status loadItems(uint32_t, uint32_t, const uint8_t*) override { return Status::ok; }
  Status loadEnd() override { return Status::ok; }
  int32_t check() const override {
    for (size_t word = 0; word < taken_.committed(); ++word)
      if (taken_[word] != 0) return 1;
    return 0;
  }

 private:
  /// Sets the pick's bit; true if it was not set.
  bool take(uint32_t index) {
    const uint64_t bit = uint64_t{1} << (index % 64);
    if ((taken_[index / 64] & bit) != 0) return false;
    taken_[index / 64] |= bit;
    return true;
  }

  Random random_;
  size_t words_;
  uint32_t count_ = 0;
  bool isDrawn_ = false;  // before that, the bits were not touched
  ReservedArray<uint64_t> taken_;
};

}  // namespace exrp
