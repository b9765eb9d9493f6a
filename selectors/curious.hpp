// CuriousSelector: curious replay (Kauvar, Doyle, Zhou and Haber, "Curious replay for model-based adaptation", 2023, arXiv
// 2306.15934; its formula is known here from the authors' code): draws in proportion to
//
//   p_i = c * beta^v_i + (L_i + epsilon)^alpha,
//
// where v_i says how often this selector drew pick i, and L_i is the last loss that was set for it. A pick whose loss was never set has the
// weight pMax instead, however often it was drawn. All draws of a batch use the weights from before it. Then each draw counts, also
// several of the same pick.
//
// Weights and the losses' terms (L_i + epsilon)^alpha are float32, and a positive one stays positive.
//
// Thread safety: none of its own.
// Invariants (check() returns the number of the one that broke):
//   1..3, 10 and above. Those of WeightSelector, whose running maximum stays pMax. Every loss's term is one that can be, or `unknown`.
//   4. Every pick's weight is that of its count and its loss.
// Cost: pushed, moved, popped a few ns; O(log N) a draw and a loss (sums are added up when the next batch is drawn).
// Memory: 13.1 bytes a pick, 13.4 with normalizeTable.
#pragma once

#include <cmath>

#include "kernel/base/prefetch.hpp"
#include "selectors/_priority_power.hpp"
#include "selectors/_weight_selector.hpp"

namespace exrp {

struct CuriousOptions {
  double c = 1e4;               // >= 0, finite
  double beta = 0.7;            // 0..1
  double alpha = 0.7;           // 0..2^40
  double epsilon = 0.01;        // >= 0, finite
  double pMax = 1e5;            // > 0, finite
  bool normalizeTable = false;  // importance weights are scaled by the view's largest, not the batch's
  bool independent = false;     // else stratified
};

/// What a CuriousSelector keeps of a pick, and saves.
struct CuriousPick {
  uint32_t draws;  // at its largest value it stays
  float lossTerm;  // (loss + epsilon)^alpha, or `unknown`
};

class CuriousSelector final : public WeightSelector<CuriousSelector, float, CuriousPick> {
 public:
  CuriousSelector(const CuriousOptions& options, Random random, uint32_t countMax)
      : WeightSelector(options.pMax, {options.normalizeTable, options.independent}, random, countMax),
        options_(options),
        power_(options.alpha, options.epsilon) {}

  /// Checks the options (Status::argument) and takes memory (Status::memory). Called once, before anything else.
  Status create() {
    if (!(options_.c >= 0.0 && std::isfinite(options_.c))) return Status::argument;
    if (!(options_.beta >= 0.0 && options_.beta <= 1.0)) return Status::argument;
    if (!power_.valid()) return Status::argument;
    if (!(options_.pMax > 0.0 && std::isfinite(options_.pMax))) return Status::argument;
    if (!picks_.create(countMax_)) return Status::memory;
    for (uint32_t draws = 0; draws < novelties; ++draws) novelty_[draws] = reckonNovelty(draws);
    return createTree();
  }

  bool prepare(uint32_t count) override { return WeightSelector::prepare(count) && picks_.commit(count); }

  void pushed(uint32_t index) override {
    picks_[index] = {0, unknown};
    WeightSelector::pushed(index);
  }
  void moved(uint32_t from, uint32_t to) override {
    picks_[to] = picks_[from];
    WeightSelector::moved(from, to);
  }

  /// A priority is a loss.
  void setPriority(const uint32_t* index, const double* priority, uint32_t count) override {
    float term[pieceMax];
    for (uint32_t first = 0; first < count; first += pieceMax) {
      const uint32_t n = count - first < pieceMax ? count - first : pieceMax;
      for (uint32_t k = 0; k < n; ++k) {
        prefetchLine(&picks_[index[first + k]]);
        tree_.prefetch(index[first + k]);
      }
      power_.many(priority + first, n, term);
      for (uint32_t k = 0; k < n; ++k) {
        CuriousPick& pick = picks_[index[first + k]];
        pick.lossTerm = term[k];
        tree_.set(index[first + k], weightOf(pick));
      }
    }
  }

  /// The loss, of its term: loss + epsilon is exact to one part in 2^24 alpha. NaN before the first loss, and with alpha 0.
  bool getPriority(const uint32_t* index, uint32_t count, double* priority) const override {
    for (uint32_t k = 0; k < count; ++k) {
      const float term = picks_[index[k]].lossTerm;
      priority[k] = term == unknown ? std::numeric_limits<double>::quiet_NaN() : power_.priorityOf(term);
    }
    return true;
  }

  Status select(uint32_t count, uint32_t* index, double* probability) override {
    WeightSelector::select(count, index, probability);
    probabilityMin_ = WeightSelector::probabilityMin();
    for (uint32_t first = 0; first < count; first += pieceMax) {
      const uint32_t n = count - first < pieceMax ? count - first : pieceMax;
      for (uint32_t k = 0; k < n; ++k) prefetchLine(&picks_[index[first + k]]);
      for (uint32_t k = 0; k < n; ++k) countDraw(index[first + k]);
    }
    return Status::ok;
  }

  double probabilityMin() override { return probabilityMin_; }
  double memoryBytes(uint32_t countHighWater) const override {
    return WeightSelector::memoryBytes(countHighWater) + picks_.takenBytes(countHighWater);
  }

  float weightOf(double pMax) const { return portableWeight(pMax); }
  CuriousPick item(uint32_t index) const { return picks_[index]; }
  bool isPossible(const CuriousPick& pick) const { return pick.lossTerm == unknown || power_.isPossible(pick.lossTerm); }
  void setItem(uint32_t index, const CuriousPick& pick) {
    picks_[index] = pick;
    tree_.set(index, weightOf(pick));
  }

  int32_t check() const override {
    if (const int32_t broken = WeightSelector::check(); broken != 0) return broken;
    for (uint32_t index = 0; index < count_; ++index)
      if (tree_.get(index) != weightOf(picks_[index])) return 4;
    return 0;
  }

 private:
  static constexpr uint32_t pieceMax = PriorityPower::pieceMax;
  static constexpr uint32_t novelties = 256;
  static constexpr float unknown = -1.0f;

  /// c * beta^draws; what is positive stays so, though the power may be too small for a double.
  double reckonNovelty(uint32_t draws) const {
    const double product = options_.c * portablePow(options_.beta, draws);
    const bool positive = options_.c > 0.0 && (options_.beta > 0.0 || draws == 0);
    return positive && product < 0x1p-126 ? 0x1p-126 : product;
  }
  float weightOf(const CuriousPick& pick) const {
    if (pick.lossTerm == unknown) return weightOfNew_;
    const double novelty = pick.draws < novelties ? novelty_[pick.draws] : reckonNovelty(pick.draws);
    return portableWeight(novelty + static_cast<double>(pick.lossTerm));
  }
  void countDraw(uint32_t index) {
    CuriousPick& pick = picks_[index];
    if (pick.draws != UINT32_MAX) ++pick.draws;
    if (pick.lossTerm != unknown) tree_.set(index, weightOf(pick));
  }

  CuriousOptions options_;
  PriorityPower power_;
  double probabilityMin_ = 0.0;     // of the last batch, with normalizeTable
  double novelty_[novelties] = {};  // of the first counts
  ReservedArray<CuriousPick> picks_;
};

}  // namespace exrp
