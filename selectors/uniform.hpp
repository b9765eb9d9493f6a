// UniformSelector: every pick of the view with the same probability, with replacement.
//
// Thread safety: none of its own.
// Invariants: 1. it counts the picks of the view.
// Cost: about 2 ns a draw; no memory per pick. It keeps no priorities: setPriority does nothing.
// P(i) = 1 / N, so importance weights (N P)^-beta are 1 whatever beta: weighted() is false.
#pragma once

#include "kernel/rules/saved_selector.hpp"

namespace exrp {

class UniformSelector final : public CountingSelector {
 public:
  using CountingSelector::CountingSelector;
  Status create() { return Status::ok; }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    const uint32_t pickCount = count_;
    const double each = 1.0 / pickCount;
    Random random = state_.random;  // in registers: what is written might be its state
    for (uint32_t k = 0; k < count; ++k) index[k] = random.below(pickCount);
    state_.random = random;
    for (uint32_t k = 0; k < count; ++k) probability[k] = each;
    return Status::ok;
  }

  bool weighted() const override { return false; }
  bool drawsByWeights() const override { return true; }
  double memoryBytes(uint32_t) const override { return sizeof(*this); }
};

}  // namespace exrp
