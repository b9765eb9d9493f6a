// UniformSelector: every pick of the table with the same probability, with replacement.
//
// Thread safety: none of its own.
// Invariants: 1. it counts the picks of the table.
// Cost: about 2 ns a draw; no memory per pick. It keeps no priorities: setPriority does nothing.
// P(i) = 1 / N, so importance weights (N P)^-beta are 1 whatever beta: weighted() is false.
#pragma once

#include "kernel/sockets/pick_selector.hpp"

namespace exrp {

class UniformSelector final : public PickSelector {
 public:
  explicit UniformSelector(Random random) : random_(random) {}
  Status create() { return Status::ok; }

  void pushed(uint32_t) override { ++count_; }
  void moved(uint32_t, uint32_t) override {}
  void popped(uint32_t) override { --count_; }
  void pushedRun(uint32_t, uint32_t count) override { count_ += count; }
  void movedBlock(uint32_t, uint32_t, uint32_t count) override { count_ -= count; }
  void setPriority(const uint32_t*, const double*, uint32_t) override {}

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    const uint32_t pickCount = count_;
    const double each = 1.0 / pickCount;
    Random random = random_;  // in registers: what is written might be its state
    for (uint32_t k = 0; k < count; ++k) index[k] = random.below(pickCount);
    random_ = random;
    for (uint32_t k = 0; k < count; ++k) probability[k] = each;
    return Status::ok;
  }

  bool weighted() const override { return false; }
  bool drawsByWeights() const override { return true; }
  double memoryBytes(uint32_t) const override { return sizeof(*this); }

  uint32_t headerBytes() const override { return Random::stateBytes; }
  uint32_t itemBytes() const override { return 0; }
  void saveHeader(uint8_t* bytes) const override { random_.save(bytes); }
  void saveItems(uint32_t, uint32_t, uint8_t*) const override {}
  Status loadHeader(const uint8_t* bytes) override { return random_.load(bytes) ? Status::ok : Status::dataCorrupt; }
  Status loadItems(uint32_t, uint32_t, const uint8_t*) override { return Status::ok; }
  Status loadEnd() override { return Status::ok; }
  int32_t check() const override { return 0; }

 private:
  Random random_;
  uint32_t count_ = 0;
};

}  // namespace exrp
