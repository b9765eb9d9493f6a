// PserSelector: prioritized sequence experience replay (Brittain, Bertram, Yang and Wei, "Prioritized sequence experience replay",
// 2019, arXiv 1905.12726; its formulas are known here from later work that uses them). It draws as ProportionalSelector does. But a
// priority that is set decays back through the episode, and no priority falls below a share of the one before:
//
//   p_t <- max(priority + epsilon, retain * p_t),   then   p_(t-i) <- max(p_(t-i), decay^i * p_t)   for i = 1..window.
//
// One call is one update, whatever the order of its picks. First every named pick gets its own priority. `retain` takes the priority from
// before the call. If a pick is named twice, the last one counts, as if the others were not there (except for the running maximum of
// new picks). Then each own priority decays back, not a priority that another pick raised. One call for each pick in order of time
// gives the same. The priority of a new pick does not decay back and replaces nothing: it is the running maximum, or the priority that
// came with its record.
//
// All of this happens to the weights w = p^alpha in float32; priorities themselves are not kept. x^alpha rises with x, so
// max(p, decay^i q)^alpha = max(p^alpha, (decay^i)^alpha q^alpha). A factor for each i saves the power for each pick.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1..3, 10 and above. Those of ProportionalSelector.
//   4. Between calls no pick is marked as named.
// Cost: setPriority reads and may set `window` weights more a pick; see bench/floors_bench.ts. Memory: a bit a pick more.
#pragma once

#include "selectors/_proportional_selector.hpp"

namespace exrp {

struct PserOptions {
  ProportionalOptions draw;
  double decay = 0.4;   // rho, 0..1
  double window = 5.0;  // W, an integer 1..windowMax
  double retain = 0.7;  // eta, 0..1
};

class PserSelector final : public ProportionalSelector {
 public:
  static constexpr uint32_t windowMax = 1024;

  PserSelector(const PserOptions& options, Random random, uint32_t countMax)
      : ProportionalSelector(options.draw, random, countMax), options_(options) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() {
    if (!(options_.decay >= 0.0 && options_.decay <= 1.0)) return Status::argument;
    if (!(options_.retain >= 0.0 && options_.retain <= 1.0)) return Status::argument;
    if (!(options_.window >= 1.0 && options_.window <= windowMax)) return Status::argument;
    window_ = static_cast<uint32_t>(options_.window);
    if (options_.window != static_cast<double>(window_)) return Status::argument;
    const Status status = ProportionalSelector::create();
    if (status != Status::ok) return status;
    const size_t wordCount = (size_t{countMax_} + 63) / 64;
    if (!named_.create(wordCount)) return Status::memory;
    retained_ = portablePow(options_.retain, alpha());
    double share = 1.0;
    for (uint32_t i = 0; i < window_; ++i) {
      share *= options_.decay;
      decayed_[i] = portablePow(share, alpha());
    }
    return Status::ok;
  }

  bool prepare(uint32_t count) override {
    return ProportionalSelector::prepare(count) && named_.commit((size_t{count} + 63) / 64);
  }

  void setPriorityInOrder(const uint32_t* index, double* priority, uint32_t count, const PickOrder& order) override {
    renew(index, priority, count);
    // Of the same size whatever the window, so that it may lie on the stack.
    uint32_t before[beforeMax];
    const uint32_t pickMax = beforeMax / window_ < pieceMax ? beforeMax / window_ : pieceMax;
    for (uint32_t first = 0; first < count; first += pickMax) {
      const uint32_t n = count - first < pickMax ? count - first : pickMax;
      order.before(index + first, n, window_, before);
      for (uint32_t at = 0; at < n * window_; ++at)
        if (before[at] != PickOrder::none) tree_.prefetch(before[at]);
      for (uint32_t k = 0; k < n; ++k) {
        forget(index[first + k]);
        spread(priority[first + k], before + size_t{k} * window_);
      }
    }
  }

  double memoryBytes(uint32_t countHighWater) const override {
    const size_t words = (size_t{countHighWater} + 63) / 64;
    return ProportionalSelector::memoryBytes(countHighWater) + sizeof(*this) - sizeof(ProportionalSelector) + named_.takenBytes(words);
  }

  int32_t check() const override {
    if (const int32_t broken = ProportionalSelector::check(); broken != 0) return broken;
    for (size_t word = 0; word < (size_t{count_} + 63) / 64; ++word)
      if (named_[word] != 0) return 4;
    return 0;
  }

 private:
  static constexpr uint32_t beforeMax = 4096;
  static_assert(beforeMax >= windowMax);

  /// Gives the picks that are named their own weights, the last first, and marks them. In `priority` then stands the weight, or 0,
  /// which raises nothing, where a later one names the same pick.
  void renew(const uint32_t* index, double* priority, uint32_t count) {
    float weight[pieceMax];
    for (uint32_t end = count; end > 0;) {
      const uint32_t n = end < pieceMax ? end : pieceMax;
      const uint32_t first = end - n;
      for (uint32_t k = 0; k < n; ++k) tree_.prefetch(index[first + k]);
      weigh(priority + first, n, weight);
      for (uint32_t k = n; k-- > 0;) {
        const uint32_t pick = index[first + k];
        const bool isLast = name(pick);
        if (isLast) {
          const float least = portableWeight(tree_.get(pick) * retained_);
          weight[k] = weight[k] > least ? weight[k] : least;
          tree_.set(pick, weight[k]);
        }
        priority[first + k] = isLast ? weight[k] : 0.0f;
      }
      end = first;
    }
  }

  /// Raises the weights of the picks before one of weight `own` to their shares of it.
  void spread(double own, const uint32_t* before) {
    for (uint32_t i = 0; i < window_ && before[i] != PickOrder::none; ++i) {
      const float share = portableWeight(own * decayed_[i]);
      if (share > tree_.get(before[i])) tree_.set(before[i], share);
    }
  }

  /// Marks a pick as named; true if it was not.
  bool name(uint32_t index) {
    uint64_t& word = named_[index >> 6];
    const uint64_t bit = uint64_t{1} << (index & 63);
    const bool isNew = (word & bit) == 0;
    word |= bit;
    return isNew;
  }
  void forget(uint32_t index) { named_[index >> 6] &= ~(uint64_t{1} << (index & 63)); }

  PserOptions options_;
  uint32_t window_ = 0;
  double retained_ = 0.0;           // retain^alpha
  double decayed_[windowMax] = {};  // (decay^(i + 1))^alpha
  ReservedArray<uint64_t> named_;   // bit i: pick i is named by the call under way
};

}  // namespace exrp
